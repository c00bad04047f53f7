"""Tables as data frames of polars: what csv and parquet files hold, and frames of pandas."""

import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from truecost.errors import InputError
from truecost.importers.packed import PARQUET
from truecost.matrix import longtable

# Reads all of a parquet file under a limit of memory; damage that makes the library abort ends this
# process, not ours. What lives so briefly has no garbage to collect, and nothing to tidy up at its
# end.
TRIAL: Final = """
import gc, os, resource, sys
gc.disable()
import polars
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
try:
    with open(sys.argv[1], "rb") as file:
        polars.read_parquet(file)
except BaseException as error:
    sys.exit(" ".join(str(error).split())[:200] or type(error).__name__)
os._exit(0)
"""
# Room of the library itself, and for each byte of the file.
TRIAL_ROOM: Final = 4 << 30
TRIAL_ROOM_PER_BYTE: Final = 50


def as_frame(source: Any) -> pl.DataFrame:
    """The table in a csv, tsv or parquet file, all text in the first two; or a data frame."""
    if not isinstance(source, Path):
        return _polars(source)
    with source.open("rb") as file:
        if file.read(len(PARQUET)) == PARQUET:
            return _parquet(source.absolute(), source.stat().st_mtime_ns, source.stat().st_size)
        file.seek(0)
        return longtable.read(file, "csv", every=True)


@lru_cache(maxsize=1)
def _parquet(path: Path, _time: int, size: int) -> pl.DataFrame:
    """A parquet file; one that was just read is not read again, since several importers look."""
    words = [sys.executable, "-c", TRIAL, str(path), str(TRIAL_ROOM + TRIAL_ROOM_PER_BYTE * size)]
    ended = subprocess.run(  # noqa: S603 - our own words
        words, check=False, capture_output=True, text=True, errors="replace"
    )
    if ended.returncode:
        reason = (ended.stderr.strip().splitlines() or ["it ended the reader"])[-1]
        raise InputError(f"expected a parquet table, and it cannot be read ({reason:.150}).")
    with path.open("rb") as file:
        return longtable.read(file, "parquet", every=True)


def _polars(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        # In pandas, names of instances or solvers may be the index.
        index = getattr(frame, "index", None)
        if index is not None and (any(index.names) or index.dtype.kind == "O"):
            frame = frame.reset_index()
        return pl.DataFrame(
            {str(name): pl.Series(_values(frame[name]), strict=False) for name in frame.columns}
        )
    except (TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"expected a data frame of polars or pandas, and it cannot be read ({error!r:.80})."
        ) from error


def _values(column: Any) -> list[Any]:
    """A column of pandas; what is missing there, NaN in a column of words among it, is None."""
    return column.astype(object).where(column.notna(), None).tolist()  # type: ignore[no-any-return]
