"""How the N runs of a configuration are spread over K instances: S*, S† and S°.

Examples
--------
>>> import truecost as tc
>>> tc.allocation.even(4, 2, rng=1).counts.tolist()
[2, 2]
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import IntArray
from truecost.errors import InputError
from truecost.stats.random import Rng, generator

# The square of more runs does not fit into 64 bits.
MOST_RUNS = 3_000_000_000
SIZES = ("runs", "largest", "sum_of_squares")


class Sizes(Protocol):
    """The three numbers through which an allocation enters Lemmas 2 and 4 and Theorems 2 and 3."""

    @property
    def runs(self) -> int | IntArray:
        """N."""

    @property
    def largest(self) -> int | IntArray:
        """n = max n_i."""

    @property
    def sum_of_squares(self) -> int | IntArray:
        """Σ n_i²."""


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """An experimental setting S_N (Definition 2): how many runs n_1 … n_K each instance gets.

    Examples
    --------
    >>> import truecost as tc
    >>> tc.allocation.Allocation.of([2, 2, 1]).largest
    2
    """

    counts: IntArray

    def __post_init__(self) -> None:
        counts = self.counts
        if not (isinstance(counts, np.ndarray) and counts.dtype == np.int64 and counts.ndim == 1):
            raise InputError(
                "Counts must be a flat int64 array; Allocation.of(...) takes any list of whole "
                "numbers."
            )
        if counts.size == 0:
            raise InputError("There are no counts. Give one for at least one instance.")
        if counts.min() < 0:
            raise InputError(
                f"Instance {counts.argmin()} has {counts.min()} runs. Counts are 0 or more."
            )
        if counts.max() == 0:
            raise InputError("All counts are 0. Give at least one run.")
        # In Python's whole numbers, which do not overflow.
        _check_runs(sum(counts.tolist()))

    @classmethod
    def of(cls, counts: ArrayLike) -> "Allocation":
        """A hand-made allocation from any list of whole numbers."""
        given = np.asarray(counts)
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
            raise InputError(
                f"Counts are a flat list of whole numbers, not {given.dtype} of shape "
                f"{given.shape}."
            )
        return cls(given.astype(np.int64))

    @property
    def instances(self) -> int:
        """K, the instances there are, those without a run included."""
        return self.counts.size

    @property
    def runs(self) -> int:
        """N, the runs in all."""
        return int(self.counts.sum())

    @property
    def largest(self) -> int:
        """n = max n_i."""
        return int(self.counts.max())

    @property
    def sum_of_squares(self) -> int:
        """Σ n_i², what Theorem 1 minimises."""
        return int(np.dot(self.counts, self.counts))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllocationSizes:
    """N, max n_i and Σ n_i² of many allocations at once, as arrays of one shape."""

    runs: IntArray
    largest: IntArray
    sum_of_squares: IntArray

    def __post_init__(self) -> None:
        if not self.runs.shape == self.largest.shape == self.sum_of_squares.shape:
            raise InputError("runs, largest and sum_of_squares must have one shape.")

    @classmethod
    def of(cls, counts: NDArray[Any]) -> "AllocationSizes":
        """The sizes of allocations given as rows of counts, (…, K)."""
        if not np.issubdtype(counts.dtype, np.integer):
            raise InputError(f"Counts are whole numbers, not {counts.dtype}.")
        counts = counts.astype(np.int64, copy=False)
        if counts.min(initial=0) < 0 or not counts.any(axis=-1).all():
            raise InputError("Every row needs counts of 0 or more, and at least one run.")
        squares = np.einsum("...k,...k->...", counts, counts)
        return cls(runs=counts.sum(axis=-1), largest=counts.max(axis=-1), sum_of_squares=squares)


def even(runs: int, instances: int, rng: Rng = None) -> Allocation:
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
    >>> sorted(tc.allocation.even(7, 3, rng=1).counts.tolist())
    [2, 2, 3]
    """
    _check_runs(runs)
    _check_instances(instances)
    share, odd = divmod(runs, instances)
    counts = np.full(instances, share, dtype=np.int64)
    counts[:odd] += 1
    if rng is not None:
        generator(rng).shuffle(counts)
    return Allocation(counts)


def concentrated(runs: int, per_instance: int) -> Allocation:
    """S†: `per_instance` runs on one instance after another, what is left on one more.

    Examples
    --------
    >>> import truecost as tc
    >>> tc.allocation.concentrated(7, 3).counts.tolist()
    [3, 3, 1]
    """
    _check_runs(runs)
    if per_instance < 1:
        raise InputError(f"per_instance is {per_instance}. Give at least 1.")
    full, odd = divmod(runs, per_instance)
    counts = np.full(full + (odd > 0), per_instance, dtype=np.int64)
    if odd:
        counts[-1] = odd
    return Allocation(counts)


def scattered(runs: int, instances: int, rng: Rng = None) -> Allocation:
    """S°: every run on an instance drawn with replacement.

    Examples
    --------
    >>> import truecost as tc
    >>> tc.allocation.scattered(7, 3, rng=1).runs
    7
    """
    _check_runs(runs)
    _check_instances(instances)
    counts = np.bincount(generator(rng).integers(instances, size=runs), minlength=instances)
    return Allocation(counts.astype(np.int64))


def even_sizes(runs: ArrayLike, instances: ArrayLike) -> AllocationSizes:
    """The sizes of `even(runs, instances)` for whole arrays of N and K, broadcast against each
    other.
    """
    try:
        for given in (np.asarray(runs), np.asarray(instances)):
            if given.dtype.kind not in "iu":
                raise InputError(f"Runs and instances are whole numbers, not {given}.")
        many_runs, many_instances = np.broadcast_arrays(
            np.asarray(runs, np.int64), np.asarray(instances, np.int64)
        )
    except OverflowError:
        raise InputError(
            f"Too many runs or instances. At most {MOST_RUNS:,} are possible."
        ) from None
    _check_runs(int(many_runs.min(initial=1)))
    _check_runs(int(many_runs.max(initial=1)))
    _check_instances(int(many_instances.min(initial=1)))
    share, odd = np.divmod(many_runs, many_instances)
    return AllocationSizes(
        runs=many_runs.copy(),
        largest=share + (odd > 0),
        sum_of_squares=share * share * many_instances + odd * (2 * share + 1),
    )


def _check_runs(runs: int) -> None:
    if runs < 1:
        raise InputError(f"{runs} runs. Give at least 1.")
    if runs > MOST_RUNS:
        raise InputError(f"{runs:,} runs. At most {MOST_RUNS:,} are possible.")


def _check_instances(instances: int) -> None:
    if instances < 1:
        raise InputError(f"{instances} instances. Give at least 1.")
