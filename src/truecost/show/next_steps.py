"""What to type next: at most two commands that run as printed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment


def next_steps(assessment: "Assessment") -> tuple[str, ...]:
    """Return at most two commands; none where nothing more is needed."""
    raise NotImplementedError
