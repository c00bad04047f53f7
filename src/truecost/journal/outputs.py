"""What a journal keeps beside the rows of runs: output of failed ones, files, and the conditions of
machines.
"""

import contextlib
import hashlib
import json
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from truecost.journal.file import OPTIONAL, JournalError
from truecost.runs import Run, Status

# Bytes of output of failed runs that a journal keeps in all; and of files of runs.
MOST_OUTPUT, MOST_FILES = 64_000_000, 10_000_000_000
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Runs that failed for the same reason: how many, and one of them as an example.

    `command` repeats the example by hand; values of the scenario's environment are left out. It is
    empty where no output of these runs is kept.
    """

    status: str
    detail: str
    runs: int
    configuration: str
    instance: str
    number: int
    command: str
    stdout: str
    stderr: str


class Outputs:
    """The output and the files of runs, kept as long as there is room."""

    def __init__(self, journal: Path) -> None:
        self.folder = journal.with_name(f"{journal.name}.files")
        # Bytes that may still be kept; None before anybody looked.
        self._room: int | None = None
        self._files: int | None = None

    def keep(self, connection: sqlite3.Connection, run: Run, cell: tuple[int, int, int]) -> None:
        """Keep what a failed run printed, and the files that the scenario asks for."""
        outcome = run.outcome
        if outcome.files:
            self._keep_files(run)
        if outcome.command:
            texts = (outcome.detail, outcome.command, outcome.stdout, outcome.stderr)
            self.store(connection, (*cell, int(outcome.status), *texts))

    def store(self, connection: sqlite3.Connection, row: tuple[Any, ...]) -> None:
        """Keep a row of output while there is room."""
        if self._room is None:
            require(connection, "outputs")
            query = "SELECT coalesce(sum(length(stdout) + length(stderr)), 0) FROM outputs"
            self._room = MOST_OUTPUT - connection.execute(query).fetchone()[0]
        size = sum(map(len, row[-2:]))
        if size > self._room:
            return
        self._room -= size
        connection.execute(
            "INSERT INTO outputs (configuration, instance, number, status, detail, command, stdout,"
            " stderr) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )

    def _keep_files(self, run: Run) -> None:
        if self._files is None:
            sizes = [path.stat().st_size for path in self.folder.rglob("*") if path.is_file()]
            self._files = MOST_FILES - sum(sizes)
        folder = self.folder / run.configuration / folder_name(run.instance) / str(run.number)
        for name, content in run.outcome.files.items():
            if len(content) > self._files:
                continue
            self._files -= len(content)
            path = folder / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            except OSError as error:
                raise JournalError(
                    f"{path}: {error.strerror}: runs in the journal are safe; make room and start "
                    "again, or leave out keep in [target]."
                ) from error


def folder_name(name: str) -> str:
    """The name of an instance as that of a folder."""
    # Dots in front would name another folder, or hide this one.
    text = re.sub(r"^\.", "%2E", quote(name, safe=""))
    if len(text) <= LONGEST_NAME:
        return text
    # No file system has longer ones; the digest distinguishes those that begin alike.
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{text[: LONGEST_NAME - 17]}-{digest}"


def require(connection: sqlite3.Connection, table: str) -> None:
    """Make a table that older journals do not have."""
    if not has(connection, table):
        connection.execute(OPTIONAL[table])


def has(connection: sqlite3.Connection, table: str) -> bool:
    """Whether a journal has a table."""
    query = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?)"
    return bool(connection.execute(query, (table,)).fetchone()[0])


def note_conditions(connection: sqlite3.Connection, machine: int, conditions: str) -> None:
    """Keep the load, governor, turbo and throttling of a machine at the time of a run."""
    require(connection, "conditions")
    connection.execute(
        "INSERT INTO conditions (machine, conditions) VALUES (?, ?)", (machine, conditions)
    )


def read_conditions(connection: sqlite3.Connection) -> dict[int, dict[str, Any]]:
    """By the number of a machine: its governors and turbo, the least and largest load, and how
    often it was throttled meanwhile.
    """
    if not has(connection, "conditions"):
        return {}
    by_machine: dict[int, list[dict[str, Any]]] = {}
    for machine, text in connection.execute("SELECT machine, conditions FROM conditions"):
        with contextlib.suppress(ValueError):
            by_machine.setdefault(machine, []).append(json.loads(text))
    return {machine: _summary(states) for machine, states in by_machine.items()}


def _summary(states: list[dict[str, Any]]) -> dict[str, Any]:
    def values(key: str) -> list[Any]:
        return [state[key] for state in states if key in state]

    summary: dict[str, Any] = {
        key: ", ".join(sorted(set(map(str, values(key)))))
        for key in ("governor", "turbo")
        if values(key)
    }
    if loads := values("load"):
        summary["load"] = [min(loads), max(loads)]
    if throttled := values("throttled"):
        summary["throttled"] = max(throttled) - min(throttled)
    return summary


def kept_outputs(connection: sqlite3.Connection) -> dict[tuple[str, str, int], tuple[Any, ...]]:
    """Status, detail, command and output of failed runs, by configuration, instance and number."""
    if not has(connection, "outputs"):
        return {}
    rows = connection.execute(
        "SELECT c.name, i.name, o.number, o.status, o.detail, o.command, o.stdout, o.stderr"
        " FROM outputs o JOIN configurations c ON c.id = o.configuration"
        " JOIN instances i ON i.id = o.instance ORDER BY o.id"
    )
    return {(who, where, number): tuple(output) for who, where, number, *output in rows}


def failures(connection: sqlite3.Connection) -> list[Failure]:
    """Failed runs by cause, the most frequent first, with the output of the latest of each whose
    output is kept.
    """
    fields = ("runs", "configuration", "instance", "number", "command", "stdout", "stderr")
    # Beside max(), SQLite takes the other columns from the row that has it.
    query = (
        "SELECT f.status, f.detail, count(*), c.name, i.name, f.number, {}, max(f.id) FROM {} f"
        " JOIN configurations c ON c.id = f.configuration"
        " JOIN instances i ON i.id = f.instance WHERE f.status NOT IN (?, ?)"
        " GROUP BY f.status, f.detail ORDER BY f.id"
    )
    ended = (int(Status.SOLVED), int(Status.TIMEOUT))
    # Where there is no room for more output, runs still count.
    tables = {"runs": "'', x'', x''"}
    if has(connection, "outputs"):
        tables["outputs"] = "f.command, f.stdout, f.stderr"
    causes: dict[tuple[int, str], dict[str, Any]] = {}
    for table, kept in tables.items():
        for status, detail, *values, _ in connection.execute(query.format(kept, table), ended):
            cause = causes.setdefault((status, detail), {"runs": values[0]})
            cause |= dict(zip(fields[1:], values[1:], strict=True))
    return [
        Failure(
            status=Status(status).label,
            detail=detail,
            **cause | {name: bytes(cause[name]).decode("utf-8", "replace") for name in fields[-2:]},
        )
        for (status, detail), cause in sorted(causes.items(), key=lambda pair: -pair[1]["runs"])
    ]
