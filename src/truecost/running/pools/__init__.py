"""Where runs are executed: slots of this machine, any executor, or a Dask cluster."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TypeAlias

from truecost.running.pools.task import Finished, Pool, Task
from truecost.running.scenario import Scenario

__all__ = ["Finished", "Pool", "PoolLike", "Task", "open_pool"]

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
    raise NotImplementedError
    yield
