"""What gather, configure and validate share: the journal, the pool, progress, and when the first
runs say that the scenario is wrong.

A search uses a `Campaign` like this:

    while purse.left() >= 1:
        campaign.submit(Task(configuration=…, instance=…, number=…, seed=…, cap=…))
        for finished in campaign.wait():    # recorded already
            …
        campaign.journal.event("heat", {…})  # on disk with the next recorded runs

and rebuilds its state from `campaign.journal.events()` and `campaign.journal.table()`.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from truecost.campaigns.budget import Budget, Purse, Tally
from truecost.campaigns.trouble import (
    FIRST_RUNS,
    cost_outside,
    fault,
    none_came_through,
    outside,
    was_aborted,
)
from truecost.errors import InputError
from truecost.journal.journal import UNUSABLE, Journal, Kind, RunTable
from truecost.journal.logs import BUDGET
from truecost.running.pools import Finished, Pool, Task, open_pool
from truecost.runs import Status

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a campaign is.

    `spent` is in the budget's unit; `runs` includes those of earlier calls, `cpu` does not. A
    search fills `configurations`, `incumbent` and `estimate` (its training cost); a validation
    `instances`, `estimate` and `interval` of the `quantity` that decides.
    """

    phase: str
    spent: float
    budget: Budget
    runs: int
    cpu: float
    workers: int
    configurations: int = 0
    instances: int = 0
    incumbent: str | None = None
    estimate: float = float("nan")
    interval: tuple[float, float] = (float("nan"), float("nan"))
    quantity: str = ""
    outcomes: Mapping[Status, int] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        return min(1.0, self.spent / self.budget.amount)


class Execution(TypedDict, total=False):
    """How runs are executed: keywords that gather, configure and validate share.

    Attributes
    ----------
    pool, workers, pin
        A number of workers on this machine (None: one for each free core), the address of a Dask
        scheduler, or any `concurrent.futures.Executor` with its number of `workers`; and whether
        each local worker has a core of its own.
    keep_going
        Whether to go on though the first runs all failed.
    progress, announce
        Called with a `Progress` after every few runs; and, before the first, with a line that says
        what is run.
    """

    pool: Any
    workers: int | None
    pin: bool
    keep_going: bool
    progress: Callable[[Progress], None] | None
    announce: Callable[[str], None] | None


class Campaign:
    """A journal open for writing and a pool, opened when the first run is needed.

    Attributes
    ----------
    scenario, journal
        What is run; where it is recorded. `journal.event(kind, data)` records a decision.
    training, test
        Tallies of recorded runs: on `held_out` instances they are test runs.
    out
        How many submitted runs are unfinished.
    """

    def __init__(
        self,
        scenario: "Scenario",
        journal: str | os.PathLike[str],
        kind: Kind,
        settings: Mapping[str, Any],
        **execution: Unpack[Execution],
    ) -> None:
        self.scenario, self._execution = scenario, execution
        self._keep_going = execution.get("keep_going", False)
        self._stack, self._new = ExitStack(), not os.path.lexists(journal)
        self.journal = self._stack.enter_context(
            Journal.write(journal, scenario, kind, settings, start_over=not self._keep_going)
        )
        self.out, self._made, self._cpu = 0, 0, 0.0
        self._failed: list[Finished] = []
        try:
            table = self.journal.table()
            self._outcomes = Counter(map(Status, table.status.tolist()))
            # Where a run once came through, the scenario is known to be right.
            self._proven = self._keep_going or _came_through(table, scenario)
            self._hold_out(frozenset(), table)
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> "Campaign":
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        # What was refused before anything was begun leaves no empty journal behind.
        blank = error is not None and self._new and self.journal.is_blank
        self._stack.close()
        if blank:
            self.journal.path.unlink(missing_ok=True)

    def hold_out(self, instances: Iterable[str]) -> None:
        """Count runs on these instances as test runs, recorded ones, too."""
        self._hold_out(frozenset(instances), self.journal.table())

    def _hold_out(self, held_out: frozenset[str], table: RunTable) -> None:
        self.held_out = held_out
        test = np.array([name in held_out for name in table.instances], dtype=bool)
        test = test[table.instance] if len(table) else np.zeros(0, dtype=bool)
        self.training, self.test = (
            Tally(
                runs=int(part.sum()),
                wall=float(table.wall[part].sum()),
                cpu=float(table.cpu[part].sum()),
            )
            for part in (~test, test)
        )

    @cached_property
    def pool(self) -> Pool:
        """Where runs are made."""
        execution = self._execution
        return self._stack.enter_context(
            open_pool(
                self.scenario,
                execution.get("pool"),
                workers=execution.get("workers"),
                pin=execution.get("pin", True),
            )
        )

    @property
    def workers(self) -> int:
        """How many runs are made at a time."""
        return self.pool.workers

    @property
    def runs(self) -> int:
        """Recorded runs, those of earlier calls among them."""
        return self.training.runs + self.test.runs

    def submit(self, task: Task) -> None:
        """Have a run made; its configuration and instance must be in the journal."""
        self.pool.submit(task)
        self.out += 1

    def make(self, tasks: Iterable[Task], take: Callable[[list[Finished]], None]) -> None:
        """Have these runs made, two per worker submitted at a time; `take` gets recorded runs.

        `tasks` is asked for the next task only when there is room, so it may depend on what `take`
        learned. When it is exhausted, unfinished runs are waited for.
        """
        waiting = iter(tasks)
        if (first := next(waiting, None)) is None:
            return  # no pool is opened
        waiting = chain([first], waiting)
        while True:
            while self.out < 2 * self.workers and (task := next(waiting, None)) is not None:
                self.submit(task)
            if not self.out:
                return
            take(self.wait())

    def wait(self) -> list[Finished]:
        """The next finished runs, recorded; empty if none is out.

        Raises where the first runs say that the scenario is wrong, or a run was aborted: tasks that
        have not started are cancelled, runs under way are recorded.
        """
        if not self.out:
            return []
        finished = self._recorded()
        for run in finished:
            self._refuse(run)
        return finished

    def _recorded(self) -> list[Finished]:
        finished = self.pool.wait()
        self.out -= len(finished)
        self.journal.add(finished)
        for run in finished:
            outcome = run.outcome
            self._cpu += outcome.cpu
            if outcome.status == Status.ABORTED:
                continue
            self._outcomes[outcome.status] += 1
            tally = self.test if run.task.instance.name in self.held_out else self.training
            tally.count(outcome.wall, outcome.cpu)
        return finished

    def _refuse(self, run: Finished) -> None:
        """Stop the campaign where this run says that something is wrong."""
        scenario, metric = self.scenario, self.scenario.metric
        self._made += 1
        if run.outcome.status == Status.ABORTED:
            self._stop(was_aborted(scenario, run), usable=True)
        # Later on, a night of runs is worth more than the news.
        if self._made <= FIRST_RUNS and not self._keep_going and outside(metric, run.outcome):
            gathered = self.journal.kind == "gather"
            self._stop(cost_outside(scenario, run, gathered), usable=gathered)
        if not self._proven:
            self._proven = fault(metric, run.outcome) is None
            self._failed.append(run)
            if not self._proven and len(self._failed) >= FIRST_RUNS:
                self._stop(none_came_through(scenario, self._failed), usable=False)

    def _stop(self, message: str, *, usable: bool) -> None:
        self.out -= len(self.pool.cancel())
        while self.out:
            self._recorded()
        if not usable:
            self.journal.event(UNUSABLE, message, commit=True)
        raise InputError(message)

    def refuse_failures(self) -> None:
        """Refuse a scenario of which no run ever came through, in fewer than the first runs."""
        if not self._proven and self._failed:
            self._stop(none_came_through(self.scenario, self._failed), usable=False)

    def purse(self, budget: Budget, tally: Tally, kept: Callable[[], float] = float) -> Purse:
        """What the runs of a tally may spend; no pool is opened to count runs."""
        workers = self.workers if budget.unit == "seconds" else 1
        return Purse(budget=budget, tally=tally, workers=workers, kept=kept)

    def budgets(self) -> list[Budget]:
        """The budgets of this and earlier calls."""
        return [Budget(**event.data) for event in self.journal.events(BUDGET)]

    def note_budget(self, budget: Budget) -> None:
        """Record what may be spent, where it changed."""
        if self.budgets()[-1:] != [budget]:
            self.journal.event(BUDGET, asdict(budget), commit=True)

    def announce(self, what: str, left: float) -> None:
        """Tell the caller what is run, and how long so many runs take at most."""
        if (tell := self._execution.get("announce")) is None:
            return
        limit = self.scenario.limits.cpu or self.scenario.limits.wall
        seconds = limit * left if limit else 0.0
        most = ""
        if seconds > 0:
            amount = Budget(amount=float(f"{seconds:.2g}"), unit="seconds")
            most = f" At most {amount} of one core, if every run takes {limit:,g} s."
        tell(f"{what}{most}")

    @property
    def watched(self) -> bool:
        """Whether anybody wants to know how far it is."""
        return self._execution.get("progress") is not None

    def report(self, phase: str, spent: float, budget: Budget, **known: Any) -> None:
        """Tell the caller how far the campaign is; `known` are other fields of `Progress`."""
        if (progress := self._execution.get("progress")) is not None:
            progress(
                Progress(
                    phase=phase,
                    spent=spent,
                    budget=budget,
                    runs=self.runs,
                    cpu=self._cpu,
                    workers=self.workers,
                    outcomes=dict(self._outcomes),
                    **known,
                )
            )


def _came_through(table: RunTable, scenario: "Scenario") -> bool:
    """Whether any recorded run says something about its configuration."""
    metric = scenario.metric
    counted = np.isin(table.status, [int(status) for status in metric.counted()])
    if not metric.timed:
        low, high = metric.range()
        counted &= (table.value >= low) & (table.value <= high)
    return bool(counted.any())
