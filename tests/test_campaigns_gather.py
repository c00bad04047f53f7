"""gather: S* order, resuming, extending, and what a list fixed beforehand means."""

import json
from pathlib import Path
from typing import Any

import campaign_tools as tools
import numpy as np
import pytest

from truecost.campaigns.campaign import Progress
from truecost.campaigns.gather import gather
from truecost.errors import InputError, Refusal
from truecost.journal.journal import Journal
from truecost.judge.assess import assess
from truecost.judge.question import Question
from truecost.running.pools import Finished, Task
from truecost.running.scenario import Scenario

SIZE: dict[str, Any] = {"configurations": 3, "instances": 4, "runs": 2}


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """A scenario of running times with 8 instances."""
    return tools.scenario(tmp_path)


def counts(made: list[Task]) -> np.ndarray[Any, Any]:
    """How many runs each configuration has on each instance."""
    who = sorted({task.configuration.name for task in made})
    where = sorted({task.instance.name for task in made})
    table = np.zeros((len(who), len(where)), dtype=int)
    for task in made:
        table[who.index(task.configuration.name), where.index(task.instance.name)] += 1
    return table


class Submitted(tools.Pool):
    """A pool that remembers the order in which tasks came."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.submitted: list[Task] = []

    def submit(self, task: Task) -> None:
        """Take a task."""
        self.submitted.append(task)
        super().submit(task)


def test_any_prefix_is_even(scenario: Scenario, tmp_path: Path) -> None:
    """A gathering that is stopped early would favour some configurations or instances."""
    pool = Submitted()
    gather(scenario, tmp_path / "g.db", **SIZE, pool=pool)
    assert len(pool.submitted) == 24
    for end in range(3, 25, 3):
        table = counts(pool.submitted[:end])
        assert (table == table[0]).all()
        assert table.max() - table.min() <= 1
    assert pool.most <= 2 * pool.workers


def test_the_journal_is_the_same_for_any_number_of_workers(
    scenario: Scenario, tmp_path: Path
) -> None:
    """Results would depend on the machine."""
    matrices = []
    for workers in (1, 5):
        path = tmp_path / f"{workers}.db"
        gather(scenario, path, **SIZE, pool=tools.Pool(workers=workers, at_once=3))
        with Journal.read(path) as journal:
            matrices.append(journal.log().runs)
    assert matrices[0] == matrices[1]


def test_seeds_are_separate(scenario: Scenario, tmp_path: Path) -> None:
    """Pairs of runs would depend on a common seed, and so would statements about wins."""
    pool = tools.Pool()
    gather(scenario, tmp_path / "g.db", **SIZE, pool=pool)
    assert len({task.seed for task in pool.made}) == 24


def test_a_resumed_gathering_makes_what_is_missing(scenario: Scenario, tmp_path: Path) -> None:
    """Runs would be made twice, or forgotten, after an interruption."""

    class Stops(tools.Pool):
        def wait(self) -> list[Finished]:
            if len(self.made) == 10:
                raise KeyboardInterrupt
            return super().wait()

    first, second, third = Stops(), tools.Pool(), tools.Pool()
    with pytest.raises(KeyboardInterrupt):
        gather(scenario, tmp_path / "g.db", **SIZE, pool=first)
    result = gather(scenario, tmp_path / "g.db", **SIZE, pool=second)
    assert (len(first.made), len(second.made), result.runs) == (10, 14, 24)
    assert gather(scenario, tmp_path / "g.db", **SIZE, pool=third).planned == 24
    assert not third.made


@pytest.mark.parametrize("more", [{"configurations": 5}, {"instances": 6}, {"runs": 3}])
def test_a_larger_size_extends(scenario: Scenario, tmp_path: Path, more: dict[str, int]) -> None:
    """More runs would need another journal, or make those there again."""
    gather(scenario, tmp_path / "g.db", **SIZE, pool=tools.Pool())
    pool = tools.Pool()
    size: dict[str, Any] = {**SIZE, **more}
    result = gather(scenario, tmp_path / "g.db", **size, pool=pool)
    planned = size["configurations"] * size["instances"] * size["runs"]
    assert (result.runs, len(pool.made)) == (planned, planned - 24)


def test_added_instances_come_last(tmp_path: Path) -> None:
    """An instance added to the folder would change the recorded order, on which statements rest."""
    scenario = tools.scenario(tmp_path, instances=5)
    size: dict[str, Any] = {"configurations": 2, "runs": 1}
    gather(scenario, tmp_path / "g.db", **size, pool=tools.Pool())
    before = [instance.name for instance in scenario.instances]
    larger = tools.scenario(tmp_path, instances=30)
    assert [one.name for one in larger.instances][:5] != before, "another seed"
    one = gather(larger, tmp_path / "g.db", **size, instances=6, pool=tools.Pool())
    assert one.runs == 12
    gather(larger, tmp_path / "g.db", **size, pool=tools.Pool())
    with Journal.read(tmp_path / "g.db") as journal:
        plan = journal.log().plan
    assert plan is not None
    assert plan.order[:5] == tuple(before)
    assert (len(plan.order), plan.planned, plan.watched) == (30, 5, True)


def test_the_list_is_fixed_when_the_journal_begins(scenario: Scenario, tmp_path: Path) -> None:
    """A configuration added after costs were seen would get the guarantees of a fixed list."""
    gather(scenario, tmp_path / "g.db", **SIZE, pool=tools.Pool())
    result = gather(scenario, tmp_path / "g.db", **{**SIZE, "configurations": 6}, pool=tools.Pool())
    log = result.log
    assert log.plan is not None
    assert (log.listed, len(log.plan.candidates), log.adaptive) == (3, 3, False)
    later = log.runs.configurations[-1]
    assert later not in log.plan.candidates
    assert isinstance(assess(log, Question(configuration=later)).evidence, Refusal)
    assert not isinstance(
        assess(log, Question(configuration=log.plan.candidates[1])).evidence, Refusal
    )


def test_a_finished_plan_is_one_look(scenario: Scenario, tmp_path: Path) -> None:
    """A gathering nobody looked at before its end would pay for looks after every instance; one
    that is unfinished would not.
    """
    assert gather(scenario, tmp_path / "g.db", **SIZE, pool=tools.Pool()).log.plan.watched is False  # type: ignore[union-attr]

    class Stops(tools.Pool):
        def wait(self) -> list[Finished]:
            if len(self.made) == 20:
                raise KeyboardInterrupt
            return super().wait()

    with pytest.raises(KeyboardInterrupt):
        gather(scenario, tmp_path / "h.db", **SIZE, pool=Stops())
    with Journal.read(tmp_path / "h.db") as journal:
        plan = journal.log().plan
    assert plan is not None
    assert plan.watched


def test_given_configurations(scenario: Scenario, tmp_path: Path) -> None:
    """A list that somebody chose, perhaps from these runs, would pass for a random one."""
    given = scenario.space.configurations(4, seed=9)
    twice = [*given, given[0]]
    result = gather(
        scenario, tmp_path / "g.db", configurations=twice, instances=2, runs=1, pool=tools.Pool()
    )
    assert (result.runs, result.log.adaptive) == (8, None)
    file = tmp_path / "list.json"
    file.write_text(json.dumps([dict(one.values) for one in given]))
    more: dict[str, Any] = {"instances": 3, "pool": tools.Pool()}
    assert gather(scenario, tmp_path / "g.db", configurations=file, **more).runs == 12
    with pytest.raises(InputError, match="--configurations"):
        gather(scenario, tmp_path / "g.db", **more)


def test_the_same_command_keeps_its_size(scenario: Scenario, tmp_path: Path) -> None:
    """Options left out on a rerun would fall back to other numbers than the journal's."""
    gather(scenario, tmp_path / "g.db", **SIZE, pool=tools.Pool())
    result = gather(scenario, tmp_path / "g.db", instances=4, pool=tools.Pool())
    assert result.planned == 24


@pytest.mark.parametrize("size", [{"instances": 9}, {"instances": 0}, {"runs": 0},
                                  {"configurations": 0}])  # fmt: skip
def test_impossible_sizes_leave_no_journal(
    scenario: Scenario, tmp_path: Path, size: dict[str, int]
) -> None:
    """A refusal would leave an empty journal behind, or begin a design that never ends."""
    with pytest.raises(InputError):
        gather(scenario, tmp_path / "g.db", **{**SIZE, **size}, pool=tools.Pool())
    assert not list(tmp_path.glob("g.db*"))


def test_files_are_taken_for_scenarios(scenario: Scenario, tmp_path: Path) -> None:
    """Python users would have to read the scenario themselves."""
    result = gather(str(scenario.path), str(tmp_path / "g.db"), **SIZE, pool=tools.Pool())
    assert json.loads(json.dumps(result.to_dict()))["runs"] == 24
    assert result.assessment.same is not None


def test_what_is_left_is_announced(scenario: Scenario, tmp_path: Path) -> None:
    """Nobody would know what a command costs before it starts."""
    lines: list[str] = []
    how: dict[str, Any] = {"pool": tools.Pool(), "announce": lines.append}
    gather(scenario, tmp_path / "g.db", **SIZE, **how)
    gather(scenario, tmp_path / "g.db", **{**SIZE, "runs": 4}, **how)
    gather(scenario, tmp_path / "g.db", **{**SIZE, "runs": 4}, **how)
    assert "24 runs" in lines[0]
    assert "48 runs, 24 of them" in lines[1]
    assert ["At most" in line for line in lines] == [True, True, False]
    # The limit that makes it so much, to be lowered.
    assert "if every run takes" in lines[0]


def test_progress_counts_earlier_runs(scenario: Scenario, tmp_path: Path) -> None:
    """A resumed gathering would seem to begin anew."""
    gather(scenario, tmp_path / "g.db", **SIZE, pool=tools.Pool())
    seen: list[Progress] = []
    size: dict[str, Any] = {**SIZE, "runs": 3}
    gather(scenario, tmp_path / "g.db", **size, pool=tools.Pool(), progress=seen.append)
    assert [now.runs for now in seen] == list(range(25, 37))
    assert seen[-1].share == 1
    assert sum(seen[-1].outcomes.values()) == 36


def test_copies_are_left_out(tmp_path: Path) -> None:
    """A copied instance would be a unit of its own, and always agree with the other."""
    tools.scenario(tmp_path, instances=5)
    (tmp_path / "instances" / "i 4.txt").write_text("0\n")
    scenario = Scenario.read(tmp_path / "scenario.toml")
    size: dict[str, Any] = {"configurations": 2, "runs": 1, "pool": tools.Pool()}
    assert gather(scenario, tmp_path / "g.db", **size).instances == 4
    assert gather(scenario, tmp_path / "g.db", **size).runs == 8
    with pytest.raises(InputError, match="1 with the content of another"):
        gather(scenario, tmp_path / "h.db", instances=5, **size)
