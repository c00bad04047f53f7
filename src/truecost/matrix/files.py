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
from numpy.typing import NDArray

from truecost.errors import InputError, prefixed
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log, Plan, Step
from truecost.runs import NO_SEED, NO_STATUS, Caveat, Status

FORMAT: Final = 1
NEEDED: Final = ("configuration", "instance", "cost")
STATUSES: Final = {"": NO_STATUS, **{status.label: status.value for status in Status}}
LABELS: Final = {number: label for label, number in STATUSES.items()}
# A matrix this large and this empty is a mistake in the columns.
LARGEST_SPARSE: Final = 50_000_000
SPARSE: Final = 100


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
    raise InputError(f"{path}: the name does not end in .csv or .csv.gz. Give it this ending.")


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
    with prefixed(path):
        columns = read_table(path)
    if not beside.exists():
        sentence = f"{beside.name} is missing: the range of costs and the default are unknown."
        runs = _matrix(columns, {}, path)
        return Log(runs=runs, path=str(path), caveats=(Caveat("no-metadata", sentence),))
    with prefixed(beside):
        data = _read_metadata(beside)
    test = None
    if data.get("test") is not None:
        place = test_path(path)
        if not place.exists():
            raise InputError(f"{place} is missing. Put the test runs back beside {path.name}.")
        with prefixed(place):
            test = _matrix(read_table(place), data | data["test"], place)
    runs = _matrix(columns, data, path)
    with prefixed(beside):
        try:
            return Log(runs=runs, test=test, path=str(path), **_fields(data))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"this is not metadata of truecost ({error}).") from None


def _metadata(log: Log) -> dict[str, Any]:
    runs = log.runs
    data: dict[str, Any] = {
        "truecost": FORMAT,
        "tool": log.tool,
        "low": _finite(runs.low),
        "high": _finite(runs.high),
        "cutoff": runs.cutoff,
        "par": runs.par,
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
        **_names(runs),
        "test": None if log.test is None else _names(log.test),
        "parameters": {name: dict(values) for name, values in log.parameters.items()},
    }
    return cast(dict[str, Any], _plain(data))


def _names(matrix: CostMatrix) -> dict[str, Any]:
    return {
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
        raise InputError(f"this is no JSON ({error}). Restore the file.") from None
    if not isinstance(data, dict) or data.get("truecost") != FORMAT:
        raise InputError("this is not metadata that this version of truecost wrote.")
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
    where = np.nonzero(~np.isnan(matrix.costs))
    configurations, instances = matrix.configurations, matrix.instances
    columns: dict[str, list[Any]] = {
        "configuration": [configurations[place] for place in where[0].tolist()],
        "instance": [instances[place] for place in where[1].tolist()],
        "run": where[2].tolist(),
    }
    if matrix.seeds is not None:
        columns["seed"] = ["" if seed == NO_SEED else seed for seed in matrix.seeds[where].tolist()]
    # The shortest text that is read back as the same number.
    columns["cost"] = [
        int(cost) if cost.is_integer() and abs(cost) < 1e15 else cost
        for cost in matrix.costs[where].tolist()
    ]
    if matrix.statuses is not None:
        columns["status"] = [LABELS[status] for status in matrix.statuses[where].tolist()]
    text = io.StringIO(newline="")
    # A carriage return ends a line, too, and Python 3.11 does not quote it.
    odd = any("\r" in name for name in (*configurations, *instances))
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
        raise InputError(f"the packed file is damaged ({error}).") from None
    except UnicodeDecodeError:
        raise InputError("the table is not in UTF-8. Save it in UTF-8.") from None
    except csv.Error as error:
        raise InputError(f"the table cannot be read ({error}).") from None
    if len(rows) < 2:
        raise InputError("the table has no rows.")
    header = rows.pop(0)
    if missing := [name for name in NEEDED if header.count(name) != 1]:
        raise InputError(f"the first row does not name the column {missing[0]!r} once.")
    if {len(header)} != set(map(len, rows)):
        short = next(number for number, row in enumerate(rows, 2) if len(row) != len(header))
        raise InputError(f"row {short} does not have {len(header)} fields as the first row.")
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def _matrix(columns: dict[str, list[str]], data: Mapping[str, Any], path: Path) -> CostMatrix:
    """Lay a table out as a matrix, with the names and the range of the metadata."""
    with prefixed(path):
        configurations, rows = _coded(columns["configuration"], data.get("configurations"))
        instances, places = _coded(columns["instance"], data.get("instances"))
        if "run" in columns:
            runs = _whole(columns["run"], "run", 0)
        else:
            runs = _occurrences(rows * len(instances) + places)
        if (runs < 0).any():
            raise InputError("a run has a negative number. Number the runs from 0.")
        shape = (len(configurations), len(instances), int(runs.max()) + 1)
        if math.prod(shape) > max(LARGEST_SPARSE, SPARSE * rows.size):
            raise InputError(
                f"{rows.size:,} rows would fill little of {shape[0]} configurations × {shape[1]} "
                f"instances × {shape[2]} runs. The column 'run' counts the runs of a pair from 0."
            )
        where = np.ravel_multi_index((rows, places, runs), shape)
        if np.bincount(where, minlength=1).max() > 1:
            first = int(np.flatnonzero(np.bincount(where) > 1)[0])
            row, place, run = np.unravel_index(first, shape)
            raise InputError(
                f"run {run} of {configurations[row]!r} on {instances[place]!r} is there twice. "
                "Remove one of the rows."
            )

        def spread(values: NDArray[Any], missing: float) -> NDArray[Any]:
            cells = np.full(math.prod(shape), missing, dtype=values.dtype)
            cells[where] = values
            return cells.reshape(shape)

        fields = {name: data.get(name) for name in ("cutoff", "par", "families")}
        if "seed" in columns:
            fields["seeds"] = spread(_whole(columns["seed"], "seed", NO_SEED), NO_SEED)
        if "status" in columns:
            fields["statuses"] = spread(_statuses(columns["status"]), NO_STATUS)
        low, high = data.get("low"), data.get("high")
        return CostMatrix(
            spread(_numbers(columns["cost"]), np.nan),
            configurations,
            instances,
            -math.inf if low is None else low,
            math.inf if high is None else high,
            **fields,
        )


def _coded(names: list[str], known: list[str] | None) -> tuple[list[str], NDArray[np.int64]]:
    """The different names, in the order of the metadata or of first appearance, and where each row
    has its own.
    """
    different = list(dict.fromkeys(names)) if known is None else known
    places = {name: place for place, name in enumerate(different)}
    try:
        return different, np.array([places[name] for name in names], dtype=np.int64)
    except KeyError as error:
        raise InputError(
            f"the metadata does not know {error}. Keep the table and its .json file together."
        ) from None


def _occurrences(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many equal codes come before each one."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.searchsorted(ordered, ordered)
    runs = np.empty_like(codes)
    runs[order] = np.arange(codes.size) - first
    return runs


def _numbers(texts: list[str]) -> NDArray[np.float64]:
    try:
        return np.array([float(text) if text else math.nan for text in texts])
    except ValueError:
        row = next(row for row, text in enumerate(texts, 2) if text and not _is_number(text))
        raise InputError(f"the cost in row {row} is {texts[row - 2]!r:.40}, no number.") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _whole(texts: list[str], name: str, missing: int) -> NDArray[np.int64]:
    try:
        return np.array([int(text) if text else missing for text in texts], dtype=np.int64)
    except (ValueError, OverflowError):
        raise InputError(f"the column {name!r} has a value that is no whole number.") from None


def _statuses(labels: list[str]) -> NDArray[np.int8]:
    try:
        return np.array([STATUSES[label] for label in labels], dtype=np.int8)
    except KeyError as error:
        known = ", ".join(status.label for status in Status)
        raise InputError(f"the status {error} is unknown. Use one of {known}.") from None


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
