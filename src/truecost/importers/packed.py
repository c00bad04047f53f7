"""Files read whole, also packed by gzip, bzip2 or xz."""

import bz2
import gzip
import lzma
import zlib
from io import BufferedReader
from pathlib import Path

from truecost.errors import InputError

LARGEST = 1 << 30
CHUNK = 1 << 20
# What the three raise on damage, and what reading itself raises.
DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError)

Stream = BufferedReader | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile


def unpacking(file: BufferedReader) -> Stream:
    """The content of an open file, from its beginning; damage shows when it is read."""
    # By the content: names of packed files are often wrong.
    start = file.read(6)
    file.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if start.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if start == b"\xfd7zXZ\0":
        return lzma.LZMAFile(file)
    return file


def content_of(path: Path) -> bytes:
    """All of a file, unpacked; a small file that unpacks to gigabytes is refused."""
    content = bytearray()
    try:
        with path.open("rb") as file:
            stream = unpacking(file)
            while chunk := stream.read(CHUNK):
                content += chunk
                if len(content) > LARGEST:
                    raise InputError(f"It unpacks to more than {LARGEST >> 20:,} MB.")
    except DAMAGE as error:
        raise InputError(f"It cannot be unpacked ({error!s:.100}). Copy it again.") from error
    return bytes(content)


def text_of(path: Path) -> str:
    """The text of a file that is not packed."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not in UTF-8. Save it so.") from None


def start_of(path: Path, size: int) -> tuple[bytes, bytes]:
    """The first bytes of a file as they are, and as they are unpacked."""
    with path.open("rb") as file:
        start = file.read(size)
        file.seek(0)
        try:
            # A file that was cut off still shows what it is.
            return start, unpacking(file).read1(size)
        except DAMAGE:
            return start, b""
