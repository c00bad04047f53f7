"""A heat: configurations that race over one order of runs, stage by stage.

A heat keeps the books and decides nothing: its contenders, their costs along the order, the queued
runs of the stage, and what a run may still cost. `race` decides what the next stage is.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.campaigns.search.comparison import Comparison
from truecost.campaigns.search.grid import Cell, ConfigId


class Stage(NamedTuple):
    """One step of a heat: the contenders are brought to `stop` runs.

    Attributes
    ----------
    contenders
        The configurations that take part, besides `new` proposals, which are still to be made.
    stop
        The number of runs, the first ones of the order, that all contenders have in the end.
    keep
        How many survive at most; 0 if no run is capped.
    deferred
        Contenders that would not survive on their costs so far. They run after the others, with a
        cap, and only while they can still survive.
    """

    contenders: tuple[ConfigId, ...]
    stop: int
    keep: int
    deferred: tuple[ConfigId, ...] = ()
    new: int = 0


class Start(NamedTuple):
    """A run to be started: its position in the heat's order, and the most it may cost."""

    config_id: ConfigId
    position: int
    cap: float = math.inf


@dataclass(slots=True, eq=False, kw_only=True)
class Heat:
    """An open heat.

    Attributes
    ----------
    order, instances
        The cells in the order in which all members run them, and the instance of each.
    final
        Whether the best race for the title, without new proposals.
    defender
        The incumbent when the heat was opened; None in the first heat.
    grant
        How many runs the heat may start.
    costs
        The costs of each member at the first positions of the order, up to its first gap.
    contenders, level
        The members that still race; all have their runs at the first `level` positions.
    stage, queue, deferred
        The stage under way: runs to start, and contenders that run after them with a cap.
    new, uncapped
        How many proposals are still to be made, and how many of them run without a cap.
    running, deferred_running
        How many runs are under way, and which deferred contenders have one.
    started
        How many runs have been started or queued.
    challenger, reason
        When the race is over: its leader, which has to beat the defender, and why it ended.
    """

    number: int
    final: bool = False
    order: list[Cell]
    instances: IntArray
    defender: ConfigId | None
    grant: float
    costs: dict[ConfigId, list[float]] = field(default_factory=dict)
    contenders: list[ConfigId] = field(default_factory=list)
    level: int = 0
    stage: Stage | None = None
    queue: deque[Start] = field(default_factory=deque)
    deferred: list[ConfigId] = field(default_factory=list)
    new: int = 0
    uncapped: int = 0
    running: int = 0
    deferred_running: set[ConfigId] = field(default_factory=set)
    started: int = 0
    challenger: ConfigId | None = None
    reason: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any], runs: int) -> "Heat":
        """Create the heat of an event "heat", on a grid of `runs` runs per instance."""
        return cls(
            number=data["number"],
            final=data["final"],
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
            "deferred": stage.deferred,
            "challenger": self.challenger,
            "started": self.started,
        }

    def restore_stage(self, data: Mapping[str, Any]) -> None:
        """Go to the stage of an event "stage"; the one before it is done."""
        self.level = self.stage.stop if self.stage else 0
        self.challenger, self.started = data["challenger"], data["started"]
        self.stage = Stage(
            tuple(data["contenders"]), data["stop"], data["keep"], tuple(data["deferred"])
        )
        self.contenders = list(self.stage.contenders)
        self.uncapped = min(self.uncapped, self.stage.keep or self.uncapped)

    def enter(self, config_id: ConfigId) -> None:
        """Add a contender."""
        self.costs[config_id] = []
        self.contenders.append(config_id)

    def drop(self, config_id: ConfigId) -> None:
        """Take a contender out of the race."""
        for racing in (self.contenders, self.deferred):
            if config_id in racing:
                racing.remove(config_id)

    def begin(self, stage: Stage, costs: Sequence[Mapping[Cell, float]]) -> None:
        """Queue the runs of a stage; `costs` are those of all configurations, by cell."""
        self.stage, self.contenders = stage, list(stage.contenders)
        self.deferred = list(stage.deferred)
        self.deferred_running.clear()
        missing = {
            contender: [
                Start(contender, position)
                for position in range(self.count(contender), stage.stop)
                if self.order[position] not in costs[contender]
            ]
            for contender in stage.contenders
        }
        self.started += stage.new + sum(map(len, missing.values()))
        for contender, starts in missing.items():
            if contender not in stage.deferred:
                self.queue.extend(starts)

    def end_stage(self) -> None:
        """Go to the level of a stage that is done; drop contenders whose runs could not be made."""
        if self.stage is not None:
            self.level = self.stage.stop
        self.contenders = [one for one in self.contenders if self.count(one) >= self.level]

    def resume(self, costs: Sequence[Mapping[Cell, float]], eliminated: Sequence[bool]) -> None:
        """Queue the missing runs of the stage again, after a restart."""
        for member in self.costs:
            self.take_costs(member, costs[member])
        self.contenders = [one for one in self.contenders if not eliminated[one]]
        if self.stage is not None:
            racing, started = tuple(self.contenders), self.started
            deferred = tuple(one for one in self.stage.deferred if one in racing)
            self.begin(self.stage._replace(contenders=racing, deferred=deferred), costs)
            self.started = started

    def leader(self) -> ConfigId | None:
        """The best contender at the level that all have reached."""
        racing = [one for one in self.contenders if self.count(one) >= self.level]
        if not racing or not self.level:
            return None
        return Comparison(self.table(racing, self.level), self.instances, racing).leader

    def count(self, member: ConfigId) -> int:
        """The number of positions, from the first, at which a member has a cost."""
        return len(self.costs[member])

    def take_costs(self, member: ConfigId, costs: Mapping[Cell, float]) -> None:
        """Extend the costs of a member up to its next gap."""
        row = self.costs[member]
        for cell in islice(self.order, len(row), None):
            if cell not in costs:
                return
            row.append(costs[cell])

    def table(self, members: Sequence[ConfigId], stop: int) -> FloatArray:
        """(n, stop): the costs of members at the first positions."""
        rows = [self.costs[member][:stop] for member in members]
        return np.array(rows).reshape(len(members), stop)

    def total(self, member: ConfigId) -> float:
        """The sum of a member's costs at the positions of this stage."""
        stop = self.stage.stop if self.stage else self.level
        return math.fsum(self.costs[member][:stop])

    def limit(self) -> float:
        """The total that a contender may not exceed if it is to survive this stage."""
        if self.stage is None or not self.stage.keep:
            return math.inf
        stop = self.stage.stop
        done = (contender for contender in self.contenders if self.count(contender) >= stop)
        totals = sorted(map(self.total, done))
        return totals[self.stage.keep - 1] if len(totals) >= self.stage.keep else math.inf

    @property
    def is_idle(self) -> bool:
        """Whether the stage is done."""
        return not (self.queue or self.deferred or self.running or self.new)

    @property
    def pending(self) -> int:
        """About how many runs of the stage have not been started."""
        stop = self.stage.stop if self.stage else 0
        deferred = sum(max(stop - self.count(contender), 0) for contender in self.deferred)
        return len(self.queue) + deferred + self.new
