"""What may be claimed with a guarantee: quantities × evidence → statements.

`truecost.judge.evidence` decides which runs a statement uses and its share of δ;
`truecost.stats.limits` computes the limits. Every limit is one-sided at its full level: "at most"
and "at least" are two statements, and each may be wrong with probability δ. Which statements are
made, and of which side, does not depend on the results. One that cannot be made is a `Refusal`.
"""

import math
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Literal, NamedTuple

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import Refusal
from truecost.judge.costs import instance_means
from truecost.judge.evidence import Evidence
from truecost.judge.question import Chosen
from truecost.judge.scope import Scope, units_of
from truecost.matrix import CostMatrix
from truecost.stats.assumptions import Assuming

Grade = Literal["better", "worse", "open"]
# How many of the instances that decide a comparison are named.
NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Assuming):
    """With probability at least 1 − delta the true value is at least (`side` "lower") or at most
    `limit`, if the assumptions hold.

    Attributes
    ----------
    quantity
        Its name, of `truecost.stats.quantities`.
    configuration, default
        The configuration, and the one it is compared with, if any.
    side, limit
        Infinite, or 0, where these instances cannot say anything.
    opposite
        Against the default: the limit of the other side, with a delta of its own.
    observed, possible
        The quantity in the runs; where runs are censored, the end that the limit uses and the
        other one.
    even
        Against the default: the value for two equal configurations.
    delta, share
        The error probability, and the share of it that this limit uses: the rest is for other
        configurations, or other looks.
    configurations
        m, the number of configurations that share delta.
    chosen
        How the configuration was chosen; see `truecost.judge.evidence`.
    sampling_unit, instances
        What was drawn independently, and how many.
    scope
        Where it holds: "on new instances like these".
    method
        Of `truecost.stats.limits`.
    condition
        An assumption that the log does not confirm; None if it confirms all.
    assumptions
        What it needs to be true.
    same_seed
        Whether it compares runs with the same seed: there are no others.
    """

    quantity: str
    configuration: str
    default: str | None
    side: Literal["lower", "upper"]
    limit: float
    opposite: float | None
    observed: float
    possible: float
    even: float | None
    delta: float
    share: float
    configurations: int
    chosen: Chosen
    sampling_unit: str
    scope: str
    instances: int
    method: str
    condition: str | None
    assumptions: tuple[str, ...]
    same_seed: bool = False

    @property
    def grade(self) -> Grade | None:
        """Against the default: whether it shows the configuration better or worse; None for one
        configuration alone.
        """
        return "open" if self.condition and self.grade_if_met else self.grade_if_met

    @property
    def grade_if_met(self) -> Grade | None:
        """The grade if the condition is met."""
        if self.even is None or self.opposite is None:
            return None
        sign = 1 if self.side == "lower" else -1
        if sign * (self.limit - self.even) > 0:
            return "better"
        return "worse" if sign * (self.opposite - self.even) < 0 else "open"


class Spoken:
    """What `str` and a notebook show of a record; the words are loaded when first printed."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(import_module("truecost.show.report").sentence(self))

    def _repr_html_(self) -> str:
        return str(import_module("truecost.show.report").fragment(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Statement, Spoken):
    """The statement about the mean: with probability at least 1 − delta the true cost is at most
    `upper`, if the assumptions hold.

    Examples
    --------
    >>> certificate = tc.certify("kissat")
    >>> certificate.configuration, round(certificate.upper, 2)
    ('0fa88eb8a1', 1.07)
    """

    maximised: bool = False
    """Whether costs are minus a score: sentences then have scores."""

    @classmethod
    def of(cls, statement: Statement, *, maximised: bool = False) -> "Certificate":
        """A statement about the mean, under the names of a certificate."""
        values = {field.name: getattr(statement, field.name) for field in fields(statement)}
        return cls(**values, maximised=maximised)

    @property
    def upper(self) -> float:
        """The limit."""
        return self.limit

    @property
    def estimate(self) -> float:
        """The mean of the instance means on the instances used, censored runs charged the most."""
        return self.observed

    @property
    def lowest(self) -> float:
        """The same with censored runs at their caps, which is the least it can be."""
        return self.possible


class Contribution(NamedTuple):
    """What an instance adds: cost of the incumbent − cost of the default there, and its share in
    the sum over instances.
    """

    instance: str
    difference: float
    share: float


class Pairs(NamedTuple):
    """Instance means of a configuration and of the default on common instances.

    Censored runs are charged the most; `lower` and `upper` are the ends of the differences.
    """

    instances: tuple[str, ...] = ()
    winner: FloatArray = np.empty(0)
    default: FloatArray = np.empty(0)
    lower: FloatArray = np.empty(0)
    upper: FloatArray = np.empty(0)

    @property
    def differences(self) -> FloatArray:
        """Below 0 the configuration costs less."""
        return self.winner - self.default

    @property
    def sure(self) -> FloatArray:
        """The differences as far as they are sure: the end nearer to 0, or 0 where either may be
        the better one.
        """
        return np.asarray(np.clip(0.0, self.lower, self.upper))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A configuration against the default, paired on common instances; differences below 0 speak
    for the configuration.

    Attributes
    ----------
    statement
        About the difference of true costs, or why there is none.
    evidence
        What statements against the default may use; None where nothing.
    configuration, default
        The two.
    on
        The instances: `"test"` or `"training"`.
    runs
        Those that are compared, and perhaps others.
    pairs
        The differences on the instances a statement may use, else on all common ones.
    """

    statement: Statement | Refusal
    evidence: Evidence | None
    configuration: str
    default: str
    on: Literal["test", "training"]
    runs: CostMatrix
    pairs: Pairs

    @property
    def reason(self) -> str | None:
        """Why there are no limits."""
        return getattr(self.statement, "reason", None)

    @property
    def lower(self) -> float | None:
        """The lower limit of the difference of true costs, at level delta."""
        return getattr(self.statement, "opposite", None)

    @property
    def upper(self) -> float | None:
        """The upper limit, at level delta."""
        return getattr(self.statement, "limit", None)

    @property
    def difference(self) -> float:
        """The observed mean difference: `observed`."""
        return self.observed

    @property
    def difference_at_most(self) -> float | None:
        """The upper limit of the difference: `upper`."""
        return self.upper

    @property
    def difference_at_least(self) -> float | None:
        """The lower limit of the difference: `lower`."""
        return self.lower

    @property
    def grade(self) -> Grade:
        """Whether it is shown to be better or worse; open otherwise, and under a condition."""
        return getattr(self.statement, "grade", None) or "open"

    @property
    def method(self) -> str | None:
        """Of the limits."""
        return getattr(self.statement, "method", None)

    @property
    def configurations(self) -> int:
        """m, the number of configurations that share delta."""
        return 1 if self.evidence is None else self.evidence.configurations

    @property
    def condition(self) -> str | None:
        """As in `Statement`."""
        return None if self.evidence is None else self.evidence.condition

    @property
    def assumptions(self) -> tuple[str, ...]:
        """As in `Statement`."""
        return () if self.evidence is None else self.evidence.assumptions

    @property
    def instances(self) -> int:
        """How many are common."""
        return len(self.pairs.instances)

    @property
    def observed(self) -> float:
        """The mean difference, censored runs of both charged the most."""
        return _mean(self.pairs.differences)

    @property
    def lowest(self) -> float:
        """The least the mean difference can be where runs are censored."""
        return _mean(self.pairs.lower)

    @property
    def highest(self) -> float:
        """The most it can be."""
        return _mean(self.pairs.upper)

    @property
    def gains(self) -> int:
        """Instances on which it certainly costs less."""
        return int((self.pairs.upper < 0).sum())

    @property
    def losses(self) -> int:
        """Instances on which it certainly costs more."""
        return int((self.pairs.lower > 0).sum())

    @property
    def deciding(self) -> tuple[Contribution, ...]:
        """The instances that add the most, the largest first; where runs are censored, by the
        difference that is sure.
        """
        sure = self.pairs.sure
        total = float(sure.sum())
        # Stable, so that of equal differences the first instances are named.
        largest = np.argsort(-np.abs(sure), kind="stable")[:NAMED]
        return tuple(
            Contribution(
                self.pairs.instances[i],
                float(sure[i]),
                float(sure[i]) / total if total else math.nan,
            )
            for i in largest
            if sure[i] != 0
        )

    @property
    def survives(self) -> int:
        """How many of the most favourable instances can be dropped before the sign turns."""
        return _survives(self.pairs.sure)


def pairs_of(runs: CostMatrix, scope: Scope, configuration: str, default: str) -> Pairs:
    """The differences of the two on the units, by the instances both have runs on."""
    pair = runs.select(configurations=[configuration, default])
    common = np.flatnonzero((pair.counts() > 0).all(axis=0))
    if not common.size:
        return Pairs()
    units = units_of(pair.select(instances=[runs.instances[i] for i in common]), scope)
    (ours, theirs), _ = instance_means(units)
    (our_cap, their_cap), _ = instance_means(units, caps=True)
    return Pairs(units.instances, ours, theirs, our_cap - theirs, ours - their_cap)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if values.size else math.nan


def _survives(apart: FloatArray) -> int:
    """How many of the differences that speak most for the sum's sign can go before that is gone."""
    total = float(apart.sum())
    if total == 0 or not apart.size:
        return 0
    against = np.sort(apart * math.copysign(1, total))[::-1]
    left = abs(total) - np.cumsum(against)
    # The last step can miss 0 by rounding.
    return int(np.argmax(left <= 1e-12 * np.abs(apart).sum()))
