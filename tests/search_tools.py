"""A search with computed costs: what it decides, without processes."""

import heapq
import itertools
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from truecost.campaigns.search.grid import Cell, Grid
from truecost.campaigns.search.schedule import Run, Schedule
from truecost.space.space import Configuration, Space

SPACE = Space.parse("a [0,1] [0.9]\nb [1,1000] [500]il\nc {x,y,z} [z]\nd [0,1] [0.1]\n")
Cost = Callable[[Configuration, int, int], float]
Made = tuple[str, Cell, float, bool]


def cost_of(configuration: Configuration, instance: int, number: int) -> float:
    """Best at a = 0.2, c = y; instances differ, and runs are noisy."""
    values = configuration.values
    seed = [zlib.crc32(configuration.name.encode()), instance, number]
    noise = np.random.default_rng(seed).exponential()
    level = 1 + 8 * (float(str(values["a"])) - 0.2) ** 2 + (values["c"] != "y")
    return float(level * (0.5 + instance % 7 / 6) * (0.7 + 0.3 * noise))


class Simulation:
    """A search, the events it records, and the runs it makes on simulated workers."""

    def __init__(
        self,
        space: Space = SPACE,
        *,
        cost: Cost = cost_of,
        instances: int = 20,
        runs: int = 3,
        workers: int = 1,
        events: list[tuple[str, dict[str, Any]]] | None = None,
        made: list[Made] | None = None,
        **options: Any,
    ) -> None:
        self.grid, self.cost, self.workers = Grid(instances, runs), cost, workers
        self.events = [] if events is None else list(events)
        self.made: list[Made] = [] if made is None else list(made)
        self.started: list[Run] = []
        options = {"seed": 1} | options
        self.search = Schedule(
            space,
            self.grid,
            workers=workers,
            record=self._record,
            **options,
        )

    def _record(self, kind: str, data: dict[str, Any]) -> None:
        assert len(self.events) < 10_000, "the search decides for ever"
        self.events.append((kind, data))

    def outcome(self, run: Run) -> tuple[float, bool]:
        """The cost of a run, and whether it was stopped at its cap."""
        configuration = self.search.history.configurations[run.config_id]
        cost = self.cost(configuration, self.grid.instance(run.cell), self.grid.number(run.cell))
        return (run.cap, True) if cost > run.cap else (cost, False)

    def run(self, budget: float, *, stop: float = np.inf) -> "Simulation":
        """Make runs until the search ends, or `stop` of them are made in all."""
        clock, counter = 0.0, itertools.count()
        flying: list[tuple[float, int, Run, float, bool]] = []
        while len(self.made) < stop:
            while len(flying) < self.workers:
                if (run := self.search.next(budget - len(self.made))) is None:
                    break
                self.started.append(run)
                cost, censored = self.outcome(run)
                heapq.heappush(flying, (clock + cost, next(counter), run, cost, censored))
            if not flying:
                break
            clock, _, run, cost, censored = heapq.heappop(flying)
            name = self.search.history.configurations[run.config_id].name
            self.made.append((name, run.cell, cost, censored))
            self.search.take(run, cost, censored=censored)
        return self

    def resumed(self, **options: Any) -> "Simulation":
        """The same search after a kill: from its events and finished runs."""
        same: dict[str, Any] = {"instances": self.grid.instances, "runs": self.grid.runs}
        options = same | {"workers": self.workers, "cost": self.cost} | options
        again = Simulation(self.search._space, events=self.events, made=self.made, **options)
        known = {c.name: c for c in self.search.history.configurations}
        again.search.restore(self.events, known.__getitem__, self.made)
        return again
