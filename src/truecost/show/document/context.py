"""The words all sections share: for costs, scores and each quantity; and what a document needs
besides the assessment.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Comparison, Statement
from truecost.runs import NO_INSTANCE
from truecost.show.blocks import Figure, Tone
from truecost.show.numbers import (
    at_least,
    at_most,
    confidence,
    counted,
    number,
    percent,
    share_at_least,
    share_at_most,
    signed,
)

if TYPE_CHECKING:
    from truecost.show.theme import Chart

# What `space.name_of` calls a configuration.
HASH: Final = re.compile(r"[0-9a-f]{10}")


class Scale(NamedTuple):
    """How costs are shown: as they are, or as the scores or utilities they were made from.

    Attributes
    ----------
    noun, mean, verb
        What a run has, what its mean is called, and "costs" or "scores".
    low, lower, higher
        What is good, better and worse.
    less, more
        Behind the verb: better and worse.
    sign, origin
        What is shown is origin + sign × cost.
    """

    noun: str
    mean: str
    verb: str
    low: str
    lower: str
    higher: str
    less: str
    more: str
    sign: int
    origin: float = 0.0

    def value(self, cost: float) -> float:
        """Return what is shown for a cost."""
        return self.origin + self.sign * cost + 0.0  # never −0

    def range(self, low: float, high: float) -> tuple[float, float]:
        """Return what is shown for a range of costs, the lower end first."""
        return (low, high) if self.sign > 0 else (self.value(high), self.value(low))

    def limit(self, cost: float) -> str:
        """Write an upper limit of a cost, rounded to the safe side."""
        value = self.value(cost)
        return f"at most {at_most(value)}" if self.sign > 0 else f"at least {at_least(value)}"


# A low cost is good, and a high score: every word that says so turns.
COST: Final = Scale("cost", "mean cost", "costs", "low", "lower", "higher", "less", "more", 1)
SCORE: Final = Scale("score", "mean score", "scores", "high", "higher", "lower", "more", "less", -1)
UTILITY: Final = SCORE._replace(noun="utility", mean="expected utility", origin=1.0)


# A statement's grade in a table, and its colour.
GRADES: Final[dict[str | None, tuple[str, Tone]]] = {
    "better": ("shown better", "good"),
    "worse": ("shown worse", "bad"),
    "open": ("undecided", ""),
    None: ("", ""),
}


class Wording(NamedTuple):
    """The words for a quantity.

    Attributes
    ----------
    label
        Its name in a table.
    claim
        The sentence that {who} reaches {value}, against {default}.
    value, least, most
        How to write its values, lower limits and upper limits.
    """

    label: str
    claim: str = ""
    value: Callable[[float], str] = number
    least: Callable[[float], str] = at_least
    most: Callable[[float], str] = at_most

    def limit(self, value: float, upper: bool) -> str:
        """Write a limit."""
        return f"at most {self.most(value)}" if upper else f"at least {self.least(value)}"


def _points(write: Callable[[float], str]) -> Callable[[float], str]:
    return lambda share: write(100 * share)


SHARE: Final = (percent, share_at_least, share_at_most)
WORDS: Final = {
    "mean": Wording("mean cost", "{who} costs at most {value} on average"),
    "solved share": Wording(
        "share of runs solved", "{who} solves at least {value} of its runs", *SHARE
    ),
    "median": Wording("median cost", "the median cost of {who} is at most {value}"),
    "90th percentile": Wording(
        "90th percentile of cost", "the 90th percentile of the cost of {who} is at most {value}"
    ),
    "wins": Wording(
        "share of runs won (ties count ½)",
        "{who} wins more than {value} of its runs against {default}",
        *SHARE,
    ),
    "speed-up": Wording(
        "median speed-up over the default",
        "{who} is at least {value} times faster than {default} in the median",
    ),
    "difference of solved shares": Wording(
        "more runs solved than by the default (percentage points)",
        "{who} solves at least {value} percentage points more of its runs than {default}",
        _points(signed),
        _points(at_least),
        _points(at_most),
    ),
    "ratio of means": Wording(
        "ratio of mean costs, default ÷ winner",
        "{default} costs at least {value} times as much as {who} on average",
    ),
    "difference": Wording(
        "difference of mean costs, winner − default",
        "{who} costs less than {default} on average",
        signed,
    ),
}
# Of scores, those with other words; the claim of the others is about wins and times.
SCORED: Final = {
    "mean": Wording("mean score", "{who} scores at least {value} on average"),
    "median": Wording("median score", "the median score of {who} is at least {value}"),
    "90th percentile": Wording(
        "10th percentile of score", "the 10th percentile of the score of {who} is at least {value}"
    ),
    "difference": Wording(
        "difference of mean scores, winner − default",
        "{who} scores more than {default} on average",
        signed,
    ),
}


def words_of(statement: Statement, scale: Scale = COST) -> Wording:
    """Return the words for a statement's quantity, which say where runs had the same seed."""
    words = wording(statement.quantity, scale)
    return words._replace(label=f"{words.label},{with_seed(statement)}".rstrip(","))


def with_seed(statement: Statement) -> str:
    """Return what to add to "of the runs" where only runs with the same seed were compared."""
    return " with the same seed" if statement.same_seed else ""


def wording(quantity: str, scale: Scale = COST) -> Wording:
    """Return the words for a quantity on this scale."""
    if scale is SCORE:
        return SCORED.get(quantity, WORDS[quantity])
    if scale is UTILITY and quantity in ("mean", "difference"):
        label = {"difference": "difference of expected utilities, winner − default"}
        return WORDS[quantity]._replace(label=label.get(quantity, scale.mean))
    return WORDS[quantity]


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

    def cost(self, text: str) -> str:
        """Return a written number with its unit."""
        return f"{text} {self.in_unit}" if self.in_unit else text

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
    def apart_scale(self) -> Scale:
        """How differences of mean costs are shown: they have no origin."""
        return self.mean_scale._replace(origin=0.0)

    @property
    def nowhere(self) -> bool:
        """Whether there are no instances at all."""
        return self.assessment.log.matrix.instances == (NO_INSTANCE,)

    @property
    def axis_unit(self) -> str:
        """The unit of cost for a figure; a minus has it show costs as scores."""
        unit = self.context.unit
        if self.mean_scale is UTILITY:
            return "1 − utility"
        if not self.assessment.trajectory.maximised:
            return unit
        return f"−{'score' if unit == 'cost' else unit}"

    def cost(self, text: str) -> str:
        """Return a written number with its unit."""
        return self.context.cost(text)

    def amount(self, cost: float) -> str:
        """Return a cost as it is shown, with its unit."""
        return self.cost(number(self.mean_scale.value(cost)))

    def units(self, count: int, kind: str = "") -> str:
        """Return a number of sampling units, such as "5 training instances"."""
        return counted(count, f"{kind} {self.assessment.scope.unit}".strip())

    def called(self, name: str) -> str:
        """Return a configuration's name with its role; the role alone where the name is a hash."""
        hashed = self._is_hash(name)
        if name == self.assessment.default:
            return "the default" if hashed or name == "default" else f"the default ({name})"
        # Somebody who typed a name looks for that name.
        chosen = self.assessment.question.configuration is None
        # A search's own winner is judged under its name, which nobody typed.
        chosen |= hashed and name == self.assessment.trajectory.incumbent
        if name == self.assessment.incumbent and chosen:
            return "the winner" if hashed else f"the winner ({name})"
        return f"configuration {name}"

    def _is_hash(self, name: str) -> bool:
        """Whether a name says nothing: ten digits of another tool are its own number, and of two
        versions that are compared somebody typed the names.
        """
        log = self.assessment.log
        ours = log.trajectory.tool.startswith("truecost") and log.kind != "compared"
        return HASH.fullmatch(name) is not None and ours

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
        scale = self.apart_scale if quantity == "difference" else scale
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
        means: bool = False,
        wide: bool = True,
        **options: Any,
    ) -> Figure:
        """Return a figure for the page: `<kind>_chart` of `<kind>_data`, computed when needed.

        Costs are shown as scores where sentences have scores; errors and widths are not `signed`.
        `means` that are given as costs less the origin of `mean_scale` are shown as utilities.
        """
        utility = self.mean_scale is UTILITY and (means or not signed)
        unit = "−utility" if utility else self.axis_unit
        unit = unit if signed else unit.removeprefix("−")
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
