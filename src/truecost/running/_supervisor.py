"""The process that runs solvers for one slot, one after the other, and outlives none of them.

Started by `execute` as a script, with nothing of truecost but `_processes`, so that it is small and
forks fast. Two processes: a guardian, and its child, the worker, which reads requests from standard
input and answers on standard output. Where the kernel lets us, the worker is the first process of a
PID namespace of its own: then the kernel kills every process of a run, whatever it did to get away,
the moment the worker is gone; and the worker goes with the guardian. Elsewhere worker and guardian
are child subreapers and look after each other: whichever is killed, the other kills what is left of
the run.

A request is a line of JSON; the answer is a line of JSON and the bytes of stdout and stderr, as
many as the line says.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import select
import signal
import stat
import sys
import time

TYPE_CHECKING = False  # typing itself takes longer to load than a run
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from truecost.running import _isolation as isolation
    from truecost.running import _processes as processes
    from truecost.running._output import Captured, kept_files
    from truecost.running._processes import Group, Reaped, libc
    from truecost.running._warm import WarmProcess
else:
    sys.path.append(os.path.dirname(__file__))  # which -I leaves out
    import _isolation as isolation
    import _processes as processes
    from _output import Captured, kept_files
    from _processes import Group, Reaped, libc
    from _warm import WarmProcess

PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUSER, CLONE_NEWPID = 0x10000000, 0x20000000
F_SETPIPE_SZ = 1031
# Seconds between looks at a run: the CPU limit is met this sharply, and memory overshoots by what
# is touched meanwhile.
OFTEN, SELDOM = 0.01, 0.05
# How the names begin of the folders that hold scratch folders; with the machine's, since a disk may
# be shared.
SCRATCH = f"truecost-scratch-{os.uname().nodename}-"


def main() -> None:
    """Guard the worker."""
    options = json.loads(sys.argv[1])
    if options["cores"]:
        os.sched_setaffinity(0, options["cores"])
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    group = processes.make_group(options["group"]) if options["group"] else None
    sweep(options["temporary"])
    base = make_base(options["temporary"])
    try:
        if options["namespace"] and not unshare():
            refuse(f"no PID namespace can be made: {os.strerror(ctypes.get_errno())}")
        guardian = os.getpid()
        worker = os.fork()
        if worker == 0:
            work(options, group, guardian, base)
        # The worker must see the end of the requests, and the reader the end of the answers, though
        # the guardian lives on.
        os.close(0)
        os.close(1)
        os.waitpid(worker, 0)
        if not options["namespace"]:
            processes.kill_until_gone(processes.descendants)
    finally:
        isolation.remove(base)
        if group:
            with contextlib.suppress(OSError):
                os.rmdir(group)


def make_base(parent: str) -> str:
    """A folder for the scratch folders of runs, held as long as guardian or worker live: so a stale
    one is told.
    """
    while True:
        # Loading tempfile would be a sixth of the time that a supervisor takes to start.
        base = f"{parent}/{SCRATCH}{os.urandom(8).hex()}"
        os.mkdir(base, 0o700)
        hold(base)
        # Before it was held, somebody who sweeps may have taken it for stale.
        if os.path.exists(base):
            return base


def hold(base: str) -> None:
    """Lock a folder until the last process that has it open is gone; without a lock, nobody can
    find it stale either.
    """
    with contextlib.suppress(OSError):
        fcntl.flock(os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW), fcntl.LOCK_EX)


def sweep(parent: str) -> None:
    """Remove this machine's folders whose supervisors were killed before they could: nobody holds
    them.
    """
    for name in os.listdir(parent):
        if not name.startswith(SCRATCH):
            continue
        path = f"{parent}/{name}"
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    isolation.remove(path)
            finally:
                os.close(handle)


def unshare() -> bool:
    """Let the next child begin a PID namespace; without root, inside a user namespace."""
    user, users = os.getuid(), os.getgid()
    spaces = CLONE_NEWPID | isolation.CLONE_NEWNS
    if libc.unshare(spaces) == 0:
        return True
    if libc.unshare(CLONE_NEWUSER | spaces) != 0:
        return False
    try:
        for name, text in [
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{users} {users} 1"),
        ]:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    except OSError as error:
        ctypes.set_errno(error.errno or 0)
        return False
    return True


def refuse(problem: str) -> NoReturn:
    """Say why there is no worker, and end."""
    answer({"problem": problem})
    sys.exit(1)


def answer(header: dict[str, Any], *contents: bytes) -> None:
    """Write an answer."""
    header["sizes"] = [len(content) for content in contents]
    data = memoryview(json.dumps(header).encode() + b"\n" + b"".join(contents))
    while data:
        data = data[os.write(1, data) :]


def work(options: dict[str, Any], group: str | None, guardian: int, base: str) -> NoReturn:
    """Answer requests until there are no more."""
    try:
        namespace = options["namespace"]
        numbers = None
        if namespace:
            libc.prctl(processes.PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            # /proc must show the namespace, as a solver that looks itself up there by its number
            # expects.
            try:
                isolation.mount("none", "/", None, isolation.MS_REC | isolation.MS_SLAVE, None)
                isolation.mount("proc", "/proc", b"proc", 0, None)
            except OSError as error:
                refuse(f"/proc cannot be mounted in a PID namespace: {error.strerror}")
            guardian = 0
            # Every namespace would count from 2, and a name made of $$ be another run's as well.
            numbers = isolation.claim_numbers()
            if numbers is not None and not isolation.renumber(numbers):
                numbers = None
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        tree = Group(group, namespace) if group else Reaped(namespace)
        private = isolation.private_folders(base) if options["private"] else None
        slot = Slot(tree, guardian, base, numbers, private)
        active = {
            "namespace": namespace,
            "pids": numbers is not None or not namespace,
            "tmp": private is not None,
            "memory": tree.limits_memory,
            "processes": tree.limits_processes,
        }
        words = ["cgroup" if group else "subreaper", *(name for name, on in active.items() if on)]
        answer({"method": "+".join(words), "folder": base})
        waiting = b""
        while True:
            while b"\n" not in waiting:
                part = os.read(0, 1 << 20)
                if not part:
                    os._exit(0)
                waiting += part
            line, _, waiting = waiting.partition(b"\n")
            answer(*slot.run(json.loads(line)))
    except BrokenPipeError:
        os._exit(0)
    except SystemExit:
        os._exit(1)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(3)


class Slot:
    """Where runs are made: how their processes are known, and what keeps them apart from others.

    `numbers` is the range of process numbers of this slot; `private` are the folders that runs have
    for themselves, None where they have none.
    """

    def __init__(
        self,
        tree: Group | Reaped,
        guardian: int,
        base: str,
        numbers: tuple[int, int] | None,
        private: isolation.PrivateFolders | None,
    ) -> None:
        self.tree, self.guardian, self.base = tree, guardian, base
        self.numbers, self.private = numbers, private
        # What of a run is kept in memory without being any process's.
        self.in_memory = private.kept_in_memory if private else []
        self.warm: WarmProcess | None = None

    def run(self, request: dict[str, Any]) -> tuple[Any, ...]:
        """One run: start it, watch it, and see it dead."""
        scratch = f"{self.base}/run"
        try:
            os.mkdir(scratch, 0o700)
            if self.numbers is not None:
                isolation.renumber(self.numbers)
            request["environment"] = {**os.environ, **request["environment"], "TMPDIR": scratch}
            request["arguments"] = [
                argument.replace(request["scratch"], scratch) for argument in request["arguments"]
            ]
            if request["own_folder"]:
                request["folder"] = f"{scratch}/work"
                os.mkdir(request["folder"])
            if self.private is not None:
                self.private.prepare(request["folder"], request["memory"])
            capture: dict[int, Captured] = {}
            ends: dict[str, int] = {}
            for name in ("stdout", "stderr"):
                reading, ends[name] = os.pipe()
                os.set_blocking(reading, False)
                with contextlib.suppress(OSError):
                    fcntl.fcntl(reading, F_SETPIPE_SZ, 1 << 20)
                capture[reading] = Captured(
                    request["output"] if name == "stdout" else min(request["output"], 1 << 16)
                )
            failed, failing = os.pipe()
            self.tree.begin(request["memory"])
            child = self.forked(request, ends) if request["warm"] else None
            started = time.monotonic()
            if child is None:
                child = os.fork()
            if child == 0:
                self.start(request, ends, failing)
            for end in [*ends.values(), failing]:
                os.close(end)
            try:
                number = os.read(failed, 16)
                if number:
                    os.waitpid(child, 0)
                    return ({"problem": os.strerror(int(number)), "errno": int(number)},)
                usage, *contents = watch(request, self, child, started, capture)
                files = kept_files(request, scratch)
                return {"usage": usage, "files": [*files]}, *contents, *files.values()
            finally:
                os.close(failed)
                for reading in capture:
                    os.close(reading)
        except OSError as error:
            if not os.path.isdir(self.base):
                # Taken away with a guardian that was killed: the run is made again elsewhere.
                raise
            # No room for a folder of the run, for instance.
            return ({"problem": f"{error.filename or self.base}: {error.strerror}"},)
        finally:
            tidy(self.base)

    def forked(self, request: dict[str, Any], ends: dict[str, int]) -> int | None:
        """The process number of a run forked from a loaded target; None where that cannot be."""
        place = None if self.private is None else self.private.number
        if self.warm is None or not self.warm.fits(request["arguments"], place):
            if self.warm is not None:
                self.warm.end()
            self.warm = WarmProcess(request["arguments"], request["environment"], place)
            self.tree.spared = self.warm.pid
            self.tree.begin(request["memory"])
        if not self.warm.ready:
            return None
        group = self.tree.processes if isinstance(self.tree, Group) else None
        return self.warm.start(request, [*ends.values()], group)

    def start(self, request: dict[str, Any], ends: dict[str, int], failing: int) -> NoReturn:
        """Become the target; what fails on the way is told through `failing`, which closes itself
        when all went well.
        """
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(ends["stdout"], 1)
            os.dup2(ends["stderr"], 2)
            processes.behave()
            arguments, environment = request["arguments"], request["environment"]
            os.chdir(request["folder"])
            self.tree.enter()
            # That no shell is involved is the point.
            os.execvpe(arguments[0], arguments, environment)  # noqa: S606
        except OSError as error:
            os.write(failing, str(error.errno).encode())
        except BaseException:
            os.write(failing, str(errno.EINVAL).encode())
        finally:
            os._exit(127)

    def used(self, thorough: bool) -> tuple[float, int]:
        """CPU seconds so far, and bytes of memory now."""
        cpu, memory = self.tree.measure()
        return cpu, memory + isolation.shared_memory(self.tree.pids(), self.in_memory, thorough)


def watch(
    request: dict[str, Any],
    slot: Slot,
    child: int,
    started: float,
    capture: dict[int, Captured],
) -> tuple[Any, ...]:
    """Wait for the end of the run or of what it may use up."""
    tree, guardian = slot.tree, slot.guardian
    limits = {name: request[name] for name in ("cpu", "wall", "memory")}
    poll = select.poll()
    for reading in capture:
        poll.register(reading, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLRDHUP)
    ended = os.pidfd_open(child)
    poll.register(ended, select.POLLIN)
    peak, stopping, orphaned = 0, 0.0, False
    exceeded: str | None = None
    code: int | None = None
    step = 0.002
    look = started + step
    while True:
        for handle, event in poll.poll(max(0.0, look - time.monotonic()) * 1000):
            if handle in capture:
                if not capture[handle].read(handle):
                    poll.unregister(handle)
            elif handle == 0 and event & (select.POLLHUP | select.POLLRDHUP | select.POLLERR):
                orphaned = True
        code = tree.reap(child)
        if orphaned or (guardian and os.getppid() != guardian):
            tree.kill()
            os._exit(0)
        now = time.monotonic()
        if code is not None:
            break
        if now < look:
            continue
        cpu, memory = slot.used(limits["memory"] is not None)
        peak = max(peak, memory)
        used = {"cpu": cpu, "wall": now - started, "memory": memory}
        left = {name: limit - used[name] for name, limit in limits.items() if limit is not None}
        if exceeded is None:
            exceeded = next((name for name in left if left[name] < 0), None)
            if exceeded is not None:
                stopping = now + request["grace"]
                if request["grace"]:
                    processes.send(signal.SIGTERM, tree.pids())
        if exceeded is not None and now >= stopping:
            break
        soon = min((left[name] for name in left if name != "memory"), default=SELDOM)
        step = min(2 * step, OFTEN if limits["memory"] is not None else SELDOM)
        look = now + (min(step, max(soon, 0.001)) if exceeded is None else 0.002)
    wall = time.monotonic() - started
    # The usage of what is about to be killed: without a control group it is known now or never.
    cpu, memory = slot.used(limits["memory"] is not None)
    code = tree.kill(child, code)
    cpu = max(cpu, tree.measure()[0])
    os.close(ended)
    for reading, captured in capture.items():
        captured.drain(reading)
    if exceeded is None and tree.out_of_memory():
        exceeded, memory = "memory", limits["memory"] or memory
    if exceeded is None and limits["cpu"] is not None and cpu > limits["cpu"]:
        exceeded = "cpu"
    usage = {
        "exceeded": exceeded,
        "exit_code": code,
        "cpu": cpu,
        "wall": wall,
        "memory": max(peak, memory),
        # Of standard output, which has the answer.
        "dropped": next(iter(capture.values())).dropped,
    }
    return (usage, *(captured.content() for captured in capture.values()))


def tidy(base: str) -> None:
    """Remove what a run left in its scratch folder, in that folder's place, and around it."""
    with contextlib.suppress(OSError):
        # The run may have put a link there, which must never be followed.
        if stat.S_ISDIR(os.lstat(base).st_mode):
            os.chmod(base, 0o700)
            for name in os.listdir(base):
                if name != isolation.LAYERS:
                    isolation.remove(f"{base}/{name}")
            if set(os.listdir(base)) <= {isolation.LAYERS}:
                return
    isolation.remove(base)
    os.mkdir(base, 0o700)
    hold(base)


if __name__ == "__main__":
    main()
