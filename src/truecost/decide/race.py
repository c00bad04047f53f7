"""Which run next, who is out, when to stop: configurations race on one shared order of runs.

A simple race by doubling: whoever is as good as the incumbent on as many runs gets twice as many; whoever is worse gets no
more.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One order of runs for all configurations, every prefix of it even (S*).

    Attributes
    ----------
    instances, numbers
        Of each position: the place of its instance among the training instances, and the run's number there, from 0.
    """

    instances: IntArray
    numbers: IntArray


def schedule(instances: int, runs: int, rng: np.random.Generator) -> Schedule:
    """Round by round, each in an order of its own."""
    order = np.concatenate([rng.permutation(instances) for _ in range(runs)])
    return Schedule(instances=order.astype(np.int64), numbers=np.repeat(np.arange(runs, dtype=np.int64), instances))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What has been run so far.

    Attributes
    ----------
    costs
        (C, J) of configuration c at position j, NaN where it has not been run; rows are filled from the left without gaps.
    out
        Configurations whose last run was stopped at a cap: out for good.
    seconds
        Mean CPU seconds of a run of each configuration, if the budget is in time.
    """

    costs: FloatArray
    out: BoolArray
    seconds: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Run a configuration on the positions from start to stop - 1.

    Attributes
    ----------
    configuration
        A row of the standing; C, C + 1, … are new proposals, in order.
    cap
        A single run that costs more than this puts the configuration out; None: no cap below the cutoff.
    """

    configuration: int
    start: int
    stop: int
    cap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to run next, nothing when it is time to stop; who is the best; and why, in a few words."""

    batch: tuple[Stretch, ...]
    incumbent: int | None
    reason: str


def decide(
    standing: Standing,
    schedule: Schedule,
    *,
    runs_left: float,
    proposals_left: float,
    at_least: int = 1,
    factor: int = 2,
) -> Decision:
    """The next batch: one round for new configurations, doubled for those that keep up, and the incumbent a step ahead."""
    costs, length = standing.costs, len(schedule.instances)
    first = min(length, max(1, int(np.count_nonzero(schedule.numbers == 0)) // 4))
    if not len(costs):
        return Decision(batch=(Stretch(configuration=0, start=0, stop=first),), incumbent=None, reason="the default")
    counts = (~np.isnan(costs)).sum(axis=1)
    counts = np.where(standing.out, 0, counts)
    most = int(counts.max())
    means = np.array([costs[c, :most].mean() if counts[c] == most else np.inf for c in range(len(costs))])
    incumbent = int(np.argmin(means))
    if runs_left < 1:
        return Decision(batch=(), incumbent=incumbent, reason="the budget is spent")
    batch = []
    for c, count in enumerate(counts):
        if 0 < count < most and costs[c, :count].mean() <= costs[incumbent, :count].mean():
            stop = int(min(most, factor * count))
            cap = float(np.nanmax(costs[incumbent, :most])) * 2
            batch.append(Stretch(configuration=c, start=int(count), stop=stop, cap=cap))
    if batch:
        return Decision(batch=tuple(batch), incumbent=incumbent, reason="those that keep up")
    if most < length and len(costs) >= 4 * most // first:
        extend = Stretch(configuration=incumbent, start=most, stop=min(length, factor * most))
        return Decision(batch=(extend,), incumbent=incumbent, reason="the incumbent a step ahead")
    new = int(min(proposals_left, max(1, at_least // first)))
    if new == 0 and most < length:
        extend = Stretch(configuration=incumbent, start=most, stop=min(length, factor * most))
        return Decision(batch=(extend,), incumbent=incumbent, reason="the incumbent a step ahead")
    fresh = tuple(Stretch(configuration=len(costs) + i, start=0, stop=first) for i in range(new))
    return Decision(batch=fresh, incumbent=incumbent, reason="new configurations" if new else "nothing is left to try")
