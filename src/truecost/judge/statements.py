"""What may be said with a guarantee: of the true cost of a configuration, and of its difference to
the default's.

Which instances a statement uses and how much of δ it has is `truecost.judge.evidence`; the limits
are those of `truecost.stats.confidence`. Every limit is one-sided and has all of its δ: "at most"
and "at least" are two statements.
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
    """With probability at least 1 − delta, the true cost is at most `upper`, if what it `rests_on`
    holds.

    Attributes
    ----------
    configuration
        Whose true cost.
    estimate, lowest
        The mean of its instance means on the instances used; with censored runs at their caps,
        which is the least it can be.
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
    lowest: float
    upper: float
    delta: float
    chosen: Chosen
    instances: int
    method: str
    configurations: int
    condition: str | None
    rests_on: tuple[str, ...]


class Contribution(NamedTuple):
    """What an instance adds: cost of the incumbent − cost of the default there, and its share in
    the sum over instances.
    """

    instance: str
    difference: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A configuration against the default, paired on common instances; differences below 0 speak
    for the configuration.

    Attributes
    ----------
    configuration, default
        The two.
    estimate
        The mean difference on the instances a statement may use, else on all common ones.
    lowest, highest
        The ends between which that lies where runs are censored; `estimate` charges those of both
        the most.
    lower, upper
        Limits of the difference of true costs, each with all of delta; None with a `reason` where
        there are none.
    on, instances
        `"test"` or `"training"`: whose instances, and how many are common.
    gains, losses
        On how many of them the configuration costs less, and more, for sure.
    configurations, method, condition, rests_on
        As in `Certificate`.
    deciding
        The instances that add the most, the largest first. Where runs are censored, by the
        difference that is sure.
    survives
        How many of the instances that favour the sign of the estimate the most can be dropped
        before it turns.
    """

    configuration: str
    default: str
    estimate: float
    lowest: float
    highest: float
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
    """Instance means of a configuration and of the default on common instances.

    Censored runs are charged the most; `lower` and `upper` are the ends of the differences.
    """

    instances: tuple[str, ...]
    own: FloatArray
    default: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def differences(self) -> FloatArray:
        """Below 0 the configuration costs less."""
        return self.own - self.default

    @property
    def sure(self) -> FloatArray:
        """The differences as far as they are sure: the end nearer to 0, or 0 where either may be
        the better one.
        """
        return np.asarray(np.clip(0.0, self.lower, self.upper))


def certificate(evidence: Evidence, *, delta: float, rng: np.random.Generator) -> Certificate:
    """What the true cost of the evidence's configuration does not exceed."""
    row = evidence.runs.select(configurations=[evidence.configuration])
    if np.isnan(row.costs).all():
        raise RefusedError(
            f"{evidence.configuration!r} has no runs on the instances that may be used"
        )
    if not math.isfinite(row.width):
        raise RefusedError(
            "a limit of the mean needs the metric's possible range (`low` and `high`)"
        )
    part = 1.0
    if evidence.at_all_times:
        row, part, planned = in_rounds(evidence, [evidence.configuration])
        evidence = evidence._replace(planned=planned)
    (most,), (there,) = instance_means(row)
    (least,), _ = instance_means(row, caps=True) if row.censored.any() else ((most,), there)
    values = np.where(there, most, np.nan)
    upper, method = _limit(
        values,
        "upper",
        row,
        (row.low, row.high),
        delta * evidence.share * part,
        evidence,
        _seed(rng),
    )
    return Certificate(
        configuration=evidence.configuration,
        estimate=float(most[there].mean()),
        lowest=float(least[there].mean()),
        upper=upper,
        delta=delta,
        chosen=evidence.chosen,
        instances=int(there.sum()),
        method=method,
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


def limits_of_difference(
    evidence: Evidence, default: str, *, delta: float, rng: np.random.Generator
) -> Bracket:
    """Limits of u(evidence's configuration) − u(default), paired, each with all of delta."""
    evidence = evidence.against(default)
    names = [evidence.configuration, default]
    pair = evidence.runs.select(configurations=names)
    if not (pair.counts() > 0).all(axis=0).any():
        raise RefusedError(
            f"{evidence.configuration!r} and {default!r} have no instance in common there"
        )
    if not math.isfinite(pair.width):
        raise RefusedError(
            "limits of a difference of means need the metric's possible range (`low` and `high`)"
        )
    part = 1.0
    if evidence.at_all_times:
        pair, part, planned = in_rounds(evidence, names)
        evidence = evidence._replace(planned=planned)
    most, there = instance_means(pair)
    least = instance_means(pair, caps=True)[0] if pair.censored.any() else most
    both, seed = there.all(axis=0), _seed(rng)
    # Above a half there is nothing left to say.
    delta = min(delta * evidence.share, 0.4995) * part
    # What goes against the limit: the one at its cap, the other charged the most.
    ends: dict[Literal["lower", "upper"], FloatArray] = {
        "lower": least[0] - most[1],
        "upper": most[0] - least[1],
    }
    (lower, method), (upper, _) = (
        _limit(
            np.where(both, values, np.nan),
            side,
            pair,
            (-pair.width, pair.width),
            delta,
            evidence,
            seed,
        )
        for side, values in ends.items()
    )
    return Bracket(float((most[0] - most[1])[both].mean()), lower, upper, int(both.sum()), method)


def _limit(
    values: FloatArray,
    side: Literal["lower", "upper"],
    runs: CostMatrix,
    ends: tuple[float, float],
    delta: float,
    evidence: Evidence,
    seed: int,
) -> tuple[float, str]:
    """The limit of the mean of these instance means on one side, with all of delta, and its method."""
    from truecost.stats import (
        confidence,
    )  # here, since it loads compiled kernels, and most of what is said needs none

    if evidence.planned is not None:
        found = confidence.watched(values, *ends, delta, planned=evidence.planned, side=side)
        return float(getattr(found, side)), found.method
    if evidence.at_all_times:
        steps = confidence.sequence(values, *ends, delta, side=side)
        return float(getattr(steps, side)[-1]), "betting, at all times"
    method: confidence.Method = "hoeffding" if runs.censored.any() else "star-bets"
    limit = confidence.lower if side == "lower" else confidence.upper
    return float(getattr(limit(values, *ends, delta, method=method, rng=seed), side)), method


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))


def pairs_of(runs: CostMatrix, configuration: str, default: str) -> Pairs:
    """The differences of the two on the instances both have runs on."""
    pair = runs.select(configurations=[configuration, default])
    most, there = instance_means(pair)
    common = np.flatnonzero(there.all(axis=0))
    (own, other), (own_cap, other_cap) = (
        most[:, common],
        instance_means(pair, caps=True)[0][:, common],
    )
    return Pairs(
        tuple(runs.instances[i] for i in common), own, other, own_cap - other, own - other_cap
    )


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
    apart = pairs.sure
    total = float(apart.sum())
    largest = np.argsort(-np.abs(apart), kind="stable")[:NAMED]
    return Comparison(
        configuration=configuration,
        default=default,
        estimate=_mean(pairs.differences),
        lowest=_mean(pairs.lower),
        highest=_mean(pairs.upper),
        lower=None if limits is None else limits.lower,
        upper=None if limits is None else limits.upper,
        on=on,
        instances=apart.size,
        gains=int((pairs.upper < 0).sum()),
        losses=int((pairs.lower > 0).sum()),
        configurations=1 if evidence is None else evidence.configurations,
        method=None if limits is None else limits.method,
        condition=None if evidence is None else evidence.condition,
        rests_on=() if evidence is None else evidence.rests_on,
        deciding=tuple(
            Contribution(
                pairs.instances[i], float(apart[i]), float(apart[i]) / total if total else math.nan
            )
            for i in largest
            if apart[i] != 0
        ),
        survives=_survives(apart),
        reason=reason,
    )


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


def check_names(matrix: CostMatrix, *names: str | None) -> None:
    """Refuse names that are not there."""
    for name in names:
        if name is not None and name not in matrix.configurations:
            matrix.select(configurations=[name])  # which says what is wrong with it


def check_has_runs(matrix: CostMatrix, name: str) -> None:
    """Refuse a configuration without runs."""
    check_names(matrix, name)
    if np.isnan(matrix.costs[matrix.configurations.index(name)]).all():
        raise InputError(f"Expected runs of {name!r}, got none.")
