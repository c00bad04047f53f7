"""`truecost import`: what a log holds; as a table for other tools and later commands."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.options import Json, Runs, with_records
from truecost.cli.printing import print_result
from truecost.errors import InputError
from truecost.matrix.reading import Reading


@with_records
def command(
    runs: Runs,
    reading: Reading,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write a table: NAME.csv or NAME.csv.gz."),
    ] = None,
    json: Json = False,
) -> None:
    """Read a log and say what it holds: configurations, instances, runs, and what was left out.

    With --out the runs are written as a table, what is known about them as NAME.csv.json beside it,
    and test runs as NAME-test.csv.
    """
    from truecost import api
    from truecost.judge.assessment import plain
    from truecost.matrix.files import write_log
    from truecost.show.summaries import log_summary

    log = api.import_runs(runs, reading)
    if out is not None:
        if out.exists() and Path(runs).exists() and out.samefile(runs):
            raise InputError(f"{out} is the file that is read. Choose another name.")
        write_log(log, out)
    written = "" if out is None else f"\nWritten: {out}"
    print_result(plain(log), f"{log_summary(log)}{written}", json=json)
