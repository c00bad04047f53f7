"""Verdicts at the terminal: as wide as it is, in colour where somebody watches."""

import os
import shutil
import sys
from typing import TYPE_CHECKING

from truecost.cli.printing import print_text

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.show.verdict import Names

NARROWEST, WIDEST = 40, 100


def width() -> int:
    """Columns to write in; 80 where nobody watches."""
    if not sys.stdout.isatty():
        return 80
    return max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST))


def coloured() -> bool:
    """Whether standard output shows colours (https://no-color.org)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def print_assessment(
    assessment: "Assessment",
    names: "Names" = ("winner", "default"),
    *,
    everything: bool = False,
    steps: tuple[str, ...] | None = None,
) -> None:
    """Print the verdict, the comparison on the same instances, statements and next steps."""
    from truecost.show import terminal

    print_text(
        terminal.screen(
            assessment, names, all=everything, steps=steps, width=width(), colour=coloured()
        )
    )
