"""Which runs count, with how much of δ, and why none do."""

from typing import Any

import numpy as np
import pytest

from truecost.errors import InputError, Refusal
from truecost.judge import Evidence, Question, assess
from truecost.judge.evidence import NOT_TUNED, UNEVEN
from truecost.matrix import CostMatrix, Log, Plan
from truecost.runs import Status
from truecost.show import sections


def matrix(
    configurations: int = 3, instances: int = 6, runs: int = 1, prefix: str = "i", **fields: Any
) -> CostMatrix:
    """Random costs of c0, c1, … on instances i0, i1, …"""
    rng = np.random.default_rng(0)
    names = [f"{prefix}{place}" for place in range(instances)]
    costs = rng.random((configurations, instances, runs))
    return CostMatrix(costs, [f"c{row}" for row in range(configurations)], names, 0, 1, **fields)


def log(runs: CostMatrix | None = None, **fields: Any) -> Log:
    """A log with the default c0."""
    return Log(runs=matrix() if runs is None else runs, **{"default": "c0"} | fields)


def evidence(log: Log, **asked: Any) -> Evidence:
    """The evidence on which statements rest."""
    found = assess(log, Question(**{"configuration": "c1"} | asked)).evidence
    assert isinstance(found, Evidence), found
    return found


def refusal(log: Log, **asked: Any) -> Refusal:
    """Why there is none."""
    found = assess(log, Question(**{"configuration": "c1"} | asked))
    assert isinstance(found.evidence, Refusal)
    assert found.grade == "not testable"
    assert found.exit_code == 1
    assert not found.statements
    return found.evidence


# ---- basis ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "asked", "basis", "candidates", "rivals", "condition"),
    [
        ({"adaptive": False}, {}, "list", 3, 2, None),
        ({"adaptive": False, "listed": 10}, {}, "list", 10, 9, None),
        ({"adaptive": False, "default": None}, {}, "list", 3, 3, None),
        ({"adaptive": False}, {"candidates": 20}, "list", 20, 19, None),
        ({"adaptive": None}, {}, "list", 3, 2, NOT_TUNED),
        ({"adaptive": None}, {"basis": "list"}, "list", 3, 2, None),
        ({"adaptive": None}, {"basis": "fixed before"}, "fixed before", 1, 1, None),
        ({"adaptive": False, "listed": 1}, {}, "fixed before", 1, 1, None),
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
    found = evidence(log(**fields), **asked)
    assert (found.source, found.basis) == ("training", basis)
    assert (found.candidates, found.rivals, found.condition) == (candidates, rivals, condition)
    judged = assess(log(**fields), Question(configuration="c1", **asked))
    mean = judged.statement("mean")
    assert mean is not None
    assert mean.delta == pytest.approx(0.05 / candidates)
    if (difference := judged.statement("difference")) is not None:
        assert difference.delta == pytest.approx(0.05 / rivals)


def test_a_default_off_the_list_is_a_rival_of_all() -> None:
    """A default that was no candidate would lower the number of comparisons."""
    plan = Plan(order=matrix().instances, planned=6, candidates=("c1", "c2"), watched=False)
    assert evidence(log(adaptive=False, plan=plan)).rivals == 2
    never_run = matrix().costs.copy()
    never_run[0] = np.nan
    found = evidence(log(matrix().replace(costs=never_run), adaptive=False, default=None))
    assert (found.candidates, found.rivals) == (2, 2)


def test_tuned_logs_are_refused() -> None:
    """The runs that a configurator tuned on would prove its winner better."""
    # No scenario is written from a study.
    assert "compare" in refusal(log(adaptive=True, tool="Optuna")).way_out
    found = refusal(log(adaptive=True, tool="SMAC3 2.4"))
    assert found.reason.startswith("SMAC3 tuned")
    assert "validate" in found.way_out
    for basis in ("list", "fixed before"):
        refusal(log(adaptive=True), basis=basis)
    # Nobody tuned the default.
    assert evidence(log(adaptive=True), configuration="c0").source == "training"


def test_configurations_added_later_have_estimates_only() -> None:
    """A configuration proposed after results were seen would be judged as one of the list."""
    plan = Plan(order=tuple(matrix().instances), planned=6, candidates=("c0", "c1"), watched=False)
    found = assess(log(adaptive=False, plan=plan), Question(configuration="c2"))
    assert isinstance(found.evidence, Refusal)
    assert "added after" in found.evidence.reason
    first = assess(log(adaptive=False, plan=plan), Question(configuration="c1"))
    assert isinstance(first.evidence, Evidence)
    assert first.evidence.rivals == 1
    assert first.best_set is not None
    assert "c2" not in first.best_set
    # Not compared is not "no".
    assert {row.configuration: row.maybe_best for row in first.ranking}["c2"] is None
    assert "of the 2 configurations on the list" in sections.best_set(first)
    assert "later-configurations" in [caveat.code for caveat in first.caveats]


def test_fixed_before_needs_a_name() -> None:
    """The best of several would be called fixed before."""
    with pytest.raises(InputError, match="--configuration"):
        assess(log(), Question(basis="fixed before"))
    with pytest.raises(InputError, match="--configuration"):
        assess(log(incumbent="c2"), Question(basis="fixed before"))
    two = log(matrix(2))
    assert assess(two, Question(basis="fixed before")).winner == "c1"


def test_uneven_runs_are_a_condition() -> None:
    """Runs that are missing because of their costs would be taken for missing by chance."""
    costs = matrix().costs.copy()
    costs[2, 0] = np.nan
    uneven = matrix().replace(costs=costs)
    assert evidence(log(uneven, adaptive=False)).condition == UNEVEN
    assert evidence(log(uneven, adaptive=False), basis="list").condition is None
    # Those of the winner, too, though only common instances count; in test runs those of the pair.
    assert evidence(log(uneven, adaptive=False), configuration="c2").condition == UNEVEN
    tested = matrix(prefix="t").replace(costs=costs)
    tuned = log(test=tested, adaptive=True)
    assert evidence(tuned.replace(incumbent="c2"), configuration="c2").condition == UNEVEN
    assert evidence(tuned.replace(incumbent="c1")).condition is None


def test_folds_are_refused() -> None:
    """Folds of one data set would count as independent instances."""
    folds = matrix().replace(instances=[f"data/fold_{place}" for place in range(6)])
    found = refusal(log(folds, adaptive=False))
    assert "Folds" in found.reason
    assert "other data sets" in found.way_out


def test_capped_runs_are_refused() -> None:
    """A run whose cost is unknown would be judged by its cap."""
    statuses = np.zeros((3, 6, 1), int)
    statuses[2, 0] = Status.CENSORED
    runs = matrix(statuses=statuses)
    # Those of others do not matter.
    assert evidence(log(runs, adaptive=False)).units == 6
    found = refusal(log(runs, adaptive=False), configuration="c2")
    assert "1 run" in found.reason
    assert "cap" in found.reason
    assert assess(log(runs, adaptive=False)).best_set is None


# ---- test runs -----------------------------------------------------------------------------------


def validated(names: list[str] | None = None, **fields: Any) -> Log:
    """A tuned log with test runs of c0 and c1."""
    test = matrix(2, 4, prefix="t")
    test = test if names is None else test.replace(instances=names)
    return log(test=test, adaptive=True, incumbent="c1", **fields)


def test_fresh_instances_have_all_of_delta() -> None:
    """Test runs of a tuned winner would be refused, or pay for the candidates of the search."""
    found = evidence(validated())
    assert (found.source, found.basis, found.rivals, found.units) == ("test", "test", 1, 4)
    assert found.condition is None


@pytest.mark.parametrize(
    ("names", "units"),
    [
        (["t0", "t1", "i2", "t3"], 3),
        (["x/i0", "./i1", "t2", "t3"], 2),
        (["i0", "i1", "i2", "i3"], 0),
    ],
)
def test_training_instances_are_not_fresh(names: list[str], units: int) -> None:
    """An instance of training would count as fresh, perhaps under another path."""
    if not units:
        assert "used in training" in refusal(validated(names)).reason
        return
    assert evidence(validated(names)).units == units
    assert "left-out" in [caveat.code for caveat in assess(validated(names)).caveats]


def test_families_of_training_are_not_fresh() -> None:
    """A new instance of a known family would count as a new family."""
    runs = matrix().replace(families=["f"] * 3 + ["g"] * 3)
    test = matrix(2, 4, prefix="t").replace(families=["g", "h", "h", "k"])
    found = evidence(log(runs, test=test, adaptive=True), sampled="family")
    assert found.runs.instances == ("t1", "t2", "t3")
    assert found.units == 2


def test_several_finalists_share_delta() -> None:
    """The best of several validated candidates would be judged with all of δ."""
    test = matrix(3, 4, prefix="t")
    plan = Plan(order=test.instances, planned=4, candidates=("c1", "c2"), watched=True)
    found = evidence(log(test=test, test_plan=plan, adaptive=True))
    assert (found.rivals, found.candidates) == (2, 2)
    # A plan without names is about everybody.
    every = Plan(order=test.instances, planned=4)
    assert evidence(log(test=test, test_plan=every, adaptive=True)).rivals == 2
    # Nobody else may use the test: its share of δ is spent on the candidates.
    one = Plan(order=test.instances, planned=4, candidates=("c2",))
    assert "added after" in refusal(log(test=test, test_plan=one, adaptive=True)).reason


def test_a_finalist_picked_by_its_tests_pays_for_the_others() -> None:
    """Whoever picks the best of several tested configurations would have all of δ."""
    several = log(test=matrix(5, 4, prefix="t"), adaptive=True, incumbent="c1")
    assert evidence(several).rivals == 1
    assert evidence(several, configuration="c3").rivals == 4


def test_a_validation_without_a_log() -> None:
    """The runs of a validation would be training runs of themselves, and none of them fresh."""
    test = matrix(2, 4, prefix="t")
    plan = Plan(order=test.instances, planned=4, candidates=("c1",))
    whole = Log(runs=test, test=test, test_plan=plan, default="c0", incumbent="c1")
    # Read from files, both are there.
    for runs in (test, test.replace()):
        found = evidence(whole.replace(runs=runs))
        assert (found.source, found.units) == ("test", 4)


def test_instances_of_a_planned_test_are_fresh() -> None:
    """A validation on test/1 after training on train/1 would be empty wherever the files are not."""
    test = matrix(2, 4, prefix="test/")
    plan = Plan(order=test.instances, planned=4, candidates=("c1",))
    runs = matrix(2, 4, prefix="train/")
    assert evidence(log(runs, test=test, test_plan=plan, adaptive=True)).units == 4
    assert "used in training" in refusal(log(runs, test=test, adaptive=True)).reason


def test_no_test_runs_where_they_are_asked_for() -> None:
    """Training runs would stand in for test runs."""
    assert "validate" in refusal(log(adaptive=False), basis="test").way_out
    # A list with tests of others only is judged by its own runs.
    other = matrix(1, 4, prefix="t")
    assert evidence(log(test=other, adaptive=False)).source == "training"


# ---- units ---------------------------------------------------------------------------------------


def test_a_single_instance_has_seeds_as_units() -> None:
    """Runs of one instance would count as one unit."""
    found = evidence(log(matrix(2, 1, 8), adaptive=False))
    assert (found.sampled, found.units) == ("seed", 8)
    with pytest.raises(InputError, match="single instance"):
        evidence(log(adaptive=False), sampled="seed")


def test_new_seeds_of_a_single_instance_are_fresh() -> None:
    """Seeds that training has used would count as fresh, or new ones be refused."""
    seeds = np.arange(8).reshape(1, 1, 8)
    runs = matrix(2, 1, 8, seeds=np.repeat(seeds, 2, axis=0))
    test = runs.replace(seeds=np.repeat(seeds + 6, 2, axis=0))
    assert evidence(log(runs, test=test, adaptive=True)).units == 6
    assert "seeds" in refusal(log(runs, test=runs, adaptive=True)).reason
    unknown = runs.replace(seeds=None)
    assert "unknown" in refusal(log(unknown, test=unknown, adaptive=True)).reason


def test_families_as_units() -> None:
    """Instances of a family would count as independent though families were asked for."""
    runs = matrix().replace(families=list("ffgghh"))
    found = evidence(log(runs, adaptive=False), sampled="family")
    assert (found.sampled, found.units) == ("family", 3)
    with pytest.raises(InputError, match="--families"):
        evidence(log(adaptive=False), sampled="family")


def test_what_only_one_of_the_two_ran_does_not_count() -> None:
    """A difference would be taken between different instances."""
    costs = matrix().costs.copy()
    costs[0, :2], costs[1, 4:] = np.nan, np.nan
    found = evidence(log(matrix().replace(costs=costs), adaptive=False))
    assert found.runs.instances == ("i2", "i3")
    costs[1] = np.nan
    costs[1, 0] = 0.5
    assert "in common" in refusal(log(matrix().replace(costs=costs), adaptive=False)).reason


# ---- plans ---------------------------------------------------------------------------------------


def planned(done: list[int], planned: int = 4, runs: int = 1, **fields: Any) -> Log:
    """A gathered log: `done` runs of c1 on each instance of the recorded order."""
    whole = matrix(2, len(done), max(3, max(done)))
    costs = whole.costs.copy()
    for place, number in enumerate(done):
        costs[1, place, number:] = np.nan
    order = whole.instances[::-1]
    terms: dict[str, Any] = {"planned": planned, "runs": runs, "watched": False} | fields
    plan = Plan(order=order, **terms)
    # The matrix has another order than the plan.
    table = whole.replace(costs=costs[:, ::-1])
    return log(table.select(instances=sorted(order)), adaptive=False, plan=plan)


def test_the_longest_finished_prefix_counts() -> None:
    """Whatever finished first would count, and slow runs be left out."""
    found = evidence(planned([1, 1, 0, 1]))
    assert (found.units, found.planned, found.watched) == (2, 4, True)
    assert found.runs.instances == ("i3", "i2")
    assert "unfinished" in [
        caveat.code
        for caveat in assess(planned([1, 1, 0, 1]), Question(configuration="c1")).caveats
    ]
    assert "finished" in refusal(planned([0, 1, 1, 1])).reason


def test_one_look_at_a_finished_first_plan() -> None:
    """A finished plan would be judged as if somebody had looked all the time, or an extended one
    as if nobody had.
    """
    assert not evidence(planned([1] * 4)).watched
    assert evidence(planned([1] * 4, watched=True)).watched
    extended = evidence(planned([1] * 6))
    assert (extended.units, extended.planned, extended.watched) == (6, 4, True)


def test_runs_added_later_improve_estimates_only() -> None:
    """Runs that were added after a look would count for guarantees."""
    found = evidence(planned([3] * 4))
    assert found.runs.shape[2] == 1
    assert "later-runs" in [
        caveat.code for caveat in assess(planned([3] * 4), Question(configuration="c1")).caveats
    ]
    assert evidence(planned([3, 3, 1, 3], runs=2)).units == 2


def test_a_later_run_does_not_stand_in_for_a_missing_one() -> None:
    """An instance whose planned run is missing would be done, as a later run is there."""
    base = planned([2] * 4)
    costs = base.runs.costs.copy()
    costs[1, base.runs.instances.index(base.plan.order[2] if base.plan else ""), 0] = np.nan
    assert evidence(base.replace(runs=base.runs.replace(costs=costs))).units == 2


def test_whole_families_count() -> None:
    """A family would count before all of its instances are done."""
    families = list("ffgghh")
    base = planned([1, 1, 1, 0, 1, 1], planned=3, sampled="family")
    runs = base.runs.replace(families=[families[5 - int(name[1])] for name in base.runs.instances])
    found = evidence(base.replace(runs=runs))
    assert (found.sampled, found.units, found.watched) == ("family", 1, True)
    assert len(found.runs.instances) == 2


def test_seeds_of_a_plan_in_their_order() -> None:
    """Of a single instance runs behind a missing one would count."""
    costs = matrix(2, 1, 6).costs.copy()
    costs[1, 0, 3] = np.nan
    plan = Plan(order=("i0",), planned=1, runs=6, watched=False)
    found = evidence(log(matrix(2, 1, 6).replace(costs=costs), adaptive=False, plan=plan))
    assert (found.units, found.planned, found.watched) == (3, 6, True)
    # All runs of a single instance are units, those of a second plan, too.
    more = Plan(order=("i0",), planned=1, runs=4, watched=False)
    whole = assess(log(matrix(2, 1, 6), adaptive=False, plan=more), Question(configuration="c1"))
    assert isinstance(whole.evidence, Evidence)
    assert (whole.evidence.units, whole.evidence.watched) == (6, True)
    assert "later-runs" not in [caveat.code for caveat in whole.caveats]


def test_the_share_of_a_later_test() -> None:
    """A test that may use a tenth of δ would use all of it."""
    test = matrix(2, 4, prefix="t")
    plan = Plan(order=test.instances, planned=4, candidates=("c1",), share=0.1, delta=0.1)
    found = assess(log(test=test, test_plan=plan, adaptive=True, incumbent="c1"))
    difference = found.statement("difference")
    assert difference is not None
    # The plan's δ, too.
    assert difference.delta == pytest.approx(0.01)
    assert {one.delta for one in found.statements} == {difference.delta}


def test_what_the_plan_fixed_holds() -> None:
    """Criterion, margin or unit of a plan could be changed after the results are known."""
    test = matrix(2, 4, prefix="t", families=list("ffgg"))
    plan = Plan(order=test.instances, planned=2, candidates=("c1",), primary="wins", margin="5%",
                sampled="family")  # fmt: skip
    tuned = log(test=test, test_plan=plan, adaptive=True, incumbent="c1")
    found = assess(tuned)
    assert (found.question.primary, found.question.margin) == ("wins", "5%")
    assert found.statements[0].quantity == "wins"
    assert isinstance(found.evidence, Evidence)
    assert found.evidence.sampled == "family"
    with pytest.raises(InputError, match="--sampled"):
        assess(tuned, Question(sampled="instance"))
