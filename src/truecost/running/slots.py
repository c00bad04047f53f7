"""One run as a process tree under limits: started, watched, measured, dead when it is over.

Slots do the work: each holds a small supervisor process (`_supervisor`) pinned to a core of its
own.
"""

import contextlib
import errno
import json
import os
import re
import secrets
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
# Stands for the scratch folder until the supervisor has made one; nobody's file is called that.
SCRATCH = f"scratch-{secrets.token_hex(16)}"
MB = 1_000_000
CLOSED = -1
# The group that this process moved itself to.
OWN_GROUP = re.compile(r"truecost-\d+-own")


class LostSlotError(TruecostError):
    """A supervisor is gone; its run is lost and may be done again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a slot tells of a process tree that is over: the limit it went past, if any, and what it
    used and printed.
    """

    exceeded: str | None
    exit_code: int
    cpu: float
    wall: float
    memory: int
    stdout: bytes
    stderr: bytes
    dropped: int
    files: Mapping[str, bytes]


class Slot:
    """A place where one run at a time is executed.

    Parameters
    ----------
    cores
        The processors everything here is pinned to; None for any.
    group
        Whether to measure by a control group where there can be one; else by child subreaper, wait4
        and sampling.
    namespace
        Whether to hold runs in a PID namespace where there can be one.
    private
        Whether runs have a temporary folder and shared memory of their own where mount namespaces
        allow it.
    """

    def __init__(
        self,
        *,
        cores: Sequence[int] | None = None,
        group: bool = True,
        namespace: bool = True,
        private: bool = True,
    ) -> None:
        if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"):
            raise InputError(
                "expected Linux 5.3 or newer: elsewhere a process tree cannot be held to its "
                "limits."
            )
        self.cores, self.private = None if cores is None else tuple(cores), private
        self._writing = threading.Lock()
        self._requests = CLOSED
        parent = control_group() if group else None
        self._start(parent, namespace)

    def _start(self, parent: Path | None, namespace: bool) -> None:
        options = {
            "cores": self.cores,
            "group": None if parent is None else str(parent),
            "namespace": namespace,
            "private": self.private,
            "temporary": tempfile.gettempdir(),
        }
        reading, self._requests = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own script
                [sys.executable, "-I", "-S", str(SUPERVISOR), json.dumps(options)],
                stdin=reading,
                stdout=subprocess.PIPE,
                # Ctrl-C is for the one who waits, not for the runs.
                start_new_session=True,
            )
        finally:
            os.close(reading)
        hello, _ = self._answer()
        if "method" in hello:
            self.method: str = hello["method"]
            # The supervisor's own, gone with it: for what a run's check has to read.
            self.folder = Path(hello["folder"])
            return
        self.close()
        if not namespace:
            raise TruecostError(f"no supervisor can be started: {hello['problem']}.")
        self._start(parent, namespace=False)

    @property
    def pid(self) -> int:
        """The supervisor's process number."""
        return self._process.pid

    def run(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        limits: Limits,
        environment: Mapping[str, str] | None = None,
        own_folder: bool = False,
        keep: Sequence[str] = (),
        warm: bool = False,
    ) -> Ended:
        """Execute a command to its end or to its limits, in this folder or in an empty one of its
        own; `keep` names files of the latter, or of the scratch folder, to be returned; `warm` is
        for Python targets that stay loaded.
        """
        request = {
            "arguments": list(arguments),
            "environment": dict(environment or {}),
            "folder": str(folder),
            "own_folder": own_folder,
            "scratch": SCRATCH,
            "cpu": limits.cpu,
            "wall": limits.wall,
            "memory": None if limits.memory is None else int(limits.memory * MB),
            "output": int(limits.output * MB),
            "grace": limits.grace,
            "keep": list(keep),
            "room": int(limits.keep * MB),
            "warm": warm,
        }
        data = memoryview(json.dumps(request).encode() + b"\n")
        try:
            with self._writing:
                while data:
                    data = data[os.write(self._requests, data) :]
        except OSError as error:
            raise self._lost() from error
        header, contents = self._answer()
        if "problem" in header:
            raise InputError(_cannot_start(arguments, folder, header))
        stdout, stderr, *files = contents
        return Ended(
            **header["usage"],
            stdout=stdout,
            stderr=stderr,
            files=dict(zip(header["files"], files, strict=True)),
        )

    def _answer(self) -> tuple[dict[str, Any], list[bytes]]:
        stream = self._process.stdout
        assert stream is not None  # noqa: S101 - it was asked for
        line = stream.readline()
        if not line.endswith(b"\n"):
            raise self._lost()
        header: dict[str, Any] = json.loads(line)
        contents = [stream.read(size) for size in header["sizes"]]
        if [len(content) for content in contents] != header["sizes"]:
            raise self._lost()
        return header, contents

    def _lost(self) -> LostSlotError:
        self.close()
        return LostSlotError(
            f"the supervisor {self._process.pid} ended (code {self._process.returncode})."
        )

    def stop(self) -> None:
        """End the supervisor, and with it whatever runs; may be called while another thread waits
        in `run`.
        """
        with self._writing:
            if self._requests != CLOSED:
                os.close(self._requests)
                self._requests = CLOSED

    def close(self) -> None:
        """End the supervisor and wait for its end."""
        self.stop()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()

    def __enter__(self) -> "Slot":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _cannot_start(arguments: Sequence[str], folder: Path, header: Mapping[str, Any]) -> str:
    """Why a command did not start, and what to try."""
    program = arguments[0]
    problem = header["problem"]
    if header.get("errno") == errno.ENOENT:
        problem = "there is no such program" if os.sep in program else "it is not on PATH"
    elif header.get("errno") == errno.EACCES:
        place = folder / program
        problem = (
            "it is a folder"
            if place.is_dir()
            else f"it may not be executed; chmod +x {shlex.quote(str(place))}"
        )
    elif header.get("errno") == errno.ENOEXEC:
        problem = "it is neither a program nor a script with a first line #!"
    return f"cannot start {program!r:.200}: {problem}; try by hand: {pasted(arguments, folder)}"


def pasted(
    arguments: Sequence[str], folder: Path | None, environment: Mapping[str, str] | None = None
) -> str:
    """A command as a line for a shell, in a folder and with an environment."""
    words = [
        *(["env"] if environment else []),
        *(f"{name}={value}" for name, value in (environment or {}).items()),
    ]
    start = "" if folder is None else f"cd {shlex.quote(str(folder))} && "
    return f"{start}{shlex.join([*words, *arguments])}".replace(SCRATCH, tempfile.gettempdir())


def control_group() -> Path | None:
    """Our own group in the v2 hierarchy, wherever that is mounted, if we may make groups in it."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    roots = [line.split()[4] for line in mounts if " - cgroup2 " in line]
    names = [line.split("::", 1)[1] for line in groups if line.startswith("0::")]
    if not roots or not names:
        return None
    group = Path(roots[0]) / names[0].lstrip("/")
    if OWN_GROUP.fullmatch(group.name):
        return group.parent
    if not (group / "cgroup.procs").exists() or not os.access(group, os.W_OK):
        return None
    _delegate(group)
    return group


def _delegate(group: Path) -> None:
    """Let groups below ours limit memory and processes, where it can."""
    # A group with such groups below it may have no processes itself: ours goes to one of its own.
    # Where others are in the group as well, all stays as it was.
    control = group / "cgroup.subtree_control"
    with contextlib.suppress(OSError):
        offered = {"memory", "pids"} & set((group / "cgroup.controllers").read_text().split())
        missing = sorted(offered - set(control.read_text().split()))
        if not missing:
            return
        words = " ".join(f"+{name}" for name in missing)
        try:
            control.write_text(words)
        except OSError:
            below = group / f"truecost-{os.getpid()}-own"
            below.mkdir(exist_ok=True)
            try:
                (below / "cgroup.procs").write_text(str(os.getpid()))
                control.write_text(words)
            except OSError:
                (group / "cgroup.procs").write_text(str(os.getpid()))
                below.rmdir()
