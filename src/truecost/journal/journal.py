"""The record of a campaign: one SQLite file, append-only, one writer, readable while written.

Costs are not stored: they are computed from outcomes by a metric when a matrix is asked for, so
that another penalty or a lower cutoff can be taken from the same runs later.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from truecost.errors import InputError, prefixed
from truecost.journal import question, store
from truecost.journal.failures import Failure, read_failures
from truecost.journal.store import Kind
from truecost.journal.table import RunTable, cost_matrix, read_table
from truecost.matrix.cost_matrix import CostMatrix
from truecost.runs import Instance, Machine, Status

if TYPE_CHECKING:
    from truecost.matrix.log import Log
    from truecost.running.metric import Metric
    from truecost.running.pools import Finished
    from truecost.running.scenario import Scenario
    from truecost.space.space import Configuration

__all__ = ["Event", "Failure", "Journal", "Kind", "RunTable"]

MACHINE = ("host", "cpu", "system", "solver", "truecost")
MEASURES = ("cpu", "wall", "memory", "exit_code", "time", "value", "detail")
MEASURED = attrgetter(*MEASURES)
COLUMNS = ("configuration", "instance", "number", "seed", "cap", "status", "machine", "ended")
# Column of `Instance.extras` with the family.
FAMILY = "family"
# Bytes of output of failed runs that a journal keeps.
MOST_OUTPUT = 64_000_000
# As many runs that all failed alike are a first attempt that went wrong; more are a result.
SET_ASIDE = 100
# The event of a campaign that was stopped since its first runs all failed.
UNUSABLE = "unusable"


class Event(NamedTuple):
    """A recorded decision. `after`: the last row of runs before it."""

    number: int
    after: int
    kind: str
    data: Any


class Journal:
    """An open journal; `Journal.read` and `Journal.write` open one. A context manager.

    `kind` is the command that made it, `question` what was asked: the scenario's fingerprint and
    the settings that must stay. `set_aside` is where an earlier, unusable attempt was moved when
    this journal was opened.

    Examples
    --------
    >>> scenario = tc.Scenario.read("scenario.toml")
    >>> _ = tc.gather(scenario, "runs.db", configurations=3, instances=2, runs=1)
    >>> with tc.Journal.read("runs.db") as journal:
    ...     print(journal.matrix().shape)
    ...
    (3, 2, 1)
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        self.path = path
        self.kind: Kind = "gather"
        self.question: Mapping[str, Any] = {}
        self.set_aside: Path | None = None
        self._connection, self._lock = connection, lock
        self._numbers: dict[str, dict[str, int]] = {"configurations": {}, "instances": {}}
        self._machines: dict[Machine, int] = {}
        # Events and configurations that are written with the next commit.
        self._waiting: list[tuple[int, int, str, str]] = []
        self._entering: dict[str, str] = {}
        self._events = self._rows = 0
        self._room: int | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Journal":
        """Open a journal for reading, also one that is being written. Changes nothing."""
        path = Path(path)
        journal = cls(path, store.open_reading(path), None)
        try:
            journal._identify()
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def write(
        cls,
        path: str | os.PathLike[str],
        scenario: "Scenario",
        kind: Kind,
        settings: Mapping[str, Any],
        *,
        start_over: bool = False,
    ) -> "Journal":
        """Open a journal for writing, or begin one.

        `settings` are JSON values that must stay (without budget, workers, pool and added
        instances); an existing journal must have been asked the same. `start_over`: an attempt
        whose first runs all failed is moved aside, since the scenario is taken to be mended.
        """
        path = Path(path)
        connection, lock, begun = store.open_writing(path)
        journal = cls(path, connection, lock)
        try:
            with store.sqlite_errors(path):
                if begun and start_over and journal._is_unusable():
                    journal.set_aside, begun = store.set_aside(connection, path), False
            journal._begin(scenario, kind, settings, begun)
        except BaseException:
            journal.close()
            raise
        return journal

    def _identify(self) -> None:
        with self._damage():
            self.kind = json.loads(self.noted("kind") or "null")
            self.question = json.loads(self.noted("question") or "{}")
            if self.kind not in get_args(Kind):
                raise ValueError("it says nothing of the command that made it")
            self._rows = self._number("SELECT coalesce(max(id), 0) FROM runs")
            self._events = self._number("SELECT coalesce(max(id), 0) FROM events")

    def _begin(
        self, scenario: "Scenario", kind: Kind, settings: Mapping[str, Any], begun: bool
    ) -> None:
        """Compare with what the journal was begun with, or begin it."""
        if begun:
            self._identify()
            if self.kind != kind:
                raise InputError(
                    f"{self.path}: this journal was created by `{self.kind}`. Name "
                    "another with --journal."
                )
        now = question.record(scenario.fingerprint(), settings, self.question)
        current = {
            "scenario": str(scenario.path),
            "metric": scenario.metric.model_dump_json(),
        }
        # Before the first run nothing can be mixed: the scenario may be mended.
        if not begun or (now != self.question and not self._has_runs()):
            with self._transaction():
                store.empty(self._connection)
                store.create(self._connection)
                self._put("kind", json.dumps(kind))
                self._put("question", json.dumps(now))
                for key, value in current.items():
                    self._put(key, value)
            self.kind, self.question, self._events, self._rows = kind, now, 0, 0
            return
        question.refuse_changes(self.path, self.question, now)
        for key, value in current.items():
            if value != self.noted(key):
                self.note(key, value)

    def _is_unusable(self) -> bool:
        """Whether the campaign was stopped by its first runs, and no run followed."""
        rows = self._number("SELECT coalesce(max(id), 0) FROM runs")
        query = "SELECT kind, after FROM events ORDER BY id DESC LIMIT 1"
        last = self._connection.execute(query).fetchone()
        return last == (UNUSABLE, rows) and rows <= SET_ASIDE

    def _has_runs(self) -> bool:
        """Whether a run counts; aborted ones are made again."""
        aborted = int(Status.ABORTED)
        return bool(self._number(f"SELECT EXISTS (SELECT 1 FROM runs WHERE status <> {aborted})"))  # noqa: S608

    @property
    def is_blank(self) -> bool:
        """Whether the journal holds no run and no event."""
        return not self._rows and not self._events

    # Writing

    def enter(
        self, configurations: Iterable["Configuration"] = (), instances: Iterable[Instance] = ()
    ) -> None:
        """Take in configurations and instances; a known instance must have the same content.

        Configurations alone are on disk with the next commit.
        """
        self._entering |= {one.name: json.dumps(dict(one.values)) for one in configurations}
        if not (instances := tuple(instances)):
            return
        with self._transaction():
            known = dict(self._connection.execute("SELECT name, digest FROM instances"))
            for instance in instances:
                digest = _digest(instance)
                if known.get(instance.name, digest) != digest:
                    raise InputError(
                        f"{self.path}: instance {instance.name!r} has changed since its runs were "
                        "made. Put the old one back, or name another with --journal."
                    )
                self._connection.execute(
                    "INSERT OR IGNORE INTO instances (name, digest, extras) VALUES (?, ?, ?)",
                    (instance.name, digest, json.dumps(dict(instance.extras))),
                )

    def add(self, finished: Iterable["Finished"]) -> None:
        """Write finished runs, and events not yet written; on disk when this returns."""
        ended = datetime.now(UTC).isoformat(timespec="seconds")
        before = self._rows
        try:
            with self._transaction():
                for run in finished:
                    self._add(run, ended)
        except BaseException:
            self._rows, self._room = before, None
            raise

    def _add(self, run: "Finished", ended: str) -> None:
        task, outcome = run.task, run.outcome
        values = (
            self.number("configurations", task.configuration.name),
            self.number("instances", task.instance.name),
            task.number,
            task.seed,
            outcome.cap,
            int(outcome.status),
            self._machine(run.machine),
            ended,
            *MEASURED(outcome),
        )
        names = ", ".join((*COLUMNS, *MEASURES))
        self._connection.execute(
            f"INSERT INTO runs (id, {names}) VALUES ({', '.join('?' * (1 + len(values)))})",  # noqa: S608
            (self._rows + 1, *values),
        )
        self._rows += 1
        if outcome.command:
            self._keep(outcome.command, outcome.stdout, outcome.stderr)

    def _keep(self, command: str, stdout: bytes, stderr: bytes) -> None:
        """Keep the output of the latest run while there is room."""
        if self._room is None:
            used = "SELECT coalesce(sum(length(stdout) + length(stderr)), 0) FROM outputs"
            self._room = MOST_OUTPUT - self._number(used)
        if len(stdout) + len(stderr) <= self._room:
            self._room -= len(stdout) + len(stderr)
            self._connection.execute(
                "INSERT INTO outputs VALUES (?, ?, ?, ?)", (self._rows, command, stdout, stderr)
            )

    def event(self, kind: str, data: Any = None, *, commit: bool = False) -> int:
        """Record a decision; on disk with the next `add`, `enter`, `note` or `commit=True`.

        Returns its number.
        """
        self._events += 1
        self._waiting.append((self._events, self._rows, kind, json.dumps(data)))
        if commit:
            with self._transaction():
                pass
        return self._events

    def note(self, key: str, value: str | bytes) -> None:
        """Keep a text or bytes beside the runs, replacing what was there."""
        with self._transaction():
            self._put(key, value)

    def number(self, table: str, name: str) -> int:
        """The number of a configuration or an instance."""
        known = self._numbers[table]
        if name not in known:
            known |= dict(self._connection.execute(f"SELECT name, id FROM {table}"))  # noqa: S608
        return known[name]

    def _machine(self, machine: Machine) -> int:
        if machine not in self._machines:
            facts, names = astuple(machine), ", ".join(MACHINE)
            self._connection.execute(
                f"INSERT OR IGNORE INTO machines ({names}) VALUES (?, ?, ?, ?, ?)",  # noqa: S608
                facts,
            )
            query = f"SELECT id FROM machines WHERE ({names}) = (?, ?, ?, ?, ?)"  # noqa: S608
            self._machines[machine] = self._connection.execute(query, facts).fetchone()[0]
        return self._machines[machine]

    def _put(self, key: str, value: str | bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit everything done inside and the waiting events, or nothing."""
        with store.sqlite_errors(self.path):
            try:
                with store.transaction(self._connection):
                    self._write_waiting()
                    yield
            except BaseException:
                # What was entered in the transaction is gone.
                self._machines.clear()
                for known in self._numbers.values():
                    known.clear()
                raise
            self._waiting.clear()
            self._entering.clear()

    def _write_waiting(self) -> None:
        # A new journal has no tables yet.
        if self._entering:
            self._connection.executemany(
                'INSERT OR IGNORE INTO configurations (name, "values") VALUES (?, ?)',
                self._entering.items(),
            )
        if self._waiting:
            self._connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", self._waiting)

    # Reading

    def events(self, *kinds: str) -> list[Event]:
        """Recorded decisions in their order, of some kinds or all."""
        chosen = f" WHERE kind IN ({','.join('?' * len(kinds))})" if kinds else ""
        with self._damage():
            rows = self._connection.execute(
                f"SELECT id, after, kind, data FROM events{chosen} ORDER BY id",  # noqa: S608
                kinds,
            ).fetchall()
            rows += [row for row in self._waiting if not kinds or row[2] in kinds]
            return [
                Event(number, after, kind, json.loads(data)) for number, after, kind, data in rows
            ]

    @property
    def decisions(self) -> int:
        """The number of events so far: random generators are seeded by (seed, decisions)."""
        return self._events

    def noted(self, key: str) -> Any:
        """What `note` kept; None where nothing was."""
        with store.sqlite_errors(self.path):
            query = "SELECT value FROM meta WHERE key = ?"
            row = self._connection.execute(query, (key,)).fetchone()
        return None if row is None else row[0]

    def settings(self) -> dict[str, Any]:
        """The settings the campaign was begun with."""
        return dict(self.question.get("settings", {}))

    def configurations(self) -> dict[str, dict[str, Any]]:
        """The values of every configuration, by name, in order of entry."""
        with self._damage():
            rows = self._connection.execute(
                'SELECT name, "values" FROM configurations ORDER BY id'
            ).fetchall()
            written = {name: json.loads(values) for name, values in rows}
            waiting = {name: json.loads(values) for name, values in self._entering.items()}
            return {**written, **waiting}

    def instances(self) -> dict[str, dict[str, str]]:
        """The extra columns of every instance, by name, in order of entry."""
        with self._damage():
            rows = self._connection.execute("SELECT name, extras FROM instances ORDER BY id")
            return {name: dict(json.loads(extras)) for name, extras in rows.fetchall()}

    def machines(self) -> list[Machine]:
        """Where runs were made; `RunTable.machine` counts them from 1."""
        with self._damage():
            query = f"SELECT {', '.join(MACHINE)} FROM machines ORDER BY id"  # noqa: S608
            rows = self._connection.execute(query).fetchall()
            return [Machine(**dict(zip(MACHINE, row, strict=True))) for row in rows]

    def failures(self) -> list[Failure]:
        """Failed runs by cause, the most frequent first, with the output of the latest of each."""
        with self._damage():
            return read_failures(self._connection)

    def table(self) -> RunTable:
        """All runs that count, as columns."""
        with self._damage():
            self._connection.execute("BEGIN")
            try:
                return read_table(self._connection)
            finally:
                self._connection.execute("ROLLBACK")

    def metric(self, *, par: float | None = None, cutoff: float | None = None) -> "Metric":
        """The scenario's metric; or PARk with another factor or a lower cutoff."""
        from truecost.running.metric import Metric

        with self._damage():
            metric = Metric.model_validate_json(self.noted("metric") or "{}")
        if par is None and cutoff is None:
            return metric
        limits = self.question["scenario"]["limits"]
        return metric.changed(limits, par=par, cutoff=cutoff)

    def matrix(
        self,
        *,
        instances: Sequence[str] | None = None,
        configurations: Sequence[str] | None = None,
        metric: "Metric | None" = None,
        table: RunTable | None = None,
    ) -> CostMatrix:
        """Costs of the recorded runs, or of those on some instances or of some configurations.

        Rows and columns are in the order asked for; those without a run are left out. `metric`:
        another than the scenario's. `table`: for callers that have read it.
        """
        table = self.table() if table is None else table
        keep = np.ones(len(table), dtype=bool)
        for names, listed, column in (
            (instances, table.instances, table.instance),
            (configurations, table.configurations, table.configuration),
        ):
            if names is not None:
                wanted = set(names)
                keep &= np.array([name in wanted for name in listed], dtype=bool)[column]
        if not keep.any():
            raise InputError(f"{self.path}: no runs yet.")
        with prefixed(self.path):
            matrix = cost_matrix(
                table, keep, self.metric() if metric is None else metric, configurations, instances
            )
        extras = self.instances()
        families = [extras[name].get(FAMILY) for name in matrix.instances]
        return matrix.replace(families=families) if all(families) else matrix

    def log(self, *, par: float | None = None, cutoff: float | None = None) -> "Log":
        """Runs, plans and parameters as importers give them, for `judge.assess`."""
        from truecost.journal.logs import log_of

        return log_of(self, self.metric(par=par, cutoff=cutoff))

    def close(self) -> None:
        """Write waiting events and close the file."""
        try:
            if (self._waiting or self._entering) and self._lock is not None:
                with contextlib.suppress(InputError), self._transaction():
                    pass
        finally:
            self._connection.close()
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def _number(self, query: str) -> int:
        return int(self._connection.execute(query).fetchone()[0])

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        """Name the file where SQLite accepted values that truecost never writes."""
        with store.sqlite_errors(self.path):
            try:
                yield
            except InputError:
                raise
            except (TypeError, ValueError, OverflowError, IndexError, KeyError) as error:
                raise InputError(f"{self.path}: the journal is damaged ({error}).") from error

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _digest(instance: Instance) -> str:
    try:
        return instance.digest()
    except OSError as error:
        raise InputError(f"instance {instance.name!r}: {error.strerror or error}.") from error
