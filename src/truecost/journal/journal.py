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
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from truecost.errors import InputError, prefixed
from truecost.journal import store
from truecost.journal.question import Kind, question_of, refuse_changes, refuse_narrower
from truecost.journal.table import RunTable, cost_matrix, read_table
from truecost.matrix.cost_matrix import CostMatrix
from truecost.runs import FAMILY, Instance, Machine, Status

if TYPE_CHECKING:
    import pandas as pd

    from truecost.matrix.log import Log
    from truecost.running.metric import Metric
    from truecost.running.pools import Finished
    from truecost.running.scenario import Scenario
    from truecost.space.space import Configuration

__all__ = ["Event", "Journal", "Kind", "RunTable"]

# Failed runs whose output is kept, each up to 128 kB.
MOST_OUTPUTS = 500
MEASURES = ("cap", "cpu", "wall", "memory", "exit_code", "time", "value", "detail")
ADD_RUN = f"""INSERT INTO runs (configuration, instance, machine, number, seed, status, ended,
    {", ".join(MEASURES)}) VALUES ((SELECT id FROM configurations WHERE name = ?),
    (SELECT id FROM instances WHERE name = ?),
    (SELECT id FROM machines WHERE (host, cpu, system, solver, truecost) = (?, ?, ?, ?, ?)),
    ?, ?, ?, ?, {", ".join("?" * len(MEASURES))})"""  # noqa: S608
ADD_OUTPUT = f"""INSERT INTO outputs (run, command, stdout, stderr) SELECT ?, ?, ?, ?
    WHERE (SELECT coalesce(max(id), 0) FROM outputs) < {MOST_OUTPUTS}"""  # noqa: S608
FAILURES = """SELECT r.status, detail, c.name, i.name, number, command, stdout, stderr
    FROM runs r JOIN configurations c ON c.id = r.configuration
        JOIN instances i ON i.id = r.instance JOIN outputs o ON o.run = r.id ORDER BY r.id"""


class Event(NamedTuple):
    """A recorded decision: a plan, a test, a proposal, a budget, an end."""

    number: int
    kind: str
    data: Any


class Journal:
    """An open journal; `Journal.read` and `Journal.write` open one. A context manager.

    `question` is what was asked: the command (`kind`), its settings, and the scenario's
    fingerprint.

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
        self.path, self._file = path, path.absolute()
        self.question: dict[str, Any] = {}
        self._connection, self._lock = connection, lock

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Journal":
        """Open a journal for reading, also one that is being written. Changes nothing."""
        path = Path(path)
        journal = cls(path, store.open_reading(path), None)
        with journal._closed_on_error():
            journal._identify()
        return journal

    @classmethod
    def write(
        cls,
        path: str | os.PathLike[str],
        scenario: "Scenario",
        kind: Kind,
        settings: Mapping[str, Any],
    ) -> "Journal":
        """Open a journal for writing, or begin one.

        `settings` are JSON values that must stay (without budget, workers, pool and added
        instances); an existing journal must have been asked the same.
        """
        path = Path(path)
        connection, lock = store.open_writing(path)
        journal = cls(path, connection, lock)
        with journal._closed_on_error():
            if begun := journal.meta("question") is not None:
                journal._identify()
                if journal.kind != kind:
                    raise InputError(
                        f"{path}: this journal was created by `{journal.kind}`. Name another with "
                        "--journal."
                    )
            now = question_of(kind, scenario.fingerprint(), settings, journal.question)
            # Before the first run nothing can be mixed: the scenario may be mended.
            if not begun or (now != journal.question and not journal._has_runs()):
                with journal._writing(commit=True):
                    store.begin_anew(connection)
                    journal.set_meta("question", json.dumps(now))
                journal.question = now
            refuse_changes(path, journal.question, now)
            if kind != "gather" and journal._has_runs():
                refuse_narrower(path, journal.metric().range(), scenario.metric.range())
            journal.set_meta("scenario", str(scenario.path))
            journal.set_meta("metric", scenario.metric.model_dump_json())
        return journal

    @contextlib.contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _identify(self) -> None:
        if (question := self.meta("question")) is None:
            raise InputError(f"{self.path}: no runs yet.")
        with self._damage():
            self.question = json.loads(question)
            if self.kind not in get_args(Kind):
                raise ValueError("it does not name the command that made it")

    @property
    def kind(self) -> Kind:
        """The command that made it."""
        kind: Kind = self.question["kind"]
        return kind

    @property
    def settings(self) -> dict[str, Any]:
        """The settings the campaign was begun with."""
        return dict(self.question["settings"])

    @property
    def is_blank(self) -> bool:
        """Whether the journal holds no run and no event."""
        runs = self._number("SELECT EXISTS (SELECT 1 FROM runs)")
        return not runs and not self.decisions

    def _has_runs(self) -> bool:
        """Whether a run counts; aborted ones are made again."""
        aborted = int(Status.ABORTED)
        return bool(self._number(f"SELECT EXISTS (SELECT 1 FROM runs WHERE status <> {aborted})"))  # noqa: S608

    # Writing

    def enter(
        self, configurations: Iterable["Configuration"] = (), instances: Iterable[Instance] = ()
    ) -> None:
        """Take in configurations and instances, with the next commit; a known instance must have
        the same content.
        """
        values = [(one.name, json.dumps(dict(one.values))) for one in configurations]
        with self._writing() as connection:
            connection.executemany(
                'INSERT OR IGNORE INTO configurations (name, "values") VALUES (?, ?)', values
            )
            digests = dict(connection.execute("SELECT name, digest FROM instances"))
            for instance in instances:
                digest = _digest(instance)
                if digests.get(instance.name, digest) != digest:
                    raise InputError(
                        f"{self.path}: instance {instance.name!r} has changed since its runs were "
                        "made, or its family or other columns have. Put the old ones back, or name "
                        "another with --journal."
                    )
                connection.execute(
                    "INSERT OR IGNORE INTO instances (name, digest, extras) VALUES (?, ?, ?)",
                    (instance.name, digest, json.dumps(dict(instance.extras))),
                )

    def add(self, finished: Iterable["Finished"]) -> None:
        """Write finished runs, and all that waits for a commit; on disk when this returns."""
        # SQLite would go on writing to a file that nobody can open any more.
        if not store.is_in_place(self._file, self._lock):
            raise InputError(f"{self.path}: the journal was moved or deleted. Put it back.")
        ended = datetime.now(UTC).isoformat(timespec="seconds")
        with self._writing(commit=True) as connection:
            for run in finished:
                task, outcome, machine = run.task, run.outcome, astuple(run.machine)
                connection.execute(
                    "INSERT OR IGNORE INTO machines (host, cpu, system, solver, truecost) "
                    "VALUES (?, ?, ?, ?, ?)",
                    machine,
                )
                names = (task.configuration.name, task.instance.name)
                values = (task.number, task.seed, int(outcome.status), ended)
                measures = (getattr(outcome, name) for name in MEASURES)
                row = connection.execute(ADD_RUN, (*names, *machine, *values, *measures)).lastrowid
                if outcome.command:
                    output = (row, outcome.command, outcome.stdout, outcome.stderr)
                    connection.execute(ADD_OUTPUT, output)

    def event(self, kind: str, data: Any = None, *, commit: bool = False) -> None:
        """Record a decision; on disk at once with `commit`, else with the next commit."""
        with self._writing(commit=commit) as connection:
            connection.execute(
                "INSERT INTO events (kind, data) VALUES (?, ?)", (kind, json.dumps(data))
            )

    def set_meta(self, key: str, value: str | bytes) -> None:
        """Keep a text or bytes with the next commit, replacing what was there."""
        if self.meta(key) != value:
            with self._writing() as connection:
                connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @contextlib.contextmanager
    def _writing(self, *, commit: bool = False) -> Iterator[sqlite3.Connection]:
        """Write everything done inside, or nothing; on disk at once or with the next commit."""
        connection = self._connection
        with store.sqlite_errors(self.path):
            # What is written between two commits is one transaction, and each step can be undone.
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            connection.execute("SAVEPOINT step")
            try:
                yield connection
                connection.execute("RELEASE step")
                if commit:
                    connection.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK TO step")
                raise

    def close(self) -> None:
        """Write what waits for a commit, and close the file."""
        try:
            if self._lock is not None and self._connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("COMMIT")
        finally:
            self._connection.close()
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    # Reading

    def events(self, *kinds: str) -> list[Event]:
        """Recorded decisions in their order, of these kinds or all."""
        chosen = f"WHERE kind IN ({','.join('?' * len(kinds))})" if kinds else ""
        with self._damage():
            rows = self._connection.execute(
                f"SELECT id, kind, data FROM events {chosen} ORDER BY id",  # noqa: S608
                kinds,
            )
            return [Event(number, kind, json.loads(data)) for number, kind, data in rows]

    @property
    def decisions(self) -> int:
        """The number of events so far: random generators are seeded by (seed, decisions)."""
        return self._number("SELECT coalesce(max(id), 0) FROM events")

    def meta(self, key: str) -> Any:
        """What `set_meta` kept; None where it kept nothing."""
        with store.sqlite_errors(self.path):
            query = "SELECT value FROM meta WHERE key = ?"
            row = self._connection.execute(query, (key,)).fetchone()
        return None if row is None else row[0]

    def configurations(self) -> dict[str, dict[str, Any]]:
        """The values of every configuration, by name, in order of entry."""
        with self._damage():
            query = 'SELECT name, "values" FROM configurations ORDER BY id'
            return {name: json.loads(text) for name, text in self._connection.execute(query)}

    def instances(self) -> dict[str, dict[str, str]]:
        """The extra columns of every instance, by name, in order of entry."""
        with self._damage():
            query = "SELECT name, extras FROM instances ORDER BY id"
            return {name: dict(json.loads(text)) for name, text in self._connection.execute(query)}

    def machines(self) -> list[Machine]:
        """Where runs were made."""
        names = Machine.__dataclass_fields__
        with self._damage():
            query = f"SELECT {', '.join(names)} FROM machines ORDER BY id"  # noqa: S608
            rows = self._connection.execute(query)
            return [Machine(**dict(zip(names, row, strict=True))) for row in rows]

    def failures(self) -> "pd.DataFrame":
        """The first failed runs, with the command line that repeats each and the end of its
        output.
        """
        import pandas as pd

        names = ["status", "detail", "configuration", "instance", "number", "command", "stdout",
                 "stderr"]  # fmt: skip
        with self._damage():
            table = pd.DataFrame(self._connection.execute(FAILURES).fetchall(), columns=names)
            table["status"] = [Status(status).label for status in table.status]
            for name in ("stdout", "stderr"):
                table[name] = [bytes(text).decode("utf-8", "replace") for text in table[name]]
        return table

    def table(self) -> RunTable:
        """All runs that count, as columns."""
        with self._damage():
            return read_table(self._connection)

    def metric(self, *, par: float | None = None, cutoff: float | None = None) -> "Metric":
        """The scenario's metric; or PARk with another factor or a lower cutoff."""
        from truecost.running.metric import Metric

        with self._damage():
            metric = Metric.model_validate_json(self.meta("metric") or "{}")
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
        metric = self.metric() if metric is None else metric
        with prefixed(self.path):
            matrix = cost_matrix(table, metric, configurations, instances)
        extras = self.instances()
        families = [extras[name].get(FAMILY) for name in matrix.instances]
        return matrix.replace(families=families) if all(families) else matrix

    def log(self, *, par: float | None = None, cutoff: float | None = None) -> "Log":
        """Runs, plans and parameters as importers give them, for `judge.assess`."""
        from truecost.journal.logs import log_of

        return log_of(self, self.metric(par=par, cutoff=cutoff))

    def _number(self, query: str) -> int:
        with store.sqlite_errors(self.path):
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
