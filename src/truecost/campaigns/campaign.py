"""What gather, configure and validate share: the journal, the pool, budgets and progress.

State is rebuilt from `journal.events()` and `journal.table()`: what `wait` returns is recorded, and
decisions are with the runs that follow them.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypedDict, Unpack

from truecost.campaigns.budget import Budget, Purse, Tally
from truecost.campaigns.trouble import FirstRuns, Problem, aborted, set_aside, unused_name
from truecost.errors import InputError, did_you_mean
from truecost.journal.journal import Journal, Kind
from truecost.journal.logs import BUDGET
from truecost.running.pools import Finished, Pool, Task, open_pool
from truecost.running.scenario import Scenario
from truecost.runs import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a campaign is.

    `share` of the budget is spent; `total` is a budget of runs. `runs` and `unsolved` include runs
    of earlier calls, `cpu` seconds do not. A search fills in `incumbent` and `estimate` (its
    training cost); a test `instances`, `estimate` and `interval` of the `quantity` that decides.
    """

    share: float
    total: int | None
    runs: int
    unsolved: int
    cpu: float
    incumbent: str | None = None
    quantity: str = ""
    instances: int = 0
    estimate: float = float("nan")
    interval: tuple[float, float] = (float("nan"), float("nan"))


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


def scenario_of(given: Scenario | str | os.PathLike[str]) -> Scenario:
    """A scenario, or that of a file."""
    if isinstance(given, str | os.PathLike):
        return Scenario.read(given)
    if not isinstance(given, Scenario):
        raise InputError(f"{given!r:.80} is no scenario. Name its file.")
    return given


class Campaign:
    """A journal open for writing and a pool, opened when the first run is needed.

    `tally` counts all recorded runs; `out` those that are submitted and unfinished.
    """

    def __init__(
        self,
        scenario: Scenario,
        journal: str | os.PathLike[str],
        kind: Kind,
        settings: Mapping[str, Any],
        **execution: Unpack[Execution],
    ) -> None:
        known = Execution.__annotations__
        if unknown := [name for name in execution if name not in known]:
            raise InputError(f"There is no option `{unknown[0]}`.{did_you_mean(unknown[0], known)}")
        self.scenario, self._execution = scenario, execution
        self._stack, self._new = ExitStack(), not os.path.lexists(journal)
        self.journal = self._stack.enter_context(Journal.write(journal, scenario, kind, settings))
        try:
            table = self.journal.table()
            self.tally = Tally.of(table)
            self._unsolved = int((table.status != Status.SOLVED).sum())
            self._first = FirstRuns(scenario, table)
        except BaseException:
            self._stack.close()
            raise
        self.out, self._cpu = 0, 0.0
        self._unusable: Path | None = None

    def __enter__(self) -> "Campaign":
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        # What was refused before anything was begun leaves no empty journal behind.
        blank = error is not None and self._new and self.journal.is_blank
        self._stack.close()
        if blank:
            self.journal.path.unlink(missing_ok=True)
        elif self._unusable is not None:
            set_aside(self.journal.path, self._unusable)

    @cached_property
    def pool(self) -> Pool:
        """Where runs are made."""
        how = self._execution
        return self._stack.enter_context(
            open_pool(
                self.scenario,
                how.get("pool"),
                workers=how.get("workers"),
                pin=how.get("pin", True),
            )
        )

    @property
    def workers(self) -> int:
        """How many runs are made at a time."""
        return self.pool.workers

    def submit(self, task: Task) -> None:
        """Have a run made; its configuration and instance must be in the journal."""
        self.pool.submit(task)
        self.out += 1

    def make(self, tasks: Iterable[Task]) -> Iterator[list[Finished]]:
        """Have these runs made, two per worker submitted at a time; yields recorded runs.

        `tasks` is asked for the next task only when there is room, so it may depend on runs that
        were yielded. When it is exhausted, unfinished runs are waited for.
        """
        waiting = iter(tasks)
        if (first := next(waiting, None)) is None:
            return  # no pool is opened
        waiting = chain([first], waiting)
        while True:
            while self.out < 2 * self.workers and (task := next(waiting, None)) is not None:
                self.submit(task)
            if not self.out:
                break
            yield self.wait()

    def wait(self) -> list[Finished]:
        """The next finished runs, recorded; empty if none is out.

        Raises where the first runs say that the scenario is wrong, or a run was aborted: tasks that
        have not started are cancelled, runs under way are recorded.
        """
        finished = self._recorded() if self.out else []
        for run in finished:
            if run.outcome.status == Status.ABORTED:
                self._stop(aborted(self.scenario, run))
            if not self._execution.get("keep_going"):
                self._stop(self._first.problem(run))
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
            self._unsolved += outcome.status != Status.SOLVED
            self.tally.count(outcome.wall, outcome.cpu)
        return finished

    def refuse_failures(self) -> None:
        """Refuse a scenario of which no run ever came through, in fewer than the first runs."""
        self._stop(self._first.all_failed())

    def _stop(self, problem: Problem | None) -> None:
        if problem is None:
            return
        self.out -= len(self.pool.cancel())
        while self.out:
            self._recorded()
        message = problem.message
        if not problem.usable:
            self._unusable = unused_name(self.journal.path)
            message += f" These runs were moved to {self._unusable}."
        raise InputError(message)

    def purse(self, budget: Budget, tally: Tally, reserve: Callable[[], float] = float) -> Purse:
        """What the runs of a tally may spend; no pool is opened to count runs."""
        workers = self.workers if budget.unit == "seconds" else 1
        return Purse(budget=budget, tally=tally, workers=workers, reserve=reserve)

    @property
    def budget(self) -> Budget | None:
        """The latest budget."""
        budgets = [Budget(**event.data) for event in self.journal.events(BUDGET)]
        return budgets[-1] if budgets else None

    @budget.setter
    def budget(self, budget: Budget) -> None:
        if budget != self.budget:
            self.journal.event(BUDGET, asdict(budget), commit=True)

    def announce(self, what: str, left: float) -> None:
        """Tell the caller what is run, and how long so many runs take at most."""
        limit = self.scenario.limits.cpu or self.scenario.limits.wall
        if limit and left > 0:
            most = Budget(amount=float(f"{limit * left:.2g}"), unit="seconds")
            what += f" At most {most} of one core, if every run takes {limit:,g} s."
        if (announce := self._execution.get("announce")) is not None:
            announce(what)

    def report(self, purse: Purse, **result: Any) -> None:
        """Tell the caller how far the campaign is; `result` are the last fields of `Progress`."""
        if (progress := self._execution.get("progress")) is not None:
            total = int(purse.budget.amount) if purse.budget.unit == "runs" else None
            progress(
                Progress(
                    share=purse.share,
                    total=total,
                    runs=self.tally.runs,
                    unsolved=self._unsolved,
                    cpu=self._cpu,
                    **result,
                )
            )
