"""The loop of a search: propose, decide, run, journal; then run the choice on held-out instances.

A heat decides when its own runs are done. Workers that would wait meanwhile make runs of another
heat, which is opened early. With many workers a configuration is proposed when its first run
starts, and a final chooses among the best by a model of the costs. Everything follows from the
scenario, the settings and the results, in the order in which the journal has them: a search that is
resumed goes the same way again.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truecost.campaigns.campaign import Campaign
from truecost.campaigns.doubts import cost_doubts
from truecost.campaigns.proposer import Proposer
from truecost.campaigns.recorded import Runner, recorded_cell
from truecost.campaigns.spending import Spending
from truecost.errors import TruecostError
from truecost.journal import searchlog
from truecost.journal.searchlog import Adopted, Cell, Recorded, Settings
from truecost.matrix.families import FAMILY
from truecost.race import policy as race
from truecost.race.heats import ORDER, Heat, Heats
from truecost.race.policy import Cut, Decision, RunOrder, Standing
from truecost.running.pools.task import Task
from truecost.runs import Instance
from truecost.stats.grouping import codes_of

FloatArray = NDArray[np.float64]
Policy = Callable[..., Decision]

# Workers per heat: a heat looks at its costs once for them, and one more may be open for as many.
WORKERS_PER_HEAT = 4
# The final with many workers: who takes part, and its runs as a share of those before it.
FINALISTS, FINAL_SHARE = 5, 0.15
# More wins than losses on held-out instances by this many standard errors of a fair coin are clear.
CLEAR_WINS = 2.0
# Why a search that truecost 0.2 finished has ended.
ADOPTED = "it was finished by truecost 0.2"
SPENT = "the budget is spent"


class _Item(NamedTuple):
    """A run of a heat: of which configuration, in which cell, and what it may cost.

    A configuration still to be proposed is ~row, by its row in the decision.
    """

    place: int
    cell: int
    cap: float = math.inf


@dataclass(slots=True, eq=False)
class _Work:
    """What an open heat has to run.

    Attributes
    ----------
    queue, running, started
        Runs to start, the number under way, and of all that were queued so far.
    waiting, cut, places
        Positions of those that have to pass a cut and run in waves after the queue, the cut, and
        the configurations of the rows it speaks of.
    """

    heat: Heat
    queue: deque[_Item] = field(default_factory=deque)
    running: int = 0
    started: int = 0
    waiting: dict[int, range] = field(default_factory=dict)
    cut: Cut | None = None
    places: dict[int, int] = field(default_factory=dict)


class Search:
    """A search on its way."""

    def __init__(self, campaign: Campaign, settings: Settings, policy: Policy) -> None:
        scenario, book = campaign.scenario, campaign.book
        self._campaign, self._scenario, self._book = campaign, scenario, book
        self.settings, self._policy = settings, policy
        self.runner = Runner(campaign, settings, self._details)
        self._spending = Spending(self.runner, settings, scenario.limits.wall)
        low = scenario.metric.range()[0]
        training = len(settings.training)
        self._heats = Heats(training, settings.runs, seed=settings.seed, low=low)
        self._works = [_Work(heat) for heat in self._heats.open_heats]
        # Runs under way, and the heats that wait for each.
        self._flying: dict[Cell, tuple[_Item, list[_Work]]] = {}
        self._proposals = Proposer(book, scenario.space, settings, self._heats)
        self.configurations, self.origins = self._proposals.configurations, self._proposals.origins
        # Of each configuration in training: runs and wall seconds.
        self._each: dict[int, tuple[int, float]] = {}
        # The winner of the last finished heat; the incumbent may still have to defend its place.
        self._champion: int | None = None
        self.incumbent, self.recommended = 0, 0
        self._steps, self._reason = 0, SPENT
        # The heats that a smaller budget paid.
        self._earlier = 0
        self.adopted = searchlog.adopted_from(book)
        if self.adopted is not None:
            self._adopt(self.adopted)

    def _adopt(self, adopted: Adopted) -> None:
        """Go on from the runs of truecost 0.2, which had one order of runs for all heats."""
        settings, heats = self.settings, self._heats
        made = searchlog.recorded(self._book, adopted)
        leader = searchlog.incumbent_at(self._book, adopted.steps)
        proposals = self._proposals.recorded[: adopted.proposals]
        names = [proposal.configuration.name for proposal in proposals]
        if leader not in names:
            return
        instances = self.runner.training
        rng = np.random.default_rng([settings.seed, ORDER])
        order = race.schedule(len(instances), settings.runs, rng)
        for proposal in proposals:
            place = self._proposals.enter(proposal, heats.open_heats[0])
            for instance, number in zip(order.instances, order.numbers, strict=True):
                cell = proposal.configuration.name, instances[instance].name, int(number)
                if cell not in made:
                    break
                self.runner.count([made[cell]])
                item = _Item(place, int(number) * len(instances) + int(instance))
                self._note_run(item, made[cell])
                if heats.out[place]:
                    break
        self.incumbent = self._champion = names.index(leader)
        self._steps = adopted.steps
        heats.open(float(heats.made), self._champion, closes=heats.open_heats[0])
        self._works = [_Work(heat) for heat in heats.open_heats]

    # ---- the search ------------------------------------------------------------------------------

    def spend(self, amount: float, *, judged: bool = False) -> tuple[str, str | None]:
        """Search with this budget in all, and judge; why it ended, and why it could not be judged.

        What was `judged` before the search was adopted is only looked at again.
        """
        self.runner.amount, self._earlier = amount, len(self._heats.granted)
        self.runner.phase = "training"
        return ADOPTED if judged else self.train(), self.judge(again=judged)

    def train(self) -> str:
        """Search until the budget's part for it is spent or the policy has enough; why it ended."""
        workers = self.settings.workers
        # A few more than there are workers, so that none waits for us between two runs.
        most, self._reason = workers + workers // 8, SPENT
        while True:
            while len(self._flying) < most and (item := self._next_item()) is not None:
                self._start_run(*item)
            if not self._flying:
                if self.settings.many_workers:
                    self._hold_final()
                self._spend_rest()
                return self._reason
            self._take(*self.runner.next())

    def _next_item(self) -> tuple[_Work, _Item] | None:
        """A run to start now, if there is any: of the heat that was opened first."""
        while True:
            for work in self._works:
                while work.queue:
                    item = work.queue.popleft()
                    if (place := self._place(work, item.place)) is not None:
                        return work, item._replace(place=place)
            idle = next((work for work in self._works if not work.running), None)
            if idle is not None:
                self._advance(idle)
            elif not self._open_early():
                return None

    def _place(self, work: _Work, place: int) -> int | None:
        """The configuration of a run, proposed now if it is not yet; None if there is no other."""
        if place >= 0:
            return place
        share = self._spending.share()
        if not self._proposals.propose(work.heat, self.incumbent, share):
            return None
        work.places[~place] = len(self.configurations) - 1
        return work.places[~place]

    def _start_run(self, work: _Work, item: _Item) -> None:
        self._proposals.write()
        if self._heats.knows(item.place, item.cell) or self._heats.out[item.place]:
            return
        task = self._task(item)
        work.running += 1
        waiting = self._flying.setdefault(recorded_cell(task), (item, []))[1]
        waiting.append(work)
        if len(waiting) == 1:
            self.runner.start(task)

    def _task(self, item: _Item) -> Task:
        instance, number = self._heats.run_of(item.cell)
        cutoff = self._scenario.metric.cutoff or math.inf
        return self.runner.task(
            self.configurations[item.place],
            self.runner.training[instance],
            number,
            cap=item.cap if item.cap < cutoff else None,
        )

    def _take(self, task: Task, run: Recorded) -> None:
        item, works = self._flying.pop(recorded_cell(task))
        for work in works:
            work.running -= 1
        self._note_run(item, run)

    def _note_run(self, item: _Item, run: Recorded) -> None:
        """Enter a run; a configuration that costs more than it may is out."""
        runs, wall = self._each.get(item.place, (0, 0.0))
        self._each[item.place] = runs + 1, wall + run.wall
        if self._heats.out[item.place]:
            return
        cost = float(self.runner.charge([run])[0])
        self._heats.out[item.place] = math.isnan(cost) or cost > item.cap
        if math.isnan(cost):
            self._proposals.stopped.append((item.place, item.cell, run.cap or 0.0))
        else:
            self._heats.note(item.place, item.cell, cost)

    # ---- decisions -------------------------------------------------------------------------------

    def _advance(self, work: _Work) -> None:
        """Queue the next runs of a heat that has none under way, or close it."""
        if work.waiting:
            self._queue_wave(work)
            return
        left = self._left_for(work)
        rows, exhausted = work.heat.members, self._proposals.exhausted
        standing = self._heats.standing(work.heat, self._earlier)
        decision = self._decide(standing, work.heat.order, left)
        leader = None if decision.incumbent is None else rows[decision.incumbent]
        if len(self._works) == 1 or self._champion is None:
            self.incumbent = leader or 0
        opens = decision.grant is not None
        if opens and not self._settle(work, leader):
            return
        if decision.grant is not None:
            heat = self._heats.open(decision.grant, self._champion, closes=work.heat)
            self._works[self._works.index(work)] = work = _Work(heat)
        self._note(decision.reason)
        if left >= 1 and self._queue(work, rows, decision, math.floor(left)):
            return
        self._reason = decision.reason if left >= 1 else SPENT
        if self._proposals.exhausted == exhausted and (opens or self._settle(work, leader)):
            self._heats.close(work.heat)
            self._works.remove(work)

    def _decide(self, standing: Standing, order: RunOrder, left: float) -> Decision:
        return self._policy(
            standing,
            order,
            runs_left=max(0.0, left),
            proposals_left=self._proposals.left(),
            at_least=-(-self.settings.workers // WORKERS_PER_HEAT),
            capping=self._can_cap(),
            pace=race.LEARNING,
        )

    def _settle(self, work: _Work, leader: int | None) -> bool:
        """Make the winner of a heat the champion; False if it first has to meet the one that
        another heat found meanwhile.
        """
        champion, defender = self._champion, work.heat.incumbent
        if leader is None or leader == champion:
            return True
        if champion is None or champion == defender:
            self._champion = self.incumbent = leader
        elif leader != defender and self._left_for(work) > race.FIRST_TEST:
            self._heats.close(work.heat)
            grant = 2.0 * self._heats.count(champion)
            heat = self._heats.play_off(grant, champion, [leader])
            self._works[self._works.index(work)] = work = _Work(heat)
            cells = heat.cells[heat.count(leader) : race.FIRST_TEST].tolist()
            work.queue.extend(_Item(leader, cell) for cell in cells)
            return False
        else:
            self.incumbent = champion
        return True

    def _open_early(self) -> bool:
        """Open another heat while others wait for runs, if workers are free; whether it has any."""
        workers, heats = self.settings.workers, self._heats
        busy = len(self._flying) >= workers or len(self._works) > workers // WORKERS_PER_HEAT
        if not heats.granted or (self._works and busy):
            return False
        left, champion = self._left_for(None), self._champion
        rows = [] if champion is None else [champion]
        standing = heats.between(champion, self._earlier)
        decision = self._decide(standing, heats.order_of(champion), left)
        if decision.grant is None or left < 1:
            return False
        work = _Work(heats.open(decision.grant, champion))
        self._works.append(work)
        self._note(decision.reason)
        return self._queue(work, rows, decision, math.floor(left))

    def _queue(self, work: _Work, rows: Sequence[int], decision: Decision, allowed: int) -> bool:
        """Queue the runs of a decision as far as the budget goes, and propose its new
        configurations if there are few workers; whether there are any.

        A decision speaks of rows: `rows` has the configurations of the known ones.
        """
        places = dict(enumerate(rows))
        work.cut, work.places = decision.cut, places
        for stretch in (*decision.batch, *decision.then):
            stop = min(stretch.stop, stretch.start + allowed)
            if stop <= stretch.start:
                continue
            new = ~stretch.configuration
            place = places.get(stretch.configuration, new)
            if place < 0 and not self.settings.many_workers:
                if self._place(work, new) is None:
                    continue
                place = places[stretch.configuration]
            if place >= 0 and stretch.start != work.heat.count(place):
                raise TruecostError(
                    f"expected a stretch that goes on where a configuration stands, got {stretch}."
                )
            allowed -= stop - stretch.start
            work.started += stop - stretch.start
            if stretch in decision.then:
                work.waiting[place] = range(stretch.start, stop)
            else:
                cells = work.heat.cells[stretch.start : stop].tolist()
                work.queue.extend(_Item(place, cell) for cell in cells)
        return bool(work.queue or work.waiting)

    def _queue_wave(self, work: _Work) -> None:
        """Queue the next runs of those that have to pass a cut.

        How many must depend on nothing that another machine, or another day, would do otherwise.
        """
        heat, cut = work.heat, work.cut
        places = ((self._place(work, key), runs) for key, runs in work.waiting.items())
        waiting = {place: runs for place, runs in places if place is not None}
        if cut is None:
            raise TruecostError("expected a cut for those that run after the batch, got none.")
        known = np.full((max(cut.contenders, default=-1) + 1, cut.stop), np.nan)
        rows = [row for row in cut.contenders if work.places.get(row) in heat.rows]
        known[rows] = heat.first_costs([work.places[row] for row in rows], cut.stop)
        limit = cut.limit(known)
        width = -(-self.settings.workers // max(len(waiting), 1))
        for place, positions in waiting.items():
            allowed = limit - heat.total(place)
            # A run costs more than nothing: who may not spend anything is out without one.
            self._heats.out[place] |= allowed <= 0
            if not self._heats.out[place]:
                cells = heat.cells[positions[:width]].tolist()
                work.queue.extend(_Item(place, cell, allowed) for cell in cells)
        work.waiting = {
            place: positions[width:]
            for place, positions in waiting.items()
            if len(positions) > width and not self._heats.out[place]
        }

    def _spend_rest(self) -> None:
        """Give the last runs, too few for another heat, to the incumbent."""
        left = math.floor(self._spending.left(self._spending.training_budget()))
        if self.settings.unit != "runs" or self._champion is None or not self._proposals.left():
            return
        heat = self._heats.play_off(0.0, self._champion, [])
        self._heats.close(heat)
        begin = heat.count(self._champion)
        cells = heat.cells[begin : begin + max(left, 0)].tolist()
        self._make([_Item(self._champion, cell) for cell in cells])

    def _hold_final(self) -> None:
        """Spend the runs kept for it on the best by the model, which then chooses."""
        heats, champion = self._heats, self._champion
        left = math.floor(self._spending.left(self._spending.training_budget()))
        ranked = [place for place in self._proposals.ranked() if not heats.out[place]]
        if champion is None or not ranked or left < 1:
            return
        places = [*dict.fromkeys([champion, *ranked])][:FINALISTS]
        heat = heats.play_off(0.0, champion, places[1:])
        heats.close(heat)
        items = (_Item(place, cell) for cell in heat.in_order for place in places)
        new = (item for item in items if not heats.knows(item.place, item.cell))
        self._make([*islice(new, left)])
        ranked = [place for place in self._proposals.ranked() if place in places]
        self._champion = self.incumbent = next(iter(ranked), champion)
        self._note(f"final of {len(places)}")

    def _make(self, items: Sequence[_Item]) -> None:
        made = self.runner.make([self._task(item) for item in items])
        for item, run in zip(items, made, strict=True):
            self._note_run(item, run)

    # ---- the budget ------------------------------------------------------------------------------

    def _left_for(self, work: _Work | None) -> float:
        """The runs a heat, or a new one, may still use: without those under way and those that
        other heats were granted.
        """
        left = self._spending.left(self._spending.training_budget()) - len(self._flying)
        if self.settings.many_workers:
            left -= FINAL_SHARE * self.runner.made
        for other in self._works:
            left -= len(other.queue) + sum(map(len, other.waiting.values()))
            if other is not work:
                left -= max(0.0, other.heat.grant - other.started)
        return left

    def _note(self, reason: str) -> None:
        name, runs = self._incumbent_name(), self.runner.made
        searchlog.note_step(self._book, self._steps, runs=runs, incumbent=name, reason=reason)
        self._steps += 1

    def _incumbent_name(self) -> str | None:
        return self.configurations[self.incumbent].name if self.configurations else None

    def _can_cap(self) -> bool:
        """Whether a run that is stopped early still says something: where costs are times."""
        return self._scenario.metric.kind == "par" and self._scenario.metric.clock != "reported"

    # ---- results ---------------------------------------------------------------------------------

    def _details(self) -> dict[str, Any]:
        """What the progress of a search shows."""
        cost, error = self.training_cost()
        return {
            "configurations": len(self.configurations),
            "incumbent": self._incumbent_name(),
            "estimate": cost,
            "standard_error": error,
        }

    def training_cost(self) -> tuple[float, float]:
        """The mean of the incumbent's instance means, and its standard error over instances."""
        if not self.configurations or not self._heats.count(self.incumbent):
            return math.nan, math.nan
        means = self._heats.instance_means(self.incumbent)
        error = float(means.std(ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.nan
        return float(means.mean()), error

    def judge(self, *, again: bool = False) -> str | None:
        """Run the incumbent and the default on held-out instances; why not, where that cannot be.

        `again`: this look is in the journal already.

        How many instances and rounds is fixed here, before any of their costs is seen: as many
        instances as the rest of the budget has runs for, then as many rounds. So is the rule: the
        incumbent is recommended if it costs less there than the default, by more than a standard
        error or with clearly more wins than losses; the default otherwise.
        """
        self._campaign.refuse_failures()
        self.runner.phase, self.recommended = "held out", self.incumbent
        if not self.runner.held_out:
            return (
                "the scenario has one instance, and it was trained on; give it more to have some "
                "held out"
            )
        places = sorted({0, self.incumbent})
        runs, wall = np.sum([self._each.get(place, (0, 0.0)) for place in places], axis=0).tolist()
        left = self._spending.left(self.runner.amount, wall / max(runs, 1))
        fitting = math.floor(left / len(places))
        instances = self._whole_units(max(0, fitting))
        if not instances:
            return "the budget left no runs for the instances held out; give a larger one"
        rounds = min(self.settings.runs, fitting // len(instances))
        first = self.settings.first_judging
        tasks = [
            self.runner.task(self.configurations[place], instance, first + number)
            for number in range(rounds)
            for instance in instances
            for place in places
        ]
        tested = self._spending.tested
        new = [task for task in tasks if recorded_cell(task) not in tested]
        tested |= dict(zip(map(recorded_cell, new), self.runner.make(new), strict=True))
        charged = self.runner.charge([tested[recorded_cell(task)] for task in tasks])
        means = charged.reshape(rounds, len(instances), len(places)).mean(axis=0)
        gains = means[:, 0] - means[:, -1]
        if self.settings.sampled == "family":
            families = codes_of([instance.extras[FAMILY] for instance in instances])
            gains = np.bincount(families, gains) / np.bincount(families)
        self.recommended = self.incumbent if _favoured(gains) else 0
        if not again:
            self._note(_judged(means.mean(axis=0).tolist(), self.recommended))
        return None

    def _whole_units(self, most: int) -> list[Instance]:
        """The first held-out instances, at most `most`; whole families where these are sampled."""
        held_out = self.runner.held_out
        if self.settings.sampled == "family" and most < len(held_out):
            family = held_out[most].extras[FAMILY]
            while most and held_out[most - 1].extras[FAMILY] == family:
                most -= 1
        return held_out[:most]

    def doubts(self) -> list[str]:
        """What the costs themselves say against the result."""
        costs, default = self._heats.table()[2], self._heats.costs(0)
        return cost_doubts(costs, default, self._scenario.metric)


def _favoured(gains: FloatArray) -> bool:
    """Whether the incumbent gains over the default by more than a standard error, or has a lower
    mean and clearly wins on more instances.
    """
    mean, signs = float(gains.mean()), np.sign(gains)
    error = float(gains.std(ddof=1)) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    # A single timeout moves the mean by as much as its standard error; wins do not depend on it.
    clear = float(signs.sum()) > CLEAR_WINS * math.sqrt(np.count_nonzero(signs))
    return mean > error or (mean > 0 and clear)


def _judged(costs: Sequence[float], recommended: int) -> str:
    """What held-out runs of the default and the incumbent came to, for the journal."""
    if len(costs) == 1:
        return f"{searchlog.JUDGED}: the default costs {costs[0]:.6g}"
    kept = "incumbent" if recommended else "default"
    text = f"{costs[1]:.6g}, the default {costs[0]:.6g}; the {kept} is recommended"
    return f"{searchlog.JUDGED}: {text}"
