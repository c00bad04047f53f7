"""The cores of this machine, and which of them other truecosts on it use."""

import contextlib
import hashlib
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

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
            claim = _claim(core)
            if claim is not None:
                stack.enter_context(claim)
                claimed.append(core)
        if not claimed or (number is not None and len(claimed) < number):
            raise InputError(
                f"expected {number or 'a'} free core{'s' if number and number > 1 else ''}, got "
                f"{len(claimed)} of {len(usable)}: another truecost runs solvers on the others. "
                "Wait for it, or share cores: `pin=False`."
            )
        yield claimed


def _claim(core: int) -> socket.socket | None:
    """A claim on a core, held as long as the socket is open; None if somebody else holds it.

    A name in the kernel's abstract name space: it goes with its process, whatever ends that; no
    file of another user, no folder or FIFO of that name can be in the way. Whoever has another
    temporary folder, in a job of a batch system for instance, has other cores as well.
    """
    place = hashlib.sha256(tempfile.gettempdir().encode()).hexdigest()[:16]
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        holder.bind(f"\0truecost-core-{place}-{core}")
    except OSError:
        holder.close()
        return None
    return holder
