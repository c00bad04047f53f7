"""Reading npz and npy files that may be anything: no pickles, no array that does not fit, no
exception but our own.
"""

import math
import os
import re
import sys
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError

# The arrays of a matrix, those that must be there first.
NEEDED = ("costs", "configurations", "instances")
ARRAYS = (*NEEDED, "range", "statuses", "status_names", "seeds", "cutoff", "utility", "families")


def read(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """The arrays of a matrix in an open npz file."""
    try:
        # Damaged numbers can make NumPy warn before they are refused.
        with warnings.catch_warnings(), zipfile.ZipFile(file) as archive:
            warnings.simplefilter("ignore")
            return _read(archive)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # NumPy and zipfile raise a dozen kinds on damaged files; pickles come here unopened
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"expected an npz file of truecost, and it cannot be read ({reason})."
        ) from error


def read_array(file: BinaryIO) -> NDArray[Any]:
    """The array in an open npy file, structured or not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shape, itemsize = _header(file)
            size, there = math.prod(shape) * itemsize, os.fstat(file.fileno()).st_size - file.tell()
            # Nothing is packed here, so a claim beyond the file is a lie.
            if size > there:
                raise InputError(
                    f"expected {size:,} bytes of numbers in the npy file, got {there:,}."
                )
            file.seek(0)
            return _checked(np.lib.format.read_array(file, allow_pickle=False))
    except (InputError, MemoryError):
        raise
    except Exception as error:  # as above
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"expected an npy file without pickles, and it cannot be read ({reason})."
        ) from error


def _read(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    names = Counter(name.removesuffix(".npy") for name in archive.namelist())
    if again := [name for name in ARRAYS if names[name] > 1]:
        raise InputError(
            f"expected every array once in the npz file, got {again[0]!r} {names[again[0]]} times."
        )
    if absent := [name for name in NEEDED if not names[name]]:
        raise InputError(
            f"expected the arrays {', '.join(NEEDED)} in the npz file, and {', '.join(absent)} is not there."
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
                f"expected as many {name} as costs of shape {shapes['costs']} have, got shape {shapes[name]}."
            )
    if size > (memory := _free_memory()):
        raise InputError(
            f"expected a matrix that fits into memory, got {size / 2**30:.1f} GiB for {memory / 2**30:.1f} GiB."
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
    for part in (
        [array] if array.dtype.names is None else [array[name] for name in array.dtype.names]
    ):
        if part.dtype.kind == "U" and part.dtype.itemsize and part.size:
            codes = np.ascontiguousarray(part).view(part.dtype.str[0] + "u4")
            if codes.max() > sys.maxunicode:
                raise InputError(
                    "expected text in the array, got numbers that are no characters: the file is damaged."
                )
    return array


def _header(packed: IO[bytes]) -> tuple[tuple[int, ...], int]:
    """Shape, and bytes an item."""
    version = np.lib.format.read_magic(packed)
    read_header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read_header(packed)
    return shape, dtype.itemsize


def _free_memory() -> int:
    table = Path("/proc/meminfo")
    found = re.search(r"MemAvailable:\s+(\d+) kB", table.read_text()) if table.exists() else None
    return (
        1024 * int(found[1]) if found else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    )
