"""What this machine offers: threads, ways to limit and measure runs, solvers, optional parts of
truecost.
"""

import ctypes
import os
import platform
import shutil
import sys
import time
from dataclasses import dataclass
from importlib import metadata

PR_GET_CHILD_SUBREAPER = 37
SOLVERS = {
    # what we call it: (program on PATH, package that carries it)
    "clasp": ("clasp", "clingo"),
    "kissat": ("kissat", "passagemath-kissat"),
    "LKH": ("LKH", "LKHpy"),
}
EXTRAS = {
    "cluster": ("distributed",),
    "smac": ("smac",),
    "solvers": ("clingo", "LKHpy", "passagemath-kissat"),
}
# What gives a command control groups of its own.
REMEDY = "try systemd-run --user --scope -p Delegate=yes truecost gather"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked for: whether it is there, and what that means."""

    area: str
    name: str
    there: bool
    detail: str


def examine() -> list[Finding]:
    """Look at the machine; nothing is changed and no solver is started."""
    return [*_machine(), *_limits(), *_solvers(), *_extras()]


def _machine() -> list[Finding]:
    allowed = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    from truecost.running.machine import conditions, cores, memory_allowed, processors_allowed

    memory, quota = memory_allowed() / 2**30, processors_allowed()
    share = "" if quota is None else f"; a quota gives the time of {quota:g}"
    state = ", ".join(f"{name} {value}" for name, value in sorted(conditions().items()))
    return [
        Finding(area="machine", name=name, there=True, detail=detail)
        for name, detail in {
            "python": f"{platform.python_version()} at {sys.executable}",
            "truecost": metadata.version("truecost"),
            "threads": f"{allowed} of {os.cpu_count()} processors may be used{share}: "
            f"{len(cores())} workers",
            "conditions": state,
            "memory": f"{memory:.1f} GiB",
        }.items()
    ]


def _limits() -> list[Finding]:
    from truecost.errors import TruecostError
    from truecost.running._processes import PROCESSES
    from truecost.running.slots import Slot

    try:
        # A supervisor of its own says what the runs of a campaign would have.
        with Slot() as slot:
            methods = set(slot.method.split("+"))
    except TruecostError as error:
        return [Finding(area="limits", name="supervisor", there=False, detail=str(error))]
    looked_for = (
        (
            "control group",
            "cgroup" in methods,
            "CPU time of a whole process tree, exactly",
            "none can be made: CPU time is sampled and may miss children nobody waits for; "
            f"{REMEDY}",
        ),
        (
            "memory limit",
            True,
            "by the kernel (control group)"
            if "memory" in methods
            else "by looking every 10 ms: resident size, /dev/shm and memory files; a run may "
            f"overshoot meanwhile; for a limit by the kernel {REMEDY}",
            "",
        ),
        (
            "number of processes",
            "processes" in methods,
            f"at most {PROCESSES:,} a run",
            f"not limited: a fork bomb fills the machine until its run is over; {REMEDY}",
        ),
        (
            "PID namespace",
            "namespace" in methods,
            "no process of a run outlives it",
            "none can be made: a process that detaches itself may outlive a killed supervisor",
        ),
        (
            "process numbers",
            "pids" in methods,
            "no two concurrent runs share one",
            "shared: files named after $$ may collide; set own_folder = true in [target]",
        ),
        (
            "private /tmp and /dev/shm",
            "tmp" in methods,
            "every run has its own",
            "shared by all runs: allow user namespaces (sysctl user.max_user_namespaces), or start "
            "as root",
        ),
        (
            "child subreaper",
            _subreaper(),
            "processes that leave their parent are still found",
            "needs Linux",
        ),
        (
            "process clocks",
            _clock_of_process(),
            "CPU time of a running process in nanoseconds",
            "only ticks of 10 ms",
        ),
    )
    return [
        Finding(area="limits", name=name, there=active, detail=good if active else bad)
        for name, active, good, bad in looked_for
    ]


def _solvers() -> list[Finding]:
    findings = []
    for name, (program, distribution) in SOLVERS.items():
        # A program on PATH goes before the one of a package.
        path, version = shutil.which(program), _version(distribution)
        detail = path or f"neither {program} on PATH nor the package {distribution}"
        if version and not path:
            detail = f"in the package {distribution} {version}"
        available = bool(path or version)
        findings.append(Finding(area="solvers", name=name, there=available, detail=detail))
    return findings


def _extras() -> list[Finding]:
    findings = []
    for extra, distributions in EXTRAS.items():
        versions = {name: _version(name) for name in distributions}
        missing = [name for name, version in versions.items() if version is None]
        detail = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
        if missing:
            detail = f"not installed: {', '.join(missing)}"
        findings.append(Finding(area="extras", name=extra, there=not missing, detail=detail))
    return findings


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _subreaper() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    answer = ctypes.c_int()
    return bool(
        ctypes.CDLL(None, use_errno=True).prctl(
            PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0
        )
        == 0
    )


def _clock_of_process() -> bool:
    try:
        # The clock of a process by its number, as the kernel has it.
        time.clock_gettime((~os.getpid() << 3) | 2)
    except (OSError, AttributeError):
        return False
    return True
