"""Runs on any `concurrent.futures.Executor`: a process pool, Dask's, MPI's, Parsl's."""

import pickle
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any

from truecost.errors import InputError, LostClusterError, TruecostError
from truecost.running.pools.base import Finished, FuturePool, Task
from truecost.running.pools.local import ATTEMPTS
from truecost.running.pools.remote import Job, bench, remote_run
from truecost.running.scenario import Scenario

# A task whose workers are lost so often is not a matter of bad luck.
LOSSES = 20


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


class ExecutorPool(FuturePool):
    """The workers of an executor, which stays its owner's: it is not shut down here.

    `check` raises LostClusterError where the workers are gone for good.
    """

    def __init__(
        self,
        scenario: Scenario,
        executor: Executor,
        workers: int,
        *,
        pin: bool,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(workers)
        self._executor, self._check = executor, check
        self._job = Job.of(scenario, pin=pin)
        self._digests: dict[str, str] = {}
        # How many runs in a row no worker could make.
        self._failures = 0

    def look(self) -> None:
        """Raise where the workers are gone for good."""
        self._check()

    def start(self, task: Task) -> Future[Any]:
        """Hand a task over."""
        name = task.instance.name
        if name not in self._digests:
            self._digests[name] = task.instance.digest()
        try:
            return self._executor.submit(remote_run, self._job, task, self._digests[name])
        except Exception as error:
            self._check()
            raise _lost(error) from error

    def result(self, future: Future[Any], task: Task, losses: int) -> list[Finished]:
        """The finished run; none if it is made again."""
        try:
            made = future.result()
        except BrokenExecutor as error:
            raise _lost(error) from error
        except (ImportError, pickle.PickleError, AttributeError) as error:
            raise InputError(
                f"The workers cannot run truecost: {error}. Install the same version there."
            ) from error
        except (Exception, CancelledError) as error:
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
            # Another worker may do it; where every one fails, the message says why.
            self._failures += 1
            if not isinstance(made, InputError) or self._failures > ATTEMPTS * self.workers:
                raise made
            self.submit(task, losses)
            return []
        self._failures = 0
        outcome, machine = made
        return [Finished(task=task, outcome=outcome, machine=machine)]

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
