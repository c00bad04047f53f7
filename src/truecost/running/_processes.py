"""The processes of a run: how they begin, what they use, and how all of them are ended. Part of the
supervisor's script.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import signal
import time

TYPE_CHECKING = False  # importing typing takes longer than a run
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = 1 / os.sysconf("SC_CLK_TCK")
# Seconds that killed processes get to be gone; they may hang in the kernel, on a network file
# system for instance.
PATIENCE = 20.0
# Carries the supervisor's mark in the environment of all processes of a run.
MARK = "TRUECOST_RUN"

libc = ctypes.CDLL(None, use_errno=True)


def own_mark() -> str:
    """The mark of this supervisor: where it lives, its process number, and when it started."""
    return f"{_home()}{os.getpid()}-{_start_of(os.getpid())}"


def _home() -> str:
    """The host, its boot, and the PID namespace in which process numbers have a meaning."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    return f"{os.uname().nodename}-{boot}-{os.stat('/proc/self/ns/pid').st_ino}-"


def _start_of(pid: int) -> str:
    """When a process started, in ticks since boot; empty if it is gone or a zombie."""
    with (
        contextlib.suppress(FileNotFoundError, ProcessLookupError),
        open(f"/proc/{pid}/stat", "rb") as file,
    ):
        fields = file.read().rpartition(b")")[2].split()
        if fields and fields[0] not in (b"Z", b"X"):
            return fields[19].decode()
    return ""


def is_dead(mark: str) -> bool:
    """Whether a supervisor with this mark was here, and is gone."""
    home = _home()
    pid, _, start = mark.removeprefix(home).partition("-")
    return mark.startswith(home) and pid.isdigit() and _start_of(int(pid)) != start


def kill_marked() -> None:
    """Kill the runs of dead supervisors."""
    until = time.monotonic() + PATIENCE
    killed = True
    while killed and time.monotonic() < until:
        killed = False
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if not name.isdigit() or int(name) == os.getpid():
                    continue
                with open(f"/proc/{name}/environ", "rb") as file:
                    rest = (b"\0" + file.read()).partition(f"\0{MARK}=".encode())[2]
                mark = rest.partition(b"\0")[0].decode("utf-8", "replace")
                if mark and is_dead(mark):
                    os.kill(int(name), signal.SIGKILL)
                    killed = True
        time.sleep(0.001 * killed)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parents end."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def become(
    words: list[str],
    folder: str,
    environment: dict[str, str],
    outputs: Sequence[int],
    failing: int,
) -> NoReturn:
    """Become a program that ends with its parent, in a session of its own; what fails on the way is
    written to `failing`, which closes itself if nothing does.
    """
    try:
        # What our own handler raises would pass for a program that cannot start; the others are
        # those that Python ignores.
        for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for place, output in enumerate(outputs, 1):
            os.dup2(output, place)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(folder)
        os.execvpe(words[0], words, environment)  # noqa: S606 - without a shell
    except OSError as error:
        os.write(failing, str(error.errno).encode())
    except BaseException:
        os.write(failing, str(errno.EINVAL).encode())
    finally:
        os._exit(127)


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
                # The process's CPU clock, in nanoseconds.
                seconds = time.clock_gettime((~pid << 3) | 2)
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
        until = time.monotonic() + PATIENCE
        before: set[int] = set()
        while True:
            # Orphans become our children, so that killing these is enough, and faster than a storm
            # of forks. Twice, since the kernel's list of children may miss one while another is
            # reaped.
            left = self._children() or self._children()
            stuck = before.issuperset(left)
            if stuck:
                left = left and self.pids()
            send(signal.SIGKILL, left)
            ended = self.reap(child)
            code = code if ended is None else ended
            if time.monotonic() > until or not (left or (child is not None and code is None)):
                break
            if stuck:
                time.sleep(0.0005)
            before = {*left}
        self.spared |= {*left}
        return -signal.SIGKILL if code is None else code, len(left)

    def _children(self) -> list[int]:
        return [pid for pid in children_of(os.getpid()) if pid not in self.spared]


def send(number: int, pids: list[int]) -> None:
    """Send a signal to those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def children_of(pid: int) -> list[int]:
    """The children of a process, of all its threads."""
    pids = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                pids += [int(name) for name in file.read().split()]
    return pids


def descendants() -> list[int]:
    """All processes below this one."""
    below, waiting = [], [os.getpid()]
    while waiting:
        children = children_of(waiting.pop())
        below += children
        waiting += children
    return below


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
