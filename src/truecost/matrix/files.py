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
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError, prefixed
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log, Plan, Step
from truecost.runs import NO_SEED, NO_STATUS, Caveat, Status

FORMAT: Final = 1
# Fields of a log and of a matrix that the metadata keeps as they are.
FACTS: Final = ("tool", "cost_unit", "maximised", "default", "incumbent", "adaptive", "listed")
SCALE: Final = ("low", "high", "cutoff", "par", "families")
NEEDED: Final = ("configuration", "instance", "run", "cost")
STATUSES: Final = {"": NO_STATUS, **{status.label: status.value for status in Status}}


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
    contents = {path: _table(log.runs), metadata_path(path): _metadata(log)}
    if log.test is not None:
        contents[test_path(path)] = _table(log.test)
        if test_path(path).exists() and not metadata_path(path).exists():
            raise InputError(f"{test_path(path)} would be overwritten. Choose another name.")
    for place, text in contents.items():
        content = text.encode("utf-8", "surrogatepass")
        with whole_file(place) as file:
            # Without a time in it, the same runs give the same file.
            file.write(gzip.compress(content, mtime=0) if place.suffix == ".gz" else content)


def _metadata(log: Log) -> str:
    data = {
        "truecost": FORMAT,
        **{name: getattr(log, name) for name in FACTS},
        "steps": log.steps,
        "plan": log.plan,
        "test_plan": log.test_plan,
        "caveats": log.caveats,
        **_terms(log.runs),
        "test": None if log.test is None else _terms(log.test),
        "parameters": {
            name: {key: _plain(value) for key, value in values.items()}
            for name, values in log.parameters.items()
        },
    }
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1, default=asdict)


def _terms(matrix: CostMatrix) -> dict[str, Any]:
    """What no row says of a matrix."""
    terms = {name: getattr(matrix, name) for name in (*SCALE, "configurations", "instances")}
    return {
        name: None if value in (-math.inf, math.inf) else value for name, value in terms.items()
    }


def _plain(value: Any) -> Any:
    """The value of a parameter as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    finite = not isinstance(value, float) or math.isfinite(value)
    return value if finite and isinstance(value, str | int | float | bool | None) else str(value)


def _table(matrix: CostMatrix) -> str:
    """The runs as csv text."""
    columns = matrix.columns()
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


def read_log(path: str | os.PathLike[str]) -> Log:
    """Read a log that `write_log` wrote."""
    path = Path(path)
    place = metadata_path(path)
    data = _read_metadata(place)
    try:
        test = data["test"]
        facts: dict[str, Any] = {name: data[name] for name in FACTS}
        return Log(
            runs=_matrix(path, data),
            test=None if test is None else _matrix(test_path(path), test),
            path=str(path),
            steps=tuple(Step(runs, name) for runs, name in data["steps"]),
            caveats=tuple(Caveat(code, sentence) for code, sentence in data["caveats"]),
            parameters=dict(data["parameters"]),
            plan=_plan(data["plan"]),
            test_plan=_plan(data["test_plan"]),
            **facts,
        )
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{place}: This is not metadata of truecost ({error!r:.100}). Restore the file."
        ) from None


def _read_metadata(path: Path) -> dict[str, Any]:
    with prefixed(path):
        try:
            data = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise InputError(f"This is no JSON ({error}). Restore the file.") from None
        if not isinstance(data, dict) or data.get("truecost") != FORMAT:
            raise InputError(
                "This is not metadata that this version of truecost wrote. Write it again, or read "
                "the table alone: --format table."
            )
        return data


def _plan(data: Mapping[str, Any] | None) -> Plan | None:
    if data is None:
        return None
    lists = {name: tuple(data[name]) for name in ("order", "candidates")}
    return Plan(**{**data, **lists})


def _matrix(path: Path, terms: Mapping[str, Any]) -> CostMatrix:
    """The matrix of a table, with what the metadata says of it."""
    configurations, instances = terms["configurations"], terms["instances"]
    parsers: dict[str, Callable[[str], Any]] = {
        "configuration": {name: place for place, name in enumerate(configurations)}.__getitem__,
        "instance": {name: place for place, name in enumerate(instances)}.__getitem__,
        "run": int,
        "seed": lambda text: int(text or NO_SEED),
        "cost": lambda text: float(text or "nan"),
        "status": STATUSES.__getitem__,
    }
    with prefixed(path):
        columns = {
            name: _parsed(name, texts, parsers[name])
            for name, texts in _columns(path).items()
            if name in parsers
        }
        return CostMatrix.of_runs(
            (configurations, columns["configuration"]),
            (instances, columns["instance"]),
            columns["run"],
            columns["cost"],
            statuses=columns.get("status"),
            seeds=columns.get("seed"),
            **{name: terms[name] for name in SCALE if terms[name] is not None},
        )


def _parsed(name: str, texts: list[str], parse: Callable[[str], Any]) -> NDArray[Any]:
    """The values of a column, an error naming the first row that has none."""
    values: list[Any] = []
    try:
        # What was parsed before an error stays.
        values.extend(map(parse, texts))
        return np.array(values, dtype=np.float64 if name == "cost" else np.int64)
    except (ValueError, KeyError, OverflowError):
        row = min(len(values), len(texts) - 1)
        raise InputError(
            f"Row {row + 2} has the {name} {texts[row]!r:.40}. Correct it, or restore the table "
            "and its .json file together."
        ) from None


def _columns(path: Path) -> dict[str, list[str]]:
    """The columns of a csv table, packed or not, as text."""
    # pandas would take longer to load than this takes for 50,000 rows.
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        rows = [row for row in csv.reader(text, strict=True) if row]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"The packed file is damaged ({error}). Restore it.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"The table cannot be read ({error}). Save it as csv with commas, in UTF-8."
        ) from None
    if len(rows) < 2:
        raise InputError("The table has no rows. Give at least one run.")
    header = rows.pop(0)
    if missing := [name for name in NEEDED if header.count(name) != 1]:
        raise InputError(f"The first row does not name the column {missing[0]!r} once. Correct it.")
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise InputError(
                f"Row {number} does not have {len(header)} fields as the first row. Correct it."
            )
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` once everything is written, and never before."""
    # A link stays a link: what it points to is written.
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        # A device or a pipe would be replaced by a file of its name.
        raise OSError(errno.EINVAL, "this is no regular file", str(path))
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(8)}.unfinished")
    try:
        with unfinished.open("xb") as file:
            yield file
            file.flush()
            # Else a crash could leave the new name with the content of neither.
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
