"""The order in which a gambler takes the instances: drawn from what the runs cost, so that nobody
has picked it.

Betting methods take one instance after the other, and an order that goes with the costs, by size
for example, breaks them. A shuffle with one seed for everybody does not mend that: sorted instances
then always come in the same pattern. Here the seed is a hash of the costs, and of nothing else: not
of the order in which they came. Hence

* where the order that came is as good as random, as that of independent draws is, the guarantee is
  exact: whatever the set of costs, all orders of it are equally likely before the shuffle and so
  after it;
* where the instances came sorted, the order is as random as the hash: another set of costs, another
  order.
"""

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import FloatArray, IntArray
from truecost.stats.random import Rng, generator

CodeArray = NDArray[np.uint64]
# 2^64 over the golden ratio, the increment of SplitMix64.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def by_content(rows: FloatArray) -> IntArray:
    """For each row of numbers in [0, 1] an order of its places, seeded by the numbers; those that
    are NaN come last.

    Numbers count to nine digits, so that the same costs in other units come in the same order.
    """
    mask = ~np.isnan(rows)
    codes = np.rint(np.where(mask, rows, 0) * 2.0**30).astype(np.uint64)
    seeds = np.where(mask, _mix(codes + GOLDEN), np.uint64(0)).sum(axis=1, dtype=np.uint64)
    # The k-th number that is there has the k-th key, so that places without a number change
    # nothing.
    keys = _mix(_mix(seeds)[:, np.newaxis] + mask.cumsum(axis=1).astype(np.uint64) * GOLDEN)
    return np.where(mask, keys, np.uint64(2**64 - 1)).argsort(axis=1, kind="stable")


def of_instances(rng: Rng, shuffle: bool, *runs: FloatArray) -> IntArray:
    """An order of the n instances, seeded by all their runs, arrays (n, R): as they came if not to
    be shuffled.
    """
    n = len(runs[0])
    if not shuffle:
        return np.arange(n)
    if rng is not None:
        return generator(rng).permutation(n)
    values = np.ascontiguousarray(np.concatenate(runs, axis=1))
    # One code for all NaN and one for both zeros.
    codes = np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)
    hashes = np.zeros(n, np.uint64)
    for column in codes.T:
        hashes = _mix(hashes * GOLDEN + column)
    # A sum, since the order in which instances came must not count.
    seed = _mix(hashes.sum(dtype=np.uint64, keepdims=True))
    return _mix(seed + np.arange(1, n + 1, dtype=np.uint64) * GOLDEN).argsort(kind="stable")


def _mix(codes: CodeArray) -> CodeArray:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the code changes half
    of the bits.
    """
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(codes ^ (codes >> np.uint64(31)))
