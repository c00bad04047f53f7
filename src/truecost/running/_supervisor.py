"""The process that runs solvers for one slot, one after the other, and outlives none of them.

Started by `slots` as a script, without truecost, so that it is small and forks fast. Requests come
by standard input, the first with cores and the folder for temporary files, and answers go to
standard output, all as dictionaries that `marshal` writes. Orphans of a run become its children (it
is a child subreaper), so it finds and kills everything that a run started. It ends when its
standard input is closed; if it is killed instead, the mark of its runs tells others what to kill.
"""

from __future__ import annotations

import contextlib
import fcntl
import marshal
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # importing typing takes longer than a run
if TYPE_CHECKING:
    from typing import Any

    from truecost.running import _folders as folders
    from truecost.running import _processes as processes
    from truecost.running._forkserver import ForkServer
else:
    sys.path.append(os.path.dirname(__file__))  # which -I leaves out
    import _folders as folders
    import _processes as processes

F_SETPIPE_SZ = 1031
# Of the name of a supervisor's folder, before its mark.
PREFIX = "truecost-runs-"
# Seconds between looks at a run. The first is for runs with a memory limit, which overshoot by what
# is touched between two looks.
OFTEN, SELDOM = 0.01, 0.05
# Bytes of standard error that are kept.
ERRORS = 1 << 16
MB = 1_000_000


def main() -> None:
    """Answer requests until there are no more."""
    requests = sys.stdin.buffer
    options = marshal.load(requests)
    if options["cores"]:
        os.sched_setaffinity(0, options["cores"])
    # The parent of truecost may ignore SIGCHLD or block signals.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    # Batch systems send SIGTERM first: then there is time to tidy up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    processes.adopt_orphans()
    try:
        os.stat(f"/proc/self/task/{os.getpid()}/children")  # a kernel may lack it
        processes.kill_marked()
        sweep(options["temporary"])
        runner = Runner(options["temporary"])
    except OSError as error:
        answer({"problem": f"{error.filename}: {error.strerror}"})
        return
    try:
        answer({"folder": runner.base})
        while True:
            answer(runner.run(marshal.load(requests)))
    except (EOFError, BrokenPipeError):
        pass
    finally:
        runner.close()


def sweep(parent: str) -> None:
    """Remove the folders of supervisors that were killed."""
    for name in os.listdir(parent):
        path, mark = f"{parent}/{name}", name.removeprefix(PREFIX)
        with contextlib.suppress(OSError):
            if name != mark and os.lstat(path).st_uid == os.getuid() and processes.is_dead(mark):
                folders.remove(path)


def answer(content: dict[str, Any]) -> None:
    """Write an answer."""
    data = memoryview(marshal.dumps(content))
    while data:
        data = data[os.write(1, data) :]


class Output:
    """The beginning and the end of an output, `most` bytes at most, of `size` in all."""

    def __init__(self, most: int) -> None:
        self.half, self.kept, self.size = most // 2, bytearray(), 0

    def read(self, handle: int) -> int:
        """Read what is there, 0 bytes at its end; -1 if there is nothing yet."""
        try:
            part = os.read(handle, 1 << 20)
        except BlockingIOError:
            return -1
        self.size += len(part)
        self.kept += part
        if len(self.kept) > 4 * self.half + (1 << 20):
            self.cut()
        return len(part)

    def cut(self) -> None:
        """Drop the middle."""
        if len(self.kept) > 2 * self.half:
            del self.kept[self.half : len(self.kept) - self.half]


class Runner:
    """Where runs are made: their processes, and the folder that their scratch folders are in."""

    def __init__(self, parent: str) -> None:
        self.mark, self.tree = processes.own_mark(), processes.Tree()
        self.base = f"{parent}/{PREFIX}{self.mark}"
        os.mkdir(self.base, 0o700)
        self.in_memory = folders.is_in_memory(self.base)
        # The size of the run's files in memory, and when to look again.
        self.files, self.look_again = 0, 0.0
        self.servers: dict[tuple[str, ...], ForkServer] = {}

    def close(self) -> None:
        """Kill what runs, and remove the folder."""
        self.tree.spared.clear()
        self.tree.kill()
        folders.remove(self.base)

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make a run: start it, watch it, and see it dead."""
        scratch = f"{self.base}/run"
        opened: list[int] = []
        try:
            os.mkdir(scratch, 0o700)
            mine = {"TMPDIR": scratch, processes.MARK: self.mark}
            request["environment"] = {**os.environ, **request["environment"], **mine}
            home = request["folder"]
            if request["own_folder"]:
                request["folder"] = f"{scratch}/work"
                os.mkdir(request["folder"])
            outputs: dict[int, Output] = {}
            ends = []
            most = int(request["limits"]["output"] * MB)
            for kept in (most, min(most, ERRORS)):
                reading, end = os.pipe()
                opened += [reading, end]
                os.set_blocking(reading, False)
                with contextlib.suppress(OSError):
                    fcntl.fcntl(reading, F_SETPIPE_SZ, 1 << 20)
                outputs[reading] = Output(kept)
                ends.append(end)
            failed, failing = os.pipe()
            opened += [failed, failing]
            child = self._forked(request, ends, home) if request["function"] else None
            self.tree.begin()
            started = time.monotonic()
            if child is None:
                child = os.fork()
            if child == 0:
                words, folder = request["arguments"], request["folder"]
                processes.become(words, folder, request["environment"], ends, failing)
            for end in (*ends, failing):
                os.close(end)
                opened.remove(end)
            number = os.read(failed, 16)
            if number:
                os.waitpid(child, 0)
                return {"problem": os.strerror(int(number)), "errno": int(number)}
            return self._watch(request, child, started, outputs)
        except OSError as error:
            # No room for the run's folder, for instance.
            self.tree.kill()
            return {"problem": f"{error.filename or self.base}: {error.strerror}"}
        finally:
            for handle in opened:
                os.close(handle)
            folders.tidy(self.base)

    def _forked(self, request: dict[str, Any], ends: list[int], home: str) -> int | None:
        """The process number of a run forked from a loaded function; None where none can be."""
        if not TYPE_CHECKING:
            from _forkserver import ForkServer  # imports socket, which few supervisors need
        words = (*request["arguments"][:-1],)
        server = self.servers.get(words)
        if server is None:
            server = self.servers[words] = ForkServer([*words], request["environment"], home)
            if server.usable:
                # With what it started while it was loaded, which belongs to no run.
                self.tree.spared |= {*processes.descendants()}
        if not server.usable:
            self.tree.kill()
            return None
        child = server.start(request, ends)
        if child is None:
            # A run may have killed it: the next one loads it again.
            server.end()
            self.tree.spared.discard(server.pid)
            self.tree.kill()
            del self.servers[words]
        return child

    def _used(self, limited: bool) -> tuple[float, int, list[int]]:
        """CPU seconds so far, bytes of memory now, and the run's processes."""
        cpu, memory, pids = self.tree.measure()
        if limited:
            began = time.monotonic()
            if self.in_memory and began >= self.look_again:
                self.files = folders.size_of(f"{self.base}/run")
                # With many files this takes long, and CPU limits must not wait for it.
                self.look_again = began + 20 * (time.monotonic() - began)
            memory += processes.unmapped(pids, self.files)
        return cpu, memory, pids

    def _watch(
        self, request: dict[str, Any], child: int, started: float, outputs: dict[int, Output]
    ) -> dict[str, Any]:
        """Wait for the end of the run, or for a limit that it passes."""
        tree = self.tree
        self.files, self.look_again = 0, 0.0
        grace, units = request["limits"]["grace"], {"cpu": 1, "wall": 1, "memory": MB}
        limits = {
            name: request["limits"][name] * unit
            for name, unit in units.items()
            if request["limits"][name] is not None
        }
        limited = "memory" in limits
        # So many CPU seconds may pass in a second.
        cores = len(os.sched_getaffinity(0))
        poll = select.poll()
        for reading in outputs:
            poll.register(reading, select.POLLIN)
        poll.register(0, select.POLLRDHUP)
        ended = os.pidfd_open(child)
        try:
            poll.register(ended, select.POLLIN)
            peak, stopping, step = 0, 0.0, 0.002
            exceeded: str | None = None
            look = started + step
            while True:
                for handle, _ in poll.poll(max(0.0, look - time.monotonic()) * 1000):
                    if handle in outputs and outputs[handle].read(handle) == 0:
                        poll.unregister(handle)
                    if handle == 0:
                        # The client is gone.
                        self.close()
                        os._exit(0)
                code = tree.reap(child)
                now = time.monotonic()
                if code is not None:
                    break
                if now < look:
                    continue
                cpu, memory, pids = self._used(limited)
                peak = max(peak, memory)
                used = {"cpu": cpu, "wall": now - started, "memory": memory}
                left = {name: limit - used[name] for name, limit in limits.items()}
                if exceeded is None:
                    exceeded = next((name for name in left if left[name] < 0), None)
                    if exceeded is not None:
                        stopping = now + grace
                        if grace:
                            processes.send(signal.SIGTERM, pids)
                if exceeded is not None and now >= stopping:
                    break
                soon = min(left.get("cpu", SELDOM) / cores, left.get("wall", SELDOM))
                step = min(2 * step, OFTEN if limited else SELDOM)
                look = now + (min(step, max(soon, 0.001)) if exceeded is None else 0.002)
        finally:
            os.close(ended)
        wall = time.monotonic() - started
        # What is about to be killed is measured now or never.
        cpu, memory, _ = self._used(limited)
        code, unkillable = tree.kill(child, code)
        cpu = max(cpu, tree.measure()[0])
        for reading, output in outputs.items():
            # Its writers are all dead.
            while output.read(reading) > 0:
                pass
            output.cut()
        if exceeded is None and cpu > limits.get("cpu", cpu):
            exceeded = "cpu"
        stdout, stderr = outputs.values()
        return {
            "exceeded": exceeded,
            "exit_code": code,
            "cpu": cpu,
            "wall": wall,
            "memory": max(peak, memory),
            "stdout": bytes(stdout.kept),
            "stderr": bytes(stderr.kept),
            "dropped": stdout.size - len(stdout.kept),
            "unkillable": unkillable,
        }


if __name__ == "__main__":
    main()
