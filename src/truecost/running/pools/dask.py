"""A Dask cluster as an executor."""

import gc
import logging
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from typing import Any

from truecost.errors import InputError, LostClusterError
from truecost.running.pools.worker import release

# Seconds to wait for the scheduler, and for its first worker.
CONNECT = 10.0
# How often a client is started anew, on a machine so busy that its thread does not come up.
STARTS = 6


@contextmanager
def connected(
    address: str, workers: int | None
) -> Iterator[tuple[Executor, int, Callable[[], None], Callable[[str], None]]]:
    """The executor of the scheduler at an address; its number of workers, all of the cluster's
    threads unless given; what raises LostClusterError where the scheduler is gone; and what ends a
    campaign on all workers.
    """
    try:
        import distributed  # sets its handlers
    except ImportError as error:
        raise InputError("Dask is not installed. Run pip install 'truecost[cluster]'.") from error
    # Dask logs many lines about what we say in a sentence.
    logger = logging.getLogger("distributed")
    handlers, logger.handlers = logger.handlers, [logging.NullHandler()]
    client: Any = None

    def check() -> None:
        if client.status != "running":
            raise LostClusterError(
                f"The Dask scheduler at {address} is gone. Finished runs are safe: start the "
                "scheduler and its workers, then repeat the command to continue."
            )

    def end(campaign: str) -> None:
        with suppress(Exception):
            if client.status == "running":
                client.run(release, campaign, on_error="ignore")

    try:
        client = _client(distributed.Client, address)
        if workers is None:
            # Those that were started together with us may still be on their way.
            with suppress(TimeoutError):
                client.wait_for_workers(1, timeout=CONNECT)
            workers = sum(client.nthreads().values())
        if not workers:
            raise InputError(
                f"The Dask scheduler at {address} has no workers. Start workers, or give their "
                "number with --workers to wait for them."
            )
        yield client.get_executor(pure=False), workers, check, end
    finally:
        # A scheduler that is gone must not keep us.
        with suppress(Exception):
            client.close(timeout=CONNECT)
        logger.handlers = handlers


def _client(connect: Any, address: str) -> Any:
    """A client of the scheduler there."""
    from distributed.comm.addressing import get_address_host_port

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
                return connect(address, timeout=CONNECT, set_as_default=False)
        raise TimeoutError("this machine is too busy to start Dask's client")
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        cause = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"There is no Dask scheduler at {address!r}: {cause}. Start it, or correct the address."
        ) from error
