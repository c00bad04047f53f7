"""The loop of a search: propose, decide, run, journal; then run what it chose where it was not
trained.

Everything follows from the scenario, the settings and what the runs cost, batch by batch: a search
that is resumed goes the same way again, with the runs that are in the journal.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Progress
from truecost.campaigns.recorded import RecordedRuns, recorded_cell
from truecost.errors import TruecostError
from truecost.journal import searchlog
from truecost.journal.journal import RunDesign
from truecost.journal.searchlog import Adopted, Cell, Recorded, Settings
from truecost.race import policy as race
from truecost.race.heats import ORDER, Heats
from truecost.race.policy import Decision, Stretch
from truecost.running.pools.task import Task
from truecost.runs import Instance
from truecost.space.learning import SAMPLES, Learner
from truecost.space.propose import Proposal, propose
from truecost.space.space import Configuration

FloatArray = NDArray[np.float64]
Policy = Callable[..., Decision]

# At most so much of the budget is kept for the held-out instances.
KEPT = 0.2
# Of so many of the best configurations neighbours are proposed.
PARENTS = 5
# Why a search that truecost 0.2 finished has ended.
ADOPTED = "it was finished by truecost 0.2"


class _Item(NamedTuple):
    """A run of a batch: whose, at which position of the heat, and what it may cost."""

    place: int
    position: int
    cap: float = math.inf


class Search:
    """A search on its way."""

    def __init__(self, campaign: Campaign, settings: Settings, policy: Policy) -> None:
        scenario, book = campaign.scenario, campaign.book
        self._campaign, self._scenario, self._book = campaign, scenario, book
        self.settings, self._policy = settings, policy
        by_name = {instance.name: instance for instance in scenario.instances}
        self._training: list[Instance] = [by_name[name] for name in settings.training]
        self._held_out: list[Instance] = [by_name[name] for name in settings.held_out]
        book.begin(
            RunDesign(
                configurations=(), instances=(*self._training, *self._held_out), runs=settings.runs
            ),
            scenario.metric,
        )
        self._runs = RecordedRuns(campaign)
        self._proposed = searchlog.proposed_in(book)
        default = scenario.space.default().name
        self._start = [first for first in searchlog.start_of(book) if first.name != default]
        low = scenario.metric.range()[0]
        self._heats = Heats(len(self._training), settings.runs, seed=settings.seed, low=low)
        self.configurations: list[Configuration] = []
        self.origins: list[str] = []
        # Their names, and the parents as of so many runs and an incumbent: found anew for every
        # proposal, they would cost more the longer a search is.
        self._known: set[str] = set()
        self._ranked: tuple[tuple[int, int], list[Configuration]] | None = None
        self._exhausted, self._size = False, scenario.space.size()
        # What the model of the costs offers in the heat it was made for, and where runs were
        # stopped at a cap.
        self._learner = Learner(scenario.space)
        self._offered: tuple[int, int, list[Configuration]] = (0, 0, [])
        self._stopped: list[tuple[int, int, float]] = []
        # Runs, CPU and wall seconds; of each configuration in training, runs and wall seconds.
        self.made, self.cpu, self.wall = 0, 0.0, 0.0
        self._each = np.zeros((16, 2))
        self.incumbent, self.recommended = 0, 0
        self._steps = 0
        self._phase: Literal["training", "held out"] = "training"
        # What there is to spend now, and the heats that a smaller budget paid.
        self._amount, self._earlier = settings.budget, 0
        # Runs on held-out instances, and what they took: nothing that comes after may depend on the
        # latter.
        self._tested: dict[Cell, Recorded] = {}
        self.adopted = searchlog.adopted_from(book)
        if self.adopted is not None:
            self._adopt(self.adopted)

    def _adopt(self, adopted: Adopted) -> None:
        """Go on from the runs of truecost 0.2, which had one order of runs for all heats."""
        settings = self.settings
        made = searchlog.recorded(self._book, adopted)
        leader = searchlog.incumbent_at(self._book, adopted.steps)
        names = [found.configuration.name for found in self._proposed[: adopted.proposals]]
        if leader not in names:
            return
        order = race.schedule(
            len(self._training), settings.runs, np.random.default_rng([settings.seed, ORDER])
        )
        costs, out = list[list[float]](), list[bool]()
        for found in self._proposed[: adopted.proposals]:
            row: list[float] = []
            place, stopped = len(costs), False
            self.configurations.append(found.configuration)
            self._known.add(found.configuration.name)
            self.origins.append(found.origin)
            self._each = np.vstack([self._each, np.zeros((1, 2))])
            for instance, number in zip(order.instances, order.numbers, strict=True):
                cell = found.configuration.name, self._training[instance].name, int(number)
                if cell not in made:
                    break
                run = made[cell]
                self._count(run)
                self._each[place] += (1, run.wall)
                stopped = run.cap is not None
                if stopped:
                    self._stopped.append(
                        (place, int(number) * len(self._training) + int(instance), run.cap or 0.0)
                    )
                    break
                row.append(float(self._runs.charge([run])[0]))
            costs.append(row)
            out.append(stopped)
        cells = order.numbers * len(self._training) + order.instances
        self.incumbent, self._steps = names.index(leader), adopted.steps
        self._heats.adopt(cells, costs, out, self.incumbent)

    def _count(self, run: Recorded) -> None:
        self.made, self.cpu, self.wall = self.made + 1, self.cpu + run.cpu, self.wall + run.wall

    # ---- the search ------------------------------------------------------------------------------

    @property
    def budget(self) -> Budget:
        """What there is to spend."""
        return Budget(amount=self._amount, unit=self.settings.unit)

    def spend(self, amount: float, *, judged: bool = False) -> tuple[str, str | None]:
        """Search with so much in all, and judge; why it ended, and why it could not be judged.

        What was `judged` before the search was adopted is only looked at again.
        """
        self._amount, self._earlier, self._phase = amount, len(self._heats.granted), "training"
        return ADOPTED if judged else self.train(), self.judge(again=judged)

    def train(self) -> str:
        """Search until the budget's part for it is spent or the policy has enough; why it ended."""
        while True:
            left = self._left(self._training_budget())
            decision = self._policy(
                self._heats.standing(self._earlier),
                self._heats.order,
                runs_left=max(0.0, left),
                proposals_left=self._proposals_left(),
                at_least=self.settings.workers,
                capping=self._can_cap(),
                pace=race.LEARNING,
            )
            rows = self._heats.members
            leader = None if decision.incumbent is None else rows[decision.incumbent]
            self.incumbent = leader or 0
            if decision.grant is not None:
                self._heats.open(decision.grant, leader)
            self._note(decision.reason)
            if left < 1:
                return "the budget is spent"
            exhausted = self._exhausted
            places, taken = self._taken(rows, (*decision.batch, *decision.then), math.floor(left))
            if taken:
                self._run(taken, decision, places)
            elif self._exhausted == exhausted:
                return decision.reason

    def _training_budget(self) -> float:
        """The budget without what is kept for the held-out instances, no more than they can use."""
        most = 2.0 * len(self._held_out) * self.settings.runs
        kept = KEPT * self._amount
        if self.settings.unit == "runs":
            return self._amount - min(math.floor(kept), most)
        mean = self._mean_wall() / self.settings.workers if self.made else math.inf
        return self._amount - (min(kept, most * mean) if most else 0.0)

    def _mean_wall(self) -> float:
        """What a training run took, in wall seconds."""
        tested = sum(run.wall for run in self._tested.values())
        return (self.wall - tested) / (self.made - len(self._tested))

    def _left(self, budget: float, mean: float | None = None) -> float:
        """How many more runs, of so many wall seconds on average, fit into a budget."""
        settings = self.settings
        if settings.unit == "runs":
            return budget - self.made
        # Runs on held-out instances count as training runs do: how long they took must not decide
        # what is tried next.
        wall = self.made * self._mean_wall() if self._tested else self.wall
        worker_seconds = budget * settings.workers - wall
        if mean is None and not self.made:
            # Nothing is known yet: the default's first run is made in any case, and no more than
            # surely fit.
            return max(1.0, worker_seconds / (self._scenario.limits.wall or worker_seconds))
        mean = self._mean_wall() if mean is None else mean
        return worker_seconds / max(mean, 1e-6)

    def _note(self, reason: str) -> None:
        name = self.configurations[self.incumbent].name if self.configurations else None
        searchlog.note_step(self._book, self._steps, runs=self.made, incumbent=name, reason=reason)
        self._steps += 1

    def _taken(
        self, rows: Sequence[int], batch: Sequence[Stretch], allowed: int
    ) -> tuple[dict[int, int], list[Stretch]]:
        """The batch as far as the budget goes, its new configurations proposed.

        A decision speaks of rows; the first result has the configuration of each, the stretches
        have configurations.
        """
        places, taken, noted = dict(enumerate(rows)), [], len(self._proposed)
        for stretch in batch:
            stop = min(stretch.stop, stretch.start + allowed)
            if stop <= stretch.start:
                continue
            if stretch.configuration >= len(rows):
                if not self._propose():
                    continue
                places[stretch.configuration] = len(self.configurations) - 1
            place = places[stretch.configuration]
            if stretch.start != self._heats.count(place):
                raise TruecostError(
                    f"expected a stretch that goes on where a configuration stands, got {stretch}."
                )
            allowed -= stop - stretch.start
            taken.append(Stretch(configuration=place, start=stretch.start, stop=stop))
        if len(self._proposed) > noted:
            searchlog.note_proposals(self._book, noted, self._proposed[noted:])
        return places, taken

    def _can_cap(self) -> bool:
        """Only where a cost is a time that we measure does a run that is stopped early still say
        something.
        """
        return self._scenario.metric.kind == "par" and self._scenario.metric.clock != "reported"

    # ---- proposals -------------------------------------------------------------------------------

    def _proposals_left(self) -> float:
        return 0.0 if self._exhausted else max(0.0, self._size - len(self.configurations))

    def _propose(self) -> bool:
        """One more configuration; whether there is one."""
        if self._exhausted:
            return False
        number = len(self.configurations)
        found = (
            self._proposed[number]
            if number < len(self._proposed)
            else Proposal(configuration=self._start[number - 1], origin="start")
            if 0 < number <= len(self._start)
            else propose(
                self._scenario.space,
                self._parents(),
                self._known,
                seed=self.settings.seed,
                number=number,
                spent=self._share(),
                lost=self.incumbent == 0,
                learnt=self._offer,
            )
        )
        if found is None:
            self._exhausted = True
            return False
        if number == len(self._proposed):
            self._proposed.append(found)
        self.configurations.append(found.configuration)
        self._known.add(found.configuration.name)
        self.origins.append(found.origin)
        self._heats.enter()
        if number == len(self._each):
            self._each = np.concatenate([self._each, np.zeros_like(self._each)])
        return True

    def _offer(self) -> Configuration | None:
        """The next configuration that the model offers, which learns before every heat; None if it
        has nothing to say.
        """
        heat, number = len(self._heats.granted), len(self.configurations)
        before, first, offers = self._offered
        if heat != before:
            rows, cells, costs = self._heats.table()
            # A run that was stopped costs its cap at least.
            stopped = np.array(self._stopped, dtype=np.float64).reshape(-1, 3).T
            self._learner.learn(
                self.configurations,
                np.concatenate([rows, stopped[0].astype(np.int64)]),
                np.concatenate([cells, stopped[1].astype(np.int64)]),
                np.concatenate([costs, stopped[2]]),
            )
        # Once for a proposal: in a small space the model may offer nothing but what is known.
        if heat != before or (not offers and number != first):
            rng = np.random.default_rng(
                np.random.SeedSequence(self.settings.seed, spawn_key=(number, SAMPLES))
            )
            offers = self._learner.offers(self._parents(), self._share(), rng)[::-1]
            self._offered = heat, number, offers
        return offers.pop() if offers else None

    def _share(self) -> float:
        """How much of the budget for training is spent."""
        settings = self.settings
        spent = (
            self.made
            if settings.unit == "runs" or not self.made
            else self.made * self._mean_wall() / settings.workers
        )
        return min(1.0, spent / max(self._training_budget(), 1e-9))

    def _parents(self) -> list[Configuration]:
        """The best configurations: by the difference to the incumbent on common runs, at least half
        of its runs.
        """
        heats = self._heats
        moment = heats.made, self.incumbent
        if self._ranked is None or self._ranked[0] != moment:
            least = heats.count(self.incumbent) / 2 if self.configurations else 0
            enough = np.flatnonzero(heats.counts >= max(least, 1)).tolist()
            places = [place for place in enough if not heats.out[place]]
            apart = heats.apart(places, self.incumbent) if places else np.empty(0)
            ranked = [places[rank] for rank in np.argsort(apart, kind="stable")[:PARENTS]]
            self._ranked = moment, [self.configurations[place] for place in ranked]
        return self._ranked[1]

    # ---- runs ------------------------------------------------------------------------------------

    def _run(self, taken: Sequence[Stretch], decision: Decision, places: Mapping[int, int]) -> None:
        """All runs of a decision: the batch at once, then, in waves, those who have to pass a cut.

        How large a wave is must depend on nothing that another machine, or another day, would do
        otherwise.
        """
        later = {places.get(each.configuration) for each in decision.then}
        self._run_wave(
            [
                _Item(each.configuration, position)
                for each in taken
                if each.configuration not in later
                for position in range(each.start, each.stop)
            ]
        )
        waiting = {
            each.configuration: range(each.start, each.stop)
            for each in taken
            if each.configuration in later
        }
        cut = decision.cut
        while cut is not None and waiting:
            known = np.full((max(cut.contenders, default=-1) + 1, cut.stop), np.nan)
            rows = [row for row in cut.contenders if row in places]
            known[rows] = self._heats.first_costs([places[row] for row in rows], cut.stop)
            limit = cut.limit(known)
            width = -(-self.settings.workers // len(waiting))
            wave = []
            for place, positions in waiting.items():
                allowed = limit - self._heats.total(place)
                # A run costs more than nothing: who may not spend anything is out without one.
                self._heats.out[place] |= allowed <= 0
                wave += [
                    _Item(place, position, allowed)
                    for position in positions[:width]
                    if not self._heats.out[place]
                ]
            self._run_wave(wave)
            rest = {
                place: positions[width:]
                for place, positions in waiting.items()
                if not self._heats.out[place]
            }
            waiting = {place: positions for place, positions in rest.items() if positions}

    def _run_wave(self, wave: Sequence[_Item]) -> None:
        """These runs at once; who costs more than it may is out, and so is what comes after."""
        if not wave:
            return
        heats, made = self._heats, self._make([self._task(item) for item in wave])
        for item, run, cost in zip(wave, made, self._runs.charge(made), strict=True):
            self._each[item.place] += (1, run.wall)
            if heats.out[item.place]:
                continue
            heats.out[item.place] = math.isnan(cost) or cost > item.cap
            if math.isnan(cost):
                cell = heats.cell_at(item.position)
                self._stopped.append((item.place, cell, item.cap))
            else:
                heats.note(item.place, cost)

    def _task(self, item: _Item) -> Task:
        instance, number = self._heats.run_at(item.position)
        cutoff = self._scenario.metric.cutoff or math.inf
        return self._run_of(
            self.configurations[item.place],
            self._training[instance],
            number,
            item.cap if item.cap < cutoff else None,
        )

    def _run_of(
        self, configuration: Configuration, instance: Instance, number: int, cap: float | None
    ) -> Task:
        seed = self._scenario.run_seed(instance.name, number)
        return Task(
            configuration=configuration, instance=instance, number=number, seed=seed, cap=cap
        )

    def _make(self, tasks: Sequence[Task]) -> list[Recorded]:
        """What these runs came to: from the journal, else made now."""
        runs, wall, cpu = self.made, self.wall, self.cpu

        def tell(recorded: list[Recorded]) -> None:
            nonlocal runs, wall, cpu
            runs += len(recorded)
            wall += sum(run.wall for run in recorded)
            cpu += sum(run.cpu for run in recorded)
            self._tell(runs, wall, cpu)

        made = self._runs.make(tasks, tell)
        for run in made:
            self._count(run)
        return made

    def _tell(self, runs: int, wall: float, cpu: float) -> None:
        if not self._campaign.watched:
            return
        cost, error = self.training_cost()
        in_runs = self.settings.unit == "runs"
        self._campaign.report(
            Progress(
                phase=self._phase,
                spent=runs if in_runs else wall / self.settings.workers,
                budget=self.budget,
                runs=runs,
                cpu=cpu,
                workers=self._campaign.pool.workers,
                configurations=len(self.configurations),
                incumbent=self.configurations[self.incumbent].name if self.configurations else None,
                estimate=cost,
                standard_error=error,
            )
        )

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
        error; the default otherwise.
        """
        self._campaign.refuse_failures()
        self._phase, self.recommended = "held out", self.incumbent
        if not self._held_out:
            return "the scenario has one instance, and it was trained on; give it more to have some held out"
        places = sorted({0, self.incumbent})
        own = self._each[places].sum(axis=0)
        fitting = math.floor(self._left(self._amount, own[1] / max(own[0], 1)) / len(places))
        instances = self._held_out[: max(0, fitting)]
        if not instances:
            return "the budget left no runs for the instances held out; give a larger one"
        rounds = min(self.settings.runs, fitting // len(instances))
        tasks = [
            self._run_of(self.configurations[place], instance, number, None)
            for number in range(rounds)
            for instance in instances
            for place in places
        ]
        new = [task for task in tasks if recorded_cell(task) not in self._tested]
        self._tested |= dict(zip(map(recorded_cell, new), self._make(new), strict=True))
        charged = self._runs.charge([self._tested[recorded_cell(task)] for task in tasks])
        means = charged.reshape(rounds, len(instances), len(places)).mean(axis=0)
        self.recommended = self.incumbent if _favoured(means[:, 0] - means[:, -1]) else 0
        if not again:
            self._note(_judged(means.mean(axis=0).tolist(), self.recommended))
        return None

    def doubts(self) -> list[str]:
        """What the costs themselves say against the result."""
        high = self._scenario.metric.range()[1]
        if (self._heats.table()[2] == high).all():
            return [
                f"every run cost the most there is, {high:g}: nothing could be told apart. Raise the limits, or take easier "
                "instances."
            ]
        if (self._heats.costs(0) == high).all():
            runs = self._heats.count(0)
            return [
                f"the default cost the most there is, {high:g}, in all its {runs:,} training run{'s' if runs > 1 else ''}: "
                "it failed, or ran into its limits."
            ]
        return []


def _favoured(gains: FloatArray) -> bool:
    """Whether the incumbent gains over the default, on these instances, by more than a standard
    error.
    """
    error = float(gains.std(ddof=1)) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return float(gains.mean()) > error


def _judged(costs: Sequence[float], recommended: int) -> str:
    """What held-out runs of the default and the incumbent came to, for the journal."""
    if len(costs) == 1:
        return f"{searchlog.JUDGED}: the default costs {costs[0]:.6g}"
    kept = "the incumbent is recommended" if recommended else "the default is recommended"
    return f"{searchlog.JUDGED}: {costs[1]:.6g}, the default {costs[0]:.6g}; {kept}"
