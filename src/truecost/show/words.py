"""What sides, means, units and limits are called."""

from math import inf, isfinite
from typing import TYPE_CHECKING, Final

from truecost.errors import Refusal
from truecost.show.numbers import (
    at_least,
    at_most,
    digits_for,
    exact,
    label,
    number,
    percent,
    share_at_least,
    share_at_most,
    signed,
    visible,
)

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment, Statement
    from truecost.matrix import Log

# What the two sides are with_article, such as ("NEW", "OLD").
Names = tuple[str, str]
NAMES: Names = ("winner", "default")
SCOPES: Final = {
    "instance": "on new instances",
    "family": "on instances of new families",
    "seed": "with new seeds",
}
SHARES: Final = ("wins", "solved", "solved difference")


def with_article(name: str) -> str:
    """Return a side's name inside a sentence: the winner, NEW."""
    return f"the {name}" if name.islower() else name


def with_name(side: str, name: str | None) -> str:
    """Return a side with the configuration's name: winner (24), default."""
    text = label(name or "")
    return side if text in ("", side) else f"{side} ({text})"


def capitalised(sentence: str) -> str:
    """Begin a sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def scope_of(assessment: "Assessment") -> str:
    """Return what statements are about: on new instances."""
    evidence = assessment.evidence
    return SCOPES["instance" if isinstance(evidence, Refusal) else evidence.sampled]


def is_time(assessment: "Assessment") -> bool:
    """Whether costs are running times in seconds with a penalty for failures."""
    return assessment.log.runs.par is not None


def mean_of(assessment: "Assessment", penalty: float | None = None) -> str:
    """Return what means are of: mean PAR10, mean tour length, mean cost."""
    if is_time(assessment):
        return f"mean {par(penalty or assessment.log.runs.par)}"
    return f"mean {visible(assessment.log.cost_unit) or 'cost'}"


def par(penalty: float | None) -> str:
    """Write a penalty as people know it: PAR10."""
    return "failures only" if penalty == inf else f"PAR{exact(penalty or 1)}"


def unit_of(assessment: "Assessment") -> str:
    """Return what follows a cost: s for running times."""
    return " s" if is_time(assessment) else ""


def phase_of(log: "Log") -> str:
    """Return what the runs of a log are: those of a validation on its own are all test runs."""
    return "test" if log.runs is log.test else "training"


def axis_of(assessment: "Assessment") -> str:
    """Return what an axis of means is called: mean PAR10 (s)."""
    return f"{mean_of(assessment)}{' (s)' if is_time(assessment) else ''}"


def values(statement: "Statement") -> tuple[str, str, str]:
    """Write the observed value, the guaranteed limits, rounded outwards, and the approximate
    interval; differences carry signs.
    """
    share = statement.quantity in SHARES or statement.penalty == inf
    mark = signed if statement.no_difference == 0 else str
    digits = digits_for((statement.observed, statement.lower, statement.upper))

    def write(value: float) -> str:
        return mark(percent(value) if share else number(value, digits))

    least = mark(share_at_least(statement.lower) if share else at_least(statement.lower, digits))
    most = mark(share_at_most(statement.upper) if share else at_most(statement.upper, digits))
    limits = {
        (True, True): f"{least} to {most}",
        (True, False): f"at least {least}",
        (False, True): f"at most {most}",
        (False, False): "–",
    }[isfinite(statement.lower), isfinite(statement.upper)]
    near = "–"
    if statement.approximate is not None:
        near = " to ".join(map(write, statement.approximate))
    return write(statement.observed), limits, near
