"""Where runs are executed: slots of this machine, a Dask cluster, or any executor."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias, cast

from truecost.errors import InputError
from truecost.running.instances import check_generator
from truecost.running.machine import claimed_cores, cores
from truecost.running.pools.local import LocalPool
from truecost.running.pools.task import Pool, check_memory
from truecost.running.scenario import Scenario

# None, a number of workers, the address of a Dask scheduler or a client of it, an Executor, or a
# Pool; a client is not named here, since distributed may not be installed.
PoolLike: TypeAlias = int | str | Executor | Any | None


@contextmanager
def open_pool(
    scenario: Scenario,
    pool: PoolLike,
    *,
    pin: bool = True,
    waiting: Callable[[str], None] | None = None,
) -> Iterator[Pool]:
    """The workers that `pool` names, until the end of the context."""
    with ExitStack() as stack:
        if isinstance(pool, Executor):
            from truecost.running.pools.executor import ExecutorPool

            yield stack.enter_context(ExecutorPool(scenario, pool, pin=pin))
        elif isinstance(pool, str) or hasattr(pool, "scheduler_info"):
            from truecost.running.pools.dask import DaskPool

            yield stack.enter_context(DaskPool(scenario, pool, pin=pin, waiting=waiting))
        elif hasattr(pool, "wait") and hasattr(pool, "submit"):
            # A pool already: whoever made it looks after it.
            yield cast("Pool", pool)
        elif pool is None or (type(pool) is int and pool >= 1):
            size = scenario.limits.cores
            pinned: list[tuple[int, ...] | None]
            pinned = [None] * (pool or max(1, len(cores()) // size))
            if pin:
                pinned = [*stack.enter_context(claimed_cores(pool, size))]
            check_memory(scenario, len(pinned))
            check_generator(scenario.instances)
            yield stack.enter_context(LocalPool(scenario, pinned))
        else:
            raise InputError(
                "expected `pool` to be a number of workers, the address or a client of a Dask "
                f"scheduler, or a concurrent.futures.Executor, got {pool!r:.80}."
            )
