"""Monte Carlo over random splits: the error of estimators, and the error against m, N and K.

A split draws K training and T test instances without replacement; the true cost of a configuration
is its mean cost on the test instances. Results depend on the generator alone, not on the number of
threads.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.paper import _resample_kernels as kernels
from truecost.paper.exact import (
    ESTIMATORS,
    Estimator,
    check_complete,
    check_counts,
    split_sizes,
)
from truecost.paper.fit import Kind
from truecost.paper.resample_curves import Curve, over_splits, over_subsets
from truecost.stats.random import Rng, generator

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Progress = Callable[[int], None]

LEVELS = (0.5, 0.9, 0.95, 0.99)
# Costs looked at in one call of a kernel, some tenths of a second: often enough for progress and
# Ctrl-C.
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
        Mean over splits of the largest estimation error, and of that of the configuration with the
        least training cost. Signed: positive where training looked too good.
    training, test
        Mean training and test cost of the configuration with the least training cost. Ties are
        shared.
    standard_errors
        Of the four, over splits.
    quantiles
        Of the four, (levels, values): over splits and, for kind "m", over the m-subsets of every
        split, rounded there to single precision.
    levels
        The probabilities of the quantiles.
    splits, train, test_instances, runs, common_seeds
        What was done: K and T, the runs of a training instance at the last value, and whether the
        order was common.
    """

    kind: Kind
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
    """Error of the estimators at K training instances and rising N: mean over configurations, then
    over splits.

    Arrays are (estimators, N); `absolute` is |û − u|, `squared` (û − u)²; `_spread` is the standard
    deviation over splits, the bars of the paper's figure, and `_error` the standard error of the
    mean.
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
    rng: Rng = None,
    values: ArrayLike | None = None,
    train: int | None = None,
    test: int | None = None,
    levels: Sequence[float] = LEVELS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """The error against m, the number of configurations, all runs used: expectations over all
    m-subsets of every split.

    Parameters
    ----------
    matrix
        Every configuration needs a run on every instance; with missing runs an instance counts by
        the mean of those there.
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
        raise InputError(
            f"Expected at most {MOST_CONFIGURATIONS:,} configurations, got {configurations:,}."
        )
    sizes = _values(values, configurations, "m")
    training, tests = np.empty((splits, configurations)), np.empty((splits, configurations))
    everywhere = setting.means.sum(axis=0)
    with _threads(setting.threads):
        for part in setting.chunks(setting.means.size, progress):
            pieces = (training[part], tests[part])
            kernels.splits_of(
                setting.means, everywhere, setting.seeds[part], setting.train, setting.test, *pieces
            )
    curves = over_subsets(training, tests, sizes, setting.levels, setting.threads)
    return _sweep("m", sizes, curves, setting, runs=int(setting.counts.min()))


def sweep_k(
    matrix: CostMatrix,
    *,
    splits: int = 2500,
    rng: Rng = None,
    values: ArrayLike | None = None,
    train: int | None = None,
    test: int | None = None,
    levels: Sequence[float] = LEVELS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """The error against K, the number of training instances: a growing prefix of each split's
    training set, all runs used.

    The parameters are those of `sweep_m`; `values` are the K, 1 … train if not given.
    """
    setting = _setting(matrix, splits, rng, train, test, levels, threads)
    sizes = _values(values, setting.train, "K")
    curves = [np.empty((splits, sizes.size)) for _ in range(3)]
    with _threads(setting.threads):
        for part in setting.chunks(setting.means.size, progress):
            whole = [np.empty((part.stop - part.start, setting.train)) for _ in range(3)]
            kernels.k_sweep(setting.means, setting.seeds[part], setting.train, setting.test, *whole)
            for curve, piece in zip(curves, whole, strict=True):
                curve[part] = piece[:, sizes - 1]
    return _sweep(
        "k",
        sizes,
        over_splits(curves, setting.levels, setting.threads),
        setting,
        runs=int(setting.counts.min()),
    )


def sweep_n(
    matrix: CostMatrix,
    *,
    splits: int = 2500,
    rng: Rng = None,
    values: ArrayLike | None = None,
    train: int | None = None,
    test: int | None = None,
    common_seeds: bool = False,
    levels: Sequence[float] = LEVELS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """The error against N, the number of runs of each configuration: every N a prefix of one
    growing even schedule (S*).

    Parameters
    ----------
    matrix
        With missing runs N goes up to train times the least number of runs any configuration has on
        any instance: beyond that the schedule would not be even.
    values
        The N; 1 … R·train if not given.
    common_seeds
        False: each configuration has its own random order of instances and runs, as in the paper.
        True: all have the same, as in ParamILS and SMAC; the runs must then be complete.
    splits, rng, train, test, levels, threads, progress
        As in `sweep_m`.
    """
    setting = _setting(matrix, splits, rng, train, test, levels, threads)
    runs, fewest = matrix.shape[2], int(setting.counts.min())
    if common_seeds and fewest < runs:
        raise InputError(
            f"Expected all {runs} runs everywhere for common seeds, got a matrix with missing runs."
        )
    sizes = _values(values, fewest * setting.train, "N")
    rounds = -(-int(sizes.max()) // setting.train)
    curves = [np.empty((splits, sizes.size)) for _ in range(3)]
    by_run = np.ascontiguousarray(np.moveaxis(setting.costs, 0, 2)) if common_seeds else None
    with _threads(setting.threads):
        for part in setting.chunks(setting.costs.size, progress):
            pieces = [curve[part] for curve in curves]
            common = (
                setting.means,
                setting.seeds[part],
                setting.train,
                setting.test,
                rounds,
                sizes,
                *pieces,
            )
            if by_run is not None:
                kernels.n_sweep_common(by_run, *common)
            else:
                kernels.n_sweep(setting.costs, setting.counts, setting.orders, *common)
    found = over_splits(curves, setting.levels, setting.threads)
    return _sweep("n", sizes, found, setting, runs=rounds, common_seeds=common_seeds)


SWEEPS: dict[str, Callable[..., Sweep]] = {"m": sweep_m, "n": sweep_n, "k": sweep_k}


def compare_estimators(
    matrix: CostMatrix,
    *,
    splits: int = 2500,
    rng: Rng = None,
    runs: ArrayLike,
    train: int | None = None,
    test: int | None = None,
    estimators: Sequence[Estimator] = ESTIMATORS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> EstimatorErrors:
    """The paper's estimators by simulation: S*, S†, and S° in both readings; each N a prefix of one
    schedule.

    `exact.mean_squared_error` has the squared error without Monte Carlo error; this has the
    absolute one and its spread too.
    """
    setting = _setting(matrix, splits, rng, train, test, LEVELS, threads)
    stored, fewest = matrix.shape[2], int(setting.counts.min())
    for estimator in estimators:
        if estimator not in ESTIMATORS:
            raise InputError(
                f"Expected estimators out of {', '.join(ESTIMATORS)}, got {estimator!r}."
            )
        if estimator in ("concentrated", "pairs") and fewest < stored:
            raise InputError(
                f"Expected all {stored} runs everywhere for {estimator!r}, got a matrix with missing runs."
            )
    numbers = np.unique(np.asarray(runs, dtype=np.int64))
    if numbers.size == 0 or numbers[0] < 1:
        raise InputError("Expected runs (N) of at least 1.")
    check_counts(-(-int(numbers[-1]) // setting.train), fewest)
    shape = (len(estimators), splits, numbers.size)
    absolute, squared = np.empty(shape), np.empty(shape)
    with _threads(setting.threads):
        for part in setting.chunks(setting.costs.size, progress):
            for row, estimator in enumerate(estimators):
                given = (
                    setting.costs,
                    setting.counts,
                    setting.orders,
                    setting.means,
                    setting.seeds[part],
                )
                asked = (ESTIMATORS.index(estimator), setting.train, setting.test, numbers)
                kernels.estimators(*given, *asked, absolute[row, part], squared[row, part])
    spread = {"absolute": absolute.std(axis=1, ddof=1), "squared": squared.std(axis=1, ddof=1)}
    return EstimatorErrors(
        estimators=tuple(estimators),
        train=setting.train,
        test_instances=setting.test,
        runs=numbers,
        absolute=absolute.mean(axis=1),
        squared=squared.mean(axis=1),
        splits=splits,
        **{f"{name}_spread": each for name, each in spread.items()},
        **{f"{name}_error": each / np.sqrt(splits) for name, each in spread.items()},
    )


def check_threads(threads: int | None) -> int:
    """How many threads, all there are if not given; refuse more."""
    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    threads = most if threads is None else threads
    if not 1 <= threads <= most:
        raise InputError(
            f"Expected threads from 1 to {most}, got {threads}; the variable NUMBA_NUM_THREADS raises the limit."
        )
    return threads


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Setting:
    """What every experiment starts from; `costs` has the runs that are there first in each cell,
    `means` is (P, M).
    """

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
        """Some splits after the other, each of which looks at so many costs; progress is told after
        each.
        """
        step = max(1, CHUNK // looked_at)
        for start in range(0, self.seeds.size, step):
            part = slice(start, min(start + step, self.seeds.size))
            yield part
            if progress is not None:
                progress(part.stop - part.start)


def _setting(
    matrix: CostMatrix,
    splits: int,
    rng: Rng,
    train: int | None,
    test: int | None,
    levels: Sequence[float],
    threads: int | None,
) -> _Setting:
    train, test = split_sizes(matrix.shape[1], train, test)
    if splits < 2:
        raise InputError(f"Expected at least 2 splits, got {splits}.")
    if not all(0 < level < 1 for level in levels):
        raise InputError(f"Expected levels between 0 and 1, got {tuple(levels)}.")
    threads = check_threads(threads)
    counts = matrix.counts()
    if counts.min() == 0:
        check_complete(matrix)
    costs, complete = np.ascontiguousarray(matrix.exact_costs()), counts.min() == matrix.shape[2]
    if not complete:
        # The draws put the runs of a cell into random order anyhow, so that their own order may be
        # changed.
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
        means=np.ascontiguousarray((np.einsum("ijk->ij", costs) / counts).T),
        seeds=generator(rng).integers(0, 2**64, size=splits, dtype=np.uint64),
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
            raise InputError(
                f"Expected {name} from 1 to {most}, got {values[:1]} to {values[-1:]}."
            )
        return values
    if most <= MOST_VALUES:
        return np.arange(1, most + 1)
    return np.unique(np.geomspace(1, most, MOST_VALUES).round().astype(np.int64))


def _sweep(
    kind: Kind,
    values: IntArray,
    curves: dict[str, Curve],
    setting: _Setting,
    *,
    runs: int,
    common_seeds: bool = False,
) -> Sweep:
    return Sweep(
        kind=kind,
        values=values,
        **{name: curve.mean for name, curve in curves.items()},
        standard_errors={name: curve.error for name, curve in curves.items()},
        quantiles={name: curve.quantiles for name, curve in curves.items()},
        levels=setting.levels,
        splits=setting.seeds.size,
        train=setting.train,
        test_instances=setting.test,
        runs=runs,
        common_seeds=common_seeds,
    )
