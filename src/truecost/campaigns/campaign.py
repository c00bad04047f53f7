"""What gather, configure and validate share: the journal they write, the pool they use, how far
they are, and when a first look says that the scenario is wrong.
"""

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal, TypedDict, Unpack

from truecost.campaigns.budget import Budget
from truecost.campaigns.doubts import (
    FIRST_RUNS,
    cost_outside,
    fault,
    none_came_through,
    outside,
    was_aborted,
)
from truecost.errors import InputError
from truecost.journal.file import Kind
from truecost.journal.journal import Journal
from truecost.running.pools import PoolLike, open_pool
from truecost.running.pools.task import Finished, Pool, Task
from truecost.running.scenario import Scenario
from truecost.runs import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a campaign is.

    Parameters
    ----------
    phase
        What is being done.
    spent, budget
        What is used of the budget, in its unit; a gather's budget is the runs of its design.
    runs, cpu
        Runs done, those of earlier calls among them, and the CPU seconds of this call's.
    workers
        Runs at a time.
    configurations, instances
        How many a search has proposed, and on how many instances a validation has compared.
    incumbent, estimate, standard_error
        Of a search: its incumbent, and the training cost of that. Of a validation the estimate of
        what decides, a `quantity`, and its `interval`: limits that hold at all times.
    outcomes
        How the runs ended, those of earlier calls among them.
    """

    phase: Literal["runs", "pilot", "training", "held out", "validation"]
    spent: float
    budget: Budget
    runs: int
    cpu: float
    workers: int
    configurations: int = 0
    instances: int = 0
    incumbent: str | None = None
    estimate: float = float("nan")
    standard_error: float = float("nan")
    interval: tuple[float, float] = (float("nan"), float("nan"))
    quantity: str = ""
    outcomes: Mapping[Status, int] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        return self.spent / self.budget.amount


class Execution(TypedDict, total=False):
    """How runs are executed: the options that gather, configure and validate share.

    Attributes
    ----------
    pool
        A number of workers on this machine, as many as there are cores for None; the address of a
        Dask scheduler, or a client of it; or any `concurrent.futures.Executor`.
    pin
        Whether each worker is pinned to a core of its own.
    keep_going
        Whether to go on though all of the first runs crashed.
    progress
        Called with a `Progress` after every few runs.
    waiting
        Called with a sentence while a cluster has no workers, and when one is left out.
    workers, dask
        Deprecated: use `pool`.
    """

    pool: PoolLike
    pin: bool
    keep_going: bool
    progress: Callable[[Progress], None] | None
    waiting: Callable[[str], None] | None
    workers: int | None
    dask: str | None


class Campaign:
    """A journal open for writing, and a pool that is opened when the first run is to be made: what
    is finished needs none.

    It feeds the pool, writes down what comes back, first of all, and remembers whether any run ever
    came through.
    """

    def __init__(
        self,
        scenario: Scenario,
        journal: str | os.PathLike[str],
        kind: Kind,
        **execution: Unpack[Execution],
    ) -> None:
        self._where = execution.get("pool")
        for name, value in (("workers", execution.get("workers")), ("dask", execution.get("dask"))):
            if value is not None:
                warnings.warn(f"`{name}` is now `pool`.", DeprecationWarning, stacklevel=4)
                self._where = value
        self.scenario, self._execution = scenario, execution
        self._keep_going = execution.get("keep_going", False)
        self._progress, waiting = execution.get("progress"), execution.get("waiting")
        self._stack, self._new = ExitStack(), not os.path.lexists(journal)
        self.book = self._stack.enter_context(
            Journal.write(journal, scenario, kind, start_over=not self._keep_going)
        )
        if self.book.set_aside is not None and waiting is not None:
            waiting(f"Runs that all crashed alike are set aside: {self.book.set_aside}")
        # Where a run once came through, the scenario is known to be right.
        self._proven = self._keep_going or self.book.answered(scenario.metric)
        self._failed: list[Finished] = []
        # Runs that came back, and runs that the pool has.
        self._seen = self._out = 0

    def __enter__(self) -> "Campaign":
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        # What was refused before anything was begun leaves no empty journal behind.
        blank = error is not None and self._new and self.book.is_blank()
        self._stack.close()
        if blank:
            self.book.path.unlink()

    @cached_property
    def pool(self) -> Pool:
        """Where runs are made."""
        pin, waiting = self._execution.get("pin", True), self._execution.get("waiting")
        return self._stack.enter_context(
            open_pool(self.scenario, self._where, pin=pin, waiting=waiting)
        )

    def make(self, tasks: Iterable[Task], take: Callable[[list[Finished]], None]) -> None:
        """Have these runs made; `take` gets them as they are written down."""
        # Those of the journal are counted before the first new one is written.
        outcomes, tasks = self._outcomes, iter(tasks)
        while True:
            # Two tasks per worker, so that none waits for us between two runs.
            while self._out < 2 * self.pool.workers and (task := next(tasks, None)) is not None:
                self.submit(task)
            if not self._out:
                break
            finished = self.wait()
            outcomes.update(run.outcome.status for run in finished)
            take(finished)

    @cached_property
    def _outcomes(self) -> Counter[Status]:
        return Counter(map(Status, self.book.table().status.tolist() if self.watched else ()))

    @property
    def watched(self) -> bool:
        """Whether anybody wants to know how far it is."""
        return self._progress is not None

    def report(self, progress: Progress) -> None:
        """Say how far it is."""
        if self._progress is not None:
            self._progress(replace(progress, outcomes=dict(self._outcomes)))

    def submit(self, task: Task) -> None:
        """Have a run made."""
        self.pool.submit(task)
        self._out += 1

    def wait(self) -> list[Finished]:
        """The next runs that are done, written down."""
        # After a run that says that the scenario is wrong, those under way are still written down.
        finished = self._written()
        trouble = [text for run in finished if (text := self._trouble(run)) is not None]
        if trouble:
            while self._out:
                self._written()
            raise InputError(trouble[0])
        return finished

    def _written(self) -> list[Finished]:
        finished = self.pool.wait()
        self._out -= len(finished)
        ended = datetime.now(UTC).isoformat(timespec="seconds")
        self.book.add([(run.run, run.machine) for run in finished], ended)
        return finished

    def _trouble(self, run: Finished) -> str | None:
        """Why to stop after this run; None if there is no reason."""
        scenario, path = self.scenario, self.book.path
        self._seen += 1
        if run.outcome.status == Status.ABORTED:
            return was_aborted(scenario, run)
        # Later on, a night of runs is worth more than the news: then the summary tells.
        early = self._seen <= FIRST_RUNS and not self._keep_going
        if early and outside(scenario.metric, run.outcome):
            return cost_outside(scenario, path, self.book.kind, run)
        if not self._proven:
            self._proven = fault(scenario.metric, run.outcome) is None
            self._failed.append(run)
            if not self._proven and len(self._failed) >= FIRST_RUNS:
                return none_came_through(scenario, path, self._failed)
        return None

    def refuse_failures(self) -> None:
        """Refuse a scenario of which no run ever came through, though the runs were too few to say
        so before.
        """
        if not self._proven and self._failed:
            raise InputError(none_came_through(self.scenario, self.book.path, self._failed))
