"""The winner of a search and its default on instances the search never saw, until the comparison is
decided.

Both run on the same instances, each with seeds of its own, in S* order: round by round, instance by
instance, where families are sampled family by family, until `truecost.race.stopping` says to stop.

Decisions depend on the runs in their order and on nothing else. A killed validation takes the same
path again, and one that ran out of budget may continue with a larger one.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np

from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Execution, Progress
from truecost.campaigns.doubts import doubts
from truecost.campaigns.recorded import recorded_cell, recorded_costs
from truecost.campaigns.terms import (
    Entry,
    Families,
    Request,
    begun_with,
    check_terms,
    entry_of,
    in_order,
    terms_for,
    training_runs,
)
from truecost.errors import InputError
from truecost.journal import searchlog, validationlog
from truecost.journal.design import RunDesign
from truecost.journal.searchlog import Cell, Recorded
from truecost.journal.table import RunTable
from truecost.journal.validationlog import Stop, Terms
from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment
from truecost.judge.question import NonInferiority, Primary
from truecost.matrix import CostMatrix
from truecost.matrix.families import FAMILY
from truecost.matrix.imported import Import
from truecost.running.pools.task import Finished, Task
from truecost.running.scenario import Scenario
from truecost.runs import Instance, Status, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """The result of a validation.

    Attributes
    ----------
    entry
        Who, against whom, on what.
    assessment
        What can be claimed: about the log, with these runs as its test runs.
    stop
        Where and why it ended.
    runs, cpu, spent
        Runs in all and their CPU seconds; what of the budget they took.
    notes
        Reasons for doubt, each in a sentence.
    """

    scenario: str
    entry: Entry
    assessment: Assessment
    stop: Stop
    runs: int
    cpu: float
    spent: float
    notes: tuple[str, ...]

    @property
    def shown(self) -> bool:
        """Whether the winner is shown to be better than the default; with a margin, whether it is
        shown to be at most the margin worse.
        """
        answer = self.assessment.beside.non_inferiority
        if answer is None:
            return self.assessment.better
        return isinstance(answer, NonInferiority) and answer.shown


def validate(
    log: Import | CostMatrix,
    scenario: Scenario,
    journal: str | os.PathLike[str],
    *,
    instances: str | Sequence[Instance] | None = None,
    configuration: str | None = None,
    default: str | None = None,
    budget: str | Budget | None = None,
    runs: int | None = None,
    delta: float = 0.05,
    primary: Primary | None = None,
    margin: str | None = None,
    sampled: Literal["instance", "family"] | None = None,
    about: Literal["new", "these"] | None = None,
    population: int | None = None,
    families: Families | None = None,
    **execution: Unpack[Execution],
) -> Validated:
    """Run the winner and the default on instances the log has no runs on, until the comparison is
    decided.

    Parameters
    ----------
    log
        Where winner, default and their parameters come from: what `import_runs` returned.
    scenario
        How they are run. Its metric says what a run costs, and must be the log's.
    journal
        Where runs are kept. An unfinished validation continues; a finished one is just reported
        again.
    instances
        A pattern of files from here; instances themselves; None takes those of the scenario. What
        the log has runs on is left out.
    configuration, default
        Their names in the log, where not what it says. The scenario's default where it says
        nothing.
    budget
        `"2h"`, `"500runs"`; None takes the last one.
    runs
        Most runs of each on an instance: by default 5, and fewer where the budget does not allow
        it.
    delta, primary
        As in `assess`.
    margin
        `"5%"` or `"0.1"`: stop when it is shown that the winner costs at most this much more than
        the default.
    sampled, about, population
        What statements are about. Family: whole families in random order, all given instances of
        each; families that were trained on are left out. About these: the expected cost over seeds
        on this benchmark of `population` instances, all given ones by default; one look, at the
        number of runs that the budget fixes.
    families
        The family of each instance, as in `import_runs`, where log and scenario do not say.
    execution
        As in `gather`.

    Examples
    --------
    >>> scenario = tc.Scenario.read("scenario.toml")
    >>> tc.gather(scenario, "runs.db", configurations=3, instances=2, runs=2)
    >>> log = tc.import_runs("runs.db")
    >>> new = {"instances": "instances/i [34]*", "budget": "8runs"}
    >>> second = log.matrix.configurations[1]
    >>> tc.validate(log, scenario, "test.db", configuration=second, **new).runs <= 8
    True
    """
    request = Request(
        runs=runs,
        delta=delta,
        primary=primary,
        margin=margin,
        sampled=sampled,
        about=about,
        population=population,
    ).like(begun_with(journal))
    chosen = {"instances": instances, "configuration": configuration, "default": default}
    return _validated(
        log, scenario, journal, budget, request, {**chosen, "families": families}, execution
    )


def _validated(
    log: Import | CostMatrix,
    scenario: Scenario,
    journal: str | os.PathLike[str],
    budget: str | Budget | None,
    request: Request,
    chosen: dict[str, Any],
    execution: Execution,
) -> Validated:
    """Open the journal, agree on the terms and make the runs."""
    asked = Budget.parse(budget) if isinstance(budget, str) else budget
    if asked is not None and asked.unit == "runs" and asked.amount < 2:
        raise InputError(f"expected a `budget` for 2 runs at least, got {asked}.")
    if isinstance(log, CostMatrix):
        log = Import(kind="matrix", matrix=log, trajectory=Trajectory(tool="unknown"))
    entry = entry_of(log, scenario, sampled=request.sampled, about=request.about, **chosen)
    training = training_runs(log, scenario, entry)
    trajectory = replace(log.trajectory, incumbent=entry.winner.name, default=entry.default.name)
    with Campaign(scenario, journal, "validate", **execution) as campaign:
        book = campaign.book
        if asked is None and (before := validationlog.budget_of(book)) is not None:
            asked = Budget(amount=before[0], unit=before[1])
        if asked is None:
            raise InputError(
                "expected a `budget` for a new validation, 2h or 500runs for instance, got none."
            )
        terms = validationlog.terms_of(book)
        entry = replace(entry, instances=in_order(book, entry, terms))
        now = terms_for(scenario, entry, asked, request)
        if terms is None:
            terms = replace(now, workers=campaign.pool.workers)
            validationlog.agree(book, terms, training, trajectory)
        check_terms(book, terms, now, request)
        validationlog.note_budget(book, asked.amount, asked.unit)
        return _run(campaign, entry, terms, asked)


def _run(campaign: Campaign, entry: Entry, terms: Terms, budget: Budget) -> Validated:
    """Make the runs until it may stop, and judge them."""
    scenario, book = campaign.scenario, campaign.book
    if terms.about == "these":
        entry = replace(entry, instances=entry.instances[: terms.planned])
    design = RunDesign(
        configurations=(entry.winner.configuration, entry.default.configuration),
        instances=entry.instances,
        runs=terms.runs,
    )
    book.begin(design, scenario.metric)
    watch = _Watch(campaign, design, terms, budget)
    if watch.stop is None:
        campaign.make(watch.tasks(), watch.take)
        campaign.refuse_failures()
    assert watch.stop is not None  # noqa: S101 - tasks end only so
    validationlog.note_stop(book, watch.stop)
    table = book.table()
    return Validated(
        scenario=scenario.name,
        entry=entry,
        assessment=assess(validationlog.import_of(book), delta=terms.delta),
        stop=watch.stop,
        runs=watch.done,
        cpu=watch.cpu,
        spent=watch.spent(watch.stop.runs // 2),
        notes=(*_crashes(table), *doubts(table, book.machines(), scenario.metric)),
    )


def _crashes(table: RunTable) -> list[str]:
    """A note on runs that crashed and count against whoever made them."""
    crashed = table.status == Status.CRASHED
    names = [table.configurations[place] for place in table.configuration[crashed]]
    if not names:
        return []
    counts = ", ".join(f"{names.count(name):,} of {name}" for name in sorted(set(names)))
    return [f"{len(names):,} of {len(crashed):,} runs crashed and count as failed: {counts}."]


class _Watch:
    """Looks at the runs in their order and decides when to stop; `stop` is None until then."""

    def __init__(self, campaign: Campaign, design: RunDesign, terms: Terms, budget: Budget) -> None:
        scenario, book = campaign.scenario, campaign.book
        self._campaign, self._scenario = campaign, scenario
        self._design, self._terms, self._budget = design, terms, budget
        low, high = scenario.metric.range()
        labels = (
            [instance.extras[FAMILY] for instance in design.instances]
            if terms.sampled == "family"
            else None
        )
        self._rule = validationlog.rule_of(terms, low, high, labels, scenario.seed)
        self._ends = self._rule.ends(len(design.instances))
        self._where = {
            (configuration.name, instance.name): (i, c)
            for c, configuration in enumerate(design.configurations)
            for i, instance in enumerate(design.instances)
        }
        shape = (design.runs, len(design.instances), 2)
        self._costs, self._wall = np.full(shape, np.nan), np.zeros(shape)
        self.stop: Stop | None = None
        self.done, self.cpu, self._pairs = 0, 0.0, 0
        self._enter(searchlog.recorded(book))

    def tasks(self) -> Iterator[Task]:
        """The runs that are not there, in S* order, as long as it goes on."""
        most = self._most()
        for number, instance, configuration in np.argwhere(np.isnan(self._costs)):
            if self.stop is not None or number * self._costs.shape[1] + instance >= most:
                return
            chosen = self._design.instances[instance]
            who = self._design.configurations[configuration]
            # Seeds of its own for each of the two: what is shown speaks of independent runs.
            seed = self._scenario.run_seed(f"{chosen.name} of {who.name}", int(number))
            yield Task(configuration=who, instance=chosen, number=int(number), seed=seed)

    def take(self, finished: list[Finished]) -> None:
        """Take in runs that are written down."""
        self._enter({recorded_cell(run.task): Recorded.of(run.outcome) for run in finished})
        if self._campaign.watched:
            state = self._rule.state(self._costs, self._pairs)
            self._campaign.report(
                Progress(
                    phase="validation",
                    spent=self.spent(self._pairs),
                    budget=self._budget,
                    runs=self.done,
                    cpu=self.cpu,
                    workers=self._campaign.pool.workers,
                    instances=min(self._pairs, self._costs.shape[1]),
                    estimate=state.observed,
                    interval=(state.lower, state.upper),
                    quantity=self._rule.quantity.name,
                )
            )

    def spent(self, pairs: int) -> float:
        """What a number of pairs of runs took, in the unit of the budget."""
        if self._budget.unit == "runs":
            return 2.0 * pairs
        return float(self._wall.reshape(-1, 2)[:pairs].sum()) / self._terms.workers

    def _enter(self, runs: Mapping[Cell, Recorded]) -> None:
        """Take in runs, and look at the pairs that are complete."""
        costs = recorded_costs(self._scenario.metric, list(runs.values())).tolist()
        for ((name, instance, number), run), cost in zip(runs.items(), costs, strict=True):
            self.done, self.cpu = self.done + (not math.isnan(cost)), self.cpu + run.cpu
            if (name, instance) in self._where and number < self._design.runs:
                i, c = self._where[name, instance]
                self._costs[number, i, c], self._wall[number, i, c] = cost, run.wall
        self._look()

    def _most(self) -> int:
        """How many pairs a budget of runs pays for."""
        # Up to a place where it may stop: more would be run for nothing.
        pairs = self._budget.amount // 2 if self._budget.unit == "runs" else math.inf
        return int(self._ends[self._ends <= pairs].max(initial=0))

    def _look(self) -> None:
        """Go through the pairs that are complete and not looked at yet."""
        complete = ~np.isnan(self._costs).any(axis=2).ravel()
        prefix = int(np.argmin(np.append(complete, False)))
        while self.stop is None and self._pairs < prefix:
            self._pairs += 1
            ended = self._rule.decide(self._costs, self._pairs, self._left(self._pairs))
            if ended is not None:
                self.stop = Stop(
                    runs=2 * self._pairs,
                    instances=min(self._pairs, self._costs.shape[1]),
                    why=ended.why,
                    chance=ended.chance,
                    budget=self._budget.amount,
                    unit=self._budget.unit,
                )

    def _left(self, pairs: int) -> int:
        """How many more pairs the budget allows, by what those so far took."""
        if self._budget.unit == "runs":
            return self._most() - pairs
        # Runs that take no time do not limit how many follow.
        price = self.spent(pairs) / pairs
        return int(min(self._budget.amount / price - pairs, 1e9)) if price else 10**9
