"""Every option that more than one command has: one name, one meaning, declared once.

The part of the help before the first semicolon is the meaning, the same everywhere; what follows
says what this command does with or without the option. Options that belong together are the fields
of a record (`Source`, `Question`, `Pool`), which `command.declared` turns into options of a command
and `command.command_line` back into a line to paste. What only one record or command has is written
`name: type = asked("help")`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from truecost.errors import InputError

# Headings of the help.
READING = "Reading the runs"
WAYS = "How it was chosen"
ABOUT = "What the statement is about"
ASSUMED = "Without runs"
RUNNING = "Running the solver"

# Meanings to which commands add their own default.
BUDGET = "What may be spent: 5000runs, 90min, 2h or 1.5d"
CONFIGURATIONS = "How many configurations"
FIGURE = "Where to draw a figure: .html, .svg, .png or .pdf"
INSTANCES = "How many instances"
JOURNAL = "The file where runs are kept"
OUT = "Where to write"
RUNS = "Runs of a configuration on an instance"
SEED = "The seed of every random number"
SPLITS = "Random splits of the instances in two"
WORKERS = "Solver runs at a time"
READS = (
    "Runs: irace's .Rdata, a SMAC3, ASlib or AClib folder, an Optuna storage, a table, BenchExec "
    "results, a journal or matrix of truecost, or the name of an example"
)


def option(text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option with this help, under this heading."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def out_option(text: str, panel: str | None = None) -> Any:
    """The option --out of a command that writes this."""
    return option(f"{OUT}; {text}.", "--out", "-o", panel=panel)


def asked(
    text: str, *names: str, default: Any = None, panel: str | None = None, **more: Any
) -> Any:
    """An option of one record or command, as its default."""
    return field(default=default, metadata={"option": option(text, *names, panel=panel, **more)})


Configuration = Annotated[
    str | None,
    option(
        "The configuration to judge; the log's incumbent, else the one with the lowest training "
        "cost."
    ),
]
Delta = Annotated[float, option("Error probability; 0.05 = 95 % confidence.")]


Way = Literal["before", "from-list", "weighted-list", "on-part", "progressive"]

Primary = Literal["mean", "wins"]
PrimaryCriterion = Annotated[
    Primary | None,
    option(
        "What decides whether it is better; the mean cost, or wins where no cost range is known, "
        "if not given."
    ),
]


SamplingUnit = Literal["instance", "family", "seed", "fold"]
Scope = Literal["new", "these"]
Sampled = Annotated[
    SamplingUnit | None,
    option("What was sampled independently; instances if not given.", panel=ABOUT),
]
About = Annotated[
    Scope | None,
    option(
        "Whether statements are about new instances (or families) or about these; new if not "
        "given.",
        panel=ABOUT,
    ),
]
Population = Annotated[
    int | None,
    option(
        "With --about these: how many instances the benchmark has, those not run included.",
        panel=ABOUT,
        min=1,
    ),
]
Margin = Annotated[
    str | None,
    option(
        "How much more than the default is acceptable: 5% of its cost, or an amount of cost; "
        "decided before looking."
    ),
]

Within = Annotated[float | None, option("Variance between runs on one instance.", panel=ASSUMED)]
Across = Annotated[float | None, option("Variance between instances.", panel=ASSUMED)]
Instances = Annotated[int | None, option(f"{INSTANCES}; as many as it takes if not given.", min=1)]
Configurations = Annotated[
    int | None,
    option(f"{CONFIGURATIONS}; including discarded ones.", min=1),
]

Seed = Annotated[int, option(f"{SEED}.", min=0)]
ContentSeed = Annotated[int | None, option(f"{SEED}; taken from the costs if not given.", min=0)]
Splits = Annotated[int, option(f"{SPLITS}.", min=2)]
Threads = Annotated[
    int | None, option("How many threads; all if not given. Results do not depend on it.", min=1)
]
Unit = Annotated[str | None, option("Name of the unit of cost, such as 'PAR10 s'.")]
Json = Annotated[bool, option("Print JSON instead of tables.", "--json")]
Quiet = Annotated[bool, option("Show no progress.", "--quiet")]

ScenarioFile = Annotated[
    Path, typer.Argument(help="The scenario file, or the name of a built-in scenario.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of runs; the fields are those of `truecost.assess`."""

    configuration: Configuration = None
    delta: Delta = 0.05
    test: Path | None = asked(
        "Runs on fresh instances; the log's own test runs are found without it."
    )
    primary: PrimaryCriterion = None
    splits: Splits = 1000
    seed: ContentSeed = None
    chosen: Way | None = asked(
        "How the configuration was chosen, where the runs do not say.", panel=WAYS
    )
    raced: bool | None = asked(
        "Whether the number of runs depended on observed costs, where the runs do not say.",
        panel=WAYS,
    )
    list_size: int | None = asked(
        "With from-list: how long the list was, if not all of it has runs.",
        "--list",
        min=1,
        panel=WAYS,
    )
    fresh: Path | None = asked(
        "With progressive: a file with names of unused instances, one per line.", panel=WAYS
    )
    proposal: int | None = asked(
        "With progressive: its number among the proposals, from 1.", panel=WAYS
    )
    margin: Margin = None
    sampled: Sampled = None
    about: About = None
    population: Population = None
    mix: str | None = asked(
        "Statements for this mix of the families: 'A=0.7,B=0.3', or a csv file with family and "
        "weight; 'A=0.5..0.8,B=0.2..0.5' for all mixes within ranges.",
        panel=ABOUT,
    )
    weights: str | None = asked(
        "Weights of the instances: 'column' for the table's, or a csv file with instance and "
        "weight; with --about new, sampling weights.",
        panel=ABOUT,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What things are called in the answer; printed commands keep it."""

    unit: Unit = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What executes the runs of a campaign."""

    workers: int | None = asked(f"{WORKERS}; one per core if not given.", min=1, panel=RUNNING)
    dask: str | None = asked(
        "Address of a Dask scheduler: its workers execute the runs.", panel=RUNNING
    )
    pin: bool = asked("Pin each worker to a core of its own.", default=True, panel=RUNNING)
    keep_going: bool = asked(
        "Continue even if all of the first runs crash.",
        "--keep-going",
        default=False,
        panel=RUNNING,
    )

    def __post_init__(self) -> None:
        if self.dask is not None and self.workers is not None:
            raise InputError(
                "Expected --workers or --dask, got both: a cluster has the workers it has."
            )
