"""What a document needs beside the assessment, and how things are called in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from truecost.judge.assessment import Assessment
from truecost.show.numbers import percent

# Writes a command to copy: its name and what it is asked; None where it cannot.
Writer = Callable[[str, Mapping[str, object]], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the runs are called, what a unit of cost is, and who writes commands to copy (nobody, in
    a notebook).
    """

    name: str = "runs"
    title: str | None = None
    unit: str = "cost"
    writer: Writer | None = None

    @property
    def in_unit(self) -> str:
        """The unit as it stands behind a number; nothing where it is only called cost."""
        return "" if self.unit == "cost" else self.unit

    def cost(self, shown: str) -> str:
        """A written number with its unit."""
        return f"{shown} {self.in_unit}" if self.in_unit else shown

    def command(self, name: str, **asked: object) -> str | None:
        """A line to copy; None where nobody writes it."""
        return None if self.writer is None else self.writer(name, asked)


def called(found: Assessment, name: str) -> str:
    """A configuration with what it is."""
    if name == found.default:
        return "the default" if name == "default" else f"the default ({name})"
    return f"configuration {name}"


def opening(sentence: str) -> str:
    """A sentence with a capital letter."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def sure(delta: float) -> str:
    """How sure a statement is."""
    return f"with {100 * (1 - delta):.10g} % confidence"


def sureness(delta: float) -> str:
    """The same as a label."""
    return f"{percent(1 - delta)} sure"
