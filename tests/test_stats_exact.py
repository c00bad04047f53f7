from itertools import product

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from truecost.stats.exact import median_limits, more_wins_than_losses, share_lower, signs_lower


@pytest.mark.parametrize(("successes", "runs"), [(0, 9), (1, 9), (8, 9), (9, 9), (97, 100)])
def test_shares_are_those_of_clopper_and_pearson(successes: int, runs: int) -> None:
    """The limit of a share would not be the exact binomial one."""
    expected = beta.ppf(0.05, successes, runs - successes + 1) if successes else 0.0
    assert share_lower(successes, runs, 0.05) == pytest.approx(expected)
    exact = binomtest(successes, runs).proportion_ci(0.9, "exact").low
    assert share_lower(successes, runs, 0.05) == pytest.approx(exact)


@pytest.mark.parametrize("delta", [0.05, 0.2, 0.4])
def test_sign_test_never_errs_too_often(delta: float) -> None:
    """Over all samples of seven wins, ties and losses, as many wins as losses would be called more
    with a probability above δ.
    """
    rows = np.array(list(product([0.0, 0.5, 1.0], repeat=7)))
    shows = np.array([more_wins_than_losses(row, delta) for row in rows])
    for tie in (0.0, 0.3, 0.9):
        chances = np.array([(1 - tie) / 2, tie, (1 - tie) / 2])
        weights = chances[(2 * rows).astype(int)].prod(axis=1)
        assert weights[shows].sum() <= delta
    assert more_wins_than_losses(np.ones(5), 0.05)
    assert not more_wins_than_losses(np.full(9, 0.5), 0.5)


def test_limits_of_signs_hold() -> None:
    """Over all samples of five wins, ties and losses a limit would pass the true mean with more
    than δ, or contradict the sign test.
    """
    delta, rows = 0.3, np.array(list(product([0.0, 0.5, 1.0], repeat=5)))
    limits = np.array([signs_lower(row, delta, 0) for row in rows])
    for chances in (
        [0.5, 0, 0.5],
        [0.3, 0.4, 0.3],
        [0.1, 0.5, 0.4],
        [0.45, 0.2, 0.35],
        [0, 0.5, 0.5],
    ):
        mean = float(np.dot(chances, [0, 0.5, 1]))
        weights = np.array(chances)[(2 * rows).astype(int)].prod(axis=1)
        assert weights[limits > mean + 1e-12].sum() <= delta
    for row, limit in zip(rows, limits, strict=True):
        assert limit < 0.5 or more_wins_than_losses(row, delta)


def test_signs_decide_as_the_sign_test_does() -> None:
    """The cells below ½ would keep a sign test from being heard."""
    rng = np.random.default_rng(1)
    for n in (20, 50, 150):
        for _ in range(8):
            row = rng.choice([0.0, 0.5, 1.0], n, p=[0.3, 0.1, 0.6])
            assert (signs_lower(row, 0.05, 0) >= 0.5) == more_wins_than_losses(row, 0.05)


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_median_limits_hold_exactly(delta: float) -> None:
    """Over all samples from a few values a limit would pass the median with more than δ."""
    values, n = np.array([0.0, 1.0, 2.0]), 6
    rows = np.array(list(product(range(3), repeat=n)))
    limits = np.array([median_limits(values[row], delta) for row in rows])
    for chances in ([0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.49, 0.02, 0.49], [0.1, 0.8, 0.1]):
        median = values[(np.cumsum(chances) >= 0.5).argmax()]
        weights = np.array(chances)[rows].prod(axis=1)
        assert weights[limits[:, 0] > median].sum() <= delta + 1e-12
        assert weights[limits[:, 1] < median].sum() <= delta + 1e-12


def test_too_few_units_for_a_median() -> None:
    """Four units would limit a median at 5 %, where ½⁴ is 6 %."""
    assert median_limits(np.arange(4.0), 0.05) == (0.0, np.inf)
    assert median_limits(np.arange(1.0, 6.0), 0.05) == (1.0, 5.0)
