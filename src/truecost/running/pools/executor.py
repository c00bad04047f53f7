"""Runs on any `concurrent.futures.Executor`: a process pool, Dask's, MPI's, Parsl's."""

import os
import queue
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any

from truecost.errors import LostClusterError
from truecost.running.pools.remote import Digests, Job, WorkerError, bench, remote_run
from truecost.running.pools.task import ATTEMPTS, Finished, Task
from truecost.running.scenario import Scenario


class ExecutorPool:
    """The workers of an executor, which stays its owner's: it is not shut down here."""

    def __init__(self, scenario: Scenario, executor: Executor, *, pin: bool) -> None:
        self._executor = executor
        self._job = Job.of(scenario, pin=pin)
        self._digests = Digests()
        self._failures = 0
        self._out: dict[Future[Any], Task] = {}
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()

    @property
    def workers(self) -> int:
        """How many runs are executed at a time, as far as the executor says."""
        # The standard pools and MPI's keep it here; the interface itself has no such thing.
        for name in ("num_workers", "_max_workers"):
            number = getattr(self._executor, name, None)
            if isinstance(number, int) and number > 0:
                return number
        return os.cpu_count() or 1

    def submit(self, task: Task) -> None:
        """Hand a task over."""
        digest = self._digests.of(task.instance)
        try:
            future = self._executor.submit(remote_run, self._job, task, digest)
        except RuntimeError as error:
            raise _lost(error) from error
        self._out[future] = task
        future.add_done_callback(self._done.put)

    def wait(self) -> list[Finished]:
        """All runs that are finished, at least one."""
        finished: list[Finished] = []
        while not finished or not self._done.empty():
            future = self._done.get()
            task = self._out.pop(future)
            try:
                outcome, machine = future.result()
            except (BrokenExecutor, CancelledError) as error:
                if finished:
                    self._out[future] = task
                    self._done.put(future)
                    break
                raise _lost(error) from error
            except WorkerError:
                # Another worker may do it; where every one fails, the message says why.
                self._failures += 1
                if self._failures > ATTEMPTS * self.workers:
                    raise
                self.submit(task)
                continue
            self._failures = 0
            finished.append(Finished(task=task, outcome=outcome, machine=machine))
        return finished

    def __enter__(self) -> "ExecutorPool":
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._out:
            future.cancel()
        # Where the workers are threads of this process, the slots are ours.
        bench.release()


def _lost(error: BaseException) -> LostClusterError:
    return LostClusterError(
        f"the executor takes no more runs ({error or type(error).__name__}); every finished run is "
        "safe in the journal. Give a new one to go on."
    )
