"""What a search runs next: the schedule of heats, stages, duels and the final.

How a search goes:

1. The budget is spent in about eight *heats*. Each opens with the *incumbent* (the best so far, and
   the heat's *defender*), five dropped configurations that look promising (second chances: often a
   single run spoke against them), and new *proposals* (`model`), made when their first run starts.
2. All run the same cells in the same order, the incumbent's runs first. The first stage is one run
   each; then `race.next_stage` drops the worst and brings the *contenders* to 25 % more runs.
3. When the race is over, its *leader* is the *challenger* of the defender: in a *duel* the one with
   fewer runs catches up, until the winner becomes the incumbent.
4. Where workers would wait, the next heat opens early. Winners of heats that ran at once meet in a
   duel of their own.
5. With many workers, or when no proposals are left, a *final* of 16 is halved by plain means.

`Schedule` decides without doing anything: `next` says which run to start, `take` takes in its cost.
A run that another heat has under way is not started twice: both heats wait for it. Whoever exceeds
a cap is out, in all heats.

What is decided is recorded as events; from these and the runs, `restore` rebuilds the state:

* "heat": number, kind, grant, defender, members, new (proposals), order, made (runs before it);
* "proposal": heat, name, origin;
* "stage": heat, contenders, stop, keep, later, challenger, started;
* "over": heat, reason; "incumbent": name, runs.

Configurations are given by their places, the order of proposals, except where it says name. Random
generators are seeded by (seed, number of events): a resumed search draws nothing twice, and need
not go the way it would have gone.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from truecost.campaigns.comparison import LEAST_RUNS
from truecost.campaigns.grid import Cell, Grid, Place
from truecost.campaigns.heat import Heat, HeatKind, Stage, Start
from truecost.campaigns.model import Proposal, Proposer, promising
from truecost.campaigns.race import SMALL_BUDGET, affordable, duel, next_stage, size_of_heat
from truecost.campaigns.tried import Tried
from truecost.matrix.log import Step
from truecost.space.space import Configuration, Space

# Workers per heat: one heat more may be open for as many.
WORKERS_PER_HEAT = 4
# How many dropped configurations get a second chance in a heat.
SECOND_CHANCES = 5
# The final: from how many workers, for how many, and its runs as a share of those before it.
FINAL_WORKERS, FINALISTS, FINAL_SHARE = 9, 16, 0.15
# Another final, after a larger budget, when there are this many times the runs.
FINAL_AGAIN = 2.0
# The kinds of events.
KINDS = ("heat", "proposal", "stage", "over", "incumbent")


class Run(NamedTuple):
    """A run to start: stop it when it costs more than the cap."""

    place: Place
    cell: Cell
    cap: float = math.inf


class Schedule:
    """The decisions of a search.

    Parameters
    ----------
    space, grid
        What is searched, and the runs on training instances.
    seed
        Of proposals and orders.
    workers
        How many runs are made at a time.
    low
        The lowest possible cost; -inf if there is none.
    capping
        Whether a run can be stopped when it has cost too much, and no cost is below 0.
    starts
        Configurations to try first, after the default.
    record
        Takes every event, its kind and data.
    final
        Whether runs are kept for a final; by default from `FINAL_WORKERS` workers on.

    Attributes
    ----------
    tried
        Configurations and their runs; `tried.incumbent` is the place of the best so far.
    reason
        Why the last heat ended.
    steps
        The incumbent so far, after how many runs.
    """

    def __init__(
        self,
        space: Space,
        grid: Grid,
        *,
        seed: int,
        workers: int = 1,
        low: float = 0.0,
        capping: bool = False,
        starts: Sequence[Configuration] = (),
        record: Callable[[str, dict[str, Any]], Any] = lambda _kind, _data: None,
        final: bool | None = None,
    ) -> None:
        self._space, self._grid, self._seed = space, grid, seed
        self._workers, self._low, self._capping, self._record = workers, low, capping, record
        self.tried = Tried()
        self.reason = ""
        self.steps: list[Step] = []
        # What is proposed before anything is known, each of them once.
        first = [space.default(), *(Configuration.of(start.values) for start in starts)]
        self._starts = {configuration.name: configuration for configuration in first}
        self._proposer = Proposer(space, seed)
        self._size, self._exhausted = space.size(), False
        self._heats: list[Heat] = []
        self._opened = self._events = 0
        # Whether a heat has had a winner; before, there is no incumbent to defend its place.
        self._has_incumbent = False
        self._wants_final = workers >= FINAL_WORKERS if final is None else final
        # The runs made when the last final began.
        self._final_at = 0
        # Runs under way, and the heats that wait for each; the first of them set its cap.
        self._flying: dict[tuple[Place, Cell], list[Heat]] = {}
        # The runs that the budget leaves, those under way taken off.
        self._left = 0.0

    @property
    def incumbent(self) -> Configuration:
        """The best configuration so far."""
        if not self.tried.configurations:
            return self._space.default()
        return self.tried.configurations[self.tried.incumbent]

    def next(self, left: float) -> Run | None:
        """The next run to start; None while others must finish first, or when the search is over.

        Parameters
        ----------
        left
            How many runs the budget leaves, those under way included.
        """
        self._left = left - len(self._flying)
        while self._left >= 1:
            for heat in self._heats:
                if (run := self._next_of(heat)) is not None:
                    self._flying[run.place, run.cell] = [heat]
                    heat.running += 1
                    return run
            idle = next((heat for heat in self._heats if heat.is_idle), None)
            if idle is not None:
                self._advance(idle)
            elif not self._open():
                break
        if not self._flying:
            self._close()
        return None

    def take(self, run: Run, cost: float, *, censored: bool = False) -> None:
        """Take in the cost of a run; `censored`: it was stopped at its cap."""
        self._add_run(run.place, run.cell, cost, censored=censored)
        heats = self._flying.pop((run.place, run.cell))
        for heat in heats:
            heat.running -= 1
            heat.later_running.discard(run.place)
        if cost > run.cap:
            # A timeout may cost more than a cap that did not stop it. The cap was the first heat's.
            heats[0].drop(run.place)

    def _add_run(self, place: Place, cell: Cell, cost: float, *, censored: bool) -> None:
        """Add a run to what is known; a configuration whose cost is not known is out."""
        tried = self.tried
        unknown = censored or math.isnan(cost)
        if not math.isnan(cost):
            tried.add_run(place, cell, cost, censored=censored)
        tried.out[place] |= unknown
        for heat in self._heats:
            if unknown:
                heat.drop(place)
            if place in heat.costs:
                heat.take_costs(place, tried.costs[place])

    def _next_of(self, heat: Heat) -> Run | None:
        """The next run of a heat's stage: first without caps, then of proposals, last of `later`.

        Caps follow from the costs of those who run without one, so these must have finished.
        """
        while heat.queue:
            start = heat.queue.popleft()
            if (run := self._startable(heat, start)) is not None:
                return run
        if heat.new:
            if heat.uncapped <= 0 and heat.running > len(heat.later_running):
                return None
            return self._propose(heat)
        if heat.running > len(heat.later_running):
            return None
        stop, limit = heat.stage.stop if heat.stage else 0, heat.limit()
        for place in [place for place in heat.later if place not in heat.later_running]:
            allowed = limit - heat.total(place)
            if heat.count(place) >= stop:
                heat.later.remove(place)
            elif allowed <= 0:  # a run costs more than nothing
                heat.drop(place)
            else:
                heat.later_running.add(place)
                run = self._startable(heat, Start(place, heat.count(place), allowed))
                if run is not None:
                    return run
        return None

    def _startable(self, heat: Heat, start: Start) -> Run | None:
        """A run, unless it is known, under way in another heat, or of no use."""
        place, cell = start.place, heat.order[start.position]
        if cell in self.tried.costs[place] or self.tried.out[place]:
            return None
        if (waiting := self._flying.get((place, cell))) is not None:
            waiting.append(heat)
            heat.running += 1
            return None
        return Run(place, cell, start.cap)

    def _propose(self, heat: Heat) -> Run | None:
        """The first run of a new configuration."""
        tried = self.tried
        configuration = next(
            (c for name, c in self._starts.items() if name not in tried.names), None
        )
        if configuration is not None:
            point = self._space.points.encode([configuration.values])[0]
            origin = "start" if tried.configurations else "default"
            proposal: Proposal | None = Proposal(configuration, origin, point)
        else:
            spent = tried.made / max(tried.made + len(self._flying) + self._left, 1.0)
            proposal = self._proposer.propose(
                tried, events=self._events, spent=spent, default_leads=tried.incumbent == 0
            )
        if proposal is None:
            self._exhausted, heat.new = True, 0
            return None
        name = proposal.configuration.name
        self._event("proposal", heat=heat.number, name=name, origin=proposal.origin)
        place = tried.enter(*proposal)
        cap = math.inf if heat.uncapped > 0 else heat.limit()
        heat.enter(place)
        heat.new -= 1
        heat.uncapped -= 1
        return Run(place, heat.order[0], cap)

    def _advance(self, heat: Heat) -> None:
        """Begin the next stage of a heat whose last one is done, or end it."""
        heat.end_stage()
        if heat.kind == "final":
            self._advance_final(heat)
            return
        at_least = -(-self._workers // WORKERS_PER_HEAT)
        left = self._left_for(heat)
        if heat.challenger is None:
            stage = next_stage(
                heat, left=left, at_least=at_least, capping=self._capping, low=self._low
            )
            if isinstance(stage, Stage):
                self._begin(heat, stage)
                return
            heat.reason, heat.challenger = stage, heat.leader()
        winner = heat.challenger
        if winner is not None and heat.defender is not None and winner != heat.defender:
            # Whoever exceeded a cap in another heat makes no more runs, and cannot catch up.
            if self.tried.out[winner] or self.tried.out[heat.defender]:
                left = 0.0
            outcome = duel(heat, winner, heat.defender, left=left, at_least=at_least)
            if isinstance(outcome, Stage):
                self._begin(heat, outcome)
                return
            winner = outcome
        self._end(heat, winner)

    def _begin(self, heat: Heat, stage: Stage) -> None:
        """Queue the runs of a stage."""
        heat.begin(stage, self.tried.costs)
        self._event("stage", heat=heat.number, **heat.stage_data(stage))

    def _advance_final(self, heat: Heat) -> None:
        """Halve the finalists by their means on common runs, until one is left."""
        if heat.level and heat.contenders:
            heat.halve()
        if len(heat.contenders) > 1:
            rounds = math.ceil(math.log2(len(heat.contenders)))
            stop = heat.affordable_stop(self.tried.costs, self._left // rounds)
            if stop > heat.level:
                self._begin(heat, Stage(tuple(heat.contenders), stop, 0))
                return
        self._end(heat, heat.contenders[0] if heat.contenders else None)

    def _end(self, heat: Heat, winner: Place | None) -> None:
        """Close a heat, and make its winner the incumbent.

        Where another heat has found another incumbent meanwhile, the two have to meet first.
        """
        tried = self.tried
        self._heats.remove(heat)
        self.reason = heat.reason or self.reason
        self._event("over", heat=heat.number, reason=heat.reason)
        if winner is None or (winner == heat.defender and self._has_incumbent):
            return
        unchanged = not self._has_incumbent or tried.incumbent == heat.defender
        if unchanged or heat.kind == "final":
            self._crown(winner)
        elif winner != tried.incumbent and self._left_for(None) > LEAST_RUNS:
            grant = 2.0 * tried.count(tried.incumbent)
            heat = self._open_heat("duel", grant, [winner])
            heat.challenger = winner
            self._advance(heat)

    def _crown(self, winner: Place) -> None:
        """Make a configuration the incumbent."""
        tried = self.tried
        if self._has_incumbent and winner == tried.incumbent:
            return
        tried.incumbent, self._has_incumbent = winner, True
        name = tried.configurations[winner].name
        self.steps.append(Step(tried.made, name))
        self._event("incumbent", name=name, runs=tried.made)

    def _close(self) -> None:
        """The budget is spent: what the open heats know decides."""
        for heat in list(self._heats):
            if heat.is_idle:
                heat.end_stage()
            heat.reason = "the budget is spent"
            winner = heat.leader() if heat.challenger is None else heat.challenger
            if winner is not None and heat.defender is not None and heat.kind != "final":
                outcome = duel(heat, winner, heat.defender, left=0, at_least=1)
                winner = None if isinstance(outcome, Stage) else outcome
            self._end(heat, winner)

    def _open(self) -> bool:
        """Open a heat, if workers would wait without one; whether there is one more."""
        busy = len(self._flying) >= self._workers
        busy |= len(self._heats) > self._workers // WORKERS_PER_HEAT
        if self._heats and busy:
            return False
        left, tried = self._left_for(None), self.tried
        proposals = 0.0 if self._exhausted else self._size - len(tried.configurations)
        runs = tried.count(tried.incumbent) if self._has_incumbent else 0
        grant, new = size_of_heat(
            made=tried.made, left=left, proposals_left=proposals, incumbent_runs=runs
        )
        if new:
            starts = sum(name not in tried.names for name in self._starts)
            self._open_race(grant, int(min(max(new, starts), left)))
            return True
        if self._heats or self._flying:
            return False
        self._exhausted |= proposals < 1
        self.reason = "no proposals are left" if self._exhausted else "too few runs are left"
        return self._open_final()

    def _open_race(self, grant: float, new: int) -> None:
        """Open a heat of new proposals, the incumbent and second chances, with a run each."""
        members = promising(self.tried, self._grid, SECOND_CHANCES) if self._has_incumbent else []
        heat = self._open_heat("race", grant, members, new)
        entered = len(heat.costs) + new
        if self._capping and entered * (len(heat.order) - 1) > grant - new:
            heat.uncapped = affordable(new, new, grant)
        keep = heat.uncapped if heat.uncapped < new else 0
        self._begin(heat, Stage(tuple(heat.costs), 1, keep, new=new))

    def _open_final(self) -> bool:
        """Open the final, if there is to be one; whether there is."""
        enough = self._has_incumbent and self._left >= 2 and self._final_is_due()
        # When nothing is left to propose, what is left of the budget compares the best.
        if not enough or not (self._keeps_for_final() or self._exhausted):
            return False
        finalists = promising(self.tried, self._grid, FINALISTS - 1)
        if not finalists:
            return False
        heat = self._open_heat("final", self._left, finalists)
        heat.reason = self.reason
        self._advance(heat)
        return True

    def _open_heat(
        self, kind: HeatKind, grant: float, members: Sequence[Place], new: int = 0
    ) -> Heat:
        """A heat of the incumbent, these members and new proposals."""
        tried, grid = self.tried, self._grid
        defender = tried.incumbent if self._has_incumbent else None
        shared = None
        if kind == "final":
            shared = np.zeros(grid.instances * grid.runs, dtype=np.int64)
            for member in members:
                shared[list(tried.costs[member])] += 1
        rng = np.random.default_rng([self._seed, self._events])
        known = () if defender is None else tried.costs[defender]
        order = grid.order(rng, known, shared)
        data = self._event(
            "heat",
            number=self._opened,
            kind=kind,
            grant=grant,
            defender=defender,
            members=list(members),
            new=new,
            order=order,
            made=tried.made,
        )
        return self._add_heat(data)

    def _add_heat(self, data: Mapping[str, Any]) -> Heat:
        """The heat of an event."""
        heat = Heat.of(data, self._grid.runs)
        defenders = [] if heat.defender is None else [heat.defender]
        for place in [*defenders, *data["members"]]:
            heat.enter(place)
            heat.take_costs(place, self.tried.costs[place])
        self._heats.append(heat)
        self._opened = heat.number + 1
        if heat.kind == "final":
            self._final_at = data["made"]
        return heat

    def _keeps_for_final(self) -> bool:
        """Whether runs are kept for a final."""
        return self._wants_final and self.tried.made + self._left >= SMALL_BUDGET

    def _final_is_due(self) -> bool:
        """Whether there was no final yet, or, with a larger budget, a search since."""
        return self.tried.made >= FINAL_AGAIN * self._final_at

    def _left_for(self, heat: Heat | None) -> float:
        """The runs that a heat, or a new one, may still start.

        Those that other heats were granted and those kept for the final are taken off.
        """
        left = self._left
        if self._keeps_for_final() and self._final_is_due():
            left -= FINAL_SHARE * self.tried.made
        for other in self._heats:
            left -= other.pending
            if other is not heat:
                left -= max(0.0, other.grant - other.started)
        return left

    def _event(self, kind: str, /, **data: Any) -> dict[str, Any]:
        """Record and count an event."""
        self._events += 1
        self._record(kind, data)
        return data

    def restore(
        self,
        events: Iterable[tuple[str, dict[str, Any]]],
        configurations: Callable[[str], Configuration],
        runs: Iterable[tuple[str, Cell, float, bool]],
    ) -> None:
        """Rebuild the state from events and finished runs; runs that were under way start again.

        `configurations` gives them by name; runs are a configuration's name, the cell, the cost,
        and whether it was censored.
        """
        recorded, tried = list(events), self.tried
        proposals = [data for kind, data in recorded if kind == "proposal"]
        proposed = [configurations(data["name"]) for data in proposals]
        points = self._space.points.encode([configuration.values for configuration in proposed])
        for data, configuration, point in zip(proposals, proposed, points, strict=True):
            tried.enter(configuration, data["origin"], point)
        places = {c.name: Place(place) for place, c in enumerate(tried.configurations)}
        for name, cell, cost, censored in runs:
            if name in places:
                self._add_run(places[name], cell, cost, censored=censored)
        open_heats: dict[int, Heat] = {}
        entered = 0
        for kind, data in recorded:
            self._events += 1
            heat = open_heats.get(data.get("heat", -1))
            if kind == "heat":
                heat = open_heats[data["number"]] = self._add_heat(data)
            elif kind == "incumbent":
                tried.incumbent, self._has_incumbent = places[data["name"]], True
                self.steps.append(Step(data["runs"], data["name"]))
            elif kind == "proposal":
                if heat is not None:
                    heat.enter(Place(entered))
                    heat.new, heat.uncapped = heat.new - 1, heat.uncapped - 1
                entered += 1
            elif kind == "stage" and heat is not None:
                heat.restore_stage(data)
            elif kind == "over" and heat is not None:
                self.reason = data["reason"] or self.reason
                self._heats.remove(open_heats.pop(heat.number))
        for heat in self._heats:
            heat.resume(tried.costs, tried.out)
