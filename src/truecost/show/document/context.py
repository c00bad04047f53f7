"""What a document needs besides the assessment, and the words all its sections share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truecost.judge.assessment import Assessment
from truecost.show.numbers import confidence

if TYPE_CHECKING:
    from truecost.show.theme import Chart

# Writes a command to copy, from its name and its options; None if it cannot.
Writer = Callable[[str, Mapping[str, object]], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The name of the runs, the unit of cost, and the writer of commands (none in a notebook)."""

    name: str = "runs"
    title: str | None = None
    unit: str = "cost"
    writer: Writer | None = None

    @property
    def in_unit(self) -> str:
        """The unit behind a number; empty if costs have no unit."""
        return "" if self.unit == "cost" else self.unit

    def cost(self, shown: str) -> str:
        """Return a written number with its unit."""
        return f"{shown} {self.in_unit}" if self.in_unit else shown

    def command(self, name: str, **options: object) -> str | None:
        """Return a line to copy; None without a writer."""
        return None if self.writer is None else self.writer(name, options)


def called(assessment: Assessment, name: str) -> str:
    """Return a configuration's name with its role."""
    if name == assessment.default:
        return "the default" if name == "default" else f"the default ({name})"
    if name == assessment.incumbent and assessment.asked.configuration is None:
        return f"the winner ({name})"
    return f"configuration {name}"


def opening(sentence: str) -> str:
    """Return the sentence with a capital letter."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def sure(delta: float) -> str:
    """Return the confidence of a statement, as part of a sentence."""
    return f"with {confidence(delta)} confidence"


def drawing(
    kind: str, inputs: Callable[[], Mapping[str, Any]], **options: Any
) -> Callable[[], "tuple[Any, Chart]"]:
    """Return how to draw a figure: `<kind>_chart` of `<kind>_data`, computed when needed."""

    def draw() -> "tuple[Any, Chart]":
        from truecost.show import figures  # charts take long to load, and a terminal needs none

        data = getattr(figures, f"{kind}_data")(**inputs())
        return data, getattr(figures, f"{kind}_chart")(data, **options)

    return draw
