"""A journal as a file: read without changing it, one writer, what is refused and why."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import campaign_tools as tools
import numpy as np
import pytest

from truecost.campaigns.gather import gather
from truecost.errors import InputError
from truecost.journal.journal import Journal
from truecost.journal.store import is_journal
from truecost.running.scenario import Scenario


@pytest.fixture
def gathered(tmp_path: Path) -> Path:
    """A finished journal with 24 runs, alone in a folder."""
    (tmp_path / "runs").mkdir()
    path = tmp_path / "runs" / "runs.db"
    scenario = tools.scenario(tmp_path / "scenario")
    gather(scenario, path, configurations=3, instances=4, runs=2, pool=tools.Pool())
    return path


def holding(path: Path) -> "subprocess.Popen[bytes]":
    """Another process that has the journal open, with something in its log."""
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
    return process


def state(folder: Path) -> dict[str, bytes]:
    """The files of a folder; SQLite's index of the log counts its readers."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix != ".db-shm"}


@pytest.mark.parametrize("how", ["closed", "live", "killed"])
def test_reading_changes_nothing(gathered: Path, how: str) -> None:
    """Reading would change the journal, or miss what its log has."""
    process = None if how == "closed" else holding(gathered)
    try:
        if process is not None and how == "killed":
            process.send_signal(signal.SIGKILL)
            process.wait()
        before = state(gathered.parent)
        assert ("runs.db-wal" in before) == (how != "closed")
        with Journal.read(gathered) as journal:
            assert (journal.noted("note") == "x") == (how != "closed")
            assert len(journal.table()) == 24
            with pytest.raises(InputError, match=r"read|writ"):
                journal.note("mine", "y")
        assert state(gathered.parent) == before
    finally:
        if process is not None:
            process.kill()
            process.communicate()


def test_a_rollback_journal_beside_it_is_refused(gathered: Path) -> None:
    """SQLite would delete the file that such a journal names."""
    victim = gathered.parent / "victim.txt"
    victim.write_text("precious")
    name = str(victim).encode()
    head = bytes.fromhex("d9d505f920a163d7") + b"\0\0\0\0" + os.urandom(4)
    head += (1).to_bytes(4, "big") + (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
    tail = name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    Path(f"{gathered}-journal").write_bytes(
        head.ljust(512, b"\0") + b"\xff\xff\xff\xff" + tail + bytes.fromhex("d9d505f920a163d7")
    )
    scenario = Scenario.read(gathered.parents[1] / "scenario" / "scenario.toml")
    with pytest.raises(InputError, match=r"runs\.db-journal"):
        Journal.read(gathered)
    with pytest.raises(InputError, match=r"runs\.db-journal"):
        Journal.write(gathered, scenario, "gather", {})
    assert victim.read_text() == "precious"


HOSTILE = {
    "an endless view": "DROP TABLE machines; CREATE VIEW machines AS WITH RECURSIVE n(id, host, cpu,"
    " system, solver, truecost) AS (SELECT 1, '', '', '', '', '' UNION ALL SELECT id + 1,"
    " '', '', '', '', '' FROM n) SELECT * FROM n",
    "a view for a table": "ALTER TABLE meta RENAME TO old; CREATE VIEW meta AS SELECT * FROM old",
    "a trigger": "CREATE TRIGGER more AFTER INSERT ON meta BEGIN DELETE FROM meta; END",
    "a table": "CREATE TABLE more (x)",
    "an index": "CREATE INDEX more ON runs (cpu)",
    "another column": "ALTER TABLE runs ADD COLUMN more INTEGER DEFAULT 7",
    "an unknown configuration": "INSERT INTO runs SELECT 99, 4000000000, instance, 9, seed, cap,"
    " status, cpu, wall, memory, exit_code, time, value, detail, machine, ended FROM runs LIMIT 1",
    "a huge run number": "INSERT INTO runs SELECT 99, configuration, instance, 4000000000, seed,"
    " cap, status, cpu, wall, memory, exit_code, time, value, detail, machine, ended FROM runs"
    " LIMIT 1",
    "an unknown kind": "UPDATE meta SET value = '\"other\"' WHERE key = 'kind'",
    "no metric": "UPDATE meta SET value = '[]' WHERE key = 'metric'",
}


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_journals_are_refused(gathered: Path, how: str) -> None:
    """A stranger's journal would hang a command, take all memory, or end in a traceback."""
    with closing(sqlite3.connect(gathered)) as connection:
        connection.executescript(HOSTILE[how])
    with pytest.raises(InputError, match=r"runs\.db"), Journal.read(gathered) as journal:
        journal.log()


def test_a_damaged_journal_is_named(gathered: Path) -> None:
    """A journal with overwritten pages would end in a traceback."""
    good, rng = gathered.read_bytes(), np.random.default_rng(5)
    messages = []
    for _ in range(40):
        damaged = bytearray(good)
        start = int(rng.integers(100, len(good) - 600))
        damaged[start : start + 600] = rng.bytes(600)
        gathered.write_bytes(damaged)
        try:
            with Journal.read(gathered) as journal:
                journal.log()
        except InputError as error:
            messages.append(str(error))
    assert messages
    assert all("runs.db" in message for message in messages)


@pytest.mark.parametrize("content", [b"not a journal", b"SQLite format 3\0" + b"x" * 4096])
def test_other_files_stay(tmp_path: Path, content: bytes) -> None:
    """A file that is no journal would be overwritten."""
    scenario = tools.scenario(tmp_path)
    path = tmp_path / "runs.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"runs\.db"):
        Journal.read(path)
    with pytest.raises(InputError, match=r"runs\.db"):
        Journal.write(path, scenario, "gather", {})
    assert path.read_bytes() == content
    assert not is_journal(path)


def test_other_databases_and_versions_are_refused(gathered: Path, tmp_path: Path) -> None:
    """Another program's SQLite file would get our tables; a later journal would be misread."""
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE mine (x)")
    scenario = tools.scenario(tmp_path)
    with pytest.raises(InputError, match="not a journal"):
        Journal.write(tmp_path / "other.db", scenario, "gather", {})
    with closing(sqlite3.connect(gathered)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="later version"):
        Journal.read(gathered)


@pytest.mark.parametrize("missing", ["nothing.db", "", "nowhere/runs.db"])
def test_a_missing_file_or_folder_is_named(tmp_path: Path, missing: str) -> None:
    """A wrong path would end in a traceback."""
    scenario = tools.scenario(tmp_path)
    with pytest.raises(InputError, match=str(tmp_path)):
        Journal.read(tmp_path / missing)
    if missing != "nothing.db":
        with pytest.raises(InputError, match=str(tmp_path)):
            Journal.write(tmp_path / missing, scenario, "gather", {})


def test_one_writer(gathered: Path, tmp_path: Path) -> None:
    """Two campaigns in one journal would make every run twice."""
    scenario = Scenario.read(tmp_path / "scenario" / "scenario.toml")
    with Journal.write(gathered, scenario, "gather", {}):
        with pytest.raises(InputError, match="another truecost"):
            Journal.write(gathered, scenario, "gather", {})
        with Journal.read(gathered) as reader:
            assert reader.kind == "gather"
        # The reader's closing must not have given up the writer's lock.
        if (child := os.fork()) == 0:
            try:
                Journal.write(gathered, scenario, "gather", {})
            except InputError as error:
                os._exit(7 if "another truecost" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    Journal.write(gathered, scenario, "gather", {}).close()


def test_a_name_of_sqlites_own_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal called :memory: would be lost with the process."""
    monkeypatch.chdir(tmp_path)
    scenario = tools.scenario(tmp_path)
    Journal.write(":memory:", scenario, "gather", {}).close()
    assert (tmp_path / ":memory:").stat().st_size


def test_a_journal_in_a_folder_that_cannot_be_written_is_read(gathered: Path) -> None:
    """A colleague's results on a read-only share could not be judged."""
    # Root ignores file modes; SQLite with `immutable` needs no file beside the journal.
    gathered.chmod(0o444)
    gathered.parent.chmod(0o555)
    try:
        with Journal.read(gathered) as journal:
            assert len(journal.table()) == 24
        assert sorted(file.name for file in gathered.parent.iterdir()) == ["runs.db"]
    finally:
        gathered.parent.chmod(0o755)
