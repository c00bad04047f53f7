"""The words for costs and scores, and for each quantity of `truecost.stats.quantities`."""

from collections.abc import Callable
from typing import Final, NamedTuple

from truecost.judge.statements import Statement
from truecost.show.blocks import Tone
from truecost.show.numbers import (
    at_least,
    at_most,
    number,
    percent,
    share_at_least,
    share_at_most,
    signed,
)


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
