"""A journal as a file: its schema, how it is opened, held by one writer or set aside, and SQLite's
errors in our words.
"""

import contextlib
import difflib
import hashlib
import json
import os
import re
import secrets
import shutil
import sqlite3
import struct
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from truecost.errors import InputError, TruecostError
from truecost.runs import Status

HEADER = b"SQLite format 3\0"
APPLICATION = 0x74727563  # "truc"
# What made the journal says its version: those of gather are as they always were.
VERSIONS = {"gather": 1, "configure": 2, "validate": 3, "explain": 4}
Kind = Literal["gather", "configure", "validate", "explain"]
# Journals with the tables of a search.
SEARCHES = ("configure", "explain")
# SQLite locks bytes around 2^30; this one is ours, and says that somebody writes.
LOCKED_BYTE = 2**62
SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE configurations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    "values" TEXT NOT NULL);
CREATE TABLE instances (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, digest TEXT NOT NULL,
    extras TEXT NOT NULL);
CREATE TABLE machines (id INTEGER PRIMARY KEY, host TEXT, cpu TEXT, system TEXT, method TEXT,
    solver TEXT, truecost TEXT, UNIQUE (host, cpu, system, method, solver, truecost));
CREATE TABLE plans (id INTEGER PRIMARY KEY, configurations TEXT NOT NULL, instances TEXT NOT NULL,
    runs INTEGER NOT NULL, metric TEXT NOT NULL, after INTEGER NOT NULL);
CREATE TABLE runs (id INTEGER PRIMARY KEY, configuration INTEGER NOT NULL,
    instance INTEGER NOT NULL, number INTEGER NOT NULL, seed INTEGER NOT NULL,
    status INTEGER NOT NULL, cpu REAL NOT NULL, wall REAL NOT NULL, memory INTEGER NOT NULL,
    exit_code INTEGER, time REAL, value REAL, detail TEXT NOT NULL, machine INTEGER NOT NULL,
    ended TEXT NOT NULL);
CREATE UNIQUE INDEX one_run_per_cell ON runs (configuration, instance, number)
    WHERE status <> {int(Status.ABORTED)};
CREATE TRIGGER runs_stay BEFORE DELETE ON runs
    BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER runs_are_final BEFORE UPDATE ON runs
    BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSIONS["gather"]};
"""
# What a search has beyond runs: see searchlog.
SEARCH_TABLES = {
    "proposals": "number INTEGER PRIMARY KEY, configuration INTEGER NOT NULL UNIQUE, "
    "origin TEXT NOT NULL",
    "capped": "id INTEGER PRIMARY KEY, configuration INTEGER NOT NULL, instance INTEGER NOT NULL, "
    "number INTEGER NOT NULL, seed INTEGER NOT NULL, cap REAL NOT NULL, cpu REAL NOT NULL, "
    "wall REAL NOT NULL, memory INTEGER NOT NULL, exit_code INTEGER, time REAL, value REAL, "
    "detail TEXT NOT NULL, machine INTEGER NOT NULL, ended TEXT NOT NULL, "
    "UNIQUE (configuration, instance, number)",
    "steps": "number INTEGER PRIMARY KEY, runs INTEGER NOT NULL, incumbent INTEGER, "
    "reason TEXT NOT NULL, after INTEGER NOT NULL",
}
SEARCH_SCHEMA = SCHEMA + "".join(
    f"""
CREATE TABLE {table} ({columns});
CREATE TRIGGER {table}_stay BEFORE DELETE ON {table}
    BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER {table}_are_final BEFORE UPDATE ON {table}
    BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
"""
    for table, columns in SEARCH_TABLES.items()
)
SCHEMAS = {
    "gather": SCHEMA,
    **{kind: SEARCH_SCHEMA + f"PRAGMA user_version = {VERSIONS[kind]};\n" for kind in SEARCHES},
    "validate": SCHEMA + f"PRAGMA user_version = {VERSIONS['validate']};\n",
}


# Tables made when they are first needed: output of failed runs, and what made times differ.
OPTIONAL = {
    "outputs": "CREATE TABLE outputs (id INTEGER PRIMARY KEY, configuration INTEGER NOT NULL, "
    "instance INTEGER NOT NULL, number INTEGER NOT NULL, status INTEGER NOT NULL, "
    "detail TEXT NOT NULL, command TEXT NOT NULL, stdout BLOB NOT NULL, stderr BLOB NOT NULL)",
    "conditions": "CREATE TABLE conditions (id INTEGER PRIMARY KEY, machine INTEGER NOT NULL, "
    "conditions TEXT NOT NULL)",
}
# How the digest of a value of the environment begins, before its salt.
SEALED = "sealed"
# Time limit of reading in seconds, and SQLite's steps between two looks at the clock.
READING, STEPS = 60.0, 100_000
# How often a journal that is being written is copied anew, should it change meanwhile.
COPIES = 100
# As many runs that all crashed alike are a first attempt that went wrong; more are a result.
SET_ASIDE = 100


class JournalError(TruecostError):
    """A journal that cannot be written any further; what is in it stays."""


def is_journal(path: str | os.PathLike[str], *, marked: bool = False) -> bool:
    """Whether this is a file that begins as SQLite's do; if `marked`, as those of truecost do,
    which the storages of Optuna are not.
    """
    if Path(path).is_dir():
        return False
    with Path(path).open("rb") as file:
        start = file.read(72)
    # The mark of a journal that is being written may still be in its write-ahead log.
    ours = start[68:] == APPLICATION.to_bytes(4, "big") or Path(f"{os.fspath(path)}-wal").exists()
    return start.startswith(HEADER) and (ours or not marked)


def check_header(path: Path) -> None:
    """Refuse what is not SQLite's."""
    if not is_journal(path):
        raise InputError(f"{path}: expected a journal of truecost, an SQLite file, and it is none.")


def open_reading(path: Path) -> tuple[sqlite3.Connection, contextlib.ExitStack]:
    """A connection that neither changes the file nor leaves anything beside it, and what to close
    with it.
    """
    # Opened in its folder, a journal that is being written would get SQLite's lock files, and one
    # with a rollback journal beside it would be changed by whatever that says. So what is closed is
    # opened as immutable, and what has a log is copied first.
    if Path(f"{path}-journal").exists():
        raise InputError(
            f"{path}: expected a journal of truecost, which never has a file {path.name}-journal "
            "beside it: SQLite would change or delete files that it names. Move it away."
        )
    stack = contextlib.ExitStack()
    with sqlite_errors(path):
        try:
            if Path(f"{path}-wal").exists():
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="truecost-read-"))
                copy = Path(folder) / "journal.db"
                _copy_live(path, copy)
                address = copy.as_uri()
            else:
                address = f"{path.absolute().as_uri()}?immutable=1"
            connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=30)
            stack.callback(connection.close)
            end = time.monotonic() + READING
            connection.set_progress_handler(lambda: time.monotonic() > end, STEPS)
            connection.execute("PRAGMA trusted_schema = 0")
            connection.execute("PRAGMA query_only = 1")
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except BaseException:
            stack.close()
            raise
    return connection, stack


def _copy_live(path: Path, copy: Path) -> None:
    """A consistent copy of a journal and its log, whether somebody writes or was killed."""
    # The file itself changes only when the log is put into it. If it did not while both were
    # copied, and the log was not begun anew, they belong together; what was appended meanwhile is
    # there or torn, and SQLite leaves out what is torn.
    log, log_copy = Path(f"{path}-wal"), Path(f"{copy}-wal")
    for attempt in range(COPIES):
        try:
            before = path.stat(), _salt(log)
            shutil.copyfile(path, copy)
            shutil.copyfile(log, log_copy)
            after = path.stat(), _salt(log)
        except FileNotFoundError:
            # Closed meanwhile: the log is in the file now.
            log_copy.unlink(missing_ok=True)
            shutil.copyfile(path, copy)
            if not log.exists():
                return
            continue
        same = all(
            getattr(before[0], key) == getattr(after[0], key)
            for key in ("st_mtime_ns", "st_size", "st_ino")
        )
        if same and before[1] == after[1]:
            return
        time.sleep(0.01 * (attempt + 1))
    raise InputError(f"{path}: expected a journal that can be copied, and it changed all the time.")


def _salt(log: Path) -> bytes:
    """What changes when a log is begun anew."""
    with log.open("rb") as file:
        return file.read(32)


def check_schema(connection: sqlite3.Connection, path: Path, kind: str) -> None:
    """Refuse a file with anything in it that truecost did not write."""
    # A view in the place of a table may never end, and a trigger do what nobody asked for.
    with contextlib.closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(SCHEMAS[kind])
        required = _objects(ours)
        for statement in OPTIONAL.values():
            ours.execute(statement)
        allowed = _objects(ours)
    objects = _objects(connection)
    for key in sorted(objects.keys() | required.keys()):
        if objects.get(key) != allowed.get(key):
            raise InputError(
                f"{path}: expected a journal as truecost writes it, got another {key[0]} "
                f"{key[1]!r:.60}."
            )


def _objects(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """The SQL of everything in a database, however it is broken into lines."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master LIMIT 1000").fetchall()
    return {(kind, name): " ".join((sql or "").split()) for kind, name, sql in rows}


@contextlib.contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quotes what is damaged, which need not be text
        raise InputError(f"{path}: expected a sound journal, and it is damaged.") from error
    except sqlite3.Error as error:
        text = str(error)
        if "disk is full" in text or "disk I/O" in text:
            raise JournalError(
                f"{path}: {text}: what is in the journal stays readable; make room and start "
                "again, nothing is run twice."
            ) from error
        if "interrupted" in text:
            raise InputError(
                f"{path}: expected a journal that is read within {READING:g} s, got none."
            ) from error
        if "readonly" in text or "unable to open" in text:
            raise InputError(
                f"{path}: expected a journal in a folder that can be written: {text}."
            ) from error
        if "locked" in text:
            raise InputError(
                f"{path}: expected a journal nobody else holds locked: {text}."
            ) from error
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.IntegrityError | sqlite3.ProgrammingError
        ):
            raise InputError(f"{path}: expected a sound journal: {text}.") from error
        raise


def statements(script: str) -> list[str]:
    """The statements of a script, one by one."""
    # executescript would end the transaction they belong to.
    statements, waiting = [], ""
    for line in script.strip().splitlines():
        waiting += line + "\n"
        if sqlite3.complete_statement(waiting):
            statements.append(waiting)
            waiting = ""
    return statements


def enter(connection: sqlite3.Connection, name: str, values: Mapping[str, Any]) -> None:
    """Take in a configuration that may be there already."""
    row = name, json.dumps(dict(values))
    connection.execute('INSERT OR IGNORE INTO configurations (name, "values") VALUES (?, ?)', row)


def sealed(fingerprint: Mapping[str, Any], like: Mapping[str, Any] | None) -> dict[str, Any]:
    """A fingerprint whose environment has salted digests in the place of values, with the salts of
    another one; as it is where that has the values themselves, as journals of 0.2 do.
    """
    environment = fingerprint.get("target", {}).get("environment", {})
    before = {} if like is None else like.get("target", {}).get("environment", {})
    digests = {}
    for name, value in environment.items():
        mark, _, rest = str(before.get(name, SEALED)).partition(":")
        salt = rest.partition(":")[0] or secrets.token_hex(16)
        digest = hashlib.scrypt(value.encode(), salt=salt.encode(), n=2**14, r=8, p=1).hex()
        digests[name] = f"{SEALED}:{salt}:{digest[:32]}" if mark == SEALED else value
    target = {**fingerprint.get("target", {}), "environment": digests}
    return {**fingerprint, "target": target} if environment else dict(fingerprint)


def what_changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The first things in which two fingerprints differ, in words."""
    old, new = _flat(before), _flat(now)
    parts = []
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) == new.get(key):
            continue
        if key == "space":
            lines = difflib.unified_diff(
                str(old[key]).splitlines(), str(new[key]).splitlines(), n=0, lineterm=""
            )
            changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
            parts.append(
                f"space: {'; '.join(changed[:2])}" if changed else "space: other line ends"
            )
        elif key.startswith("target.environment.") and key in old.keys() & new.keys():
            parts.append(f"{key} has another value")
        elif key.startswith("programs."):
            parts.append(f"the file {key.removeprefix('programs.')} has changed")
        else:
            parts.append(f"{key} was {json.dumps(old.get(key))}, is {json.dumps(new.get(key))}")
    more = f", and {len(parts) - 3} more" if len(parts) > 3 else ""
    return ", ".join(part[:200] for part in parts[:3]) + more


def _flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def hold(handle: int, path: Path) -> None:
    """Lock an opened journal until it is closed, or refuse one that somebody else writes to."""
    # The lock belongs to this opened file, not to the process: SQLite's own closing does not undo
    # it.
    # Only Linux has it, and journals are also read elsewhere.
    import fcntl

    lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, LOCKED_BYTE, 1, 0)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, lock)
    except OSError as error:
        raise InputError(
            f"{path}: expected a journal nobody writes to, and another truecost does."
        ) from error


def made_by(connection: sqlite3.Connection, path: Path) -> Kind:
    """The command that made a journal; other files, and those of a newer truecost, are refused."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise InputError(f"{path}: expected a journal of truecost, got another SQLite file.")
    kinds: list[Kind] = [kind for kind in get_args(Kind) if VERSIONS[kind] == version]
    if not kinds:
        raise InputError(
            f"{path}: expected a journal of version {max(VERSIONS.values())} at most, got "
            f"{version}: a newer truecost reads it."
        )
    return kinds[0]


def drop_tables(connection: sqlite3.Connection) -> None:
    """Empty a journal that has no runs, or whose runs are set aside."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    for (table,) in connection.execute(tables).fetchall():
        connection.execute(f"DROP TABLE {table}")


def set_aside(connection: sqlite3.Connection, path: Path) -> Path | None:
    """Copy a journal whose runs all crashed alike beside it, and empty it; where the copy is."""
    rows = connection.execute(
        f"SELECT status, detail FROM runs LIMIT {SET_ASIDE + 1}"  # noqa: S608 - a number
    ).fetchall()
    # Numbers differ from run to run: of processes, of seeds.
    alike = {re.sub(r"\d+", "", detail) for _, detail in rows}
    crashed = all(status == Status.CRASHED for status, _ in rows)
    if not 0 < len(rows) <= SET_ASIDE or len(alike) > 1 or not crashed:
        return None
    number = 1
    while (place := path.with_name(f"{path.name}.set-aside-{number}")).exists():
        number += 1
    with contextlib.closing(sqlite3.connect(place)) as copy:
        connection.backup(copy)
    connection.execute("BEGIN IMMEDIATE")
    try:
        drop_tables(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return place
