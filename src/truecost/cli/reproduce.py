"""`truecost reproduce`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truecost.cli.experiment import Matrix, Quiet, Seed, Splits, Threads
from truecost.cli.inputs import load_matrix
from truecost.cli.printing import High, Json, Low, print_json, print_line, print_table

if TYPE_CHECKING:
    from truecost.show.reproduce import Reproduction


def reproduce(
    matrix: Matrix,
    out: Annotated[Path, typer.Option(help="Folder for figures, data and results.md; made if it is not there.")],
    splits: Splits = 2500,
    seed: Seed = 1,
    unit: Annotated[str, typer.Option(help="What a unit of cost is called in figures, 'PAR10 s' for instance.")] = "cost",
    threads: Threads = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The paper's whole experimental section on a matrix: figures, data, and whether each of its claims holds there.

    Interrupted, the same call goes on where it stopped.
    """
    from truecost.show.reproduce import reproduce as run

    loaded = load_matrix(matrix, low, high)
    with _progress(quiet) as tell:
        found = run(loaded, out=out, splits=splits, seed=seed, name=matrix.name, unit=unit, threads=threads, progress=tell)
    if json:
        print_json(_data(found, splits, seed))
    else:
        _print(found)


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """A bar on stderr over all parts, where somebody can see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), "{task.description}", TimeElapsedColumn(), "to go", TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("the matrix", total=1.0)
        yield lambda what, share: bar.update(task, completed=share, description=what)


def _data(found: "Reproduction", splits: int, seed: int) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "splits": splits,
        "seed": seed,
        "claims": [asdict(claim) for claim in found.claims],
        "page": str(found.page),
        "files": [str(path) for path in found.files],
        "kept": found.kept,
    }


def _print(found: "Reproduction") -> None:
    rows = [[claim.says, claim.verdict] for claim in found.claims]
    print_table("The paper's claims on this matrix", ["claim", "verdict"], rows, left=2)
    if found.kept:
        print_line(f"{len(found.kept)} parts were there from an earlier call with the same matrix, splits and seed.")
    print_line(f"{found.page} has the numbers, with figures beside it.", wrap=False)
