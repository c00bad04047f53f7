"""The cores of this machine, and which of them other truecosts on it use."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from truecost.errors import InputError


def cores() -> list[int]:
    """One processor of each core we may use: the second thread of a core is not a second core."""
    first: dict[str, int] = {}
    for processor in sorted(os.sched_getaffinity(0)):
        topology = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        try:
            siblings = topology.read_text().strip()
        except OSError:
            siblings = str(processor)
        first.setdefault(siblings, processor)
    return list(first.values())


@contextlib.contextmanager
def claimed_cores(number: int | None) -> Iterator[list[int]]:
    """So many cores, all that are free for None, that no other truecost on this machine uses
    meanwhile.
    """
    usable = cores()
    if number is not None and number > len(usable):
        raise InputError(
            f"expected at most {len(usable)} `workers`, one per core, got {number}: two solvers on "
            "one core disturb each other's times. `pin=False` does it all the same."
        )
    with contextlib.ExitStack() as stack:
        claimed: list[int] = []
        for core in usable:
            if number is not None and len(claimed) == number:
                break
            file = _claim(core)
            if file is not None:
                stack.enter_context(file)
                claimed.append(core)
        if not claimed or (number is not None and len(claimed) < number):
            raise InputError(
                f"expected {number or 'a'} free core{'s' if number and number > 1 else ''}, got "
                f"{len(claimed)} of {len(usable)}: another truecost runs solvers on the others. "
                "Wait for it, or share cores: `pin=False`."
            )
        yield claimed


def _claim(core: int) -> BinaryIO | None:
    """A lock on a core, held as long as the file is open; None if somebody else holds it."""
    path = Path(tempfile.gettempdir()) / f"truecost-core-{core}.lock"
    try:
        # Read-only first: the file may be another user's, and reading is enough to lock it.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    file = os.fdopen(handle, "rb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
