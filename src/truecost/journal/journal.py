"""The store of runs: one SQLite file, append-only, one writer, readable while it is written.

A run is a row of the table `runs`; docs/fields.md defines its columns. Costs are not in it: they
are computed from outcomes by a metric when a matrix is asked for, so that another factor, clock or
lower cutoff can be taken from the same runs later.
"""

import contextlib
import fcntl
import json
import math
import os
import re
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args

import numpy as np
import pydantic
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.journal.file import (
    APPLICATION,
    LOCKED_BYTE,
    OUTPUTS,
    SCHEMAS,
    SEARCHES,
    VERSIONS,
    check_header,
    check_schema,
    enter,
    open_reading,
    sealed,
    statements,
    told,
    what_changed,
)
from truecost.journal.metric import Metric
from truecost.journal.table import RunTable, places_of, read_table
from truecost.matrix import CostMatrix
from truecost.matrix.families import FAMILY
from truecost.runs import NO_SEED, NO_STATUS, Instance, Machine, Run, RunPlan, Status
from truecost.space.space import Configuration

# A matrix of more cells than this must not be empty but for one in so many.
MOST_CELLS, MOST_EMPTY = 2**27, 1000
# Bytes of output of failed runs that a journal keeps in all.
MOST_OUTPUT = 64_000_000
Kind = Literal["gather", "configure", "validate", "explain"]
# Where a journal keeps the name of the default, empty if there is none; journals of 0.2 keep none,
# and their first configuration is the default.
DEFAULT = "default"
# Tables whose rows have names.
Named = Literal["configurations", "instances"]
# What a budget counts.
Unit = Literal["runs", "seconds"]


class Described(Protocol):
    """What a journal keeps of a scenario: its name, and what must stay the same for runs to belong
    together.
    """

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def fingerprint(self) -> dict[str, Any]:
        """What must stay the same."""
        ...


# As many runs that all crashed alike are a first attempt that went wrong; more are a result.
SET_ASIDE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDesign:
    """What is to be run: every configuration on every instance so many times, in S* order.

    Round by round, instance by instance, all configurations: any prefix of that order gives each
    configuration an even allocation, and all configurations the same one but for the run that is
    next.
    """

    configurations: tuple[Configuration, ...]
    instances: tuple[Instance, ...]
    runs: int

    @property
    def size(self) -> int:
        """The number of runs in all."""
        return len(self.configurations) * len(self.instances) * self.runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Runs that failed for the same reason: how many, and one of them as an example.

    `command` repeats the example by hand; values of the scenario's environment are left out.
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


class Journal:
    """An open journal; `read` and `write` open one. Its `kind` is the command that made it."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        self.set_aside: Path | None = None
        self._stack = contextlib.ExitStack()
        self.kind: Kind = "gather"
        self._machines: dict[Machine, int] = {}
        # Bytes of output that may still be kept; None before anybody looked.
        self._room: int | None = None
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
            with told(path):
                journal._check_kind()
                check_schema(connection, path, journal.kind)
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
            try:
                # The lock belongs to this opened file, not to the process: SQLite's own closing
                # does not undo it.
                fcntl.fcntl(
                    lock,
                    fcntl.F_OFD_SETLK,
                    struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, LOCKED_BYTE, 1, 0),
                )
            except OSError as error:
                raise InputError(
                    f"{path}: expected a journal nobody writes to, and another truecost does."
                ) from error
            with told(path):
                connection = sqlite3.connect(path, isolation_level=None, timeout=30)
                connection.execute("PRAGMA journal_mode = WAL")
                # Each commit is on the disk before it is answered: nothing that was reported done
                # is lost with the power.
                connection.execute("PRAGMA synchronous = FULL")
                journal = cls(path, connection, lock)
                if start_over:
                    journal._set_aside()
                journal._begin(scenario, kind)
        except BaseException:
            if connection is not None:
                connection.close()
            os.close(lock)
            raise
        return journal

    def _begin(self, scenario: Described, kind: Kind) -> None:
        now = scenario.fingerprint()
        if self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            self._create(scenario, kind, json.dumps(sealed(now, None), sort_keys=True))
            return
        self._check_kind()
        check_schema(self._connection, self.path, self.kind)
        if self.kind != kind:
            raise InputError(
                f"{self.path}: expected a journal of truecost {kind}, got one of truecost {self.kind}, which chose its runs "
                "otherwise: begin another `journal`."
            )
        before = self._connection.execute(
            "SELECT value FROM meta WHERE key = 'fingerprint'"
        ).fetchone()[0]
        fingerprint = json.dumps(sealed(now, json.loads(before)), sort_keys=True)
        if before != fingerprint and not self._has_runs():
            # The first run could not even be started, and the scenario was mended since: nothing is
            # there to be mixed.
            self._create(scenario, kind, fingerprint)
        elif before != fingerprint:
            raise InputError(
                f"{self.path}: expected the scenario the journal was begun with; "
                f"{what_changed(json.loads(before), json.loads(fingerprint))}. "
                "Its runs and new ones must not be mixed: put that back, or begin another `journal`."
            )

    def _set_aside(self) -> None:
        """Copy a journal of which every run crashed alike beside it, and empty it."""
        run = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'runs'"
        if self._connection.execute(run).fetchone() is None:
            return
        self._check_kind()
        rows = self._connection.execute(
            f"SELECT status, detail FROM runs LIMIT {SET_ASIDE + 1}"  # noqa: S608 - a number
        ).fetchall()
        # Numbers differ from run to run: of processes, of seeds.
        alike = {re.sub(r"\d+", "", detail) for _, detail in rows}
        crashed = all(status == Status.CRASHED for status, _ in rows)
        if not 0 < len(rows) <= SET_ASIDE or len(alike) > 1 or not crashed:
            return
        number = 1
        while (place := self.path.with_name(f"{self.path.name}.set-aside-{number}")).exists():
            number += 1
        with contextlib.closing(sqlite3.connect(place)) as copy:
            self._connection.backup(copy)
        tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
        with self.transaction() as connection:
            for (table,) in connection.execute(tables).fetchall():
                connection.execute(f"DROP TABLE {table}")
        self.set_aside = place

    def _create(self, scenario: Described, kind: Kind, fingerprint: str) -> None:
        with self.transaction() as connection:
            old = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
            for (table,) in old:
                connection.execute(f"DROP TABLE {table}")
            for statement in statements(SCHEMAS[kind]):
                connection.execute(statement)
            connection.execute(OUTPUTS)
            rows = [("scenario", scenario.name), ("fingerprint", fingerprint)]
            connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self.kind = kind

    def _has_runs(self) -> bool:
        tables = ["runs", "capped"] if self.kind in SEARCHES else ["runs"]
        return any(
            self._connection.execute(
                f"SELECT EXISTS (SELECT 1 FROM {table})"  # noqa: S608 - one of the two above
            ).fetchone()[0]
            for table in tables
        )

    def _check_kind(self) -> None:
        application = self._connection.execute("PRAGMA application_id").fetchone()[0]
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION:
            raise InputError(
                f"{self.path}: expected a journal of truecost, got another SQLite file."
            )
        kinds: list[Kind] = [kind for kind in get_args(Kind) if VERSIONS[kind] == version]
        if not kinds:
            newest = max(VERSIONS.values())
            raise InputError(
                f"{self.path}: expected a journal of version {newest} at most, got {version}: a newer truecost reads it."
            )
        self.kind = kinds[0]

    @contextlib.contextmanager
    def transaction(self, *, reading: bool = False) -> Iterator[sqlite3.Connection]:
        """All of what is done inside, or nothing; when reading, all queries see the same moment."""
        with told(self.path):
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
                digest = _digest(instance)
                if known.get(instance.name, digest) != digest:
                    raise InputError(
                        f"{self.path}: expected the instance {instance.name!r} to be what it was when its runs were made, "
                        "got another content: put it back, or begin another `journal`."
                    )
                extras = json.dumps(dict(instance.extras))
                row = (instance.name, digest, extras)
                connection.execute(
                    "INSERT OR IGNORE INTO instances (name, digest, extras) VALUES (?, ?, ?)", row
                )
            configurations, instances = self._ids(plan)
            cells = (json.dumps(configurations), json.dumps(instances), plan.runs)
            last = connection.execute(
                "SELECT configurations, instances, runs, metric, after FROM plans ORDER BY id DESC LIMIT 1"
            ).fetchone()
            after = connection.execute("SELECT coalesce(max(id), 0) FROM runs").fetchone()[0]
            if last is not None and last[:3] == cells:
                after = last[4]
            row_of_plan = (*cells, metric.model_dump_json(), after)
            if last != row_of_plan:
                connection.execute(
                    "INSERT INTO plans (configurations, instances, runs, metric, after) VALUES (?, ?, ?, ?, ?)",
                    row_of_plan,
                )

    def done(self, plan: RunDesign) -> NDArray[np.bool_]:
        """Which of the plan's runs are there: (runs, instances, configurations), in the plan's
        order.
        """
        configurations, instances = self._ids(plan)
        done = np.zeros((plan.runs, len(instances), len(configurations)), dtype=bool)
        query = "SELECT configuration, instance, number FROM runs WHERE status <> ?"
        with told(self.path):
            rows = np.array(
                self._connection.execute(query, (int(Status.ABORTED),)).fetchall(), dtype=np.int64
            ).reshape(-1, 3)
        places = [
            places_of(ids, rows[:, column])
            for column, ids in enumerate((configurations, instances))
        ]
        inside = (places[0] >= 0) & (places[1] >= 0) & (rows[:, 2] < plan.runs)
        done[rows[inside, 2], places[1][inside], places[0][inside]] = True
        return done

    def _ids(self, plan: RunDesign) -> tuple[list[int], list[int]]:
        return (
            [
                self._id("configurations", configuration.name)
                for configuration in plan.configurations
            ],
            [self._id("instances", instance.name) for instance in plan.instances],
        )

    def _id(self, table: Named, name: str) -> int:
        known = self._known[table]
        if name not in known:
            known |= dict(self._connection.execute(f"SELECT name, id FROM {table}"))  # noqa: S608 - our own names
        return known[name]

    def add(self, runs: Iterable[tuple[Run, Machine]], ended: str) -> None:
        """Write finished runs and where they were made; on disk when this returns. Those stopped at
        a cap are kept apart.
        """
        with self.transaction() as connection:
            for run, machine in runs:
                outcome = run.outcome
                table, column = ("runs", "status") if outcome.cap is None else ("capped", "cap")
                connection.execute(
                    f"INSERT INTO {table} (id, configuration, instance, number, seed, {column}, cpu, wall, memory,"  # noqa: S608
                    " exit_code, time, value, detail, machine, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        self._next_id(connection),
                        self._id("configurations", run.configuration),
                        self._id("instances", run.instance),
                        run.number,
                        run.seed,
                        int(outcome.status) if outcome.cap is None else outcome.cap,
                        outcome.cpu,
                        outcome.wall,
                        outcome.memory,
                        outcome.exit_code,
                        outcome.time,
                        outcome.value,
                        outcome.detail,
                        self._machine(machine),
                        ended,
                    ),
                )
                self._keep_output(connection, run)

    def _next_id(self, connection: sqlite3.Connection) -> int:
        """One sequence for runs and capped runs: a search is resumed in the order of both."""
        query = "SELECT coalesce(max(id), 0) FROM runs"
        if self.kind in SEARCHES:
            query = f"SELECT max(({query}), (SELECT coalesce(max(id), 0) FROM capped))"  # noqa: S608
        return 1 + int(connection.execute(query).fetchone()[0])

    def _keep_output(self, connection: sqlite3.Connection, run: Run) -> None:
        """Keep what a failed run printed, as long as there is room."""
        outcome = run.outcome
        if not outcome.command:
            return
        if self._room is None:
            # A journal of 0.2 has no such table yet.
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if "outputs" not in names:
                connection.execute(OUTPUTS)
            query = "SELECT coalesce(sum(length(stdout) + length(stderr)), 0) FROM outputs"
            self._room = MOST_OUTPUT - connection.execute(query).fetchone()[0]
        size = len(outcome.stdout) + len(outcome.stderr)
        if size > self._room:
            return
        self._room -= size
        connection.execute(
            "INSERT INTO outputs (configuration, instance, number, status, detail, command, stdout,"
            " stderr) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._id("configurations", run.configuration),
                self._id("instances", run.instance),
                run.number,
                int(outcome.status),
                outcome.detail,
                outcome.command,
                outcome.stdout,
                outcome.stderr,
            ),
        )

    def take(self, other: "Journal") -> int:
        """Take in the runs of another journal of the same scenario; how many were new."""
        mine, theirs = self.fingerprint(), other.fingerprint()
        # Values of the environment have a salt of their own in every journal: they cannot differ
        # unseen, since each part compared them with the scenario when it was made.
        for fingerprint in (mine, theirs):
            fingerprint["target"]["environment"] = sorted(fingerprint["target"]["environment"])
        if other.kind != "gather" or mine != theirs:
            raise InputError(
                f"{other.path}: expected a journal of truecost gather with the same scenario as "
                f"{self.path}: {what_changed(mine, theirs) or 'it is of truecost ' + other.kind}."
            )
        with other.transaction(reading=True) as source, self.transaction() as connection:
            before = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
            for name, values in source.execute(
                'SELECT name, "values" FROM configurations ORDER BY id'
            ):
                enter(connection, name, json.loads(values))
            known = dict(connection.execute("SELECT name, digest FROM instances"))
            for row in source.execute("SELECT name, digest, extras FROM instances ORDER BY id"):
                if known.get(row[0], row[1]) != row[1]:
                    raise InputError(f"{other.path}: expected the same instance {row[0]!r}.")
                connection.execute(
                    "INSERT OR IGNORE INTO instances (name, digest, extras) VALUES (?, ?, ?)", row
                )
            self._take_runs(source, connection, other.machines())
            self._take_design(source, connection)
            after = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
        return int(after - before)

    def _take_runs(
        self, source: sqlite3.Connection, connection: sqlite3.Connection, machines: list[Machine]
    ) -> None:
        """Copy runs that are not here yet, under the numbers things have here."""
        places = [place for (place,) in source.execute("SELECT id FROM machines ORDER BY id")]
        numbers = dict(zip(places, map(self._machine, machines), strict=True))
        columns = "number, seed, status, cpu, wall, memory, exit_code, time, value, detail, ended"
        rows = source.execute(
            f"SELECT c.name, i.name, r.machine, {columns} FROM runs r"  # noqa: S608 - our own
            " JOIN configurations c ON c.id = r.configuration"
            " JOIN instances i ON i.id = r.instance WHERE r.status <> ? ORDER BY r.id",
            (int(Status.ABORTED),),
        )
        for configuration, instance, machine, *rest in rows:
            connection.execute(
                "INSERT OR IGNORE INTO runs (configuration, instance, machine,"  # noqa: S608
                f" {columns}) VALUES ({', '.join('?' * 14)})",
                (
                    self._id("configurations", configuration),
                    self._id("instances", instance),
                    numbers[machine],
                    *rest,
                ),
            )

    def _take_design(self, source: sqlite3.Connection, connection: sqlite3.Connection) -> None:
        """Take over what was to be run, and the default, where nothing was said here yet."""
        query = "SELECT configurations, instances, runs, metric FROM plans ORDER BY id DESC LIMIT 1"
        last = source.execute(query).fetchone()
        if last is None or connection.execute(query).fetchone() is not None:
            return
        ids = []
        for place, table in enumerate(get_args(Named)):
            names = dict(source.execute(f"SELECT id, name FROM {table}"))  # noqa: S608 - our own
            ids.append(json.dumps([self._id(table, names[key]) for key in json.loads(last[place])]))
        connection.execute(
            "INSERT INTO plans (configurations, instances, runs, metric, after)"
            " VALUES (?, ?, ?, ?, 0)",
            (*ids, *last[2:]),
        )
        default = source.execute("SELECT * FROM meta WHERE key = ?", (DEFAULT,)).fetchone()
        if default is not None:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", default)

    def failures(self) -> list[Failure]:
        """Failed runs by their cause, the most frequent first, with the output of the latest of
        each.
        """
        with self.transaction(reading=True) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if "outputs" not in names:
                return []
            rows = connection.execute(
                "SELECT o.status, o.detail, count(*), c.name, i.name, o.number, o.command, o.stdout,"
                " o.stderr, max(o.id) FROM outputs o"
                " JOIN configurations c ON c.id = o.configuration"
                " JOIN instances i ON i.id = o.instance"
                " GROUP BY o.status, o.detail ORDER BY count(*) DESC, o.id"
            ).fetchall()
        return [
            Failure(
                status=Status(row[0]).label,
                detail=str(row[1]),
                runs=row[2],
                configuration=str(row[3]),
                instance=str(row[4]),
                number=row[5],
                command=str(row[6]),
                stdout=bytes(row[7]).decode("utf-8", "replace"),
                stderr=bytes(row[8]).decode("utf-8", "replace"),
            )
            for row in rows
        ]

    def answered(self, metric: Metric) -> bool:
        """Whether any run there is came through, as the metric has it."""
        counted = metric.counted()
        query = f"SELECT 1 FROM runs WHERE status IN ({', '.join('?' * len(counted))})"  # noqa: S608 - question marks
        values: list[float] = [int(status) for status in counted]
        if not metric.timed:
            query += " AND value BETWEEN ? AND ?"
            values += metric.range()
        with told(self.path):
            return bool(self._connection.execute(f"SELECT EXISTS ({query})", values).fetchone()[0])

    def _machine(self, machine: Machine) -> int:
        if machine not in self._machines:
            self._connection.execute(
                "INSERT OR IGNORE INTO machines (host, cpu, system, method, solver, truecost) VALUES (?, ?, ?, ?, ?, ?)",
                astuple(machine),
            )
            self._machines[machine] = self._connection.execute(
                "SELECT id FROM machines WHERE (host, cpu, system, method, solver, truecost) = (?, ?, ?, ?, ?, ?)",
                astuple(machine),
            ).fetchone()[0]
        return self._machines[machine]

    def scenario(self) -> str:
        """The name of the scenario."""
        with told(self.path):
            return str(
                self._connection.execute(
                    "SELECT value FROM meta WHERE key = 'scenario'"
                ).fetchone()[0]
            )

    def fingerprint(self) -> dict[str, Any]:
        """What the scenario was when the journal was begun."""
        with told(self.path):
            found: dict[str, Any] = json.loads(
                self._connection.execute(
                    "SELECT value FROM meta WHERE key = 'fingerprint'"
                ).fetchone()[0]
            )
        return found

    def metric(
        self, *, par: float | None = None, cutoff: float | None = None, utility: str | None = None
    ) -> Metric:
        """The metric of the latest plan, or PARk with another factor, a lower cutoff, or a utility
        of the running times.
        """
        with told(self.path):
            row = self._connection.execute(
                "SELECT metric FROM plans ORDER BY id DESC LIMIT 1"
            ).fetchone()
        if row is None:
            raise InputError(
                f"{self.path}: expected runs, got a journal in which none was planned."
            )
        try:
            metric = Metric.model_validate_json(row[0])
        except pydantic.ValidationError as error:
            raise InputError(
                f"{self.path}: expected a metric that this truecost knows, got {row[0]!r:.80}."
            ) from error
        if par is None and cutoff is None and utility is None:
            return metric
        if par is not None and utility is not None:
            raise InputError("expected either `par` or `utility`, got both.")
        if not metric.timed or (par is not None and metric.kind == "utility"):
            metric = Metric(
                kind="par", clock=metric.clock if metric.timed else "cpu", cutoff=metric.cutoff
            )
        most = self.fingerprint()["limits"][
            {"cpu": "cpu", "wall": "wall", "reported": "cutoff"}[metric.clock]
        ]
        if most is None:
            raise InputError(
                f"{self.path}: expected a journal with a CPU limit for running times, got one without."
            )
        cutoff = cutoff if cutoff is not None else metric.cutoff or most
        if not 0 < cutoff <= most:
            raise InputError(
                f"expected a cutoff of at most {most:g} seconds, where the runs were stopped, got {cutoff:g}."
            )
        factor = par if par is not None else metric.factor
        if not 1 <= factor < math.inf:
            raise InputError(f"expected a factor for PARk of at least 1, got {factor:g}.")
        worth = {} if utility is None else {"kind": "utility", "utility": utility}
        return metric.model_copy(update={"factor": float(factor), "cutoff": float(cutoff), **worth})

    def note(self, key: str, value: str | bytes) -> None:
        """Keep something beside the runs, in the place of what was there."""
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def noted(self, key: str) -> Any:
        """What was kept so; None where nothing was."""
        with told(self.path):
            row = self._connection.execute(
                "SELECT value FROM meta WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else row[0]

    def order(self) -> tuple[str, ...]:
        """The instances of the latest plan, in its order."""
        with self.transaction(reading=True) as connection:
            names = dict(connection.execute("SELECT id, name FROM instances"))
            row = connection.execute(
                "SELECT instances FROM plans ORDER BY id DESC LIMIT 1"
            ).fetchone()
        return () if row is None else tuple(names[identity] for identity in json.loads(row[0]))

    def planned(self) -> tuple[int, int, int] | None:
        """The size of the latest plan: configurations, instances, runs."""
        with told(self.path):
            row = self._connection.execute(
                "SELECT configurations, instances, runs FROM plans ORDER BY id DESC LIMIT 1"
            ).fetchone()
        return (
            None if row is None else (len(json.loads(row[0])), len(json.loads(row[1])), int(row[2]))
        )

    def plans(self) -> tuple[RunPlan, ...]:
        """The sizes of the first plan and of those that extended it, in the order of time."""
        with told(self.path):
            rows = self._connection.execute(
                "SELECT configurations, instances, runs FROM plans ORDER BY id"
            ).fetchall()
            names = dict(self._connection.execute("SELECT id, name FROM instances"))
        sizes = []
        for one, two, runs in rows:
            families = self.families([names.get(place, "") for place in json.loads(two)]) or ()
            number = len(json.loads(one)), len(json.loads(two)), int(runs)
            sizes.append(RunPlan(*number, len(set(families))))
        # A plan with another metric alone is no other plan.
        return tuple(dict.fromkeys(sizes))

    def configurations(self) -> dict[str, dict[str, Any]]:
        """The values of every configuration, by name."""
        with told(self.path):
            rows = self._connection.execute(
                'SELECT name, "values" FROM configurations ORDER BY id'
            ).fetchall()
        return {name: json.loads(values) for name, values in rows}

    def machines(self) -> list[Machine]:
        """Where the runs were made."""
        with told(self.path):
            rows = self._connection.execute(
                "SELECT host, cpu, system, method, solver, truecost FROM machines ORDER BY id"
            ).fetchall()
        names = ("host", "cpu", "system", "method", "solver", "truecost")
        return [Machine(**dict(zip(names, row, strict=True))) for row in rows]

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

    def held_out(self) -> tuple[str, ...]:
        """The instances that a search was not to see; none in a journal of `gather`."""
        with told(self.path):
            row = self._connection.execute("SELECT value FROM meta WHERE key = 'search'").fetchone()
        return () if row is None else tuple(json.loads(row[0])["held_out"])

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
        takes those in as well. `held_out` gives the runs on the instances a search held out, which
        are not in the matrix else. `table` is for those who have read it already.
        """
        metric = self.metric() if metric is None else metric
        table = self.table() if table is None else table
        hidden = set(self.held_out())
        asked = np.array([(name in hidden) == held_out for name in table.instances], dtype=bool)
        keep = asked[table.instance] & (ahead | ~table.ahead)
        status = table.status[keep]
        configuration, instance, number = (
            column[keep] for column in (table.configuration, table.instance, table.number)
        )
        if not len(status):
            raise InputError(f"{self.path}: expected runs, got none so far.")
        measured = (
            table.cpu[keep],
            table.wall[keep],
            table.time[keep],
            table.value[keep],
            table.cap[keep],
        )
        costs_of_runs, status = metric.charge(status, *measured)
        low, high = metric.range()
        outside = np.flatnonzero((costs_of_runs < low) | (costs_of_runs > high))
        if len(outside):
            first = outside[0]
            raise InputError(
                f"{self.path}: expected costs in [{low:g}, {high:g}], got {costs_of_runs[first]:g} for configuration "
                f"{table.configurations[configuration[first]]!r} on instance {table.instances[instance[first]]!r}: "
                "change low and high in [metric]; no run is lost by it."
            )
        present = [np.unique(places) for places in (configuration, instance)]
        shape = len(present[0]), len(present[1]), int(number.max()) + 1
        if math.prod(shape) > MOST_CELLS and math.prod(shape) > MOST_EMPTY * len(number):
            raise InputError(
                f"{self.path}: expected runs that fill a matrix, got {len(number):,} of "
                f"{math.prod(shape):,} cells."
            )
        where = (
            np.searchsorted(present[0], configuration),
            np.searchsorted(present[1], instance),
            number,
        )
        costs = np.full(shape, np.nan)
        costs[where] = costs_of_runs
        statuses = np.full(shape, NO_STATUS, dtype=np.int8)
        statuses[where] = status
        seeds = np.full(shape, NO_SEED, dtype=np.int64)
        seeds[where] = table.seed[keep]
        return CostMatrix(
            costs,
            [table.configurations[place] for place in present[0]],
            [table.instances[place] for place in present[1]],
            low,
            high,
            statuses=statuses,
            seeds=seeds,
            cutoff=metric.cutoff if metric.kind == "par" else None,
            utility=None if metric.kind != "utility" else str(metric.worth()),
            families=self.families([table.instances[place] for place in present[1]]),
        )

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


def _digest(instance: Instance) -> str:
    try:
        return instance.digest()
    except OSError as error:
        raise InputError(f"instance {instance.name!r}: {error.strerror or error}.") from error


def refuse_changes(
    journal: Journal, begun: str, given: Iterable[tuple[str, Any, Any]], why: str
) -> None:
    """Refuse what differs from what was begun in a journal: (what, now, before), None for what was
    not asked for.
    """
    for what, now, before in given:
        if now is not None and now != before:
            raise InputError(
                f"{journal.path}: expected what the {begun} was begun with, {what} {before}, got {now}: {why}. Leave it as "
                "it was, or begin another `journal`."
            )
