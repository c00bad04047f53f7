"""Matrices as npz files, and reading npz and npy files that may be anything: no pickles, no array
that does not fit, no exception but our own.
"""

import math
import os
import re
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError, TruecostError
from truecost.matrix.entries import integers
from truecost.runs import NO_STATUS, Status

STATUSES = [status.label for status in Status]

# The arrays of a matrix, those that must be there first.
NEEDED = ("costs", "configurations", "instances")
ARRAYS = (*NEEDED, "range", "statuses", "status_names", "seeds", "cutoff", "utility", "families")


def pack(fields: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays that are kept of a matrix with these fields."""
    ends = {"range": np.array([fields["low"], fields["high"]])}
    names = {"status_names": np.array(STATUSES)} if fields["statuses"] is not None else {}
    kept = {name: fields[name] for name in ARRAYS if fields.get(name) is not None}
    return {name: np.asarray(value) for name, value in kept.items()} | ends | names


def unpack(
    arrays: dict[str, NDArray[Any]], low: float | None, high: float | None
) -> dict[str, Any]:
    """The fields of a matrix from its arrays; `low` and `high` go before those of the file."""
    # Files of other tools may have no range; then it is not known.
    ends = arrays.get("range", np.array([-np.inf, np.inf]))
    if ends.shape != (2,) or ends.dtype.kind not in "fiu":
        raise InputError("expected the array 'range' in the npz file to hold `low` and `high`.")
    fields: dict[str, Any] = {
        "costs": arrays["costs"],
        "low": float(ends[0]) if low is None else low,
        "high": float(ends[1]) if high is None else high,
        "statuses": _statuses(arrays) if "statuses" in arrays else None,
        "seeds": arrays.get("seeds"),
    }
    for name, kinds, what, convert in (
        ("cutoff", "fiu", "number", float),
        ("utility", "U", "text", str),
    ):
        if (value := arrays.get(name)) is not None:
            if value.shape != () or value.dtype.kind not in kinds:
                raise InputError(f"expected the array {name!r} in the npz file to hold one {what}.")
            fields[name] = convert(value)
    for name in ("configurations", "instances", "families"):
        if name in arrays:
            fields[name] = _texts(arrays[name], name)
    return fields


def _texts(names: NDArray[Any], what: str) -> list[str]:
    if names.ndim != 1 or names.dtype.kind != "U":
        raise InputError(
            f"expected the array {what!r} in the npz file to be a flat list of text, "
            f"got {names.dtype} of shape {names.shape}."
        )
    return [str(name) for name in names]


def _statuses(arrays: dict[str, NDArray[Any]]) -> NDArray[np.int8]:
    # The file's own list of names decides, so that a file stays readable should the numbers ever
    # change.
    names = _texts(arrays["status_names"], "status_names") if "status_names" in arrays else STATUSES
    if unknown := [name for name in names if name not in STATUSES]:
        raise InputError(f"expected statuses out of {', '.join(STATUSES)}, got {unknown[0]!r}.")
    codes = integers(arrays["statuses"], np.int8, NO_STATUS, "statuses")
    if codes.size and (codes.min() < NO_STATUS or codes.max() >= len(names)):
        raise InputError(
            f"expected status numbers from -1 to {len(names) - 1} in the npz file, "
            f"got {codes.min()} to {codes.max()}."
        )
    # The last entry answers for NO_STATUS = -1, as an index from the end.
    places = [*(STATUSES.index(name) for name in names), NO_STATUS]
    return np.array(places, dtype=np.int8)[codes]


def read(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """The arrays of a matrix in an open npz file."""
    with damage("an npz file of truecost"), zipfile.ZipFile(file) as archive:
        return _read(archive)


@contextmanager
def damage(what: str) -> Iterator[None]:
    """Refuse a file that NumPy or zipfile cannot read."""
    try:
        # Damaged numbers can make NumPy warn before they are refused.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (TruecostError, MemoryError):
        raise
    # They raise a dozen kinds on damaged files; pickles come here unopened.
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"expected {what}, and it cannot be read ({reason}).") from error


def read_array(file: BinaryIO) -> NDArray[Any]:
    """The array in an open npy file, structured or not."""
    with damage("an npy file without pickles"):
        shape, itemsize = _header(file)
        size = math.prod(shape) * itemsize
        available = os.fstat(file.fileno()).st_size - file.tell()
        # Nothing is packed here, so a claim beyond the file is a lie.
        if size > available:
            raise InputError(
                f"expected {size:,} bytes of numbers in the npy file, got {available:,}."
            )
        file.seek(0)
        return _checked(np.lib.format.read_array(file, allow_pickle=False))


def _read(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    names = Counter(name.removesuffix(".npy") for name in archive.namelist())
    if again := [name for name in ARRAYS if names[name] > 1]:
        raise InputError(
            f"expected every array once in the npz file, got {again[0]!r} {names[again[0]]} times."
        )
    if absent := [name for name in NEEDED if not names[name]]:
        raise InputError(
            f"expected the arrays {', '.join(NEEDED)} in the npz file, and {', '.join(absent)} is "
            "not there."
        )
    members = {name: f"{name}.npy" for name in ARRAYS if names[name]}
    shapes, size = {}, 0
    for name, member in members.items():
        with archive.open(member) as packed:
            shapes[name], itemsize = _header(packed)
            size += math.prod(shapes[name]) * itemsize
    # A few bytes can unpack to terabytes, and a list of names to more than its matrix: look before
    # unpacking.
    for axis, name in enumerate(NEEDED[1:]):
        if shapes[name] != shapes["costs"][axis : axis + 1]:
            raise InputError(
                f"expected as many {name} as costs of shape {shapes['costs']} have, got shape "
                f"{shapes[name]}."
            )
    if size > (memory := _free_memory()):
        raise InputError(
            f"expected a matrix that fits into memory, got {size / 2**30:.1f} GiB for "
            f"{memory / 2**30:.1f} GiB."
        )
    arrays = {}
    for name, member in members.items():
        with archive.open(member) as packed:
            arrays[name] = _checked(np.lib.format.read_array(packed, allow_pickle=False))
    return arrays


def _checked(array: NDArray[Any]) -> NDArray[Any]:
    """The array, unless its text has numbers that are no characters: Python takes them and fails
    much later.
    """
    names = array.dtype.names
    for part in [array] if names is None else [array[name] for name in names]:
        if part.dtype.kind == "U" and part.dtype.itemsize and part.size:
            codes = np.ascontiguousarray(part).view(part.dtype.str[0] + "u4")
            if codes.max() > sys.maxunicode:
                raise InputError(
                    "expected text in the array, got numbers that are no characters: the file is "
                    "damaged."
                )
    return array


def _header(packed: IO[bytes]) -> tuple[tuple[int, ...], int]:
    """Shape, and bytes an item."""
    formats = np.lib.format
    first = formats.read_magic(packed) == (1, 0)
    header = formats.read_array_header_1_0 if first else formats.read_array_header_2_0
    shape, _, dtype = header(packed)
    return shape, dtype.itemsize


def _free_memory() -> int:
    table = Path("/proc/meminfo")
    line = re.search(r"MemAvailable:\s+(\d+) kB", table.read_text()) if table.exists() else None
    return 1024 * int(line[1]) if line else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
