"""Where runs are made: by threads of this process, by any executor, or by a Dask cluster.

`open_pool` gives a `Pool`, whose runs are futures of an executor; `worker` has what makes a run,
in this process or in another; `dask` connects to a cluster.
"""

import pickle
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TypeAlias, cast

from truecost.errors import InputError, LostClusterError, TruecostError
from truecost.running.execute import Caller
from truecost.running.machine import claimed_cores, cores
from truecost.running.pools.worker import (
    Finished,
    Job,
    Reply,
    Slots,
    check_memory,
    release,
    remote_run,
)
from truecost.running.scenario import Scenario
from truecost.running.slots import Slot
from truecost.running.targets import Task

__all__ = ["Finished", "Pool", "Task", "open_pool"]

# Seconds without a result after which the workers are looked after.
SILENCE = 1.0
# A task whose workers are lost so often is not a matter of bad luck.
LOSSES = 20


class Pool:
    """Workers that make runs.

    `start` begins a run. `check` raises LostClusterError where the workers are gone for good; None:
    they are threads of this process, which cannot be lost.
    """

    def __init__(
        self,
        workers: int,
        start: Callable[[Task], Future[Reply]],
        check: Callable[[], object] | None = None,
    ) -> None:
        self.workers, self._start, self._check = workers, start, check
        # With how often each was lost.
        self._out: dict[Future[Reply], tuple[Task, int]] = {}
        self._done: queue.SimpleQueue[Future[Reply]] = queue.SimpleQueue()

    def submit(self, task: Task, losses: int = 0) -> None:
        """Take a task; submit at most two per worker."""
        future = self._start(task)
        self._out[future] = task, losses
        future.add_done_callback(self._done.put)

    def wait(self) -> list[Finished]:
        """Wait for at least one finished run, and return all that are finished.

        Raises InputError where a run cannot be started, and LostClusterError where the workers are
        gone; runs that finished before come first, in a call of their own.
        """
        finished: list[Finished] = []
        while not finished or not self._done.empty():
            try:
                future = self._done.get(timeout=SILENCE)
            except queue.Empty:
                if self._check is not None:
                    self._check()
                continue
            if future not in self._out:
                continue  # its task was dropped
            task, losses = self._out.pop(future)
            try:
                finished += self._result(future, task, losses)
            except Exception:
                if not finished:
                    raise
                # These are recorded first; the error is met at the next call.
                self._out[future] = task, losses
                self._done.put(future)
                return finished
        return finished

    def _result(self, future: Future[Reply], task: Task, losses: int) -> list[Finished]:
        """The finished run; none if it is made again."""
        try:
            made = future.result()
        except Exception as error:
            if self._check is None:
                raise
            if isinstance(error, BrokenExecutor):
                raise _gone(error) from error
            if isinstance(error, ImportError | pickle.PickleError | AttributeError):
                raise InputError(
                    f"The workers cannot run truecost: {error}. Install the same version there."
                ) from error
            self._check()
            if losses == LOSSES:
                raise TruecostError(
                    f"The run of configuration {task.configuration.name} on instance "
                    f"{task.instance.name!r} was lost with its worker {LOSSES + 1} times: "
                    f"{error or type(error).__name__}. Finished runs are safe."
                ) from error
            self.submit(task, losses + 1)
            return []
        if isinstance(made, TruecostError):
            raise made
        outcome, machine = made
        return [Finished(task=task, outcome=outcome, machine=machine)]

    def cancel(self) -> list[Task]:
        """Drop the tasks that have not started, and return them; the others still finish."""
        dropped = [future for future in self._out if future.cancel()]
        return [self._out.pop(future)[0] for future in dropped]


# A number of workers, the address of a Dask scheduler, an Executor, or a Pool; None: a worker for
# each free core.
PoolLike: TypeAlias = int | str | Executor | Pool | None


@contextmanager
def open_pool(
    scenario: Scenario, pool: PoolLike = None, *, workers: int | None = None, pin: bool = True
) -> Iterator[Pool]:
    """Open the workers that `pool` names, until the end of the context.

    Parameters
    ----------
    pool
        A number of workers on this machine, the address of a Dask scheduler, a
        `concurrent.futures.Executor`, or a `Pool`.
    workers
        How many runs are executed at a time; needed with an executor that does not say.
    pin
        Whether each worker has a core of its own, which no other truecost uses.
    """
    if workers is not None and (type(workers) is not int or workers < 1):
        raise InputError(f"workers is {workers!r:.60}. Give a number from 1.")
    with ExitStack() as stack:
        made: AbstractContextManager[Pool]
        check: Callable[[], object] = bool  # nothing to look after
        # Where the workers are threads of this process, their slots are ours.
        end: Callable[[str], None] = release
        if isinstance(pool, str):
            from truecost.running.pools.dask import connected

            pool, workers, check, end = stack.enter_context(connected(pool, workers))
        if isinstance(pool, Executor):
            made = _executor(scenario, pool, workers or _size_of(pool), check, end, pin=pin)
        elif pool is None or (type(pool) is int and pool >= 1):
            made = _threads(scenario, workers if pool is None else pool, pin=pin)
        elif hasattr(pool, "wait") and hasattr(pool, "submit"):
            # Its owner closes it.
            made = nullcontext(cast("Pool", pool))
        else:
            raise InputError(
                f"pool is {pool!r:.80}. Give a number of workers, the address of a Dask scheduler, "
                "or a concurrent.futures.Executor."
            )
        yield stack.enter_context(made)


@contextmanager
def _threads(scenario: Scenario, number: int | None, *, pin: bool) -> Iterator[Pool]:
    """Threads of this process, one for each slot; None: one for each free core."""
    size, slots, name = scenario.limits.cores, Slots(), ""
    with ExitStack() as stack:
        pinned: Sequence[tuple[int, ...] | None]
        pinned = [None] * (number or max(1, len(cores()) // size))
        if pin:
            pinned = stack.enter_context(claimed_cores(number, size))
        check_memory(scenario, len(pinned))
        caller = Caller(scenario)
        threads = stack.enter_context(ThreadPoolExecutor(len(pinned)))
        stack.callback(slots.release, name)
        for core in pinned:
            slots.add(name, Slot(cores=core))
        pool = Pool(len(pinned), lambda task: threads.submit(slots.make, name, caller, task))
        stack.callback(pool.cancel)
        yield pool


@contextmanager
def _executor(
    scenario: Scenario,
    executor: Executor,
    workers: int,
    check: Callable[[], object],
    end: Callable[[str], None],
    *,
    pin: bool,
) -> Iterator[Pool]:
    """The workers of an executor, which stays its owner's: it is not shut down here."""
    job = Job.of(scenario, pin=pin)
    digests: dict[str, str] = {}

    def start(task: Task) -> Future[Reply]:
        name = task.instance.name
        if name not in digests:
            digests[name] = task.instance.digest()
        try:
            return executor.submit(remote_run, job, task, digests[name])
        except Exception as error:
            check()
            raise _gone(error) from error

    pool = Pool(workers, start, check)
    try:
        yield pool
    finally:
        pool.cancel()
        end(job.name)


def _size_of(executor: Executor) -> int:
    """How many runs an executor makes at a time, if it says so."""
    # The standard pools and MPI's have it here; the interface itself has no such thing.
    for name in ("num_workers", "_max_workers"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return number
    raise InputError(
        f"The executor {type(executor).__name__} does not say how many workers it has. Give "
        "workers=N, the number of runs it makes at a time."
    )


def _gone(error: BaseException) -> LostClusterError:
    return LostClusterError(
        f"The executor takes no more runs ({error or type(error).__name__}). Finished runs are "
        "safe: repeat the command with a new executor to continue."
    )
