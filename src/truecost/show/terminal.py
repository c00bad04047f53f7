"""The verdict on one screen of 80 × 24, and the rest on request."""

from typing import TYPE_CHECKING

from truecost.show.verdict import NAMES, Block, Names

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment


def screen(
    assessment: "Assessment",
    names: Names = NAMES,
    *,
    all: bool = False,  # noqa: A002 - what the option is called
    steps: tuple[str, ...] | None = None,
    width: int = 80,
    colour: bool = False,
) -> str:
    """Return what `audit` prints: verdict, block, statements, next step; with `all` the rest.

    `steps` replaces the commands that next_steps.next_steps would print.
    """
    raise NotImplementedError


def block_text(block: Block, *, width: int = 80, colour: bool = False) -> str:
    """Return the verdict block alone, as compare, validate, configure and demo print it."""
    raise NotImplementedError
