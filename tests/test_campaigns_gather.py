"""gather: S* order, resuming, extending, and what a list fixed beforehand means."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import campaign_tools as tools
import numpy as np
import pytest

from truecost.campaigns.campaign import Progress
from truecost.campaigns.gather import gather
from truecost.campaigns.results import Gathered
from truecost.errors import InputError, Refusal
from truecost.journal.journal import Journal
from truecost.judge.assess import assess
from truecost.judge.question import Question
from truecost.matrix.log import Log, Plan
from truecost.running.scenario import Scenario

SIZE: dict[str, Any] = {"configurations": 3, "instances": 4, "runs": 2}


class Gatherings:
    """Gatherings in one folder, of running times on 8 instances."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.scenario = folder, tools.scenario(folder)
        self.pool = tools.Pool()

    def __call__(
        self, journal: str = "g.db", *, pool: tools.Pool | None = None, **options: Any
    ) -> Gathered:
        """Gather; `pool` has the runs that were made."""
        self.pool = pool or tools.Pool()
        path = self.folder / journal
        return gather(self.scenario, path, pool=self.pool, **{**SIZE, **options})

    def log(self, journal: str = "g.db") -> Log:
        """The log of a journal."""
        with Journal.read(self.folder / journal) as opened:
            return opened.log()


@pytest.fixture
def run(tmp_path: Path) -> Gatherings:
    """Gatherings of 24 runs unless another size is asked for."""
    return Gatherings(tmp_path)


def plan_of(log: Log) -> Plan:
    """What was fixed before the first run."""
    assert log.plan is not None
    return log.plan


def test_any_prefix_is_even(run: Gatherings) -> None:
    """A gathering that is stopped early would favour some configurations or instances, or pairs
    share a seed.
    """
    run()
    pool = run.pool
    assert len({task.seed for task in pool.submitted}) == 24
    names = {task.configuration.name for task in pool.submitted}
    for end in range(3, 25, 3):
        first, *others = (
            Counter(
                task.instance.name
                for task in pool.submitted[:end]
                if task.configuration.name == name
            )
            for name in names
        )
        assert all(counts == first for counts in others)
        assert max(first.values()) - min(first.values()) <= 1
    assert pool.most <= 2 * pool.workers


def test_the_journal_is_the_same_for_any_number_of_workers(run: Gatherings) -> None:
    """Results would depend on the machine."""
    for workers in (1, 5):
        run(f"{workers}.db", pool=tools.Pool(workers=workers, at_once=3))
    assert run.log("1.db").runs == run.log("5.db").runs


def test_a_resumed_gathering_makes_what_is_missing(run: Gatherings) -> None:
    """Runs would be made twice, or forgotten, after an interruption."""
    with pytest.raises(KeyboardInterrupt):
        run(pool=tools.Interrupted(10))
    assert run().runs == 24
    assert len(run.pool.made) == 14
    # Options left out on a rerun are the journal's.
    assert run(configurations=None, runs=None).planned == 24
    assert not run.pool.made


@pytest.mark.parametrize("more", [{"configurations": 5}, {"instances": 6}, {"runs": 3}])
def test_a_larger_size_extends(run: Gatherings, more: dict[str, Any]) -> None:
    """More runs would need another journal, or make those there again."""
    run()
    size = {**SIZE, **more}
    planned = size["configurations"] * size["instances"] * size["runs"]
    assert run(**more).runs == planned
    assert len(run.pool.made) == planned - 24


def test_added_instances_come_last(run: Gatherings) -> None:
    """An instance added to the folder would change the recorded order, on which statements rest."""
    run.scenario = tools.scenario(run.folder, instances=5)
    run(instances=None, runs=1)
    before = tuple(instance.name for instance in run.scenario.instances)
    run.scenario = tools.scenario(run.folder, instances=30)
    assert tuple(one.name for one in run.scenario.instances)[:5] != before, "another seed"
    assert run(instances=6, runs=1).runs == 18
    run(instances=None, runs=1)
    plan = plan_of(run.log())
    assert plan.order[:5] == before
    assert (len(plan.order), plan.planned, plan.watched) == (30, 5, False)


def test_the_list_is_fixed_when_the_journal_begins(run: Gatherings) -> None:
    """A configuration added after costs were seen would get the guarantees of a fixed list."""
    run()
    log = run(configurations=6).log
    first, later = plan_of(log).candidates, log.runs.configurations[-1]
    assert (log.listed, len(first), log.adaptive) == (3, 3, False)
    for name, refused in ((later, True), (first[1], False)):
        evidence = assess(log, Question(configuration=name)).evidence
        assert isinstance(evidence, Refusal) == refused


def test_a_small_space_is_gathered_whole(run: Gatherings) -> None:
    """The first command that a user types would be refused, and a smaller design seem overdone."""
    (run.folder / "space.pcs").write_text("x {0,1} [0]\ny {0,1} [0]\n")
    run.scenario = Scenario.read(run.scenario.path)
    assert run(configurations=None, runs=1).configurations == 4
    smaller = run(configurations=None, runs=1, instances=2)
    assert (smaller.runs, smaller.planned) == (8, 8)


def test_given_configurations(run: Gatherings) -> None:
    """A list that somebody chose, perhaps from these runs, would pass for a random one."""
    given = run.scenario.space.configurations(4, seed=9)
    listed = [*given[:3], given[3].values, given[0]]
    result = run(configurations=listed, instances=np.int64(2), runs=np.int64(1))
    assert (result.runs, result.log.adaptive) == (8, None)
    file = run.folder / "list.json"
    file.write_text(json.dumps([dict(one.values) for one in given]))
    assert run(configurations=file, instances=3, runs=1).runs == 12
    with pytest.raises(InputError, match="--configurations"):
        run(configurations=None)


@pytest.mark.parametrize(
    "size",
    [
        {"instances": 9},
        {"instances": 0},
        {"instances": 1.5},
        {"runs": 0},
        {"runs": 1.5},
        {"configurations": 0},
        {"configurations": 1.5},
        {"configurations": []},
        {"configurations": [1]},
        {"configurations": {"x": "1", "y": "1"}},
    ],
)
def test_impossible_sizes_leave_no_journal(run: Gatherings, size: dict[str, Any]) -> None:
    """A refusal would leave an empty journal behind, or begin a design that never ends."""
    with pytest.raises(InputError):
        run(**size)
    assert not list(run.folder.glob("g.db*"))


def test_files_are_taken_for_scenarios(run: Gatherings) -> None:
    """Python users would have to read the scenario themselves, or get a traceback."""
    with pytest.raises(InputError, match="no scenario"):
        gather({"name": "toy"}, pool=tools.Pool())  # type: ignore[arg-type]
    path = str(run.folder / "g.db")
    result = gather(str(run.scenario.path), path, **SIZE, pool=tools.Pool())
    assert json.loads(json.dumps(result.to_dict()))["runs"] == 24
    assert result.assessment.same is not None


def test_size_and_progress_are_reported(run: Gatherings) -> None:
    """Nobody would know what a command costs before it starts, or a resumed gathering would seem to
    begin anew.
    """
    lines, seen = list[str](), list[Progress]()
    run(announce=lines.append)
    for _ in range(2):
        run(runs=3, announce=lines.append, progress=seen.append)
    assert "24 runs" in lines[0]
    assert "36 runs, 24 of them" in lines[1]
    assert ["At most" in line for line in lines] == [True, True, False]
    # The limit that makes it so much, to be lowered.
    assert "if every run takes" in lines[0]
    assert [now.runs for now in seen] == list(range(25, 37))
    assert (seen[-1].share, seen[-1].total, seen[-1].unsolved) == (1, 36, 0)


def test_copies_are_left_out(run: Gatherings) -> None:
    """A copied instance would be a unit of its own, and always agree with the other."""
    (run.folder / "instances" / "i 4.txt").write_text("0\n")
    for _ in range(2):
        assert run(instances=None).instances == 7
    with pytest.raises(InputError, match="1 with the content of another"):
        run("h.db", instances=8)
