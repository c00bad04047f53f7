import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import scenarios
from commands import Run

from truecost import InputError, Scenario, Status, configure, gather

CHECKED = {
    "kind": "wrapper",
    "command": ["./steady.sh"],
    "check": ["{python}", "check.py", "{instance}", "{output}"],
}
STEADY = '#!/bin/sh\necho "Result for SMAC: SUCCESS, 0.01, 0, $(( $5 % 100 )), $5"\n'
SIZE: dict[str, Any] = {"configurations": 3, "instances": 3, "runs": 1, "pin": False}


@pytest.fixture(autouse=True)
def _own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores are claimed, and outputs left, in a folder of the test's own."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)


def steady(folder: Path, check: str | None = None, **tables: dict[str, Any]) -> Scenario:
    """A scenario whose every run is solved, with a value below 100, and checked by this program."""
    chosen: dict[str, Any] = {
        "target": CHECKED if check is not None else {**CHECKED, "check": ["true"]},
        "limits": {"cpu": 5.0},
        **tables,
    }
    path = scenarios.write(folder, **chosen)
    (folder / "steady.sh").write_text(STEADY)
    (folder / "steady.sh").chmod(0o755)
    (folder / "check.py").write_text(check or "")
    return Scenario.read(path)


def statuses(path: Path) -> list[int]:
    """How the runs of a journal ended."""
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT status FROM runs ORDER BY id")]


def tried(message: str) -> subprocess.CompletedProcess[str]:
    """What the line to try by hand does, in a shell."""
    line = message.partition("Try by hand: ")[2]
    assert line
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)


def test_a_check_that_raises_is_not_a_veto(tmp_path: Path) -> None:
    """An exception in a checker would pass for wrong answers of the solver."""
    scenario = steady(tmp_path, "print('reading')\n1 / 0\n")
    with pytest.raises(
        InputError, match=r"aborted \(the check itself failed \(exit code 1\): ZeroDivisionError"
    ) as caught:
        gather(scenario, tmp_path / "runs.db", **SIZE)
    assert set(statuses(tmp_path / "runs.db")) == {Status.ABORTED}
    assert len(statuses(tmp_path / "runs.db")) < 9
    again = tried(str(caught.value))
    assert again.returncode == 1
    assert again.stderr.rstrip().endswith("ZeroDivisionError: division by zero")
    # Mended, the same journal begins anew: nothing in it counts as done.
    (tmp_path / "check.py").write_text("")
    gather(Scenario.read(scenario.path), tmp_path / "runs.db", **SIZE)
    assert statuses(tmp_path / "runs.db") == [Status.SOLVED] * 9


def test_a_check_of_r_that_stops_is_not_a_veto(tmp_path: Path) -> None:
    """An error in a checker written in R would pass for wrong answers of the solver."""
    said = "Error in library(x) : there is no package called 'x'\\nExecution halted\\n"
    scenario = steady(
        tmp_path,
        f"import sys\nsys.stderr.write({said!r}.encode().decode('unicode_escape'))\nsys.exit(1)\n",
    )
    with pytest.raises(
        InputError, match=r"the check itself failed \(exit code 1\): Execution halted"
    ):
        gather(scenario, tmp_path / "runs.db", **SIZE)


def test_nothing_but_vetoes_stops_with_the_reason(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine runs of nine would be vetoed, the command end well, and the reason stay in the journal."""
    steady(
        tmp_path, "import sys\nsys.exit('wrong by ' + open(sys.argv[2]).read().split(', ')[3])\n"
    )
    monkeypatch.chdir(tmp_path)
    words = [
        "gather",
        "scenario.toml",
        "--configurations",
        3,
        "--instances",
        3,
        "--runs",
        1,
        "--no-pin",
        "--quiet",
    ]
    ended = run(*words)
    assert ended.returncode == 2
    assert "first 9 runs, and all were vetoed (wrong by " in ended.stderr
    assert "go on: --keep-going" in ended.stderr
    again = tried(ended.stderr)
    assert again.returncode == 1
    assert again.stderr.startswith("wrong by ")
    assert statuses(tmp_path / "toy.db") == [Status.VETOED] * 9
    assert run(*words, "--journal", "go.db", "--keep-going").returncode == 0
    assert set(statuses(tmp_path / "go.db")) == {Status.VETOED}


def test_a_search_stops_as_well(tmp_path: Path) -> None:
    """A configurator would spend its budget on answers that are all vetoed."""
    scenario = steady(tmp_path, "print('bad')\nraise SystemExit(1)\n")
    with pytest.raises(InputError, match=r"first 1\d runs, and all were vetoed \(bad\)"):
        configure(scenario, tmp_path / "runs.db", budget="500runs", pin=False, pool=2)
    assert len(statuses(tmp_path / "runs.db")) < 20


def test_values_out_of_range_stop_early(tmp_path: Path) -> None:
    """Values that no statement can be made of would be gathered for a weekend."""
    scenario = steady(tmp_path, metric={"kind": "value", "low": 500.0, "high": 1000.0})
    with pytest.raises(
        InputError, match=r"expected costs in \[500, 1000\], and configuration .* no run is lost"
    ) as caught:
        gather(scenario, tmp_path / "runs.db", **{**SIZE, "instances": 5, "runs": 20})
    assert tried(str(caught.value)).stdout.startswith("Result for SMAC: SUCCESS")
    there = len(statuses(tmp_path / "runs.db"))
    assert there < 20
    with pytest.raises(
        InputError, match=r"and remove .*search\.db, whose decisions all depend on them"
    ):
        configure(scenario, tmp_path / "search.db", budget="500runs", pin=False)
    # With the right range the same journal goes on.
    scenario.path.write_text(scenario.path.read_text().replace("low = 500.0", "low = 0.0"))
    gather(Scenario.read(scenario.path), tmp_path / "runs.db", **SIZE)
    assert len(statuses(tmp_path / "runs.db")) >= max(9, there)


def test_a_late_value_out_of_range_is_told_in_the_end(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One value outside after a night of runs would end the night, or be passed over in silence."""
    steady(tmp_path)
    (tmp_path / "steady.sh").write_text(
        '#!/bin/sh\nv=5; case "$1" in *4.txt) v=99999;; esac\necho "Result for SMAC: SUCCESS, 0.01, 0, $v, $5"\n'
    )
    scenario = Scenario.read(tmp_path / "scenario.toml")
    place = [instance.name for instance in scenario.instances].index("instances/i 4.txt")
    assert place > 0, "another seed: the instance must not be the first"
    monkeypatch.chdir(tmp_path)
    ended = run(
        "gather", "scenario.toml", "--configurations", 12, "--runs", 1, "--no-pin", "--quiet"
    )
    assert ended.returncode == 0
    assert "Doubtful: 12 of 60 values are outside [0, 10000], 99999 for" in " ".join(
        ended.stdout.split()
    )


def test_runs_without_a_value_stop_early(tmp_path: Path) -> None:
    """A solver that says nothing before its limit would be run for a weekend, each run costing the
    most.
    """
    scenario = steady(
        tmp_path,
        metric={"kind": "quality", "low": 0.0, "high": 100.0},
        limits={"cpu": 5.0, "wall": 0.05},
    )
    (tmp_path / "steady.sh").write_text("#!/bin/sh\n[ $7 = 1 ] && exit 3\nsleep 1000\n")
    scenario = Scenario.read(scenario.path)
    with pytest.raises(
        InputError,
        match=r"first \d+ runs, and \d+ gave no value \(wall limit\), \d+ crashed \(no answer",
    ):
        gather(scenario, tmp_path / "runs.db", configurations=10, instances=5, runs=5, pin=False)
    # Where time is the cost, a limit that is reached says enough.
    scenario.path.write_text(
        scenario.path.read_text().partition("[metric]")[0] + '[metric]\nkind = "par"\n'
    )
    gather(
        Scenario.read(scenario.path),
        tmp_path / "par.db",
        configurations=10,
        instances=2,
        runs=1,
        pin=False,
    )


def test_the_line_to_try_has_the_environment(tmp_path: Path) -> None:
    """Tried by hand, a run would not fail as it failed, since a variable is not set."""
    target = {"kind": "wrapper", "command": ["./steady.sh"], "environment": {"WORD": "it's $HOME"}}
    scenario = steady(tmp_path, target=target)
    (tmp_path / "steady.sh").write_text('#!/bin/sh\necho "$WORD" >&2\nexit 4\n')
    with pytest.raises(InputError, match="all crashed") as caught:
        gather(Scenario.read(scenario.path), tmp_path / "runs.db", **SIZE)
    again = tried(str(caught.value))
    assert (again.returncode, again.stderr) == (4, "it's $HOME\n")
    assert sys.executable not in str(caught.value)


def test_a_first_attempt_that_went_wrong_is_set_aside(tmp_path: Path) -> None:
    """Crashes for want of an environment variable would stay in the journal and be charged."""
    scenario = steady(tmp_path)
    right = (tmp_path / "steady.sh").read_text()
    (tmp_path / "steady.sh").write_text('#!/bin/sh\necho "no $$ here" >&2; exit 3\n')
    size = {**SIZE, "configurations": 4, "instances": 4}
    with pytest.raises(InputError, match="start again, which sets these runs aside"):
        gather(scenario, tmp_path / "runs.db", **size)
    wrong = statuses(tmp_path / "runs.db")
    (tmp_path / "steady.sh").write_text(right)
    sentences: list[str] = []
    gather(scenario, tmp_path / "runs.db", **size, waiting=sentences.append)
    assert statuses(tmp_path / "runs.db") == [Status.SOLVED] * 16
    assert statuses(tmp_path / "runs.db.set-aside-1") == wrong
    assert any("runs.db.set-aside-1" in sentence for sentence in sentences)


def test_crashes_that_are_a_result_stay(tmp_path: Path) -> None:
    """Runs would be lost that crashed for different reasons, or that somebody wants to keep."""
    scenario = steady(tmp_path)
    (tmp_path / "steady.sh").write_text("#!/bin/sh\nexit 3\n")
    gather(scenario, tmp_path / "runs.db", **SIZE, keep_going=True)
    gather(scenario, tmp_path / "runs.db", **{**SIZE, "runs": 2}, keep_going=True)
    assert len(statuses(tmp_path / "runs.db")) == 18
    assert not list(tmp_path.glob("*set-aside*"))
