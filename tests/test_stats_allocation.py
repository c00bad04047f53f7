from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError
from truecost.stats.allocation import (
    Allocation,
    AllocationSizes,
    concentrated,
    even,
    even_sizes,
    scattered,
)


@pytest.mark.parametrize(("runs", "instances"), [(n, k) for n in range(1, 10) for k in range(1, 6)])
def test_theorem_1(runs: int, instances: int) -> None:
    """Even counts would not be the only ones with the least sum of squares, or not have the least
    largest count.
    """
    every = [c for c in product(range(runs + 1), repeat=instances) if sum(c) == runs]
    squares = {c: sum(n * n for n in c) for c in every}
    least = min(squares.values())
    best = {c for c in every if squares[c] == least}
    ours = even(runs, instances)
    assert tuple(ours.counts.tolist()) in best
    assert ours.sum_of_squares == least
    assert ours.largest == min(max(c) for c in every)
    assert best == {c for c in every if max(c) - min(c) <= 1}


@given(st.integers(1, 500), st.integers(1, 60))
def test_even_sizes_agree_with_counts(runs: int, instances: int) -> None:
    """The closed form for the sizes of S* would disagree with the counts themselves."""
    one, many = even(runs, instances), even_sizes([runs, runs + 1], instances)
    assert (one.runs, one.largest, one.sum_of_squares) == (
        many.runs[0],
        many.largest[0],
        many.sum_of_squares[0],
    )
    assert one.runs == runs
    assert one.instances == instances


@given(st.integers(1, 200), st.integers(1, 20), st.integers(0, 2**32))
def test_even_with_generator_is_a_permutation(runs: int, instances: int, seed: int) -> None:
    """Drawing which instances get the odd runs would change how many runs there are."""
    drawn = even(runs, instances, np.random.default_rng(seed))
    assert sorted(drawn.counts) == sorted(even(runs, instances).counts)


def test_odd_runs_fall_everywhere() -> None:
    """The odd runs of S* would not be spread over instances with equal probability."""
    rng = np.random.default_rng(1)
    total = sum(even(7, 5, rng).counts for _ in range(5000))
    assert np.abs(total - 7000).max() < 5 * np.sqrt(5000 * 0.4 * 0.6)


@given(st.integers(1, 200), st.integers(1, 20))
def test_concentrated(runs: int, per_instance: int) -> None:
    """S† would not fill one instance after the other."""
    counts = concentrated(runs, per_instance).counts.tolist()
    assert sum(counts) == runs
    assert all(a == per_instance for a, _ in pairwise(counts))
    assert 1 <= counts[-1] <= per_instance


def test_scattered_is_multinomial() -> None:
    """S° would not draw instances with replacement: the mean of its sum of squares is N + N(N−1)/K."""
    rng = np.random.default_rng(2)
    runs, instances, draws = 12, 5, 20_000
    squares = np.array([scattered(runs, instances, rng).sum_of_squares for _ in range(draws)])
    expected = runs + runs * (runs - 1) / instances
    assert abs(squares.mean() - expected) < 4 * squares.std() / np.sqrt(draws)


def test_sizes_of_rows() -> None:
    """The sizes of hand-made counts would be mixed up between rows."""
    counts = np.array([[1, 0, 4], [100, 100, 100]], dtype=np.int8)
    sizes = AllocationSizes.of(counts)
    for row, each in enumerate(counts):
        one = Allocation.of(each)
        ours = [part[row] for part in (sizes.runs, sizes.largest, sizes.sum_of_squares)]
        assert ours == [one.runs, one.largest, one.sum_of_squares]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: even(0, 3), "0 runs. Give at least 1"),
        (lambda: even(3, 0), "0 instances. Give at least 1"),
        (lambda: concentrated(3, 0), "per_instance is 0"),
        (lambda: scattered(-1, 3, np.random.default_rng(0)), "-1 runs"),
        (lambda: Allocation.of([]), "flat list of whole numbers"),
        (lambda: Allocation.of([1, -2]), "Instance 1 has -2 runs"),
        (lambda: Allocation.of([0, 0]), "All counts are 0"),
        (lambda: Allocation.of([0.5, 1]), "flat list of whole numbers, not float64"),
        (lambda: Allocation.of([[1, 2]]), "flat list"),
        (lambda: even_sizes([3, 0], 2), "0 runs. Give at least 1"),
        (lambda: even_sizes(2.9, 1), "whole numbers, not 2.9"),
        (lambda: even_sizes(10**14, 10**9), "At most 3,000,000,000"),
        (lambda: AllocationSizes.of(np.ones((1, 3))), "whole numbers, not float64"),
        (lambda: AllocationSizes.of(np.array([[1, 2], [0, 0]])), "Every row needs"),
    ],
)
def test_bad_input(call: object, words: str) -> None:
    """Counts that make no sense would be taken, or refused without saying what is wrong."""
    with pytest.raises(InputError, match=words):
        call()  # type: ignore[operator]
