"""Who has run where, heat by heat: every heat has an order of runs of its own.

With one order for a whole search, its first run, one instance with one seed, would filter every
proposal of every heat. Here each heat begins with the runs that the incumbent has, shuffled, so
that comparisons stay paired, and goes on with new ones. Rounds stay even: every prefix of an order
is S* for those who are compared on it (Theorem 1).

What is kept is proportional to the runs made, not to instances × configurations, and a decision
looks at the contenders of one heat only.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truecost.race.policy import RunOrder, Standing

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# What orders are drawn from, beside the seed and the number of the heat.
ORDER = 2


def heat_order(instances: int, runs: int, done: IntArray, rng: np.random.Generator) -> IntArray:
    """All runs, as cells `number * instances + instance`: those done in a new order, then the others.

    `done` must be an even allocation, as every prefix of an order is; then so is every prefix of
    the new one.
    """
    rest = np.setdiff1d(np.arange(instances * runs), done)
    # Of each instance the lowest unused number first, as journals count them.
    rest = rest[np.lexsort((rng.random(rest.size), rest // instances))]
    cells = np.concatenate([rng.permutation(done), rest])
    # The k-th run on an instance belongs to round k, whatever its number.
    by_instance = np.argsort(cells % instances, kind="stable")
    rounds = np.empty(cells.size, dtype=np.int64)
    counts = np.bincount(cells % instances, minlength=instances)
    starts = np.repeat(counts.cumsum() - counts, counts)
    rounds[by_instance] = np.arange(cells.size) - starts
    return cells[np.argsort(rounds, kind="stable")]


class Heats:
    """The runs of a race. Configurations are numbered in the order in which they enter.

    Parameters
    ----------
    instances, runs
        How many instances there are, and the most runs on each.
    seed
        What orders are drawn from.
    low
        The least possible cost; -inf if there is none.
    """

    def __init__(self, instances: int, runs: int, *, seed: int, low: float = 0.0) -> None:
        self._instances, self._runs, self._seed, self._low = instances, runs, seed, low
        # Of each heat the cells in order, as far as anybody ran them once it is over. The first is
        # open from the start, for policies that know no heats.
        self._orders = [self._drawn(np.empty(0, dtype=np.int64), 0)]
        self.order = self._run_order()
        # Of each configuration: its costs, the first ones of the order of its heat.
        self._costs: list[list[float]] = []
        self._heat: list[int] = []
        # How many these are, in an array with room to grow: asked for all of them at once.
        self._counts = np.zeros(64, dtype=np.int64)
        self.out: list[bool] = []
        self.granted: tuple[float, ...] = ()
        self.incumbent: int | None = None
        # The rows of `standing`.
        self.members: list[int] = []
        self.made = 0

    def open(self, grant: float, incumbent: int | None) -> None:
        """A new heat, with an order of its own; the incumbent's costs follow that."""
        self.granted, self.incumbent = (*self.granted, grant), incumbent
        if not self._costs:
            return
        longest = max((self.count(place) for place in self.members), default=0)
        done = np.empty(0, dtype=np.int64) if incumbent is None else self.cells(incumbent)
        self._orders[-1] = self._orders[-1][:longest].copy()
        self._orders.append(self._drawn(done, len(self._orders)))
        self.order = self._run_order()
        self.members = []
        if incumbent is not None:
            cost_of = dict(zip(done.tolist(), self._costs[incumbent], strict=True))
            first = self._orders[-1][: done.size].tolist()
            self._costs[incumbent] = [cost_of[cell] for cell in first]
            self._heat[incumbent] = len(self._orders) - 1
            self.members = [incumbent]

    def _drawn(self, done: IntArray, heat: int) -> IntArray:
        rng = np.random.default_rng([self._seed, ORDER, heat])
        return heat_order(self._instances, self._runs, done, rng)

    def _run_order(self) -> RunOrder:
        cells = self._orders[-1]
        return RunOrder(instances=cells % self._instances, numbers=cells // self._instances)

    def adopt(
        self, order: IntArray, costs: Sequence[Sequence[float]], out: Sequence[bool], leader: int
    ) -> None:
        """Take over a race on one order of cells, in which every configuration has these costs."""
        self._orders = [order]
        self._costs, self._heat = [list(row) for row in costs], [0] * len(costs)
        self.out, self.members, self.incumbent = list(out), [leader], leader
        self._counts = np.array([*map(len, costs), *[0] * 64], dtype=np.int64)
        self.made = sum(map(len, costs))
        self.granted = (float(self.made),)

    def enter(self) -> int:
        """One more configuration, in the heat that is open; its number."""
        place = len(self._costs)
        if place == len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        self._costs.append([])
        self._heat.append(len(self._orders) - 1)
        self.out.append(False)
        self.members.append(place)
        return place

    def note(self, place: int, cost: float) -> None:
        """The cost of a configuration's next run."""
        self._costs[place].append(cost)
        self._counts[place] += 1
        self.made += 1

    def cell_at(self, position: int) -> int:
        """The cell at a position of the open heat."""
        return int(self._orders[-1][position])

    def run_at(self, position: int) -> tuple[int, int]:
        """The instance at a position of the open heat, and the number of the run on it."""
        number, instance = divmod(self.cell_at(position), self._instances)
        return instance, number

    def count(self, place: int) -> int:
        """How many runs a configuration has."""
        return len(self._costs[place])

    @property
    def counts(self) -> IntArray:
        """How many runs each configuration has."""
        return self._counts[: len(self._costs)]

    def total(self, place: int) -> float:
        """The sum of a configuration's costs."""
        return math.fsum(self._costs[place])

    def costs(self, place: int) -> FloatArray:
        """The costs of a configuration, in the order of its heat."""
        return np.array(self._costs[place], dtype=np.float64)

    def cells(self, place: int) -> IntArray:
        """The cells of a configuration's runs, in the same order."""
        return self._orders[self._heat[place]][: self.count(place)]

    def instance_means(self, place: int) -> FloatArray:
        """The mean cost of a configuration on each instance that it ran on."""
        instances = self.cells(place) % self._instances
        numbers = np.bincount(instances)
        sums = np.bincount(instances, weights=self.costs(place))
        return np.asarray(sums[numbers > 0] / numbers[numbers > 0])

    def first_costs(self, places: Sequence[int], stop: int) -> FloatArray:
        """(n, stop): the first costs of members of the open heat, NaN where there is none."""
        table = np.full((len(places), stop), np.nan)
        for row, place in zip(table, places, strict=True):
            known = self._costs[place][:stop]
            row[: len(known)] = known
        return table

    def standing(self, earlier: int = 0) -> Standing:
        """What the next decision looks at: the members of the open heat."""
        longest = max((self.count(place) for place in self.members), default=0)
        heat = len(self._orders) - 1
        return Standing(
            costs=self.first_costs(self.members, longest),
            out=np.array([self.out[place] for place in self.members], dtype=bool),
            heats=np.array(
                [heat - (place == self.incumbent) for place in self.members], dtype=np.int64
            ),
            granted=self.granted,
            incumbent=None if self.incumbent is None else self.members.index(self.incumbent),
            earlier=earlier,
            low=self._low,
            made=self.made,
        )

    def apart(self, places: Sequence[int], reference: int) -> FloatArray:
        """How much more each costs than the reference on their common runs; inf without any."""
        known = np.full(self._instances * self._runs, np.nan)
        known[self.cells(reference)] = self._costs[reference]
        gaps = [self.costs(place) - known[self.cells(place)] for place in places]
        return np.array(
            [gap[~np.isnan(gap)].mean() if (gap == gap).any() else math.inf for gap in gaps]
        )

    def table(self) -> tuple[IntArray, IntArray, FloatArray]:
        """All runs: configuration, cell and cost of each."""
        counts = [len(costs) for costs in self._costs]
        places = np.repeat(np.arange(len(counts)), counts)
        cells = [self.cells(place) for place in range(len(counts))]
        costs = [cost for row in self._costs for cost in row]
        empty = np.empty(0, dtype=np.int64)
        return places, np.concatenate([empty, *cells]), np.array(costs, dtype=np.float64)
