"""Small faults of 0.2 in running solvers, one test each."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import scenarios

from truecost import Journal, Scenario, Status, gather
from truecost.running.machine import claimed_cores, cores

COMMAND: dict[str, Any] = {
    "kind": "command",
    "command": ["sh", "-c", "echo $0; exit 0", "{instance}", "{arguments}"],
}


def statuses(folder: Path, **tables: dict[str, Any]) -> tuple[set[int], str]:
    """How the runs of a small gather ended, and the version of the solver."""
    path = scenarios.write(folder, **tables)
    gather(
        Scenario.read(path),
        folder / "runs.db",
        configurations=2,
        instances=2,
        runs=1,
        pool=1,
        pin=False,
        keep_going=True,
    )
    with Journal.read(folder / "runs.db") as journal:
        return set(journal.table().status.tolist()), journal.machines()[0].solver


def test_a_solver_that_gives_up_has_not_crashed(tmp_path: Path) -> None:
    """UNKNOWN with exit code 0 would be a crash, and stop the gathering."""
    words = ["sh", "-c", "echo s UNKNOWN", "{instance}", "{arguments}"]
    made, _ = statuses(
        tmp_path,
        target={"kind": "command", "command": words},
        answer={"solved": "^s SAT", "unsolved": "^s UNKNOWN$"},
        metric={"kind": "par"},
    )
    assert made == {Status.TIMEOUT}


def test_an_error_is_no_version(tmp_path: Path) -> None:
    """The error message of a version command that fails would be kept as the solver's version."""
    target = {**COMMAND, "version": ["sh", "-c", "echo no such option; exit 2"]}
    _, solver = statuses(tmp_path, target=target, answer={}, metric={"kind": "par"})
    assert solver == ""


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    """A function that returns np.float32 in a mapping would crash."""
    (tmp_path / "f.py").write_text(
        "import numpy as np\ndef f(seed):\n    return {'value': np.float32(1.5)}\n"
    )
    made, _ = statuses(
        tmp_path,
        target={"kind": "python", "function": "f.py:f"},
        limits={"cpu": 20.0},
        metric={"kind": "value", "low": 0.0, "high": 2.0},
    )
    assert made == {Status.SOLVED}


def test_nothing_in_the_temporary_folder_blocks_a_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder, a FIFO or another user's file with the name of a lock would keep us from a core, or
    hang.
    """
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for core in cores():
        (tmp_path / f"truecost-core-{core}.lock").mkdir()
    with claimed_cores(None) as claimed:
        assert claimed == [(core,) for core in cores()]
    assert all(path.is_dir() for path in tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_say_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    """A batch system that ends a job would leave no word on how to resume it."""
    scenarios.write(tmp_path)
    program = str(Path(sys.executable).with_name("truecost"))
    words = "gather scenario.toml --no-pin --workers 1 --configurations 12 --runs 500 --keep-going"
    # Tests that are started by nohup would pass on that SIGHUP is ignored, which truecost respects.
    process = subprocess.Popen(
        ["env", f"--default-signal={number.name[3:]}", program, *words.split()],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    while process.poll() is None and not (tmp_path / "toy.db-wal").exists():
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate()
    assert "To go on: truecost gather scenario.toml" in said
    assert "Traceback" not in said


def test_kernels_run_without_a_folder_to_keep_them(tmp_path: Path) -> None:
    """With a read-only home and installation, a command would end in a traceback of Numba."""
    script = (
        "import numba.core.caching as c\n"
        "for name in dir(c):\n"
        "    if 'CacheLocator' in name and 'UserProvided' not in name and name[0] != '_':\n"
        "        getattr(c, name).from_function = classmethod(lambda *_: None)\n"
        "from truecost.stats.compiled import compiled\n"
        "@compiled\n"
        "def double(x):\n    return 2 * x\n"
        "print(double(21))\n"
    )
    file = tmp_path / "script.py"
    file.write_text(script)
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment["TMPDIR"] = str(tmp_path)
    ended = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, check=False, env=environment
    )
    assert ended.stdout == "42\n", ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]
