"""Slots: a command is executed as given, in a clean place, and nothing of it stays behind."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from running_tools import run_until_ready, until

from truecost.errors import InputError
from truecost.running import _folders, machine
from truecost.running._processes import Tree
from truecost.running.slots import LostSlotError, Slot
from truecost.running.tables import Limits

FAR = Limits(cpu=600.0, wall=600.0, memory=100_000.0, output=1.0)
ROOT = Path("/")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own: whatever is left there was left by the test."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    """One slot for all runs."""
    with Slot() as made:
        yield made


def test_grace_lets_a_solver_say_its_best(slot: Slot) -> None:
    """With a grace period, SIGTERM would not be sent before SIGKILL."""
    script = ["sh", "-c", "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done"]
    with_grace = run_until_ready(slot, script, Limits(wall=1.0, grace=60.0))
    assert with_grace.exceeded == "wall"
    assert with_grace.stdout.split() == [b"ready", b"bye"]
    assert run_until_ready(slot, script, Limits(wall=1.0)).stdout.split() == [b"ready"]


def test_output_keeps_its_beginning_and_its_end(slot: Slot) -> None:
    """What is kept would be another part, or the number of bytes dropped be wrong."""
    script = "echo first; head -c 300000 /dev/zero; echo last"
    limits = Limits(wall=600.0, output=0.02)
    ended = slot.run(["sh", "-c", script], folder=ROOT, limits=limits)
    assert ended.stdout.startswith(b"first\n")
    assert ended.stdout.endswith(b"last\n")
    assert (len(ended.stdout), ended.dropped) == (20_000, 300_011 - 20_000)


def test_arguments_go_through_unharmed(slot: Slot) -> None:
    """A name with blanks, quotes or other letters would reach the solver changed, or be executed."""
    names = ["a b", "it's", 'say "x"', "$(touch /tmp/pwned);&|`id`", "line\nend", "größe-Ωμ-模型"]
    names += ["-rf", "*", "{seed}", "{scratch}", ""]
    script = "import sys, json; print(json.dumps(sys.argv[1:]))"
    ended = slot.run([sys.executable, "-c", script, *names], folder=ROOT, limits=FAR)
    assert json.loads(ended.stdout) == names


def test_signals_and_input_are_as_usual(slot: Slot) -> None:
    """A solver would inherit Python's ignored SIGPIPE, our input, or open files of ours."""
    script = "grep SigIgn /proc/self/status; ls /proc/self/fd | wc -l; cat"
    ended = slot.run(["sh", "-c", script], folder=ROOT, limits=FAR)
    ignored, opened = ended.stdout.split()[1:3]
    assert int(ignored, 16) & (1 << (signal.SIGPIPE - 1)) == 0
    assert int(opened) <= 4


def test_ignored_signals_are_not_inherited() -> None:
    """Under a parent that ignores SIGCHLD or blocks SIGTERM, every run would last until its wall
    limit, and none end in grace.
    """
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        with Slot() as slot:
            script = ["sh", "-c", "grep SigBlk /proc/self/status; exit 3"]
            ended = slot.run(script, folder=ROOT, limits=Limits(wall=30.0))
    finally:
        signal.signal(signal.SIGCHLD, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    assert (ended.exit_code, ended.exceeded) == (3, None)
    assert int(ended.stdout.split()[1], 16) == 0


def test_what_cannot_start_says_so(slot: Slot, tmp_path: Path) -> None:
    """A missing program would count as a crash of the solver, run after run."""
    with pytest.raises(InputError, match="by hand: cd / && no-such-solver x") as caught:
        slot.run(["no-such-solver", "x"], folder=ROOT, limits=FAR)
    assert "not on PATH" in str(caught.value)
    (tmp_path / "text").write_text("hello")
    for mode, problem in ((0o644, "chmod"), (0o755, "script")):
        (tmp_path / "text").chmod(mode)
        with pytest.raises(InputError, match=problem):
            slot.run([str(tmp_path / "text")], folder=ROOT, limits=FAR)
    with pytest.raises(InputError, match=r"write \./text"):
        slot.run(["text"], folder=tmp_path, limits=FAR)
    for place in (tmp_path / "missing", tmp_path):
        with pytest.raises(InputError, match="Cannot start"):
            slot.run([str(place)], folder=ROOT, limits=FAR)
    (tmp_path / "plain").touch()
    for content, problem in (
        (b"#!/no/such/python\n", "/no/such/python"),
        (b"#!/bin/sh\r\n", "dos2unix"),
        (f"#!{tmp_path}/plain\n".encode(), "interpreter, folder"),
        (Path("/bin/true").read_bytes().replace(b"/ld-", b"/no-"), "32-bit"),
    ):
        (tmp_path / "text").write_bytes(content)
        with pytest.raises(InputError, match=problem):
            slot.run([str(tmp_path / "text")], folder=ROOT, limits=FAR)
    with pytest.raises(InputError, match=r"target\.environment"):
        slot.run(["true"], folder=ROOT, limits=FAR, environment={"X": "x" * 200_000})
    with (tmp_path / "text").open("r+"), pytest.raises(InputError, match="being written"):
        slot.run([str(tmp_path / "text")], folder=ROOT, limits=FAR)
    with pytest.raises(InputError, match="no folder"):
        slot.run(["true"], folder=tmp_path / "nowhere", limits=FAR)
    assert slot.run(["true"], folder=ROOT, limits=FAR).exit_code == 0


def test_a_lost_slot_says_so() -> None:
    """A killed supervisor would look like a crashed solver."""
    with Slot() as slot:
        os.kill(slot.pid, signal.SIGKILL)
        with pytest.raises(LostSlotError):
            slot.run(["true"], folder=ROOT, limits=FAR)


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without room for scratch folders, the supervisor would end in a traceback."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(InputError, match="supervisor of runs cannot start"):
        Slot()


def test_each_slot_has_its_core() -> None:
    """Two solvers would share a core, and their times be wrong."""
    script = "import os; print(sorted(os.sched_getaffinity(0)))"
    core = machine.cores()[-1]
    with Slot(cores=[core]) as slot:
        ended = slot.run([sys.executable, "-c", script], folder=ROOT, limits=FAR)
    assert json.loads(ended.stdout) == [core]


def test_runs_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    """A run that writes out.$$ would read another's answer."""
    script = "echo $1 > out.$$; sleep 0.01; read value < out.$$ && echo $value"

    def work(slot: Slot) -> list[str]:
        wrong = []
        for run in range(20):
            value = f"{slot.pid}-{run}"
            ended = slot.run(["sh", "-c", script, "wrapper", value], folder=tmp_path, limits=FAR)
            if ended.stdout.decode().strip() != value:
                wrong.append(f"{value} read {ended.stdout!r}")
        return wrong

    with ExitStack() as stack:
        slots = [stack.enter_context(Slot()) for _ in range(4)]
        threads = stack.enter_context(ThreadPoolExecutor(4))
        assert [line for lines in threads.map(work, slots) for line in lines] == []


# What a run does to its own folder and around it.
DEEDS = {
    "a file in its place": 'rmdir "$TMPDIR" && echo x > "$TMPDIR"',
    "a link in its place": 'rmdir "$TMPDIR" && ln -s "$DECOY" "$TMPDIR"',
    "a file beside it": 'echo x > "$TMPDIR/../beside"',
    "unreadable": 'cd "$TMPDIR" && mkdir -p a/b && touch a/b/c && chmod 000 a/b a .',
    "the folder above gone": 'rm -r "$TMPDIR/.."; rm -rf "$(dirname "$TMPDIR")"',
    "the folder above shut": 'touch "$TMPDIR/x" && chmod 000 "$(dirname "$TMPDIR")"',
    "a link for the folder above": 'd=$(dirname "$TMPDIR"); rm -rf "$d"; ln -s "$DECOY" "$d"',
    "a file for the folder above": 'd=$(dirname "$TMPDIR"); rm -rf "$d"; echo x > "$d"',
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_run_leaves_nothing_whatever_it_does(scratch: Path, tmp_path: Path, deed: str) -> None:
    """A target could leave files, take the next run's folder away, or have others' files deleted."""
    decoy = tmp_path / "decoy"
    decoy.mkdir(mode=0o750)
    (decoy / "precious").touch()
    with Slot() as slot:
        ended = slot.run(
            ["sh", "-c", DEEDS[deed]], folder=ROOT, limits=FAR, environment={"DECOY": str(decoy)}
        )
        assert ended.exceeded is None
        assert [path.name for path in decoy.iterdir()] == ["precious"]
        assert decoy.stat().st_mode & 0o777 == 0o750
        assert [path for base in scratch.iterdir() for path in base.iterdir()] == []
        listing = ["sh", "-c", 'echo x > "$TMPDIR/y" && ls "$TMPDIR"']
        assert slot.run(listing, folder=ROOT, limits=FAR).stdout == b"y\n"
        # Nobody else takes it for left behind.
        with Slot():
            assert slot.folder.exists()
    assert list(scratch.iterdir()) == []


def test_what_cannot_be_removed_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that a run's container wrote as root would end the supervisor, run after run."""
    (tmp_path / "run" / "of root").mkdir(parents=True)
    monkeypatch.setattr(_folders, "remove", lambda _: None)
    _folders.tidy(str(tmp_path))
    assert not (tmp_path / "run").exists()


def test_a_stopped_slot_leaves_nothing(scratch: Path) -> None:
    """Every Ctrl-C would leave the processes and folders of the runs under way."""
    script = ["sh", "-c", "touch $TMPDIR/written; sleep 1000"]
    slot = Slot()
    with ThreadPoolExecutor(1) as threads:
        lost = threads.submit(slot.run, script, folder=ROOT, limits=FAR)
        until(lambda: list(scratch.glob("*/run/written")))
        slot.stop()
        with pytest.raises(LostSlotError):
            lost.result()
    assert list(scratch.iterdir()) == []


def test_what_a_killed_supervisor_left_is_removed(scratch: Path) -> None:
    """Scratch folders of killed supervisors would stay, or those of living ones be removed."""
    script = ["sh", "-c", "touch $TMPDIR/written; sleep 1000"]
    slot = Slot()
    # Of a supervisor with the same process number long ago, and of another machine.
    (scratch / f"{slot.folder.name.rpartition('-')[0]}-0").mkdir()
    other = scratch / slot.folder.name.replace(os.uname().nodename, "other")
    other.mkdir()
    with ThreadPoolExecutor(1) as threads:
        lost = threads.submit(slot.run, script, folder=ROOT, limits=FAR)
        until(lambda: list(scratch.glob("*/run/written")))
        with Slot() as second:
            assert {*scratch.iterdir()} == {slot.folder, second.folder, other}
        os.kill(slot.pid, signal.SIGKILL)
        with pytest.raises(LostSlotError):
            lost.result()
    assert list(scratch.iterdir()) == [other]


def test_what_cannot_be_killed_does_not_lose_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that hangs in the kernel would make its measured run count as not started, or be
    counted for later runs.
    """
    tree = Tree()
    hanging = os.posix_spawn("/bin/sleep", ["sleep", "1000"], os.environ)
    monkeypatch.setattr("truecost.running._processes.PATIENCE", 0.01)
    monkeypatch.setattr("truecost.running._processes.send", lambda *_: None)
    monkeypatch.setattr("truecost.running._processes.descendants", lambda: [hanging])
    monkeypatch.setattr("truecost.running._processes.children_of", lambda _: [hanging])
    try:
        assert tree.kill(hanging) == (-signal.SIGKILL, 1)
        assert tree.pids() == []
        assert tree.measure() == (0.0, 0, [])
    finally:
        os.kill(hanging, signal.SIGKILL)
        os.waitpid(hanging, 0)
