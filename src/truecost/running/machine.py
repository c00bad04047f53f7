"""What this machine is and lets us use: cores, claimed from other truecosts, and the quotas of
containers.
"""

import hashlib
import os
import platform
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path

from truecost.errors import InputError
from truecost.runs import Machine

PROCESSORS = Path("/sys/devices/system/cpu")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
# Looked up once: it reads files, and every run asks.
truecost_version = cache(lambda: version("truecost"))


def _text(path: Path) -> str:
    """A line of the system's; empty where there is none."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def cores() -> list[int]:
    """One processor of each core we may use, since the second thread of a core is no second core;
    no more than the quota of a container has CPU time for.
    """
    first: dict[str, int] = {}
    for processor in sorted(os.sched_getaffinity(0)):
        siblings = _text(PROCESSORS / f"cpu{processor}/topology/thread_siblings_list")
        first.setdefault(siblings or str(processor), processor)
    quota = processors_allowed()
    return list(first.values())[: None if quota is None else max(1, int(quota))]


def processors_allowed() -> float | None:
    """How many processors' time our control groups allow; None for no quota."""
    quotas = []
    for text in (*_group_values("", "cpu.max"), *_group_values("cpu", "cpu.cfs_quota_us")):
        quota, *period = text.split()
        if quota.isdecimal():
            quotas.append(int(quota) / int(period[0] if period else 100_000))
    return min(quotas, default=None)


def memory_allowed() -> int:
    """Bytes of memory that this machine, or the container we are in, has."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    files = (("", "memory.max"), ("memory", "memory.limit_in_bytes"))
    sizes += [int(text) for file in files for text in _group_values(*file) if text.isdecimal()]
    return min(sizes)


def _group_values(controller: str, name: str) -> Iterator[str]:
    """The contents of a file of our control group and of all above it; of version 2 where no
    controller is named.
    """
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        _, names, group = line.split(":", 2)
        if controller not in names.split(","):
            continue
        # Version 2 is at the root, or in a folder of that name next to version 1.
        for root in (controller,) if controller else ("", "unified"):
            for folder in (group, *map(str, Path(group).parents)):
                if text := _text(CONTROL_GROUPS / root / folder.lstrip("/") / name):
                    yield text


@cache
def this_machine(solver: str) -> Machine:
    """Where runs of this version of the solver are made."""
    return Machine(
        host=platform.node(),
        cpu=_cpu_model(),
        system=f"{platform.system()} {platform.release()}",
        solver=solver,
        truecost=truecost_version(),
    )


def _cpu_model() -> str:
    lines = _text(Path("/proc/cpuinfo")).splitlines()
    wanted = re.compile(r"(?i)(model name|cpu model|hardware)")
    models = [line.partition(":")[2].strip() for line in lines if wanted.match(line)]
    return models[0] if models else platform.machine()


@contextmanager
def claimed_cores(number: int | None, size: int = 1) -> Iterator[list[tuple[int, ...]]]:
    """The cores of `number` workers (None: of all free cores), `size` for each, claimed so that no
    other truecost on this machine uses them.
    """
    usable = cores()
    if len(usable) < (number or 1) * size:
        quota = processors_allowed()
        container = "" if quota is None else f" (a quota allows {quota:g} processors)"
        per = "one each" if size == 1 else f"limits.cores = {size} each"
        raise InputError(
            f"{number or 1} workers need {(number or 1) * size} cores ({per}), but {len(usable)} "
            f"can be used{container}. Use fewer workers, or --no-pin to let runs share cores, "
            "which disturbs their times."
        )
    with ExitStack() as stack:
        claims: dict[int, socket.socket] = {}
        for core in usable:
            if len(claims) != (number or len(usable)) * size and (claim := _claim(core)):
                claims[core] = stack.enter_context(claim)
        workers = len(claims) // size
        if workers < (number or 1):
            raise InputError(
                f"Only {len(claims)} of {len(usable)} cores are free: another truecost, or another "
                "thread of this worker, runs solvers on the others. Wait for it, use fewer "
                "workers, or --no-pin to share cores, which disturbs the times of runs."
            )
        chosen = [*claims][: workers * size]
        for core in claims.keys() - chosen:
            claims[core].close()
        yield [tuple(chosen[start : start + size]) for start in range(0, len(chosen), size)]


def _claim(core: int) -> socket.socket | None:
    """A claim on a core, held as long as the socket is open; None if another truecost holds it."""
    # A name in the kernel's abstract name space: it goes with its process, whatever ends that; no
    # file of another user, no folder or FIFO of that name can be in the way. Whoever has another
    # temporary folder, in a job of a batch system for instance, has other cores as well.
    place = hashlib.sha256(tempfile.gettempdir().encode()).hexdigest()[:16]
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        holder.bind(f"\0truecost-core-{place}-{core}")
    except OSError:
        holder.close()
        return None
    return holder
