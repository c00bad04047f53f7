"""What choosing adds to a training cost, and what a search lost on its way.

Two quantities are kept apart, as Schneider, Bischl and Feurer do (Overtuning in Hyperparameter
Optimization, 2025):

optimism
    True cost − training cost of the final incumbent: the paper's selection error, their
    meta-overfitting. It says that the number is too good, not that the choice is bad.
over-tuning
    True cost of the final incumbent − the least true cost an incumbent had on the way. It says that
    the search went past something better. Relative: over the best gain on the first incumbent; 1
    says that all of it was lost again.

Where configurations were proposed adaptively and nobody ran them on test instances, the optimism is
unknown: splits of the instances they were tuned on show a part of it at most.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from truecost.arrays import FloatArray
from truecost.judge.costs import LEAST_SHARE, Costs
from truecost.runs import Trajectory

Source = Literal["test runs", "fixed before", "splits", "unknown"]

# Numbers held at once for the splits: a few dozen MB.
BLOCK = 4_000_000
# What choosing on all instances errs by, of what choosing on half of them does: the error falls as
# 1/√K (the b/√K of the paper's fit, which rules it but for the fewest instances).
ALL_FOR_HALF = math.sqrt(0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimism:
    """What the incumbent's training cost hides.

    Attributes
    ----------
    true_cost, source
        The estimate of its true cost: its mean on test runs; else the training cost corrected by
        what splits show; the training cost itself where it was fixed before any cost was seen; NaN,
        unknown, where configurations were proposed adaptively and it has no test runs.
    gap, percent
        True cost − training cost, and in per cent of the training cost.
    selection_error
        Held-out − training cost of the configuration with the lowest training cost on a random half
        of the instances, mean over splits, carried over from half of the instances to all. What
        splits show: with adaptive proposals, too little.
    held_out_cost
        Mean cost, on the other half, of the configuration chosen on one half.
    splits
        How many there were.
    """

    true_cost: float
    source: Source
    gap: float
    percent: float
    selection_error: float
    held_out_cost: float
    splits: int

    @property
    def expected_cost(self) -> float:
        """The cost to expect on new instances: `true_cost`, which is an estimate."""
        return self.true_cost


class Point(NamedTuple):
    """An incumbent on the way: the runs finished by then, where known, its training cost and its
    cost on test runs.
    """

    runs: int | None
    configuration: str
    training: float
    true: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OverTuning:
    """Whether the search went past something better.

    Attributes
    ----------
    along
        Every incumbent on the way, the last one last.
    lost, relative
        Test cost − the lowest of an earlier incumbent, and as a share. NaN unless the last and
        another one have test runs; relative also if none was better than the first.
    """

    along: tuple[Point, ...]
    lost: float
    relative: float


def optimism_of(
    costs: Costs,
    place: int,
    test_cost: float,
    *,
    adaptive: bool,
    fixed: bool,
    splits: int,
    rng: np.random.Generator,
) -> Optimism:
    """Of the configuration in row `place`; `test_cost` is NaN where it has no test runs. `fixed`
    before any cost was seen, nothing was chosen by its cost.
    """
    seen = selection_errors(costs, splits, rng)
    training = float(costs.training[place])
    error = ALL_FOR_HALF * seen.error
    # What is a rounding of the costs' own size is nothing.
    scale = float(np.abs(costs.means).max(initial=0.0))
    error = 0.0 if abs(error) <= 1e-12 * scale else error
    source: Source = "fixed before" if fixed else "splits"
    if adaptive:
        source = "unknown"
    if math.isfinite(test_cost):
        source = "test runs"
    true = {
        "test runs": test_cost,
        "fixed before": training,
        "splits": training + correction(costs.compared, place, error),
        "unknown": math.nan,
    }[source]
    gap = true - training
    gap = 0.0 if abs(gap) <= 1e-12 * scale else gap
    return Optimism(
        true_cost=true,
        source=source,
        gap=gap,
        percent=100 * gap / abs(training) if training else math.nan,
        selection_error=error,
        held_out_cost=seen.held_out,
        splits=splits,
    )


def over_tuning_of(
    costs: Costs,
    configurations: Sequence[str],
    incumbent: str,
    trajectory: Trajectory,
    tested: Mapping[str, float],
) -> OverTuning:
    """Along the steps of a trajectory."""
    places = {name: place for place, name in enumerate(configurations)}
    ahead = [(step.runs, step.configurations[0]) for step in trajectory.steps if step[1]]
    steps = [(runs, name) for runs, name in ahead if name in places]
    if not steps or steps[-1][1] != incumbent:
        steps.append((None, incumbent))
    # A configuration that stays the best is one incumbent.
    changes = [True, *(now != before for (_, before), (_, now) in pairwise(steps))]
    along = tuple(
        Point(runs, name, float(costs.training[places[name]]), tested.get(name, math.nan))
        for (runs, name), change in zip(steps, changes, strict=True)
        if change
    )
    lost, relative = over_tuning([point.true for point in along])
    return OverTuning(along=along, lost=lost, relative=relative)


class SelectionError(NamedTuple):
    """Held-out − training cost of what was chosen, and its held-out cost, means over splits."""

    error: float
    held_out: float


def selection_errors(costs: Costs, splits: int, rng: np.random.Generator) -> SelectionError:
    """Mean selection error of choosing on a random half of the instances, looking at the other.

    Configurations that have runs on less than `LEAST_SHARE` of what the most used one has on that
    half, or none on the other, are not chosen. Costs are adjusted for what instances add; with all
    runs there that changes nothing, since the two ways of a split cancel it. Else no cost of a half
    is taken beyond the instance means there are: adjusting a few runs can go past them. Censored
    runs are charged the most where it is chosen, and count with their caps where it is looked at:
    what was charged must not pass for an error.
    """
    means, mask = costs.means, costs.mask
    instances = means.shape[1]
    if instances < 2:
        return SelectionError(math.nan, math.nan)
    step = max(1, BLOCK // max(means.shape))
    errors: list[FloatArray] = []
    held_outs: list[FloatArray] = []
    seen = [np.where(mask, each - costs.added, 0) for each in (means, costs.least)]
    bounds = (-np.inf, np.inf)
    if costs.adjusted:
        bounds = float(costs.least[mask].min()), float(costs.least[mask].max())
    number, sums, counts = mask.astype(np.float64), seen[1].sum(axis=1), mask.sum(axis=1)
    for start in range(0, splits, step):
        size = min(step, splits - start)
        # Every split both ways: what a fixed configuration errs by cancels exactly, but in the last
        # one of an odd number.
        drawn = np.argsort(rng.random((-(-size // 2), instances)), axis=1) < instances // 2
        half = np.concatenate([drawn, ~drawn])[:size].astype(np.float64).T
        train_sums, train_counts = seen[0] @ half, number @ half
        held_counts = counts[:, np.newaxis] - train_counts
        enough = (train_counts >= np.maximum(1, LEAST_SHARE * train_counts.max(axis=0))) & (
            held_counts > 0.5
        )
        train = np.where(enough, train_sums / np.maximum(train_counts, 1), np.inf)
        place, columns = train.argmin(axis=0), np.arange(size)
        some = np.isfinite(train[place, columns])
        if costs.least is not means:
            train_sums = seen[1] @ half
        held = ((sums[:, np.newaxis] - train_sums) / np.maximum(held_counts, 1))[place, columns]
        best = (train_sums / np.maximum(train_counts, 1))[place, columns]
        held, best = (np.clip(each, *bounds) for each in (held, best))
        errors.append((held - best)[some])
        held_outs.append(held[some])
    return SelectionError(_mean(errors), _mean(held_outs))


def correction(costs: FloatArray, place: int, selection_error: float) -> float:
    """What selection took from a training cost: all of the error from the least one, nothing from
    one far above it.
    """
    least = float(np.min(costs))
    if not costs[place] > least:
        return selection_error
    return max(0.0, least + selection_error - float(costs[place]))


def _mean(parts: list[FloatArray]) -> float:
    values = np.concatenate(parts)
    return float(values.mean()) if values.size else math.nan


def over_tuning(true_costs: Sequence[float]) -> tuple[float, float]:
    """Over-tuning of incumbents and its relative form, from their true costs in the order of time;
    NaN is passed over.

    True cost of the last − least true cost of all; relative: over first − least. The last one must
    be known.
    """
    known = [cost for cost in true_costs if math.isfinite(cost)]
    if len(known) < 2 or not math.isfinite(true_costs[-1]):
        return math.nan, math.nan
    lost, gained = known[-1] - min(known), known[0] - min(known)
    return lost, lost / gained if gained > 0 else math.nan
