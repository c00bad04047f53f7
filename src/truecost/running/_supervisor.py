"""The process that runs solvers for one slot, one after the other, and outlives none of them.

Started by `slots` as a script, without truecost, so that it is small and forks fast. It reads
requests from standard input, each a line of JSON; an answer is a line of JSON and the bytes of
stdout and stderr, as many as the line says. Orphans of a run become its children (it is a child
subreaper), so it finds and kills everything that a run started. It ends when its standard input
is closed; if it is killed instead, the run's mark tells others what to kill.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # importing typing takes longer than a run
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from truecost.running import _folders as folders
    from truecost.running import _processes as processes
    from truecost.running._loaded import Loaded
else:
    sys.path.append(os.path.dirname(__file__))  # which -I leaves out
    import _folders as folders
    import _processes as processes

F_SETPIPE_SZ = 1031
# Seconds between looks at a run. The first is for runs with a memory limit, which overshoot by what
# is touched between two looks.
OFTEN, SELDOM = 0.01, 0.05
# Bytes of standard error that are kept.
ERRORS = 1 << 16


def main() -> None:
    """Answer requests until there are no more."""
    options = json.loads(sys.argv[1])
    if options["cores"]:
        os.sched_setaffinity(0, options["cores"])
    # Batch systems send SIGTERM first: then there is time to tidy up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    processes.adopt_orphans()
    try:
        os.stat(f"/proc/self/task/{os.getpid()}/children")  # a kernel may lack it
        processes.kill_marked()
        folders.sweep(options["temporary"])
        slot = Slot(folders.make_base(options["temporary"]))
    except OSError as error:
        answer({"problem": f"{error.filename}: {error.strerror}"})
        return
    try:
        answer({"folder": slot.base, "mark": slot.mark})
        waiting = b""
        while True:
            while b"\n" not in waiting:
                part = os.read(0, 1 << 20)
                if not part:
                    return
                waiting += part
            line, _, waiting = waiting.partition(b"\n")
            answer(*slot.run(json.loads(line)))
    except BrokenPipeError:
        pass
    finally:
        slot.close()


def answer(header: dict[str, Any], *contents: bytes) -> None:
    """Write an answer."""
    header["sizes"] = [len(content) for content in contents]
    data = memoryview(json.dumps(header).encode() + b"\n" + b"".join(contents))
    while data:
        data = data[os.write(1, data) :]


class Captured:
    """The beginning and the end of an output, `most` bytes at most."""

    def __init__(self, most: int) -> None:
        self.half = most // 2
        self.head, self.tail, self.size = bytearray(), bytearray(), 0

    def read(self, handle: int) -> bool:
        """Read what is there; whether more may come."""
        try:
            part = os.read(handle, 1 << 20)
        except BlockingIOError:
            return True
        self.size += len(part)
        fits = self.half - len(self.head)
        self.head += part[: max(fits, 0)]
        self.tail += part[max(fits, 0) :]
        if len(self.tail) > 2 * self.half + (1 << 20):
            del self.tail[: len(self.tail) - self.half]
        return bool(part)

    def drain(self, handle: int) -> None:
        """Read the rest, from writers that are all dead."""
        before = -1
        while self.size != before:
            before = self.size
            self.read(handle)

    @property
    def dropped(self) -> int:
        """How many bytes of the middle were dropped."""
        return self.size - len(self.head) - min(len(self.tail), self.half)

    def content(self) -> bytes:
        """The bytes that are kept."""
        return bytes(self.head + self.tail[max(0, len(self.tail) - self.half) :])


class Slot:
    """Where runs are made: their processes, and the folder that their scratch folders are in."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.mark = processes.mark_of(os.getpid())
        self.tree = processes.Tree()
        self.in_memory = folders.is_in_memory(base)
        # The size of the run's files in memory, and when to look again.
        self.files, self.look_again = 0, 0.0
        self.loaded: dict[tuple[str, ...], Loaded] = {}

    def close(self) -> None:
        """Kill what runs, and remove the folder."""
        self.tree.spared.clear()
        self.tree.kill()
        folders.remove(self.base)

    def run(self, request: dict[str, Any]) -> tuple[Any, ...]:
        """Make a run: start it, watch it, and see it dead."""
        scratch = f"{self.base}/run"
        opened: list[int] = []
        try:
            os.mkdir(scratch, 0o700)
            mine = {"TMPDIR": scratch, processes.MARK: self.mark}
            request["environment"] = {**os.environ, **request["environment"], **mine}
            request["arguments"] = [
                argument.replace(request["scratch"], scratch) for argument in request["arguments"]
            ]
            home = request["folder"]
            if request["own_folder"]:
                request["folder"] = f"{scratch}/work"
                os.mkdir(request["folder"])
            capture: dict[int, Captured] = {}
            ends = []
            for most in (request["output"], min(request["output"], ERRORS)):
                reading, end = os.pipe()
                opened += [reading, end]
                os.set_blocking(reading, False)
                with contextlib.suppress(OSError):
                    fcntl.fcntl(reading, F_SETPIPE_SZ, 1 << 20)
                capture[reading] = Captured(most)
                ends.append(end)
            failed, failing = os.pipe()
            opened += [failed, failing]
            child = self._forked(request, ends, home) if request["loaded"] else None
            self.tree.begin()
            started = time.monotonic()
            if child is None:
                child = os.fork()
            if child == 0:
                start(request, ends, failing)
            for end in (*ends, failing):
                os.close(end)
                opened.remove(end)
            number = os.read(failed, 16)
            if number:
                os.waitpid(child, 0)
                return ({"problem": os.strerror(int(number)), "errno": int(number)},)
            usage, *contents = self._watch(request, child, started, capture)
            return {"usage": usage}, *contents
        except OSError as error:
            # No room for the run's folder, for instance.
            self.tree.kill()
            return ({"problem": f"{error.filename or self.base}: {error.strerror}"},)
        finally:
            for handle in opened:
                os.close(handle)
            folders.tidy(self.base)

    def _forked(self, request: dict[str, Any], ends: list[int], home: str) -> int | None:
        """The process number of a run forked from a loaded function; None where none can be."""
        if not TYPE_CHECKING:
            from _loaded import Loaded  # imports socket, which few supervisors need
        words = (*request["arguments"][:-1],)
        loaded = self.loaded.get(words)
        if loaded is None:
            loaded = self.loaded[words] = Loaded([*words], request["environment"], home)
            if loaded.usable:
                # With what it started while it was loaded, which belongs to no run.
                self.tree.spared |= {*processes.descendants()}
        if not loaded.usable:
            self.tree.kill()
            return None
        child = loaded.start(request, ends)
        if child is None:
            # A run may have killed it: the next one loads it again.
            loaded.end()
            self.tree.spared.discard(loaded.pid)
            self.tree.kill()
            del self.loaded[words]
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
        self, request: dict[str, Any], child: int, started: float, capture: dict[int, Captured]
    ) -> tuple[Any, ...]:
        """Wait for the end of the run, or for a limit that it passes."""
        tree = self.tree
        self.files, self.look_again = 0, 0.0
        limits = {name: request[name] for name in ("cpu", "wall", "memory")}
        limited = limits["memory"] is not None
        # So many CPU seconds may pass in a second.
        cores = len(os.sched_getaffinity(0))
        poll = select.poll()
        for reading in capture:
            poll.register(reading, select.POLLIN)
        poll.register(0, select.POLLIN | select.POLLRDHUP)
        ended = os.pidfd_open(child)
        try:
            poll.register(ended, select.POLLIN)
            peak, stopping = 0, 0.0
            exceeded: str | None = None
            code: int | None = None
            step = 0.002
            look = started + step
            while True:
                for handle, event in poll.poll(max(0.0, look - time.monotonic()) * 1000):
                    if handle in capture:
                        if not capture[handle].read(handle):
                            poll.unregister(handle)
                    elif handle == 0 and event & (
                        select.POLLHUP | select.POLLRDHUP | select.POLLERR
                    ):
                        # Whoever asked for the run is gone.
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
                left = {name: limit - used[name] for name, limit in limits.items() if limit}
                if exceeded is None:
                    exceeded = next((name for name in left if left[name] < 0), None)
                    if exceeded is not None:
                        stopping = now + request["grace"]
                        if request["grace"]:
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
        for reading, captured in capture.items():
            captured.drain(reading)
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
            "unkillable": unkillable,
        }
        return (usage, *(captured.content() for captured in capture.values()))


def start(request: dict[str, Any], ends: list[int], failing: int) -> NoReturn:
    """Become the target; what fails on the way is written to `failing`, which closes itself if
    nothing does.
    """
    try:
        processes.die_with_parent()
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(ends[0], 1)
        os.dup2(ends[1], 2)
        processes.behave()
        os.chdir(request["folder"])
        arguments = request["arguments"]
        os.execvpe(arguments[0], arguments, request["environment"])  # noqa: S606 - without a shell
    except OSError as error:
        os.write(failing, str(error.errno).encode())
    except BaseException:
        os.write(failing, str(errno.EINVAL).encode())
    finally:
        os._exit(127)


if __name__ == "__main__":
    main()
