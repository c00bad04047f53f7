"""The verdict as a whole: known truth, over-tuning, ranking, likeness, records as JSON."""

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from truecost.arrays import FloatArray
from truecost.errors import InputError, Refusal
from truecost.examples import example_log
from truecost.judge import Assessment, Question, assess
from truecost.judge.costs import costs_of
from truecost.matrix import CostMatrix, Log, Plan, Step
from truecost.runs import Caveat, Status
from truecost.stats.selection import difficulty

DELTA, REPETITIONS, LUCK = 0.2, 60, 1e-4


def named(costs: Any, prefix: str = "i", high: float = 1, **fields: Any) -> CostMatrix:
    """Configurations c0, c1, … on instances i0, i1, …"""
    costs = np.asarray(costs, float)
    rows = [f"c{row}" for row in range(len(costs))]
    columns = [f"{prefix}{place}" for place in range(costs.shape[1])]
    return CostMatrix(costs, rows, columns, 0, high, **fields)


def listed(costs: Any, high: float = 1, **fields: Any) -> Log:
    """A list that was fixed before, with the default c0."""
    known: dict[str, Any] = {"default": "c0", "adaptive": False} | fields
    return Log(runs=named(costs, high=high), **known)


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
        log = listed(rare(rng, 8, 20))
        if way == "test":
            best = int(log.runs.costs.mean(axis=(1, 2)).argmin())
            fresh = named(rare(rng, 8, 20), prefix="t")
            log = log.replace(adaptive=True, test=fresh, incumbent=f"c{best}")
        found = assess(log, question)
        mean = found.statement("mean")
        assert mean is not None
        missed += mean.upper < TRUE_MEAN
        alarms += found.grade == "better"
        row = next(row for row in found.ranking if row.configuration == found.winner)
        lucky += row.cost < 0.7 * TRUE_MEAN
    assert holds(missed)
    assert holds(alarms)
    assert lucky > REPETITIONS / 2


def test_looks_after_every_unit_hold() -> None:
    """Whoever looks at a journal again and again would be wrong beyond δ."""
    rng, wrong = np.random.default_rng(2), 0
    for _ in range(25):
        test = named(rare(rng, 2, 40), prefix="t")
        plan = Plan(order=test.instances, planned=30, candidates=("c1",))
        for done in (5, 10, 20, 30, 40):
            costs = test.costs.copy()
            costs[:, done:] = np.nan
            log = Log(
                runs=named(rare(rng, 2, 3)), test=test.replace(costs=costs), test_plan=plan,
                default="c0", incumbent="c1", adaptive=True,
            )  # fmt: skip
            if assess(log, Question(delta=DELTA)).grade == "better":
                wrong += 1
                break
    assert binomtest(wrong, 25, DELTA, alternative="greater").pvalue > LUCK


def test_better_configurations_are_found_better() -> None:
    """The verdict would never say yes."""
    rng = np.random.default_rng(3)
    quality = np.linspace(0.9, 0.2, 8)[:, np.newaxis]
    found = [assess(listed(rng.random((8, 60)) * quality)) for _ in range(5)]
    assert all(each.grade == "better" for each in found)
    assert all(each.green and each.exit_code == 0 for each in found)
    worse = assess(listed(rng.random((2, 60)) * [[0.2], [0.9]]), Question(configuration="c1"))
    assert worse.grade == "worse"
    assert worse.exit_code == 1


def test_the_set_of_the_best_has_the_best() -> None:
    """The truly best configuration would be ruled out beyond δ, or nobody ever."""
    rng, missed, sizes = np.random.default_rng(4), 0, []
    for _ in range(30):
        best = assess(listed(rare(rng, 5, 30) * 0.9 + 0.02 * np.arange(5)[:, np.newaxis]),
                      Question(delta=DELTA)).best_set  # fmt: skip
        assert best is not None
        missed += "c0" not in best
        sizes.append(len(best))
    assert binomtest(missed, 30, DELTA, alternative="greater").pvalue > LUCK
    clear = assess(listed(rng.random((5, 80)) * np.linspace(0.1, 1, 5)[:, np.newaxis])).best_set
    assert clear is not None
    assert len(clear) < 4
    assert "c0" in clear


def test_unknown_origin_is_never_green() -> None:
    """A better winner of a log of unknown origin would have a green badge and exit code 0."""
    rng = np.random.default_rng(5)
    costs = rng.random((2, 60)) * [[1.0], [0.2]]
    found = assess(listed(costs, adaptive=None))
    assert (found.grade, found.green, found.exit_code) == ("better", False, 1)
    assert "condition" in [caveat.code for caveat in found.caveats]
    assert assess(listed(costs, adaptive=None), Question(margin="5%")).exit_code == 1
    assert assess(listed(costs), Question(margin="5%")).exit_code == 0
    sure = assess(listed(costs, adaptive=None), Question(basis="list"))
    assert (sure.grade, sure.green, sure.exit_code) == ("better", True, 0)


# ---- three cases ---------------------------------------------------------------------------------


def timed(times: FloatArray, cutoff: float = 100) -> Log:
    """A new version c1 against c0 on 100 instances, PAR10."""
    late = times >= cutoff
    runs = CostMatrix(
        np.where(late, 10 * cutoff, times), ["c0", "c1"], [f"i{k}" for k in range(times.shape[1])],
        cutoff=cutoff, par=10, statuses=late.astype(int)[:, :, np.newaxis],
    )  # fmt: skip
    return Log(runs=runs, default="c0", incumbent="c1", adaptive=False, listed=1)


def test_twice_as_fast_on_all_instances() -> None:
    """A hundred wins of a hundred would prove PAR10, which one unseen timeout could reverse; or
    nobody be told of the wins.
    """
    old = np.random.default_rng(6).lognormal(0, 1, 100).clip(0.05, 45)
    found = assess(timed(np.array([old, old / 2])))
    assert found.grade == "undecided"
    assert found.same is not None
    assert (found.same.won, found.same.runs) == (100, 100)
    wins = found.statement("wins")
    assert wins is not None
    assert wins.grade == "better"
    assert wins.lower > 0.96
    speed = found.statement("median speed-up")
    assert speed is not None
    assert speed.lower == pytest.approx(2)
    by_wins = assess(timed(np.array([old, old / 2])), Question(primary="wins"))
    assert (by_wins.grade, by_wins.green, by_wins.exit_code) == ("better", True, 0)


def test_slower_and_solves_more() -> None:
    """A solver that solves more and is slower would not be better where failures cost most."""
    rng = np.random.default_rng(7)
    old = rng.lognormal(2, 0.5, 100).clip(0, 50)
    late = rng.random(100) < 0.4
    found = assess(timed(np.array([np.where(late, 100, old), np.where(rng.random(100) < 0.05, 100,
                                                                     1.7 * old)])))  # fmt: skip
    assert found.grade == "better"
    assert found.same is not None
    assert found.same.won < 50
    assert found.same.time_ratio is not None
    assert found.same.time_ratio < 1


def test_tour_lengths_in_a_wide_range() -> None:
    """A difference of a per cent in a wide range would be called proven, or nothing be said."""
    rng = np.random.default_rng(8)
    old = rng.uniform(80, 95, 60)
    found = assess(listed([old, old * rng.normal(0.99, 0.005, 60)], high=200, listed=1),
                   Question(configuration="c1"))  # fmt: skip
    assert found.grade == "probably better"
    difference = found.statement("difference")
    assert difference is not None
    assert difference.lower < -5
    assert difference.upper > 5
    assert difference.approximate is not None
    assert -1.2 < difference.approximate[0] < difference.approximate[1] < -0.5
    assert found.exit_code == 1


# ---- who is judged -------------------------------------------------------------------------------


def test_missing_runs_do_not_make_easy_instances_win() -> None:
    """A configuration with runs on easy instances only, or on few, would be taken for the best; or
    an adjusted cost be printed as its training cost.
    """
    rng = np.random.default_rng(9)
    quality, instance = np.array([1.0, 2.0, 3.0]), 5 * rng.random(20)
    costs = quality[:, np.newaxis] + instance
    there = np.ones(costs.shape, dtype=bool)
    there[2, np.argsort(instance)[10:]] = False
    there[0, 1:] = False
    assert difficulty(np.where(there, costs, 0), there) == pytest.approx(instance - instance.mean())
    found = assess(listed(np.where(there, costs, np.nan), high=10))
    assert [row.configuration for row in found.ranking] == ["c1", "c2", "c0"]
    assert found.winner == "c1"
    for row in found.ranking:
        mine = there[int(row.configuration[1])]
        assert row.cost == pytest.approx(costs[int(row.configuration[1])][mine].mean())
    assert found.ranking[1].cost < found.ranking[0].cost
    assert "adjusted" in [caveat.code for caveat in found.caveats]


def test_nobody_wins_by_failing() -> None:
    """A configuration that only fails, at a guessed cost, would be the best."""
    statuses = np.array([[[0], [0]], [[3], [3]]])
    runs = named([[5.0, 6.0], [1.0, 1.0]], high=10, statuses=statuses)
    assert assess(Log(runs=runs, adaptive=False)).winner == "c0"
    assert costs_of(runs).ranked.tolist() == [True, False]


def test_capped_runs_count_as_the_worst_in_the_ranking() -> None:
    """Whoever was stopped early would look cheap for it."""
    statuses = np.array([[[0], [0]], [[0], [Status.CENSORED]]], dtype=int)
    runs = named([[5.0, 6.0], [1.0, 1.0]], high=20, statuses=statuses)
    found = assess(Log(runs=runs, adaptive=False))
    assert found.winner == "c0"
    assert found.ranking[1].cost == pytest.approx(10.5)
    assert "censored" in [caveat.code for caveat in found.caveats]


def test_the_winner_is_whom_the_tool_chose() -> None:
    """The least training cost would overrule the tool, or a misspelt name be taken for another."""
    log = listed([[0.5, 0.5], [0.2, 0.2], [0.4, 0.4]])
    assert assess(log).winner == "c1"
    assert assess(log.replace(incumbent="c2")).winner == "c2"
    assert assess(log, Question(configuration="c0")).winner == "c0"
    with pytest.raises(InputError, match="no configuration 'c9'"):
        assess(log, Question(configuration="c9"))


def test_without_a_comparison() -> None:
    """Without a default, or with the default as winner, there would be a comparison, or a yes."""
    for log in (listed([[0.5, 0.5]], default=None), listed([[0.1] * 9, [0.9] * 9])):
        found = assess(log)
        assert found.grade == "not testable"
        assert found.same is None
        assert found.exit_code == 1
        mean = found.statement("mean")
        assert mean is not None
        assert mean.upper < 1
    untested = listed([[0.5] * 3, [0.2] * 3]).replace(
        test=named([[0.1, 0.3]], prefix="t").replace(configurations=["c1"]), adaptive=True
    )
    found = assess(untested)
    assert found.grade == "not testable"
    assert "default-untested" in [caveat.code for caveat in found.caveats]
    assert found.statement("mean") is not None


def test_a_configuration_without_runs() -> None:
    """A configuration that is named in a log and was never run would be an error, or be judged."""
    costs = np.random.default_rng(19).random((3, 6))
    costs[2] = np.nan
    found = assess(listed(costs), Question(configuration="c2"))
    assert isinstance(found.evidence, Refusal)
    assert (found.grade, found.noise, found.same) == ("not testable", None, None)
    assert "c2" not in [row.configuration for row in found.ranking]
    found = assess(listed(costs, default="c2"), Question(configuration="c1"))
    assert isinstance(found.evidence, Refusal)
    test = named(np.where(np.arange(6) < 3, costs, np.nan)).replace(
        instances=["i0", "i1", "i2", "t3", "t4", "t5"]
    )
    tested = listed(costs, test=test, adaptive=True, incumbent="c1")
    for log in (tested, tested.replace(default="c2")):
        assert isinstance(assess(log).evidence, Refusal)


def test_instances_under_two_names_count_once() -> None:
    """An instance that is listed as a and as ./a would count as two units."""
    costs = np.random.default_rng(10).random((2, 6))
    runs = named(costs).replace(instances=["x/a", "./x/a", "x/b", "x/./b", "x/c", "d"])
    found = assess(Log(runs=runs, default="c0", adaptive=False), Question(configuration="c1"))
    difference = found.statement("difference")
    assert difference is not None
    assert difference.units == 4
    assert "twice" in [caveat.code for caveat in found.caveats]


# ---- over-tuning ---------------------------------------------------------------------------------


def test_selection_error_of_equal_configurations() -> None:
    """The best of equal ones would look as good as it seems, or a fixed one be over-tuned."""
    rng = np.random.default_rng(11)
    found = assess(listed(rare(rng, 30, 40))).selection
    assert found is not None
    assert found.error is not None
    assert found.error > 0.02
    assert assess(listed(rare(rng, 1, 40))).selection is None
    assert assess(listed(rare(rng, 5, 40), adaptive=True, incumbent="c1")).selection is None


def test_incumbents_over_time() -> None:
    """Training and test costs over time would be mixed up, or a lucky earlier incumbent be called
    better.
    """
    rng = np.random.default_rng(12)
    steps = (Step(2, "c0"), Step(4, "c1"), Step(None, "c2"))
    training = named([[0.5, 0.5], [0.3, 0.3], [0.2, 0.2]])
    noise = rng.random((3, 40))

    def judged(level: list[float]) -> Assessment:
        test = named(0.1 * noise + np.array(level)[:, np.newaxis], prefix="t")
        return assess(
            Log(runs=training, test=test, steps=steps, default="c0", incumbent="c2", adaptive=True)
        )

    lost = judged([0.6, 0.1, 0.8]).selection
    assert lost is not None
    assert [each.configuration for each in lost.incumbents] == ["c0", "c1", "c2"]
    assert [each.runs for each in lost.incumbents] == [2, 4, None]
    assert [each.training for each in lost.incumbents] == pytest.approx([0.5, 0.3, 0.2])
    assert lost.incumbents[1].test < 0.25
    assert lost.earlier is not None
    assert (lost.earlier.configuration, lost.earlier.proven) == ("c1", True)
    assert lost.earlier.lower > 0
    fine = judged([0.3, 0.3, 0.3]).selection
    assert fine is not None
    assert fine.earlier is not None
    assert not fine.earlier.proven
    assert lost.error is None


# ---- likeness ------------------------------------------------------------------------------------


def test_instances_that_are_alike_are_a_condition() -> None:
    """A verdict on families would be green as if their instances were independent."""
    rng = np.random.default_rng(13)
    family = np.repeat(rng.random(8), 10)
    names = [f"{letter}{k}.cnf" for letter in "abcdefgh" for k in range(10)]
    costs = np.array([family, 0.2 * family]) * 0.8 + 0.02 * rng.random((2, 80))
    runs = named(costs).replace(instances=names)
    log = Log(runs=runs, default="c0", adaptive=False)
    found = assess(log)
    assert found.grade == "better"
    assert (found.green, found.exit_code) == (False, 1)
    caveat = next(caveat for caveat in found.caveats if caveat.code == "alike")
    assert "--families prefix" in caveat.sentence
    by_family = assess(log.replace(runs=runs.replace(families=[name[0] for name in names])),
                       Question(sampled="family"))  # fmt: skip
    assert by_family.condition is None
    # Names that mean nothing raise no alarm.
    mixed = runs.replace(instances=[names[k] for k in rng.permutation(80)])
    assert assess(log.replace(runs=mixed)).green


def test_names_without_groups_are_a_caveat() -> None:
    """Where nothing checks whether instances are alike, nobody would be told."""
    found = assess(listed(np.random.default_rng(14).random((2, 20))))
    assert "no-groups" in [caveat.code for caveat in found.caveats]
    assert found.condition is None


# ---- sorted tables -------------------------------------------------------------------------------


def test_sorted_tables_with_few_values_hold() -> None:
    """A table sorted by cost, with few distinct costs, would miss beyond δ."""
    rng, missed = np.random.default_rng(15), 0
    for _ in range(REPETITIONS):
        costs = np.sort(rng.choice([0.0, 0.5, 1.0], size=(1, 40), p=[0.5, 0.3, 0.2]), axis=1)
        mean = assess(listed(costs, default=None), Question(delta=DELTA)).statement("mean")
        assert mean is not None
        missed += mean.upper < 0.35
    assert holds(missed)


# ---- records -------------------------------------------------------------------------------------


def test_the_same_runs_give_the_same_answer() -> None:
    """A verdict could not be had again, or depend on the order of rows and columns."""
    log = listed(np.random.default_rng(16).random((4, 30)))
    first, again = (json.dumps(assess(log).to_dict()) for _ in range(2))
    assert first == again
    back = log.replace(
        runs=log.runs.select(
            configurations=log.runs.configurations[::-1], instances=log.runs.instances[::-1]
        )
    )
    one, other = assess(log), assess(back)
    assert (one.winner, one.grade) == (other.winner, other.grade)
    assert [row.configuration for row in one.ranking] == [
        row.configuration for row in other.ranking
    ]


@pytest.mark.parametrize("name", ["kissat", "tuned", "unbounded"])
def test_json_is_json(name: str) -> None:
    """A number that JSON lacks, a matrix or an array would end up in the report for programs."""
    log = example_log("kissat")
    if name == "tuned":
        log = log.replace(adaptive=True, incumbent=log.runs.configurations[5])
    if name == "unbounded":
        log = listed(np.random.default_rng(17).random((3, 30)))
        log = log.replace(runs=log.runs.replace(low=-math.inf, high=math.inf))
    found = assess(log)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["schema"] == 2
    assert (data["grade"], data["green"]) == (found.grade, found.green)
    assert data["winner"] == found.winner
    assert len(data["statements"]) == len(found.statements)
    assert len(found.to_frame()) == len(found.statements)
    assert set(data["log"]["parameters"]) <= {found.winner, found.default}
    if name == "unbounded":
        assert data["statements"][0]["upper"] is None


def test_infinite_penalties_have_a_name() -> None:
    """The penalty at which only failures count would be null."""
    rng = np.random.default_rng(18)
    old = np.where(rng.random(200) < 0.5, 100, 1.0)
    found = assess(timed(np.array([old, np.where(rng.random(200) < 0.1, 100, 2.0)])))
    data = found.to_dict()
    assert data["ladder"]["better"] == [1.0, "inf"]
    assert data["ladder"]["tried"][-1] == "inf"
    assert data["ladder"]["statements"][-1]["penalty"] == "inf"
    assert all(low < high for low, high in pairwise(found.ladder.tried if found.ladder else ()))


def test_caveats_of_the_log_come_first() -> None:
    """What was left out on reading would be lost in the verdict."""
    caveat = Caveat("left-out", "Two rows were left out.")
    found = assess(listed([[0.5] * 3, [0.2] * 3], caveats=(caveat,), maximised=True))
    assert found.caveats[0] == caveat
    assert "maximised" in [each.code for each in found.caveats]
    assert all(each.sentence.endswith(".") for each in found.caveats)


# ---- anything ------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_any_log_is_judged(seed: int) -> None:
    """Some pattern of missing, failed or capped runs, families, plans or tests would end in an
    exception that is not ours, or in limits that contradict what was observed.
    """
    rng = np.random.default_rng(seed)
    found = anything(rng)
    if found is None:
        return
    json.dumps(found.to_dict(), allow_nan=False)
    assert repr(found)
    for one in found.statements:
        assert not one.lower > one.observed + 1e-9
        assert not one.observed > one.upper + 1e-9
    if found.green:
        assert found.grade == "better"
        assert found.condition is None


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
    return named(costs, prefix, 10.0, cutoff=1.0, par=10.0, statuses=statuses, families=families)


def anything(rng: np.random.Generator) -> Assessment | None:
    """The verdict on some log; None where it is refused."""

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

    def plan(table: CostMatrix | None) -> Plan | None:
        if table is None or rng.random() < 0.5:
            return None
        return Plan(
            order=table.instances, planned=int(rng.integers(1, 6)), watched=bool(one_of(0, 1)),
            candidates=one_of((), table.configurations[:2]), runs=int(rng.integers(1, 3)),
            sampled="family" if table.families is not None and rng.random() < 0.3 else "instance",
        )  # fmt: skip

    log = Log(
        runs=runs, test=test, default=one_of(None, "c0", "c1"), adaptive=one_of(None, True, False),
        incumbent=one_of(None, *runs.configurations), plan=plan(runs), test_plan=plan(test),
        steps=(Step(1, "c0"), Step(2, "c1")), listed=one_of(None, 1, 9),
    )  # fmt: skip
    try:
        question = Question(
            configuration=one_of(None, None, None, "c0", "c1"), basis=one_of(None, None, None, None, "test", "list",
            "fixed before"), sampled=one_of(None, None, None, "family", "seed"),
            primary=one_of("mean", "wins"), margin=one_of(None, "5%"),
        )  # fmt: skip
        return assess(log, question)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - any other error fails
        return None
