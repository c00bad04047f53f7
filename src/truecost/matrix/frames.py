"""Matrices as long tables of pandas: configuration, instance, run, cost, status, seed, family."""

from typing import Any

import numpy as np
import pandas as pd

from truecost.errors import InputError, did_you_mean
from truecost.matrix.cost_matrix import CostMatrix
from truecost.runs import NO_SEED, NO_STATUS, Status

COLUMNS = ("configuration", "instance", "run", "seed", "cost", "status", "family")
LABELS = [*(status.label for status in Status), ""]  # the last one for NO_STATUS
CODES = {label: status.value for label, status in zip(LABELS, Status, strict=False)}


def frame_of(matrix: CostMatrix) -> pd.DataFrame:
    """Return the runs as a long table, missing runs left out."""
    where = np.nonzero(~np.isnan(matrix.costs))
    configuration, instance, run = where
    columns: dict[str, Any] = {
        "configuration": np.asarray(matrix.configurations, dtype=object)[configuration],
        "instance": np.asarray(matrix.instances, dtype=object)[instance],
        "run": run,
    }
    if matrix.seeds is not None:
        columns["seed"] = matrix.seeds[where]
    columns["cost"] = matrix.costs[where]
    if matrix.statuses is not None:
        columns["status"] = np.asarray(LABELS, dtype=object)[matrix.statuses[where]]
    if matrix.families is not None:
        columns["family"] = np.asarray(matrix.families, dtype=object)[instance]
    return pd.DataFrame(columns)


def matrix_of(frame: pd.DataFrame, **fields: Any) -> CostMatrix:
    """Build a matrix from a long table; names keep the order in which they first appear."""
    for column in ("configuration", "instance", "cost"):
        if column not in frame:
            raise InputError(
                f"The table has no column {column!r}.{did_you_mean(column, map(str, frame))} "
                "Rename a column."
            )
    rows, configurations = _places(frame["configuration"])
    places, instances = _places(frame["instance"])
    if "run" in frame:
        runs = _whole(frame["run"], "run")
    else:
        runs = frame.groupby([rows, places]).cumcount().to_numpy()
    # Numbers of runs may begin anywhere and have gaps.
    runs = np.unique(runs, return_inverse=True)[1]
    shape = (len(configurations), len(instances), int(runs.max(initial=-1)) + 1)
    where = np.ravel_multi_index((rows, places, runs), shape) if len(frame) else np.empty(0, int)
    if np.unique(where).size < where.size:
        twice = frame.iloc[int(np.flatnonzero(pd.Series(where).duplicated())[0])]
        raise InputError(
            f"Configuration {twice['configuration']!r} has the same run on instance "
            f"{twice['instance']!r} twice. Number the runs of a pair differently in the column "
            "'run'."
        )

    def spread(values: Any, missing: Any, dtype: Any) -> Any:
        cells = np.full(shape, missing, dtype=dtype)
        cells.flat[where] = values
        return cells

    if "status" in frame:
        fields["statuses"] = spread(_statuses(frame["status"]), NO_STATUS, np.int8)
    if "seed" in frame:
        seeds = frame["seed"].fillna(NO_SEED)
        fields["seeds"] = spread(_whole(seeds, "seed"), NO_SEED, np.int64)
    if "family" in frame:
        fields["families"] = _families(frame["family"], places, instances)
    costs = spread(_costs(frame["cost"]), np.nan, np.float64)
    return CostMatrix(costs, configurations, instances, **fields)


def _places(column: "pd.Series[Any]") -> tuple[Any, list[str]]:
    """The place of each row's name, and the names."""
    codes, names = pd.factorize(column, use_na_sentinel=True)
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise InputError(f"Row {row + 1} has no {column.name}. Fill it in or remove the row.")
    texts = [str(name) for name in names]
    return codes, texts


def _costs(column: "pd.Series[Any]") -> Any:
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        numbers = pd.to_numeric(column, errors="coerce")
        row = int(np.flatnonzero(numbers.isna() & column.notna())[0])
        raise InputError(
            f"The cost in row {row + 1} is {column.iloc[row]!r:.40}, which is no number. Correct "
            "it, or leave it empty where there is no run."
        ) from None


def _whole(column: "pd.Series[Any]", name: str) -> Any:
    try:
        numbers = column.to_numpy(dtype=np.float64)
        whole = column.to_numpy(dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"The column {name!r} has values that are no whole numbers.") from None
    # Beyond 2^53 floats are whole anyway, and do not compare.
    if (np.abs(numbers) < 2**53).any() and (numbers != whole)[np.abs(numbers) < 2**53].any():
        raise InputError(f"The column {name!r} has values that are no whole numbers.")
    return whole


def _statuses(column: "pd.Series[Any]") -> Any:
    codes, labels = pd.factorize(column, use_na_sentinel=True)
    known = []
    for label in labels:
        if (text := str(label).strip().lower()) and text not in CODES:
            raise InputError(
                f"The status {label!r:.40} is unknown. Use one of {', '.join(LABELS[:-1])}, or "
                "leave it empty."
            )
        known.append(CODES.get(text, NO_STATUS))
    # The last one is where missing labels, with the code −1, find theirs.
    return np.array([*known, NO_STATUS], dtype=np.int8)[codes]


def _families(column: "pd.Series[Any]", places: Any, instances: list[str]) -> list[str]:
    codes, labels = pd.factorize(column, use_na_sentinel=True)
    if (codes < 0).any():
        instance = instances[places[int(np.flatnonzero(codes < 0)[0])]]
        raise InputError(f"Instance {instance!r} has no family. Fill in the column, or remove it.")
    families = np.empty(len(instances), dtype=np.int64)
    families[places] = codes
    if (families[places] != codes).any():
        row = int(np.flatnonzero(families[places] != codes)[0])
        raise InputError(
            f"Instance {instances[places[row]]!r} has two families. Give it one in all rows."
        )
    return [str(labels[code]) for code in families.tolist()]
