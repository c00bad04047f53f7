"""Limits on reading: no input, however it was made, takes up the time or memory of a machine."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType

from truecost.errors import TruecostError

# What reading may take at most; a packed log may unpack to many times its size.
SECONDS = 60.0
BYTES = 2 << 30
BYTES_PER_BYTE = 20
# How often a look is taken; how long the reader has to end by itself, and remove private copies.
EVERY = 0.05
GRACE = 3.0
# The size of a folder is that of its files, up to this number of files.
MOST_FILES = 100_000


class ReadingLimitError(TruecostError):
    """Reading took too long, or too much memory.

    No `InputError`: importers take that, as a ValueError, for damage and go on.
    """


@contextmanager
def limited(
    path: Path,
    *,
    seconds: float | None = None,
    memory: int | None = None,
    per_byte: int = BYTES_PER_BYTE,
    grace: float = GRACE,
) -> Iterator[None]:
    """Stop what is inside with a `ReadingLimitError`, or the process with exit code 2, if it takes
    longer than `seconds` (60), or more memory than `memory` bytes (2 GB) or `per_byte` times the
    size of what is read.

    A thread looks on, since limits of the kernel (RLIMIT_AS) break what maps more than it uses. It
    asks the main thread first, by a signal, and ends the process where that is not heard, as in a
    library's own loop.
    """
    # Constants are looked up when it is called: tests lower them.
    seconds = SECONDS if seconds is None else seconds
    room = max(BYTES if memory is None else memory, per_byte * _size(path))
    until, before, over = time.monotonic() + seconds, _resident(), threading.Event()
    problem = f"{path}: expected runs that can be read"
    late = f"{problem} in {seconds:g} s, and these take longer."
    large = f"{problem} with {room / 2**30:.3g} GB of memory, and these take more."
    message = late

    def watch() -> None:
        nonlocal message
        while not over.wait(EVERY):
            if _resident() - before > room:
                message = large
            elif time.monotonic() < until:
                continue
            signal.pthread_kill(main.ident or 0, signal.SIGALRM)
            if not over.wait(grace):
                sys.stderr.write(f"truecost: {message}\n")
                sys.stderr.flush()
                os._exit(2)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise ReadingLimitError(message)

    main = threading.main_thread()
    if threading.current_thread() is not main:  # signals reach the main thread only
        yield
        return
    former = signal.signal(signal.SIGALRM, stop)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        signal.signal(signal.SIGALRM, former)


def _size(path: Path) -> int:
    """Bytes in a file, or in the files of a folder."""
    try:
        if not path.is_dir():
            return path.stat().st_size
        return sum(file.lstat().st_size for file in islice(path.rglob("*"), MOST_FILES))
    except OSError:
        return 0


def _resident() -> int:
    """Bytes of memory that this process has now; the most it had, where nothing tells."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1 << 10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return pages * os.sysconf("SC_PAGE_SIZE")
