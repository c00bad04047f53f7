"""A process that has loaded a Python target and is forked for every run. Part of the supervisor's
script.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecost.running._processes import PR_SET_PDEATHSIG, behave, libc
else:
    from _processes import PR_SET_PDEATHSIG, behave, libc

# Seconds the target may take to be loaded.
LOADING = 60.0


class WarmProcess:
    """A loaded target: `words` are those of a run, of which all but the last are always the same.

    `place` says where it sees its files: it is of no use to a run that is to see others.
    """

    def __init__(self, words: list[str], environment: dict[str, str], place: object) -> None:
        self.words, self.place = words[:-1], place
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.requests.settimeout(LOADING)
        self.pid = os.fork()
        if self.pid == 0:
            self._become([*self.words, "--warm", str(theirs.fileno())], environment, theirs)
        theirs.close()
        try:
            self.ready = self.requests.recv(16) == b"ready"
        except OSError:
            self.ready = False

    def _become(self, words: list[str], environment: dict[str, str], theirs: socket.socket) -> None:
        try:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            null = os.open(os.devnull, os.O_RDWR)
            for place in (0, 1, 2):
                os.dup2(null, place)
            theirs.set_inheritable(True)
            behave()
            os.execvpe(words[0], words, environment)  # noqa: S606 - no shell is the point
        finally:
            os._exit(127)

    def fits(self, words: list[str], place: object) -> bool:
        """Whether it can be forked for a run."""
        return self.ready and words[:-1] == self.words and place == self.place

    def start(self, request: dict[str, Any], ends: list[int], group: str | None) -> int | None:
        """The process number of a run; None where none was started."""
        asked = {
            "payload": request["arguments"][-1],
            "folder": request["folder"],
            "environment": request["environment"],
            "group": group,
        }
        try:
            socket.send_fds(self.requests, [json.dumps(asked).encode()], ends)
            return int(self.requests.recv(16))
        except (OSError, ValueError):
            self.ready = False
            return None

    def end(self) -> None:
        """End it."""
        self.requests.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
