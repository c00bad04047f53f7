"""A test: candidates and the default on fresh instances, one run each per instance, in one recorded
random order, until the question is decided.

`begin_test` records its terms before its first run, `add_instances` what is added to it later.
`Test` makes the runs: it rebuilds its state from the journal, so each call continues.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.campaigns.budget import Purse, Tally
from truecost.campaigns.campaign import Campaign
from truecost.campaigns.configurations import Contestants
from truecost.campaigns.deciding import HOPELESS, PILOT, Decider
from truecost.campaigns.instances import Pattern, draw_order, units_of
from truecost.campaigns.results import Stop
from truecost.errors import InputError
from truecost.journal.logs import MORE, STOP, TEST, last_stop, recorded_plan
from truecost.matrix.log import Plan
from truecost.running.pools import Finished, Task
from truecost.runs import Instance, Status
from truecost.space.space import Configuration
from truecost.stats.quantities import Runs, Scale

if TYPE_CHECKING:
    from truecost.judge.question import Question
    from truecost.running.scenario import Scenario

# Limits are planned for at most this many units if the budget is a time; more may follow.
PLANNED = 100
# The shares of δ in a search: of its first test, and of all further ones together.
FIRST, FURTHER = 0.9, 0.1
# A forecast after every tenth part of the units so far.
OFTEN = 10
# The fields of a question that a test fixes.
ASKED = ("primary", "margin", "sampled", "delta")


def share_of(tests: int) -> float:
    """The share of δ of the next test of a search, after this number of tests."""
    return FIRST if tests == 0 else FURTHER / 2**tests


def settings_of(scenario: "Scenario", question: "Question") -> dict[str, Any]:
    """What a journal with a test fixes; the range of costs may be widened (see `Journal.write`)."""
    low, high = scenario.metric.range()
    if question.margin is not None and low < 0:
        raise InputError(
            "A margin in per cent needs costs that cannot be negative. Set low = 0 under [metric] "
            f"in {scenario.path}, or leave out --margin."
        )
    if (question.primary == "mean" or question.margin) and not np.isfinite([low, high]).all():
        raise InputError(
            "A mean can only be proven with a known range of costs. Set low and high under "
            f"[metric] in {scenario.path}, or give --primary wins, without --margin."
        )
    metric = scenario.metric.model_dump(mode="json", exclude={"low", "high"})
    return {"metric": metric, **{name: getattr(question, name) for name in ASKED}}


def begin_test(
    campaign: Campaign,
    contestants: Contestants,
    instances: Sequence[Instance],
    question: "Question",
    purse: Purse,
    *,
    used: Mapping[str, str | None],
    pattern: Pattern | None = None,
) -> dict[str, Any]:
    """Record a test on these instances, in their order, before its first run.

    A later call needs to know which instances are `used` and of which family, and the `pattern` of
    files that named the new ones.
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
    data = {
        **asdict(plan),
        "default": contestants.default.name,
        "names": dict(contestants.names),
        "used": dict(used),
        "pattern": pattern,
    }
    journal.event(TEST, data, commit=True)
    return data


def add_instances(
    campaign: Campaign, new: Sequence[Instance], sampled: str, pattern: Pattern | None
) -> None:
    """Record new instances after those of the test, in an order of their own."""
    order = draw_order(new, sampled, (campaign.scenario.seed, campaign.journal.decisions))
    campaign.journal.enter(instances=order)
    names = [instance.name for instance in order]
    campaign.journal.event(MORE, {"instances": names, "pattern": pattern}, commit=True)


class Test:
    """A recorded test and its runs, also on instances that were added later.

    `missing` are instances that are not at hand; no unit with one that was not run yet is run, and
    none after it.
    """

    def __init__(
        self, campaign: Campaign, data: Mapping[str, Any], at_hand: Mapping[str, Instance]
    ) -> None:
        self._campaign, journal, metric = campaign, campaign.journal, campaign.scenario.metric
        plan, values = recorded_plan(journal, data), journal.configurations()
        self.missing = [name for name in plan.order if name not in at_hand]
        journal.enter(instances=[at_hand[name] for name in plan.order if name in at_hand])
        extras = journal.instances()
        # In the recorded order.
        self.instances = [
            at_hand.get(name) or Instance(name=name, argument="", extras=extras[name])
            for name in plan.order
        ]
        *candidates, default = (
            Configuration(name=name, values=values[name])
            for name in (*data["candidates"], data["default"])
        )
        self.contestants = Contestants(
            candidates=tuple(candidates), default=default, names=data["names"]
        )
        low, high = metric.range()
        cutoff = metric.cutoff if metric.timed else None
        scale = Scale(low=low, high=high, cutoff=cutoff, par=metric.par)
        delta = plan.delta * plan.share / len(candidates)
        self._deciders = [
            Decider(scale, plan.primary or "mean", plan.margin, delta, plan.planned)
            for _ in candidates
        ]
        # The runs of earlier calls: costs and failures by instance and configuration.
        self._rows = {name: row for row, name in enumerate(plan.order)}
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
        lost = np.isnan(self._costs).any(axis=1)
        lost &= [name not in at_hand for name in plan.order]
        units = units_of(self.instances, plan.sampled)
        self._units = list(takewhile(lambda unit: not lost[unit].any(), units))
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
        stop = Stop(
            why=self._over or ("budget" if self._complete < len(self._units) else "instances"),
            units=self._complete,
            runs=self.tally.runs,
            decided=self._decided,
            chance=self._chance,
        )
        reach = self._reach(purse) if stop.why == "forecast" else None
        record = {**asdict(stop), "reach": reach, "candidates": self._candidates}
        if record != last_stop(campaign.journal, self._candidates):
            campaign.journal.event(STOP, record, commit=True)
        return stop

    @property
    def _candidates(self) -> list[str]:
        return [candidate.name for candidate in self.contestants.candidates]

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
        reach, last = self._reach(purse), last_stop(self._campaign.journal, self._candidates)
        more = reach - self._complete
        if not more:
            return
        if last is not None and last["why"] == "forecast" and reach <= last["reach"]:
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
