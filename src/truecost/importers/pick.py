"""Which reader a source is for, by its name and content, and what the caller adds to every log."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from truecost.arrays import floats
from truecost.errors import InputError, check_choice, counted, did_you_mean, prefixed
from truecost.importers import packed
from truecost.importers.recorded import charge, turned
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.files import metadata_path, read_log
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import NO_STATUS, Caveat

FORMATS = (
    "table", "wide", "irace", "smac", "optuna", "aslib", "benchexec", "npy", "journal",
)  # fmt: skip
START = 1 << 16
SQLITE = b"SQLite format 3\0"
# What a journal of truecost has and a storage of Optuna does not.
JOURNAL_TABLES = (b"CREATE TABLE events", b"CREATE TABLE runs")
# Formats that are not read, by what stands at the beginning, and what to do instead. Pickles come
# with the name of the class they hold, and are never opened: they can run anything.
UNREAD = {
    (b"optuna.study", b"optuna.trial"): (
        "a pickle of Optuna. Copy the study: optuna.copy_study(…, to_storage='sqlite:///study.db')"
    ),
    (b"smac.runhistory",): "a pickle of SMAC3. Point to the folder with runhistory.json",
    (b"pandas",): "a pickle of pandas. Write the data frame with to_csv",
    (b"\x80\x04\x95", b"\x80\x05\x95", b"\x80\x03c"): (
        "a pickle, which is never opened. Write a csv table"
    ),
    (b"[Content_Types].xml", b"mimetypeapplication/vnd.oasis"): "a spreadsheet. Save it as csv",
    (b"PK\x03\x04",): "a zip archive. Unpack it, or write a csv table",
    (b"\x89HDF\r\n",): "an HDF5 file. Write a csv table",
    (b"%PDF",): "a PDF. Give the runs themselves, as a table",
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
        return _settled(_of_object(source, reading), reading, "")
    path = Path(source)
    with prefixed(path):
        try:
            log = _of_path(path, reading)
        except MemoryError:
            raise InputError("The runs do not fit into memory.") from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"It cannot be read: {reason:.100}. Check the path.") from error
        return _settled(log, reading, str(source))


def _of_object(source: Any, reading: Reading) -> Log:
    """The runs in an object of Python."""
    from truecost.importers import optuna

    if isinstance(source, Log):
        return _changed(source, reading)
    if isinstance(source, CostMatrix):
        return _changed(Log(runs=source), reading)
    if optuna.is_study(source):
        return optuna.read(source, reading)
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        from truecost.importers import frame

        return _of_table(frame.from_frame(source), reading, "runs")
    if isinstance(source, np.ndarray | list | tuple):
        return _of_array(source, reading)
    raise InputError(
        f"Runs cannot be read from {type(source).__name__}. Give a path, a DataFrame of pandas, an "
        "array, a CostMatrix or a Log."
    )


def _of_array(source: Any, reading: Reading) -> Log:
    """Costs without names: configurations × instances, or with runs as the third axis."""
    try:
        costs = floats(source)
    except (TypeError, ValueError):
        raise InputError("The array holds no numbers, or lists of different lengths.") from None
    if costs.ndim not in (2, 3) or 0 in costs.shape:
        raise InputError(
            f"The array has the shape {costs.shape}. Give configurations × instances, or "
            "configurations × instances × runs."
        )
    names = (
        [f"{what}-{number:0{len(str(size - 1))}d}" for number in range(size)]
        for what, size in zip(("configuration", "instance"), costs.shape, strict=False)
    )
    costs = costs.reshape(*costs.shape[:2], -1)
    values = costs.ravel()
    charged, maximised, caveats = _charged(values, np.full(values.size, NO_STATUS), reading)
    shaped = (part.reshape(costs.shape) for part in (charged.costs, charged.statuses))
    return _rebuilt(*shaped, names, charged, maximised, caveats)


def _of_path(path: Path, reading: Reading) -> Log:
    """The runs in a file or folder."""
    if _is_example(path):
        from truecost.examples import example_log

        return _changed(example_log(path.name), reading)
    if not path.exists():
        raise InputError(_missing(path))
    # A pipe would be read once and then be empty.
    if not path.is_dir() and not path.is_file():
        raise InputError("It is neither a file nor a folder.")
    kind = reading.format or _format_of(path)
    if kind == "own":
        return _changed(read_log(path), reading)
    if kind == "journal":
        from truecost.journal.journal import Journal

        with Journal.read(path) as journal:
            return _changed(journal.log(), reading)
    if kind in ("table", "wide"):
        from truecost.importers import frame

        if path.is_dir():
            raise InputError("It is a folder. Name the table in it.")
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
    if path.is_dir() and kind in ("irace", "optuna"):
        raise InputError("It is a folder. Name the file in it.")
    return readers[kind](path, reading)


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
    # Any text may be a table, a script beside an example among it.
    return kind == "table" and not path.read_bytes()[:START].partition(b"\n")[0].count(b",") > 1


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
    if start.startswith(SQLITE):
        return "journal" if _is_journal(path) else "optuna"
    if content[:5] in MAGIC:
        return "irace"
    if start.startswith(npy.START):
        return "npy"
    if start.startswith(b"PAR1"):
        return "table"
    if benchexec.DOCTYPE.search(content[: benchexec.START]):
        return "benchexec"
    if b"\0" in start or start.startswith(b"%PDF"):
        for marks, what in UNREAD.items():
            if any(mark in content for mark in marks):
                raise InputError(f"It is {what}.")
    if path.name.endswith((".csv", ".csv.gz")) and metadata_path(path).is_file():
        return "own"
    return _format_of_text(path, start, content)


def _format_of_text(path: Path, start: bytes, content: bytes) -> str:
    from truecost.importers.frame import UTF_16

    if not content or (b"\0" in content and not content.startswith(UTF_16)):
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


def _is_journal(path: Path) -> bool:
    """Whether an SQLite file is a journal of truecost, as its first pages say."""
    with path.open("rb") as file:
        pages = file.read(1 << 20)
    return all(table in pages for table in JOURNAL_TABLES)


def _of_table(table: Any, reading: Reading, name: str) -> Log:
    """The runs in a long or wide table."""
    from truecost.importers import table as long
    from truecost.importers import wide

    if isinstance(reading.families, str) and reading.families in table:
        columns = {**reading.columns, "family": reading.families}
        reading = replace(reading, columns=columns)
    if reading.format == "wide":
        return wide.read(table, reading)
    roles = long.roles_of(table, reading)
    as_wide = reading.format is None and wide.is_wide(table, reading)
    if roles is not None and as_wide:
        raise InputError(
            "It may be a table with a row for every run (--format table), or with a column for "
            "every configuration (--format wide)."
        )
    if as_wide:
        return wide.read(table, reading)
    if roles is None:
        raise long.missing_roles(table, reading)
    return long.read(table, roles, reading, name)


def _changed(log: Log, reading: Reading) -> Log:
    """A log whose costs are settled, with what the caller says of them."""
    asked = {
        "objective": reading.objective is not None,
        "columns": bool(reading.columns),
        "steps-are": reading.steps_are is not None,
        "maximise": reading.maximise is not None and log.tool != "table",
    }
    if surplus := [name for name, given in asked.items() if given]:
        raise InputError(
            f"These runs have their costs already: leave out --{surplus[0]}, or give it with the "
            "log that they came from."
        )
    runs, test = log.runs, log.test
    if runs.cutoff is None or runs.par is None:
        values = (reading.low, reading.high, reading.cutoff, reading.par, reading.maximise)
        if all(value is None for value in values):
            return log
        # What is known of the range stays, where nothing else is said.
        known = reading
        if reading.cutoff is None and reading.maximise is None:
            low, high = (None if np.isinf(end) else end for end in (runs.low, runs.high))
            known = replace(
                reading,
                low=low if reading.low is None else reading.low,
                high=high if reading.high is None else reading.high,
            )
        parts = [None if part is None else _recharged(part, known) for part in (runs, test)]
        first = parts[0]
        assert first is not None  # noqa: S101 - a log has runs
        second = None if parts[1] is None else parts[1].runs
        caveats = (*log.caveats, *first.caveats)
        unit = first.cost_unit or log.cost_unit
        return log.replace(
            runs=first.runs,
            test=second,
            caveats=caveats,
            cost_unit=unit,
            maximised=log.maximised or first.maximised,
        )
    par = runs.par if reading.par is None else reading.par
    if reading.cutoff not in (None, runs.cutoff) or (reading.low, reading.high) not in (
        (None, None),
        (0.0, par * runs.cutoff),
    ):
        raise InputError(
            f"These runs have the cutoff {runs.cutoff:g} s. Leave out --cutoff, --low and --high; "
            "--par changes the penalty."
        )
    if par == runs.par:
        return log
    return log.replace(
        runs=_with_penalty(runs, par),
        test=None if test is None else _with_penalty(test, par),
        cost_unit=f"PAR{par:g} s",
    )


def _with_penalty(matrix: CostMatrix, par: float) -> CostMatrix:
    """The same running times with another penalty of failed runs."""
    assert matrix.cutoff is not None  # noqa: S101 - asked for by the caller
    costs = np.where(matrix.failed, par * matrix.cutoff, matrix.costs)
    return matrix.replace(costs=costs, par=par, low=0.0, high=par * matrix.cutoff)


def _recharged(matrix: CostMatrix, reading: Reading) -> Log:
    statuses = matrix.statuses
    if statuses is None:
        statuses = np.full(matrix.costs.shape, NO_STATUS, dtype=np.int8)
    charged, maximised, caveats = _charged(matrix.costs.ravel(), statuses.ravel(), reading)
    shaped = (part.reshape(matrix.costs.shape) for part in (charged.costs, charged.statuses))
    names = (matrix.configurations, matrix.instances)
    log = _rebuilt(*shaped, names, charged, maximised, caveats)
    return log.replace(runs=log.runs.replace(seeds=matrix.seeds, families=matrix.families))


def _charged(values: Any, statuses: Any, reading: Reading) -> tuple[Any, bool, list[Caveat]]:
    caveats: list[Caveat] = []
    if reading.maximise:
        values, reading, caveats = turned(values, reading, "score")
    charged = charge(values, statuses.astype(np.int8), reading)
    return charged, bool(reading.maximise), [*caveats, *charged.caveats]


def _rebuilt(
    costs: Any, statuses: Any, names: Any, charged: Any, maximised: bool, caveats: list[Caveat]
) -> Log:
    configurations, instances = names
    runs = CostMatrix(
        costs,
        configurations,
        instances,
        charged.low,
        charged.high,
        statuses=None if (statuses == NO_STATUS).all() else statuses,
        cutoff=charged.cutoff,
        par=charged.par,
    )
    unit = charged.unit
    return Log(runs=runs, cost_unit=unit, maximised=maximised, caveats=tuple(caveats))


def _settled(log: Log, reading: Reading, path: str) -> Log:
    """The log with the default, the families, the unit and the test runs that the caller names."""
    known = {*log.runs.configurations, *(log.test.configurations if log.test else ())}
    if reading.default is not None and reading.default not in known:
        raise InputError(
            f"No configuration is called {reading.default!r:.60}."
            f"{did_you_mean(reading.default, known)} --default names one with runs."
        )
    log = _without_strangers(log, known)
    changes: dict[str, Any] = {"path": path or log.path, "reading": reading}
    if reading.default is not None:
        changes["default"] = reading.default
    if reading.cost_unit is not None:
        changes["cost_unit"] = reading.cost_unit
    if reading.test is not None:
        changes["test"] = _test_runs(log, reading)
    log = log.replace(**changes)
    # A column of the table is read with it.
    of_column = log.runs.families is not None and isinstance(reading.families, str)
    if reading.families is None or (of_column and not Path(str(reading.families)).is_file()):
        return log
    from truecost.matrix.families import families_of

    with_families = {
        name: part.replace(families=families_of(part.instances, reading.families))
        for name, part in (("runs", log.runs), ("test", log.test))
        if part is not None
    }
    return log.replace(**with_families)


def _without_strangers(log: Log, known: set[str]) -> Log:
    """The log without a default, a winner or steps that have no runs in it."""
    caveats = list(log.caveats)
    for role in ("default", "incumbent"):
        name = getattr(log, role)
        if name is not None and name not in known:
            what = "winner" if role == "incumbent" else role
            sentence = f"The {what} of the log, {name:.60}, has no runs in it."
            caveats.append(Caveat("no runs", sentence))
            log = log.replace(**{role: None})
    steps = tuple(step for step in log.steps if step.configuration in known)
    if lost := len(log.steps) - len(steps):
        sentence = f"Left out: {counted(lost, 'earlier winner')} without runs."
        caveats.append(Caveat("left out", sentence))
    return log.replace(steps=steps, caveats=tuple(caveats))


def _test_runs(log: Log, reading: Reading) -> CostMatrix:
    """Runs on fresh instances, in the same cost as the others."""
    if reading.maximise is None:
        finite = [None if np.isinf(end) else end for end in (log.runs.low, log.runs.high)]
    else:
        finite = [reading.low, reading.high]
    timed = log.runs.par is not None
    same = replace(
        reading,
        test=None,
        format=None,
        default=None,
        families=None,
        cutoff=log.runs.cutoff if timed else None,
        par=log.runs.par,
        low=None if timed else finite[0],
        high=None if timed else finite[1],
    )
    test = import_runs(reading.test, same)
    return (test.test or test.runs).replace(families=None)
