"""What a document needs besides the assessment, and the words all its sections share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Statement
from truecost.show.document.wording import COST, SCORE, UTILITY, Scale
from truecost.show.numbers import confidence, counted

if TYPE_CHECKING:
    from truecost.show.theme import Chart

# Quantities in the unit of cost.
COSTS = ("mean", "median", "nine in ten", "difference")
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


def scale_of(assessment: Assessment) -> Scale:
    """Return how costs are shown."""
    return SCORE if assessment.trajectory.maximised else COST


def mean_scale(assessment: Assessment) -> Scale:
    """Return how mean costs are shown; those of 1 − utility as utilities."""
    return UTILITY if assessment.log.utility is not None else scale_of(assessment)


def on_scale(
    assessment: Assessment, statement: Statement, *, opposite: bool = False
) -> tuple[bool, float, tuple[float, float]]:
    """Return a limit as it is shown: whether it is an upper one, its value, and the observed range.

    Of a utility, only means are shown as such.
    """
    limit = statement.opposite if opposite and statement.opposite is not None else statement.limit
    upper = (statement.side == "upper") != opposite
    low, high = sorted((statement.observed, statement.possible))
    scale, quantity = mean_scale(assessment), statement.quantity
    if scale is COST or quantity not in (COSTS if scale is SCORE else ("mean", "difference")):
        return upper, limit, (low, high)
    # Differences have no origin.
    scale = scale._replace(origin=0.0) if quantity == "difference" else scale
    return not upper, scale.value(limit), scale.range(low, high)


def axis_unit(assessment: Assessment, context: Context, *, signed: bool = True) -> str:
    """Return the unit of cost for a figure. A minus has it show costs as scores; errors and widths
    are not `signed`.
    """
    if not assessment.trajectory.maximised:
        return context.unit
    return f"{'−' if signed else ''}{'score' if context.unit == 'cost' else context.unit}"


def units(assessment: Assessment, count: int, kind: str = "") -> str:
    """Return a number of sampling units, such as "5 training instances"."""
    return counted(count, f"{kind} {assessment.scope.unit}".strip())


def called(assessment: Assessment, name: str) -> str:
    """Return a configuration's name with its role."""
    if name == assessment.default:
        return "the default" if name == "default" else f"the default ({name})"
    if name == assessment.incumbent and assessment.question.configuration is None:
        return f"the winner ({name})"
    return f"configuration {name}"


def best_on_part(assessment: Assessment, tested: str) -> str:
    """Return why statements are about another configuration than the winner."""
    best, units = called(assessment, assessment.incumbent), assessment.scope.plural
    return (
        f"{opening(called(assessment, tested))} is the best on the random fifth of the {units} that "
        f"was used to choose; {best} is the best on all of them."
    )


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
