"""A heat: configurations that race over one order of runs, stage by stage.

A heat keeps the books and decides nothing: who takes part, their costs along the order, which runs
of the stage are queued, and what a run may still cost. `race` decides what the next stage is.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.campaigns.comparison import Comparison
from truecost.campaigns.grid import Cell, Place

HeatKind = Literal["race", "duel", "final"]


class Stage(NamedTuple):
    """One step of a heat: the contenders are brought to `stop` runs.

    Attributes
    ----------
    contenders
        Who takes part, besides `new` proposals, which are still to be made.
    stop
        The number of runs, the first ones of the order, that everybody has in the end.
    keep
        How many will go on at most; 0 where nobody is capped.
    later
        Contenders who would not be kept on their costs so far. They run after the others, with a
        cap, and only while they can still pass.
    """

    contenders: tuple[Place, ...]
    stop: int
    keep: int
    later: tuple[Place, ...] = ()
    new: int = 0


class Start(NamedTuple):
    """A run to be started: at which position of the heat's order, and the most it may cost."""

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
    instances
        (cells,): the instance of each cell of the order.
    defender
        The incumbent when the heat was opened; None in the first heat.
    grant
        How many runs the heat may start.
    costs
        Of each member its costs at the first positions of the order, as far as it has them all.
    contenders, level
        Who is still racing; all have their runs at the first `level` positions.
    stage, queue, later
        What is being run: runs to start, and contenders who run after them, with a cap.
    new, uncapped
        How many proposals are still to be made, and how many of them run without a cap.
    running, later_running
        How many runs are under way, and which of `later` have one.
    started
        How many runs have been started or queued.
    challenger, reason
        When the race is over: its leader, who has to beat the defender, and why it ended.
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
    uncapped: int = 0
    running: int = 0
    later_running: set[Place] = field(default_factory=set)
    started: int = 0
    challenger: Place | None = None
    reason: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any], runs: int) -> "Heat":
        """The heat of an event "heat", on a grid of so many runs an instance."""
        return cls(
            kind=data["kind"],
            number=data["number"],
            order=data["order"],
            instances=np.array(data["order"], dtype=np.int64) // runs,
            defender=data["defender"],
            grant=data["grant"],
            new=data["new"],
            uncapped=data["new"],
        )

    def stage_data(self, stage: Stage) -> dict[str, Any]:
        """The event "stage" of a stage that begins."""
        return {
            "contenders": stage.contenders,
            "stop": stage.stop,
            "keep": stage.keep,
            "later": stage.later,
            "challenger": self.challenger,
            "started": self.started,
        }

    def restore_stage(self, data: Mapping[str, Any]) -> None:
        """Go to the stage of an event "stage"; the one before it is done."""
        self.level = self.stage.stop if self.stage else 0
        self.challenger, self.started = data["challenger"], data["started"]
        self.stage = Stage(
            tuple(data["contenders"]), data["stop"], data["keep"], tuple(data["later"])
        )
        self.contenders = list(self.stage.contenders)
        self.uncapped = min(self.uncapped, self.stage.keep or self.uncapped)

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
        self.later_running.clear()
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

    def end_stage(self) -> None:
        """Go to the level of a stage that is done; who could not make its runs is dropped."""
        if self.stage is not None:
            self.level = self.stage.stop
        self.contenders = [place for place in self.contenders if self.count(place) >= self.level]

    def resume(self, known: Sequence[Mapping[Cell, float]], out: Sequence[bool]) -> None:
        """Queue again what has not been run, after a restart."""
        for place in self.costs:
            self.take_costs(place, known[place])
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
        """Keep the better half of the contenders, by their means at the level."""
        costs = self.table(self.contenders, self.level)
        rows = Comparison(costs, self.instances, self.contenders).better_half()
        self.contenders = [self.contenders[row] for row in rows.tolist()]

    def leader(self) -> Place | None:
        """The best at the level that all contenders have reached."""
        racing = [place for place in self.contenders if self.count(place) >= self.level]
        if not racing or not self.level:
            return None
        return Comparison(self.table(racing, self.level), self.instances, racing).leader

    def count(self, place: Place) -> int:
        """The number of positions, from the first, at which a member has a cost."""
        return len(self.costs[place])

    def take_costs(self, place: Place, known: Mapping[Cell, float]) -> None:
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
