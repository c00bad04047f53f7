"""Where the noise in a training cost comes from, and how the runs behind it were spread."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from truecost.arrays import IntArray
from truecost.judge.costs import NOTHING, Costs, instance_means
from truecost.matrix import CostMatrix
from truecost.stats.allocation import even
from truecost.stats.variance import resampled_components

Bottleneck = Literal["runs", "instances"]
# Samples of the instances with replacement, and the share of them that must say the same.
RESAMPLES = 400
AGREEING = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Where the noise in a training cost comes from, and what as many runs again would buy.

    `within` and `across` are NaN where too few instances have two runs. Standard errors: now, with
    as many runs again on the same instances, and on as many new ones. The bottleneck is what adds
    more variance now; None where nothing varies, nothing tells, or resamples of the instances do
    not agree. `share_low` and `share_high` are a 90 % interval, from resampling instances, of the
    share of a run's variance that is between instances. `constant`: all its runs, two at least,
    cost the same.
    """

    within: float
    across: float
    bottleneck: Bottleneck | None
    standard_error: float
    same_instances_again: float
    new_instances: float
    constant: bool
    share_low: float
    share_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How the runs of a configuration were spread.

    Attributes
    ----------
    runs, instances
        Of the configuration.
    repeated
        On how many of the instances it has two runs or more.
    never_used
        Instances on which others have runs and it has none.
    variance_over_even
        The variance of its training cost over that of S*, as many runs evenly on all instances; NaN
        is unknown. Below 1 only where `across` is so small that fewer instances with equal runs do
        better than more with unequal ones.
    on_other_instances
        How many configurations have runs on other instances than it.
    """

    runs: int
    instances: int
    repeated: int
    never_used: tuple[str, ...]
    variance_over_even: float
    on_other_instances: int


class Heaviest(NamedTuple):
    """An instance that makes up most of a mean cost: on which runs, its mean cost there, its share
    in the sum of all.
    """

    on: Literal["test", "training"]
    instance: str
    cost: float
    share: float


def heaviest_of(runs: CostMatrix, name: str, on: Literal["test", "training"]) -> Heaviest | None:
    """The instance whose cost is more than that of all others together; None without one, or where
    costs may be below 0.
    """
    (means,), (mask,) = instance_means(runs.select(configurations=[name]))
    if mask.sum() < 3 or (means < 0).any() or not means.max() > 0.5 * means.sum():
        return None
    place = int(means.argmax())
    return Heaviest(
        on, runs.instances[place], float(means[place]), float(means[place] / means.sum())
    )


def noise_of(matrix: CostMatrix, costs: Costs, place: int, rng: np.random.Generator) -> Noise:
    """Of the configuration in this row."""
    counts = matrix.counts()[place]
    components = _components(costs, place)
    used = counts[counts > 0]
    now, again = (_variance_of_mean(times * used, *components) for times in (1, 2))
    within, across, _ = components
    bottleneck, share_low, share_high = _bottleneck(matrix, place, components, used, rng)
    error = float(costs.standard_error[place])
    return Noise(
        within=within,
        across=across,
        bottleneck=bottleneck,
        standard_error=error,
        same_instances_again=error * math.sqrt(again / now) if now > 0 else error,
        new_instances=error / math.sqrt(2),
        constant=_constant(matrix, place),
        share_low=share_low,
        share_high=share_high,
    )


def _bottleneck(
    matrix: CostMatrix,
    place: int,
    components: tuple[float, float, float],
    used: IntArray,
    rng: np.random.Generator,
) -> tuple[Bottleneck | None, float, float]:
    """What adds more variance to the mean, where resamples agree, and the interval of the share."""
    within, across, _ = components
    if not within + across > 0:  # NaN as well
        return None, math.nan, math.nan
    row = matrix.select(configurations=[matrix.configurations[place]])
    parts = resampled_components(row, rng=rng, resamples=RESAMPLES)
    withins, acrosses = (np.maximum(part[:, 0], 0) for part in parts)
    # A resample may have no two runs on an instance, or no spread: it tells nothing.
    known = withins + acrosses > 0
    withins, acrosses = withins[known], acrosses[known]
    if known.sum() < AGREEING * RESAMPLES:
        return None, math.nan, math.nan
    low, high = np.quantile(acrosses / (withins + acrosses), [1 - AGREEING, AGREEING]).tolist()
    per_run = float(np.mean(1 / used))
    kind: Bottleneck = "runs" if within * per_run > across else "instances"
    agree = float(np.mean((withins * per_run > acrosses) == (kind == "runs")))
    return kind if agree >= AGREEING else None, low, high


def _constant(matrix: CostMatrix, place: int) -> bool:
    """Whether its runs all cost the same, but for rounding; one alone tells nothing."""
    costs = matrix.costs[place]
    costs = costs[~np.isnan(costs)]
    return costs.size > 1 and bool(np.ptp(costs) <= NOTHING * np.abs(costs).max())


def spread_of(matrix: CostMatrix, costs: Costs, place: int) -> Spread:
    """Of the runs in this row."""
    counts = matrix.counts()
    runs = int(counts[place].sum())
    components = _components(costs, place)
    best = _variance_of_mean(even(runs, len(matrix.instances)).counts, *components)
    paid = _variance_of_mean(counts[place], *components)
    mask = costs.mask
    return Spread(
        runs=runs,
        instances=int(mask[place].sum()),
        repeated=int((counts[place] > 1).sum()),
        never_used=tuple(
            matrix.instances[i] for i in np.flatnonzero(mask.any(axis=0) & ~mask[place])
        ),
        variance_over_even=paid / best if best > 0 else math.nan,
        on_other_instances=int((mask != mask[place]).any(axis=1).sum()),
    )


def _components(costs: Costs, place: int) -> tuple[float, float, float]:
    """within, across and total of one configuration, 0 where they came out below."""
    parts = costs.components
    within, across, total = (
        float(np.maximum(values[place], 0)) for values in (parts.within, parts.across, parts.total)
    )
    return within, across, total


def _variance_of_mean(counts: IntArray, within: float, across: float, total: float) -> float:
    """The variance of the mean of instance means, Σ (across + within/n_i)/K² over the K instances
    with runs.
    """
    # Of single runs only the sum of the two matters, which is known also where they cannot be
    # told apart.
    used = counts[counts > 0]
    apart = across + within / used
    return float(np.where((used == 1) & np.isnan(apart), total, apart).sum()) / used.size**2
