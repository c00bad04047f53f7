"""The winner of a search and its default on instances the search never saw, until what is to be
shown is shown.

Both run on the same instances, each with seeds of its own, in S* order: round by round, instance by
instance. After every instance the statement that decides is looked at, by limits that hold at all
times, so that one may stop as soon as it is shown, or shown false, and it stays as sure as it says.
It also stops where the budget is spent, where instances are used up, and where the rest of the
budget hardly has a chance to show it any more: the last is a forecast.

What is decided rests on the runs in their order and on nothing else. A validation that was killed
goes the same way again, and one that stopped for want of budget may go on with a larger one.
"""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Execution, Progress
from truecost.campaigns.doubts import doubts
from truecost.campaigns.entry import Entry, entry_of
from truecost.errors import InputError
from truecost.journal import validationlog
from truecost.journal.journal import Journal, RunDesign, refuse_changes
from truecost.journal.table import RunTable
from truecost.journal.validationlog import Stop, Terms
from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment
from truecost.judge.question import Primary
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.race.stopping import StoppingRule
from truecost.running.pools.task import Finished, Task
from truecost.running.scenario import Scenario
from truecost.runs import NO_SEED, NO_STATUS, Instance, Status, Trajectory

# Most runs of each on an instance, where nobody says and the budget allows more than one.
RUNS = 5
# For so many instances, at most, limits are planned where the budget is one of time; more may come.
PLANNED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """What a validation came to.

    Attributes
    ----------
    entry
        Who, against whom, on what.
    assessment
        What may be said: of the log, with these runs as its test runs.
    stop
        Where and why it ended.
    runs, cpu, spent
        Runs in all and their CPU seconds; what of the budget they took.
    notes
        What should make one doubt, each in a sentence.
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
        """Whether the winner is shown to be better than the default."""
        return self.assessment.better


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
    **execution: Unpack[Execution],
) -> Validated:
    """Run the winner and the default on instances the log knows nothing of, until what is to be
    shown is shown.

    Parameters
    ----------
    log
        Where winner, default and their parameters come from: what `import_runs` found.
    scenario
        How they are run. Its metric says what a run costs, and must be the log's.
    journal
        Where runs are kept. A validation that is there goes on; one that is finished is only told
        again.
    instances
        A pattern of files from here; instances themselves; None takes those of the scenario. What
        the log has runs on is left out.
    configuration, default
        Their names in the log, where not what it says. The scenario's default where it says
        nothing.
    budget
        `"2h"`, `"500runs"`; None goes on with the last one.
    runs
        Most runs of each on an instance: by default 5, and fewer where the budget does not reach so
        far.
    delta, primary
        As in `assess`.
    execution
        As in `gather`.
    """
    if not 0 < delta < 1:
        raise InputError(f"expected delta between 0 and 1, got {delta:g}.")
    if primary not in (None, "mean", "wins"):
        raise InputError(f"expected `primary` to be mean or wins, got {primary!r}.")
    if runs is not None and runs < 1:
        raise InputError(f"expected at least 1 of `runs` on an instance, got {runs}.")
    read = (
        log if isinstance(log, Import) else Import(kind="matrix", matrix=log, trajectory=_UNKNOWN)
    )
    entry = entry_of(
        read, scenario, instances=instances, configuration=configuration, default=default
    )
    asked = Budget.parse(budget) if isinstance(budget, str) else budget
    if asked is not None and asked.unit == "runs" and asked.amount < 2:
        raise InputError(f"expected a `budget` for 2 runs at least, got {asked}.")
    training = _training(read, scenario, entry)
    with Campaign(scenario, journal, "validate", **execution) as campaign:
        book = campaign.book
        last = validationlog.stop_of(book)
        if asked is None and last is not None:
            asked = Budget(amount=last.budget, unit=last.unit)
        if asked is None:
            raise InputError(
                "expected a `budget` for a new validation, 2h or 500runs for instance, got none."
            )
        entry = replace(entry, instances=_in_order(book, entry))
        terms = validationlog.terms_of(book)
        if terms is None:
            workers = campaign.pool.workers
            terms = _terms(scenario, entry, asked, runs, delta, primary, workers)
            trajectory = replace(
                read.trajectory, incumbent=entry.winner.name, default=entry.default.name
            )
            validationlog.agree(book, terms, training, trajectory)
        _check_terms(book, terms, scenario, entry, runs, delta, primary)
        design = RunDesign(
            configurations=(entry.winner.configuration, entry.default.configuration),
            instances=entry.instances,
            runs=terms.runs,
        )
        book.begin(design, scenario.metric)
        watch = _Watch(campaign, design, terms, asked)
        if watch.stop is None:
            campaign.make(watch.tasks(), watch.take)
            campaign.refuse_failures()
        assert watch.stop is not None  # noqa: S101 - tasks end only so
        validationlog.note_stop(book, watch.stop)
        return Validated(
            scenario=scenario.name,
            entry=entry,
            assessment=assess(validationlog.import_of(book), delta=delta),
            stop=watch.stop,
            runs=watch.done,
            cpu=watch.cpu,
            spent=watch.spent(watch.stop.runs // 2),
            notes=(
                *_crashes(book.table()),
                *doubts(book.table(), book.machines(), scenario.metric),
            ),
        )


def _crashes(table: RunTable) -> list[str]:
    """A note on runs that crashed and count against whoever made them."""
    crashed = table.status == Status.CRASHED
    names = [table.configurations[place] for place in table.configuration[crashed]]
    if not names:
        return []
    counts = ", ".join(f"{names.count(name):,} of {name}" for name in sorted(set(names)))
    return [f"{len(names):,} of {len(crashed):,} runs crashed and count as failed: {counts}."]


def _training(log: Import, scenario: Scenario, entry: Entry) -> CostMatrix:
    """The log's runs with the range of the scenario's metric; a row without runs for a default that
    has none.
    """
    matrix, (low, high) = log.matrix, scenario.metric.range()
    seen = matrix.costs[~np.isnan(matrix.costs)]
    known = math.isfinite(matrix.width) and (matrix.low, matrix.high) != (low, high)
    utility = None if scenario.metric.kind != "utility" else str(scenario.metric.worth())
    if matrix.utility not in (None, utility):
        raise InputError(
            f"{scenario.path}: expected the metric of the log, whose costs are 1 − utility ({matrix.utility}), got another: "
            "change [metric]."
        )
    if known or (seen < low).any() or (seen > high).any():
        raise InputError(
            f"{scenario.path}: expected the metric of the log, whose costs are {seen.min():g} to {seen.max():g} in "
            f"[{matrix.low:g}, {matrix.high:g}], got one with costs in [{low:g}, {high:g}]: change [metric], or say what "
            "the log's costs are (`low`, `high`, `cutoff`, `par`)."
        )
    new = [
        each.name
        for each in (entry.winner, entry.default)
        if each.name not in matrix.configurations
    ]

    def padded(values: NDArray[Any] | None, missing: float) -> NDArray[Any] | None:
        more = ((0, len(new)), (0, 0), (0, 0))
        return None if values is None else np.pad(values, more, constant_values=missing)

    return matrix.replace(
        costs=padded(matrix.costs, np.nan),
        configurations=[*matrix.configurations, *new],
        low=low,
        high=high,
        statuses=padded(matrix.statuses, NO_STATUS),
        seeds=padded(matrix.seeds, NO_SEED),
        utility=utility,
    )


def _in_order(book: Journal, entry: Entry) -> tuple[Instance, ...]:
    """The instances in the order in which they were used before, new ones last."""
    named = {each.name: each for each in entry.instances}
    before = book.order()
    if missing := [name for name in before if name not in named]:
        raise InputError(
            f"{book.path}: expected the instances the validation was begun with, and {missing[0]!r} is not there."
        )
    return (*(named.pop(name) for name in before), *named.values())


def _terms(
    scenario: Scenario,
    entry: Entry,
    budget: Budget,
    runs: int | None,
    delta: float,
    primary: Primary | None,
    workers: int,
) -> Terms:
    if runs is None:
        # Looks at rounds that the budget never reaches would cost a part of delta for nothing.
        rounds = budget.amount / (2 * len(entry.instances)) if budget.unit == "runs" else math.inf
        runs = int(min(RUNS, max(1, rounds))) if not scenario.endless else 1
    # Nobody knows yet how many a budget of time is good for.
    planned = int(budget.amount // 2) if budget.unit == "runs" else PLANNED
    known = bool(np.isfinite(scenario.metric.range()).all())
    if primary == "mean" and not known:
        raise InputError(
            "expected low and high in [metric], which a limit of the mean needs, or wins as `primary`."
        )
    return Terms(
        winner=entry.winner.configuration.name,
        default=entry.default.configuration.name,
        names={each.configuration.name: each.name for each in (entry.winner, entry.default)},
        runs=runs,
        planned=max(1, min(len(entry.instances), planned)),
        delta=delta,
        primary=primary or ("mean" if known else "wins"),
        workers=workers,
        metric=scenario.metric.model_dump_json(),
        used=entry.used,
    )


def _check_terms(
    book: Journal,
    terms: Terms,
    scenario: Scenario,
    entry: Entry,
    runs: int | None,
    delta: float,
    primary: Primary | None,
) -> None:
    """Whether what is asked for is what was fixed before the first run."""
    given = [
        ("the winner", entry.winner.configuration.name, terms.winner),
        ("the default", entry.default.configuration.name, terms.default),
        ("runs on an instance:", runs, terms.runs),
        ("delta", delta, terms.delta),
        ("what decides:", primary, terms.primary),
        ("the metric", scenario.metric.model_dump_json(), terms.metric),
    ]
    refuse_changes(book, "validation", given, "it must not be changed once costs were seen")


class _Watch:
    """Looks at the runs in their order, and says when to stop; `stop` is None as long as it goes
    on.
    """

    def __init__(self, campaign: Campaign, design: RunDesign, terms: Terms, budget: Budget) -> None:
        scenario, book = campaign.scenario, campaign.book
        self._campaign, self._scenario = campaign, scenario
        self._design, self._terms, self._budget = design, terms, budget
        low, high = scenario.metric.range()
        self._rule = StoppingRule(
            rounds=design.runs,
            planned=terms.planned,
            delta=terms.delta,
            primary=terms.primary,
            low=low,
            high=high,
            seed=scenario.seed,
        )
        self._where = {
            (configuration.name, instance.name): (i, c)
            for c, configuration in enumerate(design.configurations)
            for i, instance in enumerate(design.instances)
        }
        shape = (design.runs, len(design.instances), 2)
        self._costs, self._wall = np.full(shape, np.nan), np.zeros(shape)
        self.stop: Stop | None = None
        self.done, self.cpu, self._pairs = 0, 0.0, 0
        table = book.table()
        costs, _ = scenario.metric.charge(
            table.status, table.cpu, table.wall, table.time, table.value
        )
        for place, cost in enumerate(costs.tolist()):
            name, instance = (
                table.configurations[table.configuration[place]],
                table.instances[table.instance[place]],
            )
            cell = (name, instance, int(table.number[place]))
            self._enter(*cell, cost, float(table.wall[place]), float(table.cpu[place]))
        self._look()

    def tasks(self) -> Iterator[Task]:
        """The runs that are not there, in S* order, as long as it goes on."""
        most = self._most()
        for number, instance, configuration in np.argwhere(np.isnan(self._costs)):
            if self.stop is not None or number * self._costs.shape[1] + instance >= most:
                return
            chosen, who = (
                self._design.instances[instance],
                self._design.configurations[configuration],
            )
            # Seeds of its own for each of the two: what is shown speaks of independent runs.
            seed = self._scenario.run_seed(f"{chosen.name} of {who.name}", int(number))
            yield Task(configuration=who, instance=chosen, number=int(number), seed=seed)

    def take(self, finished: list[Finished]) -> None:
        """Take in runs that are written down."""
        for each in finished:
            outcome = each.outcome
            columns = [
                [np.nan if value is None else value] for value in (outcome.time, outcome.value)
            ]
            costs, _ = self._scenario.metric.charge(
                np.array([outcome.status], dtype=np.int8),
                *map(np.array, ([outcome.cpu], [outcome.wall], *columns)),
            )
            cell = (each.task.configuration.name, each.task.instance.name, each.task.number)
            self._enter(*cell, float(costs[0]), outcome.wall, outcome.cpu)
        self._look()
        if self._campaign.watched and self._pairs:
            share = float(self._rule.goal(self._costs, self._pairs).values.mean())
            low, high = self._scenario.metric.range()
            lead = share if self._terms.primary == "wins" else (1 - 2 * share) * (high - low)
            self._campaign.report(
                Progress(
                    phase="validation",
                    spent=self.spent(self._pairs),
                    budget=self._budget,
                    runs=self.done,
                    cpu=self.cpu,
                    workers=self._campaign.pool.workers,
                    instances=min(self._pairs, self._costs.shape[1]),
                    estimate=lead,
                    primary=self._terms.primary,
                )
            )

    def spent(self, pairs: int) -> float:
        """What so many pairs of runs took, in the unit of the budget."""
        if self._budget.unit == "runs":
            return 2.0 * pairs
        return float(self._wall.reshape(-1, 2)[:pairs].sum()) / self._terms.workers

    def _enter(
        self, name: str, instance: str, number: int, cost: float, wall: float, cpu: float
    ) -> None:
        self.done, self.cpu = self.done + (not math.isnan(cost)), self.cpu + cpu
        if (name, instance) in self._where and number < self._design.runs:
            i, c = self._where[name, instance]
            self._costs[number, i, c], self._wall[number, i, c] = cost, wall

    def _most(self) -> int:
        """No more pairs than this with a budget of runs."""
        total = self._design.runs * self._costs.shape[1]
        return min(total, int(self._budget.amount // 2)) if self._budget.unit == "runs" else total

    def _look(self) -> None:
        """Go through the pairs that are complete and not looked at yet."""
        there = ~np.isnan(self._costs).any(axis=2).ravel()
        complete = int(np.argmin(np.append(there, False)))
        while self.stop is None and self._pairs < complete:
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
        each = self.spent(pairs) / pairs
        return int(min(self._budget.amount / each - pairs, 1e9)) if each else 10**9


_UNKNOWN = Trajectory(tool="unknown")
