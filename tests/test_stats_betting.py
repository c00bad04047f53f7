import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.stats import betting
from truecost.stats.betting import (
    OneLook,
    Watch,
    best_set,
    cell_ends,
    lower,
    orders_of,
    proving_samples,
    upper,
)

numbers = st.lists(st.floats(0, 1), min_size=1, max_size=25)


# ---- a twin in plain Python ----------------------------------------------------------------------


def star_capital(
    x: list[float], end: float, mean: float, goal: float, planned: int, balanced: bool
) -> list[float]:
    """The capital after each number of STaR-Bets made against `end`, playing against `mean`."""
    ahead, capital, squares, path = 1.0, 1.0, 0.0, [1.0]
    for t, number in enumerate(x):
        variance = 0.001 + end * (1 - end)
        if balanced:
            variance = min(variance, (squares + end * (1 - end)) / (t + 1))
        elif t:
            variance = min(variance, squares / t + end * planned / t**2)
        left = planned - t if t < planned else t + 1
        missing = math.log(max(goal / max(ahead, 1e-300), 1.0))
        bet = min(math.sqrt(2 * missing / (left * max(variance, 1e-12))), 1 / (end + 0.001))
        ahead *= 1 + bet * (number - end)
        capital *= 1 + bet * (number - mean)
        squares += (number - end) ** 2
        path.append(capital)
    return path


def plug_in_capital(x: list[float], end: float, target: float) -> list[float]:
    """The capital after each number of the sequence without an end, that starts with half."""
    capital, total, around, path = 1.0, 0.5, 0.25, [1.0]
    for t, number in enumerate(x):
        horizon = (t + 1) * math.log(t + 2)
        bet = math.sqrt(2 * math.log(2 * target) / (horizon * around / (t + 1)))
        capital *= 1 + min(bet, 0.75 / end) * (number - end)
        total += number
        around += (number - total / (t + 2)) ** 2
        path.append(capital)
    return path


def twin_rejects(x: list[float], end: float, mean: float, delta: float, balanced: bool) -> bool:
    """One look: the average over orders of the final capitals reaches 1/δ."""
    goal = (betting.STOP_BALANCED if balanced else betting.STOP) / delta
    finals = [
        star_capital([x[i] for i in order], end, mean, goal, len(x), balanced)[-1]
        for order in orders_of(len(x), 0).tolist()
    ]
    return float(np.mean(finals)) >= 1 / delta * (1 - 1e-9)


@settings(max_examples=25)
@given(numbers, st.sampled_from([0.05, 0.2, 0.5]), st.booleans())
def test_one_look_is_a_scan(x: list[float], delta: float, balanced: bool) -> None:
    """The limit would not be the end of the cells that the plain program rejects from below, or not
    lie in the first one that it does not.
    """
    limit = lower(x, delta, balanced=balanced, decide=0.5)
    below = 0.0
    for end in cell_ends(len(x), betting.CELLS, 0.5).tolist():
        if not twin_rejects(x, end, end, delta, balanced):
            break
        below = end
    assert below <= limit <= end
    if limit > below:
        assert twin_rejects(x, end, limit - 1e-9, delta, balanced)
        assert not twin_rejects(x, end, min(limit + (end - below) / 50, end), delta, balanced)


@settings(max_examples=25)
@given(numbers, st.sampled_from([0.05, 0.3]), st.integers(1, 12), st.booleans())
def test_watching_is_half_plan_half_sequence(
    x: list[float], delta: float, planned: int, balanced: bool
) -> None:
    """A watched limit would not be the running scan of half the capital in the plan and half in the
    sequence, also beyond the plan.
    """
    watch = Watch(delta, planned=planned, balanced=balanced, decide=0.5)
    limits = [watch.add(number)[0] for number in x]
    target, expected = (1 - 1e-9) / delta, [0.0] * len(x)
    all_rejected = [True] * len(x)
    for end in cell_ends(planned, betting.FINE_CELLS, 0.5).tolist():
        star = star_capital(x, end, end, 2 / delta, planned, balanced)
        both = zip(star, plug_in_capital(x, end, 1 / delta), strict=True)
        largest = np.maximum.accumulate([(a + b) / 2 for a, b in both])[1:]
        all_rejected = [
            there and high >= target for there, high in zip(all_rejected, largest, strict=True)
        ]
        expected = [
            end if there else last for there, last in zip(all_rejected, expected, strict=True)
        ]
        if not any(all_rejected):
            break
    assert limits == expected


def test_a_scan_stops_at_the_first_open_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell behind one that is not rejected would count: the capital need not fall in the mean."""
    look = OneLook(np.zeros(1), 0.05, False, 0)
    monkeypatch.setattr(betting, "GAMES", 2 * betting.ORDERS)  # two cells at a time
    monkeypatch.setattr(OneLook, "largest_in", lambda _, start, end: (start + end) / 2)
    for pattern in product([False, True], repeat=5):
        monkeypatch.setattr(
            OneLook,
            "rejects",
            lambda _, some, pattern=pattern: np.array(pattern)[some.astype(int) - 1],
        )
        place = [*pattern, False].index(False)
        assert look.limit(np.arange(1.0, 6.0)) == (place + 0.5 if place < 5 else 5)


# ---- what is promised ----------------------------------------------------------------------------


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("balanced", [False, True])
def test_exact_error_on_zeros_and_ones(watched: bool, balanced: bool) -> None:
    """Over all samples of six zeros and ones, a limit would pass the true mean with more than δ."""
    delta, n = 0.25, 6
    rows = list(product([0.0, 1.0], repeat=n))
    limits = np.array([
        Watch(delta, planned=n, balanced=balanced).replay(row)[0] if watched
        else lower(row, delta, balanced=balanced)
        for row in rows
    ])  # fmt: skip
    ones = np.array([sum(row) for row in rows])
    for mean in np.linspace(0.01, 0.99, 99):
        chances = mean**ones * (1 - mean) ** (n - ones)
        assert chances[limits > mean + 1e-12].sum() <= delta + 1e-12


@pytest.mark.parametrize("planned", [3, 6])
def test_exact_error_at_any_time(planned: int) -> None:
    """Somebody who looks after every unit and stops at will would find a wrong limit more often
    than δ.
    """
    delta, n = 0.3, 6
    rows = np.array(list(product(range(3), repeat=n)))
    highest = np.empty(len(rows))
    for place, row in enumerate(rows):
        watch = Watch(delta, planned=planned, balanced=True, decide=0.5)
        highest[place] = max(watch.add(value / 2)[0] for value in row.tolist())
    for chances in ([0.5, 0.0, 0.5], [0.2, 0.6, 0.2], [0.05, 0.1, 0.85], [0.8, 0.1, 0.1]):
        mean = float(np.dot(chances, [0.0, 0.5, 1.0]))
        weights = np.array(chances)[rows].prod(axis=1)
        assert weights[highest > mean + 1e-12].sum() <= delta


@pytest.mark.parametrize("name", ["rare", "sorted"])
def test_limits_hold_as_often_as_they_say(name: str) -> None:
    """In seeded samples a limit would be wrong significantly more often than δ."""
    rng, sets, n, delta = np.random.default_rng(5), 100, 30, 0.2
    draws: dict[str, tuple[FloatArray, float]] = {
        "rare": (np.where(rng.random((sets, n)) < 0.03, 1.0, 0.1), 0.127),
        # A table that is sorted by cost, with few values: one fixed order missed in 29 %.
        "sorted": (np.sort(rng.choice([0.2, 0.8], (sets, n)), axis=1), 0.5),
    }
    samples, mean = draws[name]
    above = sum(lower(row, delta) > mean + 1e-12 for row in samples)
    below = sum(upper(row, delta, balanced=True) < mean - 1e-12 for row in samples)
    assert binom.sf(max(above, below) - 1, sets, delta) > 1e-3


def test_no_room_left_above_zeros() -> None:
    """From n zeros nothing below 1 − δ^(1/n) can be said; the limit would be far above it."""
    for n in (10, 50, 200):
        floor = 1 - 0.05 ** (1 / n)
        assert floor <= upper(np.zeros(n)) <= 1.1 * floor


@given(numbers, st.sampled_from([0.05, 0.2]))
def test_sides_mirror_each_other(x: list[float], delta: float) -> None:
    """An upper limit would not be the lower one of what is left over."""
    mirrored = 1 - np.array(x)
    assert upper(x, delta) == 1 - lower(mirrored, delta)
    below, above = Watch(delta, planned=9).replay(x)
    assert Watch(delta, planned=9).replay(mirrored) == pytest.approx((1 - above, 1 - below))
    assert lower(x, delta) <= np.mean(x) + 1e-9


def test_orders_have_nothing_to_do_with_the_numbers() -> None:
    """The same seed would draw other orders the next time, or every seed the same ones."""
    np.testing.assert_array_equal(orders_of(30, 0), orders_of(30, 0))
    assert (orders_of(30, 0) != orders_of(30, 1)).any()
    assert orders_of(200, 0).shape == (betting.ORDERS, 200)
    assert 4 <= len(orders_of(1000, 0)) < betting.ORDERS
    assert (np.sort(orders_of(50, 3), axis=1) == np.arange(50)).all()
    # The order of a table would decide a clear case.
    x = np.random.default_rng(2).normal(0.6, 0.1, 40).clip(0, 1)
    for seed in range(4):
        x = np.random.default_rng(seed).permutation(x)
        assert lower(x, balanced=True, decide=0.5, rng=seed) >= 0.5


@pytest.mark.parametrize("decide", [0.5, 0.123, None])
def test_cells_cover_everything(decide: float | None) -> None:
    """Some mean would lie in no cell, or the one that decides not be the end of one."""
    ends = cell_ends(20, betting.CELLS, decide)
    assert (np.diff(ends) > 0).all()
    assert ends[-1] == 1
    assert decide is None or decide in ends


# ---- looking after every unit --------------------------------------------------------------------


def test_watch_goes_on_where_it_was() -> None:
    """A validation that is extended would forget its capital, or its limits fall back."""
    x = np.random.default_rng(1).normal(0.56, 0.1, 60).clip(0, 1)
    watch = Watch(0.05, planned=20, balanced=True, decide=0.5)
    before = (0.0, 1.0)
    for t, number in enumerate(x, 1):
        now = watch.add(float(number))
        assert now[0] >= before[0]
        assert now[1] <= before[1]
        before = now
        if t in (7, 20, 60):
            assert now == Watch(0.05, planned=20, balanced=True, decide=0.5).replay(x[:t])
    assert before[0] >= 0.5


def test_rows_prove_what_a_watch_proves() -> None:
    """Forecasts of many samples would use other bets than the limits do."""
    rows = np.random.default_rng(3).normal(0.53, 0.12, (40, 30)).clip(0, 1)
    watched = proving_samples(rows, 0.5, 0.2, planned=20, balanced=True)
    one = proving_samples(rows, 0.5, 0.2, balanced=True)
    assert 0 < watched.sum() < 40
    for row, shows, final in zip(rows, watched, one, strict=True):
        star = star_capital(row.tolist(), 0.5, 0.5, 10.0, 20, True)
        sequence = plug_in_capital(row.tolist(), 0.5, 5.0)
        assert shows == (max((a + b) / 2 for a, b in zip(star, sequence, strict=True)) >= 5)
        assert final == (star_capital(row.tolist(), 0.5, 0.5, 5.0, 30, True)[-1] >= 5 * (1 - 1e-9))
        watch = Watch(0.2, planned=20, balanced=True, decide=0.5)
        assert watch.replay(row)[0] < 0.5 or shows


# ---- the set of the best -------------------------------------------------------------------------


def test_best_set_is_the_average_over_rivals() -> None:
    """A configuration would be ruled out by something else than the average over all its rivals and
    orders; stopping early would change the answer.
    """
    rng = np.random.default_rng(4)
    m, n, delta = 6, 25, 0.2
    x = (rng.beta(2, 5, (m, n)) + np.linspace(0, 0.25, m)[:, np.newaxis]).clip(0, 1)
    orders = orders_of(n, 0).tolist()
    remain = []
    for i in range(m):
        average = 0.0
        for j in range(m):
            if j == i:
                continue
            for order in orders:
                gaps = [(x[i, k] - x[j, k]) / 2 + 0.5 for k in order]
                goal = betting.STOP_BALANCED * (m - 1) / delta
                average += star_capital(gaps, 0.5, 0.5, goal, len(gaps), True)[-1]
        remain.append(average / len(orders) / (m - 1) < 1 / delta)
    assert best_set(x, delta).tolist() == remain
    assert 0 < sum(remain) < m


def test_best_set_contains_the_best() -> None:
    """Over all samples of three units of 0/1 costs the truly best of three configurations would be
    left out with more than δ.
    """
    delta, means = 0.5, np.array([0.3, 0.35, 0.6])
    lost = 0.0
    for cells in product([0.0, 1.0], repeat=9):
        x = np.reshape(cells, (3, 3))
        chances = np.where(x > 0, means[:, np.newaxis], 1 - means[:, np.newaxis])
        lost += chances.prod() * (not best_set(x, delta)[0])
    assert 0 < lost <= delta


def test_best_set_of_few() -> None:
    """One configuration alone, or all without a unit, would not count as a possible best."""
    assert best_set([[0.3, 0.4]]).tolist() == [True]
    assert best_set(np.empty((3, 0))).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lower([0.5, 1.5]), "between 0 and 1"),
        (lambda: lower([[0.5]]), "one number per unit"),
        (lambda: upper([math.nan]), "between 0 and 1"),
        (lambda: lower([0.5], 0.0), "delta is 0"),
        (lambda: lower([0.5], rng=-1), "`rng` is -1"),
        (lambda: Watch(0.05, planned=0), "planned is 0"),
        (lambda: Watch(0.05, planned=1).add(-0.1), "must lie between 0 and 1"),
        (lambda: best_set([0.1, 0.2]), r"\(m, n\)"),
        (lambda: best_set([[2.0], [math.nan]]), "between 0 and 1"),
    ],
)
def test_bad_input(call: Any, words: str) -> None:
    """Numbers that cannot be bet on would be taken."""
    with pytest.raises(InputError, match=words):
        call()


def test_nothing_is_known_of_nothing() -> None:
    """Without a unit a limit would say something."""
    assert (lower([]), upper([])) == (0.0, 1.0)
