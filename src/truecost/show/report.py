"""One self-contained page about recorded runs: the verdict first, then what it rests on.

The same runs and options give the same bytes.
"""

import os
from collections.abc import Callable

from truecost.judge.assessment import Assessment
from truecost.matrix.files import whole_file
from truecost.show import html
from truecost.show.blocks import Document
from truecost.show.document import Context, document

# Told what is being done, and the share of all work that is done.
Tell = Callable[[str, float], None]


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
