"""`truecost report`."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from truecost.cli.asking import assessed, setting
from truecost.cli.flags import typed
from truecost.cli.options import (
    OUT,
    Chosen,
    Configuration,
    ContentSeed,
    Delta,
    Json,
    ListSize,
    PrimaryStatement,
    Quiet,
    Raced,
    Splits,
    Test,
    Unit,
)
from truecost.cli.printing import print_json, print_line
from truecost.cli.progress import steps
from truecost.cli.reading import Source, check_out, reads_runs


@reads_runs
def report(
    source: Source,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help=f"{OUT}; NAME-report.html here if not given.", show_default=False
        ),
    ] = None,
    configuration: Configuration = None,
    title: Annotated[
        str | None, typer.Option(help="The title of the page.", show_default=False)
    ] = None,
    unit: Unit = None,
    delta: Delta = 0.05,
    test: Test = None,
    chosen: Chosen = None,
    raced: Raced = None,
    primary: PrimaryStatement = None,
    list_size: ListSize = None,
    splits: Splits = 1000,
    seed: ContentSeed = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """One page about recorded runs, as a file of its own: the verdict, how sure it is, over-tuned
    or not, what to do next.

    It opens from disk without a network, prints, and explains every number. For instance: truecost
    report kissat, truecost report runs.db, truecost report irace.Rdata, truecost report
    smac3_output/run/0 --cutoff 5.
    """
    from truecost.show.document.runs import left_out
    from truecost.show.report import write_page

    path = Path(f"{_stem(source.path or Path())}-report.html") if out is None else out
    check_out(path, source.path, test)
    asked: dict[str, Any] = {
        "test": test,
        "chosen": chosen,
        "raced": raced,
        "primary": primary,
        "list_size": list_size,
        "configuration": configuration,
    }
    with steps("the runs", quiet=quiet) as tell:
        found = assessed(source, delta=delta, splits=splits, rng=seed, **asked)
        context = setting(source, unit=unit, title=title, kind=found.log.kind, **asked)
        made = write_page(found, path, context, tell, typed)
    if json:
        print_json(made.data)
        return
    print_line(made.verdict, made.tone)
    print_line(made.more)
    for note in left_out(found):
        print_line(note, "aside")
    print_line(
        f"{path} has the whole report: {path.stat().st_size / 1e6:.1f} MB, opens in any browser."
    )


def _stem(runs: Path) -> str:
    """The name of the file or folder, without its ending and without what a file name should not
    have.
    """
    return re.sub(r"[^\w.-]+", "-", runs.resolve().stem).strip("-.") or "runs"
