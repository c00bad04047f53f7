import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from truecost import planning
from truecost.errors import InputError
from truecost.judge.question import Question
from truecost.matrix import CostMatrix, Log, Plan
from truecost.planning import plan, units_needed
from truecost.stats.betting import lower


def matrix(costs: NDArray[np.float64], **how: Any) -> CostMatrix:
    """Configurations d, c1, c2 …"""
    names = ["d", *(f"c{k}" for k in range(1, len(costs)))]
    how = {"low": 0, "high": 10} | how
    return CostMatrix(costs, names, [f"i{k}" for k in range(costs.shape[1])], **how)


def noise(seed: int, m: int = 6, n: int = 40, gain: float = 0.0) -> NDArray[np.float64]:
    """Costs of configurations of which the second is better by `gain`, else all alike."""
    rng = np.random.default_rng(seed)
    costs = rng.gamma(4, 0.5, (1, n, 1)) + rng.normal(0, 0.3, (m, n, 2))
    costs[1] -= gain
    return costs.clip(0, 10)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer simulated samples, and no long search."""
    monkeypatch.setattr(planning, "DRAWS", 60)
    monkeypatch.setattr(planning, "MOST", 640)


# ---- what would prove it -------------------------------------------------------------------------


def test_the_number_needed_is_enough() -> None:
    """With the instances forecast the difference would not be proven about as often as promised."""
    rng = np.random.default_rng(1)
    pilot = rng.normal(0.52, 0.06, 400).clip(0, 1)
    needed = int(units_needed(pilot, 0.5, balanced=True) or 0)
    shares = [
        np.mean([lower(rng.choice(pilot, n), balanced=True, decide=0.5) >= 0.5 for _ in range(40)])
        for n in (needed // 3, 2 * needed)
    ]
    assert shares[0] < 0.8 < shares[1]


def test_what_points_the_other_way_needs_nothing() -> None:
    """A pilot that speaks against the winner would get a number of instances."""
    assert units_needed(np.full(9, 0.4), 0.5) is None
    assert units_needed(np.full(9, 0.5), 0.5) is None
    assert units_needed(np.array([]), 0.5) is None
    assert units_needed(np.append(np.full(50, 0.5), 0.501), 0.5) == math.inf


def test_noise_is_promised_nothing() -> None:
    """In lists of pure noise the runs that chose the winner would forecast its success."""
    differences = []
    for seed in range(12):
        answer = plan(Log(runs=matrix(noise(seed, m=20)), default="d", adaptive=False))
        if answer.needs:
            assert answer.pilot == "list"
            differences.append(answer.needs[0].difference)
    # The best of 19 looks 0.09 better where it was chosen.
    assert len(differences) > 8
    assert np.mean(differences) > -0.035


def test_a_true_difference_is_forecast() -> None:
    """A list whose winner is truly better would get no number, or another one than its test runs."""
    better = matrix(noise(1, gain=0.5))
    answer = plan(Log(runs=better, default="d", adaptive=False))
    (need,) = answer.needs
    assert need.difference < -0.3
    assert need.units is not None
    trained = Log(runs=matrix(noise(9)), test=better, default="d", incumbent="c1", adaptive=True)
    # Test runs on training instances are none.
    assert plan(trained).pilot == "none"
    fresh = better.replace(instances=[f"new{k}" for k in range(40)])
    tested = plan(replace(trained, test=fresh))
    assert tested.pilot == "test"
    assert tested.needs[0].difference == pytest.approx(-0.5, abs=0.1)
    assert tested.needs[0].units is not None
    assert tested.units == 40


@pytest.mark.parametrize("question", [Question(), Question(configuration="c1")])
def test_a_tuned_log_assumes(question: Question) -> None:
    """Runs that chose the winner would forecast how much better it is."""
    answer = plan(Log(runs=matrix(noise(1, gain=0.5)), default="d", adaptive=True), question)
    assert answer.pilot == "none"
    assert [need.assumed for need in answer.needs] == [0.05, 0.1, 0.2]
    units = [need.units or math.inf for need in answer.needs]
    assert units == sorted(units, reverse=True)
    assert units[-1] < units[0]
    before = plan(
        Log(runs=matrix(noise(1, gain=0.5)), default="d"),
        Question(basis="fixed before", configuration="c1"),
    )
    assert before.pilot == "fixed before"


def test_running_times_have_two_penalties() -> None:
    """Only the declared penalty would be planned for, at which hardly anything is proven."""
    rng = np.random.default_rng(3)
    costs = rng.gamma(2, 0.5, (4, 30, 1))
    costs[rng.random(costs.shape) < 0.05] = 100
    runs = matrix(costs, high=100, cutoff=10.0, par=10.0)
    answer = plan(Log(runs=runs, default="d", adaptive=True))
    assert {need.penalty for need in answer.needs} == {2.0, 10.0}
    by_penalty = {
        penalty: [need.difference for need in answer.needs if need.penalty == penalty]
        for penalty in (2.0, 10.0)
    }
    # 10 % of what the default costs at that penalty.
    expected = np.where(costs[0] == 100, 20, costs[0]).mean()
    assert by_penalty[2.0][1] == pytest.approx(-0.1 * expected)


def test_wins_margins_and_units() -> None:
    """Another criterion or unit would be planned for than the one asked for."""
    costs = noise(2, gain=0.5)
    labels = [f"f{k % 10}" for k in range(40)]
    log = Log(runs=matrix(costs, families=labels), default="d", adaptive=False)
    assert plan(log, Question(primary="wins")).needs[0].quantity == "wins"
    assert plan(log, Question(margin="5%")).needs[0].quantity == "margin"
    narrow = Log(runs=matrix(97 + costs / 4, low=97, high=100), default="d", adaptive=False)
    assert plan(narrow, Question(margin="5%")).needs[0].units == 1
    families = plan(log, Question(sampled="family"))
    assert (families.sampled, families.units) == ("family", 20 * 5)
    assert "New families needed" in families.summary()
    with pytest.raises(InputError, match="Give --families"):
        plan(Log(runs=matrix(costs), default="d", adaptive=False), Question(sampled="family"))


def test_without_a_default_or_a_range() -> None:
    """A log that names no default, or has no range of costs, would be refused altogether."""
    runs = matrix(noise(1), low=-math.inf, high=math.inf)
    assert plan(Log(runs=runs)).needs == ()
    assert plan(Log(runs=runs, default="d")).needs == ()
    assert "No forecast" in plan(Log(runs=runs, default="d")).summary()
    assert "Name the default" in plan(Log(runs=runs)).summary()


# ---- runs and instances --------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 200, 15, 13])
def test_sizes_reach_the_error_and_no_fewer_do(limit: int | None) -> None:
    """Runs and instances would not reach the error, or fewer runs would, too."""
    answer = plan(Log(runs=matrix(noise(1)), default="d"), error=0.3, instances=limit)
    best, most = answer.best, limit or 10_000
    assert best is not None

    def error(runs: int, instances: int) -> float:
        rounds = runs / instances
        return math.sqrt((answer.across + answer.within / rounds) / instances)

    assert best.standard_error == pytest.approx(error(best.runs, best.instances))
    assert best.standard_error <= 0.3 * (1 + 1e-9)
    assert best.instances <= most
    rounds = best.runs // best.instances
    assert error(best.runs - rounds, best.instances - 1) > 0.3
    assert rounds == 1 or error((rounds - 1) * most, most) > 0.3


def test_an_error_that_few_instances_cannot_reach() -> None:
    """More runs on too few instances would be promised to reach what they cannot."""
    log = Log(runs=matrix(noise(1)), default="d")
    with pytest.raises(InputError, match="3 instances cannot reach") as caught:
        plan(log, error=0.1, instances=3)
    least = int(str(caught.value).split("at least ")[1].rstrip(".").replace(",", ""))
    assert plan(log, error=0.1, instances=least).best is not None


def test_a_budget_is_spent_on_instances() -> None:
    """Runs would be repeated where a new instance says more."""
    log = Log(runs=matrix(noise(1)), default="d")
    answer = plan(log, budget=100)
    assert answer.best is not None
    assert (answer.best.runs, answer.best.instances) == (100, 100)
    few = plan(log, budget=100, instances=30)
    assert few.best is not None
    assert (few.best.runs, few.best.instances) == (100, 30)
    assert plan(log, budget=1).best is not None


def test_the_present_error() -> None:
    """The standard error printed as it is now would not be that of the mean of instance means."""
    costs = noise(4, n=30)
    answer = plan(Log(runs=matrix(costs), default="d"), Question(configuration="c2"))
    means = costs[2].mean(axis=1)
    assert answer.now.standard_error == pytest.approx(means.std(ddof=1) / math.sqrt(30))
    assert (answer.now.runs, answer.now.instances) == (60, 30)
    single = plan(Log(runs=matrix(costs[:, :, :1]), default="d"))
    assert math.isnan(single.within)
    assert single.now.standard_error > 0
    # Nothing is known from a single run, and equal costs have no error.
    few = [plan(Log(runs=matrix(np.full((2, n, 1), 0.3)), default="d")) for n in (1, 9)]
    assert math.isnan(few[0].now.standard_error)
    assert "nan" not in few[0].summary()
    assert few[1].now.standard_error == 0


def test_the_present_error_of_families() -> None:
    """Instances of a family would count as independent in the error printed as it is now, or runs be
    planned as if they were.
    """
    costs = noise(4) + np.repeat(np.arange(10), 4)[:, np.newaxis] / 2
    runs = matrix(costs, families=[f"f{k // 4}" for k in range(40)])
    question = Question(configuration="c2", sampled="family")
    now = plan(Log(runs=runs, default="d"), question).now
    means = costs[2].reshape(10, 8).mean(axis=1)
    assert (now.runs, now.instances) == (80, 10)
    assert now.standard_error == pytest.approx(means.std(ddof=1) / math.sqrt(10))
    with pytest.raises(InputError, match="not families"):
        plan(Log(runs=runs, default="d"), question, budget=10)


def test_what_a_plan_fixed_is_planned_for() -> None:
    """Instances would be planned for another criterion than the one that a test decides by."""
    runs, test = matrix(noise(1)), matrix(noise(2, gain=0.2)[:2])
    test = test.replace(instances=[f"new{k}" for k in range(40)])
    fixed = Plan(order=test.instances, planned=40, candidates=("c1",), primary="wins")
    log = Log(runs=runs, test=test, default="d", incumbent="c1", adaptive=True, test_plan=fixed)
    assert plan(log).needs[0].quantity == "wins"


def test_scores_that_are_better_when_large() -> None:
    """Five per cent less of a negative cost would be more, and never be proven."""
    runs = matrix(-noise(1), low=-10, high=0)
    needs = plan(Log(runs=runs, default="d", incumbent="c1", adaptive=True)).needs
    assert needs[-1].difference < 0
    assert needs[-1].units is not None


def test_a_winner_without_training_runs() -> None:
    """A winner that was tested only would be said to have no runs, or one without any be planned."""
    costs = noise(1)
    costs[1] = np.nan
    runs, test = matrix(costs), matrix(noise(2))
    log = Log(runs=runs, test=test, default="d", incumbent="c1", adaptive=True)
    assert plan(log).now.runs == 80
    with pytest.raises(InputError, match="c1 has no runs"):
        plan(replace(log, test=None))


def test_a_single_instance_needs_runs() -> None:
    """Runs of one instance would be planned for as if they had no noise."""
    costs = np.random.default_rng(1).gamma(2, 1, (2, 1, 30)).clip(0, 10)
    log = Log(runs=matrix(costs), test=matrix(costs), default="d", incumbent="c1")
    sd = costs[1].std(ddof=1)
    answer = plan(log, error=0.1)
    assert (answer.sampled, answer.units) == ("seed", 30)
    assert "New runs needed" in answer.summary()
    assert answer.now.standard_error == pytest.approx(sd / math.sqrt(30))
    assert answer.best is not None
    assert (answer.best.instances, answer.best.runs) == (1, math.ceil((sd / 0.1) ** 2))
    spent = plan(log, budget=50).best
    assert spent is not None
    assert spent.standard_error == pytest.approx(sd / math.sqrt(50))
    with pytest.raises(InputError, match="too few runs"):
        plan(Log(runs=matrix(costs[:, :, :1]), default="d"), error=0.1)
    rest = noise(1)
    rest[1, 1:] = np.nan
    with pytest.raises(InputError, match="too few runs"):
        plan(Log(runs=matrix(rest), default="d"), Question(configuration="c1"), error=0.1)
    with pytest.raises(InputError, match="single instance only"):
        plan(Log(runs=matrix(noise(1)), default="d"), Question(sampled="seed"))


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"error": 0.1, "budget": 10}, "Give one of them"),
        ({"error": 0.0}, "above 0"),
        ({"error": math.inf}, "above 0"),
        ({"budget": 0}, "above 0"),
        ({"error": 0.1, "instances": 0}, "above 0"),
    ],
)
def test_bad_input(sizes: dict[str, Any], words: str) -> None:
    """Sizes that make no sense would be planned for."""
    with pytest.raises(InputError, match=words):
        plan(Log(runs=matrix(noise(1)), default="d"), **sizes)


def test_plain_data() -> None:
    """What `--json` prints would not be JSON."""
    answer = plan(Log(runs=matrix(noise(1)[:, :, :1]), default="d", adaptive=True), budget=50)
    text = json.dumps(answer.to_dict(), allow_nan=False)
    assert json.loads(text)["within"] is None
    assert repr(answer) == answer.summary()
