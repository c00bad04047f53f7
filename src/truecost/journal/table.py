"""The runs of a journal as columns, and as a matrix of costs."""

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix.cost_matrix import CostMatrix
from truecost.runs import NO_SEED, NO_STATUS, Status

if TYPE_CHECKING:
    from truecost.running.metric import Metric

# A matrix with more cells than this needs a run in at least one of MOST_EMPTY cells.
MOST_CELLS, MOST_EMPTY = 2**27, 1000
WHOLE = ("id", "configuration", "instance", "number", "seed", "status", "machine")
REAL = ("cpu", "wall", "time", "value", "cap")
# Rows that are turned into numbers at a time.
BLOCK = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """All runs that count (aborted ones do not), as columns in the order they were recorded.

    `configuration` and `instance` are places in `configurations` and `instances`, which are in
    order of entry. `row` is the run's number in the journal: runs with row ≤ event.after were
    recorded before that event. `time`, `value` and `cap` are NaN where there is none.
    """

    configurations: tuple[str, ...]
    instances: tuple[str, ...]
    row: IntArray
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
    machine: IntArray

    def __len__(self) -> int:
        return len(self.row)

    def costs(self, metric: "Metric") -> FloatArray:
        """The cost of every run; of a censored run its cap."""
        return self.charged(metric)[0]

    def charged(self, metric: "Metric") -> tuple[FloatArray, NDArray[np.int8]]:
        """The cost of every run, and its status under the metric's cutoff."""
        measures = (self.cpu, self.wall, self.time, self.value, self.cap)
        return metric.costs(self.status, *measures)


def read_table(connection: sqlite3.Connection) -> RunTable:
    """All runs that count; inside one transaction."""
    names, places = {}, {}
    columns = _columns(connection)
    for what in ("configuration", "instance"):
        rows = connection.execute(f"SELECT id, name FROM {what}s ORDER BY id").fetchall()  # noqa: S608
        names[what] = tuple(name for _, name in rows)
        places[what] = places_of([number for number, _ in rows], columns[what])
        if (places[what] < 0).any() or (columns["number"] < 0).any():
            raise ValueError(f"a run of an unknown {what}")
    row, status = columns.pop("id"), columns.pop("status").astype(np.int8)
    return RunTable(
        configurations=names["configuration"],
        instances=names["instance"],
        row=row,
        status=status,
        **{**columns, **places},
    )


def _columns(connection: sqlite3.Connection) -> dict[str, NDArray[Any]]:
    # As one stream of numbers: a million rows as Python objects take their time and memory. Whole
    # numbers here are far below 2⁵³; 9e999, SQLite's infinity, stands for a missing number.
    names = ", ".join((*WHOLE, *(f"ifnull({name}, 9e999)" for name in REAL)))
    rows = connection.execute(
        f"SELECT {names} FROM runs WHERE status <> {int(Status.ABORTED)} ORDER BY id"  # noqa: S608
    )
    width, blocks = len(WHOLE) + len(REAL), []
    while block := rows.fetchmany(BLOCK):
        flat = np.fromiter(chain.from_iterable(block), np.float64, count=len(block) * width)
        blocks.append(flat.reshape(-1, width))
    table = np.concatenate(blocks) if blocks else np.empty((0, width))
    columns: dict[str, NDArray[Any]] = {
        name: table[:, place].astype(np.int64) for place, name in enumerate(WHOLE)
    }
    for place, name in enumerate(REAL, len(WHOLE)):
        column = table[:, place].copy()
        column[np.isinf(column)] = np.nan
        columns[name] = column
    return columns


def places_of(ids: Sequence[int], values: IntArray) -> IntArray:
    """The place of each value in a list of ids, -1 where it is not in it."""
    listed = np.array(ids, dtype=np.int64)
    if not len(listed):
        return np.full(values.shape, -1, dtype=np.int64)
    # By searching: a table of all ids up to the largest would be as large as a damaged file says.
    order = np.argsort(listed, kind="stable")
    nearest = order[np.minimum(np.searchsorted(listed[order], values), len(listed) - 1)]
    return np.where(listed[nearest] == values, nearest, -1)


def cost_matrix(
    table: RunTable,
    keep: BoolArray,
    metric: "Metric",
    configurations: Sequence[str] | None,
    instances: Sequence[str] | None,
) -> CostMatrix:
    """The costs of some runs; rows and columns that have runs, in these orders (default: entry)."""
    names, places, orders = [], [], []
    for listed, column, wanted in (
        (table.configurations, table.configuration[keep], configurations),
        (table.instances, table.instance[keep], instances),
    ):
        where = {name: place for place, name in enumerate(listed)}
        present = set(np.unique(column).tolist())
        order = [where[name] for name in (listed if wanted is None else wanted) if name in where]
        order = [place for place in order if place in present]
        position = np.full(len(listed), -1, dtype=np.int64)
        position[order] = np.arange(len(order))
        names.append([listed[place] for place in order])
        places.append(position[column])
        orders.append(order)
    number = table.number[keep]
    shape = len(orders[0]), len(orders[1]), int(number.max()) + 1
    if math.prod(shape) > MOST_CELLS and math.prod(shape) > MOST_EMPTY * len(number):
        raise InputError(f"{len(number):,} runs fill {math.prod(shape):,} cells too thinly.")
    measures = (table.cpu, table.wall, table.time, table.value, table.cap)
    costs, status = metric.costs(table.status[keep], *(column[keep] for column in measures))
    low, high = metric.range()
    if len(outside := np.flatnonzero((costs < low) | (costs > high))):
        first = outside[0]
        who, place = names[0][places[0][first]], names[1][places[1][first]]
        raise InputError(
            f"configuration {who!r} on instance {place!r} cost {costs[first]:g}, which is "
            f"not between low = {low:g} and high = {high:g}. Correct them under [metric] and run "
            "the same command; no run is lost."
        )

    def filled(values: NDArray[Any], missing: float) -> NDArray[Any]:
        cells = np.full(shape, missing, dtype=values.dtype)
        cells[places[0], places[1], number] = values
        return cells

    return CostMatrix(
        filled(costs, np.nan),
        names[0],
        names[1],
        low,
        high,
        statuses=filled(status, NO_STATUS),
        seeds=filled(table.seed[keep], NO_SEED),
        cutoff=metric.cutoff if metric.timed else None,
        par=metric.par,
    )
