"""Every option that more than one command has: one name, one meaning.

The meaning is what stands before the first semicolon of the help, and is the same everywhere; what
follows it is what this command does without the option, or does with it. Options of reading runs
are handed out by `reading.reads_runs`.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

READING = "Reading the runs"
WAYS = "How it was chosen"

# What an option means, where commands add to it.
BUDGET = "What may be spent: 5000runs, 90min, 2h or 1.5d"
CONFIGURATIONS = "How many configurations"
INSTANCES = "How many instances"
JOURNAL = "The file where runs are kept"
OUT = "Where to write"
RUNS = "Runs of a configuration on an instance"
SEED = "The seed of every random number"
SPLITS = "Random splits of the instances in two"
WORKERS = "Solver runs at a time"

READS = "Runs: a matrix, a journal, a folder of SMAC3, ASlib or AClib, irace's .Rdata, a table, or the name of an example"
Low = Annotated[
    float | None,
    typer.Option(
        help="The least cost the metric allows, where the runs do not say.", rich_help_panel=READING
    ),
]
High = Annotated[
    float | None,
    typer.Option(
        help="The largest cost the metric allows, where the runs do not say.",
        rich_help_panel=READING,
    ),
]
Cutoff = Annotated[
    float | None,
    typer.Option(
        help="Costs are running times, with a cutoff of so many seconds.", rich_help_panel=READING
    ),
]
Par = Annotated[
    float | None,
    typer.Option(
        help="A run not solved by the cutoff costs so many times the cutoff; 10 if not given.",
        rich_help_panel=READING,
    ),
]
Objective = Annotated[
    str | None,
    typer.Option(
        help="Which cost to take, where there are several; 'time' is the elapsed time in SMAC3.",
        rich_help_panel=READING,
    ),
]
Fidelity = Annotated[
    float | None,
    typer.Option(
        help="Which budget of a multi-fidelity log to take; the largest if not given.",
        rich_help_panel=READING,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="What a column of a table is called: cost=PAR10 or configuration=name; give it once for each.",
        rich_help_panel=READING,
    ),
]
Default = Annotated[
    str | None,
    typer.Option(
        help="The name of the default configuration, where the runs do not say.",
        rich_help_panel=READING,
    ),
]
Utility = Annotated[
    str | None,
    typer.Option(
        help="Costs are 1 − utility of the running time: step=10, linear=300, half-life=60 or log-laplace=60,1.",
        rich_help_panel=READING,
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        help="What the file is, if it should not be guessed: smac, irace, aslib, acl, table, matrix or journal.",
        rich_help_panel=READING,
    ),
]

Configuration = Annotated[
    str | None,
    typer.Option(
        help="The configuration to judge; the log's incumbent, else the one with the lowest training cost.",
        show_default=False,
    ),
]
Test = Annotated[
    Path | None,
    typer.Option(
        help="Runs on fresh instances; the log's own test runs are found without it.",
        show_default=False,
    ),
]
Delta = Annotated[float, typer.Option(help="The probability with which a statement may be wrong.")]


class Way(StrEnum):
    """How a configuration was chosen."""

    BEFORE = "before"
    FROM_LIST = "from-list"
    ON_PART = "on-part"


class AnyWay(StrEnum):
    """How a configuration was chosen, a proposal of a search among them, which only `certify` can
    judge.
    """

    BEFORE = "before"
    FROM_LIST = "from-list"
    ON_PART = "on-part"
    PROGRESSIVE = "progressive"


_CHOSEN = typer.Option(
    "--chosen",
    help="How the configuration was chosen, where the runs do not say.",
    rich_help_panel=WAYS,
    show_default=False,
)
Chosen = Annotated[Way | None, _CHOSEN]
ChosenAnyWay = Annotated[AnyWay | None, _CHOSEN]
ListSize = Annotated[
    int | None,
    typer.Option(
        "--list",
        min=1,
        help="With from-list: how long the list was, if not all of it has runs.",
        rich_help_panel=WAYS,
        show_default=False,
    ),
]

Raced = Annotated[
    bool | None,
    typer.Option(
        help="Whether costs decided who got how many runs, where the runs do not say.",
        rich_help_panel=WAYS,
        show_default=False,
    ),
]


class Primary(StrEnum):
    """What decides whether a configuration is better than the default."""

    MEAN = "mean"
    WINS = "wins"


PrimaryStatement = Annotated[
    Primary | None,
    typer.Option(
        "--primary",
        help="What decides whether it is better; the mean cost, or wins where no cost range is known, if not given.",
        show_default=False,
    ),
]

ASSUMED = "Without runs"
Within = Annotated[
    float | None,
    typer.Option(
        help="Variance between runs on one instance.", rich_help_panel=ASSUMED, show_default=False
    ),
]
Across = Annotated[
    float | None,
    typer.Option(help="Variance between instances.", rich_help_panel=ASSUMED, show_default=False),
]
TotalRuns = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="N, the number of runs, spread evenly; one an instance if not given.",
        rich_help_panel=ASSUMED,
        show_default=False,
    ),
]
Instances = Annotated[
    int | None,
    typer.Option(min=1, help=f"{INSTANCES}; as many as it takes if not given.", show_default=False),
]
Configurations = Annotated[
    int | None,
    typer.Option(
        min=1,
        help=f"{CONFIGURATIONS}; those that were tried and thrown away count.",
        show_default=False,
    ),
]

Seed = Annotated[int, typer.Option(min=0, help=f"{SEED}.")]
ContentSeed = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, help=f"{SEED}; taken from the costs if not given.", show_default=False
    ),
]
Splits = Annotated[int, typer.Option(min=2, help=f"{SPLITS}.")]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1, help="How many threads; all if not given. The results do not depend on it."
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(help="What a unit of cost is called, such as 'PAR10 s'.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]

ScenarioFile = Annotated[
    Path,
    typer.Argument(
        help="The scenario file, or the name of a built-in scenario.", show_default=False
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help=f"{WORKERS}; one per core if not given.", show_default=False),
]
Dask = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler: its workers execute the runs.")
]
Pin = Annotated[bool, typer.Option(help="Pin each worker to a core of its own.")]
KeepGoing = Annotated[
    bool, typer.Option("--keep-going", help="Go on even if all of the first runs crash.")
]
