"""Tables as columns of text: a csv or parquet file, or a data frame of pandas.

A missing cell is empty. Only here are cells read as numbers.
"""

import csv
import io
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.importers.packed import content_of

Column = list[str]
Table = dict[str, Column]

PARQUET = b"PAR1"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# What may stand before the header: a byte order mark, and the line of spreadsheets that says what
# separates fields.
PREAMBLE = re.compile(rb"(\xef\xbb\xbf)?(sep=.\r?\n)?")
SEPARATORS = ",;\t|"
PART = 10_000
# A cell without a number, and one that does not even say that there may be numbers in its column.
MISSING = frozenset({"", "na", "nan"})
BLANK = frozenset({"", "-", "na", "none", "null", "unknown"})
# Decimal commas, and groups of thousands.
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
DECIMAL = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
WHOLE = re.compile(r"([+-]?\d{1,19})(\.0*)?")
# A number, maybe with a unit.
MEASURE = re.compile(r"[-+]?[\d.,]+([eE][-+]?\d+)?\s?(%|s|ms|sec|min|h)?")


def from_file(path: Path) -> Table:
    """The columns of a csv file, packed or not, or of a parquet file."""
    with path.open("rb") as file:
        start = file.read(len(PARQUET))
    return _from_parquet(path) if start == PARQUET else _from_csv(content_of(path))


def _from_csv(content: bytes) -> Table:
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
    separator = _separator(text.partition("\n")[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        header = next(reader, [])
        columns = _cells(reader, len(header))
    except csv.Error as error:
        raise InputError(f"The table cannot be read ({error}). Check its quotes.") from None
    if not columns or not columns[0]:
        raise InputError("The table has no rows below its first line.")
    return _named(header, columns)


def _separator(line: str) -> str:
    """The separator that makes the most fields of the first line."""
    fields: dict[str, int] = {}
    for mark in SEPARATORS:
        try:
            fields[mark] = len(next(csv.reader([line.strip("\r")], delimiter=mark), []))
        except csv.Error:  # one field that is too long
            fields[mark] = 0
    return max(fields, key=lambda mark: fields[mark])


def _cells(reader: Any, width: int) -> list[Column]:
    """The cells below the header, by column."""
    columns: list[Column] = [[] for _ in range(width)]
    # In parts: millions of rows at once would keep the garbage collector busy.
    while rows := list(itertools.islice(reader, PART)):
        # Blank lines stay out. A row that was cut off would lose its run.
        if wrong := next((row for row in rows if row and len(row) != width), None):
            raise InputError(
                f"A row has {len(wrong)} fields and the first line {width}, near line "
                f"{reader.line_num}: {','.join(wrong)!r:.60}. The first line must name the columns."
            )
        # Rows of bare commas, which spreadsheets leave behind.
        for column, cells in zip(columns, zip(*filter(any, rows), strict=True), strict=False):
            column.extend(map(str.strip, cells))
    return columns


def _named(names: Sequence[str], columns: Sequence[Column]) -> Table:
    """The columns by name; one without a name is called by its place."""
    headers = [name.strip() or f"column {place}" for place, name in enumerate(names, 1)]
    if len(set(headers)) != len(headers):
        again = next(name for name in headers if headers.count(name) > 1)
        raise InputError(f"Two columns are called {again!r:.60}. Rename one.")
    return dict(zip(headers, columns, strict=True))


def _from_parquet(path: Path) -> Table:
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
        names = frame.index.names
        unnamed = all(name is None for name in names) and frame.index.dtype.kind in "iu"
        if not unnamed and not set(names) & set(frame.columns):
            frame = frame.reset_index()
        columns = [_texts(frame.iloc[:, place]) for place in range(frame.shape[1])]
        # Columns of several levels, as unstack() leaves them.
        labels = (name if isinstance(name, tuple) else (name,) for name in frame.columns)
        headers = [" ".join(map(str, label)) for label in labels]
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The data frame cannot be read ({error!s:.100}).") from error
    if not columns or not len(frame):
        raise InputError("The data frame has no rows or no columns.")
    return _named(headers, columns)


def _texts(series: Any) -> Column:
    blank = "nan" if getattr(series.dtype, "kind", "O") == "f" else ""
    cells = zip(series.tolist(), series.isna().tolist(), strict=True)
    return [blank if missing else _text(value) for value, missing in cells]


def _text(value: Any) -> str:
    # pandas turns whole numbers into floats where one is missing.
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return str(int(value) if whole else value).strip()


def check_names(column: Column, name: str) -> Column:
    """A column of names; refuses empty cells."""
    if "" in column:
        raise InputError(
            f"The column {name!r:.60} is empty in row {column.index('') + 1}. Give each run a name "
            "there."
        )
    return column


def numbers(column: Column, name: str) -> FloatArray:
    """A column as numbers, NaN where a cell is empty."""
    cells = ["nan" if cell.lower() in MISSING else cell for cell in _with_points(column)]
    try:
        return np.array([_number(cell) for cell in cells])
    except ValueError:
        row = next(row for row, cell in enumerate(cells) if not _is_number(cell))
        raise InputError(
            f"The column {name!r:.60} has {column[row]!r:.60} in row {row + 1}, which is no number."
            f"{_instead(column[row])}"
        ) from None


def wholes(column: Column, name: str, role: str) -> IntArray:
    """A column as whole numbers."""
    # Not as floats, which lose digits of seeds; a table that had gaps once has 7.0 for 7.
    matches = [WHOLE.fullmatch(cell) for cell in column]
    values = [int(match[1]) if match else 2**63 for match in matches]
    row = next((row for row, value in enumerate(values) if abs(value) >= 2**63), None)
    if row is not None:
        raise InputError(
            f"The column {name!r:.60} has {column[row]!r:.60} in row {row + 1}, which is no whole "
            f"number. Number all, or say that there is no {role}: --columns {role}=."
        )
    return np.array(values, dtype=np.int64)


def is_numeric(column: Column, missing: frozenset[str] = MISSING) -> bool:
    """Whether a column holds numbers and, at most, words for missing ones."""
    if all(cell.lower() in BLANK for cell in column):
        return False
    return all(cell.lower() in missing or _is_number(cell) for cell in _with_points(column))


def check_numeric(column: Column, name: str, missing: frozenset[str] = MISSING) -> None:
    """Refuse numbers with a few words or units among them: without those, it would be no notes."""
    cells = [cell for cell in column if cell.lower() not in missing]
    measures = sum(MEASURE.fullmatch(cell) is not None for cell in cells)
    if cells and 2 * measures >= len(cells) and not is_numeric(column, missing):
        numbers(["" if cell.lower() in missing else cell for cell in column], name)


def _number(cell: str) -> float:
    # Python reads 1_000 as a number, and nobody else does.
    return float(cell.replace("_", "?"))


def _is_number(cell: str) -> bool:
    try:
        _number(cell)
    except ValueError:
        return False
    return True


def _with_points(column: Column) -> Column:
    """Numbers as 1,5 or 1,234.5 written 1.5 and 1234.5, where the column leaves no doubt."""
    commas = [cell for cell in column if "," in cell]
    grouped = all(GROUPED.fullmatch(cell) for cell in commas)
    if commas and any("." in cell for cell in column):
        return [cell.replace(",", "") for cell in column] if grouped else column
    if not grouped and all(DECIMAL.fullmatch(cell) for cell in commas):
        return [cell.replace(",", ".") for cell in column]
    return column


def _instead(cell: str) -> str:
    """What to write in place of a text that is no number."""
    if re.fullmatch(r"-?\d+,\d+", cell):
        return f" Write {cell.replace(',', '.')}, or {cell.replace(',', '')}, whichever is meant."
    if not re.search(r"\d", cell):
        return " Leave it empty, and write how the run ended into a column called status."
    if re.fullmatch(r"[-+.,\d]+", cell):
        return " Write numbers as 1234.5."
    return " Write numbers without units."
