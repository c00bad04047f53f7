"""Monte Carlo over random splits: the error of estimators, and the error against m, N and K.

A split draws K training and T test instances without replacement; the true cost of a configuration
is its mean cost on the test instances. Results depend on the generator alone, not on the number of
threads.

Examples
--------
>>> sweep = tc.resample.sweep_k(tc.load_example("kissat"), splits=10, rng=1)
>>> sweep.selection.shape
(25,)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import TypedDict, Unpack

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import FloatArray, IntArray, log_grid
from truecost.errors import InputError, check_choice
from truecost.matrix import CostMatrix
from truecost.paper import _resample_kernels as kernels
from truecost.paper.exact import (
    ESTIMATORS,
    Estimator,
    check_complete,
    check_counts,
    split_sizes,
)
from truecost.paper.fit import Kind, letter
from truecost.paper.resample_curves import Curve, over_splits, over_subsets
from truecost.stats.random import Rng, generator

Progress = Callable[[int], None]

# Quantiles of a sweep: the median, and levels at which bounds are stated.
LEVELS = (0.5, 0.9, 0.95, 0.99)
# Costs looked at in one call of a kernel, some tenths of a second: often enough for progress and
# Ctrl-C.
CHUNK = 50_000_000
# Up to this number of runs (720 orders) the order of a cell's runs is drawn in one go.
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
        Mean training and test cost of the configuration with the lowest training cost. Ties are
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


class SweepOptions(TypedDict, total=False):
    """The options of a sweep; `sweep` explains each."""

    splits: int
    rng: Rng
    values: ArrayLike | None
    train: int | None
    test: int | None
    common_seeds: bool
    levels: Sequence[float]
    threads: int | None
    progress: Progress | None


def sweep_m(matrix: CostMatrix, **options: Unpack[SweepOptions]) -> Sweep:
    """The error against m, the number of configurations, all runs used: expectations over all
    m-subsets of every split. `sweep` has the options.
    """
    return sweep(matrix, "m", **options)


def sweep_n(matrix: CostMatrix, **options: Unpack[SweepOptions]) -> Sweep:
    """The error against N, the number of runs of each configuration: every N a prefix of one
    growing even schedule (S*). `sweep` has the options.
    """
    return sweep(matrix, "n", **options)


def sweep_k(matrix: CostMatrix, **options: Unpack[SweepOptions]) -> Sweep:
    """The error against K, the number of training instances: a growing prefix of each split's
    training set, all runs used. `sweep` has the options.
    """
    return sweep(matrix, "k", **options)


def sweep(
    matrix: CostMatrix,
    kind: Kind,
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
    """The error against m, N or K over random splits.

    Parameters
    ----------
    matrix
        Every configuration needs a run on every instance; with missing runs an instance counts by
        the mean of those there. N goes up to train times the least number of runs any configuration
        has on any instance: beyond that the schedule would not be even.
    kind
        "m", "n" or "k".
    splits, rng
        How many splits, and where they come from.
    values
        The m, N or K; all there are if not given: 1 … M, 1 … R·train, 1 … train.
    train, test
        K and T, half of the instances each if not given.
    common_seeds
        For kind "n". False: each configuration has its own random order of instances and runs, as
        in the paper. True: all have the same, as in ParamILS and SMAC; the runs must then be
        complete.
    levels
        Probabilities of the quantiles.
    threads
        All there are if not given.
    progress
        Called with the number of splits just finished.
    """
    draws = _draws(matrix, splits, rng, train, test, levels, threads)
    configurations, _, runs = matrix.shape
    fewest = int(draws.counts.min())
    if kind == "m" and configurations > MOST_CONFIGURATIONS:
        raise InputError(
            f"Expected at most {MOST_CONFIGURATIONS:,} configurations, got {configurations:,}."
        )
    if common_seeds and fewest < runs:
        raise InputError(
            f"Expected all {runs} runs everywhere for common seeds, got a matrix with missing runs."
        )
    most = {"m": configurations, "n": fewest * draws.train, "k": draws.train}[kind]
    sizes = _values(values, most, letter(kind))
    # The runs of a cell that the largest N needs; the other kinds use all there are.
    rounds = -(-int(sizes.max()) // draws.train) if kind == "n" else fewest
    by_runs = partial(_over_runs, kind=kind, rounds=rounds, common_seeds=common_seeds)
    curves = (_over_m if kind == "m" else by_runs)(draws, sizes, progress)
    return Sweep(
        kind=kind,
        values=sizes,
        **{name: curve.mean for name, curve in curves.items()},
        standard_errors={name: curve.error for name, curve in curves.items()},
        quantiles={name: curve.quantiles for name, curve in curves.items()},
        levels=draws.levels,
        splits=splits,
        train=draws.train,
        test_instances=draws.test,
        runs=rounds,
        common_seeds=common_seeds,
    )


def _over_m(draws: "_Draws", sizes: IntArray, progress: Progress | None) -> dict[str, Curve]:
    training, tests = (np.empty((draws.seeds.size, draws.means.shape[1])) for _ in range(2))
    # Sums over all instances: the test cost follows from the training cost where the two sets
    # are everything.
    everywhere = draws.means.sum(axis=0)
    for part in draws.chunks(draws.means.size, progress):
        kernels.splits_of(draws.means, everywhere, *draws.split(part), training[part], tests[part])
    return over_subsets(training, tests, sizes, draws.levels, draws.threads)


def _over_runs(
    draws: "_Draws",
    sizes: IntArray,
    progress: Progress | None,
    *,
    kind: Kind,
    rounds: int,
    common_seeds: bool,
) -> dict[str, Curve]:
    curves = np.empty((3, draws.seeds.size, sizes.size))
    # Instances by runs by configurations: a step of a common schedule is one contiguous row. The
    # sweep over K is such a schedule of one round, whose runs are the instance means.
    by_run = draws.means[:, np.newaxis]
    if common_seeds:
        by_run = np.ascontiguousarray(np.moveaxis(draws.costs, 0, 2))
    for part in draws.chunks(by_run.size if kind == "k" else draws.costs.size, progress):
        split = draws.split(part)
        # A part of the curves would have gaps, for which the kernels are compiled once more.
        piece = np.empty((3, split[0].size, sizes.size))
        if kind == "k" or common_seeds:
            steps = 1 if kind == "k" else rounds
            kernels.common_sweep(by_run, kind == "n", draws.means, *split, steps, sizes, piece)
        else:
            runs = (draws.costs, draws.counts, draws.orders, draws.means)
            kernels.n_sweep(*runs, *split, rounds, sizes, piece)
        curves[:, part] = piece
    return over_splits(curves, draws.levels, draws.threads)


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
    draws = _draws(matrix, splits, rng, train, test, LEVELS, threads)
    stored, fewest = matrix.shape[2], int(draws.counts.min())
    for estimator in estimators:
        check_choice("estimators", estimator, ESTIMATORS)
        if estimator in ("concentrated", "pairs") and fewest < stored:
            raise InputError(
                f"Expected all {stored} runs everywhere for {estimator!r}, "
                "got a matrix with missing runs."
            )
    numbers = np.unique(np.asarray(runs, dtype=np.int64))
    if numbers.size == 0 or numbers[0] < 1:
        raise InputError("Expected runs (N) of at least 1.")
    check_counts(-(-int(numbers[-1]) // draws.train), fewest)
    shape = (len(estimators), splits, numbers.size)
    errors = {"absolute": np.empty(shape), "squared": np.empty(shape)}
    for part in draws.chunks(draws.costs.size, progress):
        for row, estimator in enumerate(estimators):
            kernels.estimators(
                draws.costs,
                draws.counts,
                draws.orders,
                draws.means,
                ESTIMATORS.index(estimator),
                *draws.split(part),
                numbers,
                *(error[row, part] for error in errors.values()),
            )
    arrays = {name: error.mean(axis=1) for name, error in errors.items()}
    for name, error in errors.items():
        arrays[f"{name}_spread"] = error.std(axis=1, ddof=1)
        arrays[f"{name}_error"] = arrays[f"{name}_spread"] / np.sqrt(splits)
    return EstimatorErrors(
        estimators=tuple(estimators),
        train=draws.train,
        test_instances=draws.test,
        runs=numbers,
        splits=splits,
        **arrays,
    )


def check_splits(splits: int) -> None:
    """Refuse fewer than two splits, which have no spread."""
    if splits < 2:
        raise InputError(f"Expected at least 2 splits, got {splits}.")


def check_threads(threads: int | None) -> int:
    """How many threads, all there are if not given; refuse more."""
    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    threads = most if threads is None else threads
    if not 1 <= threads <= most:
        raise InputError(
            f"Expected threads from 1 to {most}, got {threads}; "
            "the variable NUMBA_NUM_THREADS raises the limit."
        )
    return threads


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Draws:
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
        """Yield ranges of splits, each split reading `looked_at` costs, and report progress after
        each. Kernels use `threads` meanwhile.
        """
        # At least one split, however large the matrix.
        step = max(1, CHUNK // looked_at)
        # What the caller had set is put back, also after Ctrl-C.
        before = numba.get_num_threads()
        numba.set_num_threads(self.threads)
        try:
            for start in range(0, self.seeds.size, step):
                part = slice(start, min(start + step, self.seeds.size))
                yield part
                if progress is not None:
                    progress(part.stop - part.start)
        finally:
            numba.set_num_threads(before)

    def split(self, part: slice) -> tuple[NDArray[np.uint64], int, int]:
        """What a kernel needs to draw these splits."""
        return self.seeds[part], self.train, self.test


def _draws(
    matrix: CostMatrix,
    splits: int,
    rng: Rng,
    train: int | None,
    test: int | None,
    levels: Sequence[float],
    threads: int | None,
) -> _Draws:
    train, test = split_sizes(matrix.shape[1], train, test)
    check_splits(splits)
    if not all(0 < level < 1 for level in levels):
        raise InputError(f"Expected levels between 0 and 1, got {tuple(levels)}.")
    threads = check_threads(threads)
    counts = matrix.counts()
    if counts.min() == 0:
        check_complete(matrix)
    costs, runs = np.ascontiguousarray(matrix.exact_costs()), matrix.shape[2]
    if counts.min() < runs:
        # The draws put the runs of a cell into random order anyhow, so that their own order may be
        # changed.
        order = np.argsort(np.isnan(costs), axis=2, kind="stable")
        costs = np.nan_to_num(np.take_along_axis(costs, order, axis=2), nan=0.0)
    # As those of a matrix are, whatever became of them: kernels are compiled for one or the other.
    costs = costs.view()
    costs.flags.writeable = False
    orders = permutations(range(runs)) if counts.min() == runs <= MOST_LISTED else ()
    return _Draws(
        train=train,
        test=test,
        levels=tuple(levels),
        threads=threads,
        counts=counts,
        orders=np.array(list(orders), dtype=np.uint64).reshape(-1, runs),
        costs=costs,
        # Instances first: a split adds up whole rows, which are contiguous then.
        means=np.ascontiguousarray((np.einsum("ijk->ij", costs) / counts).T),
        seeds=generator(rng).integers(0, 2**64, size=splits, dtype=np.uint64),
    )


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
    return log_grid(1, most, MOST_VALUES)
