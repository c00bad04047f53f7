"""A process that has loaded a Python function and is forked for every run. Part of the supervisor's
script.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecost.running._processes import behave, die_with_parent
else:
    from _processes import behave, die_with_parent

# Seconds that loading may take.
LOADING = 60.0


class Loaded:
    """A loaded function: `words` are those of a run without the last, which is the run's own."""

    def __init__(self, words: list[str], environment: dict[str, str], folder: str) -> None:
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.requests.settimeout(LOADING)
        # Whoever asked for the run may go away meanwhile.
        poll = select.poll()
        poll.register(0, select.POLLRDHUP)
        poll.register(self.requests, select.POLLIN)
        self.pid = os.fork()
        if self.pid == 0:
            self._become([*words, "--loaded", str(theirs.fileno())], environment, folder, theirs)
        theirs.close()
        # A function that cannot be loaded or forked is called in a new process for every run.
        answered = self.requests.fileno() in dict(poll.poll(1000 * LOADING))
        self.usable = False
        with contextlib.suppress(OSError):
            self.usable = answered and self.requests.recv(16) == b"ready"
        if not self.usable:
            self.end()

    def _become(
        self, words: list[str], environment: dict[str, str], folder: str, theirs: socket.socket
    ) -> None:
        try:
            die_with_parent()
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for place in (0, 1, 2):
                os.dup2(null, place)
            theirs.set_inheritable(True)
            behave()
            os.chdir(folder)
            os.execvpe(words[0], words, environment)  # noqa: S606 - deliberately without a shell
        finally:
            os._exit(127)

    def start(self, request: dict[str, Any], ends: list[int]) -> int | None:
        """The process number of a run; None where the process is gone."""
        asked = {
            "payload": request["arguments"][-1],
            "folder": request["folder"],
            "environment": request["environment"],
        }
        try:
            socket.send_fds(self.requests, [json.dumps(asked).encode()], ends)
            return int(self.requests.recv(16))
        except (OSError, ValueError):
            return None

    def end(self) -> None:
        """Kill it."""
        self.requests.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
