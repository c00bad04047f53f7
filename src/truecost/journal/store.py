"""A journal as a file: its schema, how it is opened, its one writer, and SQLite's errors."""

import contextlib
import errno
import os
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

from truecost.errors import InputError
from truecost.runs import Status

HEADER = b"SQLite format 3\0"
APPLICATION = 0x74727563  # "truc"
VERSION = 41
# SQLite locks bytes around 2^30; this one is ours and marks the writer.
LOCKED_BYTE = 2**62
_FINAL = "SELECT RAISE(ABORT, 'a journal is append-only'); END"
# Aborted runs are made again, so a cell may have several.
SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL)",
    """CREATE TABLE configurations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    "values" TEXT NOT NULL)""",
    """CREATE TABLE instances (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL, extras TEXT NOT NULL)""",
    """CREATE TABLE machines (id INTEGER PRIMARY KEY, host TEXT, cpu TEXT, system TEXT, solver TEXT,
    truecost TEXT, UNIQUE (host, cpu, system, solver, truecost))""",
    """CREATE TABLE runs (id INTEGER PRIMARY KEY, configuration INTEGER NOT NULL,
    instance INTEGER NOT NULL, number INTEGER NOT NULL, seed INTEGER NOT NULL, cap REAL,
    status INTEGER NOT NULL, cpu REAL NOT NULL, wall REAL NOT NULL, memory INTEGER NOT NULL,
    exit_code INTEGER, time REAL, value REAL, detail TEXT NOT NULL, machine INTEGER NOT NULL,
    ended TEXT NOT NULL)""",
    f"""CREATE UNIQUE INDEX one_run_per_cell ON runs (configuration, instance, number)
    WHERE status <> {int(Status.ABORTED)}""",
    """CREATE TABLE outputs (id INTEGER PRIMARY KEY, run INTEGER NOT NULL UNIQUE,
    command TEXT NOT NULL, stdout BLOB NOT NULL, stderr BLOB NOT NULL)""",
    "CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, data TEXT NOT NULL)",
    f"CREATE TRIGGER runs_stay BEFORE DELETE ON runs BEGIN {_FINAL}",
    f"CREATE TRIGGER runs_are_final BEFORE UPDATE ON runs BEGIN {_FINAL}",
    f"CREATE TRIGGER events_stay BEFORE DELETE ON events BEGIN {_FINAL}",
    f"CREATE TRIGGER events_are_final BEFORE UPDATE ON events BEGIN {_FINAL}",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a journal of truecost, not another SQLite file such as Optuna's."""
    path = Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(72)
    return start.startswith(HEADER) and start[68:] == APPLICATION.to_bytes(4, "big")


def open_reading(path: Path) -> sqlite3.Connection:
    """Connect to a journal without changing it."""
    # SQLite's files lie beside the file itself, not beside a link to it.
    path = Path(os.path.realpath(path))
    _check_file(path)
    # SQLite cannot read a closed file in write-ahead mode from a folder that cannot be written,
    # unless it can rely on the absence of writers.
    live = Path(f"{path}-wal").exists()
    address = f"{path.as_uri()}?mode=ro{'' if live else '&immutable=1'}"
    with sqlite_errors(path), contextlib.ExitStack() as opened:
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=30)
        opened.callback(connection.close)
        connection.execute("PRAGMA trusted_schema = 0")
        connection.execute("PRAGMA query_only = 1")
        _check_schema(connection, path)
        opened.pop_all()
    return connection


def open_writing(path: Path) -> tuple[sqlite3.Connection, int]:
    """Connect to a journal, a new one where there is no file, as its only writer: connection and
    lock.
    """
    path = Path(os.path.realpath(path))
    with contextlib.ExitStack() as opened:
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            opened.callback(os.close, lock)
            _hold(lock, path)
            _begin(lock, path)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written ({error.strerror}). Make room, or name a journal in "
                "another folder."
            ) from error
        # Before the first change: other people's files stay as they are.
        _check_file(path)
        with sqlite_errors(path):
            connection = sqlite3.connect(path, isolation_level=None, timeout=30)
            opened.callback(connection.close)
            _check_schema(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            # A commit is on the disk before it is answered.
            connection.execute("PRAGMA synchronous = FULL")
        opened.pop_all()
    return connection, lock


def _begin(handle: int, path: Path) -> None:
    """Make a journal of an empty file, or of one whose beginning was interrupted."""
    with contextlib.closing(sqlite3.connect(":memory:")) as empty:
        begin_anew(empty)
        content = bytearray(empty.serialize())
    # In write-ahead mode from the start: SQLite would change it with a rollback journal, which
    # stays when we are killed.
    content[18:20] = 2, 2
    start = len(HEADER)
    # The header comes last: a file without it, but otherwise like this, was interrupted.
    if (bytes(start) + content[start:]).startswith(os.pread(handle, len(content) + 1, 0)):
        # SQLite would take the log of a journal of this name that was deleted for this one's.
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
        with open(handle, "r+b", closefd=False) as file:
            for place, part in ((start, content[start:]), (0, content[:start])):
                file.seek(place)
                file.write(part)
                file.flush()
                os.fsync(handle)


def is_in_place(path: Path, lock: int | None) -> bool:
    """Whether a journal that is open for writing still has its name."""
    try:
        return lock is None or os.path.samestat(path.stat(), os.fstat(lock))
    except OSError:
        return False


def begin_anew(connection: sqlite3.Connection) -> None:
    """Replace all tables by empty ones; inside a transaction."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    for (table,) in connection.execute(tables).fetchall():
        connection.execute(f"DROP TABLE {table}")
    # executescript would end the transaction.
    for statement in SCHEMA:
        connection.execute(statement)


@contextlib.contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quotes what is damaged, which need not be text
        raise InputError(f"{path}: the journal is damaged.") from error
    except sqlite3.Error as error:
        text = str(error)
        if "disk is full" in text or "disk I/O" in text:
            message = f"{text}. Recorded runs are safe. Make room and start again."
        elif "readonly" in text or "unable to open" in text:
            message = f"the journal needs a folder that can be written ({text})."
        elif "locked" in text:
            message = "another program has locked the journal."
        elif isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.IntegrityError | sqlite3.ProgrammingError
        ):
            message = f"the journal is damaged ({text})."
        else:
            raise
        raise InputError(f"{path}: {message}") from error


def _check_file(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path}: no such file.")
    if path.is_dir():
        raise InputError(f"{path}: a folder, not a journal.")
    try:
        ours = is_journal(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    if not ours:
        raise InputError(f"{path}: not a journal of truecost. Name another file.")
    if Path(f"{path}-journal").exists():
        # SQLite would roll back, and change or delete files that the rollback journal names.
        raise InputError(
            f"{path}: truecost never leaves a file {path.name}-journal beside a journal. Move it "
            "away first."
        )


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse other applications and versions, and tables, views and triggers that are not ours."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise InputError(f"{path}: not a journal of truecost, but another SQLite file.")
    if version != VERSION:
        raise InputError(
            f"{path}: a journal of {'a later' if version > VERSION else 'an earlier'} version of "
            "truecost. Read it with that version."
        )
    with contextlib.closing(sqlite3.connect(":memory:")) as ours:
        begin_anew(ours)
        if different := _objects(connection) ^ _objects(ours):
            raise InputError(
                f"{path}: not as truecost writes a journal (see {min(different)[1]!r:.60})."
            )


def _objects(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Type, name and SQL of everything in a database, however it is broken into lines."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master LIMIT 1000").fetchall()
    return {(kind, name, " ".join((sql or "").split())) for kind, name, sql in rows}


def _hold(handle: int, path: Path) -> None:
    """Lock an opened journal until it is closed; refuse one that somebody else writes to."""
    # The lock belongs to this opened file, not to the process: closing SQLite's does not undo it.
    # Only Linux has it, and journals are also read elsewhere.
    import fcntl

    lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, LOCKED_BYTE, 1, 0)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, lock)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise InputError(
                f"{path}: another truecost is writing to this journal. Wait for it, or name "
                "another."
            ) from error
        raise InputError(
            f"{path}: cannot be locked ({error.strerror}). Put the journal on a local disk."
        ) from error
