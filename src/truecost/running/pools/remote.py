"""The worker's side of a run that an executor makes.

A worker reads the scenario itself and must find what the sender has. What it remembers is keyed by
content, so that a worker that outlives an edit of the scenario or of an instance notices it.
"""

import hashlib
import json
import os
import secrets
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from truecost.errors import InputError, TruecostError
from truecost.running.execute import Caller, execute, version_of
from truecost.running.machine import claimed_cores, this_machine, truecost_version
from truecost.running.pools.base import Task
from truecost.running.pools.local import check_memory, persistently
from truecost.running.scenario import Scenario
from truecost.running.slots import LostSlotError, Slot
from truecost.runs import Instance, Machine, Outcome


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
            fingerprint=fingerprint_of(scenario),
            pin=pin,
            truecost=truecost_version(),
        )


def fingerprint_of(scenario: Scenario) -> str:
    """A hash of the scenario's fingerprint, to compare with a worker's."""
    text = json.dumps(scenario.fingerprint(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Place:
    """A slot with its claim on cores; both go at once."""

    def __init__(self, cores: int) -> None:
        with ExitStack() as stack:
            pinned = stack.enter_context(claimed_cores(1, cores))[0] if cores else None
            self.slot = stack.enter_context(Slot(cores=pinned))
            self._stack = stack.pop_all()

    def close(self) -> None:
        """End the supervisor and give the cores back."""
        self._stack.close()


class Bench:
    """The places of a worker process; each of its threads takes one for a run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, int], list[Place]] = {}
        self._busy: list[tuple[str, Place]] = []
        # Campaigns that ended in this process, whose runs may still be under way in other threads.
        self._over: set[str] = set()

    def take(self, job: Job, cores: int) -> Place:
        """A place for a run of this job, pinned to so many cores; 0 for any."""
        with self._lock:
            if job.name in self._over:
                raise LostSlotError("the campaign is over.")
            if idle := self._idle.get((job.fingerprint, cores)):
                place = idle.pop()
            else:
                # What another job, or this one before an edit, has loaded must not be used.
                if others := next(filter(None, self._idle.values()), None):
                    others.pop().close()
                place = Place(cores)
            self._busy.append((job.name, place))
            return place

    def give_back(self, job: Job, cores: int, place: Place) -> None:
        """Keep a place for the next run, unless it is lost or the campaign over."""
        with self._lock:
            self._busy.remove((job.name, place))
            if place.slot.lost or job.name in self._over:
                place.close()
            else:
                self._idle.setdefault((job.fingerprint, cores), []).append(place)

    def release(self, job: Job) -> None:
        """Close the idle places, and stop the runs of this job."""
        with self._lock:
            self._over.add(job.name)
            for places in self._idle.values():
                while places:
                    places.pop().close()
            for name, place in self._busy:
                if name == job.name:
                    place.slot.stop()


bench = Bench()
# Digests of instances, keyed by what changes with the file; versions of solvers.
_digests: dict[tuple[str, str, object], str] = {}
_solver: dict[str, str] = {}


def remote_run(job: Job, task: Task, digest: str) -> tuple[Outcome, Machine] | TruecostError:
    """Make a run, in a worker's thread or process. Why it cannot be made is returned, an InputError
    where another worker may do better: an exception would say that the worker is lost.
    """
    host = os.uname().nodename
    try:
        if job.truecost != truecost_version():
            raise InputError(
                f"truecost {truecost_version()} is installed on the worker {host}, and "
                f"{job.truecost} here. Install the same version."
            )
        caller, instances = _read(job.scenario, job.fingerprint, _stamp(Path(job.scenario)))
        # As the worker's own scenario has it; what is not in its list was named to the sender.
        instance = instances.get(task.instance.name, task.instance)
        _check_instance(job, instance, digest)
        return _made(job, task, caller, instance)
    except OSError as error:
        missing = f"{error.filename or job.scenario}: {error.strerror or error}."
        return InputError(f"On the worker {_worker(host)}: {missing}")
    except InputError as error:
        text = str(error)
        return InputError(text if host in text else f"On the worker {_worker(host)}: {text}")
    except Exception as error:
        return TruecostError(f"On the worker {_worker(host)}: {type(error).__name__}: {error}")


def _stamp(path: Path) -> tuple[int, int, int]:
    """What changes when a file does."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=8)
def _read(path: str, fingerprint: str, _stamp: object) -> tuple[Caller, dict[str, Instance]]:
    scenario = Scenario.read(path)
    if fingerprint_of(scenario) != fingerprint:
        raise InputError(
            f"{path} or a program of it differs from the sender's. Copy the same files to all "
            "workers."
        )
    check_memory(scenario, 1)
    return Caller(scenario), {instance.name: instance for instance in scenario.instances}


def _check_instance(job: Job, instance: Instance, digest: str) -> None:
    stamp = _stamp(Path(instance.argument)) if instance.is_file else None
    key = job.fingerprint, instance.name, stamp
    if key not in _digests:
        _digests[key] = instance.digest()
    if _digests[key] != digest:
        raise InputError(
            f"the instance {instance.name!r} differs from the sender's. Copy the same file."
        )


def _made(job: Job, task: Task, caller: Caller, instance: Instance) -> tuple[Outcome, Machine]:
    cores = caller.scenario.limits.cores if job.pin else 0

    def attempt() -> Outcome:
        place = bench.take(job, cores)
        try:
            if job.fingerprint not in _solver:
                _solver[job.fingerprint] = version_of(place.slot, caller)
            return execute(place.slot, caller, task.configuration, instance, task.seed, task.cap)
        finally:
            bench.give_back(job, cores, place)

    return persistently(task, attempt), this_machine(_solver[job.fingerprint])


def _worker(host: str) -> str:
    """The host, with the address of the Dask worker we are in, or the process."""
    try:
        from distributed import get_worker

        return f"{host} ({get_worker().address})"
    except (ImportError, ValueError):
        return f"{host} (process {os.getpid()})"
