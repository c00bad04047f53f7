"""The runs of a journal as columns, and as a matrix of costs."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix.cost_matrix import CostMatrix
from truecost.runs import Status

if TYPE_CHECKING:
    from truecost.running.metric import Metric

Axis: TypeAlias = Literal["configuration", "instance"]
WHOLE = ("configuration", "instance", "number", "seed", "status")
REAL = ("cpu", "wall", "time", "value", "cap")
# Rows that are turned into numbers at a time: a million as Python objects take gigabytes.
BLOCK = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """Runs as columns, in the order they were recorded; aborted runs are not among them.

    `configuration` and `instance` index `configurations` and `instances`, all names of the journal
    in order of entry. `time`, `value` and `cap` are NaN where there is none.
    """

    configurations: tuple[str, ...]
    instances: tuple[str, ...]
    configuration: IntArray
    instance: IntArray
    number: IntArray
    seed: IntArray
    status: NDArray[np.int8]
    cpu: FloatArray
    wall: FloatArray
    time: FloatArray
    value: FloatArray
    cap: FloatArray

    def __len__(self) -> int:
        return len(self.number)

    def costs(self, metric: "Metric") -> tuple[FloatArray, NDArray[np.int8]]:
        """The cost of every run, of a censored run its cap; and its status under the cutoff."""
        return metric.costs(self.status, self.cpu, self.wall, self.time, self.value, self.cap)

    def places(self, axis: Axis, names: Iterable[str]) -> IntArray:
        """For every run, where its configuration or instance stands among these names, or −1."""
        places = {name: place for place, name in enumerate(names)}
        listed = [places.get(name, -1) for name in getattr(self, f"{axis}s")]
        column: IntArray = np.array(listed, dtype=np.int64)[getattr(self, axis)]
        return column

    def cells(self) -> list[tuple[str, str, int]]:
        """Configuration, instance and number of every run."""
        columns = (self.configuration.tolist(), self.instance.tolist(), self.number.tolist())
        return [
            (self.configurations[configuration], self.instances[instance], number)
            for configuration, instance, number in zip(*columns, strict=True)
        ]

    def select(self, keep: BoolArray) -> "RunTable":
        """Some of the runs."""
        columns = {name: getattr(self, name)[keep] for name in (*WHOLE, *REAL)}
        return replace(self, **columns)


def read_table(connection: sqlite3.Connection) -> RunTable:
    """All runs that count."""
    rows = connection.execute(
        f"SELECT {', '.join((*WHOLE, *REAL))} FROM runs "  # noqa: S608
        f"WHERE status <> {int(Status.ABORTED)} ORDER BY id"
    )
    blocks = [np.empty((0, len(WHOLE) + len(REAL)))]
    while block := rows.fetchmany(BLOCK):
        blocks.append(np.array(block, dtype=np.float64))
    columns: dict[str, Any] = dict(zip((*WHOLE, *REAL), np.concatenate(blocks).T, strict=True))
    for name in WHOLE:
        columns[name] = columns[name].astype(np.int8 if name == "status" else np.int64)
    # Names are recorded before their runs, so they are read after them.
    for axis in ("configuration", "instance"):
        listed = connection.execute(f"SELECT id, name FROM {axis}s ORDER BY id").fetchall()  # noqa: S608
        ids = np.array([number for number, _ in listed], dtype=np.int64)
        # By searching: a table of all ids up to the largest would be as large as a damaged file
        # says.
        places = np.searchsorted(ids, columns[axis])
        if not np.array_equal(ids[np.minimum(places, len(ids) - 1)], columns[axis]):
            raise ValueError(f"a run of an unknown {axis}")
        columns |= {axis: places, f"{axis}s": tuple(name for _, name in listed)}
    return RunTable(**columns)


def cost_matrix(
    table: RunTable,
    metric: "Metric",
    configurations: Sequence[str] | None = None,
    instances: Sequence[str] | None = None,
) -> CostMatrix:
    """The costs of the runs of these configurations on these instances (default: all, in order of
    entry); those without a run are left out.
    """
    if configurations is not None:
        table = table.select(table.places("configuration", configurations) >= 0)
    if instances is not None:
        table = table.select(table.places("instance", instances) >= 0)
    if not len(table):
        raise InputError("no runs yet.")

    def ordered(axis: Axis, wanted: Sequence[str] | None) -> tuple[list[str], IntArray]:
        listed = getattr(table, f"{axis}s")
        present = {listed[place] for place in np.unique(getattr(table, axis)).tolist()}
        names = [name for name in (listed if wanted is None else wanted) if name in present]
        return names, table.places(axis, names)

    costs, statuses = table.costs(metric)
    low, high = metric.range()
    return CostMatrix.of_runs(
        ordered("configuration", configurations),
        ordered("instance", instances),
        table.number,
        costs,
        statuses=statuses,
        seeds=table.seed,
        low=low,
        high=high,
        cutoff=metric.cutoff if metric.timed else None,
        par=metric.par,
    )
