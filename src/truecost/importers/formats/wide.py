"""Wide tables: a column for each solver and a row for each instance, as SAT Competitions publish
them, or a row for each solver and a column for each instance.

Every other column must hold numbers; columns of text are left out. Which of the two it is follows
from the name of the column of names, else from whether the other names look like files.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.importers import frames
from truecost.importers.record import Options
from truecost.importers.registry import Candidate, Importer
from truecost.matrix.imported import Import

# What the column of names is called, beyond the names a long table has for it.
INSTANCES: Final = (*frames.GUESSES["instance"], "hash", "file", "filename", "name", "formula")
CONFIGURATIONS: Final = frames.GUESSES["configuration"]
MISSING: Final = ("", "na", "nan", "none", "null", "-", "timeout", "memout", "unknown", "to", "mo")
# As many rows are looked at to recognise one.
ROWS: Final = 20
# A value that so large a share of all cells has, and none is larger, marks what was not solved.
MARKED: Final = 0.02


def _recognise(candidate: Candidate) -> bool:
    names = candidate.columns
    if len(names) < 3 or len(set(names)) != len(names):
        return False
    long = frames.guesses(names, {})
    if {"cost", "seed", "run"} & set(long) or {"configuration", "instance"} <= set(long):
        return False
    if candidate.path is None:
        rows = [tuple(map(str, row)) for row in frames.as_frame(candidate.source).head(ROWS).rows()]
    else:
        separator = max(",;\t", key=candidate.text.partition("\n")[0].count)
        lines = candidate.text.splitlines()[1 : ROWS + 1]
        # Of the last line that was looked at there may be a part only.
        rows = [tuple(line.split(separator)) for line in lines if line.count(separator) >= 2]
        rows = [row for row in rows if len(row) == len(names)] or rows[:1]
    if not rows:
        return False
    key = _key(names, rows)
    numbers = [place for place in range(len(names)) if place != key and _numeric(rows, place)]
    keys = [row[key] for row in rows]
    return len(numbers) >= max(2, (len(names) - 1) / 2) and len(set(keys)) == len(keys)


def _numeric(rows: Sequence[tuple[str, ...]], place: int) -> bool:
    cells = [row[place].strip() for row in rows if place < len(row)]
    known = [cell for cell in cells if cell.lower() not in MISSING]
    return bool(known) and all(map(_is_number, known))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _key(names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> int:
    """The column of names: the one that is called so, else the first of text, else the first."""
    plain = [name.strip().lower() for name in names]
    for known in (*CONFIGURATIONS, *INSTANCES):
        if known in plain:
            return plain.index(known)
    return next((place for place in range(len(names)) if not _numeric(rows, place)), 0)


def _read(source: Any, options: Options) -> Import:
    table = frames.as_frame(source)
    rows = [tuple("" if cell is None else str(cell) for cell in row) for row in table.rows()]
    if not rows:
        raise InputError("expected a row for every instance or solver, got none.")
    place = _key(table.columns, rows)
    key = table.columns[place]
    numbers = [
        name
        for at, name in enumerate(table.columns)
        if at != place and (_numeric(rows, at) or not any(row[at].strip() for row in rows))
    ]
    if len(numbers) < 2:
        raise InputError(
            "expected a column of numbers for every solver, or for every instance, got "
            f"{len(numbers)}."
        )
    if table[key].n_unique() != table.height:
        raise InputError(f"expected different names in the column {key!r}, got one twice.")
    by_row, by_column = _sides(key, numbers)
    cell = pl.col("cost").cast(pl.String).str.strip_chars()
    long = (
        table.select(pl.col(key).cast(pl.String), *numbers)
        .unpivot(numbers, index=key, variable_name=by_column, value_name="cost")
        .rename({key: by_row})
        .select(
            "configuration",
            "instance",
            cost=pl.when(~cell.str.to_lowercase().is_in(MISSING)).then(cell),
        )
    )
    log = frames.runs_of(long, replace(options, columns={}))
    left_out = [name for name in table.columns if name not in (key, *numbers)]
    notes = [
        f"A wide table: every row is {'a' if by_row == 'configuration' else 'an'} {by_row}, named in "
        f"the column {key}, and every other column {'a' if by_row == 'instance' else 'an'} "
        f"{by_column}."
    ]
    if left_out:
        notes.append(f"Columns without numbers are left out: {', '.join(left_out):.200}.")
    if options.cutoff is None:
        notes += _marker(log)
    return replace(
        log,
        kind="wide",
        trajectory=replace(log.trajectory, tool="wide table"),
        notes=(*notes, *log.notes),
        columns={by_row: key},
    )


def _sides(key: str, others: Sequence[str]) -> tuple[str, str]:
    """What rows and columns are."""
    plain = key.strip().lower()
    files = sum(bool(re.search(r"/|\.\w{2,4}$", name)) for name in others) > len(others) / 2
    if plain in CONFIGURATIONS or (plain not in INSTANCES and files):
        return "configuration", "instance"
    return "instance", "configuration"


def _marker(log: Import) -> list[str]:
    """A word on many cells with the same largest value: runs that were not solved, as a rule."""
    costs = log.matrix.costs[~np.isnan(log.matrix.costs)]
    most = float(costs.max())
    share = float((costs == most).mean())
    if share < MARKED or (costs == most).all():
        return []
    return [
        f"{int((costs == most).sum()):,} cells ({100 * share:.0f} %) have the largest value, {most:g}: if "
        "these runs were not solved, say it with `cutoff`."
    ]


IMPORTER: Final = Importer(
    name="wide", title="wide tables (a column for each solver)", recognise=_recognise, read=_read
)
