"""The runs of a journal as columns, and which of them must wait for slower ones."""

import json
import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError
from truecost.journal.file import SEARCHES
from truecost.journal.metric import Metric
from truecost.matrix import CostMatrix
from truecost.runs import NO_SEED, NO_STATUS, Status

# A matrix with more cells than this needs a run in at least one of MOST_EMPTY cells.
MOST_CELLS, MOST_EMPTY = 2**27, 1000
# Where the journal of a validation says how many runs of its plan, in their order, count.
STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """The runs of a journal as columns; `configuration` and `instance` are places in the lists of
    names.

    `cap` says where a censored run was stopped, NaN for the others.
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
    machine: IntArray
    ahead: BoolArray


def read_table(connection: sqlite3.Connection, kind: str) -> RunTable:
    """All runs that are not aborted, of a journal of a kind; inside one transaction."""
    configurations = connection.execute(
        "SELECT id, name FROM configurations ORDER BY id"
    ).fetchall()
    instances = connection.execute("SELECT id, name FROM instances ORDER BY id").fetchall()
    plan = connection.execute(
        "SELECT configurations, instances, runs, after FROM plans ORDER BY id DESC LIMIT 1"
    ).fetchone()
    columns = _columns(connection, kind)
    counted, made = None, 0
    if kind in SEARCHES:
        query = "SELECT coalesce(max(after), 0), coalesce(max(runs), 0) FROM steps"
        counted, made = connection.execute(query).fetchone()
    stopped = connection.execute("SELECT value FROM meta WHERE key = ?", (STOPPED,)).fetchone()
    order = [[identity for identity, _ in named] for named in (configurations, instances)]
    if plan is not None:
        # The plan's order first: the default configuration leads, whatever the journal met first.
        order = [
            first_of(json.loads(first), ids) for first, ids in zip(plan[:2], order, strict=True)
        ]
    names = [dict(named) for named in (configurations, instances)]
    configuration, instance = (
        places_of(ids, columns[key])
        for ids, key in zip(order, ("configuration", "instance"), strict=True)
    )
    if (configuration < 0).any() or (instance < 0).any() or (columns["number"] < 0).any():
        raise ValueError("runs of configurations or instances that are not there")
    ahead = np.zeros(len(columns["id"]), dtype=bool)
    if counted is not None:
        # A search counts runs when it decides; capped ones, which come last here, in their order.
        censored = columns["status"] == Status.CENSORED
        capped = made - int((~censored & (columns["id"] <= counted)).sum())
        ahead = np.where(censored, censored.cumsum() > capped, columns["id"] > counted)
    elif plan is not None:
        size = len(json.loads(plan[0])), len(json.loads(plan[1])), int(plan[2])
        recent = columns["id"] > (0 if kind == "validate" else plan[3])
        last = None if stopped is None else int(json.loads(stopped[0])["runs"])
        ahead = ahead_of(size, configuration, instance, columns["number"], recent, last)
    del columns["id"]
    return RunTable(
        configurations=tuple(names[0][identity] for identity in order[0]),
        instances=tuple(names[1][identity] for identity in order[1]),
        ahead=ahead,
        **columns
        | {
            "configuration": configuration,
            "instance": instance,
            "status": columns["status"].astype(np.int8),
        },
    )


def _columns(connection: sqlite3.Connection, kind: str) -> dict[str, NDArray[Any]]:
    whole = ("id", "configuration", "instance", "number", "seed", "status", "machine")
    real = ("cpu", "wall", "time", "value", "cap")
    # Read as one stream of numbers, since a million rows as Python objects take their time and
    # their memory: whole numbers here are far below 2⁵³, and 9e999, SQLite's infinity, stands for
    # what is not there.
    parts = [f"*, NULL AS cap FROM runs WHERE status <> {int(Status.ABORTED)}"]
    if kind in SEARCHES:
        parts.append(f"*, {int(Status.CENSORED)} AS status FROM capped")
    names, width = (
        ", ".join((*whole, *(f"ifnull({name}, 9e999)" for name in real))),
        len(whole) + len(real),
    )
    read = []
    for part in parts:
        count = f"SELECT count(*) FROM (SELECT {part})"  # noqa: S608 - our own
        size = connection.execute(count).fetchone()[0]
        rows = connection.execute(f"SELECT {names} FROM (SELECT {part}) ORDER BY id")  # noqa: S608
        read.append(
            np.fromiter(chain.from_iterable(rows), dtype=np.float64, count=size * width).reshape(
                size, width
            )
        )
    flat = np.concatenate(read)
    columns: dict[str, NDArray[Any]] = {
        name: flat[:, place].astype(np.int64) for place, name in enumerate(whole)
    }
    for place, name in enumerate(real, len(whole)):
        columns[name] = np.where(np.isinf(flat[:, place]), np.nan, flat[:, place])
    return columns


def places_of(ids: Sequence[int], values: IntArray) -> IntArray:
    """The place of each value in a list of ids, -1 where it is not in it."""
    # By searching: a table of all ids up to the largest would be as large as a damaged file says.
    listed = np.array(ids, dtype=np.int64)
    order = np.argsort(listed, kind="stable")
    if not len(listed):
        return np.full(values.shape, -1, dtype=np.int64)
    nearest = order[np.minimum(np.searchsorted(listed[order], values), len(listed) - 1)]
    return np.where(listed[nearest] == values, nearest, -1)


def first_of(first: Sequence[int], ids: Sequence[int]) -> list[int]:
    """The ids with some of them moved to the front."""
    leading = set(first)
    return [*first, *(identity for identity in ids if identity not in leading)]


def ahead_of(
    size: tuple[int, int, int],
    configuration: IntArray,
    instance: IntArray,
    number: IntArray,
    recent: BoolArray,
    last: int | None = None,
) -> BoolArray:
    """Which runs of the plan under way come after one that is not there yet, or after the last that
    counts.
    """
    configurations, instances, runs = size
    if math.prod(size) >= 2**62:
        raise ValueError(f"a design of {configurations} × {instances} × {runs} runs")
    inside = (configuration < configurations) & (instance < instances) & (number < runs)
    place = (number * instances + instance) * configurations + configuration
    done = np.unique(place[inside])
    # The first number that is missing.
    first = int(np.argmin(np.append(done == np.arange(len(done)), False)))
    return inside & recent & (place >= (first if last is None else min(first, last)))


def cost_matrix(table: RunTable, keep: BoolArray, metric: Metric) -> CostMatrix:
    """The costs of some of the runs by a metric."""
    status = table.status[keep]
    configuration, instance, number = (
        column[keep] for column in (table.configuration, table.instance, table.number)
    )
    measures = (table.cpu, table.wall, table.time, table.value, table.cap)
    costs_of_runs, status = metric.charge(status, *(measure[keep] for measure in measures))
    low, high = metric.range()
    outside = np.flatnonzero((costs_of_runs < low) | (costs_of_runs > high))
    if len(outside):
        first = outside[0]
        raise InputError(
            f"expected costs in [{low:g}, {high:g}], got {costs_of_runs[first]:g} for "
            f"configuration {table.configurations[configuration[first]]!r} on instance "
            f"{table.instances[instance[first]]!r}: change low and high in [metric]; no run is "
            "lost by it."
        )
    present = [np.unique(places) for places in (configuration, instance)]
    shape = len(present[0]), len(present[1]), int(number.max()) + 1
    if math.prod(shape) > MOST_CELLS and math.prod(shape) > MOST_EMPTY * len(number):
        raise InputError(
            f"expected runs that fill a matrix, got {len(number):,} of {math.prod(shape):,} cells."
        )
    rows, columns = map(np.searchsorted, present, (configuration, instance))

    def filled(values: NDArray[Any], missing: float) -> NDArray[Any]:
        cells = np.full(shape, missing, dtype=values.dtype)
        cells[rows, columns, number] = values
        return cells

    return CostMatrix(
        filled(costs_of_runs, np.nan),
        [table.configurations[place] for place in present[0]],
        [table.instances[place] for place in present[1]],
        low,
        high,
        statuses=filled(status, NO_STATUS),
        seeds=filled(table.seed[keep], NO_SEED),
        cutoff=metric.cutoff if metric.kind == "par" else None,
        utility=None if metric.kind != "utility" else str(metric.worth()),
    )
