"""Wide tables: a row for each instance and a column for each configuration, as SAT Competitions
publish them; or a row for each configuration, where the first column is called so.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.importers import long
from truecost.importers.columns import (
    BLANK,
    Column,
    Table,
    check_names,
    check_numeric,
    is_numeric,
    numbers,
)
from truecost.importers.recorded import STATUS_WORDS
from truecost.importers.roles import NEEDED, SYNONYMS, listed, plain_name, roles_by_name
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import Caveat, Status

# Words for runs that failed.
FAILURES = frozenset(
    word
    for word, status in STATUS_WORDS.items()
    if status > Status.SOLVED and status != Status.CENSORED
)
# A cell without a number: the run was not solved.
MISSING = FAILURES | {
    "", "na", "n/a", "nan", "none", "null", "-", "--", "unknown", "to", "mo", "inf", "+inf",
    "infinity",
}  # fmt: skip
SIDES = ("instance", "configuration")
# Names of a first column that may hold configurations, in some papers.
EITHER = frozenset({
    "tool", "model", "learner", "classifier", "approach", "variant", "optimizer", "optimiser",
})  # fmt: skip
# Columns that say something of an instance.
ABOUT = ("seed", "run", "family")
# Names of numbers that are no costs: counts such as n_vars, and what ends in one of these words.
COUNT = re.compile(r"(n|nb|nr|num|number)_[a-z_]+")
PROPERTIES = frozenset({
    "vars", "nvars", "variables", "clauses", "nclauses", "literals", "constraints", "nodes",
    "vertices", "edges", "cities", "items", "jobs", "machines", "size", "dim", "dimension",
    "length", "degree", "density", "ratio", "difficulty", "year", "optimum", "optimal", "bks",
    "lb", "ub", "gap", "speedup", "diff", "difference", "memory", "mem", "weight", "weights", "id",
    "idx", "index", "rank",
})  # fmt: skip
# How many columns to leave out a message writes down.
OMITTED = 5
# By chance, this many different numbers are neither whole where others are fractions, nor each the
# best of its row.
MANY = 5
FILE = re.compile(r"/|\.\w{2,4}$")
# Numbers of the rows, which spreadsheets and pandas add.
COUNTER = re.compile(r"(?i)column 1|unnamed: \d+|index|row|#|level_0")
# Rows and columns that spreadsheets and competitions add to those of instances and configurations.
SUMMARIES = frozenset({
    "total", "sum", "mean", "average", "avg", "median", "min", "max", "std", "vbs", "virtual_best",
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
    costs = [] if key is None else _cost_columns(table, key, reading)
    return len(costs) >= max(2, (len(table) - 1) / 2)


def read(table: Table, reading: Reading) -> Log:
    """The runs in a wide table."""
    table = _without_counter(table, reading)
    key = _key(table, reading)
    if key is None:
        raise InputError(
            "No column names the instances. Give a table with the instances in its first column, "
            "or name it: --columns instance=NAME."
        )
    labels, costs = check_names(table[key], key), _cost_columns(table, key, reading)
    columns = [name for name in costs if not _is_summary(name)]
    if len(columns) < 2:
        raise InputError(
            f"A wide table has a column of numbers for each configuration; this one has "
            f"{len(columns)}. It has {listed(table)}."
        )
    keep = [row for row, name in enumerate(labels) if not _is_summary(name)]
    values = {name: _numbers(table[name], name)[keep] for name in columns}
    if reading.format != "wide":
        _check_configurations(values)
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
            _check_notes(table[name], name)
        caveats.append(Caveat("left out", f"Left out, as no costs: {listed(others)}."))
    sides = ([name for name in columns for _ in names], names * len(columns))
    long_table = dict(zip(SIDES, sides if turned else sides[::-1], strict=True))
    long_table["cost"] = [repr(cost) for name in columns for cost in values[name].tolist()]
    for role, name in about.items():
        long_table[role] = [table[name][row] for row in keep] * len(columns)
    log = long.read(long_table, {name: name for name in long_table}, reading, strict=True)
    return log.replace(tool="wide table", caveats=(*caveats, *log.caveats))


def _numbers(column: Column, name: str) -> FloatArray:
    """The costs of a configuration, NaN where a run was not solved."""
    cells = numbers(["" if cell.lower() in MISSING else cell for cell in column], name)
    return np.where(np.isposinf(cells), np.nan, cells)


def _check_configurations(values: Mapping[str, FloatArray]) -> None:
    """Refuse columns of numbers that may be no costs of a configuration: one could win."""
    costs = np.array(list(values.values()))
    solved = ~np.isnan(costs)
    fractions = solved & (costs != np.floor(costs))
    fractional = int((2 * fractions.sum(axis=1) > solved.sum(axis=1)).sum())
    whole = ~fractions.any(axis=1) & (fractional > 1)
    # On every row the best, and never alone.
    least = np.fmin.reduce(costs)
    best = np.where(np.isnan(least), True, costs == least)
    shared = best.all(axis=1) & (best.sum(axis=0) > 1).all() & (len(costs) > 2)
    odd = dict(zip(values, (whole | shared).tolist(), strict=True))
    doubtful = []
    for name, cells in values.items():
        plain = plain_name(name)
        named = COUNT.fullmatch(plain) or plain.rpartition("_")[2] in PROPERTIES
        if named or (odd[name] and np.unique(cells).size >= MANY):
            doubtful.append(name)
    if doubtful:
        raise InputError(
            f"Not every column looks like a configuration: {listed(doubtful)}. Leave out what is "
            f"none with {_omitting(doubtful)}, or keep all columns of numbers with --format wide."
        )


def _check_notes(column: Column, name: str) -> None:
    """Refuse to leave out how runs ended: a crash after a second would be the best run."""
    words = {cell.lower() for cell in column}
    if words & FAILURES and words <= STATUS_WORDS.keys() | BLANK:
        raise InputError(
            f"The column {name!r:.60} says how runs ended, which a wide table has no place for. "
            "Write a row for every run, with a column called status; or leave it out with "
            f"{_omitting([name])}."
        )


def _omitting(names: Sequence[str]) -> str:
    """The option that leaves columns out."""
    few = [f"{name:.60}=" for name in names[:OMITTED]]
    return f"--columns {shlex.quote(','.join(few))}{' and so on' if names[OMITTED:] else ''}"


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
    values = numbers(column, first)
    return first if (values == np.floor(values)).all() else None


def _cost_columns(table: Table, key: str, reading: Reading) -> list[str]:
    """The columns of costs: of numbers, without seeds, numbers of runs and families."""
    about = {name for role in ABOUT for name in SYNONYMS[role]}
    return [
        name
        for name, column in table.items()
        if name not in {key, *reading.columns.values()}
        and plain_name(name) not in about
        and is_numeric(column, MISSING)
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
    # The first column has the instances, unless its name or the columns say something else.
    unlikely = plain_name(key) in EITHER or len(columns) > len(names)
    if others > max(rows, 0.5) or (rows <= 0.5 and unlikely):
        raise InputError(
            f"The column {key!r:.60} may name instances or configurations. Say which: --columns "
            f'"instance={key:.60}" or --columns "configuration={key:.60}".'
        )
    return False
