import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import scenarios
from starting import Starter

from truecost import Scenario, gather
from truecost.running.slots import Slot
from truecost.running.tables import Limits

LIMITS = Limits(cpu=50.0, wall=300.0)
KINDS: dict[str, Any] = {
    "default": {},
    "no namespace": {"namespace": False},
    "bare": {"group": False, "namespace": False},
}
# What a run does to its own folder and around it.
DEEDS = {
    "a file in its place": 'rmdir "$TMPDIR" && echo x > "$TMPDIR"',
    "a link in its place": 'rmdir "$TMPDIR" && ln -s "$DECOY" "$TMPDIR"',
    "a file beside it": 'echo x > "$TMPDIR/../beside"',
    "unreadable": 'mkdir -p "$TMPDIR/a/b" && touch "$TMPDIR/a/b/c" && chmod 000 "$TMPDIR/a/b" "$TMPDIR/a" "$TMPDIR"',
    "the folder above gone": 'rm -r "$TMPDIR/.."; rm -rf "$(dirname "$TMPDIR")"',
    "the folder above shut": 'touch "$TMPDIR/x" && chmod 000 "$(dirname "$TMPDIR")"',
    "a link in place of the folder above": 'd=$(dirname "$TMPDIR"); rm -rf "$d"; ln -s "$DECOY" "$d"',
    "a file in place of the folder above": 'd=$(dirname "$TMPDIR"); rm -rf "$d"; echo x > "$d"',
}


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own, so that whatever is left there was left by the test."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def until(there: Callable[[], object]) -> None:
    """Wait for a state of things, with the patience of a slow machine."""
    end = time.monotonic() + 120
    while not there():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deed", DEEDS)
def test_a_run_leaves_nothing_whatever_it_does(
    scratch: Path, tmp_path: Path, kind: str, deed: str
) -> None:
    """A target could leave files behind, a million times, take the next run's folder away, or have
    others' files deleted.
    """
    decoy = tmp_path / "decoy"
    decoy.mkdir(mode=0o750)
    (decoy / "precious").touch()
    with Slot(**KINDS[kind]) as slot:
        environment = {"DECOY": str(decoy)}
        ended = slot.run(
            ["sh", "-c", DEEDS[deed]], folder=Path("/"), limits=LIMITS, environment=environment
        )
        assert [path.name for path in decoy.iterdir()] == ["precious"]
        assert decoy.stat().st_mode & 0o777 == 0o750
        assert ended.exceeded is None
        # The layer above /tmp serves the next run as well.
        left = [path.name for base in scratch.iterdir() for path in base.iterdir()]
        assert set(left) <= {"private"}
        said = slot.run(
            ["sh", "-c", 'echo x > "$TMPDIR/y" && ls "$TMPDIR"'], folder=Path("/"), limits=LIMITS
        ).stdout
        assert said == b"y\n"
        # Still held: nobody takes it for stale.
        with Slot():
            assert slot.folder.exists()
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_run_leaves_nothing(starter: Starter, scratch: Path, kind: str) -> None:
    """Every Ctrl-C would leave the folders of the runs under way."""
    reading, stopping = os.pipe()
    with starter.start(RUNNING, json.dumps(KINDS[kind]), stdin=reading) as running:
        os.close(reading)
        until(lambda: list(scratch.glob("*/run/written")))
        os.close(stopping)
        assert running.wait() == 0
    until(lambda: not list(scratch.iterdir()))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_killed_supervisor_left_is_swept_at_the_next_start(
    starter: Starter, scratch: Path, kind: str
) -> None:
    """Scratch folders of killed supervisors would stay until the disk is full; or those of living
    ones be swept.
    """
    reading, stopping = os.pipe()
    with starter.start(
        RUNNING, json.dumps(KINDS[kind]), stdin=reading, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        _swept(scratch, int(running.stdout.readline()))
    os.close(reading)
    os.close(stopping)


def _swept(scratch: Path, guardian: int) -> None:
    until(lambda: list(scratch.glob("*/run/written")))
    (stale,) = scratch.iterdir()
    with Slot():
        assert (stale / "run" / "written").exists()
    worker = int(Path(f"/proc/{guardian}/task/{guardian}/children").read_text().split()[0])
    os.kill(guardian, signal.SIGSTOP)  # so that it cannot tidy up when the worker goes
    os.kill(worker, signal.SIGKILL)
    os.kill(guardian, signal.SIGKILL)
    until(lambda: not _alive(worker))
    assert stale.exists()
    others = scratch / f"{stale.name.rpartition('-')[0]}x-other-machine"
    others.mkdir()
    with Slot() as slot:
        assert not stale.exists()
        assert set(scratch.iterdir()) == {slot.folder, others}


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


RUNNING = """
import json, sys, threading
from pathlib import Path
from truecost.running.slots import LostSlotError, Slot
from truecost.running.tables import Limits
slot = Slot(**json.loads(sys.argv[1]))
print(slot.pid, flush=True)
def stop():
    sys.stdin.read()
    slot.stop()
threading.Thread(target=stop, daemon=True).start()
try:
    slot.run(["sh", "-c", "touch $TMPDIR/written; sleep 1000"], folder=Path("/"), limits=Limits(wall=1000.0))
except LostSlotError:
    pass
"""


def test_checked_runs_leave_no_outputs(tmp_path: Path, scratch: Path) -> None:
    """The outputs that checks read would pile up."""
    path = scenarios.write(
        tmp_path,
        target={
            "kind": "wrapper",
            "command": ["./solver.sh"],
            "check": ["grep", "-q", "SUCCESS", "{output}"],
        },
        limits={"cpu": 5.0, "wall": 100.0},
    )
    (tmp_path / "solver.sh").write_text('#!/bin/sh\necho "Result for SMAC: SUCCESS, 0, 0, 5, $5"\n')
    gather(Scenario.read(path), tmp_path / "runs.db", configurations=3, runs=1, pool=2, pin=False)
    assert list(scratch.iterdir()) == []
