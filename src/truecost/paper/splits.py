"""Random splits of a matrix, and the runs of a configuration in the order an estimator makes them;
a process per core.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import IntArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.paper.exact import Estimator, complete_costs, split_sizes
from truecost.stats.random import Rng, generator

Floats = NDArray[np.float32]
Split = Callable[[np.random.Generator], Floats]
# Called with the number of splits just finished.
Progress = Callable[[int], None]
# Splits of one task: a second of work at most.
TASK = 50
# Up to this number of runs a cell draws one of all their orders (120).
MOST_LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Costs:
    """The costs above the lowest of all, in single precision: means are off by a millionth, which
    no number of splits could tell.

    Attributes
    ----------
    lowest
        To be added to costs again.
    runs
        (M, P, R).
    means
        Of the instances, (P, M).
    train, test
        K and T.
    """

    lowest: float
    runs: Floats
    means: Floats
    train: int
    test: int

    @classmethod
    def of(cls, matrix: CostMatrix, train: int | None, test: int | None) -> "Costs":
        """The costs of a matrix, and the sizes of its splits."""
        costs = complete_costs(matrix)
        lowest = float(costs.min())
        train, test = split_sizes(matrix.shape[1], train, test)
        runs = np.ascontiguousarray(costs - lowest, dtype=np.float32)
        means = np.ascontiguousarray((costs.mean(axis=2) - lowest).T, dtype=np.float32)
        return cls(lowest=lowest, runs=runs, means=means, train=train, test=test)

    def split(self, rng: np.random.Generator) -> tuple[IntArray, Floats]:
        """Training instances, and the true cost of every configuration: that on the others."""
        order = rng.permutation(len(self.means))
        tests = self.means.take(order[self.train : self.train + self.test], axis=0)
        return order[: self.train], tests.mean(axis=0)

    def ordered(
        self, rng: np.random.Generator, train: IntArray, estimator: Estimator, most: int
    ) -> Floats:
        """The first `most` runs of every configuration, (M, most), each configuration in an order
        of its own.
        """
        configurations, instances, runs = self.runs.shape
        rows = np.arange(configurations)[:, np.newaxis]
        if estimator == "scattered":
            cells = train[rng.integers(train.size, size=(configurations, most))]
            drawn = (rows * instances + cells) * runs + rng.integers(runs, size=cells.shape)
            return np.asarray(self.runs.reshape(-1).take(drawn))
        places = rng.permuted(np.broadcast_to(train, (configurations, train.size)), axis=1)
        if runs <= MOST_LISTED:
            picks = rng.integers(len(_orders(runs)), size=places.shape, dtype=np.uint8)
            # In place: of all steps this takes the longest.
            indices = _orders(runs).take(picks, axis=0)
            indices += ((rows * instances + places) * runs)[..., np.newaxis]
            dealt = self.runs.reshape(-1).take(indices)
        else:
            dealt = rng.permuted(self.runs[rows, places], axis=2)
        if estimator == "even":
            # One random order of instances for all rounds: every N gets an even allocation, each as
            # probable as any other.
            dealt = dealt.transpose(0, 2, 1)
        dealt = dealt.reshape(configurations, -1)
        return (rng.permuted(dealt, axis=1) if estimator == "pairs" else dealt)[:, :most]


def in_processes(
    split: Split, *, splits: int, rng: Rng, workers: int | None, progress: Progress | None
) -> Floats:
    """The results of all splits. Each has a generator of its own, so they do not depend on the
    number of workers.
    """
    if splits < 2 or (workers is not None and workers < 1):
        raise InputError(f"{splits} splits, {workers} workers: give at least 2 splits, 1 worker.")
    if workers is None:
        affinity = hasattr(os, "sched_getaffinity")
        workers = len(os.sched_getaffinity(0)) if affinity else os.cpu_count() or 1
    tasks = [range(start, min(start + TASK, splits)) for start in range(0, splits, TASK)]
    task = partial(_task, split, int(generator(rng).integers(2**63)))

    def collected(parts: Iterable[Floats]) -> Floats:
        results = []
        for part in parts:
            results.append(part)
            if progress is not None:
                progress(len(part))
        return np.concatenate(results)

    if workers == 1:
        return collected(map(task, tasks))
    # Elsewhere than on Linux, forking is not safe.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    # Ctrl-C is for the parent.
    ignore = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(min(workers, len(tasks)), context, signal.signal, ignore) as pool:
        try:
            return collected(pool.map(task, tasks))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def cumulative_means(ordered: Floats) -> Floats:
    """The mean of the first 1, 2 … runs of every row."""
    sums = np.cumsum(ordered, axis=1, dtype=np.float32)
    sums /= np.arange(1, sums.shape[1] + 1, dtype=np.float32)
    return sums


def _task(split: Split, seed: int, places: range) -> Floats:
    return np.stack([split(np.random.default_rng([seed, place])) for place in places])


@cache
def _orders(runs: int) -> IntArray:
    return np.array(list(permutations(range(runs))), dtype=np.int64)
