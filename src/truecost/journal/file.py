"""A journal as a file: its schema, how it is told from other files, and SQLite's errors in our
words.
"""

import contextlib
import difflib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from truecost.errors import InputError, TruecostError
from truecost.runs import Status

HEADER = b"SQLite format 3\0"
APPLICATION = 0x74727563  # "truc"
# What made the journal says its version: those of gather are as they always were.
VERSIONS = {"gather": 1, "configure": 2, "validate": 3, "explain": 4}
# Journals with the tables of a search.
SEARCHES = ("configure", "explain")
# SQLite locks bytes around 2^30; this one is ours, and says that somebody writes.
LOCKED_BYTE = 2**62
SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE configurations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "values" TEXT NOT NULL);
CREATE TABLE instances (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, extras TEXT NOT NULL);
CREATE TABLE machines (id INTEGER PRIMARY KEY, host TEXT, cpu TEXT, system TEXT, method TEXT, solver TEXT, truecost TEXT,
    UNIQUE (host, cpu, system, method, solver, truecost));
CREATE TABLE plans (id INTEGER PRIMARY KEY, configurations TEXT NOT NULL, instances TEXT NOT NULL, runs INTEGER NOT NULL,
    metric TEXT NOT NULL, after INTEGER NOT NULL);
CREATE TABLE runs (id INTEGER PRIMARY KEY, configuration INTEGER NOT NULL, instance INTEGER NOT NULL,
    number INTEGER NOT NULL, seed INTEGER NOT NULL, status INTEGER NOT NULL, cpu REAL NOT NULL, wall REAL NOT NULL,
    memory INTEGER NOT NULL, exit_code INTEGER, time REAL, value REAL, detail TEXT NOT NULL,
    machine INTEGER NOT NULL, ended TEXT NOT NULL);
CREATE UNIQUE INDEX one_run_per_cell ON runs (configuration, instance, number) WHERE status <> {int(Status.ABORTED)};
CREATE TRIGGER runs_stay BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER runs_are_final BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSIONS["gather"]};
"""
# What a search has beyond runs: see searchlog.
SEARCH_TABLES = {
    "proposals": "number INTEGER PRIMARY KEY, configuration INTEGER NOT NULL UNIQUE, origin TEXT NOT NULL",
    "capped": "id INTEGER PRIMARY KEY, configuration INTEGER NOT NULL, instance INTEGER NOT NULL, number INTEGER NOT NULL,"
    " seed INTEGER NOT NULL, cap REAL NOT NULL, cpu REAL NOT NULL, wall REAL NOT NULL, memory INTEGER NOT NULL,"
    " exit_code INTEGER, time REAL, value REAL, detail TEXT NOT NULL, machine INTEGER NOT NULL, ended TEXT NOT NULL,"
    " UNIQUE (configuration, instance, number)",
    "steps": "number INTEGER PRIMARY KEY, runs INTEGER NOT NULL, incumbent INTEGER, reason TEXT NOT NULL,"
    " after INTEGER NOT NULL",
}
SEARCH_SCHEMA = SCHEMA + "".join(
    f"""
CREATE TABLE {table} ({columns});
CREATE TRIGGER {table}_stay BEFORE DELETE ON {table} BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER {table}_are_final BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
"""
    for table, columns in SEARCH_TABLES.items()
)
SCHEMAS = {
    "gather": SCHEMA,
    **{kind: SEARCH_SCHEMA + f"PRAGMA user_version = {VERSIONS[kind]};\n" for kind in SEARCHES},
    "validate": SCHEMA + f"PRAGMA user_version = {VERSIONS['validate']};\n",
}


class JournalError(TruecostError):
    """A journal that cannot be written any further; what is in it stays."""


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as SQLite files do."""
    with Path(path).open("rb") as file:
        return file.read(len(HEADER)) == HEADER


def check_header(path: Path) -> None:
    """Refuse what is not SQLite's."""
    if not is_journal(path):
        raise InputError(f"{path}: expected a journal of truecost, an SQLite file, and it is none.")


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if "disk is full" in text or "disk I/O" in text:
            raise JournalError(
                f"{path}: {text}: what is in the journal stays readable; make room and start again, nothing is run twice."
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
    """The statements of a script, one by one: executescript would end the transaction they belong
    to.
    """
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
