"""Seeded counts: limits beyond the mean fail at most as often as they say, on hurtful populations;
wrong rules fail more.
"""

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from populations import POPULATIONS, Population
from scipy.stats import binom, binomtest

from truecost.stats import (
    betting,
    confidence,
    inversion,
    ledger,
    ordering,
    quantiles,
    rates,
    ratios,
    scanning,
)
from truecost.stats.limits import Limit, LimitSequence
from truecost.stats.sample import Ends, Side
from truecost.stats.utility import Utility

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
DELTAS = (0.05, 0.2)
SIDES: list[Side] = list(get_args(Side))
CUTOFF, HIGH = 5.0, 50.0
HALF_LIFE = Utility.parse("half-life=1")
populations = pytest.mark.parametrize(
    "population", POPULATIONS, ids=lambda population: population.name
)
sides = pytest.mark.parametrize("side", SIDES)


def total(values: NDArray[Any]) -> FloatArray:
    """Sums over the last axis, which is short: many sums of few numbers would take longer than a
    few sums of arrays.
    """
    sums = np.zeros(values.shape[:-1])
    for run in range(values.shape[-1]):
        sums += values[..., run]
    return sums


def share_of(truth: BoolArray, costs: FloatArray) -> FloatArray:
    """Of each instance the share of its values for which it is true."""
    there = ~np.isnan(costs)
    return total(truth & there) / total(there)


def means(costs: FloatArray) -> FloatArray:
    """Instance means."""
    there = ~np.isnan(costs)
    return total(np.where(there, costs, 0)) / total(there)


def pairs(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """All pairs of runs of an instance."""
    one, two = np.repeat(first, second.shape[-1], axis=-1), np.tile(second, first.shape[-1])
    missing = np.isnan(one + two)
    one[missing] = two[missing] = np.nan
    return one, two


def win_shares(first: FloatArray, second: FloatArray) -> FloatArray:
    """Wins and half of the ties."""
    one, two = pairs(first, second)
    return np.asarray(share_of(one < two, one) + 0.5 * share_of(one == two, one))


# What to ask at each δ, of costs that are looked at once.
Rejects = Callable[[FloatArray, FloatArray], Callable[[float], BoolArray]]


class Statement:
    """The truth of a population, the limit that users get, and the one test that an error needs."""

    def __init__(
        self,
        truth: float,
        limit: Callable[..., Limit],
        sequence: Callable[..., LimitSequence],
        rejects: Rejects,
        always: Rejects,
    ) -> None:
        self.truth, self.limit, self.sequence, self.rejects, self.always = (
            truth,
            limit,
            sequence,
            rejects,
            always,
        )


def unit(
    shares: Callable[[FloatArray, FloatArray], FloatArray], truth: float, side: Side
) -> tuple[Rejects, Rejects]:
    """The tests of a mean of shares at its true value."""

    def numbers(first: FloatArray, second: FloatArray) -> tuple[FloatArray, float]:
        x = shares(first, second)
        return (x, truth) if side == "lower" else (1 - x, 1 - truth)

    def once(first: FloatArray, second: FloatArray) -> Callable[[float], BoolArray]:
        x, mean = numbers(first, second)
        if mean <= 0:
            return lambda _: np.zeros(len(x), bool)
        return lambda delta: np.asarray(
            betting.star_reaches(x, min(mean, 1.0), 1 / delta, True, False)
        )

    def always(first: FloatArray, second: FloatArray) -> Callable[[float], BoolArray]:
        x, mean = numbers(first, second)
        if mean <= 0:
            return lambda _: np.zeros(len(x), bool)
        return lambda delta: np.asarray(betting.plug_in_rejects(x, mean, 1 / delta, True))

    return once, always


def inverted(
    values: Callable[[FloatArray, FloatArray], FloatArray], truth: float, share: float, side: Side
) -> tuple[Rejects, Rejects]:
    """The tests of a quantile at its true value: of the shares beyond it."""
    mean = share if side == "upper" else 1 - share

    def numbers(first: FloatArray, second: FloatArray) -> FloatArray:
        found = values(first, second)
        return share_of(found < truth if side == "upper" else found > truth, found)

    def once(first: FloatArray, second: FloatArray) -> Callable[[float], BoolArray]:
        x = numbers(first, second)
        return lambda delta: np.asarray(betting.star_reaches(x, mean, 1 / delta, False, False))

    def always(first: FloatArray, second: FloatArray) -> Callable[[float], BoolArray]:
        x = numbers(first, second)
        return lambda delta: np.asarray(betting.plug_in_rejects(x, mean, 1 / delta, True))

    return once, always


def ratio_rejects(first: FloatArray, second: FloatArray, ratio: float, target: float) -> BoolArray:
    """Whether one look rejects a ratio of means, on each row: where it does not,
    `scanning.ratio_recorded` is at most this ratio.
    """
    plans, parts = np.array([first.shape[1]]), ledger.parts_of(ledger.FINAL, 0)
    careful, bets = np.zeros(first.shape[1]), np.zeros((1, first.shape[1]))
    ends = scanning.ratio_ends(0.0, HIGH)
    end = float(ends[np.searchsorted(ends, ratio)])
    rejected = np.zeros(len(first), bool)
    for place, (one, two) in enumerate(zip(first, second, strict=True)):
        x, mean = scanning.against_ratio(one, two, end, 0.0, HIGH)
        if not ledger.bold_bets(x, mean, target, plans, parts, True, careful, bets):
            x = scanning.shifted(one, two, ratio, end, 0.0, HIGH, mean)
            capital = ledger.capital(x, mean, target, plans, parts, careful, bets)
            rejected[place] = capital >= target
        else:
            rejected[place] = True
    return rejected


def statements(population: Population, side: Side) -> dict[str, Statement]:
    """All of them."""
    solved, wins = population.share_within(CUTOFF), population.wins()
    worth = float(population.kinds @ population.first @ HALF_LIFE.of(population.values))
    nine, speed = population.quantile(0.9), population.speed_up(0.5)
    one, two = population.means()
    ratio = two / one

    def ratio_once(first: FloatArray, second: FloatArray) -> Callable[[float], BoolArray]:
        x, y = means(first), means(second)
        if side == "lower":
            return lambda delta: np.asarray(ratio_rejects(x, y, ratio, 1 / delta))
        return lambda delta: np.asarray(ratio_rejects(y, x, 1 / ratio, 1 / delta))

    def ratio_always(first: FloatArray, second: FloatArray) -> Callable[[float], BoolArray]:
        x, y = (means(first), means(second)) if side == "lower" else (means(second), means(first))
        truth = ratio if side == "lower" else 1 / ratio
        ends = scanning.ratio_ends(0.0, HIGH)
        beyond = ends[np.searchsorted(ends, truth * (1 + 1e-12))]
        z = (beyond * HIGH + y - beyond * x) / ((beyond + 1) * HIGH)
        return lambda delta: np.asarray(
            betting.plug_in_rejects(z, beyond / (beyond + 1), 1 / delta, True)
        )

    return {
        "solved share": Statement(
            solved,
            lambda w, _, **more: rates.solved(rates.within(w, CUTOFF), **more),
            lambda w, _, **more: rates.solved_sequence(rates.within(w, CUTOFF), **more),
            *unit(lambda w, _: share_of(w <= CUTOFF, w), solved, side),
        ),
        "utility": Statement(
            worth,
            lambda w, _, **more: rates.utility(w, HALF_LIFE, **more),
            lambda w, _, **more: rates.utility_sequence(w, HALF_LIFE, **more),
            *unit(lambda w, _: means(HALF_LIFE.of(w)), worth, side),
        ),
        "wins": Statement(wins, rates.wins, rates.wins_sequence, *unit(win_shares, wins, side)),
        "quantile": Statement(
            nine,
            lambda w, _, **more: quantiles.quantile(w, 0.9, **more),
            lambda w, _, **more: quantiles.quantile_sequence(w, 0.9, **more),
            *inverted(lambda w, _: w, nine, 0.9, side),
        ),
        "speed-up": Statement(
            speed,
            quantiles.speed_up,
            quantiles.speed_up_sequence,
            *inverted(lambda w, d: np.divide(*pairs(w, d)[::-1]), speed, 0.5, side),
        ),
        "ratio of means": Statement(
            ratio,
            lambda w, d, **more: ratios.ratio_of_means(w, d, 0, HIGH, **more),
            lambda w, d, **more: ratios.ratio_of_means_sequence(w, d, 0, HIGH, **more),
            ratio_once,
            ratio_always,
        ),
    }


def wrong(value: ArrayLike, truth: float, side: Side) -> BoolArray:
    """Whether a limit is."""
    slack = 1e-9 * abs(truth)
    return np.asarray(
        np.asarray(value) > truth + slack if side == "lower" else np.asarray(value) < truth - slack
    )


def holds(missed: ArrayLike, delta: float) -> bool:
    """Whether so many misses are within what chance allows."""
    return (
        float(
            binomtest(
                int(np.count_nonzero(missed)), np.size(missed), delta, alternative="greater"
            ).pvalue
        )
        > 1e-4
    )


def assert_covers(missed: ArrayLike, delta: float, what: str) -> None:
    """A share of misses above δ by more than chance fails."""
    assert holds(missed, delta), (
        f"{what}: {np.count_nonzero(missed)} of {np.size(missed)} missed at δ = {delta}"
    )


@sides
@populations
def test_the_one_test_that_an_error_needs(population: Population, side: Side) -> None:
    """The test at the true value would reject more often than δ, at one look or at any time."""
    rng = np.random.default_rng(40_001)
    for instances, runs, uneven in ((8, 2, False), (30, 3, True), (100, 2, True)):
        first, second = population.draw(
            rng, 4000 if instances < 100 else 2000, instances, runs, uneven=uneven
        )
        for name, statement in statements(population, side).items():
            rejects = statement.rejects(first, second)
            for delta in DELTAS:
                assert_covers(rejects(delta), delta, f"{name}, {instances} instances")
            if instances == 30:
                always = statement.always(first[:1000], second[:1000])
                for delta in DELTAS:
                    assert_covers(always(delta), delta, f"{name}, at all times")


@sides
@populations
def test_a_wrong_limit_is_one_rejection_at_the_truth(population: Population, side: Side) -> None:
    """A limit that users get would be wrong without the one test whose errors are counted: the scan
    would cost some of δ.
    """
    rng = np.random.default_rng(40_002)
    first, second = population.draw(rng, 40, 25, 3, uneven=True)
    for name, statement in statements(population, side).items():
        for delta in (0.2, 0.6):  # errors are rare, so that a large delta is asked for too
            once, always = (
                statement.rejects(first, second)(delta),
                statement.always(first, second)(delta),
            )
            for i in range(len(first)):
                asked: dict[str, Any] = {"delta": delta, "side": side}
                found = statement.limit(first[i], second[i], shuffle=False, **asked)
                assert found.method == "star-bets"
                assert not wrong(found.value, statement.truth, side) or once[i], (name, i)
                steps = statement.sequence(first[i], second[i], **asked)
                assert not wrong(steps.value, statement.truth, side).any() or always[i], (name, i)


@sides
@pytest.mark.parametrize("population", POPULATIONS[:3], ids=lambda population: population.name)
def test_limits_as_users_get_them(population: Population, side: Side) -> None:
    """Limits of sorted instances, uneven numbers of runs and single runs would be wrong more often
    than δ.
    """
    rng = np.random.default_rng(40_003)
    for runs, uneven in ((1, False), (3, True)):
        first, second = population.draw(rng, 150, 40, runs, uneven=uneven)
        hard = np.nan_to_num(first).sum(axis=2) + np.nan_to_num(second).sum(axis=2)
        order = hard.argsort(axis=1)[..., np.newaxis]
        first, second = (
            np.take_along_axis(first, order, axis=1),
            np.take_along_axis(second, order, axis=1),
        )
        for name, statement in statements(population, side).items():
            values = [
                statement.limit(w, d, delta=0.2, side=side).value
                for w, d in zip(first, second, strict=True)
            ]
            assert_covers(wrong(values, statement.truth, side), 0.2, f"{name}, {runs} runs")


@sides
@pytest.mark.parametrize("population", POPULATIONS[:3], ids=lambda population: population.name)
def test_runs_that_were_stopped_early(population: Population, side: Side) -> None:
    """Limits from censored runs would be wrong more often than δ, or those of an upper limit trust
    the time of the stop.
    """
    rng = np.random.default_rng(40_004)
    first, second = population.draw(rng, 100, 40, 2)
    for often in ((0.8, 0.0), (0.0, 0.8), (0.5, 0.5)):
        known = []
        for costs, share in zip((first, second), often, strict=True):
            caps = np.where(
                rng.random(costs.shape) < share, rng.choice([0.1, 1.5], size=costs.shape), np.inf
            )
            known.append(
                [
                    Ends.of(np.minimum(c, cap), capped=c > cap)
                    for c, cap in zip(costs, caps, strict=True)
                ]
            )
        for name, statement in statements(population, side).items():
            values = [
                statement.limit(w, d, delta=0.2, side=side).value
                for w, d in zip(*known, strict=True)
            ]
            assert_covers(wrong(values, statement.truth, side), 0.2, f"{name}, stopped {often}")


def test_clopper_and_pearson_exactly() -> None:
    """The limit of a share of single runs would be wrong with more than δ for some share, added up
    over all outcomes.
    """
    for n in (1, 5, 40):
        for delta in DELTAS:
            k, grid = np.arange(n + 1), np.linspace(0.001, 0.999, 333)
            chances = binom.pmf(k, n, grid[:, np.newaxis])
            for side in SIDES:
                values = np.array(
                    [
                        inversion.clopper_pearson(int(each), n, delta)
                        if side == "lower"
                        else 1 - inversion.clopper_pearson(int(n - each), n, delta)
                        for each in k
                    ]
                )
                missed = (
                    values > grid[:, np.newaxis]
                    if side == "lower"
                    else values < grid[:, np.newaxis]
                )
                assert (chances * missed).sum(axis=1).max() <= delta + 1e-9
                assert (chances * missed).sum(axis=1).max() > delta / 2 or n < 40


def test_order_statistics_exactly() -> None:
    """The limit of a quantile of single runs would be wrong with more than δ, or be one order
    statistic too careful.
    """
    values = np.arange(1.0, 61.0)
    for share in (0.5, 0.9):
        for delta in DELTAS:
            upper, lower = (
                quantiles.quantile(values, share, delta, side=side) for side in ("upper", "lower")
            )
            assert (upper.method, lower.method) == ("order-statistics", "order-statistics")
            k = int(upper.value) if np.isfinite(upper.value) else 61
            assert binom.sf(k - 1, 60, share) <= delta < binom.sf(k - 2, 60, share)
            k = int(lower.value)
            assert binom.cdf(k - 1, 60, share) <= delta < binom.cdf(k, 60, share)


# ---- wrong rules fail the same counts ------------------------------------------------------------


def test_runs_are_not_independent_of_their_instance() -> None:
    """Clopper and Pearson's limit of all runs would pass the count, though the instance decides
    what its runs do.
    """
    population, rng = POPULATIONS[1], np.random.default_rng(40_005)
    first, _ = population.draw(rng, 1000, 30, 5)
    solved = (first <= CUTOFF).sum(axis=(1, 2))
    values = [inversion.clopper_pearson(int(k), 150, 0.05) for k in solved]
    assert not holds(wrong(values, population.share_within(CUTOFF), "lower"), 0.05)


def test_the_time_of_a_stop_is_no_time() -> None:
    """Runs stopped early and taken for finished would pass the count of upper limits."""
    population, rng = POPULATIONS[0], np.random.default_rng(40_006)
    first, _ = population.draw(rng, 300, 60, 2)
    capped = np.minimum(first, 1.5)
    limits_ = [quantiles.quantile(each, 0.95, 0.2).value for each in capped]
    assert not holds(wrong(limits_, population.quantile(0.95), "upper"), 0.2)
    limits_ = [float(confidence.upper(each, 0, HIGH, 0.2).upper) for each in capped]
    assert not holds(wrong(limits_, population.means()[0], "upper"), 0.2)


def test_one_seed_for_everybody_does_not_undo_sorting() -> None:
    """Sorted instances shuffled with a fixed seed would pass the count, or those in an order drawn
    from the costs not.
    """
    rng, n, sets = np.random.default_rng(40_007), 80, 4000
    chances = rng.random((sets, n)) ** 3
    chances.sort(axis=1)
    costs = (rng.random((sets, n)) < chances).astype(float) * 0.9 + 0.1 * rng.random((sets, n))
    truth = 0.25 * 0.9 + 0.05
    for delta in DELTAS:
        worst = 0.0
        for seed in range(5):
            fixed = costs.take(np.random.default_rng(seed).permutation(n), axis=1)
            worst = max(
                worst,
                *(
                    np.mean(betting.star_reaches(x, m, 1 / delta, True, False))
                    for x, m in ((fixed, truth), (1 - fixed, 1 - truth))
                ),
            )
        assert not holds(np.arange(sets) < worst * sets, delta)
        drawn = np.take_along_axis(costs, ordering.by_content(costs), axis=1)
        for x, mean in ((drawn, truth), (1 - drawn, 1 - truth)):
            assert_covers(betting.star_reaches(x, mean, 1 / delta, True, False), delta, "drawn")


def test_the_best_of_several_orders_is_no_limit() -> None:
    """Who tries ten seeds and keeps the best limit would pass the count."""
    rng, delta = np.random.default_rng(40_008), 0.05
    costs = (rng.random((2000, 60)) < 0.3).astype(float) * rng.random((2000, 60))
    missed = np.zeros(2000, bool)
    for _ in range(10):
        missed |= betting.star_reaches(
            1 - rng.permuted(costs, axis=1), 1 - 0.15, 1 / delta, True, False
        )
    assert not holds(missed, delta)
    assert_covers(
        betting.star_reaches(1 - costs, 1 - 0.15, 1 / delta, True, False), delta, "one order"
    )


def test_the_scan_stops_where_halving_would_not() -> None:
    """A value that is not rejected would be passed because one beyond it is, though the test is not
    monotone.
    """
    rng, runs = np.random.default_rng(40_009), 25
    for _ in range(1000):
        cheap = np.clip(8 + rng.integers(-1, 2, size=40), 0, runs)
        raised = np.where(np.arange(40) == rng.integers(20), runs, cheap)
        at_1, at_2 = betting.star_reaches(np.stack([cheap, raised]) / runs, 0.3, 5.0, False, False)
        if at_1 and not at_2:
            break
    # As many runs of an instance cost 1 as are cheap, as many more cost 2 as it takes to raise it,
    # all others cost 3.
    place = np.arange(runs)
    costs = np.where(
        place < cheap[:, np.newaxis], 1.0, np.where(place < raised[:, np.newaxis], 2.0, 3.0)
    )
    assert (at_1, at_2) == (True, False)
    assert quantiles.quantile(costs, 0.3, 0.2, shuffle=False).value == 3
