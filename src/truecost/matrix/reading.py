"""How runs are read: the options that the command line, Python and printed commands share."""

import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from numbers import Real
from typing import Any

from truecost.errors import InputError, check_choice
from truecost.matrix.checks import check_scale

# What Python users give by mistake ends in a traceback far from here.
KINDS: Mapping[Any, tuple[str, tuple[str, ...]]] = {
    Real: ("a number", ("low", "high", "cutoff", "par")),
    bool: ("True or False", ("maximise",)),
    str: ("a text, as in '1'", ("format", "objective", "default", "cost_unit")),
    Mapping: ("a mapping, as in {'cost': 'time'}", ("columns",)),
    str | os.PathLike | Mapping: ("a mapping, a csv file, 'folder' or 'prefix'", ("families",)),
}


def option(help_text: str, metavar: str = "", **how: Any) -> Any:
    """A field with its line in `--help`; its flag is its name with dashes."""
    metadata = {"help": help_text, "metavar": metavar}
    return field(**(how or {"default": None}), metadata=metadata)


def options_that_differ(record: Any) -> list[str]:
    """Command-line arguments for the fields of a record that are not at their default.

    A field with a mapping becomes `--flag key=value,key=value`, a truth value a bare flag.
    Arguments are not quoted: pass the list to `shlex.join`.
    """
    arguments: list[str] = []
    for entry in fields(record):
        value, name = getattr(record, entry.name), entry.name.replace("_", "-")
        default = entry.default if entry.default is not MISSING else {}
        if value == default or value is None:
            continue
        if isinstance(value, bool):
            arguments.append(f"--{name}" if value else f"--no-{name}")
            continue
        if isinstance(value, Mapping):
            text = ",".join(f"{key}={item}" for key, item in value.items())
        elif isinstance(value, float):
            text = f"{value:g}" if f"{value:g}" == str(value) else f"{value:.17g}"
        else:
            text = str(value)
        arguments += [f"--{name}", text]
    return arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the caller says about a log that does not say it itself.

    Every field is an option of the commands that read runs and a keyword of `import_runs`.
    `columns` and `families` may be mappings in Python (`{"cost": "time"}`,
    `{"a.cnf": "planning"}`); on the command line columns are given as
    `--columns configuration=solver,cost=time` and families as a csv file or a rule.
    """

    format: str | None = option("If files do not show it: irace, smac, table …", "NAME")
    columns: Mapping[str, str] = option(
        "Of a table: cost=time,seed=s; x= leaves x out.", "ROLE=NAME", default_factory=dict
    )
    low: float | None = option("The least a run can cost (not the least seen).", "X")
    high: float | None = option("The most a run can cost (not the most seen).", "X")
    cutoff: float | None = option("Costs are running times with this limit.", "SECONDS")
    par: float | None = option("A failed run costs this many cutoffs (10).", "X")
    maximise: bool | None = option("Larger is better; cost = high − score.")
    objective: str | None = option("Which one is the cost, if there are several.", "NAME")
    default: str | None = option("The default configuration, the one to beat.", "NAME")
    families: str | Mapping[str, str] | None = option(
        "Families: column, csv file, folder or prefix.", "WHAT"
    )
    cost_unit: str | None = option("What a cost is called, such as 'tour length'.", "TEXT")
    test: str | None = option("Runs on new instances, read with these options.", "RUNS")
    steps_are: str | None = option("Each step of an Optuna trial is one instance.", "instances")

    def __post_init__(self) -> None:
        for kind, (example, names) in KINDS.items():
            for name in names:
                if not isinstance(value := getattr(self, name), kind | None):
                    words = " ".join(repr(value).split())
                    raise InputError(f"{name} is {words:.60}. Give {example}.")
        check_scale(self.low, self.high, self.cutoff, self.par)
        if self.steps_are is not None:
            check_choice("steps_are", self.steps_are, ("instances",))

    def options_that_differ(self) -> list[str]:
        """Command-line arguments that read the same runs in the same way."""
        return options_that_differ(self)
