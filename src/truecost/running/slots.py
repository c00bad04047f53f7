"""Slots: places where one run at a time is executed under limits, each by a supervisor process
(`_supervisor`), pinned to cores of its own.
"""

import contextlib
import errno
import marshal
import os
import select
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truecost.errors import InputError, TruecostError
from truecost.running.tables import Limits

SUPERVISOR = Path(__file__).with_name("_supervisor.py")
CLOSED = -1
# Seconds after the wall limit when a supervisor that does not answer counts as lost: its run may
# have stopped it. It waits for processes that hang in the kernel first.
OVERDUE = 60.0
CANNOT_START = {
    errno.ENOEXEC: "it is neither a program for this machine nor a script with a first line #!",
    errno.E2BIG: "its arguments and environment are too long. Shorten target.environment, or pass "
    "long texts in files",
    errno.ETXTBSY: "it is being written. Wait until it is complete and repeat the command",
}
# The longest that the kernel waits, in seconds.
DAYS = 2e6


class LostSlotError(TruecostError):
    """A supervisor is gone; its run is lost and may be made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """A process tree that is over: the limit it passed, if any, what it used and what it printed.

    `dropped` bytes in the middle of the output were not kept; `unkillable` processes hang in the
    kernel.
    """

    exceeded: str | None
    exit_code: int
    cpu: float
    wall: float
    memory: int
    stdout: bytes
    stderr: bytes
    dropped: int
    unkillable: int = 0


class Slot:
    """A place where one run at a time is executed, pinned to these cores, if any.

    `folder` is the supervisor's own, gone with it; `scratch` is in it while a run lasts.
    """

    def __init__(self, *, cores: Sequence[int] | None = None) -> None:
        if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"):
            raise InputError(
                "Running solvers needs Linux 5.3 or newer: limits cannot be enforced elsewhere."
            )
        self.cores = None if cores is None else tuple(cores)
        self._writing = threading.Lock()
        self.folder = Path()
        # The supervisor ends when this pipe is closed, whatever becomes of this process.
        reading, self._requests = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own script
                [sys.executable, "-I", "-S", str(SUPERVISOR)],
                stdin=reading,
                stdout=subprocess.PIPE,
                # Ctrl-C is for this process, not for the runs.
                start_new_session=True,
            )
        finally:
            os.close(reading)
        hello = self._ask({"cores": self.cores, "temporary": tempfile.gettempdir()})
        if "problem" in hello:
            self.close()
            raise InputError(
                f"The supervisor of runs cannot start: {hello['problem']}. It needs Linux's /proc "
                "and, in TMPDIR, a folder with room."
            )
        self.folder = Path(hello["folder"])

    @property
    def pid(self) -> int:
        """The supervisor's process number."""
        return self._process.pid

    @property
    def scratch(self) -> str:
        """Where the scratch folder of a run is."""
        return str(self.folder / "run")

    def run(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        limits: Limits,
        environment: Mapping[str, str] | None = None,
        own_folder: bool = False,
        function: bool = False,
    ) -> ProcessResult:
        """Execute a command to its end or to its limits, in this folder or in an empty one of its
        own; `function`: one of Python, which is loaded by its first run.
        """
        request = {
            "arguments": list(arguments),
            "environment": dict(environment or {}),
            "folder": str(folder),
            "own_folder": own_folder,
            "function": function,
            "limits": limits.model_dump(),
        }
        within = None if limits.wall is None else limits.wall + limits.grace + OVERDUE
        answer = self._ask(request, within)
        if "problem" in answer:
            problem = _cannot_start(arguments, folder, answer)
            raise InputError(problem.replace(self.scratch, tempfile.gettempdir()))
        return ProcessResult(**answer)

    def _ask(self, request: dict[str, Any], within: float | None = None) -> dict[str, Any]:
        """The supervisor's answer, which must come `within` seconds."""
        stream = self._process.stdout
        assert stream is not None  # noqa: S101 - it was asked for
        try:
            data = memoryview(marshal.dumps(request))
            with self._writing:
                while data:
                    data = data[os.write(self._requests, data) :]
            poll = select.poll()
            poll.register(stream, select.POLLIN)
            if not poll.poll(None if within is None else min(within, DAYS) * 1000):
                self._process.kill()
            answer: dict[str, Any] = marshal.load(stream)  # noqa: S302 - from our own script
        except (OSError, EOFError, ValueError, TypeError) as error:
            self.close()
            raise LostSlotError(
                f"the supervisor {self.pid} ended (code {self._process.returncode})."
            ) from error
        return answer

    @property
    def lost(self) -> bool:
        """Whether it takes no more runs."""
        return self._requests == CLOSED

    def stop(self) -> None:
        """End the supervisor and its run; may be called while another thread waits in `run`."""
        with self._writing:
            if not self.lost:
                os.close(self._requests)
                self._requests = CLOSED

    def close(self) -> None:
        """End the supervisor and wait for its end; what it could not tidy up is tidied up here."""
        self.stop()
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._process.wait() != 0 and self.folder != Path():
            # Imported here, since logs are also read where Python lacks Linux's modules.
            from truecost.running._folders import remove
            from truecost.running._processes import kill_marked

            kill_marked()
            remove(str(self.folder))

    def __enter__(self) -> "Slot":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _cannot_start(arguments: Sequence[str], folder: Path, answer: Mapping[str, Any]) -> str:
    """Why a command did not start, and what to try."""
    program, code = arguments[0], answer.get("errno", 0)
    problem, place = CANNOT_START.get(code, answer["problem"]), folder / program
    if not folder.is_dir():
        problem = f"there is no folder {str(folder)!r}"
    elif os.sep not in program:
        if code in (errno.ENOENT, errno.EACCES):
            problem = "it is not on PATH"
            problem += f"; write ./{program} for the file in the folder" if place.is_file() else ""
    elif code == errno.ENOENT:
        problem = _missing(place)
    elif code == errno.EACCES:
        problem = "its interpreter, folder or file system does not let it be executed"
        with contextlib.suppress(OSError):
            if place.is_dir():
                problem = "it is a folder"
            elif not place.stat().st_mode & 0o111:
                problem = f"it is not executable; chmod +x {shlex.quote(str(place))}"
    return f"Cannot start {program!r:.200}: {problem}. Try by hand: {pasted(arguments, folder)}"


def _missing(program: Path) -> str:
    """What the kernel does not find of a program."""
    if not program.is_file():
        return "there is no such program"
    first = ""
    with contextlib.suppress(OSError), program.open("rb") as file:
        first = file.readline(500).decode("utf-8", "replace").rstrip("\n")
    if not first.startswith("#!"):
        return "the system library it names is not there; it may be a 32-bit program"
    if first.endswith("\r"):
        return f"its lines end as on Windows; dos2unix {shlex.quote(str(program))}"
    return f"its first line {first!r:.200} names an interpreter that is not there"


def pasted(
    arguments: Sequence[str], folder: Path | None, environment: Mapping[str, str] | None = None
) -> str:
    """A command as a line for a shell, in a folder and with an environment."""
    settings = [f"{name}={value}" for name, value in (environment or {}).items()]
    start = "" if folder is None else f"cd {shlex.quote(str(folder))} && "
    return start + shlex.join([*(["env"] if settings else []), *settings, *arguments])
