"""The winner of a search and its default on instances the search never saw, until the comparison is
decided.

Both run on the same instances, each with seeds of its own, in S* order: round by round, instance by
instance, where families are sampled family by family. After every unit the statement that decides
is looked at, by limits that hold at all times; so it may stop as soon as the statement is shown, or
shown false. It also stops where the budget is spent, where instances are used up, and where the
rest of the budget hardly has a chance to show it: the last is a forecast. Statements about these
very instances take one look, after a number of runs that was fixed beforehand.

Decisions depend on the runs in their order and on nothing else. A killed validation takes the same
path again, and one that ran out of budget may continue with a larger one.
"""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Execution, Progress
from truecost.campaigns.doubts import doubts
from truecost.campaigns.entry import Entry, Families, entry_of
from truecost.errors import InputError
from truecost.journal import validationlog
from truecost.journal.journal import Journal, RunDesign, refuse_changes
from truecost.journal.table import RunTable
from truecost.journal.validationlog import Stop, Terms
from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment
from truecost.judge.margin import Margin, NonInferiority
from truecost.judge.question import Primary
from truecost.matrix import CostMatrix
from truecost.matrix.families import FAMILY
from truecost.matrix.imported import Import
from truecost.running.pools.task import Finished, Task
from truecost.running.scenario import Scenario
from truecost.runs import NO_SEED, NO_STATUS, Instance, Status, Trajectory
from truecost.stats.grouping import codes_of

# Most runs of each on an instance, where nobody says and the budget allows more than one.
RUNS = 5
# For so many units, at most, limits are planned where the budget is one of time; more may come.
PLANNED = 100
SCOPES = (("instance", "new"), ("family", "new"), ("instance", "these"))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What decides and what statements are about, as asked for; None is as before, or the usual."""

    runs: int | None
    delta: float
    primary: Primary | None
    margin: str | None
    sampled: str | None
    about: str | None
    population: int | None

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise InputError(f"expected delta between 0 and 1, got {self.delta:g}.")
        if self.primary not in (None, "mean", "wins"):
            raise InputError(f"expected `primary` to be mean or wins, got {self.primary!r}.")
        if self.runs is not None and self.runs < 1:
            raise InputError(f"expected at least 1 of `runs` on an instance, got {self.runs}.")
        if (self.sampled or "instance", self.about or "new") not in SCOPES:
            raise InputError(
                "expected `sampled` and `about` of a validation to be instance and new, family and "
                f"new, or instance and these; got {self.sampled or 'instance'} and "
                f"{self.about or 'new'}."
            )
        if self.population is not None and self.about != "these":
            raise InputError("expected a `population` only with `about` these.")
        if self.margin is not None and self.primary == "wins":
            raise InputError("expected no `margin` with wins as `primary`: it is one of mean cost.")

    def like(self, before: Terms | None) -> "_Request":
        """The same with the scope of a validation that was begun before, where none is asked for."""
        if before is None or (self.sampled, self.about) != (None, None):
            return self
        return replace(self, sampled=before.sampled, about=before.about)


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
    >>> tc.validate(log, scenario, "test.db", configuration=log.matrix.configurations[1], **new).runs <= 8
    True
    """
    asked = Budget.parse(budget) if isinstance(budget, str) else budget
    if asked is not None and asked.unit == "runs" and asked.amount < 2:
        raise InputError(f"expected a `budget` for 2 runs at least, got {asked}.")
    request = _Request(
        runs=runs,
        delta=delta,
        primary=primary,
        margin=margin,
        sampled=sampled,
        about=about,
        population=population,
    ).like(_begun(journal))
    read = (
        log if isinstance(log, Import) else Import(kind="matrix", matrix=log, trajectory=_UNKNOWN)
    )
    entry = entry_of(
        read,
        scenario,
        instances=instances,
        configuration=configuration,
        default=default,
        sampled=request.sampled,
        about=request.about,
        families=families,
    )
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
        terms = validationlog.terms_of(book)
        entry = replace(entry, instances=_in_order(book, entry, terms))
        now = _terms(scenario, entry, asked, request)
        if terms is None:
            terms = replace(now, workers=campaign.pool.workers)
            trajectory = replace(
                read.trajectory, incumbent=entry.winner.name, default=entry.default.name
            )
            validationlog.agree(book, terms, training, trajectory)
        _check_terms(book, terms, now, request)
        if terms.about == "these":
            entry = replace(entry, instances=entry.instances[: terms.planned])
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
        table = book.table()
        return Validated(
            scenario=scenario.name,
            entry=entry,
            assessment=assess(validationlog.import_of(book), delta=delta),
            stop=watch.stop,
            runs=watch.done,
            cpu=watch.cpu,
            spent=watch.spent(watch.stop.runs // 2),
            notes=(*_crashes(table), *doubts(table, book.machines(), scenario.metric)),
        )


def _begun(journal: str | os.PathLike[str]) -> Terms | None:
    """What an earlier call fixed in this journal."""
    if not Path(journal).is_file():
        return None
    with Journal.read(journal) as book:
        return validationlog.terms_of(book) if book.kind == "validate" else None


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
            f"{scenario.path}: expected the metric of the log, whose costs are {seen.min():g} to "
            f"{seen.max():g} in [{matrix.low:g}, {matrix.high:g}], got one with costs in "
            f"[{low:g}, {high:g}]: change [metric] (if validate wrote the file, remove it: it is "
            "written again), or say what the log's costs are (`low`, `high`, `cutoff`, `par`)."
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
        families=matrix.families if entry.trained is None else entry.trained,
    )


def _in_order(book: Journal, entry: Entry, terms: Terms | None) -> tuple[Instance, ...]:
    """The instances in the order in which they were used before, new ones last; of families that
    were used before, none is added.
    """
    named = {each.name: each for each in entry.instances}
    before = book.order()
    if missing := [name for name in before if name not in named]:
        raise InputError(
            f"{book.path}: expected the instances the validation was begun with, and "
            f"{missing[0]!r} is not there."
        )
    known = [named.pop(name) for name in before]
    rest = list(named.values())
    if terms is not None and terms.sampled == "family":
        families = {each.extras[FAMILY] for each in known}
        rest = [each for each in rest if each.extras[FAMILY] not in families]
    return (*known, *rest)


def _terms(scenario: Scenario, entry: Entry, budget: Budget, asked: _Request) -> Terms:
    """What a validation with this request fixes beforehand, but for the number of workers."""
    these, runs, number = asked.about == "these", asked.runs, len(entry.instances)
    if these and (budget.unit != "runs" or scenario.endless):
        raise InputError(
            "expected a list of instances and a `budget` in runs, 400runs for instance: for "
            "statements about these instances the number of runs is fixed beforehand."
        )
    if runs is None:
        # Looks at rounds that the budget never reaches would cost a part of delta for nothing.
        rounds = budget.amount / (2 * number) if budget.unit == "runs" else math.inf
        runs = int(min(RUNS, max(1, rounds))) if not scenario.endless else 1
    # Nobody knows yet how many a budget of time is good for.
    pairs = int(budget.amount // 2) if budget.unit == "runs" else math.inf
    if these:
        pairs = pairs // runs
    units = np.arange(1, number + 1)
    if asked.sampled == "family":
        # Whole families: after how many instances each of them ends.
        codes = codes_of([each.extras[FAMILY] for each in entry.instances])
        units = np.append(np.flatnonzero(np.diff(codes)) + 1, number)
    planned = int((units <= pairs).sum())
    if not planned:
        raise InputError(
            f"expected a `budget` for the {2 * units[0] * (runs if these else 1)} runs of the first "
            f"{'family' if asked.sampled == 'family' else 'instance'} at least, got {budget}."
        )
    return Terms(
        winner=entry.winner.configuration.name,
        default=entry.default.configuration.name,
        names={each.configuration.name: each.name for each in (entry.winner, entry.default)},
        runs=runs,
        planned=planned if budget.unit == "runs" else min(planned, PLANNED),
        delta=asked.delta,
        primary=_primary(scenario, asked),
        workers=1,
        metric=scenario.metric.model_dump_json(),
        used=entry.used,
        margin=asked.margin,
        sampled="family" if asked.sampled == "family" else "instance",
        about="these" if these else "new",
        population=_population(asked.population, number) if these else None,
    )


def _population(given: int | None, instances: int) -> int:
    if given is not None and given < instances:
        raise InputError(
            f"expected a `population` of at least the {instances:,} instances to run on, got {given:,}."
        )
    return given or instances


def _primary(scenario: Scenario, asked: _Request) -> Primary:
    """What decides; refused where the cost range does not allow it."""
    low, high = scenario.metric.range()
    known = bool(np.isfinite([low, high]).all())
    if not known and (asked.primary == "mean" or asked.margin is not None):
        raise InputError(
            "expected low and high in [metric], which a limit of the mean needs, or wins as `primary`."
        )
    if asked.margin is not None:
        margin = Margin.parse(asked.margin)
        if margin.kind == "ratio" and (low < 0 or scenario.metric.kind == "utility"):
            raise InputError(
                "expected a `margin` in units of cost, 0.1 for instance: a share of the default's "
                "cost needs costs from 0."
            )
        if margin.kind == "difference" and margin.value >= high - low:
            raise InputError(
                f"expected a `margin` below {high - low:g}, the range of the cost, got {margin}."
            )
    return asked.primary or ("mean" if known else "wins")


def _check_terms(book: Journal, terms: Terms, now: Terms, asked: _Request) -> None:
    """Whether what is asked for is what was fixed before the first run."""
    names = {
        "winner": "the winner",
        "default": "the default",
        "delta": "delta",
        "metric": "the metric",
        "sampled": "sampled:",
        "about": "about:",
    }
    given = [(what, getattr(now, name), getattr(terms, name)) for name, what in names.items()]
    given += [
        ("runs on an instance:", asked.runs, terms.runs),
        ("what decides:", asked.primary, terms.primary),
        ("the margin", asked.margin, terms.margin),
    ]
    if terms.about == "these":
        # Runs were planned for one look; with more of them there would be a second one.
        given += [
            ("how many instances:", now.planned, terms.planned),
            ("the population", now.population, terms.population),
        ]
    refuse_changes(book, "validation", given, "it must not be changed once costs were seen")


class _Watch:
    """Looks at the runs in their order and decides when to stop; `stop` is None until then."""

    def __init__(self, campaign: Campaign, design: RunDesign, terms: Terms, budget: Budget) -> None:
        scenario, book = campaign.scenario, campaign.book
        self._campaign, self._scenario = campaign, scenario
        self._design, self._terms, self._budget = design, terms, budget
        low, high = scenario.metric.range()
        labels = (
            [each.extras[FAMILY] for each in design.instances]
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
        table = book.table()
        costs, _ = scenario.metric.charge(
            table.status, table.cpu, table.wall, table.time, table.value
        )
        for place, cost in enumerate(costs.tolist()):
            cell = (
                table.configurations[table.configuration[place]],
                table.instances[table.instance[place]],
                int(table.number[place]),
            )
            self._enter(*cell, cost, float(table.wall[place]), float(table.cpu[place]))
        self._look()

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
        """No more pairs than this with a budget of runs: up to a place where it may stop."""
        pairs = self._budget.amount // 2 if self._budget.unit == "runs" else math.inf
        return int(self._ends[self._ends <= pairs].max(initial=0))

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
