"""Reading a journal changes nothing, whatever state it is in, and a hostile one does no harm."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import scenarios
from commands import Run as RunCommand

from truecost import InputError, Journal, Scenario, Status, gather
from truecost.journal import outputs
from truecost.running import execute

SIZE: dict[str, Any] = {"configurations": 3, "instances": 4, "runs": 2}


@pytest.fixture
def gathered(tmp_path: Path) -> Path:
    """A finished journal, alone in a folder."""
    scenario = Scenario.read(scenarios.write(tmp_path / "scenario"))
    (tmp_path / "runs").mkdir()
    path = tmp_path / "runs" / "runs.db"
    gather(scenario, path, **SIZE, pool=2, pin=False, keep_going=True)
    return path


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file of a folder: when it was changed, and its bytes; and the folder itself."""
    files = {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.iterdir()}
    return {**files, ".": (folder.stat().st_mtime_ns, b"")}


def live(path: Path, kill: bool) -> Callable[[], None]:
    """Have another process hold the journal open with something in its log; how to end it."""
    script = (
        "import sqlite3, sys, time\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA journal_mode = WAL')\n"
        "c.execute(\"INSERT INTO meta VALUES ('note', 'x')\")\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()

    def end() -> None:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.communicate()

    if kill:
        end()
    return end


@pytest.mark.parametrize("how", ["closed", "live", "killed"])
def test_reading_changes_nothing(gathered: Path, how: str, run: RunCommand) -> None:
    """A command that only reads would leave files behind, or change the journal or its folder."""
    end: Callable[[], object] = list if how == "closed" else live(gathered, how == "killed")
    try:
        before = state(gathered.parent)
        assert (len(before) > 2) == (how != "closed")
        for words in (
            ["info", gathered, "--json"],
            ["info", gathered, "--failed"],
            ["audit", gathered, "--json"],
            ["plan", gathered, "--error", 0.5, "--json"],
            ["gather", gathered.parent / "nothing.toml", "--journal", gathered],
        ):
            run(*words)
            assert state(gathered.parent) == before, words
        with Journal.read(gathered) as journal:
            assert (journal.noted("note") == "x") == (how != "closed")
            assert len(journal.table().status) == 24
    finally:
        end()


def test_a_rollback_journal_beside_it_is_refused(gathered: Path, run: RunCommand) -> None:
    """SQLite would delete the file that such a journal names as its super-journal."""
    victim = gathered.parent / "victim.txt"
    victim.write_text("precious")
    name = str(victim).encode()
    head = bytes.fromhex("d9d505f920a163d7") + b"\0\0\0\0" + os.urandom(4)
    head += (1).to_bytes(4, "big") + (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
    tail = name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    Path(f"{gathered}-journal").write_bytes(
        head.ljust(512, b"\0") + b"\xff\xff\xff\xff" + tail + bytes.fromhex("d9d505f920a163d7")
    )
    ended = run("info", gathered)
    assert ended.returncode == 2
    assert "runs.db-journal" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert victim.read_text() == "precious"


HOSTILE = {
    "an endless view": "DROP TABLE machines; CREATE VIEW machines AS WITH RECURSIVE n(id, host, cpu,"
    " system, method, solver, truecost) AS (SELECT 1, '', '', '', '', '', '' UNION ALL SELECT id + 1,"
    " '', '', '', '', '', '' FROM n) SELECT * FROM n",
    "a view for a table": "ALTER TABLE meta RENAME TO old; CREATE VIEW meta AS SELECT * FROM old",
    "a trigger": "CREATE TRIGGER more AFTER INSERT ON meta BEGIN DELETE FROM meta; END",
    "a table": "CREATE TABLE more (x)",
    "an index": "CREATE INDEX more ON runs (cpu)",
    "another column": "ALTER TABLE runs ADD COLUMN more INTEGER DEFAULT 7",
    "an id of four thousand million": "INSERT INTO runs SELECT 99, 4000000000, instance, 9, seed,"
    " status, cpu, wall, memory, exit_code, time, value, detail, machine, ended FROM runs LIMIT 1",
    "a number of four thousand million": "INSERT INTO runs SELECT 99, configuration, instance,"
    " 4000000000, seed, status, cpu, wall, memory, exit_code, time, value, detail, machine, ended"
    " FROM runs LIMIT 1",
    "a design without end": "INSERT INTO plans SELECT 99, configurations, instances,"
    " 4000000000000000000, metric, 0 FROM plans",
}


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_journals_are_refused(gathered: Path, how: str, run: RunCommand) -> None:
    """A journal from a stranger would hang a command, take all memory, or end in a traceback."""
    with closing(sqlite3.connect(gathered)) as connection:
        connection.executescript(HOSTILE[how])
    ended = run("info", gathered)
    assert ended.returncode == 2, ended.stdout
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.stderr


def test_ids_may_be_large_and_sparse(gathered: Path) -> None:
    """Memory would be as large as the largest id."""
    with closing(sqlite3.connect(gathered)) as connection:
        connection.executescript(
            "INSERT INTO configurations VALUES (4000000000, 'aaaaaaaaaa', '{}');"
        )
    with Journal.read(gathered) as journal:
        assert len(journal.matrix().configurations) == 3


def test_the_output_of_failed_runs_is_kept(gathered: Path, run: RunCommand) -> None:
    """Nobody could find out why runs crashed without running them again."""
    with Journal.read(gathered) as journal:
        failures = journal.failures()
        crashed = int((journal.table().status == 3).sum())
    assert sum(failure.runs for failure in failures if failure.status == "crashed") == crashed > 0
    again = subprocess.run(["sh", "-c", failures[0].command], check=False, capture_output=True)
    assert again.returncode == 3
    shown = run("info", gathered, "--failed")
    assert shown.returncode == 0
    assert failures[0].command in shown.stdout
    data = json.loads(run("info", gathered, "--failed", "--json").stdout)
    assert data["failures"][0]["runs"] == failures[0].runs


def test_runs_out_of_memory_are_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody could find out which runs were stopped for their memory, or repeat one."""
    monkeypatch.setattr(execute, "verdict", lambda *_: (Status.MEMORY, "memory limit"))
    scenario = Scenario.read(scenarios.write(tmp_path))
    gather(scenario, tmp_path / "r.db", configurations=1, instances=1, runs=1, keep_going=True)
    with Journal.read(tmp_path / "r.db") as journal:
        (failure,) = journal.failures()
    assert (failure.status, failure.detail, failure.runs) == ("memory", "memory limit", 1)
    assert "solver.sh" in failure.command


def test_kept_output_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solvers that crash with much output would fill the disk with it."""
    monkeypatch.setattr(outputs, "MOST_OUTPUT", 100_000)
    path = scenarios.write(tmp_path)
    script = "#!/bin/sh\nhead -c 1000000 /dev/zero | tr '\\0' x\nexit 3\n"
    (tmp_path / "solver.sh").write_text(script)
    gather(Scenario.read(path), tmp_path / "r.db", **SIZE, pool=2, pin=False, keep_going=True)
    with Journal.read(tmp_path / "r.db") as journal:
        (failure,) = journal.failures()
        assert failure.runs == len(journal.table().status) == 24
        assert len(failure.stdout) == 64_000


def test_values_of_the_environment_are_not_written_down(tmp_path: Path) -> None:
    """A password in the scenario's environment would be in the journal in clear text."""
    target = {"kind": "wrapper", "command": ["./solver.sh"], "environment": {"TOKEN": "hush-hush"}}
    path = scenarios.write(tmp_path, target=target)
    gather(Scenario.read(path), tmp_path / "r.db", **SIZE, pool=2, pin=False, keep_going=True)
    assert b"hush-hush" not in (tmp_path / "r.db").read_bytes()
    # The same values go on, others are refused, and the digest says nothing without its salt.
    gather(Scenario.read(path), tmp_path / "r.db", **SIZE, pool=2, pin=False, keep_going=True)
    path.write_text(path.read_text().replace("hush-hush", "other"))
    with pytest.raises(InputError, match=r"target\.environment\.TOKEN"):
        gather(Scenario.read(path), tmp_path / "r.db", **SIZE, pool=2, pin=False, keep_going=True)
