"""Random splits of a matrix, and what a configuration's runs cost in the order an estimator makes
them; a process per core.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.paper.exact import cell_means, check_complete, split_sizes
from truecost.stats.random import Rng, generator

Floats = NDArray[np.float32]
# Called with the number of splits just finished.
Progress = Callable[[int], None]
# Up to this number of runs a cell draws one of all their orders (120).
MOST_LISTED = 5
# Splits of one task: some tenths of a second of work at the paper's size.
TASK = 25
# Two sums of the same costs in another order differ by less than this share in single precision.
TIE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stored:
    """The matrix as splits need it, in single precision: sums of runs err by a millionth, which no
    number of splits could tell.

    Attributes
    ----------
    costs
        (M, P, R), the runs of each cell first, missing ones after.
    counts
        (M, P).
    by_instance
        Means of cells, (P, M).
    train, test
        K and T.
    orders
        All orders of the runs of a cell; empty where there are too many, or runs are missing.
    """

    costs: Floats
    counts: IntArray
    by_instance: Floats
    train: int
    test: int
    orders: IntArray

    @classmethod
    def of(cls, matrix: CostMatrix, train: int | None, test: int | None) -> "Stored":
        """The matrix with these sizes of a split."""
        train, test = split_sizes(matrix.shape[1], train, test)
        check_complete(matrix)
        costs, counts, runs = matrix.exact_costs(), matrix.counts(), matrix.shape[2]
        means = cell_means(costs, counts)
        complete = counts.min() == runs
        if not complete:
            # Runs of a cell are drawn in random order, so their stored order may change.
            order = np.argsort(np.isnan(costs), axis=2, kind="stable")
            costs = np.nan_to_num(np.take_along_axis(costs, order, axis=2), nan=0.0)
        listed = permutations(range(runs)) if complete and runs <= MOST_LISTED else ()
        return cls(
            costs=np.ascontiguousarray(costs, dtype=np.float32),
            counts=counts,
            by_instance=np.ascontiguousarray(means.T, dtype=np.float32),
            train=train,
            test=test,
            orders=np.array(list(listed), dtype=np.int64).reshape(-1, runs),
        )

    @property
    def fewest(self) -> int:
        """The runs that every configuration has on every instance."""
        return int(self.counts.min())

    def split(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Training and test instances."""
        order = rng.permutation(self.costs.shape[1])
        return order[: self.train], order[self.train : self.train + self.test]

    def truth(self, test: IntArray) -> Floats:
        """The true cost of every configuration."""
        return self.by_instance.take(test, axis=0).mean(axis=0)

    def deal(self, rng: np.random.Generator, train: IntArray) -> Floats:
        """The training runs of every configuration, (M, K, runs): instances and the runs of each
        in random order, drawn for every configuration on its own.
        """
        configurations, _, runs = self.costs.shape
        rows = np.arange(configurations)[:, np.newaxis]
        places = rng.permuted(np.broadcast_to(train, (configurations, train.size)), axis=1)
        if self.orders.size == 0:
            costs = self.costs[rows, places]
            keys = rng.random(costs.shape, dtype=np.float32)
            keys[np.arange(runs) >= self.counts[rows, places][..., np.newaxis]] = 2
            order = np.argsort(keys, axis=2)[..., : self.fewest]
            return np.take_along_axis(costs, order, axis=2)
        picks = rng.integers(len(self.orders), size=places.shape, dtype=np.uint8)
        first = (rows * self.costs.shape[1] + places) * runs
        indices = self.orders.take(picks, axis=0)
        indices += first[..., np.newaxis]
        return self.costs.reshape(-1).take(indices)

    def in_order(self, rng: np.random.Generator, train: IntArray, estimator: str, most: int) -> Floats:
        """The first `most` runs of every configuration in the order of an estimator, (M, most)."""
        configurations = self.costs.shape[0]
        if estimator == "scattered":
            rows = np.arange(configurations)[:, np.newaxis]
            places = train[rng.integers(train.size, size=(configurations, most))]
            runs = rng.random(places.shape) * self.counts[rows, places]
            return self.costs[rows, places, runs.astype(np.int64)]
        dealt = self.deal(rng, train)
        if estimator == "even":
            # A random order of instances, the same in every round: the first N runs are an even
            # choice, each as probable as any other.
            dealt = dealt.transpose(0, 2, 1)
        flat = dealt.reshape(configurations, -1)
        if estimator == "pairs":
            flat = rng.permuted(flat, axis=1)
        return flat[:, :most]


def in_processes(
    function: Callable[[np.random.Generator], NDArray[np.float32]],
    *,
    splits: int,
    rng: Rng,
    workers: int | None,
    progress: Progress | None,
) -> NDArray[np.float32]:
    """The results of all splits, stacked. Each split has a generator of its own, so they do not
    depend on the number of workers.
    """
    if splits < 2:
        raise InputError(f"{splits} splits have no spread. Give at least 2.")
    if workers is not None and workers < 1:
        raise InputError(f"{workers} workers cannot work. Give at least 1.")
    workers = workers or _cores()
    seed = int(generator(rng).integers(2**63))
    tasks = [range(start, min(start + TASK, splits)) for start in range(0, splits, TASK)]
    task = partial(_task, function, seed)
    if workers == 1:
        return np.concatenate(list(_told(map(task, tasks), tasks, progress)))
    # Forked processes share the matrix; elsewhere than on Linux forking is not safe.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(workers, context, _start, (task,)) as pool:
        try:
            return np.concatenate(list(_told(pool.map(_started_task, tasks), tasks, progress)))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def cumulative_means(ordered: Floats) -> Floats:
    """The mean of the first 1, 2 … runs of every row."""
    sums = np.cumsum(ordered, axis=1, dtype=np.float32)
    sums /= np.arange(1, sums.shape[1] + 1, dtype=np.float32)
    return sums


def _task(
    function: Callable[[np.random.Generator], NDArray[np.float32]], seed: int, places: range
) -> NDArray[np.float32]:
    return np.stack([function(np.random.default_rng([seed, place])) for place in places])


# The task of this process: handed over once, since the matrix is in it.
_tasks: list[Callable[[range], NDArray[np.float32]]] = []


def _start(task: Callable[[range], NDArray[np.float32]]) -> None:
    # Ctrl-C is for the parent, which ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _tasks[:] = [task]


def _started_task(places: range) -> NDArray[np.float32]:
    return _tasks[0](places)


def _told(
    results: Iterator[NDArray[np.float32]], tasks: list[range], progress: Progress | None
) -> Iterator[NDArray[np.float32]]:
    for result, places in zip(results, tasks, strict=True):
        if progress is not None:
            progress(len(places))
        yield result


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
