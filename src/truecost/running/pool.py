"""Where runs are executed: tasks in, finished runs out; here the slots of this machine."""

import os
import platform
import queue
import threading
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from truecost.errors import InputError
from truecost.running.scenario import Scenario
from truecost.running.slots import MB, LostSlotError, Slot, execute, version_of
from truecost.running.target import Caller
from truecost.runs import Instance, Machine, Outcome, Run
from truecost.space.space import Configuration

# A run whose supervisor is killed so often is not a matter of bad luck.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A run to be done; `cap` are seconds, below the scenario's limit, after which it is stopped."""

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
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / MB
    if scenario.limits.memory is not None and scenario.limits.memory * workers > there:
        raise InputError(
            f"limits.memory: expected at most {there / workers:,.0f} MB with {workers} workers on one with "
            f"{there:,.0f} MB, got {scenario.limits.memory:,.0f}: it could not be enforced. Lower it, or use fewer "
            "`workers`."
        )


class LocalPool:
    """Slots on this machine, one thread waiting for each."""

    def __init__(self, scenario: Scenario, pinned: list[int | None]) -> None:
        self._scenario = scenario
        self._caller = Caller(scenario)
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Finished | BaseException] = queue.SimpleQueue()
        self._slots: dict[int, Slot] = {}
        self._closing = False
        try:
            for place, core in enumerate(pinned):
                self._slots[place] = Slot(core=core)
            self._solver = version_of(self._slots[0], scenario, self._caller)
        except BaseException:
            self._close_slots()
            raise
        self._threads = [
            threading.Thread(target=self._work, args=(place,), daemon=True) for place in self._slots
        ]
        for thread in self._threads:
            thread.start()

    @property
    def workers(self) -> int:
        """How many runs are executed at a time."""
        return len(self._slots)

    def submit(self, task: Task) -> None:
        """Take a task."""
        self._tasks.put(task)

    def wait(self) -> list[Finished]:
        """All runs that are finished, at least one."""
        found = [self._results.get()]
        while not self._results.empty():
            found.append(self._results.get())
        errors = [item for item in found if isinstance(item, BaseException)]
        finished = [item for item in found if isinstance(item, Finished)]
        if errors and not finished:
            raise errors[0]
        for error in errors:
            # What is finished goes into the journal first; the error is met at the next call.
            self._results.put(error)
        return finished

    def _work(self, place: int) -> None:
        while (task := self._tasks.get()) is not None and not self._closing:
            try:
                self._results.put(self._run(place, task))
            except BaseException as error:
                if not self._closing:
                    self._results.put(error)

    def _run(self, place: int, task: Task) -> Finished:
        lost = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                slot = self._slots[place] = (
                    Slot(core=self._slots[place].core) if lost else self._slots[place]
                )
                outcome = execute(
                    slot, self._caller, task.configuration, task.instance, task.seed, task.cap
                )
            except LostSlotError:
                # Somebody killed the supervisor, be it while it started: what it ran is gone with
                # it, and is done again.
                if self._closing or attempt == ATTEMPTS:
                    raise
                lost = True
                continue
            return Finished(
                task=task, outcome=outcome, machine=this_machine(slot.method, self._solver)
            )
        raise AssertionError

    def _close_slots(self) -> None:
        for slot in self._slots.values():
            slot.close()

    def __enter__(self) -> "LocalPool":
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        for _thread in self._threads:
            self._tasks.put(None)
        while any(thread.is_alive() for thread in self._threads):
            # Again and again: a thread may just have put a new slot in the place of a lost one.
            for slot in list(self._slots.values()):
                slot.stop()
            for thread in self._threads:
                thread.join(0.05)
        self._close_slots()


@cache
def this_machine(method: str, solver: str) -> Machine:
    """What a run made here says of where it was made."""
    return Machine(
        host=platform.node(),
        cpu=_cpu_model(),
        system=f"{platform.system()} {platform.release()}",
        method=method,
        solver=solver,
        truecost=version("truecost"),
    )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.machine()
    models = [
        line.partition(":")[2].strip()
        for line in lines
        if line.lower().startswith(("model name", "cpu model", "hardware"))
    ]
    return models[0] if models else platform.machine()
