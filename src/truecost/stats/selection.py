"""What choosing adds to a training cost (over-tuning), in the paper's sign: true − training cost.

The selection error says that the number is too good: the training cost of the configuration that is
chosen by it is too low. It does not say that the choice is bad.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError
from truecost.stats.grouping import family_means
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
    costs = costs[:, ~np.isnan(costs).all(axis=0)]
    if costs.shape[1] < 2:
        return None
    present = ~np.isnan(costs)
    adjusted = costs if present.all() else costs - difficulty(costs)
    values, one = np.where(present, adjusted, 0.0), present.astype(np.float64)
    halves = _halves(costs.shape[1], splits, rng)
    trained, held = [], []
    for block in np.array_split(halves, math.ceil(len(halves) * max(costs.shape) / BLOCK)):
        sides = [half.T.astype(np.float64) for half in (block, ~block)]
        counts = [one @ side for side in sides]
        train, rest = (
            values @ side / np.maximum(count, 1) for side, count in zip(sides, counts, strict=True)
        )
        enough = (counts[0] >= LEAST_SHARE * counts[0].max(axis=0)) & (counts[0] * counts[1] > 0)
        train[~enough] = np.inf
        place, splits_of_block = train.argmin(axis=0), np.arange(len(block))
        trained.append(train[place, splits_of_block])
        held.append(rest[place, splits_of_block])
    chosen = np.isfinite(np.concatenate(trained))
    if not chosen.any():
        return None
    # Adjusted means of few runs may lie beyond every cost.
    seen = costs[present]
    best, later = (
        np.clip(np.concatenate(part)[chosen], seen.min(), seen.max()) for part in (trained, held)
    )
    error = ALL_FOR_HALF * float((later - best).mean())
    # What is a rounding of the costs' own size is nothing.
    if abs(error) <= 1e-12 * float(np.abs(seen).max()):
        error = 0.0
    return Selection(error=error, held_out=float(later.mean()), splits=len(halves))


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


def difficulty(means: FloatArray) -> FloatArray:
    """What each instance adds to all costs (m, n), 0 on average: least squares of cost =
    configuration + instance; NaN is missing.
    """
    present, costs = ~np.isnan(means), np.nan_to_num(means)
    by_row, by_column = np.maximum(present.sum(axis=1), 1), np.maximum(present.sum(axis=0), 1)
    added = np.zeros(means.shape[1])
    for _ in range(SWEEPS):
        level = np.where(present, costs - added, 0).sum(axis=1) / by_row
        new = np.where(present, costs - level[:, np.newaxis], 0).sum(axis=0) / by_column
        # Only differences between instances are determined.
        new -= new.mean()
        moved = float(np.abs(new - added).max())
        added = new
        if moved <= 1e-9 * float(np.abs(added).max()):
            break
    return added
