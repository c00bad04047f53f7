"""Where the noise in a training cost comes from, and how the runs behind it were spread."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from truecost.matrix import CostMatrix
from truecost.stats.allocation import even
from truecost.stats.variance import variance_components


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Where the noise in the incumbent's training cost comes from, and what as many runs again would buy.

    `within` and `across` are NaN where no instance has two runs. Standard errors: now, with as many runs again on the same
    instances, and on as many new ones. The bottleneck is what adds more variance now.
    """

    within: float
    across: float
    bottleneck: Literal["runs", "instances"] | None
    standard_error: float
    same_instances_again: float
    new_instances: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How the runs were spread.

    Attributes
    ----------
    runs, instances
        Of the incumbent.
    never_used
        Instances on which others have runs and the incumbent has none.
    variance_over_even
        The variance of its training cost over that of S*, as many runs evenly on all instances; NaN is unknown. Below 1 only
        where `across` is so small that fewer instances with equal runs do better than more with unequal ones.
    on_other_instances
        How many configurations have runs on other instances than the incumbent, so that their costs are not comparable.
    """

    runs: int
    instances: int
    never_used: tuple[str, ...]
    variance_over_even: float
    on_other_instances: int


def noise_of(matrix: CostMatrix, own: int) -> Noise:
    """Of the configuration in this row."""
    counts = matrix.counts()[own]
    within, across, total = _components(matrix, own)
    used = counts[counts > 0]
    now = _variance_of_mean(used, within, across, total)
    again = _variance_of_mean(2 * used, within, across, total)
    bottleneck: Literal["runs", "instances"] | None = None
    if math.isfinite(within) and math.isfinite(across):
        bottleneck = "runs" if within * float(np.mean(1 / used)) > across else "instances"
    return Noise(
        within=within,
        across=across,
        bottleneck=bottleneck,
        standard_error=math.sqrt(now),
        same_instances_again=math.sqrt(again),
        new_instances=math.sqrt(now / 2),
    )


def spread_of(matrix: CostMatrix, own: int) -> Spread:
    """Of the runs in this row."""
    counts = matrix.counts()
    there = counts > 0
    runs = int(counts[own].sum())
    components = _components(matrix, own)
    best = _variance_of_mean(even(runs, len(matrix.instances)).counts, *components)
    paid = _variance_of_mean(counts[own], *components)
    return Spread(
        runs=runs,
        instances=int(there[own].sum()),
        never_used=tuple(matrix.instances[i] for i in np.flatnonzero(there.any(axis=0) & ~there[own])),
        variance_over_even=paid / best if best > 0 else math.nan,
        on_other_instances=int((there != there[own]).any(axis=1).sum()),
    )


def _components(matrix: CostMatrix, own: int) -> tuple[float, float, float]:
    """within, across and total of one configuration, 0 where they came out below."""
    found = variance_components(matrix.select(configurations=[matrix.configurations[own]]))
    within, across, total = (float(np.maximum(values[0], 0)) for values in (found.within, found.across, found.total))
    return within, across, total


def _variance_of_mean(counts: NDArray[np.int64], within: float, across: float, total: float) -> float:
    """The variance of the mean of instance means, Σ (across + within/n_i)/K² over the K instances with runs.

    Of single runs only the sum of the two matters, which is known also where they cannot be told apart.
    """
    used = counts[counts > 0]
    apart = across + within / used
    return float(np.where((used == 1) & np.isnan(apart), total, apart).sum()) / used.size**2
