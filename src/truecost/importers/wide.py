"""Wide tables: a row for each instance and a column for each configuration, as SAT Competitions
publish them; or a row for each configuration, where the first column is called so.
"""

import re
from collections.abc import Sequence

import numpy as np

from truecost.errors import InputError
from truecost.importers import long
from truecost.importers.columns import (
    Column,
    Table,
    check_names,
    check_numeric,
    is_numeric,
    numbers,
)
from truecost.importers.roles import NEEDED, SYNONYMS, listed, plain_name, roles_by_name
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
    roles = roles_by_name(list(table), _given(reading, sides=False), NEEDED)
    # Those are columns of a table with a row for every run.
    if "cost" in roles or {"configuration", "instance"} <= set(roles):
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
    labels, costs = check_names(table[key], key), _costs(table, key)
    columns = [name for name in costs if not _is_summary(name)]
    if len(columns) < 2:
        raise InputError(
            f"A wide table has a column of numbers for each configuration; this one has "
            f"{len(columns)}. It has {listed(table)}."
        )
    keep = [row for row, name in enumerate(labels) if not _is_summary(name)]
    names = [labels[row] for row in keep]
    turned = _is_turned(key, names, columns, reading)
    about = {}
    if not turned:
        others = [name for name in table if name != key]
        about = roles_by_name(others, _given(reading, sides=False), ABOUT)
    if not {"seed", "run"} & set(about) and len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{again!r:.60} stands twice in the column {key!r:.60}. Remove one row.")
    caveats = []
    if turned:
        sentence = f"Rows are configurations ({key}), the other columns instances."
        caveats.append(Caveat("columns", sentence))
    if summaries := [name for name in (*labels, *costs) if _is_summary(name)]:
        sentence = f"Left out, as sums of others: {', '.join(summaries):.200}."
        caveats.append(Caveat("left out", sentence))
    if others := [name for name in table if name not in {key, *costs, *about.values()}]:
        for name in others:
            check_numeric(table[name], name, MISSING)
        caveats.append(Caveat("left out", f"Left out, as no costs: {listed(others)}."))
    sides = ([name for name in columns for _ in names], names * len(columns))
    long_table = dict(zip(SIDES, sides if turned else sides[::-1], strict=True))
    long_table["cost"] = [cell for name in columns for cell in _numbers(table[name], name, keep)]
    for role, name in about.items():
        long_table[role] = [table[name][row] for row in keep] * len(columns)
    log = long.read(long_table, {name: name for name in long_table}, reading, strict=True)
    return log.replace(tool="wide table", caveats=(*caveats, *log.caveats))


def _numbers(column: Column, name: str, keep: Sequence[int]) -> list[str]:
    """The costs of a configuration, "nan" where a run was not solved."""
    cells = numbers(["" if cell.lower() in MISSING else cell for cell in column], name)
    return [repr(cost) for cost in np.where(np.isposinf(cells), np.nan, cells)[keep].tolist()]


def _given(reading: Reading, *, sides: bool) -> dict[str, str]:
    """What the caller says of the column of names, or of the others."""
    return {role: name for role, name in reading.columns.items() if (role in SIDES) == sides}


def _without_counter(table: Table, reading: Reading) -> Table:
    """The table without a first column that merely counts the rows."""
    first, *others = table
    if COUNTER.fullmatch(first) is None or first in reading.columns.values() or not others:
        return table
    # Not where the only other columns are costs.
    if not is_numeric(table[first]) or is_numeric(table[others[0]]):
        return table
    counts = (np.diff(numbers(table[first], first)) == 1).all()
    return {name: table[name] for name in others} if counts else table


def _key(table: Table, reading: Reading) -> str | None:
    """The column of names: given, called so, else the first; None where it holds other numbers."""
    if sides := _given(reading, sides=True):
        # Refuses a column that is not there.
        return next(iter(roles_by_name(list(table), sides, ()).values()), None)
    first, column = next(iter(table.items()))
    named = plain_name(first) in (*SYNONYMS["instance"], *SYNONYMS["configuration"])
    if named or not is_numeric(column, MISSING):
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


def _is_turned(key: str, names: Sequence[str], columns: Sequence[str], reading: Reading) -> bool:
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
