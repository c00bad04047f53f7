"""Which cores of this machine other truecosts use, and which are ours for a while."""

import contextlib
import hashlib
import socket
import tempfile
from collections.abc import Iterator

from truecost.errors import InputError
from truecost.running.machine import cores, node_of, processors_allowed


@contextlib.contextmanager
def claimed_cores(number: int | None, size: int = 1) -> Iterator[list[tuple[int, ...]]]:
    """The cores of `number` workers (None: of all free cores), claimed so that no other truecost
    on this machine uses them; `size` for each, of one memory node where possible.
    """
    usable = cores()
    most = len(usable) // size
    if not most or (number is not None and number > most):
        quota = processors_allowed()
        container = "" if quota is None else f" (a quota allows {quota:g} processors)"
        each = "one per core" if size == 1 else f"each with the {size} cores of limits.cores"
        raise InputError(
            f"expected at most {most} `workers`, {each}, got {number or 1}{container}: two solvers "
            "on one core disturb each other's times. `pin=False` does it all the same."
        )
    with contextlib.ExitStack() as stack:
        claimed: list[tuple[int, ...]] = []
        spare: list[int] = []
        claims: dict[int, socket.socket] = {}
        for node in dict.fromkeys(map(node_of, usable)):
            free: list[int] = []
            for core in (core for core in usable if node_of(core) == node):
                if number is not None and len(claimed) == number:
                    break
                if (claim := _claim(core)) is not None:
                    claims[core] = stack.enter_context(claim)
                    free.append(core)
                if len(free) == size:
                    claimed.append(tuple(free))
                    free = []
            spare += free
        while len(spare) >= size and (number is None or len(claimed) < number):
            # Better cores of two nodes than none.
            claimed.append(tuple(spare[:size]))
            spare = spare[size:]
        if not claimed or (number is not None and len(claimed) < number):
            wanted = (number or 1) * size
            raise InputError(
                f"expected {wanted} free core{'s' if wanted > 1 else ''}, got "
                f"{len(claimed) * size + len(spare)} of {len(usable)}: another truecost runs "
                "solvers on the others. Wait for it, or share cores: `pin=False`."
            )
        for core in spare:
            claims[core].close()
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
