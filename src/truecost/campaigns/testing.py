"""A test: candidates and the default on fresh instances, one run each per instance, in one recorded
random order, until the question is decided.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.campaigns.budget import Purse, Tally
from truecost.campaigns.campaign import Campaign
from truecost.campaigns.contestants import Contestants
from truecost.campaigns.deciding import HOPELESS, PILOT, Decider
from truecost.campaigns.results import Stop
from truecost.errors import InputError
from truecost.journal.journal import FAMILY
from truecost.journal.logs import MORE, STOP, TEST, recorded_plan
from truecost.matrix.log import Plan
from truecost.running.pools import Finished, Task
from truecost.runs import Instance, Status
from truecost.space.space import Configuration
from truecost.stats.quantities import Runs, Scale

if TYPE_CHECKING:
    from truecost.judge.question import Question

# Limits are planned for at most this many units if the budget is a time; more may follow.
PLANNED = 100
# The shares of δ in a search: of its first test, and of all further ones together.
FIRST, FURTHER = 0.9, 0.1
# A forecast after every tenth part of the units so far.
OFTEN = 10
# The fields of a question that a test fixes.
ASKED = ("primary", "margin", "sampled", "delta")


def share_of(tests: int) -> float:
    """The share of δ of the next test of a search, after so many."""
    return FIRST if tests == 0 else FURTHER / 2**tests


def draw_order(instances: Sequence[Instance], sampled: str, seed: Sequence[int]) -> list[Instance]:
    """A random order of instances; with families, of whole families."""
    rng = np.random.default_rng(list(seed))
    by_name = sorted(instances, key=lambda instance: instance.name)
    if sampled == "family":
        if missing := [one.name for one in by_name if not one.extras.get(FAMILY)]:
            raise InputError(
                f"Instance {missing[0]!r} has no family. Add families under [instances] in the "
                "scenario, or leave out --sampled family."
            )
        by_name.sort(key=lambda instance: instance.extras[FAMILY])
    groups = units_of(by_name, sampled)
    order = []
    for place in rng.permutation(len(groups)):
        order += [by_name[one] for one in rng.permutation(groups[place])]
    return order


def units_of(instances: Sequence[Instance], sampled: str) -> list[list[int]]:
    """The places of the instances of each unit, in order."""
    if sampled != "family":
        return [[place] for place in range(len(instances))]
    units: dict[str, list[int]] = {}
    for place, instance in enumerate(instances):
        units.setdefault(instance.extras[FAMILY], []).append(place)
    return list(units.values())


def begin_test(
    campaign: Campaign,
    contestants: Contestants,
    instances: Sequence[Instance],
    question: "Question",
    purse: Purse,
    **more: Any,
) -> dict[str, Any]:
    """Record a test on these instances, in their order, before its first run; `more` is what a
    later call needs to know.
    """
    journal, asked = campaign.journal, {name: getattr(question, name) for name in ASKED}
    units = units_of(instances, asked["sampled"])
    planned = min(len(units), PLANNED)
    if purse.budget.unit == "runs":
        runs = np.cumsum([len(unit) for unit in units]) * len(contestants.all)
        # A budget that is too small for a single unit waits for more.
        planned = max(1, int((runs <= purse.left()).sum()))
    plan = Plan(
        order=tuple(instance.name for instance in instances),
        planned=planned,
        candidates=tuple(candidate.name for candidate in contestants.candidates),
        share=1.0 if journal.kind == "validate" else share_of(len(journal.events(TEST))),
        **asked,
    )
    journal.enter(contestants.all, instances)
    names = {"default": contestants.default.name, "names": dict(contestants.names)}
    data = {**asdict(plan), **names, **more}
    journal.event(TEST, data, commit=True)
    return data


def add_instances(
    campaign: Campaign, new: Sequence[Instance], sampled: str, pattern: str | None
) -> None:
    """Record new instances after those of the test, in an order of their own."""
    order = draw_order(new, sampled, (campaign.scenario.seed, campaign.journal.decisions))
    campaign.journal.enter(instances=order)
    names = [instance.name for instance in order]
    campaign.journal.event(MORE, {"instances": names, "pattern": pattern}, commit=True)


class Test:
    """A recorded test and its runs, also on instances that were added later. Instances that are not
    at hand are refused, or left out (`partly`).
    """

    def __init__(
        self,
        campaign: Campaign,
        data: Mapping[str, Any],
        at_hand: Mapping[str, Instance],
        *,
        partly: bool = False,
    ) -> None:
        self._campaign, journal, metric = campaign, campaign.journal, campaign.scenario.metric
        plan, values = recorded_plan(journal, data), journal.configurations()
        missing = [name for name in plan.order if name not in at_hand]
        if missing and not partly:
            raise InputError(
                f"{journal.path}: instance {missing[0]!r} belongs to this test and is not there. "
                "Name the instances that it began with, and new ones."
            )
        # In the recorded order.
        self.instances = [at_hand[name] for name in plan.order if name in at_hand]
        journal.enter(instances=self.instances)
        *candidates, default = (
            Configuration(name=name, values=values[name])
            for name in (*data["candidates"], data["default"])
        )
        self.contestants = Contestants(
            candidates=tuple(candidates), default=default, names=data["names"]
        )
        self._units = units_of(self.instances, plan.sampled)
        low, high = metric.range()
        cutoff = metric.cutoff if metric.timed else None
        scale = Scale(low=low, high=high, cutoff=cutoff, par=metric.par)
        delta = plan.delta * plan.share / len(candidates)
        self._deciders = [
            Decider(scale, plan.primary or "mean", plan.margin, delta, plan.planned)
            for _ in candidates
        ]
        # The runs of earlier calls: costs and failures by instance and configuration.
        self._rows = {instance.name: row for row, instance in enumerate(self.instances)}
        self._columns = {one.name: column for column, one in enumerate(self.contestants.all)}
        table = journal.table()
        row = table.places("instance", self._rows)
        column = table.places("configuration", self._columns)
        tested = (row >= 0) & (column >= 0) & (table.number == 0)
        cells, table = (row[tested], column[tested]), table.select(tested)
        self.tally = Tally.of(table)
        costs, status = table.costs(metric)
        shape = (len(self._rows), len(self._columns))
        self._costs, self._failed = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        self._costs[cells], self._failed[cells] = costs, status != Status.SOLVED
        # Complete units, how many of them decided the question, and why the test is over.
        self._complete, self._forecast_at = 0, PILOT
        self._decided: int | None = None
        self._over: str | None = None
        self._chance: float | None = None

    def run(self, purse: Purse, *, complete: bool = False) -> Stop:
        """Make the runs until the question is decided, hopeless, or the purse is empty; or, with
        `complete`, until all instances are run.
        """
        campaign, made = self._campaign, -1
        self._look(purse, complete)
        # A budget of time may pay for more than it seemed while the last runs were under way.
        while self._over is None and self.tally.runs != made:
            made = self.tally.runs
            for finished in campaign.make(self._tasks(purse)):
                self._take(finished)
                self._look(purse, complete)
                campaign.report(purse, **self._progress())
        campaign.refuse_failures()
        missing = np.isnan(self._costs).any()
        stop = Stop(
            why=self._over or ("budget" if missing else "instances"),
            units=self._complete,
            runs=self.tally.runs,
            decided=self._decided,
            chance=self._chance,
        )
        reach = self._reach(purse) if stop.why == "forecast" else None
        names = [candidate.name for candidate in self.contestants.candidates]
        record = {**asdict(stop), "reach": reach, "candidates": names}
        if record != self._last_stop():
            campaign.journal.event(STOP, record, commit=True)
        return stop

    def _last_stop(self) -> dict[str, Any]:
        """How this test ended the last time; a search has one for each of its winners."""
        names = [candidate.name for candidate in self.contestants.candidates]
        stops = [event.data for event in self._campaign.journal.events(STOP)]
        return next((stop for stop in reversed(stops) if stop["candidates"] == names), {})

    def _tasks(self, purse: Purse) -> Iterator[Task]:
        """The runs that are missing, unit by unit, while the test goes on and the purse pays."""
        sides = self.contestants.all
        for unit in self._units:
            missing = [
                (row, column)
                for row in unit
                for column in np.flatnonzero(np.isnan(self._costs[row])).tolist()
            ]
            if missing and purse.left() - self._campaign.out < len(missing):
                return
            for row, column in missing if self._over is None else ():
                instance, side = self.instances[row], sides[column]
                yield Task(
                    configuration=side,
                    instance=instance,
                    number=0,
                    # Seeds of its own for each configuration: pairs are independent.
                    seed=self._campaign.scenario.run_seed(instance.name, 0, side.name),
                )

    def _take(self, finished: list[Finished]) -> None:
        """Take in recorded runs."""
        for run in finished:
            cell = self._rows[run.task.instance.name], self._columns[run.task.configuration.name]
            self._costs[cell], status = self._campaign.scenario.metric.charged(run.outcome)
            self._failed[cell] = status != Status.SOLVED
            self.tally.count(run.outcome.wall, run.outcome.cpu)

    def _look(self, purse: Purse, complete: bool) -> None:
        """Look at the units that are complete, in their order, and decide whether to stop."""
        before = self._complete
        for unit in self._units[before:]:
            costs, failed = self._costs[unit], self._failed[unit]
            if np.isnan(costs).any():
                break
            *candidates, default = (
                Runs(costs=costs[:, [column]], failed=failed[:, [column]])
                for column in self._columns.values()
            )
            for decider, candidate in zip(self._deciders, candidates, strict=True):
                decider.add(candidate, default)
            self._complete += 1
            if self._decided is None and all(decider.decided for decider in self._deciders):
                self._decided = self._complete
        if complete or self._over is not None:
            return
        if self._decided is not None:
            self._over = "decided"
        elif self._complete > before and self._complete >= self._forecast_at:
            self._forecast_at = self._complete + max(1, self._complete // OFTEN)
            self._give_up(purse)

    def _give_up(self, purse: Purse) -> None:
        """Stop where no undecided candidate has a chance with what is left."""
        more, last = self._reach(purse) - self._complete, self._last_stop()
        if not more:
            return
        if last.get("why") == "forecast" and self._reach(purse) <= last["reach"]:
            # Given up before, and nothing was added: runs that ended later change nothing.
            chance = last["chance"]
        else:
            seed = self._campaign.scenario.seed
            chance = max(one.chance(more, seed) for one in self._deciders if not one.decided)
        if chance < HOPELESS:
            self._over, self._chance = "forecast", chance

    def _reach(self, purse: Purse) -> int:
        """How many units the purse and the instances allow in all."""
        rest = self._units[self._complete :]
        missing = np.cumsum([int(np.isnan(self._costs[unit]).sum()) for unit in rest])
        return self._complete + int((missing <= purse.left()).sum())

    def _progress(self) -> dict[str, Any]:
        """The fields of `Progress` about the first candidate."""
        interval = self._deciders[0].progress()
        done = sum(map(len, self._units[: self._complete]))
        return {**interval, "instances": done} if interval else {}
