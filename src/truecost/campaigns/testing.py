"""A test: candidates and the default on fresh instances, one run each per instance, in one recorded
random order, until the question is decided.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.campaigns.budget import Purse
from truecost.campaigns.campaign import Campaign
from truecost.campaigns.deciding import HOPELESS, PILOT, Decider
from truecost.campaigns.fresh import Contestants
from truecost.campaigns.results import Stop
from truecost.errors import InputError, counted
from truecost.journal.journal import FAMILY, Journal
from truecost.journal.logs import MORE, STOP, TEST
from truecost.matrix.log import Plan
from truecost.running.pools import Finished, Task
from truecost.runs import Instance, Outcome, Status
from truecost.space.space import Configuration
from truecost.stats.quantities import Runs, Scale

if TYPE_CHECKING:
    from truecost.running.metric import Metric

# Limits are planned for at most this many units if the budget is a time; more may follow.
PLANNED = 100
# The shares of δ in a search: of its first test, and of all further ones together.
FIRST, FURTHER = 0.9, 0.1
# A forecast after every tenth part of the units so far.
OFTEN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is fixed before the first run of a test: who, where (in the recorded order) and how."""

    contestants: Contestants
    instances: tuple[Instance, ...]
    plan: Plan

    @property
    def units(self) -> list[list[int]]:
        """The places of the instances of each unit, in order."""
        return units_of(self.instances, self.plan.sampled)


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
        group = groups[place]
        order += [by_name[group[inner]] for inner in rng.permutation(len(group))]
    return order


def units_of(instances: Sequence[Instance], sampled: str) -> list[list[int]]:
    """The places of the instances of each unit, in order."""
    if sampled != "family":
        return [[place] for place in range(len(instances))]
    units: dict[str, list[int]] = {}
    for place, instance in enumerate(instances):
        units.setdefault(instance.extras[FAMILY], []).append(place)
    return list(units.values())


def planned_units(instances: Sequence[Instance], sampled: str, width: int, purse: Purse) -> int:
    """How many units the purse pays for, `width` runs an instance."""
    units = units_of(instances, sampled)
    if purse.budget.unit != "runs":
        return min(len(units), PLANNED)
    ends = np.cumsum([len(unit) for unit in units]) * width
    left = purse.left()
    if not (ends <= left).any():
        what = "family" if sampled == "family" else "instance"
        raise InputError(
            f"The first {what} takes {ends[0]:,} runs, and the budget has {max(left, 0):,.0f} left."
            f" Give a budget of at least {ends[0]:,} runs."
        )
    return int((ends <= left).sum())


def add_instances(
    campaign: Campaign, new: Sequence[Instance], sampled: str, pattern: str | None
) -> tuple[Instance, ...]:
    """Record new instances behind those of the test, in an order of their own."""
    order = draw_order(new, sampled, (campaign.scenario.seed, campaign.journal.decisions))
    campaign.journal.enter(instances=order)
    names = [instance.name for instance in order]
    campaign.journal.event(MORE, {"instances": names, "pattern": pattern}, commit=True)
    return tuple(order)


def begin_test(campaign: Campaign, terms: Terms, **more: Any) -> None:
    """Record the terms before the first run, with what a later call needs to know."""
    both = terms.contestants.both
    campaign.journal.enter(both, terms.instances)
    names = {one.name: terms.contestants.names.get(one.name, one.name) for one in both}
    data = {**asdict(terms.plan), "default": both[-1].name, "names": names, **more}
    campaign.journal.event(TEST, data, commit=True)


def recorded_contestants(journal: Journal, test: Mapping[str, Any]) -> Contestants:
    """Who is tested, as recorded."""
    values = journal.configurations()

    def recorded(name: str) -> Configuration:
        return Configuration(name=name, values=values[name])

    return Contestants(
        candidates=tuple(map(recorded, test["candidates"])),
        default=recorded(test["default"]),
        names=test["names"],
    )


def recorded_instances(
    journal: Journal, plan: Plan, named: Mapping[str, Instance]
) -> tuple[Instance, ...]:
    """The instances of a test in their order; all must be there, and as they were."""
    if missing := [name for name in plan.order if name not in named]:
        raise InputError(
            f"{journal.path}: instance {missing[0]!r} belongs to this test and is not there. Name "
            "the instances that it began with, and new ones."
        )
    instances = tuple(named[name] for name in plan.order)
    journal.enter(instances=instances)
    return instances


def run_test(campaign: Campaign, terms: Terms, purse: Purse, *, complete: bool = False) -> Stop:
    """Make the runs until the question is decided, hopeless, or the purse is empty.

    `complete`: until all instances are run.
    """
    test = _Test(campaign, terms, purse, complete)
    before = -1
    # A budget of time may pay for more than it seemed while the last runs were under way.
    while test.why is None and campaign.runs != before:
        before = campaign.runs
        campaign.make(test.tasks(), test.take)
    campaign.refuse_failures()
    stop = test.stop
    record = {**asdict(stop), "reach": test.reach() if stop.why == "forecast" else None}
    if [event.data for event in campaign.journal.events(STOP)][-1:] != [record]:
        campaign.journal.event(STOP, record, commit=True)
    return stop


class _Test:
    """The runs of a test as they come in; `why` it ends is None while it goes on."""

    def __init__(self, campaign: Campaign, terms: Terms, purse: Purse, complete: bool) -> None:
        self._campaign, self._instances, self._purse = campaign, terms.instances, purse
        self._all = complete
        self._sides, plan = terms.contestants.both, terms.plan
        self._where = {instance.name: place for place, instance in enumerate(terms.instances)}
        self._side = {side.name: place for place, side in enumerate(self._sides)}
        shape = (len(terms.instances), len(self._sides))
        self._costs, self._failed = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        self._units = terms.units
        candidates = len(terms.contestants.candidates)
        delta = plan.delta * plan.share / candidates
        scale = scale_of_metric(campaign.scenario.metric)
        self._deciders = [
            Decider(scale, plan.primary or "mean", plan.margin, delta, plan.planned)
            for _ in range(candidates)
        ]
        self.why: str | None = None
        self._end = "instances"
        self._chance: float | None = None
        self._decided: int | None = None
        self._complete = self._forecast = 0
        self._recorded()

    @property
    def stop(self) -> Stop:
        """Where it ended."""
        return Stop(
            why=self.why or self._end,
            units=self._complete,
            runs=int(np.isfinite(self._costs).sum()),
            decided=self._decided,
            chance=self._chance,
        )

    def _recorded(self) -> None:
        """Take in the runs of earlier calls."""
        table, metric = self._campaign.journal.table(), self._campaign.scenario.metric
        costs, status = table.charged(metric)
        side = np.array([self._side.get(name, -1) for name in table.configurations], dtype=int)
        place = np.array([self._where.get(name, -1) for name in table.instances], dtype=int)
        if len(table):
            side, place = side[table.configuration], place[table.instance]
            mine = (side >= 0) & (place >= 0) & (table.number == 0)
            self._costs[place[mine], side[mine]] = costs[mine]
            self._failed[place[mine], side[mine]] = status[mine] != Status.SOLVED
        self._look()

    def tasks(self) -> Iterator[Task]:
        """The runs that are missing, unit by unit, while the test goes on and the purse pays."""
        scenario = self._campaign.scenario
        for unit in self._units:
            missing = [(i, s) for i in unit for s in np.flatnonzero(np.isnan(self._costs[i]))]
            if not missing:
                continue
            if self.why is not None:
                return
            if self._purse.left() - self._campaign.out < len(missing):
                self._end = "budget"
                return
            for i, s in missing:
                instance, side = self._instances[i], self._sides[s]
                yield Task(
                    configuration=side,
                    instance=instance,
                    number=0,
                    # Seeds of its own for each configuration: pairs are independent.
                    seed=scenario.run_seed(instance.name, 0, side.name),
                )

    def take(self, finished: list[Finished]) -> None:
        """Take in recorded runs, and look at the units that are complete."""
        metric = self._campaign.scenario.metric
        for run in finished:
            if run.outcome.status == Status.ABORTED:
                continue
            i = self._where[run.task.instance.name]
            s = self._side[run.task.configuration.name]
            self._costs[i, s], self._failed[i, s] = charged(metric, run.outcome)
        self._look()
        self._report()

    def _look(self) -> None:
        """Add the units that are complete, in their order, and decide whether to stop."""
        before = self._complete
        while self._complete < len(self._units):
            unit = self._units[self._complete]
            costs, failed = self._costs[unit], self._failed[unit]
            if np.isnan(costs).any():
                break
            sides = [
                Runs(costs=costs[:, [s]], failed=failed[:, [s]]) for s in range(len(self._sides))
            ]
            for decider, winner in zip(self._deciders, sides[:-1], strict=True):
                decider.add(winner, sides[-1])
            self._complete += 1
            if self._decided is None and all(decider.decided for decider in self._deciders):
                self._decided = self._complete
        if self._all or self.why is not None:
            return
        if self._decided is not None:
            self.why = "decided"
        elif self._complete > before and self._complete >= max(PILOT, self._forecast):
            self._forecast = self._complete + max(1, self._complete // OFTEN)
            self._give_up()

    def reach(self) -> int:
        """How many units the purse and the instances allow in all."""
        rest = self._units[self._complete :]
        missing = np.cumsum([int(np.isnan(self._costs[unit]).sum()) for unit in rest])
        return self._complete + int((missing <= self._purse.left()).sum())

    def _give_up(self) -> None:
        """Stop where no undecided candidate has a chance with what is left."""
        reach = self.reach()
        if reach == self._complete:
            return
        stops = self._campaign.journal.events(STOP)
        last = stops[-1].data if stops else {}
        if last.get("why") == "forecast" and reach <= last["reach"]:
            # Given up before, and nothing was added: runs that ended later change nothing.
            self.why, self._chance = "forecast", last["chance"]
            return
        more, seed = reach - self._complete, self._campaign.scenario.seed
        chance = max(one.chance(more, seed) for one in self._deciders if not one.decided)
        if chance < HOPELESS:
            self.why, self._chance = "forecast", chance

    def _report(self) -> None:
        if self._campaign.watched:
            known = self._deciders[0].progress()
            if known:
                known["instances"] = sum(map(len, self._units[: self._complete]))
            self._campaign.report("validation", self._purse.spent, self._purse.budget, **known)


def charged(metric: "Metric", outcome: Outcome) -> tuple[float, bool]:
    """What a run costs, and whether it failed under the metric's cutoff."""
    numbers = (outcome.cpu, outcome.wall, outcome.time, outcome.value, outcome.cap)
    arrays = (np.array([np.nan if number is None else number]) for number in numbers)
    costs, statuses = metric.costs(np.array([outcome.status], np.int8), *arrays)
    return float(costs[0]), bool(statuses[0] != Status.SOLVED)


def scale_of_metric(metric: "Metric") -> Scale:
    """The range of costs and the penalty."""
    low, high = metric.range()
    cutoff = metric.cutoff if metric.timed else None
    return Scale(low=low, high=high, cutoff=cutoff, par=metric.par)


def check_range(metric: "Metric", primary: str, margin: str | None) -> None:
    """Refuse means of costs without a range, which have no limits."""
    if not np.isfinite(metric.range()).all() and (primary == "mean" or margin is not None):
        raise InputError(
            "A mean can only be proven with a known range of costs. Set low and high under "
            "[metric] in the scenario, or give --primary wins."
        )


def announce(campaign: Campaign, terms: Terms, purse: Purse, *, complete: bool) -> None:
    """Say what is run at most, before the first run; nothing where nothing is left."""
    runs, done = len(terms.instances) * len(terms.contestants.both), campaign.test.runs
    left = max(0, min(runs - done, int(min(purse.left(), runs))))
    if left:
        who = counted(len(terms.contestants.candidates), "candidate")
        where = counted(len(terms.instances), "new instance")
        until = "" if complete else ", until it is decided"
        time = "" if purse.budget.unit == "runs" else f" in {purse.budget}"
        what = counted(left, "more run" if done else "run")
        campaign.announce(f"{who} and the default on {where}{until}: at most {what}{time}.", left)
