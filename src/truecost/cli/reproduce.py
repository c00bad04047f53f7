"""`truecost reproduce`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truecost.cli.experiment import Seed, Splits, Threads
from truecost.cli.inputs import load_matrix
from truecost.cli.printing import High, Json, Low, Tone, Toned, print_json, print_line, print_table
from truecost.cli.progress import Quiet, steps

if TYPE_CHECKING:
    from truecost.show.reproduce import Reproduction

TONES: dict[str, Tone] = {"holds": "good", "holds in part": "open", "cannot be judged": "open", "fails": "bad"}


class FigureFormat(StrEnum):
    """What figures are saved as, as on the command line."""

    PDF = "pdf"
    PNG = "png"
    SVG = "svg"
    HTML = "html"


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for figures, data and results.md; made if it is not there.")],
    matrix: Annotated[
        Path | None,
        typer.Argument(
            help="A matrix, a journal, or the name of an example; every example of the package if not given.",
            show_default=False,
        ),
    ] = None,
    splits: Splits = 2500,
    seed: Seed = 1,
    unit: Annotated[
        str | None,
        typer.Option(help="What a unit of cost is called in figures, 'PAR10 s' for instance.", show_default=False),
    ] = None,
    formats: Annotated[
        list[FigureFormat] | None,
        typer.Option(
            "--format", help="Of figures; may be given several times. [default: pdf, png, svg]", show_default=False
        ),
    ] = None,
    threads: Threads = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The paper's whole experimental section on a matrix: figures, data, and whether each of its claims holds there.

    Interrupted, the same call goes on where it stopped.
    """
    from truecost import examples
    from truecost.show.reproduce import reproduce as run

    chosen = [(matrix, out)] if matrix is not None else [(Path(name), out / name) for name in examples.names()]
    data: dict[str, object] = {}
    for source, folder in chosen:
        loaded = load_matrix(source, low, high)
        called = unit or ("PAR10 s" if str(source) in examples.names() else "cost")
        with steps("the matrix", quiet=quiet) as tell:
            found = run(
                loaded,
                out=folder,
                splits=splits,
                seed=seed,
                name=source.name,
                unit=called,
                formats=[each.value for each in formats or (FigureFormat.PDF, FigureFormat.PNG, FigureFormat.SVG)],
                threads=threads,
                progress=tell,
            )
        data[source.name] = _data(found, splits, seed)
        if not json:
            print_claims(found, source.name)
    if json:
        print_json(data if matrix is None else data[matrix.name])


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
    rows: list[list[str | Toned]] = [[claim.says, Toned(claim.verdict, TONES[claim.verdict])] for claim in found.claims]
    print_table(f"The paper's claims on {name}", ["claim", "verdict"], rows, left=2)
    if found.kept:
        print_line(f"{len(found.kept)} parts were there from an earlier call with the same matrix, splits and seed.")
    print_line(f"{found.page} has the numbers, with figures beside it.", wrap=False)
