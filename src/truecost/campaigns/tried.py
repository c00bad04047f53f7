"""The configurations a search has tried, with the costs of their runs."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.campaigns.grid import Cell, Grid, Place
from truecost.space.space import Configuration

# How many of the best have neighbours proposed.
PARENTS = 5


class RunTable(NamedTuple):
    """Runs as columns: of which configuration (its place), on which cell or instance, the cost."""

    place: IntArray
    column: IntArray
    cost: FloatArray


class Tried:
    """Configurations in the order of entry; a `Place` is an index into all of these lists.

    Attributes
    ----------
    configurations, origins, points
        What was proposed, how, and as points of the space.
    costs
        Of each configuration its costs by cell.
    out
        Whether a configuration exceeded a cap or had a run that could not be made.
    incumbent
        The best so far; the default until something better is found.
    """

    def __init__(self) -> None:
        self.configurations: list[Configuration] = []
        self.origins: list[str] = []
        self.points: list[FloatArray] = []
        self.costs: list[dict[Cell, float]] = []
        self.out: list[bool] = []
        self.incumbent = Place(0)
        self.names: set[str] = set()
        self._places: list[int] = []
        self._cells: list[int] = []
        self._costs: list[float] = []
        self._parents: tuple[tuple[int, int], list[Place]] = ((0, -1), [])

    def enter(self, configuration: Configuration, origin: str, point: FloatArray) -> Place:
        """One more configuration."""
        self.configurations.append(configuration)
        self.names.add(configuration.name)
        self.origins.append(origin)
        self.points.append(point)
        self.costs.append({})
        self.out.append(False)
        return Place(len(self.costs) - 1)

    def add_run(self, place: Place, cell: Cell, cost: float, *, censored: bool = False) -> None:
        """The cost of a run; a censored one costs at least as much, and is only learnt from."""
        self._places.append(place)
        self._cells.append(cell)
        self._costs.append(cost)
        if not censored:
            self.costs[place][cell] = cost

    @property
    def made(self) -> int:
        """The number of runs."""
        return len(self._costs)

    def count(self, place: Place) -> int:
        """The number of runs of a configuration."""
        return len(self.costs[place])

    def table(self) -> RunTable:
        """All runs, by cell."""
        places, cells = np.array(self._places, np.int64), np.array(self._cells, np.int64)
        return RunTable(places, cells, np.array(self._costs))

    def parents(self) -> list[Place]:
        """The best: by the mean difference to the incumbent on common runs.

        Only with at least half of its runs: who met easy instances is not the best.
        """
        moment = self.made, int(self.incumbent)
        if self._parents[0] != moment:
            least = max(self.count(self.incumbent) / 2, 1) if self.costs else 1
            enough = [
                Place(place)
                for place, costs in enumerate(self.costs)
                if len(costs) >= least and not self.out[place]
            ]
            apart = self._apart(enough)
            ranked = np.argsort(apart, kind="stable")[:PARENTS]
            self._parents = moment, [enough[rank] for rank in ranked.tolist()]
        return self._parents[1]

    def _apart(self, places: Sequence[Place]) -> FloatArray:
        """How much more each costs than the incumbent on common runs; inf where there are none."""
        if not places:
            return np.empty(0)
        known = self.costs[self.incumbent]
        gaps = [
            [cost - known[cell] for cell, cost in self.costs[place].items() if cell in known]
            for place in places
        ]
        return np.array([math.fsum(gap) / len(gap) if gap else math.inf for gap in gaps])

    def training_cost(self, grid: Grid) -> tuple[float, float]:
        """The mean of the incumbent's instance means, and its standard error over instances."""
        costs = self.costs[self.incumbent] if self.costs else {}
        if not costs:
            return math.nan, math.nan
        by_instance: dict[int, list[float]] = {}
        for cell, cost in costs.items():
            by_instance.setdefault(grid.instance(cell), []).append(cost)
        means = np.array([math.fsum(some) / len(some) for some in by_instance.values()])
        error = float(means.std(ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.nan
        return float(means.mean()), error
