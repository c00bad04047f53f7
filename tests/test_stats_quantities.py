import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.errors import InputError
from truecost.stats import quantities as q
from truecost.stats.betting import Watch
from truecost.stats.quantities import Runs, Scale, limits

TIMES = Scale(low=0, high=100, cutoff=10.0, par=10.0)
NAN = math.nan


def runs(*rows: list[float], late: float = 10.0) -> Runs:
    """Running times with a cutoff of 10, charged as PAR10 where they are late."""
    costs = np.array(rows, dtype=float)
    failed = costs >= late
    return Runs(costs=np.where(failed, 100.0, costs), failed=failed)


def random_pair(seed: int, n: int = 30, r: int = 2) -> tuple[Runs, Runs]:
    """Two configurations of which the first is faster, with timeouts and missing runs."""
    rng = np.random.default_rng(seed)
    level = rng.lognormal(0, 1, (n, 1))
    sides = []
    for factor in (0.7, 1.0):
        times = factor * level * rng.lognormal(0, 0.3, (n, r))
        gone = rng.random((n, r)) < 0.2
        gone[:, 0] = False
        side = runs(*times.tolist())
        sides.append(Runs(costs=np.where(gone, NAN, side.costs), failed=side.failed & ~gone))
    return sides[0], sides[1]


# ---- numbers by hand -----------------------------------------------------------------------------


def test_means_at_a_penalty() -> None:
    """A failed run would not cost penalty × cutoff, or a missing one count."""
    ours = runs([1.0, 3.0], [10.0, 2.0], [4.0, NAN])
    for penalty, late in ((None, 100), (2.0, 20), (1.0, 10)):
        numbers = q.mean(ours, TIMES, penalty)
        np.testing.assert_allclose(numbers.values * late, [2.0, (late + 2) / 2, 4.0])
        assert (numbers.low, numbers.high) == (0, late)
        assert numbers.observed == pytest.approx((2 + (late + 2) / 2 + 4) / 3)


def test_differences_and_margins() -> None:
    """The difference would not be winner − default, or a margin not (1 + x)·default − winner."""
    ours, theirs = runs([1.0], [10.0]), runs([3.0], [4.0])
    numbers = q.difference(ours, theirs, TIMES)
    assert numbers.observed == pytest.approx((-2 + 96) / 2)
    assert (numbers.low, numbers.high, numbers.decide) == (-100, 100, 0)
    assert numbers.deciding_number == 0.5
    assert q.difference(ours, theirs, TIMES, 2.0).observed == pytest.approx((-2 + 16) / 2)
    margin = q.margin(ours, theirs, TIMES, 0.1)
    assert margin.observed == pytest.approx(((3.3 - 1) + (4.4 - 100)) / 2)
    assert margin.value(margin.deciding_number or 0.0) == pytest.approx(0, abs=1e-9)
    quality = Scale(low=0, high=7)
    costs = Runs(costs=np.array([[1.0], [5.0]]), failed=np.zeros((2, 1), bool))
    assert q.mean(costs, quality).observed == 3
    assert q.difference(costs, costs, quality).observed == pytest.approx(0)


def test_wins_compare_runs() -> None:
    """Ties would not count half, or a failed run not lose against every solved one and tie with
    every failed one.
    """
    ours = runs([1.0], [2.0], [3.0], [10.0], [10.0], [9.99])
    theirs = runs([2.0], [2.0], [1.0], [9.0], [10.0], [10.0])
    numbers = q.wins(ours, theirs, TIMES)
    assert numbers.values.tolist() == [1, 0.5, 0, 0, 0.5, 1]
    assert numbers.method == "signs"
    many = q.wins(runs([1.0, 10.0, NAN]), runs([0.5, 2.0, 10.0]), TIMES)
    assert many.values[0] == pytest.approx((0 + 1 + 1 + 0 + 0 + 0.5) / 6)
    assert many.method == "betting"


def test_failed_runs_lose_whatever_they_cost() -> None:
    """A crash with a small cost, or a quality without an answer, would win."""
    late = np.array([[True], [False], [True]])
    ours = Runs(costs=np.array([[0.1], [3.0], [0.2]]), failed=late)
    theirs = Runs(costs=np.array([[5.0], [4.0], [0.1]]), failed=late & [[False], [False], [True]])
    for scale in (TIMES, Scale(low=0, high=9)):
        assert q.wins(ours, theirs, scale).values.tolist() == [0, 1, 0.5]


def test_runs_with_one_seed_are_no_pair() -> None:
    """Runs with common seeds would be compared with each other, as if independent."""
    ours, theirs = runs([1.0, 5.0]), runs([2.0, 4.0])
    shared = np.array([[7, 8]])
    paired = [Runs(costs=side.costs, failed=side.failed, seeds=shared) for side in (ours, theirs)]
    assert q.wins(ours, theirs, TIMES).values[0] == 0.5
    assert q.wins(paired[0], paired[1], TIMES).values[0] == 0.5 * (1 + 0)
    single = [
        Runs(costs=side.costs[:, :1], failed=side.failed[:, :1], seeds=shared[:, :1])
        for side in paired
    ]
    assert q.wins(single[0], single[1], TIMES).values[0] == 1


def test_solved_shares() -> None:
    """A share would count missing runs, or single runs be taken for shares of several."""
    ours, theirs = runs([1.0, 10.0], [2.0, NAN]), runs([10.0, 10.0], [1.0, 3.0])
    numbers = q.solved(ours)
    assert numbers.values.tolist() == [0.5, 1.0]
    assert numbers.method == "betting"
    assert q.solved(runs([1.0], [10.0])).method == "binomial"
    difference = q.solved_difference(ours, theirs)
    assert difference.observed == pytest.approx((0.5 + 0) / 2)
    assert difference.method == "betting"
    assert q.solved_difference(runs([1.0]), runs([10.0])).method == "signs"
    assert q.discordant(ours, theirs) == 1
    assert q.discordant(ours, theirs, ["a", "a"]) == 1


def test_speed_ups_with_failures() -> None:
    """A failed winner would pass for fast, a failed default for as slow as its penalty, or a time
    below the clock for a thousandfold speed-up.
    """
    ours = runs([1.0], [10.0], [2.0], [10.0], [1e-6])
    theirs = runs([4.0], [3.0], [10.0], [10.0], [0.1])
    numbers = q.median_speed_up(ours, theirs, TIMES)
    np.testing.assert_allclose(numbers.values, [4, 0, 5, 1, 10])
    assert numbers.observed == 4
    shift = 2.0
    assert q.shift_of(TIMES) == shift
    assert q.shift_of(Scale(cutoff=1000.0)) == 10
    logs = q.geometric_speed_up(ours, theirs, TIMES)
    pairs = [(1, 4), (10, 3), (2, 10), (10, 10), (1e-6, 0.1)]
    expected = np.mean([math.log((d + shift) / (w + shift)) for w, d in pairs])
    assert logs.observed == pytest.approx(math.exp(expected))
    assert logs.deciding_number == pytest.approx(0.5)


def test_families_count_alike() -> None:
    """A large family would outweigh a small one, or its exact method be kept for means of several."""
    ours = runs([1.0], [3.0], [10.0], [5.0])
    labels = ["a", "a", "b", "a"]
    numbers = q.mean(ours, TIMES).by_family(labels)
    np.testing.assert_allclose(numbers.values * 100, [3.0, 100.0])
    won = q.wins(ours, runs([2.0], [2.0], [2.0], [2.0]), TIMES).by_family(labels)
    np.testing.assert_allclose(won.values, [1 / 3, 0])
    assert won.method == "betting"
    with pytest.raises(InputError, match="instances as units"):
        q.median_speed_up(ours, ours, TIMES).by_family(labels)


# ---- limits --------------------------------------------------------------------------------------

PAIRED: dict[str, Any] = {
    "difference": q.difference,
    "margin": lambda w, d, s: q.margin(w, d, s, 0.05),
    "wins": q.wins,
    "solved difference": lambda w, d, _: q.solved_difference(w, d),
    "median speed-up": q.median_speed_up,
    "geometric speed-up": q.geometric_speed_up,
}


# What swapping winner and default does to a value. A failed run of a pair makes a ratio of 0.
MIRRORS: dict[str, Callable[[float], float]] = {
    "difference": lambda x: -x,
    "solved difference": lambda x: -x,
    "wins": lambda x: 1 - x,
    "geometric speed-up": lambda x: 1 / x,
}


@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize("r", [1, 2])
def test_limits_lie_around_what_was_seen(name: str, r: int) -> None:
    """A limit would lie on the wrong side, a direction contradict the limits, or winner and default
    not be treated alike.
    """
    for seed in range(2):
        ours, theirs = random_pair(seed, r=r)
        numbers = PAIRED[name](ours, theirs, TIMES)
        one, swapped = limits(numbers), limits(PAIRED[name](theirs, ours, TIMES))
        assert one.lower <= one.observed <= one.upper
        assert one.observed == pytest.approx(numbers.observed)
        assert one.direction == (one.lower >= numbers.decide) - (one.upper <= numbers.decide)
        if mirror := MIRRORS.get(name):
            assert (mirror(swapped.upper), mirror(swapped.lower)) == pytest.approx(
                (one.lower, one.upper), abs=1e-9
            )


@settings(max_examples=20)
@given(st.floats(1e-3, 1e3))
def test_units_of_time_do_not_matter(scale: float) -> None:
    """Milliseconds instead of seconds would give other limits."""
    ours, theirs = random_pair(1, n=12)
    plain = limits(q.difference(ours, theirs, TIMES), 0.2)
    first, second = (Runs(costs=side.costs * scale, failed=side.failed) for side in (ours, theirs))
    unit = Scale(low=0, high=100 * scale, cutoff=10 * scale, par=10.0)
    scaled = limits(q.difference(first, second, unit), 0.2)
    assert scaled[:3] == pytest.approx([scale * value for value in plain[:3]], rel=1e-6)


def test_looking_after_every_unit() -> None:
    """Watched limits would be those of one look, or an exact method be used at every look."""
    ours, theirs = random_pair(2, n=40, r=1)
    for name in ("difference", "wins", "solved difference"):
        numbers = PAIRED[name](ours, theirs, TIMES)
        one, every = limits(numbers, 0.05), limits(numbers, 0.05, planned=20)
        assert one[:3] != every[:3]
        assert every.lower <= every.observed <= every.upper
    median = limits(q.median_speed_up(ours, theirs, TIMES), planned=20)
    assert (median.lower, median.upper) == (0, math.inf)


def test_one_look_that_is_meant() -> None:
    """Looks before, at and after a planned end would err with more than δ together, or what the look
    at it proved be taken back by more units.
    """
    delta, planned, chances = 0.4, 3, np.array([0.45, 0.1, 0.45])
    rows = np.array(list(product(range(3), repeat=5)))
    wrong = np.zeros(len(rows), bool)
    for place, row in enumerate(rows):
        values = row / 2
        wins = q.Numbers(quantity="wins", values=values, decide=0.5, method="signs")
        looks = [
            limits(replace(wins, values=values[:n]), delta, planned=planned, one_look=True)
            for n in range(1, 6)
        ]
        one = limits(replace(wins, values=values[:planned]), 0.9 * delta)
        assert looks[2] == one
        for late in looks[3:]:
            assert (late.lower >= one.lower, late.upper <= one.upper) == (True, True)
        wrong[place] = any(look.lower > 0.5 or look.direction == 1 for look in looks)
    error = chances[rows].prod(axis=1)[wrong].sum()
    assert 0 < error <= delta


@pytest.mark.parametrize(("share", "cost"), [(0.04, 65.0), (0.08, 50.0), (0.09, 40.0)])
def test_a_margin_is_missed_as_soon_as_it_is_proven(share: float, cost: float) -> None:
    """Rounding would hide that a margin is proven not to be kept, until one more unit is there."""
    n = 40
    solved = np.zeros((n, 1), bool)
    sides = [Runs(costs=np.full((n, 1), each), failed=solved) for each in (cost, 10.0)]
    numbers = q.margin(sides[0], sides[1], Scale(low=0, high=100), share)
    decide = numbers.deciding_number
    assert decide is not None
    watch = Watch(0.05, planned=n, balanced=True, decide=1 - decide)
    for t in range(1, n + 1):
        proven = watch.add(1 - float(numbers.values[0]))[0] >= 1 - decide
        part = replace(numbers, values=numbers.values[:t])
        assert limits(part, planned=n).direction == -proven
    assert proven


def test_a_hundred_wins_of_a_hundred() -> None:
    """A winner that is twice as fast everywhere would not be said to win at least 97 % of runs."""
    rng = np.random.default_rng(1)
    times = rng.uniform(0.1, 4, (100, 1))
    ours, theirs = runs(*times.tolist()), runs(*(2 * times).tolist())
    found = limits(q.wins(ours, theirs, TIMES))
    assert 0.965 < found.lower < 0.98
    assert found.direction == 1
    assert limits(q.median_speed_up(ours, theirs, TIMES)).lower == pytest.approx(2)
    assert limits(q.difference(ours, theirs, TIMES)).direction == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda w, _: q.mean(w, Scale()), "Give low and high"),
        (lambda w, d: q.difference(w, d, Scale(low=0)), "Give low and high"),
        (lambda w, d: q.margin(w, d, Scale(low=-1, high=1), 0.1), "Set low = 0"),
        (lambda w, d: q.margin(w, d, TIMES, -0.1), "Give a share"),
        (lambda w, d: q.median_speed_up(w, d, Scale(low=0, high=1)), "Give cutoff"),
        (lambda w, _: q.difference(w, runs([NAN], [1.0]), TIMES), "needs a run"),
        (lambda w, _: q.wins(w, runs([NAN], [1.0]), TIMES), "needs a run"),
    ],
)
def test_bad_input(call: Any, words: str) -> None:
    """A quantity would be made up where runs, ranges or cutoffs are missing."""
    with pytest.raises(InputError, match=words):
        call(runs([1.0], [2.0]), runs([2.0], [1.0]))
