"""Runs on a Dask cluster: tasks go out by a bounded queue, lost workers' tasks go out again, the
journal stays here.
"""

import asyncio
import gc
import hashlib
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from truecost.errors import InputError, LostClusterError, TruecostError
from truecost.running.pool import ATTEMPTS, Finished, Task, check_memory, this_machine
from truecost.running.scenario import Scenario
from truecost.running.slots import LostSlotError, Slot, claimed_cores, execute, version_of
from truecost.running.target import Caller
from truecost.runs import Instance, Machine, Outcome
from truecost.space.space import Configuration

# Seconds between counts of the cluster's threads, and how long to wait for its scheduler.
RECOUNT = 1.0
CONNECT = 10.0
# How often a client is started anew, on a machine so busy that its thread does not come up.
STARTS = 6
# Seconds between looks at what is done; and without workers, which batch systems start when they
# please, until we give up.
POLL = 0.005
DESERTED = 600.0
# A task whose workers die so often is not a matter of bad luck.
LOSSES = 20


class DaskPool:
    """The threads of a Dask cluster's workers; `waiting` is told when there are none.

    An address `tls://…` is connected to with the certificates that Dask's own settings name
    (`distributed.comm.tls`).
    """

    def __init__(
        self,
        scenario: Scenario,
        address: str,
        *,
        pin: bool,
        waiting: Callable[[str], None] | None = None,
    ) -> None:
        try:
            import distributed
        except ImportError as error:
            raise InputError(
                "expected the package distributed for `dask`; install truecost[cluster]."
            ) from error
        self._distributed = distributed
        self._scenario = scenario
        self._address = address
        self._pin = pin
        self._say = waiting or (lambda _: None)
        self._print = fingerprint_of(scenario)
        self._digests: dict[str, str] = {}
        self._tasks: dict[str, tuple[Task, int]] = {}
        self._sent = 0
        self._broken = distributed.comm.core.CommClosedError
        self._lost = (
            distributed.KilledWorker,
            LostSlotError,
            TimeoutError,
            asyncio.CancelledError,
            CancelledError,
            self._broken,
        )
        self._stack = ExitStack()
        self._stack.enter_context(_silenced())
        try:
            self._client = _connected(address)
            self._stack.callback(self._leave)
            self._completed = distributed.as_completed([], loop=self._client.loop)
            self._counted, self._workers = 0.0, self._first_workers()
        except BaseException:
            self._stack.close()
            raise

    def _first_workers(self) -> int:
        """The number of threads, as soon as there are any."""
        started = time.monotonic()
        while not (threads := self._threads()):
            if time.monotonic() - started > DESERTED:
                raise LostClusterError(
                    f"the Dask scheduler at {self._address} has no workers, and none came in {DESERTED / 60:.0f} minutes. "
                    "Start workers, then the same again."
                )
            if time.monotonic() - started > POLL:
                self._say(
                    f"waiting for the cluster's first worker, at most {DESERTED / 60:.0f} minutes"
                )
            time.sleep(RECOUNT / 5)
        return threads

    def _threads(self) -> int:
        """How many threads the cluster's workers have now."""
        with self._scheduler_needed():
            return sum(self._client.nthreads().values())

    @contextmanager
    def _scheduler_needed(self) -> Iterator[None]:
        """Whatever Dask raises once its scheduler is gone, said in a sentence."""
        try:
            yield
        except Exception as error:
            if self._client.status == "running" and not isinstance(error, OSError):
                raise
            raise self._lost_scheduler() from error

    def _lost_scheduler(self) -> LostClusterError:
        return LostClusterError(
            f"the Dask scheduler at {self._address} is gone, and with it the runs under way; every finished run is safe in "
            "the journal. Start the scheduler and its workers again, then the same again."
        )

    @property
    def workers(self) -> int:
        """How many runs the cluster executes at a time; it may grow and shrink."""
        if time.monotonic() - self._counted > RECOUNT:
            self._workers = max(1, self._threads())
            self._counted = time.monotonic()
        return self._workers

    def submit(self, task: Task) -> None:
        """Send a task."""
        self._send(task, 0)

    def _send(self, task: Task, losses: int) -> None:
        name = task.instance.name
        if name not in self._digests:
            self._digests[name] = task.instance.digest()
        self._sent += 1
        key = f"truecost-{os.getpid()}-{id(self)}-{self._sent}"
        with self._scheduler_needed():
            future = self._client.submit(
                remote_run,
                str(self._scenario.path),
                self._print,
                task.configuration,
                task.instance,
                self._digests[name],
                task.seed,
                task.cap,
                self._pin,
                version("truecost"),
                key=key,
                pure=False,
            )
            self._tasks[key] = task, losses
            self._completed.add(future)

    def wait(self) -> list[Finished]:
        """All runs that are finished, at least one."""
        finished: list[Finished] = []
        while not finished:
            for future in self._next_batch():
                task, losses = self._tasks.pop(future.key)
                error: BaseException | None = None
                try:
                    # A worker may die between finishing a run and handing it over; then there is
                    # nothing to wait for.
                    outcome, machine = future.result(timeout=CONNECT)
                    finished.append(Finished(task=task, outcome=outcome, machine=machine))
                    continue
                except (Exception, asyncio.CancelledError) as problem:
                    error = problem
                # Where the connection broke in the middle of an answer, the client needs a moment
                # to notice it.
                end = time.monotonic() + CONNECT
                while (
                    isinstance(error, self._broken)
                    and self._client.status == "running"
                    and time.monotonic() < end
                ):
                    time.sleep(POLL)
                if self._client.status != "running":
                    if finished:
                        return finished
                    raise self._lost_scheduler() from error
                if isinstance(error, self._lost):
                    if losses >= LOSSES:
                        raise TruecostError(
                            f"configuration {task.configuration.name} on instance {task.instance.name!r}: its workers died "
                            f"{losses} times; every finished run is safe in the journal ({error})."
                        )
                    future.cancel(force=True)
                    self._send(task, losses + 1)
                    continue
                raise error
        return finished

    def _next_batch(self) -> list[Any]:
        """Futures that are done one way or the other; a cluster that stays without workers is not
        waited for without end.
        """
        seen = looked = time.monotonic()
        while not (batch := list(self._completed.next_batch(block=False))):
            if self._client.status != "running":
                raise self._lost_scheduler()
            time.sleep(POLL)
            if time.monotonic() - looked > RECOUNT:
                looked = time.monotonic()
                if self._threads():
                    seen = looked
                elif looked - seen > DESERTED:
                    raise LostClusterError(
                        f"all workers of the cluster are gone, and none came in {DESERTED / 60:.0f} minutes; every finished "
                        "run is safe in the journal. Start workers, then the same again."
                    )
                else:
                    self._say(
                        "all workers of the cluster are gone; every finished run is safe in the journal; waiting for new "
                        f"workers, at most {DESERTED / 60:.0f} minutes"
                    )
        return batch

    def __enter__(self) -> "DaskPool":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _leave(self) -> None:
        """Take back what was sent, and go; a scheduler that is gone must not keep us."""
        with suppress(Exception):
            if self._client.status == "running":
                self._client.cancel(
                    [self._distributed.Future(key, self._client) for key in self._tasks], force=True
                )
        with suppress(Exception):
            self._client.close(timeout=CONNECT)


def _connected(address: str) -> Any:
    """A client of the scheduler there."""
    import distributed
    from distributed.comm.addressing import get_address_host_port

    try:
        if not address.startswith("inproc"):
            # Where nothing listens Dask would try again and again until its time is up.
            with socket.create_connection(get_address_host_port(address), timeout=CONNECT):
                pass
        # Dask gives its own thread ten seconds to start, and on a machine that is very busy it
        # takes longer.
        for _ in range(STARTS):
            # A client that failed closes itself when it is collected, for which it needs a lock
            # that the next holds while its thread starts: collected in that thread, both would wait
            # for ever.
            gc.collect()
            with suppress(AssertionError):
                return distributed.Client(address, timeout=CONNECT, set_as_default=False)
        raise TimeoutError("this machine is too busy to start Dask's client")
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        hint = ""
        if address.startswith("tls:"):
            hint = " Dask's settings distributed.comm.tls must name a ca-file, and a certificate and key of the client."
        what = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"expected a Dask scheduler with workers at {address!r}, got none: {what}.{hint}"
        ) from error


@contextmanager
def _silenced() -> Iterator[None]:
    """Dask tells in many lines of log what we say in a sentence."""
    logger = logging.getLogger("distributed")
    handlers = list(logger.handlers)

    def never(_record: logging.LogRecord) -> bool:
        return False

    for handler in handlers:
        handler.addFilter(never)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(never)


def fingerprint_of(scenario: Scenario) -> str:
    """A short name of the scenario's fingerprint, to compare with a worker's."""
    return hashlib.sha256(json.dumps(scenario.fingerprint(), sort_keys=True).encode()).hexdigest()[
        :16
    ]


class _Bench:
    """The slots of a worker process, one for each thread that is at work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Slot] = []
        self._stack = ExitStack()

    def take(self, pin: bool) -> Slot:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            # The core stays claimed as long as this process lives.
            return Slot(core=self._stack.enter_context(claimed_cores(1))[0] if pin else None)

    def give_back(self, slot: Slot) -> None:
        with self._lock:
            self._idle.append(slot)


_bench = _Bench()


@cache
def _known(path: str, fingerprint: str) -> tuple[Scenario, Caller, dict[str, Any]]:
    scenario = Scenario.read(path)
    if fingerprint_of(scenario) != fingerprint:
        raise InputError(
            f"{path}: expected the scenario that is gathered, got another one on {os.uname().nodename}."
        )
    return scenario, Caller(scenario), {instance.name: instance for instance in scenario.instances}


_digests: dict[tuple[str, str, str], str] = {}
_solver: dict[str, str] = {}


def remote_run(
    path: str,
    fingerprint: str,
    configuration: Configuration,
    instance: Instance,
    digest: str,
    seed: int,
    cap: float | None,
    pin: bool,
    truecost: str,
) -> tuple[Outcome, Machine]:
    """One run, in a worker's thread; the worker reads the scenario for itself and must find the
    same.
    """
    host = os.uname().nodename
    if truecost != version("truecost"):
        raise InputError(
            f"expected truecost {truecost} on the worker {host}, got {version('truecost')}."
        )
    try:
        scenario, caller, instances = _known(path, fingerprint)
        check_memory(scenario, 1)
        # As the worker's own scenario has it; what is not in its list was named to the one who sent
        # it.
        here = instances.get(instance.name, instance)
        key = (path, fingerprint, here.name)
        if key not in _digests:
            _digests[key] = here.digest()
        if _digests[key] != digest:
            raise InputError(
                f"{Path(path).name}: expected the same instance {here.name!r} on the worker {host}, got another."
            )
    except OSError as error:
        raise InputError(
            f"{error.filename or path}: expected to be there on the worker {host} too: {error.strerror}."
        ) from error
    for attempt in range(1, ATTEMPTS + 1):
        slot = _bench.take(pin)
        try:
            if path not in _solver:
                _solver[path] = version_of(slot, scenario, caller)
            outcome = execute(slot, caller, configuration, here, seed, cap)
        except LostSlotError:
            if attempt == ATTEMPTS:
                raise
            continue
        _bench.give_back(slot)
        return outcome, this_machine(slot.method, _solver[path])
    raise AssertionError
