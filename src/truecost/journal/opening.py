"""How a journal is opened: held by one writer, told by its kind, or set aside."""

import contextlib
import fcntl
import os
import re
import sqlite3
import struct
from pathlib import Path
from typing import Final, Literal, get_args

from truecost.errors import InputError
from truecost.journal.file import APPLICATION, LOCKED_BYTE, VERSIONS
from truecost.runs import Status

Kind = Literal["gather", "configure", "validate", "explain"]
# As many runs that all crashed alike are a first attempt that went wrong; more are a result.
SET_ASIDE: Final = 100


def hold(handle: int, path: Path) -> None:
    """Lock an opened journal until it is closed, or refuse one that somebody else writes to."""
    # The lock belongs to this opened file, not to the process: SQLite's own closing does not undo
    # it.
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
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'runs'"
    if connection.execute(query).fetchone() is None:
        return None
    made_by(connection, path)
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
