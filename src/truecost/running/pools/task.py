"""Tasks in, finished runs out: what every pool takes and gives."""

from dataclasses import dataclass
from typing import Protocol

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
