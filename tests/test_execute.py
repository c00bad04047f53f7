import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from truecost.errors import InputError
from truecost.running import execute
from truecost.running.execute import Ended, LostSlotError, Slot, control_group
from truecost.running.scenario import Limits
from truecost.running.target import read_wrapper
from truecost.runs import Status

TORTURE = Path(__file__).with_name("torture.py")
KINDS = {
    "cgroup+namespace": {},
    "subreaper+namespace": {"group": False},
    "cgroup": {"namespace": False},
    "subreaper": {"group": False, "namespace": False},
}
LIMITS = Limits(cpu=0.5, wall=1.5, memory=100.0, output=1.0)


@pytest.fixture(scope="module", params=KINDS)
def slot(request: pytest.FixtureRequest) -> Iterator[Slot]:
    """A slot of each kind this machine offers."""
    with Slot(**KINDS[request.param]) as made:
        if made.method != request.param:
            pytest.skip(f"this machine offers {made.method}, not {request.param}")
        yield made


def torture(slot: Slot, mode: str, limits: Limits = LIMITS, marker: str = "") -> Ended:
    """What becomes of the torture target in this mode."""
    return slot.run([sys.executable, "-S", str(TORTURE), mode, marker], folder=Path("/"), limits=limits)


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
    ("mode", "status", "value"),
    [
        ("fine", Status.SOLVED, 7),
        ("ignores-sigterm", Status.TIMEOUT, None),
        ("daemon-burns", Status.TIMEOUT, None),
        ("daemon-stays", Status.SOLVED, 3),
        ("allocates", Status.MEMORY, None),
        ("children-allocate", Status.MEMORY, None),
        ("no-newline", Status.SOLVED, 9),
        ("half-an-answer", Status.CRASHED, None),
        ("segfaults", Status.CRASHED, None),
        ("nonsense", Status.CRASHED, None),
        ("sleeps", Status.TIMEOUT, None),
        ("closes-outputs", Status.SOLVED, 2),
        ("closes-outputs-forever", Status.TIMEOUT, None),
        ("stops-itself", Status.TIMEOUT, None),
        ("kills-everybody", Status.CRASHED, None),
    ],
)
def test_torture(slot: Slot, mode: str, status: Status, value: float | None) -> None:
    """A solver that misbehaves would be taken for another outcome, or leave something running behind it."""
    marker = f"marker-{os.getpid()}-{mode}-{slot.method}"
    ended = torture(slot, mode, marker=marker)
    answered = read_wrapper(ended.stdout.decode(errors="replace"))
    assert execute.judge(ended, answered)[0] == status
    assert answered.value == value
    assert processes(marker) == []
    # And the slot is as good as before.
    assert b'"value": 7' in torture(slot, "fine").stdout


def test_forking_without_end_is_ended(slot: Slot) -> None:
    """A solver that starts processes faster than they are killed would never be over."""
    marker = f"forks-{os.getpid()}-{slot.method}"
    ended = torture(slot, "forks-without-end", Limits(cpu=5.0, wall=1.0), marker=marker)
    assert ended.exceeded == "wall"
    assert processes(marker) == []


def test_a_gigabyte_of_output_is_not_kept(slot: Slot) -> None:
    """The output of a talkative solver would fill the memory, or its answer at the end would be lost."""
    ended = torture(slot, "prints-1GB", Limits(cpu=60.0, wall=60.0, output=1.0))
    assert len(ended.stdout) <= 1_000_000
    assert ended.dropped == 1000 * (1 << 20) + len(ended.stdout.splitlines(keepends=True)[-1]) + 1 - len(ended.stdout)
    assert read_wrapper(ended.stdout.decode()).value == 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2_000_000


@pytest.mark.parametrize("mode", ["burns-in-grandchild", "ignores-sigchld"])
def test_cpu_time_is_that_of_the_whole_tree(slot: Slot, mode: str) -> None:
    """CPU time burned by a process that left its parent would not be counted."""
    ended = torture(slot, mode, Limits(cpu=30.0, wall=30.0, memory=1000.0))
    # Half a second and the start of Python; without a control group, a process nobody waits for is seen only by sampling.
    least = 0.5 if mode == "burns-in-grandchild" or slot.method.startswith("cgroup") else 0.4
    assert least <= ended.cpu < 0.8


def test_limits_are_met_closely(slot: Slot) -> None:
    """A run would go on long after its CPU limit, or be stopped before it."""
    ended = torture(slot, "ignores-sigterm", Limits(cpu=0.5, wall=20.0))
    assert ended.exceeded == "cpu"
    assert 0.5 <= ended.cpu < 0.6
    slept = torture(slot, "sleeps", Limits(cpu=5.0, wall=0.5))
    assert slept.exceeded == "wall"
    assert 0.5 <= slept.wall < 0.8
    assert slept.cpu < 0.4


def test_memory_limit_is_on_the_sum_of_the_tree(slot: Slot) -> None:
    """Four processes of 30 MB would pass a limit of 100 MB because each is below it."""
    ended = torture(slot, "children-allocate", Limits(cpu=5.0, wall=10.0, memory=100.0))
    assert ended.exceeded == "memory"
    assert 100e6 < ended.memory < 200e6
    assert torture(slot, "children-allocate", Limits(cpu=5.0, wall=1.0, memory=400.0)).exceeded == "wall"


def test_grace_lets_a_solver_say_its_best(slot: Slot) -> None:
    """With a grace period, SIGTERM would not be sent before SIGKILL."""
    script = "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done"
    with_grace = slot.run(["sh", "-c", script], folder=Path("/"), limits=Limits(wall=0.3, grace=2.0))
    assert with_grace.exceeded == "wall"
    assert with_grace.stdout.split() == [b"ready", b"bye"]
    without = slot.run(["sh", "-c", script], folder=Path("/"), limits=Limits(wall=0.3))
    assert without.stdout.split() == [b"ready"]


def test_scratch_folder_is_the_runs_own_and_goes_with_it(slot: Slot) -> None:
    """Temporary files of a solver would stay behind, a million times."""
    ended = torture(slot, "scratch")
    folder = next(line.split(maxsplit=1)[1] for line in ended.stdout.decode().splitlines() if line.startswith("scratch"))
    assert "truecost-" in folder
    assert not Path(folder).exists()


def test_arguments_go_through_unharmed(slot: Slot) -> None:
    """A name with blanks, quotes, line ends or other letters would reach the solver changed, or be taken for a command."""
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
    with pytest.raises(InputError, match=r"cannot start 'no-such-solver': it is not on PATH; try by hand: cd / && no-such"):
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("victim", ["guardian", "worker"])
def test_nothing_outlives_a_killed_supervisor(kind: str, victim: str) -> None:
    """A solver, and the daemon it forked, would run on when its supervisor is killed with -9."""
    marker = f"orphan-{os.getpid()}-{kind}-{victim}"
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, json.dumps(KINDS[kind]), str(TORTURE), marker], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    guardian = int(starter.stdout.readline())
    _until(lambda: len(processes(marker)) >= 3)  # the starter, the solver, its daemon
    worker = int(Path(f"/proc/{guardian}/task/{guardian}/children").read_text().split()[0])
    os.kill(guardian if victim == "guardian" else worker, signal.SIGKILL)
    _until(lambda: processes(marker) in ([], [str(starter.pid)]))
    starter.kill()
    starter.wait()
    starter.stdout.close()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outlives_whoever_started_it(kind: str) -> None:
    """Solvers would run on when the gathering process is killed with -9."""
    marker = f"left-{os.getpid()}-{kind}"
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, json.dumps(KINDS[kind]), str(TORTURE), marker], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    starter.stdout.readline()
    _until(lambda: len(processes(marker)) >= 3)
    starter.kill()
    starter.wait()
    starter.stdout.close()
    _until(lambda: processes(marker) == [])


STARTER = """
import json, sys
from pathlib import Path
from truecost.running.execute import Slot
from truecost.running.scenario import Limits
slot = Slot(**json.loads(sys.argv[1]))
print(slot.pid, flush=True)
slot.run([sys.executable, "-S", sys.argv[2], "daemon-burns", sys.argv[3]], folder=Path("/"), limits=Limits(wall=100.0))
"""


def _until(there: object, seconds: float = 10.0) -> None:
    """Wait for something; a minute on a slow machine is still an end."""
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
    for core in execute.cores():
        with Slot(core=core) as slot:
            ended = slot.run([sys.executable, "-c", script], folder=Path("/"), limits=LIMITS)
        assert json.loads(ended.stdout) == [core]


def test_cores_are_claimed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two gatherings on one machine would put their solvers on the same cores."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    number = len(execute.cores())
    with execute.claimed_cores(number) as first:
        assert sorted(first) == sorted(execute.cores())
        with pytest.raises(InputError, match="another truecost"), execute.claimed_cores(1):
            pass
    with execute.claimed_cores(None) as again:
        assert again == first
    with pytest.raises(InputError, match=r"expected at most \d+ workers, one per core"), execute.claimed_cores(number + 1):
        pass
