from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError
from truecost.stats.allocation import concentrated, even, even_sizes, scattered, sizes


@pytest.mark.parametrize(("runs", "instances"), [(n, k) for n in range(1, 10) for k in range(1, 6)])
def test_theorem_1(runs: int, instances: int) -> None:
    """Even counts would not be the only ones with the least sum of squares, or not have the least
    largest count.
    """
    every = [c for c in product(range(runs + 1), repeat=instances) if sum(c) == runs]
    least = min(sum(n * n for n in c) for c in every)
    best = {c for c in every if sum(n * n for n in c) == least}
    ours = even(runs, instances)
    assert tuple(ours.tolist()) in best
    assert sizes(ours).largest == min(max(c) for c in every)
    assert best == {c for c in every if max(c) - min(c) <= 1}


@given(st.integers(1, 500), st.integers(1, 60), st.integers(0, 2**32))
def test_even_sizes_agree_with_counts(runs: int, instances: int, seed: int) -> None:
    """The closed form for the sizes of S* would disagree with the counts, or drawing which
    instances get the odd runs would change how many there are.
    """
    drawn, many = even(runs, instances, seed), even_sizes([runs, runs + 1], instances)
    assert drawn.size == instances
    assert [part[0] for part in many] == list(sizes(drawn)) == list(sizes(even(runs, instances)))
    assert many.runs.tolist() == [runs, runs + 1]


def test_odd_runs_fall_everywhere() -> None:
    """The odd runs of S* would not be spread over instances with equal probability."""
    rng = np.random.default_rng(1)
    total = sum(even(7, 5, rng) for _ in range(5000))
    assert np.abs(total - 7000).max() < 5 * np.sqrt(5000 * 0.4 * 0.6)


@pytest.mark.parametrize(
    ("runs", "per_instance", "counts"),
    [(7, 3, [3, 3, 1]), (6, 3, [3, 3]), (2, 5, [2]), (3, 1, [1, 1, 1])],
)
def test_concentrated(runs: int, per_instance: int, counts: list[int]) -> None:
    """S† would not fill one instance after the other."""
    assert concentrated(runs, per_instance).tolist() == counts


def test_scattered_is_multinomial() -> None:
    """S° would not draw instances with replacement: the mean of its sum of squares is N + N(N−1)/K."""
    rng = np.random.default_rng(2)
    counts = np.array([scattered(12, 5, rng) for _ in range(20_000)])
    assert (counts.sum(axis=1) == 12).all()
    squares = sizes(counts).sum_of_squares
    assert abs(squares.mean() - (12 + 12 * 11 / 5)) < 4 * squares.std() / np.sqrt(len(squares))


def test_sizes_of_rows() -> None:
    """The sizes of hand-made counts would be mixed up between rows, or overflow."""
    many = sizes(np.array([[1, 0, 4], [100, 100, 100]], dtype=np.int8))
    assert [part.tolist() for part in many] == [[5, 300], [4, 100], [17, 30_000]]
    assert even_sizes(10**14, 10).sum_of_squares == pytest.approx(1e27)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: even(0, 3), "runs is 0"),
        (lambda: even(3, 0), "instances is 0"),
        (lambda: concentrated(3, 0), "per_instance is 0"),
        (lambda: scattered(-1, 3), "runs is -1"),
        (lambda: even_sizes([3, 0], 2), "runs is 0"),
        (lambda: even_sizes(2.9, 1), "whole numbers"),
        (lambda: sizes([]), "whole numbers, one per instance"),
        (lambda: sizes([0.5, 1]), "whole numbers, one per instance"),
        (lambda: sizes(3), "whole numbers, one per instance"),
        (lambda: sizes([1, -2]), "0 or more"),
        (lambda: sizes([[1, 2], [0, 0]]), "at least one run"),
    ],
)
def test_bad_input(call: Callable[[], object], words: str) -> None:
    """Counts that make no sense would be taken, or refused without saying what is wrong."""
    with pytest.raises(InputError, match=words):
        call()
