"""One run as a process tree under limits: started, watched, measured, dead when it is over.

Slots do the work: each holds a small supervisor process (`_supervisor`) pinned to a core of its
own.
"""

import contextlib
import errno
import fcntl
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from truecost.errors import InputError, TruecostError
from truecost.running.instances import prepare
from truecost.running.scenario import Limits, Scenario
from truecost.running.target import SCRATCH, Answered, Caller
from truecost.runs import Instance, Outcome, Status
from truecost.space.space import Configuration

SUPERVISOR = Path(__file__).with_name("_supervisor.py")
# What a check command may take, in seconds: it is not part of the run.
CHECK_WALL = 600.0
VETO = 1
# What Python and R write before they exit with 1 for a fault of the program itself.
BROKE = ("Traceback (most recent call last):", "Execution halted")
CHECK_FAILED = "the check itself failed"
MB = 1_000_000
CLOSED = -1


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


class Slot:
    """A place where one run at a time is executed.

    Parameters
    ----------
    core
        The processor everything here is pinned to; None for any.
    group
        Whether to measure by a control group where there can be one; else by child subreaper, wait4
        and sampling.
    namespace
        Whether to hold runs in a PID namespace where there can be one.
    """

    def __init__(
        self, *, core: int | None = None, group: bool = True, namespace: bool = True
    ) -> None:
        if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"):
            raise InputError(
                "expected Linux 5.3 or newer: elsewhere a process tree cannot be held to its limits."
            )
        self.core = core
        self._writing = threading.Lock()
        self._requests = CLOSED
        parent = control_group() if group else None
        self._start(parent, namespace)

    def _start(self, parent: Path | None, namespace: bool) -> None:
        options = {
            "cores": None if self.core is None else [self.core],
            "group": None if parent is None else str(parent),
            "namespace": namespace,
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
    ) -> Ended:
        """Execute a command to its end or to its limits."""
        request = {
            "arguments": list(arguments),
            "environment": dict(environment or {}),
            "folder": str(folder),
            "scratch": SCRATCH,
            "cpu": limits.cpu,
            "wall": limits.wall,
            "memory": None if limits.memory is None else limits.memory * MB,
            "output": int(limits.output * MB),
            "grace": limits.grace,
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
        return Ended(
            exceeded=header["exceeded"],
            exit_code=header["code"],
            cpu=header["cpu"],
            wall=header["wall"],
            memory=header["memory"],
            stdout=contents[0],
            stderr=contents[1],
            dropped=header["dropped"][0],
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def execute(
    slot: Slot,
    caller: Caller,
    configuration: Configuration,
    instance: Instance,
    seed: int,
    cap: float | None = None,
) -> Outcome:
    """One run: the target called, its answer read, and checked where the scenario has a check.

    A cap, in seconds of the metric's clock, stops it below the scenario's limit. The target is not
    told: a run that ends before its cap is the run that would have been without.
    """
    scenario = caller.scenario
    clock = scenario.metric.clock
    limits = scenario.limits if cap is None else scenario.limits.model_copy(update={clock: cap})
    prepare(instance)
    ended = slot.run(
        caller.command_line(configuration, instance, seed),
        folder=scenario.folder,
        limits=limits,
        environment=scenario.target.environment,
    )
    answered = caller.read(ended.exit_code, ended.stdout, ended.stderr, ended.dropped)
    capped = cap is not None and ended.exceeded == clock
    status, detail = (
        (Status.CENSORED, f"stopped at its cap of {cap:g} s")
        if capped
        else verdict(ended, answered)
    )
    if status == Status.SOLVED and scenario.target.check is not None:
        status, detail = _check(slot, caller, instance, seed, ended.stdout)
    return Outcome(
        status=status,
        cpu=ended.cpu,
        wall=ended.wall,
        memory=ended.memory,
        exit_code=ended.exit_code,
        time=answered.time,
        value=answered.value,
        method=slot.method,
        detail=detail,
        cap=cap if capped else None,
    )


def verdict(ended: Ended, answered: Answered) -> tuple[Status, str]:
    """How the run ended, and why: a limit that was passed goes before whatever the target said."""
    if ended.exceeded == "memory":
        return Status.MEMORY, "memory limit"
    if ended.exceeded is not None:
        return Status.TIMEOUT, f"{'CPU' if ended.exceeded == 'cpu' else 'wall'} limit"
    return answered.status, answered.detail


def _check(
    slot: Slot, caller: Caller, instance: Instance, seed: int, stdout: bytes
) -> tuple[Status, str]:
    scenario = caller.scenario
    # The supervisor tidies its folder when the check is over.
    output = slot.folder / "output"
    try:
        output.write_bytes(stdout)
    except FileNotFoundError as error:
        raise LostSlotError("the supervisor's folder is gone, and so is the supervisor.") from error
    line = caller.check_line(instance, seed, str(output))
    assert line is not None  # noqa: S101 - whoever calls has seen that there is one
    limits = Limits(wall=CHECK_WALL, output=1.0)
    ended = slot.run(
        line, folder=scenario.folder, limits=limits, environment=scenario.target.environment
    )
    said = [
        text.strip()
        for text in (ended.stdout + b"\n" + ended.stderr).decode("utf-8", "replace").splitlines()
    ]
    last = next((text[:200] for text in reversed(said) if text), "")
    if ended.exceeded is None and ended.exit_code == 0:
        return Status.SOLVED, ""
    broke = any(
        line.startswith(BROKE) for line in ended.stderr.decode("utf-8", "replace").splitlines()
    )
    if ended.exceeded is None and ended.exit_code == VETO and not broke:
        return Status.VETOED, last or "vetoed by the check"
    how = f"{ended.exceeded} limit" if ended.exceeded else f"exit code {ended.exit_code}"
    return Status.ABORTED, f"{CHECK_FAILED} ({how}): {last}".rstrip(": ")


def check_broke(outcome: Outcome) -> bool:
    """Whether the run was aborted by a check that failed, and did not veto."""
    return outcome.status == Status.ABORTED and outcome.detail.startswith(CHECK_FAILED)


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
    return f"cannot start {program!r:.200}: {problem}; try by hand: {_pasted(arguments, folder)}"


def by_hand(caller: Caller, configuration: Configuration, instance: Instance, seed: int) -> str:
    """A run as a command line to paste into a shell."""
    scenario = caller.scenario
    return _pasted(
        caller.command_line(configuration, instance, seed),
        scenario.folder,
        scenario.target.environment,
    )


def by_hand_checked(
    caller: Caller, configuration: Configuration, instance: Instance, seed: int
) -> str:
    """The same, and then its check, on the output that the run left in a file."""
    output = str(Path(tempfile.gettempdir()) / "truecost-output")
    check = caller.check_line(instance, seed, output)
    assert check is not None  # noqa: S101 - whoever calls has seen that there is one
    environment = caller.scenario.target.environment
    run = by_hand(caller, configuration, instance, seed)
    return f"{run} > {shlex.quote(output)}; {_pasted(check, None, environment)}"


def _pasted(
    arguments: Sequence[str], folder: Path | None, environment: Mapping[str, str] | None = None
) -> str:
    words = [
        *(["env"] if environment else []),
        *(f"{name}={value}" for name, value in (environment or {}).items()),
    ]
    start = "" if folder is None else f"cd {shlex.quote(str(folder))} && "
    return f"{start}{shlex.join([*words, *arguments])}".replace(SCRATCH, tempfile.gettempdir())


def version_of(slot: Slot, scenario: Scenario, caller: Caller) -> str:
    """The first line the scenario's version command prints; empty where there is no such command."""
    line = caller.version_line()
    if line is None:
        return ""
    ended = slot.run(
        line,
        folder=scenario.folder,
        limits=Limits(wall=60.0, output=1.0),
        environment=scenario.target.environment,
    )
    text = (ended.stdout + b"\n" + ended.stderr).decode("utf-8", "replace").strip()
    return text.partition("\n")[0].strip()[:200]


def control_group() -> Path | None:
    """Our own group in the v2 hierarchy, wherever that is mounted, if we may make groups below it."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    roots = [line.split()[4] for line in mounts if " - cgroup2 " in line]
    own = [line.split("::", 1)[1] for line in groups if line.startswith("0::")]
    if not roots or not own:
        return None
    group = Path(roots[0]) / own[0].lstrip("/")
    return group if (group / "cgroup.procs").exists() and os.access(group, os.W_OK) else None


def cores() -> list[int]:
    """One processor of each core we may use: the second thread of a core is not a second core."""
    found: dict[str, int] = {}
    for processor in sorted(os.sched_getaffinity(0)):
        topology = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        try:
            siblings = topology.read_text().strip()
        except OSError:
            siblings = str(processor)
        found.setdefault(siblings, processor)
    return list(found.values())


@contextlib.contextmanager
def claimed_cores(number: int | None) -> Iterator[list[int]]:
    """So many cores, all that are free for None, that no other truecost on this machine uses
    meanwhile.
    """
    usable = cores()
    if number is not None and number > len(usable):
        raise InputError(
            f"expected at most {len(usable)} `workers`, one per core, got {number}: two solvers on one core disturb each "
            "other's times. `pin=False` does it all the same."
        )
    with contextlib.ExitStack() as stack:
        claimed: list[int] = []
        for core in usable:
            if number is not None and len(claimed) == number:
                break
            file = _claim(core)
            if file is not None:
                stack.enter_context(file)
                claimed.append(core)
        if not claimed or (number is not None and len(claimed) < number):
            raise InputError(
                f"expected {number or 'a'} free core{'s' if number and number > 1 else ''}, got {len(claimed)} of "
                f"{len(usable)}: another truecost runs solvers on the others. Wait for it, or share cores: `pin=False`."
            )
        yield claimed


def _claim(core: int) -> BinaryIO | None:
    """A lock on a core, held as long as the file is open; None if somebody else holds it."""
    path = Path(tempfile.gettempdir()) / f"truecost-core-{core}.lock"
    try:
        # Read-only first: the file may be another user's, and reading is enough to lock it.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    file = os.fdopen(handle, "rb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
