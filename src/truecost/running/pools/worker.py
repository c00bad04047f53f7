"""What makes a run: the slots of a process, for its own threads or for an executor's.

A worker of an executor reads the scenario itself and must find what the sender has. What it
remembers belongs to one campaign, so that the next one notices every edit.
"""

import hashlib
import json
import os
import secrets
import threading
from contextlib import ExitStack
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


# Of a run; or why a worker cannot make it.
Made: TypeAlias = tuple[Outcome, Machine] | TruecostError


class Place:
    """A campaign's slot, and its claim on cores, which goes with it."""

    def __init__(self, campaign: str, slot: Slot, claim: ExitStack) -> None:
        self.campaign, self.slot, self.claim = campaign, slot, claim

    def close(self) -> None:
        """End the supervisor and give the cores back."""
        self.slot.close()
        self.claim.close()


class Bench:
    """Places for runs; each thread takes one of its campaign."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Place] = []
        self._busy: list[Place] = []
        # Campaigns that ended, whose runs may still be under way in other threads.
        self._over: set[str] = set()

    def make(self, campaign: str, caller: Caller, task: Task, cores: int = 0) -> Made:
        """Make a run, again where somebody killed the supervisor; a place that is missing is added,
        with so many cores claimed.
        """
        lost = LostSlotError()
        for _ in range(ATTEMPTS):
            place = self._take(campaign, cores)
            try:
                machine = this_machine(caller.version(place.slot))
                return execute(place.slot, caller, task), machine
            except LostSlotError as error:
                lost = error
            finally:
                self._give_back(place)
        raise TruecostError(
            f"The run of configuration {task.configuration.name} on instance "
            f"{task.instance.name!r} ended {ATTEMPTS} times with its supervisor killed, by the "
            f"solver perhaps: {lost}"
        )

    def add(self, campaign: str, slot: Slot) -> None:
        """Add a slot whose cores somebody else has claimed."""
        self._idle.append(Place(campaign, slot, ExitStack()))

    def _take(self, campaign: str, cores: int) -> Place:
        with self._lock:
            if campaign in self._over:
                raise LostSlotError("the campaign is over.")
            place = next((place for place in self._idle if place.campaign == campaign), None)
            if place is None:
                # Another campaign's may have the last free cores.
                if self._idle:
                    self._idle.pop().close()
                with ExitStack() as claim:
                    pinned = claim.enter_context(claimed_cores(1, cores))[0] if cores else None
                    place = Place(campaign, Slot(cores=pinned), claim.pop_all())
            else:
                if place.slot.lost:
                    place.slot = Slot(cores=place.slot.cores)
                self._idle.remove(place)
            self._busy.append(place)
            return place

    def _give_back(self, place: Place) -> None:
        with self._lock:
            self._busy.remove(place)
            if place.campaign in self._over:
                place.close()
            else:
                self._idle.append(place)

    def release(self, campaign: str) -> None:
        """Close the idle places of a campaign that is over, and stop its runs."""
        with self._lock:
            self._over.add(campaign)
            for place in [place for place in self._idle if place.campaign == campaign]:
                self._idle.remove(place)
                place.close()
            for place in self._busy:
                if place.campaign == campaign:
                    place.slot.stop()


# Of the workers of executors in this process.
bench = Bench()


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


def remote_run(job: Job, task: Task, digest: str) -> Made:
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
        return bench.make(job.name, caller, replace(task, instance=instance), cores)
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
