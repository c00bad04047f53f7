"""The error against m, N and K over random splits, and the errors of the estimators by simulation.

An estimation error u − û is signed: positive where training looked too good. The uniform error is
the largest of all configurations, the selection error that of the configuration with the lowest
training cost.
"""

import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import IntArray
from truecost.errors import InputError, check_choice
from truecost.matrix import CostMatrix
from truecost.paper.exact import Estimator, complete, split_sizes, subset_weights
from truecost.paper.fit import FORMULAS, Kind
from truecost.running.machine import cores
from truecost.stats import bounds
from truecost.stats.allocation import even_sizes
from truecost.stats.random import Rng, generator
from truecost.stats.variance import variance_components

if TYPE_CHECKING:
    import pandas as pd

# Single precision: means are off by a millionth, which no number of splits could tell.
Floats = NDArray[np.float32]
# What a split shows, (rows, values): lowest training cost, uniform and selection error, … .
Split = Callable[[np.random.Generator], Floats]
# Called with the number of splits just finished.
Progress = Callable[[int], None]

# Bounds hold with probability 1 − δ, and stand next to the errors that 1 − δ of the splits do not
# exceed.
DELTA = 0.05
# S° of distinct pairs has its closed form; the paper's figure has these three.
SIMULATED: tuple[Estimator, ...] = ("even", "concentrated", "scattered")
# Sums of equal costs in different orders differ by less than this share in single precision.
TIE = 1e-6
# Splits of one task: a second of work at most.
TASK = 50


def sweep(
    matrix: CostMatrix,
    kind: Kind,
    *,
    splits: int = 2500,
    rng: Rng = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """The error against m, N or K, one row for each value; half of the instances are for training.

    Parameters
    ----------
    matrix
        Without gaps, or as `exact.complete` makes it.
    kind
        "m": 1 … M configurations, all runs, expectations over all m-subsets. "n": 1 … R·K runs,
        each N a prefix of one even schedule (S*) of every configuration. "k": 1 … K instances, a
        growing prefix of the training set, all runs.
    splits, rng
        The number of random splits, and where they come from.
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
        the errors that 95 % of the splits (of random subsets in them, against m) do not exceed.
        Equal training costs share the selection. If the range of costs is known, Theorem 2 in
        Bennett's form (`bound`) and as `printed`: plug-in, not guaranteed, since variances are
        estimated and the errors are against test means.
    """
    check_choice("kind", kind, FORMULAS)
    costs = Costs.of(matrix)
    configurations, _, runs = costs.runs.shape
    most = {"m": configurations, "k": costs.train, "n": runs * costs.train}
    values = np.arange(1, most[kind] + 1)
    sizes = {name: np.full(values.size, size) for name, size in most.items()} | {kind: values}
    if kind == "k":
        sizes["n"] = values * runs
    split: Split = partial(_n_split if kind == "n" else _k_split, costs)
    if kind == "m":
        # Reversed: the weights of what a subset takes first, in the first place.
        weights = subset_weights(configurations, values)[:, ::-1]
        split = partial(_m_split, costs, np.ascontiguousarray(weights.T))
    rows = _in_processes(split, splits, rng, workers, progress)
    training = rows[:, 0].astype(float) + costs.lowest
    uniform, selection = rows[:, -2], rows[:, -1]
    means: dict[str, NDArray[Any]] = {
        "uniform": uniform,
        "selection": selection,
        "training": training,
    }
    table: dict[str, NDArray[Any]] = {**sizes}
    for name, samples in {**means, "test": training + selection}.items():
        table[name], spread = _mean_and_spread(samples)
        table[f"{name}_se"] = spread / np.sqrt(splits)
    # The first value that 1 − δ of the splits do not exceed. In floating point 0.95·20 is above 19.
    place = max(int(np.ceil(round((1 - DELTA) * splits, 9))) - 1, 0)
    ranked = np.partition(rows[:, 1:3], place, axis=0)
    table["uniform_q"], table["selection_q"] = ranked[place].astype(float)
    import pandas as pd

    frame = pd.DataFrame(table)
    return _with_bounds(matrix, frame) if np.isfinite(matrix.width) else frame


def compare_estimators(
    matrix: CostMatrix,
    runs: IntArray,
    *,
    train: int | None = None,
    splits: int = 2500,
    rng: Rng = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """The absolute error |û − u| of S*, S† and S° at these N, each a prefix of one schedule, with
    K = `train` instances; the other options as in `sweep`.

    Returns
    -------
    DataFrame
        A row for each estimator and N: `absolute`, the mean over configurations and splits;
        `spread`, its standard deviation over splits; `se`, the standard error.
    """
    import pandas as pd

    costs = Costs.of(matrix, train)
    split = partial(_estimators_split, costs, np.asarray(runs, dtype=np.int64))
    rows = _in_processes(split, splits, rng, workers, progress)
    parts = []
    for estimator, errors in zip(SIMULATED, rows.transpose(1, 0, 2), strict=True):
        mean, spread = _mean_and_spread(errors)
        sizes = {"estimator": estimator, "k": costs.train, "n": runs}
        columns = {"absolute": mean, "spread": spread, "se": spread / np.sqrt(splits)}
        parts.append(pd.DataFrame({**sizes, **columns}))
    return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Costs:
    """Costs above the `lowest` of all: `runs` (M, P, R) and `means` of the instances (P, M); a
    split takes `train` and `test` instances.
    """

    lowest: float
    runs: Floats
    means: Floats
    train: int
    test: int

    @classmethod
    def of(cls, matrix: CostMatrix, train: int | None = None) -> "Costs":
        """The costs of a matrix, and the sizes of its splits."""
        costs = complete(matrix).costs
        lowest = float(costs.min())
        train, test = split_sizes(matrix.shape[1], train)
        runs = (costs - lowest).astype(np.float32)
        means = np.ascontiguousarray((costs.mean(axis=2) - lowest).T, dtype=np.float32)
        return cls(lowest=lowest, runs=runs, means=means, train=train, test=test)

    def split(self, rng: np.random.Generator) -> tuple[IntArray, Floats]:
        """Training instances, and the true cost of every configuration: that on the others."""
        order = rng.permutation(len(self.means))
        tests = self.means.take(order[self.train : self.train + self.test], axis=0)
        return order[: self.train], tests.mean(axis=0)

    def deal(self, rng: np.random.Generator, train: IntArray) -> Floats:
        """The runs on the training instances, (M, K, R), each configuration with its own order of
        instances and runs.
        """
        rows = np.arange(len(self.runs))[:, np.newaxis]
        places = rng.permuted(np.broadcast_to(train, (len(rows), train.size)), axis=1)
        return rng.permuted(self.runs[rows, places], axis=2)


def estimates(dealt: Floats, estimator: Estimator, most: int, rng: np.random.Generator) -> Floats:
    """The training costs from the first 1 … `most` runs of S*, S† or S°, (M, most)."""
    # One order of instances for all rounds of S*: every N gets an even allocation, each as probable
    # as any other.
    runs = dealt.transpose(0, 2, 1) if estimator == "even" else dealt
    runs = runs.reshape(len(dealt), -1)
    if estimator == "scattered":
        drawn = rng.integers(runs.shape[1], size=(len(runs), most))
        runs = np.take_along_axis(runs, drawn, axis=1)
    sums = np.cumsum(runs[:, :most], axis=1, dtype=np.float32)
    return np.asarray(sums / np.arange(1, most + 1, dtype=np.float32))


def _m_split(costs: Costs, weights: NDArray[np.float64], rng: np.random.Generator) -> Floats:
    """For every m the lowest training cost expected over all m-subsets, uniform and selection error
    of one growing random subset, and both errors expected over all.
    """
    train, truth = costs.split(rng)
    training = costs.means.take(train, axis=0).mean(axis=0)
    by_cost = np.argsort(training)
    training, errors = training[by_cost], (truth - training)[by_cost]
    # Which of equal training costs is selected is a matter of chance.
    tied = np.diff(training) <= TIE * np.abs(training[1:])
    groups = np.cumsum(np.append(0, ~tied))
    chosen = (np.bincount(groups, errors) / np.bincount(groups))[groups]
    # What a subset takes comes first: the largest error, the lowest training cost.
    largest = -np.sort(-errors)
    expected = np.stack([training, largest, chosen]) @ weights
    first = np.minimum.accumulate(rng.permutation(by_cost.size))
    sample = np.stack([largest[first], chosen[first]])
    return np.concatenate([expected[:1], sample, expected[1:]]).astype(np.float32)


def _n_split(costs: Costs, rng: np.random.Generator) -> Floats:
    train, truth = costs.split(rng)
    dealt = costs.deal(rng, train)
    return _errors(estimates(dealt, "even", dealt[0].size, rng), truth)


def _k_split(costs: Costs, rng: np.random.Generator) -> Floats:
    train, truth = costs.split(rng)
    means = costs.means.take(train, axis=0)
    # Row by row: np.cumsum down the columns takes twice as long.
    for before, row in pairwise(means):
        row += before
    means *= (1 / np.arange(1, train.size + 1, dtype=np.float32))[:, np.newaxis]
    return _errors(means.T, truth)


def _estimators_split(costs: Costs, runs: IntArray, rng: np.random.Generator) -> Floats:
    """Mean absolute error over configurations, (estimators, N)."""
    train, truth = costs.split(rng)
    dealt = costs.deal(rng, train)
    training = [estimates(dealt, name, int(runs.max()), rng)[:, runs - 1] for name in SIMULATED]
    return np.asarray(np.abs(np.stack(training) - truth[:, np.newaxis]).mean(axis=1))


def _errors(training: Floats, truth: Floats) -> Floats:
    """Lowest training cost, uniform and selection error at every value, from training costs (M,
    values).
    """
    errors, least = truth[:, np.newaxis] - training, training.min(axis=0)
    chosen = errors.mean(axis=0, where=training <= least + TIE * np.abs(least))
    return np.stack([least, errors.max(axis=0), chosen])


def _mean_and_spread(samples: NDArray[Any]) -> tuple[NDArray[np.float64], ...]:
    """The mean over splits, and the standard deviation."""
    return samples.mean(axis=0, dtype=np.float64), samples.std(axis=0, ddof=1, dtype=np.float64)


def _with_bounds(matrix: CostMatrix, table: "pd.DataFrame") -> "pd.DataFrame":
    def epsilon(form: bounds.Form) -> float | NDArray[np.float64]:
        return bounds.finite(
            allocation=even_sizes(table["n"].to_numpy(), table["k"].to_numpy()),
            components=components,
            width=matrix.width,
            delta=DELTA,
            configurations=table["m"].to_numpy(),
            form=form,
        ).epsilon

    components = variance_components(complete(matrix))
    return table.assign(bound=epsilon("bennett"), printed=epsilon("printed"))


def _in_processes(
    split: Split, splits: int, rng: Rng, workers: int | None, progress: Progress | None
) -> Floats:
    """The results of all splits. Each has a generator of its own, so they do not depend on the
    number of workers.
    """
    workers = len(cores()) if workers is None else workers
    if splits < 2 or workers < 1:
        raise InputError(f"{splits} splits, {workers} workers: give at least 2 splits, 1 worker.")
    tasks = [range(start, min(start + TASK, splits)) for start in range(0, splits, TASK)]
    task = partial(_task, split, int(generator(rng).integers(2**63)))
    # Ctrl-C is for the parent.
    ignore = (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(
        min(workers, len(tasks)), multiprocessing.get_context("fork"), signal.signal, ignore
    )
    results = []
    try:
        for part in map(task, tasks) if workers == 1 else pool.map(task, tasks):
            results.append(part)
            if progress is not None:
                progress(len(part))
    finally:
        pool.shutdown(cancel_futures=True)
    return np.concatenate(results)


def _task(split: Split, seed: int, places: range) -> Floats:
    return np.stack([split(np.random.default_rng([seed, place])) for place in places])
