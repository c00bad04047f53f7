"""Files of matrices: what kind one is, and writing them so that what was there stays until the new
one is whole.
"""

import csv
import errno
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from truecost.errors import InputError

# How gzip, zlib, zstandard, bzip2 and xz files begin.
PACKED = (
    b"\x1f\x8b",
    *(b"\x78" + level for level in (b"\x01", b"\x5e", b"\x9c", b"\xda")),
    b"\x28\xb5\x2f\xfd",
    b"BZh",
    b"\xfd7zXZ",
)
# What may stand before the header of a table: a byte order mark, and what spreadsheets write to say
# what separates fields.
PREAMBLE = re.compile(rb"(\xef\xbb\xbf)?(sep=.\r?\n)?")


def without_preamble(content: bytes) -> bytes:
    """A csv table from its header on."""
    match = PREAMBLE.match(content)
    return content[match.end() :] if match else content


def fields_of(line: str) -> tuple[str, list[str]]:
    """What separates the fields of the first line of a table, and these fields."""
    line = line.strip("\r\n")
    fields: dict[str, list[str]] = {}
    for mark in ",;\t|":
        try:
            fields[mark] = next(csv.reader([line], delimiter=mark), [])
        except csv.Error:  # one field that is too long
            fields[mark] = []
    # The mark that makes the most fields is the one that separates.
    separator = max(fields, key=lambda mark: len(fields[mark]))
    return separator, fields[separator]


def kind_of(file: BinaryIO) -> str:
    """npz, parquet or csv: by the content, never by the name."""
    start = file.read(4096)
    file.seek(0)
    if start.startswith(b"PK\x03\x04"):
        return "npz"
    if start.startswith(b"PAR1"):
        return "parquet"
    if not start.strip():
        raise InputError("expected a matrix, got an empty file.")
    if start.startswith(PACKED) or b"\0" in start:
        packed = start.startswith(PACKED)
        problem = "got a packed file: unpack it first" if packed else "and it is none of them"
        raise InputError(f"expected an npz file of truecost, a parquet or a csv table, {problem}.")
    return "csv"


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when everything was written, and leaves it alone when
    anything failed.
    """
    # A link stays a link: what it points to is written.
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        # A device or a pipe would be replaced by a file of its name.
        raise OSError(errno.EINVAL, "expected a file, or a name that is free", str(path))
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=".unfinished", dir=target.parent
        )
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            # Else a crash could leave the new name with the content of neither.
            os.fsync(file.fileno())
        unfinished.chmod(_mode_of(target))
        unfinished.replace(target)
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _mode_of(target: Path) -> int:
    """The mode of what is replaced, or what a new file gets here."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        # There is no way to read the mask but to set it.
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
