"""Wide tables: a column for each solver and a row for each instance, as SAT Competitions publish
them, or a row for each solver and a column for each instance.

Columns of text are left out, but for families; a column called weight weighs instances. Which side
the instances are on follows from the name of the column of names, else from names that look like
files, else from the sizes: there are more instances than solvers, as a rule.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.importers import frames
from truecost.importers.record import Options
from truecost.importers.registry import Candidate, Importer
from truecost.matrix import longtable
from truecost.matrix.families import WEIGHTS
from truecost.matrix.imported import Import

# What the column of names is called, beyond the names a long table has for it.
INSTANCES = (*frames.GUESSES["instance"], "hash", "file", "filename", "formula")
CONFIGURATIONS = frames.GUESSES["configuration"]
NAMES = (*CONFIGURATIONS, *INSTANCES, "name", "id")
MISSING = ("", "na", "nan", "none", "null", "-", "timeout", "memout", "unknown", "to", "mo")
NUMBER = r"(?i)^[+-]?(\d[\d,]*\.?\d*|[.,]\d+)(e[+-]?\d+)?$|^[+-]?inf(inity)?$"
FILE = re.compile(r"/|\.\w{2,4}$")
# Numbers of the rows, which spreadsheets and pandas add.
COUNTER = re.compile(r"(?i)|unnamed: \d+|index|row|#")
# Rows and columns that spreadsheets and competitions add to those of instances and solvers.
SUMMARIES = frozenset({
    "total", "sum", "mean", "average", "avg", "median", "vbs", "virtual_best",
    "virtual_best_solver",
})  # fmt: skip
# As many rows are looked at to recognise one.
ROWS = 20
# The largest value, if this many cells and this share of them have it: not solved.
MARKED_CELLS = 3
MARKED = 0.02
# Penalty factors in use, and how close to the cutoff the slowest solved run comes.
FACTORS = (2, 10)
CLOSE = 0.95


def _recognise(candidate: Candidate) -> bool:
    frame = frames.as_frame(candidate.source).head(ROWS) if candidate.is_frame else None
    names = candidate.columns if frame is None else frame.columns
    if len(names) < 3 or len(set(names)) != len(names):
        return False
    long = frames.guesses(names, {})
    # Those are columns of a table with a row for every run.
    if {"cost", "seed", "run"} & set(long) or {"configuration", "instance"} <= set(long):
        return False
    rows = [row for row in candidate.rows(ROWS + 1)[1:] if len(row) == len(names)]
    schema = dict.fromkeys(names, pl.String)
    table = pl.DataFrame(rows, schema=schema, orient="row") if frame is None else frame
    key = _key(table) if table.height else None
    if key is None:
        return False
    numbers = _costs(table, key)
    enough = len(numbers) >= max(2, (len(names) - 1) / 2)
    return enough and table[key].n_unique() == table.height


def _numeric(table: pl.DataFrame) -> set[str]:
    """The columns of numbers."""
    # All at once: a table may have thousands of columns.
    cell = pl.all().cast(pl.String).str.strip_chars()
    missing = cell.str.to_lowercase().is_in(MISSING)
    number = cell.str.contains(NUMBER)
    columns = table.select((missing | number).fill_null(True).all() & number.any()).row(0)
    return {name for name, numeric in zip(table.columns, columns, strict=True) if numeric}


def _costs(table: pl.DataFrame, key: str) -> list[str]:
    """The columns of costs: of numbers, without names and numbers of the rows."""
    weights = {name for name in table.columns if frames.plain_name(name) in WEIGHTS}
    numeric = _numeric(table) - {key} - weights
    return [name for name in table.columns if name in numeric and not _is_counter(table[name])]


def _is_counter(column: pl.Series) -> bool:
    if COUNTER.fullmatch(column.name.strip()) is None:
        return False
    numbers = column.cast(pl.Float64, strict=False)
    return numbers.null_count() == 0 and (numbers.diff().drop_nulls() == 1).all()


def _key(table: pl.DataFrame) -> str | None:
    """The column of names: the one that is called so, else the first of text, else the first if it
    holds whole numbers; None where there is none.
    """
    names = {frames.plain_name(name): name for name in reversed(table.columns)}
    if likely := [names[name] for name in NAMES if name in names]:
        return likely[0]
    numeric = _numeric(table)
    if texts := [name for name in table.columns if name not in numeric]:
        return texts[0]
    first = table.to_series(0)
    whole = first.cast(pl.Float64, strict=False)
    return first.name if whole.null_count() == 0 and (whole % 1 == 0).all() else None


def _read(source: Any, options: Options) -> Import:
    table = frames.as_frame(source)
    labels = ("family", "weight")
    sides = {ours: theirs for ours, theirs in options.columns.items() if ours not in labels}
    guesses = frames.guesses(table.columns, options.columns)
    key = next(iter(sides.values()), None) or _key(table)
    if key is None or not table.height:
        raise InputError(
            "expected a column that names the instances or the solvers, and rows, in a wide table."
        )
    labels_of_rows = [str(name) for name in table[key]]
    table = table.filter(pl.Series([not _is_summary(name) for name in labels_of_rows]))
    costs = _costs(table, key)
    numbers = [name for name in costs if not _is_summary(name)]
    if len(numbers) < 2:
        raise InputError(
            "expected a column of numbers for every solver, or for every instance, got "
            f"{len(numbers)}."
        )
    if table[key].cast(pl.String).str.strip_chars().n_unique() != table.height:
        raise InputError(f"expected different names in the column {key!r}, got one twice.")
    by_row, by_column = _sides(next(iter(sides), None), key, table[key], numbers)
    cell = pl.col("cost").cast(pl.String).str.strip_chars()
    roles = {key: by_row}
    if by_row == "instance":
        roles |= {
            guesses[ours]: ours for ours in labels if guesses.get(ours) not in (None, key, *numbers)
        }
    long = (
        table.select(pl.col(*roles).cast(pl.String), *numbers)
        .unpivot(numbers, index=list(roles), variable_name=by_column, value_name="cost")
        .rename(roles)
        .with_columns(cost=pl.when(~cell.str.to_lowercase().is_in(MISSING)).then(cell))
    )
    notes = [
        f"A wide table: every row is {_a(by_row)}, named in the column {key or '1'}, and every "
        f"other column {_a(by_column)}."
    ]
    if summaries := [name for name in (*labels_of_rows, *costs) if _is_summary(name)]:
        notes.append(f"Left out, since they sum up others: {', '.join(summaries):.200}.")
    if left_out := sorted({*table.columns} - {*roles, *costs, ""}):
        notes.append(f"Columns without costs are left out: {', '.join(left_out):.200}.")
    options, cutoff_notes = _unsolved(longtable.numbers(long, "cost"), options)
    empty = long.filter(pl.col("cost").is_null())
    if empty.height and options.cutoff is None:
        first = empty.row(0, named=True)
        raise InputError(
            f"{empty.height:,} of {long.height:,} cells {'has' if empty.height == 1 else 'have'} "
            f"no number, the first is that of {first['configuration']} on {first['instance']}. If "
            "these runs timed out, give the `cutoff` in seconds; if they failed, write what that "
            "costs; if they were never made, write a table with a row for every run."
        )
    log = frames.runs_of(long, replace(options, columns={}))
    return replace(
        log,
        kind="wide",
        trajectory=replace(log.trajectory, tool="wide table"),
        notes=(*notes, *cutoff_notes, *log.notes),
        columns={by_row: key},
    )


def _is_summary(name: str) -> bool:
    return frames.plain_name(name) in SUMMARIES


def _a(noun: str) -> str:
    return f"{'an' if noun == 'instance' else 'a'} {noun}"


def _sides(given: str | None, key: str, names: pl.Series, others: Sequence[str]) -> tuple[str, str]:
    """What rows and columns are."""
    title = frames.plain_name(key)
    rows, columns = (
        sum(FILE.search(str(name)) is not None for name in side) / len(side)
        for side in (names, others)
    )
    if given in ("instance", "configuration"):
        turned = given == "configuration"
    elif title in (*CONFIGURATIONS, *INSTANCES):
        turned = title in CONFIGURATIONS
    elif max(rows, columns) > 0.5:
        turned = columns > rows
    else:
        turned = len(others) > names.len()
    return ("configuration", "instance") if turned else ("instance", "configuration")


def _unsolved(column: pl.Series, options: Options) -> tuple[Options, list[str]]:
    """The options with the cutoff that many cells of the same largest value point to, and a note.

    A penalty of 2 or 10 times the cutoff leaves a gap below it that nothing else does. Other values
    are only pointed out.
    """
    costs = column.drop_nulls().drop_nans().to_numpy()
    # Whoever has said what costs mean needs no guess.
    settled = (options.cutoff, options.par, options.low, options.high, options.utility)
    if any(value is not None for value in settled) or options.maximise or not costs.size:
        return options, []
    most, share = costs.max(), float((costs == costs.max()).mean())
    count = int((costs == most).sum())
    if count < MARKED_CELLS or share < MARKED or share == 1 or not 0 < most < np.inf:
        return options, []
    cells, slowest = f"{count:,} cells ({100 * share:.0f} %)", costs[costs < most].max()
    for factor in FACTORS:
        cutoff = float(most) / factor
        if CLOSE * cutoff <= slowest <= cutoff:
            note = (
                f"{cells} have the value {most:g}, all others at most {slowest:g}: they are taken "
                f"for runs not solved within {cutoff:g}, as with `cutoff` {cutoff:g} `par` "
                f"{factor}."
            )
            return replace(options, cutoff=cutoff, par=float(factor)), [note]
    return options, [
        f"{cells} have the largest value, {most:g}. If these runs were not solved, give the time "
        f"limit: `cutoff` {most:g} `par` 1 if that is {most:g}."
    ]


IMPORTER = Importer(
    name="wide", title="wide tables (a column for each solver)", recognise=_recognise, read=_read
)
