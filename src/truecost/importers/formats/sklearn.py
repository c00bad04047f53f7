"""scikit-learn: the `cv_results_` of a search, as a dictionary, a data frame or a csv file; or the
search itself.

A row is a configuration, called by its place; folds stand for instances. They share their training
data, so they are no random sample; their names say what they are. Scores are to be maximised, so
costs are −score.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.importers.frames import as_frame
from truecost.importers.record import Options, charge, literal, matrix_of
from truecost.importers.registry import Candidate, Importer
from truecost.matrix import longtable
from truecost.matrix.imported import Import, Scalar
from truecost.runs import NO_STATUS, Status, Trajectory

FOLD = re.compile(r"split(\d+)_test_(.+)")
# Searches whose configurations are fixed before any score is seen; and those that race them.
FIXED = ("GridSearchCV", "RandomizedSearchCV")
KEPT = ("iter", "n_resources")
HALVING = ("HalvingGridSearchCV", "HalvingRandomSearchCV")


def _recognise(candidate: Candidate) -> bool:
    return any(FOLD.fullmatch(name) for name in _columns(candidate))


def _columns(candidate: Candidate) -> list[str]:
    if candidate.path is not None:
        return candidate.columns
    results = getattr(candidate.source, "cv_results_", candidate.source)
    return list(map(str, results)) if isinstance(results, Mapping) else candidate.columns


def _read(source: Any, options: Options) -> Import:
    search = None if isinstance(source, Path) else source
    results = getattr(source, "cv_results_", source)
    if isinstance(results, Mapping):
        columns = {str(name): list(values) for name, values in results.items()}
        table = pl.DataFrame(
            {
                name: values
                for name, values in columns.items()
                if FOLD.fullmatch(name) or name in KEPT
            },
            strict=False,
        )
    else:
        table = as_frame(results)
        columns = {name: table[name].to_list() for name in table.columns}
    scorer, notes = _scorer(table.columns, options.objective), list[str]()
    matches = [match for name in table.columns if (match := FOLD.fullmatch(name))]
    # In the order of their numbers: a table may have its columns in that of the alphabet.
    folds = dict(sorted((int(match[1]), match[0]) for match in matches if match[2] == scorer))
    keep = _largest(table, notes)
    if not keep.any():
        raise InputError("expected at least one configuration with scores, got none.")
    scores = np.array(
        [longtable.numbers(table, name).fill_null(np.nan) for name in folds.values()]
    ).T
    row, fold = np.nonzero(np.ones_like(scores)[keep])
    values = -scores[keep].ravel()
    names = [str(place) for place in np.flatnonzero(keep)]
    notes.append(
        f"Costs are −{scorer}, since scores are maximised: `low` and `high` are meant of that."
    )
    notes.append(
        f"The folds stand for instances, {len(folds)} here. They share data, so they are no random "
        "sample."
    )
    statuses = np.where(np.isnan(values), np.int8(Status.CRASHED), np.int8(NO_STATUS))
    charged = charge(values, statuses, options)
    runs = pl.DataFrame(
        {
            "configuration": pl.Series(names, dtype=pl.String).gather(row),
            "instance": pl.Series([f"fold {number}" for number in folds]).gather(fold),
        }
    )
    best = getattr(search, "best_index_", None)
    # A table has no best_index_: scikit-learn takes the first of the highest means.
    if best is None:
        means = np.nanmean(
            np.where(np.isnan(scores).all(axis=1, keepdims=True), -np.inf, scores), axis=1
        )
        best = int(np.argmax(np.where(keep, means, -np.inf)))
    kind = type(search).__name__
    return Import(
        kind="sklearn",
        matrix=matrix_of(runs, charged),
        trajectory=Trajectory(
            tool=f"scikit-learn {kind}" if kind in (*FIXED, *HALVING) else "scikit-learn",
            proposed="beforehand" if kind in FIXED else "unknown",
            raced=False if kind in FIXED else True if not keep.all() else None,
            incumbent=str(best),
            # neg_mean_squared_error and the like are minus a cost.
            maximised=not scorer.startswith("neg_"),
        ),
        parameters={str(place): _parameters(columns, int(place)) for place in np.flatnonzero(keep)},
        left_out={"fits with fewer resources": int((~keep).sum()) * len(folds)},
        notes=(*notes, *charged.notes),
    )


def _scorer(columns: list[str], wanted: str | None) -> str:
    scorers = list(dict.fromkeys(fold[2] for name in columns if (fold := FOLD.fullmatch(name))))
    if not scorers:
        raise InputError("expected columns split0_test_score, split1_test_score, …, got none.")
    if wanted is None and len(scorers) == 1:
        return scorers[0]
    if wanted not in scorers or wanted is None:
        raise InputError(f"expected one of the scorers {', '.join(scorers):.200} as `objective`.")
    return wanted


def _largest(table: pl.DataFrame, notes: list[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows count: in a search by halving, those with the most resources."""
    if "n_resources" not in table.columns:
        return np.ones(table.height, dtype=np.bool_)
    resources = longtable.numbers(table, "n_resources").fill_null(np.nan).to_numpy()
    most = np.fmax.reduce(resources, initial=-np.inf)
    keep: np.ndarray[Any, np.dtype[np.bool_]] = resources == most
    if not keep.all():
        notes.append(f"Fits with the most resources, {most:g}, are kept.")
    return keep


def _parameters(columns: Mapping[str, list[Any]], place: int) -> dict[str, Scalar]:
    """The parameters of a row: its `params`, as a dictionary or as it is printed."""
    params = columns["params"][place] if "params" in columns else None
    params = literal(params) if isinstance(params, str) else params
    if not isinstance(params, Mapping):
        cells = {
            name: column[place] for name, column in columns.items() if name.startswith("param_")
        }
        params = {name.removeprefix("param_"): value for name, value in cells.items()}
    plain = (str, int, float, bool, type(None))
    return {
        str(name): value if isinstance(value, plain) else str(value)
        for name, value in params.items()
    }


IMPORTER = Importer(
    name="sklearn", title="scikit-learn (cv_results_)", recognise=_recognise, read=_read
)
