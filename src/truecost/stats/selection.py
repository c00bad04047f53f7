"""What choosing adds to a training cost (over-tuning), in the paper's sign: true − training cost.

Two quantities are kept apart. The *selection error* says that the number is too good: the training
cost of whoever is chosen by it is too low. It does not say that the choice is bad. *An earlier
incumbent was better* says that the search went past something: that takes test runs of the
incumbents, and a limit for each, since the least of several noisy test means is too low itself.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError, check_share
from truecost.stats import betting
from truecost.stats.grouping import codes_of
from truecost.stats.random import Rng, generator

# Numbers held at once for the splits: a few dozen MB.
BLOCK = 4_000_000
# What choosing on all units errs by, of what choosing on half of them does: the error falls as 1/√K
# (the b/√K of the paper's fit, which rules it but for the fewest instances).
ALL_FOR_HALF = math.sqrt(0.5)
# A configuration with less than this share of the runs of the most used one is not chosen.
LEAST_SHARE = 0.5
# How often the costs of configurations and units are fitted to each other, at most, where runs are
# missing.
SWEEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What one half of the units chooses, looked at on the other half; means over splits.

    Attributes
    ----------
    error
        Held-out − training cost of the one chosen, carried over from half of the units to all of
        them: positive where training costs of the chosen look too good. Where configurations were
        proposed from costs on the same units it is a part of the error at most.
    held_out
        The cost on one half of the configuration that the other chooses.
    """

    error: float
    held_out: float
    splits: int


def selection_error(
    means: ArrayLike,
    *,
    splits: int = 1000,
    families: Sequence[object] | None = None,
    rng: Rng = 0,
) -> Selection | None:
    """The selection error of choosing the least training cost; None with fewer than two units.

    Parameters
    ----------
    means
        Mean cost of each configuration on each instance, (m, n); NaN is missing. Where some are,
        costs are adjusted for what instances add: an estimate for this number only, never anybody's
        training cost.
    splits
        How many random halves at most; all of them where there are not more.
    families
        Of each instance, where families are the units: they are split whole and count alike.
    rng
        Draws the halves.
    """
    costs = np.asarray(means, dtype=np.float64)
    if costs.ndim != 2:
        raise InputError("The selection error needs mean costs as (configurations, instances).")
    if families is not None:
        costs = family_means(costs, families)
    mask = ~np.isnan(costs)
    costs, mask = costs[:, mask.any(axis=0)], mask[:, mask.any(axis=0)]
    units = costs.shape[1]
    if units < 2 or splits < 1:
        return None
    halves = _halves(units, splits, rng)
    adjusted = costs if mask.all() else costs - difficulty(costs, mask)
    values, number = np.where(mask, adjusted, 0.0), mask.astype(np.float64)
    sums, counts = values.sum(axis=1, keepdims=True), number.sum(axis=1, keepdims=True)
    bounds = float(costs[mask].min()), float(costs[mask].max())
    errors, held_outs = [], []
    step = max(1, BLOCK // max(costs.shape))
    for start in range(0, len(halves), step):
        half = halves[start : start + step].astype(np.float64).T
        train_sums, train_counts = values @ half, number @ half
        held_counts = counts - train_counts
        least = np.maximum(1, LEAST_SHARE * train_counts.max(axis=0))
        enough = (train_counts >= least) & (held_counts > 0.5)
        train = np.where(enough, train_sums / np.maximum(train_counts, 1), np.inf)
        place, columns = train.argmin(axis=0), np.arange(half.shape[1])
        chosen = np.isfinite(train[place, columns])
        held = ((sums - train_sums) / np.maximum(held_counts, 1))[place, columns]
        # Adjusted means of few runs may lie beyond every cost.
        best = np.clip(train[place, columns], *bounds)
        held = np.clip(held, *bounds)
        errors.append((held - best)[chosen])
        held_outs.append(held[chosen])
    seen = np.concatenate(errors)
    if not seen.size:
        return None
    error = ALL_FOR_HALF * float(seen.mean())
    # What is a rounding of the costs' own size is nothing.
    nothing = 1e-12 * float(np.abs(costs[mask]).max(initial=0.0))
    return Selection(
        error=0.0 if abs(error) <= nothing else error,
        held_out=float(np.concatenate(held_outs).mean()),
        splits=len(halves),
    )


def _halves(units: int, splits: int, rng: Rng) -> BoolArray:
    """Which units choose, (splits, units). Every split goes both ways: what a fixed configuration
    errs by cancels.
    """
    size = units // 2
    ways = math.comb(units, size) * (2 if units % 2 else 1)
    if ways <= splits:
        places = np.array(list(itertools.combinations(range(units), size)))
        drawn = np.zeros((len(places), units), bool)
        np.put_along_axis(drawn, places, True, axis=1)
        # With an even number the other ways are among them already.
        return np.concatenate([drawn, ~drawn]) if units % 2 else drawn
    draws = generator(rng).random((-(-splits // 2), units))
    drawn = np.argsort(np.argsort(draws, axis=1), axis=1) < size
    return np.concatenate([drawn, ~drawn])


def family_means(costs: FloatArray, families: Sequence[object]) -> FloatArray:
    """The mean of each family (m, families) of costs (m, n), in the order of first appearance; NaN
    where a family has none.
    """
    codes = codes_of(families)
    member = (codes[:, np.newaxis] == np.arange(codes.max() + 1)).astype(np.float64)
    there = ~np.isnan(costs)
    counts = there @ member
    sums = np.where(there, costs, 0.0) @ member
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def difficulty(means: FloatArray, known: BoolArray) -> FloatArray:
    """What each instance adds to all costs, 0 on average: least squares of cost = configuration +
    instance.
    """
    means = np.where(known, means, 0.0)
    by_row, by_column = np.maximum(known.sum(axis=1), 1), np.maximum(known.sum(axis=0), 1)
    added = np.zeros(means.shape[1])
    for _ in range(SWEEPS):
        level = np.where(known, means - added, 0).sum(axis=1) / by_row
        new = np.where(known, means - level[:, np.newaxis], 0).sum(axis=0) / by_column
        # Only differences between instances are determined.
        new -= new.mean()
        moved = float(np.abs(new - added).max())
        added = new
        if moved <= 1e-9 * float(np.abs(added).max()):
            break
    return added


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The earlier incumbent that is most surely better than the final one: the mean of final −
    earlier over the units that both have, and its limit.
    """

    place: int
    difference: float
    lower: float
    proven: bool


def earlier_incumbent(
    tests: Sequence[FloatArray], low: float, high: float, delta: float = 0.05, *, rng: Rng = 0
) -> Earlier | None:
    """Compare the final incumbent with each earlier one, on test runs, each at δ/(k − 1): with
    probability 1 − δ none of the limits is wrong. None without common units.

    Parameters
    ----------
    tests
        Of each of the k incumbents in the order of time, the final one last: its cost on each unit,
        (n,), NaN where there is none.
    low, high
        The range of costs.
    """
    check_share(delta)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError("Guaranteed limits of a mean need the range of costs. Give low and high.")
    final, width, best = np.asarray(tests[-1], float), high - low, None
    for place, earlier in enumerate(tests[:-1]):
        gaps = final - np.asarray(earlier, float)
        gaps = gaps[~np.isnan(gaps)]
        if not gaps.size:
            continue
        numbers = np.clip((gaps / width + 1) / 2, 0, 1)
        share = delta / (len(tests) - 1)
        limit = betting.lower(numbers, share, balanced=True, decide=0.5, rng=rng)
        candidate = Earlier(
            place=place, difference=float(gaps.mean()), lower=(2 * limit - 1) * width,
            proven=limit >= 0.5,
        )  # fmt: skip
        if best is None or (candidate.lower, candidate.difference) > (best.lower, best.difference):
            best = candidate
    return best
