"""`truecost reproduce`: the experiments of the paper on a matrix of runs."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.options import Json, Quiet, Runs, with_records
from truecost.cli.printing import print_result, stem
from truecost.cli.progress import progress
from truecost.matrix.reading import Reading


@with_records
def command(
    runs: Runs,
    reading: Annotated[Reading, ("test",)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="The folder; NAME-paper if not given."),
    ] = None,
    splits: Annotated[
        int, typer.Option(metavar="N", help="Random splits of the instances.", min=2)
    ] = 2500,
    only: Annotated[
        str | None, typer.Option(metavar="PARTS", help="Some of estimators,m,n,k.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the splits.", min=0)] = 0,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes; one per core.", min=1)
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Repeat the paper's experiments: estimators, error against m, N and K, fits, and eight claims.

    Writes report.md, tables and figures (SVG and PDF).
    """
    from truecost import api
    from truecost.paper.reproduce import reproduce

    folder = Path(f"{stem(runs)}-paper") if out is None else out
    with progress("splits", quiet=quiet) as meter:
        reproduction = reproduce(
            api.import_runs(runs, reading),
            folder,
            splits=splits,
            only=None if only is None else tuple(part.strip() for part in only.split(",")),
            seed=seed,
            workers=workers,
            progress=lambda what, share: meter.update(share, note=what),
        )
    print_result(reproduction.to_dict(), reproduction.summary(), json=json)
