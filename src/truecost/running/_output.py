"""What a run prints, and the files of it that are kept. Part of the supervisor's script."""

from __future__ import annotations

import contextlib
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Captured:
    """Output as it comes, no more than `most` bytes of it: the beginning and the end."""

    def __init__(self, most: int) -> None:
        self.half = most // 2
        self.head, self.tail, self.size = bytearray(), bytearray(), 0

    def read(self, handle: int) -> bool:
        """Take what is there; whether more may come."""
        try:
            part = os.read(handle, 1 << 20)
        except BlockingIOError:
            return True
        self.size += len(part)
        fits = self.half - len(self.head)
        self.head += part[: max(fits, 0)]
        self.tail += part[max(fits, 0) :]
        if len(self.tail) > 2 * self.half + (1 << 20):
            del self.tail[: len(self.tail) - self.half]
        return bool(part)

    def drain(self, handle: int) -> None:
        """Take the rest, from writers that are all dead."""
        before = -1
        while self.size != before:
            before = self.size
            self.read(handle)

    @property
    def dropped(self) -> int:
        """How many bytes of the middle are gone."""
        return self.size - len(self.head) - min(len(self.tail), self.half)

    def content(self) -> bytes:
        """The bytes that are kept."""
        return bytes(self.head + self.tail[max(0, len(self.tail) - self.half) :])


def kept_files(request: dict[str, Any], scratch: str) -> dict[str, bytes]:
    """The files a run leaves in its folder that are asked for, as long as all of them together are
    not too large.
    """
    files: dict[str, bytes] = {}
    room = int(request["room"])
    for name in request["keep"]:
        path = f"{request['folder'] if request['own_folder'] else scratch}/{name}"
        with contextlib.suppress(OSError):
            # Not what a link names, and not a FIFO that would block.
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                status = os.fstat(handle)
                if stat.S_ISREG(status.st_mode) and status.st_size <= room:
                    files[name] = file.read(room)
                    room -= len(files[name])
    return files
