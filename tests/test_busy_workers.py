"""Searches with many workers: decisions when runs finish, resumed on the same path."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from scipy import stats

from bench.configurators import scenario_of
from bench.simulated import Target, nested_space
from bench.workers import ClockedPool
from truecost.campaigns.configure import Configured, configure
from truecost.campaigns.search import FINALISTS
from truecost.running.pools.task import Finished, Task
from truecost.space.space import Space


def target(seed: int) -> Target:
    """Costs that depend on three parameters and the instance."""
    rng = np.random.default_rng(seed)
    difficulty, wishes = rng.standard_normal(4100), rng.random(3)

    def surface(point: Any) -> Any:
        level = float(((point.scaled[1:4] - wishes) ** 2).sum())
        return -0.8 + level + 0.3 * difficulty

    return Target("three", SPACE, surface, 0.2, "three parameters matter")


SPACE: Space = nested_space()


class Interrupted(ClockedPool):
    """Workers that are stopped after so many runs."""

    left = 10**9

    def wait(self) -> list[Finished]:
        """The run that ends next."""
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return super().wait()


def pool_of(
    workers: int, seed: int, costs: Target, kind: type[Interrupted] = Interrupted
) -> Interrupted:
    """Workers that compute the costs of a target."""

    def cost(task: Task) -> float:
        return costs.cost(task.configuration, int(task.instance.argument), task.seed)

    return kind(workers, cost, np.random.default_rng([seed, 9]))


def search(
    folder: Path,
    workers: int,
    seed: int,
    *,
    budget: int = 200,
    stop: int = 10**9,
    kind: type[Interrupted] = Interrupted,
) -> tuple[Configured, Interrupted]:
    """A search with these workers, stopped after so many runs."""
    costs = target(seed)
    pool = pool_of(workers, seed, costs, kind)
    pool.left = stop
    found = configure(
        scenario_of(costs, seed, folder), folder / "s.db", budget=f"{budget}runs", pool=pool
    )
    return found, pool


def steps(journal: Path) -> list[Any]:
    """Every decision of a search, and the order in which its runs were used."""
    with closing(sqlite3.connect(journal)) as connection:
        return [
            connection.execute(query).fetchall()
            for query in (
                "SELECT number, runs, incumbent, reason FROM steps ORDER BY number",
                "SELECT number, configuration, origin FROM proposals ORDER BY number",
                "SELECT id, configuration, instance, number FROM runs ORDER BY id",
            )
        ]


def test_workers_are_busy(tmp_path: Path) -> None:
    """Workers would wait for the slowest run of a batch."""
    for workers, least in ((8, 0.55), (32, 0.35)):
        folder = tmp_path / str(workers)
        folder.mkdir()
        assert search(folder, workers, 1, budget=500)[1].utilisation > least


@pytest.mark.parametrize("workers", [2, 8, 32])
def test_a_resumed_search_takes_the_same_path(tmp_path: Path, workers: int) -> None:
    """Interrupted while runs overlap, a search would decide otherwise than its journal says, lose
    runs or make some twice.
    """
    for stop in (7, 20, 41):
        with pytest.raises(KeyboardInterrupt):
            search(tmp_path, workers, 1, stop=stop)
    before = steps(tmp_path / "s.db")
    found, _ = search(tmp_path, workers, 1)
    after = steps(tmp_path / "s.db")
    for old, new in zip(before, after, strict=True):
        assert new[: len(old)] == old
    assert found.runs == len(after[2]) == 200
    # Finished, it makes no run and changes nothing.
    again, pool = search(tmp_path, workers, 1, stop=0)
    assert pool.number == 0
    assert steps(tmp_path / "s.db") == after
    assert again.incumbent == found.incumbent


class Shuffled(Interrupted):
    """Workers of which any may end next, whenever they started: the same one of the same runs."""

    def wait(self) -> list[Finished]:
        """The run that ends next."""
        self._running.sort(key=lambda each: crc32(repr(each[2].task).encode()))
        self._running = [(float(i), i, done) for i, (_, _, done) in enumerate(self._running)]
        return super().wait()


def test_a_resumed_search_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """After an interruption the model of costs would have learnt from other runs and proposed
    other configurations, or, in the final, chosen another winner.
    """
    found = []
    for folder, stops in (
        (tmp_path / "at once", []),
        (tmp_path / "in parts", [60, 25, 80, 60, 70]),
    ):
        folder.mkdir()
        for stop in stops:
            with pytest.raises(KeyboardInterrupt):
                search(folder, 32, 1, budget=400, stop=stop, kind=Shuffled)
        search(folder, 32, 1, budget=400, kind=Shuffled)
        found.append(steps(folder / "s.db"))
    assert found[0] == found[1]


def test_many_workers_propose_when_runs_start(tmp_path: Path) -> None:
    """Configurations would be proposed before a worker is free for them, by a model that knows
    nothing of the runs made meanwhile.
    """
    with pytest.raises(KeyboardInterrupt):
        search(tmp_path, 32, 1, budget=500, stop=20)
    _, proposals, runs = steps(tmp_path / "s.db")
    # Every proposal has a run that was made or is under way: a few more than there are workers.
    assert len(proposals) <= len({configuration for _, configuration, *_ in runs}) + 32 + 32 // 8


def test_many_workers_choose_in_a_final(tmp_path: Path) -> None:
    """The winner of one of the heats that were open at the end would be chosen, on ten runs."""
    found, _ = search(tmp_path, 32, 1, budget=500)
    _, _, runs = steps(tmp_path / "s.db")
    last = [configuration for _, configuration, *_ in runs[: found.runs - found.held_out]][-40:]
    assert len(set(last)) <= FINALISTS
    # They meet on the same runs.
    assert min(Counter(last).values()) >= 40 // FINALISTS - 1


@pytest.mark.parametrize("budget", [150, 151])
def test_a_budget_is_spent(tmp_path: Path, budget: int) -> None:
    """Runs that were paid for would not be made."""
    for workers in (1, 8):
        folder = tmp_path / str(workers)
        folder.mkdir()
        found, pool = search(folder, workers, 3, budget=budget)
        assert found.incumbent != found.default
        assert found.runs == pool.number == budget


def test_certificates_hold_with_many_workers(tmp_path: Path) -> None:
    """Held-out runs would be used in the order in which they finish, or the number of them depend
    on their costs: certificates at 20 % would be wrong more often.
    """
    missed, number = 0, 40
    for seed in range(number):
        folder = tmp_path / str(seed)
        folder.mkdir()
        costs = target(seed)
        found = configure(
            scenario_of(costs, seed, folder),
            folder / "s.db",
            budget="40runs",
            delta=0.2,
            pool=pool_of(32, seed, costs),
        )
        certificate = found.assessment.certificate
        assert certificate is not None
        missed += costs.true_cost(found.incumbent) > certificate.upper
    assert stats.binomtest(missed, number, 0.2, alternative="greater").pvalue > 0.001
