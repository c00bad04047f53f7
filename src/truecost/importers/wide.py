"""Wide tables: a row for each instance and a column for each configuration, as SAT Competitions
publish them; or a row for each configuration, where the first column is called so.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.importers import table as long_table
from truecost.importers.frame import Column, Table, check_numbers, is_numeric, numbers, texts, words
from truecost.importers.roles import (
    NEEDED,
    SYNONYMS,
    listed,
    plain_name,
    roles_by_name,
)
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import Caveat

# A cell without a number: the run was not solved.
MISSING = frozenset({
    "", "na", "nan", "none", "null", "-", "timeout", "memout", "unknown", "to", "mo", "inf",
    "+inf", "infinity",
})  # fmt: skip
SIDES = ("instance", "configuration")
# Columns that say something of an instance.
ABOUT = ("seed", "run", "family")
WEIGHTS = frozenset({"weight", "weights", "instance_weight", "sampling_weight"})
FILE = re.compile(r"/|\.\w{2,4}$")
# Numbers of the rows, which spreadsheets and pandas add.
COUNTER = re.compile(r"(?i)column 1|unnamed: \d+|index|row|#|level_0")
# Rows and columns that spreadsheets and competitions add to those of instances and configurations.
SUMMARIES = frozenset({
    "total", "sum", "mean", "average", "avg", "median", "vbs", "virtual_best",
    "virtual_best_solver",
})  # fmt: skip


def is_wide(table: Table, reading: Reading) -> bool:
    """Whether a table can be read as a wide one."""
    table = _without_counter(table, reading)
    named = roles_by_name(list(table), _given(reading, sides=False), NEEDED)
    # Those are columns of a table with a row for every run.
    if "cost" in named or {"configuration", "instance"} <= set(named):
        return False
    key = _key(table, reading)
    return key is not None and len(_costs(table, key)) >= max(2, (len(table) - 1) / 2)


def read(table: Table, reading: Reading) -> Log:
    """The runs in a wide table."""
    table = _without_counter(table, reading)
    key = _key(table, reading)
    if key is None:
        raise InputError(
            "No column names the instances. Give a table with the instances in its first column, "
            "or name it: --columns instance=NAME."
        )
    every = texts(table[key], key)
    costs = _costs(table, key)
    columns = [name for name in costs if not _is_summary(name)]
    if len(columns) < 2:
        raise InputError(
            f"A wide table has a column of numbers for each configuration; this one has "
            f"{len(columns)}. It has {listed(list(table))}."
        )
    keep = [row for row, name in enumerate(every) if not _is_summary(name)]
    names = [every[row] for row in keep]
    turned_round = _turned_round(key, names, columns, reading)
    about = {} if turned_round else _about(table, key, reading)
    if not {"seed", "run"} & set(about) and len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{again!r:.60} stands twice in the column {key!r:.60}. Remove one row.")
    caveats = []
    if turned_round:
        sentence = f"Rows are configurations ({key}), the other columns instances."
        caveats.append(Caveat("columns", sentence))
    if summaries := [name for name in (*every, *costs) if _is_summary(name)]:
        caveats.append(
            Caveat("left out", f"Left out, as sums of others: {', '.join(summaries):.200}.")
        )
    if others := [name for name in table if name not in {key, *costs, *about.values()}]:
        for name in others:
            check_numbers(table[name], name, MISSING)
        caveats.append(Caveat("left out", f"Left out, as no costs: {listed(others)}."))
    # Rows × columns, one after the other.
    cells = np.column_stack([_cells(table[name], name)[keep] for name in columns])
    sides = ([name for name in columns for _ in names], names * len(columns))
    who, what = (sides[1], sides[0]) if turned_round else sides
    long: dict[str, Any] = {"configuration": who, "instance": what, "cost": cells.T.ravel()}
    for role, name in about.items():
        column = words(table[name])
        long[role] = [column[row] for row in keep] * len(columns)
    log = long_table.read(long, {name: name for name in long}, reading, strict=True)
    return log.replace(tool="wide table", caveats=(*caveats, *log.caveats))


def _given(reading: Reading, *, sides: bool) -> dict[str, str]:
    """What the caller says of the column of names, or of the others."""
    return {role: name for role, name in reading.columns.items() if (role in SIDES) == sides}


def _without_counter(table: Table, reading: Reading) -> Table:
    """The table without a first column that merely counts the rows."""
    first, *others = table
    column = table[first]
    if COUNTER.fullmatch(first) is None or first in reading.columns.values() or not others:
        return table
    # Not where the only other columns are costs.
    if not is_numeric(column) or is_numeric(table[others[0]]):
        return table
    counts = (np.diff(numbers(column, first)) == 1).all()
    return {name: table[name] for name in others} if counts else table


def _key(table: Table, reading: Reading) -> str | None:
    """The column of names: given, called so, else the first; None where it holds other numbers."""
    if sides := _given(reading, sides=True):
        # Refuses a column that is not there.
        return next(iter(roles_by_name(list(table), sides, ()).values()), None)
    first = next(iter(table))
    column = table[first]
    called = plain_name(first) in (*SYNONYMS["instance"], *SYNONYMS["configuration"])
    if called or not is_numeric(column, MISSING):
        return first
    # Whole numbers may be names, others are costs.
    if COUNTER.fullmatch(first) or not is_numeric(column, frozenset()):
        return None
    return first if (numbers(column, first) % 1 == 0).all() else None


def _costs(table: Table, key: str) -> list[str]:
    """The columns of costs: of numbers, without what says something of an instance."""
    about = WEIGHTS.union(*(SYNONYMS[role] for role in ABOUT))
    return [
        name
        for name, column in table.items()
        if name != key and plain_name(name) not in about and is_numeric(column, MISSING)
    ]


def _is_summary(name: str) -> bool:
    return plain_name(name) in SUMMARIES


def _about(table: Table, key: str, reading: Reading) -> dict[str, str]:
    """The columns with seeds, numbers of runs and families."""
    others = [name for name in table if name != key]
    roles = roles_by_name(others, _given(reading, sides=False), ABOUT)
    return {role: name for role, name in roles.items() if role in ABOUT}


def _turned_round(key: str, names: Sequence[str], columns: Sequence[str], reading: Reading) -> bool:
    """Whether rows are configurations; refuses where nothing says it."""
    if sides := _given(reading, sides=True):
        return "configuration" in sides
    if plain_name(key) in SYNONYMS["instance"]:
        return False
    if plain_name(key) in SYNONYMS["configuration"]:
        return True
    rows, others = (
        sum(FILE.search(name) is not None for name in side) / len(side) for side in (names, columns)
    )
    # The first column has the instances, unless the columns look more like them.
    if others > max(rows, 0.5) or (rows <= 0.5 and len(columns) > len(names)):
        raise InputError(
            f"The column {key!r:.60} may name instances or configurations. Say which: --columns "
            f'"instance={key:.60}" or --columns "configuration={key:.60}".'
        )
    return False


def _cells(column: Column, name: str) -> FloatArray:
    """The numbers of a column, NaN where a run was not solved."""
    if isinstance(column, np.ndarray):
        values = column.astype(np.float64)
    else:
        cells = [(cell or "").strip() for cell in column]
        values = numbers(["" if cell.lower() in MISSING else cell for cell in cells], name)
    return np.where(np.isposinf(values), np.nan, values)
