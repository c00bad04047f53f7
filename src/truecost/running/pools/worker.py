"""What makes a run: the slots of a process, for its own threads or for an executor's.

A worker of an executor reads the scenario itself and must find what the sender has. What it
remembers belongs to one campaign, so that the next one notices every edit.
"""

import hashlib
import json
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from truecost.errors import InputError, TruecostError
from truecost.running.execute import Caller, execute
from truecost.running.machine import claimed_cores, memory_allowed, this_machine, truecost_version
from truecost.running.scenario import Scenario
from truecost.running.slots import LostSlotError, Slot
from truecost.running.targets import Task
from truecost.runs import Instance, Machine, Outcome

# A run whose supervisor is killed so often is not a matter of bad luck.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run that is done, and where."""

    task: Task
    outcome: Outcome
    machine: Machine


# Of a run; or why it could not be made.
Reply: TypeAlias = tuple[Outcome, Machine] | TruecostError


class ClaimedSlot:
    """A campaign's slot, and the claim on its cores, which goes with it."""

    def __init__(self, campaign: str, slot: Slot, claim: ExitStack) -> None:
        self.campaign, self.slot, self.claim = campaign, slot, claim

    def close(self) -> None:
        """End the supervisor and give the cores back."""
        self.slot.close()
        self.claim.close()


class Slots:
    """The slots of the campaigns of this process; each thread takes one of its campaign's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[ClaimedSlot] = []
        self._busy: list[ClaimedSlot] = []
        # Campaigns that ended, whose runs may still be under way in other threads.
        self._over: set[str] = set()

    def make(self, campaign: str, caller: Caller, task: Task, cores: int = 0) -> Reply:
        """Make a run, again where somebody killed the supervisor; a slot that is missing is added,
        with that number of cores claimed.
        """
        lost = LostSlotError()
        for _ in range(ATTEMPTS):
            try:
                with self._taken(campaign, cores) as slot:
                    machine = this_machine(caller.version(slot))
                    return execute(slot, caller, task), machine
            except LostSlotError as error:
                lost = error
        raise TruecostError(
            f"The run of configuration {task.configuration.name} on instance "
            f"{task.instance.name!r} ended {ATTEMPTS} times with its supervisor killed, by the "
            f"solver perhaps: {lost}"
        )

    def add(self, campaign: str, slot: Slot) -> None:
        """Add a slot whose cores somebody else has claimed."""
        self._idle.append(ClaimedSlot(campaign, slot, ExitStack()))

    @contextmanager
    def _taken(self, campaign: str, cores: int) -> Iterator[Slot]:
        """A slot of the campaign, which nobody else uses meanwhile."""
        with self._lock:
            taken = self._take(campaign, cores)
            self._busy.append(taken)
        try:
            yield taken.slot
        finally:
            with self._lock:
                self._busy.remove(taken)
                if campaign in self._over:
                    taken.close()
                else:
                    self._idle.append(taken)

    def _take(self, campaign: str, cores: int) -> ClaimedSlot:
        if campaign in self._over:
            raise LostSlotError("the campaign is over.")
        idle = next((slot for slot in self._idle if slot.campaign == campaign), None)
        if idle is not None:
            if idle.slot.lost:
                idle.slot = Slot(cores=idle.slot.cores)
            self._idle.remove(idle)
            return idle
        # These are other campaigns', and may have the last free cores.
        while self._idle:
            self._idle.pop().close()
        with ExitStack() as claim:
            pinned = claim.enter_context(claimed_cores(1, cores))[0] if cores else None
            return ClaimedSlot(campaign, Slot(cores=pinned), claim.pop_all())

    def release(self, campaign: str) -> None:
        """Close the idle slots of a campaign that is over, and stop its runs."""
        with self._lock:
            self._over.add(campaign)
            for idle in [slot for slot in self._idle if slot.campaign == campaign]:
                self._idle.remove(idle)
                idle.close()
            for busy in self._busy:
                if busy.campaign == campaign:
                    busy.slot.stop()


# Of the workers of executors in this process.
worker_slots = Slots()


def release(campaign: str) -> None:
    """End a campaign in this process: its runs stop, and its cores are free."""
    worker_slots.release(campaign)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all runs of a campaign have in common, as it is sent to workers; `name` is unique."""

    name: str
    scenario: str
    fingerprint: str
    pin: bool
    truecost: str

    @classmethod
    def of(cls, scenario: Scenario, *, pin: bool) -> "Job":
        """The job of running a scenario."""
        return cls(
            name=secrets.token_hex(8),
            scenario=str(scenario.path),
            fingerprint=_fingerprint(scenario),
            pin=pin,
            truecost=truecost_version(),
        )


def _fingerprint(scenario: Scenario) -> str:
    text = json.dumps(scenario.fingerprint(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def remote_run(job: Job, task: Task, digest: str) -> Reply:
    """Make a run in a worker's thread or process. Errors are returned: what is raised says that
    the worker is lost.
    """
    try:
        if job.truecost != truecost_version():
            raise InputError(
                f"truecost {truecost_version()} is installed, and {job.truecost} where the "
                "campaign was started. Install the same version."
            )
        caller, instances, same = _read(job)
        # As the worker's own scenario has it; what is not in its list was named to the sender.
        instance = instances.get(task.instance.name, task.instance)
        if instance.name not in same:
            if instance.digest() != digest:
                raise InputError(
                    f"The instance {instance.name!r} differs from the sender's. Copy the same file."
                )
            same.add(instance.name)
        cores = caller.scenario.limits.cores if job.pin else 0
        return worker_slots.make(job.name, caller, replace(task, instance=instance), cores)
    except Exception as error:
        worker = f"On the worker {os.uname().nodename} ({_address()})"
        if isinstance(error, TruecostError):
            return type(error)(f"{worker}: {error}")
        if isinstance(error, OSError):
            cause = error.strerror or error
            return InputError(f"{worker}: {error.filename or job.scenario}: {cause}.")
        return TruecostError(f"{worker}: {type(error).__name__}: {error}")


@lru_cache(maxsize=8)
def _read(job: Job) -> tuple[Caller, dict[str, Instance], set[str]]:
    """The worker's own scenario, its instances, and those that are known to be the sender's."""
    scenario = Scenario.read(job.scenario)
    if _fingerprint(scenario) != job.fingerprint:
        raise InputError(
            f"{job.scenario} or a program of it differs from the sender's. Copy the same files to "
            "all workers."
        )
    check_memory(scenario, 1)
    return Caller(scenario), {instance.name: instance for instance in scenario.instances}, set()


def check_memory(scenario: Scenario, workers: int) -> None:
    """Refuse a memory limit that the machine would reach before the runs do."""
    available = memory_allowed() / 1e6
    if scenario.limits.memory is not None and scenario.limits.memory * workers > available:
        raise InputError(
            f"limits.memory is {scenario.limits.memory:,.0f} MB, but {workers} workers share "
            f"{available:,.0f} MB. Lower it to {available / workers:,.0f} or less, or use fewer "
            "workers."
        )


def _address() -> str:
    """The address of the Dask worker we are in, or the process."""
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return f"process {os.getpid()}"
