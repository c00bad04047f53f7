"""Pages and pieces of a document: the self-contained page about recorded runs, and records as a
notebook and `print` show them.
"""

import os
from collections.abc import Callable
from typing import Any

from truecost.errors import InputError, did_you_mean
from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment
from truecost.judge.statements import Certificate
from truecost.matrix import CostMatrix
from truecost.matrix.files import whole_file
from truecost.matrix.imported import Import
from truecost.show import html, terminal
from truecost.show.blocks import Document
from truecost.show.document import Case, Context, document, in_short, what_was_run
from truecost.show.document.certificate import of_certificate
from truecost.show.document.verdict import judged

# Called with the current activity and the finished share of all work.
Progress = Callable[[str, float], None]
# Parts that take long to compute, in the order of the page.
PARTS = ("optimism", "certificate", "comparison", "bounds", "outlook")


def write_table(page: Document, path: str | os.PathLike[str]) -> None:
    """Write the table of statements for LaTeX; refuse if the page has none."""
    from truecost.show.markup import latex_table

    if "statements" not in page.tables:
        raise InputError(f"Expected statements for a table, got none: {page.verdict}")
    caption = next(section.lead for section in page.sections if section.name == "shown")
    text = latex_table(page.tables["statements"], caption=caption, label="tab:truecost")
    with whole_file(path) as file:
        file.write(text.encode())


def write_page(
    assessment: Assessment,
    path: str | os.PathLike[str] | None,
    context: Context,
    progress: Progress | None = None,
    typed: Callable[[Document], Document] | None = None,
) -> Document:
    """Make the page about an assessment; `typed` rewrites parameters the way the reader types."""
    tell = progress or (lambda *_: None)
    for place, part in enumerate(PARTS):
        tell(part, place / 10)
        getattr(assessment, part)
    page = document(assessment, context)
    page = page if typed is None else typed(page)
    if path is None:
        return page
    figures = list(page.figures.values())
    for place, figure in enumerate(figures):
        tell(f"figure: {figure.title}", 0.5 + 0.4 * place / len(figures))
        _ = figure.drawn
    tell("the page", 0.9)
    # Before the file is opened: a failure leaves the old page alone.
    content = html.page(page).encode()
    with whole_file(path) as file:
        file.write(content)
    return page


def sentence(record: Assessment | Certificate) -> str:
    """Return the answer in a sentence or two."""
    if isinstance(record, Certificate):
        return of_certificate(record).lead
    short = in_short(record, Context())
    return f"{short.verdict} {short.more}"


def fragment(record: Assessment | Certificate) -> str:
    """Return a piece of HTML."""
    if isinstance(record, Certificate):
        return html.fragment([of_certificate(record)])
    return html.fragment(in_short(record, Context()))


def runs_fragment(runs: Import | CostMatrix) -> str:
    """Return the size and origin of runs and the best configurations, as HTML."""
    return html.fragment([what_was_run(Case(assess(runs), Context()))])


def badge(assessment: Assessment) -> str:
    """Return the verdict in a few words."""
    return judged(Case(assessment, Context()))[1]


def summary(assessment: Assessment) -> str:
    """Return one screen of text."""
    console = terminal.console()
    with console.capture() as printed:
        terminal.show(in_short(assessment, Context()), into=console)
    return "\n".join(line.rstrip() for line in printed.get().rstrip().splitlines())


def chart(assessment: Assessment, name: str) -> Any:
    """Return a figure of the report."""
    from truecost.show import figures

    matrix, incumbent, default = assessment.matrix, assessment.incumbent, assessment.default
    # Asked for by name, these are drawn also where the page has too few instances for them.
    if default is not None and default != incumbent:
        labels = {"default": default, "winner": incumbent}
        unit = Case(assessment, Context()).axis_unit
        if name == "scatter":
            data = figures.scatter_data(matrix, incumbent, default)
            return figures.scatter_chart(data, unit=unit)
        if name == "ecdf":
            data = figures.ecdf_data(matrix, labels)
            return figures.ecdf_chart(data, unit=unit, solved=matrix.tells_solved)
    page_figures = document(assessment, Context()).figures
    if name not in page_figures:
        known = ["scatter", "ecdf", *page_figures]
        raise InputError(
            f"Expected a figure out of {', '.join(known)}, got {name!r}{did_you_mean(name, known)}"
        )
    return page_figures[name].chart
