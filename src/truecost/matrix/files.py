"""Our own files: a plain table of runs, NAME.csv or NAME.csv.gz, with NAME.csv.json beside it.

The table has one run a row, with the columns configuration, instance, run, cost and, where known,
seed and status. Everything that no row can say is in the metadata: the range, the cutoff, the
default, how the configurations were chosen, the recorded plan. Runs on fresh instances are a second
table, NAME-test.csv.
"""

import csv
import errno
import gzip
import io
import json
import math
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import numpy as np

from truecost.errors import InputError, prefixed
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log, Plan, Step
from truecost.matrix.table import NEEDED, columns_of, matrix_of
from truecost.runs import Caveat

FORMAT: Final = 1


def metadata_path(path: Path) -> Path:
    """NAME.csv.json for NAME.csv and for NAME.csv.gz."""
    return path.with_name(f"{_stem(path)}.csv.json")


def test_path(path: Path) -> Path:
    """NAME-test.csv for NAME.csv, NAME-test.csv.gz for NAME.csv.gz."""
    stem = _stem(path)
    return path.with_name(f"{stem}-test{path.name[len(stem) :]}")


def _stem(path: Path) -> str:
    for ending in (".csv", ".csv.gz"):
        if path.name.endswith(ending) and path.name != ending:
            return path.name.removesuffix(ending)
    raise InputError(f"{path}: The name does not end in .csv or .csv.gz. Give it this ending.")


def write_log(log: Log, path: str | os.PathLike[str]) -> None:
    """Write a log as a table of runs, its metadata, and a table of test runs where it has some.

    Parameters
    ----------
    log
        What to write.
    path
        NAME.csv or NAME.csv.gz.
    """
    path = Path(path)
    metadata = json.dumps(_metadata(log), ensure_ascii=False, allow_nan=False, indent=1)
    tables = [(log.runs, path)] + ([] if log.test is None else [(log.test, test_path(path))])
    for matrix, place in tables:
        with whole_file(place) as file:
            content = _table(matrix).encode("utf-8", "surrogatepass")
            # Without a time in it, the same runs give the same file.
            file.write(gzip.compress(content, mtime=0) if place.suffix == ".gz" else content)
    with whole_file(metadata_path(path)) as file:
        file.write(metadata.encode("utf-8", "surrogatepass"))
    if log.test is None:
        test_path(path).unlink(missing_ok=True)


def read_log(path: str | os.PathLike[str]) -> Log:
    """Read a log that `write_log` wrote, or a table with the same columns.

    Without a metadata file nothing is known but the runs; a caveat says so.
    """
    path = Path(path)
    beside = metadata_path(path)
    if not beside.exists():
        sentence = f"{beside.name} is missing: the range of costs and the default are unknown."
        caveats = (Caveat("no-metadata", sentence),)
        return Log(runs=_matrix(path, {}), path=str(path), caveats=caveats)
    with prefixed(beside):
        data = _read_metadata(beside)
    runs, test = _matrix(path, data), None
    if data.get("test") is not None:
        place = test_path(path)
        if not place.exists():
            raise InputError(f"{place} is missing. Put the test runs back beside {path.name}.")
        test = _matrix(place, data | data["test"])
    with prefixed(beside):
        try:
            return Log(runs=runs, test=test, path=str(path), **_fields(data))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"This is not metadata of truecost ({error}). Restore the file."
            ) from None


def _metadata(log: Log) -> dict[str, Any]:
    runs = log.runs
    data: dict[str, Any] = {
        "truecost": FORMAT,
        "tool": log.tool,
        "cost_unit": log.cost_unit,
        "maximised": log.maximised,
        "default": log.default,
        "incumbent": log.incumbent,
        "adaptive": log.adaptive,
        "listed": log.listed,
        "steps": [list(step) for step in log.steps],
        "plan": None if log.plan is None else asdict(log.plan),
        "test_plan": None if log.test_plan is None else asdict(log.test_plan),
        "caveats": [list(caveat) for caveat in log.caveats],
        **_terms(runs),
        "test": None if log.test is None else _terms(log.test),
        "parameters": {name: dict(values) for name, values in log.parameters.items()},
    }
    return cast(dict[str, Any], _plain(data))


def _terms(matrix: CostMatrix) -> dict[str, Any]:
    """What no row says of a matrix."""
    return {
        "low": _finite(matrix.low),
        "high": _finite(matrix.high),
        "cutoff": matrix.cutoff,
        "par": matrix.par,
        "configurations": matrix.configurations,
        "instances": matrix.instances,
        "families": matrix.families,
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _plain(value: Any) -> Any:
    """Values of parameters as JSON has them."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _read_metadata(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"This is no JSON ({error}). Restore the file.") from None
    if not isinstance(data, dict) or data.get("truecost") != FORMAT:
        raise InputError(
            "This is not metadata that this version of truecost wrote. Write it again."
        )
    return data


def _fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `Log` besides the runs."""
    names = ("tool", "cost_unit", "maximised", "default", "incumbent", "adaptive", "listed")
    fields = {name: data[name] for name in names if name in data}
    fields["steps"] = tuple(Step(runs, name) for runs, name in data.get("steps", ()))
    fields["caveats"] = tuple(Caveat(code, text) for code, text in data.get("caveats", ()))
    fields["parameters"] = dict(data.get("parameters", {}))
    for name in ("plan", "test_plan"):
        if (plan := data.get(name)) is not None:
            lists = {key: tuple(plan.get(key, ())) for key in ("order", "candidates")}
            fields[name] = Plan(**{**plan, **lists})
    return fields


def _table(matrix: CostMatrix) -> str:
    """Write the runs as csv text."""
    columns = columns_of(matrix)
    # The shortest text that is read back as the same number.
    columns["cost"] = [
        int(cost) if cost.is_integer() and abs(cost) < 1e15 else cost for cost in columns["cost"]
    ]
    # They are in the metadata.
    columns.pop("family", None)
    text = io.StringIO(newline="")
    # A carriage return ends a line, too, and Python 3.11 does not quote it.
    odd = any("\r" in name for name in (*matrix.configurations, *matrix.instances))
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
    )
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def read_table(path: Path) -> dict[str, list[str]]:
    """Read a csv table, packed or not, as columns of text."""
    # pandas would take longer to load than this takes for 50,000 rows.
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig", "surrogatepass")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"The packed file is damaged ({error}). Restore it.") from None
    except UnicodeDecodeError:
        raise InputError("The table is not in UTF-8. Save it in UTF-8.") from None
    except csv.Error as error:
        raise InputError(
            f"The table cannot be read ({error}). Save it as csv with commas."
        ) from None
    if len(rows) < 2:
        raise InputError("The table has no rows. Give at least one run.")
    header = rows.pop(0)
    if missing := [name for name in NEEDED if header.count(name) != 1]:
        raise InputError(f"The first row does not name the column {missing[0]!r} once. Correct it.")
    if {len(header)} != set(map(len, rows)):
        short = next(number for number, row in enumerate(rows, 2) if len(row) != len(header))
        raise InputError(
            f"Row {short} does not have {len(header)} fields as the first row. Correct it."
        )
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def _matrix(path: Path, data: Mapping[str, Any]) -> CostMatrix:
    """Read a table as a matrix, with the names and the range of the metadata."""
    with prefixed(path):
        names = {name: data.get(name) for name in ("configurations", "instances")}
        fields = {name: data.get(name) for name in ("low", "high", "cutoff", "par", "families")}
        known = {name: value for name, value in fields.items() if value is not None}
        return matrix_of(read_table(path), first_row=2, **names, **known)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` once everything is written, and never before."""
    # A link stays a link: what it points to is written.
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        # A device or a pipe would be replaced by a file of its name.
        raise OSError(errno.EINVAL, "this is no regular file", str(path))
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=".unfinished", dir=target.parent
        )
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            # Else a crash could leave the new name with the content of neither.
            os.fsync(file.fileno())
        unfinished.chmod(_mode_of(target))
        unfinished.replace(target)
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _mode_of(target: Path) -> int:
    """The mode of the file that is replaced, or that of a new file."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        # There is no way to read the mask but to set it.
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
