"""Optuna: SQLite storages and journal files, read without Optuna and without pickles.

A parameter set is a configuration, called by the number of its first trial; repeated trials of it
are runs. Costs of single instances come from a user attribute that holds them by name,
`trial.set_user_attr("costs", {"a.cnf": 1.5, …})`, from a user attribute for each instance, or from
intermediate values whose step is an instance, as `WilcoxonPruner` expects them. Steps and single
attributes are instances where the value of a trial is their mean or sum; where it is the last step,
or the best, steps are epochs. A trial with one number alone says nothing of single instances.
"""

import json
import math
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.importers.record import Options, charge, matrix_of
from truecost.importers.registry import Candidate, Importer
from truecost.matrix.imported import Import, Scalar
from truecost.runs import NO_STATUS, Status, Step, Trajectory

SQLITE = b"SQLite format 3\0"
TABLES = frozenset({"studies", "study_directions", "trials", "trial_params", "trial_values"})
STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
DIRECTIONS = ("NOT_SET", "MINIMIZE", "MAXIMIZE")
# Operations of a journal file, by Optuna's numbers.
CREATE_STUDY, DELETE_STUDY, CREATE_TRIAL = 0, 1, 4
# Of a trial: a parameter, its state and values, an intermediate value, a user or system attribute.
CHANGES = (5, 6, 7, 8, 9)
STEPS, VALUE = "steps", "value"
CONSTRAINTS = "constraints"
# What a run on no instance in particular is called.
WHOLE = "objective"
MOST_ROWS = 20_000_000
NUMERIC = (int, float)
# What reading rows and values that are not as Optuna writes them may raise.
DAMAGE = (
    sqlite3.Error, KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError,
    RecursionError,
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Trial:
    """A trial as it is stored; it fills up while a storage is read."""

    number: int
    state: str
    parameters: dict[str, Scalar] = field(default_factory=dict)
    values: dict[int, float] = field(default_factory=dict)
    steps: dict[int, float] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    enqueued: bool = False
    feasible: bool = True

    def add_system(self, name: str, value: Any) -> None:
        """Take in an attribute that Optuna itself has set."""
        self.enqueued |= name == "fixed_params"
        # A list of constraints up to Optuna 4, later an attribute for each; above 0 is violated.
        if name == CONSTRAINTS or name.startswith(f"{CONSTRAINTS}:"):
            limits = value if isinstance(value, list) else [value]
            self.feasible &= all(limit is not None and limit <= 0 for limit in limits)


@dataclass(slots=True, kw_only=True)
class Study:
    """A study of a storage."""

    name: str
    directions: list[str]
    trials: dict[int, Trial] = field(default_factory=dict)


def _recognise(candidate: Candidate) -> bool:
    path = candidate.path
    if path is None or path.is_dir():
        return False
    # Journals of truecost, SQLite files with a mark of their own, were recognised before.
    if candidate.start.startswith(SQLITE):
        return True
    line = candidate.text.partition("\n")[0]
    return line.startswith("{") and '"op_code"' in line and '"worker_id"' in line


def _read(path: Path, options: Options) -> Import:
    with path.open("rb") as file:
        sqlite = file.read(len(SQLITE)) == SQLITE
    try:
        studies = _from_sqlite(path) if sqlite else _from_journal(path)
    except InputError:
        raise
    except DAMAGE as error:
        raise InputError(
            f"expected a storage of Optuna, and it cannot be read ({error!r:.100})."
        ) from error
    study, wanted = _chosen(studies, options.objective)
    trials = [study.trials[number] for number in sorted(study.trials)]
    finished = [trial for trial in trials if trial.state not in ("RUNNING", "WAITING")]
    place = _objective(study, wanted)
    source, notes = _source(finished, wanted, place if len(study.directions) > 1 else None)
    maximised = study.directions[place] == "MAXIMIZE"
    names = _names(finished)
    rows: list[tuple[str, str, float, int]] = []
    empty = 0
    for trial in finished:
        costs_of_trial = _costs(trial, source, place)
        empty += not costs_of_trial
        failed = trial.state == "FAIL" and source == VALUE
        code = Status.CRASHED if failed else NO_STATUS
        rows += [(names[trial.number], name, cost, code) for name, cost in costs_of_trial.items()]
    if not rows:
        raise InputError(f"expected trials with values in the study {study.name!r}, got none.")
    configurations, instances, costs, codes = zip(*rows, strict=True)
    values = np.array(costs, dtype=np.float64)
    if maximised:
        values = -values
        notes.append(
            "The study maximises, so costs are negated: `low` and `high` are meant of that."
        )
    violating = sum(not trial.feasible for trial in finished)
    if violating:
        violate = "trial violates" if violating == 1 else "trials violate"
        notes.append(f"{violating:,} {violate} a constraint and cannot be the winner.")
    charged = charge(values, np.array(codes, dtype=np.int8), options)
    runs = pl.DataFrame({"configuration": configurations, "instance": instances})
    states = [trial.state for trial in trials]
    return Import(
        kind="optuna",
        matrix=matrix_of(runs, charged),
        trajectory=_trajectory(finished, names, place, maximised, source),
        parameters={names[trial.number]: trial.parameters for trial in reversed(finished)},
        left_out={
            "trials still running": states.count("RUNNING"),
            "trials waiting": states.count("WAITING"),
            "trials ended without a value": empty,
            "runs whose cost is NaN": int(np.isnan(charged.costs).sum()),
        },
        notes=(*notes, *charged.notes),
    )


def _chosen(studies: Mapping[int, Study], objective: str | None) -> tuple[Study, str | None]:
    """The study that `objective` names, else the only one; and what else `objective` asks for."""
    by_name = {study.name: study for study in studies.values()}
    if not by_name:
        raise InputError("expected a study in the storage of Optuna, got none.")
    if objective in by_name:
        return by_name[objective], None
    for name, study in by_name.items():
        if objective is not None and objective.startswith(f"{name}/"):
            return study, objective.removeprefix(f"{name}/")
    if len(by_name) > 1:
        raise InputError(
            f"expected the name of one of the studies {', '.join(by_name):.200} as `objective`, "
            f"{'got none' if objective is None else f'got {objective!r:.60}'}."
        )
    return next(iter(by_name.values())), objective


def _source(trials: list[Trial], wanted: str | None, place: int | None) -> tuple[str, list[str]]:
    """Where costs of instances come from: the name of a user attribute, `STEPS` or `VALUE`; where
    there are several objectives, costs of the one at this place.
    """
    _gather_attributes(trials)
    attributes = [
        key
        for key in dict.fromkeys(key for trial in trials for key in trial.attributes)
        if any(_by_instance(trial.attributes.get(key)) for trial in trials)
    ]
    # What is asked for by name needs no guess.
    if wanted in attributes or wanted in (STEPS, VALUE):
        return wanted or VALUE, []
    # Pruned trials have steps, and attributes only if the target keeps them in time.
    counts = {key: sum(len(_costs(trial, key, 0)) for trial in trials) for key in attributes}
    if _add_up(trials, [trial.steps for trial in trials]):
        counts[STEPS] = sum(len(trial.steps) for trial in trials)
    if place is not None:
        # Whose costs they are, and whether more is better, shows by what they add up to.
        costs = {key: [_costs(trial, key, place) for trial in trials] for key in counts}
        counts = {key: counts[key] for key in counts if _add_up(trials, costs[key], place)}
    source = max(counts, key=lambda key: counts[key], default=VALUE)
    if source == STEPS:
        return source, [
            "Every step of a trial is taken for an instance: values of trials are the means or "
            "sums of their intermediate values."
        ]
    if source != VALUE:
        return source, [f"Costs of instances are those in the user attribute {source!r}."]
    notes = [
        "There are no per-instance results: every trial has one number. Report each instance as a "
        "step (trial.report(cost, instance)), or keep costs by instance in a user attribute."
    ]
    if any(len(trial.steps) > 1 for trial in trials):
        notes.append(
            "Intermediate values are taken for epochs, since values of trials are neither their "
            "means nor their sums; `objective` 'steps' takes them for instances."
        )
    return VALUE, notes


def _gather_attributes(trials: list[Trial]) -> None:
    """Where there is an attribute for each instance, `cost_a`, `cost_b`, …, put them into one."""
    groups: dict[str, list[str]] = {}
    numeric = (
        key for trial in trials for key, value in trial.attributes.items() if type(value) in NUMERIC
    )
    for key in dict.fromkeys(numeric):
        # What stands before the last separator, and before a number: of `cost_a1`, `cost_a2` and
        # `cost_all` the first two belong together.
        for start in {re.split(r"[^_:/ .-]*$", key)[0], key.rstrip("0123456789")} - {"", key}:
            groups.setdefault(start, []).append(key)
    for name, keys in groups.items():
        parts = [
            {key: trial.attributes[key] for key in keys if key in trial.attributes}
            for trial in trials
        ]
        if len(keys) > 1 and _add_up(trials, parts):
            for trial, costs in zip(trials, parts, strict=True):
                trial.attributes[f"{name}*"] = costs


def _add_up(
    trials: list[Trial], costs: Sequence[Mapping[Any, float]], place: int | None = None
) -> bool:
    """Whether the values of most complete trials, of any objective or of the one at this place, are
    the means, or the sums, of several costs.
    """
    totals = [
        (
            [trial.values[key] for key in trial.values if place in (None, key)],
            sum(several.values()),
            len(several),
        )
        for trial, several in zip(trials, costs, strict=True)
        if trial.state == "COMPLETE" and len(several) > 1
    ]
    alike = sum(
        any(
            math.isclose(value, total, rel_tol=1e-6, abs_tol=1e-12)
            for value in values
            for total in (whole, whole / count)
        )
        for values, whole, count in totals
    )
    # Most, not all: the target may have been changed during the study.
    return alike > len(totals) / 2


def _by_instance(attribute: Any) -> bool:
    """Whether a user attribute holds a cost for each of several instances."""
    costs = attribute.values() if isinstance(attribute, dict) else ()
    kinds = {type(cost) for cost in costs}
    # A target may write None for NaN.
    return len(costs) > 1 and not kinds.isdisjoint(NUMERIC) and kinds <= {*NUMERIC, type(None)}


def _objective(study: Study, wanted: str | None) -> int:
    count = len(study.directions)
    if not count:
        raise InputError(f"expected the direction of the study {study.name!r:.60}, got none.")
    if wanted is not None and wanted.isdecimal() and int(wanted) < count:
        return int(wanted)
    if count > 1:
        raise InputError(
            f"expected the place of an objective from 0 to {count - 1} as `objective`, since the "
            f"study has {count}."
        )
    return 0


def _costs(trial: Trial, source: str, place: int) -> dict[str, float]:
    if source == STEPS:
        return {str(step): cost for step, cost in sorted(trial.steps.items())}
    if source != VALUE:
        attribute = trial.attributes.get(source)
        return (
            {str(name): math.nan if cost is None else cost for name, cost in attribute.items()}
            if _by_instance(attribute) and attribute
            else {}
        )
    # A trial that was pruned has no value of its own; its intermediate values are no costs.
    if trial.state == "PRUNED":
        return {}
    return {WHOLE: trial.values.get(place, np.nan)}


def _names(trials: list[Trial]) -> dict[int, str]:
    """The configuration of each trial: the number of the first with its parameters."""
    first: dict[str, str] = {}
    return {
        trial.number: first.setdefault(
            json.dumps(trial.parameters, sort_keys=True, default=str), str(trial.number)
        )
        for trial in trials
    }


def _trajectory(
    trials: list[Trial], names: Mapping[int, str], place: int, maximised: bool, source: str
) -> Trajectory:
    steps: list[Step] = []
    runs, least = 0, math.inf
    for trial in trials:
        runs += len(_costs(trial, source, place))
        value = trial.values.get(place, math.nan) * (-1 if maximised else 1)
        # Optuna itself keeps no list of its best trials so far. Those that violate a constraint are
        # never among them.
        if trial.state == "COMPLETE" and trial.feasible and value < least:
            least = value
            steps.append(Step(runs, (names[trial.number],)))
    default = next((names[trial.number] for trial in trials if trial.enqueued), None)
    return Trajectory(
        tool="Optuna",
        proposed="adaptively",
        # A target that is told to prune may also return what it has so far.
        raced=len({len(_costs(trial, source, place)) for trial in trials}) > 1,
        default=default,
        incumbent=steps[-1].configurations[0] if steps else None,
        steps=tuple(steps),
        maximised=maximised,
    )


def _external(value: float | None, distribution: Any) -> Scalar:
    """A parameter's value."""
    # Storages keep numbers, of a categorical one the place of its choice.
    domain = distribution if isinstance(distribution, dict) else json.loads(distribution)
    attributes = domain["attributes"]
    if value is None:
        return None
    if domain["name"] == "CategoricalDistribution":
        choice: Scalar = attributes["choices"][int(value)]
        return choice
    return int(value) if domain["name"].startswith("Int") else float(value)


def _loaded(text: str) -> Any:
    """What JSON says; whole numbers beyond the largest float are infinite, as others are."""
    return json.loads(text, parse_int=lambda digits: (int if len(digits) < 300 else float)(digits))


def _from_sqlite(path: Path) -> dict[int, Study]:
    for ending in ("-journal", "-wal"):
        beside = path.with_name(path.name + ending)
        if beside.exists() and beside.stat().st_size:
            raise InputError(
                f"expected a storage that is not being written, and {beside.name} is there."
            )
    # Immutable: SQLite then neither locks nor repairs, and touches no other file.
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as base:
        base.execute("PRAGMA trusted_schema = OFF")
        tables = {
            name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type='table'")
        }
        if not tables >= TABLES:
            raise InputError(
                "expected a journal of truecost or a storage of Optuna, got another SQLite file."
            )
        return _studies(base, tables)


def _studies(base: sqlite3.Connection, tables: set[str]) -> dict[int, Study]:
    def rows(table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        # No view: one may never end.
        known = {row[1] for row in base.execute(f"PRAGMA table_info({table})") if table in tables}
        # Types of values came with a later version of the storage; before, all were finite.
        wanted = ", ".join(column if column in known else "NULL" for column in columns)
        query = f"SELECT {wanted} FROM {table} LIMIT {MOST_ROWS}"  # noqa: S608 - our own words
        yield from base.execute(query) if known else ()

    studies = {
        key: Study(name=str(name), directions=[])
        for key, name in rows("studies", "study_id", "study_name")
    }
    for key, direction, _ in sorted(
        rows("study_directions", "study_id", "direction", "objective"), key=lambda row: row[2]
    ):
        studies[key].directions.append(str(direction))
    trials: dict[int, Trial] = {}
    for key, study, number, state in rows("trials", "trial_id", "study_id", "number", "state"):
        trials[key] = Trial(number=int(number), state=str(state))
        studies[study].trials[int(number)] = trials[key]
    for key, name, value, distribution in rows(
        "trial_params", "trial_id", "param_name", "param_value", "distribution_json"
    ):
        trials[key].parameters[name] = _external(value, distribution)
    infinite = {"INF_POS": math.inf, "INF_NEG": -math.inf}
    # The values of a trial by objective, and its intermediate values by step, are stored alike.
    for table, place, column in (
        ("trial_values", "objective", "value"),
        ("trial_intermediate_values", "step", "intermediate_value"),
    ):
        for key, number, value, kind in rows(table, "trial_id", place, column, f"{column}_type"):
            known = infinite.get(kind, math.nan if value is None else float(value))
            numbers = trials[key].steps if place == "step" else trials[key].values
            numbers[int(number)] = known
    for key, name, value in rows("trial_user_attributes", "trial_id", "key", "value_json"):
        trials[key].attributes[name] = _loaded(value)
    for key, name, value in rows("trial_system_attributes", "trial_id", "key", "value_json"):
        trials[key].add_system(name, _loaded(value))
    return studies


def _from_journal(path: Path) -> dict[int, Study]:
    studies: dict[int, Study] = {}
    trials: list[Trial] = []
    created = 0
    lines = path.read_bytes().decode(errors="replace").split("\n")
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            entry = _loaded(line)
            created = _apply(entry, studies, trials, created)
        except DAMAGE as error:
            # The last line may have been cut off while it was written.
            if number == len(lines) - 1:
                break
            raise InputError(
                f"expected an operation of Optuna in line {number + 1} ({error!r:.80})."
            ) from error
    return studies


def _apply(
    entry: dict[str, Any], studies: dict[int, Study], trials: list[Trial], created: int
) -> int:
    """One operation of a journal; how many studies were created by then."""
    code = entry["op_code"]
    if code == CREATE_STUDY:
        directions = [DIRECTIONS[number] for number in entry["directions"]]
        studies[created] = Study(name=str(entry["study_name"]), directions=directions)
        return created + 1
    if code == DELETE_STUDY:
        studies.pop(entry["study_id"], None)
    elif code == CREATE_TRIAL and entry["study_id"] in studies:
        study = studies[entry["study_id"]]
        trials.append(Trial(number=len(study.trials), state=STATES[0]))
        study.trials[len(study.trials)] = trials[-1]
        _fill(trials[-1], entry)
    elif code in CHANGES:
        _fill(trials[entry["trial_id"]], entry)
    return created


def _fill(trial: Trial, entry: dict[str, Any]) -> None:
    """Take in what an operation says of a trial."""
    # Several things at once where one is created finished, else one.
    if entry.get("state") is not None:
        trial.state = STATES[entry["state"]]
    values = entry.get("values") or [entry.get("value")]
    trial.values |= {place: float(value) for place, value in enumerate(values) if value is not None}
    parameters, kinds = entry.get("params") or {}, entry.get("distributions") or {}
    if "param_name" in entry:
        name = entry["param_name"]
        parameters, kinds = {name: entry["param_value_internal"]}, {name: entry["distribution"]}
    trial.parameters |= {name: _external(value, kinds[name]) for name, value in parameters.items()}
    steps = entry.get("intermediate_values") or {}
    if "step" in entry:
        steps = {entry["step"]: entry["intermediate_value"]}
    trial.steps |= {int(step): float(value) for step, value in steps.items()}
    trial.attributes |= entry.get("user_attrs") or entry.get("user_attr") or {}
    for name, value in (entry.get("system_attrs") or entry.get("system_attr") or {}).items():
        trial.add_system(name, value)


IMPORTER = Importer(
    name="optuna", title="Optuna (SQLite, journal)", recognise=_recognise, read=_read
)
