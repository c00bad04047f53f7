"""`truecost certify`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truecost.cli.inputs import example_or
from truecost.cli.printing import High, Json, Low, number, print_json, print_line
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.importers.record import Import
    from truecost.matrix import CostMatrix

READS = "Runs: a matrix, a journal, a folder of SMAC3, irace's .Rdata, a table; whatever import reads."
WAYS = "Ways of choosing"

Runs = Annotated[Path, typer.Argument(help=READS, show_default=False)]
Test = Annotated[
    Path | None,
    typer.Option(help="Runs on fresh instances; the log's own test runs are found without it.", show_default=False),
]
Cutoff = Annotated[float | None, typer.Option(help="Costs are running times, censored at so many seconds.")]
Par = Annotated[float | None, typer.Option(help="A run not solved by the cutoff costs so many times it.")]
Delta = Annotated[float, typer.Option(help="The probability with which a statement may be wrong.")]
ListSize = Annotated[
    int | None,
    typer.Option(
        "--list",
        help="from-list: how long the list was, where not all of it has runs.",
        rich_help_panel=WAYS,
        show_default=False,
    ),
]


class Way(StrEnum):
    """How a configuration was chosen, as on the command line."""

    BEFORE = "before"
    FROM_LIST = "from-list"
    ON_HALF = "on-half"
    PROGRESSIVE = "progressive"


Chosen = Annotated[
    Way | None,
    typer.Option(help="How it was chosen, where the runs do not say.", rich_help_panel=WAYS, show_default=False),
]
# Of `audit` and `report`.
Default = Annotated[
    str | None, typer.Option(help="What it should be better than, where the log does not say.", show_default=False)
]
Halvings = Annotated[int, typer.Option(min=1, help="How many times instances are split in halves.")]


def certify(
    runs: Runs,
    configuration: Annotated[
        str | None,
        typer.Option(help="Its name; by default the incumbent, else the least training cost.", show_default=False),
    ] = None,
    delta: Delta = 0.05,
    test: Test = None,
    chosen: Chosen = None,
    list_size: ListSize = None,
    fresh: Annotated[
        Path | None,
        typer.Option(
            help="progressive: a file that names the instances unused before, one a line.",
            rich_help_panel=WAYS,
            show_default=False,
        ),
    ] = None,
    proposal: Annotated[
        int | None,
        typer.Option(help="progressive: its number among the proposals, from 1.", rich_help_panel=WAYS, show_default=False),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the halves and the order of instances; to try several and pick is to cheat.")
    ] = 0,
    cutoff: Cutoff = None,
    par: Par = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
) -> None:
    """Certify a configuration: "with 95 % confidence its true cost is at most x", and what that rests on.

    How it was chosen decides what may be said. before: it was fixed before any of these costs was seen, so all of delta is
    there. from-list: from a list fixed beforehand, as random search and gather have it, delta is shared out among all of
    the list. on-half: the instances are split, one half chooses, the other certifies. progressive: a proposal of a search is
    certified on instances unused before it, number t with 6·delta/(π²t²).

    What a configurator such as SMAC3 or irace chose is certified on test runs only. To share delta out among the
    configurations it tried looks like from-list and is refused: it makes new ones from the costs of others on the very
    instances, and these can fit them by chance as no fixed list does. Where 100 configurations are fixed and one more is
    built from their results, the limit for 101 at 5 % misses every time.
    """
    from dataclasses import asdict

    from truecost.judge import certificate

    found = read_runs(runs, low, high, cutoff, par)
    found_test = own_test(found, configuration, chosen) if test is None else read_runs(test, low, high, cutoff, par).matrix
    answer = certificate.certify(
        found.matrix,
        configuration,
        delta=delta,
        chosen=None if chosen is None else chosen.value,
        trajectory=found.trajectory,
        test=found_test,
        list_size=list_size,
        fresh=None if fresh is None else _names(fresh),
        proposal=proposal,
        seed=seed,
    )
    if json:
        print_json(asdict(answer))
        return
    print_line(f"{answer.statement}.")
    shared = f", delta shared out among {answer.configurations:,}" if answer.configurations > 1 else ""
    print_line(
        f"Its mean cost on {answer.instances:,} instances is {number(answer.estimate)}; method {answer.method}, "
        f"chosen {answer.chosen}{shared}."
    )
    print_line(f"Rests on: {'; '.join(answer.rests_on)}.", "aside")


def read_runs(
    path: Path, low: float | None, high: float | None, cutoff: float | None, par: float | None, default: str | None = None
) -> "Import":
    """What a path holds, whatever tool left it there."""
    from truecost.importers.detect import import_runs

    return import_runs(example_or(path), low=low, high=high, cutoff=cutoff, par=par, default=default)


def own_test(found: "Import", configuration: str | None, chosen: Way | None) -> "CostMatrix | None":
    """The log's own test runs, where they can serve: nothing else is asked for, and the configuration has some."""
    name = configuration or found.trajectory.incumbent
    if found.test is None or chosen is not None or name not in found.test.configurations:
        return None
    return found.test


def _names(path: Path) -> list[str]:
    try:
        names = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected names of instances, one a line, got something that is no text.") from None
    names = list(dict.fromkeys(name for name in names if name))
    if not names:
        raise InputError(f"{path}: expected names of instances, one a line, got none.")
    return names
