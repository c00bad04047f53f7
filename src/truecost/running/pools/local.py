"""Runs on this machine: slots, one thread waiting for each."""

import queue
import threading
from collections.abc import Sequence

from truecost.running.execute import Caller, execute, version_of
from truecost.running.machine import this_machine
from truecost.running.pools.task import ATTEMPTS, Finished, Task
from truecost.running.scenario import Scenario
from truecost.running.slots import LostSlotError, Slot


class LocalPool:
    """Slots on this machine, each pinned to a core or to none."""

    def __init__(self, scenario: Scenario, pinned: Sequence[tuple[int, ...] | None]) -> None:
        self._caller = Caller(scenario)
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Finished | BaseException] = queue.SimpleQueue()
        self._slots: dict[int, Slot] = {}
        self._closing = False
        try:
            for place, cores in enumerate(pinned):
                self._slots[place] = Slot(cores=cores, private=scenario.private)
            self._solver = version_of(self._slots[0], self._caller)
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
        results = [self._results.get()]
        while not self._results.empty():
            results.append(self._results.get())
        errors = [result for result in results if isinstance(result, BaseException)]
        finished = [result for result in results if isinstance(result, Finished)]
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
                slot = self._slots[place]
                if lost:
                    slot = self._slots[place] = Slot(cores=slot.cores, private=slot.private)
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
            machine = this_machine(slot.method, self._solver)
            return Finished(task=task, outcome=outcome, machine=machine)
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
