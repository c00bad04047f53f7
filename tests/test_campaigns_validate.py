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

import truecost
from truecost.campaigns.gather import gather
from truecost.campaigns.results import Validated
from truecost.campaigns.validate import validate
from truecost.errors import InputError
from truecost.journal.journal import Journal
from truecost.judge.assess import assess
from truecost.judge.evidence import Evidence
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.files import write_log
from truecost.matrix.log import Log, Plan
from truecost.matrix.reading import Reading
from truecost.running.pools import Finished, Task
from truecost.running.scenario import Scenario
from truecost.runs import Instance, Outcome, Status
from truecost.show.next_steps import next_steps

DEFAULT, WINNER = {"x": "0", "y": "0"}, {"x": "8", "y": "0"}
VALUE = {"kind": "value", "low": 0.0, "high": 1.0}


def log(scenario: Scenario, winner: dict[str, str] = WINNER, **more: Any) -> Log:
    """What a tuner leaves: "7" beat "1" on the scenario's instances."""
    names = [instance.name for instance in scenario.instances]
    costs = np.full((2, len(names), 1), 0.5)
    costs[0] += 0.1
    known: dict[str, Any] = {
        "default": "1",
        "incumbent": "7",
        "adaptive": True,
        "tool": "irace 4.4.0",
        "parameters": {"1": DEFAULT, "7": winner},
    }
    return Log(runs=CostMatrix(costs, ["1", "7"], names, 0.0, 10.0), **{**known, **more})


class Validations:
    """Validations in one folder, of values from 0 to 1 unless the scenario says otherwise."""

    def __init__(self, folder: Path, **tables: Any) -> None:
        self.folder = folder
        self.scenario = tools.scenario(folder, **{"metric": VALUE, **tables})
        self.pool = tools.Pool()

    def __call__(
        self,
        source: Any = "log",
        journal: str | None = "v.db",
        *,
        new: int = 40,
        work: tools.Work = tools.better_by_x,
        pool: tools.Pool | None = None,
        **options: Any,
    ) -> Validated:
        """Validate a log on so many new instances; `pool` has the runs that were made."""
        self.pool = pool or tools.Pool(work)
        if "instances" not in options:
            options["instances"] = tools.new_instances(self.folder, new)
        source = log(self.scenario) if isinstance(source, str) else source
        place = None if journal is None else self.folder / journal
        return validate(source, self.scenario, place, pool=self.pool, **options)

    def journals(self) -> list[Path]:
        """What is left of journals."""
        return list(self.folder.glob("*.db*"))


@pytest.fixture
def run(tmp_path: Path) -> Validations:
    """A scenario that a few dozen instances decide."""
    return Validations(tmp_path)


def plan_of(result: Validated) -> Plan:
    """What was fixed before the first run."""
    assert result.assessment.log.test_plan is not None
    return result.assessment.log.test_plan


def fresh_runs(result: Validated) -> CostMatrix:
    """The runs on new instances."""
    assert result.assessment.log.test is not None
    return result.assessment.log.test


def timeouts(share: float) -> tools.Work:
    """Running times that fall with x, and timeouts that do so, too."""

    def work(task: Task) -> Outcome:
        level = (10 - tools.value_of(task)) / 10
        if tools.uniform(task.instance.name, task.seed) < share * level:
            return tools.outcome(1.0, Status.TIMEOUT, value=None)
        return tools.outcome(0.9 * level * tools.uniform(task.seed, "time"))

    return work


def worse(task: Task) -> Outcome:
    """The winner solves nothing."""
    return tools.outcome(1.0, Status.TIMEOUT if tools.value_of(task) else Status.SOLVED)


QUESTIONS: list[tuple[dict[str, Any], tools.Work, str]] = [
    ({}, timeouts(0.9), "better"),
    ({"source": None, "configuration": {"x": "0", "y": "1"}}, timeouts(0.5), "undecided"),
    ({"primary": "wins"}, timeouts(0.1), "better"),
    ({"margin": "10%"}, timeouts(0.5), "better"),
    ({}, worse, "worse"),
]


@pytest.mark.parametrize(("options", "work", "grade"), QUESTIONS)
def test_it_stops_when_the_question_is_decided(
    tmp_path: Path, options: dict[str, Any], work: tools.Work, grade: str
) -> None:
    """A validation would stop before its verdict says so, or go on although it is decided."""
    run = Validations(tmp_path, **tools.PAR)
    result = run(new=120, work=work, **options)
    assert result.assessment.grade == grade
    decided = grade != "undecided" and ("margin" not in options or result.assessment.margin_kept)
    assert (result.stop.why == "decided") == (result.stop.decided is not None) == decided
    assert result.exit_code == int(not decided or grade == "worse")
    if result.stop.decided is not None:
        # Two more runs may have been under way.
        assert 2 * result.stop.units <= len(run.pool.made) <= 2 * result.stop.units + 4 < 120
        # One unit less, and the verdict would not have been there.
        test, whole = fresh_runs(result), result.assessment
        few = test.select(instances=test.instances[: result.stop.decided - 1])
        less = assess(replace(whole.log, test=few))
        assert (less.grade, less.margin_kept) != (whole.grade, whole.margin_kept)


def test_both_run_once_on_each_instance(run: Validations) -> None:
    """Pairs would not be pairs, share seeds, or be made in the order of the file names."""
    result = run(new=30, complete=True)
    assert (result.stop.why, result.runs, result.instances) == ("instances", 60, 30)
    made = run.pool.made
    assert set(Counter(task.instance.name for task in made).values()) == {2}
    assert {task.number for task in made} == {0}
    assert len({task.seed for task in made}) == 60
    assert not {task.instance.name for task in made} & {one.name for one in run.scenario.instances}
    plan = plan_of(result)
    assert plan.order != tuple(sorted(plan.order))
    assert (plan.planned, plan.share) == (30, 1.0)


def test_the_verdict_names_what_the_log_names(run: Validations) -> None:
    """Users would look for hashes of parameters in their irace log."""
    result = run()
    assessment = result.assessment
    assert (assessment.winner, assessment.default) == ("7", "1")
    assert (assessment.log.tool, assessment.log.adaptive) == ("irace 4.4.0", True)
    assert assessment.log.runs.costs[1, 0, 0] == 0.5
    assert isinstance(assessment.evidence, Evidence)
    assert assessment.evidence.basis == "test"
    assert json.loads(json.dumps(result.to_dict()))["exit_code"] == result.exit_code
    # A log without a default is compared with the scenario's.
    source = log(run.scenario, default=None, parameters={"7": WINNER})
    assert run(source, "w.db").assessment.default == "default"


def test_instances_of_the_log_are_left_out(run: Validations) -> None:
    """Instances that were tuned on would be taken for new ones: by name, by path, or by content."""
    trained = [Path(one.argument) for one in run.scenario.instances]
    names = [
        run.scenario.instances[0].name, "elsewhere/deep/b.txt", "copy.txt", "listed.txt", "log.txt",
        "new.txt",
    ]  # fmt: skip
    files = []
    for place, name in enumerate(names):
        path = run.folder / "new" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content {place}\n")
        files.append(Instance(name=name, argument=str(path), extras={}))
    (run.folder / "log" / "inst").mkdir(parents=True)
    beside = run.folder / "log" / "inst" / "c"
    beside.write_text("beside the log\n")
    # Named as in the scenario, by the last part of the path only, and as seen from the log.
    copied = [trained[1], trained[2], beside]
    for copy, original in zip(files[2:5], copied, strict=True):
        Path(copy.argument).write_bytes(original.read_bytes())
    source = log(run.scenario)
    first, second, *_ = source.runs.instances
    rest = [f"elsewhere/{place}.txt" for place in range(len(trained) - 5)]
    instances = [first, second, trained[2].name, *rest, "deep/b.txt", "inst/c"]
    source = replace(
        source,
        runs=source.runs.replace(instances=instances),
        path=str(run.folder / "log" / "l.csv"),
    )
    for _ in range(2):
        result = run(source, instances=files, complete=True)
        assert (result.instances, result.left_out) == (1, 5)
    assert plan_of(result).order == ("new.txt",)
    with pytest.raises(InputError, match="runs on"):
        run(log(run.scenario), "w.db", instances=None)
    assert not (run.folder / "w.db").exists()


def test_an_interrupted_validation_continues(run: Validations) -> None:
    """Runs would be made twice, the order be drawn again, or the verdict depend on a Ctrl-C."""
    whole, made = run(), []
    for after in (0, 3, 8):
        with pytest.raises(KeyboardInterrupt):
            run(journal="w.db", pool=tools.Interrupted(after))
        made += run.pool.made
    again = run(journal="w.db")
    cells = [(task.configuration.name, task.instance.name) for task in made + run.pool.made]
    assert len(cells) == len(set(cells))
    assert again.stop == whole.stop
    assert plan_of(again) == plan_of(whole)


def test_rerunning_a_finished_validation_makes_nothing(run: Validations) -> None:
    """The same command would test the same instances again with new δ, or a decided test be called
    unfinished.
    """
    first = run()
    assert (first.stop.why, first.stop.units < 40) == ("decided", True)
    assert "unfinished" not in {caveat.code for caveat in first.assessment.caveats}
    for source in ("log", run.folder / "v.db", first.assessment.log):
        again = run(source)
        assert not run.pool.made
        assert (again.stop, again.runs) == (first.stop, first.runs)
        assert again.assessment.statements == first.assessment.statements
    # Nor does it ask for free cores.
    new = tools.new_instances(run.folder, 40)
    assert validate(run.folder / "v.db", run.scenario, instances=new, pool=0).stop == first.stop
    with Journal.read(run.folder / "v.db") as journal:
        assert len(journal.events("test")) == 1
    # The rest can be run, and is part of the test from then on.
    for complete in (True, False):
        whole = run(complete=complete)
        assert (whole.stop.units, whole.runs) == (40, 80)
        assert whole.stop.decided == first.stop.decided


def test_more_instances_and_budget_continue(run: Validations) -> None:
    """An undecided validation would begin anew: its capital lost, or its δ used twice."""

    def slight(task: Task) -> Outcome:
        noise = tools.uniform(task.instance.name, task.seed)
        return tools.outcome(0.45 * noise + 0.02 * (9 - tools.value_of(task)))

    first = run(new=15, work=slight, budget=20)
    assert (first.stop.why, first.runs) == ("budget", 20)
    # A rerun without a budget has the last one.
    assert run(new=15, work=slight).runs == 20
    more = run(new=15, work=slight, budget=400)
    assert (more.stop.why, more.runs) == ("instances", 30)
    added = [*tools.new_instances(run.folder, 15), *tools.new_instances(run.folder, 200, first=300)]
    last = run(instances=added, work=slight)
    assert (last.stop.why, last.assessment.grade) == ("decided", "better")
    assert last.runs > 30
    assert plan_of(last).order[:15] == plan_of(first).order
    assert {plan_of(result).planned for result in (first, more, last)} == {10}


def test_a_budget_of_time_is_kept(run: Validations) -> None:
    """A validation would run into the night."""
    result = run(
        new=60, budget="100s", complete=True,
        work=lambda task: tools.outcome(tools.uniform(task.seed), wall=10.0),
    )  # fmt: skip
    assert (result.stop.why, result.runs, result.spent) == ("budget", 20, 100.0)


def test_hopeless_validations_give_up(run: Validations) -> None:
    """A night would be spent on a question that the budget cannot decide, or the next step be a
    command that does nothing.
    """
    result = run(new=60, work=tools.no_difference)
    assert result.stop.why == "forecast"
    assert result.stop.chance is not None
    assert result.stop.chance < 0.01
    assert 20 <= result.stop.units < 60
    assert [step.split()[1] for step in next_steps(result.assessment)] == ["plan"]
    assert "given-up" in {caveat.code for caveat in result.assessment.caveats}
    # With more instances there may be a chance again.
    added = [*tools.new_instances(run.folder, 60), *tools.new_instances(run.folder, 200, first=300)]
    again = run(instances=added, budget=520, work=tools.no_difference)
    assert again.runs > result.runs
    # Giving up costs no δ: the rest can still be run.
    assert run(instances=added, complete=True, work=tools.no_difference).runs == 520


def test_several_candidates_share_delta(run: Validations) -> None:
    """With many candidates one would be proven better by luck."""
    logs = [
        replace(log(run.scenario, {"x": x, "y": "0"}), path=f"{tool}.csv")
        for tool, x in (("irace", "8"), ("smac", "5"))
    ]
    result = run(logs, new=80)
    assert [one.winner for one in result.assessments] == ["irace:7", "smac:7"]
    assert (result.exit_code, result.stop.why) == (0, "decided")
    assert [one.statements[0].delta for one in result.assessments] == pytest.approx([0.025] * 2)
    assert result.runs % 3 == 0
    alone = run(logs[1], "w.db", new=80)
    assert alone.assessment.statements[0].delta == pytest.approx(0.05)
    assert alone.stop.units < result.stop.units
    # The journal alone knows what they were trained on.
    more = [*tools.new_instances(run.folder, 83), *run.scenario.instances]
    last = run(run.folder / "v.db", None, instances=more, complete=True)
    assert (last.instances, last.left_out) == (83, len(run.scenario.instances))


def test_late_answers_are_failures(tmp_path: Path) -> None:
    """A run that the metric counts as a timeout would pass for solved while the test goes on."""
    run = Validations(tmp_path, metric={"kind": "par", "factor": 10, "cutoff": 0.3})
    result = run(new=60, work=lambda task: tools.outcome(0.1 if tools.value_of(task) == 8 else 0.9))
    assert (result.stop.why, result.assessment.grade) == ("decided", "better")
    assert fresh_runs(result).failed.any()


def test_without_a_log_nobody_knows_the_training_instances(run: Validations) -> None:
    """A configuration that was tuned on these instances would be proven better without a word."""
    for source, warned in ((None, True), ([log(run.scenario)] * 2, False)):
        options: dict[str, Any] = {"configuration": WINNER} if warned else {}
        result = run(source, f"{warned}.db", new=5, **options)
        assert ("no-log" in {one.code for one in result.assessment.caveats}) == warned


def test_logs_with_different_defaults_are_refused(run: Validations) -> None:
    """Winners would be compared with a default that is not theirs."""
    other = {"1": {"x": "3", "y": "3"}, "7": WINNER}
    logs = [log(run.scenario), log(run.scenario, parameters=other)]
    with pytest.raises(InputError, match="different defaults"):
        run(logs)
    assert run(logs, default="default", new=5).assessment.default == "default"


def test_the_default_may_be_one_without_runs(run: Validations, tmp_path: Path) -> None:
    """The default that a refusal names, the scenario's, would be looked for in the log."""
    path = tmp_path / "runs.csv"
    write_log(log(run.scenario, default=None), path)
    new, pool = tools.new_instances(run.folder, 3), tools.Pool()
    result = truecost.validate(
        path, run.scenario, tmp_path / "v.db", instances=new, pool=pool,
        reading=Reading(default="default"),
    )  # fmt: skip
    assert (result.assessment.winner, result.assessment.default) == ("7", "default")


def test_other_costs_are_a_caveat(run: Validations) -> None:
    """Training costs in seconds would stand beside test costs of another metric."""
    source = log(run.scenario)
    same = replace(source, runs=source.runs.replace(low=0.0, high=1.0))
    for place, (one, warned) in enumerate(((source, True), (same, False))):
        caveats = run(one, f"{place}.db", new=5).assessment.log.caveats
        assert ("other metric" in {caveat.code for caveat in caveats}) == warned


def families(scenario: Scenario, size: int) -> Scenario:
    """The scenario with instances in families of this size."""
    instances = sorted(scenario.instances, key=lambda one: int(one.name.split()[1][:-4]))
    labelled = (
        replace(one, extras={"family": f"f{place // size}"}) for place, one in enumerate(instances)
    )
    return replace(scenario, instances=tuple(labelled))


def test_families_are_run_whole(tmp_path: Path) -> None:
    """Stopping within a family would depend on its costs; families of the log are not new."""
    run = Validations(tmp_path, instances=60)
    plain, run.scenario = run.scenario, families(run.scenario, 3)
    used = [one.name for one in run.scenario.instances[:4]]  # of two families
    source = log(run.scenario)
    source = replace(source, runs=source.runs.select(instances=used))
    result = run(source, sampled="family", budget=70, complete=True, instances=None)
    assert (result.instances, result.runs) == (54, 66)  # whole families of 6 runs
    made = Counter(task.instance.extras["family"] for task in run.pool.made)
    assert set(made.values()) == {6}
    assert not made.keys() & {"f0", "f1"}
    assert (plan_of(result).planned, plan_of(result).sampled) == (11, "family")
    evidence = result.assessment.evidence
    assert isinstance(evidence, Evidence)
    assert (evidence.sampled, evidence.units) == ("family", 11)
    run.scenario = plain
    with pytest.raises(InputError, match="famil"):
        run(source, "w.db", sampled="family")


def test_families_do_not_grow(tmp_path: Path) -> None:
    """Instances would be added to a family whose costs have been seen."""
    run = Validations(tmp_path, instances=18)
    run.scenario = families(run.scenario, 3)
    how: dict[str, Any] = {"configuration": WINNER, "sampled": "family", "complete": True}
    few = [one for place, one in enumerate(run.scenario.instances[:12]) if place != 4]
    run(None, instances=few, **how)
    result = run(None, instances=None, **how)
    made = {task.instance.extras["family"] for task in run.pool.made}
    assert (made, result.instances) == ({"f4", "f5"}, 11 + 6)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"delta": 0.1}, r"delta was 0\.05, is 0\.1"),
    ({"margin": "5%"}, "margin was not given"),
    ({"primary": "wins"}, "primary was"),
    ({"configuration": "1", "default": "7"}, "candidates|fixed when"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_another_question_is_refused(
    run: Validations, options: dict[str, Any], message: str
) -> None:
    """The question could be chosen after the runs were seen."""
    run(new=10)
    with pytest.raises(InputError, match=message):
        run(new=10, **options)
    with pytest.raises(InputError, match=message):
        run(run.folder / "v.db", None, new=10, **options)


def test_a_validation_is_not_validated(run: Validations) -> None:
    """Its δ would be spent a second time, in another journal or from a table of its runs."""
    result = run(budget=10)
    for source in (run.folder / "v.db", result.assessment.log):
        with pytest.raises(InputError, match="continues in this journal itself"):
            run(source, "w.db")
        with pytest.raises(InputError, match="without other logs"):
            run([source, log(run.scenario)], "w.db")
    with pytest.raises(InputError, match="tested already"):
        run(replace(result.assessment.log, path="table.csv"), "w.db")
    assert run.journals() == [run.folder / "v.db"]


WRONG: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"parameters": {}}, {}, "no parameter values"),
    ({}, {"configuration": "8"}, "No log has parameters of a configuration '8'"),
    ({}, {"configuration": 8}, "8 is no configuration"),
    ({}, {"default": "8"}, "No log has parameters of a configuration '8'"),
    ({}, {"default": 1}, "1 is no configuration"),
    ({}, {"configuration": "1"}, "parameters of the default"),
    ({"parameters": {"1": DEFAULT, "7": {"x": "77", "y": "0"}}}, {}, "does not fit"),
    ({"parameters": {"1": DEFAULT, "7": {"z": "1"}}}, {}, "no parameter 'z'"),
    ({}, {"sampled": "seed"}, "sampled"),
    ({}, {"budget": "ten"}, "budget 'ten'"),
    ({}, {"budget": 1}, "at least 2 runs"),
    ({}, {"delta": 1.5}, "delta"),
    ({}, {"delta": "5%"}, "delta"),
    ({}, {"margin": 0.05}, "margin"),
    ({}, {"margn": "5%"}, "no option `margn`"),
    ({}, {"instances": 3}, "3 are no instances"),
    ({}, {"instances": [3]}, "3 is no instance"),
    ({}, {"instances": ["nowhere.txt"]}, "'nowhere.txt': No such file"),
]


@pytest.mark.parametrize(("changes", "options", "message"), WRONG)
def test_what_cannot_be_run_is_refused(
    run: Validations, changes: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    """A wrong name or value would end in a traceback, or in a journal of another question."""
    with pytest.raises(InputError, match=message):
        run(log(run.scenario, **changes), new=3, **options)
    assert not run.journals()


def test_files_and_values_are_taken(run: Validations) -> None:
    """Python users would have to make records of truecost, or their default be ignored."""
    files = [Path(one.argument) for one in tools.new_instances(run.folder, 4)]
    result = run(instances=files, default={"x": "1", "y": "0"}, complete=True)
    assert (result.instances, result.assessment.default) == (4, "default")
    assert {task.configuration.values["x"] for task in run.pool.made} == {"1", "8"}
    again = run(instances=run.folder / "new" / "*.txt", default={"x": "1", "y": "0"})
    assert (again.instances, again.runs) == (4, 8)
    with pytest.raises(InputError, match="Two instances are called"):
        run(
            "log", "w.db", instances=[Instance(name="a", argument=str(f), extras={}) for f in files]
        )


def test_negative_costs_have_no_margin_in_per_cent(tmp_path: Path) -> None:
    """The refusal would come after the first runs, in a journal that can never be judged."""
    run = Validations(tmp_path, metric={"kind": "value", "low": -1.0, "high": 1.0})
    with pytest.raises(InputError, match="cannot be negative"):
        run(margin="5%")
    assert not run.journals()


def test_no_program_of_a_log_is_run(run: Validations) -> None:
    """Validating a stranger's log would run the programs it names."""
    with pytest.raises(InputError, match="--scenario"):
        validate(log(run.scenario))


def test_means_need_a_range(tmp_path: Path) -> None:
    """The runs would be made, and nothing could be proven from them."""
    run = Validations(tmp_path, metric={"kind": "value", "failed": 5.0})
    with pytest.raises(InputError, match="--primary wins"):
        run()
    assert run(primary="wins").exit_code == 0


def test_a_gathered_journal_is_validated(tmp_path: Path) -> None:
    """The best of a list could only be tested through a table; or options for reading be ignored,
    such as the families that a refusal asks for.
    """
    run = Validations(tmp_path, instances=30)
    path, file = run.folder / "g.db", run.folder / "families.csv"
    gather(run.scenario, path, configurations=6, instances=6, runs=1, pool=tools.Pool())
    file.write_text("instance,family\n")
    with file.open("a") as table:
        for one in run.scenario.instances:
            table.write(f"{one.name},f{one.name.split()[1][:1]}\n")
    how: dict[str, Any] = {"scenario": run.scenario, "pool": tools.Pool(), "complete": True}
    result = truecost.validate(path, journal=run.folder / "v.db", **how)
    assert result.left_out == 6
    assert result.assessment.grade == "better"
    assert result.assessment.default == run.scenario.space.default().name
    labels = {one.name: f"f{one.name.split()[1][:1]}" for one in run.scenario.instances}
    labelled = (replace(one, extras={"family": labels[one.name]}) for one in run.scenario.instances)
    how["scenario"] = replace(run.scenario, instances=tuple(labelled))
    how["reading"] = Reading(families=str(file))
    result = truecost.validate(path, journal=run.folder / "w.db", **how, sampled="family")
    used = {labels[name] for name in result.assessment.log.runs.instances}
    assert not used & {labels[name] for name in plan_of(result).order}


class Late(tools.Pool):
    """The run that was submitted first is the last to end."""

    def wait(self) -> list[Finished]:
        """The latest run."""
        task = self.tasks.pop()
        return [Finished(task=task, outcome=self.work(task), machine=tools.MACHINE)]


def test_pairs_count_in_their_order(run: Validations) -> None:
    """Quick pairs would be looked at before slow ones, and costs decide which pairs count."""
    one = run(journal="1.db", new=60, pool=tools.Pool(workers=1))
    six = run(journal="6.db", new=60, pool=Late(workers=6))
    assert one.stop.why == "decided"
    assert one.stop.decided == six.stop.decided
    common = fresh_runs(one).instances[: one.stop.units]
    assert fresh_runs(six).instances[: len(common)] == common
    assert fresh_runs(six).select(instances=common) == fresh_runs(one).select(instances=common)


def test_a_missing_instance_is_named(run: Validations) -> None:
    """A test would go on without instances whose costs it has seen."""
    run(new=10, budget=8)
    with pytest.raises(InputError, match="belongs to this test"):
        run(instances=tools.new_instances(run.folder, 9, first=101))


def test_copies_are_one_instance(run: Validations) -> None:
    """A copied file would be a second unit that always agrees with the first."""
    new = tools.new_instances(run.folder, 12)
    for copy in new[1:5]:
        Path(copy.argument).write_bytes(Path(new[0].argument).read_bytes())
    for _ in range(2):
        result = run(instances=new, complete=True, work=tools.no_difference)
        assert (result.instances, result.stop.units, result.left_out) == (8, 8, 4)
    # Neither are they taken in later, as new ones.
    assert run(instances=[*new, replace(new[0], name="again.txt")]).instances == 8


def test_a_pattern_is_remembered(run: Validations, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed command would be refused, since the instances it began with are not named; or a
    pattern be looked for beside the scenario.
    """
    tools.new_instances(run.folder, 6)
    tools.new_instances(run.folder, 5, first=300)
    monkeypatch.chdir(run.folder / "new")
    first = run(journal="new/v.db", instances="n 1*.txt", budget=8, work=tools.no_difference)
    assert first.instances == 6
    first = replace(first, assessments=(assess(replace(first.assessment.log, path="v.db")),))
    (step,) = next_steps(first.assessment)
    words = shlex.split(step)
    assert words[:4] == ["truecost", "validate", "v.db", "--scenario"]
    assert words[5:] == ["--budget", "12runs"]
    pool = tools.Pool(tools.no_difference)
    second = validate(words[2], words[4], budget=words[6], pool=pool)
    assert (second.runs, second.stop.why) == (12, "instances")
    assert "plan" in next_steps(second.assessment)[0]
    # Also from another folder.
    monkeypatch.chdir(run.folder)
    elsewhere = validate("new/v.db", run.scenario, pool=pool)
    assert (elsewhere.instances, elsewhere.left_out) == (6, 0)
    monkeypatch.chdir(run.folder / "new")
    third = validate("v.db", words[4], instances="n 3*.txt", complete=True, pool=pool)
    assert (third.instances, third.stop.units) == (11, 11)


def test_what_it_costs_is_announced(run: Validations) -> None:
    """Nobody would know what a validation costs before it starts."""
    lines: list[str] = []
    for budget in (20, 60, 60):
        run(budget=budget, complete=True, announce=lines.append)
    # Nothing is left to announce at the end.
    assert ["20 runs" in lines[0], "40 more runs" in lines[1], len(lines)] == [True, True, 2]
