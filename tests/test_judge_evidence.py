"""Which runs count, with how much of δ, and why none do."""

from typing import Any

import numpy as np
import pytest
from judge_logs import codes, log, stated, table

from truecost.errors import InputError, Refusal
from truecost.judge import Assessment, Evidence, Question, assess
from truecost.judge.evidence import NOT_TUNED, UNEVEN
from truecost.matrix import CostMatrix, Log, Plan
from truecost.runs import Status


def matrix(
    configurations: int = 3, instances: int = 6, runs: int = 1, prefix: str = "i", **fields: Any
) -> CostMatrix:
    """Random costs."""
    costs = np.random.default_rng(0).random((configurations, instances, runs))
    return table(costs, prefix, **fields)


def without(runs: CostMatrix, *places: Any) -> CostMatrix:
    """The matrix without the runs at these places."""
    costs = runs.costs.copy()
    for place in places:
        costs[place] = np.nan
    return runs.replace(costs=costs)


def judged(log: Log, **asked: Any) -> Assessment:
    """The verdict on c1."""
    return assess(log, Question(**{"configuration": "c1"} | asked))


def evidence(log: Log, **asked: Any) -> Evidence:
    """The evidence on which statements rest."""
    found = judged(log, **asked).evidence
    assert isinstance(found, Evidence), found
    return found


def refusal(log: Log, **asked: Any) -> Refusal:
    """Why there is none."""
    found = judged(log, **asked)
    assert isinstance(found.evidence, Refusal)
    assert (found.grade, found.exit_code, found.statements) == ("not testable", 1, ())
    return found.evidence


# ---- basis ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "asked", "basis", "candidates", "rivals", "condition"),
    [
        ({}, {}, "list", 3, 2, None),
        ({"listed": 10}, {}, "list", 10, 9, None),
        ({"default": None}, {}, "list", 3, 3, None),
        ({}, {"candidates": 20}, "list", 20, 19, None),
        ({"adaptive": None}, {}, "list", 3, 2, NOT_TUNED),
        ({"adaptive": None}, {"basis": "list"}, "list", 3, 2, None),
        ({"adaptive": None}, {"basis": "fixed before"}, "fixed before", 1, 1, None),
        ({"listed": 1}, {}, "fixed before", 1, 1, None),
    ],
)
def test_how_delta_is_shared(
    fields: dict[str, Any],
    asked: dict[str, Any],
    basis: str,
    candidates: int,
    rivals: int,
    condition: str | None,
) -> None:
    """A winner picked from a list would be judged with all of δ, or discarded candidates be free."""
    found = judged(log(matrix(), **fields), **asked)
    assert isinstance(found.evidence, Evidence)
    assert (found.evidence.basis, found.condition) == (basis, condition)
    assert (found.evidence.candidates, found.evidence.rivals) == (candidates, rivals)
    assert stated(found, "mean").delta == pytest.approx(0.05 / candidates)
    if (difference := found.statement("difference")) is not None:
        assert difference.delta == pytest.approx(0.05 / rivals)


def test_a_default_off_the_list_is_a_rival_of_all() -> None:
    """A default that was no candidate would lower the number of comparisons."""
    plan = Plan(order=matrix().instances, planned=6, candidates=("c1", "c2"), watched=False)
    assert evidence(log(matrix(), plan=plan)).rivals == 2
    found = evidence(log(without(matrix(), 0), default=None))
    assert (found.candidates, found.rivals) == (2, 2)


def test_tuned_logs_are_refused() -> None:
    """The runs that a configurator tuned on would prove its winner better."""
    tuned = log(matrix(), adaptive=True, tool="SMAC3 2.4")
    assert refusal(tuned).reason.startswith("SMAC3 tuned")
    assert "validate" in refusal(tuned).way_out
    # No scenario is written from a study.
    assert "--test" in refusal(tuned.replace(tool="Optuna")).way_out
    # Test runs under other names would be passed over in silence.
    others = matrix(prefix="new").replace(configurations=("x", "y", "z"))
    assert "no configuration c1" in refusal(tuned.replace(test=others)).way_out
    for basis in ("list", "fixed before"):
        refusal(tuned, basis=basis)


def test_configurations_added_later_have_estimates_only() -> None:
    """A configuration proposed after results were seen would be judged as one of the list, or be
    out of the set of the best instead of not compared.
    """
    plan = Plan(order=matrix().instances, planned=6, candidates=("c0", "c1"), watched=False)
    added = log(matrix(), plan=plan)
    assert "added after" in refusal(added, configuration="c2").reason
    first = judged(added)
    assert isinstance(first.evidence, Evidence)
    assert first.evidence.rivals == 1
    best = {row.configuration: row.maybe_best for row in first.ranking}
    assert None not in (best["c0"], best["c1"])
    assert best["c2"] is None
    assert "later-configurations" in codes(first)


def test_the_best_of_a_list_with_missing_runs() -> None:
    """A configuration would be out of the set of the best though not all of its runs are there, or a
    journal's list be looked at a second time once it is finished.
    """
    costs = np.linspace(0.1, 0.9, 3)[:, np.newaxis] + np.zeros(40)
    costs[1, 0] = np.nan
    runs = table(costs)
    best = [row.maybe_best for row in judged(log(runs), configuration="c0").ranking]
    assert sorted(map(str, best)) == ["False", "None", "True"]
    plan = Plan(order=runs.instances, planned=40, candidates=runs.configurations, watched=False)
    planned = judged(log(runs, plan=plan), configuration="c0")
    assert [row.maybe_best for row in planned.ranking] == [None] * 3


def test_fixed_before_needs_a_name() -> None:
    """The best of several would be called fixed before."""
    for incumbent in (None, "c2"):
        with pytest.raises(InputError, match="--configuration"):
            assess(log(matrix(), incumbent=incumbent), Question(basis="fixed before"))
    assert assess(log(matrix(2)), Question(basis="fixed before")).winner == "c1"


def test_uneven_runs_are_a_condition() -> None:
    """Runs that are missing because of their costs would be taken for missing by chance."""
    uneven = log(without(matrix(), (2, 0)))
    for asked in ({}, {"basis": "list"}, {"basis": "fixed before"}):
        assert evidence(uneven, configuration="c2", **asked).condition == UNEVEN
        # What others lack does not matter.
        assert evidence(uneven, configuration="c1", **asked).condition is None
    unknown = evidence(uneven.replace(adaptive=None), configuration="c2").condition or ""
    assert NOT_TUNED in unknown
    assert UNEVEN in unknown
    # An instance that both lack is missing, too; fewer runs on each are none that are missing.
    both = log(without(matrix(), (0, 0), (1, 0)))
    assert evidence(both, configuration="c1", basis="fixed before").condition == UNEVEN
    more = log(without(matrix(runs=2), (1, slice(None), 1)))
    assert evidence(more, configuration="c1").condition is None
    # Of a single instance the seeds are the units.
    seeds = log(without(matrix(2, 1, 8), (1, 0, 5)))
    assert evidence(seeds, configuration="c1", basis="fixed before").condition == UNEVEN
    tested = without(matrix(prefix="t"), (2, 0))
    tuned = log(matrix(), test=tested, adaptive=True)
    assert evidence(tuned.replace(incumbent="c2"), configuration="c2").condition == UNEVEN
    assert evidence(tuned.replace(incumbent="c1")).condition is None


def test_the_default_of_a_tuned_log() -> None:
    """The default would pay for configurations that are not judged, be said to come from a list that
    was fixed, with the best of it among the tuned ones; or its runs in a race be complete.
    """
    tuned = log(matrix(), adaptive=True, tool="SMAC3 2.4")
    found = judged(tuned, configuration="c0")
    assert isinstance(found.evidence, Evidence)
    assert (found.evidence.basis, found.evidence.candidates) == ("fixed before", 1)
    assert [row.maybe_best for row in found.ranking] == [None] * 3
    raced = log(without(matrix(), (0, 0)), adaptive=True)
    assert evidence(raced, configuration="c0").condition == UNEVEN


def test_folds_are_refused() -> None:
    """Folds of one data set would count as independent instances."""
    folds = matrix().replace(instances=[f"data/fold_{place}" for place in range(6)])
    assert "Folds" in refusal(log(folds)).reason
    assert "other data sets" in refusal(log(folds)).way_out


def test_capped_runs_are_refused() -> None:
    """A run whose cost is unknown would be judged by its cap."""
    statuses = np.zeros((3, 6, 1), int)
    statuses[2, 0] = Status.CENSORED
    capped = log(matrix(statuses=statuses))
    # Those of others do not matter.
    assert evidence(capped).units == 6
    assert "1 run" in refusal(capped, configuration="c2").reason
    assert all(row.maybe_best is None for row in judged(capped).ranking)


# ---- test runs -----------------------------------------------------------------------------------


def validated(names: list[str] | None = None, configurations: int = 2, **fields: Any) -> Log:
    """A tuned log with test runs of the first configurations."""
    test = matrix(configurations, 4, prefix="t")
    test = test if names is None else test.replace(instances=names)
    return log(matrix(), **{"test": test, "adaptive": True, "incumbent": "c1"} | fields)


def plan_of(log: Log, *candidates: str, **fields: Any) -> Log:
    """The log with a recorded plan of its test."""
    assert log.test is not None
    terms: dict[str, Any] = {"order": log.test.instances, "planned": 4, "candidates": candidates}
    return log.replace(test_plan=Plan(**terms | fields))


@pytest.mark.parametrize(
    ("names", "units"),
    [
        (None, 4),
        (["t0", "t1", "i2", "t3"], 3),
        (["x/i0", "./i1", "t2", "t3"], 2),
        (["i0", "i1", "i2", "i3"], 0),
    ],
)
def test_training_instances_are_not_fresh(names: list[str] | None, units: int) -> None:
    """An instance of training would count as fresh, perhaps under another path; or test runs of a
    tuned winner be refused, or pay for the candidates of the search.
    """
    if not units:
        assert "used in training" in refusal(validated(names)).reason
        return
    found = evidence(validated(names))
    assert (found.basis, found.rivals, found.units, found.condition) == ("test", 1, units, None)
    assert ("left-out" in codes(judged(validated(names)))) == (units < 4)


def test_families_of_training_are_not_fresh() -> None:
    """A new instance of a known family would count as a new family."""
    runs = matrix(families=list("fffggg"))
    test = matrix(2, 4, prefix="t", families=list("ghhk"))
    found = evidence(log(runs, test=test, adaptive=True), sampled="family")
    assert (found.runs.instances, found.units) == (("t1", "t2", "t3"), 2)


def test_several_finalists_share_delta() -> None:
    """The best of several validated candidates would be judged with all of δ."""
    tested = validated(configurations=3)
    found = evidence(plan_of(tested, "c1", "c2"))
    assert (found.rivals, found.candidates) == (2, 2)
    # A plan without names is about everybody.
    assert evidence(plan_of(tested)).rivals == 2
    # Nobody else may use the test: its share of δ is spent on the candidates.
    assert "added after" in refusal(plan_of(tested, "c2")).reason


def test_a_finalist_picked_by_its_tests_pays_for_the_others() -> None:
    """Whoever picks the best of several tested configurations would have all of δ."""
    several = validated(test=matrix(5, 4, prefix="t"))
    assert evidence(several).rivals == 1
    assert evidence(several, configuration="c3").rivals == 4


def test_a_validation_without_a_log() -> None:
    """The runs of a validation would be training runs of themselves, and none of them fresh."""
    test = matrix(2, 4, prefix="t")
    whole = plan_of(log(test, test=test, incumbent="c1", adaptive=None), "c1")
    # Read from files, both are there.
    for runs in (test, test.replace()):
        found = evidence(whole.replace(runs=runs))
        assert (found.basis, found.units) == ("test", 4)


def test_instances_of_a_planned_test_are_fresh() -> None:
    """A validation on test/1 after training on train/1 would be empty wherever the files are not."""
    tested = log(matrix(2, 4, prefix="train/"), test=matrix(2, 4, prefix="test/"), adaptive=True)
    assert evidence(plan_of(tested, "c1")).units == 4
    assert "used in training" in refusal(tested).reason


def test_no_test_runs_where_they_are_asked_for() -> None:
    """Training runs would stand in for test runs."""
    assert "--test" in refusal(log(matrix()), basis="test").way_out
    # A list with tests of others only is judged by its own runs.
    assert evidence(log(matrix(), test=matrix(1, 4, prefix="t"))).basis == "list"


# ---- units ---------------------------------------------------------------------------------------


def test_a_single_instance_has_seeds_as_units() -> None:
    """Runs of one instance would count as one unit."""
    found = evidence(log(matrix(2, 1, 8)))
    assert (found.sampled, found.units) == ("seed", 8)
    with pytest.raises(InputError, match="single instance"):
        evidence(log(matrix()), sampled="seed")


def test_new_seeds_of_a_single_instance_are_fresh() -> None:
    """Seeds that training has used would count as fresh, or new ones be refused."""
    seeds = np.tile(np.arange(8), (2, 1, 1))
    runs = matrix(2, 1, 8, seeds=seeds)
    tested = log(runs, test=runs.replace(seeds=seeds + 6), adaptive=True)
    assert evidence(tested).units == 6
    assert "seeds" in refusal(tested.replace(test=runs)).reason
    unknown = runs.replace(seeds=None)
    assert "unknown" in refusal(tested.replace(runs=unknown, test=unknown)).reason


def test_families_as_units() -> None:
    """Instances of a family would count as independent though families were asked for."""
    found = evidence(log(matrix(families=list("ffgghh"))), sampled="family")
    assert (found.sampled, found.units) == ("family", 3)
    with pytest.raises(InputError, match="--families"):
        evidence(log(matrix()), sampled="family")


def test_what_only_one_of_the_two_ran_does_not_count() -> None:
    """A difference would be taken between different instances."""
    apart = without(matrix(), (0, slice(2)), (1, slice(4, None)))
    assert evidence(log(apart)).runs.instances == ("i2", "i3")
    assert "in common" in refusal(log(without(apart, (1, slice(2, None))))).reason


# ---- plans ---------------------------------------------------------------------------------------


def planned(done: list[int], planned: int = 4, runs: int = 1, **fields: Any) -> Log:
    """A gathered log: `done` runs of c1 on each instance of the recorded order."""
    whole = matrix(2, len(done), 3)
    costs = whole.costs.copy()
    for place, number in enumerate(done):
        costs[1, place, number:] = np.nan
    terms: dict[str, Any] = {"planned": planned, "runs": runs, "watched": False} | fields
    # The matrix has another order than the plan.
    gathered = whole.replace(costs=costs[:, ::-1])
    return log(gathered, plan=Plan(order=whole.instances[::-1], **terms))


def test_the_longest_finished_prefix_counts() -> None:
    """Whatever finished first would count, and slow runs be left out."""
    found = evidence(planned([1, 1, 0, 1]))
    assert (found.units, found.planned) == (2, 4)
    assert found.runs.instances == ("i3", "i2")
    assert "unfinished" in codes(judged(planned([1, 1, 0, 1])))
    assert "finished" in refusal(planned([0, 1, 1, 1])).reason


def test_one_look_at_a_planned_end() -> None:
    """A finished list would be judged as if it were looked at after every unit, or nothing be said
    of its best once it is extended.
    """
    states = [evidence(planned(done)) for done in ([1, 1, 0, 1], [1] * 4, [3] * 4, [1] * 6)]
    assert [found.units for found in states] == [2, 4, 4, 6]
    assert [found.looked_once for found in states] == [False, True, True, True]
    assert all(found.watched and found.one_look for found in states)
    best = [judged(planned(done)).ranking[0].maybe_best for done in ([1, 1, 0, 1], [1] * 6)]
    assert [one is None for one in best] == [True, False]
    tested = evidence(planned([1] * 4, watched=True))
    assert (tested.watched, tested.one_look, tested.looked_once) == (True, False, False)


def test_runs_added_later_improve_estimates_only() -> None:
    """Runs that were added after a look would count for guarantees, or stand in for a missing one
    of the plan.
    """
    found = judged(planned([3] * 4))
    assert isinstance(found.evidence, Evidence)
    assert found.evidence.runs.shape[2] == 1
    assert "later-runs" in codes(found)
    assert evidence(planned([3, 3, 1, 3], runs=2)).units == 2
    base = planned([2] * 4)
    assert evidence(base.replace(runs=without(base.runs, (1, 1, 0)))).units == 2


def test_whole_families_count() -> None:
    """A family would count before all of its instances are done."""
    base = planned([1, 1, 1, 0, 1, 1], planned=3, sampled="family")
    found = evidence(base.replace(runs=base.runs.replace(families=list("hhggff"))))
    assert (found.sampled, found.units) == ("family", 1)
    assert len(found.runs.instances) == 2


def test_seeds_of_a_plan_in_their_order() -> None:
    """Of a single instance runs behind a missing one would count, or those of a second plan not."""
    plan = Plan(order=("i0",), planned=1, runs=4, watched=False)
    found = evidence(log(without(matrix(2, 1, 6), (1, 0, 3)), plan=plan))
    assert (found.units, found.planned) == (3, 4)
    whole = judged(log(matrix(2, 1, 6), plan=plan))
    assert isinstance(whole.evidence, Evidence)
    assert whole.evidence.units == 6
    assert "later-runs" not in codes(whole)


def test_the_share_of_a_later_test() -> None:
    """A test that may use a tenth of δ would use all of it."""
    found = assess(plan_of(validated(), "c1", share=0.1, delta=0.1))
    # The plan's δ, too.
    deltas = [one.delta for one in found.statements]
    assert deltas == pytest.approx([0.01] * len(deltas))


def test_what_the_plan_fixed_holds() -> None:
    """Criterion, margin or unit of a plan could be changed after the results are known."""
    test = matrix(2, 4, prefix="t", families=list("ffgg"))
    fixed = {"planned": 2, "primary": "wins", "margin": "5%", "sampled": "family"}
    tuned = plan_of(validated(test=test), "c1", **fixed)
    found = assess(tuned)
    assert (found.question.primary, found.question.margin) == ("wins", "5%")
    assert found.statements[0].quantity == "wins"
    assert evidence(tuned).sampled == "family"
    with pytest.raises(InputError, match="--sampled"):
        assess(tuned, Question(sampled="instance"))
