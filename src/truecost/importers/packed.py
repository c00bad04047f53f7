"""Files that are packed by gzip, bzip2 or xz, read as if they were not."""

import bz2
import gzip
import lzma
import zlib
from io import BufferedReader

from truecost.errors import InputError

LARGEST = 1 << 30
CHUNK = 1 << 20
# How a parquet file begins, which unpacks itself.
PARQUET = b"PAR1"
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


def unpacked(file: BufferedReader, what: str) -> bytes:
    """All of the content; a small file that unpacks to gigabytes is refused."""
    content = bytearray()
    try:
        stream = unpacking(file)
        while chunk := stream.read(CHUNK):
            content += chunk
            if len(content) > LARGEST:
                raise InputError(
                    f"expected {what} of at most {LARGEST >> 20:,} MB, and it unpacks to more."
                )
    except DAMAGE as error:
        raise InputError(f"expected {what}, and it cannot be unpacked ({error}).") from error
    return bytes(content)
