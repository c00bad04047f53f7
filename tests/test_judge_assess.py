"""The verdict as a whole: known truth, over-tuning, ranking, likeness, records as JSON."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_logs import codes, fixed, log, same, stated, table, timed
from scipy.stats import binomtest

from truecost.arrays import FloatArray
from truecost.errors import InputError, Refusal
from truecost.examples import example_log
from truecost.judge import Assessment, Question, assess
from truecost.judge.costs import costs_of
from truecost.matrix import CostMatrix, Log, Plan, Step
from truecost.runs import Caveat, Status

DELTA, REPETITIONS, LUCK = 0.2, 60, 1e-4


def rare(rng: np.random.Generator, *shape: int) -> FloatArray:
    """Costs in [0, 1] with rare timeouts, and their mean."""
    return np.where(rng.random(shape) < 0.15, 1.0, 0.1 * rng.random(shape))


TRUE_MEAN = 0.15 + 0.85 * 0.05


def holds(misses: int) -> bool:
    """Whether so many misses go with δ."""
    return bool(binomtest(misses, REPETITIONS, DELTA, alternative="greater").pvalue > LUCK)


# ---- known truth ---------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["list", "test"])
def test_statements_hold_where_over_tuning_was_planted(way: str) -> None:
    """A lucky configuration would be called better than the default, or its limit miss its true
    cost, beyond δ.
    """
    rng, question = np.random.default_rng(1), Question(delta=DELTA)
    missed = alarms = lucky = 0
    for _ in range(REPETITIONS):
        runs = log(rare(rng, 8, 20))
        if way == "test":
            best = int(runs.runs.costs.mean(axis=(1, 2)).argmin())
            fresh = table(rare(rng, 8, 20), prefix="t")
            runs = runs.replace(adaptive=True, test=fresh, incumbent=f"c{best}")
        found = assess(runs, question)
        missed += stated(found, "mean").upper < TRUE_MEAN
        alarms += found.grade == "better"
        row = next(row for row in found.ranking if row.configuration == found.winner)
        lucky += row.cost < 0.7 * TRUE_MEAN
    assert holds(missed)
    assert holds(alarms)
    assert lucky > REPETITIONS / 2


def test_clear_winners_and_losers_are_told_apart() -> None:
    """The verdict would never say yes or no, or the set of the best never rule anybody out."""
    costs = np.random.default_rng(3).random((8, 80)) * np.linspace(0.9, 0.2, 8)[:, np.newaxis]
    found = assess(log(costs))
    assert (found.grade, found.green, found.exit_code) == ("better", True, 0)
    best = [row.configuration for row in found.ranking if row.maybe_best]
    assert "c7" in best
    assert len(best) < 5
    worse = fixed(costs[[7, 0]])
    assert (worse.grade, worse.exit_code) == ("worse", 1)


def test_unknown_origin_is_never_green() -> None:
    """A better winner of a log of unknown origin would have a green badge and exit code 0."""
    unknown = log(np.random.default_rng(5).random((2, 60)) * [[1.0], [0.2]], adaptive=None)
    found = assess(unknown)
    assert (found.grade, found.green, found.exit_code) == ("better", False, 1)
    assert codes(found)[0] == "condition"
    assert assess(unknown, Question(margin="5%")).exit_code == 1
    assert assess(unknown.replace(adaptive=False), Question(margin="5%")).exit_code == 0
    sure = assess(unknown, Question(basis="list"))
    assert (sure.grade, sure.green, sure.exit_code) == ("better", True, 0)


def test_twice_as_fast_on_all_instances() -> None:
    """A hundred wins of a hundred would prove PAR10, which one unseen timeout could reverse; or
    nobody be told of the wins.
    """
    old = np.random.default_rng(6).lognormal(0, 1, 100).clip(0.05, 4.5)
    found = fixed(timed([old, old / 2]))
    assert found.grade == "undecided"
    assert (same(found).won, same(found).pairs) == (100, 100)
    assert stated(found, "wins").grade == "better"
    assert stated(found, "wins").lower > 0.96
    assert stated(found, "median speed-up").lower == pytest.approx(2, rel=0.01)
    by_wins = fixed(timed([old, old / 2]), primary="wins")
    assert (by_wins.grade, by_wins.green, by_wins.exit_code) == ("better", True, 0)


# ---- who is judged -------------------------------------------------------------------------------


def test_missing_runs_do_not_make_easy_instances_win() -> None:
    """A configuration with runs on easy instances only, or on few, would be taken for the best; or
    an adjusted cost be printed as its training cost.
    """
    instance = 5 * np.random.default_rng(9).random(20)
    costs = np.array([[1.0], [2.0], [3.0]]) + instance
    costs[2, np.argsort(instance)[10:]] = np.nan
    costs[0, 1:] = np.nan
    found = assess(log(table(costs, high=10)))
    assert [row.configuration for row in found.ranking] == ["c1", "c2", "c0"]
    assert found.winner == "c1"
    expected = np.nanmean(costs[[1, 2, 0]], axis=1)
    assert [row.cost for row in found.ranking] == pytest.approx(expected)
    assert found.ranking[1].cost < found.ranking[0].cost
    assert "adjusted" in codes(found)


def test_nobody_wins_by_failing() -> None:
    """A configuration that only fails, at a guessed cost, would be the best."""
    statuses = np.array([[[0], [0]], [[3], [3]]])
    runs = table([[0.5, 0.6], [0.1, 0.1]], statuses=statuses)
    assert assess(log(runs)).winner == "c0"
    assert costs_of(runs).ranked.tolist() == [True, False]


def test_capped_runs_count_as_the_worst_in_the_ranking() -> None:
    """Whoever was stopped early would look cheap for it."""
    statuses = np.array([[[0], [0]], [[0], [Status.CENSORED]]], dtype=int)
    found = assess(log(table([[5.0, 6.0], [1.0, 1.0]], high=20, statuses=statuses)))
    assert found.winner == "c0"
    assert found.ranking[1].cost == pytest.approx(10.5)
    assert "censored" in codes(found)


def test_the_winner_is_whom_the_tool_chose() -> None:
    """The least training cost would overrule the tool, or a misspelt name be taken for another."""
    runs = log([[0.5, 0.5], [0.2, 0.2], [0.4, 0.4]])
    assert assess(runs).winner == "c1"
    assert assess(runs.replace(incumbent="c2")).winner == "c2"
    assert assess(runs, Question(configuration="c0")).winner == "c0"
    with pytest.raises(InputError, match="no configuration 'c9'"):
        assess(runs, Question(configuration="c9"))


def test_without_a_comparison() -> None:
    """Without a default, or with the default as winner, there would be a comparison, or a yes."""
    tested = log([[0.5] * 3, [0.2] * 3], adaptive=True,
                 test=table([[0.1, 0.3]], "t").replace(configurations=["c1"]))  # fmt: skip
    for runs in (log([[0.5, 0.5]], default=None), log([[0.1] * 9, [0.9] * 9]), tested):
        found = assess(runs)
        assert (found.grade, found.exit_code) == ("not testable", 1)
        assert stated(found, "mean").upper < 1
        assert (found.same is None) == (runs is not tested)
    assert "default-untested" in codes(found)
    # The block is about the runs that both have.
    assert same(found).source == "training"


def test_a_configuration_without_runs() -> None:
    """A configuration that is named in a log and was never run would be an error, or be judged."""
    costs = np.random.default_rng(19).random((3, 6))
    costs[2] = np.nan
    found = assess(log(costs), Question(configuration="c2"))
    assert isinstance(found.evidence, Refusal)
    assert (found.grade, found.noise, found.same) == ("not testable", None, None)
    assert "c2" not in [row.configuration for row in found.ranking]
    half = table(np.where(np.arange(6) < 3, costs, np.nan))
    test = half.replace(instances=["i0", "i1", "i2", "t3", "t4", "t5"])
    tested = log(costs, test=test, adaptive=True, incumbent="c1")
    for runs in (log(costs, default="c2", incumbent="c1"), tested, tested.replace(default="c2")):
        assert isinstance(assess(runs).evidence, Refusal)


def test_instances_under_two_names_count_once() -> None:
    """An instance that is listed as a and as ./a would count as two units."""
    runs = table(np.random.default_rng(10).random((2, 6)))
    found = fixed(runs.replace(instances=["x/a", "./x/a", "x/b", "x/./b", "x/c", "d"]))
    assert same(found).units == 4
    assert "twice" in codes(found)


# ---- over-tuning ---------------------------------------------------------------------------------


def test_selection_error_of_equal_configurations() -> None:
    """The best of equal ones would look as good as it seems, or a fixed one be over-tuned."""
    rng = np.random.default_rng(11)
    found = assess(log(rare(rng, 30, 40))).selection
    assert found is not None
    assert found.error > 0.02
    assert assess(log(rare(rng, 1, 40))).selection is None
    assert assess(log(rare(rng, 5, 40), adaptive=True, incumbent="c1")).selection is None


def test_training_and_test_costs() -> None:
    """Training and test costs would be mixed up, or a tuned winner be over-tuned like a list."""
    test = table([[0.6, 0.7], [0.1, 0.2], [0.8, 0.9]], prefix="t")
    found = assess(log([[0.5, 0.5], [0.3, 0.3], [0.2, 0.2]], test=test, incumbent="c2",
                       adaptive=True))  # fmt: skip
    assert [row.configuration for row in found.ranking] == ["c2", "c1", "c0"]
    assert [row.cost for row in found.ranking] == pytest.approx([0.2, 0.3, 0.5])
    assert [row.test_cost for row in found.ranking] == pytest.approx([0.85, 0.15, 0.65])
    assert found.training is not None
    assert found.training.difference == pytest.approx(-0.3)
    assert same(found).difference == pytest.approx(0.2)
    assert found.selection is None


# ---- likeness ------------------------------------------------------------------------------------


def test_instances_that_are_alike_are_a_condition() -> None:
    """A verdict on families would be green as if their instances were independent."""
    rng = np.random.default_rng(13)
    family = np.repeat(rng.random(8), 10)
    names = [f"{letter}{k}.cnf" for letter in "abcdefgh" for k in range(10)]
    costs = np.array([family, 0.2 * family]) * 0.8 + 0.02 * rng.random((2, 80))
    runs = table(costs).replace(instances=names)
    found = fixed(runs)
    assert (found.grade, found.green, found.exit_code) == ("better", False, 1)
    assert found.caveats[0].code == "alike"
    assert "--families prefix" in found.caveats[0].sentence
    by_family = fixed(runs.replace(families=[name[0] for name in names]), sampled="family")
    assert by_family.condition is None
    # Names that mean nothing raise no alarm.
    assert fixed(runs.replace(instances=[names[k] for k in rng.permutation(80)])).green
    # Without groups in the names nothing is checked.
    unchecked = fixed(costs)
    assert "no-groups" in codes(unchecked)
    assert unchecked.condition is None


# ---- records -------------------------------------------------------------------------------------


def test_the_same_runs_give_the_same_answer() -> None:
    """A verdict could not be had again, or depend on the order of rows and columns."""
    runs = log(np.random.default_rng(16).random((4, 30)))
    first, again = (json.dumps(assess(runs).to_dict()) for _ in range(2))
    assert first == again
    turned = runs.runs.select(runs.runs.configurations[::-1], runs.runs.instances[::-1])
    one, other = assess(runs), assess(runs.replace(runs=turned))
    assert (one.winner, one.grade) == (other.winner, other.grade)
    ranked = [[row.configuration for row in found.ranking] for found in (one, other)]
    assert ranked[0] == ranked[1]


@pytest.mark.parametrize("name", ["kissat", "tuned", "unbounded"])
def test_json_is_json(name: str) -> None:
    """A number that JSON lacks, a matrix or an array would end up in the report for programs."""
    runs = example_log("kissat")
    if name == "tuned":
        runs = runs.replace(adaptive=True, incumbent=runs.runs.configurations[5])
    if name == "unbounded":
        random = np.random.default_rng(17).random((3, 30))
        runs = log(table(random, low=-math.inf, high=math.inf))
    found = assess(runs)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["schema"] == 2
    assert (data["grade"], data["green"]) == (found.grade, found.green)
    assert data["winner"] == found.winner
    assert len(data["statements"]) == len(found.statements) == len(found.to_frame())
    assert set(data["log"]["parameters"]) <= {found.winner, found.default}
    if name == "unbounded":
        assert data["statements"][0]["upper"] is None


def test_caveats_of_the_log_are_kept() -> None:
    """What was left out on reading would be lost in the verdict."""
    caveat = Caveat("left-out", "Two rows were left out.")
    found = assess(log([[0.5] * 3, [0.2] * 3], caveats=(caveat,), maximised=True))
    assert caveat in found.caveats
    assert "maximised" in codes(found)
    assert all(each.sentence.endswith(".") for each in found.caveats)


# ---- anything ------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_any_log_is_judged(seed: int) -> None:
    """Some pattern of missing, failed or capped runs, families, plans or tests would end in an
    exception that is not ours, or in limits that contradict what was observed.
    """
    try:
        found = anything(np.random.default_rng(seed))
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - any other error fails
        return
    json.dumps(found.to_dict(), allow_nan=False)
    assert repr(found)
    for one in found.statements:
        assert not one.lower > one.observed + 1e-9
        assert not one.observed > one.upper + 1e-9
    assert not (found.green and found.condition)


def some_runs(rng: np.random.Generator, prefix: str) -> CostMatrix:
    """A small matrix of any kind; all of one log are of one metric."""
    shape = tuple(int(rng.integers(1, size)) for size in (5, 9, 4))
    times = rng.choice([0.0, 0.1, 0.5, 1.0], shape) if rng.random() < 0.3 else rng.random(shape)
    statuses = np.where(rng.random(shape) < 0.2, int(Status.TIMEOUT), int(Status.SOLVED))
    statuses = np.where(rng.random(shape) < 0.05, int(Status.CENSORED), statuses)
    costs = np.where(statuses == Status.TIMEOUT, 10.0, times)
    gone = rng.random(shape) < rng.choice([0.0, 0.0, 0.4])
    gone.flat[0] = False
    costs[gone], statuses[gone] = np.nan, -1
    families = None
    if rng.random() < 0.5:
        families = [f"f{number}" for number in rng.integers(0, 3, shape[1])]
    return table(costs, prefix, cutoff=1.0, par=10.0, statuses=statuses, families=families)


def anything(rng: np.random.Generator) -> Assessment:
    """The verdict on some log."""

    def one_of(*values: Any) -> Any:
        return values[int(rng.integers(len(values)))]

    runs = some_runs(rng, "i")
    test = one_of(None, some_runs(rng, "t"), some_runs(rng, "i"))
    if rng.random() < 0.3:
        plain = {"statuses": None, "cutoff": None, "par": None}
        low, high = one_of((0.0, 10.0), (-math.inf, math.inf))
        runs = runs.replace(costs=runs.charged, low=low, high=high, **plain)
        if test is not None:
            test = test.replace(costs=test.charged, low=low, high=high, **plain)

    def plan(runs: CostMatrix | None) -> Plan | None:
        if runs is None or rng.random() < 0.5:
            return None
        return Plan(
            order=runs.instances, planned=int(rng.integers(1, 6)), watched=bool(one_of(0, 1)),
            candidates=one_of((), runs.configurations[:2]), runs=int(rng.integers(1, 3)),
            sampled="family" if runs.families is not None and rng.random() < 0.3 else "instance",
        )  # fmt: skip

    whole = Log(
        runs=runs, test=test, default=one_of(None, "c0", "c1"), adaptive=one_of(None, True, False),
        incumbent=one_of(None, *runs.configurations), plan=plan(runs), test_plan=plan(test),
        steps=(Step(1, "c0"), Step(2, "c1")), listed=one_of(None, 1, 9), path="runs.db",
        scenario=one_of("", "scenario.toml"),
    )  # fmt: skip
    question = Question(
        configuration=one_of(None, None, None, "c0", "c1"),
        basis=one_of(None, None, None, None, "test", "list", "fixed before"),
        sampled=one_of(None, None, None, "family", "seed"),
        primary=one_of("mean", "wins"),
        margin=one_of(None, "5%"),
    )
    return assess(whole, question)
