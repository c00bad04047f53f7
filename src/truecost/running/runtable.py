"""The runs of a journal as columns, and which of them must wait for slower ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """The runs of a journal as columns; `configuration` and `instance` are places in the lists of names.

    `cap` says where a censored run was stopped, NaN for the others.
    """

    configurations: tuple[str, ...]
    instances: tuple[str, ...]
    configuration: NDArray[np.int64]
    instance: NDArray[np.int64]
    number: NDArray[np.int64]
    seed: NDArray[np.int64]
    status: NDArray[np.int8]
    cpu: NDArray[np.float64]
    wall: NDArray[np.float64]
    time: NDArray[np.float64]
    value: NDArray[np.float64]
    cap: NDArray[np.float64]
    machine: NDArray[np.int64]
    ahead: NDArray[np.bool_]


def places_of(ids: Sequence[int], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each value in a list of ids, -1 where it is not in it."""
    lookup = np.full(max([0, *ids, *(values.max(initial=0, keepdims=True))]) + 1, -1, dtype=np.int64)
    lookup[list(ids)] = np.arange(len(ids))
    return lookup[values]


def first_of(first: Sequence[int], ids: Sequence[int]) -> list[int]:
    """The ids with some of them moved to the front."""
    leading = set(first)
    return [*first, *(identity for identity in ids if identity not in leading)]


def ahead_of(
    size: tuple[int, int, int],
    configuration: NDArray[np.int64],
    instance: NDArray[np.int64],
    number: NDArray[np.int64],
    recent: NDArray[np.bool_],
    last: int | None = None,
) -> NDArray[np.bool_]:
    """Which runs of the plan under way come after one that is not there yet, or after the last that counts."""
    configurations, instances, runs = size
    inside = (configuration < configurations) & (instance < instances) & (number < runs)
    place = (number * instances + instance) * configurations + configuration
    done = np.zeros(configurations * instances * runs + 1, dtype=bool)
    done[place[inside]] = True
    first = int(np.argmin(done)) if last is None else min(int(np.argmin(done)), last)
    return inside & recent & (place >= first)
