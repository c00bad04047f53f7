"""Results of experiments as tables, and as parquet files with their origin."""

import io
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.matrix.files import whole_file
from truecost.paper.bounds_observed import Reality
from truecost.paper.exact import SquaredError
from truecost.paper.resample import EstimatorErrors, Sweep
from truecost.paper.resample_curves import NAMES


def sweep_table(sweep: Sweep, beside: Reality | None = None) -> pl.DataFrame:
    """A row for every swept value: the four curves with standard errors and quantiles, and the
    bounds beside them.
    """
    columns: dict[str, Any] = {sweep.kind: sweep.values}
    for name in NAMES:
        columns[name] = getattr(sweep, name)
        columns[f"{name}_se"] = sweep.standard_errors[name]
        for level, values in zip(sweep.levels, sweep.quantiles[name], strict=True):
            columns[f"{name}_q{100 * level:g}"] = values
    if beside is not None:
        columns |= {f"bound_{name}": values for name, values in beside.bounds.items()}
    return pl.DataFrame(columns)


def exact_table(k: Any, n: Any, errors: dict[str, SquaredError]) -> pl.DataFrame:
    """A row for every estimator and every (K, N): the mean squared error over configurations, in
    parts.
    """
    parts = []
    for estimator, error in errors.items():
        columns = {
            name: getattr(error, name).mean(axis=-1).ravel()
            for name in ("across", "within", "floor")
        }
        grid = {"k": np.ravel(k), "n": np.ravel(n)}
        parts.append(
            pl.DataFrame({"estimator": estimator, **grid, **columns, "squared": error.mean.ravel()})
        )
    return pl.concat(parts)


def estimator_table(errors: EstimatorErrors) -> pl.DataFrame:
    """A row for every estimator and N: simulated absolute and squared errors, their spread over
    splits, standard errors.
    """
    names = [
        f"{kind}{what}" for kind in ("absolute", "squared") for what in ("", "_spread", "_error")
    ]
    parts = []
    for row, estimator in enumerate(errors.estimators):
        columns = {"k": np.full(errors.runs.size, errors.train), "n": errors.runs}
        columns |= {name: getattr(errors, name)[row] for name in names}
        parts.append(pl.DataFrame({"estimator": estimator, **columns}))
    return pl.concat(parts)


def save(table: pl.DataFrame, path: str | os.PathLike[str], **about: Any) -> None:
    """Write a table as parquet; what it is `about` (seed, splits, …) and our version go into the
    file's metadata.
    """
    path = Path(path)
    if path.suffix != ".parquet":
        raise InputError(f"{path}: expected a name that ends in .parquet.")
    metadata_text = {
        "truecost": json.dumps({"version": metadata.version("truecost"), **about}, sort_keys=True)
    }
    # Into memory first: polars wants a file of its own, and ours must appear whole.
    content = io.BytesIO()
    table.write_parquet(content, metadata=metadata_text)
    with whole_file(path) as file:
        file.write(content.getbuffer())


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `save` was told, and the version that wrote the file."""
    stored: dict[str, Any] = json.loads(pl.read_parquet_metadata(Path(path)).get("truecost", "{}"))
    return stored


@dataclass(slots=True)
class Store:
    """Tables in a folder; one that is there from the same experiment is `kept`, every other one
    computed and written.
    """

    folder: Path
    about: dict[str, Any]
    files: list[Path] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def table(self, part: str, compute: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """The table of a part of the experiment."""
        path, origin = self.folder / f"{part}.parquet", {"part": part, **self.about}
        self.files.append(path)
        # Whatever is wrong with a file that is there, computing it again repairs it.
        with suppress(OSError, ValueError, pl.exceptions.PolarsError):
            # Another version may compute other numbers, so its tables are not kept.
            if about(path) == {"version": metadata.version("truecost"), **origin}:
                earlier = pl.read_parquet(path)
                self.kept.append(part)
                return earlier
        table = compute()
        save(table, path, **origin)
        return table
