"""Tables, one run a row: csv, tsv, parquet, or a data frame of polars or pandas.

The layout of CAVE is among them: runhistory.csv with config_id, instance_id, seed, cost, time and
status, and beside it configurations.csv with the values of the parameters.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from truecost.importers import frames
from truecost.importers.record import Options
from truecost.importers.registry import Candidate, Importer
from truecost.matrix import provenance
from truecost.matrix.files import PACKED
from truecost.matrix.imported import Import, Scalar

CAVE = "runhistory.csv"
CAVE_CONFIGURATIONS = "configurations.csv"


def _recognise(candidate: Candidate) -> bool:
    if candidate.path is None:
        return candidate.is_frame
    text = candidate.text
    # JSON and ARFF are text, too, and no tables.
    other = not text or text.startswith(("{", "[{")) or text.lower().startswith(("@relation", "%"))
    packed = candidate.start.startswith(PACKED)
    return candidate.holds(CAVE) or candidate.is_frame or not (other or packed)


def _read(source: Any, options: Options) -> Import:
    """The runs in a table, in the folder of CAVE that holds one, or in a data frame."""
    if not isinstance(source, Path):
        return frames.runs_of(frames.as_frame(source), options)
    path = source / CAVE if source.is_dir() else source
    log = frames.runs_of(frames.as_frame(path), options, path.stem)
    if (trajectory := provenance.read(path)) is not None:
        log = replace(log, trajectory=trajectory)
    beside = path.with_name(CAVE_CONFIGURATIONS)
    if path.name == CAVE and beside.is_file():
        log = replace(log, parameters=_parameters(frames.as_frame(beside)))
    return log


def _parameters(table: pl.DataFrame) -> dict[str, dict[str, Scalar]]:
    """CAVE's configurations.csv: a row of values for each config_id."""
    names = ("config_id", "configuration_id")
    key = next((name for name in table.columns if name.strip().lower() in names), None)
    if key is None:
        return {}
    return {
        str(row.pop(key)): {name: value for name, value in row.items() if value not in (None, "")}
        for row in table.to_dicts()
    }


IMPORTER = Importer(
    name="table", title="tables (csv, tsv, parquet)", recognise=_recognise, read=_read
)
