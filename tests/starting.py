"""Processes of their own that have everything loaded from their first moment: forked by one that
imported it once.

How such a process works, ends and is killed is no other than with a start of its own, but for the
second of CPU time that the imports take. `Starter` is for tests; run as a program, `starting.py
SOCKET MODULE …`, this is the process that forks.
"""

import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Self

# Enough for a command and its environment.
LARGEST = 1 << 20


class Started:
    """A process that was forked, with what is used here of `subprocess.Popen`; its outputs can be
    read where asked for.
    """

    def __init__(
        self, pid: int, status: int, stdout: IO[str] | None, stderr: IO[str] | None
    ) -> None:
        self.pid, self.stdout, self.stderr = pid, stdout, stderr
        self.returncode: int | None = None
        self._status = os.fdopen(status)

    def send_signal(self, number: int) -> None:
        """A signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """With -9."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """How it ended, None if it has not."""
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._status, selectors.EVENT_READ)
                if selector.select(0):
                    self.wait()
        return self.returncode

    def wait(self) -> int:
        """How it ended, as soon as it has."""
        if self.returncode is None:
            with self._status:
                self.returncode = int(self._status.read())
        return self.returncode

    def communicate(self) -> tuple[str, str]:
        """What it wrote from now on, little enough that neither stream fills while the other is
        read; and its end.
        """
        said, wrote = (stream.read() if stream else "" for stream in (self.stderr, self.stdout))
        self._close()
        self.wait()
        return wrote, said

    def _close(self) -> None:
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self._close()


class Starter:
    """Forks processes that have these modules loaded."""

    def __init__(self, *modules: str) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = [sys.executable, __file__, str(theirs.fileno()), *modules]
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )

    def start(
        self,
        code: str,
        *arguments: object,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[Any] = subprocess.DEVNULL,
        stderr: int | IO[Any] = subprocess.DEVNULL,
    ) -> Started:
        """A process that executes this code, with these words in `sys.argv` after its first;
        streams are as for Popen.
        """
        reading, status = os.pipe()
        opened, kept = [status], list[IO[str] | None]()
        streams = [stdin]
        for stream in (stdout, stderr):
            kept.append(None)
            if stream == subprocess.PIPE:
                ours, stream = os.pipe()
                opened.append(stream)
                kept[-1] = os.fdopen(ours)
            elif not isinstance(stream, int):
                stream = stream.fileno()
            streams.append(stream)
        for place, stream in enumerate(streams):
            if stream == subprocess.DEVNULL:
                streams[place] = os.open(os.devnull, os.O_RDWR)
                opened.append(streams[place])
        told = [
            code,
            [*map(str, arguments)],
            str(cwd or Path.cwd()),
            dict(os.environ if env is None else env),
        ]
        socket.send_fds(self._socket, [json.dumps(told).encode()], [*streams, status])
        for handle in opened:
            os.close(handle)
        return Started(int(self._socket.recv(LARGEST)), reading, kept[0], kept[1])

    def truecost(self, *words: object, **how: Any) -> Started:
        """The command line."""
        return self.start(
            "import sys; sys.argv[0] = 'truecost'; from truecost.cli import main; main()",
            *words,
            **how,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.wait()


def serve(handle: int) -> str:
    """Fork what is asked for, and tell how each ended, until nobody asks any more. Returns, in a
    fork, what it is to do.
    """
    asked = socket.socket(fileno=handle)
    asked.set_inheritable(False)
    running: dict[int, tuple[int, int]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(asked, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd in running:
                    selector.unregister(key.fd)
                    pid, status = running.pop(key.fd)
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    os.write(status, str(code).encode())
                    os.close(status)
                    os.close(key.fd)
                    continue
                message, handles, _, _ = socket.recv_fds(asked, LARGEST, 4)
                if not message:
                    sys.exit()
                pid = os.fork()
                if pid == 0:
                    selector.close()
                    asked.close()
                    for mine in (*running, *(status for _, status in running.values()), handles[3]):
                        os.close(mine)
                    return become(message, handles[:3])
                for stream in handles[:3]:
                    os.close(stream)
                running[os.pidfd_open(pid)] = pid, handles[3]
                selector.register(next(reversed(running)), selectors.EVENT_READ)
                asked.send(str(pid).encode())


def become(message: bytes, streams: list[int]) -> str:
    """Take on the streams, words, folder and environment of the process that this one is from now
    on.
    """
    code, arguments, folder, environment = json.loads(message)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
    for stream in streams:
        if stream > 2:
            os.close(stream)
    # What these were when the interpreter started, files or terminals, decided how they are
    # written.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False, buffering=1 if os.isatty(1) else -1)
    sys.stderr = os.fdopen(2, "w", closefd=False, buffering=1, errors="backslashreplace")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    if "dask" in sys.modules:
        # Dask has read the environment already.
        sys.modules["dask"].config.refresh()
    return str(code)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        import_module(name)
    # The forks would go through all of it for garbage, and so copy it.
    gc.freeze()
    exec(compile(serve(int(sys.argv[1])), "<started>", "exec"), {"__name__": "__main__"})  # noqa: S102
