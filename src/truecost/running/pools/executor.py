"""Runs on any `concurrent.futures.Executor`: a process pool, Dask's, MPI's, Parsl's."""

import pickle
import queue
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any

from truecost.errors import InputError, LostClusterError, TruecostError
from truecost.running.pools.local import ATTEMPTS
from truecost.running.pools.remote import Job, Problem, bench, remote_run
from truecost.running.pools.task import Finished, Task
from truecost.running.scenario import Scenario

# A task whose workers are lost so often is not a matter of bad luck.
LOSSES = 20
# Seconds without a result after which the workers are looked after.
SILENCE = 1.0


def size_of(executor: Executor) -> int:
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


class ExecutorPool:
    """The workers of an executor, which stays its owner's: it is not shut down here.

    `trouble` raises LostClusterError where the workers are gone for good.
    """

    def __init__(
        self,
        scenario: Scenario,
        executor: Executor,
        workers: int,
        *,
        pin: bool,
        trouble: Callable[[], None] = lambda: None,
    ) -> None:
        self._executor, self._workers, self._trouble = executor, workers, trouble
        self._job = Job.of(scenario, pin=pin)
        self._digests: dict[str, str] = {}
        # How many runs in a row no worker could make.
        self._failures = 0
        self._out: dict[Future[Any], tuple[Task, int]] = {}
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._error: BaseException | None = None

    @property
    def workers(self) -> int:
        """How many runs are executed at a time."""
        return self._workers

    def submit(self, task: Task) -> None:
        """Hand a task over."""
        self._send(task, 0)

    def _send(self, task: Task, losses: int) -> None:
        name = task.instance.name
        if name not in self._digests:
            self._digests[name] = task.instance.digest()
        try:
            future = self._executor.submit(remote_run, self._job, task, self._digests[name])
        except Exception as error:
            self._trouble()
            raise _lost(error) from error
        self._out[future] = task, losses
        future.add_done_callback(self._done.put)

    def wait(self) -> list[Finished]:
        """All runs that are finished, at least one."""
        finished: list[Finished] = []
        while not finished or not self._done.empty():
            if self._error is not None:
                if finished:
                    # These are recorded first; the error is met at the next call.
                    return finished
                raise self._error
            try:
                future = self._done.get(timeout=SILENCE)
            except queue.Empty:
                self._trouble()
                continue
            # A task that was dropped is done, too.
            task, losses = self._out.pop(future, (None, 0))
            if task is not None:
                try:
                    finished += self._result(future, task, losses)
                except TruecostError as error:
                    self._error = error
        return finished

    def _result(self, future: Future[Any], task: Task, losses: int) -> list[Finished]:
        """The finished run; none if it is made again."""
        try:
            result = future.result()
        except BrokenExecutor as error:
            raise _lost(error) from error
        except (ImportError, pickle.PickleError, AttributeError) as error:
            raise InputError(
                f"The workers cannot run truecost: {error}. Install the same version there."
            ) from error
        except (Exception, CancelledError) as error:
            self._trouble()
            if losses == LOSSES:
                raise TruecostError(
                    f"The run of configuration {task.configuration.name} on instance "
                    f"{task.instance.name!r} was lost with its worker {LOSSES + 1} times: "
                    f"{error or type(error).__name__}. Finished runs are safe."
                ) from error
            self._send(task, losses + 1)
            return []
        if isinstance(result, Problem):
            # Another worker may do it; where every one fails, the message says why.
            self._failures += 1
            if not result.input:
                raise TruecostError(result.message)
            if self._failures > ATTEMPTS * self._workers:
                raise InputError(result.message)
            self._send(task, losses)
            return []
        self._failures = 0
        outcome, machine = result
        return [Finished(task=task, outcome=outcome, machine=machine)]

    def cancel(self) -> list[Task]:
        """Drop the tasks that have not started."""
        dropped = [future for future in self._out if future.cancel()]
        return [self._out.pop(future)[0] for future in dropped]

    def __enter__(self) -> "ExecutorPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        # Where the workers are threads of this process, the slots are ours.
        bench.release(self._job)


def _lost(error: BaseException) -> LostClusterError:
    return LostClusterError(
        f"The executor takes no more runs ({error or type(error).__name__}). Finished runs are "
        "safe: repeat the command with a new executor to continue."
    )
