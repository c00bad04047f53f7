"""What may be said with a guarantee: of the true cost of a configuration, and of its difference to the default's.

Which instances a statement uses and how much of δ it has is `truecost.judge.evidence`; the limits are those of
`truecost.stats.confidence`. Every limit is one-sided and has all of its δ: "at most" and "at least" are two statements.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.judge.costs import instance_means
from truecost.judge.evidence import Chosen, Evidence, RefusedError, in_rounds
from truecost.judge.spoken import Spoken
from truecost.matrix import CostMatrix

FloatArray = NDArray[np.float64]
Grade = Literal["better", "worse", "open"]
# How many of the instances that decide a comparison are named.
NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Spoken):
    """With probability at least 1 − delta, the true cost is at most `upper`, if what it `rests_on` holds.

    Attributes
    ----------
    configuration
        Whose true cost.
    estimate
        The mean of its instance means on the instances used.
    upper
        The limit.
    delta
        The probability with which the statement may be wrong.
    chosen
        How the configuration was chosen; see `truecost.judge.evidence`.
    instances
        How many decide it.
    method
        Of `truecost.stats.confidence`.
    configurations
        m, over which delta was shared out.
    condition
        What nobody has said of these runs and the statement needs; None where the log says all.
    rests_on
        The assumptions.
    """

    configuration: str
    estimate: float
    upper: float
    delta: float
    chosen: Chosen
    instances: int
    method: str
    configurations: int
    condition: str | None
    rests_on: tuple[str, ...]


class Contribution(NamedTuple):
    """What an instance adds: cost of the incumbent − cost of the default there, and its share in the sum over instances."""

    instance: str
    difference: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A configuration against the default, paired on common instances; differences below 0 speak for the configuration.

    Attributes
    ----------
    configuration, default
        The two.
    estimate
        The mean difference on the instances a statement may use, else on all common ones.
    lower, upper
        Limits of the difference of true costs, each with all of delta; None with a `reason` where there are none.
    on, instances
        `"test"` or `"training"`: whose instances, and how many are common.
    gains, losses
        On how many of them the configuration costs less, and more.
    configurations, method, condition, rests_on
        As in `Certificate`.
    deciding
        The instances that add the most, the largest first.
    survives
        How many of the instances that favour the sign of the estimate the most can be dropped before it turns.
    """

    configuration: str
    default: str
    estimate: float
    lower: float | None
    upper: float | None
    on: Literal["test", "training"]
    instances: int
    gains: int
    losses: int
    configurations: int
    method: str | None
    condition: str | None
    rests_on: tuple[str, ...]
    deciding: tuple[Contribution, ...]
    survives: int
    reason: str | None

    @property
    def grade(self) -> Grade:
        """Whether it is shown to be better, or worse; open else, and as long as a condition is."""
        if self.lower is None or self.upper is None or self.condition is not None:
            return "open"
        return "better" if self.upper < 0 else "worse" if self.lower > 0 else "open"


class Pairs(NamedTuple):
    """Instance means of a configuration and of the default on common instances."""

    instances: tuple[str, ...]
    own: FloatArray
    default: FloatArray

    @property
    def differences(self) -> FloatArray:
        """Below 0 the configuration costs less."""
        return self.own - self.default


def certificate(evidence: Evidence, *, delta: float, rng: np.random.Generator) -> Certificate:
    """What the true cost of the evidence's configuration does not exceed."""
    row = evidence.runs.select(configurations=[evidence.configuration])
    if np.isnan(row.costs).all():
        raise RefusedError(f"{evidence.configuration!r} has no runs on the instances that may be used")
    if not math.isfinite(row.width):
        raise RefusedError("a limit of the mean needs the metric's possible range (`low` and `high`)")
    if evidence.at_all_times:
        costs, part, planned = in_rounds(evidence, [evidence.configuration])
        found = _sequence(costs[0].mean(axis=1), row.low, row.high, delta * evidence.share * part, "upper", planned)
    else:
        found = _one_look(row.costs[0], row.low, row.high, delta * evidence.share, "upper", rng)
    return Certificate(
        configuration=evidence.configuration,
        estimate=found.estimate,
        upper=found.upper,
        delta=delta,
        chosen=evidence.chosen,
        instances=found.instances,
        method=found.method,
        configurations=evidence.configurations,
        condition=evidence.condition,
        rests_on=evidence.rests_on,
    )


class Bracket(NamedTuple):
    """Two limits of one number, with the instances and the method behind them."""

    estimate: float
    lower: float
    upper: float
    instances: int
    method: str


def limits_of_difference(evidence: Evidence, default: str, *, delta: float, rng: np.random.Generator) -> Bracket:
    """Limits of u(evidence's configuration) − u(default), paired, each with all of delta."""
    names = [evidence.configuration, default]
    pair = evidence.runs.select(configurations=names)
    if not (pair.counts() > 0).all(axis=0).any():
        raise RefusedError(f"{evidence.configuration!r} and {default!r} have no instance in common there")
    if not math.isfinite(pair.width):
        raise RefusedError("limits of a difference of means need the metric's possible range (`low` and `high`)")
    # One side each with all of delta is both sides with twice of it; above a half there is nothing left to say.
    delta = min(2 * delta * evidence.share, 0.999)
    if evidence.at_all_times:
        costs, part, planned = in_rounds(evidence, names)
        means = costs.mean(axis=2)
        return _sequence(means[0] - means[1], -pair.width, pair.width, delta * part, "both", planned)
    means, there = instance_means(pair)
    apart = np.where(there.all(axis=0), means[0] - means[1], np.nan)
    return _one_look(apart, -pair.width, pair.width, delta, "both", rng)


def _one_look(
    costs: FloatArray, low: float, high: float, delta: float, side: Literal["upper", "both"], rng: np.random.Generator
) -> Bracket:
    from truecost.stats import confidence  # here, since it loads compiled kernels, and most of what is said needs none

    limits = confidence.upper if side == "upper" else confidence.interval
    found = limits(costs, low, high, delta, rng=int(rng.integers(2**63)))
    return Bracket(float(found.estimate), float(found.lower), float(found.upper), int(found.instances), found.method)


def _sequence(
    values: FloatArray, low: float, high: float, delta: float, side: Literal["upper", "both"], planned: int | None
) -> Bracket:
    from truecost.stats import confidence

    if planned is not None:
        found = confidence.watched(values, low, high, delta, planned=planned, side=side)
        return Bracket(float(found.estimate), float(found.lower), float(found.upper), int(found.instances), found.method)
    steps = confidence.sequence(values, low, high, delta, side=side)
    estimate, lower, upper = (float(part[-1]) for part in (steps.estimate, steps.lower, steps.upper))
    return Bracket(estimate, lower, upper, int(steps.instances[-1]), "betting, at all times")


def pairs_of(runs: CostMatrix, configuration: str, default: str) -> Pairs:
    """The differences of the two on the instances both have runs on."""
    means, there = instance_means(runs.select(configurations=[configuration, default]))
    common = np.flatnonzero(there.all(axis=0))
    return Pairs(tuple(runs.instances[i] for i in common), means[0, common], means[1, common])


def comparison(
    pairs: Pairs,
    configuration: str,
    default: str,
    *,
    on: Literal["test", "training"],
    limits: Bracket | None,
    evidence: Evidence | None,
    reason: str | None,
) -> Comparison:
    """What the pairs say, with the limits that may be stated of them."""
    apart = pairs.differences
    total = float(apart.sum())
    largest = np.argsort(-np.abs(apart), kind="stable")[:NAMED]
    return Comparison(
        configuration=configuration,
        default=default,
        estimate=float(apart.mean()) if apart.size else math.nan,
        lower=None if limits is None else limits.lower,
        upper=None if limits is None else limits.upper,
        on=on,
        instances=apart.size,
        gains=int((apart < 0).sum()),
        losses=int((apart > 0).sum()),
        configurations=1 if evidence is None else evidence.configurations,
        method=None if limits is None else limits.method,
        condition=None if evidence is None else evidence.condition,
        rests_on=() if evidence is None else evidence.rests_on,
        deciding=tuple(
            Contribution(pairs.instances[i], float(apart[i]), float(apart[i]) / total if total else math.nan)
            for i in largest
            if apart[i] != 0
        ),
        survives=_survives(apart),
        reason=reason,
    )


def _survives(apart: FloatArray) -> int:
    """How many of the differences that speak most for the sum's sign can go before that is gone."""
    total = float(apart.sum())
    if total == 0 or not apart.size:
        return 0
    against = np.sort(apart * math.copysign(1, total))[::-1]
    left = abs(total) - np.cumsum(against)
    # The last step can miss 0 by rounding.
    return int(np.argmax(left <= 1e-12 * np.abs(apart).sum()))


def check_names(matrix: CostMatrix, *names: str | None) -> None:
    """Refuse names that are not there."""
    for name in names:
        if name is not None:
            matrix.select(configurations=[name])


def check_has_runs(matrix: CostMatrix, name: str) -> None:
    """Refuse a configuration without runs."""
    if not matrix.select(configurations=[name]).counts().any():
        raise InputError(f"Expected runs of {name!r}, got none.")
