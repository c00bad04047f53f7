"""Matrices as long tables, one run a row: configuration, instance, run, cost and, where known,
seed, status and family. Columns are lists, whether they come from a file or from pandas.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError, did_you_mean
from truecost.matrix.cost_matrix import CostMatrix
from truecost.runs import NO_SEED, NO_STATUS, Status

NEEDED: Final = ("configuration", "instance", "cost")
STATUSES: Final = {"": NO_STATUS, **{status.label: status.value for status in Status}}
LABELS: Final = {number: label for label, number in STATUSES.items()}
# A matrix this large and this empty is a mistake in the columns.
LARGEST_SPARSE: Final = 50_000_000
SPARSE: Final = 100


def columns_of(matrix: CostMatrix) -> dict[str, list[Any]]:
    """The runs of a matrix as columns, missing runs left out; unknown statuses and seeds are ""."""
    where = np.nonzero(~np.isnan(matrix.costs))
    rows, places, runs = (indices.tolist() for indices in where)
    columns: dict[str, list[Any]] = {
        "configuration": [matrix.configurations[row] for row in rows],
        "instance": [matrix.instances[place] for place in places],
        "run": runs,
    }
    if matrix.seeds is not None:
        seeds = matrix.seeds[where].tolist()
        columns["seed"] = ["" if seed == NO_SEED else seed for seed in seeds]
    columns["cost"] = matrix.costs[where].tolist()
    if matrix.statuses is not None:
        columns["status"] = [LABELS[status] for status in matrix.statuses[where].tolist()]
    if matrix.families is not None:
        columns["family"] = [matrix.families[place] for place in places]
    return columns


def matrix_of(
    columns: Mapping[str, Sequence[Any]],
    *,
    configurations: Sequence[str] | None = None,
    instances: Sequence[str] | None = None,
    first_row: int = 1,
    **fields: Any,
) -> CostMatrix:
    """Lay columns out as a matrix.

    Parameters
    ----------
    columns
        Lists of equal length; texts and numbers, "" and NaN where nothing is known.
    configurations, instances
        Their order; that of first appearance if None.
    first_row
        The number that messages give the first row.
    **fields
        What no row says: `low`, `high`, `cutoff`, `par`, `families`.
    """
    if missing := [name for name in NEEDED if name not in columns]:
        raise InputError(
            f"The table has no column {missing[0]!r}.{did_you_mean(missing[0], columns)} Rename a "
            "column, or add it."
        )
    if not len(columns["cost"]):
        raise InputError("The table has no rows. Give at least one run.")
    configurations, rows = _coded(columns["configuration"], configurations, "configuration")
    instances, places = _coded(columns["instance"], instances, "instance")
    if "run" in columns:
        runs = _whole(columns["run"], "run", 0)
    else:
        runs = _occurrences(rows * len(instances) + places)
    if (runs < 0).any():
        raise InputError("A run has a negative number. Number the runs from 0.")
    shape = (len(configurations), len(instances), int(runs.max()) + 1)
    if math.prod(shape) > max(LARGEST_SPARSE, SPARSE * rows.size):
        raise InputError(
            f"{rows.size:,} rows would fill little of {shape[0]} configurations × {shape[1]} "
            f"instances × {shape[2]} runs. The column 'run' counts the runs of a pair from 0."
        )
    where = np.ravel_multi_index((rows, places, runs), shape)
    if np.bincount(where).max() > 1:
        twice = int(np.bincount(where).argmax())
        row, place, run = (int(index) for index in np.unravel_index(twice, shape))
        raise InputError(
            f"Run {run} of {configurations[row]!r} on {instances[place]!r} is there twice. Remove "
            "one of the rows, or number the runs differently in the column 'run'."
        )

    def spread(values: NDArray[Any], missing: float) -> NDArray[Any]:
        cells = np.full(math.prod(shape), missing, dtype=values.dtype)
        cells[where] = values
        return cells.reshape(shape)

    if "seed" in columns:
        fields["seeds"] = spread(_whole(columns["seed"], "seed", NO_SEED), NO_SEED)
    if "status" in columns:
        fields["statuses"] = spread(_statuses(columns["status"]), NO_STATUS)
    if "family" in columns:
        fields["families"] = _families(columns["family"], places, instances)
    costs = spread(_costs(columns["cost"], first_row), np.nan)
    return CostMatrix(costs, configurations, instances, **fields)


def _coded(
    names: Sequence[Any], known: Sequence[str] | None, what: str
) -> tuple[Sequence[str], NDArray[np.int64]]:
    """The different names, and where each row has its own."""
    texts = names if set(map(type, names)) == {str} and "" not in names else _texts(names, what)
    different = list(dict.fromkeys(texts)) if known is None else known
    places = {name: place for place, name in enumerate(different)}
    try:
        return different, np.array([places[name] for name in texts], dtype=np.int64)
    except KeyError as error:
        raise InputError(
            f"The metadata does not know the {what} {error}. Keep the table and its .json file "
            "together."
        ) from None


def _texts(names: Iterable[Any], what: str) -> list[str]:
    texts = ["" if _is_missing(name) else str(name) for name in names]
    if "" in texts:
        raise InputError(f"Row {texts.index('') + 1} has no {what}. Fill it in, or remove the row.")
    return texts


def _is_missing(value: Any) -> bool:
    # Nothing else differs from itself: NaN, NaT; pandas' NA says neither yes nor no.
    return value is None or value == "" or type(value).__name__ == "NAType" or value != value


def _occurrences(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many equal codes come before each one."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    runs = np.empty_like(codes)
    runs[order] = np.arange(codes.size) - np.searchsorted(ordered, ordered)
    return runs


def _costs(values: Sequence[Any], first_row: int) -> NDArray[np.float64]:
    try:
        return np.array([float(value) if value != "" else math.nan for value in values])
    except (TypeError, ValueError):
        pass
    numbers = []
    for row, value in enumerate(values, first_row):
        try:
            numbers.append(math.nan if _is_missing(value) else float(value))
        except (TypeError, ValueError):
            raise InputError(
                f"The cost in row {row} is {value!r:.40}, no number. Correct it, or leave it empty "
                "where there is no run."
            ) from None
    return np.array(numbers)


def _whole(values: Sequence[Any], name: str, missing: int) -> NDArray[np.int64]:
    try:
        # Texts and whole numbers first: a float cannot hold every seed.
        return np.array(
            [int(value) if type(value) is int or value else missing for value in values]
            if set(map(type, values)) <= {int, str}
            else [missing if _is_missing(value) else _exact(value) for value in values],
            dtype=np.int64,
        )
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"The column {name!r} has a value that is no whole number. Correct it."
        ) from None


def _exact(value: Any) -> int:
    if int(value) != float(value) and not isinstance(value, int):
        raise ValueError(value)
    return int(value)


def _statuses(labels: Sequence[Any]) -> NDArray[np.int8]:
    try:
        return np.array([STATUSES[label] for label in labels], dtype=np.int8)
    except (KeyError, TypeError):
        texts = ["" if _is_missing(label) else str(label).strip().lower() for label in labels]
    if unknown := set(texts) - set(STATUSES):
        known = ", ".join(status.label for status in Status)
        raise InputError(f"The status {min(unknown)!r:.40} is unknown. Use one of {known}.")
    return np.array([STATUSES[text] for text in texts], dtype=np.int8)


def _families(
    labels: Sequence[Any], places: NDArray[np.int64], instances: Sequence[str]
) -> list[str]:
    families: dict[int, str] = {}
    for place, label in zip(places.tolist(), labels, strict=True):
        if _is_missing(label):
            raise InputError(f"Instance {instances[place]!r} has no family. Fill in the column.")
        if families.setdefault(place, str(label)) != str(label):
            raise InputError(f"Instance {instances[place]!r} has two families. Keep one.")
    return [families[place] for place in range(len(instances))]
