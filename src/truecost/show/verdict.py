"""The verdict in words: a badge, two sentences, and the comparison on the same instances.

Every sentence is written once, as a whole. What qualifies a result is a caveat: a line of its own.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment

Tone = Literal["good", "open", "bad"]
Names = tuple[str, str]
NAMES: Names = ("winner", "default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What every command shows first.

    `rows` are the lines of the table of the same instances: a label and what stands beside it.
    """

    badge: str
    tone: Tone
    headline: str
    wins: str
    title: str
    rows: tuple[tuple[str, str], ...]
    training: str
    caveats: tuple[str, ...]


def block(assessment: "Assessment", names: Names = NAMES) -> Block:
    """Return the verdict; `names` are what the two sides are called, ("NEW", "OLD") for instance."""
    raise NotImplementedError
