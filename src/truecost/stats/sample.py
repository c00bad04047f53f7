"""Runs as a sample: one entry point for every limit, from runs to sampling units.

A *sampling unit* is what was drawn independently, an instance unless the design says otherwise. All
runs of a unit are averaged, or compared with each other, before units are. `Sample` holds one row
per unit, of one configuration or of two on the same units, in the order in which units are bet on;
`Rows` holds the unit means of many configurations at once.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import BoolArray, FloatArray, IntArray, floats
from truecost.errors import InputError, check_choice, check_share
from truecost.matrix import CostMatrix
from truecost.runs import NO_SEED
from truecost.stats import ordering
from truecost.stats.random import Rng, generator
from truecost.stats.variance import run_means

Side = Literal["lower", "upper"]
Sides = Literal["both", "upper", "lower"]
# Who drew the order: nobody (as given), a hash of the costs, or a seed.
Order = Literal["given", "drawn", "seeded"]
# Half a digit of single precision: costs that were `low` or `high` before a file rounded them.
SLACK = 2.0**-23


def opposite(side: Side) -> Side:
    """The other side."""
    return "upper" if side == "lower" else "lower"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ends:
    """What is known of runs: each is at least `lower` and at most `upper`, arrays (n, R), NaN in
    both where there is no run.

    A run that was stopped before its end is known from below only. Limits use the end that is safe
    for them.

    Examples
    --------
    >>> tc.Ends.of([0.5, 1.0], cutoff=1).upper.tolist()
    [[0.5], [inf]]
    """

    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(
        cls,
        values: "ArrayLike | Ends",
        *,
        cutoff: float = math.inf,
        capped: ArrayLike | None = None,
    ) -> Self:
        """Runs (n,) or (n, R), NaN where there is none.

        Those that reach the cutoff, and those marked in `capped`, were stopped: they are known to
        be at least the cutoff, or what they have, and at most infinity.
        """
        if isinstance(values, cls):
            return values
        runs = _numbers(values, "runs as numbers, (n,) or (n, R), NaN where there is none")
        if runs.ndim not in (1, 2):
            raise InputError(f"Expected runs as (n,) or (n, R), got {runs.ndim} dimensions.")
        runs = runs[:, np.newaxis] if runs.ndim == 1 else runs
        stopped = runs >= cutoff
        if capped is not None:
            mask = np.asarray(capped, dtype=bool)
            if mask.size != runs.size:
                raise InputError(
                    f"Expected capped to be shaped as the runs, got {mask.shape} and {runs.shape}."
                )
            stopped |= mask.reshape(runs.shape) & ~np.isnan(runs)
        lower = np.minimum(runs, cutoff)
        return cls(lower=lower, upper=np.where(stopped, np.inf, runs) if stopped.any() else lower)

    @property
    def censored(self) -> bool:
        """Whether any run is not known exactly."""
        return self.lower is not self.upper and bool((self.lower < self.upper).any())

    @property
    def counts(self) -> IntArray:
        """Runs of each unit."""
        return np.asarray((~np.isnan(self.lower)).sum(axis=1))

    def map(self, function: Callable[[FloatArray], FloatArray]) -> "Ends":
        """The ends of a function of the runs that rises, or falls."""
        lower = function(self.lower)
        if self.upper is self.lower:
            return Ends(lower=lower, upper=lower)
        upper = function(self.upper)
        return Ends(lower=np.minimum(lower, upper), upper=np.maximum(lower, upper))

    def pick(self, side: Side) -> FloatArray:
        """The end that is safe for a limit of this side of something that rises with the runs."""
        return self.lower if side == "lower" else self.upper

    def __getitem__(self, units: BoolArray | IntArray) -> "Ends":
        lower = np.ascontiguousarray(self.lower[units])
        upper = lower if self.upper is self.lower else np.ascontiguousarray(self.upper[units])
        return Ends(lower=lower, upper=upper)

    def __post_init__(self) -> None:
        if self.lower.shape != self.upper.shape or self.lower.ndim != 2:
            raise InputError(
                f"Expected both ends as (n, R), got {self.lower.shape} and {self.upper.shape}."
            )
        if self.lower is self.upper:
            return
        if not ((np.isnan(self.lower) & np.isnan(self.upper)) | (self.lower <= self.upper)).all():
            raise InputError(
                "Expected every lower end to be at most the upper one, and both NaN where there is "
                "no run."
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """How the sampling units came into the sample.

    Attributes
    ----------
    kind
        "independent": each unit was drawn from one distribution. "mix": drawn within strata, for
        another mix of them. "fixed": units are not alike, and what is random is their seeds, or
        which of a benchmark were run, too. "without replacement": drawn from a finite population,
        whose results are fixed numbers. "weighted": drawn from another distribution than the one
        in question.
    unit
        What was drawn: "instance", "family" or "seed".
    groups
        The number of the unit that each row belongs to, 0, 1, … in the order of the bets, where a
        unit has several rows; every row of a unit has the same weight. None: each row is a unit.
    strata, mix
        For a mix: the stratum of each row, and the weight of each stratum; they sum to 1.
    weights
        For fixed units: the weight of each row; they sum to 1. None: all the same. For weighted
        ones: the probability in question over that of the draw, whose mean is 1.
    population
        Without replacement: how many units there are to draw from.
    """

    kind: Literal["independent", "mix", "fixed", "without replacement", "weighted"] = "independent"
    unit: str = "instance"
    groups: IntArray | None = None
    strata: IntArray | None = None
    mix: FloatArray | None = None
    weights: FloatArray | None = None
    population: int | None = None

    def __getitem__(self, rows: BoolArray | IntArray) -> "Design":
        groups = None if self.groups is None else self.groups[rows]
        if groups is not None:
            # Units that have no row left are gone; the others keep their order.
            groups = np.unique(groups, return_inverse=True)[1].astype(np.int64)
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self,
            groups=groups,
            strata=None if self.strata is None else self.strata[rows],
            weights=weights if self.kind != "fixed" or weights is None else weights / weights.sum(),
        )

    def shuffled(self, order: IntArray) -> "Design":
        """The design of rows in another order: units with several rows come in an order of their
        own, which depends on neither their sizes nor their costs.
        """
        if self.groups is None:
            return self[order]
        # The first row of each unit in the old order draws the place of the unit.
        first = np.unique(self.groups, return_index=True)[1]
        places = np.empty(first.size, np.int64)
        places[np.argsort(np.argsort(order)[first], kind="stable")] = np.arange(first.size)
        return replace(self, groups=places[self.groups][order])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Runs of one configuration, or of two on the same units, in the order of the bets.

    Attributes
    ----------
    costs
        Of each configuration; every unit has a run of each.
    times
        The same as running times, where a failed run is known to have taken the cutoff at least;
        where nothing else is known, the costs.
    solved
        1 where solved and 0 where not; None where nothing says so.
    failed
        Which runs were not solved, and lose against every solved one whatever they are charged;
        None where costs alone decide.
    seeds
        Of each run, `NO_SEED` where there is none; None where nobody knows, and all seeds are taken
        for different ones.
    low, high
        The range of a cost; infinite where it is not known.
    design
        How units were sampled.
    order
        Who drew the order of the units.
    timed
        Whether costs are running times, so that their ratios are speed-ups.
    utility
        Whether costs are 1 − utility.
    zero_one
        Whether a cost is `low` or `high` by nature, so that with one run on each unit its mean is
        a binomial share.
    monotone
        Whether runs were stopped early and nothing says by what, so that in one look only limits
        hold that never fall when a run rises.
    """

    costs: tuple[Ends, ...]
    times: tuple[Ends, ...]
    solved: tuple[Ends, ...] | None = None
    failed: tuple[BoolArray, ...] | None = None
    seeds: tuple[IntArray, ...] | None = None
    low: float = -math.inf
    high: float = math.inf
    design: Design = Design()
    order: Order = "given"
    timed: bool = True
    utility: bool = False
    zero_one: bool = False
    monotone: bool = False

    @classmethod
    def of(
        cls, *runs: ArrayLike | Ends, low: float = -math.inf, high: float = math.inf
    ) -> "Sample":
        """Units on which every configuration has runs; at least one such unit.

        Where a range is given, costs must lie in it, and a run that was stopped costs `high` at
        most.
        """
        costs = tuple(Ends.of(values) for values in runs)
        sizes = [len(ends.lower) for ends in costs]
        if len(set(sizes)) > 1:
            raise InputError(f"Expected both on the same instances, got {sizes[0]} and {sizes[1]}.")
        common = np.logical_and.reduce([ends.counts > 0 for ends in costs])
        if not common.any():
            both = " instance on which both have runs" if len(costs) > 1 else " run"
            raise InputError(f"Expected at least one{both}, got none.")
        costs = tuple(ends[common] for ends in costs)
        if math.isfinite(high - low):
            costs = tuple(_in_range(ends, low, high) for ends in costs)
        return cls(costs=costs, times=costs, low=low, high=high)

    @property
    def units(self) -> int:
        """How many sampling units."""
        groups = self.design.groups
        return len(self.costs[0].lower) if groups is None else int(groups.max()) + 1

    @property
    def runs(self) -> int:
        """How many runs, of all configurations."""
        return sum(int(ends.counts.sum()) for ends in self.costs)

    @property
    def censored(self) -> bool:
        """Whether any run is not known exactly."""
        return any(ends.censored for ends in self.costs)

    @property
    def single(self) -> bool:
        """Whether every unit has one run of each configuration."""
        return all(bool((ends.counts == 1).all()) for ends in self.costs)

    @property
    def ranks(self) -> tuple[Ends, ...]:
        """Costs to compare single runs by: failed runs cost more than any other, and all the same.

        A run that was stopped early may have failed in the end.
        """
        if self.failed is None:
            return self.costs
        return tuple(
            Ends(
                lower=np.where(failed, np.inf, ends.lower),
                upper=np.where(failed | (ends.lower < ends.upper), np.inf, ends.upper),
            )
            for ends, failed in zip(self.costs, self.failed, strict=True)
        )

    @property
    def pairs(self) -> BoolArray:
        """Which pairs of runs of the two configurations are compared, (n, R, R').

        Two runs with the same seed are not independent, so they are left out where every unit has
        other pairs. Else all pairs are those with the same seed, which is another quantity. A unit
        that has no pair of the kind in question has none here.
        """
        same, apart = self._pairs_by_seed()
        return same if self.same_seed else apart

    @property
    def same_seed(self) -> bool:
        """Whether `pairs` are those with the same seed, as with one run each; only seeds decide."""
        same, apart = (pairs.any(axis=(1, 2)) for pairs in self._pairs_by_seed())
        return bool(same.all() and not apart.all())

    @property
    def common_seeds(self) -> bool:
        """Whether some runs of the two configurations have the same seed."""
        return bool(self._pairs_by_seed()[0].any())

    def _pairs_by_seed(self) -> tuple[BoolArray, BoolArray]:
        """The pairs of runs with the same seed, and the others."""
        first, second = (~np.isnan(ends.lower) for ends in self.costs)
        runs = np.asarray(first[:, :, np.newaxis] & second[:, np.newaxis])
        if self.seeds is None:
            return np.zeros_like(runs), runs
        first_seeds, second_seeds = (seeds[:, :, np.newaxis] for seeds in self.seeds)
        same = runs & (first_seeds == second_seeds.transpose(0, 2, 1)) & (first_seeds != NO_SEED)
        return same, runs & ~same

    def means(self, place: int, side: Side) -> FloatArray:
        """The unit means of one configuration by the end that is safe for this side."""
        means, _ = run_means(self.costs[place].pick(side))
        return np.clip(means, self.low, self.high)

    def shuffled(self, shuffle: bool, rng: Rng) -> "Sample":
        """The same in the order that betting takes: as given, by a hash of the costs, or by a
        seed.
        """
        if not shuffle:
            return self
        arrays = [end for ends in self.costs for end in (ends.lower, ends.upper)]
        order = ordering.of_instances(rng, True, *arrays)
        shuffled = replace(self[order], design=self.design.shuffled(order))
        return replace(shuffled, order="drawn" if rng is None else "seeded")

    def __getitem__(self, units: BoolArray | IntArray) -> "Sample":
        parts: dict[str, Any] = {
            name: tuple(rows[units] for rows in getattr(self, name))
            for name in ("costs", "times", "solved", "failed", "seeds")
            if getattr(self, name) is not None
        }
        if self.times is self.costs:
            parts["times"] = parts["costs"]
        return replace(self, **parts, design=self.design[units])


def _numbers(values: Any, what: str) -> FloatArray:
    try:
        return floats(values)
    except (TypeError, ValueError):
        raise InputError(f"Expected {what}.") from None


def _in_range(ends: Ends, low: float, high: float) -> Ends:
    least = np.nanmin(ends.lower)
    most = np.nanmax(np.where(np.isinf(ends.upper), high, ends.upper))
    check_range(least, most, low, high)
    return ends.map(lambda end: np.clip(end, low, high))


def check_range(least: float, most: float, low: float, high: float) -> None:
    """Refuse costs outside of their range, but for what a file rounded."""
    slack = SLACK * max(abs(low), abs(high))
    if least < low - slack or most > high + slack:
        raise InputError(
            f"Expected costs in [{low:g}, {high:g}], got costs from {least:g} to {most:g}."
        )


class Rows(NamedTuple):
    """Unit means of many configurations, (M, P), NaN where there is no run; `single` if they came
    without an axis of configurations.
    """

    means: FloatArray
    single: bool
    low: float
    high: float

    @classmethod
    def of(cls, costs: ArrayLike | CostMatrix, low: float | None, high: float | None) -> Self:
        """Of costs shaped as in `truecost.confidence.upper`."""
        if isinstance(costs, CostMatrix):
            low, high = costs.low if low is None else low, costs.high if high is None else high
            values, dimensions = costs.exact_costs(), 3
        else:
            shapes = "(P,), (P, R) or (M, P, R)"
            values = _numbers(costs, f"costs as numbers, {shapes}, NaN where a run is not there")
            dimensions = values.ndim
        if low is None or high is None:
            raise InputError(
                "Expected low and high, the least and the largest cost a run can have; only a "
                "CostMatrix brings its own."
            )
        if not (low < high and math.isfinite(high - low)):
            raise InputError(
                f"Expected a finite cost range with low < high, got low {low:g} and high {high:g}."
            )
        if dimensions not in (1, 2, 3):
            raise InputError(
                f"Expected costs as (P,), (P, R) or (M, P, R), got {dimensions} dimensions."
            )
        runs = values.reshape({1: (1, -1, 1), 2: (1, *values.shape), 3: values.shape}[dimensions])
        if np.isnan(runs).all():
            raise InputError("Expected at least one run, got none.")
        check_range(float(np.nanmin(runs)), float(np.nanmax(runs)), low, high)
        means, counts = run_means(runs)
        means = np.where(counts > 0, np.clip(means, low, high), np.nan)
        return cls(means, dimensions < 3, float(low), float(high))

    @classmethod
    def of_pairs(
        cls,
        first: ArrayLike | CostMatrix,
        second: ArrayLike | CostMatrix,
        low: float | None,
        high: float | None,
    ) -> Self:
        """Of the differences of unit means, in [low − high, high − low]; NaN where one of the two
        has no run.
        """
        one, two = cls.of(first, low, high), cls.of(second, low, high)
        if (one.low, one.high) != (two.low, two.high):
            raise InputError(
                f"Expected both cost ranges to be one, got [{one.low:g}, {one.high:g}] and "
                f"[{two.low:g}, {two.high:g}]."
            )
        matrices = isinstance(first, CostMatrix) and isinstance(second, CostMatrix)
        if matrices and first.instances != second.instances:  # type: ignore[union-attr]
            raise InputError(
                "Expected both matrices to have the same instances in the same order; "
                "select(instances=...) does it."
            )
        (m_1, p_1), (m_2, p_2) = one.means.shape, two.means.shape
        if p_1 != p_2 or (m_1 != m_2 and 1 not in (m_1, m_2)):
            raise InputError(
                f"Expected the same instances, and as many configurations or one, got {m_1} "
                f"configurations on {p_1} instances and {m_2} on {p_2}."
            )
        width = one.high - one.low
        pairs = cls(one.means - two.means, one.single and two.single, -width, width)
        if np.isnan(pairs.means).all():
            raise InputError("Expected at least one instance on which both have runs, got none.")
        return pairs

    def scaled(self) -> FloatArray:
        """The means in [0, 1]."""
        return np.clip((self.means - self.low) / (self.high - self.low), 0, 1)

    def in_order(self, shuffle: bool, rng: Rng) -> FloatArray:
        """The scaled means in the order of the bets; the hash of each row draws its own."""
        scaled = self.scaled()
        if not shuffle:
            return scaled
        if rng is None:
            return np.take_along_axis(scaled, ordering.by_content(scaled), axis=1)
        return np.asarray(scaled[:, generator(rng).permutation(scaled.shape[1])])

    def running(self) -> tuple[FloatArray, IntArray]:
        """After each place the mean of the row so far, and of how many numbers."""
        mask = ~np.isnan(self.means)
        counts = mask.cumsum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.where(mask, self.means, 0).cumsum(axis=1) / counts, counts


def target_of(
    delta: float, side: str, configurations: int = 1, sides: tuple[str, ...] = get_args(Side)
) -> float:
    """What the capital against one end must reach: 1 over the part of delta that this end has."""
    check_share(delta)
    check_choice("side", side, sides)
    if not (1 <= configurations < math.inf and configurations == int(configurations)):
        raise InputError(
            f"Expected configurations to be a whole number of at least 1, got {configurations}."
        )
    parts = int(configurations) * (2 if side == "both" else 1)
    # 1 over it has to be a float that leaves room for products.
    if delta / parts < 1e-290:
        raise InputError(
            f"Expected delta over the number of limits to be 1e-290 at least, got {delta} over "
            f"{parts}."
        )
    return parts / delta
