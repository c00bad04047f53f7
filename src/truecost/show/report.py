"""One self-contained page about recorded runs: the verdict first, then what supports it."""

import os
from collections.abc import Callable

from truecost.errors import InputError
from truecost.judge.assessment import Assessment
from truecost.matrix.files import whole_file
from truecost.show import html
from truecost.show.blocks import Document
from truecost.show.document import Context, document

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
    content = html.page(page).encode()
    with whole_file(path) as file:
        file.write(content)
    return page
