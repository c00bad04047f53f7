"""Runs on this machine: slots, one thread waiting for each."""

import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from truecost.errors import InputError, TruecostError
from truecost.running.execute import Caller, execute, version_of
from truecost.running.machine import memory_allowed, this_machine
from truecost.running.pools.base import Finished, FuturePool, Task
from truecost.running.scenario import Scenario
from truecost.running.slots import MB, LostSlotError, Slot
from truecost.runs import Outcome

# A run whose supervisor is killed so often is not a matter of bad luck.
ATTEMPTS = 3


class LocalPool(FuturePool):
    """Slots on this machine, each pinned to cores or to none."""

    def __init__(self, scenario: Scenario, pinned: Sequence[tuple[int, ...] | None]) -> None:
        super().__init__(len(pinned))
        check_memory(scenario, len(pinned))
        self._caller = Caller(scenario)
        self._slots: list[Slot] = []
        self._closing = False
        try:
            for cores in pinned:
                self._slots.append(Slot(cores=cores))
            self._solver = version_of(self._slots[0], self._caller)
        except BaseException:
            self._close_slots()
            raise
        self._idle: queue.SimpleQueue[int] = queue.SimpleQueue()
        for place in range(len(pinned)):
            self._idle.put(place)
        self._threads = ThreadPoolExecutor(len(pinned))

    def start(self, task: Task) -> Future[Any]:
        """Begin a run as soon as a slot is free."""
        return self._threads.submit(self._run, task)

    def result(self, future: Future[Any], task: Task, losses: int) -> list[Finished]:  # noqa: ARG002
        """The finished run."""
        return [future.result()]

    def _run(self, task: Task) -> Finished:
        place = self._idle.get()

        def attempt() -> Outcome:
            if self._closing:
                raise LostSlotError
            slot = self._slots[place]
            if slot.lost:
                slot = self._slots[place] = Slot(cores=slot.cores)
            return execute(
                slot, self._caller, task.configuration, task.instance, task.seed, task.cap
            )

        try:
            outcome = persistently(task, attempt)
        finally:
            self._idle.put(place)
        return Finished(task=task, outcome=outcome, machine=this_machine(self._solver))

    def _close_slots(self) -> None:
        for slot in self._slots:
            slot.close()

    def __enter__(self) -> "LocalPool":
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self.cancel()
        while not all(future.done() for future in self._out):
            # Again and again: a thread may just have replaced a lost slot.
            for slot in list(self._slots):
                slot.stop()
            wait(self._out, timeout=0.05)
        self._threads.shutdown()
        self._close_slots()


def persistently(task: Task, attempt: Callable[[], Outcome]) -> Outcome:
    """Make a run, again where somebody killed the supervisor: then the run is lost."""
    lost = LostSlotError()
    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except LostSlotError as error:
            lost = error
    raise TruecostError(
        f"The run of configuration {task.configuration.name} on instance {task.instance.name!r} "
        f"ended {ATTEMPTS} times with its supervisor killed, by the solver perhaps: {lost}"
    )


def check_memory(scenario: Scenario, workers: int) -> None:
    """Refuse a memory limit that the machine would reach before the runs do."""
    available = memory_allowed() / MB
    if scenario.limits.memory is not None and scenario.limits.memory * workers > available:
        raise InputError(
            f"limits.memory is {scenario.limits.memory:,.0f} MB, but {workers} workers share "
            f"{available:,.0f} MB. Lower it to {available / workers:,.0f} or less, or use fewer "
            "workers."
        )
