"""What a run prints. Part of the supervisor's script."""

from __future__ import annotations

import os


class Captured:
    """The beginning and the end of an output, `most` bytes at most."""

    def __init__(self, most: int) -> None:
        self.half = most // 2
        self.head, self.tail, self.size = bytearray(), bytearray(), 0

    def read(self, handle: int) -> bool:
        """Read what is there; whether more may come."""
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
        """Read the rest, from writers that are all dead."""
        before = -1
        while self.size != before:
            before = self.size
            self.read(handle)

    @property
    def dropped(self) -> int:
        """How many bytes of the middle were dropped."""
        return self.size - len(self.head) - min(len(self.tail), self.half)

    def content(self) -> bytes:
        """The bytes that are kept."""
        return bytes(self.head + self.tail[max(0, len(self.tail) - self.half) :])
