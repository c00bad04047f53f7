"""Schedule x executor -> journal: a plan's runs executed in S* order, on this machine or on a Dask
cluster.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from truecost.campaigns.first_runs import (
    FIRST_RUNS,
    cost_outside,
    fault,
    none_came_through,
    outside,
    was_aborted,
)
from truecost.errors import InputError
from truecost.journal.journal import Design, Journal
from truecost.running.instances import check_generator
from truecost.running.pool import Finished, LocalPool, Pool, Task, check_memory
from truecost.running.scenario import Scenario
from truecost.running.slots import claimed_cores, cores
from truecost.runs import Status

PILOT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherProgress:
    """How far the gathering is: runs planned, there already at the start, done since, and the CPU
    seconds of the latter.
    """

    planned: int
    before: int
    done: int
    cpu: float
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherForecast:
    """What the rest of a plan will take, from the runs that are there.

    `cpu` is in seconds, with a 95 % interval for the mean of a run carried over to all of them;
    `worst` is if every run went to its limit; `wall` is what it takes with so many workers.
    """

    planned: int
    left: int
    pilot: int
    cpu: float
    lower: float
    upper: float
    worst: float
    wall: float
    workers: int


def design_of(scenario: Scenario, configurations: int, instances: int | None, runs: int) -> Design:
    """The default and random configurations on the first instances of the scenario's order, all of
    them for None.
    """
    if runs < 1:
        raise InputError(
            f"expected at least 1 run of each configuration on each instance, got {runs}."
        )
    available = len(scenario.instances)
    if instances is None and scenario.endless:
        raise InputError(
            "expected `instances`, how many the generator is to make; or count in [instances]."
        )
    if instances is not None and not 1 <= instances <= available:
        raise InputError(
            f"expected 1 to {available} instances, as many as the scenario has, got {instances}."
        )
    return Design(
        configurations=tuple(scenario.space.configurations(configurations, rng=scenario.seed)),
        instances=scenario.instances[:instances],
        runs=runs,
    )


def tasks(scenario: Scenario, plan: Design, done: np.ndarray) -> Iterator[Task]:
    """The runs of a plan that are not done, in S* order."""
    for number, instance, configuration in np.argwhere(~done):
        chosen = plan.instances[instance]
        yield Task(
            configuration=plan.configurations[configuration],
            instance=chosen,
            number=int(number),
            seed=scenario.run_seed(chosen.name, int(number)),
        )


def gather(
    scenario: Scenario,
    journal: str | os.PathLike[str],
    *,
    configurations: int,
    instances: int | None = None,
    runs: int,
    workers: int | None = None,
    pin: bool = True,
    dask: str | None = None,
    keep_going: bool = False,
    progress: Callable[[GatherProgress], None] | None = None,
    waiting: Callable[[str], None] | None = None,
) -> None:
    """Run what a plan asks for and the journal does not have yet.

    Parameters
    ----------
    scenario
        What is run; the journal, begun if it is not there, must have been begun with the same.
    configurations, instances, runs
        The size of the plan; all instances for None. Larger than before in any direction, it adds
        what is missing.
    workers, pin
        How many runs at a time on this machine, each pinned to a core of its own; as many as there
        are cores for None.
    dask
        The address of a Dask scheduler whose workers execute the runs instead.
    keep_going
        Whether to go on though all of the first runs crashed.
    progress
        Told after every batch of runs.
    waiting
        Told, in words, while a cluster has no workers.
    """
    with opened(scenario, journal, configurations, instances, runs) as (book, plan):
        done = book.done(plan)
        if done.all():
            return
        with pool_for(scenario, workers=workers, pin=pin, dask=dask, waiting=waiting) as pool:
            _collect(
                book,
                pool,
                tasks(scenario, plan, done),
                plan.size,
                int(done.sum()),
                keep_going,
                scenario,
                progress,
            )


def forecast(
    scenario: Scenario,
    journal: str | os.PathLike[str],
    *,
    configurations: int,
    instances: int | None = None,
    runs: int,
    workers: int | None = None,
    pin: bool = True,
    dask: str | None = None,
    keep_going: bool = False,
    progress: Callable[[GatherProgress], None] | None = None,
    waiting: Callable[[str], None] | None = None,
) -> GatherForecast:
    """What `gather` with the same arguments would take, from a pilot: 20 runs of the plan, drawn at
    random.

    They are journaled as any other run, so that nothing is done twice; runs that are there count as
    pilot.
    """
    with opened(scenario, journal, configurations, instances, runs) as (book, plan):
        done = book.done(plan)
        short = min(PILOT, plan.size) - int(done.sum())
        if short > 0:
            chosen = np.random.default_rng(scenario.seed).permutation(
                np.flatnonzero(~done.ravel())
            )[:short]
            pilot = np.ones(done.size, dtype=bool)
            pilot[chosen] = False
            with pool_for(scenario, workers=workers, pin=pin, dask=dask, waiting=waiting) as pool:
                some = tasks(scenario, plan, pilot.reshape(done.shape))
                _collect(book, pool, some, short, 0, keep_going, scenario, progress)
                workers = pool.workers
        return _forecast(scenario, book, plan, workers or len(cores()))


def _forecast(scenario: Scenario, book: Journal, plan: Design, workers: int) -> GatherForecast:
    left = int((~book.done(plan)).sum())
    table = book.table()
    mean, wall = float(table.cpu.mean()), float(table.wall.mean())
    error = (
        1.96 * float(table.cpu.std(ddof=1)) / math.sqrt(len(table.cpu))
        if len(table.cpu) > 1
        else math.inf
    )
    most = scenario.limits.cpu or scenario.limits.wall or math.inf
    return GatherForecast(
        planned=plan.size,
        left=left,
        pilot=len(table.cpu),
        cpu=left * mean,
        lower=left * max(0.0, mean - error),
        upper=left * min(most, mean + error),
        worst=left * most,
        wall=left * wall / workers,
        workers=workers,
    )


@contextmanager
def opened(
    scenario: Scenario,
    journal: str | os.PathLike[str],
    configurations: int,
    instances: int | None,
    runs: int,
) -> Iterator[tuple[Journal, Design]]:
    """The journal open for writing, with the plan in it."""
    plan = design_of(scenario, configurations, instances, runs)
    with Journal.write(journal, scenario) as book:
        book.begin(plan, scenario.metric)
        yield book, plan


@contextmanager
def pool_for(
    scenario: Scenario,
    *,
    workers: int | None,
    pin: bool,
    dask: str | None,
    waiting: Callable[[str], None] | None = None,
) -> Iterator[Pool]:
    """Slots on this machine, or a cluster."""
    if dask is not None:
        from truecost.running.cluster import DaskPool

        with DaskPool(scenario, dask, pin=pin, waiting=waiting) as pool:
            yield pool
        return
    with ExitStack() as stack:
        pinned: list[int | None] = (
            [*stack.enter_context(claimed_cores(workers))]
            if pin
            else [None] * (workers or len(cores()))
        )
        check_memory(scenario, len(pinned))
        check_generator(scenario.instances)
        yield stack.enter_context(LocalPool(scenario, pinned))


def _collect(
    book: Journal,
    pool: Pool,
    waiting: Iterable[Task],
    planned: int,
    before: int,
    keep_going: bool,
    scenario: Scenario,
    progress: Callable[[GatherProgress], None] | None,
) -> None:
    """Do the runs that wait, and tell how far they are."""
    done, cpu = 0, 0.0

    def tell(finished: list[Finished]) -> None:
        nonlocal done, cpu
        done += len(finished)
        cpu += sum(run.outcome.cpu for run in finished)
        if progress is not None:
            progress(
                GatherProgress(
                    planned=planned, before=before, done=done, cpu=cpu, workers=pool.workers
                )
            )

    tell([])
    collector = Collector(scenario, book, pool, keep_going=keep_going)
    collector.collect(waiting, tell)
    if done + before >= planned:
        collector.refuse_failures()


class Collector:
    """Feeds a pool and writes down what comes back, first of all; remembers whether any run ever
    came through.
    """

    def __init__(self, scenario: Scenario, book: Journal, pool: Pool, *, keep_going: bool) -> None:
        self._scenario, self._book, self._pool = scenario, book, pool
        self._keep_going = keep_going
        # Where a run once came through, the scenario is known to be right.
        self._proven = keep_going or book.answered(scenario.metric)
        self._failed: list[Finished] = []
        self._seen = 0

    def collect(self, waiting: Iterable[Task], tell: Callable[[list[Finished]], None]) -> None:
        """Have these runs done; `tell` hears of them as they are written down."""
        waiting = iter(waiting)
        out = 0
        trouble: str | None = None
        while True:
            while (
                trouble is None
                and out < 2 * self._pool.workers
                and (task := next(waiting, None)) is not None
            ):
                self._pool.submit(task)
                out += 1
            if out == 0:
                break
            finished = self._pool.wait()
            out -= len(finished)
            self._book.add(
                [(each.run, each.machine) for each in finished],
                datetime.now(UTC).isoformat(timespec="seconds"),
            )
            for run in finished:
                trouble = trouble or self._trouble(run)
            tell(finished)
        if trouble is not None:
            raise InputError(trouble)

    def _trouble(self, run: Finished) -> str | None:
        """Why to stop after this run; None if there is no reason."""
        scenario, path = self._scenario, self._book.path
        self._seen += 1
        if run.outcome.status == Status.ABORTED:
            return was_aborted(scenario, run)
        # Later on, a night of runs is worth more than the news: then the summary tells.
        if (
            self._seen <= FIRST_RUNS
            and not self._keep_going
            and outside(scenario.metric, run.outcome)
        ):
            return cost_outside(scenario, path, self._book.kind, run)
        if not self._proven:
            self._proven = fault(scenario.metric, run.outcome) is None
            self._failed.append(run)
            if not self._proven and len(self._failed) >= FIRST_RUNS:
                return none_came_through(scenario, path, self._failed)
        return None

    def refuse_failures(self) -> None:
        """Refuse a scenario of which no run ever came through."""
        if not self._proven and self._failed:
            raise InputError(none_came_through(self._scenario, self._book.path, self._failed))


class Bench:
    """Where runs are made; opened when the first one is to be made, since a finished search needs
    none.
    """

    def __init__(
        self,
        stack: ExitStack,
        scenario: Scenario,
        book: Journal,
        keep_going: bool,
        options: dict[str, Any],
    ) -> None:
        self._stack, self._scenario, self._book, self._options = stack, scenario, book, options
        self._keep_going = keep_going

    @cached_property
    def pool(self) -> Pool:
        """Slots on this machine, or a cluster."""
        return self._stack.enter_context(pool_for(self._scenario, **self._options))

    @cached_property
    def collector(self) -> Collector:
        """Who has runs made there."""
        return Collector(self._scenario, self._book, self.pool, keep_going=self._keep_going)

    def refuse_failures(self) -> None:
        """Refuse a scenario of which no run ever came through, though the runs were too few to say
        so before.
        """
        if "collector" in self.__dict__:
            self.collector.refuse_failures()
