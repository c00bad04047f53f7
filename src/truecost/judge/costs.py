"""Training costs: what configurations are ranked by.

The training cost of a configuration is the mean of its instance means (of its family means where
families are the units). Where configurations were run on different instances, the ranking adjusts
for how hard these are (cost = configuration + instance, by least squares): else whoever met the
easy instances would win. Adjusted costs are never printed.

A censored run counts as the most it can cost: stopping early must not make a configuration cheap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.matrix import CostMatrix
from truecost.stats.grouping import family_means
from truecost.stats.selection import difficulty

# Configurations are ranked that were run on at least this share of the instances that the most
# used one was run on.
LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Costs:
    """Training costs of all configurations, in the order of the matrix."""

    plain: FloatArray  # training costs; NaN without runs
    means: FloatArray  # of each instance, (M, P); NaN without runs
    runs: IntArray
    instances: IntArray
    ranked: BoolArray  # run on enough instances to be compared with the others
    order: IntArray  # places of the configurations, the best first, those not ranked last
    adjusted: bool  # whether the order adjusts for the difficulty of the instances


def costs_of(matrix: CostMatrix, families: Sequence[str] | None = None) -> Costs:
    """Rank the configurations of a matrix; `families` where these are the units."""
    means = known_means(matrix.charged)
    ran = ~np.isnan(means)
    plain = known_means(units_of(means, families))
    used = ran[ran.any(axis=1)]
    adjusted = bool((used != used[:1]).any())
    compared = plain
    if adjusted:
        # What a capped run is charged must not make an instance look hard for the others.
        least = known_means(matrix.costs) if matrix.censored.any() else means
        added = difficulty(least)
        compared = known_means(units_of(means - added, families))
    ranked = _comparable(matrix, ran)
    counts = matrix.counts()
    return Costs(
        plain=plain,
        means=means,
        runs=counts.sum(axis=1),
        instances=ran.sum(axis=1),
        ranked=ranked,
        order=np.lexsort((compared, np.where(ranked, compared, np.inf))),
        adjusted=adjusted,
    )


def known_means(values: FloatArray) -> FloatArray:
    """The mean over the last axis without NaN; NaN where there is nothing else."""
    missing = np.isnan(values)
    counts = values.shape[-1] - missing.sum(axis=-1)
    sums = np.where(missing, 0.0, values).sum(axis=-1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def units_of(means: FloatArray, families: Sequence[str] | None = None) -> FloatArray:
    """Instance means (M, P) as unit means: of each family, in the order of first appearance."""
    return means if families is None else family_means(means, families)


def _comparable(matrix: CostMatrix, ran: BoolArray) -> BoolArray:
    """Which configurations were run on enough instances, and did not fail in every run.

    The cost of a failed run may be a guess: nobody wins by failing alone, unless all do.
    """
    counts = ran.sum(axis=1)
    enough = np.asarray(counts >= max(1.0, LEAST_SHARE * counts.max(initial=0)))
    if not matrix.can_fail:
        return enough
    alive = np.asarray((~np.isnan(matrix.costs) & ~matrix.failed).any(axis=(1, 2)))
    return enough & alive if (enough & alive).any() else enough
