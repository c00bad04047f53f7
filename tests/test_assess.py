"""An assessment: its estimates against known truth, its statements at their rate, its arithmetic by
hand.
"""

import math
from itertools import combinations
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from truecost.errors import InputError, Refusal
from truecost.examples import path_of
from truecost.importers.detect import import_runs
from truecost.judge.assessment import Assessment, Part
from truecost.judge.costs import costs_of, difficulty
from truecost.judge.optimism import over_tuning, selection_errors
from truecost.judge.question import Chosen
from truecost.matrix import CostMatrix
from truecost.runs import Step, Trajectory
from truecost.show.document import Context, audited
from truecost.stats.allocation import even
from truecost.stats.synthetic import RuntimeModel, runtime_model
from truecost.verbs import assess, audit

REPETITIONS = 300
LUCK = 1e-4
BEFOREHAND = Trajectory(tool="random search", proposed="beforehand", raced=False, default="default")
ADAPTIVE = Trajectory(tool="a configurator", proposed="adaptively", default="default")
LOGS = Path(__file__).parents[2] / "shared" / "data" / "irace"
PARTS: tuple[Part, ...] = get_args(Part)


def over_tuned(configurations: int = 40, quality: float = 0.0) -> RuntimeModel:
    """A model in which configurations differ by nothing, or by this much."""
    rng = np.random.default_rng(3)
    return runtime_model(
        configurations=configurations,
        rng=rng,
        quality=quality,
        timeout_rate=0.35,
        interaction_share=0.9,
        within_share=0.3,
    )


def fresh(model: RuntimeModel, rng: np.random.Generator, instances: int = 60) -> CostMatrix:
    """Runs on instances with names of their own."""
    drawn = model.draw(instances=instances, runs=1, rng=rng)
    return CostMatrix(
        drawn.costs,
        drawn.configurations,
        [f"new-{i}" for i in range(instances)],
        drawn.low,
        drawn.high,
    )


def by_hand(costs: list[list[float]], letter: str = "i", high: float = 10) -> CostMatrix:
    """A matrix of a few costs; configurations a, b, c."""
    instances = [f"{letter}{i}" for i in range(len(costs[0]))]
    return CostMatrix(np.array(costs, float), ["a", "b", "c"][: len(costs)], instances, 0, high)


@pytest.mark.parametrize("way", ["from-list", "test", "on-part"])
def test_statements_hold_where_over_tuning_was_planted(way: str) -> None:
    """The limit would miss the true cost, or a lucky configuration be called better than the
    default, beyond δ.
    """
    model, rng, delta = over_tuned(), np.random.default_rng(1), 0.2
    missed = alarms = promising = 0
    trajectory = {"test": ADAPTIVE, "from-list": BEFOREHAND, "on-part": None}[way]
    for _ in range(REPETITIONS):
        matrix = model.draw(instances=50, runs=1, rng=rng)
        test = fresh(model, rng) if way == "test" else None
        chosen: Chosen | None = "on-part" if way == "on-part" else None
        found = assess(
            matrix,
            default="default",
            trajectory=trajectory,
            test=test,
            chosen=chosen,
            delta=delta,
            splits=2,
        )
        assert found.certificate is not None
        true = model.true_cost[matrix.configurations.index(found.certificate.configuration)]
        missed += found.certificate.upper < true
        # All are equally good: whoever is called better is a false alarm.
        alarms += found.better
        promising += found.costs.training[found.place] < 0.8 * true
    assert promising > REPETITIONS / 2
    for count in (missed, alarms):
        assert binomtest(count, REPETITIONS, delta, alternative="greater").pvalue > LUCK


def test_worse_configurations_are_called_worse_at_their_rate() -> None:
    """An equally good configuration would be called worse than the default more often than δ, or a
    worse one never.
    """
    model, rng, delta = over_tuned(2), np.random.default_rng(5), 0.2
    alarms = 0
    for _ in range(REPETITIONS):
        matrix = model.draw(instances=50, runs=1, rng=rng)
        found = assess(
            matrix,
            configuration=matrix.configurations[1],
            default="default",
            chosen="before",
            delta=delta,
        )
        assert found.comparison is not None
        alarms += found.comparison.grade == "worse"
    assert binomtest(alarms, REPETITIONS, delta, alternative="greater").pvalue > LUCK
    worse = CostMatrix(
        np.array([[1.0] * 40, [8.0] * 40]), ["default", "bad"], [f"i{i}" for i in range(40)], 0, 10
    )
    found = assess(worse, configuration="bad", default="default", chosen="before")
    assert found.comparison is not None
    assert found.comparison.grade == "worse"


def test_better_configurations_are_found_better() -> None:
    """The verdict would never say yes."""
    model, rng = over_tuned(quality=0.8), np.random.default_rng(2)
    default = int(np.argsort(model.true_cost)[30])
    found = 0
    for _ in range(20):
        matrix = model.draw(instances=100, runs=1, rng=rng)
        judged = assess(
            matrix, default=matrix.configurations[default], chosen="from-list", splits=2
        )
        assert (
            model.true_cost[matrix.configurations.index(judged.incumbent)]
            < model.true_cost[default]
        )
        found += judged.better
        assert judged.better == (
            " is better than " in str(judged) and "not shown" not in str(judged)
        )
    assert found >= 15


def test_selection_error_is_carried_over_from_half_of_the_instances() -> None:
    """The correction would be biased: too small where luck decides, or not 0 for a fixed
    configuration.
    """
    model, rng = over_tuned(quality=0.3), np.random.default_rng(4)
    estimated: list[float] = []
    on_half: list[float] = []
    on_all: list[float] = []
    for _ in range(200):
        matrix = model.draw(instances=60, runs=1, rng=rng)
        estimated.append(assess(matrix, splits=40).optimism.selection_error)
        for instances, real in ((30, on_half), (60, on_all)):
            costs = matrix.costs[:, :instances, 0].mean(axis=1)
            real.append(model.true_cost[costs.argmin()] - costs.min())
    apart = np.array(estimated) * math.sqrt(2) - on_half
    assert abs(apart.mean()) < 4 * apart.std() / math.sqrt(len(apart))
    # The carrying over is a rule of thumb, and too careful here by a third.
    assert np.mean(on_all) > 3
    assert np.mean(estimated) == pytest.approx(np.mean(on_all), rel=0.45)
    alone = assess(matrix.select(configurations=["default"]), splits=40)
    assert alone.optimism.selection_error == pytest.approx(0, abs=1e-9)


def naive_selection_error(costs: NDArray[np.float64]) -> float:
    """Every split of the instances in halves, one after the other."""
    instances = range(costs.shape[1])
    errors = []
    for half in combinations(instances, len(instances) // 2):
        other = [i for i in instances if i not in half]
        best = min(range(len(costs)), key=lambda c: costs[c, list(half)].mean())
        errors.append(costs[best, other].mean() - costs[best, list(half)].mean())
    return float(np.mean(errors))


def test_splits_against_all_splits() -> None:
    """The vectorised splits would not be halves, or choose or hold out wrongly."""
    costs = np.random.default_rng(6).random((5, 6))
    for first, naive in (
        (1, 0.0),
        (2, naive_selection_error(costs[:2])),
        (5, naive_selection_error(costs)),
    ):
        seen = costs_of(
            CostMatrix(costs[:first], [f"c{i}" for i in range(first)], [f"i{j}" for j in range(6)])
        )
        found = selection_errors(seen, 40_000, np.random.default_rng(1))
        assert found.error == pytest.approx(naive, abs=0.006)


def test_missing_runs_do_not_make_easy_instances_win() -> None:
    """A configuration with runs on easy instances only, or on few, would be taken for the best."""
    rng = np.random.default_rng(8)
    quality, instance = np.array([1.0, 2.0, 3.0]), 5 * rng.random(20)
    costs = quality[:, np.newaxis] + instance
    there = np.ones(costs.shape, dtype=bool)
    there[2, np.argsort(instance)[12:]] = False
    there[0, 1:] = False
    assert difficulty(np.where(there, costs, 0), there) == pytest.approx(instance - instance.mean())
    matrix = CostMatrix(
        np.where(there, costs, np.nan), ["few", "good", "easy"], [f"i{i}" for i in range(20)], 0, 10
    )
    found = assess(matrix, splits=50)
    assert found.incumbent == "good"
    assert found.costs.ranked.tolist() == [False, True, True]
    assert found.costs.training == pytest.approx(quality + instance.mean(), abs=1e-6)
    assert found.optimism.selection_error == pytest.approx(0, abs=1e-6)
    assert found.spread.on_other_instances == 2


def test_over_tuning_and_optimism_are_two_things() -> None:
    """The final incumbent's optimism would be reported as over-tuning, or the other way round."""
    steps = (Step(2, ("a",)), Step(4, ("b", "a")), Step(5, ("b",)), Step(6, ("c", "b")))
    trajectory = Trajectory(
        tool="t", proposed="adaptively", default="a", incumbent="c", steps=steps
    )
    matrix, test = by_hand([[5, 5], [3, 3], [2, 2]]), by_hand([[4, 6], [2, 2], [3, 5]], "t")
    found = assess(matrix, trajectory=trajectory, test=test)
    assert [tuple(point) for point in found.over_tuning.along] == [
        (2, "a", 5, 5),
        (4, "b", 3, 2),
        (6, "c", 2, 4),
    ]
    assert (found.optimism.gap, found.optimism.percent, found.optimism.source) == (
        2,
        100,
        "test runs",
    )
    assert found.over_tuning.lost == 2
    assert found.over_tuning.relative == pytest.approx(2 / 3)


def test_unknown_is_an_answer() -> None:
    """Ignorance would be told as knowledge: a search without test runs has a corrected cost, or no
    over-tuning.
    """
    steps = (Step(2, ("a",)), Step(4, ("b",)), Step(6, ("c",)))
    trajectory = Trajectory(
        tool="irace 4", proposed="adaptively", default="a", incumbent="c", steps=steps
    )
    matrix = by_hand([[5, 5], [3, 3], [2, 2]])
    found = assess(matrix, trajectory=trajectory)
    assert found.optimism.source == "unknown"
    assert math.isnan(found.optimism.true_cost)
    assert found.to_dict()["incumbent"]["true_cost_from"] == "unknown"
    assert "Expect a higher cost" in str(found)
    # The default was there before the search: its own runs are a fair sample.
    assert found.true_cost("a") == 5
    assert math.isnan(found.over_tuning.lost)
    last_only = CostMatrix(np.array([[3.0, 5.0]]), ["c"], ["t0", "t1"], 0, 10)
    assert math.isnan(assess(matrix, trajectory=trajectory, test=last_only).over_tuning.lost)


def test_a_list_has_no_way_to_be_over_tuned_on() -> None:
    """Over-tuning would be a number that depends on the order of a list."""
    rng = np.random.default_rng(7)
    found = assess(
        over_tuned(30).draw(instances=30, runs=1, rng=rng), trajectory=BEFOREHAND, splits=100
    )
    assert len(found.over_tuning.along) == 1
    assert math.isnan(found.over_tuning.lost)


def test_known_instances_are_no_test() -> None:
    """The test cost would be computed on instances that the choice has seen."""
    test = CostMatrix(np.array([[1.0, 7.0, 9.0]]), ["a"], ["i1", "t0", "t1"], 0, 10)
    found = assess(by_hand([[2, 2], [3, 3]]), trajectory=ADAPTIVE, test=test)
    assert found.optimism.true_cost == found.true_cost("a") == 8
    assert found.certificate is not None
    assert found.certificate.instances == 2
    compared = assess(
        by_hand([[2, 2], [3, 3]]), trajectory=ADAPTIVE, test=test, default="b"
    ).comparison
    assert compared is not None
    assert "the default has no test runs" in str(compared.reason)


@pytest.mark.parametrize(
    ("costs", "lost", "relative"),
    [
        ([5, 3, 5], 2, 1),
        ([5, 3, 6], 3, 1.5),
        ([5, 4, 3], 0, 0),
        ([5, math.nan, 3, 4], 1, 0.5),
        ([3, 4], 1, math.nan),
        ([4], math.nan, math.nan),
        ([4, math.nan], math.nan, math.nan),
    ],
)
def test_over_tuning_by_hand(costs: list[float], lost: float, relative: float) -> None:
    """Over-tuning would be measured from another incumbent than the best, or against another gain
    than the largest.
    """
    assert over_tuning(costs) == pytest.approx((lost, relative), nan_ok=True)


def test_comparison_by_hand() -> None:
    """The instances named would not be those that decide, or the pairs not be pairs."""
    matrix = by_hand([[9, 5, 5, 1, math.nan], [1, 4, 5, 2, 0]])
    found = assess(
        matrix, configuration="b", default="a", chosen="from-list", raced=False
    ).comparison
    assert found is not None
    assert found.observed == pytest.approx((-8 - 1 + 0 + 1) / 4)
    assert found.deciding[0] == ("i0", -8, 1)
    assert [part.instance for part in found.deciding] == ["i0", "i1", "i3"]
    assert (found.instances, found.survives, found.configurations, found.gains, found.losses) == (
        4,
        0,
        1,
        2,
        1,
    )


def test_noise_and_spread_by_hand() -> None:
    """What more runs would buy, or what the allocation costs over S*, would not follow from the
    components.
    """
    rng = np.random.default_rng(9)
    costs = rng.random((2, 8, 4))
    costs[0, 5:] = np.nan
    costs[0, :2, 1:] = np.nan
    matrix = CostMatrix(costs, ["a", "b"], [f"i{i}" for i in range(8)], 0, 1)
    found = assess(matrix, configuration="a")
    noise, counts = found.noise, np.array([1, 1, 4, 4, 4])

    def variance(runs: NDArray[np.int64]) -> float:
        return float((noise.across + noise.within / runs).sum()) / len(runs) ** 2

    assert noise.standard_error == found.costs.standard_error[0]
    assert noise.same_instances_again / noise.standard_error == pytest.approx(
        math.sqrt(variance(2 * counts) / variance(counts))
    )
    assert noise.new_instances == pytest.approx(noise.standard_error / math.sqrt(2))
    # Three instances with two runs are too few for resamples to agree.
    assert noise.bottleneck is None
    assert found.spread.never_used == ("i5", "i6", "i7")
    assert (found.spread.instances, found.spread.repeated) == (5, 3)
    assert found.spread.variance_over_even == pytest.approx(
        variance(counts) / variance(even(14, 8).counts)
    )
    assert found.spread.variance_over_even > 1
    assert assess(matrix, configuration="b").spread.variance_over_even == pytest.approx(1)


def assessed(trajectory: Trajectory | None, **words: object) -> Assessment:
    """A small over-tuned matrix."""
    rng = np.random.default_rng(1)
    return assess(over_tuned(6).draw(instances=12, runs=1, rng=rng), trajectory=trajectory, **words)  # type: ignore[arg-type]


def test_no_statement_where_none_is_valid() -> None:
    """From a configurator's own runs there would be a limit, or its incumbent be called better."""
    found = assessed(ADAPTIVE)
    assert found.certificate is None
    assert "tuned on these instances" in str(found.no_certificate)
    assert found.comparison is not None
    assert found.comparison.upper is None
    assert not found.better
    assert "Not yet testable" in str(found)


def test_verdicts_without_a_comparison() -> None:
    """Without a default, or with the default as incumbent, there would be a comparison, or a yes."""
    assert assessed(None).comparison is None
    same = assessed(BEFOREHAND, configuration="default")
    assert same.comparison is None
    assert not same.better
    lone = assess(by_hand([[3.0]]), chosen="before")
    assert math.isnan(lone.optimism.selection_error)
    assert lone.costs.training == [3]


def test_the_same_runs_give_the_same_answers() -> None:
    """An assessment could not be had again, or depended on which of its parts was asked for first."""
    first, again = (assessed(BEFOREHAND, splits=20) for _ in range(2))
    assert again.certificate is not None
    assert repr(first.to_dict(*PARTS)) == repr(again.to_dict(*PARTS))
    assert repr(first.to_dict(*PARTS)) != repr(
        assessed(BEFOREHAND, splits=20, rng=5).to_dict(*PARTS)
    )


def test_runs_in_another_order_are_the_same_runs() -> None:
    """Who is best, what it costs and what choosing adds would depend on the order of rows and
    columns.
    """
    rng = np.random.default_rng(3)
    matrix = over_tuned(8).draw(instances=15, runs=2, rng=rng)
    back = matrix.select(
        configurations=matrix.configurations[::-1], instances=matrix.instances[::-1]
    )
    one, other = (
        assess(each, chosen="from-list", splits=4000).to_dict("configurations")
        for each in (matrix, back)
    )
    for this, that in zip(one["configurations"], other["configurations"], strict=True):
        assert this["configuration"] == that["configuration"]
        assert this["training_cost"] == pytest.approx(that["training_cost"])
    assert one["incumbent"]["true_cost"] == pytest.approx(other["incumbent"]["true_cost"], rel=0.05)


@pytest.mark.parametrize(
    ("path", "low", "high", "points"),
    [
        (Path(__file__).parent / "data" / "irace" / "tested.Rdata", 0, 20, 3),
        pytest.param(LOGS / "guide-example.Rdata", 2e7, 6e7, 5, marks=pytest.mark.beside(LOGS)),
        pytest.param(LOGS / "irace-acotsp.Rdata", 2e7, 6e7, 5, marks=pytest.mark.beside(LOGS)),
    ],
    ids=["ours", "guide-example", "irace-acotsp"],
)
def test_irace_logs_are_assessed(path: Path, low: float, high: float, points: int) -> None:
    """A real log would fail, or its test runs not be used."""
    log = import_runs(path, low=low, high=high)
    found = assess(log, splits=100)
    assert found.incumbent == log.trajectory.incumbent
    assert found.certificate is not None
    assert found.optimism.true_cost < found.certificate.upper
    assert len(found.over_tuning.along) >= points
    assert found.over_tuning.lost >= 0
    assert assess(log.matrix, trajectory=log.trajectory).certificate is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"splits": 0}, "at least 1 of `splits`"),
        ({"delta": 0}, "`delta` between 0 and 1"),
        ({"configuration": "x"}, "name of a configuration"),
        ({"default": "x"}, "name of a configuration"),
        ({"chosen": "luck"}, "one of test, before"),
        ({"chosen": "before"}, "the name of the `configuration`"),
    ],
)
def test_wrong_words_are_refused(words: dict[str, object], message: str) -> None:
    """A mistake in the call would give an answer, or a traceback."""
    with pytest.raises(InputError, match=message):
        assessed(None, **words)


def test_only_the_winner_is_corrected_for_having_won() -> None:
    """A configuration that somebody names would be charged the luck of another one that won."""
    rng = np.random.default_rng(3)
    named, winners = [], []
    for _ in range(40):
        matrix = CostMatrix(
            rng.random((40, 30, 1)),
            [f"c{i}" for i in range(40)],
            [f"i{i}" for i in range(30)],
            0,
            1,
        )
        named.append(assess(matrix, configuration="c0", splits=20).optimism.true_cost)
        winners.append(assess(matrix, splits=20).optimism.true_cost)
    for costs in (named, winners):
        assert abs(float(np.mean(costs)) - 0.5) < 4 * float(np.std(costs)) / 40**0.5 + 0.01


def test_an_audit_is_an_assessment() -> None:
    """The verb `audit` would say something else than `assess`."""
    rng = np.random.default_rng(1)
    matrix = over_tuned(6).draw(instances=12, runs=1, rng=rng)
    assert repr(audit(matrix, splits=10).to_dict(*PARTS)) == repr(
        assess(matrix, splits=10).to_dict(*PARTS)
    )


def test_what_decides_alone_is_named() -> None:
    """One run that makes up nearly all of a mean cost would not be mentioned, or one that does not
    would be.
    """
    plain = by_hand([[1.0, 1.2, 0.9, 25.0], [2, 2, 2, 2]], high=100)
    found = assess(plain, configuration="a", trajectory=ADAPTIVE)
    assert found.beside.heaviest is not None
    assert (
        found.beside.heaviest.on,
        found.beside.heaviest.instance,
        found.beside.heaviest.cost,
    ) == (
        "training",
        "i3",
        25,
    )
    assert (
        "One instance alone, i3 with 25.0, accounts for 89 % of its training cost."
        in audited(found, Context()).more
    )
    assert assess(plain, configuration="b").beside.heaviest is None
    test = CostMatrix(np.array([[1.0, 1.0, 90.0]]), ["a"], ["t0", "t1", "t2"], 0, 100)
    on_test = assess(plain, configuration="a", test=test).beside.heaviest
    assert on_test is not None
    assert (on_test.on, on_test.instance) == ("test", "t2")


def test_one_instance_shows_nothing() -> None:
    """Of a search on a single instance it would be said that splits show nothing, or that all runs
    cost the same.
    """
    found = assess(by_hand([[1.0], [2.0]]), trajectory=ADAPTIVE)
    page = audited(found, Context())
    assert page.verdict.endswith("costs 1.00 in training. One instance says nothing about others.")
    assert isinstance(found.outlook.plan, Refusal)
    assert "one instance" in found.outlook.plan.reason
    noise = next(section for section in page.sections if section.name == "noise")
    assert noise.lead.endswith("its standard error is unknown.")


def test_the_last_digit_of_a_utility_changes_no_limit() -> None:
    """The same runs would have other limits on a machine whose exp rounds otherwise."""
    here = import_runs(path_of("kissat"), utility="half-life=0.1").matrix
    elsewhere = here.replace(costs=np.nextafter(here.costs, 0.5))
    certificates = [assess(runs, chosen="from-list").certificate for runs in (here, elsewhere)]
    first, second = (certificate.upper for certificate in certificates if certificate is not None)
    assert first == pytest.approx(second, rel=1e-9)


def test_sorted_costs_of_few_values_come_in_an_order_of_their_names() -> None:
    """Costs of two values, sorted, would be bet on in one order whatever was drawn."""
    costs = np.sort(np.random.default_rng(1).choice([0.1, 1.0], size=(1, 50, 1)), axis=1)
    seeds = [
        assess(
            CostMatrix(costs, ["c"], [f"{part}/{i}" for i in range(50)], low=0.0, high=1.0),
            chosen="before",
            configuration="c",
        ).question.seed
        for part in "ab"
    ]
    assert seeds[0] != seeds[1]
