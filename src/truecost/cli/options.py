"""Options: those of the records `Reading` and `Question` from their fields, and the shared ones.

`with_records` replaces a parameter that is a record by one option per field, so that a field, its
type, its default and its help text are written once, in the record.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from truecost.errors import InputError
from truecost.matrix.reading import option

RUNS_HELP = (
    "irace's .Rdata, a SMAC3, ASlib or Optuna log, a table (csv, parquet), BenchExec results, a "
    "journal of truecost, or the name of an example."
)
# Headings under which `--help` lists the fields of a record.
PANELS = {
    "Running": "Running the solver",
    "Question": "The question",
    "Reading": "Reading the runs",
}

Runs = Annotated[str, typer.Argument(metavar="RUNS", help=RUNS_HELP, show_default=False)]
ScenarioFile = Annotated[
    Path,
    typer.Argument(metavar="SCENARIO", help="A scenario file, or the name of a built-in scenario."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
All = Annotated[bool, typer.Option("--all", help="Print everything, not one screen.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Journal = Annotated[
    Path | None,
    typer.Option(
        "--journal", help="The file that keeps the runs; named after SCENARIO or RUNS unless given."
    ),
]
Budget = Annotated[
    str | None, typer.Option("--budget", help="What may be spent: 5000runs, 90min, 2h or 1.5d.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Where and how runs are made."""

    workers: int | None = field(
        default=None,
        metadata=option("Solver runs at a time; as many as the cores allow.", "--workers"),
    )
    dask: str | None = field(
        default=None,
        metadata=option("Run on the Dask cluster with this scheduler address.", "--dask"),
    )
    no_pin: bool = field(default=False, metadata=option("Do not pin runs to cores.", "--no-pin"))
    keep_going: bool = field(
        default=False, metadata=option("Go on although the first runs all fail.", "--keep-going")
    )


class Command(TyperCommand):
    """A command whose help lists its options under headings."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """What is typed behind the command: RUNS, not {runs}."""
        arguments = [part for part in self.params if part.param_type_name == "argument"]
        names = [(getattr(part, "metavar", None) or str(part.name).upper()) for part in arguments]
        return [*names, "[OPTIONS]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, the command's own options, and those of each record."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panel = getattr(parameter, "rich_help_panel", None) or usual
                groups.setdefault(panel, []).append(record)
        order = ["Arguments", "Options", *PANELS.values()]
        for title in sorted(groups, key=order.index):
            with formatter.section(title):
                formatter.write_dl(groups[title])


def with_records(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace each parameter of a command that is a record by options, one per field."""
    records: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    from_records: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        record, *left_out = get_args(parameter.annotation)[:2] or (parameter.annotation,)
        if not is_dataclass(record):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        records[name] = record
        omitted = left_out[0] if left_out else ()
        hints, panel = get_type_hints(record), PANELS[str(getattr(record, "__name__", ""))]
        from_records += [
            _parameter(item, hints[item.name], panel)
            for item in fields(record)
            if item.name not in omitted
        ]

    @wraps(command)
    def call(**given: Any) -> Any:
        values = {}
        for name, record in records.items():
            names = [item.name for item in fields(record) if item.name in given]
            typed = {key: _value(key, given.pop(key)) for key in names}
            # What was not typed keeps the record's own default.
            values[name] = record(**{key: item for key, item in typed.items() if item is not None})
        return command(**values, **given)

    # A command's own options first: those that many commands have come last in its help.
    parameters += from_records
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {item.name: item.annotation for item in parameters}
    return call


def _parameter(item: "Field[Any]", hint: Any, panel: str) -> inspect.Parameter:
    """A field of a record as an option."""
    flag = item.metadata.get("flag") or f"--{item.name.replace('_', '-')}"
    option = typer.Option(flag, help=item.metadata.get("help", ""), rich_help_panel=panel)
    default = None if item.default is MISSING else item.default
    return inspect.Parameter(
        item.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[_typed(hint), option],
        default=default,
    )


def _typed(hint: Any) -> Any:
    """What typer parses for a field of this type; mappings are typed as one text."""
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        simple = [kind for kind in kinds if kind in (str, int, float, bool)]
        for kind in kinds:
            # Choices with spaces are typed with dashes, which the record reads.
            if get_origin(kind) is Literal and not any(" " in word for word in get_args(kind)):
                return kind | None
        return (simple[0] if simple else str) | None
    return hint if hint in (str, int, float, bool) or get_origin(hint) is Literal else str


def _value(name: str, value: Any) -> Any:
    """The value of a field; `columns` is typed as configuration=solver,cost=time."""
    if name != "columns" or not isinstance(value, str):
        return value
    pairs = [part.partition("=") for part in value.split(",")]
    # Nothing on the right says that no column has the role.
    if not all(key.strip() and mark for key, mark, _ in pairs):
        raise InputError(
            f"--columns {value} cannot be read. Type for example "
            "--columns configuration=solver,cost=time."
        )
    return {key.strip(): column.strip() for key, _, column in pairs}
