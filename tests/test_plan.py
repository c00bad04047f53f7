import json
import math
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest, ttest_1samp

from truecost import CostMatrix, InputError, bounds, even, plan
from truecost.plan import power as apart
from truecost.plan import schedules as schedule
from truecost.stats.allocation import Allocation, even_sizes
from truecost.stats.variance import VarianceComponents, variance_components

Array = NDArray[Any]
WINDOW = 100


def known(within: float, across: float) -> VarianceComponents:
    """Assumed components."""
    return VarianceComponents.known(within=within, across=across)


def every_pair(most: int = WINDOW) -> tuple[Array, Array]:
    """All K and N with 1 ≤ K ≤ N ≤ most."""
    instances, runs = np.meshgrid(np.arange(1, most + 1), np.arange(1, most + 1))
    kept = instances <= runs
    return instances[kept], runs[kept]


def naive_error(instances: Array, runs: Array, within: float, across: float) -> Array:
    """Lemma 2 with r instances of q + 1 runs and the others of q."""
    share, odd = np.divmod(runs, instances)
    squares = odd * (share + 1) ** 2 + (instances - odd) * share**2
    return np.asarray(np.sqrt(within / runs + across * squares / runs**2))


def naive_bound(instances: Array, runs: Array, within: float, across: float, m: int) -> Array:
    """Theorem 2 for costs in [0, 10], δ = 0.1."""
    bound = bounds.finite(
        allocation=even_sizes(runs, instances),
        components=known(within, across),
        width=10,
        delta=0.1,
        configurations=m,
    )
    return np.asarray(bound.epsilon)


COMPONENTS = st.sampled_from([0.0, 0.01, 0.3, 1.0, 2.5, 7.0])
PRICES = st.sampled_from([0.0, 0.5, 1.0, 3.0, 20.0])
LIMITS = st.sampled_from([None, 1, 2, 7, 30])


@settings(max_examples=80, deadline=None, derandomize=True)
@given(COMPONENTS, COMPONENTS, PRICES, LIMITS, st.integers(1, 3), st.floats(0.35, 3), st.booleans())
def test_the_cheapest_is_the_cheapest_of_all(
    within: float,
    across: float,
    price: float,
    limit: int | None,
    m: int,
    target: float,
    bounded: bool,
) -> None:
    """A pair that reaches the error or bound for less money would exist, or the recommended one
    would not reach it.
    """
    instances, runs = every_pair()
    errors = (
        naive_bound(instances, runs, within, across, m)
        if bounded
        else naive_error(instances, runs, within, across)
    )
    prices = 2 * m * runs + price * instances
    allowed = (errors <= target * (1 + 1e-11)) & (instances <= (limit or WINDOW))
    asked: dict[str, Any] = {"bound": target} if bounded else {"error": target}
    asked |= {"components": known(within, across), "width": 10, "delta": 0.1, "configurations": m}
    asked |= {"price_run": 2, "price_instance": price, "instances": limit}
    least = prices[allowed].min() if allowed.any() else math.inf
    try:
        found = plan.runs_needed(**asked)
    except InputError:
        assert least == math.inf
        return
    assert found.price <= least * (1 + 1e-12)
    if found.runs <= WINDOW:
        chosen = (instances == found.instances) & (runs == found.runs)
        assert allowed[chosen].all()
        assert found.price == pytest.approx(least)
        bound = found.bound
        assert bound is not None
        assert (bound.epsilon if bounded else found.standard_error) == pytest.approx(
            errors[chosen].item(), rel=1e-9
        )


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    COMPONENTS, COMPONENTS, PRICES, LIMITS, st.integers(1, 3), st.integers(10, 760), st.booleans()
)
def test_the_best_for_a_budget_is_the_best_of_all(
    within: float,
    across: float,
    price: float,
    limit: int | None,
    m: int,
    quarters: int,
    bounded: bool,
) -> None:
    """A pair within the budget would have a smaller error, or the recommended one would exceed the
    budget.
    """
    instances, runs = every_pair()
    errors = (
        naive_bound(instances, runs, within, across, m)
        if bounded
        else naive_error(instances, runs, within, across)
    )
    budget = quarters / 4
    allowed = (2 * m * runs + price * instances <= budget) & (instances <= (limit or WINDOW))
    asked: dict[str, Any] = {
        "components": known(within, across),
        "width": 10,
        "delta": 0.1,
        "configurations": m,
    }
    asked |= {
        "price_run": 2,
        "price_instance": price,
        "instances": limit,
        "minimise": "bound" if bounded else "error",
    }
    if not allowed.any():
        with pytest.raises(InputError, match="budget"):
            plan.best_for(budget=budget, **asked)
        return
    found = plan.best_for(budget=budget, **asked)
    assert found.price <= budget * (1 + 1e-9)
    assert found.bound is not None
    reached = found.bound.epsilon if bounded else found.standard_error
    assert reached == pytest.approx(errors[allowed].min(), rel=1e-9, abs=1e-12)


def test_large_plans_agree_with_the_classical_optimum() -> None:
    """For large K the exact search would leave the textbook optimum and its price."""
    for within, across, price in ((400, 50, 20), (50, 400, 100), (90, 10, 1), (1, 5, 2)):
        found = plan.runs_needed(components=known(within, across), error=0.1, price_instance=price)
        # The least of (run + instance/n)·(within + n·across)/v over all real n ≥ 1.
        n = max(1.0, math.sqrt(price * within / across))
        least = (n + price) * (within / n + across) / 0.1**2
        assert least * (1 - 1e-9) <= found.price <= least * 1.02
        assert found.classical_runs_per_instance == pytest.approx(n)
        assert abs(found.runs_per_instance - n) < 1


def test_a_long_search_is_short() -> None:
    """A plan for millions of instances that cost something would try them all."""
    found = plan.runs_needed(components=known(3e4, 2e4), error=0.01, price_instance=7)
    least = (math.sqrt(3e4) + math.sqrt(7 * 2e4)) ** 2 / 0.01**2
    assert least <= found.price <= 1.02 * least
    assert found.instances > 10**8


def test_more_is_never_worse() -> None:
    """A tighter error would cost less, or more money or more instances give a larger error."""
    components = known(3.0, 2.0)
    asked: dict[str, Any] = {"components": components, "price_instance": 4.0}
    costs = [plan.runs_needed(error=e, **asked).price for e in np.linspace(2, 0.1, 40)]
    assert costs == sorted(costs)
    errors = [plan.best_for(budget=b, **asked).standard_error for b in np.linspace(5, 400, 80)]
    assert errors == sorted(errors, reverse=True)
    by_limit = [plan.runs_needed(error=0.5, instances=k, **asked).price for k in range(9, 40)]
    assert by_limit == sorted(by_limit, reverse=True)


def test_noise_of_one_kind_only() -> None:
    """Without noise within instances they would be run twice; without noise across, more than one
    would be bought.
    """
    nothing = plan.runs_needed(components=known(0, 0), error=0.1, price_instance=5, width=1)
    assert (nothing.instances, nothing.runs, nothing.standard_error) == (1, 1, 0)
    assert nothing.bound is not None
    assert nothing.bound.epsilon == 0
    hard = plan.runs_needed(components=known(0, 4), error=0.5, price_instance=50)
    assert (hard.instances, hard.runs, hard.classical_runs_per_instance) == (16, 16, 1)
    noisy = plan.runs_needed(components=known(4, 0), error=0.5, price_instance=50)
    assert (noisy.instances, noisy.runs, noisy.classical_runs_per_instance) == (1, 16, math.inf)
    free = plan.runs_needed(components=known(4, 0), error=0.5)
    assert (free.instances, free.runs) == (16, 16)


def test_estimates_below_zero_count_as_zero() -> None:
    """A raw across below 0 would make errors too small, or the caveat of estimates be lost."""
    costs = np.array([[[0.0, 4.0], [1.0, 3.0], [4.0, 0.0]]])
    components = variance_components(CostMatrix(costs, ["a"], ["x", "y", "z"], 0, 5))
    assert components.across.item() < 0
    found = plan.runs_needed(components=components, error=1)
    assert (found.across, found.runs) == (0, math.ceil(components.within.item()))
    assert not found.guaranteed
    assert "plug-in" in found.caveat
    assert "far too small" not in found.caveat
    assert (
        "K may be far too small"
        in plan.runs_needed(components=components, error=1, price_instance=5).caveat
    )
    told = plan.runs_to_tell_apart(components=components, difference=1, price_instance=50)
    assert told.runs_each > 1
    assert "K may be far too small" in told.caveat
    assert (
        "far too small" not in plan.runs_to_tell_apart(components=components, difference=1).caveat
    )
    assert plan.runs_needed(components=known(1, 1), error=1).guaranteed


def test_a_limit_that_is_too_low_says_so() -> None:
    """Too few instances would be answered by billions of runs, or by no word of how many it takes."""
    with pytest.raises(InputError, match="it takes at least 17 instances") as refused:
        plan.runs_needed(components=known(1, 4), error=0.5, instances=9)
    assert "0.666667" in str(refused.value)
    at_last = plan.runs_needed(components=known(1, 4), error=0.5, instances=17)
    assert at_last.instances == 17
    assert at_last.standard_error <= 0.5


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=12).filter(any), COMPONENTS, COMPONENTS)
def test_waste_by_hand(counts: list[int], within: float, across: float) -> None:
    """What an allocation pays over S* would not be what Lemma 2 says, or fewer runs of S* would do."""
    runs, size = sum(counts), len(counts)

    def variance(numbers: list[int]) -> float:
        return within / sum(numbers) + across * sum(n * n for n in numbers) / sum(numbers) ** 2

    found = plan.wasted(
        allocation=Allocation.of(counts),
        components=known(within, across),
        price_instance=3,
        instances=size,
    )
    assert found.standard_error == pytest.approx(math.sqrt(variance(counts)))
    assert found.even_standard_error == pytest.approx(
        math.sqrt(variance(even(runs, size).counts.tolist()))
    )
    assert (found.runs, found.instances) == (runs, sum(n > 0 for n in counts))
    enough = [
        n
        for n in range(1, runs + 1)
        if variance(even(n, size).counts.tolist()) <= variance(counts) * (1 + 1e-12)
    ]
    assert found.even_runs == enough[0]
    assert found.price == runs + 3 * found.instances
    assert found.same_price.price <= found.price + 1e-9
    assert found.same_price.standard_error <= found.standard_error * (1 + 1e-9)
    if found.same_error is not None:
        assert found.same_error.price <= found.price * (1 + 1e-12)
        assert found.same_error.standard_error <= found.standard_error * (1 + 1e-9)
    if found.even_standard_error > 0:
        assert found.variance_ratio == pytest.approx(
            variance(counts) / variance(even(runs, size).counts.tolist())
        )
        assert found.variance_ratio >= 1 - 1e-12


def test_the_curve_answers_the_same_question() -> None:
    """A row of the curve would miss the error or the budget, or be better than what is recommended."""
    components = known(5.0, 3.0)
    goal = plan.runs_needed(components=components, error=0.3, price_instance=6, width=10)
    budget = plan.best_for(budget=500, components=components, price_instance=6, width=10)
    for found in (goal, budget):
        curve = found.curve
        assert found.instances in curve.instances
        assert curve.instances.size >= 6
        assert curve.standard_error == pytest.approx(naive_error(curve.instances, curve.runs, 5, 3))
        assert curve.bound.min() > 0
        assert curve.price == pytest.approx(curve.runs + 6 * curve.instances)
    assert (goal.curve.standard_error <= 0.3).all()
    assert goal.curve.price.min() == goal.price
    assert (budget.curve.price <= 500).all()
    assert budget.curve.standard_error.min() == pytest.approx(budget.standard_error)


def test_the_standard_error_is_what_happens() -> None:
    """Plans would promise a standard error that simulated training costs do not have."""
    rng = np.random.default_rng(5)
    for within, across, price in ((9.0, 1.0, 4.0), (2.0, 6.0, 0.0), (20.0, 1.0, 8.0)):
        found = plan.runs_needed(components=known(within, across), error=0.5, price_instance=price)
        counts = even(found.runs, found.instances).counts
        repeats = 4000
        means = rng.normal(0, math.sqrt(across), (repeats, found.instances)) * counts
        noise = rng.normal(0, 1, (repeats, found.instances)) * np.sqrt(within * counts)
        errors = np.abs((means + noise).sum(axis=1) / found.runs)
        # Half of normal errors are below 0.6745 standard errors.
        inside = int((errors < 0.67449 * found.standard_error).sum())
        assert binomtest(inside, repeats, 0.5).pvalue > 1e-3


def test_plans_refuse_nonsense() -> None:
    """Input without an answer would get one."""
    both = VarianceComponents.known(within=[1, 2], across=[1, 2])
    single = variance_components(CostMatrix(np.array([[[1.0]]]), ["a"], ["x"], 0, 5))
    good: dict[str, Any] = {"components": known(1, 1), "error": 0.5}
    for wrong in (
        {"error": 0},
        {"error": -1},
        {"error": math.nan},
        {"error": math.inf},
        {"error": 1e-9},
        {"error": None},
        {"bound": 1.0},
        {"error": None, "bound": 1.0},
        {"error": None, "bound": 1.0, "width": -1},
        {"components": both},
        {"components": single},
        {"price_run": 0},
        {"price_run": math.inf},
        {"price_instance": -1},
        {"price_instance": math.nan},
        {"instances": 0},
        {"configurations": 0},
        {"delta": 1},
    ):
        with pytest.raises(InputError):
            plan.runs_needed(**{**good, **wrong})
    for budget in (0, -1, math.nan, math.inf, 0.5):
        with pytest.raises(InputError):
            plan.best_for(components=known(1, 1), budget=budget)
    with pytest.raises(InputError):
        plan.best_for(components=known(1, 1), budget=5, minimise="variance")


# ---- telling two apart ---------------------------------------------------------------------------


def rejections(
    rng: np.random.Generator,
    found: apart.Power,
    within: float,
    across: float,
    difference: float,
    repeats: int,
) -> int:
    """How often the paired t-test finds a difference, on simulated normal runs."""
    spread = rng.normal(difference, math.sqrt(across), (repeats, found.instances))
    noise = rng.normal(0, math.sqrt(within / found.runs_each), (repeats, found.instances))
    return int(np.sum(ttest_1samp(spread + noise, 0, axis=1).pvalue < found.level))


def test_the_power_is_what_happens() -> None:
    """Two configurations would be told apart less often than planned, or found different too often
    when they are not.
    """
    rng = np.random.default_rng(8)
    for within, across, price in ((4.0, 1.0, 0.0), (30.0, 1.0, 10.0), (0.0, 5.0, 2.0)):
        found = apart.runs_to_tell_apart(
            components=known(within, across),
            difference=1.2,
            power=0.9,
            level=0.1,
            price_instance=price,
        )
        assert found.runs == 2 * found.runs_each * found.instances
        repeats = 4000
        seen = rejections(rng, found, within, across, 1.2, repeats)
        assert binomtest(seen, repeats, found.power).pvalue > 1e-3
        assert binomtest(seen, repeats, 0.9, alternative="less").pvalue > 1e-3
        false = rejections(rng, found, within, across, 0.0, repeats)
        assert binomtest(false, repeats, 0.1).pvalue > 1e-3


def test_fewer_runs_would_not_do() -> None:
    """More would be asked for than the power needs, or a cheaper way be missed."""
    from scipy.stats import nct, t

    def power(number: int, sd: float) -> float:
        shift, limit = math.sqrt(number) * 0.7 / sd, t.ppf(0.975, number - 1)
        return float(nct.sf(limit, number - 1, shift) + nct.cdf(-limit, number - 1, shift))

    for within, across, price, limit in (
        (3.0, 0.5, 6.0, None),
        (3.0, 0.5, 0.0, None),
        (3.0, 0.2, 0.0, 12),
        (1.0, 1.0, 1.0, 25),
    ):
        found = apart.runs_to_tell_apart(
            components=known(within, across), difference=-0.7, price_instance=price, instances=limit
        )
        pairs = [
            (2 * each * number + price * number, each, number)
            for each in range(1, 13)
            for number in range(2, (limit or 90) + 1)
            if power(number, math.sqrt(across + within / each)) >= 0.8
        ]
        assert found.price == min(pairs)[0]
        assert found.power == pytest.approx(
            power(found.instances, math.sqrt(across + within / found.runs_each)), abs=1e-6
        )
        assert found.power >= 0.8


def test_extreme_differences() -> None:
    """A difference without noise would take many instances, and one out of reach a long time
    instead of a word.
    """
    sure = apart.runs_to_tell_apart(components=known(0, 0), difference=1, level=1e-6, power=0.999)
    assert (sure.instances, sure.runs_each, sure.runs) == (2, 1, 4)
    with pytest.raises(InputError, match="instances can show"):
        apart.runs_to_tell_apart(components=known(0, 100), difference=0.1, instances=50)
    for tiny in (1e-9, 1e-200, 5e-324):
        for components in (known(1, 1), known(1, 0)):
            with pytest.raises(InputError, match="instances can show"):
                apart.runs_to_tell_apart(components=components, difference=tiny)
    for wrong in (
        {"difference": 0},
        {"difference": math.nan},
        {"power": 1},
        {"power": 0.01},
        {"level": 0},
        {"instances": 1},
    ):
        with pytest.raises(InputError):
            apart.runs_to_tell_apart(**{"components": known(1, 1), "difference": 1.0, **wrong})  # type: ignore[arg-type]


def test_pairs_are_pairs() -> None:
    """Differences would be taken between different instances or runs, or with runs that one of the
    two lacks.
    """
    costs = np.array(
        [[[5.0, 4.0], [3.0, np.nan], [1.0, 1.0]], [[1.0, 1.0], [2.0, 2.0], [np.nan, np.nan]]]
    )
    matrix = CostMatrix(costs, ["a", "b"], ["x", "y", "z"], 0, 5)
    found = apart.paired_differences(matrix, "a", "b")
    assert found.instances == ("x", "y")
    assert np.array_equal(found.costs[0], np.array([[4, 3], [1, np.nan]]), equal_nan=True)
    assert (found.low, found.high) == (-5, 5)
    with pytest.raises(InputError, match="twice"):
        apart.paired_differences(matrix, "a", "a")
    with pytest.raises(InputError, match="two common instances"):
        apart.paired_differences(matrix.select(instances=["y", "z"]), "a", "b")


def test_shared_seeds_count() -> None:
    """What two configurations share on an instance would be counted as noise of their difference."""
    rng = np.random.default_rng(3)
    shared = rng.normal(50, 10, (1, 60, 1)) + rng.normal(0, 5, (1, 60, 4))
    costs = np.concatenate([shared, shared + rng.normal(1, 0.5, (1, 60, 4))])
    components = variance_components(
        apart.paired_differences(
            CostMatrix(costs, ["a", "b"], map(str, range(60)), -1e3, 1e3), "a", "b"
        )
    )
    assert components.total.item() == pytest.approx(0.25, rel=0.3)
    assert apart.runs_to_tell_apart(components=components, difference=1).instances < 10


# ---- schedules -----------------------------------------------------------------------------------


def even_all_along(names: list[str], available: int) -> bool:
    """Whether after every run the counts of all instances differ by at most one."""
    counts = Counter(dict.fromkeys(range(available), 0))
    places: dict[str, int] = {}
    for name in names:
        counts[places.setdefault(name, len(places))] += 1
        if max(counts.values()) - min(counts.values()) > 1:
            return False
    return True


@pytest.fixture
def drawn() -> schedule.Schedule:
    """23 runs on 7 of 9 instances."""
    return schedule.draw(
        [f"dir/i{n}.cnf" for n in range(9)], instances=7, runs=23, rng=np.random.default_rng(4)
    )


def test_irace_reads_the_order(drawn: schedule.Schedule) -> None:
    """irace would read other instances, or in an order whose counts are not even."""
    lines = [line.split("#")[0].lstrip() for line in schedule.export(drawn, "irace").splitlines()]
    instances = [line for line in lines if line]
    assert instances == list(drawn.order)
    assert len(set(instances)) == 7
    # sampleInstances = 0: the list as it is, again and again.
    assert even_all_along((instances * 4)[:23], 7)
    assert "sampleInstances = 0" in schedule.how_to_use(drawn, "irace", "order.txt")


def test_paramils_reads_the_pairs(drawn: schedule.Schedule) -> None:
    """ParamILS would run an instance twice with one seed, or more often than another."""
    pairs = [line.split(" ") for line in schedule.export(drawn, "paramils").splitlines()]
    assert all(len(pair) == 2 for pair in pairs)
    assert even_all_along([name for _, name in pairs], 7)
    assert len(pairs) == 23
    seeds = [int(seed) for seed, _ in pairs]
    assert len(set(seeds)) == 23
    assert all(0 < seed < 2**31 for seed in seeds)
    assert "-N 23" in schedule.how_to_use(drawn, "paramils", "pairs.txt")


def test_smac_takes_the_list(drawn: schedule.Schedule, tmp_path: Path) -> None:
    """SMAC3 would evaluate a configuration on other instances, or not evenly, or not N times."""
    (tmp_path / "plan.json").write_text(schedule.export(drawn, "smac"))
    read = json.loads((tmp_path / "plan.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SMAC's own, and those of what it imports
        from ConfigSpace import ConfigurationSpace
        from smac import AlgorithmConfigurationFacade, Scenario
        from smac.runhistory import RunHistory

        scenario = Scenario(
            ConfigurationSpace({"x": (0.0, 1.0)}),
            instances=read["instances"],
            deterministic=read["deterministic"],
            output_directory=tmp_path,
        )
        intensifier = AlgorithmConfigurationFacade.get_intensifier(
            scenario, max_config_calls=read["max_config_calls"]
        )
        intensifier.runhistory = RunHistory()
        intensifier.__post_init__()
        keys = intensifier.get_instance_seed_keys_of_interest()
    assert len(keys) == len(set(keys)) == 23
    assert even_all_along([str(key.instance) for key in keys], 7)
    assert {key.instance for key in keys} == set(drawn.order)
    runs = [tuple(run) for run in read["runs"]]
    assert len(set(runs)) == 23
    assert even_all_along([name for name, _ in runs], 7)
    # One seed a round, as SMAC3 has it.
    assert [len({seed for _, seed in runs[start : start + 7]}) for start in range(0, 23, 7)] == [
        1,
        1,
        1,
        1,
    ]


def test_the_order_is_drawn(drawn: schedule.Schedule) -> None:
    """The first instances of a folder would always be chosen, or a seed not give the same schedule."""
    names = [f"i{n}" for n in range(20)]
    chosen = Counter(
        name
        for s in range(400)
        for name in schedule.draw(names, instances=5, runs=5, rng=np.random.default_rng(s)).order
    )
    assert all(binomtest(chosen[name], 400, 0.25).pvalue > 1e-4 for name in names)
    again = schedule.draw(
        [f"dir/i{n}.cnf" for n in range(9)], instances=7, runs=23, rng=np.random.default_rng(4)
    )
    assert again == drawn


def test_names_that_a_format_cannot_hold_are_refused() -> None:
    """A name with a blank or line end would become two, or its end a comment, without a word."""
    rng = np.random.default_rng(1)

    def of(name: str) -> schedule.Schedule:
        return schedule.draw([name, "other"], instances=2, runs=2, rng=rng)

    for name in (
        "two words",
        "two\nlines",
        "tab\tbed",
        " led",
        "",
        "nul\0",
        "\u2028",
        "nbsp\u00a0",
    ):
        for kind in ("irace", "paramils"):
            with pytest.raises(InputError, match="names without"):
                schedule.export(of(name), kind)
        assert name in json.loads(schedule.export(of(name), "smac"))["instances"]
    with pytest.raises(InputError, match="'#'"):
        schedule.export(of("a#b"), "irace")
    assert "a#b" in schedule.export(of("a#b"), "paramils")
    assert "größe.cnf" in schedule.export(of("größe.cnf"), "irace")


def test_schedules_refuse_nonsense() -> None:
    """A schedule would run an instance that is not there, or one that is there twice."""
    rng = np.random.default_rng(1)
    for names, instances, runs in (
        (["a", "b"], 3, 3),
        (["a", "a"], 1, 1),
        (["a", "b"], 2, 1),
        ([], 1, 1),
        (["a"], 0, 0),
        (["a"], 1, 10**8),
    ):
        with pytest.raises(InputError):
            schedule.draw(names, instances=instances, runs=runs, rng=rng)
    with pytest.raises(InputError, match="one of irace, paramils, smac"):
        schedule.export(schedule.draw(["a"], instances=1, runs=1, rng=rng), "gga")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        schedule.Schedule(order=("a", "a"), seeds=(1, 2))
    with pytest.raises(InputError):
        schedule.Schedule(order=("a", "b"), seeds=(1,))
