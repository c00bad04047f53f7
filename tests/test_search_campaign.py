"""A search with a journal and a pool: caps, budgets of time, interruptions."""

from pathlib import Path
from typing import Any

import campaign_tools as tools
import numpy as np
import pytest

from truecost.campaigns.budget import Budget, Purse
from truecost.campaigns.campaign import Campaign
from truecost.campaigns.search.loop import SearchResult, search
from truecost.journal.journal import Journal
from truecost.running.pools import Finished, Task
from truecost.running.scenario import Scenario
from truecost.runs import Outcome, Status


class Interrupted(tools.Pool):
    """A pool that ends the campaign after so many runs."""

    def __init__(self, most: int, **options: Any) -> None:
        super().__init__(**options)
        self.left = most

    def wait(self) -> list[Finished]:
        """Some runs; or what Ctrl-C does."""
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().wait()


def run(
    folder: Path,
    budget: str,
    pool: tools.Pool,
    *,
    instances: int = 8,
    space: str = tools.SPACE,
    **tables: Any,
) -> SearchResult:
    """A search on the first instances of a toy scenario."""
    scenario = tools.scenario(folder, instances=12, **(tools.PAR | tables))
    (folder / "space.pcs").write_text(space)
    scenario = Scenario.read(scenario.path)
    with Campaign(scenario, folder / "s.db", "configure", {}, pool=pool) as campaign:
        training = scenario.instances[:instances]
        campaign.journal.enter([scenario.space.default()], training)
        purse = Purse(budget=Budget.of(budget), tally=campaign.tally, workers=pool.workers)
        return search(campaign, training, purse, seed=1, runs=3)


@pytest.mark.parametrize("workers", [1, 3])
def test_interrupted_searches_lose_and_repeat_nothing(tmp_path: Path, workers: int) -> None:
    """Runs would be made twice after Ctrl-C, or decisions be forgotten."""
    made, done = 0, False
    while not done:
        pool = Interrupted(23, workers=workers)
        try:
            result = run(tmp_path, "150runs", pool)
            done = True
        except KeyboardInterrupt:
            pass
        made += len(pool.made)
    with Journal.read(tmp_path / "s.db") as journal:
        table = journal.table()
        names = [event.data["name"] for event in journal.events("proposal")]
    assert len(table) == made <= 150
    assert made > 130
    cells = set(zip(table.configuration, table.instance, table.number, strict=True))
    assert len(cells) == made
    assert len(set(names)) == len(names) == result.configurations
    assert float(str(result.incumbent.values["x"])) >= 5
    assert [step.configuration for step in result.steps][-1] == result.incumbent.name


def test_caps_reach_the_pool_and_come_back_as_censored(tmp_path: Path) -> None:
    """Runs would not be stopped early, or a censored one count as a cost."""
    pool = tools.Pool(workers=2)
    run(tmp_path, "200runs", pool)
    assert any(task.cap is not None for task in pool.made)
    assert all(task.cap is None or 0 < task.cap < 1.0 for task in pool.made)
    with Journal.read(tmp_path / "s.db") as journal:
        table = journal.table()
    censored = table.status == Status.CENSORED
    assert censored.any()
    # Nobody comes back after a run that was stopped.
    for config_id in np.unique(table.configuration[censored]):
        assert censored[table.configuration == config_id].sum() == 1


def test_qualities_are_never_capped(tmp_path: Path) -> None:
    """A run would be stopped for a quality that has nothing to do with seconds."""
    pool = tools.Pool(workers=2)
    run(tmp_path, "100runs", pool, metric={"kind": "value", "low": 0.0, "high": 10.0})
    assert all(task.cap is None for task in pool.made)


def test_a_budget_of_time_is_the_runs_time(tmp_path: Path) -> None:
    """A budget of time would be overdrawn, or left unspent."""
    result = run(tmp_path, "20s", tools.Pool(workers=2))
    with Journal.read(tmp_path / "s.db") as journal:
        wall = journal.table().wall.sum()
    assert 25 < wall < 42
    assert result.configurations > 20


def test_quick_first_runs_do_not_make_one_heat_of_a_budget_of_time(tmp_path: Path) -> None:
    """A heat would be given more proposals than the whole search has time for, of one run each."""
    made = 0

    def quick_at_first(task: Task) -> Outcome:
        nonlocal made
        made += 1
        return tools.outcome(0.002) if made <= 32 else tools.better_by_x(task)

    run(tmp_path, "20s", tools.Pool(quick_at_first, workers=8), space="x [0,9] [0]\n")
    with Journal.read(tmp_path / "s.db") as journal:
        proposals = [event.data["new"] for event in journal.events("heat")]
        assert max(proposals) < len(journal.table()) / 2


def test_more_instances_and_budget_go_on(tmp_path: Path) -> None:
    """Added instances would be left out, or the search begin anew."""
    first = run(tmp_path, "60runs", tools.Pool())
    second = run(tmp_path, "200runs", tools.Pool(), instances=12)
    assert second.steps[: len(first.steps)] == first.steps
    assert second.configurations > first.configurations
    with Journal.read(tmp_path / "s.db") as journal:
        orders = [event.data["order"] for event in journal.events("heat")]
        assert 150 < len(journal.table()) <= 200
    assert sorted(orders[0]) == list(range(8 * 3))
    assert sorted(orders[-1]) == list(range(12 * 3))
