"""Statements beyond the mean, from the same evidence: how much is solved, what most runs cost, who wins, how much faster.

None of them needs to know the range of the cost, so that a log works as it is; only the ratio of means does. Each has all of
δ for itself: of several, one in 1/δ may be wrong. Which are made, and of which side, does not depend on what came out.

Failed runs are never left out: they are not solved, and all that is known of their running time is that it is at least the
longest of a run that was. A speed-up is stated where runs time out, which is where costs are running times.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from truecost.judge.evidence import Evidence, RefusedError, in_rounds
from truecost.judge.statements import Grade
from truecost.matrix import CostMatrix
from truecost.runs import NO_STATUS, Status
from truecost.stats import quantiles, rates, ratios
from truecost.stats.limits import Ends, Limit, LimitSequence

FloatArray = NDArray[np.float64]
Kind = Literal["solved share", "median", "nine in ten", "wins", "speed-up", "ratio of means"]
# The share of runs that each quantile speaks of.
SHARES: dict[Kind, float] = {"median": 0.5, "nine in ten": 0.9}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """With probability at least 1 − delta the true value is at least (`side` "lower") or at most `limit`.

    Attributes
    ----------
    kind
        Of what: the share of runs that is solved, the cost that half or nine in ten of all runs keep to; against the
        default, the share of runs that are won, ties half, how many times faster in the median, and
        u(default)/u(configuration).
    configuration, against
        Of whom, and compared with whom; None where with nobody.
    observed
        The same of the runs seen.
    limit, side
        Infinite, or 0, where these instances cannot say anything.
    opposite
        Against the default: the limit of the other side, with a delta of its own.
    instances, delta, method, condition, rests_on
        As in `Certificate`.
    """

    kind: Kind
    configuration: str
    against: str | None
    observed: float
    limit: float
    side: Literal["lower", "upper"]
    opposite: float | None
    instances: int
    delta: float
    method: str
    condition: str | None
    rests_on: tuple[str, ...]

    @property
    def grade(self) -> Grade | None:
        """Against the default: whether it shows the configuration better, or worse; None of one alone."""
        if self.against is None or self.opposite is None:
            return None
        even = 0.5 if self.kind == "wins" else 1.0
        if self.condition is not None:
            return "open"
        return "better" if self.limit > even else "worse" if self.opposite < even else "open"


def statements_of(
    evidence: Evidence, default: str | None, *, delta: float, rng: np.random.Generator
) -> tuple[Statement, ...]:
    """Everything that may be said of the evidence's configuration beyond its mean; against a default where one is given."""
    share = delta * evidence.share
    names = [evidence.configuration] if default is None else [evidence.configuration, default]
    if evidence.at_all_times:
        costs, part, planned = in_rounds(evidence, names)
        share *= part
        evidence = evidence._replace(planned=planned)
        statuses = None
    else:
        rows = [evidence.runs.configurations.index(name) for name in names]
        costs = evidence.runs.costs[rows]
        statuses = None if evidence.runs.statuses is None else evidence.runs.statuses[rows]
    if np.isnan(costs[0]).all():
        raise RefusedError(f"{evidence.configuration!r} has no runs on the instances that may be used")
    stated = partial(_Maker, evidence, delta, share, int(rng.integers(2**63)))
    failed = _failed(evidence.runs, costs, statuses)
    longest = float(np.max(costs[~failed & ~np.isnan(costs)], initial=0.0))
    times = [
        Ends(lower=np.where(lost, longest, each), upper=np.where(lost, np.inf, each))
        for each, lost in zip(costs, failed, strict=True)
    ]
    alone, pair = stated(None), stated(default)
    there = ~np.isnan(costs[0]).all(axis=1)
    made = []
    if statuses is not None or math.isfinite(evidence.runs.high):
        solved = np.where(np.isnan(costs[0]), np.nan, ~failed[0])
        made.append(alone("solved share", rates.solved, rates.solved_sequence, (solved[there],), "lower"))
    for kind, part_of in SHARES.items():
        one_look, at_all_times = (
            partial(quantiles.quantile, share=part_of),
            partial(quantiles.quantile_sequence, share=part_of),
        )
        made.append(alone(kind, one_look, at_all_times, (times[0][there],), "upper"))
    if default is None or default == evidence.configuration:
        return tuple(made)
    both = there & ~np.isnan(costs[1]).all(axis=1)
    if not both.any():
        return tuple(made)
    ours, theirs = costs[0][both], costs[1][both]
    made.append(pair("wins", rates.wins, rates.wins_sequence, (ours, theirs), "lower"))
    if statuses is not None and (statuses == Status.TIMEOUT).any() and np.nanmin(costs) >= 0:
        timed = (times[0][both], times[1][both])
        made.append(pair("speed-up", quantiles.speed_up, quantiles.speed_up_sequence, timed, "lower"))
    low, high = evidence.runs.low, evidence.runs.high
    if low >= 0 and math.isfinite(high):
        look = partial(ratios.ratio_of_means, low=low, high=high)
        steps = partial(ratios.ratio_of_means_sequence, low=low, high=high)
        made.append(pair("ratio of means", look, steps, (ours, theirs), "lower"))
    return tuple(made)


class _Maker:
    """Makes statements of one configuration, or of one against another, from one evidence."""

    def __init__(self, evidence: Evidence, delta: float, share: float, seed: int, against: str | None) -> None:
        self._evidence, self._delta, self._share, self._seed, self._against = evidence, delta, share, seed, against

    def __call__(
        self,
        kind: Kind,
        one_look: Callable[..., Limit],
        at_all_times: Callable[..., LimitSequence],
        runs: tuple[Any, ...],
        side: Literal["lower", "upper"],
    ) -> Statement:
        def found(which: Literal["lower", "upper"]) -> tuple[float, float, int, str]:
            if self._evidence.at_all_times:
                if kind == "wins" and self._evidence.planned is not None:
                    limit = rates.wins_watched(runs[0], runs[1], self._share, side=which, planned=self._evidence.planned)
                    return limit.value, limit.observed, limit.instances, limit.method
                steps = at_all_times(*runs, delta=self._share, side=which)
                return float(steps.value[-1]), float(steps.observed[-1]), int(steps.instances[-1]), steps.method
            limit = one_look(*runs, delta=self._share, side=which, rng=self._seed)
            return limit.value, limit.observed, limit.instances, limit.method

        value, observed, instances, method = found(side)
        opposite = None if self._against is None else found("upper" if side == "lower" else "lower")[0]
        return Statement(
            kind=kind,
            configuration=self._evidence.configuration,
            against=self._against,
            observed=observed,
            limit=value,
            side=side,
            opposite=opposite,
            instances=instances,
            delta=self._delta,
            method=method,
            condition=self._evidence.condition,
            rests_on=self._evidence.rests_on,
        )


def _failed(runs: CostMatrix, costs: FloatArray, statuses: NDArray[np.int8] | None) -> NDArray[np.bool_]:
    """Which runs were not solved; without statuses, those that have the highest possible cost."""
    if statuses is None or (statuses == NO_STATUS).all():
        return np.asarray(costs >= runs.high)
    return np.asarray((statuses != NO_STATUS) & (statuses != Status.SOLVED))
