"""Choosing the configuration with the least training cost, and what such a choice errs by."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truecost.matrix import CostMatrix
from truecost.stats.variance import instance_summaries

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# A configuration takes part in a choice if it has runs on at least this share of the instances the most used one has.
LEAST_SHARE = 0.5
# Of least squares by turns; with all runs there two are enough.
SWEEPS = 200
# Numbers held at once for the splits: a few dozen MB.
BLOCK = 4_000_000


def instance_means(matrix: CostMatrix) -> tuple[FloatArray, BoolArray]:
    """Instance means (M, P), 0 where there is no run, and where there is one."""
    parts = [(block.means, block.counts > 0) for block in instance_summaries(matrix)]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def training_costs(means: FloatArray, there: BoolArray) -> FloatArray:
    """What configurations are compared by: the mean of instance means.

    Where runs are missing, how hard the instances are is taken out first, lest a configuration win by its easy instances,
    and one with too few instances to take part has an infinite cost.
    """
    counts = there.sum(axis=1)
    enough = counts >= max(1.0, LEAST_SHARE * counts.max(initial=0))
    return np.where(enough, levels(means, there), np.inf)


def levels(means: FloatArray, there: BoolArray) -> FloatArray:
    """The mean of instance means less how hard the instances are: as if all had been run on all; NaN without runs."""
    counts = there.sum(axis=1)
    level = np.where(there, means - hardness(means, there), 0).sum(axis=1) / np.maximum(counts, 1)
    return np.where(counts > 0, level, np.nan)


def hardness(means: FloatArray, there: BoolArray) -> FloatArray:
    """What each instance adds to the costs of all, 0 on average: least squares of cost = configuration + instance.

    With all runs there it is the same for everybody and changes no comparison.
    """
    by_row, by_column = np.maximum(there.sum(axis=1), 1), np.maximum(there.sum(axis=0), 1)
    added = np.zeros(means.shape[1])
    for _ in range(SWEEPS):
        level = np.where(there, means - added, 0).sum(axis=1) / by_row
        new = np.where(there, means - level[:, np.newaxis], 0).sum(axis=0) / by_column
        new -= new.mean()
        moved = float(np.abs(new - added).max())
        added = new
        if moved <= 1e-9 * float(np.abs(added).max()):
            break
    return added


class SelectionError(NamedTuple):
    """Held-out − training cost of what was chosen, and its held-out cost, means over splits."""

    error: float
    held_out: float


def selection_errors(
    means: FloatArray, there: BoolArray, candidates: Sequence[int], splits: int, rng: np.random.Generator
) -> dict[int, SelectionError]:
    """Mean selection error over random halves, choosing among the first c configurations, for each c in `candidates`.

    Configurations that have runs on less than `LEAST_SHARE` of what the most used one has on that half, or none on the
    other, are not chosen. How hard the instances are is taken out; with all runs there that changes nothing, since the two
    ways of a split cancel it.
    """
    wanted = sorted(set(candidates))
    instances = means.shape[1]
    if instances < 2:
        return dict.fromkeys(wanted, SelectionError(math.nan, math.nan))
    step = max(1, BLOCK // max(means.shape))
    errors: dict[int, list[FloatArray]] = {c: [] for c in wanted}
    held_outs: dict[int, list[FloatArray]] = {c: [] for c in wanted}
    added = hardness(means, there)
    means = np.where(there, means - added, 0)
    number, sums, counts = there.astype(np.float64), means.sum(axis=1), there.sum(axis=1)
    for start in range(0, splits, step):
        size = min(step, splits - start)
        # Every split both ways: what a fixed configuration errs by cancels exactly, but in the last one of an odd number.
        drawn = np.argsort(rng.random((-(-size // 2), instances)), axis=1) < instances // 2
        half = np.concatenate([drawn, ~drawn])[:size].astype(np.float64).T
        train_sums, train_counts = means @ half, number @ half
        held_counts = counts[:, np.newaxis] - train_counts
        enough = (train_counts >= np.maximum(1, LEAST_SHARE * train_counts.max(axis=0))) & (held_counts > 0.5)
        train = np.where(enough, train_sums / np.maximum(train_counts, 1), np.inf)
        held = (sums[:, np.newaxis] - train_sums) / np.maximum(held_counts, 1)
        best, place, columns = np.full(size, np.inf), np.zeros(size, dtype=np.intp), np.arange(size)
        for before, c in pairwise([0, *wanted]):
            new = before + train[before:c].argmin(axis=0)
            better = train[new, columns] < best
            best, place = np.where(better, train[new, columns], best), np.where(better, new, place)
            some = np.isfinite(best)
            errors[c].append((held[place, columns] - best)[some])
            held_outs[c].append(held[place, columns][some])
    return {c: SelectionError(_mean(errors[c]), _mean(held_outs[c])) for c in wanted}


def correction(costs: FloatArray, own: int, selection_error: float) -> float:
    """What selection took from a training cost: all of the error from the least one, nothing from one far above it."""
    least = float(np.min(costs))
    if not costs[own] > least:
        return selection_error
    return max(0.0, least + selection_error - float(costs[own]))


def _mean(parts: list[FloatArray]) -> float:
    values = np.concatenate(parts)
    return float(values.mean()) if values.size else math.nan


def over_tuning(true_costs: Sequence[float]) -> tuple[float, float]:
    """Over-tuning of incumbents and its relative form, from their true costs in the order of time; NaN is passed over.

    True cost of the last − least true cost of all; relative: over first − least. The last one must be known.
    """
    known = [cost for cost in true_costs if math.isfinite(cost)]
    if len(known) < 2 or not math.isfinite(true_costs[-1]):
        return math.nan, math.nan
    lost, gained = known[-1] - min(known), known[0] - min(known)
    return lost, lost / gained if gained > 0 else math.nan
