import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from truecost.errors import InputError
from truecost.stats.approximate import FEWEST, GUARD, hall_interval, probably, t_interval

samples = st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=40)


@given(samples, st.sampled_from([0.01, 0.05, 0.3]))
def test_t_interval_is_the_textbooks(x: list[float], delta: float) -> None:
    """The t interval would not be that of scipy.stats."""
    low, high = t_interval(x, delta)
    middle, error = np.mean(x), np.std(x, ddof=1) / math.sqrt(len(x))
    expected = scipy.stats.t.ppf([delta / 2, 1 - delta / 2], len(x) - 1) * error + middle
    assert (low, high) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(samples, st.sampled_from([0.05, 0.3]))
def test_hall_solves_its_transformation(x: list[float], delta: float) -> None:
    """The ends of Hall's interval would not be where the transformed t statistic meets its
    quantiles.
    """
    values = np.array(x)
    spread = values.std()
    if spread < 1e-3:
        return
    n, gamma = values.size, float((((values - values.mean()) / spread) ** 3).mean())
    quantile = scipy.stats.t.ppf(1 - delta / 2, n - 1)
    for end, target in zip(hall_interval(values, delta), (quantile, -quantile), strict=True):
        t = (values.mean() - end) / (values.std(ddof=1) / math.sqrt(n))
        a, b = gamma / (3 * math.sqrt(n)), gamma / (6 * math.sqrt(n))
        assert t + a * t**2 + a**2 * t**3 / 3 + b == pytest.approx(target, rel=1e-6, abs=1e-6)


def test_skewed_and_normal_differences() -> None:
    """Hall's interval would miss the mean of exponential costs as often as the t interval does, or
    the grade be wrong on well-behaved differences significantly more often than δ.
    """
    rng, sets = np.random.default_rng(1), 1500
    rows = rng.exponential(1, (sets, 25))
    missed = []
    for interval in (t_interval, hall_interval):
        ends = np.array([interval(row) for row in rows])
        missed.append(int(((ends[:, 0] > 1) | (ends[:, 1] < 1)).sum()))
    assert missed[1] < 0.85 * missed[0]
    directions = [probably(row, discordant=None).direction for row in rng.normal(0, 1, (sets, 25))]
    assert binom.sf(sum(map(abs, directions)) - 1, sets, 0.05) > 1e-3


def test_the_guard() -> None:
    """An interval would be given where the effect of failures cannot be known, or refused where it
    can.
    """
    x = np.random.default_rng(3).normal(-1, 1, 40)
    for discordant, expected in ((0, False), (GUARD - 1, False), (GUARD, True), (40 - GUARD, True),
                              (41 - GUARD, False), (40, False), (None, True)):  # fmt: skip
        answer = probably(x, discordant=discordant)
        assert (answer.reason == "") == expected
        assert math.isnan(answer.lower) != expected
        assert answer.direction == (-1 if expected else 0)
    assert "24 units" in probably(x[: FEWEST - 1], discordant=None).reason
    assert not probably(x[:FEWEST], discordant=None).reason
    assert probably([], discordant=None).direction == 0


def test_the_interval_covers_hall_where_nothing_fails() -> None:
    """The interval shown would exclude 0 where Hall's does not."""
    x = np.random.default_rng(5).lognormal(0, 1.5, 40) - 1.2
    free, guarded = probably(x, discordant=None), probably(x, discordant=10)
    hall = hall_interval(x)
    assert free.upper == max(hall[1], guarded.upper) > guarded.upper
    assert free.lower == min(hall[0], guarded.lower)


def test_equal_differences() -> None:
    """Differences that are all alike would divide by 0."""
    assert hall_interval([2.0] * 30) == pytest.approx((2, 2))
    assert probably([0.0] * 30, discordant=None).direction == 0


@pytest.mark.parametrize("x", [[1.0], [1.0, math.inf], [[1.0, 2.0]]])
def test_bad_input(x: list[float]) -> None:
    """One number, or one that is not finite, would have an interval."""
    for interval in (t_interval, hall_interval):
        with pytest.raises(InputError, match="two finite numbers"):
            interval(x)
