"""Tasks in, finished runs out: what every pool takes and gives."""

from dataclasses import dataclass
from typing import Protocol

from truecost.errors import InputError
from truecost.running.machine import memory_allowed
from truecost.running.scenario import Scenario
from truecost.running.slots import MB
from truecost.runs import Instance, Machine, Outcome, Run
from truecost.space.space import Configuration

# A run whose supervisor is killed so often is not a matter of bad luck.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A run to be done, stopped after `cap` seconds, which are below the scenario's limit."""

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

    @property
    def run(self) -> Run:
        """The run as it is recorded."""
        task = self.task
        return Run(
            configuration=task.configuration.name,
            instance=task.instance.name,
            number=task.number,
            seed=task.seed,
            outcome=self.outcome,
        )


class Pool(Protocol):
    """Where runs are executed: tasks in, finished runs out, in whatever order."""

    @property
    def workers(self) -> int:
        """How many runs are executed at a time."""
        ...

    def submit(self, task: Task) -> None:
        """Take a task; there is room for two per worker."""
        ...

    def wait(self) -> list[Finished]:
        """At least one finished run."""
        ...


def check_memory(scenario: Scenario, workers: int) -> None:
    """Refuse a memory limit that the machine would reach before the runs do."""
    available = memory_allowed() / MB
    if scenario.limits.memory is not None and scenario.limits.memory * workers > available:
        raise InputError(
            f"limits.memory: expected at most {available / workers:,.0f} MB with {workers} workers "
            f"on one with {available:,.0f} MB, got {scenario.limits.memory:,.0f}: it could not be "
            "enforced. Lower it, or use fewer `workers`."
        )
