"""Which reader a source is for, by its type, name and content."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from truecost.errors import InputError, check_choice, did_you_mean
from truecost.examples import example_log, example_names
from truecost.importers import (
    array,
    aslib,
    benchexec,
    columns,
    irace,
    optuna,
    packed,
    smac,
    table,
)  # fmt: skip
from truecost.importers.rdata import MAGIC
from truecost.importers.recorded import finite
from truecost.importers.settle import rescaled, settled
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.files import metadata_path, read_log
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import Caveat

START = 1 << 16
# Formats by the name of a file, or of a file in a folder.
NAMES = {smac.HISTORY: "smac", aslib.RUNS: "aslib", array.ARRAY: "npy"}
# Formats by the first bytes, or why files are not read. Pickles are never opened: they can run
# anything.
STARTS = {
    **dict.fromkeys(MAGIC, "irace"),
    array.START: "npy",
    columns.PARQUET: "table",
    b"\x80": "It is a pickle, which is never opened. Write a csv table, or a storage of Optuna.",
    b"PK\3\4": "It is a spreadsheet or a zip archive. Save it as csv.",
    b"\x89HDF": "It is an HDF5 file. Write a csv table.",
    b"%PDF": "It is a PDF. Give the runs themselves, as a table.",
}
ARFF = "It is an ARFF file. The runs of ASlib are in algorithm_runs.arff."
JSON = "It is JSON. Point to runhistory.json of SMAC3 by that name, or write a csv table."
# The same for text, in small letters.
TEXTS = {
    '{"op_code"': "optuna",
    "{": JSON,
    "[": JSON,
    "%": ARFF,
    "@relation": ARFF,
    "<": "It is XML, and no result of BenchExec. Write a csv table.",
}


def import_runs(source: Any, reading: Reading | None = None) -> Log:
    """Read recorded runs; see `truecost.import_runs`."""
    reading = Reading() if reading is None else reading
    if reading.format is not None:
        check_choice("format", reading.format, FORMATS)
    if not isinstance(source, str | os.PathLike):
        return _with_test(settled(_read(source, reading), reading, ""), reading)
    path = Path(source)
    try:
        log = settled(_read(path, reading), reading, str(source))
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
    runs = log.runs
    low, high = finite(runs.low), finite(runs.high)
    if log.maximised:  # those of scores
        low, high = reading.low, reading.high
    if runs.par is not None:
        low = high = None
    same = replace(
        reading, test=None, format=None, default=None, maximise=log.maximised or reading.maximise,
        cutoff=runs.cutoff, par=runs.par, low=low, high=high,
    )  # fmt: skip
    test = import_runs(reading.test, same)
    tested = test.runs if test.test is None else test.test
    ends = (runs.low, runs.high)
    if test.maximised != log.maximised or (test.maximised and (tested.low, tested.high) != ends):
        raise InputError(
            "Scores became costs in training and in the test, but not in the same way. Give the "
            "least and the best score there can be: --low and --high."
        )
    known = {"columns", "maximised", *(caveat.sentence for caveat in log.caveats)}
    notes = (
        Caveat(code, f"{sentence.removesuffix('.')} (test runs).")
        for code, sentence in test.caveats
        if not {code, sentence} & known
    )
    return log.replace(test=tested, caveats=(*log.caveats, *notes))


def _read(source: Any, reading: Reading) -> Log:
    kind = _format_of_path(source, reading) if isinstance(source, Path) else _format_of(source)
    for name, kinds in MEANT_FOR.items():
        # With test runs, an option may be meant for one of the two files.
        if reading.test is None and kind not in kinds and getattr(reading, name) not in (None, {}):
            column = name == "objective" and kind in TABLES
            raise _meaningless(name, kind, "name its column: --columns cost=NAME" if column else "")
    log = READERS[kind](source, reading)
    # Other formats say it themselves.
    if kind not in (*TABLES, "array", "truecost") and reading.maximise not in (None, log.maximised):
        raise _meaningless("maximise", kind)
    return log


def _meaningless(name: str, kind: str, hint: str = "") -> InputError:
    flag = name.replace("_", "-")
    return InputError(f"--{flag} means nothing for the format {kind}: {hint or 'leave it out'}.")


def _read_truecost(source: Any, reading: Reading) -> Log:
    if isinstance(source, CostMatrix):
        source = Log(runs=source)
    elif isinstance(source, Path):
        source = example_log(source.name) if _is_example(source) else read_log(source)
    return rescaled(source, reading)


def _read_journal(path: Path, reading: Reading) -> Log:
    from truecost.journal.journal import Journal

    with Journal.read(path) as journal:
        # It has the times themselves, for any penalty and any lower cutoff.
        log = journal.log(par=reading.par, cutoff=reading.cutoff)
    return rescaled(log, replace(reading, par=None, cutoff=None))


def _read_table(source: Any, reading: Reading) -> Log:
    if not isinstance(source, Path):
        return table.read(columns.from_frame(source), reading, "runs")
    name = source.name.removesuffix(".gz").rpartition(".")[0] or source.name
    return table.read(columns.from_file(source), reading, name)


FILES: dict[str, Callable[[Path, Reading], Log]] = {
    "table": _read_table,
    "wide": _read_table,
    "irace": irace.read,
    "optuna": optuna.read,
    "journal": _read_journal,
}
FOLDERS: dict[str, Callable[[Path, Reading], Log]] = {
    "smac": smac.read,
    "aslib": aslib.read,
    "benchexec": benchexec.read,
    "npy": array.read,
}
FORMATS = (*FILES, *FOLDERS)
READERS: dict[str, Callable[[Any, Reading], Log]] = {
    **FILES, **FOLDERS, "array": array.read_costs, "truecost": _read_truecost
}  # fmt: skip
TABLES = ("table", "wide")
# Options that have a meaning for some formats only: with others they are refused.
MEANT_FOR = {
    "columns": TABLES,
    "objective": ("optuna", *FOLDERS),
    "steps_are": ("optuna",),
}


def _format_of(source: Any) -> str:
    """The format of an object of Python."""
    if isinstance(source, Log | CostMatrix):
        return "truecost"
    if optuna.is_study(source):
        return "optuna"
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        return "table"
    if isinstance(source, np.ndarray | list | tuple):
        return "array"
    raise InputError(
        f"Runs cannot be read from {type(source).__name__}. Give a path, a DataFrame of pandas, an "
        "array, a CostMatrix or a Log."
    )


def _format_of_path(path: Path, reading: Reading) -> str:
    """The format of a file or folder: given, or by its content."""
    if _is_example(path):
        return "truecost"
    if not path.exists():
        raise InputError(_missing(path))
    # A pipe would be read once and then be empty.
    if not path.is_dir() and not path.is_file():
        raise InputError("It is neither a file nor a folder.")
    if path.is_dir() and reading.format in FILES:
        raise InputError("It is a folder. Name the file in it.")
    kind = reading.format or (_of_folder(path) if path.is_dir() else _of_file(path))
    if kind not in READERS:
        raise InputError(kind)
    return kind


def _is_example(path: Path) -> bool:
    """Whether a name means an example: no file or folder of that name holds runs."""
    if len(path.parts) != 1 or path.name not in example_names():
        return False
    if not path.exists():
        return True
    try:
        kind = _of_folder(path) if path.is_dir() else _of_file(path)
    except (InputError, OSError):
        return True
    # Any text may be a table, a script called like an example among it.
    header = packed.start_of(path, START)[1].partition(b"\n")[0] if kind == "table" else b",,"
    return kind not in READERS or sum(header.count(mark) for mark in (b",", b";", b"\t")) < 2


def _missing(path: Path) -> str:
    """What to say of a path where nothing is."""
    if len(path.parts) > 1 or path.suffix:
        return "There is no such file. Check the path."
    names = example_names()
    return (
        f"There is no such file, and no example of that name.{did_you_mean(path.name, names)} "
        f"Examples: {', '.join(names)}."
    )


def _of_folder(path: Path) -> str:
    for name, kind in NAMES.items():
        if (path / name).is_file():
            return kind
    if smac.folder_of(path) is not None:
        return "smac"
    if benchexec.results_in(path):
        return "benchexec"
    return f"The folder has no {', '.join(NAMES)} or results of BenchExec. Name the file with runs."


def _of_file(path: Path) -> str:
    """The format by name and first bytes, or why it is not read."""
    if path.name in NAMES:
        return NAMES[path.name]
    start, content = packed.start_of(path, START)
    if not start.strip():
        return "The file is empty."
    if not content:
        return "It is packed and cannot be unpacked. Copy it again."
    if start.startswith(optuna.SQLITE):
        from truecost.journal.store import is_journal

        # A file that is being written may be either.
        return "optuna" if b"CREATE TABLE studies" in start or not is_journal(path) else "journal"
    for beginning, kind in STARTS.items():
        if content.startswith(beginning):
            return kind
    if benchexec.DOCTYPE.search(content[: benchexec.START]):
        return "benchexec"
    if path.name.endswith((".csv", ".csv.gz")) and metadata_path(path).is_file():
        return "truecost"
    if b"\0" in content and not content.startswith(columns.UTF_16):
        return "It is no log, table or R workspace that can be read."
    text = content.decode(errors="replace").lstrip("\ufeff \t\r\n").lower()
    return next((TEXTS[mark] for mark in TEXTS if text.startswith(mark)), "table")
