"""`truecost reproduce`."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from truecost.cli.command import declared
from truecost.cli.options import Json, Quiet, Seed, Splits, Threads, Unit, asked, out_option
from truecost.cli.printing import Tone, Toned, answer, print_line, print_table
from truecost.cli.progress import steps
from truecost.cli.reading import Source

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


@declared
def reproduce(
    source: Annotated[Source, "every example of the package if not given"],
    out: Annotated[Path, out_option("a folder for figures, data and results.md, made if needed")],
    splits: Splits = 2500,
    seed: Seed = 1,
    unit: Unit = None,
    formats: list[FigureFormat] | None = asked(
        "Format of the figures; may be given several times. [default: pdf, png, svg]", "--format"
    ),
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The paper's whole experimental section on a matrix: figures, data, and whether each of its
    claims holds there.

    Rerun the same command to resume.
    """
    from truecost import examples
    from truecost.show.reproducing import reproduce as run

    sources = {out: source}
    if source.runs is None:
        sources = {out / name: replace(source, runs=Path(name)) for name in examples.names()}
    kinds = formats or (FigureFormat.PDF, FigureFormat.PNG, FigureFormat.SVG)
    results = {}
    for folder, matrix in sources.items():
        name = matrix.runs.name
        with steps("the matrix", quiet=quiet) as tell:
            results[name] = run(
                matrix.read().matrix,
                out=folder,
                splits=splits,
                seed=seed,
                name=name,
                unit=unit or ("PAR10 s" if matrix.is_example else "cost"),
                formats=[kind.value for kind in kinds],
                threads=threads,
                progress=tell,
            )
        # One by one, since each matrix takes minutes.
        if not json:
            print_claims(results[name], name)
    data = {name: _data(result, splits, seed) for name, result in results.items()}
    answer(json, {"matrices": data}, lambda: None)


def _data(result: "Reproduction", splits: int, seed: int) -> dict[str, object]:
    return {
        "splits": splits,
        "seed": seed,
        **{name: getattr(result, name) for name in ("claims", "page", "files", "kept")},
    }


def print_claims(result: "Reproduction", name: str) -> None:
    """Each claim and its verdict, and where the page is."""
    rows: list[list[str | Toned]] = [
        [claim.says, Toned(claim.verdict, TONES[claim.verdict])] for claim in result.claims
    ]
    print_table(f"The paper's claims on {name}", ["claim", "verdict"], rows, left=2)
    if result.kept:
        print_line(
            f"{len(result.kept)} parts were there from an earlier call with the same matrix, "
            "splits and seed."
        )
    print_line(f"{result.page} has the numbers, with figures beside it.", wrap=False)
