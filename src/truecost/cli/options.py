"""Options: those that several commands share, and those that are fields of a record.

A command is a function whose parameters are its arguments and options. `with_records` replaces a
parameter that is a record, such as `Reading`, by one option per field: the field, its type, default
and help text are written once, in the record.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from truecost.errors import InputError
from truecost.matrix.reading import option

Runs = Annotated[
    str, typer.Argument(metavar="RUNS", help="A log, a table, a journal, or an example's name.")
]
ScenarioFile = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="A scenario file or a built-in scenario's name.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
All = Annotated[bool, typer.Option("--all", help="Print everything, not one screen.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Journal = Annotated[Path | None, typer.Option(metavar="FILE", help="The file that keeps the runs.")]
Budget = Annotated[
    str | None,
    typer.Option(metavar="BUDGET", help="What may be spent: 5000runs, 90min, 2h or 1.5d."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Where and how runs are made."""

    workers: int | None = option("Runs at a time; as many as the cores allow.", "N")
    dask: str | None = option("Run on the Dask cluster with this scheduler.", "ADDRESS")
    no_pin: bool = option("Do not pin runs to cores.", default=False)
    keep_going: bool = option("Go on although the first runs all fail.", default=False)


# Headings under which `--help` lists the fields of a record.
HEADINGS = {
    "Running": "Running the solver",
    "Question": "The question",
    "Reading": "Reading the runs",
}


class Command(TyperCommand):
    """A command whose help lists its options under headings."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """What is typed behind the command: RUNS, not {runs}."""
        arguments = [part for part in self.params if part.param_type_name == "argument"]
        return [*(str(getattr(part, "metavar", "")) for part in arguments), "[OPTIONS]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, options of this command alone, and those of each record."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for part in self.get_params(ctx):
            names, text = part.get_help_record(ctx) or ("", "")
            if part.param_type_name == "argument":
                groups["Arguments"].append((names.partition(" ")[0], text.partition("  [")[0]))
            else:
                heading = getattr(part, "rich_help_panel", None) or "Options"
                groups.setdefault(heading, []).append((names, text))
        for title, rows in groups.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def with_records(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace each parameter of a command that is a record by options, one per field.

    `Annotated[Reading, ("test",)]` leaves out the field `test`.
    """
    records: dict[str, dict[str, inspect.Parameter]] = {}
    classes: dict[str, Any] = {}
    others: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        record, *left_out = get_args(parameter.annotation)[:2] or (parameter.annotation,)
        if is_dataclass(record):
            classes[name] = record
            records[name] = _options(record, left_out[0] if left_out else ())
        else:
            others.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def call(**typed: Any) -> Any:
        for name, options in records.items():
            values = {key: typed.pop(key) for key in options}
            if values.get("columns") is not None:
                values["columns"] = _columns(values["columns"])
            # What was not typed keeps the record's own default.
            typed[name] = classes[name](
                **{key: value for key, value in values.items() if value is not None}
            )
        return command(**typed)

    # Options of this command alone come first in its help, those of many commands last.
    parameters = [*others, *(one for options in records.values() for one in options.values())]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _options(record: Any, left_out: tuple[str, ...]) -> dict[str, inspect.Parameter]:
    """The fields of a record as parameters of a command."""
    hints, options = get_type_hints(record), {}
    for entry in fields(record):
        if entry.name in left_out:
            continue
        kinds = (hints[entry.name], *get_args(hints[entry.name]))
        # Choices and mappings are typed as text, which the record checks.
        kind = next((kind for kind in (bool, int, float) if kind in kinds), str)
        default = None if entry.default is MISSING else entry.default
        flag = entry.name.replace("_", "-")
        info = typer.Option(
            f"--{flag}/--no-{flag}" if kind is bool and default is None else f"--{flag}",
            metavar=entry.metadata["metavar"],
            help=entry.metadata["help"],
            rich_help_panel=HEADINGS[record.__name__],
        )
        options[entry.name] = inspect.Parameter(
            entry.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[kind | None if default is None else kind, info],
            default=default,
        )
    return options


def _columns(text: str) -> dict[str, str]:
    """Read configuration=solver,cost=time; nothing on the right: no column has the role."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(role.strip() and mark for role, mark, _ in pairs):
        raise InputError(
            f"--columns {text} cannot be read. Type for example "
            "--columns configuration=solver,cost=time."
        )
    return {role.strip(): column.strip() for role, _, column in pairs}
