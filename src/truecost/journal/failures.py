"""Failed runs by cause, with what one of each printed."""

import sqlite3
from dataclasses import dataclass

from truecost.runs import Status

# How runs end that have no output to look at.
USUAL = (Status.SOLVED, Status.TIMEOUT, Status.CENSORED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Runs that failed for the same reason: how many, and the output of one of them.

    `command` repeats that run by hand; it is empty where no output is kept.
    """

    status: str
    detail: str
    runs: int
    configuration: str
    instance: str
    command: str
    stdout: str
    stderr: str


def read_failures(connection: sqlite3.Connection) -> list[Failure]:
    """Failed runs by cause, the most frequent first, with the output of the latest of each."""
    # Beside max(), SQLite takes the other columns from the row that has it.
    query = """
        SELECT r.status, r.detail, count(*), c.name, i.name, ifnull(o.command, ''),
            ifnull(o.stdout, x''), ifnull(o.stderr, x''),
            max(CASE WHEN o.run IS NULL THEN 0 ELSE r.id END)
        FROM runs r JOIN configurations c ON c.id = r.configuration
            JOIN instances i ON i.id = r.instance LEFT JOIN outputs o ON o.run = r.id
        WHERE r.status NOT IN (?, ?, ?) GROUP BY r.status, r.detail
        ORDER BY count(*) DESC, r.status, r.detail"""
    rows = connection.execute(query, [int(status) for status in USUAL]).fetchall()
    return [
        Failure(
            status=Status(status).label,
            detail=detail,
            runs=runs,
            configuration=who,
            instance=where,
            command=command,
            stdout=bytes(stdout).decode("utf-8", "replace"),
            stderr=bytes(stderr).decode("utf-8", "replace"),
        )
        for status, detail, runs, who, where, command, stdout, stderr, _ in rows
    ]
