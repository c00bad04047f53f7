"""The store of runs: one SQLite file, append-only, one writer, readable while it is written.

A run is a row of the table `runs`; docs/fields.md defines its columns. Costs are not in it: they
are computed from outcomes by a metric when a matrix is asked for, so that another factor, clock or
lower cutoff can be taken from the same runs later.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pydantic

from truecost.arrays import BoolArray
from truecost.errors import InputError, prefixed
from truecost.journal.design import Described, RunDesign, digest_of
from truecost.journal.file import (
    SCHEMAS,
    SEARCHES,
    Kind,
    check_header,
    check_schema,
    drop_tables,
    enter,
    hold,
    made_by,
    open_reading,
    sealed,
    set_aside,
    sqlite_errors,
    statements,
    what_changed,
)
from truecost.journal.metric import Metric
from truecost.journal.outputs import Failure, Outputs, failures, note_conditions, read_conditions
from truecost.journal.table import RunTable, cost_matrix, places_of, read_table
from truecost.matrix import CostMatrix
from truecost.matrix.families import FAMILY
from truecost.runs import Machine, Run, RunPlan, Status
from truecost.space.space import Configuration

# What the table `machines` says of each.
MACHINE = ("host", "cpu", "system", "method", "solver", "truecost")
# What is kept of an outcome, beside how it ended.
MEASURES = ("cpu", "wall", "memory", "exit_code", "time", "value", "detail")
MEASURED = attrgetter(*MEASURES)
# Where a journal keeps the name of the default, empty if there is none; journals of 0.2 keep none,
# and their first configuration is the default.
DEFAULT = "default"
# Noted where configurations were given, not sampled from the space.
GIVEN = "given"
# Configurations by name.
NAMED = 'name, "values" FROM configurations'
# Tables whose rows have names.
Named = Literal["configurations", "instances"]
# What a budget counts.
Unit = Literal["runs", "seconds"]


class Journal:
    """An open journal; `read` and `write` open one. Its `kind` is the command that made it.

    Examples
    --------
    >>> scenario = tc.Scenario.read("scenario.toml")
    >>> tc.gather(scenario, "runs.db", configurations=3, instances=2, runs=1)
    >>> with tc.Journal.read("runs.db") as journal:
    ...     print(journal.matrix().shape)
    ...
    (3, 2, 1)
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        self.set_aside: Path | None = None
        self._stack = contextlib.ExitStack()
        self.kind: Kind = "gather"
        self._machines: dict[Machine, int] = {}
        self._conditions: dict[int, str] = {}
        self.outputs = Outputs(path)
        self._known: dict[str, dict[str, int]] = {"configurations": {}, "instances": {}}

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Journal":
        """Open a journal for reading, also one that is being written."""
        path = Path(path)
        check_header(path)
        connection, stack = open_reading(path)
        journal = cls(path, connection, None)
        journal._stack = stack
        try:
            with sqlite_errors(path):
                journal._identify()
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def write(
        cls,
        path: str | os.PathLike[str],
        scenario: Described,
        kind: Kind = "gather",
        *,
        start_over: bool = False,
    ) -> "Journal":
        """Open a scenario's journal for writing, or begin one; one of another scenario or command
        is refused.

        Where `start_over` is true, a journal whose few runs all crashed alike is set aside and
        begun anew: what was wrong with the scenario, or around it, is taken to be mended.
        """
        path = Path(path)
        if path.exists() and path.stat().st_size:
            check_header(path)
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise InputError(
                f"{path}: expected a journal that can be written: {error.strerror}."
            ) from error
        connection = None
        try:
            hold(lock, path)
            with sqlite_errors(path):
                # By its whole path: `:memory:` is a name like any other here.
                connection = sqlite3.connect(path.absolute(), isolation_level=None, timeout=30)
                journal = cls(path, connection, lock)
                # Before the first change: a file of somebody else's stays as it is.
                query = "SELECT EXISTS (SELECT 1 FROM sqlite_master)"
                begun = bool(connection.execute(query).fetchone()[0])
                if begun:
                    journal._identify()
                connection.execute("PRAGMA journal_mode = WAL")
                # Each commit is on the disk before it is answered: nothing that was reported done
                # is lost with the power.
                connection.execute("PRAGMA synchronous = FULL")
                if begun and start_over:
                    journal.set_aside = set_aside(connection, path)
                    begun = journal.set_aside is None
                journal._begin(scenario, kind, begun)
        except BaseException:
            if connection is not None:
                connection.close()
            os.close(lock)
            raise
        return journal

    def _identify(self) -> None:
        """Find out which command made it; what is no journal is refused."""
        self.kind = made_by(self._connection, self.path)
        check_schema(self._connection, self.path, self.kind)

    def _begin(self, scenario: Described, kind: Kind, begun: bool) -> None:
        now = scenario.fingerprint()
        if not begun:
            self._create(scenario, kind, json.dumps(sealed(now, None), sort_keys=True))
            return
        if self.kind != kind:
            raise InputError(
                f"{self.path}: expected a journal of truecost {kind}, got one of truecost "
                f"{self.kind}, which chose its runs otherwise: begin another `journal`."
            )
        before = self.noted("fingerprint")
        fingerprint = json.dumps(sealed(now, json.loads(before)), sort_keys=True)
        if before != fingerprint and not self._has_runs():
            # The first run could not even be started, and the scenario was mended since: nothing is
            # there to be mixed.
            self._create(scenario, kind, fingerprint)
        elif before != fingerprint:
            raise InputError(
                f"{self.path}: expected the scenario the journal was begun with; "
                f"{what_changed(json.loads(before), json.loads(fingerprint))}. Its runs and new "
                "ones must not be mixed: put that back, or begin another `journal`."
            )

    def _create(self, scenario: Described, kind: Kind, fingerprint: str) -> None:
        with self.transaction() as connection:
            drop_tables(connection)
            for statement in statements(SCHEMAS[kind]):
                connection.execute(statement)
            rows = [("scenario", scenario.name), ("fingerprint", fingerprint)]
            connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self.kind = kind

    def is_blank(self) -> bool:
        """Whether nothing is in it but the name and the fingerprint of the scenario."""
        query = "SELECT (SELECT count(*) FROM meta) = 2 AND NOT EXISTS (SELECT 1 FROM plans)"
        return bool(self.rows(query)[0][0])

    def _has_runs(self) -> bool:
        """Whether a run ended that counts."""
        # An aborted one is made again.
        query = f"SELECT 1 FROM runs WHERE status <> {int(Status.ABORTED)}"  # noqa: S608 - a number
        query += " UNION ALL SELECT 1 FROM capped" if self.kind in SEARCHES else ""
        return bool(self.rows(f"SELECT EXISTS ({query})")[0][0])

    @contextlib.contextmanager
    def transaction(self, *, reading: bool = False) -> Iterator[sqlite3.Connection]:
        """All of what is done inside, or nothing; when reading, all queries see the same moment."""
        with sqlite_errors(self.path):
            self._connection.execute("BEGIN" if reading else "BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def begin(self, plan: RunDesign, metric: Metric) -> None:
        """Take in what is to be run next, and that its instances are still what they were."""
        with self.transaction() as connection:
            for configuration in plan.configurations:
                enter(connection, configuration.name, configuration.values)
            known = dict(connection.execute("SELECT name, digest FROM instances"))
            for instance in plan.instances:
                digest = digest_of(instance)
                if known.get(instance.name, digest) != digest:
                    raise InputError(
                        f"{self.path}: expected the instance {instance.name!r} to be what it was "
                        "when its runs were made, got another content: put it back, or begin "
                        "another `journal`."
                    )
                extras = json.dumps(dict(instance.extras))
                row = (instance.name, digest, extras)
                connection.execute(
                    "INSERT OR IGNORE INTO instances (name, digest, extras) VALUES (?, ?, ?)", row
                )
            configurations, instances = self._ids(plan)
            cells = (json.dumps(configurations), json.dumps(instances), plan.runs)
            last = connection.execute(
                "SELECT configurations, instances, runs, metric, after FROM plans ORDER BY id DESC "
                "LIMIT 1"
            ).fetchone()
            after = connection.execute("SELECT coalesce(max(id), 0) FROM runs").fetchone()[0]
            if last is not None and last[:3] == cells:
                after = last[4]
            row_of_plan = (*cells, metric.model_dump_json(), after)
            if last != row_of_plan:
                connection.execute(
                    "INSERT INTO plans (configurations, instances, runs, metric, after) VALUES "
                    "(?, ?, ?, ?, ?)",
                    row_of_plan,
                )

    def done(self, plan: RunDesign) -> BoolArray:
        """Which of the plan's runs are there: (runs, instances, configurations), in the plan's
        order.
        """
        configurations, instances = self._ids(plan)
        done = np.zeros((plan.runs, len(instances), len(configurations)), dtype=bool)
        query = "SELECT configuration, instance, number FROM runs WHERE status <> ?"
        rows = np.array(self.rows(query, int(Status.ABORTED)), dtype=np.int64).reshape(-1, 3)
        places = [
            places_of(ids, rows[:, column])
            for column, ids in enumerate((configurations, instances))
        ]
        inside = (places[0] >= 0) & (places[1] >= 0) & (rows[:, 2] < plan.runs)
        done[rows[inside, 2], places[1][inside], places[0][inside]] = True
        return done

    def _ids(self, plan: RunDesign) -> tuple[list[int], list[int]]:
        return (
            [self.number("configurations", listed.name) for listed in plan.configurations],
            [self.number("instances", listed.name) for listed in plan.instances],
        )

    def number(self, table: Named, name: str) -> int:
        """The number a configuration or an instance has here."""
        known = self._known[table]
        if name not in known:
            known |= dict(self._connection.execute(f"SELECT name, id FROM {table}"))  # noqa: S608
        return known[name]

    def add(self, runs: Iterable[tuple[Run, Machine]], ended: str) -> None:
        """Write finished runs and where they were made; on disk when this returns. Those stopped at
        a cap are kept apart.
        """
        with self.transaction() as connection:
            for run, machine in runs:
                outcome = run.outcome
                cell = (
                    self.number("configurations", run.configuration),
                    self.number("instances", run.instance),
                    run.number,
                )
                table, column, end = "capped", "cap", outcome.cap
                if end is None:
                    table, column, end = "runs", "status", int(outcome.status)
                columns = f"id, configuration, instance, number, seed, {column}, machine, ended"
                identity, place = self._next_id(connection), self.machine_number(machine)
                row = (identity, *cell, run.seed, end, place, ended, *MEASURED(outcome))
                connection.execute(
                    f"INSERT INTO {table} ({columns}, {', '.join(MEASURES)}) "  # noqa: S608
                    f"VALUES ({', '.join('?' * len(row))})",
                    row,
                )
                self.outputs.keep(connection, run, cell)

    def _next_id(self, connection: sqlite3.Connection) -> int:
        """The id of a run that is written now."""
        # One sequence for runs and capped runs: a search is resumed in the order of both.
        query = "SELECT coalesce(max(id), 0) FROM runs"
        if self.kind in SEARCHES:
            query = f"SELECT max(({query}), (SELECT coalesce(max(id), 0) FROM capped))"  # noqa: S608
        return 1 + int(connection.execute(query).fetchone()[0])

    def answered(self, metric: Metric) -> bool:
        """Whether any run there is came through, as the metric has it."""
        counted = metric.counted()
        query = f"SELECT 1 FROM runs WHERE status IN ({','.join('?' * len(counted))})"  # noqa: S608
        values: list[float] = [int(status) for status in counted]
        if not metric.timed:
            query += " AND value BETWEEN ? AND ?"
            values += metric.range()
        return bool(self.rows(f"SELECT EXISTS ({query})", *values)[0][0])

    def machine_number(self, machine: Machine) -> int:
        """The number of a machine, which is entered where it is new."""
        facts = astuple(machine)[: len(MACHINE)]
        names, marks = ", ".join(MACHINE), ", ".join("?" * len(MACHINE))
        if machine not in self._machines:
            self._connection.execute(
                f"INSERT OR IGNORE INTO machines ({names}) VALUES ({marks})",  # noqa: S608 - ours
                facts,
            )
            self._machines[machine] = self._connection.execute(
                f"SELECT id FROM machines WHERE ({names}) = ({marks})",  # noqa: S608
                facts,
            ).fetchone()[0]
        number = self._machines[machine]
        if machine.conditions and self._conditions.get(number) != machine.conditions:
            self._conditions[number] = machine.conditions
            note_conditions(self._connection, number, machine.conditions)
        return number

    def conditions(self) -> list[dict[str, Any]]:
        """Governor, turbo, load and throttling of each of `machines`, as far as they are known."""
        with self.transaction(reading=True) as connection:
            known = read_conditions(connection)
            numbers = connection.execute("SELECT id FROM machines ORDER BY id").fetchall()
        return [known.get(number, {}) for (number,) in numbers]

    def failures(self) -> list[Failure]:
        """Failed runs by their cause, the most frequent first, with the output of the latest of
        each.
        """
        with self.transaction(reading=True) as connection:
            return failures(connection)

    def rows(self, query: str, *values: object) -> list[Any]:
        """What a query finds."""
        with sqlite_errors(self.path):
            return self._connection.execute(query, values).fetchall()

    def scenario(self) -> str:
        """The name of the scenario."""
        return str(self.noted("scenario"))

    def fingerprint(self) -> dict[str, Any]:
        """What the scenario was when the journal was begun."""
        fingerprint: dict[str, Any] = json.loads(self.noted("fingerprint"))
        return fingerprint

    def metric(
        self, *, par: float | None = None, cutoff: float | None = None, utility: str | None = None
    ) -> Metric:
        """The metric of the latest plan, or PARk with another factor, a lower cutoff, or a utility
        of the running times.
        """
        rows = self.rows("SELECT metric FROM plans ORDER BY id DESC LIMIT 1")
        if not rows:
            raise InputError(
                f"{self.path}: expected runs, got a journal in which none was planned."
            )
        try:
            metric = Metric.model_validate_json(rows[0][0])
        except pydantic.ValidationError as error:
            raise InputError(
                f"{self.path}: expected a metric that this truecost knows, got {rows[0][0]!r:.80}."
            ) from error
        if par is None and cutoff is None and utility is None:
            return metric
        return metric.changed(self.fingerprint()["limits"], par=par, cutoff=cutoff, utility=utility)

    def note(self, key: str, value: str | bytes) -> None:
        """Keep something beside the runs, in the place of what was there."""
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def noted(self, key: str) -> Any:
        """What was kept so; None where nothing was."""
        rows = self.rows("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else None

    def order(self) -> tuple[str, ...]:
        """The instances of the latest plan, in its order."""
        names = dict(self.rows("SELECT id, name FROM instances"))
        return tuple(names[place] for _, places, _ in self._plans()[-1:] for place in places)

    def planned(self) -> tuple[int, int, int] | None:
        """The size of the latest plan: configurations, instances, runs."""
        plans = self._plans()
        return (len(plans[-1][0]), len(plans[-1][1]), plans[-1][2]) if plans else None

    def chosen(self) -> list[Configuration]:
        """The configurations of the latest plan, in its order."""
        rows = {number: row for number, *row in self.rows(f"SELECT id, {NAMED}")}
        chosen = [rows[place] for places, _, _ in self._plans()[-1:] for place in places]
        return [Configuration(name=name, values=json.loads(text)) for name, text in chosen]

    def plans(self) -> tuple[RunPlan, ...]:
        """The sizes of the first plan and of those that extended it, in the order of time."""
        names = dict(self.rows("SELECT id, name FROM instances"))
        sizes = []
        for configurations, instances, runs in self._plans():
            families = set(self.families([names.get(place, "") for place in instances]) or ())
            sizes.append(RunPlan(len(configurations), len(instances), runs, len(families)))
        # A plan with another metric alone is no other plan.
        return tuple(dict.fromkeys(sizes))

    def _plans(self) -> list[tuple[list[int], list[int], int]]:
        """The configurations, instances and runs of every plan, in the order of time."""
        rows = self.rows("SELECT configurations, instances, runs FROM plans ORDER BY id")
        return [(*map(json.loads, places), int(runs)) for *places, runs in rows]

    def configurations(self) -> dict[str, dict[str, Any]]:
        """The values of every configuration, by name."""
        rows = self.rows(f"SELECT {NAMED} ORDER BY id")
        return {name: json.loads(values) for name, values in rows}

    def machines(self) -> list[Machine]:
        """Where the runs were made."""
        rows = self.rows(f"SELECT {', '.join(MACHINE)} FROM machines ORDER BY id")  # noqa: S608
        return [Machine(**dict(zip(MACHINE, row, strict=True))) for row in rows]

    def table(self) -> RunTable:
        """All runs that are not aborted, as columns."""
        try:
            with self.transaction(reading=True) as connection:
                return read_table(connection, self.kind)
        except (TypeError, ValueError, OverflowError, IndexError, KeyError) as error:
            # Whatever SQLite let through and is not what we write.
            raise InputError(
                f"{self.path}: expected a sound journal, got damaged rows ({error})."
            ) from error

    def judging(self, table: RunTable) -> BoolArray:
        """Which runs a search was not to see: those on instances it held out, or where it is about
        these instances, those with seeds behind the ones it trained with.
        """
        search = json.loads(self.noted("search") or "{}")
        if search.get("about") == "these":
            return np.asarray(table.number >= search["runs"])
        hidden = set(search.get("held_out", ()))
        held_out = np.array([name in hidden for name in table.instances], dtype=bool)
        return np.asarray(held_out[table.instance])

    def matrix(
        self,
        metric: Metric | None = None,
        *,
        ahead: bool = False,
        held_out: bool = False,
        table: RunTable | None = None,
    ) -> CostMatrix:
        """The costs by the journal's own metric or another.

        Runs that are still out count as not there, and so do the runs that were begun after one of
        them and are finished: else what is there would be the quick part of what was begun. `ahead`
        takes those in as well. `held_out` gives the runs that judge what a search chose, which are
        not in the matrix else. `table` is for those who have read it already.
        """
        metric = self.metric() if metric is None else metric
        table = self.table() if table is None else table
        keep = (self.judging(table) == held_out) & (ahead | ~table.ahead)
        if not keep.any():
            raise InputError(f"{self.path}: expected runs, got none so far.")
        if held_out:
            table = replace(table, number=table.number - table.number[keep].min())
        with prefixed(self.path):
            matrix = cost_matrix(table, keep, metric)
        families = self.families(matrix.instances)
        return matrix if families is None else matrix.replace(families=families)

    def families(self, instances: Sequence[str]) -> list[str] | None:
        """The family of each instance, where all have one."""
        rows = self._connection.execute("SELECT name, extras FROM instances WHERE extras <> '{}'")
        try:
            labels = {name: json.loads(extras).get(FAMILY) for name, extras in rows}
        except (ValueError, AttributeError, TypeError):  # somebody else wrote into the file
            return None
        families = [str(labels.get(name) or "") for name in instances]
        return families if all(families) else None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._stack.close()
        if self._lock is not None:
            os.close(self._lock)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
