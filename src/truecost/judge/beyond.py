"""Statements beyond the mean, from the same evidence: how much is solved, what most runs cost, who
wins, how much faster.

None of them needs to know the range of the cost, so that a log works as it is; only the ratio of
means does. Each has all of δ for itself: of several, one in 1/δ may be wrong. Which are made, and
of which side, does not depend on what came out.

Failed runs are never left out: they are not solved, and all that is known of their running time is
that it is at least the cutoff; where the runs do not say it, at least the longest of a run that was
solved so far, in the order in which instances are taken. (The longest of all would do for a count,
but bets may not know what comes later.) A speed-up is stated where the cutoff is known or runs time
out, of whatever configuration, which is where costs are running times. Where a run that was stopped
at a limit costs less than some that were solved, it is no failure: the cost is the quality it
reached. Of a utility, which is bounded, the mean says most; wins and the solved share stand beside
it.

A censored run, stopped at a cap, is neither: it may have been solved, and costs the cap at least.
Limits use the end that goes against them, and what is sure counts: who was stopped at 1 s after the
rival had finished at 0.4 s has lost.
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
from truecost.stats import approximate, quantiles, rates, ratios
from truecost.stats.approximate import Approximate
from truecost.stats.inversion import planned
from truecost.stats.limits import Limit, LimitSequence
from truecost.stats.limits import limit as limit_of
from truecost.stats.quantities import WINS
from truecost.stats.sample import Ends, Sample

Kind = Literal["solved share", "median", "nine in ten", "wins", "speed-up", "ratio of means"]
# The share of runs that each quantile speaks of.
SHARES: dict[Kind, float] = {"median": 0.5, "nine in ten": 0.9}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """With probability at least 1 − delta the true value is at least (`side` "lower") or at most
    `limit`.

    Attributes
    ----------
    kind
        Of what: the share of runs that is solved, the cost that half or nine in ten of all runs
        keep to; against the default, the share of runs that are won, ties half, how many times
        faster in the median, and u(default)/u(configuration).
    configuration, against
        Of whom, and compared with whom; None where with nobody.
    observed, possible
        The same of the runs seen; where runs are censored, the end that the limit rests on and the
        other one.
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
    possible: float
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
        """Against the default: whether it shows the configuration better, or worse; None of one
        alone.
        """
        if self.against is None or self.opposite is None:
            return None
        even = 0.5 if self.kind == "wins" else 1.0
        if self.condition is not None:
            return "open"
        return "better" if self.limit > even else "worse" if self.opposite < even else "open"


def statements_of(
    evidence: Evidence,
    default: str | None,
    *,
    delta: float,
    rng: np.random.Generator,
    utility: bool = False,
) -> tuple[Statement, ...]:
    """Everything that may be said of the evidence's configuration beyond its mean; against a
    default where one is given.

    `utility` says that costs are 1 − utility.
    """
    part = 1.0
    default = None if default == evidence.configuration else default
    names = [evidence.configuration] if default is None else [evidence.configuration, default]
    runs = evidence.runs.select(configurations=names)
    if evidence.at_all_times:
        runs, part, planned = in_rounds(evidence, names)
        evidence = evidence._replace(planned=planned)
    else:
        # One order for all statements, since what is known of a run may depend on those before it.
        order = np.random.default_rng(int(rng.integers(2**63))).permutation(len(runs.instances))
        runs = runs.select(instances=[runs.instances[i] for i in order])
    costs, statuses, censored = runs.costs, runs.statuses, runs.censored
    if np.isnan(costs[0]).all():
        raise RefusedError(
            f"{evidence.configuration!r} has no runs on the instances that may be used"
        )
    failed, charged = failed_runs(runs)
    times = times_of(runs, failed)
    alone = _Maker(evidence, delta, part, bool(censored.any()), None)
    there = ~np.isnan(costs[0]).all(axis=1)
    made = []
    if charged and (statuses is not None or math.isfinite(runs.high)):
        sure, possible = (
            np.where(np.isnan(costs[0]), np.nan, each)[there]
            for each in (~failed[0] & ~censored[0], ~failed[0])
        )
        known = Ends(lower=sure, upper=possible)
        made.append(alone("solved share", rates.solved, rates.solved_sequence, (known,), "lower"))
    for kind, part_of in () if utility else SHARES.items():
        one_look, at_all_times = (
            partial(quantiles.quantile, share=part_of),
            partial(quantiles.quantile_sequence, share=part_of),
        )
        made.append(alone(kind, one_look, at_all_times, (times[0][there],), "upper"))
    if default is None:
        return tuple(made)
    both = there & ~np.isnan(costs[1]).all(axis=1)
    if not both.any():
        return tuple(made)
    pair = _Maker(evidence.against(default), delta, part, bool(censored.any()), default)
    ours, theirs = (
        Ends(lower=low, upper=high)[both] for low, high in zip(costs, runs.most, strict=True)
    )
    made.append(pair("wins", rates.wins, rates.wins_sequence, (ours, theirs), "lower"))
    if utility:
        return tuple(made)
    if charged and _are_times(evidence.runs) and np.nanmin(costs) >= 0:
        timed = (times[0][both], times[1][both])
        made.append(
            pair("speed-up", quantiles.speed_up, quantiles.speed_up_sequence, timed, "lower")
        )
    low, high = runs.low, runs.high
    # In one look at censored runs nothing but the difference of means is at hand that holds however
    # they were stopped.
    if low >= 0 and math.isfinite(high) and (evidence.at_all_times or not censored.any()):
        look = partial(ratios.ratio_of_means, low=low, high=high)
        steps = partial(ratios.ratio_of_means_sequence, low=low, high=high)
        made.append(pair("ratio of means", look, steps, (ours, theirs), "lower"))
    return tuple(made)


def approximate_of(
    evidence: Evidence, default: str, *, delta: float, utility: bool = False
) -> tuple[Approximate, ...]:
    """What normal theory says of the difference and the ratio of means: approximate, not
    guaranteed, and without a range.

    Where delta is shared out among a list, so it is here. Nothing of a race, whose numbers of
    instances depend on costs, and nothing where runs are censored.
    """
    evidence = evidence.against(default)
    runs = evidence.runs.select(configurations=[evidence.configuration, default])
    both = (runs.counts() > 0).all(axis=0)
    if evidence.at_all_times or runs.censored.any() or both.sum() < 2:
        return ()
    failed, charged = failed_runs(runs)
    (ours, theirs), late = runs.costs[:, both], failed[:, both]
    # Where runs can fail, a sample without failures is no better than one with too few of them.
    watched = not utility and charged and (math.isfinite(runs.high) or failed.any())
    asked: dict[str, Any] = {
        "delta": delta * evidence.share,
        "timeouts": tuple(late) if watched else None,
    }
    made = [approximate.mean_difference(ours, theirs, **asked)]
    if not utility and np.nanmin(runs.costs) >= 0:
        made.append(approximate.mean_ratio(ours, theirs, **asked))
    return tuple(made)


class _Maker:
    """Makes statements of one configuration, or of one against another, from one evidence."""

    def __init__(
        self, evidence: Evidence, delta: float, part: float, censored: bool, against: str | None
    ) -> None:
        self._evidence, self._delta, self._against, self._censored = (
            evidence,
            delta,
            against,
            censored,
        )
        self._share = delta * evidence.share * part

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
                    look = planned(self._evidence.planned)
                    limit = limit_of(WINS, Sample.of(*runs), which, self._share, look)
                    return limit.value, limit.observed, limit.instances, limit.method
                steps = at_all_times(*runs, delta=self._share, side=which)
                return (
                    float(steps.value[-1]),
                    float(steps.observed[-1]),
                    int(steps.instances[-1]),
                    steps.method,
                )
            more = {"monotone": True} if self._censored else {}
            limit = one_look(*runs, delta=self._share, side=which, shuffle=False, **more)
            return limit.value, limit.observed, limit.instances, limit.method

        value, observed, instances, method = found(side)
        opposite, possible = None, observed
        if self._against is not None or self._censored:
            opposite, possible, *_ = found("upper" if side == "lower" else "lower")
        return Statement(
            kind=kind,
            configuration=self._evidence.configuration,
            against=self._against,
            observed=observed,
            possible=possible if self._censored else observed,
            limit=value,
            side=side,
            opposite=None if self._against is None else opposite,
            instances=instances,
            delta=self._delta,
            method=method,
            condition=self._evidence.condition,
            rests_on=self._evidence.rests_on,
        )


def _are_times(runs: CostMatrix) -> bool:
    """Whether costs are running times: runs are known to be stopped at a cutoff, or some were."""
    return runs.cutoff is not None or (
        runs.statuses is not None and bool((runs.statuses == Status.TIMEOUT).any())
    )


def times_of(runs: CostMatrix, failed: NDArray[np.bool_]) -> list[Ends]:
    """Running times of each configuration, with what is known of those of failed and of censored
    runs.

    A run that failed took the cutoff at least. Where that is not known, what was solved took no
    longer: the longest so far stands for it, that of the same instance included, so that no later
    instance has a part in it.
    """
    costs, censored = runs.costs, runs.censored
    solved = np.where(failed | censored | np.isnan(costs), 0.0, costs).max(axis=(0, 2))
    longest = (
        np.maximum.accumulate(solved) if runs.cutoff is None else np.full(len(solved), runs.cutoff)
    )
    return [
        Ends(
            lower=np.where(lost, longest[:, np.newaxis], each),
            upper=np.where(lost | stopped, np.inf, each),
        )
        for each, lost, stopped in zip(costs, failed, censored, strict=True)
    ]


def failed_runs(runs: CostMatrix) -> tuple[NDArray[np.bool_], bool]:
    """Which runs were not solved, without statuses those of the highest possible cost; whether
    timeouts are among them.
    """
    costs, statuses = runs.costs, runs.statuses
    if statuses is None or (statuses == NO_STATUS).all():
        return np.asarray(costs >= runs.high), True
    failed = ~np.isin(statuses, (NO_STATUS, Status.SOLVED, Status.CENSORED))
    late, most = (
        statuses == Status.TIMEOUT,
        np.max(costs[statuses == Status.SOLVED], initial=-np.inf),
    )
    charged = not (costs[late] < most).any()
    return failed if charged else failed & ~late, charged
