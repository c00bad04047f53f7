"""The configurations a search has tried, with the costs of their runs."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.campaigns.search.grid import Cell, ConfigId, Grid
from truecost.space.space import Configuration

# How many of the best configurations neighbours are proposed of.
PARENTS = 5


class RunTable(NamedTuple):
    """Runs as columns: the configuration, the cell or instance, and the cost."""

    config_id: IntArray
    column: IntArray
    cost: FloatArray


class History:
    """Configurations in the order of entry; a `ConfigId` is an index into all of these lists.

    Attributes
    ----------
    configurations, origins, points
        The configurations, how they were proposed, and their points in the space.
    costs
        The costs of each configuration by cell, without censored runs.
    eliminated
        Whether a configuration exceeded a cap or had a run without a cost.
    incumbent
        The best so far; the default until something better is known.
    """

    def __init__(self) -> None:
        self.configurations: list[Configuration] = []
        self.origins: list[str] = []
        self.points: list[FloatArray] = []
        self.costs: list[dict[Cell, float]] = []
        self.eliminated: list[bool] = []
        self.incumbent = ConfigId(0)
        self.names: set[str] = set()
        self._runs: list[tuple[ConfigId, Cell, float]] = []
        self._parents: tuple[tuple[int, int], list[ConfigId]] = ((0, -1), [])

    def enter(self, configuration: Configuration, origin: str, point: FloatArray) -> ConfigId:
        """Add a configuration."""
        self.configurations.append(configuration)
        self.names.add(configuration.name)
        self.origins.append(origin)
        self.points.append(point)
        self.costs.append({})
        self.eliminated.append(False)
        return ConfigId(len(self.costs) - 1)

    def add_run(
        self, config_id: ConfigId, cell: Cell, cost: float, *, censored: bool = False
    ) -> None:
        """Add a run. A censored one costs at least as much; only the model learns from it."""
        self._runs.append((config_id, cell, cost))
        if not censored:
            self.costs[config_id][cell] = cost

    @property
    def runs(self) -> int:
        """The number of all runs."""
        return len(self._runs)

    def count(self, config_id: ConfigId) -> int:
        """The number of runs of a configuration."""
        return len(self.costs[config_id])

    def table(self) -> RunTable:
        """All runs, by cell."""
        config_ids, cells, costs = zip(*self._runs, strict=True) if self._runs else ((), (), ())
        return RunTable(np.array(config_ids, int), np.array(cells, int), np.array(costs, float))

    def parents(self) -> list[ConfigId]:
        """The best configurations by their mean difference to the incumbent on common runs.

        Only those with at least half of its runs: on a few easy instances anybody looks good.
        """
        moment = self.runs, int(self.incumbent)
        if self._parents[0] != moment:
            least = max(self.count(self.incumbent) / 2, 1) if self.costs else 1
            enough = [
                ConfigId(config_id)
                for config_id, costs in enumerate(self.costs)
                if len(costs) >= least and not self.eliminated[config_id]
            ]
            best = np.argsort(self._behind_incumbent(enough), kind="stable")[:PARENTS]
            self._parents = moment, [enough[row] for row in best.tolist()]
        return self._parents[1]

    def _behind_incumbent(self, config_ids: Sequence[ConfigId]) -> FloatArray:
        """How much more each costs than the incumbent on common runs; inf without any."""
        if not config_ids:
            return np.empty(0)
        incumbent = self.costs[self.incumbent]
        gaps = [
            [cost - incumbent[cell] for cell, cost in self.costs[one].items() if cell in incumbent]
            for one in config_ids
        ]
        return np.array([math.fsum(gap) / len(gap) if gap else math.inf for gap in gaps])

    def training_cost(self, grid: Grid) -> tuple[float, float]:
        """The mean of the incumbent's instance means, and its standard error over instances."""
        by_instance: dict[int, list[float]] = {}
        for cell, cost in self.costs[self.incumbent].items() if self.costs else ():
            by_instance.setdefault(grid.instance(cell), []).append(cost)
        if not by_instance:
            return math.nan, math.nan
        means = np.array([math.fsum(costs) / len(costs) for costs in by_instance.values()])
        error = float(means.std(ddof=1)) / math.sqrt(means.size) if means.size > 1 else math.nan
        return float(means.mean()), error
