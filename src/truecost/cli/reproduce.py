"""`truecost reproduce`."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truecost.cli import options
from truecost.cli.options import Json, Quiet, Seed, Splits, Threads, Unit
from truecost.cli.printing import Tone, Toned, print_json, print_line, print_table
from truecost.cli.progress import steps
from truecost.cli.reading import Source, reads_runs

if TYPE_CHECKING:
    from truecost.show.reproducing import Reproduction

TONES: dict[str, Tone] = {
    "holds": "good",
    "holds in part": "open",
    "cannot be judged": "open",
    "fails": "bad",
}


class FigureFormat(StrEnum):
    """What figures are saved as, as on the command line."""

    PDF = "pdf"
    PNG = "png"
    SVG = "svg"
    HTML = "html"


@reads_runs(without="every example of the package if not given")
def reproduce(
    source: Source,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help=f"{options.OUT}; a folder for figures, data and results.md, made if needed.",
        ),
    ],
    splits: Splits = 2500,
    seed: Seed = 1,
    unit: Unit = None,
    formats: Annotated[
        list[FigureFormat] | None,
        typer.Option(
            "--format",
            help="Format of the figures; may be given several times. [default: pdf, png, svg]",
            show_default=False,
        ),
    ] = None,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The paper's whole experimental section on a matrix: figures, data, and whether each of its
    claims holds there.

    Interrupted, the same call goes on where it stopped.
    """
    from truecost import examples
    from truecost.show.reproducing import reproduce as run

    alone = source.path is not None
    chosen = (
        [(source, out)]
        if alone
        else [(replace(source, path=Path(name)), out / name) for name in examples.names()]
    )
    data: dict[str, object] = {}
    for each, folder in chosen:
        loaded = each.read().matrix
        name = "" if each.path is None else each.path.name
        called = unit or ("PAR10 s" if each.is_example else "cost")
        with steps("the matrix", quiet=quiet) as tell:
            found = run(
                loaded,
                out=folder,
                splits=splits,
                seed=seed,
                name=name,
                unit=called,
                formats=[
                    each.value
                    for each in formats or (FigureFormat.PDF, FigureFormat.PNG, FigureFormat.SVG)
                ],
                threads=threads,
                progress=tell,
            )
        data[name] = _data(found, splits, seed)
        if not json:
            print_claims(found, name)
    if json:
        print_json(data[name] if alone else data)


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


def print_claims(found: "Reproduction", name: str) -> None:
    """Each claim and its verdict, and where the page is."""
    rows: list[list[str | Toned]] = [
        [claim.says, Toned(claim.verdict, TONES[claim.verdict])] for claim in found.claims
    ]
    print_table(f"The paper's claims on {name}", ["claim", "verdict"], rows, left=2)
    if found.kept:
        print_line(
            f"{len(found.kept)} parts were there from an earlier call with the same matrix, splits and seed."
        )
    print_line(f"{found.page} has the numbers, with figures beside it.", wrap=False)
