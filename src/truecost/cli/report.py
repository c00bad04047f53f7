"""`truecost report`: the verdict and everything behind it as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.options import Json, Runs, with_records
from truecost.cli.printing import print_result, stem
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
        typer.Option(
            "--out", "-o", metavar="FILE", help="The page; NAME-report.html if not given."
        ),
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the table for a paper here.")
    ] = None,
    json: Json = False,
) -> None:
    """Write what `audit` says, with figures, tables and texts for a paper, as an HTML page."""
    from truecost import api
    from truecost.show import latex as latex_text
    from truecost.show.verdict import block

    path = Path(f"{stem(runs)}-report.html") if out is None else out
    if path.suffix != ".html":
        raise InputError(f"{path}: A report is an HTML page. Give a name that ends in .html.")
    assessment = api.report(runs, path, reading=reading, question=question)
    if latex is not None:
        latex.write_text(latex_text.table(assessment))
    text = f"{block(assessment).answer}\n{path} has the whole report."
    print_result({**assessment.to_dict(), "page": path}, text, json=json)
