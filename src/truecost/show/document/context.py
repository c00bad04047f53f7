"""What a document needs besides the assessment, and the words all its sections share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Comparison, Statement
from truecost.runs import NO_INSTANCE
from truecost.show.blocks import Figure
from truecost.show.document.wording import COST, SCORE, UTILITY, Scale
from truecost.show.numbers import confidence, counted, number

if TYPE_CHECKING:
    from truecost.show.theme import Chart

# Quantities in the unit of cost.
COSTS = ("mean", "median", "90th percentile", "difference")
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


@dataclass(frozen=True, slots=True)
class Case:
    """An assessment and its context: what a document is about, and the words for it."""

    assessment: Assessment
    context: Context

    @property
    def scale(self) -> Scale:
        """How costs are shown."""
        return SCORE if self.assessment.trajectory.maximised else COST

    @property
    def mean_scale(self) -> Scale:
        """How mean costs are shown; those of 1 − utility as utilities."""
        return UTILITY if self.assessment.log.utility is not None else self.scale

    @property
    def nowhere(self) -> bool:
        """Whether there are no instances at all."""
        return self.assessment.log.matrix.instances == (NO_INSTANCE,)

    @property
    def axis_unit(self) -> str:
        """The unit of cost for a figure; a minus has it show costs as scores."""
        unit = self.context.unit
        if not self.assessment.trajectory.maximised:
            return unit
        return f"−{'score' if unit == 'cost' else unit}"

    def cost(self, shown: str) -> str:
        """Return a written number with its unit."""
        return self.context.cost(shown)

    def shown(self, cost: float) -> str:
        """Return a cost as it is shown, with its unit."""
        return self.cost(number(self.scale.value(cost)))

    def units(self, count: int, kind: str = "") -> str:
        """Return a number of sampling units, such as "5 training instances"."""
        return counted(count, f"{kind} {self.assessment.scope.unit}".strip())

    def called(self, name: str) -> str:
        """Return a configuration's name with its role."""
        if name == self.assessment.default:
            return "the default" if name == "default" else f"the default ({name})"
        if name == self.assessment.incumbent and self.assessment.question.configuration is None:
            return f"the winner ({name})"
        return f"configuration {name}"

    @property
    def winner(self) -> str:
        """The incumbent with its role."""
        return self.called(self.assessment.incumbent)

    @property
    def criterion(self) -> str:
        """What decides whether it is better."""
        return self.mean_scale.mean if self.assessment.primary == "mean" else "share of runs won"

    def pair(self, comparison: Comparison) -> tuple[str, str]:
        """Return the two that are compared, with their roles."""
        return self.called(comparison.configuration), self.called(comparison.default)

    def best_on_part(self, tested: str) -> str:
        """Return why statements are about another configuration than the winner."""
        units = self.assessment.scope.plural
        return (
            f"{opening(self.called(tested))} is the best on the random fifth of the {units} that "
            f"was used to choose; {self.winner} is the best on all of them."
        )

    def on_scale(
        self, statement: Statement, *, opposite: bool = False
    ) -> tuple[bool, float, tuple[float, float]]:
        """Return a limit as it is shown: whether it is an upper one, its value, and the observed
        range.

        Of a utility, only means are shown as such.
        """
        limit = statement.limit
        if opposite and statement.opposite is not None:
            limit = statement.opposite
        upper = (statement.side == "upper") != opposite
        low, high = sorted((statement.observed, statement.possible))
        scale, quantity = self.mean_scale, statement.quantity
        if scale is COST or quantity not in (COSTS if scale is SCORE else ("mean", "difference")):
            return upper, limit, (low, high)
        # Differences have no origin.
        scale = scale._replace(origin=0.0) if quantity == "difference" else scale
        return not upper, scale.value(limit), scale.range(low, high)

    def figure(
        self,
        kind: str,
        title: str,
        notes: str | tuple[str, ...],
        inputs: Callable[[], Mapping[str, Any]],
        name: str = "",
        *,
        signed: bool = True,
        wide: bool = True,
        **options: Any,
    ) -> Figure:
        """Return a figure for the page: `<kind>_chart` of `<kind>_data`, computed when needed.

        Costs are shown as scores where sentences have scores; errors and widths are not `signed`.
        """
        unit = self.axis_unit if signed else self.axis_unit.removeprefix("−")
        name, notes = name or kind.replace("_", "-"), (notes,) if isinstance(notes, str) else notes
        draw = drawing(kind, inputs, unit=unit, **options)
        return Figure(name, title, notes, draw, wide=wide, page_only=True)


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
