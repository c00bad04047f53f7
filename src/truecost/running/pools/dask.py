"""A Dask cluster as an executor."""

import gc
import logging
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from typing import Any

from truecost.errors import InputError, LostClusterError

# Seconds to wait for the scheduler.
CONNECT = 10.0
# How often a client is started anew, on a machine so busy that its thread does not come up.
STARTS = 6
# Seconds without workers until we give up: batch systems start them when they please.
DESERTED = 600.0


@contextmanager
def dask_executor(
    address: str, workers: int | None
) -> Iterator[tuple[Executor, int, Callable[[], None]]]:
    """The executor of the scheduler at an address, its size, which is the cluster's threads unless
    given, and what raises where the cluster is gone.

    An address `tls://…` is connected to with the certificates that Dask's own settings name
    (`distributed.comm.tls`).
    """
    with _silenced():
        client = _connected(address)
        executor = client.get_executor(pure=False)
        try:
            if workers is None:
                # Those that were started together with us may still be on their way.
                with suppress(TimeoutError):
                    client.wait_for_workers(1, timeout=CONNECT)
            size = workers or sum(client.nthreads().values())
            if not size:
                raise InputError(
                    f"The Dask scheduler at {address} has no workers. Start workers, or give their "
                    "number with --workers to wait for them."
                )
            yield executor, size, _watch(client, address)
        finally:
            # A scheduler that is gone must not keep us.
            with suppress(Exception):
                if client.status == "running":
                    executor.shutdown(wait=False)
            with suppress(Exception):
                client.close(timeout=CONNECT)


def _watch(client: Any, address: str) -> Callable[[], None]:
    """What raises where the scheduler is gone, or has had no workers for long."""
    seen = time.monotonic()

    def trouble() -> None:
        nonlocal seen
        threads = 0
        gone: BaseException | None = None
        try:
            if client.status == "running":
                threads = sum(client.nthreads().values())
        except Exception as error:
            gone = error
        if client.status != "running" or gone is not None:
            raise LostClusterError(
                f"The Dask scheduler at {address} is gone. Finished runs are safe: start the "
                "scheduler and its workers, then repeat the command to continue."
            ) from gone
        if threads:
            seen = time.monotonic()
        elif time.monotonic() - seen > DESERTED:
            raise LostClusterError(
                f"The Dask scheduler at {address} has had no workers for {DESERTED / 60:.0f} "
                "minutes. Finished runs are safe: start workers, then repeat the command to "
                "continue."
            )

    return trouble


def _connected(address: str) -> Any:
    """A client of the scheduler there."""
    try:
        import distributed
        from distributed.comm.addressing import get_address_host_port
    except ImportError as error:
        raise InputError("Dask is not installed. Run pip install 'truecost[cluster]'.") from error
    try:
        if not address.startswith("inproc"):
            # Where nothing listens, Dask would try again and again until its time is up.
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
                connect: Any = distributed.Client
                return connect(address, timeout=CONNECT, set_as_default=False)
        raise TimeoutError("this machine is too busy to start Dask's client")
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        hint = ""
        if address.startswith("tls:"):
            hint = (
                " Dask's settings distributed.comm.tls must name a ca-file, and a certificate and "
                "key of the client."
            )
        cause = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"There is no Dask scheduler at {address!r}: {cause}.{hint}") from error


@contextmanager
def _silenced() -> Iterator[None]:
    # Dask logs many lines about what we say in a sentence.
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
