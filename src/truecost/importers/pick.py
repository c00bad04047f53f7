"""Which reader a source is for, by its name and content."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from truecost.errors import InputError, check_choice, did_you_mean
from truecost.importers import packed
from truecost.importers.settle import changed, of_array, settled
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.files import metadata_path, read_log
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading

FORMATS = (
    "table", "wide", "irace", "smac", "optuna", "aslib", "benchexec", "npy", "journal",
)  # fmt: skip
TABLES = ("table", "wide")
# Which formats an option is meant for.
MEANT_FOR = {
    "columns": TABLES,
    "objective": ("smac", "optuna", "aslib", "benchexec", "npy"),
    "steps-are": ("optuna",),
    "maximise": (*TABLES, "array", "truecost"),
}
START = 1 << 16
SQLITE = b"SQLite format 3\0"
# Formats that are not read, by their first bytes. Pickles are never opened: they can run anything.
UNREAD = {
    b"\x80": "a pickle, which is never opened. Write a csv table, or a storage of Optuna",
    b"PK": "a spreadsheet or a zip archive. Save it as csv",
    b"\x89HDF": "an HDF5 file. Write a csv table",
    b"%PDF": "a PDF. Give the runs themselves, as a table",
}


def import_runs(source: Any, reading: Reading | None = None) -> Log:
    """Read recorded runs.

    Parameters
    ----------
    source
        A path; the name of an example, such as "kissat"; a pandas DataFrame; an array of costs
        (configurations × instances, or with runs as the third axis); a `CostMatrix`, a `Log`, or a
        study of Optuna.
    reading
        What the source does not say itself, and which format it has.
    """
    reading = Reading() if reading is None else reading
    if reading.format is not None:
        check_choice("format", reading.format, FORMATS)
    if not isinstance(source, str | os.PathLike):
        return _with_test(settled(_of_object(source, reading), reading, ""), reading)
    path = Path(source)
    try:
        log = settled(_of_path(path, reading), reading, str(source))
    except InputError as error:
        # Our own files name themselves.
        named = str(error).startswith(str(path))
        raise InputError(str(error) if named else f"{path}: {error}") from error
    except MemoryError:
        raise InputError(f"{path}: The runs do not fit into memory.") from None
    except OSError as error:
        reason = error.strerror or str(error)
        # A format that was asked for may have files beside this one.
        name = error.filename or path
        raise InputError(f"{name}: It cannot be read ({reason:.100}). Check the path.") from error
    return _with_test(log, reading)


def _with_test(log: Log, reading: Reading) -> Log:
    """The log with the runs on fresh instances that the caller names, in the same cost."""
    if reading.test is None:
        return log
    timed = log.runs.par is not None
    low, high = (None if np.isinf(end) else end for end in (log.runs.low, log.runs.high))
    if reading.maximise:
        low, high = reading.low, reading.high
    same = replace(
        reading,
        test=None,
        format=None,
        default=None,
        cutoff=log.runs.cutoff,
        par=log.runs.par,
        low=None if timed else low,
        high=None if timed else high,
    )
    test = import_runs(reading.test, same)
    return log.replace(test=test.runs if test.test is None else test.test)


def _of_object(source: Any, reading: Reading) -> Log:
    """The runs in an object of Python."""
    from truecost.importers import optuna

    if isinstance(source, Log | CostMatrix):
        _check_options("truecost", reading)
        return changed(source if isinstance(source, Log) else Log(runs=source), reading)
    if optuna.is_study(source):
        _check_options("optuna", reading)
        return optuna.read(source, reading)
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        from truecost.importers import frame

        _check_options("table", reading)
        return _of_table(frame.from_frame(source), reading, "runs")
    if isinstance(source, np.ndarray | list | tuple):
        _check_options("array", reading)
        return of_array(source, reading)
    raise InputError(
        f"Runs cannot be read from {type(source).__name__}. Give a path, a DataFrame of pandas, an "
        "array, a CostMatrix or a Log."
    )


def _of_path(path: Path, reading: Reading) -> Log:
    """The runs in a file or folder."""
    if _is_example(path):
        from truecost.examples import example_log

        _check_options("truecost", reading)
        return changed(example_log(path.name), reading)
    if not path.exists():
        raise InputError(_missing(path))
    # A pipe would be read once and then be empty.
    if not path.is_dir() and not path.is_file():
        raise InputError("It is neither a file nor a folder.")
    kind = reading.format or _format_of(path)
    if path.is_dir() and kind in ("irace", "optuna", "table", "wide", "journal"):
        raise InputError("It is a folder. Name the file in it.")
    _check_options(kind, reading)
    if kind == "truecost":
        return changed(read_log(path), reading)
    if kind == "journal":
        from truecost.journal.journal import Journal

        with Journal.read(path) as journal:
            # It has the times themselves, for any penalty and any lower cutoff.
            log = journal.log(par=reading.par, cutoff=reading.cutoff)
        return changed(log, replace(reading, par=None, cutoff=None))
    if kind in ("table", "wide"):
        from truecost.importers import frame

        name = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
        return _of_table(frame.from_file(path), reading, name)
    from truecost.importers import aslib, benchexec, irace, npy, optuna, smac

    readers = {
        "irace": irace.read,
        "smac": smac.read,
        "optuna": optuna.read,
        "aslib": aslib.read,
        "benchexec": benchexec.read,
        "npy": npy.read,
    }
    return readers[kind](path, reading)


def _check_options(kind: str, reading: Reading) -> None:
    """Refuse options that have no meaning for a format, instead of passing over them."""
    # With test runs, an option may be meant for one of the two files.
    given = {
        "columns": bool(reading.columns) and reading.test is None,
        "objective": reading.objective is not None and reading.test is None,
        "steps-are": reading.steps_are is not None and reading.test is None,
        "maximise": reading.maximise is not None,
    }
    for name, kinds in MEANT_FOR.items():
        if given[name] and kind not in kinds:
            hint = "name its column: --columns cost=NAME" if kind in TABLES else "leave it out"
            if name != "objective":
                hint = "leave it out"
            raise InputError(f"--{name} means nothing for the format {kind}: {hint}.")


def _is_example(path: Path) -> bool:
    """Whether a name means an example: no file or folder of that name holds runs."""
    from truecost.examples import example_names

    if len(path.parts) != 1 or path.name not in example_names():
        return False
    if not path.exists():
        return True
    try:
        kind = _format_of(path)
    except (InputError, OSError):
        return True
    # Any text may be a table, a script called like an example among it.
    header = packed.start_of(path, START)[1].partition(b"\n")[0] if kind == "table" else b""
    return kind == "table" and sum(header.count(mark) for mark in (b",", b";", b"\t")) < 2


def _missing(path: Path) -> str:
    """What to say of a path that is not there."""
    from truecost.examples import example_names

    if len(path.parts) == 1 and not path.suffix:
        names = example_names()
        return (
            f"There is no such file, and no example of that name.{did_you_mean(path.name, names)} "
            f"Examples: {', '.join(names)}."
        )
    return "There is no such file. Check the path."


def _format_of(path: Path) -> str:
    """The format of a file or folder; refuses what is none."""
    from truecost.importers import aslib, benchexec, npy, smac
    from truecost.importers.rdata import MAGIC

    if path.is_dir():
        return _format_of_folder(path)
    if path.name == smac.HISTORY:
        return "smac"
    if path.name == aslib.RUNS:
        return "aslib"
    start, content = packed.start_of(path, START)
    if not start.strip():
        raise InputError("The file is empty.")
    if start and not content:
        raise InputError("It is packed and cannot be unpacked. Copy it again.")
    if start.startswith(SQLITE):
        from truecost.journal.store import is_journal

        # A file that is being written may be either.
        return "optuna" if b"CREATE TABLE studies" in start or not is_journal(path) else "journal"
    if content[:5] in MAGIC:
        return "irace"
    if start.startswith(npy.START):
        return "npy"
    if start.startswith(b"PAR1"):
        return "table"
    if benchexec.DOCTYPE.search(content[: benchexec.START]):
        return "benchexec"
    if b"\0" in start or start.startswith(b"%PDF"):
        for mark, what in UNREAD.items():
            if content.startswith(mark):
                raise InputError(f"It is {what}.")
    if path.name.endswith((".csv", ".csv.gz")) and metadata_path(path).is_file():
        return "truecost"
    return _format_of_text(content)


def _format_of_text(content: bytes) -> str:
    from truecost.importers.frame import UTF_16

    if b"\0" in content and not content.startswith(UTF_16):
        raise InputError("It is no log, table or R workspace that can be read.")
    text = content.decode(errors="replace").lstrip("\ufeff \t\r\n")
    line = text.partition("\n")[0]
    if line.startswith("{") and '"op_code"' in line and '"worker_id"' in line:
        return "optuna"
    if text.startswith(("{", "[")):
        raise InputError(
            "It is JSON. Point to runhistory.json of SMAC3 by that name, or write a csv table."
        )
    if text.lower().startswith(("@relation", "%")):
        raise InputError("It is an ARFF file. The runs of ASlib are in algorithm_runs.arff.")
    if line.startswith("<"):
        raise InputError("It is XML, and no result of BenchExec. Write a csv table.")
    return "table"


def _format_of_folder(path: Path) -> str:
    from truecost.importers import aslib, benchexec, npy, smac

    if (path / aslib.RUNS).is_file():
        return "aslib"
    if (path / npy.ARRAY).is_file():
        return "npy"
    if smac.folder_of(path) is not None:
        return "smac"
    if benchexec.results_in(path):
        return "benchexec"
    raise InputError(
        "The folder has no runhistory.json (SMAC3), algorithm_runs.arff (ASlib), PM.npy or results "
        "of BenchExec. Name the file with the runs."
    )


def _of_table(table: Any, reading: Reading, name: str) -> Log:
    """The runs in a long or wide table."""
    from truecost.importers import table as long
    from truecost.importers import wide

    if isinstance(reading.families, str) and reading.families in table:
        columns = {**reading.columns, "family": reading.families}
        reading = replace(reading, columns=columns)
    roles = None if reading.format == "wide" else long.roles_of(table, reading)
    if roles is not None:
        return long.read(table, roles, reading, name)
    if reading.format == "wide" or (reading.format is None and wide.is_wide(table, reading)):
        return wide.read(table, reading)
    raise long.missing_roles(table, reading)
