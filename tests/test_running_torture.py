"""Whatever a solver does, its limits hold, nothing of it is left, and it is reported as it ended."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from running_tools import run_until_ready, until

from truecost.running._processes import MARK
from truecost.running.execute import verdict
from truecost.running.slots import LostSlotError, ProcessResult, Slot
from truecost.running.tables import Limits
from truecost.running.targets import read_wrapper
from truecost.runs import Status

TORTURE = Path(__file__).with_name("torture.py")
# Limits that nothing comes near except what never ends, so that no outcome depends on the machine.
FAR = Limits(cpu=600.0, wall=600.0, memory=100_000.0, output=1.0)
SMALL = FAR.model_copy(update={"memory": 100.0})
BURNING = FAR.model_copy(update={"cpu": 0.1})
# What goes on for good is stopped by wall time, as soon as it had enough to say that it is ready.
WAITING = None

SOLVED, TIMEOUT, MEMORY, CRASHED = Status.SOLVED, Status.TIMEOUT, Status.MEMORY, Status.CRASHED
Expected = tuple[Limits | None, Status, float | None]
OUTCOMES: dict[str, Expected] = {
    "fine": (FAR, SOLVED, 7),
    "ignores-signals": (WAITING, TIMEOUT, None),
    "daemon-burns": (BURNING, TIMEOUT, None),
    "daemon-stays": (FAR, SOLVED, 3),
    "daemon-holds-outputs": (FAR, SOLVED, 3),
    "daemon-loses-its-environment": (FAR, SOLVED, 3),
    "children-burn-on": (FAR, SOLVED, 3),
    "chain": (FAR, CRASHED, None),
    "forks-without-end": (WAITING, TIMEOUT, None),
    "storm": (WAITING, TIMEOUT, None),
    "zombies": (FAR, SOLVED, 3),
    "subreaper": (WAITING, TIMEOUT, None),
    "new-namespace": (BURNING, TIMEOUT, None),
    "becomes-somebody-else": (WAITING, TIMEOUT, None),
    "stops-itself": (WAITING, TIMEOUT, None),
    "stopped-children": (FAR, SOLVED, 3),
    "kills-everybody": (FAR, CRASHED, None),
    "segfaults": (FAR, CRASHED, None),
    "exits": (FAR, SOLVED, 3),
    "odd-name": (BURNING, TIMEOUT, None),
    "allocates": (SMALL, MEMORY, None),
    "children-allocate": (SMALL, MEMORY, None),
    "grandchild-allocates": (SMALL, MEMORY, None),
    "shared-mapping": (SMALL, MEMORY, None),
    "scratch-in-memory": (SMALL, MEMORY, None),
    "prints-without-end": (BURNING, TIMEOUT, None),
    "one-long-line": (FAR, SOLVED, 5),
    "no-newline": (FAR, SOLVED, 9),
    "closes-outputs": (FAR, SOLVED, 2),
    "closes-outputs-forever": (BURNING, TIMEOUT, None),
    "closes-everything": (FAR, SOLVED, 2),
    "reads-its-input": (FAR, SOLVED, 0),
    "exhausts-files": (FAR, SOLVED, 4),
    "exhausts-pipes": (FAR, SOLVED, 4),
    "blocks-in-a-fifo": (WAITING, TIMEOUT, None),
    "first-thread-ends": (BURNING, TIMEOUT, None),
    "burns-in-children": (FAR, SOLVED, 1),
    "scratch": (FAR, SOLVED, 1),
    "deep-folders": (FAR, SOLVED, 1),
    "removes-its-folder": (FAR, SOLVED, 1),
}


def words(mode: str, marker: str = "") -> list[str]:
    """The command of the torture target."""
    return [sys.executable, "-E", "-S", str(TORTURE), mode, marker]


def torture(slot: Slot, mode: str, limits: Limits | None = FAR, marker: str = "") -> ProcessResult:
    """Run the target in this mode; without limits, until it had the wall time to be ready."""
    if limits is None:
        return run_until_ready(slot, words(mode, marker), FAR)
    return slot.run(words(mode, marker), folder=Path("/"), limits=limits)


def processes(marker: str) -> list[str]:
    """The living processes whose command line has the marker in it."""
    living = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and marker.encode() in (entry / "cmdline").read_bytes():
                living.append(entry.name)
    return living


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in memory for scratch folders."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path_factory.mktemp("scratch")
        return
    folder = Path(f"/dev/shm/truecost-torture-{os.getpid()}")
    folder.mkdir()
    yield folder
    folder.rmdir()


@pytest.fixture(scope="module")
def slot(memory: Path) -> Iterator[Slot]:
    """One slot for all targets, whatever the ones before did."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(memory))
        with Slot() as made:
            yield made


@pytest.mark.parametrize("mode", OUTCOMES)
def test_torture(slot: Slot, mode: str) -> None:
    """A solver that misbehaves would be taken for another outcome, or leave something running."""
    limits, status, value = OUTCOMES[mode]
    marker = f"marker-{os.getpid()}-{mode}"
    ended = torture(slot, mode, limits, marker)
    answer = read_wrapper(ended.stdout.decode(errors="replace"))
    if answer.value == 99:
        pytest.skip("needs root or user namespaces")
    assert verdict(ended, answer)[0] == status
    assert answer.value == value
    assert ended.unkillable == 0
    assert ended.memory > 100e6 or status != MEMORY
    assert processes(marker) == []
    assert [path.name for path in slot.folder.iterdir()] == []
    # And the slot is as good as before.
    assert b'"value": 7' in torture(slot, "fine").stdout


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["prints-3GB", "prints-1GB-of-errors"])
def test_gigabytes_of_output_are_not_kept(slot: Slot, mode: str) -> None:
    """The output of a talkative solver would fill the memory, or its answer at the end be lost."""
    ended = torture(slot, mode)
    assert read_wrapper(ended.stdout.decode(errors="replace")).value == 5
    assert len(ended.stdout) <= 1_000_000
    assert len(ended.stderr) <= 65536
    printed = 3000 * (1 << 20) if mode == "prints-3GB" else 0
    assert len(ended.stdout) + ended.dropped >= printed


@pytest.mark.parametrize("mode", ["burns", "burns-in-grandchild", "burns-in-children"])
def test_cpu_time_is_that_of_the_whole_tree(slot: Slot, mode: str) -> None:
    """CPU time burned by a process that left its parent would not count, or count twice."""
    assert 0.2 <= torture(slot, mode).cpu < 0.36


def test_unwaited_cpu_time_is_sampled(slot: Slot) -> None:
    """The CPU time of children whose parent ignores SIGCHLD would not count at all, or twice."""
    assert 0.05 <= max(torture(slot, "ignores-sigchld").cpu for _ in range(3)) < 0.36


def test_an_ended_process_is_counted_once(slot: Slot) -> None:
    """The CPU time of a process that nobody waited for would count twice."""
    assert 0.5 <= torture(slot, "leaves-a-zombie").cpu < 0.95


@pytest.mark.parametrize("mode", ["kills-its-parent", "stops-its-parent"])
def test_a_supervisor_that_its_run_ends_is_lost(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that kills its supervisor would pass for a crash, leave its daemons, or never end."""
    monkeypatch.setattr("truecost.running.slots.OVERDUE", 0.5)
    marker = f"parent-{os.getpid()}-{mode}"
    with Slot() as slot:
        with pytest.raises(LostSlotError):
            slot.run(
                words(mode, marker), folder=Path("/"), limits=FAR.model_copy(update={"wall": 0.5})
            )
        assert processes(marker) == []
        assert not slot.folder.exists()


# Goes on when its slot is gone.
CAMPAIGN = """
import signal, sys
from pathlib import Path
from truecost.running.slots import Slot
from truecost.running.tables import Limits
slot = Slot()
print(slot.pid, slot.folder, flush=True)
try:
    slot.run(sys.argv[1:], folder=Path("/"), limits=Limits(wall=1e6))
finally:
    signal.pause()
"""


@pytest.mark.slow
@pytest.mark.parametrize("victims", ["campaign", "supervisor", "both"])
def test_nothing_outlives_what_started_it(victims: str, tmp_path: Path) -> None:
    """A solver and its daemon would run on when campaign or supervisor are killed with -9."""
    marker = f"orphan-{os.getpid()}-{victims}"
    command = [sys.executable, "-c", CAMPAIGN, *words("daemon-burns", marker)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as campaign:
        assert campaign.stdout is not None
        supervisor, folder = campaign.stdout.readline().split()
        # The campaign's own command line has the marker, too.
        until(lambda: len(processes(marker)) >= 3)
        if victims == "both":
            os.kill(int(supervisor), signal.SIGSTOP)  # so that it cannot tidy up
        if victims in ("campaign", "both"):
            campaign.kill()
            campaign.wait()
        if victims in ("supervisor", "both"):
            os.kill(int(supervisor), signal.SIGKILL)
        if victims == "both":
            # The daemon lives on, until the next start on this host finds its mark.
            with Slot():
                assert processes(marker) == []
        until(lambda: len(processes(marker)) <= (victims == "supervisor"))
        if victims == "supervisor":
            assert campaign.poll() is None
        if victims != "both":
            until(lambda: not Path(folder).exists())
        campaign.kill()


def test_marks_of_living_supervisors_are_left_alone(slot: Slot) -> None:
    """A second campaign on the same machine would kill the runs of the first."""
    script = (
        f'echo "${MARK}"; touch $TMPDIR/on; while [ -e $TMPDIR/on ]; do sleep 0.01; done; echo done'
    )
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(slot.run, ["sh", "-c", script], folder=Path("/"), limits=FAR)
        flag = slot.folder / "run" / "on"
        until(flag.exists)
        with Slot() as other:
            assert other.pid != slot.pid
        flag.unlink()
        assert running.result().stdout.decode().splitlines()[1:] == ["done"]
