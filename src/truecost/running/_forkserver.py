"""A process that has loaded a Python function and is forked for every run. Part of the supervisor's
script.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import signal
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecost.running._processes import become
else:
    from _processes import become

# Seconds that loading may take.
LOADING = 60.0


class ForkServer:
    """`words` are those of a run without the last, which is the run's own."""

    def __init__(self, words: list[str], environment: dict[str, str], folder: str) -> None:
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            theirs.set_inheritable(True)
            null = os.open(os.devnull, os.O_WRONLY)
            words = [*words, "--serve", str(theirs.fileno())]
            become(words, folder, environment, (null, null), null)
        theirs.close()
        # The client may go away meanwhile.
        poll = select.poll()
        poll.register(0, select.POLLRDHUP)
        poll.register(self.requests, select.POLLIN)
        # A function that cannot be loaded or forked is called in a new process for every run.
        answered = self.requests.fileno() in dict(poll.poll(1000 * LOADING))
        self.usable = False
        with contextlib.suppress(OSError):
            self.usable = answered and self.requests.recv(16) == b"ready"
        if not self.usable:
            self.end()

    def start(self, request: dict[str, Any], ends: list[int]) -> int | None:
        """The process number of a run; None if the loaded function is gone."""
        message = {
            "folder": request["folder"],
            "environment": request["environment"],
            "payload": request["arguments"][-1],
        }
        try:
            self.requests.settimeout(LOADING)
            socket.send_fds(self.requests, [marshal.dumps(message)], ends)
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
