"""What users of the statements beyond the mean meet: values by hand, censored runs, utilities,
forecasts, and doors.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import naive
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, ttest_rel

from truecost.errors import InputError
from truecost.stats import (
    approximate,
    assumptions,
    confidence,
    forecast,
    inversion,
    limits,
    quantiles,
    quantities,
    rates,
    ratios,
)
from truecost.stats.sample import Ends, Sample, Side
from truecost.stats.utility import Utility

FloatArray = NDArray[np.float64]
NAN, INF = np.nan, np.inf


def runtimes(seed: int, instances: int, runs: int, factor: float = 1.0) -> FloatArray:
    """Times of which instances and seeds decide about as much."""
    rng = np.random.default_rng(seed)
    hard = np.random.default_rng(99).lognormal(size=(instances, 1))
    return np.asarray(factor * hard * rng.lognormal(size=(instances, runs)))


def test_solved_share_by_hand() -> None:
    """Single runs would not get Clopper and Pearson's limit, or several runs of an instance count
    as independent.
    """
    single = np.array([1.0] * 18 + [0.0] * 2)
    found = rates.solved(single, 0.05)
    assert (found.method, found.observed, found.instances, found.runs) == (
        "clopper-pearson",
        0.9,
        20,
        20,
    )
    assert found.value == pytest.approx(beta.ppf(0.05, 18, 3))
    assert rates.solved(single, 0.05, side="upper").value == pytest.approx(beta.ppf(0.95, 19, 2))
    assert rates.solved(single, 0.1, configurations=2).value == found.value
    several = rates.solved(np.repeat(single[:, np.newaxis], 5, axis=1), 0.05)
    assert (several.method, several.runs) == ("star-bets", 100)
    assert several.value == pytest.approx(found.value, abs=0.05)
    # One instance with two runs, and the method is another for all, whatever the runs say.
    uneven = np.full((20, 2), NAN)
    uneven[:, 0], uneven[3, 1] = single, 1.0
    assert rates.solved(uneven).method == "star-bets"


def test_within_a_limit() -> None:
    """A run that was stopped before the limit would count as unsolved for an upper limit, or as
    solved for a lower one.
    """
    times = Ends.of([[0.5, 3.0], [2.0, NAN]], capped=[[False, False], [True, False]])
    found = rates.within(times, 2.5)
    np.testing.assert_array_equal(found.lower, [[1, 0], [0, NAN]])
    np.testing.assert_array_equal(found.upper, [[1, 0], [1, NAN]])


def test_wins_by_hand() -> None:
    """Pairs, ties, missing runs or censored runs would be counted wrongly."""
    first = np.array([[1.0, 3.0], [2.0, NAN], [5.0, 5.0], [1.0, 1.0]])
    second = np.array([[2.0, 3.0, 4.0], [2.0, 2.0, 1.0], [9.0, NAN, NAN], [NAN, NAN, NAN]])
    shares = rates.win_shares(first, second)
    np.testing.assert_allclose(shares.lower[:, 0], [(3 + 1.5) / 6, 1 / 3, 1])
    assert rates.wins(first, second).observed == pytest.approx((0.75 + 1 / 3 + 1) / 3)
    assert (rates.wins(first, second).instances, rates.wins(first, second).runs) == (3, 5 + 7)
    capped = Ends.of(first, capped=first == 5)
    shares = rates.win_shares(capped, second)
    assert (shares.lower[2, 0], shares.upper[2, 0]) == (0, 1)
    mirrored = rates.wins(second, first, side="upper", rng=1)
    assert mirrored.value == pytest.approx(1 - rates.wins(first, second, rng=1).value)


def test_the_winner_is_seen_without_a_range() -> None:
    """A configuration that is twice as fast on most instances would not be shown to win."""
    first, second = runtimes(1, 50, 3), runtimes(2, 50, 3, factor=3.0)
    assert rates.wins(first, second).value > 0.6
    assert rates.wins(second, first, side="upper").value < 0.4
    speed = quantiles.speed_up(first, second)
    assert 1.5 < speed.value < 3 < quantiles.speed_up(first, second, side="upper").value
    assert quantiles.speed_up(second, first, side="upper").value < 1
    ratio = ratios.ratio_of_means(first.clip(0, 5), second.clip(0, 5), 0, 5)
    assert 1 < ratio.value < ratio.observed
    other = ratios.ratio_of_means(second.clip(0, 5), first.clip(0, 5), 0, 5, side="upper")
    assert other.value == pytest.approx(1 / ratio.value, rel=0.1)


def test_running_quantiles() -> None:
    """What was seen so far would not be the quantile of the runs so far, each instance with the
    same weight.
    """
    rng = np.random.default_rng(12)
    for ties in (False, True):
        for _ in range(30):
            n = int(rng.integers(1, 25))
            costs = rng.choice([0.1, 0.2, 5.0, INF], (n, 3)) if ties else rng.random((n, 3))
            costs[rng.random((n, 3)) < 0.3] = np.nan
            costs[:, 0] = np.where(np.isnan(costs[:, 0]), 1.0, costs[:, 0])
            runs = [[value for value in row if not np.isnan(value)] for row in costs.tolist()]
            for share in (0.1, 0.5, 0.9):
                found = quantiles.quantile_sequence(costs, share).observed
                assert found.tolist() == naive.running_quantiles(runs, share)


def test_quantiles_and_the_cutoff() -> None:
    """A quantile among timeouts would be the penalty, or a limit from so few instances be a number."""
    times = np.minimum(runtimes(3, 60, 2), 2.0)
    known = Ends.of(times, cutoff=2.0)
    assert quantiles.quantile(known, 0.95).value == INF
    assert quantiles.quantile(known, 0.95, side="lower").value == 2
    median = [quantiles.quantile(known, 0.5, side=side).value for side in ("lower", "upper")]
    assert 0.3 < median[0] < quantiles.quantile(known, 0.5).observed < median[1] < 2
    assert quantiles.quantile(times[:3], 0.9).value == INF
    assert quantiles.quantile(times[:3, 0], 0.9).value == INF
    assert quantiles.quantile(-times, 0.5, rng=1, side="lower").value == pytest.approx(
        -quantiles.quantile(times, 0.5, rng=1).value
    )


def test_many_values_are_rounded_to_the_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit from many runs would be off by more than half a percent, or on the wrong side."""
    times = np.concatenate([runtimes(4, 300, 3), np.full((1, 3), INF)])
    asked: list[Side] = ["lower", "upper"]
    exact = {side: quantiles.quantile(times, 0.7, side=side).value for side in asked}
    monkeypatch.setattr(inversion, "MANY", 10)
    upper, lower = (quantiles.quantile(times, 0.7, side=side).value for side in ("upper", "lower"))
    assert exact["upper"] <= upper <= exact["upper"] * 1.01
    assert exact["lower"] / 1.01 <= lower <= exact["lower"]


def test_ratios_of_runs_that_timed_out() -> None:
    """A timeout of the first would pass for a fast run, one of the second for a time, or a time of
    0 for infinitely fast.
    """
    first, second = (
        Ends.of([[1.0], [5.0], [5.0], [0.0]], cutoff=5),
        Ends.of([[5.0], [1.0], [5.0], [0.02]], cutoff=5),
    )
    found = quantiles.ratios(first, second, resolution=0.01)
    np.testing.assert_allclose(found.lower[:, 0], [5, 0, 0, 2])
    np.testing.assert_allclose(found.upper[:, 0], [INF, 0.2, INF, 2])


def test_difference_of_solved_shares() -> None:
    """A configuration that solves more would not be shown to, or by more than it does; a run that
    was stopped would count for the one it belongs to.
    """
    rng = np.random.default_rng(8)
    first, second = (rng.random((200, 3)) < share for share in (0.9, 0.6))
    sample = Sample.of(first.astype(float), second.astype(float))
    sample = replace(sample, solved=sample.costs)
    gap = quantities.SOLVED_DIFFERENCE
    lower, upper = (limits.limit(gap, sample, side, 0.05) for side in ("lower", "upper"))
    assert lower.observed == pytest.approx(first.mean() - second.mean())
    assert 0.07 < lower.value < 0.3 < upper.value
    by_hand = confidence.difference(second, first, 0, 1, 0.05, side="upper", shuffle=False)
    assert lower.value == pytest.approx(-by_hand.upper, abs=1e-6)
    unknown = Ends(lower=np.zeros((200, 3)), upper=np.ones((200, 3)))
    sample = replace(sample, costs=(unknown, unknown), solved=(unknown, unknown))
    assert limits.limit(gap, sample, "lower", 0.05).observed == -1
    assert limits.limit(gap, sample, "upper", 0.05).observed == 1


def test_ratio_of_means_is_tighter_than_two_limits() -> None:
    """The paired limit would be no better than the quotient of two separate ones, or not follow the
    unit of cost.
    """
    first = np.minimum(runtimes(5, 80, 2), 20)
    second = np.minimum(
        4 * first * np.random.default_rng(6).uniform(0.8, 1.2, size=first.shape), 60
    )
    paired = ratios.ratio_of_means(first, second, 0, 60)
    apart = (
        confidence.lower(second, 0, 60, 0.025).lower / confidence.upper(first, 0, 60, 0.025).upper
    )
    assert apart < paired.value < paired.observed
    scaled = ratios.ratio_of_means(7 * first, 7 * second, 0, 420, rng=1)
    assert scaled.value == pytest.approx(
        ratios.ratio_of_means(first, second, 0, 60, rng=1).value, rel=1e-6
    )
    assert ratios.ratio_of_means([1.0, 1.0], [2.0, 3.0], 1, 5).value >= 0.2
    assert ratios.ratio_of_means([0.0] * 9, [1.0] * 9, 0, 1, side="upper").value == INF


@pytest.mark.parametrize(
    ("sequence", "once"),
    [
        (
            lambda w, _, **k: rates.solved_sequence(rates.within(w, 1.0), **k),
            lambda w, _, **k: rates.solved(rates.within(w, 1.0), **k),
        ),
        (rates.wins_sequence, rates.wins),
        (
            lambda w, _, **k: quantiles.quantile_sequence(w, 0.5, **k),
            lambda w, _, **k: quantiles.quantile(w, 0.5, **k),
        ),
        (quantiles.speed_up_sequence, quantiles.speed_up),
        (
            lambda w, d, **k: ratios.ratio_of_means_sequence(w, d, 0, 60, **k),
            lambda w, d, **k: ratios.ratio_of_means(w, d, 0, 60, **k),
        ),
        (
            lambda w, _, **k: rates.utility_sequence(w, Utility.parse("half-life=1"), **k),
            lambda w, _, **k: rates.utility(w, Utility.parse("half-life=1"), **k),
        ),
    ],
)
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_sequences(sequence: Callable[..., Any], once: Callable[..., Any], side: str) -> None:
    """A sequence would depend on what is still to come, become weaker, or be far from the limit of
    one look.
    """
    first, second = (
        np.minimum(runtimes(7, 120, 2), 60),
        np.minimum(runtimes(8, 120, 2, factor=2), 60),
    )
    found = sequence(first, second, side=side)
    assert found.value.shape == found.observed.shape == (120,)
    ordered = found.value if side == "lower" else found.value[::-1]
    assert (ordered[1:] >= ordered[:-1]).all()
    np.testing.assert_array_equal(
        sequence(first[:70], second[:70], side=side).value, found.value[:70]
    )
    look = once(first, second, side=side)
    assert found.observed[-1] == pytest.approx(look.observed)
    assert found.runs == look.runs
    assert abs(found.value[-1] - look.observed) < 3 * abs(look.value - look.observed)


def test_difference_sequence_is_the_sequence_of_differences() -> None:
    """The limits of a difference at all times would not be those of the instances' differences."""
    first, second = np.minimum(runtimes(9, 40, 2), 10), np.minimum(runtimes(10, 40, 2), 10)
    found = confidence.difference_sequence(first, second, 0, 10, side="upper")
    by_hand = confidence.sequence(first.mean(axis=1) - second.mean(axis=1), -10, 10, side="upper")
    np.testing.assert_allclose(found.upper, by_hand.upper)
    assert assumptions.SAME_INSTANCES in found.assumptions


# ---- utilities -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("step=10", [1, 1, 1, 0, 0, NAN]),
        ("linear=20", [1, 0.75, 0.5, 0, 0, NAN]),
        ("half-life=10", [1, 2**-0.5, 0.5, 1 / 8, 0, NAN]),
        ("log-laplace=10", [1, 0.75, 0.5, 1 / 6, 0, NAN]),
        ("log-laplace=10,2", [1, 0.875, 0.5, 1 / 18, 0, NAN]),
    ],
)
def test_utilities(text: str, expected: list[float]) -> None:
    """A utility would not be the published function, or not survive being written and read."""
    worth = Utility.parse(text)
    times = [0, 5, 10, 30, INF, NAN]
    np.testing.assert_allclose(worth.of(times), expected)
    np.testing.assert_allclose(worth.cost(times), 1 - np.array(expected))
    assert Utility.parse(str(worth)) == worth


def test_utility_of_stopped_runs() -> None:
    """A run that was stopped would have the utility of its stop for a lower limit, or none at all
    for an upper one.
    """
    times = Ends.of(np.full((30, 2), 10.0), cutoff=10.0)
    worth = Utility.parse("half-life=10")
    assert rates.utility(times, worth).observed == 0
    assert rates.utility(times, worth, side="upper").observed == pytest.approx(0.5)
    step = rates.utility(np.arange(30.0), Utility.parse("step=14"))
    assert (step.method, step.observed) == ("clopper-pearson", 0.5)


# ---- approximate ---------------------------------------------------------------------------------


def test_approximate_intervals_are_the_textbook_ones() -> None:
    """The paired t interval would not be scipy's, or Fieller's not the ratios that the t test
    keeps.
    """
    first, second = runtimes(11, 40, 1)[:, 0], runtimes(12, 40, 1, factor=2)[:, 0]
    found = approximate.mean_difference(first, second, 0.1)
    textbook = ttest_rel(first, second).confidence_interval(0.9)
    assert [found.lower, found.upper] == pytest.approx([float(textbook.low), float(textbook.high)])
    assert not found.reason
    ratio = approximate.mean_ratio(first, second, 0.1)
    assert ratio.lower < ratio.observed < ratio.upper
    for end in (ratio.lower, ratio.upper):
        assert ttest_rel(end * first, second).pvalue == pytest.approx(0.1)


def test_approximate_intervals_keep_silent_for_a_reason() -> None:
    """An interval would be given from too few instances, or where timeouts of one alone were hardly
    seen.
    """
    first, second = np.ones(30), np.linspace(1, 3, 30)
    few = approximate.mean_difference(first[:24], second[:24])
    assert "24 instances are too few" in few.reason
    assert np.isnan(few.upper)
    assert few.observed < 0
    for number, silent in ((4, True), (5, False), (25, False), (26, True)):
        late = np.arange(30) < number
        for ask in (approximate.mean_difference, approximate.mean_ratio):
            found = ask(first, second, timeouts=(late, np.zeros(30)))
            assert bool(found.reason) == silent
            assert np.isnan(found.lower) == silent
    # A mean that rare timeouts decide, none of them seen, is no divisor.
    late = np.arange(30) < 8
    assert not approximate.mean_difference(first, second, timeouts=(np.zeros(30), late)).reason
    assert (
        "what it is divided by"
        in approximate.mean_ratio(first, second, timeouts=(np.zeros(30), late)).reason
    )
    noise = np.where(np.arange(30) == 3, 1000.0, 0.0)
    assert "every ratio is possible" in approximate.mean_ratio(noise, second).reason


# ---- widths and forecasts ------------------------------------------------------------------------


def test_where_the_width_comes_from() -> None:
    """What so few instances cannot rule out would not be told from the spread that was seen."""
    costs = np.full(20, 0.07)
    limit = confidence.upper(costs, 0, 5)
    parts = forecast.width(0.07, float(limit.upper), 0, 5, instances=20)
    assert 1 / parts.chance == pytest.approx(7.19, abs=0.01)
    assert parts.unseen / parts.total > 0.97
    coins = np.tile([0.0, 5.0], 50)
    spread = forecast.width(2.5, float(confidence.upper(coins, 0, 5).upper), 0, 5, instances=100)
    assert spread.unseen / spread.total < 0.3
    assert spread.unseen + spread.rest == pytest.approx(spread.total)


def test_forecasts_come_true() -> None:
    """The number of instances forecast would not be about what it takes."""
    population = np.random.default_rng(13)
    solved = (population.random(400) < 0.9).astype(float)
    goal = forecast.solved(solved, 0.8)
    found = forecast.instances_needed(goal)
    assert found.instances is not None
    assert found.power >= 0.8
    fresh = np.random.default_rng(14).choice(solved, (400, found.instances))
    shown = np.mean([rates.solved(each).value > 0.8 for each in fresh])
    assert shown == pytest.approx(0.8, abs=0.08)
    first, second = runtimes(15, 60, 3), runtimes(16, 60, 3, factor=1.6)
    cases: list[tuple[forecast.Goal, Callable[[FloatArray, FloatArray], bool]]] = [
        (forecast.wins(first, second), lambda w, d: rates.wins(w, d).value > 0.5),
        (forecast.speed_up(first, second, 1.1), lambda w, d: quantiles.speed_up(w, d).value >= 1.1),
        (forecast.quantile(first, 0.5, 1.5), lambda w, _: quantiles.quantile(w, 0.5).value <= 1.5),
        (
            forecast.difference(first.clip(0, 5), second.clip(0, 5), 0, 5),
            lambda w, d: (
                float(confidence.difference(w.clip(0, 5), d.clip(0, 5), 0, 5, side="upper").upper)
                < 0
            ),
        ),
    ]
    for goal, shows in cases:
        needed = forecast.instances_needed(goal).instances
        assert needed is not None
        rng = np.random.default_rng(17)
        draws = [rng.integers(60, size=needed) for _ in range(150)]
        assert np.mean([shows(first[each], second[each]) for each in draws]) == pytest.approx(
            0.8, abs=0.12
        )


def test_forecasts_that_never_come_true() -> None:
    """A goal beyond what the pilot has would get a number."""
    found = forecast.instances_needed(forecast.wins(np.ones(30), np.ones(30)))
    assert (found.instances, found.observed, found.above, found.pilot) == (None, 0.5, 0.5, 30)
    close = forecast.Goal(values=np.tile([0.0, 1.0], 500) + np.eye(1, 1000)[0], above=0.5)
    assert forecast.instances_needed(close).instances is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rates.solved([0.5, 1.0]), "1 where solved and 0 where not"),
        (lambda: rates.solved([NAN]), "at least one run"),
        (lambda: rates.solved([[[1.0]]]), "got 3 dimensions"),
        (lambda: rates.solved(["a"]), "runs as numbers"),
        (lambda: rates.solved([1.0], 0.0), "delta between 0 and 1"),
        (lambda: rates.solved([1.0], side="both"), "side to be one of lower, upper, got 'both'"),  # type: ignore[arg-type]
        (lambda: rates.solved([1.0], configurations=0), "whole number of at least 1"),
        (lambda: rates.wins([1.0], [1.0, 2.0]), "same instances, got 1 and 2"),
        (lambda: rates.wins([1.0, NAN], [NAN, 2.0]), "both have runs"),
        (lambda: quantiles.quantile([1.0], 1.0), "share of a quantile between 0 and 1"),
        (lambda: quantiles.speed_up([1.0], [1.0], resolution=0), "resolution to be above 0"),
        (lambda: ratios.ratio_of_means([1.0], [1.0], -1, 2), "0 ≤ low < high"),
        (
            lambda: ratios.ratio_of_means([1.0], [3.0], 0, 2),
            r"costs in \[0, 2\], got costs from 3 to 3",
        ),
        (lambda: Ends.of([1.0], capped=[True, False]), "capped to be shaped"),
        (lambda: Ends(lower=np.ones((1, 1)), upper=np.zeros((1, 1))), "lower end to be at most"),
        (lambda: Utility.parse("half-life"), "such as half-life=60"),
        (lambda: Utility.parse("half-life=0"), "above 0 and finite"),
        (lambda: Utility.parse("half-life=3,2"), "shape for log-laplace only"),
        (lambda: Utility.parse("pareto=3"), "such as half-life=60"),
        (lambda: Utility.parse("step=1").of([-1.0]), "running times of 0 or more"),
        (lambda: approximate.mean_difference([INF], [1.0]), "finite costs"),
        (lambda: approximate.mean_ratio([-1.0] * 30, [1.0] * 30), "costs of 0 or more"),
        (lambda: forecast.width(3, 2, 0, 1, instances=5), "estimate and its limit in"),
        (
            lambda: forecast.solved([1.0], 1.0),
            "solved share that is possible and not certain, got 1",
        ),
        (
            lambda: forecast.instances_needed(forecast.Goal(values=np.array([2.0]), above=0.5)),
            r"values in \[0, 1\]",
        ),
    ],
)
def test_doors(call: Callable[[], object], message: str) -> None:
    """Input that makes no sense would be computed with."""
    with pytest.raises(InputError, match=message):
        call()
