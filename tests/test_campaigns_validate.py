"""validate: fresh instances, one recorded order, until the declared question is decided."""

import json
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import campaign_tools as tools
import numpy as np
import pytest

from truecost.campaigns.gather import gather
from truecost.campaigns.results import Validated
from truecost.campaigns.validate import validate
from truecost.errors import InputError
from truecost.journal.journal import Journal
from truecost.judge.assess import assess
from truecost.judge.evidence import Evidence
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log
from truecost.running.pools import Finished, Task
from truecost.running.scenario import Scenario
from truecost.runs import Instance, Outcome, Status
from truecost.show.next_steps import next_steps

WINNER = {"x": "8", "y": "0"}
VALUE = {"kind": "value", "low": 0.0, "high": 1.0}


def log(scenario: Scenario, winner: dict[str, str] | None = None, **more: Any) -> Log:
    """What a tuner leaves: "7" beat "1" on the scenario's instances."""
    default = dict(scenario.space.default().values)
    names = [instance.name for instance in scenario.instances]
    costs = np.full((2, len(names), 1), 0.5)
    costs[0] += 0.1
    runs = CostMatrix(costs, ["1", "7"], names, 0.0, 10.0)
    known: dict[str, Any] = {
        "default": "1",
        "incumbent": "7",
        "adaptive": True,
        "tool": "irace 4.4.0",
        "parameters": {"1": default, "7": winner or WINNER},
    }
    return Log(runs=runs, **{**known, **more})


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """A scenario with values from 0 to 1, decided by a few dozen instances."""
    return tools.scenario(tmp_path, metric=VALUE)


def timeouts(share: float) -> tools.Work:
    """Running times that fall with x, and timeouts that do so, too."""

    def work(task: Task) -> Outcome:
        level = (10 - tools.value_of(task)) / 10
        if tools.uniform(task.instance.name, task.seed) < share * level:
            return tools.outcome(1.0, Status.TIMEOUT, value=None)
        return tools.outcome(0.9 * level * tools.uniform(task.seed, "time"))

    return work


QUESTIONS: list[tuple[dict[str, Any], tools.Work, str]] = [
    ({}, timeouts(0.9), "better"),
    ({"configuration": {"x": "0", "y": "1"}, "default": None}, timeouts(0.5), "undecided"),
    ({"primary": "wins"}, timeouts(0.1), "better"),
    ({"margin": "10%"}, timeouts(0.5), "better"),
]


@pytest.mark.parametrize("place", range(len(QUESTIONS)))
def test_it_stops_when_the_question_is_decided(tmp_path: Path, place: int) -> None:
    """A validation would stop before its verdict says so, or go on although it is decided."""
    more, work, grade = QUESTIONS[place]
    scenario = tools.scenario(tmp_path)
    new = tools.new_instances(tmp_path, 120)
    source = None if "configuration" in more else log(scenario)
    result = validate(
        source, scenario, tmp_path / "v.db", instances=new, pool=tools.Pool(work), **more
    )
    assert result.assessment.grade == grade
    decided = grade == "better" and ("margin" not in more or result.assessment.margin_kept)
    assert (result.stop.why == "decided") == decided
    assert result.exit_code == int(not decided)
    assert (result.stop.decided is not None) == decided
    if result.stop.decided is not None:
        assert result.runs < 120
        # One unit less, and the verdict would not have been there.
        whole = result.assessment.log
        assert whole.test is not None
        few = whole.test.select(instances=whole.test.instances[: result.stop.decided - 1])
        assert assess(replace(whole, test=few)).exit_code == 1


def test_worse_is_decided_too(scenario: Scenario, tmp_path: Path) -> None:
    """A winner that is worse would be run on all instances."""

    def worse(task: Task) -> Outcome:
        return tools.outcome(0.2 + 0.06 * tools.value_of(task))

    result = validate(
        log(scenario), scenario, tmp_path / "v.db", pool=tools.Pool(worse),
        instances=tools.new_instances(tmp_path, 60),
    )  # fmt: skip
    assert (result.stop.why, result.assessment.grade) == ("decided", "worse")
    assert result.runs < 60


def test_both_run_once_on_each_instance(scenario: Scenario, tmp_path: Path) -> None:
    """Pairs would not be pairs, share seeds, or be made in the order of the file names."""
    pool = tools.Pool()
    result = validate(
        log(scenario), scenario, tmp_path / "v.db", complete=True, pool=pool,
        instances=tools.new_instances(tmp_path, 30),
    )  # fmt: skip
    assert (result.stop.why, result.runs, result.instances) == ("instances", 60, 30)
    assert set(Counter(task.instance.name for task in pool.made).values()) == {2}
    assert {task.number for task in pool.made} == {0}
    assert len({task.seed for task in pool.made}) == 60
    assert not {task.instance.name for task in pool.made} & {one.name for one in scenario.instances}
    with Journal.read(tmp_path / "v.db") as journal:
        test = journal.events("test")[0]
    assert test.after == 0
    assert test.data["order"] != sorted(test.data["order"])
    plan = result.assessment.log.test_plan
    assert plan is not None
    assert (plan.order, plan.planned, plan.share) == (tuple(test.data["order"]), 30, 1.0)


def test_the_verdict_names_what_the_log_names(scenario: Scenario, tmp_path: Path) -> None:
    """Users would look for hashes of parameters in their irace log."""
    result = validate(
        log(scenario), scenario, tmp_path / "v.db", pool=tools.Pool(),
        instances=tools.new_instances(tmp_path, 30),
    )  # fmt: skip
    assessment = result.assessment
    assert (assessment.winner, assessment.default) == ("7", "1")
    assert (assessment.log.tool, assessment.log.adaptive) == ("irace 4.4.0", True)
    assert assessment.log.runs.costs[1, 0, 0] == 0.5
    assert isinstance(assessment.evidence, Evidence)
    assert assessment.evidence.basis == "test"
    assert json.loads(json.dumps(result.to_dict()))["exit_code"] == result.exit_code


def test_instances_of_the_log_are_left_out(scenario: Scenario, tmp_path: Path) -> None:
    """Instances that were tuned on would be taken for new ones: by name, by path, or by content."""
    (tmp_path / "new").mkdir()
    names = {
        "same name": scenario.instances[0].name,
        "end of a path": "elsewhere/deep/b.txt",
        "content": "c.txt",
        "new": "d.txt",
    }
    files = {}
    for place, (what, name) in enumerate(names.items()):
        path = tmp_path / "new" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content {place}\n")
        files[what] = Instance(name=name, argument=str(path), extras={})
    Path(files["content"].argument).write_bytes(Path(scenario.instances[1].argument).read_bytes())
    source = log(scenario)
    runs = source.runs.replace(
        instances=[*source.runs.instances[:-1], "deep/b.txt"],
    )
    result = validate(
        replace(source, runs=runs), scenario, tmp_path / "v.db", complete=True,
        instances=list(files.values()), pool=tools.Pool(),
    )  # fmt: skip
    assert (result.instances, result.left_out) == (1, 3)
    with Journal.read(tmp_path / "v.db") as journal:
        assert list(journal.instances()) == ["d.txt"]
    with pytest.raises(InputError, match="runs on"):
        validate(source, scenario, tmp_path / "w.db", pool=tools.Pool())
    assert not list(tmp_path.glob("w.db*"))


class Stops(tools.Pool):
    """Ctrl-C after some runs."""

    def __init__(self, after: int, **how: Any) -> None:
        super().__init__(**how)
        self.after = after

    def wait(self) -> list[Finished]:
        """Some runs."""
        if len(self.made) >= self.after:
            raise KeyboardInterrupt
        return super().wait()


def test_an_interrupted_validation_continues(scenario: Scenario, tmp_path: Path) -> None:
    """Runs would be made twice, the order be drawn again, or the verdict depend on a Ctrl-C."""
    new = tools.new_instances(tmp_path, 40)
    whole = validate(log(scenario), scenario, tmp_path / "v.db", instances=new, pool=tools.Pool())
    made = []
    for after in (0, 3, 8):
        pool = Stops(after)
        with pytest.raises(KeyboardInterrupt):
            validate(log(scenario), scenario, tmp_path / "w.db", instances=new, pool=pool)
        made += pool.made
    last = tools.Pool()
    again = validate(log(scenario), scenario, tmp_path / "w.db", instances=new, pool=last)
    made += last.made
    cells = [(task.configuration.name, task.instance.name) for task in made]
    assert len(cells) == len(set(cells))
    assert again.stop == whole.stop
    assert again.assessment.log.test_plan == whole.assessment.log.test_plan


def test_rerunning_a_finished_validation_makes_nothing(scenario: Scenario, tmp_path: Path) -> None:
    """The same command would test the same instances again with new δ."""
    new = tools.new_instances(tmp_path, 40)
    first = validate(log(scenario), scenario, tmp_path / "v.db", instances=new, pool=tools.Pool())
    pool = tools.Pool()
    second = validate(log(scenario), scenario, tmp_path / "v.db", instances=new, pool=pool)
    third = validate(tmp_path / "v.db", scenario, pool=pool, instances=new)
    fourth = validate(second.assessment.log, scenario, pool=pool, instances=new)
    assert not pool.made
    for again in (second, third, fourth):
        assert (again.stop, again.runs) == (first.stop, first.runs)
        assert again.assessment.statements == first.assessment.statements
    with Journal.read(tmp_path / "v.db") as journal:
        assert len(journal.events("test")) == 1


def test_more_instances_and_budget_continue(scenario: Scenario, tmp_path: Path) -> None:
    """An undecided validation would begin anew: its capital lost, or its δ used twice."""
    slight = tools.Pool(
        lambda task: tools.outcome(
            0.45 * tools.uniform(task.instance.name, task.seed) + 0.02 * (9 - tools.value_of(task))
        )
    )
    new = tools.new_instances(tmp_path, 15)
    how: dict[str, Any] = {"instances": new, "pool": slight}
    first = validate(log(scenario), scenario, tmp_path / "v.db", budget=20, **how)
    assert (first.stop.why, first.runs) == ("budget", 20)
    more = validate(log(scenario), scenario, tmp_path / "v.db", budget=400, **how)
    assert (more.stop.why, more.runs) == ("instances", 30)
    how["instances"] = new + tools.new_instances(tmp_path, 200, first=300)
    last = validate(log(scenario), scenario, tmp_path / "v.db", **how)
    assert last.runs > 30
    plans = [result.assessment.log.test_plan for result in (first, more, last)]
    assert all(plan is not None for plan in plans)
    assert plans[2].order[:15] == plans[0].order  # type: ignore[union-attr]
    assert {plan.planned for plan in plans} == {10}  # type: ignore[union-attr]
    assert last.stop.why == "decided"
    assert last.assessment.grade == "better"


def test_a_larger_budget_is_kept(scenario: Scenario, tmp_path: Path) -> None:
    """A rerun without a budget would spend more than was allowed."""
    new = tools.new_instances(tmp_path, 60)
    how: dict[str, Any] = {"instances": new, "pool": tools.Pool(tools.no_difference)}
    source = log(scenario)
    assert validate(source, scenario, tmp_path / "v.db", budget="14runs", **how).runs == 14
    assert validate(source, scenario, tmp_path / "v.db", **how).runs == 14
    assert validate(source, scenario, tmp_path / "v.db", budget=20, **how).runs == 20


def test_a_budget_of_time_is_kept(scenario: Scenario, tmp_path: Path) -> None:
    """A validation would run into the night."""
    pool = tools.Pool(lambda task: tools.outcome(tools.uniform(task.seed), wall=10.0), workers=2)
    new = tools.new_instances(tmp_path, 60)
    how: dict[str, Any] = {"instances": new, "pool": pool, "complete": True}
    result = validate(log(scenario), scenario, tmp_path / "v.db", budget="100s", **how)
    assert (result.stop.why, result.runs, result.spent) == ("budget", 20, 100.0)


def test_too_small_a_budget_is_refused(scenario: Scenario, tmp_path: Path) -> None:
    """A budget for no pair at all would end in an empty verdict."""
    new = tools.new_instances(tmp_path, 5)
    with pytest.raises(InputError, match="at least 2 runs"):
        validate(log(scenario), scenario, tmp_path / "v.db", instances=new, budget=1,
                 pool=tools.Pool())  # fmt: skip
    assert not list(tmp_path.glob("v.db*"))


def test_hopeless_validations_give_up(scenario: Scenario, tmp_path: Path) -> None:
    """A night would be spent on a question that the budget cannot decide."""
    new = tools.new_instances(tmp_path, 60)
    how: dict[str, Any] = {"instances": new, "pool": tools.Pool(tools.no_difference)}
    result = validate(log(scenario), scenario, tmp_path / "v.db", **how)
    assert result.stop.why == "forecast"
    assert result.stop.chance is not None
    assert result.stop.chance < 0.01
    assert 20 <= result.stop.units < 60
    # Giving up costs no δ: the rest can still be run.
    assert validate(log(scenario), scenario, tmp_path / "v.db", complete=True, **how).runs == 120


def test_several_candidates_share_delta(scenario: Scenario, tmp_path: Path) -> None:
    """With many candidates one would be proven better by luck."""
    logs = [
        replace(log(scenario, {"x": x, "y": "0"}), path=f"{tool}.csv")
        for tool, x in (("irace", "8"), ("smac", "5"))
    ]
    new = tools.new_instances(tmp_path, 80)
    how: dict[str, Any] = {"instances": new, "pool": tools.Pool()}
    result = validate(logs, scenario, tmp_path / "v.db", **how)
    assert [one.winner for one in result.assessments] == ["irace:7", "smac:7"]
    assert result.exit_code == 0
    assert result.stop.why == "decided"
    for assessment in result.assessments:
        assert assessment.statements[0].delta == pytest.approx(0.025)
    assert result.runs % 3 == 0
    alone = validate(logs[1], scenario, tmp_path / "w.db", **how)
    assert alone.assessment.statements[0].delta == pytest.approx(0.05)
    assert alone.stop.units < result.stop.units


def families(scenario: Scenario, size: int) -> Scenario:
    """The scenario with instances in families of this size."""
    instances = sorted(scenario.instances, key=lambda one: int(one.name.split()[1][:-4]))
    return replace(
        scenario,
        instances=tuple(
            replace(one, extras={"family": f"f{place // size}"})
            for place, one in enumerate(instances)
        ),
        families=True,
    )


def test_a_decided_validation_begins_no_further_instance(
    scenario: Scenario, tmp_path: Path
) -> None:
    """Runs would be wasted after the question is decided, halves of pairs among them."""
    pool = tools.Pool(workers=1)
    new = tools.new_instances(tmp_path, 40)
    result = validate(log(scenario), scenario, tmp_path / "v.db", instances=new, pool=pool)
    assert result.stop.why == "decided"
    assert 2 * result.stop.units <= len(pool.made) <= 2 * result.stop.units + 2


def test_late_answers_are_failures(tmp_path: Path) -> None:
    """A run that the metric counts as a timeout would pass for solved while the test goes on."""
    metric = {"kind": "par", "factor": 10, "cutoff": 0.3}
    scenario = tools.scenario(tmp_path, metric=metric)
    pool = tools.Pool(
        lambda task: tools.outcome(0.1 if task.configuration.values["x"] == "8" else 0.9)
    )
    new = tools.new_instances(tmp_path, 60)
    result = validate(log(scenario), scenario, tmp_path / "v.db", instances=new, pool=pool)
    assert (result.stop.why, result.assessment.grade) == ("decided", "better")
    assert result.assessment.log.test is not None
    assert result.assessment.log.test.failed.any()


def test_logs_with_different_defaults_are_refused(scenario: Scenario, tmp_path: Path) -> None:
    """Winners would be compared with a default that is not theirs."""
    other = {"1": {"x": "3", "y": "3"}, "7": WINNER}
    logs = [log(scenario), log(scenario, parameters=other)]
    how: dict[str, Any] = {"instances": tools.new_instances(tmp_path, 5), "pool": tools.Pool()}
    with pytest.raises(InputError, match="different defaults"):
        validate(logs, scenario, tmp_path / "v.db", **how)
    result = validate(logs, scenario, tmp_path / "v.db", default="default", **how)
    assert result.assessment.default == "default"


def test_other_costs_are_a_caveat(scenario: Scenario, tmp_path: Path) -> None:
    """Training costs in seconds would stand beside test costs of another metric."""
    source = log(scenario)
    how: dict[str, Any] = {"instances": tools.new_instances(tmp_path, 5), "pool": tools.Pool()}
    result = validate(source, scenario, tmp_path / "v.db", **how)
    assert "other metric" in {caveat.code for caveat in result.assessment.log.caveats}
    same = replace(source, runs=source.runs.replace(low=0.0, high=1.0))
    result = validate(same, scenario, tmp_path / "w.db", **how)
    assert "other metric" not in {caveat.code for caveat in result.assessment.log.caveats}


def test_families_are_run_whole(tmp_path: Path) -> None:
    """Stopping within a family would depend on its costs; families of the log are not new."""
    scenario = families(tools.scenario(tmp_path, instances=60, metric=VALUE), 3)
    used = [one.name for one in scenario.instances[:4]]  # of two families
    source = log(scenario)
    source = replace(source, runs=source.runs.select(instances=used))
    pool = tools.Pool()
    result = validate(
        source, scenario, tmp_path / "v.db", sampled="family", budget=70, complete=True, pool=pool
    )
    assert (result.instances, result.runs) == (54, 66)  # whole families of 6 runs
    made = Counter(task.instance.extras["family"] for task in pool.made)
    assert set(made.values()) == {6}
    assert not made.keys() & {"f0", "f1"}
    plan = result.assessment.log.test_plan
    assert plan is not None
    assert (plan.planned, plan.sampled) == (11, "family")
    evidence = result.assessment.evidence
    assert isinstance(evidence, Evidence)
    assert (evidence.sampled, evidence.units) == ("family", 11)
    with pytest.raises(InputError, match="famil"):
        validate(source, tools.scenario(tmp_path, instances=60, metric=VALUE), tmp_path / "w.db",
                 sampled="family", pool=pool,
                 instances=tools.new_instances(tmp_path, 3))  # fmt: skip


def test_families_do_not_grow(tmp_path: Path) -> None:
    """Instances would be added to a family whose costs have been seen."""
    scenario = families(tools.scenario(tmp_path, instances=18, metric=VALUE), 3)
    how: dict[str, Any] = {"configuration": WINNER, "sampled": "family", "complete": True}
    few = [one for place, one in enumerate(scenario.instances[:12]) if place != 4]
    validate(None, scenario, tmp_path / "v.db", instances=few, pool=tools.Pool(), **how)
    pool = tools.Pool()
    result = validate(None, scenario, tmp_path / "v.db", pool=pool, **how)
    made = {task.instance.extras["family"] for task in pool.made}
    assert (made, result.instances) == ({"f4", "f5"}, 11 + 6)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"delta": 0.1}, r"delta was 0\.05, is 0\.1"),
    ({"margin": "5%"}, "margin was not given"),
    ({"primary": "wins"}, "primary was"),
    ({"configuration": "1", "default": "7"}, "candidates"),
]


@pytest.mark.parametrize(("more", "message"), REFUSED)
def test_another_question_is_refused(
    scenario: Scenario, tmp_path: Path, more: dict[str, Any], message: str
) -> None:
    """The question could be chosen after the runs were seen."""
    new = tools.new_instances(tmp_path, 10)
    how: dict[str, Any] = {"instances": new, "pool": tools.Pool()}
    validate(log(scenario), scenario, tmp_path / "v.db", **how)
    with pytest.raises(InputError, match=message):
        validate(log(scenario), scenario, tmp_path / "v.db", **how, **more)
    if "configuration" not in more:
        with pytest.raises(InputError, match="Leave out"):
            validate(tmp_path / "v.db", scenario, **how, **more)


def test_a_validation_is_not_validated(scenario: Scenario, tmp_path: Path) -> None:
    """Its δ would be spent a second time, in another journal or from a table of its runs."""
    new = tools.new_instances(tmp_path, 30)
    how: dict[str, Any] = {"instances": new, "pool": tools.Pool()}
    result = validate(log(scenario), scenario, tmp_path / "v.db", budget=10, **how)
    for source in (tmp_path / "v.db", result.assessment.log):
        with pytest.raises(InputError, match="continues in this journal itself"):
            validate(source, scenario, tmp_path / "w.db", **how)
    table = replace(result.assessment.log, path="table.csv")
    with pytest.raises(InputError, match="tested already"):
        validate(table, scenario, tmp_path / "w.db", **how)
    assert not list(tmp_path.glob("w.db*"))


def test_no_program_of_a_log_is_run(scenario: Scenario, tmp_path: Path) -> None:
    """Validating a stranger's log would run the programs it names."""
    with pytest.raises(InputError, match="--scenario"):
        validate(log(scenario), journal=tmp_path / "v.db")


WRONG: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"parameters": {}}, {}, "no parameter values"),
    ({}, {"configuration": "8"}, "no parameters of a configuration '8'"),
    ({}, {"default": "8"}, "no parameters of a configuration '8'"),
    ({}, {"configuration": "1"}, "parameters of the default"),
    ({"parameters": {"1": {"x": "0", "y": "0"}, "7": {"x": "77", "y": "0"}}}, {}, "does not fit"),
    ({"parameters": {"1": {"x": "0", "y": "0"}, "7": {"z": "1"}}}, {}, "no parameter 'z'"),
    ({}, {"sampled": "seed"}, "sampled"),
    ({}, {"budget": "ten"}, "budget 'ten'"),
    ({}, {"delta": 1.5}, "delta"),
]


@pytest.mark.parametrize(("changes", "more", "message"), WRONG)
def test_what_cannot_be_run_is_refused(
    scenario: Scenario,
    tmp_path: Path,
    changes: dict[str, Any],
    more: dict[str, Any],
    message: str,
) -> None:
    """A wrong name or value would end in a traceback, or in a journal of another question."""
    new = tools.new_instances(tmp_path, 3)
    with pytest.raises(InputError, match=message):
        validate(log(scenario, **changes), scenario, tmp_path / "v.db", instances=new,
                 pool=tools.Pool(), **more)  # fmt: skip
    assert not list(tmp_path.glob("v.db*"))


def test_means_need_a_range(tmp_path: Path) -> None:
    """The runs would be made, and nothing could be proven from them."""
    scenario = tools.scenario(tmp_path, metric={"kind": "value", "failed": 5.0})
    new = tools.new_instances(tmp_path, 40)
    how: dict[str, Any] = {"instances": new, "pool": tools.Pool()}
    source = log(scenario)
    with pytest.raises(InputError, match="--primary wins"):
        validate(source, scenario, tmp_path / "v.db", **how)
    assert validate(source, scenario, tmp_path / "v.db", primary="wins", **how).exit_code == 0


def test_a_gathered_journal_is_validated(scenario: Scenario, tmp_path: Path) -> None:
    """The best of a list could only be tested through a table."""
    gather(scenario, tmp_path / "g.db", configurations=6, instances=8, runs=1, pool=tools.Pool())
    result = validate(
        tmp_path / "g.db", scenario, tmp_path / "v.db", pool=tools.Pool(),
        instances=tools.new_instances(tmp_path, 60),
    )  # fmt: skip
    assert result.left_out == 0
    assert result.assessment.grade == "better"
    assert result.assessment.default == scenario.space.default().name


def test_the_default_may_be_the_scenarios(scenario: Scenario, tmp_path: Path) -> None:
    """A log without a default could not be validated."""
    source = log(scenario, default=None, parameters={"7": WINNER})
    new = tools.new_instances(tmp_path, 30)
    result: Validated = validate(
        source, scenario, tmp_path / "v.db", instances=new, pool=tools.Pool()
    )
    assert result.assessment.default == "default"


class Late(tools.Pool):
    """The run that was submitted first is the last to end."""

    def wait(self) -> list[Finished]:
        """The latest run."""
        task = self.tasks.pop()
        return [Finished(task=task, outcome=self.work(task), machine=tools.MACHINE)]


def test_pairs_count_in_their_order(scenario: Scenario, tmp_path: Path) -> None:
    """Quick pairs would be looked at before slow ones, and costs decide which pairs count."""
    results = [
        validate(
            log(scenario), scenario, tmp_path / f"{place}.db", pool=pool,
            instances=tools.new_instances(tmp_path, 60),
        )
        for place, pool in enumerate((tools.Pool(workers=1), Late(workers=6)))
    ]  # fmt: skip
    one, six = (result.assessment.log.test for result in results)
    assert one is not None
    assert six is not None
    assert results[0].stop.why == "decided"
    assert results[0].stop.decided == results[1].stop.decided
    common = one.instances[: results[0].stop.units]
    assert six.instances[: len(common)] == common
    assert six.select(instances=common) == one.select(instances=common)


def test_a_missing_instance_is_named(scenario: Scenario, tmp_path: Path) -> None:
    """A test would go on without instances whose costs it has seen."""
    new = tools.new_instances(tmp_path, 10)
    source = log(scenario)
    validate(source, scenario, tmp_path / "v.db", instances=new, budget=8, pool=tools.Pool())
    with pytest.raises(InputError, match="belongs to this test"):
        validate(source, scenario, tmp_path / "v.db", instances=new[1:], pool=tools.Pool())


def test_a_pattern_names_files_from_here(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--instances 'new/*.txt'` would be looked for beside the scenario, or not at all."""
    tools.new_instances(tmp_path, 4)
    monkeypatch.chdir(tmp_path / "new")
    result = validate(
        log(scenario), scenario, tmp_path / "v.db", instances="*.txt", complete=True,
        pool=tools.Pool(),
    )  # fmt: skip
    assert result.instances == 4


def test_copies_are_one_instance(scenario: Scenario, tmp_path: Path) -> None:
    """A copied file would be a second unit that always agrees with the first."""
    new = tools.new_instances(tmp_path, 12)
    for copy in new[1:5]:
        Path(copy.argument).write_bytes(Path(new[0].argument).read_bytes())
    how: dict[str, Any] = {"instances": new, "pool": tools.Pool(tools.no_difference)}
    for _ in range(2):
        result = validate(log(scenario), scenario, tmp_path / "v.db", complete=True, **how)
        assert (result.instances, result.stop.units, result.left_out) == (8, 8, 4)
    # Neither are they taken in later, as new ones.
    how["instances"] = [*new, replace(new[0], name="again.txt")]
    assert validate(log(scenario), scenario, tmp_path / "v.db", **how).instances == 8


def test_a_journal_alone_knows_what_it_was_trained_on(scenario: Scenario, tmp_path: Path) -> None:
    """Training instances of several logs would be tested on when the journal alone is named."""
    logs = [replace(log(scenario), path=f"{tool}.csv") for tool in ("irace", "smac")]
    new = tools.new_instances(tmp_path, 6)
    how: dict[str, Any] = {"pool": tools.Pool(tools.no_difference), "complete": True}
    validate(logs, scenario, tmp_path / "v.db", instances=new, **how)
    more = [*new, *tools.new_instances(tmp_path, 3, first=300), *scenario.instances]
    result = validate(tmp_path / "v.db", scenario, instances=more, **how)
    assert (result.instances, result.left_out) == (9, len(scenario.instances))


def test_a_pattern_is_remembered(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The printed command would be refused, since the instances it began with are not named."""
    tools.new_instances(tmp_path, 6)
    tools.new_instances(tmp_path, 5, first=300)
    monkeypatch.chdir(tmp_path)
    how: dict[str, Any] = {"pool": tools.Pool(tools.no_difference)}
    first = validate(
        log(scenario), scenario, "v.db", instances="new/n 1*.txt", budget=8, **how
    )  # fmt: skip
    (step,) = next_steps(first.assessment)
    words = shlex.split(step)
    assert words == ["truecost", "validate", "v.db", "--scenario", "scenario.toml",
                     "--budget", "12runs"]  # fmt: skip
    second = validate(words[2], words[4], budget=words[6], **how)
    assert (second.runs, second.stop.why) == (12, "instances")
    assert "plan" in next_steps(second.assessment)[0]
    third = validate("v.db", scenario, instances="new/n 3*.txt", complete=True, **how)
    assert (third.instances, third.stop.units) == (11, 11)


def test_a_test_that_gave_up_is_not_continued_in_vain(scenario: Scenario, tmp_path: Path) -> None:
    """The next step would be a command that does nothing."""
    new = tools.new_instances(tmp_path, 60)
    how: dict[str, Any] = {"instances": new, "pool": tools.Pool(tools.no_difference)}
    result = validate(log(scenario), scenario, tmp_path / "v.db", **how)
    assert result.stop.why == "forecast"
    assert [step.split()[1] for step in next_steps(result.assessment)] == ["plan"]
    assert "given-up" in {caveat.code for caveat in result.assessment.caveats}
    # With more instances there may be a chance again.
    how["instances"] = new + tools.new_instances(tmp_path, 200, first=300)
    again = validate(log(scenario), scenario, tmp_path / "v.db", budget=520, **how)
    assert again.runs > result.runs


def test_a_decided_test_is_finished(scenario: Scenario, tmp_path: Path) -> None:
    """A verdict would say that it is unfinished, or count units that were not all of its runs."""
    how: dict[str, Any] = {"instances": tools.new_instances(tmp_path, 40), "pool": tools.Pool()}
    first = validate(log(scenario), scenario, tmp_path / "v.db", **how)
    assert first.stop.why == "decided"
    assert first.stop.units < 40
    assert "unfinished" not in {caveat.code for caveat in first.assessment.caveats}
    whole = validate(log(scenario), scenario, tmp_path / "v.db", complete=True, **how)
    again = validate(log(scenario), scenario, tmp_path / "v.db", **how)
    for result in (whole, again):
        assert (result.stop.units, result.runs) == (40, 80)
        assert result.stop.decided == first.stop.decided


def test_what_it_costs_is_announced(scenario: Scenario, tmp_path: Path) -> None:
    """Nobody would know what a validation costs before it starts."""
    lines: list[str] = []
    how: dict[str, Any] = {
        "instances": tools.new_instances(tmp_path, 30),
        "pool": tools.Pool(tools.no_difference),
        "announce": lines.append,
    }
    for more in ({"budget": 20}, {"budget": 60}, {"complete": True}, {"complete": True}):
        validate(log(scenario), scenario, tmp_path / "v.db", **how, **more)
    assert ["20 runs" in lines[0], "40 more runs" in lines[1]] == [True, True]
    # Nothing is left to announce at the end.
    assert len(lines) < 4
