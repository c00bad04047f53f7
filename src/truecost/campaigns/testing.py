"""A test: candidates and the default on fresh instances, one run each per instance, in one recorded
random order, until the question is decided.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.campaigns.budget import Budget, Purse
from truecost.campaigns.campaign import Campaign
from truecost.campaigns.deciding import HOPELESS, PILOT, Decider
from truecost.campaigns.results import Stop
from truecost.errors import InputError
from truecost.journal.journal import FAMILY
from truecost.journal.logs import MORE, STOP, TEST
from truecost.running.pools import Finished, Task
from truecost.runs import Instance, Outcome, Status
from truecost.stats.quantities import Runs, Scale

if TYPE_CHECKING:
    from truecost.running.metric import Metric
    from truecost.space.space import Configuration

# Limits are planned for at most this many units if the budget is a time; more may follow.
PLANNED = 100
# A forecast after every tenth part of the units so far.
OFTEN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is fixed before the first run of a test.

    Attributes
    ----------
    candidates, default
        Who is tested, and against whom.
    instances
        In the recorded order; instances that were added later come last.
    planned
        How many units the first plan has.
    share, delta
        The share of δ that belongs to this test, and δ; several candidates divide it.
    primary, margin, sampled
        What decides, and the unit.
    """

    candidates: "tuple[Configuration, ...]"
    default: "Configuration"
    instances: tuple[Instance, ...]
    planned: int
    share: float
    delta: float
    primary: str
    margin: str | None
    sampled: str

    def event(self, **more: Any) -> dict[str, Any]:
        """The terms as they are recorded."""
        return {
            "candidates": [candidate.name for candidate in self.candidates],
            "default": self.default.name,
            "order": [instance.name for instance in self.instances],
            "planned": self.planned,
            "share": self.share,
            "delta": self.delta,
            "primary": self.primary,
            "margin": self.margin,
            "sampled": self.sampled,
            **more,
        }


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
        families = sorted({instance.extras[FAMILY] for instance in by_name})
        groups = [
            [instance for instance in by_name if instance.extras[FAMILY] == family]
            for family in families
        ]
    else:
        groups = [[instance] for instance in by_name]
    order = []
    for place in rng.permutation(len(groups)):
        group = groups[place]
        order += [group[inner] for inner in rng.permutation(len(group))]
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
    campaign: Campaign, terms: Terms, fresh: Sequence[Instance], seed: int
) -> tuple[Instance, ...]:
    """Extend the order of a test with new instances, behind those that are there."""
    known = {instance.name for instance in terms.instances}
    new = [instance for instance in fresh if instance.name not in known]
    if terms.sampled == "family":
        # A family that was used must not grow after its costs were seen.
        used = {instance.extras[FAMILY] for instance in terms.instances}
        new = [instance for instance in new if instance.extras.get(FAMILY) not in used]
    if not new:
        return terms.instances
    order = draw_order(new, terms.sampled, (seed, campaign.journal.decisions))
    campaign.journal.enter(instances=order)
    names = [instance.name for instance in order]
    campaign.journal.event(MORE, {"instances": names}, commit=True)
    return (*terms.instances, *order)


def begin_test(campaign: Campaign, terms: Terms, **more: Any) -> None:
    """Record the terms before the first run."""
    campaign.journal.enter((*terms.candidates, terms.default), terms.instances)
    campaign.journal.event(TEST, terms.event(**more), commit=True)


def run_test(campaign: Campaign, terms: Terms, purse: Purse, *, complete: bool = False) -> Stop:
    """Make the runs until the question is decided, hopeless, or the purse is empty.

    `complete`: until all instances are run.
    """
    test = _Test(campaign, terms, purse, complete)
    before = -1
    # A budget of time may pay for more than it seemed while the last runs were under way.
    while test.stop is None and campaign.runs != before:
        before = campaign.runs
        campaign.make(test.tasks(), test.take)
    campaign.refuse_failures()
    stop = test.stop or Stop(why=test.end, units=test.complete_units)
    record = {
        "why": stop.why,
        "units": stop.units,
        "chance": stop.chance,
        "reach": test.reach() if stop.why == "forecast" else None,
    }
    if [event.data for event in campaign.journal.events(STOP)][-1:] != [record]:
        campaign.journal.event(STOP, record, commit=True)
    return stop


class _Test:
    """The runs of a test as they come in; `stop` is None while it goes on."""

    def __init__(self, campaign: Campaign, terms: Terms, purse: Purse, complete: bool) -> None:
        self._campaign, self._terms, self._purse = campaign, terms, purse
        self._all = complete
        self._sides = (*terms.candidates, terms.default)
        self._where = {instance.name: place for place, instance in enumerate(terms.instances)}
        self._side = {side.name: place for place, side in enumerate(self._sides)}
        shape = (len(terms.instances), len(self._sides))
        self._costs, self._failed = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        self._units = units_of(terms.instances, terms.sampled)
        delta = terms.delta * terms.share / len(terms.candidates)
        scale = scale_of_metric(campaign.scenario.metric)
        self._deciders = [
            Decider(scale, terms.primary, terms.margin, delta, terms.planned)
            for _ in terms.candidates
        ]
        self.stop: Stop | None = None
        self.end = "instances"
        self.complete_units = self._forecast = 0
        self._recorded()

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
            if self.stop is not None:
                return
            if self._purse.left() - self._campaign.out < len(missing):
                self.end = "budget"
                return
            for i, s in missing:
                instance, side = self._terms.instances[i], self._sides[s]
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
        before = self.complete_units
        while self.complete_units < len(self._units):
            unit = self._units[self.complete_units]
            costs, failed = self._costs[unit], self._failed[unit]
            if np.isnan(costs).any():
                break
            default = Runs(costs=costs[:, -1:], failed=failed[:, -1:])
            for place, decider in enumerate(self._deciders):
                winner = Runs(
                    costs=costs[:, place : place + 1], failed=failed[:, place : place + 1]
                )
                decider.add(winner, default)
            self.complete_units += 1
            decided = all(decider.decided for decider in self._deciders)
            if decided and self.stop is None and not self._all:
                self.stop = Stop(why="decided", units=self.complete_units)
        due = self.complete_units > before and self.complete_units >= max(PILOT, self._forecast)
        if due and self.stop is None and not self._all:
            self._forecast = self.complete_units + max(1, self.complete_units // OFTEN)
            self._give_up()

    def reach(self) -> int:
        """How many units the purse and the instances allow in all."""
        rest = self._units[self.complete_units :]
        missing = np.cumsum([int(np.isnan(self._costs[unit]).sum()) for unit in rest])
        return self.complete_units + int((missing <= self._purse.left()).sum())

    def _give_up(self) -> None:
        """Stop where no undecided candidate has a chance with what is left."""
        reach = self.reach()
        if reach == self.complete_units:
            return
        stops = self._campaign.journal.events(STOP)
        last = stops[-1].data if stops else {}
        if last.get("why") == "forecast" and reach <= last["reach"]:
            # Given up before, and nothing was added: runs that ended later change nothing.
            self.stop = Stop(why="forecast", units=last["units"], chance=last["chance"])
            return
        more, seed = reach - self.complete_units, self._campaign.scenario.seed
        chance = max(one.chance(more, seed) for one in self._deciders if not one.decided)
        if chance < HOPELESS:
            self.stop = Stop(why="forecast", units=self.complete_units, chance=chance)

    def _report(self) -> None:
        state = self._deciders[0].state
        if not self._campaign.watched:
            return
        known: dict[str, Any] = {}
        if state is not None:
            known = {
                "instances": sum(map(len, self._units[: self.complete_units])),
                "estimate": state.observed,
                "interval": (state.lower, state.upper),
                "quantity": state.quantity,
            }
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


def whole_budget(instances: Sequence[Instance], width: int) -> Budget:
    """What all instances take."""
    return Budget(amount=float(max(1, len(instances) * width)), unit="runs")
