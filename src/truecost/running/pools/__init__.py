"""Where runs are executed: slots of this machine, any executor, or a Dask cluster."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from typing import TypeAlias, cast

from truecost.errors import InputError
from truecost.running.machine import claimed_cores, cores
from truecost.running.pools.base import Finished, Pool, Task
from truecost.running.pools.local import LocalPool
from truecost.running.scenario import Scenario

__all__ = ["Finished", "Pool", "Task", "open_pool"]

# A number of workers, the address of a Dask scheduler, an Executor, or a Pool; None: a worker for
# each free core.
PoolLike: TypeAlias = int | str | Executor | Pool | None


@contextmanager
def open_pool(
    scenario: Scenario, pool: PoolLike = None, *, workers: int | None = None, pin: bool = True
) -> Iterator[Pool]:
    """Open the workers that `pool` names, until the end of the context.

    Parameters
    ----------
    pool
        A number of workers on this machine, the address of a Dask scheduler, a
        `concurrent.futures.Executor`, or a `Pool`.
    workers
        How many runs are executed at a time; needed with an executor that does not say.
    pin
        Whether each worker has a core of its own, which no other truecost uses.
    """
    if workers is not None and (type(workers) is not int or workers < 1):
        raise InputError(f"workers is {workers!r:.60}. Give a number from 1.")
    with ExitStack() as stack:
        if isinstance(pool, str):
            from truecost.running.pools.dask import dask_pool

            yield stack.enter_context(dask_pool(scenario, pool, workers, pin=pin))
        elif isinstance(pool, Executor):
            from truecost.running.pools.executor import ExecutorPool, size_of

            size = workers or size_of(pool)
            yield stack.enter_context(ExecutorPool(scenario, pool, size, pin=pin))
        elif pool is None or (type(pool) is int and pool >= 1):
            number = pool if pool is not None else workers
            size = scenario.limits.cores
            pinned: list[tuple[int, ...] | None]
            pinned = [None] * (number or max(1, len(cores()) // size))
            if pin:
                pinned = [*stack.enter_context(claimed_cores(number, size))]
            yield stack.enter_context(LocalPool(scenario, pinned))
        elif hasattr(pool, "wait") and hasattr(pool, "submit"):
            # A pool already: whoever opened it closes it.
            yield cast("Pool", pool)
        else:
            raise InputError(
                f"pool is {pool!r:.80}. Give a number of workers, the address of a Dask scheduler, "
                "or a concurrent.futures.Executor."
            )
