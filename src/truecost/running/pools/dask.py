"""Runs on a Dask cluster: tasks go out by a bounded queue, lost workers' tasks go out again, the
journal stays here.
"""

import asyncio
import gc
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

from truecost.errors import InputError, LostClusterError, TruecostError
from truecost.running.pools.remote import Digests, Job, WorkerError, remote_run
from truecost.running.pools.task import Finished, Task
from truecost.running.scenario import Scenario
from truecost.running.slots import LostSlotError

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
# A worker that failed to start this many runs is left out.
FAILURES = 3


class DaskPool:
    """The threads of a Dask cluster's workers; `waiting` is told when there are none.

    An address `tls://…` is connected to with the certificates that Dask's own settings name
    (`distributed.comm.tls`).
    """

    def __init__(
        self,
        scenario: Scenario,
        cluster: Any,
        *,
        pin: bool,
        waiting: Callable[[str], None] | None = None,
    ) -> None:
        try:
            import distributed
        except ImportError as error:
            raise InputError(
                "expected the package distributed for a Dask cluster; install truecost[cluster]."
            ) from error
        self._distributed = distributed
        self._job = Job.of(scenario, pin=pin)
        self._say = waiting or (lambda _: None)
        self._digests = Digests()
        self._tasks: dict[str, tuple[Task, int]] = {}
        # Tasks to be sent with the next look at the cluster: one message for all of them.
        self._unsent: list[tuple[Task, int]] = []
        self._sent = 0
        self._trouble: BaseException | None = None
        self._failures: Counter[str] = Counter()
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
            self._owned = isinstance(cluster, str)
            self._client = _connected(cluster) if self._owned else cluster
            self._address = cluster if self._owned else cluster.scheduler.address
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
                    f"the Dask scheduler at {self._address} has no workers, and none came in "
                    f"{DESERTED / 60:.0f} minutes. Start workers, then the same again."
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
            f"the Dask scheduler at {self._address} is gone, and with it the runs under way; every "
            "finished run is safe in the journal. Start the scheduler and its workers again, then "
            "the same again."
        )

    @property
    def workers(self) -> int:
        """How many runs the cluster executes at a time; it may grow and shrink."""
        if time.monotonic() - self._counted > RECOUNT:
            self._workers = max(1, self._threads())
            self._counted = time.monotonic()
        return self._workers

    def submit(self, task: Task) -> None:
        """Take a task; it is sent with the next `wait`."""
        self._unsent.append((task, 0))

    def _send(self) -> None:
        """Send what waits, in one message."""
        unsent, self._unsent = self._unsent, []
        first, self._sent = self._sent, self._sent + len(unsent)
        prefix = f"truecost-{os.getpid()}-{id(self)}"
        keys = [f"{prefix}-{number}" for number in range(first, self._sent)]
        with self._scheduler_needed():
            futures = self._client.map(
                remote_run,
                [self._job] * len(unsent),
                [task for task, _ in unsent],
                [self._digests.of(task.instance) for task, _ in unsent],
                key=keys,
                pure=False,
                workers=self._trusted(),
                batch_size=len(unsent),
            )
            self._tasks |= dict(zip(keys, unsent, strict=True))
            self._completed.update(futures)

    def _trusted(self) -> list[str] | None:
        """The workers that are not left out; None while that is all of them."""
        excluded = {name for name, failures in self._failures.items() if failures >= FAILURES}
        if not excluded:
            return None
        trusted = [name for name in self._client.nthreads() if name not in excluded]
        # Should only they be left, their error says what is wrong.
        if not trusted and self._trouble is not None:
            raise self._trouble
        return trusted or None

    def wait(self) -> list[Finished]:
        """All runs that are finished, at least one."""
        finished: list[Finished] = []
        while not finished:
            if self._trouble is not None and not isinstance(self._trouble, WorkerError):
                raise self._trouble
            if self._unsent:
                self._send()
            batch = self._next_batch()
            results = self._results([future for future in batch if future.status == "finished"])
            for future in batch:
                task, losses = self._tasks.pop(future.key)
                if future.key in results:
                    outcome, machine = results[future.key]
                    finished.append(Finished(task=task, outcome=outcome, machine=machine))
                else:
                    self._failed(future, task, losses)
        return finished

    def _results(self, futures: list[Any]) -> dict[str, Any]:
        """What these came to, fetched at once; those whose worker is gone meanwhile are missing."""
        if not futures:
            return {}
        keys = [future.key for future in futures]
        named = dict(zip(keys, futures, strict=True))
        fetch = partial(self._client.gather, named, errors="skip", asynchronous=True)
        try:
            # A result that died with the last worker would be waited for until another one comes.
            results = self._client.sync(fetch, asynchronous=False, callback_timeout=CONNECT)
        except (Exception, asyncio.CancelledError) as error:
            self._await_verdict(error)
            return {}
        return {key: result for key, result in results.items() if result is not None}

    def _await_verdict(self, error: BaseException) -> None:
        # Where a connection broke in the middle of an answer, the client needs a moment to notice
        # that its scheduler is gone.
        end = time.monotonic() + CONNECT
        while (
            isinstance(error, self._broken)
            and self._client.status == "running"
            and time.monotonic() < end
        ):
            time.sleep(POLL)
        if self._client.status != "running":
            self._trouble = self._lost_scheduler()

    def _failed(self, future: Any, task: Task, losses: int) -> None:
        """Send a task again that its worker lost; note what cannot be mended so."""
        error: BaseException = TimeoutError("its result is gone with its worker")
        if future.status == "error":
            try:
                error = future.exception(timeout=CONNECT) or error
            except (Exception, asyncio.CancelledError) as problem:
                error = problem
        self._await_verdict(error)
        if self._trouble is not None and not isinstance(self._trouble, WorkerError):
            return
        if isinstance(error, WorkerError):
            self._trouble = error
            self._failures[error.worker] += 1
            if self._failures[error.worker] == FAILURES:
                self._say(f"{error.host} ({error.worker}) is left out: {error}")
        elif not isinstance(error, self._lost):
            self._trouble = error
            return
        elif losses >= LOSSES:
            self._trouble = TruecostError(
                f"configuration {task.configuration.name} on instance {task.instance.name!r}: its "
                f"workers died {losses} times; every finished run is safe in the journal ({error})."
            )
            return
        future.cancel(force=True)
        self._unsent.append((task, losses + 1))

    def _next_batch(self) -> list[Any]:
        """Futures that are done one way or the other."""
        # A cluster that stays without workers is not waited for without end.
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
                        "all workers of the cluster are gone, and none came in "
                        f"{DESERTED / 60:.0f} minutes; every finished run is safe in the journal. "
                        "Start workers, then the same again."
                    )
                else:
                    self._say(
                        "all workers of the cluster are gone; every finished run is safe in the "
                        f"journal; waiting for new workers, at most {DESERTED / 60:.0f} minutes"
                    )
        return batch

    def __enter__(self) -> "DaskPool":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _leave(self) -> None:
        """Take back what was sent, and go."""
        # A scheduler that is gone must not keep us.
        with suppress(Exception):
            if self._client.status == "running":
                self._client.cancel(
                    [self._distributed.Future(key, self._client) for key in self._tasks], force=True
                )
        if self._owned:
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
            hint = (
                " Dask's settings distributed.comm.tls must name a ca-file, and a certificate and "
                "key of the client."
            )
        what = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"expected a Dask scheduler with workers at {address!r}, got none: {what}.{hint}"
        ) from error


@contextmanager
def _silenced() -> Iterator[None]:
    # Dask tells in many lines of log what we say in a sentence.
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
