"""configure: a search on training instances, then a test on held-out ones, in one journal."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import campaign_tools as tools
import numpy as np
import pytest

from truecost.campaigns.configure import configure
from truecost.campaigns.results import Configured, Validated
from truecost.campaigns.search.comparison import is_gain
from truecost.campaigns.testing import share_of
from truecost.campaigns.validate import validate
from truecost.errors import InputError
from truecost.journal.journal import Event, Journal
from truecost.matrix import CostMatrix, Log
from truecost.matrix.log import Plan
from truecost.running.pools import Task
from truecost.running.scenario import Scenario
from truecost.runs import Instance, Outcome

VALUE = {"kind": "value", "low": 0.0, "high": 1.0}
# Too large to be tried out, so that a larger budget finds something new.
SPACE = "x [0,9] [0]\ny [0,9] [0]\n"


def better_in_the_corner(task: Task) -> Outcome:
    """Better at a large x, and at y in the middle."""
    x, y = (tools.value_of(task, name) for name in "xy")
    level = 0.1 + 0.05 * (9 - x) + 0.01 * abs(y - 5)
    return tools.outcome(level * (0.7 + 0.3 * tools.uniform(task.instance.name, task.seed)))


class Searches:
    """Searches in one folder, on 24 instances with values from 0 to 1."""

    def __init__(self, folder: Path, instances: int = 24, **tables: Any) -> None:
        self.folder, self.journal = folder, folder / "c.db"
        scenario = tools.scenario(folder, instances=instances, **{"metric": VALUE, **tables})
        (folder / "space.pcs").write_text(SPACE)
        self.scenario = Scenario.read(scenario.path)
        self.pool = tools.Pool(better_in_the_corner)

    def __call__(
        self,
        budget: Any = None,
        work: tools.Work = better_in_the_corner,
        pool: tools.Pool | None = None,
        **options: Any,
    ) -> Configured:
        """Search and test; `pool` has the runs that were made."""
        self.pool = pool or tools.Pool(work)
        return configure(self.scenario, self.journal, budget=budget, pool=self.pool, **options)

    def validate(
        self, new: list[Instance] | None, work: tools.Work = better_in_the_corner, **options: Any
    ) -> Validated:
        """Continue the test of the search."""
        self.pool = tools.Pool(work)
        return validate(self.journal, self.scenario, instances=new, pool=self.pool, **options)

    def events(self, kind: str) -> list[Event]:
        """What was decided."""
        with Journal.read(self.journal) as journal:
            return journal.events(kind)

    def instances(self) -> tuple[list[str], list[str]]:
        """Training instances, and held-out ones."""
        (begun,) = self.events("search")
        return begun.data["training"], begun.data["held_out"]

    def cells(self) -> list[tuple[str, str, int]]:
        """The recorded runs."""
        with Journal.read(self.journal) as journal:
            return journal.table().cells()


@pytest.fixture
def run(tmp_path: Path) -> Searches:
    """Searches on 24 instances."""
    return Searches(tmp_path)


def plan_of(result: Configured | Validated) -> Plan:
    """What was fixed before the first run of the test."""
    assert result.assessment.log.test_plan is not None
    return result.assessment.log.test_plan


def slight(task: Task) -> Outcome:
    """A small gain, and noise."""
    noise = tools.uniform(task.instance.name, task.seed)
    return tools.outcome(0.3 + 0.4 * noise - 0.01 * tools.value_of(task))


def test_a_search_finds_something_better_and_proves_it(run: Searches) -> None:
    """The journey from a scenario to a validated winner would end without either, or the verdict
    come from instances that chose the winner.
    """
    result = run(150)
    assert result.assessment.grade == "better"
    assert result.recommended == result.incumbent != result.default
    assert float(str(result.incumbent.values["x"])) > 3
    assert result.spent == result.runs <= 150
    assert result.stop is not None
    assert result.stop.why == "decided"
    data = json.loads(json.dumps(result.to_dict()))
    assert data["incumbent"]["values"] == dict(result.incumbent.values)
    training, held_out = run.instances()
    assert sorted(training + held_out) == sorted(one.name for one in run.scenario.instances)
    assert len(held_out) >= 8
    log = result.assessment.log
    assert log.test is not None
    assert set(log.test.instances) <= set(held_out)
    assert set(log.runs.instances) <= set(training)
    assert log.adaptive
    # The search is over before the first of them is run, and its pair alone runs on them.
    tested = [task.instance.name in held_out for task in run.pool.made]
    assert tested == sorted(tested)
    assert {
        task.configuration.name for task in run.pool.made if task.instance.name in held_out
    } == {result.incumbent.name, result.default.name}
    # Neither does `validate` without new instances use those of training.
    assert run.validate(None, complete=True).instances == len(held_out)


def test_shares_of_delta_add_up() -> None:
    """Continuing a search again and again would err more often than δ."""
    shares = [share_of(tests) for tests in range(60)]
    assert shares[:3] == [0.9, 0.05, 0.025]
    assert sum(shares) <= 1


def test_a_larger_budget_tests_the_new_incumbent(run: Searches) -> None:
    """A second test would use the first one's δ again, or the search forget what it knew."""
    first = run(60)
    second = run(300)
    assert first.incumbent != second.incumbent, "another seed"
    assert first.runs + len(run.pool.made) == second.runs <= 300
    tests = [event.data for event in run.events("test")]
    assert [test["candidates"] for test in tests] == [
        [first.incumbent.name],
        [second.incumbent.name],
    ]
    assert [test["share"] for test in tests] == [0.9, 0.05]
    assert second.assessment.statements[0].delta == pytest.approx(0.05 * 0.05)
    assert second.assessment.winner == second.incumbent.name
    # Runs of the first incumbent are not those of the second test.
    assert second.stop is not None
    assert 2 * second.stop.units <= second.stop.runs < second.test_runs
    assert len(set(run.cells())) == len(run.cells())


def test_a_budget_of_a_test_pays_for_no_other(tmp_path: Path) -> None:
    """The command that continues the second test, as it is printed, would do nothing: its budget
    would be spent by the test of an earlier incumbent.
    """
    run = Searches(tmp_path, instances=60)
    for budget in (60, 300):
        stop = run(budget, delta=0.4).stop
        assert stop is not None
        assert stop.why == "decided"
        assert stop.units < 20
    rest = run.validate(None, budget=2 * 20, complete=True)
    assert rest.stop.units == rest.instances == 20


def test_rerunning_a_finished_search_makes_nothing(run: Searches) -> None:
    """The same command would spend more, or test again."""
    first = run("100runs")
    for budget in ("100runs", None):
        again = run(budget)
        assert not run.pool.made
        assert again.assessment.statements == first.assessment.statements
        for name in ("incumbent", "stop", "reason", "runs"):
            assert getattr(again, name) == getattr(first, name)
    assert len(run.events("test")) == 1
    # Nor does it ask for free cores.
    assert configure(run.scenario, run.journal, pool=0).stop == first.stop


@pytest.mark.parametrize("budget", [99, "2h", "50runs"])
def test_a_budget_only_grows(run: Searches, budget: Any) -> None:
    """A smaller budget would be taken for spent, or hours be added to runs."""
    run(100)
    with pytest.raises(InputError, match="100 runs"):
        run(budget)


def test_what_cannot_be_searched_is_refused(run: Searches, tmp_path: Path) -> None:
    """A search would never end, or its incumbent could not be judged; a refusal would leave an
    empty journal.
    """
    with pytest.raises(InputError, match="--budget"):
        run()
    unbounded = Searches(tmp_path / "unbounded", metric={"kind": "value", "failed": 5.0})
    with pytest.raises(InputError, match="low and high"):
        unbounded(50)
    (tmp_path / "space.pcs").write_text('x "" r (0, 9)\ny "" r (0, 9)\n')
    run.scenario = Scenario.read(run.scenario.path)
    with pytest.raises(InputError, match="no default"):
        run(50)
    assert not list(tmp_path.glob("**/*.db*"))


def test_an_interrupted_search_continues(run: Searches) -> None:
    """Runs would be lost or made twice, or the budget overspent, after Ctrl-C in search or test."""
    interrupted = 0
    for _ in range(40):
        try:
            result = run(150, pool=tools.Interrupted(7, better_in_the_corner))
            break
        except KeyboardInterrupt:
            interrupted += 1
    assert interrupted > 10
    assert len(set(run.cells())) == len(run.cells()) == result.runs <= 150
    assert len(run.events("test")) == len(run.events("search")) == 1
    assert result.assessment.grade == "better"


def test_validate_continues_the_test_of_a_search(run: Searches) -> None:
    """More instances would be tested with new δ, in another journal."""
    first = run(120, slight)
    assert first.assessment.grade == "undecided"
    new = tools.new_instances(run.folder, 150)
    more = run.validate(new, slight, budget=first.test_runs + 10)
    assert (more.stop.why, more.runs) == ("budget", first.test_runs + 10)
    # `configure` does not know the rest.
    stop = run(120, slight).stop
    assert stop is not None
    assert (stop.why, stop.units, len(run.pool.made)) == ("instances", more.stop.units, 0)
    result = run.validate(new, slight, complete=True)
    assert result.journal == run.journal
    assert result.instances == len(new) + plan_of(first).planned
    assert plan_of(result).share == 0.9
    assert len(run.events("test")) == 1
    assert result.assessment.grade == "better"
    # The search can go on; its training instances, and the test, stay what they are.
    again = run(120, slight)
    assert again.incumbent == first.incumbent
    assert again.stop is not None
    assert (again.stop.units, again.stop.decided) == (result.stop.units, result.stop.decided)
    with pytest.raises(InputError, match=r"delta was 0\.05"):
        run.validate(new, slight, delta=0.1)


def test_a_test_is_not_given_up_for_another(run: Searches) -> None:
    """A new winner would be given up without a forecast, since an earlier one had no chance."""
    run(120, slight)
    with Journal.read(run.journal) as journal:
        settings = journal.settings
    stop = {"why": "forecast", "units": 20, "chance": 0.0, "reach": 1000, "candidates": ["other"]}
    with Journal.write(run.journal, run.scenario, "configure", settings) as journal:
        journal.event("stop", stop)
    result = run.validate(tools.new_instances(run.folder, 150), slight)
    assert result.stop.why == "decided"
    assert result.stop.units > 20


def test_the_default_may_win(run: Searches) -> None:
    """A search that finds nothing would test the default against itself."""
    result = run(60, lambda task: tools.outcome(0.1 if tools.value_of(task) == 0 else 0.9))
    assert result.incumbent == result.recommended == result.default
    assert result.stop is None
    assert not run.events("test")
    assert result.assessment.exit_code == 1
    with pytest.raises(InputError, match="winner of this search is the default"):
        run.validate(None)


def test_starting_points_are_tried_first(run: Searches) -> None:
    """A configuration named twice among the starting points would wedge the search."""
    good = {"x": 9.0, "y": 5.0}
    result = run(60, start=[good, dict(good), dict(run.scenario.space.default().values)])
    assert (result.incumbent.values, result.origin) == (good, "start")
    run(60, start=[good])
    assert not run.pool.made
    with pytest.raises(InputError, match="start was"):
        run(60)


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": "x.json"},
        {"start": {"x": 9.0, "y": 5.0}},
        {"start": [9.0]},
        {"runs": 2.5},
        {"runs": 0},
        {"seed": -1},
        {"seed": 1.5},
        {"worker": 2},
        {"sampled": "seed"},
    ],
)
def test_wrong_options_leave_no_journal(run: Searches, wrong: dict[str, Any]) -> None:
    """A misspelt option would be ignored, or a wrong one end in a traceback."""
    with pytest.raises(InputError, match=min(wrong)):
        run(30, **wrong)
    assert not run.journal.exists()


def test_a_log_starts_a_search(run: Searches) -> None:
    """The winner of an earlier tuner would have to be found again."""
    names = [f"c{place}" for place in range(8)]
    costs = np.arange(8.0)[:, None, None] * np.ones((1, 3, 1)) / 10
    log = Log(
        runs=CostMatrix(costs, names, ["a", "b", "c"]),
        incumbent="c3",
        parameters={name: {"x": 9 - place, "y": 5} for place, name in enumerate(names)},
    )
    with pytest.raises(InputError, match="no parameter values"):
        run(60, start=replace(log, parameters={}))
    run(60, start=log)
    tried = list(dict.fromkeys(task.configuration.values["x"] for task in run.pool.made))
    assert set(tried[:6]) == {0.0, 6.0, 9.0, 8.0, 7.0, 5.0}


@pytest.mark.parametrize("unit", ["instance", "family"])
def test_what_a_starting_point_was_tuned_on_is_not_held_out(run: Searches, unit: Any) -> None:
    """A winner of another tuner would be tested on the instances that it was tuned on."""
    instances = run.scenario.instances
    family = {one.name: f"f{place // 3}" for place, one in enumerate(instances)}
    if unit == "family":
        labelled = (replace(one, extras={"family": family[one.name]}) for one in instances)
        run.scenario = replace(run.scenario, instances=tuple(labelled))

    def started(known: int) -> Log:
        names = [one.name for one in instances[:known]]
        return Log(
            runs=CostMatrix(np.full((1, known, 1), 0.5), ["w"], names),
            incumbent="w",
            parameters={"w": {"x": 9, "y": 5}},
        )

    result = run(60, start=started(19), sampled=unit)
    training, held_out = run.instances()
    assert result.incumbent.values == {"x": 9.0, "y": 5.0}
    assert set(held_out) == {one.name for one in instances[19 if unit == "instance" else 21 :]}
    assert sorted(training + held_out) == sorted(family)
    assert "starts" not in {caveat.code for caveat in result.assessment.caveats}
    # Neither does `validate` use them.
    assert run.validate(None, complete=True).instances == len(held_out)
    run.journal = run.folder / "none.db"
    lines = list[str]()
    result = run(60, start=started(24), sampled=unit, announce=lines.append)
    assert (result.stop, result.assessment.grade) == (None, "not testable")
    assert "none is left for a test" in lines[0]
    run.journal = run.folder / "values.db"
    result = run(60, start=[{"x": 9, "y": 5}], sampled=unit)
    assert "starts" in {caveat.code for caveat in result.assessment.caveats}


def test_a_single_instance_is_not_split(tmp_path: Path) -> None:
    """A search on one instance would have nothing to train on."""
    run = Searches(tmp_path, instances=1)
    result = run(40)
    assert (result.stop, result.test_runs) == (None, 0)
    assert result.runs <= 40
    assert result.assessment.grade == "not testable"
    # `validate` tests its winner on others, and the search may go on.
    new = tools.new_instances(tmp_path, 30)
    tested = run.validate(new)
    assert tested.assessment.grade == "better"
    assert tested.assessment.statements[0].delta == pytest.approx(0.045)
    again = run(40)
    assert again.assessment.log.runs.instances == (run.scenario.instances[0].name,)
    assert again.test_runs == tested.runs
    # A new winner has a test of its own.
    grown = run(280)
    assert grown.incumbent != result.incumbent, "another seed"
    assert grown.assessment.grade == "not testable"
    last = run.validate(new)
    assert (last.assessment.winner, last.assessment.grade) == (grown.incumbent.name, "better")
    assert last.assessment.statements[0].delta == pytest.approx(0.0025)


def test_the_latest_winner_is_tested(run: Searches) -> None:
    """After a larger budget `validate` would go on with the test of an earlier winner, and its
    verdict be about neither.
    """
    first = run(60)
    second = run(300)
    assert first.incumbent != second.incumbent, "another seed"
    ends = [event.data for event in run.events("searched")]
    # The search returns to its first winner, or is killed before the test of another one.
    with Journal.read(run.journal) as journal:
        settings = journal.settings
    with Journal.write(run.journal, run.scenario, "configure", settings) as journal:
        journal.event("searched", ends[0])
    for result in (run(), run.validate(None)):
        assert result.assessment.winner == first.incumbent.name
        assert result.assessment.statements[0].delta == pytest.approx(0.045)
    assert len(run.events("test")) == 2
    third = run.scenario.space.configuration({"x": 8.5, "y": 4.5})
    with Journal.write(run.journal, run.scenario, "configure", settings) as journal:
        journal.enter([third])
        incumbent = {"name": third.name, "values": dict(third.values)}
        journal.event("searched", {**ends[1], "incumbent": incumbent})
    with pytest.raises(InputError, match="has not begun"):
        run.validate(None)
    assert run().assessment.statements[0].delta == pytest.approx(0.05 * 0.025)
    assert run.validate(None).assessment.winner == third.name


def test_families_are_held_out_whole(run: Searches) -> None:
    """Instances like the training instances would pass for new ones."""
    family = {one.name: f"f{place // 3}" for place, one in enumerate(run.scenario.instances)}
    labelled = (replace(one, extras={"family": family[one.name]}) for one in run.scenario.instances)
    run.scenario = replace(run.scenario, instances=tuple(labelled))
    result = run(200, sampled="family")
    held_out, training = ({family[name] for name in part} for part in run.instances())
    assert not held_out & training
    assert plan_of(result).sampled == "family"


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 12])
def test_small_budgets_are_kept(run: Searches, budget: int) -> None:
    """A budget for a handful of runs would be overspent, or end in a traceback."""
    assert run(budget).runs <= budget


def test_a_budget_of_time_is_kept(run: Searches) -> None:
    """A search would run into the morning, or leave nothing for its test."""
    pool = tools.Pool(lambda task: replace(better_in_the_corner(task), wall=10.0), workers=4)
    result = run("20min", pool=pool)
    assert result.test_runs >= 16
    assert result.spent <= 1200 + 10
    assert result.runs >= 200


def test_copies_are_not_held_out(tmp_path: Path) -> None:
    """A copy of a training instance would be tested on as a new one."""
    run, lines = Searches(tmp_path, instances=12), list[str]()
    for place in range(6):
        (tmp_path / "instances" / f"i {place + 6}.txt").write_text(f"{place}\n")
    run(40, announce=lines.append)
    chosen = [name for part in run.instances() for name in part]
    assert len({int(name.split()[-1][:-4]) % 6 for name in chosen}) == len(chosen) == 6
    assert "40 runs" in lines[0]


@pytest.mark.parametrize(("gain", "recommends"), [(0.0, False), (0.01, False), (1.0, True)])
def test_the_default_is_kept_where_the_gain_may_be_noise(gain: float, recommends: bool) -> None:
    """A search would recommend what is a little better on the held-out instances by luck."""
    noise = np.random.default_rng(1).normal(0, 1, 20)
    assert is_gain(gain - noise + noise.mean()) is recommends


def test_many_small_gains_outweigh_a_rare_loss() -> None:
    """A faster winner with one timeout less than it wins would never be recommended."""
    assert is_gain(np.array([0.4] * 49 + [-19.0]))
    assert not is_gain(np.array([0.4] * 49 + [-20.0]))
