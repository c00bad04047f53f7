"""A journal as a file: read without changing it, one writer, what is refused and why."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import campaign_tools as tools
import numpy as np
import pytest

from truecost.campaigns.gather import gather
from truecost.errors import InputError
from truecost.journal import store
from truecost.journal.journal import Journal
from truecost.journal.store import is_journal
from truecost.running.scenario import Scenario


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """A scenario of running times."""
    return tools.scenario(tmp_path / "scenario")


@pytest.fixture
def gathered(tmp_path: Path, scenario: Scenario) -> Path:
    """A finished journal with 24 runs, alone in a folder."""
    (tmp_path / "runs").mkdir()
    path = tmp_path / "runs" / "runs.db"
    gather(scenario, path, configurations=3, instances=4, runs=2, pool=tools.Pool())
    return path


def state(folder: Path) -> dict[str, bytes]:
    """The files of a folder; SQLite's index of the log counts its readers."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix != ".db-shm"}


@pytest.mark.parametrize("how", ["closed", "live", "killed"])
def test_reading_changes_nothing(
    gathered: Path, scenario: Scenario, tmp_path: Path, how: str
) -> None:
    """Reading would change the journal, or miss what its log has."""
    with Journal.write(gathered, scenario, "gather", {}) as writer:
        if how != "closed":
            writer.set_meta("note", "x")
            writer.event("plan", commit=True)
        if how == "killed":  # what is on disk, without the process
            (tmp_path / "left").mkdir()
            gathered = Path(shutil.copy(gathered, tmp_path / "left"))
            shutil.copy(f"{writer.path}-wal", gathered.parent)
        if how == "closed":
            writer.close()
        before = state(gathered.parent)
        assert ("runs.db-wal" in before) == (how != "closed")
        with Journal.read(gathered) as journal:
            assert (journal.meta("note") == "x") == (how != "closed")
            assert len(journal.table()) == 24
            with pytest.raises(InputError, match=r"read|writ"):
                journal.set_meta("mine", "y")
        assert state(gathered.parent) == before


def test_a_rollback_journal_beside_it_is_refused(gathered: Path, scenario: Scenario) -> None:
    """SQLite would change or delete the file that such a journal names."""
    Path(f"{gathered}-journal").write_bytes(b"")
    with pytest.raises(InputError, match=r"runs\.db-journal"):
        Journal.read(gathered)
    with pytest.raises(InputError, match=r"runs\.db-journal"):
        Journal.write(gathered, scenario, "gather", {})


RUN = (
    "INSERT INTO runs SELECT 99, {}, instance, {}, seed, cap, status, cpu, wall, memory, exit_code,"
    " time, value, detail, machine, ended FROM runs LIMIT 1"
)
HOSTILE = {
    "an endless view": "DROP TABLE machines; CREATE VIEW machines AS WITH RECURSIVE n(id, host) AS"
    " (SELECT 1, '' UNION ALL SELECT id + 1, '' FROM n) SELECT * FROM n",
    "a view for a table": "ALTER TABLE meta RENAME TO old; CREATE VIEW meta AS SELECT * FROM old",
    "a trigger": "CREATE TRIGGER more AFTER INSERT ON meta BEGIN DELETE FROM meta; END",
    "another column": "ALTER TABLE runs ADD COLUMN more INTEGER DEFAULT 7",
    "an unknown configuration": RUN.format(4000000000, 9),
    "a huge run number": RUN.format("configuration", 4000000000),
    "a negative run number": RUN.format("configuration", -1),
    "no question": "UPDATE meta SET value = '[]' WHERE key = 'question'",
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


def test_other_files_stay(scenario: Scenario, tmp_path: Path) -> None:
    """Another file, or another program's database, would be overwritten."""
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    for content in (b"not a journal", b"SQLite format 3\0" + b"x" * 4096, path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"runs\.db: not a journal"):
            Journal.read(path)
        with pytest.raises(InputError, match=r"runs\.db: not a journal"):
            Journal.write(path, scenario, "gather", {})
        assert path.read_bytes() == content
        assert not is_journal(path)


def test_other_versions_are_refused(gathered: Path) -> None:
    """A journal of a later version would be misread."""
    with closing(sqlite3.connect(gathered)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="later version"):
        Journal.read(gathered)


@pytest.mark.parametrize("missing", ["nothing.db", "", "nowhere/runs.db"])
def test_a_missing_file_or_folder_is_named(
    scenario: Scenario, tmp_path: Path, missing: str
) -> None:
    """A wrong path would end in a traceback."""
    with pytest.raises(InputError, match=str(tmp_path)):
        Journal.read(tmp_path / missing)
    if missing != "nothing.db":
        with pytest.raises(InputError, match=str(tmp_path)):
            Journal.write(tmp_path / missing, scenario, "gather", {})


def test_one_writer(gathered: Path, scenario: Scenario) -> None:
    """Two campaigns in one journal would make every run twice."""
    with Journal.write(gathered, scenario, "gather", {}):
        with pytest.raises(InputError, match="another truecost"):
            gather(scenario, gathered, pool=tools.Pool())
        Journal.read(gathered).close()
        # The reader's closing must not have given up the writer's lock.
        if (child := os.fork()) == 0:
            try:
                Journal.write(gathered, scenario, "gather", {})
            except InputError as error:
                os._exit(7 if "another truecost" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    Journal.write(gathered, scenario, "gather", {}).close()


def test_a_beginning_that_was_interrupted_is_repeated(scenario: Scenario, tmp_path: Path) -> None:
    """A campaign killed at its very start, or met by a full disk, would leave a file that the same
    command refuses.
    """
    path = tmp_path / "runs.db"
    connection, lock = store.open_writing(path)
    connection.close()
    os.close(lock)
    whole = path.read_bytes()
    for left in (b"", bytes(10), bytes(16) + whole[16:5000], bytes(16) + whole[16:], whole):
        path.write_bytes(left)
        with pytest.raises(InputError, match=r"runs\.db"):
            Journal.read(path)
        with Journal.write(path, scenario, "gather", {}) as journal:
            assert journal.is_blank


@pytest.mark.parametrize("where", [None, "elsewhere.db"])
def test_a_journal_that_goes_away_ends_its_campaign(
    gathered: Path, scenario: Scenario, tmp_path: Path, where: str | None
) -> None:
    """A weekend's runs would be written to a file that was deleted."""
    with Journal.write(gathered, scenario, "gather", {}) as writer:
        gathered.rename(tmp_path / (where or "deleted"))
        if where is None:
            gathered.touch()
        with pytest.raises(InputError, match="moved or deleted"):
            writer.add([])


def test_the_log_of_a_deleted_journal_is_not_taken(
    gathered: Path, scenario: Scenario, tmp_path: Path
) -> None:
    """A new journal would begin with pages of a deleted one whose campaign had been killed."""
    new = tmp_path / "new.db"
    with Journal.write(gathered, scenario, "gather", {}) as writer:
        writer.event("plan", commit=True)
        shutil.copy(f"{gathered}-wal", f"{new}-wal")
    with Journal.write(new, scenario, "gather", {}) as journal:
        assert journal.is_blank
        assert not journal.configurations()


def test_a_link_is_the_journal_it_names(gathered: Path, scenario: Scenario, tmp_path: Path) -> None:
    """Behind a link, runs in the log of a living journal would be missed, or a file that SQLite
    would roll back be overlooked.
    """
    link = tmp_path / "link.db"
    link.symlink_to(gathered)
    with Journal.write(link, scenario, "gather", {}) as writer:
        writer.event("plan", commit=True)
        with Journal.read(link) as journal:
            assert journal.decisions == writer.decisions
    Path(f"{gathered}-journal").write_bytes(b"")
    with pytest.raises(InputError, match=r"runs\.db-journal"):
        Journal.read(link)


def test_a_name_of_sqlites_own_is_a_file(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal called :memory: would be lost with the process."""
    monkeypatch.chdir(tmp_path)
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
