"""What choosing adds to a training cost, and what a search lost on its way; where the noise in it
comes from, and how the runs behind it were spread.

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

from truecost.arrays import FloatArray, IntArray
from truecost.judge.costs import LEAST_SHARE, NOTHING, Costs, instance_means
from truecost.matrix import CostMatrix
from truecost.runs import Trajectory
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
        Instances with two of its runs or more.
    never_used
        Instances that only others ran on.
    variance_over_even
        Variance of its training cost ÷ that of as many runs spread evenly (S*); NaN is unknown.
        Below 1 only where `across` is so small that fewer instances with equal runs do better than
        more with unequal ones.
    on_other_instances
        Configurations with runs on other instances.
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
        # Without variance nothing is gained; where it is NaN, nobody knows.
        same_instances_again=error if now == 0 else error * math.sqrt(again / now),
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
    # Of the variance of the mean: within/n_i, averaged over instances, against across.
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
        True cost − training cost, and in per cent of the latter.
    selection_error
        Held-out − training cost of the one chosen on a random half of the instances; mean over
        splits, carried over to all instances. With adaptive proposals it is too small.
    held_out_cost
        Cost on one half of the configuration chosen on the other.
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
        All incumbents, in order.
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
    seen = [np.where(mask, values - costs.added, 0) for values in (means, costs.least)]
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
        chosen = np.isfinite(train[place, columns])
        if costs.least is not means:
            train_sums = seen[1] @ half
        held = ((sums[:, np.newaxis] - train_sums) / np.maximum(held_counts, 1))[place, columns]
        best = (train_sums / np.maximum(train_counts, 1))[place, columns]
        held, best = (np.clip(values, *bounds) for values in (held, best))
        errors.append((held - best)[chosen])
        held_outs.append(held[chosen])
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
