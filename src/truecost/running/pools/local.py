"""Runs on this machine: slots, one thread waiting for each."""

import queue
import threading
from collections.abc import Sequence

from truecost.errors import InputError, TruecostError
from truecost.running.execute import Caller, execute, version_of
from truecost.running.machine import memory_allowed, this_machine
from truecost.running.pools.task import Finished, Task
from truecost.running.scenario import Scenario
from truecost.running.slots import MB, LostSlotError, Slot

# A run whose supervisor is killed so often is not a matter of bad luck.
ATTEMPTS = 3


class LocalPool:
    """Slots on this machine, each pinned to cores or to none."""

    def __init__(self, scenario: Scenario, pinned: Sequence[tuple[int, ...] | None]) -> None:
        check_memory(scenario, len(pinned))
        self._caller = Caller(scenario)
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Finished | BaseException] = queue.SimpleQueue()
        self._slots: list[Slot] = []
        self._closing = False
        try:
            for cores in pinned:
                self._slots.append(Slot(cores=cores))
            self._solver = version_of(self._slots[0], self._caller)
        except BaseException:
            self._close_slots()
            raise
        self._threads = [
            threading.Thread(target=self._work, args=(place,), daemon=True)
            for place in range(len(pinned))
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
        results = [self._results.get()]
        while not self._results.empty():
            results.append(self._results.get())
        errors = [result for result in results if isinstance(result, BaseException)]
        finished = [result for result in results if isinstance(result, Finished)]
        if errors and not finished:
            raise errors[0]
        for error in errors:
            # Finished runs are recorded first; the error is met at the next call.
            self._results.put(error)
        return finished

    def cancel(self) -> list[Task]:
        """Drop the tasks that have not started."""
        dropped: list[Task] = []
        while True:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                return dropped
            if task is not None:
                dropped.append(task)

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
                slot = self._slots[place]
                if lost:
                    slot = self._slots[place] = Slot(cores=slot.cores)
                outcome = execute(
                    slot, self._caller, task.configuration, task.instance, task.seed, task.cap
                )
            except LostSlotError as error:
                # Somebody killed the supervisor: its run is lost, and is made again.
                if self._closing or attempt == ATTEMPTS:
                    raise killed(task, error) from error
                lost = True
                continue
            return Finished(task=task, outcome=outcome, machine=this_machine(self._solver))
        raise AssertionError

    def _close_slots(self) -> None:
        for slot in self._slots:
            slot.close()

    def __enter__(self) -> "LocalPool":
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        for _thread in self._threads:
            self._tasks.put(None)
        while any(thread.is_alive() for thread in self._threads):
            # Again and again: a thread may just have replaced a lost slot.
            for slot in list(self._slots):
                slot.stop()
            for thread in self._threads:
                thread.join(0.05)
        self._close_slots()


def killed(task: Task, error: LostSlotError) -> TruecostError:
    """The error of a run whose supervisors are killed again and again."""
    return TruecostError(
        f"The run of configuration {task.configuration.name} on instance {task.instance.name!r} "
        f"ended {ATTEMPTS} times with its supervisor killed, by the solver perhaps: {error}"
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
