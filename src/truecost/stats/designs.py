"""Limits for samples that are not one independent row per unit: families, mixes, fixed benchmarks.

`numbers_of` averages the rows of a unit before anything is bet on, so that a family counts once,
whatever its size. For independent units the limits are those of `inversion`. For the other designs
every limit comes from one test, "is the mean of these numbers above m", which `rejects` has for
each of them; means are inverted by its kernel, quantiles and ratios scan their grid from the safe
end.
"""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.stats import constant, finite, mixing, scanning
from truecost.stats.inversion import Goal, Look, MeanOf, QuantileOf, RatioOf
from truecost.stats.quantities import Quantity
from truecost.stats.sample import Design, Sample, Side

Numbers = MeanOf | QuantileOf | RatioOf
# Labels of a mix are drawn before any cost is seen, so that their seed may be anything fixed.
LABELS = 20_200
# Of the grid of ratios only one in this many is tested: each test of a mix plays hundreds of draws.
COARSE = 4
METHODS = {
    "mix": "star-bets over label draws",
    "fixed": "constant bets",
    "weighted": "constant bets",
    "without replacement": "star-bets without replacement",
}


def numbers_of(quantity: Quantity, sample: Sample, side: Side) -> Numbers:
    """What a limit of a quantity is made from, one number or row per sampling unit."""
    numbers = quantity.numbers(sample, side)
    groups = sample.design.groups
    if groups is None:
        return numbers
    if isinstance(numbers, MeanOf):
        single = np.bincount(groups).max() == 1
        return replace(
            numbers, values=_averages(numbers.values, groups), binary=numbers.binary and single
        )
    if isinstance(numbers, RatioOf):
        first, second = (_averages(row, groups) for row in (numbers.first, numbers.second))
        return replace(numbers, first=first, second=second)
    values, worth = _in_rows(numbers.values, groups)
    return replace(numbers, values=values, worth=worth)


def limit(numbers: Numbers, side: Side, target: float, look: Look, design: Design) -> FloatArray:
    """The limit of the numbers of a sample with this design; anytime after each unit."""
    if design.kind == "independent":
        return numbers.limit(side, target, look)
    if look.kind != "one":
        return _sequence(numbers, side, target, design)
    if isinstance(numbers, MeanOf):
        return numbers.unscaled(_lower(design, numbers.goal(side, 0.0), target), side)
    if isinstance(numbers, QuantileOf):
        return np.asarray(_quantile_limit(numbers, side, target, design))
    return np.asarray(_ratio_limit(numbers, side, target, design))


def weights_of(design: Design) -> FloatArray | None:
    """The weight of each row in what is estimated; None where all are the same."""
    if design.strata is None or design.mix is None:
        return None if design.weights is None else design.weights / design.weights.sum()
    counts = np.bincount(design.strata, minlength=design.mix.size)
    return np.asarray(design.mix[design.strata] / counts[design.strata])


def rejects(design: Design, goal: Goal, target: float) -> bool:
    """Whether the goal is shown, a mean above a number in (0, 1)."""
    values, rows = goal.values, goal.values[np.newaxis]
    if design.kind == "mix":
        return bool(mixing.rejects(*_labelled(design, values, target), goal.above, target))
    if design.kind in ("fixed", "weighted"):
        weights, top = _scaled(design, values)
        return bool(constant.rejects(rows, weights, goal.above, target, top)[0])
    population = _population(design, values)
    return bool(finite.rejects(rows, goal.above, population, target, goal.balanced)[0])


def _lower(design: Design, goal: Goal, target: float) -> FloatArray:
    """The largest number that the mean of the goal's values is shown to exceed."""
    values, rows = goal.values, goal.values[np.newaxis]
    if design.kind == "mix":
        return np.asarray(mixing.lower(*_labelled(design, values, target), target))
    if design.kind in ("fixed", "weighted"):
        weights, top = _scaled(design, values)
        return np.asarray(constant.lower(rows, weights, target, top)[0])
    return np.asarray(finite.lower(rows, _population(design, values), target, goal.balanced)[0])


def _sequence(numbers: Numbers, side: Side, target: float, design: Design) -> FloatArray:
    if design.kind != "without replacement" or not isinstance(numbers, MeanOf):
        raise InputError(f"Expected one look at a sample with the design {design.kind!r}.")
    values = numbers.goal(side, 0.0).values
    rows, population = values[np.newaxis], _population(design, values)
    return numbers.unscaled(finite.lower_sequence(rows, population, target)[0], side)


def _labelled(
    design: Design, values: FloatArray, target: float
) -> tuple[FloatArray, IntArray, IntArray]:
    """The numbers stratum by stratum, where each begins, and the labels drawn from the mix."""
    if design.strata is None or design.mix is None:
        raise InputError("Expected the stratum of each unit and the weights of a mix.")
    counts = np.bincount(design.strata, minlength=design.mix.size)
    if ((counts == 0) & (design.mix > 0)).any():
        raise InputError("Expected runs in every stratum that the mix gives a weight.")
    starts = np.concatenate([[0], counts.cumsum()]).astype(np.int64)
    labels = _labels(tuple(counts.tolist()), tuple(design.mix.tolist()), target)
    return values[design.strata.argsort(kind="stable")], starts, labels


@lru_cache(maxsize=64)
def _labels(counts: tuple[int, ...], mix: tuple[float, ...], target: float) -> IntArray:
    """One draw of labels for all tests of a limit, and for all limits of a design."""
    # Sizes of families are no costs, so that they may have a part in the seed.
    rng = np.random.default_rng([LABELS, *counts])
    return mixing.labels_for(np.array(counts), np.array(mix), target, rng)


def _scaled(design: Design, values: FloatArray) -> tuple[FloatArray, float]:
    """The weight of each unit over their number, and what bets take for the largest weight."""
    if design.weights is None:
        return np.full(values.size, 1 / values.size), 0.0
    if design.kind == "weighted":
        return design.weights / values.size, constant.TOP
    return design.weights, 0.0


def _population(design: Design, values: FloatArray) -> float:
    population = design.population
    if population is None or population < values.size:
        raise InputError(
            f"Expected a population of at least the {values.size} units that were run, got "
            f"{population}."
        )
    return float(population)


def _quantile_limit(numbers: QuantileOf, side: Side, target: float, design: Design) -> float:
    """The last observed value that is shown to bound the quantile, from the safe end; see
    `QuantileOf` for why observed values may serve as the grid.
    """
    distinct = np.unique(numbers.values[~np.isnan(numbers.values)])
    best = math.inf if side == "upper" else -math.inf
    # One after the other: a test that rejects a value need not reject those before it.
    for value in distinct[::-1] if side == "upper" else distinct:
        if not rejects(design, numbers.goal(side, value), target):
            break
        best = float(value)
    return best


def _ratio_limit(numbers: RatioOf, side: Side, target: float, design: Design) -> float:
    """The last ratio of the grid that is shown to be exceeded."""
    if side == "upper":
        numbers = replace(numbers, first=numbers.second, second=numbers.first)
    best = numbers.low / numbers.high
    for ratio in scanning.ratio_ends(numbers.low, numbers.high)[::COARSE]:
        if not rejects(design, numbers.goal("lower", ratio), target):
            break
        best = float(ratio)
    return best if side == "lower" else 1 / best if best > 0 else math.inf


def _averages(values: FloatArray, groups: IntArray) -> FloatArray:
    return np.asarray(np.bincount(groups, weights=values) / np.bincount(groups))


def _in_rows(values: FloatArray, groups: IntArray) -> tuple[FloatArray, FloatArray]:
    """The values of all rows of a unit in one row, NaN where it has fewer than others; and what
    each counts, so that the rows of a unit count alike.
    """
    known = ~np.isnan(values)
    runs = known.sum(axis=1)
    units = np.repeat(groups, values.shape[1]).reshape(values.shape)[known]
    order = units.argsort(kind="stable")
    counts = np.bincount(units, minlength=int(groups.max()) + 1)
    rows = np.full((2, counts.size, int(counts.max())), np.nan)
    places = np.arange(units.size) - np.repeat(counts.cumsum() - counts, counts)
    used = np.bincount(groups, weights=runs > 0)
    worth = np.repeat(counts[groups] / (used[groups] * np.maximum(runs, 1)), runs)
    rows[:, units[order], places] = values[known][order], worth[order]
    return rows[0], rows[1]
