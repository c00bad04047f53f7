"""The runs of a race, heat by heat; every heat has an order of runs of its own.

With one order for a whole search, its first run (one instance, one seed) would filter every
proposal of every heat. Here each heat begins with the incumbent's runs, shuffled, so that
comparisons stay paired, and goes on with new ones. Rounds stay even: every prefix of an order is S*
for those compared on it (Theorem 1).

Several heats may be open at once, so that workers that wait for the last run of one heat make runs
of the next. Memory is proportional to the runs made, and a decision looks at one heat only.
"""

import math
from collections.abc import Sequence
from itertools import islice

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.race.policy import RunOrder, Standing

# What orders are drawn from, beside the seed and the number of the heat.
ORDER = 2


def heat_order(instances: int, runs: int, done: IntArray, rng: np.random.Generator) -> IntArray:
    """All runs, as cells `number * instances + instance`: those done in a new order, then the rest.

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


class Heat:
    """An open heat: its order of runs, and the costs of its members on the first of them."""

    def __init__(self, cells: IntArray, instances: int, incumbent: int | None) -> None:
        self.cells, self.incumbent, self.grant = cells, incumbent, 0.0
        # The same as a list, which is read one by one.
        self.in_order: list[int] = cells.tolist()
        self.order = RunOrder(instances=cells % instances, numbers=cells // instances)
        # Configurations in the order of entry, with their costs at positions 0, 1, …
        self.rows: dict[int, list[float]] = {}

    @property
    def members(self) -> list[int]:
        """The configurations, in the order of the rows of `Heats.standing`."""
        return list(self.rows)

    def count(self, place: int) -> int:
        """The number of positions, from the first, at which a member has a cost."""
        return len(self.rows[place])

    def total(self, place: int) -> float:
        """The sum of a member's costs at these positions."""
        return math.fsum(self.rows[place])

    def first_costs(self, places: Sequence[int], stop: int) -> FloatArray:
        """(n, stop): the first costs of members, NaN where there is none."""
        table = np.full((len(places), stop), np.nan)
        for row, place in zip(table, places, strict=True):
            known = self.rows[place][:stop]
            row[: len(known)] = known
        return table


class Heats:
    """The runs of a race. Configurations are numbered in the order in which they enter.

    Parameters
    ----------
    instances, runs
        The number of instances, and the most runs on each.
    seed
        What orders are drawn from.
    low
        The least possible cost; -inf if there is none.
    """

    def __init__(self, instances: int, runs: int, *, seed: int, low: float = 0.0) -> None:
        self._instances, self._runs, self._seed, self._low = instances, runs, seed, low
        # Of each configuration its costs by cell, and their number in an array with room to grow.
        self._costs: list[dict[int, float]] = []
        self._counts = np.zeros(64, dtype=np.int64)
        self._drawn = 0
        self.out: list[bool] = []
        # The runs granted to each heat with proposals.
        self.granted: tuple[float, ...] = ()
        self.made = 0
        # The first heat is open from the start, for policies that know no heats.
        self.open_heats = [self._new(None)]

    def _new(self, incumbent: int | None) -> Heat:
        done = np.empty(0, dtype=np.int64) if incumbent is None else np.sort(self.cells(incumbent))
        rng = np.random.default_rng([self._seed, ORDER, self._drawn])
        self._drawn += 1
        cells = heat_order(self._instances, self._runs, done, rng)
        heat = Heat(cells, self._instances, incumbent)
        if incumbent is not None:
            self.join(heat, incumbent)
        return heat

    def open(self, grant: float, incumbent: int | None, *, closes: Heat | None = None) -> Heat:
        """A new heat with proposals and a grant of runs, in place of one that has ended."""
        self.granted = (*self.granted, grant)
        if not self._costs and closes is not None:
            heat = closes
        else:
            if closes is not None:
                self.close(closes)
            heat = self._new(incumbent)
            self.open_heats.append(heat)
        heat.grant = grant
        return heat

    def play_off(self, grant: float, incumbent: int, challengers: Sequence[int]) -> Heat:
        """A heat between configurations that have runs; those they have in common count."""
        heat = self._new(incumbent)
        heat.grant = grant
        for place in challengers:
            self.join(heat, place)
        self.open_heats.append(heat)
        return heat

    def close(self, heat: Heat) -> None:
        """A heat is over."""
        self.open_heats.remove(heat)

    def enter(self, heat: Heat) -> int:
        """One more configuration, in a heat; its number."""
        place = len(self._costs)
        if place == len(self._counts):
            # Doubling: a search has thousands of configurations, one after the other.
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        self._costs.append({})
        self.out.append(False)
        heat.rows[place] = []
        return place

    def join(self, heat: Heat, place: int) -> None:
        """A configuration takes part in another heat, with the runs that it has."""
        heat.rows[place] = []
        self._extend(heat, place)

    def _extend(self, heat: Heat, place: int) -> None:
        row, known = heat.rows[place], self._costs[place]
        for cell in islice(heat.in_order, len(row), None):
            if cell not in known:
                return
            row.append(known[cell])

    def note(self, place: int, cell: int, cost: float) -> None:
        """The cost of a run of a configuration."""
        self.note_all(place, (cell,), (cost,))

    def note_all(self, place: int, cells: Sequence[int], costs: Sequence[float]) -> None:
        """The costs of several runs of a configuration."""
        self._costs[place].update(zip(cells, costs, strict=True))
        self._counts[place] += len(cells)
        self.made += len(cells)
        for heat in self.open_heats:
            if place in heat.rows:
                self._extend(heat, place)

    def knows(self, place: int, cell: int) -> bool:
        """Whether a configuration has this run."""
        return cell in self._costs[place]

    def run_of(self, cell: int) -> tuple[int, int]:
        """The instance of a cell, and the number of the run on it."""
        number, instance = divmod(cell, self._instances)
        return instance, number

    def count(self, place: int) -> int:
        """How many runs a configuration has."""
        return int(self._counts[place])

    @property
    def counts(self) -> IntArray:
        """How many runs each configuration has."""
        return self._counts[: len(self._costs)]

    def costs(self, place: int) -> FloatArray:
        """The costs of a configuration."""
        return np.array(list(self._costs[place].values()), dtype=np.float64)

    def cells(self, place: int) -> IntArray:
        """The cells of a configuration's runs, in the order of `costs`."""
        return np.array(list(self._costs[place]), dtype=np.int64)

    def order_of(self, place: int | None) -> RunOrder:
        """All runs, those of a configuration first, in the order of `costs`."""
        done = np.empty(0, dtype=np.int64) if place is None else self.cells(place)
        new = np.ones(self._instances * self._runs, dtype=bool)
        new[done] = False
        cells = np.concatenate([done, np.flatnonzero(new)])
        return RunOrder(instances=cells % self._instances, numbers=cells // self._instances)

    def instance_means(self, place: int) -> FloatArray:
        """The mean cost of a configuration on each instance that it ran on."""
        instances = self.cells(place) % self._instances
        numbers = np.bincount(instances)
        sums = np.bincount(instances, weights=self.costs(place))
        return np.asarray(sums[numbers > 0] / numbers[numbers > 0])

    def standing(self, heat: Heat, earlier: int = 0) -> Standing:
        """What a decision about a heat looks at: its members."""
        places = heat.members
        number = len(self.granted) - 1
        return Standing(
            costs=heat.first_costs(places, max(map(heat.count, places), default=0)),
            out=np.array([self.out[place] for place in places], dtype=bool),
            heats=np.array([number - (place == heat.incumbent) for place in places], np.int64),
            granted=(*self.granted[:-1], heat.grant) if self.granted else (),
            incumbent=None if heat.incumbent is None else places.index(heat.incumbent),
            earlier=earlier,
            low=self._low,
            made=self.made,
        )

    def between(self, incumbent: int | None, earlier: int = 0) -> Standing:
        """What the decision to open another heat looks at: the incumbent."""
        rows = 0 if incumbent is None else 1
        costs = np.empty(0) if incumbent is None else self.costs(incumbent)
        return Standing(
            costs=costs.reshape(rows, costs.size),
            out=np.zeros(rows, dtype=bool),
            heats=np.full(rows, -1),
            granted=self.granted,
            incumbent=0 if rows else None,
            earlier=earlier,
            low=self._low,
            made=self.made,
        )

    def apart(self, places: Sequence[int], reference: int) -> FloatArray:
        """How much more each costs than the reference on their common runs; inf without any."""
        known = self._costs[reference]
        gaps = [
            [cost - known[cell] for cell, cost in self._costs[place].items() if cell in known]
            for place in places
        ]
        return np.array([math.fsum(gap) / len(gap) if gap else math.inf for gap in gaps])

    def table(self) -> tuple[IntArray, IntArray, FloatArray]:
        """All runs: configuration, cell and cost of each."""
        places = np.repeat(np.arange(len(self._costs)), self.counts)
        cells = np.fromiter((cell for row in self._costs for cell in row), np.int64, self.made)
        costs = np.fromiter(
            (cost for row in self._costs for cost in row.values()), float, self.made
        )
        return places, cells, costs
