"""The trajectory of a matrix kept in its own file: as metadata of parquet, as one more array of
npz.

Both hold the same JSON text under the name `truecost.trajectory`; a csv table has no place for it.
Readers that know nothing of it pass over it.
"""

import os
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from truecost.errors import InputError, prefixed
from truecost.matrix import npz
from truecost.runs import Trajectory

if TYPE_CHECKING:
    from pydantic import TypeAdapter

KEY = "truecost.trajectory"
LONGEST = 64 << 20


@cache
def _adapter() -> "TypeAdapter[Trajectory]":
    # Loaded here: a matrix without a trajectory needs no pydantic.
    from pydantic import TypeAdapter

    return TypeAdapter(Trajectory)


def to_json(trajectory: Trajectory) -> str:
    """The text that is kept."""
    return _adapter().dump_json(trajectory).decode()


def from_json(text: str) -> Trajectory:
    """The trajectory of a text that `to_json` made, in this version or an earlier one."""
    try:
        return _adapter().validate_json(text, strict=True)
    except ValueError as error:
        problem = error.errors()[0] if hasattr(error, "errors") else {"loc": (), "msg": str(error)}
        reason = f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}".removeprefix(": ")
        raise InputError(
            f"expected a trajectory as truecost writes it, and it cannot be read ({reason:.80})."
        ) from error


def read(path: str | os.PathLike[str]) -> Trajectory | None:
    """The trajectory in a parquet or npz file that `CostMatrix.save` wrote; None where there is
    none.
    """
    with prefixed(path):
        with Path(path).open("rb") as file:
            text = text_in(file)
        return None if text is None else from_json(text)


def text_in(file: BinaryIO) -> str | None:
    """The text that is kept in an open file; None where there is none."""
    start = file.read(4)
    file.seek(0)
    # By content, as `CostMatrix.load` does; anything else has no place for a trajectory.
    readers = {b"PAR1": _of_parquet, b"PK\x03\x04": _of_npz}
    return readers[start](file) if start in readers else None


def _of_parquet(file: BinaryIO) -> str | None:
    import polars as pl

    try:
        return pl.read_parquet_metadata(file).get(KEY)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise InputError(
            f"expected a parquet table, and it cannot be read ({error!r:.80})."
        ) from error


def _of_npz(file: BinaryIO) -> str | None:
    member = f"{KEY}.npy"
    with npz.damage("an npz file of truecost"), zipfile.ZipFile(file) as archive:
        if member not in archive.namelist():
            return None
        if archive.getinfo(member).file_size > LONGEST:
            raise InputError(f"expected a trajectory of at most {LONGEST >> 20} MB, got more.")
        with archive.open(member) as packed:
            return str(np.lib.format.read_array(packed, allow_pickle=False).tobytes().decode())


def as_array(trajectory: Trajectory) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """The text as the array that an npz file keeps under `KEY`."""
    return np.frombuffer(to_json(trajectory).encode(), dtype=np.uint8)
