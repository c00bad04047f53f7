"""One random split: what each configuration seems to cost, from few and from many runs, and costs
on test instances.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.paper.exact import check_complete, check_counts, split_sizes
from truecost.stats.random import Rng, generator
from truecost.stats.variance import run_means


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneSplit:
    """Of every configuration the training cost from each N of `runs`, (N, M), and the cost on the
    test instances, (M,).
    """

    configurations: tuple[str, ...]
    runs: tuple[int, ...]
    training: FloatArray
    test: FloatArray


def one_split(
    matrix: CostMatrix,
    *,
    rng: Rng = None,
    runs: Sequence[int] | None = None,
    train: int | None = None,
    test: int | None = None,
) -> OneSplit:
    """Draw training and test instances, and for every configuration its own even training runs.

    Parameters
    ----------
    matrix
        Every configuration needs a run on every instance.
    rng
        Draws the split, and for every configuration its own instances and runs: a seed, a
        generator, or None.
    runs
        The N, each an allocation as even as can be (S*) of its own; ⌈K/4⌉ and all if not given.
    train, test
        K and T, half of the instances each if not given.
    """
    check_complete(matrix)
    instances, counts = matrix.shape[1], matrix.counts()
    k, t = split_sizes(instances, train, test)
    fewest = int(counts.min())
    chosen = (-(-k // 4), fewest * k) if runs is None else tuple(runs)
    for n in chosen:
        if n < 1:
            raise InputError(f"Expected at least 1 run, got {n}.")
        check_counts(-(-n // k), fewest)
    rng = generator(rng)
    # The first K instances of a random order train, the next T test.
    order = rng.permutation(instances)
    means, _ = run_means(matrix.costs)
    costs = matrix.costs[:, order[:k]]
    return OneSplit(
        configurations=matrix.configurations,
        runs=chosen,
        training=np.array([_even_means(costs, n, rng) for n in chosen]),
        test=means[:, order[k : k + t]].mean(axis=1),
    )


def _even_means(costs: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """The mean of n runs of every configuration, spread as evenly as can be over the instances,
    both in random order.
    """
    configurations, instances, _ = costs.shape
    # Runs that are there in random order, those that are not behind them; then an instance's first
    # runs are a random choice.
    keys = np.where(np.isnan(costs), 2.0, rng.random(costs.shape))
    shuffled = np.take_along_axis(costs, keys.argsort(axis=2), axis=2)
    # S*: every instance gets ⌊n/K⌋ runs, and a random choice of them one more.
    whole, rest = divmod(n, instances)
    sums = shuffled[:, :, :whole].sum(axis=(1, 2))
    if rest:
        chosen = rng.random((configurations, instances)).argsort(axis=1)[:, :rest]
        sums = sums + np.take_along_axis(shuffled[:, :, whole], chosen, axis=1).sum(axis=1)
    return np.asarray(sums / n)
