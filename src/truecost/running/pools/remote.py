"""The worker's side of a run that somebody else asked for: the same for Dask and for any executor.

A worker reads the scenario for itself and must find what the sender has. What it remembers is keyed
by content, so that a worker that outlives an edit of the scenario or of an instance notices it.
"""

import hashlib
import json
import os
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from truecost.errors import InputError
from truecost.running.execute import Caller, execute, version_of
from truecost.running.machine import claimed_cores, this_machine, truecost_version
from truecost.running.pools.task import ATTEMPTS, Task, check_memory
from truecost.running.scenario import Scenario
from truecost.running.slots import LostSlotError, Slot
from truecost.runs import Instance, Machine, Outcome


class WorkerError(InputError):
    """A run could not be started on one worker, which its message names; others may do it."""

    def __init__(self, message: str, host: str, worker: str) -> None:
        super().__init__(message, host, worker)
        self.host, self.worker = host, worker

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all runs of a campaign have in common, as it is sent to workers."""

    scenario: str
    fingerprint: str
    pin: bool
    truecost: str

    @classmethod
    def of(cls, scenario: Scenario, *, pin: bool) -> "Job":
        """The job of running a scenario."""
        return cls(
            scenario=str(scenario.path),
            fingerprint=fingerprint_of(scenario),
            pin=pin,
            truecost=truecost_version(),
        )


class Digests(dict[str, str]):
    """The digests of instances by their names, each read once by whoever sends runs."""

    def of(self, instance: Instance) -> str:
        """The digest of an instance."""
        if instance.name not in self:
            self[instance.name] = instance.digest()
        return self[instance.name]


def fingerprint_of(scenario: Scenario) -> str:
    """A short name of the scenario's fingerprint, to compare with a worker's."""
    text = json.dumps(scenario.fingerprint(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Bench:
    """The slots of a worker process, one for each thread that is at work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By the number of their cores, 0 for those that are not pinned, and their privacy.
        self._idle: dict[tuple[int, bool], list[Slot]] = {}
        self._stack = ExitStack()

    def take(self, size: int, private: bool) -> Slot:
        with self._lock:
            if idle := self._idle.get((size, private)):
                return idle.pop()
            # The core stays claimed as long as this process lives, or until `release`.
            cores = self._stack.enter_context(claimed_cores(1, size))[0] if size else None
            return Slot(cores=cores, private=private)

    def give_back(self, slot: Slot) -> None:
        with self._lock:
            self._idle.setdefault((len(slot.cores or ()), slot.private), []).append(slot)

    def release(self) -> None:
        with self._lock:
            for slots in self._idle.values():
                while slots:
                    slots.pop().close()
            self._stack.close()


bench = _Bench()


def _stamp(path: Path) -> tuple[int, int, int]:
    """What changes when a file does."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=8)
def _read(path: str, fingerprint: str, _stamp: object) -> tuple[Caller, dict[str, Instance]]:
    scenario = Scenario.read(path)
    if fingerprint_of(scenario) != fingerprint:
        raise InputError(
            f"{path}: expected the scenario that is gathered, got another one on "
            f"{os.uname().nodename}."
        )
    check_memory(scenario, 1)
    return Caller(scenario), {instance.name: instance for instance in scenario.instances}


# Digests of instances, keyed by what changes with the file; versions of solvers.
_digests: dict[tuple[str, str, object], str] = {}
_solver: dict[tuple[str, str], str] = {}


def remote_run(job: Job, task: Task, digest: str) -> tuple[Outcome, Machine]:
    """One run, in a worker's thread or process."""
    host = os.uname().nodename
    try:
        if job.truecost != truecost_version():
            raise InputError(
                f"expected truecost {job.truecost} on the worker {host}, got {truecost_version()}."
            )
        caller, instances = _read(job.scenario, job.fingerprint, _stamp(Path(job.scenario)))
        # As the worker's own scenario has it; what is not in its list was named to the sender.
        instance = instances.get(task.instance.name, task.instance)
        _check_instance(job, instance, digest, host)
        return _attempt(job, task, caller, instance)
    except WorkerError:
        raise
    except OSError as error:
        message = (
            f"{error.filename or job.scenario}: expected to be there on the worker {host} too: "
            f"{error.strerror}."
        )
        raise WorkerError(message, host, _worker_name()) from error
    except InputError as error:
        text = str(error)
        message = text if host in text else f"on the worker {host}: {text}"
        raise WorkerError(message, host, _worker_name()) from error


def _check_instance(job: Job, instance: Instance, digest: str, host: str) -> None:
    path = Path(instance.argument)
    stamp = _stamp(path) if instance.is_file and instance.recipe is None else None
    key = job.fingerprint, instance.name, stamp
    if key not in _digests:
        _digests[key] = instance.digest()
    if _digests[key] != digest:
        raise InputError(
            f"{Path(job.scenario).name}: expected the same instance {instance.name!r} on the "
            f"worker {host}, got another."
        )


def _attempt(job: Job, task: Task, caller: Caller, instance: Instance) -> tuple[Outcome, Machine]:
    key = job.scenario, job.fingerprint
    for attempt in range(1, ATTEMPTS + 1):
        size = caller.scenario.limits.cores if job.pin else 0
        slot = bench.take(size, caller.scenario.private)
        try:
            if key not in _solver:
                _solver[key] = version_of(slot, caller)
            outcome = execute(slot, caller, task.configuration, instance, task.seed, task.cap)
        except LostSlotError:
            if attempt == ATTEMPTS:
                raise
            continue
        except BaseException:
            bench.give_back(slot)
            raise
        bench.give_back(slot)
        return outcome, this_machine(slot.method, _solver[key])
    raise AssertionError


def _worker_name() -> str:
    """The address of the Dask worker we are in; the process elsewhere."""
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return f"process {os.getpid()}"
