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

TYPE_CHECKING = False  # typing itself takes longer to load than a run
if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG = 1
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = 1 / os.sysconf("SC_CLK_TCK")
# So long may killed processes take to be gone (they may hang in the kernel, on a network file
# system say).
PATIENCE = 60.0
# What a run may have of processes and threads, where the kernel counts them.
PROCESSES = 4096

libc = ctypes.CDLL(None, use_errno=True)


def make_group(parent: str) -> str | None:
    """A control group below this one; None where there can be none."""
    with contextlib.suppress(OSError):
        for name in os.listdir(parent):
            # Left by a guardian that was killed.
            if name.startswith("truecost-") and not os.path.exists("/proc/" + name.split("-")[1]):
                with contextlib.suppress(OSError):
                    os.rmdir(f"{parent}/{name}")
        group = f"{parent}/truecost-{os.getpid()}"
        os.mkdir(group)
        if joinable(group):
            return group
        os.rmdir(group)
    return None


def joinable(group: str) -> bool:
    """Whether a process may move there, found by moving one, and CPU time is counted there."""
    return os.path.exists(f"{group}/cpu.stat") and works(lambda: join(f"{group}/cgroup.procs"))


def works(attempt: Callable[[], object]) -> bool:
    """Whether something can be done, found by a process of its own that does it."""
    child = os.fork()
    if child == 0:
        try:
            attempt()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def behave() -> None:
    """Find signals as usual, two of which Python ignores, and leave no core dump: before a target
    is started.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def join(processes: str) -> None:
    """Move this process into the group whose list of processes this is."""
    handle = os.open(processes, os.O_WRONLY)
    os.write(handle, b"0")
    os.close(handle)


class Group:
    """A run's processes known by their control group, which counts their CPU time whatever becomes
    of them.
    """

    def __init__(self, group: str, namespace: bool) -> None:
        self.group = group
        self.everybody = everybody_else if namespace else descendants
        self.processes = f"{group}/cgroup.procs"
        self.spared = 0
        self.listing = os.open(self.processes, os.O_RDONLY)
        self.counter = os.open(f"{group}/cpu.stat", os.O_RDONLY)
        self.before, self.kills, self.astray = 0.0, 0, 0.0
        self.limits_memory = self._set("memory.max", "max")
        if self.limits_memory:
            # A run that exceeds the limit ends as a whole, and does not go on in swap.
            self._set("memory.oom.group", "1")
            self._set("memory.swap.max", "0")
        self.limits_processes = self._set("pids.max", str(PROCESSES))

    def _set(self, name: str, value: str) -> bool:
        """Set a limit of the group; whether there is one to be set."""
        path = f"{self.group}/{name}"
        with contextlib.suppress(OSError):
            if os.path.exists(path):
                with open(path, "w") as file:
                    file.write(value)
                return True
        return False

    def begin(self, memory: int | None = None) -> None:
        """Begin a run with this many bytes of memory; earlier usage does not count for it."""
        self.before, self.astray = self.usage(), 0.0
        if self.limits_memory:
            self._set("memory.max", "max" if memory is None else str(memory))
            self.kills = self._memory_kills()

    def _memory_kills(self) -> int:
        """How many processes of the group the kernel ended for want of memory."""
        with open(f"{self.group}/memory.events") as file:
            counts = dict(line.split() for line in file)
        return int(counts.get("oom_kill", 0))

    def out_of_memory(self) -> bool:
        """Whether the kernel ended the run at its memory limit."""
        return self.limits_memory and self._memory_kills() > self.kills

    def usage(self) -> float:
        """CPU seconds of the group since it was made."""
        return int(os.pread(self.counter, 256, 0).split(None, 2)[1]) / 1e6

    def enter(self) -> None:
        """Called in the child."""
        join(self.processes)

    def members(self) -> list[int]:
        """Who is in the group."""
        os.lseek(self.listing, 0, os.SEEK_SET)
        content = b""
        while part := os.read(self.listing, 1 << 16):
            content += part
        return [int(pid) for pid in content.split()]

    def pids(self) -> list[int]:
        """Who belongs to the run: also whoever moved out of the group, as root may."""
        return [*{*self.members(), *self.everybody()} - {self.spared}]

    def measure(self) -> tuple[float, int]:
        """CPU seconds, and bytes resident now."""
        pids = self.pids()
        # The group keeps what a process used before it left, so that this counts twice.
        used = sum(map(cpu_time, {*pids}.difference(self.members())))
        self.astray = max(self.astray, used)
        return self.usage() - self.before + self.astray, sum(map(resident, pids))

    def reap(self, child: int | None) -> int | None:
        """The child's exit code once it ended; others that ended are put to rest."""
        return reap(child)[0]

    def kill(self, child: int | None = None, code: int | None = None) -> int | None:
        """End all of them; the child's exit code."""
        if os.path.exists(f"{self.group}/cgroup.kill"):
            with open(f"{self.group}/cgroup.kill", "w") as file:
                file.write("1")
        return kill_until_gone(self.pids, self.reap, child, code)


class Reaped:
    """A run's processes known by descent, their CPU time by what wait4 tells of each when it ends.

    A process whose parent ignores SIGCHLD is waited for by nobody, and is known only as far as it
    was looked at while it lived.
    """

    def __init__(self, namespace: bool) -> None:
        self.everybody = everybody_else if namespace else descendants
        # A process that is forked for runs and is none itself.
        self.spared = 0
        self.begin()

    def pids(self) -> list[int]:
        """Who belongs to the run."""
        return [pid for pid in self.everybody() if pid != self.spared]

    limits_memory = limits_processes = False

    def out_of_memory(self) -> bool:
        """Whether the kernel ended the run at its memory limit, which it does not know."""
        return False

    def begin(self, memory: int | None = None) -> None:  # noqa: ARG002 - watched, not set
        """A new run."""
        self.waited = 0.0
        self.seen: dict[tuple[int, bytes], float] = {}
        self.most = 0.0

    def enter(self) -> None:
        """Called in the child: without a namespace it at least dies with the worker."""
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def measure(self) -> tuple[float, int]:
        """CPU seconds, and bytes resident now."""
        running, memory = 0.0, 0
        for pid in self.pids():
            try:
                seconds = time.clock_gettime(clock(pid))
                with open(f"/proc/{pid}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except (OSError, IndexError):
                continue
            if fields[0] == b"Z":
                continue
            running += seconds + (int(fields[13]) + int(fields[14])) * TICK
            self.seen[pid, fields[19]] = seconds
            memory += int(fields[21]) * PAGE
        self.most = max(self.most, self.waited + running, sum(self.seen.values()))
        return self.most, memory

    def reap(self, child: int | None) -> int | None:
        """The child's exit code once it ended; others that ended are put to rest."""
        code, used = reap(child)
        self.waited += used
        return code

    def kill(self, child: int | None = None, code: int | None = None) -> int | None:
        """End all of them; the child's exit code."""
        if self.everybody is everybody_else and not self.spared:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        return kill_until_gone(self.pids, self.reap, child, code)


def reap(child: int | None) -> tuple[int | None, float]:
    """Put to rest whoever ended: the child's exit code, if it was among them, and the CPU seconds
    of all of them.
    """
    code, used = None, 0.0
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                break
            used += usage.ru_utime + usage.ru_stime
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
    return code, used


def send(number: int, pids: list[int]) -> None:
    """A signal to whoever of them is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def kill_until_gone(
    pids: Callable[[], list[int]],
    rest: Callable[[int | None], int | None] = lambda child: reap(child)[0],
    child: int | None = None,
    code: int | None = None,
) -> int | None:
    """Kill, and wait until nobody is left; the child's exit code, where one is waited for."""
    until = time.monotonic() + PATIENCE
    while True:
        # Twice: the kernel's list of children may miss one while another is put to rest.
        left = pids() or pids()
        send(signal.SIGKILL, left)
        code = ended if (ended := rest(child)) is not None else code
        if not left and (child is None or code is not None):
            return code
        if time.monotonic() > until:
            raise TimeoutError(f"processes {left} cannot be killed")
        time.sleep(0.0005)


def everybody_else() -> list[int]:
    """All processes of this PID namespace but its first."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def descendants() -> list[int]:
    """All processes that descend from this one."""
    below, waiting = [], [os.getpid()]
    while waiting:
        pid = waiting.pop()
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                    children = [int(name) for name in file.read().split()]
                below += children
                waiting += children
        except OSError:
            continue
    return below


def clock(pid: int) -> int:
    """The clock of a process's CPU time."""
    return (~pid << 3) | 2


def cpu_time(pid: int) -> float:
    """CPU seconds of a process; none once it has ended, waited for or not."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        if file.read().rpartition(b")")[2].split()[0] != b"Z":
            return time.clock_gettime(clock(pid))
    return 0.0


def resident(pid: int) -> int:
    """Bytes of a process that are in memory; none once it has ended."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split(None, 2)[1]) * PAGE
    except (OSError, IndexError):
        return 0
