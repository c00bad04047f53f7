"""The error against m, N and K over random splits, and the errors of the estimators by simulation.

An estimation error u − û is signed: positive where training looked too good. The uniform error is
the largest of all configurations, the selection error that of the configuration with the lowest
training cost.
"""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import FloatArray, IntArray
from truecost.errors import check_choice, check_share
from truecost.matrix import CostMatrix
from truecost.paper.exact import Estimator, subset_weights
from truecost.paper.fit import FORMULAS, Kind
from truecost.paper.splits import Costs, Floats, Progress, cumulative_means, in_processes
from truecost.stats.random import Rng, generator

if TYPE_CHECKING:
    import pandas as pd

CURVES = ("uniform", "selection", "training", "test")
# S° of distinct pairs has its closed form; the paper's figure has these three.
SIMULATED: tuple[Estimator, ...] = ("even", "concentrated", "scattered")
# Sums of equal costs in different orders differ by less than this share in single precision.
TIE = 1e-6
# Thresholds for each part of a distribution over m-subsets.
THRESHOLDS = 300


def sweep(
    matrix: CostMatrix,
    kind: Kind,
    *,
    splits: int = 2500,
    rng: Rng = None,
    delta: float = 0.05,
    train: int | None = None,
    test: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """The error against m, N or K, one row for each value.

    Parameters
    ----------
    matrix
        As in `exact.complete_costs`.
    kind
        "m": 1 … M configurations, all runs, expectations over all m-subsets. "n": 1 … R·K runs,
        each N a prefix of one even schedule (S*) of every configuration. "k": 1 … K instances, a
        growing prefix of the training set, all runs.
    splits, rng
        The number of random splits, and where they come from.
    delta
        The quantiles are at 1 − delta.
    train, test
        K and T; half of the instances each if not given.
    workers
        Processes; one per core if not given. The results do not depend on it.
    progress
        Called with the number of splits just finished.

    Returns
    -------
    DataFrame
        `m`, `k`, `n` (configurations, training instances, runs of each configuration); the means
        over splits of `uniform` and `selection` error and of `training` and `test` cost of the
        selected configuration, each with its standard error `…_se`; `uniform_q` and `selection_q`,
        the errors that 1 − delta of the splits stay below. Equal training costs share the
        selection.
    """
    check_choice("kind", kind, FORMULAS)
    check_share(delta)
    costs = Costs.of(matrix, train, test)
    configurations, _, runs = costs.runs.shape
    most = {"m": configurations, "k": costs.train, "n": runs * costs.train}
    values = np.arange(1, most[kind] + 1)
    sizes: dict[str, IntArray | int] = {**most, kind: values}
    if kind == "k":
        sizes["n"] = values * runs
    if kind == "m":
        curves = _over_subsets(costs, splits, rng, delta)
        if progress is not None:
            progress(splits)
    else:
        split = partial(_n_split if kind == "n" else _k_split, costs)
        errors = in_processes(split, splits=splits, rng=rng, workers=workers, progress=progress)
        curves = _over_splits(errors, costs.lowest, delta)
    import pandas as pd

    return pd.DataFrame({**sizes, **curves}, index=range(values.size))


def compare_estimators(
    matrix: CostMatrix,
    runs: IntArray,
    *,
    splits: int = 2500,
    rng: Rng = None,
    train: int | None = None,
    test: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """The absolute error |û − u| of S*, S† and S° at these N, each a prefix of one schedule.

    `exact.mean_squared_error` has the squared error without simulation.

    Returns
    -------
    DataFrame
        A row for each estimator and N: `absolute`, the mean over configurations and splits;
        `spread`, its standard deviation over splits; `se`, the standard error; `squared`.
    """
    import pandas as pd

    costs = Costs.of(matrix, train, test)
    numbers = np.asarray(runs, dtype=np.int64)
    split = partial(_estimators_split, costs, numbers)
    errors = in_processes(split, splits=splits, rng=rng, workers=workers, progress=progress)
    parts = []
    for place, estimator in enumerate(SIMULATED):
        absolute, squared = errors[:, place].astype(np.float64).transpose(1, 0, 2)
        columns = {"estimator": estimator, "k": costs.train, "n": numbers}
        columns |= {"absolute": absolute.mean(axis=0), "spread": absolute.std(axis=0, ddof=1)}
        columns |= {"se": columns["spread"] / np.sqrt(splits), "squared": squared.mean(axis=0)}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _n_split(costs: Costs, rng: np.random.Generator) -> Floats:
    train, truth = costs.split(rng)
    ordered = costs.ordered(rng, train, "even", costs.runs.shape[2] * train.size)
    return _errors(cumulative_means(ordered), truth, axis=0)


def _k_split(costs: Costs, rng: np.random.Generator) -> Floats:
    train, truth = costs.split(rng)
    means = costs.means.take(train, axis=0)
    # Row by row: a cumulative sum down the columns takes twice as long.
    for before, row in pairwise(means):
        row += before
    means *= (1 / np.arange(1, train.size + 1, dtype=np.float32))[:, np.newaxis]
    return _errors(means, truth, axis=1)


def _estimators_split(costs: Costs, runs: IntArray, rng: np.random.Generator) -> Floats:
    """Mean absolute and squared error over configurations, (estimators, 2, N)."""
    train, truth = costs.split(rng)
    out = []
    for estimator in SIMULATED:
        ordered = costs.ordered(rng, train, estimator, int(runs.max()))
        errors = cumulative_means(ordered)[:, runs - 1] - truth[:, np.newaxis]
        out.append([np.abs(errors).mean(axis=0), (errors**2).mean(axis=0)])
    return np.array(out)


def _errors(costs: Floats, truth: Floats, axis: int) -> Floats:
    """Uniform error, selection error and lowest training cost at every value, from training costs
    with the configurations along this axis; overwrites them.
    """
    least = costs.min(axis=axis)
    # Sums of equal costs in different orders differ in their last digits.
    equal = costs <= np.expand_dims(least + TIE * np.abs(least), axis)
    places = np.unravel_index(np.flatnonzero(equal), equal.shape)
    tied, values = places[axis], places[1 - axis]
    chosen = np.bincount(values, truth[tied] - costs[places]) / np.bincount(values)
    np.subtract(np.expand_dims(truth, 1 - axis), costs, out=costs)
    return np.stack([costs.max(axis=axis), chosen, least]).astype(np.float32)


def _over_splits(errors: Floats, lowest: float, delta: float) -> dict[str, FloatArray]:
    """The curves from the uniform error, selection error and lowest training cost of each split."""
    uniform, selection, training = errors.astype(np.float64).transpose(1, 0, 2)
    training = training + lowest
    named = dict(zip(CURVES, (uniform, selection, training, training + selection), strict=True))
    curves = _means(named)
    place = _place(len(errors), delta)
    for name in ("uniform", "selection"):
        curves[f"{name}_q"] = np.partition(named[name], place, axis=0)[place]
    return curves


def _over_subsets(costs: Costs, splits: int, rng: Rng, delta: float) -> dict[str, FloatArray]:
    """The curves over all m-subsets of every split, without drawing any: the expected error of a
    random subset is a weighted sum of sorted errors.
    """
    instances, configurations = costs.means.shape
    order = np.broadcast_to(np.arange(instances), (splits, instances))
    order = generator(rng).permuted(order, axis=1)
    training = _mean_over(costs.means, order[:, : costs.train])
    tests = _mean_over(costs.means, order[:, costs.train : costs.train + costs.test])
    # The place that most subsets take comes first: the largest error, the lowest training cost.
    errors = -np.sort(training - tests, axis=1)
    by_cost = np.argsort(training, axis=1)
    training = np.take_along_axis(training, by_cost, axis=1)
    chosen = np.take_along_axis(tests, by_cost, axis=1) - training
    _average_ties(training, chosen)
    largest = subset_weights(configurations, np.arange(1, configurations + 1))
    weights = np.ascontiguousarray(largest[:, ::-1], dtype=np.float32)
    uniform, selection, cost = (values @ weights.T for values in (errors, chosen, training))
    cost = cost.astype(np.float64) + costs.lowest
    curves = _means(dict(zip(CURVES, (uniform, selection, cost, cost + selection), strict=True)))
    curves["uniform_q"] = _mixture_quantile(errors, weights, 1 - delta)
    curves["selection_q"] = _mixture_quantile(chosen, weights, 1 - delta)
    return curves


def _mean_over(means: Floats, places: IntArray) -> Floats:
    """Means over the instances of every split, (splits, M), as a product with a 0/1 matrix."""
    mask = np.zeros((len(places), len(means)), np.float32)
    np.put_along_axis(mask, places, 1.0, axis=1)
    return np.asarray(mask @ means / np.float32(places.shape[1]))


def _average_ties(costs: Floats, values: Floats) -> None:
    """Average the values of equal costs in every row of sorted costs, in place: which of the equal
    ones would be selected is a matter of chance.
    """
    tied = np.diff(costs, axis=1) <= TIE * np.abs(costs[:, 1:])
    if not tied.any():
        return
    starts = np.concatenate([np.ones((len(costs), 1), bool), ~tied], axis=1)
    groups = np.cumsum(starts) - 1
    means = np.bincount(groups, values.ravel()) / np.bincount(groups)
    values[:] = means[groups].reshape(values.shape)


def _mixture_quantile(values: Floats, weights: Floats, level: float) -> FloatArray:
    """The quantile over splits and m-subsets for every row of weights, where the value at a place
    of a split has the weight of the place.

    Taken among quantiles of the first place, the second, the next two, the next four …: the larger
    the subsets, the fewer places matter.
    """
    ends = [0, *(2 ** np.arange(values.shape[1].bit_length())), values.shape[1]]
    parts = [values[:, start:end] for start, end in pairwise(ends) if start < end <= len(values.T)]
    shares = np.linspace(0, 1, THRESHOLDS)
    ordered = [np.sort(part, axis=None) for part in parts]
    thresholds = np.unique([part[(shares * (part.size - 1)).astype(int)] for part in ordered])
    ranks = np.searchsorted(thresholds, values)
    places = values.shape[1]
    counts = np.bincount(
        (ranks + len(thresholds) * np.arange(places)).ravel(), minlength=len(thresholds) * places
    ).reshape(places, len(thresholds))
    # The share of the mixture at or below each threshold: (m, thresholds).
    share = weights @ np.cumsum(counts, axis=1).astype(np.float32) / len(values)
    return np.asarray(thresholds[(share >= level - 1e-6).argmax(axis=1)], dtype=np.float64)


def _means(curves: Mapping[str, NDArray[Any]]) -> dict[str, FloatArray]:
    """The means over splits and their standard errors."""
    columns = {}
    for name, values in curves.items():
        columns[name] = values.mean(axis=0, dtype=np.float64)
        columns[f"{name}_se"] = values.std(axis=0, ddof=1, dtype=np.float64) / np.sqrt(len(values))
    return columns


def _place(splits: int, delta: float) -> int:
    """Where the quantile stands in order: the first value that 1 − delta of the splits reach."""
    # Rounded, since 0.95·20 is a little above 19 in floating point.
    return max(int(np.ceil(round((1 - delta) * splits, 9))) - 1, 0)
