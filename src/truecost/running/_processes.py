"""The processes of a run: who they are, what they use, and how all of them are ended. Part of the
supervisor's script.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import time

TYPE_CHECKING = False  # importing typing takes longer than a run
if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = 1 / os.sysconf("SC_CLK_TCK")
# Seconds that killed processes get to be gone; they may hang in the kernel, on a network file
# system for instance.
PATIENCE = 20.0
# Carried by all processes of a run in their environment.
MARK = "TRUECOST_RUN"

libc = ctypes.CDLL(None, use_errno=True)


def mark_of(pid: int) -> str:
    """The mark of a supervisor's runs: where it lives, its process number and when it started."""
    return f"{_home()} {pid} {_start_of(pid)}"


def _home() -> str:
    """The host, its boot, and the PID namespace in which process numbers have a meaning."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    return f"{os.uname().nodename} {boot} {os.stat('/proc/self/ns/pid').st_ino}"


def _start_of(pid: int) -> str:
    """When a process started, in ticks since boot; empty if it is gone or a zombie."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
        if fields and fields[0] not in (b"Z", b"X"):
            return fields[19].decode()
    return ""


def kill_marked(mark: str | None = None) -> None:
    """Kill what carries this mark, or the mark of any supervisor of this host that is dead."""
    home = f"{_home()} "
    prefix = f"\0{MARK}=".encode()
    until = time.monotonic() + PATIENCE
    alive: dict[str, bool] = {}
    while time.monotonic() < until:
        killed = False
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/environ", "rb") as file:
                    text = (b"\0" + file.read()).partition(prefix)[2]
                carried = text.partition(b"\0")[0].decode("utf-8", "replace")
                if not carried.startswith(home):
                    continue
                if mark is None and carried not in alive:
                    pid, _, start = carried.removeprefix(home).partition(" ")
                    alive[carried] = pid.isdigit() and _start_of(int(pid)) == start
                if carried == mark if mark is not None else not alive[carried]:
                    os.kill(int(name), signal.SIGKILL)
                    killed = True
        if not killed:
            return
        time.sleep(0.001)


def behave() -> None:
    """Restore the signals that Python ignores, and leave no core dump: before a target starts."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parents end."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Tree:
    """A run's processes, known by descent; their CPU time is what wait4 tells when they end.

    A process whose parent ignores SIGCHLD is waited for by nobody: its CPU time counts as far as
    it was sampled while it lived.
    """

    def __init__(self) -> None:
        # Processes below this one that do not belong to the run.
        self.spared: set[int] = set()
        self.begin()

    def begin(self) -> None:
        """Begin a new run."""
        self.waited = self.most = 0.0
        self.seen: dict[tuple[int, bytes], float] = {}

    def pids(self) -> list[int]:
        """The processes of the run."""
        return [pid for pid in descendants() if pid not in self.spared]

    def measure(self) -> tuple[float, int, list[int]]:
        """CPU seconds so far, bytes resident now, and the processes."""
        running, memory = 0.0, 0
        pids = self.pids()
        for pid in pids:
            try:
                seconds = time.clock_gettime(clock(pid))
                with open(f"/proc/{pid}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                pages = int(fields[21])
                # Ended, unless only its first thread has.
                if fields[0] == b"Z" and int(fields[17]) < 2:
                    continue
                # Its own time, and that of children that it waited for.
                running += seconds + (int(fields[13]) + int(fields[14])) * TICK
                self.seen[pid, fields[19]] = seconds
                memory += pages * PAGE
            except (OSError, IndexError):
                continue
        self.most = max(self.most, self.waited + running, sum(self.seen.values()))
        return self.most, memory, pids

    def reap(self, child: int | None) -> int | None:
        """Wait for processes that have ended; the child's exit code, if it was among them."""
        code = None
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid in self.spared:
                    self.spared.remove(pid)
                    continue
                self.waited += usage.ru_utime + usage.ru_stime
                if pid == child:
                    code = os.waitstatus_to_exitcode(status)
        return code

    def kill(self, child: int | None = None, code: int | None = None) -> tuple[int, int]:
        """End all of them; the child's exit code, and how many could not be killed.

        Those are left out of later runs, and the run that started them keeps what was measured.
        """

        def rest() -> bool:
            nonlocal code
            code = ended if (ended := self.reap(child)) is not None else code
            return child is None or code is not None

        left = kill_until_gone(self._children, self.pids, rest)
        self.spared |= {*left}
        return -signal.SIGKILL if code is None else code, len(left)

    def _children(self) -> list[int]:
        return [pid for pid in children_of(os.getpid()) if pid not in self.spared]


def kill_until_gone(
    children: Callable[[], list[int]],
    everybody: Callable[[], list[int]],
    rest: Callable[[], bool],
) -> list[int]:
    """Kill until nobody is left and `rest` is satisfied; return who could not be killed."""
    until = time.monotonic() + PATIENCE
    known: set[int] = set()
    while True:
        # Orphans become our children, so that killing these is enough, and faster than a storm of
        # forks. Twice, since the kernel's list of children may miss one while another is reaped.
        left = children() or children()
        if known.issuperset(left):
            left = left and everybody()
        send(signal.SIGKILL, left)
        done = rest()
        if not left and done:
            return []
        if time.monotonic() > until:
            return left
        if known.issuperset(left):
            time.sleep(0.0005)
        known = {*left}


def send(number: int, pids: list[int]) -> None:
    """Send a signal to those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def children_of(pid: int) -> list[int]:
    """The children of a process, of all its threads."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += [int(name) for name in file.read().split()]
    return found


def descendants() -> list[int]:
    """All processes below this one."""
    below, waiting = [], [os.getpid()]
    while waiting:
        children = children_of(waiting.pop())
        below += children
        waiting += children
    return below


def clock(pid: int) -> int:
    """The clock of a process's CPU time."""
    return (~pid << 3) | 2


def unmapped(pids: list[int], files: int) -> int:
    """Bytes of so many in files in memory that no process has mapped: those are resident anyway."""
    mapped = 0
    for pid in pids if files else ():
        with (
            contextlib.suppress(OSError, ValueError, IndexError),
            open(f"/proc/{pid}/status") as file,
        ):
            mapped += 1024 * int(file.read().split("RssShmem:")[1].split()[0])
    return max(0, files - mapped)
