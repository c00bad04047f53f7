"""configure: a search on training instances, then a test on held-out ones, in one journal."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import campaign_tools as tools
import numpy as np
import pytest

from truecost.campaigns.budget import Budget
from truecost.campaigns.configure import configure
from truecost.campaigns.testing import share_of
from truecost.campaigns.validate import validate
from truecost.errors import InputError
from truecost.journal.journal import Event, Journal
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log
from truecost.running.pools import Finished
from truecost.running.scenario import Scenario
from truecost.show.next_steps import next_steps

VALUE = {"kind": "value", "low": 0.0, "high": 1.0}
# Too large to be tried out, so that a larger budget finds something new.
SPACE = "x [0,9] [0]\ny [0,9] [0]\n"


def wide(folder: Path, instances: int = 24, **tables: Any) -> Scenario:
    """A scenario with real parameters."""
    scenario = tools.scenario(folder, instances=instances, **{"metric": VALUE, **tables})
    (folder / "space.pcs").write_text(SPACE)
    return Scenario.read(scenario.path)


def work(task: Any) -> Any:
    """Better at a large x, and at y in the middle."""
    x, y = (tools.value_of(task, name) for name in "xy")
    level = 0.1 + 0.05 * (9 - x) + 0.01 * abs(y - 5)
    return tools.outcome(level * (0.7 + 0.3 * tools.uniform(task.instance.name, task.seed)))


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """24 instances, values from 0 to 1."""
    return wide(tmp_path)


def events(path: Path, *kinds: str) -> list[Event]:
    """What was decided."""
    with Journal.read(path) as journal:
        return journal.events(*kinds)


def test_a_search_finds_something_better_and_proves_it(scenario: Scenario, tmp_path: Path) -> None:
    """The journey from a scenario to a validated winner would end without either."""
    result = configure(scenario, tmp_path / "c.db", budget=150, pool=tools.Pool(work))
    assert result.assessment.grade == "better"
    assert result.recommended == result.incumbent != result.default
    assert float(str(result.incumbent.values["x"])) > 3
    assert result.runs <= 150
    assert result.spent == result.runs
    assert result.stop is not None
    assert result.stop.why == "decided"
    assert result.assessment.same is not None
    assert result.assessment.same.source == "test"
    data = json.loads(json.dumps(result.to_dict()))
    assert data["incumbent"]["values"] == dict(result.incumbent.values)


def test_held_out_instances_are_never_trained_on(scenario: Scenario, tmp_path: Path) -> None:
    """The verdict would come from instances that chose the winner."""
    pool = tools.Pool(work)
    result = configure(scenario, tmp_path / "c.db", budget=150, pool=pool)
    (begun,) = events(tmp_path / "c.db", "search")
    held_out, training = set(begun.data["held_out"]), set(begun.data["training"])
    assert not held_out & training
    assert held_out | training == {one.name for one in scenario.instances}
    assert len(held_out) >= 8
    pair = {result.incumbent.name, result.default.name}
    assert {task.configuration.name for task in pool.made if task.instance.name in held_out} == pair
    log = result.assessment.log
    assert log.test is not None
    assert set(log.test.instances) <= held_out
    assert set(log.runs.instances) <= training
    assert log.adaptive
    # The search is over before the first of them is run.
    last = max(place for place, task in enumerate(pool.made) if task.instance.name in training)
    first = min(place for place, task in enumerate(pool.made) if task.instance.name in held_out)
    assert last < first


def test_shares_of_delta_add_up() -> None:
    """Continuing a search again and again would err more often than δ."""
    shares = [share_of(tests) for tests in range(60)]
    assert shares[:3] == [0.9, 0.05, 0.025]
    assert sum(shares) <= 1


def test_a_larger_budget_tests_the_new_incumbent(scenario: Scenario, tmp_path: Path) -> None:
    """A second test would use the first one's δ again, or the search forget what it knew."""
    first = configure(scenario, tmp_path / "c.db", budget=60, pool=tools.Pool(work))
    pool = tools.Pool(work)
    second = configure(scenario, tmp_path / "c.db", budget=300, pool=pool)
    assert first.incumbent != second.incumbent, "another seed"
    assert first.runs + len(pool.made) == second.runs <= 300
    tests = events(tmp_path / "c.db", "test")
    assert [test.data["candidates"] for test in tests] == [
        [first.incumbent.name],
        [second.incumbent.name],
    ]
    assert [test.data["share"] for test in tests] == [0.9, 0.05]
    assert second.assessment.statements[0].delta == pytest.approx(0.05 * 0.05)
    assert second.assessment.winner == second.incumbent.name
    # Runs of the first incumbent are not those of the second test.
    assert second.stop is not None
    assert 2 * second.stop.units <= second.stop.runs < second.test_runs
    cells = [(run.configuration, run.instance, run.number) for run in rows(tmp_path / "c.db")]
    assert len(cells) == len(set(cells))


class Row:
    """A run of a journal."""

    def __init__(self, configuration: str, instance: str, number: int) -> None:
        self.configuration, self.instance, self.number = configuration, instance, number


def rows(path: Path) -> list[Row]:
    """The runs of a journal."""
    with Journal.read(path) as journal:
        table = journal.table()
    return [
        Row(table.configurations[c], table.instances[i], n)
        for c, i, n in zip(table.configuration, table.instance, table.number.tolist(), strict=True)
    ]


def test_rerunning_a_finished_search_makes_nothing(scenario: Scenario, tmp_path: Path) -> None:
    """The same command would spend more, or test again."""
    first = configure(scenario, tmp_path / "c.db", budget="100runs", pool=tools.Pool(work))
    pool = tools.Pool(work)
    for budget in ("100runs", None):
        again = configure(scenario, tmp_path / "c.db", budget=budget, pool=pool)
        assert again.assessment.statements == first.assessment.statements
        assert (again.incumbent, again.stop, again.reason) == (
            first.incumbent,
            first.stop,
            first.reason,
        )
    assert not pool.made
    assert len(events(tmp_path / "c.db", "test")) == 1


@pytest.mark.parametrize("budget", [99, "2h", "50runs"])
def test_a_budget_only_grows(scenario: Scenario, tmp_path: Path, budget: Any) -> None:
    """A smaller budget would be taken for spent, or hours be added to runs."""
    configure(scenario, tmp_path / "c.db", budget=100, pool=tools.Pool(work))
    with pytest.raises(InputError, match="100 runs"):
        configure(scenario, tmp_path / "c.db", budget=budget, pool=tools.Pool(work))


def test_a_new_search_needs_a_budget(scenario: Scenario, tmp_path: Path) -> None:
    """A search would never end, and a refusal leave an empty journal."""
    with pytest.raises(InputError, match="--budget"):
        configure(scenario, tmp_path / "c.db", pool=tools.Pool(work))
    assert not list(tmp_path.glob("c.db*"))


class Stops(tools.Pool):
    """Ctrl-C after some runs."""

    def __init__(self, after: int) -> None:
        super().__init__(work)
        self.after = after

    def wait(self) -> list[Finished]:
        """Some runs."""
        if len(self.made) >= self.after:
            raise KeyboardInterrupt
        return super().wait()


def test_an_interrupted_search_continues(scenario: Scenario, tmp_path: Path) -> None:
    """Runs would be lost or made twice, or the budget overspent, after Ctrl-C in search or test."""
    interrupted = 0
    for _ in range(40):
        try:
            result = configure(scenario, tmp_path / "c.db", budget=150, pool=Stops(7))
            break
        except KeyboardInterrupt:
            interrupted += 1
    assert interrupted > 10
    assert result.runs <= 150
    found = [(row.configuration, row.instance, row.number) for row in rows(tmp_path / "c.db")]
    assert len(found) == len(set(found)) == result.runs
    assert len(events(tmp_path / "c.db", "test")) == 1
    assert len(events(tmp_path / "c.db", "search")) == 1
    assert result.assessment.grade == "better"


def test_validate_continues_the_test_of_a_search(scenario: Scenario, tmp_path: Path) -> None:
    """More instances would be tested with new δ, in another journal."""
    slight = tools.Pool(
        lambda task: tools.outcome(
            0.3 + 0.4 * tools.uniform(task.instance.name, task.seed)
            - 0.01 * tools.value_of(task)
        )
    )  # fmt: skip
    first = configure(scenario, tmp_path / "c.db", budget=120, pool=slight)
    assert first.assessment.grade == "undecided"
    new = tools.new_instances(tmp_path, 150)
    result = validate(tmp_path / "c.db", scenario, instances=new, pool=slight, complete=True)
    assert result.journal == tmp_path / "c.db"
    assert result.instances == len(new) + first.assessment.log.test_plan.planned  # type: ignore[union-attr]
    plan = result.assessment.log.test_plan
    assert plan is not None
    assert plan.share == 0.9
    assert len(events(tmp_path / "c.db", "test")) == 1
    assert result.assessment.grade == "better"
    # The search can go on, and its training instances stay what they are.
    again = configure(scenario, tmp_path / "c.db", budget=120, pool=slight)
    assert again.incumbent == first.incumbent
    with pytest.raises(InputError, match=r"delta is 0\.05"):
        validate(tmp_path / "c.db", scenario, instances=new, pool=slight, delta=0.1)


def test_training_instances_are_not_tested_on(scenario: Scenario, tmp_path: Path) -> None:
    """Without new instances, `validate` would test a search on what it was trained on."""
    configure(scenario, tmp_path / "c.db", budget=40, pool=tools.Pool(work))
    result = validate(tmp_path / "c.db", scenario, pool=tools.Pool(work), complete=True)
    (begun,) = events(tmp_path / "c.db", "search")
    assert result.instances == len(begun.data["held_out"])


def test_the_default_may_win(scenario: Scenario, tmp_path: Path) -> None:
    """A search that finds nothing would test the default against itself."""

    def only_default(task: Any) -> Any:
        good = tools.value_of(task) == 0
        return tools.outcome(0.1 if good else 0.9)

    result = configure(scenario, tmp_path / "c.db", budget=60, pool=tools.Pool(only_default))
    assert result.incumbent == result.recommended == result.default
    assert result.stop is None
    assert not events(tmp_path / "c.db", "test")
    assert result.assessment.exit_code == 1


def test_starting_points_are_tried_first(scenario: Scenario, tmp_path: Path) -> None:
    """A configuration named twice among the starting points would wedge the search."""
    good = {"x": 9.0, "y": 5.0}
    pool = tools.Pool(work)
    result = configure(
        scenario, tmp_path / "c.db", budget=60, pool=pool,
        start=[good, dict(good), dict(scenario.space.default().values)],
    )  # fmt: skip
    assert result.incumbent.values == good
    assert result.origin == "start"
    pool = tools.Pool(work)
    configure(scenario, tmp_path / "c.db", budget=60, pool=pool, start=[good])
    assert not pool.made
    with pytest.raises(InputError, match="start was"):
        configure(scenario, tmp_path / "c.db", budget=60, pool=pool)


def test_a_log_starts_a_search(scenario: Scenario, tmp_path: Path) -> None:
    """The winner of an earlier tuner would have to be found again."""
    names = [f"c{place}" for place in range(8)]
    costs = np.arange(8.0)[:, None, None] * np.ones((1, 3, 1)) / 10
    log = Log(
        runs=CostMatrix(costs, names, ["a", "b", "c"]),
        incumbent="c3",
        parameters={name: {"x": 9 - place, "y": 5} for place, name in enumerate(names)},
    )
    pool = tools.Pool(work)
    configure(scenario, tmp_path / "c.db", budget=60, pool=pool, start=log)
    tried = list(dict.fromkeys(task.configuration.values["x"] for task in pool.made))
    assert set(tried[:6]) == {0.0, 6.0, 9.0, 8.0, 7.0, 5.0}
    with pytest.raises(InputError, match="no parameter values"):
        configure(scenario, tmp_path / "d.db", budget=60, start=replace(log, parameters={}))


def test_a_single_instance_is_not_split(tmp_path: Path) -> None:
    """A search on one instance would have nothing to train on."""
    scenario = wide(tmp_path, instances=1)
    result = configure(scenario, tmp_path / "c.db", budget=40, pool=tools.Pool(work))
    assert result.stop is None
    assert result.test_runs == 0
    assert result.runs <= 40
    assert result.assessment.grade == "not testable"
    # `validate` tests its winner on others, and the search may go on.
    new = tools.new_instances(tmp_path, 30)
    tested = validate(tmp_path / "c.db", scenario, instances=new, pool=tools.Pool(work))
    assert tested.assessment.grade == "better"
    assert tested.assessment.statements[0].delta == pytest.approx(0.045)
    again = configure(scenario, tmp_path / "c.db", budget=40, pool=tools.Pool(work))
    assert again.assessment.log.runs.instances == (scenario.instances[0].name,)
    assert again.test_runs == tested.runs


def test_families_are_held_out_whole(tmp_path: Path) -> None:
    """Instances like the training instances would pass for new ones."""
    plain = wide(tmp_path, instances=24)
    scenario = replace(
        plain,
        families=True,
        instances=tuple(
            replace(one, extras={"family": f"f{place // 3}"})
            for place, one in enumerate(plain.instances)
        ),
    )
    result = configure(
        scenario, tmp_path / "c.db", budget=200, sampled="family", pool=tools.Pool(work)
    )
    (begun,) = events(tmp_path / "c.db", "search")
    family = {one.name: one.extras["family"] for one in scenario.instances}
    held_out, training = (
        {family[name] for name in begun.data[part]} for part in ("held_out", "training")
    )
    assert not held_out & training
    plan = result.assessment.log.test_plan
    assert plan is not None
    assert plan.sampled == "family"


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 12])
def test_small_budgets_are_kept(scenario: Scenario, tmp_path: Path, budget: int) -> None:
    """A budget for a handful of runs would be overspent, or end in a traceback."""
    result = configure(scenario, tmp_path / "c.db", budget=budget, pool=tools.Pool(work))
    assert result.runs <= budget


def test_a_budget_of_time_is_kept(scenario: Scenario, tmp_path: Path) -> None:
    """A search would run into the morning, or leave nothing for its test."""

    def slow(task: Any) -> Any:
        made = work(task)
        return replace(made, wall=10.0)

    result = configure(scenario, tmp_path / "c.db", budget="20min", pool=tools.Pool(slow, 4))
    assert result.budget == Budget(amount=1200, unit="seconds")
    assert result.test_runs >= 16
    assert result.spent <= 1200 + 10
    assert result.runs >= 200


def test_a_search_needs_a_range_and_a_default(tmp_path: Path) -> None:
    """A search whose incumbent cannot be judged would spend its budget."""
    scenario = wide(tmp_path, metric={"kind": "value", "failed": 5.0})
    with pytest.raises(InputError, match="low and high"):
        configure(scenario, tmp_path / "c.db", budget=50, pool=tools.Pool(work))
    scenario = wide(tmp_path)
    (tmp_path / "space.pcs").write_text('x "" r (0, 9)\ny "" r (0, 9)\n')
    with pytest.raises(InputError, match="no default"):
        configure(Scenario.read(scenario.path), tmp_path / "c.db", budget=50)


def test_copies_are_not_held_out(tmp_path: Path) -> None:
    """A copy of a training instance would be tested on as a new one."""
    wide(tmp_path, instances=12)
    for place in range(6):
        (tmp_path / "instances" / f"i {place + 6}.txt").write_text(f"{place}\n")
    lines: list[str] = []
    scenario = Scenario.read(tmp_path / "scenario.toml")
    configure(
        scenario, tmp_path / "c.db", budget=40, pool=tools.Pool(work), announce=lines.append
    )  # fmt: skip
    (begun,) = events(tmp_path / "c.db", "search")
    chosen = [*begun.data["held_out"], *begun.data["training"]]
    assert len({int(name.split()[-1][:-4]) % 6 for name in chosen}) == len(chosen) == 6
    assert "40 runs" in lines[0]


def test_an_undecided_search_says_how_to_go_on(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The held-out instances that are left would never be run, or the command be refused."""
    monkeypatch.chdir(tmp_path)
    slight = tools.Pool(lambda task: tools.outcome(0.5 - 0.002 * tools.value_of(task)))
    first = configure(scenario, "c.db", budget=60, pool=slight)
    assert first.assessment.grade == "undecided"
    assert first.assessment.log.scenario == "scenario.toml"
    left = first.test_runs < 2 * 8
    step = next_steps(first.assessment)[0].split()
    assert step[1] == ("validate" if left else "plan")


@pytest.mark.parametrize(("gain", "recommends"), [(0.0, False), (0.01, False), (1.0, True)])
def test_the_default_is_kept_where_the_gain_may_be_noise(gain: float, recommends: bool) -> None:
    """A search would recommend what is a little better on the held-out instances by luck."""
    from truecost.campaigns.configure import _gains
    from truecost.judge.assess import assess
    from truecost.matrix import CostMatrix, Log

    noise = np.random.default_rng(1).normal(0, 1, 20)
    costs = np.array([5 + noise - noise.mean() - gain, np.full(20, 5.0)])[:, :, np.newaxis]
    test = CostMatrix(costs, ["new", "default"], [f"t{k}" for k in range(20)], 0, 20)
    training = CostMatrix([[1.0], [2.0]], ["new", "default"], ["i"], 0, 20)
    log = Log(runs=training, test=test, incumbent="new", default="default", adaptive=True)
    assert _gains(assess(log)) is recommends
