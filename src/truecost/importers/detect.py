"""Looks at what a path holds, and has the right importer read it."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from truecost.errors import InputError
from truecost.importers.record import Options
from truecost.importers.registry import Candidate, Importer, importer_of, importers
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.families import families_of
from truecost.matrix.files import PACKED
from truecost.matrix.imported import DIRECTIONLESS, Import
from truecost.runs import NO_STATUS, Status
from truecost.stats.utility import Utility

# Formats that are not read, by what stands at the beginning, and what to do instead. Pickles come
# with the name of the class they hold, and are never opened: they can run anything.
UNREAD = {
    (b"optuna.study", b"optuna.trial"): (
        "a pickle of Optuna: export the study into a storage, "
        "optuna.copy_study(..., to_storage='sqlite:///study.db')"
    ),
    (b"sklearn.model_selection",): (
        "a pickle of scikit-learn: write its cv_results_ with pandas.DataFrame(...).to_csv"
    ),
    (b"smac.runhistory",): "a pickle of SMAC3: point to the folder with runhistory.json",
    (b"pandas",): "a pickle of pandas: write the data frame with to_csv or to_parquet",
    (b"\x80\x04\x95", b"\x80\x05\x95", b"\x80\x03c"): (
        "a pickle, which is never opened: write a csv table"
    ),
    (b"\x89HDF\r\n",): "an HDF5 file: write a csv or parquet table",
    (b"%PDF",): "a PDF: the runs themselves are needed, as a table",
}


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
    families: str | Path | Mapping[str, str] | None = None,
    maximise: bool | None = None,
    kind: str | None = None,
) -> Import:
    """Runs that another tool recorded, as a matrix with what else its log says. The content tells
    the kind.

    Parameters
    ----------
    source
        A file or folder in one of the formats of docs/import.md; or a data frame of polars or
        pandas.
    low, high
        The least and the largest cost a run can have; known where there is a cutoff.
    cutoff, par
        Costs are running times, censored at `cutoff` seconds; a run that was not solved by then
        costs `par` times that.
    objective
        Which cost, where a log has several: its name or its place from 0; `"time"` is the elapsed
        time of a SMAC3 trial.
    fidelity
        Which budget of a multi-fidelity log; the largest if not given.
    columns
        For tables: ours to theirs, `{"cost": "PAR10"}`.
    default
        The name of the default configuration, where the log does not say.
    utility
        Costs are running times, and count as 1 − this utility, 1 where a run was not solved: a
        `truecost.Utility`, or `"half-life=60"`, `"step=10"`, `"linear=300"`, `"log-laplace=60,1"`.
    families
        The family of each instance: a mapping from names to families, or a csv file with one;
        `"folder"` for the folders they lie in; or a regular expression over their names.
    maximise
        Whether the cost column of a table is a score, of which more is better: costs are then
        minus the score. Has to be said where the column is called so (`accuracy`, `score`, …).
    kind
        The name of an importer, `"smac"` or `"table"` for instance, where the content should not
        tell.

    Examples
    --------
    >>> tc.import_runs("kissat").trajectory.default
    '2cb96f70a0'
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
        families=families,
        maximise=maximise,
    )
    return _imported(source, options, kind)


def _imported(source: Any, options: Options, kind: str | None) -> Import:
    """The runs; what is wrong with a file names it."""
    try:
        candidate = Candidate.of(source)
        importer = _importer(candidate, kind)
        return _settled(importer.read(candidate.source, options), options)
    except InputError as error:
        if not isinstance(source, str | os.PathLike):
            raise
        # A matrix names its file itself.
        named = str(error).startswith(f"{Path(source)}: ")
        raise InputError(str(error) if named else f"{Path(source)}: {error}") from error
    except MemoryError:
        raise InputError(
            f"{source!s:.200}: expected runs that fit into memory, and they do not."
        ) from None


def holds_runs(path: Path) -> bool:
    """Whether a file or folder looks like runs, as far as its first lines tell."""
    try:
        candidate = Candidate.of(path)
        importer = _importer(candidate, None)
    except (InputError, OSError):
        return False
    # Any text is a table to the last importer, a README beside an example among it.
    if importer.name != "table" or path.is_dir() or candidate.is_frame:
        return True
    # Some text is a table if its first line has room for configuration, instance and cost.
    return len(re.split(rb"[,;\t]", candidate.start.partition(b"\n")[0])) > 2


def _importer(candidate: Candidate, kind: str | None) -> Importer:
    """The importer that was named, else the first that recognises what is there."""
    if kind is not None:
        importer = importer_of(kind)
        path = candidate.path
        # A file may be what it is called; a folder without the tool's own files cannot be.
        if path is not None and path.is_dir() and not importer.recognise(candidate):
            raise InputError(f"expected what {kind} leaves, got something else.")
        return importer
    for importer in importers():
        if importer.recognise(candidate):
            return importer
    raise InputError(_unknown(candidate))


def _unknown(candidate: Candidate) -> str:
    """What to say of something that no importer recognises."""
    start, path = candidate.start, candidate.path
    expected = "expected a log, a table or an R workspace"
    if path is None:
        return f"expected a path or a data frame, got {type(candidate.source).__name__}."
    if path.is_dir():
        titles = sorted(importer.title for importer in importers())
        return f"expected a folder of one of these, and it holds none: {', '.join(titles)}."
    if not start.strip():
        return "expected runs, got an empty file."
    if start.startswith(PACKED):
        return f"{expected}, got a packed file: unpack it first."
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "expected a table in UTF-8, got one in UTF-16: save it as UTF-8."
    for marks, what in UNREAD.items() if b"\0" in start or start.startswith(b"%PDF") else ():
        if any(mark in candidate.content for mark in marks):
            return f"{expected}, got {what}."
    if candidate.text.startswith(("{", "[{")):
        return (
            "expected runhistory.json of SMAC3, got JSON of another name: point to the folder that "
            "holds it, or write other runs as a csv table."
        )
    if candidate.text.lower().startswith(("@relation", "%")):
        return "expected algorithm_runs.arff of ASlib, got an ARFF file of another name."
    return f"{expected}, and it is none of them."


def _settled(log: Import, options: Options) -> Import:
    """The import with the default and the utility that the caller names."""
    if options.default is not None and options.default not in log.matrix.configurations:
        raise InputError(
            f"expected the name of a configuration as `default`, got {options.default!r:.60}."
        )
    if options.maximise is not None and log.kind not in DIRECTIONLESS:
        raise InputError(
            f"expected no `maximise` for runs of the kind {log.kind}, which say themselves what is "
            "minimised."
        )
    return replace(
        log,
        matrix=_as_asked(log.matrix, options),
        test=None if log.test is None else _as_asked(log.test, options),
        trajectory=replace(log.trajectory, default=options.default or log.trajectory.default),
        left_out={reason: count for reason, count in log.left_out.items() if count},
    )


def _as_asked(matrix: CostMatrix, options: Options) -> CostMatrix:
    """The matrix with the utility and the families that the caller names."""
    matrix = _worth(matrix, options)
    if options.families is None:
        return matrix
    return matrix.replace(families=families_of(matrix.instances, options.families))


def _worth(times: CostMatrix, options: Options) -> CostMatrix:
    """Costs that are running times, or the penalty of a run that was not solved, as 1 − the utility
    asked for.
    """
    utility = options.utility
    before = None if times.utility is None else Utility.parse(times.utility)
    if utility is None or utility == before:
        return times
    if before is not None:
        raise InputError(
            f"expected no other `utility` than {before}, which these costs were made with, got "
            f"{utility}: give it with the runs themselves, which have the times."
        )
    known = times.statuses
    # Without statuses, the highest cost is all that tells who was not solved.
    late = times.costs >= times.high
    if known is not None:
        late = np.where(known == NO_STATUS, late, ~np.isin(known, (Status.SOLVED, Status.CENSORED)))
    costs = utility.cost(np.where(late & ~np.isnan(times.costs), np.inf, times.costs))
    return times.replace(costs=costs, low=0.0, high=1.0, cutoff=None, utility=str(utility))
