"""Optuna: studies in SQLite storages and journal files, and `Study` objects, through Optuna's API.

A parameter set is a configuration, called by the number of its first trial; repeated trials of it
are runs. Costs of single instances come from the user attribute `costs`,
`trial.set_user_attr("costs", {"a.cnf": 1.5, …})`, or from the steps of a trial where the caller
says that they are instances. A trial with one number alone says nothing of single instances.
"""

import json
import logging
import math
import sqlite3
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from truecost.errors import InputError, counted
from truecost.importers.recorded import Recorded, chosen, counts, log_of
from truecost.matrix.log import Log, Step
from truecost.matrix.reading import Reading
from truecost.runs import NO_INSTANCE, NO_STATUS, Caveat, Status

SQLITE = b"SQLite format 3\0"
TABLES = frozenset({"studies", "study_directions", "trials", "trial_params", "trial_values"})
COSTS = "costs"
NUMERIC = (int, float)
# How Optuna keeps the constraints of a trial: a list up to version 4, later an attribute for each.
CONSTRAINTS = "constraints"
ENQUEUED = "fixed_params"

Costs = Mapping[str, float]


def is_study(source: Any) -> bool:
    """Whether something is a study of Optuna, without loading Optuna."""
    return any(
        kind.__name__ == "Study" and kind.__module__.startswith("optuna.")
        for kind in type(source).__mro__
    )


def read(source: Any, reading: Reading) -> Log:
    """The runs in a study."""
    opened = _storage(source) if isinstance(source, Path) else nullcontext(None)
    try:
        # Optuna announces on the console what it opens, and warns of what it finds.
        with warnings.catch_warnings(), opened as storage:
            warnings.simplefilter("ignore")
            study, wanted = _chosen(source, storage, reading.objective)
            trials = sorted(study.get_trials(deepcopy=False), key=lambda trial: int(trial.number))
            directions = [direction.name for direction in study.directions]
            name = str(study.study_name)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # Optuna and SQLAlchemy raise a dozen kinds on damage
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"Optuna cannot read it ({type(error).__name__}: {reason:.100}). Give a storage that "
            "Optuna wrote."
        ) from error
    return _log(name, trials, directions, wanted, reading)


@contextmanager
def _storage(path: Path) -> Iterator[Any]:
    """The storage in a file, opened so that nothing is changed."""
    try:
        import optuna
        from optuna.storages import journal
    except ImportError:
        raise InputError("Optuna is not installed. Type: pip install optuna") from None
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.ERROR)
    try:
        with path.open("rb") as file:
            sqlite = file.read(len(SQLITE)) == SQLITE
        if not sqlite:
            yield optuna.storages.JournalStorage(journal.JournalFileBackend(str(path)))
            return
        _check_sqlite(path)
        storage = optuna.storages.RDBStorage(
            "sqlite://",
            engine_kwargs={"creator": lambda: _connection(path, check_same_thread=False)},
            skip_compatibility_check=True,
            skip_table_creation=True,
        )
        try:
            yield storage
        finally:
            storage.remove_session()
            storage.engine.dispose()
    finally:
        optuna.logging.set_verbosity(level)


def _connection(path: Path, **options: Any) -> sqlite3.Connection:
    # Immutable: SQLite then neither locks nor repairs, and touches no other file. `as_uri` escapes
    # what would be an option in the name.
    base: sqlite3.Connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?immutable=1", uri=True, **options
    )
    base.execute("PRAGMA trusted_schema = OFF")
    return base


def _check_sqlite(path: Path) -> None:
    """Refuse a file that is being written, and one that is no storage of Optuna."""
    for ending in ("-journal", "-wal"):
        beside = path.with_name(path.name + ending)
        if beside.exists() and beside.stat().st_size:
            raise InputError(
                f"It is being written, or was not closed: {beside.name} lies beside it. Stop the "
                "program that writes it, or copy the study with optuna.copy_study."
            )
    with closing(_connection(path)) as base:
        kinds = dict(base.execute("SELECT name, type FROM sqlite_master"))
    tables = {name for name, kind in kinds.items() if kind == "table"}
    if not tables >= TABLES:
        raise InputError("It is no storage of Optuna and no journal of truecost.")
    # A view may never end; Optuna writes none.
    if strange := sorted(name for name, kind in kinds.items() if kind in ("view", "trigger")):
        raise InputError(f"It has {strange[0]!r:.60}, a view or trigger that Optuna never writes.")


def _chosen(source: Any, storage: Any, objective: str | None) -> tuple[Any, str | None]:
    """The study that `objective` names, else the only one; and what else `objective` asks for."""
    if storage is None:
        return source, objective
    import optuna

    names = optuna.get_all_study_names(storage)
    if not names:
        raise InputError("The storage has no study. Give one with trials.")

    def load(name: str) -> Any:
        return optuna.load_study(study_name=name, storage=storage)

    if objective in names:
        return load(objective), None
    for name in names:
        if objective is not None and objective.startswith(f"{name}/"):
            return load(name), objective.removeprefix(f"{name}/")
    if len(names) > 1:
        raise InputError(
            f"The storage has {len(names)} studies. Choose one with --objective: "
            f"{', '.join(sorted(names)):.200}."
        )
    return load(names[0]), objective


def _log(
    study: str, trials: Sequence[Any], directions: list[str], wanted: str | None, reading: Reading
) -> Log:
    states = [trial.state.name for trial in trials]
    finished = [trial for trial in trials if trial.state.is_finished()]
    place = chosen(wanted, [str(number) for number in range(len(directions))])
    costs, caveats = _source(finished, place, len(directions) > 1, reading)
    names = _configurations(finished)
    rows: list[tuple[str, str, float, int]] = []
    for trial in finished:
        failed = trial.state.name == "FAIL" and NO_INSTANCE in costs[trial.number]
        code = Status.CRASHED if failed else NO_STATUS
        rows += [(names[trial.number], *cell, code) for cell in costs[trial.number].items()]
    if not rows:
        raise InputError(f"No trial of the study {study!r:.60} has ended with a value.")
    if not any(_may_win(trial, place) for trial in finished):
        raise InputError(
            f"No trial of the study {study!r:.60} is complete and feasible, so there is no winner."
        )
    configurations, instances, values, codes = zip(*rows, strict=True)
    maximised = directions[place] == "MAXIMIZE"
    omitted = {
        "trial still running": states.count("RUNNING"),
        "trial waiting": states.count("WAITING"),
        "trial without a value": sum(not costs[trial.number] for trial in finished),
    }
    infeasible = sum(not _is_feasible(trial) for trial in finished)
    reason = "trial violating a constraint"
    caveats += counts("infeasible", "Cannot win", {reason: infeasible})
    default, notes = _default(finished, names, set(configurations))
    if reading.default is not None:
        notes = []  # named already
    steps = _steps(finished, names, costs, place, maximised=maximised)
    return log_of(
        Recorded(
            configurations=list(configurations),
            instances=list(instances),
            values=np.array(values, dtype=np.float64),
            statuses=np.array(codes, dtype=np.int8),
            score="value" if maximised else "",
        ),
        reading,
        omitted=omitted,
        caveats=[*caveats, *notes],
        tool="Optuna",
        default=default,
        incumbent=steps[-1].configuration if steps else None,
        steps=steps,
        parameters={names[trial.number]: dict(trial.params) for trial in reversed(finished)},
        adaptive=True,
    )


def _source(
    trials: Sequence[Any], place: int, several: bool, reading: Reading
) -> tuple[dict[int, Costs], list[Caveat]]:
    """The costs of each trial by instance, and what was assumed."""
    stepped = any(len(trial.intermediate_values) > 1 for trial in trials)
    if reading.steps_are == "instances":
        if not stepped:
            raise InputError(
                "Trials have no steps, so steps cannot be instances. Leave out --steps-are."
            )
        if several:
            raise InputError("Trials with several objectives have no steps: leave out --steps-are.")
        return {trial.number: _of_steps(trial) for trial in trials}, []
    by_instance = {trial.number: _of_attribute(trial) for trial in trials}
    # Of several objectives, costs belong to the one whose values they add up to.
    if any(by_instance.values()) and (not several or _add_up(trials, by_instance, place)):
        return by_instance, []
    caveats = [
        Caveat(
            "no instances",
            "Trials have one number each and say nothing of single instances: keep costs with "
            'trial.set_user_attr("costs", {instance: cost}).',
        )
    ]
    if stepped:
        sentence = "Steps are not used. If each is the cost on an instance: --steps-are instances."
        caveats.append(Caveat("steps", sentence))
    return {trial.number: _of_value(trial, place) for trial in trials}, caveats


def _of_steps(trial: Any) -> Costs:
    return {str(step): float(cost) for step, cost in sorted(trial.intermediate_values.items())}


def _of_attribute(trial: Any) -> Costs:
    """The costs a trial keeps by instance; empty where it keeps none."""
    costs = trial.user_attrs.get(COSTS)
    if costs is None:
        return {}
    # A target may write None for NaN.
    if not isinstance(costs, dict) or not {type(c) for c in costs.values()} <= {
        *NUMERIC,
        type(None),
    }:
        raise InputError(
            f"The user attribute 'costs' of trial {trial.number} is {costs!r:.60}. Keep a number "
            "for each instance: {instance: cost}."
        )
    return {str(name): _as_float(cost) for name, cost in costs.items()}


def _as_float(cost: float | None) -> float:
    try:
        return math.nan if cost is None else float(cost)
    except OverflowError:  # a whole number of 400 digits
        return math.inf if cost > 0 else -math.inf  # type: ignore[operator]


def _of_value(trial: Any, place: int) -> Costs:
    # A trial that was pruned has no value of its own; its intermediate values are no costs.
    if trial.state.name == "PRUNED":
        return {}
    return {NO_INSTANCE: _value(trial, place)}


def _value(trial: Any, place: int) -> float:
    """The value of a trial in an objective, NaN where it has none."""
    return float(trial.values[place]) if trial.values and place < len(trial.values) else math.nan


def _add_up(trials: Sequence[Any], costs: Mapping[int, Costs], place: int) -> bool:
    """Whether the values of all complete trials are the means, or the sums, of their costs."""
    pairs = [
        (_value(trial, place), list(costs[trial.number].values()))
        for trial in trials
        if trial.state.name == "COMPLETE" and costs[trial.number]
    ]

    def agree(value: float, expected: float) -> bool:
        return math.isclose(value, expected, rel_tol=1e-6, abs_tol=1e-12)

    means = all(agree(value, sum(cells) / len(cells)) for value, cells in pairs)
    return means or all(agree(value, sum(cells)) for value, cells in pairs)


def _configurations(trials: Sequence[Any]) -> dict[int, str]:
    """The configuration of each trial: the number of the first with its parameters."""
    first: dict[str, str] = {}
    return {
        trial.number: first.setdefault(
            json.dumps(trial.params, sort_keys=True, default=str), str(trial.number)
        )
        for trial in trials
    }


def _is_feasible(trial: Any) -> bool:
    """Whether a trial keeps to its constraints: above 0 is violated."""
    for name, value in trial.system_attrs.items():
        if name == CONSTRAINTS or name.startswith(f"{CONSTRAINTS}:"):
            limits = value if isinstance(value, list | tuple) else [value]
            if not all(isinstance(limit, NUMERIC) and limit <= 0 for limit in limits):
                return False
    return True


def _may_win(trial: Any, place: int) -> bool:
    """Whether a trial is complete, feasible, and has a value."""
    complete = trial.state.name == "COMPLETE" and _is_feasible(trial)
    return complete and not math.isnan(_value(trial, place))


def _steps(
    trials: Sequence[Any],
    names: Mapping[int, str],
    costs: Mapping[int, Costs],
    place: int,
    *,
    maximised: bool,
) -> tuple[Step, ...]:
    """The best trial so far, each time it changed; Optuna itself keeps no list of these."""
    steps: list[Step] = []
    runs, least = 0, math.inf
    for trial in trials:
        runs += len(costs[trial.number])
        if not _may_win(trial, place):
            continue
        value = -_value(trial, place) if maximised else _value(trial, place)
        if value < least:
            least = value
            steps.append(Step(runs, names[trial.number]))
    return tuple(steps)


def _default(
    trials: Sequence[Any], names: Mapping[int, str], known: set[str]
) -> tuple[str | None, list[Caveat]]:
    """The one configuration that was enqueued, where there is one."""
    enqueued = {names[t.number] for t in trials if ENQUEUED in t.system_attrs} & known
    if len(enqueued) == 1:
        name = enqueued.pop()
        sentence = f"Trial {name} was enqueued and counts as the default; --default names another."
        return name, [Caveat("default", sentence)]
    if enqueued:
        sentence = f"{counted(len(enqueued), 'trial')} were enqueued: --default names the default."
        return None, [Caveat("default", sentence)]
    return None, []
