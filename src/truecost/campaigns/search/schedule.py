"""What a search runs next: the schedule of heats, stages, duels and the final.

1. The budget is spent in about eight *heats*. A heat opens with the *incumbent* (the best so far,
   its *defender*), five dropped configurations that look promising (second chances: often a single
   run spoke against them), and new *proposals* (`model`), made when their first run starts.
2. All members run the same cells in the same order, the defender's cells first. The first stage is
   one run each; then `race.next_stage` drops the worst and brings the *contenders* to 25 % more
   runs.
3. The leader of a finished race is the *challenger* of the defender: in a *duel* the one with fewer
   runs catches up, until the winner becomes the incumbent.
4. Where workers would wait, the next heat opens early. Winners of heats that ran at once meet in a
   duel of their own.
5. With many workers, or when no proposals are left, a *final* of 16 is halved by plain means.

`Schedule` decides and does nothing else: `next` returns the run to start, `take` takes in its cost.
A run that another heat has under way is not started twice: both heats wait for it. A configuration
that exceeds a cap is eliminated from all heats.

Decisions are recorded as events; `restore` rebuilds the state from these and the runs:

* "heat": number, grant, defender, members, new (proposals), order, final, made (runs before it);
* "proposal": heat, name, origin;
* "stage": heat, contenders, stop, keep, deferred, challenger, started;
* "over": heat, reason; "incumbent": name, runs.

Events identify configurations by `ConfigId`, the order of proposals, except where they say name.
Random generators are seeded by (seed, number of events): a resumed search draws nothing twice, and
need not repeat what it would have done without the interruption.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from truecost.campaigns.search.comparison import LEAST_RUNS
from truecost.campaigns.search.grid import Cell, ConfigId, Grid
from truecost.campaigns.search.heat import Heat, Stage, Start
from truecost.campaigns.search.history import History
from truecost.campaigns.search.model import Proposal, Proposer, promising
from truecost.campaigns.search.race import (
    SMALL_BUDGET,
    affordable,
    duel,
    final_stage,
    next_stage,
    size_of_heat,
)
from truecost.matrix.log import Step
from truecost.space.space import Configuration, Space

# Another heat may be open for each of this many workers, up to a number: heats that run at once
# learn nothing from each other.
WORKERS_PER_HEAT, MORE_HEATS = 4, 4
# The least runs in a stage, unless there are fewer workers: short stages leave workers idle.
STAGE_RUNS = 12
# How many dropped configurations get a second chance in a heat.
SECOND_CHANCES = 5
# The final: from how many workers, of how many contenders, and its share of the runs before it.
FINAL_WORKERS, FINALISTS, FINAL_SHARE = 9, 16, 0.15
# A larger budget ends with another final if it has this many times the runs.
FINAL_AGAIN = 2.0
# The kinds of events.
KINDS = ("heat", "proposal", "stage", "over", "incumbent")


class Run(NamedTuple):
    """A run to start, and to stop when it costs more than the cap."""

    config_id: ConfigId
    cell: Cell
    cap: float = math.inf


class Schedule:
    """The decisions of a search.

    Parameters
    ----------
    space, grid
        The configurations, and the runs on training instances.
    seed
        Seed of proposals and orders.
    workers
        How many runs are made at a time.
    low
        The lowest possible cost; -inf if there is none.
    capping
        Whether a run can be stopped when it has cost too much; then no cost may be negative.
    starts
        Configurations to try first, after the default.
    record
        Called with the kind and the data of every event.

    Attributes
    ----------
    history
        The configurations and their runs.
    reason
        Why the last heat ended.
    steps
        The incumbents so far, and the number of runs before each.
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
    ) -> None:
        self._space, self._grid, self._seed = space, grid, seed
        self._workers, self._low, self._capping, self._record = workers, low, capping, record
        self.history = History()
        self.reason = ""
        self.steps: list[Step] = []
        # Proposed before the model is asked, each of them once.
        first = [space.default(), *(Configuration.of(start.values) for start in starts)]
        self._starts = {configuration.name: configuration for configuration in first}
        self._proposer = Proposer(space, seed)
        self._size, self._exhausted = space.size(), False
        self._heats: list[Heat] = []
        self._opened = self._events = 0
        # Whether a heat has had a winner; before, no incumbent defends its title.
        self._has_incumbent = False
        # The number of runs when the last final began.
        self._final_at = 0
        # Runs under way, and the heats that wait for each; the first of them set its cap.
        self._under_way: dict[tuple[ConfigId, Cell], list[Heat]] = {}
        # The runs that the budget leaves, without those under way.
        self._left = 0.0

    @property
    def incumbent(self) -> Configuration:
        """The best configuration so far."""
        if not self.history.configurations:
            return self._space.default()
        return self.history.configurations[self.history.incumbent]

    def next(self, left: float) -> Run | None:
        """The next run to start; None while others must finish first, or when the search is over.

        `left` is the number of runs that the budget leaves, with those under way.
        """
        self._left = left - len(self._under_way)
        while self._left >= 1:
            for heat in self._heats:
                if (run := self._next_of(heat)) is not None:
                    self._under_way[run.config_id, run.cell] = [heat]
                    heat.running += 1
                    return run
            idle = next((heat for heat in self._heats if heat.is_idle), None)
            if idle is not None:
                self._advance(idle)
            elif not self._open():
                break
        if not self._under_way:
            self._close()
        return None

    def take(self, run: Run, cost: float, *, censored: bool = False) -> None:
        """Take in the cost of a run; a censored one was stopped at its cap."""
        self._add_run(run.config_id, run.cell, cost, censored=censored)
        heats = self._under_way.pop((run.config_id, run.cell))
        for heat in heats:
            heat.running -= 1
            heat.deferred_running.discard(run.config_id)
        if cost > run.cap:
            # A timeout may cost more than a cap that did not stop it: the cap of the first heat.
            heats[0].drop(run.config_id)

    def _add_run(self, config_id: ConfigId, cell: Cell, cost: float, *, censored: bool) -> None:
        """Add a run; a run without a cost eliminates its configuration."""
        history = self.history
        unknown = censored or math.isnan(cost)
        if not math.isnan(cost):
            history.add_run(config_id, cell, cost, censored=censored)
        history.eliminated[config_id] |= unknown
        for heat in self._heats:
            if unknown:
                heat.drop(config_id)
            if config_id in heat.costs:
                heat.take_costs(config_id, history.costs[config_id])

    def _next_of(self, heat: Heat) -> Run | None:
        """The next run of a heat's stage: queued ones, then proposals, then deferred contenders.

        Caps follow from the costs of runs without a cap, so these must have finished.
        """
        while heat.queue:
            start = heat.queue.popleft()
            if (run := self._startable(heat, start)) is not None:
                return run
        if heat.new:
            if heat.uncapped <= 0 and heat.running > len(heat.deferred_running):
                return None
            return self._propose(heat)
        if heat.running > len(heat.deferred_running):
            return None
        stop, limit = heat.stage.stop if heat.stage else 0, heat.limit()
        for contender in [one for one in heat.deferred if one not in heat.deferred_running]:
            allowed = limit - heat.total(contender)
            if heat.count(contender) >= stop:
                heat.deferred.remove(contender)
            elif allowed <= 0:  # a run costs more than nothing
                heat.drop(contender)
            else:
                heat.deferred_running.add(contender)
                run = self._startable(heat, Start(contender, heat.count(contender), allowed))
                if run is not None:
                    return run
        return None

    def _startable(self, heat: Heat, start: Start) -> Run | None:
        """A run, unless it is known, under way in another heat, or of no use."""
        config_id, cell = start.config_id, heat.order[start.position]
        if cell in self.history.costs[config_id] or self.history.eliminated[config_id]:
            return None
        if (waiting := self._under_way.get((config_id, cell))) is not None:
            waiting.append(heat)
            heat.running += 1
            return None
        return Run(config_id, cell, start.cap)

    def _propose(self, heat: Heat) -> Run | None:
        """The first run of a new configuration."""
        history = self.history
        configuration = next(
            (c for name, c in self._starts.items() if name not in history.names), None
        )
        if configuration is not None:
            point = self._space.points.encode([configuration.values])[0]
            origin = "start" if history.configurations else "default"
            proposal: Proposal | None = Proposal(configuration, origin, point)
        else:
            spent = history.runs / max(self._started + self._left, 1.0)
            proposal = self._proposer.propose(
                history, events=self._events, spent=spent, default_leads=history.incumbent == 0
            )
        if proposal is None:
            self._exhausted, heat.new = True, 0
            return None
        name = proposal.configuration.name
        self._event("proposal", heat=heat.number, name=name, origin=proposal.origin)
        config_id = history.enter(*proposal)
        cap = math.inf if heat.uncapped > 0 else heat.limit()
        heat.enter(config_id)
        heat.new -= 1
        heat.uncapped -= 1
        return Run(config_id, heat.order[0], cap)

    def _advance(self, heat: Heat) -> None:
        """Begin the next stage of a heat whose last one is done, or end it."""
        heat.end_stage()
        if heat.final:
            outcome = final_stage(heat, self.history.costs, self._left)
            if isinstance(outcome, Stage):
                self._begin(heat, outcome)
            else:
                self._end(heat, outcome)
            return
        least_runs = min(self._workers, STAGE_RUNS)
        left = self._left_for(heat)
        if heat.challenger is None:
            stage = next_stage(
                heat, left=left, least_runs=least_runs, capping=self._capping, low=self._low
            )
            if isinstance(stage, Stage):
                self._begin(heat, stage)
                return
            heat.reason, heat.challenger = stage, heat.leader()
        winner = heat.challenger
        if winner is not None and heat.defender is not None and winner != heat.defender:
            # An eliminated configuration makes no more runs and cannot catch up.
            if self.history.eliminated[winner] or self.history.eliminated[heat.defender]:
                left = 0.0
            outcome = duel(heat, winner, heat.defender, left=left, least_runs=least_runs)
            if isinstance(outcome, Stage):
                self._begin(heat, outcome)
                return
            winner = outcome
        self._end(heat, winner)

    def _begin(self, heat: Heat, stage: Stage) -> None:
        """Queue the runs of a stage."""
        heat.begin(stage, self.history.costs)
        self._event("stage", heat=heat.number, **heat.stage_data(stage))

    def _end(self, heat: Heat, winner: ConfigId | None) -> None:
        """Close a heat and make its winner the incumbent.

        If another heat has changed the incumbent meanwhile, the two meet in a duel first.
        """
        history = self.history
        self._heats.remove(heat)
        self.reason = heat.reason or self.reason
        self._event("over", heat=heat.number, reason=heat.reason)
        if winner is None or (winner == heat.defender and self._has_incumbent):
            return
        unchanged = not self._has_incumbent or history.incumbent == heat.defender
        if unchanged or heat.final:
            self._promote(winner)
        elif winner != history.incumbent and self._left_for(None) > LEAST_RUNS:
            grant = 2.0 * history.count(history.incumbent)
            heat = self._open_heat(grant, [winner])
            heat.challenger = winner
            self._advance(heat)

    def _promote(self, winner: ConfigId) -> None:
        """Make a configuration the incumbent."""
        history = self.history
        if self._has_incumbent and winner == history.incumbent:
            return
        history.incumbent, self._has_incumbent = winner, True
        name = history.configurations[winner].name
        self.steps.append(Step(history.runs, name))
        self._event("incumbent", name=name, runs=history.runs)

    def _close(self) -> None:
        """Decide the open heats by the runs so far: the budget is spent."""
        for heat in list(self._heats):
            if heat.is_idle:
                heat.end_stage()
            heat.reason = "the budget is spent"
            winner = heat.leader() if heat.challenger is None else heat.challenger
            if winner is not None and heat.defender is not None and not heat.final:
                outcome = duel(heat, winner, heat.defender, left=0, least_runs=1)
                winner = None if isinstance(outcome, Stage) else outcome
            self._end(heat, winner)

    def _open(self) -> bool:
        """Open a heat if workers would wait otherwise; whether one was opened."""
        busy = len(self._under_way) >= self._workers
        busy |= len(self._heats) > min(self._workers // WORKERS_PER_HEAT, MORE_HEATS)
        if self._heats and busy:
            return False
        left, history = self._left_for(None), self.history
        proposals = 0.0 if self._exhausted else self._size - len(history.configurations)
        runs = history.count(history.incumbent) if self._has_incumbent else 0
        grant, new = size_of_heat(
            started=self._started, left=left, proposals_left=proposals, incumbent_runs=runs
        )
        if new:
            starts = sum(name not in history.names for name in self._starts)
            self._open_race(grant, int(min(max(new, starts), left)))
            return True
        if self._heats or self._under_way:
            return False
        self._exhausted |= proposals < 1
        self.reason = "no proposals are left" if self._exhausted else "too few runs are left"
        return self._open_final()

    def _open_race(self, grant: float, new: int) -> None:
        """Open a heat of the incumbent, second chances and new proposals, with a run each."""
        members = promising(self.history, self._grid, SECOND_CHANCES) if self._has_incumbent else []
        heat = self._open_heat(grant, members, new)
        entered = len(heat.costs) + new
        if self._capping and entered * (len(heat.order) - 1) > grant - new:
            heat.uncapped = affordable(new, new, grant)
        keep = heat.uncapped if heat.uncapped < new else 0
        self._begin(heat, Stage(tuple(heat.costs), 1, keep, new=new))

    def _open_final(self) -> bool:
        """Open the final if there is to be one; whether it was opened."""
        enough = self._has_incumbent and self._left >= 2 * LEAST_RUNS and self._final_is_due()
        # When nothing is left to propose, the rest of the budget compares the best.
        if not enough or not (self._keeps_for_final() or self._exhausted):
            return False
        number = min(FINALISTS, int(self._left / LEAST_RUNS))
        finalists = promising(self.history, self._grid, number - 1)
        if not finalists:
            return False
        heat = self._open_heat(self._left, finalists, final=True)
        heat.reason = self.reason
        self._advance(heat)
        return True

    def _open_heat(
        self, grant: float, members: Sequence[ConfigId], new: int = 0, *, final: bool = False
    ) -> Heat:
        """Open a heat of the incumbent, these members and new proposals."""
        history, grid = self.history, self._grid
        defender = history.incumbent if self._has_incumbent else None
        rng = np.random.default_rng([self._seed, self._events])
        known = () if defender is None else history.costs[defender]
        order = grid.order(rng, known)
        data = self._event(
            "heat",
            number=self._opened,
            final=final,
            grant=grant,
            defender=defender,
            members=list(members),
            new=new,
            order=order,
            made=history.runs,
        )
        return self._add_heat(data)

    def _add_heat(self, data: Mapping[str, Any]) -> Heat:
        """Add the heat of an event."""
        heat = Heat.of(data, self._grid.runs)
        defenders = [] if heat.defender is None else [heat.defender]
        for member in [*defenders, *data["members"]]:
            heat.enter(member)
            heat.take_costs(member, self.history.costs[member])
        self._heats.append(heat)
        self._opened = heat.number + 1
        if heat.final:
            self._final_at = data["made"]
        return heat

    @property
    def _started(self) -> int:
        """The number of runs made and under way."""
        return self.history.runs + len(self._under_way)

    def _keeps_for_final(self) -> bool:
        """Whether runs are kept for a final."""
        enough = self._started + self._left >= SMALL_BUDGET
        return self._workers >= FINAL_WORKERS and enough

    def _final_is_due(self) -> bool:
        """Whether there was no final yet, or a search with a larger budget since."""
        return self.history.runs >= FINAL_AGAIN * self._final_at

    def _left_for(self, heat: Heat | None) -> float:
        """The runs that a heat, or a new one, may still start.

        Runs that other heats were granted and runs kept for the final are subtracted.
        """
        left = self._left
        if self._keeps_for_final() and self._final_is_due():
            left -= FINAL_SHARE * self.history.runs
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
        recorded, history = list(events), self.history
        proposals = [data for kind, data in recorded if kind == "proposal"]
        proposed = [configurations(data["name"]) for data in proposals]
        points = self._space.points.encode([configuration.values for configuration in proposed])
        for data, configuration, point in zip(proposals, proposed, points, strict=True):
            history.enter(configuration, data["origin"], point)
        config_ids = {
            configuration.name: ConfigId(number)
            for number, configuration in enumerate(history.configurations)
        }
        for name, cell, cost, censored in runs:
            if name in config_ids:
                self._add_run(config_ids[name], cell, cost, censored=censored)
        open_heats: dict[int, Heat] = {}
        entered = 0
        for kind, data in recorded:
            self._events += 1
            heat = open_heats.get(data.get("heat", -1))
            if kind == "heat":
                heat = open_heats[data["number"]] = self._add_heat(data)
            elif kind == "incumbent":
                history.incumbent, self._has_incumbent = config_ids[data["name"]], True
                self.steps.append(Step(data["runs"], data["name"]))
            elif kind == "proposal":
                if heat is not None:
                    heat.enter(ConfigId(entered))
                    heat.new, heat.uncapped = heat.new - 1, heat.uncapped - 1
                entered += 1
            elif kind == "stage" and heat is not None:
                heat.restore_stage(data)
            elif kind == "over" and heat is not None:
                self.reason = data["reason"] or self.reason
                self._heats.remove(open_heats.pop(heat.number))
        for heat in self._heats:
            heat.resume(history.costs, history.eliminated)
