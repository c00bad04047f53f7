"""How the N runs of a configuration are spread over K instances: S*, S† and S°.

An allocation, the paper's experimental setting S_N (Definition 2), is an array of counts: n_1 … n_K
runs on the instances. Counts must not depend on costs.

Examples
--------
>>> import truecost as tc
>>> tc.allocation.even(4, 2, rng=1).tolist()
[2, 2]
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import IntArray
from truecost.errors import InputError, check_count
from truecost.stats.random import Rng, generator


class Sizes(NamedTuple):
    """N, n = max n_i and Σ n_i²: the three numbers through which an allocation enters Lemmas 2 and
    4 and Theorems 2 and 3. Arrays of one shape for many allocations at once.
    """

    runs: NDArray[Any]
    largest: NDArray[Any]
    sum_of_squares: NDArray[Any]


def sizes(counts: "ArrayLike | Sizes") -> Sizes:
    """The sizes of an allocation, or of many as rows of counts, (…, K).

    Examples
    --------
    >>> import truecost as tc
    >>> int(tc.allocation.sizes([2, 2, 1]).largest)
    2
    """
    if isinstance(counts, Sizes):
        return counts
    n = np.asarray(counts)
    if n.ndim == 0 or n.dtype.kind not in "iu":
        raise InputError(f"Counts are whole numbers, one per instance, not {counts!r:.60}.")
    n = n.astype(np.int64)
    if n.min(initial=0) < 0 or not n.any(axis=-1).all():
        raise InputError("An allocation needs counts of 0 or more, and at least one run.")
    return Sizes(n.sum(axis=-1), n.max(axis=-1), (n.astype(float) ** 2).sum(axis=-1))


def even(runs: int, instances: int, rng: Rng = None) -> IntArray:
    """S*: counts that differ by at most one (Theorem 1: both Σ n_i² and max n_i are as small as
    they can be).

    Parameters
    ----------
    runs, instances
        N and K.
    rng
        Draws which instances get the odd runs; without it the first ones do.

    Examples
    --------
    >>> import truecost as tc
    >>> sorted(tc.allocation.even(7, 3, rng=1).tolist())
    [2, 2, 3]
    """
    share, odd = divmod(check_count("runs", runs), check_count("instances", instances))
    counts = np.full(instances, share)
    counts[:odd] += 1
    if rng is not None:
        generator(rng).shuffle(counts)
    return counts


def concentrated(runs: int, per_instance: int) -> IntArray:
    """S†: `per_instance` runs on one instance after another, what is left on one more.

    Examples
    --------
    >>> import truecost as tc
    >>> tc.allocation.concentrated(7, 3).tolist()
    [3, 3, 1]
    """
    full, odd = divmod(check_count("runs", runs), check_count("per_instance", per_instance))
    return np.array([per_instance] * full + [odd] * (odd > 0))


def scattered(runs: int, instances: int, rng: Rng = None) -> IntArray:
    """S°: every run on an instance drawn with replacement.

    Examples
    --------
    >>> import truecost as tc
    >>> int(tc.allocation.scattered(7, 3, rng=1).sum())
    7
    """
    runs, instances = check_count("runs", runs), check_count("instances", instances)
    return np.bincount(generator(rng).integers(instances, size=runs), minlength=instances)


def even_sizes(runs: ArrayLike, instances: ArrayLike) -> Sizes:
    """The sizes of S* for whole arrays of N and K, broadcast against each other."""
    n, k = np.broadcast_arrays(np.asarray(runs), np.asarray(instances))
    if n.dtype.kind not in "iu" or k.dtype.kind not in "iu":
        raise InputError("Runs and instances are whole numbers.")
    check_count("runs", int(n.min(initial=1)))
    check_count("instances", int(k.min(initial=1)))
    share, odd = np.divmod(n, k)
    squares = share.astype(float) ** 2 * k + odd * (2.0 * share + 1)
    return Sizes(n.copy(), share + (odd > 0), squares)
