"""The over-tuning report: its estimates against known truth, its statements at their rate, its arithmetic by hand."""

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from truecost.errors import InputError
from truecost.importers.detect import import_runs
from truecost.judge.audit import Audit, audit
from truecost.judge.selection import hardness, over_tuning, selection_errors
from truecost.matrix import CostMatrix
from truecost.runs import Step, Trajectory
from truecost.stats.allocation import even
from truecost.stats.synthetic import RuntimeModel, runtime_model

REPETITIONS = 300
LUCK = 1e-4
BEFOREHAND = Trajectory(tool="random search", proposed="beforehand", raced=False, default="default")
ADAPTIVE = Trajectory(tool="a configurator", proposed="adaptively", default="default")
LOGS = Path("/work/shared/data/irace")


def over_tuned(configurations: int = 40, quality: float = 0.0) -> RuntimeModel:
    """A model in which configurations differ by nothing, or by this much."""
    rng = np.random.default_rng(3)
    return runtime_model(
        configurations=configurations, rng=rng, quality=quality, timeout_rate=0.35, interaction_share=0.9, within_share=0.3
    )


def fresh(model: RuntimeModel, rng: np.random.Generator, instances: int = 60) -> CostMatrix:
    """Runs on instances with names of their own."""
    drawn = model.draw(instances=instances, runs=1, rng=rng)
    return CostMatrix(drawn.costs, drawn.configurations, [f"new-{i}" for i in range(instances)], drawn.low, drawn.high)


def by_hand(costs: list[list[float]], letter: str = "i", high: float = 10) -> CostMatrix:
    """A matrix of a few costs; configurations a, b, c."""
    instances = [f"{letter}{i}" for i in range(len(costs[0]))]
    return CostMatrix(np.array(costs, float), ["a", "b", "c"][: len(costs)], instances, 0, high)


@pytest.mark.parametrize("way", ["from-list", "test"])
def test_statements_hold_where_over_tuning_was_planted(way: str) -> None:
    """The interval would miss the true cost, or a lucky configuration be called better than the default, beyond δ."""
    model, rng, delta = over_tuned(), np.random.default_rng(1), 0.2
    missed = alarms = promising = 0
    for _ in range(REPETITIONS):
        matrix = model.draw(instances=50, runs=1, rng=rng)
        test = fresh(model, rng) if way == "test" else None
        trajectory = ADAPTIVE if way == "test" else BEFOREHAND
        report = audit(matrix, rng=rng, trajectory=trajectory, test=test, splits=2, delta=delta)
        true = model.true_cost[matrix.configurations.index(report.incumbent)]
        assert report.interval is not None
        missed += not report.interval.lower <= true <= report.interval.upper
        # All are equally good: whoever is called better is a false alarm.
        alarms += report.better
        promising += report.training_cost < 0.8 * true
    assert promising > REPETITIONS / 2
    for count in (missed, alarms):
        assert binomtest(count, REPETITIONS, delta, alternative="greater").pvalue > LUCK


def test_better_configurations_are_found_better() -> None:
    """The verdict would never say yes."""
    model, rng = over_tuned(quality=0.8), np.random.default_rng(2)
    default = int(np.argsort(model.true_cost)[30])
    found = 0
    for _ in range(20):
        matrix = model.draw(instances=100, runs=1, rng=rng)
        report = audit(matrix, rng=rng, default=matrix.configurations[default], chosen="from-list", splits=2)
        assert model.true_cost[matrix.configurations.index(report.incumbent)] < model.true_cost[default]
        found += report.better
        assert report.better == (" is better than " in report.verdict)
    assert found >= 15


def test_selection_error_is_carried_over_from_half_of_the_instances() -> None:
    """The correction would be biased: too small where luck decides, or not 0 for a fixed configuration."""
    model, rng = over_tuned(quality=0.3), np.random.default_rng(4)
    estimated: list[float] = []
    on_half: list[float] = []
    on_all: list[float] = []
    for _ in range(200):
        matrix = model.draw(instances=60, runs=1, rng=rng)
        estimated.append(audit(matrix, rng=rng, splits=40).selection_error)
        for instances, real in ((30, on_half), (60, on_all)):
            costs = matrix.costs[:, :instances, 0].mean(axis=1)
            real.append(model.true_cost[costs.argmin()] - costs.min())
    apart = np.array(estimated) * math.sqrt(2) - on_half
    assert abs(apart.mean()) < 4 * apart.std() / math.sqrt(len(apart))
    # The carrying over is a rule of thumb: to within a third.
    assert np.mean(on_all) > 3
    assert np.mean(estimated) == pytest.approx(np.mean(on_all), rel=1 / 3)
    alone = audit(matrix.select(configurations=["default"]), rng=rng, splits=40)
    assert alone.selection_error == pytest.approx(0, abs=1e-9)


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
    there = np.ones(costs.shape, dtype=bool)
    found = selection_errors(costs, there, [1, 2, 5], 40_000, np.random.default_rng(1))
    assert found[1].error == pytest.approx(0, abs=1e-12)
    assert found[5].error == pytest.approx(naive_selection_error(costs), abs=0.006)
    assert found[2].error == pytest.approx(naive_selection_error(costs[:2]), abs=0.006)


def test_missing_runs_do_not_make_easy_instances_win() -> None:
    """A configuration with runs on easy instances only, or on few, would be taken for the best."""
    rng = np.random.default_rng(8)
    quality, instance = np.array([1.0, 2.0, 3.0]), 5 * rng.random(20)
    costs = quality[:, np.newaxis] + instance
    there = np.ones(costs.shape, dtype=bool)
    there[2, np.argsort(instance)[12:]] = False
    there[0, 1:] = False
    assert hardness(np.where(there, costs, 0), there) == pytest.approx(instance - instance.mean())
    matrix = CostMatrix(np.where(there, costs, np.nan), ["few", "good", "easy"], [f"i{i}" for i in range(20)], 0, 10)
    report = audit(matrix, rng=rng, splits=50)
    assert report.incumbent == "good"
    assert report.selection_error == pytest.approx(0, abs=1e-6)
    assert report.spread.on_other_instances == 2


def test_over_tuning_and_optimism_are_two_things() -> None:
    """The final incumbent's optimism would be reported as over-tuning, or the other way round."""
    steps = (Step(2, ("a",)), Step(4, ("b", "a")), Step(5, ("b",)), Step(6, ("c", "b")))
    trajectory = Trajectory(tool="t", proposed="adaptively", default="a", incumbent="c", steps=steps)
    matrix, test = by_hand([[5, 5], [3, 3], [2, 2]]), by_hand([[4, 6], [2, 2], [3, 5]], "t")
    report = audit(matrix, rng=np.random.default_rng(1), trajectory=trajectory, test=test)
    assert [(p.configuration, p.runs, p.training, p.true) for p in report.along] == [
        ("a", 2, 5, 5),
        ("b", 4, 3, 2),
        ("c", 6, 2, 4),
    ]
    assert report.gap == 2
    assert report.gap_percent == 100
    assert report.over_tuning == 2
    assert report.relative_over_tuning == pytest.approx(2 / 3)
    assert report.true_from == "test runs"


def test_earlier_incumbents_were_chosen_among_fewer() -> None:
    """The first configuration of a list, chosen among one, would be corrected as if it were chosen among all."""
    rng = np.random.default_rng(7)
    report = audit(over_tuned(30).draw(instances=30, runs=1, rng=rng), rng=rng, trajectory=BEFOREHAND, splits=100)
    first, *_, last = report.along
    assert first.configuration == "default"
    assert first.true == pytest.approx(first.training)
    assert last.configuration == report.incumbent
    assert last.true == pytest.approx(report.corrected_cost)
    assert last.true > last.training + 1
    trainings = [point.training for point in report.along]
    assert trainings == sorted(trainings, reverse=True)


def test_known_instances_are_no_test() -> None:
    """The test cost would be computed on instances that the choice has seen."""
    test = CostMatrix(np.array([[1.0, 7.0, 9.0]]), ["a"], ["i1", "t0", "t1"], 0, 10)
    report = audit(by_hand([[2, 2], [3, 3]]), rng=np.random.default_rng(1), trajectory=ADAPTIVE, test=test)
    assert report.test_cost == 8
    assert report.interval is not None
    assert report.interval.instances == 2
    report = audit(by_hand([[2, 2], [3, 3]]), rng=np.random.default_rng(1), trajectory=ADAPTIVE, test=test, default="b")
    assert "'b' has no test runs" in report.verdict


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
    """Over-tuning would be measured from another incumbent than the best, or against another gain than the largest."""
    assert over_tuning(costs) == pytest.approx((lost, relative), nan_ok=True)


def test_comparison_by_hand() -> None:
    """The instances named would not be those that decide, or the pairs not be pairs."""
    matrix = by_hand([[9, 5, 5, 1, math.nan], [1, 4, 5, 2, 0]])
    report = audit(matrix, rng=np.random.default_rng(1), incumbent="b", default="a", chosen="from-list")
    found = report.comparison
    assert found is not None
    assert found.estimate == pytest.approx((-8 - 1 + 0 + 1) / 4)
    assert found.deciding[0] == ("i0", -8, 1)
    assert [part.instance for part in found.deciding] == ["i0", "i1", "i3"]
    assert (found.instances, found.flips, found.configurations) == (4, 1, 2)


def test_noise_and_spread_by_hand() -> None:
    """What more runs would buy, or what the allocation costs over S*, would not follow from the components."""
    rng = np.random.default_rng(9)
    costs = rng.random((2, 8, 4))
    costs[0, 5:] = np.nan
    costs[0, :2, 1:] = np.nan
    matrix = CostMatrix(costs, ["a", "b"], [f"i{i}" for i in range(8)], 0, 1)
    report = audit(matrix, rng=rng, incumbent="a")
    noise, counts = report.noise, np.array([1, 1, 4, 4, 4])

    def variance(runs: NDArray[np.int64]) -> float:
        return float((noise.across + noise.within / runs).sum()) / len(runs) ** 2

    assert noise.standard_error**2 == pytest.approx(variance(counts))
    assert noise.same_instances_again**2 == pytest.approx(variance(2 * counts))
    assert noise.new_instances**2 == pytest.approx(variance(counts) / 2)
    assert noise.bottleneck == ("runs" if noise.within * (1 / counts).mean() > noise.across else "instances")
    assert report.spread.never_used == ("i5", "i6", "i7")
    assert report.spread.variance_over_even == pytest.approx(variance(counts) / variance(even(14, 8).counts))
    assert report.spread.variance_over_even > 1
    assert audit(matrix, rng=rng, incumbent="b").spread.variance_over_even == pytest.approx(1)


def report_of(trajectory: Trajectory | None, **words: object) -> Audit:
    """A report on a small over-tuned matrix."""
    rng = np.random.default_rng(1)
    return audit(over_tuned(6).draw(instances=12, runs=1, rng=rng), rng=rng, trajectory=trajectory, **words)  # type: ignore[arg-type]


def test_no_statement_where_none_is_valid() -> None:
    """From a configurator's own runs the report would give an interval, or call its incumbent better."""
    report = report_of(ADAPTIVE)
    assert report.interval is None
    assert "proposed from the costs of others" in str(report.no_interval)
    assert report.comparison is not None
    assert report.comparison.upper is None
    assert not report.better
    assert "no valid statement" in report.verdict


def test_verdicts_without_a_comparison() -> None:
    """Without a default, or with the default as incumbent, the report would fail or say yes."""
    assert "name it" in report_of(None).verdict
    same = report_of(BEFOREHAND, incumbent="default")
    assert "is the default" in same.verdict
    assert not same.better
    lone = audit(by_hand([[3.0]]), rng=np.random.default_rng(1), chosen="before")
    assert math.isnan(lone.selection_error)
    assert lone.training_cost == 3


def test_the_same_seed_gives_the_same_report() -> None:
    """A report could not be had again."""
    first, again = (report_of(BEFOREHAND, splits=20) for _ in range(2))
    assert repr(first) == repr(again)


@pytest.mark.parametrize(
    ("path", "low", "high", "points"),
    [
        (Path(__file__).parent / "data" / "irace" / "tested.Rdata", 0, 20, 3),
        pytest.param(LOGS / "guide-example.Rdata", 2e7, 6e7, 5, marks=pytest.mark.beside(LOGS)),
        pytest.param(LOGS / "irace-acotsp.Rdata", 2e7, 6e7, 5, marks=pytest.mark.beside(LOGS)),
    ],
    ids=["ours", "guide-example", "irace-acotsp"],
)
def test_irace_logs_are_audited(path: Path, low: float, high: float, points: int) -> None:
    """A real log would fail, or its test runs not be used."""
    log = import_runs(path, low=low, high=high)
    report = audit(log.matrix, rng=np.random.default_rng(1), trajectory=log.trajectory, test=log.test, splits=100)
    assert report.incumbent == log.trajectory.incumbent
    assert report.interval is not None
    assert report.interval.lower < report.test_cost < report.interval.upper
    assert len(report.along) >= points
    assert report.over_tuning >= 0
    assert audit(log.matrix, rng=np.random.default_rng(1), trajectory=log.trajectory, splits=100).interval is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"splits": 0}, "at least 1 split"),
        ({"delta": 0}, "delta between 0 and 1"),
        ({"incumbent": "x"}, "name of a configuration"),
        ({"default": "x"}, "name of a configuration"),
        ({"chosen": "progressive"}, "for certificates"),
        ({"chosen": "luck"}, "one of before"),
    ],
)
def test_wrong_words_are_refused(words: dict[str, object], message: str) -> None:
    """A mistake in the call would give a report, or a traceback."""
    with pytest.raises(InputError, match=message):
        report_of(None, **words)


def test_only_the_winner_is_corrected_for_having_won() -> None:
    """A configuration that somebody names would be charged the luck of another one that won."""
    rng = np.random.default_rng(3)
    named, winners = [], []
    for _ in range(40):
        matrix = CostMatrix(rng.random((40, 30, 1)), [f"c{i}" for i in range(40)], [f"i{i}" for i in range(30)], 0, 1)
        named.append(audit(matrix, rng=rng, incumbent="c0", splits=20).corrected_cost)
        winners.append(audit(matrix, rng=rng, splits=20).corrected_cost)
    for costs in (named, winners):
        assert abs(float(np.mean(costs)) - 0.5) < 4 * float(np.std(costs)) / 40**0.5 + 0.01
