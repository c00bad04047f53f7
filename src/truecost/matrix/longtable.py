"""Long tables, one run a row: read from parquet or csv, laid out as arrays, and back.

Columns
-------
configuration, instance
    Names; configurations and instances keep the order in which they first appear.
cost
    A number; of a censored run the cap, which is the least it can cost. A row with neither cost nor
    status says that this run is not there.
run, seed
    Which run of the configuration on the instance it is: at least one of the two, unless there is
    one run each. Runs are placed by their number, else in the order of their seeds, so that common
    seeds stand in line across configurations.
status
    Optional: solved, timeout, memory, crashed, vetoed, aborted or censored.
low, high
    Optional: the cost range, the same in every row.
cutoff, utility
    Optional: after how long runs were stopped, and of which utility of the running time costs are 1
    − utility; the same in every row, and passed over if they are not.
family
    Optional: the family that the instance belongs to, the same in every row of an instance.
Others are passed over.
"""

import csv
import io
import math
import re
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix.files import fields_of, without_preamble
from truecost.runs import NO_SEED, NO_STATUS, Status, number_or_nan

COLUMNS = (
    "configuration", "instance", "cost", "run", "seed", "status", "low", "high", "cutoff",
    "utility", "family",
)  # fmt: skip
# What polars says of a table that cannot be read, and what that means to whoever wrote it.
REASONS = {
    "found more fields": "a row has more fields than the first line, which must name the columns",
    "could not parse": "fields are separated by commas, semicolons, tabs or |",
    "utf-8": "it is not in UTF-8: save it so",
    "'utf-16": "it is not in UTF-8: save it so",
}
MOST_ROWS = 500_000_000
LONGEST_HEADER = 16_000_000
# A table whose matrix would be this large and nearly empty is a mistake in its columns, not a
# matrix.
LARGEST_SPARSE = 50_000_000
SPARSE = 100


def read(file: BinaryIO, kind: str, *, every: bool = False) -> pl.DataFrame:
    """The table in an open `"parquet"` or `"csv"` file: our columns, or every one."""
    try:
        return _read_parquet(file, every) if kind == "parquet" else _read_csv(file.read())
    except InputError:
        raise
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        UnicodeDecodeError,
        csv.Error,
    ) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        for theirs, ours in REASONS.items():
            reason = ours if theirs in reason else reason
        raise InputError(f"expected a {kind} table, and it cannot be read ({reason}).") from error


def _read_parquet(file: BinaryIO, every: bool) -> pl.DataFrame:
    names = [name for name in pl.read_parquet_schema(file) if every or name in COLUMNS]
    file.seek(0)
    if not names:
        raise InputError(f"expected the columns {', '.join(COLUMNS[:3])}, got none of them.")
    rows = pl.scan_parquet(file).select(pl.len()).collect().item()
    # Compressed constants unpack to anything: look at the footer before the content.
    if rows > MOST_ROWS:
        raise InputError(f"expected at most {MOST_ROWS:,} rows, got {rows:,}.")
    file.seek(0)
    return pl.read_parquet(file, columns=names)


def _read_csv(content: bytes) -> pl.DataFrame:
    content = without_preamble(content)
    if b"\n" not in content:  # lines of old spreadsheets
        content = content.replace(b"\r", b"\n")
    header = content[: content.find(b"\n") + 1 or len(content)]
    if len(header) > LONGEST_HEADER:
        raise InputError(
            f"expected a header of at most {LONGEST_HEADER:,} bytes, got {len(header):,}."
        )
    separator, names = fields_of(header.decode())
    if again := [name for name in COLUMNS if names.count(name) > 1]:
        raise InputError(
            f"expected every column once, got {again[0]!r} {names.count(again[0])} times."
        )
    # Everything as text first: a configuration called 007 must not become 7.
    table = pl.read_csv(io.BytesIO(content), infer_schema=False, separator=separator)
    # Of a quoted name, polars keeps doubled quotes as they are.
    if len(set(names)) == len(names) == table.width:
        table.columns = names
    if table.width and table.to_series(table.width - 1).null_count():
        _refuse_short_rows(content, separator, table.width)
    # Blank lines, and the rows of bare commas that spreadsheets leave behind.
    return table.filter(~pl.all_horizontal(pl.all().is_null()))


def _refuse_short_rows(content: bytes, separator: str, width: int) -> None:
    """A row that was cut off looks like one with empty fields at its end: a run would be lost."""
    rows = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator)
    for number, row in enumerate(rows):
        if row and len(row) != width:
            raise InputError(
                f"expected {width} fields in every row, got {len(row)} in row {number}."
            )


def to_arrays(
    table: pl.DataFrame, low: float | None = None, high: float | None = None
) -> dict[str, Any]:
    """The parameters of the `CostMatrix` of a long table; low and high, where given, stand for the
    columns of that name.
    """
    for name in ("configuration", "instance", "cost"):
        if name not in table.columns:
            raise InputError(
                f"expected a column {name!r}, got the columns {', '.join(table.columns):.200}."
            )
    if table.height == 0:
        raise InputError("expected at least one run, got a table without rows.")
    configurations, configuration = _codes(table, "configuration")
    instances, instance = _codes(table, "instance")
    run = _run_places(table)
    shape = (len(configurations), len(instances), int(run.max()) + 1)
    cells = shape[0] * shape[1] * shape[2]
    if cells > LARGEST_SPARSE and cells > SPARSE * table.height:
        raise InputError(
            f"expected a table that fills its matrix, got {table.height} rows for {shape[0]} "
            f"configurations x {shape[1]} instances x {shape[2]} runs; the column 'run' counts the "
            "runs of one configuration on one instance."
        )
    flat = (configuration * shape[1] + instance) * shape[2] + run
    _refuse_duplicates(table, flat, cells)
    cost, status = numbers(table, "cost").fill_null(float("nan")).to_numpy(), _statuses(table)
    low, high = end_of_range(table, "low", low), end_of_range(table, "high", high)
    outside = (cost < low) | (cost > high)
    if outside.any():
        row = int(outside.argmax())
        raise InputError(
            f"expected costs in [{low:g}, {high:g}], got {cost[row]:g} in row {row + 1}, "
            "configuration "
            f"{str(table['configuration'][row])!r} on instance {str(table['instance'][row])!r}."
        )
    if status is not None:
        uncharged = (status != NO_STATUS) & np.isnan(cost)
        if uncharged.any():
            row = int(uncharged.argmax())
            raise InputError(
                f"expected a cost in row {row + 1}, which has the status {table['status'][row]}: "
                "charge a failed run its penalty, do not drop it."
            )

    def spread(values: NDArray[Any], missing: float) -> NDArray[Any]:
        laid_out = np.full(cells, missing, dtype=values.dtype)
        laid_out[flat] = values
        return laid_out.reshape(shape)

    seeds = None
    if "seed" in table.columns:
        seeds = spread(whole_numbers(table, "seed").fill_null(NO_SEED).to_numpy(), NO_SEED)
    return {
        "costs": spread(cost, np.nan),
        "configurations": configurations,
        "instances": instances,
        "low": low,
        "high": high,
        "statuses": None if status is None else spread(status, NO_STATUS),
        "seeds": seeds,
        "cutoff": cutoff_of(table),
        "utility": utility_of(table),
        "families": family_labels(table, instance, len(instances)),
    }


def from_arrays(
    costs: FloatArray,
    configurations: Sequence[str],
    instances: Sequence[str],
    low: float,
    high: float,
    *,
    statuses: NDArray[np.int8] | None,
    seeds: IntArray | None,
    cutoff: float | None = None,
    utility: str | None = None,
    families: Sequence[str] | None = None,
) -> pl.DataFrame:
    """The long table of these arrays; `to_arrays` gives them back, names without a run included."""
    keep = ~np.isnan(costs)
    if not keep.all():
        # Rows without a cost keep names, and places of runs, that have no run at all, and the order
        # of the others.
        keep[0] = True
        keep[:, 0, 0] = True
    configuration, instance, run = np.nonzero(keep)
    columns = {
        "configuration": pl.Series(configurations, dtype=pl.String).gather(configuration),
        "instance": pl.Series(instances, dtype=pl.String).gather(instance),
        "run": pl.Series(run, dtype=pl.Int64),
    }
    if families is not None:
        columns["family"] = pl.Series(families, dtype=pl.String).gather(instance)
    if seeds is not None:
        columns["seed"] = pl.Series(seeds[keep], dtype=pl.Int64)
    columns["cost"] = pl.Series(costs[keep]).fill_nan(None)
    if statuses is not None:
        # The last entry answers for NO_STATUS = -1, as an index from the end.
        labels = pl.Series([*(status.label for status in Status), None], dtype=pl.String)
        columns["status"] = labels.gather(statuses[keep].astype(np.int64) % labels.len())
    known = {} if cutoff is None else {"cutoff": pl.lit(cutoff)}
    known |= {} if utility is None else {"utility": pl.lit(utility)}
    return pl.DataFrame(columns).with_columns(
        low=pl.lit(_known(low), pl.Float64), high=pl.lit(_known(high), pl.Float64), **known
    )


def _codes(table: pl.DataFrame, name: str) -> tuple[list[str], IntArray]:
    """The different names in order of appearance, and each row's place among them."""
    column = table[name]
    if not (column.dtype in (pl.String, pl.Categorical, pl.Enum) or column.dtype.is_integer()):
        raise InputError(f"expected names in the column {name!r}, got {column.dtype}.")
    column = _without_gaps(column.cast(pl.String), "a name")
    names = column.unique(maintain_order=True)
    places = pl.DataFrame({name: names, "place": pl.Series(range(names.len()), dtype=pl.Int64)})
    codes = column.to_frame().join(places, on=name, how="left", maintain_order="left")["place"]
    return names.to_list(), codes.to_numpy()


def _run_places(table: pl.DataFrame) -> IntArray:
    """Each row's place along the axis of runs."""
    if "run" in table.columns:
        run = _without_gaps(whole_numbers(table, "run"), "a number")
        # Dense ranks: runs may be numbered from 1, or with gaps.
        return (run.rank("dense").cast(pl.Int64) - 1).to_numpy()
    keys = table.select(pl.col("configuration").cast(pl.String), pl.col("instance").cast(pl.String))
    if "seed" in table.columns:
        seed = _without_gaps(whole_numbers(table, "seed"), "a number")
        rank = pl.col("seed").rank("dense").over("configuration", "instance")
        return keys.with_columns(seed).select(rank.cast(pl.Int64) - 1)["seed"].to_numpy()
    again = keys.is_duplicated()
    if again.any():
        row = again.arg_true()[0]
        raise InputError(
            "expected a column 'run' or 'seed', since configuration "
            f"{keys['configuration'][row]!r} has several runs on "
            f"instance {keys['instance'][row]!r} and nothing says which is which."
        )
    return np.zeros(table.height, dtype=np.int64)


def _refuse_duplicates(table: pl.DataFrame, flat: IntArray, cells: int) -> None:
    taken = np.zeros(cells, dtype=np.bool_)
    taken[flat] = True
    if int(taken.sum()) == flat.size:
        return
    order = np.argsort(flat, kind="stable")
    again = np.flatnonzero(np.diff(flat[order]) == 0)[0]
    first, second = int(order[again]), int(order[again + 1])
    key = "run" if "run" in table.columns else "seed"
    raise InputError(
        f"expected every run once, got {key} {table[key][second]} of configuration "
        f"{str(table['configuration'][second])!r} on instance {str(table['instance'][second])!r} "
        f"in rows {first + 1} and {second + 1}."
    )


def numbers(table: pl.DataFrame, name: str) -> pl.Series:
    """A column as numbers, also where it holds them as text."""
    column = table[name]
    if column.dtype == pl.String:
        text = _with_points(column.str.strip_chars())
        none = text.str.to_lowercase().is_in(["", "na", "nan"])
        number = text.cast(pl.Float64, strict=False)
        bad = text.is_not_null() & ~none & number.is_null()
        if bad.any():
            row = _first_row(bad)
            word = column[row - 1]
            raise InputError(
                f"expected numbers in the column {name!r}, got {word!r:.60} in row "
                f"{row}{_instead(word)}."
            )
        return number
    if column.dtype.is_numeric() or column.dtype == pl.Null:
        return column.cast(pl.Float64)
    raise InputError(f"expected numbers in the column {name!r}, got {column.dtype}.")


def _with_points(column: pl.Series) -> pl.Series:
    """Numbers as 1,5 or 1,234.5 written 1.5 and 1234.5, where the column leaves no doubt."""
    commas = column.filter(column.str.contains(",", literal=True))
    if commas.len() == 0:
        return column
    grouped = commas.str.contains(r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$")
    points = column.str.contains(".", literal=True).any()
    if points:
        return column.str.replace_all(",", "") if grouped.all() else column
    decimal = commas.str.contains(r"^[+-]?\d*,\d+([eE][+-]?\d+)?$")
    return column.str.replace(",", ".") if decimal.all() and not grouped.all() else column


def _instead(word: str) -> str:
    """What to write in place of a word that is no number."""
    if re.fullmatch(r"-?\d+,\d+", word.strip()):
        whole = f", thousands without a comma, {word.strip().replace(',', '')}"
        grouped = re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", word.strip()) is not None
        point = word.strip().replace(",", ".")
        return f": write decimals with a point, {point}{whole if grouped else ''}"
    if word.strip().isalpha():
        return (
            f": write {word.strip()!r:.30} into a column called status, and leave the number empty"
        )
    return ""


def whole_numbers(table: pl.DataFrame, name: str) -> pl.Series:
    """A column as whole numbers, also where it holds them as text."""
    column = table[name]
    if column.dtype == pl.String:
        # A table that had gaps once has 7.0 for 7.
        text = pl.col(name).replace("", None).str.strip_chars()
        column = table.select(text.str.replace(r"^([+-]?\d+)\.0*$", "$1")).to_series()
    elif column.dtype.is_float():
        column = column.fill_nan(None)
        column = column if (column.drop_nulls() % 1 == 0).all() else column.cast(pl.String)
    elif not (column.dtype.is_integer() or column.dtype == pl.Null):
        raise InputError(f"expected whole numbers in the column {name!r}, got {column.dtype}.")
    number = column.cast(pl.Int64, strict=False)
    if number.null_count() > column.null_count():
        row = _first_row(column.is_not_null() & number.is_null())
        raise InputError(
            f"expected whole numbers in the column {name!r}, got {table[name][row - 1]!r:.60} in "
            f"row {row}."
        )
    return number


def _statuses(table: pl.DataFrame) -> NDArray[np.int8] | None:
    if "status" not in table.columns:
        return None
    column = table["status"]
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        raise InputError(f"expected names in the column 'status', got {column.dtype}.")
    word = pl.col("status").cast(pl.String).str.strip_chars().str.to_lowercase().replace("", None)
    code = word.replace_strict(
        {status.label: int(status) for status in Status}, default=None, return_dtype=pl.Int8
    )
    # At once: each step of its own would take as long as all of them.
    codes, bad = table.select(code.fill_null(NO_STATUS), bad=word.is_not_null() & code.is_null())
    if bad.any():
        row = _first_row(bad)
        raise InputError(
            f"expected a status out of {', '.join(status.label for status in Status)}, "
            f"got {table['status'][row - 1]!r:.60} in row {row}."
        )
    return codes.to_numpy()


def end_of_range(table: pl.DataFrame, name: str, given: float | None) -> float:
    """An end of the cost range: what was given, else the column of that name in every row; infinite
    if nobody says.
    """
    if given is not None:
        return given
    values = (
        numbers(table, name).drop_nulls().unique()
        if name in table.columns
        else pl.Series(dtype=pl.Float64)
    )
    if values.len() == 0:
        return -math.inf if name == "low" else math.inf
    if values.len() != 1:
        raise InputError(
            f"expected one and the same number in the column {name!r}, got {values.len()} "
            "different ones."
        )
    return float(values[0])


def family_labels(table: pl.DataFrame, instance: IntArray, number: int) -> list[str] | None:
    """The family of each instance, given the instance of each row; None without the
    column. One instance has one family.
    """
    if "family" not in table.columns:
        return None
    labels = _without_gaps(table["family"].cast(pl.String), "a family")
    rows = pl.DataFrame({"instance": instance, "family": labels}).unique()
    if rows.height != number:
        again = rows.filter(pl.col("instance").is_duplicated())["instance"][0]
        named = str(table["instance"][int((instance == again).argmax())])
        raise InputError(f"expected one family for instance {named!r}, got several.")
    return rows.sort("instance")["family"].to_list()


def cutoff_of(table: pl.DataFrame) -> float | None:
    """The one cutoff of all runs in the column of that name; None where it holds anything else."""
    value = number_or_nan(_only(table, "cutoff"))
    return value if 0 < value < math.inf else None


def utility_of(table: pl.DataFrame) -> str | None:
    """The one utility named in every row of the column of that name, such as half-life=60; None
    where it holds others.
    """
    value = _only(table, "utility")
    return value if isinstance(value, str) and "=" in value else None


def _only(table: pl.DataFrame, name: str) -> Any:
    """What stands in every row of a column; None where there is none, or it holds several."""
    values = table[name].unique().to_list() if name in table.columns else []
    return values[0] if len(values) == 1 else None


def _known(end: float) -> float | None:
    return end if math.isfinite(end) else None


def _without_gaps(column: pl.Series, what: str) -> pl.Series:
    """The column, if every row has something in it."""
    empty = column.is_null() | (column == "") if column.dtype == pl.String else column.is_null()
    if empty.any():
        raise InputError(
            f"expected {what} in the column {column.name!r}, row {_first_row(empty)} has none."
        )
    return column


def _first_row(bad: pl.Series) -> int:
    """The first row that is bad, counted from 1 as people do."""
    return int(bad.arg_true()[0]) + 1
