"""Tasks in, finished runs out: what every pool takes and gives."""

import queue
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from truecost.runs import Instance, Machine, Outcome
from truecost.space.space import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A run to be made, the instance's run `number` from 0; it is stopped after `cap` seconds of
    the metric's clock, where given.
    """

    configuration: Configuration
    instance: Instance
    number: int
    seed: int
    cap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run that is done, and where."""

    task: Task
    outcome: Outcome
    machine: Machine


class Pool(Protocol):
    """Where runs are executed."""

    @property
    def workers(self) -> int:
        """How many runs are executed at a time."""
        ...

    def submit(self, task: Task) -> None:
        """Take a task; submit at most two per worker."""
        ...

    def wait(self) -> list[Finished]:
        """Wait for at least one finished run, and return all that are finished.

        Raises InputError where a run cannot be started, and LostClusterError where the workers are
        gone; runs that finished before come first, in a call of their own.
        """
        ...

    def cancel(self) -> list[Task]:
        """Drop the tasks that have not started, and return them; the others still finish."""
        ...


# Seconds without a result after which the workers are looked after.
SILENCE = 1.0


class FuturePool:
    """A pool whose runs are futures: how they are made is for others to say."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        # With how often each was lost.
        self._out: dict[Future[Any], tuple[Task, int]] = {}
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._error: Exception | None = None

    def start(self, task: Task) -> Future[Any]:
        """Begin a run."""
        raise NotImplementedError

    def result(self, future: Future[Any], task: Task, losses: int) -> list[Finished]:
        """The finished run; none if it is made again."""
        raise NotImplementedError

    def look(self) -> None:
        """Raise LostClusterError where the workers are gone for good."""

    def submit(self, task: Task, losses: int = 0) -> None:
        """Take a task."""
        future = self.start(task)
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
                self.look()
                continue
            # A task that was dropped is done, too.
            task, losses = self._out.pop(future, (None, 0))
            if task is not None:
                try:
                    finished += self.result(future, task, losses)
                except Exception as error:
                    self._error = error
        return finished

    def cancel(self) -> list[Task]:
        """Drop the tasks that have not started."""
        dropped = [future for future in self._out if future.cancel()]
        return [self._out.pop(future)[0] for future in dropped]
