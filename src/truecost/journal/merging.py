"""Runs of several journals of one scenario put into one."""

import json
import sqlite3
from typing import get_args

from truecost.errors import InputError
from truecost.journal.file import enter, what_changed
from truecost.journal.journal import DEFAULT, GIVEN, Journal, Named
from truecost.journal.outputs import kept_outputs
from truecost.runs import Machine, Status


def take(journal: Journal, other: Journal) -> int:
    """Take in the runs of another journal of the same scenario; how many were new."""
    mine, theirs = journal.fingerprint(), other.fingerprint()
    # Values of the environment have a salt of their own in every journal: they cannot differ
    # unseen, since each part compared them with the scenario when it was made.
    for fingerprint in (mine, theirs):
        fingerprint["target"]["environment"] = sorted(fingerprint["target"]["environment"])
    if other.kind != "gather" or mine != theirs:
        raise InputError(
            f"{other.path}: expected a journal of truecost gather with the same scenario as "
            f"{journal.path}: {what_changed(mine, theirs) or 'it is of truecost ' + other.kind}."
        )
    with other.transaction(reading=True) as source, journal.transaction() as connection:
        before = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
        for name, values in source.execute('SELECT name, "values" FROM configurations ORDER BY id'):
            enter(connection, name, json.loads(values))
        known = dict(connection.execute("SELECT name, digest FROM instances"))
        for row in source.execute("SELECT name, digest, extras FROM instances ORDER BY id"):
            if known.get(row[0], row[1]) != row[1]:
                raise InputError(f"{other.path}: expected the same instance {row[0]!r}.")
            connection.execute(
                "INSERT OR IGNORE INTO instances (name, digest, extras) VALUES (?, ?, ?)", row
            )
        _take_runs(journal, source, connection, other.machines())
        _take_design(journal, source, connection)
        after = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    return int(after - before)


def _take_runs(
    journal: Journal,
    source: sqlite3.Connection,
    connection: sqlite3.Connection,
    machines: list[Machine],
) -> None:
    """Copy runs that are not here yet, under the numbers things have here."""
    places = [place for (place,) in source.execute("SELECT id FROM machines ORDER BY id")]
    numbers = dict(zip(places, map(journal.machine_number, machines), strict=True))
    columns = "number, seed, status, cpu, wall, memory, exit_code, time, value, detail, ended"
    rows = source.execute(
        f"SELECT c.name, i.name, r.machine, {columns} FROM runs r"  # noqa: S608 - our own
        " JOIN configurations c ON c.id = r.configuration"
        " JOIN instances i ON i.id = r.instance WHERE r.status <> ? ORDER BY r.id",
        (int(Status.ABORTED),),
    )
    kept = kept_outputs(source)
    for configuration, instance, machine, *rest in rows:
        cell = (
            journal.number("configurations", configuration),
            journal.number("instances", instance),
        )
        taken = connection.execute(
            "INSERT OR IGNORE INTO runs (configuration, instance, machine,"  # noqa: S608
            f" {columns}) VALUES ({', '.join('?' * 14)})",
            (*cell, numbers[machine], *rest),
        )
        if taken.rowcount and (output := kept.get((configuration, instance, rest[0]))):
            journal.outputs.store(connection, (*cell, rest[0], *output))


def _take_design(
    journal: Journal, source: sqlite3.Connection, connection: sqlite3.Connection
) -> None:
    """Take over what was to be run, and the default, where nothing was said here yet."""
    query = "SELECT configurations, instances, runs, metric FROM plans ORDER BY id DESC LIMIT 1"
    last = source.execute(query).fetchone()
    if last is None or connection.execute(query).fetchone() is not None:
        return
    ids = []
    for place, table in enumerate(get_args(Named)):
        names = dict(source.execute(f"SELECT id, name FROM {table}"))  # noqa: S608 - our own
        ids.append(
            json.dumps([journal.number(table, names[key]) for key in json.loads(last[place])])
        )
    connection.execute(
        "INSERT INTO plans (configurations, instances, runs, metric, after) VALUES (?, ?, ?, ?, 0)",
        (*ids, *last[2:]),
    )
    notes = source.execute("SELECT * FROM meta WHERE key IN (?, ?)", (DEFAULT, GIVEN)).fetchall()
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", notes)
