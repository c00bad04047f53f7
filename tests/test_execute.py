import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starting import Started, Starter

from truecost.errors import InputError
from truecost.running import execute, machine
from truecost.running.slots import Ended, LostSlotError, Slot, control_group
from truecost.running.tables import Limits
from truecost.running.targets.wrapper import read_wrapper
from truecost.runs import Status

TORTURE = Path(__file__).with_name("torture.py")
KINDS: dict[str, Any] = {
    "cgroup+namespace": {},
    "subreaper+namespace": {"group": False},
    "cgroup": {"namespace": False},
    "subreaper": {"group": False, "namespace": False},
}
# Limits that nothing comes near but what goes on for good, so that how a run ends depends on no
# machine.
FAR: dict[str, Any] = {"cpu": 600.0, "wall": 600.0}
LIMITS = Limits(**FAR, memory=100.0, output=1.0)
BURNING = Limits(cpu=0.1, wall=600.0, memory=100.0, output=1.0)


@pytest.fixture(scope="module", params=KINDS)
def slot(request: pytest.FixtureRequest) -> Iterator[Slot]:
    """A slot of each kind this machine offers."""
    with Slot(**KINDS[request.param]) as made:
        if made.method.split("+pids")[0] != request.param:
            pytest.skip(f"this machine offers {made.method}, not {request.param}")
        yield made


def torture(slot: Slot, mode: str, limits: Limits = LIMITS, marker: str = "") -> Ended:
    """What becomes of the torture target in this mode."""
    return slot.run(
        [sys.executable, "-S", str(TORTURE), mode, marker], folder=Path("/"), limits=limits
    )


def stopped_when_ready(slot: Slot, arguments: list[str], limits: Limits) -> Ended:
    """What becomes of a command that goes on for good, with so much wall time that it could say
    that it is ready.
    """
    wall = 0.3
    while True:
        ended = slot.run(
            arguments, folder=Path("/"), limits=limits.model_copy(update={"wall": wall})
        )
        if b"ready" in ended.stdout:
            return ended
        assert ended.exceeded == "wall"
        wall *= 2


def processes(marker: str) -> list[str]:
    """The processes whose command line has the marker in it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(entry.name)
            except OSError:
                continue
    return found


@pytest.mark.parametrize(
    ("mode", "limits", "status", "value"),
    [
        ("fine", LIMITS, Status.SOLVED, 7),
        ("ignores-sigterm", BURNING, Status.TIMEOUT, None),
        ("daemon-burns", BURNING, Status.TIMEOUT, None),
        ("daemon-stays", LIMITS, Status.SOLVED, 3),
        ("allocates", LIMITS, Status.MEMORY, None),
        ("children-allocate", LIMITS, Status.MEMORY, None),
        ("no-newline", LIMITS, Status.SOLVED, 9),
        ("half-an-answer", LIMITS, Status.CRASHED, None),
        ("segfaults", LIMITS, Status.CRASHED, None),
        ("nonsense", LIMITS, Status.CRASHED, None),
        ("sleeps", None, Status.TIMEOUT, None),
        ("closes-outputs", LIMITS, Status.SOLVED, 2),
        ("closes-outputs-forever", BURNING, Status.TIMEOUT, None),
        ("stops-itself", None, Status.TIMEOUT, None),
        ("kills-everybody", LIMITS, Status.CRASHED, None),
    ],
)
def test_torture(
    slot: Slot, mode: str, limits: Limits | None, status: Status, value: float | None
) -> None:
    """A solver that misbehaves would be taken for another outcome, or leave something running
    behind it.
    """
    marker = f"marker-{os.getpid()}-{mode}-{slot.method}"
    if limits is None:
        ended = stopped_when_ready(slot, [sys.executable, "-S", str(TORTURE), mode, marker], LIMITS)
    else:
        ended = torture(slot, mode, limits, marker)
    answered = read_wrapper(ended.stdout.decode(errors="replace"))
    assert execute.verdict(ended, answered)[0] == status
    assert answered.value == value
    assert processes(marker) == []
    # And the slot is as good as before.
    assert b'"value": 7' in torture(slot, "fine").stdout


@pytest.mark.parametrize("mode", ["leaves-its-group", "new-namespace"])
def test_nobody_gets_away(slot: Slot, mode: str) -> None:
    """A process that moved to another control group or PID namespace would run uncounted, and on
    after its run.
    """
    marker = f"away-{os.getpid()}-{mode}"
    ended = torture(slot, mode, BURNING, marker)
    if b"Permission" in ended.stderr or b"Assertion" in ended.stderr:
        pytest.skip("needs root and a control group")
    assert ended.exceeded == "cpu"
    assert processes(marker) == []


def test_an_ended_process_is_counted_once(slot: Slot) -> None:
    """The CPU time of a process that nobody waited for would count twice."""
    ended = torture(slot, "leaves-a-zombie")
    assert 0.5 <= ended.cpu < 1


def test_forking_without_end_is_ended(slot: Slot) -> None:
    """A solver that starts processes faster than they are killed would never be over."""
    marker = f"forks-{os.getpid()}-{slot.method}"
    arguments = [sys.executable, "-S", str(TORTURE), "forks-without-end", marker]
    ended = stopped_when_ready(slot, arguments, Limits(**FAR))
    assert ended.exceeded == "wall"
    assert processes(marker) == []


def test_a_gigabyte_of_output_is_not_kept(slot: Slot) -> None:
    """The output of a talkative solver would fill the memory, or its answer at the end would be
    lost.
    """
    ended = torture(slot, "prints-1GB", Limits(**FAR, output=1.0))
    assert len(ended.stdout) <= 1_000_000
    assert ended.dropped == 1000 * (1 << 20) + len(
        ended.stdout.splitlines(keepends=True)[-1]
    ) + 1 - len(ended.stdout)
    assert read_wrapper(ended.stdout.decode()).value == 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2_000_000


def test_cpu_time_is_that_of_the_whole_tree(slot: Slot) -> None:
    """CPU time burned by a process that left its parent would not be counted."""
    limits = Limits(**FAR, memory=1000.0)
    plain = torture(slot, "burns", limits).cpu
    assert plain >= 0.2
    for mode in ("burns-in-grandchild", "ignores-sigchld"):
        # Without a control group, a process nobody waits for is seen only by sampling: as well as
        # the sampler gets to run.
        sampled = mode == "ignores-sigchld" and not slot.method.startswith("cgroup")
        for attempt in range(10):
            ended = torture(slot, mode, limits)
            # Counted twice it would be as much again.
            assert ended.cpu < plain + 0.15, mode
            if ended.cpu >= (0.13 if sampled else 0.2):
                break
            assert sampled, mode
            assert attempt < 9


def test_limits_are_met_closely(slot: Slot) -> None:
    """A run would go on long after its limit, or be stopped before it."""
    # On a busy machine a supervisor may be late now and then, but not each of ten times.
    for attempt in range(10):
        ended = torture(slot, "ignores-sigterm", Limits(cpu=0.1, wall=600.0))
        assert ended.exceeded == "cpu"
        assert ended.cpu >= 0.1
        if ended.cpu < 0.2:
            break
        assert attempt < 9
    for attempt in range(10):
        slept = slot.run(["sleep", "1000000"], folder=Path("/"), limits=Limits(cpu=600.0, wall=0.2))
        assert slept.exceeded == "wall"
        assert slept.cpu < 0.2 <= slept.wall
        if slept.wall < 0.3:
            break
        assert attempt < 9


def test_memory_limit_is_on_the_sum_of_the_tree(slot: Slot) -> None:
    """Four processes of 30 MB would pass a limit of 100 MB because each is below it."""
    ended = torture(slot, "children-allocate", LIMITS)
    assert ended.exceeded == "memory"
    assert 100e6 < ended.memory < 200e6
    arguments = [sys.executable, "-S", str(TORTURE), "children-allocate"]
    assert stopped_when_ready(slot, arguments, Limits(**FAR, memory=400.0)).exceeded == "wall"


def test_grace_lets_a_solver_say_its_best(slot: Slot) -> None:
    """With a grace period, SIGTERM would not be sent before SIGKILL."""
    script = ["sh", "-c", "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done"]
    with_grace = stopped_when_ready(slot, script, Limits(wall=1.0, grace=60.0))
    assert with_grace.exceeded == "wall"
    assert with_grace.stdout.split() == [b"ready", b"bye"]
    assert stopped_when_ready(slot, script, Limits(wall=1.0)).stdout.split() == [b"ready"]


def test_scratch_folder_is_the_runs_own_and_goes_with_it(slot: Slot) -> None:
    """Temporary files of a solver would stay behind, a million times."""
    ended = torture(slot, "scratch")
    folder = next(
        line.split(maxsplit=1)[1]
        for line in ended.stdout.decode().splitlines()
        if line.startswith("scratch")
    )
    assert "truecost-" in folder
    assert not Path(folder).exists()


def test_arguments_go_through_unharmed(slot: Slot) -> None:
    """A name with blanks, quotes, line ends or other letters would reach the solver changed, or be
    taken for a command.
    """
    names = [
        "a b",
        "it's",
        'say "x"',
        "$(touch /tmp/pwned);&|`id`",
        "line\nend",
        "größe-Ωμ-模型",
        "-rf",
        "*",
        "{seed}",
        "{scratch}",
        "",
    ]
    script = "import sys, json; print(json.dumps(sys.argv[1:]))"
    ended = slot.run([sys.executable, "-c", script, *names], folder=Path("/"), limits=LIMITS)
    assert json.loads(ended.stdout) == names


def test_signals_and_input_are_as_usual(slot: Slot) -> None:
    """A solver would inherit Python's ignored SIGPIPE, our input, or open files of the supervisor."""
    script = "grep SigIgn /proc/self/status; ls /proc/self/fd | wc -l; cat"
    ended = slot.run(["sh", "-c", script], folder=Path("/"), limits=LIMITS)
    ignored, opened = ended.stdout.split()[1:3]
    assert int(ignored, 16) & (1 << (signal.SIGPIPE - 1)) == 0
    assert int(opened) <= 4


def test_what_cannot_start_says_so(slot: Slot, tmp_path: Path) -> None:
    """A missing program would count as a crash of the solver, run after run."""
    with pytest.raises(
        InputError,
        match=r"cannot start 'no-such-solver': it is not on PATH; try by hand: cd / && no-such",
    ):
        slot.run(["no-such-solver", "x"], folder=Path("/"), limits=LIMITS)
    with pytest.raises(InputError, match="there is no such program"):
        slot.run([str(tmp_path / "missing")], folder=Path("/"), limits=LIMITS)
    (tmp_path / "text").write_text("hello")
    (tmp_path / "text").chmod(0o755)
    with pytest.raises(InputError, match="neither a program nor a script"):
        slot.run([str(tmp_path / "text")], folder=Path("/"), limits=LIMITS)
    with pytest.raises(InputError, match="cannot start"):
        slot.run(["true"], folder=tmp_path / "nowhere", limits=LIMITS)
    assert torture(slot, "fine").exit_code == 0


@contextmanager
def started(starter: Starter, kind: str, marker: str) -> Iterator[tuple[Started, int]]:
    """A process that has a burning solver, with a daemon, in a slot of this kind; and the slot's
    guardian.
    """
    arguments = [sys.executable, "-S", TORTURE, "daemon-burns", marker]
    with starter.start(
        RUNNING, json.dumps(KINDS[kind]), *arguments, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        guardian = int(running.stdout.readline())
        _until(lambda: len(processes(marker)) >= 2)  # the solver, its daemon
        yield running, guardian


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("victim", ["guardian", "worker"])
def test_nothing_outlives_a_killed_supervisor(starter: Starter, kind: str, victim: str) -> None:
    """A solver, and the daemon it forked, would run on when its supervisor is killed with -9."""
    marker = f"orphan-{os.getpid()}-{kind}-{victim}"
    with started(starter, kind, marker) as (running, guardian):
        worker = int(Path(f"/proc/{guardian}/task/{guardian}/children").read_text().split()[0])
        os.kill(guardian if victim == "guardian" else worker, signal.SIGKILL)
        _until(lambda: processes(marker) == [])
        assert running.poll() is None


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outlives_whoever_started_it(starter: Starter, kind: str) -> None:
    """Solvers would run on when the gathering process is killed with -9."""
    marker = f"left-{os.getpid()}-{kind}"
    with started(starter, kind, marker) as (running, _):
        running.kill()
        _until(lambda: processes(marker) == [])


# Goes on when its slot is gone.
RUNNING = """
import json, signal, sys
from pathlib import Path
from typing import Any
from truecost.running.slots import Slot
from truecost.running.tables import Limits
slot = Slot(**json.loads(sys.argv[1]))
print(slot.pid, flush=True)
try:
    slot.run(sys.argv[2:], folder=Path("/"), limits=Limits(wall=1e6))
finally:
    signal.pause()
"""


def _until(there: object, seconds: float = 600.0) -> None:
    """Wait for something, on a busy machine for long."""
    assert callable(there)
    until = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)


def test_a_lost_slot_says_so() -> None:
    """A killed supervisor would look like a crashed solver."""
    with Slot() as slot:
        os.kill(slot.pid, signal.SIGKILL)
        with pytest.raises(LostSlotError):
            torture(slot, "sleeps")


def test_no_control_groups_are_left() -> None:
    """Every gathering would leave empty control groups behind."""
    group = control_group()
    with Slot() as slot:
        if group is None or not slot.method.startswith("cgroup"):
            pytest.skip("no control group can be made here")
        assert (group / f"truecost-{slot.pid}").exists()
    assert not (group / f"truecost-{slot.pid}").exists()
    # A guardian that was killed could not tidy up: the next one does.
    with Slot() as slot:
        os.kill(slot.pid, signal.SIGKILL)
        slot.close()
    with Slot():
        assert not (group / f"truecost-{slot.pid}").exists()


def test_each_slot_has_its_core() -> None:
    """Two solvers would share a core, and their times would be wrong."""
    script = "import os; print(sorted(os.sched_getaffinity(0)))"
    for core in machine.cores():
        with Slot(cores=[core]) as slot:
            ended = slot.run([sys.executable, "-c", script], folder=Path("/"), limits=LIMITS)
        assert json.loads(ended.stdout) == [core]


def test_cores_are_claimed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two gatherings on one machine would put their solvers on the same cores."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    number = len(machine.cores())
    with machine.claimed_cores(number) as first:
        assert sorted(first) == [(core,) for core in sorted(machine.cores())]
        with pytest.raises(InputError, match="another truecost"), machine.claimed_cores(1):
            pass
    with machine.claimed_cores(None) as again:
        assert again == first
    with (
        pytest.raises(InputError, match=r"expected at most \d+ `workers`, one per core"),
        machine.claimed_cores(number + 1),
    ):
        pass
