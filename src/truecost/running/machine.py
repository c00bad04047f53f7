"""What this machine is and lets us use: cores, claimed from other truecosts, quotas of containers,
and what makes times differ.
"""

import hashlib
import json
import os
import platform
import re
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path

from truecost.errors import InputError
from truecost.runs import Machine

PROCESSORS = Path("/sys/devices/system/cpu")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
# Seconds after which the load and the throttling of a machine are looked at again.
FRESH = 60.0
# Looked up once: a look-up reads files, and every run asks.
truecost_version = cache(lambda: version("truecost"))


def _text(path: Path) -> str:
    """A line of the system's; empty where there is none."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def node_of(processor: int) -> str:
    """The memory (NUMA) node and the package of a processor: cores that share both are close."""
    folder = PROCESSORS / f"cpu{processor}"
    node = next((path.name for path in sorted(folder.glob("node[0-9]*"))), "")
    return f"{node} {_text(folder / 'topology/physical_package_id')}"


def cores() -> list[int]:
    """One processor of each core we may use: the second thread of a core is not a second core; no
    more than the quota of a container has CPU time for.
    """
    first: dict[str, int] = {}
    for processor in sorted(os.sched_getaffinity(0)):
        siblings = _text(PROCESSORS / f"cpu{processor}/topology/thread_siblings_list")
        first.setdefault(siblings or str(processor), processor)
    quota = processors_allowed()
    return list(first.values())[: None if quota is None else max(1, int(quota))]


def processors_allowed() -> float | None:
    """How many processors' time the control groups we are in allow; None for no quota."""
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
    """What a file says in our control group and in all above it; of version 2 where no controller
    is named.
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


def this_machine(method: str, solver: str) -> Machine:
    """What a run made here says of where it was made."""
    return _this_machine(method, solver, int(time.monotonic() / FRESH))


@cache
def _this_machine(method: str, solver: str, _moment: int) -> Machine:
    return Machine(
        host=platform.node(),
        cpu=_cpu_model(),
        system=f"{platform.system()} {platform.release()}",
        method=method,
        solver=solver,
        truecost=truecost_version(),
        conditions=json.dumps(conditions(), sort_keys=True),
    )


def conditions() -> dict[str, str | float | int]:
    """What makes times differ from day to day on one machine, as far as the system says: frequency
    governor, turbo, load, and how often cores were throttled since it was started.
    """
    state: dict[str, str | float | int] = {"load": round(os.getloadavg()[0], 2)}
    processors = [PROCESSORS / f"cpu{number}" for number in sorted(os.sched_getaffinity(0))]
    governors = {_text(folder / "cpufreq/scaling_governor") for folder in processors} - {""}
    if governors:
        state["governor"] = ", ".join(sorted(governors))
    boost = _text(PROCESSORS / "cpufreq/boost")
    no_turbo = _text(PROCESSORS / "intel_pstate/no_turbo")
    if boost or no_turbo:
        state["turbo"] = "on" if boost == "1" or no_turbo == "0" else "off"
    counts = [_text(folder / "thermal_throttle/core_throttle_count") for folder in processors]
    if any(counts):
        state["throttled"] = sum(int(count) for count in counts if count.isdecimal())
    return state


@cache
def _cpu_model() -> str:
    lines = _text(Path("/proc/cpuinfo")).splitlines()
    wanted = re.compile(r"(?i)(model name|cpu model|hardware)")
    models = [line.partition(":")[2].strip() for line in lines if wanted.match(line)]
    return models[0] if models else platform.machine()


@contextmanager
def claimed_cores(number: int | None, size: int = 1) -> Iterator[list[tuple[int, ...]]]:
    """The cores of `number` workers (None: of all free cores), claimed so that no other truecost
    on this machine uses them; `size` for each, of one memory node where possible.
    """
    usable = cores()
    most = len(usable) // size
    if not most or (number is not None and number > most):
        quota = processors_allowed()
        container = "" if quota is None else f" (a quota allows {quota:g} processors)"
        per = "one per core" if size == 1 else f"each with the {size} cores of limits.cores"
        raise InputError(
            f"expected at most {most} `workers`, {per}, got {number or 1}{container}: two solvers "
            "on one core disturb each other's times. `pin=False` does it all the same."
        )
    with ExitStack() as stack:
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
    """A claim on a core, held as long as the socket is open; None if somebody else holds it."""
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
