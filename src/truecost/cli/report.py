"""`truecost report`: the verdict and everything behind it as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.options import Json, Runs, with_records
from truecost.cli.printing import print_json, print_text
from truecost.errors import InputError
from truecost.judge.question import Question
from truecost.matrix.reading import Reading


@with_records
def command(
    runs: Runs,
    reading: Reading,
    question: Question,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The page; NAME-report.html unless given."),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="The title of the page.")] = None,
    latex: Annotated[
        Path | None, typer.Option("--latex", help="Also write the table for a paper here.")
    ] = None,
    json: Json = False,
) -> None:
    """Write what `audit` says, with figures, tables and texts for a paper, as an HTML page."""
    from truecost import api
    from truecost.show import latex as latex_text
    from truecost.show.verdict import block

    path = Path(f"{Path(runs).name.partition('.')[0]}-report.html") if out is None else out
    if path.suffix != ".html":
        raise InputError(f"{path}: a report is an HTML page. Give a name that ends in .html.")
    assessment = api.report(api.import_runs(runs, reading), path, question=question, title=title)
    if latex is not None:
        latex.write_text(latex_text.table(assessment))
    if json:
        print_json({**assessment.to_dict(), "page": str(path)})
        return
    print_text(f"{block(assessment).answer}\n{path} has the whole report.")
