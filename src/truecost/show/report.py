"""One self-contained page about recorded runs: the verdict first, then what it rests on.

The same runs and options give the same bytes.
"""

import os
from collections.abc import Callable
from typing import Any

from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment
from truecost.matrix import CostMatrix
from truecost.matrix.files import whole_file
from truecost.matrix.imported import Import
from truecost.show import html
from truecost.show.blocks import Document
from truecost.show.document import Context, document

# Told what is being done, and the share of all work that is done.
Tell = Callable[[str, float], None]


def report(
    runs: CostMatrix | Import | Assessment,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "runs",
    title: str | None = None,
    unit: str = "cost",
    progress: Tell | None = None,
    **asked: Any,
) -> Document:
    """A page about recorded runs, written to `path` where one is given.

    Parameters
    ----------
    runs
        As in `assess`, or an assessment. What cannot be computed is left out, with a sentence that
        says why.
    path
        The file; what was there stays until the new one is whole.
    name, title, unit
        What the runs are called, the title of the page if it is to be another one, and what a unit
        of cost is called.
    progress
        Told what is being done, and the share of all work that is done.
    asked
        As in `assess`.
    """
    found = runs if isinstance(runs, Assessment) else assess(runs, **asked)
    return write_page(found, path, Context(name=name, title=title, unit=unit), progress)


def write_page(
    found: Assessment,
    path: str | os.PathLike[str] | None,
    setting: Context,
    progress: Tell | None = None,
    typed: Callable[[Document], Document] | None = None,
) -> Document:
    """The page about an assessment; `typed` writes its parameters as the reader types them."""
    tell = progress or _nobody
    for part, share in (
        ("optimism", 0.0),
        ("certificate", 0.1),
        ("comparison", 0.2),
        ("bounds", 0.3),
        ("outlook", 0.4),
    ):
        tell(part, share)
        getattr(found, part)
    made = document(found, setting)
    made = made if typed is None else typed(made)
    if path is None:
        return made
    figures = list(made.figures.values())
    for place, figure in enumerate(figures):
        tell(f"figure: {figure.title}", 0.5 + 0.4 * place / len(figures))
        _ = figure.drawn
    tell("the page", 0.9)
    content = html.page(made).encode()
    with whole_file(path) as file:
        file.write(content)
    return made


def _nobody(what: str, share: float) -> None:
    pass
