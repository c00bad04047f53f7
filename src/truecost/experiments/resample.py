"""Monte Carlo over random splits: the error of estimators, and the error against m, N and K.

A split draws K training and T test instances without replacement; the true cost of a configuration is its mean cost on the
test instances. Results depend on the generator alone, not on the number of threads.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.errors import InputError
from truecost.experiments import _kernels
from truecost.experiments.exact import ESTIMATORS, Estimator, check_complete, check_counts, check_split, subset_weights
from truecost.matrix import CostMatrix

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Progress = Callable[[int], None]
Item = TypeVar("Item")
Result = TypeVar("Result")

LEVELS = (0.5, 0.9, 0.95, 0.99)
CURVES = ("uniform", "selection", "training", "test")
# Costs looked at in one call of a kernel, some tenths of a second: often enough for progress and Ctrl-C.
CHUNK = 50_000_000
# Up to so many runs (720 orders) the order of a cell's runs is drawn in one go.
MOST_LISTED = 6
# Places in order fit into 16 bits beside a value, which makes sorting them together fast.
MOST_CONFIGURATIONS = 2**16
# More swept values than this are thinned out unless asked for.
MOST_VALUES = 5000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sweep:
    """Errors and costs at the swept values of m, N or K, in the costs' own units.

    Attributes
    ----------
    kind
        "m", "n" or "k".
    values
        The swept values.
    uniform, selection
        Mean over splits of the largest estimation error, and of that of the configuration with the least training cost.
        Signed: positive where training looked too good.
    training, test
        Mean training and test cost of the configuration with the least training cost. Ties are shared.
    standard_errors
        Of the four, over splits.
    quantiles
        Of the four, (levels, values): over splits and, for kind "m", over the m-subsets of every split, rounded there to
        single precision.
    levels
        The probabilities of the quantiles.
    splits, train, test_instances, runs, common_seeds
        What was done: K and T, the runs of a training instance at the last value, and whether the order was common.
    """

    kind: Literal["m", "n", "k"]
    values: IntArray
    uniform: FloatArray
    selection: FloatArray
    training: FloatArray
    test: FloatArray
    standard_errors: dict[str, FloatArray]
    quantiles: dict[str, FloatArray]
    levels: tuple[float, ...]
    splits: int
    train: int
    test_instances: int
    runs: int
    common_seeds: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EstimatorErrors:
    """Error of the estimators at K training instances and rising N: mean over configurations, then over splits.

    Arrays are (estimators, N); `absolute` is |û − u|, `squared` (û − u)²; `_spread` is the standard deviation over splits,
    the bars of the paper's figure, and `_error` the standard error of the mean.
    """

    estimators: tuple[Estimator, ...]
    train: int
    test_instances: int
    runs: IntArray
    absolute: FloatArray
    absolute_spread: FloatArray
    absolute_error: FloatArray
    squared: FloatArray
    squared_spread: FloatArray
    squared_error: FloatArray
    splits: int


def sweep_m(
    matrix: CostMatrix,
    *,
    splits: int = 2500,
    rng: np.random.Generator,
    values: ArrayLike | None = None,
    train: int | None = None,
    test: int | None = None,
    levels: Sequence[float] = LEVELS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """The error against m, the number of configurations, all runs used: expectations over all m-subsets of every split.

    Parameters
    ----------
    matrix
        Every configuration needs a run on every instance; with missing runs an instance counts by the mean of those there.
    splits, rng
        How many splits, and where they come from.
    values
        The m; 1 … M if not given.
    train, test
        K and T, half of the instances each if not given.
    levels
        Probabilities of the quantiles.
    threads
        All there are if not given.
    progress
        Called with the number of splits just finished.
    """
    setting = _setting(matrix, splits, rng, train, test, levels, threads)
    configurations = matrix.shape[0]
    if configurations > MOST_CONFIGURATIONS:
        raise InputError(f"Expected at most {MOST_CONFIGURATIONS:,} configurations, got {configurations:,}.")
    sizes = _values(values, configurations, "m")
    training, tests = np.empty((splits, configurations)), np.empty((splits, configurations))
    everywhere = setting.means.sum(axis=0)
    with _threads(setting.threads):
        for part in setting.chunks(setting.means.size, progress):
            pieces = (training[part], tests[part])
            _kernels.splits_of(setting.means, everywhere, setting.seeds[part], setting.train, setting.test, *pieces)
    return _sweep("m", sizes, _over_subsets(training, tests, sizes, setting), setting, runs=matrix.shape[2])


def sweep_k(
    matrix: CostMatrix,
    *,
    splits: int = 2500,
    rng: np.random.Generator,
    values: ArrayLike | None = None,
    train: int | None = None,
    test: int | None = None,
    levels: Sequence[float] = LEVELS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """The error against K, the number of training instances: a growing prefix of each split's training set, all runs used.

    The parameters are those of `sweep_m`; `values` are the K, 1 … train if not given.
    """
    setting = _setting(matrix, splits, rng, train, test, levels, threads)
    sizes = _values(values, setting.train, "K")
    curves = [np.empty((splits, sizes.size)) for _ in range(3)]
    with _threads(setting.threads):
        for part in setting.chunks(setting.means.size, progress):
            whole = [np.empty((part.stop - part.start, setting.train)) for _ in range(3)]
            _kernels.k_sweep(setting.means, setting.seeds[part], setting.train, setting.test, *whole)
            for curve, piece in zip(curves, whole, strict=True):
                curve[part] = piece[:, sizes - 1]
    return _sweep("k", sizes, _over_splits(curves, setting), setting, runs=matrix.shape[2])


def sweep_n(
    matrix: CostMatrix,
    *,
    splits: int = 2500,
    rng: np.random.Generator,
    values: ArrayLike | None = None,
    train: int | None = None,
    test: int | None = None,
    common_seeds: bool = False,
    levels: Sequence[float] = LEVELS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """The error against N, the number of runs of each configuration: every N a prefix of one growing even schedule (S*).

    Parameters
    ----------
    matrix
        With missing runs N goes up to train times the least number of runs any configuration has on any instance: beyond
        that the schedule would not be even.
    values
        The N; 1 … R·train if not given.
    common_seeds
        False: each configuration has its own random order of instances and runs, as in the paper. True: all have the same,
        as in ParamILS and SMAC; the runs must then be complete.
    Others
        As in `sweep_m`.
    """
    setting = _setting(matrix, splits, rng, train, test, levels, threads)
    runs, fewest = matrix.shape[2], int(setting.counts.min())
    if common_seeds and fewest < runs:
        raise InputError(f"Expected all {runs} runs everywhere for common seeds, got a matrix with missing runs.")
    sizes = _values(values, fewest * setting.train, "N")
    rounds = -(-int(sizes.max()) // setting.train)
    curves = [np.empty((splits, sizes.size)) for _ in range(3)]
    by_run = np.ascontiguousarray(np.moveaxis(setting.costs, 0, 2)) if common_seeds else None
    with _threads(setting.threads):
        for part in setting.chunks(setting.costs.size, progress):
            pieces = [curve[part] for curve in curves]
            common = (setting.means, setting.seeds[part], setting.train, setting.test, rounds, sizes, *pieces)
            if by_run is not None:
                _kernels.n_sweep_common(by_run, *common)
            else:
                _kernels.n_sweep(setting.costs, setting.counts, setting.orders, *common)
    return _sweep("n", sizes, _over_splits(curves, setting), setting, runs=rounds, common_seeds=common_seeds)


def compare_estimators(
    matrix: CostMatrix,
    *,
    splits: int = 2500,
    rng: np.random.Generator,
    runs: ArrayLike,
    train: int | None = None,
    test: int | None = None,
    estimators: Sequence[Estimator] = ESTIMATORS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> EstimatorErrors:
    """The paper's estimators by simulation: S*, S†, and S° in both readings; each N a prefix of one schedule.

    `exact.mean_squared_error` has the squared error without Monte Carlo error; this has the absolute one and its spread too.
    """
    setting = _setting(matrix, splits, rng, train, test, LEVELS, threads)
    stored, fewest = matrix.shape[2], int(setting.counts.min())
    for estimator in estimators:
        if estimator not in ESTIMATORS:
            raise InputError(f"Expected estimators out of {', '.join(ESTIMATORS)}, got {estimator!r}.")
        if estimator in ("concentrated", "pairs") and fewest < stored:
            raise InputError(f"Expected all {stored} runs everywhere for {estimator!r}, got a matrix with missing runs.")
    numbers = np.unique(np.asarray(runs, dtype=np.int64))
    if numbers.size == 0 or numbers[0] < 1:
        raise InputError("Expected runs (N) of at least 1.")
    check_counts(-(-int(numbers[-1]) // setting.train), fewest)
    shape = (len(estimators), splits, numbers.size)
    absolute, squared = np.empty(shape), np.empty(shape)
    with _threads(setting.threads):
        for part in setting.chunks(setting.costs.size, progress):
            for row, estimator in enumerate(estimators):
                kind = ESTIMATORS.index(estimator)
                _kernels.estimators(
                    setting.costs,
                    setting.counts,
                    setting.orders,
                    setting.means,
                    setting.seeds[part],
                    kind,
                    setting.train,
                    setting.test,
                    numbers,
                    absolute[row, part],
                    squared[row, part],
                )
    return EstimatorErrors(
        estimators=tuple(estimators),
        train=setting.train,
        test_instances=setting.test,
        runs=numbers,
        absolute=absolute.mean(axis=1),
        absolute_spread=absolute.std(axis=1, ddof=1),
        absolute_error=absolute.std(axis=1, ddof=1) / np.sqrt(splits),
        squared=squared.mean(axis=1),
        squared_spread=squared.std(axis=1, ddof=1),
        squared_error=squared.std(axis=1, ddof=1) / np.sqrt(splits),
        splits=splits,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Setting:
    """What every experiment starts from; `costs` has the runs that are there first in each cell, `means` is (P, M)."""

    train: int
    test: int
    levels: tuple[float, ...]
    threads: int
    counts: IntArray
    orders: NDArray[np.uint64]
    costs: FloatArray
    means: FloatArray
    seeds: NDArray[np.uint64]

    def chunks(self, looked_at: int, progress: Progress | None) -> Iterator[slice]:
        """Some splits after the other, each of which looks at so many costs; progress is told after each."""
        step = max(1, CHUNK // looked_at)
        for start in range(0, self.seeds.size, step):
            part = slice(start, min(start + step, self.seeds.size))
            yield part
            if progress is not None:
                progress(part.stop - part.start)


def _setting(
    matrix: CostMatrix,
    splits: int,
    rng: np.random.Generator,
    train: int | None,
    test: int | None,
    levels: Sequence[float],
    threads: int | None,
) -> _Setting:
    half = matrix.shape[1] // 2
    train, test = half if train is None else train, half if test is None else test
    check_split(matrix.shape[1], train, test)
    if splits < 2:
        raise InputError(f"Expected at least 2 splits, got {splits}.")
    if not all(0 < level < 1 for level in levels):
        raise InputError(f"Expected levels between 0 and 1, got {tuple(levels)}.")
    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    threads = most if threads is None else threads
    if not 1 <= threads <= most:
        raise InputError(
            f"Expected threads from 1 to {most}, got {threads}; the variable NUMBA_NUM_THREADS raises the limit."
        )
    check_complete(matrix)
    counts = matrix.counts()
    costs, complete = np.ascontiguousarray(matrix.costs), counts.min() == matrix.shape[2]
    if not complete:
        # The draws put the runs of a cell into random order anyhow, so that their own order may be changed.
        order = np.argsort(np.isnan(costs), axis=2, kind="stable")
        costs = np.nan_to_num(np.take_along_axis(costs, order, axis=2), nan=0.0)
    return _Setting(
        train=train,
        test=test,
        levels=tuple(levels),
        threads=threads,
        counts=counts,
        orders=_orders(matrix.shape[2] if complete else MOST_LISTED + 1),
        costs=costs,
        means=np.ascontiguousarray((costs.sum(axis=2) / counts).T),
        seeds=rng.integers(0, 2**64, size=splits, dtype=np.uint64),
    )


def _orders(runs: int) -> NDArray[np.uint64]:
    """Every order of a cell's runs; none for numbers of runs that have too many orders to list."""
    if runs > MOST_LISTED:
        return np.empty((0, 0), np.uint64)
    return np.array(list(permutations(range(runs))), dtype=np.uint64)


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = numba.get_num_threads()
    numba.set_num_threads(number)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _values(asked: ArrayLike | None, most: int, name: str) -> IntArray:
    if asked is not None:
        values = np.unique(np.asarray(asked, dtype=np.int64))
        if values.size == 0 or values[0] < 1 or values[-1] > most:
            raise InputError(f"Expected {name} from 1 to {most}, got {values[:1]} to {values[-1:]}.")
        return values
    if most <= MOST_VALUES:
        return np.arange(1, most + 1)
    return np.unique(np.geomspace(1, most, MOST_VALUES).round().astype(np.int64))


class _Curve(NamedTuple):
    """Mean over splits, its standard error, and quantiles (levels, values)."""

    mean: FloatArray
    error: FloatArray
    quantiles: FloatArray


def _over_splits(curves: list[FloatArray], setting: _Setting) -> dict[str, _Curve]:
    """The four curves from the uniform error, the selection error and the least training cost of each split."""
    uniform, selection, training = curves
    # Some swept values at a time: a copy of all would double the memory.
    width = uniform.shape[1]
    blocks = [slice(start, min(start + 64, width)) for start in range(0, width, 64)]

    def curve(name: str) -> _Curve:
        out = _Curve(np.empty(width), np.empty(width), np.empty((len(setting.levels), width)))
        for block in blocks:
            part = training[:, block] + selection[:, block] if name == "test" else named[name][:, block]
            out.mean[block], out.error[block] = part.mean(axis=0), _error_of_mean(part)
            ordered = np.sort(np.ascontiguousarray(part.T), axis=1)
            out.quantiles[:, block] = ordered[:, _quantile_places(setting)].T
        return out

    named = {"uniform": uniform, "selection": selection, "training": training}
    return dict(zip(CURVES, _in_threads(curve, CURVES, setting.threads), strict=True))


def _quantile_places(setting: _Setting) -> IntArray:
    """Where the quantiles stand in order: the first value at which the share of splits reaches the level."""
    places = np.ceil(np.round(np.array(setting.levels) * setting.seeds.size, 9)).astype(np.int64) - 1
    return np.maximum(places, 0)


def _in_threads(function: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """The function of every item; NumPy's sorting and our kernels leave the interpreter's lock to each other."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


def _sweep(
    kind: Literal["m", "n", "k"],
    values: IntArray,
    curves: dict[str, _Curve],
    setting: _Setting,
    runs: int,
    common_seeds: bool = False,
) -> Sweep:
    return Sweep(
        kind=kind,
        values=values,
        uniform=curves["uniform"].mean,
        selection=curves["selection"].mean,
        training=curves["training"].mean,
        test=curves["test"].mean,
        standard_errors={name: curve.error for name, curve in curves.items()},
        quantiles={name: curve.quantiles for name, curve in curves.items()},
        levels=setting.levels,
        splits=setting.seeds.size,
        train=setting.train,
        test_instances=setting.test,
        runs=runs,
        common_seeds=common_seeds,
    )


def _error_of_mean(each: FloatArray) -> FloatArray:
    return np.asarray(each.std(axis=0, ddof=1) / np.sqrt(each.shape[0]))


def _over_subsets(training: FloatArray, tests: FloatArray, sizes: IntArray, setting: _Setting) -> dict[str, _Curve]:
    """The four curves over random m-subsets of all configurations, from everybody's training and test cost in each split."""
    splits, configurations = training.shape
    # Every configuration's costs in order of training cost, with its ties, and the errors in order of their own.
    costs, in_order, errors = (np.empty_like(training) for _ in range(3))
    first, last = np.empty(training.shape, np.int32), np.empty(training.shape, np.int32)

    def sort(part: slice) -> None:
        by_cost = np.argsort(training[part], axis=1)
        costs[part] = np.take_along_axis(training[part], by_cost, axis=1)
        in_order[part] = np.take_along_axis(tests[part], by_cost, axis=1)
        np.subtract(tests[part], training[part], out=errors[part])
        errors[part].sort(axis=1)
        _kernels.ties(costs[part], first[part], last[part])

    _in_threads(sort, [slice(start, start + 256) for start in range(0, splits, 256)], setting.threads)
    rank = np.broadcast_to(np.arange(configurations, dtype=np.int32), training.shape)
    largest = subset_weights(configurations, sizes)
    smallest = np.ascontiguousarray(largest[:, ::-1])
    values = {"uniform": errors, "selection": in_order - costs, "training": costs, "test": in_order}

    def quantiles(name: str) -> FloatArray:
        if name == "uniform":
            return _mixture_quantiles(values[name], rank, rank, largest, setting.levels)
        return _mixture_quantiles(values[name], first, last, smallest, setting.levels)

    found = dict(zip(CURVES, _in_threads(quantiles, CURVES, setting.threads), strict=True))
    curves = {}
    for name, value in values.items():
        if name != "uniform":
            # Which of several equal training costs is the least is a matter of chance: ties are shared.
            _kernels.average_ties(value, last)
        each = _weigh(value, largest if name == "uniform" else smallest)
        curves[name] = _Curve(each.mean(axis=0), _error_of_mean(each), found[name])
    return curves


def _weigh(values: FloatArray, weights: FloatArray) -> FloatArray:
    """values @ weights.T, some rows of weights at a time and without the places where all of these are negligible."""
    out = np.empty((values.shape[0], weights.shape[0]))
    for start in range(0, weights.shape[0], 64):
        rows = weights[start : start + 64]
        matters = np.flatnonzero((rows > 1e-18).any(axis=0))
        places = slice(matters[0], matters[-1] + 1)
        out[:, start : start + 64] = values[:, places] @ rows[:, places].T
    return out


def _mixture_quantiles(
    values: FloatArray, first: NDArray[np.int32], last: NDArray[np.int32], weights: FloatArray, levels: Sequence[float]
) -> FloatArray:
    """Quantiles over splits and m-subsets, where the value at a place has the mean weight of the places first … last."""
    packed = np.empty(values.size, np.int64)
    _kernels.pack(values.ravel(), first.ravel(), last.ravel(), packed)
    packed.sort()
    cumulative = np.zeros((weights.shape[0], weights.shape[1] + 1))
    np.cumsum(weights, axis=1, out=cumulative[:, 1:])
    out = np.empty((len(levels), weights.shape[0]))
    block = max(1024, values.size // 2048)
    _kernels.mixture_quantiles(packed, cumulative, values.shape[0], np.asarray(levels, np.float64), block, out)
    return out
