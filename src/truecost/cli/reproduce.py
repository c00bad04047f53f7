"""`truecost reproduce`: the experiments of the paper on a matrix of runs."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.options import Json, Quiet, Runs, with_records
from truecost.cli.printing import print_json, print_text
from truecost.cli.progress import progress
from truecost.matrix.reading import Reading


@with_records
def command(
    runs: Runs,
    reading: Annotated[Reading, ("test",)],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder; NAME-paper unless given.")
    ] = None,
    splits: Annotated[
        int, typer.Option("--splits", help="Random splits into training and test.", min=2)
    ] = 2500,
    only: Annotated[
        str | None,
        typer.Option("--only", help="Some parts: estimators, m, n, k; separated by commas."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the splits.", min=0)] = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; one per core.", min=1)
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Repeat the paper's experiments: estimators, error against m, N and K, fits, and eight claims.

    Writes report.md, tables and figures (SVG and PDF). Rerun the same command to resume.
    """
    from truecost import api

    folder = Path(f"{Path(runs).name.partition('.')[0]}-paper") if out is None else out
    with progress("splits", quiet=quiet) as meter:
        reproduction = api.reproduce(
            api.import_runs(runs, reading),
            folder,
            splits=splits,
            only=None if only is None else tuple(part.strip() for part in only.split(",")),
            seed=seed,
            workers=workers,
            progress=lambda what, share: meter.tell(share, note=what),
        )
    if json:
        print_json(reproduction.to_dict())
        return
    print_text(reproduction.summary())
