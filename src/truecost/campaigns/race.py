"""How configurations are compared: heats, looks, who goes on, and who wins.

A heat races new proposals and the incumbent over one order of runs. Every prefix of the order is an
even allocation (Theorem 1: one run on each instance before a second run on any), and everybody runs
the same prefix, so that comparisons are paired. Each heat has an order of its own, so that no
single run filters all proposals; it begins with the runs of the incumbent, which need not be
repeated. Five dropped configurations that look best by all runs so far get a second chance in
every heat: often a single run spoke against them.

The heat goes on in stages of 25 % more runs each. After a stage a contender is dropped

* by evidence: its paired difference to the leader is `EVIDENCE` standard errors above zero;
* for the price: when m configurations entered the heat and the share x of its runs is spent, the
  best m^(1 - x) go on. This is successive halving with many small cuts. Nobody is dropped for the
  price while the runs suffice for all.

Where runs can be stopped early, cuts for the price are anticipated: those who would pass the next
one run first, and the others only as long as they can still pass. That caps a run at what it may
still cost, and costs nobody its place. Evidence caps nothing.

A heat is over when one contender is left, all runs of the order are made, its runs are spent, or
more runs are expected to gain less than `WORTH` of the leader's cost. To become the incumbent, the
leader must beat it on as many runs as the incumbent has, or by evidence. Whoever has fewer runs
catches up first: a few runs always find somebody who looks better.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, NamedTuple, NewType

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr, stdtrit

from truecost.arrays import BoolArray, FloatArray, IntArray

HeatKind = Literal["race", "duel", "final"]
# A configuration's index, in the order of entry; a run's index on the grid of instances × numbers.
Place = NewType("Place", int)
Cell = NewType("Cell", int)

# A budget of fewer runs must first see enough of the space: its heats spend fewer on each proposal.
FEW = 500
# Heats in a budget, and runs per proposal.
HEATS, RUNS_PER_PROPOSAL, RUNS_OF_FEW = 8, 3.0, 2.0
# What is left for a last heat must be at least this share of a usual one.
LEAST_HEAT = 0.25
# Evidence in paired standard errors, and the number of runs from which it counts.
EVIDENCE, FIRST_TEST = 2.5, 5
# More runs are not worth it when they are expected to gain less than this share of the cost.
WORTH = 0.01
# Each stage has this many times the runs of the one before it; a duel goes on faster.
STEP, CATCH_UP = 1.25, 1.5


@dataclass(frozen=True, slots=True)
class Grid:
    """The runs a configuration can make: numbers 0 to `runs` - 1 on each instance.

    More instances may be added without changing the cells of the others.
    """

    instances: int
    runs: int

    def instance(self, cell: Cell) -> int:
        """The index of the instance."""
        return cell // self.runs

    def number(self, cell: Cell) -> int:
        """The number of the run on its instance."""
        return cell % self.runs

    def cell(self, instance: int, number: int) -> Cell:
        """The cell of a run."""
        return Cell(instance * self.runs + number)

    def order(
        self, rng: np.random.Generator, first: Iterable[Cell] = (), shared: IntArray | None = None
    ) -> list[Cell]:
        """All cells in random order, the `first` of them early.

        `first` must be an even allocation, as every prefix of an order is; then every prefix of the
        new order is one, too. `shared` (cells,) counts who has each run: shared ones come first.
        """
        done = rng.permutation(np.array(sorted(first), dtype=np.int64))
        if shared is not None:
            done = done[np.argsort(-shared[done], kind="stable")]
        rest = np.setdiff1d(np.arange(self.instances * self.runs), done)
        # Of each instance the lowest number first, as journals count them.
        rest = rest[np.lexsort((rng.random(rest.size), rest % self.runs))]
        cells = np.concatenate([done, rest])
        # The k-th run on an instance belongs to round k, whatever its number.
        instance = cells // self.runs
        by_instance = np.argsort(instance, kind="stable")
        counts = np.bincount(instance, minlength=self.instances)
        rounds = np.empty(cells.size, dtype=np.int64)
        rounds[by_instance] = np.arange(cells.size) - np.repeat(counts.cumsum() - counts, counts)
        ordered: list[Cell] = cells[np.argsort(rounds, kind="stable")].tolist()
        return ordered


class Stage(NamedTuple):
    """The contenders are brought to `stop` runs.

    At most `keep` of them will go on; `later` are those who would not, on their costs so far. They
    run after the others, and only while they can still pass. `new` proposals enter first.
    """

    contenders: tuple[Place, ...]
    stop: int
    keep: int
    later: tuple[Place, ...] = ()
    new: int = 0


class Start(NamedTuple):
    """A run to be started: at which position of the order, and the most it may cost."""

    place: Place
    position: int
    cap: float = math.inf


@dataclass(slots=True, eq=False, kw_only=True)
class Heat:
    """An open heat.

    Attributes
    ----------
    kind
        "race": of new proposals. "duel": between two incumbents of heats that ran at once.
        "final": of the best, at the end.
    number
        Which heat it is, from 0.
    order
        The cells in the order in which everybody runs them.
    defender
        The incumbent when the heat was opened.
    grant
        How many runs the heat may start.
    costs
        Of each member its costs at the first positions of the order, as far as it has them all.
    contenders, level
        Who is still racing; all have their runs at the first `level` positions.
    stage, queue, later
        What is being run: runs to start, and contenders who run after them.
    new, free
        How many proposals are still to be made, and how many of them run without a cap.
    running, under_way
        How many runs are under way, and which of `later` have one.
    started
        How many runs have been started or queued.
    challenger, reason
        When it is over: its leader, who has to beat the defender, and why it ended.
    """

    kind: HeatKind
    number: int
    order: list[Cell]
    instances: IntArray
    defender: Place | None
    grant: float
    costs: dict[Place, list[float]] = field(default_factory=dict)
    contenders: list[Place] = field(default_factory=list)
    level: int = 0
    stage: Stage | None = None
    queue: deque[Start] = field(default_factory=deque)
    later: list[Place] = field(default_factory=list)
    new: int = 0
    free: int = 0
    running: int = 0
    under_way: set[Place] = field(default_factory=set)
    started: int = 0
    challenger: Place | None = None
    reason: str = ""

    def enter(self, place: Place) -> None:
        """A configuration takes part."""
        self.costs[place] = []
        self.contenders.append(place)

    def drop(self, place: Place) -> None:
        """A configuration is out of the race."""
        for racing in (self.contenders, self.later):
            if place in racing:
                racing.remove(place)

    def begin(self, stage: Stage, known: Sequence[Mapping[Cell, float]]) -> None:
        """Queue the runs of a stage; `known`: the costs of every configuration."""
        self.stage, self.contenders, self.later = stage, list(stage.contenders), list(stage.later)
        self.under_way.clear()
        missing = {
            place: [
                Start(place, position)
                for position in range(self.count(place), stage.stop)
                if self.order[position] not in known[place]
            ]
            for place in stage.contenders
        }
        self.started += stage.new + sum(map(len, missing.values()))
        for place, starts in missing.items():
            if place not in stage.later:
                self.queue.extend(starts)

    def resume(self, known: Sequence[Mapping[Cell, float]], out: Sequence[bool]) -> None:
        """Queue again what has not been run, after a restart."""
        for place in self.costs:
            self.extend(place, known[place])
        self.contenders = [place for place in self.contenders if not out[place]]
        if self.stage is not None:
            racing, started = tuple(self.contenders), self.started
            later = tuple(place for place in self.stage.later if place in racing)
            self.begin(self.stage._replace(contenders=racing, later=later), known)
            self.started = started

    def affordable_stop(self, known: Sequence[Mapping[Cell, float]], runs: float) -> int:
        """Up to which position so many runs bring all contenders."""
        missing = [
            sum(cell not in known[place] for place in self.contenders) for cell in self.order
        ]
        return int(np.searchsorted(np.cumsum(missing), runs, side="right"))

    def halve(self) -> None:
        """Keep the better half of the contenders, by their means at the level.

        Fewer where evidence speaks against some, or more runs are not worth it.
        """
        look = Look(self.table(self.contenders, self.level), self.instances, self.contenders)
        rows = look.undecided()[: -(-len(self.contenders) // 2)]
        if look.gain(rows[1:]) <= WORTH * abs(look.cost):
            rows = rows[:1]
        self.contenders = [self.contenders[row] for row in rows.tolist()]

    def leader(self) -> Place | None:
        """The best at the level that all contenders have reached."""
        racing = [place for place in self.contenders if self.count(place) >= self.level]
        if not racing or not self.level:
            return None
        return Look(self.table(racing, self.level), self.instances, racing).leader

    def count(self, place: Place) -> int:
        """The number of positions, from the first, at which a member has a cost."""
        return len(self.costs[place])

    def extend(self, place: Place, known: Mapping[Cell, float]) -> None:
        """Take in the costs of a member, as far as they have no gap."""
        row = self.costs[place]
        for cell in islice(self.order, len(row), None):
            if cell not in known:
                return
            row.append(known[cell])

    def table(self, places: Sequence[Place], stop: int) -> FloatArray:
        """(n, stop): the costs of these members at the first positions."""
        return np.array([self.costs[place][:stop] for place in places]).reshape(len(places), stop)

    def total(self, place: Place) -> float:
        """The sum of a member's costs at its positions of this stage."""
        stop = self.stage.stop if self.stage else self.level
        return math.fsum(self.costs[place][:stop])

    def limit(self) -> float:
        """What a contender's total may not exceed if it is to pass the cut of this stage."""
        if self.stage is None or not self.stage.keep:
            return math.inf
        stop = self.stage.stop
        done = (place for place in self.contenders if self.count(place) >= stop)
        totals = sorted(map(self.total, done))
        return totals[self.stage.keep - 1] if len(totals) >= self.stage.keep else math.inf

    @property
    def is_idle(self) -> bool:
        """Whether the stage is done."""
        return not (self.queue or self.later or self.running or self.new)

    @property
    def pending(self) -> int:
        """About how many runs of the stage have not been started."""
        stop = self.stage.stop if self.stage else 0
        later = sum(max(stop - self.count(place), 0) for place in self.later)
        return len(self.queue) + later + self.new


class Look:
    """Contenders at one level, where all have the same runs.

    Attributes
    ----------
    ranked
        Rows, the best first; ties go to the one that entered first.
    behind, error
        How far each row is behind the leader, paired by instances, and the standard error; only
        where there is evidence (`tells`).
    """

    def __init__(self, costs: FloatArray, instances: IntArray, places: Sequence[Place]) -> None:
        level = costs.shape[1]
        self.ranked: IntArray = np.lexsort((np.array(places), costs.mean(axis=1)))
        self.leader = places[int(self.ranked[0])]
        self.cost = float(costs[self.ranked[0]].mean())
        means = means_by_instance(costs, instances[:level])
        self.tells = level >= FIRST_TEST and means.shape[1] >= 2
        if self.tells:
            gaps = means - means[self.ranked[0]]
            self.behind = gaps.mean(axis=1)
            self.error = gaps.std(axis=1, ddof=1) / math.sqrt(gaps.shape[1])
            self._quantile = evidence_quantile(gaps.shape[1])

    def undecided(self) -> IntArray:
        """The rows, the best first, that evidence does not speak against."""
        if not self.tells:
            return self.ranked
        keep: BoolArray = self.behind <= self._quantile * self.error
        return np.asarray(self.ranked[keep[self.ranked]])

    def gain(self, rows: IntArray) -> float:
        """What is expected to be gained by knowing all about these rows; inf without evidence."""
        if not self.tells:
            return math.inf
        return float(expected_gain(self.behind[rows], self.error[rows]).sum())


def next_stage(
    heat: Heat, *, left: float, at_least: int, capping: bool, low: float = 0.0
) -> Stage | str:
    """The next stage of a heat whose last one is done, or why the heat is over.

    Parameters
    ----------
    left
        The runs that the budget leaves to the heat.
    at_least
        The smallest number of runs in a stage, to keep workers busy.
    capping
        Whether a run can be stopped when it has cost too much.
    low
        The lowest possible cost.
    """
    places, last = heat.contenders, len(heat.order)
    if not places:
        return "nobody is left"
    look = Look(heat.table(places, heat.level), heat.instances, places)
    defender = heat.defender if heat.defender in heat.costs else None
    # Runs kept for a challenger to catch up with the incumbent.
    kept = 0 if defender is None else max(heat.count(defender) - heat.level, 0)
    left = max(min(heat.grant - heat.started, left - kept), 0.0)
    entered = len(heat.costs) - (defender is not None)
    alive = look.undecided()
    if alive.size * (last - heat.level) > left:
        alive = alive[: affordable(entered, heat.started, heat.grant)]
    if alive.size < 2:
        return "one is left"
    if heat.level >= last:
        return "all runs are made"
    if look.gain(alive[1:]) <= WORTH * abs(look.cost - (low if math.isfinite(low) else 0.0)):
        return "more runs are not worth it"
    while alive.size >= 2:
        step = max(math.ceil(STEP * heat.level), heat.level + math.ceil(at_least / alive.size))
        stop = min(last, max(heat.level + 1, step))
        some = [places[row] for row in alive.tolist()]
        runs = sum(max(stop - heat.count(place), 0) for place in some)
        if runs <= left:
            keep = 0
            if capping and alive.size * (last - stop) > left - runs:
                keep = min(alive.size, affordable(entered, heat.started + runs, heat.grant))
            first = {*some[: keep or None], defender}
            later = tuple(place for place in some if place not in first)
            return Stage(tuple(some), stop, keep if later else 0, later)
        # Not all can be afforded: the best of them.
        alive = alive[:-1]
    return "its runs are spent"


def duel(
    heat: Heat, challenger: Place, defender: Place, *, left: float, at_least: int
) -> Stage | Place:
    """Who wins, challenger or incumbent; or a stage in which the one with fewer runs catches up.

    The challenger wins on as many runs as the incumbent has, or by evidence before.
    """
    both, most = sorted((heat.count(challenger), heat.count(defender)))
    gaps = np.zeros(0)
    if both:
        means = means_by_instance(heat.table([challenger, defender], both), heat.instances[:both])
        gaps = means[1] - means[0]
        if both >= FIRST_TEST and gaps.size >= 2:
            error = gaps.std(ddof=1) / math.sqrt(gaps.size)
            if gaps.mean() > evidence_quantile(gaps.size) * error:
                return challenger
    ahead = gaps.size > 0 and gaps.mean() > 0
    if both == most or (both >= FIRST_TEST and not ahead):
        return challenger if ahead else defender
    stop = min(most, max(FIRST_TEST, math.ceil(CATCH_UP * both), both + at_least))
    stop = int(min(stop, both + max(left, 0)))
    if stop <= both:
        return challenger if ahead and heat.count(challenger) > both else defender
    fewer = challenger if heat.count(challenger) == both else defender
    return Stage((fewer,), stop, 0)


def size_of_heat(
    *, made: int, left: float, proposals_left: float, incumbent_runs: int
) -> tuple[float, int]:
    """The grant of the next heat and its number of new proposals, 0 where it is not worth one.

    Parameters
    ----------
    made, left
        Runs made so far, and those the budget leaves.
    proposals_left
        How many more configurations there are.
    incumbent_runs
        The runs of the incumbent, with which a challenger would have to catch up.
    """
    per_proposal = RUNS_OF_FEW if made + left < FEW else RUNS_PER_PROPOSAL
    if proposals_left < 1 or left < (per_proposal if made else 1):
        return 0.0, 0
    # In a small space there is enough for everybody in one heat; a fifth less will do, too.
    if proposals_left * per_proposal * 0.8 <= left:
        return left, int(proposals_left)
    grant = left / max(round(HEATS * left / (made + left)), 1)
    if made and grant < LEAST_HEAT * (made + left) / HEATS:
        return 0.0, 0
    number = max(max(grant - incumbent_runs, grant / 2) // per_proposal, 2.0)
    return grant, int(min(proposals_left, number, left))


def affordable(entered: int, spent: int, granted: float) -> int:
    """m^(1 - x): how many of m who entered go on when the share x of the runs is spent."""
    allowed: float = max(entered, 2) ** (1 - min(spent / max(granted, 1e-9), 1.0))
    # Rounding must not keep one more than a whole number says.
    return max(1, math.ceil(allowed - 1e-9))


def evidence_quantile(instances: int) -> float:
    """EVIDENCE, a normal quantile, as Student's."""
    return float(stdtrit(instances - 1, ndtr(EVIDENCE)))


def means_by_instance(costs: FloatArray, instances: IntArray) -> FloatArray:
    """(C, n) costs of runs on these instances -> (C, K) means over the runs on each instance."""
    counts = np.bincount(instances)
    if counts.max(initial=0) <= 1:
        return costs
    # Sparse: dense weights are most of what a decision costs when there are many instances.
    order = instances.argsort(kind="stable")
    met = counts[counts > 0]
    ends = np.concatenate([[0], met.cumsum()])
    weights = csr_array((np.repeat(1.0 / met, met), order, ends), shape=(met.size, instances.size))
    return np.asarray((weights @ costs.T).T)


def expected_gain(behind: FloatArray, error: FloatArray) -> FloatArray:
    """E max(0, -X) of normal X: what would be gained if all about those behind were known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, -behind / error, np.where(behind < 0, np.inf, -np.inf))
        gain = error * (z * ndtr(z) + np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
    return np.where(error > 0, gain, np.maximum(-behind, 0.0))
