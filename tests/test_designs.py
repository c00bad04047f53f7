"""Kernels for other designs than one look at independent instances: they do what the words say, and
their limits hold.
"""

import math
from dataclasses import replace
from itertools import pairwise, product

import naive
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from truecost.errors import InputError
from truecost.stats import (
    betting,
    constant,
    finite,
    folds,
    grouping,
    ledger,
    limits,
    lists,
    mixing,
    quantities,
)
from truecost.stats.designs import rejects
from truecost.stats.inversion import Goal
from truecost.stats.sample import Design, Sample, Side

FloatArray = NDArray[np.float64]
BALANCED = pytest.mark.parametrize("balanced", [False, True])
SPLITS = {"ledger": ledger.SHARES, "final": ledger.FINAL, "sequence": ledger.SEQUENCE}


def assert_covers(missed: int, tries: int, delta: float, what: str) -> None:
    """A share of misses above δ by more than chance fails."""
    answer = binomtest(missed, tries, delta, alternative="greater")
    assert answer.pvalue > 1e-4, f"{what}: {missed} of {tries} at δ = {delta}"


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """1 − PAR10 costs: mostly near 1, and 0 with probability 0.06."""
    return np.where(rng.random(shape) < 0.06, 0.0, 1 - rng.beta(1, 12, shape) / 4)


HEAVY_MEAN = 0.94 * (1 - 1 / 13 / 4)


def capital(
    x: FloatArray,
    mean: float,
    target: float,
    plans: NDArray[np.int64],
    shares: FloatArray,
    balanced: bool,
) -> float:
    """The capital of the ledger's own bets against a mean."""
    parts = ledger.parts_of(shares, plans.size - 1)
    careful, bets = ledger.careful_bets(x, target, shares), np.zeros((plans.size, x.size))
    ledger.bold_bets(x, mean, target, plans, parts, balanced, careful, bets)
    return float(ledger.capital(x, mean, target, plans, parts, careful, bets))


def always_rejects(
    rows: FloatArray, mean: float, population: float, target: float
) -> NDArray[np.bool_]:
    """Whether the sequence of a sample without replacement ever rejects a mean, for each row."""
    rejected = np.zeros(len(rows), bool)
    for place, row in enumerate(rows):
        bets = betting.plug_in_bets(row, target, True)
        rejected[place] = finite.reaches(row, mean, population, target, bets, betting.SHARE)
    return rejected


@BALANCED
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS.keys())
@pytest.mark.parametrize("plans", [[12], [5, 9, 12], [4, 20], [30]])
def test_the_ledger_is_what_its_words_say(
    plans: list[int], split: FloatArray, balanced: bool
) -> None:
    """The compiled capital would differ from the one in plain Python."""
    rng = np.random.default_rng(1)
    for x in (rng.random(14), heavy(rng, (14,)), rng.beta(3, 1, 14)):
        for mean, delta in ((0.4, 0.05), (0.7, 0.3), (0.05, 0.01)):
            shares = (float(split[0]), float(split[1]), float(split[2]))
            path = naive.ledger_path(x.tolist(), mean, delta, plans, shares, balanced)
            rows, sizes = x[np.newaxis], np.array(plans)
            value = capital(x, mean, 1 / delta, sizes, split, balanced)
            assert value == pytest.approx(path[-1], rel=1e-9)
            shown = ledger.rejects(rows, mean, 1 / delta, sizes, split, balanced, False)[0]
            assert shown == (path[-1] >= 1 / delta)


@BALANCED
@pytest.mark.parametrize(
    ("outcomes", "chances"),
    [([0.0, 1.0], [0.7, 0.3]), ([0.0, 1.0], [0.04, 0.96]), ([0.0, 0.3, 1.0], [0.2, 0.5, 0.3])],
)
def test_the_ledger_is_a_fair_game(
    outcomes: list[float], chances: list[float], balanced: bool
) -> None:
    """Capital would be won on average against the true mean, or a bet would know what comes."""
    rounds = 9 if len(outcomes) == 2 else 7
    rows = np.array(list(product(outcomes, repeat=rounds)))
    weights = np.array([np.prod(chance) for chance in product(chances, repeat=rounds)])
    mean = float(np.dot(outcomes, chances))
    for plans in ([rounds], [3, 5, rounds], [4, 40]):
        for target in (3.0, 20.0):
            plan = np.array(plans)
            values = [capital(row, mean, target, plan, ledger.SHARES, balanced) for row in rows]
            assert weights @ values == pytest.approx(1, rel=1e-9)


def test_special_cases_of_the_ledger_are_the_methods_known() -> None:
    """One look, a sequence or a watched plan would get another limit than from its own kernel."""
    x = np.random.default_rng(2).beta(1, 2, (4, 40))
    plan = np.array([40])
    np.testing.assert_array_equal(
        ledger.lower(x, 20.0, plan, ledger.FINAL, False), betting.star_lower(x, 20.0)
    )
    for mean in (0.15, 0.25, 0.3, 0.35):
        for balanced in (False, True):
            final = ledger.rejects(x, mean, 5.0, plan, ledger.FINAL, balanced, False)
            assert final.tolist() == betting.star_reaches(x, mean, 5.0, False, balanced).tolist()
        shown = ledger.rejects(x, mean, 5.0, plan, ledger.WATCHED, False, False)
        assert shown.tolist() == [naive.watched_shows(row, mean, 0.2, 40) for row in x.tolist()]
    np.testing.assert_allclose(
        ledger.lower(x, 20.0, plan, ledger.SEQUENCE, False),
        betting.plug_in_lower_sequence(x, 20.0)[:, -1],
        rtol=1e-12,
    )


def test_bets_before_an_extension_do_not_know_it() -> None:
    """A limit seen before a plan is extended would change when it is: looks would not be free."""
    x = np.random.default_rng(3).random((3, 20))
    before = ledger.lower(x, 20.0, np.array([20]), ledger.SHARES, False)
    after = ledger.lower(x, 20.0, np.array([20, 50, 90]), ledger.SHARES, False)
    np.testing.assert_allclose(after, before, rtol=1e-12)


@BALANCED
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_looks_at_a_growing_plan_share_one_delta(delta: float, balanced: bool) -> None:
    """Looking after every unit of a plan that grows from 10 to 80 would be wrong more often than
    δ; one look at a time, each with all of δ, is, which shows that this test can fail.
    """
    rng, tries = np.random.default_rng(4), 4000
    plans = np.array([10, 20, 40, 80])
    coins = (rng.random((tries, 80)) < 0.5).astype(float)
    for rows, mean in ((heavy(rng, (tries, 80)), HEAVY_MEAN), (coins, 0.5)):
        missed = ledger.rejects(rows, mean, 1 / delta, plans, ledger.SHARES, balanced, True)
        assert_covers(int(missed.sum()), tries, delta, "ledger")
    looks = [betting.star_reaches(coins[:, :n].copy(), 0.5, 1 / delta, True, False) for n in plans]
    assert np.any(looks, axis=0).mean() > 1.3 * delta


@BALANCED
def test_limits_of_the_ledger_are_what_it_rejects(balanced: bool) -> None:
    """The search for a limit would pass over a mean that is not rejected, or stop too early."""
    rows = heavy(np.random.default_rng(5), (6, 25))
    plans = np.array([10, 25])
    limits = ledger.lower(rows, 20.0, plans, ledger.SHARES, balanced)
    for row, limit in zip(rows, limits, strict=True):
        one = row[np.newaxis]
        for mean in (limit * 0.3, limit * 0.8, limit - 1e-9):
            assert ledger.rejects(one, mean, 20.0, plans, ledger.SHARES, balanced, True)[0]
        assert not ledger.rejects(one, limit + 1e-9, 20.0, plans, ledger.SHARES, balanced, True)[0]


def test_balanced_bets_are_sharper_for_differences() -> None:
    """The variance for differences would gain nothing on paired costs."""
    x = 0.5 + 0.1 * np.random.default_rng(6).standard_normal((200, 50)).clip(-4, 4)
    plan = np.array([50])
    now, better = (ledger.lower(x, 20.0, plan, ledger.FINAL, flag) for flag in (False, True))
    assert np.median(0.5 - better) < 0.9 * np.median(0.5 - now)


# ---- constant bets -------------------------------------------------------------------------------


def test_constant_bets_are_what_their_words_say() -> None:
    """The compiled mixture of constant bets would differ from the one in plain Python."""
    rng = np.random.default_rng(7)
    for _ in range(10):
        x, weights = rng.random(12), rng.dirichlet(np.ones(12))
        y = 12 * weights * x
        for mean in (0.1, 0.4, 0.9):
            log = constant.log_capital(y, mean, constant.bets_for(12, 20.0, 12 * weights.max()))
            plain = naive.constant_capital(y.tolist(), mean, 0.05, 12 * weights.max())
            assert math.exp(log) == pytest.approx(plain, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_constant_bets_cover_units_that_are_not_alike(delta: float) -> None:
    """A limit for fixed instances with random seeds, or for a mix, would miss more often than δ."""
    rng, tries = np.random.default_rng(8), 4000
    chances, weights = rng.beta(0.4, 0.4, 40), rng.dirichlet(np.full(40, 3.0))
    rows = (rng.random((tries, 40)) < chances).astype(float)
    for shares in (np.full(40, 1 / 40), weights):
        missed = constant.rejects(rows, shares, float(shares @ chances), 1 / delta)
        assert_covers(int(missed.sum()), tries, delta, "constant")
    # A part of the N instances, drawn at random, is judged by the same test.
    part = rng.permuted(np.tile(np.arange(40), (tries, 1)), axis=1)[:, :25]
    missed = constant.rejects(
        np.take_along_axis(rows, part, 1), np.full(25, 1 / 25), float(chances.mean()), 1 / delta
    )
    assert_covers(int(missed.sum()), tries, delta, "part")
    limits = constant.lower(rows[:50], weights, 1 / delta)
    for row, limit in zip(rows[:50], limits, strict=True):
        assert not constant.rejects(row[np.newaxis], weights, limit + 1e-9, 1 / delta)[0]


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_sampling_weights_are_covered(delta: float) -> None:
    """Limits for another distribution than the sampled one would miss more often than δ, or those
    that ignore the weights would not.
    """
    rng, tries, size = np.random.default_rng(18), 2000, 60
    # What is asked about is rare in the second sample: without its weights' true mean, nothing in a
    # sample says that it was missed.
    for chances, sampling, question in (
        ([0.05, 0.3, 0.9], [0.7, 0.25, 0.05], [0.2, 0.4, 0.4]),
        ([0.0, 1.0], [0.99, 0.01], [0.5, 0.5]),
    ):
        true, weights = float(np.dot(question, chances)), np.divide(question, sampling)
        missed = ignored = 0
        for _ in range(tries):
            kind = rng.choice(len(chances), size, p=sampling)
            values = (rng.random(size) < np.array(chances)[kind]).astype(float)
            design = Design(kind="weighted", weights=weights[kind])
            # The upper limit of the cost: the lower one of 1 − cost.
            goal = Goal(values=1 - values, above=1 - true)
            missed += rejects(design, goal, 1 / delta)
            ignored += rejects(Design(kind="fixed"), goal, 1 / delta)
        assert_covers(missed, tries, delta, "weighted")
        assert ignored > 2 * delta * tries


# ---- without replacement -------------------------------------------------------------------------


@BALANCED
def test_sampling_without_replacement_is_what_its_words_say(balanced: bool) -> None:
    """The compiled test would differ from the one in plain Python."""
    rng = np.random.default_rng(9)
    for n in (5, 15, 20):
        for x in (rng.random(n), heavy(rng, (n,))):
            for mean in (0.1, 0.3, 0.6, 0.8, 0.95):
                bets = np.empty(n)
                shown = finite.star_bets(x, mean, 20.0, 20.0, balanced, bets)
                plain = naive.without_replacement_rejects(x.tolist(), mean, 20, 0.05, balanced)
                assert shown == plain


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_realised_results_are_covered(delta: float) -> None:
    """A limit for all N results from a random part would miss more often than δ, in one look or at
    any time; and with all N known it would not be their mean.
    """
    rng, tries = np.random.default_rng(10), 4000
    for population in (heavy(rng, (60,)), (rng.random(60) < 0.3).astype(float)):
        mean = float(population.mean())
        for n in (15, 45, 60):
            rows = rng.permuted(np.tile(population, (tries, 1)), axis=1)[:, :n].copy()
            for balanced in (False, True):
                missed = finite.rejects(rows, mean, 60.0, 1 / delta, balanced)
                assert_covers(int(missed.sum()), tries, delta, f"once, {n}")
            missed = always_rejects(rows, mean, 60.0, 1 / delta)
            assert_covers(int(missed.sum()), tries, delta, f"always, {n}")
        known = finite.lower(rows[:3], 60.0, 1 / delta, False)
        np.testing.assert_allclose(known, mean, rtol=1e-9)
        known = finite.lower_sequence(rows[:3], 60.0, 1 / delta)[:, -1]
        np.testing.assert_allclose(known, mean, rtol=1e-9)


def test_knowing_most_of_a_benchmark_narrows_the_limit() -> None:
    """A limit from three quarters of a benchmark would be as wide as one for new instances."""
    rng = np.random.default_rng(11)
    population = rng.beta(2, 3, 200)
    rows = rng.permuted(np.tile(population, (60, 1)), axis=1)[:, :150].copy()
    margin = np.median(population.mean() - finite.lower(rows, 200.0, 20.0, False))
    assert margin < 0.75 * np.median(population.mean() - betting.star_lower(rows, 20.0))


# ---- mixes ---------------------------------------------------------------------------------------


def test_mixes_are_what_their_words_say() -> None:
    """The averaged capital of label draws would differ from the one in plain Python."""
    rng = np.random.default_rng(12)
    x, starts = rng.random(11), np.array([0, 4, 5, 11])
    labels = rng.choice(3, size=(6, 9), p=[0.5, 0.2, 0.3])
    numbers = np.empty(labels.shape)
    mixing.arrange(x, starts, labels, numbers)
    families = [x[a:b].tolist() for a, b in pairwise(starts)]
    for mean in (0.05, 0.3, 0.7):
        plain = naive.mixed_capital(families, labels.tolist(), mean, mixing.AHEAD * 20)
        capital = mixing.average_capital(numbers, mean, mean, 20.0, math.inf)
        assert capital == pytest.approx(plain, rel=1e-9)
        enough = mixing.average_capital(numbers, mean, mean, 20.0, 20.0)
        assert (enough >= 20) == (capital >= 20)


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_mixes_are_covered(delta: float) -> None:
    """A limit for another mix of the families would miss more often than δ."""
    rng, tries = np.random.default_rng(13), 600
    chances, mix = np.array([0.95, 0.6, 0.1]), np.array([0.1, 0.3, 0.6])
    counts = np.array([12, 12, 12])
    starts = np.array([0, 12, 24, 36])
    labels = mixing.labels_for(counts, mix, 1 / delta, rng)
    mean = float(mix @ chances)
    missed = 0
    for _ in range(tries):
        x = (rng.random(36) < np.repeat(chances, 12)).astype(float)
        missed += mixing.rejects(x, starts, labels, mean, 1 / delta)
    assert_covers(missed, tries, delta, "mix")
    assert mixing.lower(np.ones(36), starts, labels, 1 / delta) > 0.5


# ---- lists ---------------------------------------------------------------------------------------


def test_the_closed_test_looks_at_every_set() -> None:
    """A configuration would be named although some set of hypotheses with it stands."""
    rng = np.random.default_rng(14)
    for _ in range(40):
        values = np.exp(rng.normal(2, 2, 7))
        np.testing.assert_array_equal(
            lists.closed_averages(values, 0.1), naive.closed_test(values.tolist(), 0.1)
        )


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_the_best_remains_and_nobody_beats_its_equal(delta: float) -> None:
    """The truly best of a list would be ruled out, or a configuration no better than the default be
    named, more often than δ; and neither would ever rule out or name anybody.
    """
    rng, tries = np.random.default_rng(15), 600
    chances = np.array([0.3, 0.3, 0.35, 0.8, 0.3, 0.9])
    lost = named = out = beaten = 0
    for _ in range(tries):
        hard = rng.random(60) < 0.5
        rows = (rng.random((6, 60)) < np.where(hard, 1.0, 0.6) * chances[:, np.newaxis]).astype(
            float
        )
        best = lists.may_be_best(rows, delta)
        lost += not best[0]  # of three that are equally good, any one
        out += not best[3]
        better = lists.beat(rows[[0, 1, 2, 3]], rows[4], delta)
        named += bool(better.any())
        beaten += bool(lists.beat(rows[[0, 1, 2, 4]], rows[5], delta).all())
    assert_covers(lost, tries, delta, "best")
    assert_covers(named, tries, delta, "named")
    assert out > 0.7 * tries
    assert beaten > 0.7 * tries


def test_shares_of_a_list_add_up() -> None:
    """Shares of δ would not add up to 1, or would not favour the configuration that looks best."""
    rng = np.random.default_rng(16)
    rows = rng.random((5, 12))
    rows[2] *= 0.2
    rows[0, :6] = np.nan
    shares = lists.shares(rows, rng)
    assert shares.sum() == pytest.approx(1)
    assert shares.argmax() == 2
    assert shares.min() >= lists.UNIFORM / 5


# ---- groups --------------------------------------------------------------------------------------


def families(rng: np.random.Generator, effect: float) -> tuple[FloatArray, list[int]]:
    """Costs of two configurations on families of unequal sizes."""
    labels = np.repeat(np.arange(12), rng.integers(2, 15, 12))
    centre = effect * rng.standard_normal(12)[labels]
    return centre + rng.standard_normal((2, labels.size)), labels.tolist()


def test_labels_without_a_meaning_are_seldom_taken_for_families() -> None:
    """Many groupings and variables together would raise a false alarm more often than 1 %."""
    rng, alarms = np.random.default_rng(17), 0
    for _ in range(400):
        values, labels = families(rng, 0.0)
        by = {
            str(k): rng.permutation(labels).tolist()
            if k % 2
            else rng.integers(0, k + 2, len(labels)).tolist()
            for k in range(6)
        }
        answer = grouping.alike(values, by, rng=rng, permutations=99)
        alarms += answer is not None and answer.significant
    assert_covers(alarms, 400, grouping.LEVEL, "alarms")


def test_families_are_noticed() -> None:
    """Families that matter would go unnoticed, or another grouping be named."""
    rng = np.random.default_rng(18)
    values, labels = families(rng, 1.5)
    noise = rng.permutation(labels).tolist()
    answer = grouping.alike(
        values, {"noise": noise, "family": labels, "all": [0] * len(labels)}, rng=rng
    )
    assert answer is not None
    assert answer.significant
    assert (answer.grouping, answer.groups) == ("family", 12)
    assert answer.design_effect > 2
    assert grouping.alike(values, {"all": [0] * len(labels)}, rng=rng) is None
    assert grouping.alike(np.ones(6), {"a": [0, 0, 0, 1, 1, 1]}, rng=rng) is None


def test_nested_components_are_unbiased_for_unequal_families() -> None:
    """Variance between families would be mistaken where the size of a family goes with its cost."""
    rng, estimates = np.random.default_rng(19), []
    for _ in range(1500):
        centre = rng.standard_normal(8)
        sizes = np.where(centre > 0, 9, 3)  # hard families are larger
        labels = np.repeat(np.arange(8), sizes)
        instances = centre[labels] + 0.7 * rng.standard_normal(labels.size)
        runs = instances[:, np.newaxis] + 0.5 * rng.standard_normal((labels.size, 3))
        runs[rng.random(runs.shape) < 0.15] = np.nan
        runs[:, 0] = np.where(np.isnan(runs).all(axis=1), instances, runs[:, 0])
        nested = grouping.nested_components(runs, labels.tolist())
        assert nested is not None
        estimates.append((nested.families, nested.instances, nested.seeds))
    mean = np.mean(estimates, axis=0)
    error = np.std(estimates, axis=0) / math.sqrt(len(estimates))
    assert (np.abs(mean - [1.0, 0.49, 0.25]) < 4 * error + 0.003).all(), (mean, error)


# ---- limits of samples with a design -----------------------------------------------------------


def paired(rng: np.random.Generator, n: int, runs: int = 2) -> Sample:
    """Two configurations on n instances."""
    hard = rng.beta(1, 2, (n, 1))
    costs = [np.clip(hard + 0.2 * rng.random((n, runs)), 0, 1) for _ in range(2)]
    return Sample.of(*costs, low=0.0, high=1.0)


QUANTITIES = pytest.mark.parametrize(
    "quantity",
    [quantities.MEAN, quantities.DIFFERENCE, quantities.RATIO, quantities.WINS,
     quantities.quantile(0.5), quantities.speed_up()],
    ids=lambda quantity: quantity.name,
)  # fmt: skip


@QUANTITIES
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_families_of_one_instance_are_instances(quantity: quantities.Quantity, side: Side) -> None:
    """A family would count otherwise than as one unit."""
    sample = paired(np.random.default_rng(20), 30)
    alone = Design(unit="family", groups=np.arange(30))
    one = limits.limit(quantity, sample, side, 0.05)
    two = limits.limit(quantity, replace(sample, design=alone), side, 0.05)
    assert two.value == pytest.approx(one.value, rel=1e-12)
    assert two.instances == 30
    assert two.observed == pytest.approx(one.observed)


@QUANTITIES
def test_instances_that_are_copies_do_not_count_twice(quantity: quantities.Quantity) -> None:
    """Ten copies of every instance in a family would make a limit narrower."""
    sample = paired(np.random.default_rng(21), 15)
    copies = sample[np.repeat(np.arange(15), 10)]
    family = Design(unit="family", groups=np.repeat(np.arange(15), 10))
    one = limits.limit(quantity, sample, quantity.side, 0.05)
    two = limits.limit(quantity, replace(copies, design=family), quantity.side, 0.05)
    assert two.value == pytest.approx(one.value, rel=1e-9)


def test_the_order_of_families_depends_on_no_size() -> None:
    """Large families would come first, and with them whatever goes with size."""
    groups = np.repeat([0, 1], [1, 30])
    first = 0
    for seed in range(400):
        order = np.random.default_rng(seed).permutation(31)
        shuffled = Design(groups=groups).shuffled(order).groups
        assert shuffled is not None
        assert len(np.unique(shuffled[order.argsort()][1:])) == 1  # a family stays together
        first += shuffled[order.argsort()][0] == 0
    assert 150 < first < 250


@QUANTITIES
@pytest.mark.parametrize(
    "design",
    [
        Design(kind="mix", strata=np.arange(60) % 3, mix=np.array([0.6, 0.3, 0.1])),
        Design(kind="fixed"),
        Design(kind="without replacement", population=80),
    ],
    ids=lambda design: design.kind,
)
def test_every_quantity_has_limits_under_every_design(
    quantity: quantities.Quantity, design: Design
) -> None:
    """A quantity would have no limit for a mix or a benchmark, or one beyond what was observed."""
    sample = replace(paired(np.random.default_rng(22), 60), design=design)
    lower, upper = (limits.limit(quantity, sample, side, 0.05) for side in ("lower", "upper"))
    assert lower.value <= lower.observed
    assert upper.observed <= upper.value
    assert np.isfinite([lower.value, upper.value]).all()
    assert upper.assumptions


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_families_are_covered_and_instances_are_not(delta: float) -> None:
    """Limits for new families would miss more often than δ; those that take instances for units
    do, which shows that this test can fail.
    """
    rng, tries, missed, naive_missed = np.random.default_rng(23), 400, 0, 0
    for _ in range(tries):
        chances = rng.beta(0.5, 0.5, 12)
        # Hard families are larger.
        groups = np.repeat(np.arange(12), np.where(chances > 0.5, 12, 4))
        costs = (rng.random(groups.size) < chances[groups]).astype(float)
        sample = Sample.of(costs, low=0.0, high=1.0)
        family = replace(sample, design=Design(unit="family", groups=groups))
        missed += limits.limit(quantities.MEAN, family, "upper", delta).value < 0.5
        naive_missed += limits.limit(quantities.MEAN, sample, "lower", delta).value > 0.5
    assert_covers(missed, tries, delta, "families")
    assert naive_missed > 1.5 * delta * tries


# ---- folds ---------------------------------------------------------------------------------------


def test_the_corrected_interval_is_the_published_formula() -> None:
    """The corrected resampled t would be computed with another variance."""
    values = [0.1, 0.3, 0.2, 0.25, 0.15]
    answer = folds.corrected_t(values, delta=0.05)
    error = math.sqrt(np.var(values, ddof=1) * (1 / 5 + 1 / 4))
    assert answer.standard_error == pytest.approx(error)
    assert answer.upper - answer.estimate == pytest.approx(2.7764451051977987 * error)
    assert folds.corrected_t(values * 4, test_over_train=1 / 4).standard_error > error * 0.6
    for bad in ([1.0], [1.0, math.nan]):
        with pytest.raises(InputError, match="folds"):
            folds.corrected_t(bad)
