"""Results of experiments as tables, and as parquet files that say how they came about."""

import io
import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.experiments.curves import NAMES
from truecost.experiments.exact import SquaredError
from truecost.experiments.reality import Reality
from truecost.experiments.resample import EstimatorErrors, Sweep
from truecost.matrix.files import whole_file


def sweep_table(sweep: Sweep, beside: Reality | None = None) -> pl.DataFrame:
    """A row for every swept value: the four curves with standard errors and quantiles, and the bounds beside them."""
    columns: dict[str, Any] = {sweep.kind: sweep.values}
    for name in NAMES:
        columns[name] = getattr(sweep, name)
        columns[f"{name}_se"] = sweep.standard_errors[name]
        for level, values in zip(sweep.levels, sweep.quantiles[name], strict=True):
            columns[f"{name}_q{100 * level:g}"] = values
    if beside is not None:
        columns |= {f"bound_{name}": getattr(beside, name) for name in ("bennett", "printed", "bennett_own", "printed_own")}
    return pl.DataFrame(columns)


def exact_table(k: Any, n: Any, errors: dict[str, SquaredError]) -> pl.DataFrame:
    """A row for every estimator and every (K, N): the mean squared error over configurations, in parts."""
    parts = []
    for estimator, error in errors.items():
        columns = {name: getattr(error, name).mean(axis=-1).ravel() for name in ("across", "within", "floor")}
        table = pl.DataFrame({"k": np.ravel(k), "n": np.ravel(n), **columns, "squared": error.mean.ravel()})
        parts.append(table.insert_column(0, pl.Series("estimator", [estimator] * table.height)))
    return pl.concat(parts)


def estimator_table(errors: EstimatorErrors) -> pl.DataFrame:
    """A row for every estimator and N: simulated absolute and squared errors, their spread over splits, standard errors."""
    parts = []
    for row, estimator in enumerate(errors.estimators):
        columns = {
            name: getattr(errors, name)[row]
            for kind in ("absolute", "squared")
            for name in (kind, f"{kind}_spread", f"{kind}_error")
        }
        k = np.full(errors.runs.size, errors.train)
        table = pl.DataFrame({"k": k, "n": errors.runs, **columns})
        parts.append(table.insert_column(0, pl.Series("estimator", [estimator] * table.height)))
    return pl.concat(parts)


def save(table: pl.DataFrame, path: str | os.PathLike[str], **about: Any) -> None:
    """Write a table as parquet; what it is `about` (seed, splits, …) and our version go into the file's metadata."""
    path = Path(path)
    if path.suffix != ".parquet":
        raise InputError(f"{path}: expected a name that ends in .parquet.")
    said = {"truecost": json.dumps({"version": metadata.version("truecost"), **about}, sort_keys=True)}
    content = io.BytesIO()
    table.write_parquet(content, metadata=said)
    with whole_file(path) as file:
        file.write(content.getbuffer())


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `save` was told, and the version that wrote the file."""
    said: dict[str, Any] = json.loads(pl.read_parquet_metadata(Path(path)).get("truecost", "{}"))
    return said
