"""Runs on a Dask cluster, through its executor."""

import gc
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from truecost.errors import InputError, LostClusterError
from truecost.running.pools.executor import ExecutorPool
from truecost.running.scenario import Scenario

# Seconds to wait for the scheduler, and for its first worker.
CONNECT = 10.0
# How often a client is started anew, on a machine so busy that its thread does not come up.
STARTS = 6


@contextmanager
def dask_pool(
    scenario: Scenario, address: str, workers: int | None, *, pin: bool
) -> Iterator[ExecutorPool]:
    """The workers of the scheduler at an address: all of the cluster's threads unless given."""
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

            def check() -> None:
                if client.status != "running":
                    raise LostClusterError(
                        f"The Dask scheduler at {address} is gone. Finished runs are safe: start "
                        "the scheduler and its workers, then repeat the command to continue."
                    )

            with ExecutorPool(scenario, executor, size, pin=pin, check=check) as pool:
                yield pool
        finally:
            # A scheduler that is gone must not keep us.
            with suppress(Exception):
                if client.status == "running":
                    executor.shutdown(wait=False)
            with suppress(Exception):
                client.close(timeout=CONNECT)


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
        cause = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"There is no Dask scheduler at {address!r}: {cause}. Start it, or correct the address."
        ) from error


@contextmanager
def _silenced() -> Iterator[None]:
    # Dask logs many lines about what we say in a sentence.
    with suppress(ImportError):
        import distributed  # noqa: F401 - sets its handlers
    logger = logging.getLogger("distributed")
    handlers, logger.handlers = logger.handlers, [logging.NullHandler()]
    try:
        yield
    finally:
        logger.handlers = handlers
