"""The door: looks at what a path holds, and has the right importer read it."""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from truecost.errors import InputError
from truecost.importers.record import Options
from truecost.journal.file import HEADER
from truecost.matrix import provenance
from truecost.matrix.cost_matrix import PACKED, CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import NO_STATUS, Status, Trajectory
from truecost.stats.utility import Utility

KINDS: Final = ("smac", "irace", "aslib", "acl", "table", "matrix", "journal")
# How far below a folder SMAC's own is looked for: it writes name/seed/.
DEEPEST: Final = 3
START: Final = 1 << 16
# Files that the archives of Excel and LibreOffice begin with.
WORKBOOK: Final = (b"[Content_Types].xml", b"xl/", b"_rels/", b"mimetypeapplication/vnd.oasis")
Reader = Callable[[Path, Options], Import]


def import_runs(
    source: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    cutoff: float | None = None,
    par: float | None = None,
    objective: str | None = None,
    fidelity: float | None = None,
    columns: Mapping[str, str] | None = None,
    default: str | None = None,
    utility: str | Utility | None = None,
    kind: str | None = None,
) -> Import:
    """Runs that another tool recorded, as a matrix with what else its log says. The content tells
    the kind.

    Parameters
    ----------
    source
        A folder of SMAC3 2.x, of ASlib, of CAVE or of logs of AClib wrappers; a log of irace
        (.Rdata); a PM.npy; a csv, tsv or parquet table; a matrix or a journal of truecost; or a
        data frame of polars or pandas.
    low, high
        The least and the largest cost a run can have; known where there is a cutoff.
    cutoff, par
        Costs are running times, censored at `cutoff` seconds; a run that was not solved by then
        costs `par` times that.
    objective
        Which cost, where a log has several.
    fidelity
        Which budget of a multi-fidelity log; the largest if not given.
    columns
        For tables: ours to theirs, `{"cost": "PAR10"}`.
    default
        The name of the default configuration, where the log does not say.
    utility
        Costs are running times, and count as 1 − this utility, 1 where a run was not solved: a
        `truecost.Utility`, or `"half-life=60"`, `"step=10"`, `"linear=300"`, `"log-laplace=60,1"`.
    kind
        `"smac"`, `"irace"`, `"aslib"`, `"acl"`, `"table"`, `"matrix"` or `"journal"`, where the
        content should not tell.
    """
    options = Options(
        low=low,
        high=high,
        cutoff=cutoff,
        par=par,
        objective=objective,
        fidelity=fidelity,
        columns=dict(columns or {}),
        default=default,
        utility=Utility.parse(utility) if isinstance(utility, str) else utility,
    )
    if kind is not None and kind not in KINDS:
        raise InputError(f"Expected one of the kinds {', '.join(KINDS)}, got {kind!r}.")
    if not isinstance(source, str | os.PathLike):
        from truecost.importers.table import from_frame

        return _settled(from_frame(source, options), options)
    path = Path(source)
    try:
        where, read = _reader(path, kind)
        return _settled(read(where, options), options)
    except InputError as error:
        # A matrix names its file itself.
        named = str(error).startswith(f"{path}: ")
        raise InputError(str(error) if named else f"{path}: {error}") from error
    except MemoryError:
        raise InputError(f"{path}: expected runs that fit into memory, and they do not.") from None


def _settled(found: Import, options: Options) -> Import:
    """With the default and the utility that the caller names."""
    test = None if found.test is None else _worth(found.test, options)
    found = replace(found, matrix=_worth(found.matrix, options), test=test)
    if options.default is None:
        return found
    if options.default not in found.matrix.configurations:
        raise InputError(
            f"expected the name of a configuration as `default`, got {options.default!r:.60}."
        )
    return replace(found, trajectory=replace(found.trajectory, default=options.default))


def _worth(times: CostMatrix, options: Options) -> CostMatrix:
    """Costs that are running times, or the penalty of a run that was not solved, as 1 − the utility
    asked for.
    """
    utility, before = (
        options.utility,
        None if times.utility is None else Utility.parse(times.utility),
    )
    if utility is None or utility == before:
        return times
    if before is not None:
        raise InputError(
            f"expected no other `utility` than {before}, which these costs were made with, got {utility}: give it with the "
            "runs themselves, which have the times."
        )
    known = times.statuses
    late = times.costs >= times.high
    if known is not None:
        late = np.where(known == NO_STATUS, late, ~np.isin(known, (Status.SOLVED, Status.CENSORED)))
    costs = utility.cost(np.where(late & ~np.isnan(times.costs), np.inf, times.costs))
    names = times.configurations, times.instances
    return CostMatrix(
        costs, *names, 0.0, 1.0, statuses=known, seeds=times.seeds, utility=str(utility)
    )


def holds_runs(path: Path) -> bool:
    """Whether a file or folder looks like runs, as far as its first lines tell."""
    try:
        _, found = _in_folder(path) if path.is_dir() else _in_file(path)
    except (InputError, OSError):
        return False
    if found != "table" or path.is_dir() or _starts(path, b"PAR1"):
        return found is not None
    with path.open("rb") as file:
        # Some text is a table if its first line has room for configuration, instance and cost.
        return len(re.split(rb"[,;\t]", file.readline(START))) > 2


def _reader(path: Path, kind: str | None) -> tuple[Path, Reader]:
    if path.is_dir():
        where, found = _in_folder(path)
    elif path.is_file() or not path.exists():
        where, found = _in_file(path)
    else:
        raise InputError("expected a file or a folder, got something else.")
    if kind is not None and kind != found:
        if kind in ("smac", "aslib") or path.is_dir():
            raise InputError(f"expected what {kind} leaves, got {found or 'something else'}.")
        where, found = path, kind
    if found is None:
        raise InputError(
            "expected a folder of SMAC3 (runhistory.json), ASlib (algorithm_runs.arff), CAVE (runhistory.csv) or wrapper "
            "logs of AClib, and it holds none of them."
        )
    if found in ("matrix", "journal"):
        return where, _matrix if found == "matrix" else _journal
    # Loaded here, since a matrix needs none of them.
    module = import_module(f"truecost.importers.{found}")
    if found != "acl":
        return where, module.load
    array = where.name == "PM.npy" or (not path.is_dir() and _starts(path, b"\x93NUMPY"))
    return where, module.load_array if array else module.load_logs


def _in_folder(path: Path) -> tuple[Path, str | None]:
    from truecost.importers import acl, aslib, smac, table

    if (path / smac.HISTORY).is_file():
        return path, "smac"
    if (path / aslib.RUNS).is_file():
        return path, "aslib"
    if (path / table.CAVE).is_file():
        return path, "table"
    if (path / "PM.npy").is_file():
        return path / "PM.npy", "acl"
    below = [
        found
        for depth in range(1, DEEPEST + 1)
        for found in sorted(path.glob("*/" * depth + smac.HISTORY))
    ]
    if len(below) > 1:
        raise InputError(
            f"expected one run of SMAC3, got {len(below)}: name one, {below[0].parent} for instance."
        )
    if below:
        return below[0].parent, "smac"
    files = (
        file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith(".")
    )
    return path, "acl" if any(acl.has_answers(file) for file in files) else None


def _in_file(path: Path) -> tuple[Path, str | None]:
    with path.open("rb") as file:
        start = file.read(START)
    if start.startswith(HEADER):
        return path, "journal"
    if start.startswith(b"PK\x03\x04"):
        if any(mark in start for mark in WORKBOOK):
            raise InputError(
                "expected a log, a table or a workspace of R, got a spreadsheet: save it as csv."
            )
        return path, "matrix"
    from truecost.importers import acl, aslib, rdata, smac

    with path.open("rb") as file:
        if rdata.is_workspace(file):
            return path, "irace"
    if not start.strip():
        raise InputError("expected runs, got an empty file.")
    if start.startswith(PACKED):
        raise InputError(
            "expected a log, a table or a workspace of R, got a packed file: unpack it first."
        )
    if start.startswith(b"\x93NUMPY"):
        return path, "acl"
    if start.startswith(b"PAR1"):
        return path, "table"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("expected a table in UTF-8, got one in UTF-16: save it as UTF-8.")
    if b"\0" in start:
        raise InputError("expected a log, a table or a workspace of R, and it is none of them.")
    text = start.decode(errors="replace").lstrip("\ufeff \t\r\n")
    if text.startswith(("{", "[{")):
        if path.name != smac.HISTORY:
            raise InputError(
                f"expected {smac.HISTORY} of SMAC3, got JSON of another name: point to the folder that holds it."
            )
        return path.parent, "smac"
    if path.name == aslib.RUNS or text.lower().startswith(("@relation", "%")):
        if path.name != aslib.RUNS:
            raise InputError(f"expected {aslib.RUNS} of ASlib, got an ARFF file of another name.")
        return path.parent, "aslib"
    return path, "acl" if acl.has_answers(path) else "table"


def _starts(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark


def _matrix(path: Path, options: Options) -> Import:
    """A matrix of truecost, as it is."""
    for name in ("cutoff", "par", "objective", "fidelity"):
        if getattr(options, name) is not None:
            raise InputError(
                f"expected no `{name}` with a matrix, whose costs are settled; give it with the log itself."
            )
    found = CostMatrix.load(path, low=options.low, high=options.high)
    kept = provenance.read(path)
    return Import(kind="matrix", matrix=found, trajectory=kept or Trajectory(tool="truecost"))


def _journal(path: Path, options: Options) -> Import:
    """A journal: of `gather`, with configurations fixed before any cost was seen, or of
    `configure`, a search.
    """
    if options.low is not None or options.high is not None:
        raise InputError(
            "expected no `low` and `high` with a journal: they follow from its metric."
        )
    # Here, since it loads what runs solvers, and no other log needs that.
    from truecost.journal import searchlog, validationlog
    from truecost.journal.journal import Journal

    with Journal.read(path) as journal:
        table = journal.table()
        utility = None if options.utility is None else str(options.utility)
        metric = journal.metric(par=options.par, cutoff=options.cutoff, utility=utility)
        if journal.kind == "validate":
            return validationlog.import_of(journal, metric)
        matrix = journal.matrix(metric, table=table)
        parameters = journal.configurations()
        planned = math.prod(journal.planned() or (0,))
        if journal.kind == "configure":
            hidden = [
                place for place, name in enumerate(table.instances) if name in journal.held_out()
            ]
            judged = np.isin(table.instance, hidden) & ~table.ahead
            ahead = int(table.ahead.sum())
            return Import(
                kind="journal",
                matrix=matrix,
                trajectory=searchlog.trajectory_of(journal),
                parameters=parameters,
                origins=searchlog.origins_of(journal),
                test=journal.matrix(metric, held_out=True, table=table) if judged.any() else None,
                left_out={"of a batch that is not finished": ahead} if ahead else {},
            )
    ahead = int(table.ahead.sum())
    origin = Trajectory(
        tool="truecost gather",
        proposed="beforehand",
        raced=False,
        default=next(iter(parameters)),
        unfinished=int(matrix.counts().sum()) < planned,
    )
    return Import(
        kind="journal",
        matrix=matrix,
        trajectory=origin,
        parameters=parameters,
        left_out={"finished before a slower run that was begun earlier": ahead} if ahead else {},
    )
