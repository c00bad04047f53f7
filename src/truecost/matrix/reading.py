"""How runs are read: the options that the command line, Python and printed commands share."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import numpy as np

from truecost.errors import InputError, check_choice


def option(help_text: str, flag: str) -> dict[str, str]:
    """Metadata of a field: its help text, and its flag on the command line."""
    return {"help": help_text, "flag": flag}


def options_that_differ(record: Any) -> list[str]:
    """Command-line arguments for the fields of a record that are not at their default.

    A field with a mapping becomes `--flag key=value,key=value`, a truth value a bare flag.
    Arguments are not quoted: pass the list to `shlex.join`.
    """
    arguments: list[str] = []
    for entry in fields(record):
        if "flag" not in entry.metadata:
            continue
        value, flag = getattr(record, entry.name), entry.metadata["flag"]
        default = entry.default if entry.default is not MISSING else {}
        if value == default or value is None:
            continue
        if isinstance(value, bool):
            on, _, off = flag.partition("/")
            arguments.append(on if value else off)
        elif isinstance(value, Mapping):
            arguments += [flag, ",".join(f"{key}={text}" for key, text in value.items())]
        elif isinstance(value, float):
            arguments += [flag, f"{value:.17g}" if f"{value:g}" != str(value) else f"{value:g}"]
        else:
            arguments += [flag, str(value)]
    return arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the caller says about a log that does not say it itself.

    Every field is an option of the commands that read runs and a keyword of `import_runs`; the help
    texts are in the fields' metadata. `columns` and `families` may be mappings in Python
    (`{"cost": "time"}`, `{"a.cnf": "planning"}`); on the command line columns are given as
    `--columns configuration=solver,cost=time` and families as a csv file or a rule.
    """

    format: str | None = field(
        default=None,
        metadata=option(
            "The format of the runs: table, wide, irace, smac, optuna, aslib, benchexec, npy or "
            "journal. Needed only if the files do not show it.",
            "--format",
        ),
    )
    columns: Mapping[str, str] = field(
        default_factory=dict,
        metadata=option(
            "The columns of a table for each role, such as configuration=solver,cost=time.",
            "--columns",
        ),
    )
    low: float | None = field(
        default=None, metadata=option("The least a run can cost (not the least seen).", "--low")
    )
    high: float | None = field(
        default=None, metadata=option("The most a run can cost (not the most seen).", "--high")
    )
    cutoff: float | None = field(
        default=None,
        metadata=option(
            "Costs are running times that are stopped after this many seconds.", "--cutoff"
        ),
    )
    par: float | None = field(
        default=None,
        metadata=option("A failed run costs this many cutoffs (10 unless given).", "--par"),
    )
    maximise: bool | None = field(
        default=None,
        metadata=option(
            "Larger is better: costs become high − score, or −score.", "--maximise/--no-maximise"
        ),
    )
    objective: str | None = field(
        default=None,
        metadata=option("Which objective is the cost, if the log has several.", "--objective"),
    )
    default: str | None = field(
        default=None,
        metadata=option("The name of the default configuration, the one to beat.", "--default"),
    )
    families: str | Mapping[str, str] | None = field(
        default=None,
        metadata=option(
            "The families of the instances: a column, a csv file with instance and family, "
            "'folder', or 'prefix'.",
            "--families",
        ),
    )
    cost_unit: str | None = field(
        default=None,
        metadata=option(
            "What a cost is called in sentences, such as 'tour length'.", "--cost-unit"
        ),
    )
    test: str | None = field(
        default=None,
        metadata=option(
            "Runs on fresh instances: a second file, read with the same options.", "--test"
        ),
    )
    steps_are: str | None = field(
        default=None,
        metadata=option(
            "What the steps of an Optuna trial are: 'instances' if each step is the cost on one.",
            "--steps-are",
        ),
    )

    def __post_init__(self) -> None:
        if self.cutoff is not None and not 0 < self.cutoff < np.inf:
            raise InputError(f"The cutoff is {self.cutoff:g}. Give seconds above 0.")
        if self.par is not None and not 1 <= self.par < np.inf:
            raise InputError(f"par is {self.par:g}. Give a number from 1, such as 10 for PAR10.")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise InputError(
                f"low = {self.low:g} is not below high = {self.high:g}. Give the least and the "
                "most a run can cost."
            )
        if self.steps_are is not None:
            check_choice("steps_are", self.steps_are, ("instances",))

    def options_that_differ(self) -> list[str]:
        """Command-line arguments that read the same runs in the same way."""
        return options_that_differ(self)
