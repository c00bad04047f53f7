"""Tables as columns: what a csv or parquet file or a data frame of pandas holds, before anybody
says what its columns mean.

A column is a list of texts, None where a cell is missing, or an array of numbers.
"""

import csv
import io
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError
from truecost.importers.packed import content_of

Column = list[str | None] | NDArray[Any]
Table = dict[str, Column]

PARQUET = b"PAR1"
# What may stand before the header: a byte order mark, and what spreadsheets write to say what
# separates fields.
PREAMBLE = re.compile(rb"(\xef\xbb\xbf)?(sep=.\r?\n)?")
SEPARATORS = ",;\t|"
PART = 10_000
# A cell without a number.
MISSING = frozenset({"", "na", "nan"})
# How decimal commas and groups of thousands look.
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
DECIMAL = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
WHOLE = re.compile(r"([+-]?\d{1,19})(\.0*)?")
# A number, maybe with a unit.
NUMBER = re.compile(r"[-+]?[\d.,]+([eE][-+]?\d+)?\s?(%|s|ms|sec|min|h)?")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def from_file(path: Path) -> Table:
    """The columns of a csv file, packed or not, or of a parquet file."""
    with path.open("rb") as file:
        start = file.read(len(PARQUET))
    if start == PARQUET:
        return _parquet(path)
    return from_text(content_of(path))


def from_text(content: bytes) -> Table:
    """The columns of a csv table."""
    if content.startswith(UTF_16):
        raise InputError("The table is in UTF-16. Save it as UTF-8.")
    match = PREAMBLE.match(content)
    content = content[match.end() :] if match else content
    if b"\n" not in content:  # lines of old spreadsheets
        content = content.replace(b"\r", b"\n")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError("The table is not in UTF-8. Save it as UTF-8.") from None
    if "\0" in text:
        raise InputError("It is no table: it holds NUL characters. Save it as csv in UTF-8.")
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=_separator(text.partition("\n")[0])
    )
    try:
        header = next(reader, [])
        columns = _columns(reader, len(header))
    except csv.Error as error:
        raise InputError(f"The table cannot be read ({error}). Check its quotes.") from None
    if not columns or not columns[0]:
        raise InputError("The table has no rows below its first line.")
    return dict(zip(_headers(header), columns, strict=True))


def _columns(reader: Any, width: int) -> list[Column]:
    """The cells below the header, by column."""
    columns: list[list[str | None]] = [[] for _ in range(width)]
    # In parts: millions of rows at once would keep the garbage collector busy.
    while rows := list(itertools.islice(reader, PART)):
        if set(map(len, rows)) != {width}:
            # Blank lines stay out. A row that was cut off would lose its run.
            rows = [row for row in rows if row]
            if wrong := next((row for row in rows if len(row) != width), None):
                raise InputError(
                    f"A row has {len(wrong)} fields and the first line {width}, near line "
                    f"{reader.line_num}: {','.join(wrong)!r:.60}. The first line must name the "
                    "columns."
                )
        # Rows of bare commas, which spreadsheets leave behind.
        for column, cells in zip(columns, zip(*filter(any, rows), strict=True), strict=False):
            column.extend(cells)
    return list(columns)


def _separator(line: str) -> str:
    """What makes the most fields of the first line."""
    fields: dict[str, int] = {}
    for mark in SEPARATORS:
        try:
            fields[mark] = len(next(csv.reader([line.strip("\r")], delimiter=mark), []))
        except csv.Error:  # one field that is too long
            fields[mark] = 0
    return max(fields, key=lambda mark: fields[mark])


def _headers(names: Sequence[str]) -> list[str]:
    """The names of the columns, each once; one without is called by its place."""
    headers = [
        name.strip() if name.strip() else f"column {place}" for place, name in enumerate(names, 1)
    ]
    if len(set(headers)) != len(headers):
        again = next(name for name in headers if headers.count(name) > 1)
        raise InputError(f"Two columns are called {again!r:.60}. Rename one.")
    return headers


def _parquet(path: Path) -> Table:
    try:
        import pandas as pd
        import pyarrow  # noqa: F401 - what pandas reads it with
    except ImportError:
        raise InputError(
            "Parquet files need pyarrow. Type: pip install pyarrow, or write a csv table."
        ) from None
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except MemoryError:
        raise
    except Exception as error:  # pyarrow raises a dozen kinds on damage
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"It is no parquet table ({reason:.100}). Write it again.") from error
    return from_frame(frame)


def from_frame(frame: Any) -> Table:
    """The columns of a data frame of pandas; an index of names is a column, too."""
    try:
        names = list(frame.index.names)
        if any(name is not None for name in names) or frame.index.dtype.kind not in "iu":
            several = len(names) > 1
            names = [
                (f"level {level}" if several else "") if name is None else str(name)
                for level, name in enumerate(names)
            ]
            if not set(names) & set(map(str, frame.columns)):
                frame = frame.reset_index(names=names)
        columns = [_column(frame.iloc[:, place]) for place in range(frame.shape[1])]
        headers = [str(name) for name in frame.columns]
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The data frame cannot be read ({error!s:.100}).") from error
    if not columns or not len(frame):
        raise InputError("The data frame has no rows or no columns.")
    return dict(zip(_headers(headers), columns, strict=True))


def _column(series: Any) -> Column:
    kind = getattr(series.dtype, "kind", "O")
    if kind in "iuf":
        missing = series.isna()
        if not missing.any():
            array: NDArray[Any] = series.to_numpy(dtype=np.float64 if kind == "f" else np.int64)
            return array
        if kind == "f":
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    # Numbers with gaps of missing values keep all their digits as text.
    return [
        None if missing else str(value)
        for value, missing in zip(series.tolist(), series.isna().tolist(), strict=True)
    ]


def texts(column: Column, name: str) -> list[str]:
    """A column as names, each with at least one letter."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "f":
            whole = np.isfinite(column) & (column == np.floor(column))
            if not whole.all():
                raise InputError(f"The column {name!r:.60} holds numbers, not names.")
            return [str(int(value)) for value in column.tolist()]
        return [str(value) for value in column.tolist()]
    names = [value.strip() if value else "" for value in column]
    if "" in names:
        raise InputError(
            f"The column {name!r:.60} is empty in row {names.index('') + 1}. Give each run a name "
            "there."
        )
    return names


def words(column: Column) -> list[str | None]:
    """A column as words, None where a cell is empty."""
    if isinstance(column, np.ndarray):
        return [None if value != value else f"{value:.15g}" for value in column.tolist()]
    return column


def numbers(column: Column, name: str) -> FloatArray:
    """A column as numbers, NaN where a cell is empty."""
    if isinstance(column, np.ndarray):
        return column.astype(np.float64)
    cells = _with_points([cell.strip() if cell else "" for cell in column])
    empty = np.fromiter((cell.lower() in MISSING for cell in cells), np.bool_, len(cells))
    if empty.any():
        cells = ["nan" if blank else cell for cell, blank in zip(cells, empty, strict=True)]
    try:
        found = np.array(cells, dtype=object).astype(np.float64)
    except (ValueError, OverflowError):
        found = None
    if found is None or "_" in "".join(cells):
        row = next(row for row, cell in enumerate(cells) if not is_number(cell))
        cell = column[row] or ""
        raise InputError(
            f"The column {name!r:.60} has {cell!r:.60} in row {row + 1}, which is no number."
            f"{_instead(cell)}"
        )
    return found


def is_number(text: str) -> bool:
    """Whether a text is a number, as Python and others write it."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _with_points(cells: list[str]) -> list[str]:
    """Numbers as 1,5 or 1,234.5 written 1.5 and 1234.5, where the column leaves no doubt."""
    commas = [cell for cell in cells if "," in cell]
    if not commas:
        return cells
    grouped = all(GROUPED.fullmatch(cell) for cell in commas)
    if any("." in cell for cell in cells):
        return [cell.replace(",", "") for cell in cells] if grouped else cells
    if not grouped and all(DECIMAL.fullmatch(cell) for cell in commas):
        return [cell.replace(",", ".") for cell in cells]
    return cells


def _instead(cell: str) -> str:
    """What to write in place of a word that is no number."""
    word = cell.strip()
    if re.fullmatch(r"-?\d+,\d+", word):
        return f" Write {word.replace(',', '.')}, or {word.replace(',', '')}, whichever is meant."
    if not re.search(r"\d", word):
        return " Leave it empty, and write how the run ended into a column called status."
    if re.fullmatch(r"[-+.,\d]+", word):
        return " Write numbers as 1234.5."
    return " Write numbers without units."


def wholes(column: Column, name: str, role: str) -> IntArray:
    """A column as whole numbers, also where it holds them as text."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        return column.astype(np.int64)
    # As text, since floats lose digits of seeds; a table that had gaps once has 7.0 for 7.
    cells = [WHOLE.fullmatch(cell.strip()) if cell else None for cell in words(column)]
    known = [None if cell is None else int(cell[1]) for cell in cells]
    good = np.array([value is not None and abs(value) < 2**63 for value in known])
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise InputError(
            f"The column {name!r:.60} has {words(column)[row] or ''!r:.60} in row {row + 1}, which "
            f"is no whole number. Number all, or say that there is no {role}: --columns {role}=."
        )
    return np.array(known, dtype=np.int64)


def is_numeric(column: Column, also: frozenset[str] = MISSING) -> bool:
    """Whether a column holds numbers and, at most, words for missing ones."""
    if isinstance(column, np.ndarray):
        return True
    cells = _with_points([cell.strip() if cell else "" for cell in column])
    known = [cell for cell in cells if cell.lower() not in also]
    return bool(known) and all(is_number(cell) for cell in known)


def check_numbers(column: Column, name: str, also: frozenset[str] = MISSING) -> None:
    """Refuse numbers with a few words or units among them: without those, it would be no notes."""
    if isinstance(column, np.ndarray) or is_numeric(column, also):
        return
    cells = [cell.strip() for cell in column if cell and cell.strip().lower() not in also]
    if 2 * sum(NUMBER.fullmatch(cell) is not None for cell in cells) >= max(len(cells), 1):
        numbers(["" if (cell or "").strip().lower() in also else cell for cell in column], name)


def take(table: Table, keep: BoolArray) -> Table:
    """The rows that are kept."""
    if keep.all():
        return table
    rows = np.flatnonzero(keep).tolist()
    return {
        name: column[keep] if isinstance(column, np.ndarray) else [column[row] for row in rows]
        for name, column in table.items()
    }
