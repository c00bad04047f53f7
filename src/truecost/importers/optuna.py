"""Optuna: studies in SQLite storages and journal files, and `Study` objects, through Optuna's API.

A parameter set is a configuration, called by the number of its first trial; repeated trials of it
are runs. Costs of single instances come from the user attribute `costs`,
`trial.set_user_attr("costs", {"a.cnf": 1.5, …})`, or from the steps of a trial where the caller
says that they are instances. A trial with one number alone says nothing of single instances.
"""

import json
import logging
import math
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from truecost.errors import InputError, counted
from truecost.importers.recorded import count_caveats, log_of, objective_place
from truecost.matrix.log import Log, Step
from truecost.matrix.reading import Reading
from truecost.runs import NO_INSTANCE, NO_STATUS, Caveat, Status

SQLITE = b"SQLite format 3\0"
TABLES = frozenset({"studies", "study_directions", "trials", "trial_params", "trial_values"})
# How Optuna keeps the constraints of a trial: a list up to version 4, later an attribute for each.
CONSTRAINTS = "constraints"
# The attribute of a trial that was enqueued.
ENQUEUED = "fixed_params"

# The costs of a trial by instance, empty where it has none.
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
            study, wanted = _study_of(source, storage, reading.objective)
            trials = sorted(study.get_trials(deepcopy=False), key=lambda trial: int(trial.number))
            directions = [direction.name for direction in study.directions]
            metrics = study.metric_names or [str(place) for place in range(len(directions))]
            name = str(study.study_name)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # Optuna and SQLAlchemy raise a dozen kinds on damage
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"Optuna cannot read it ({type(error).__name__}: {reason:.100}). Give a storage that "
            "Optuna wrote; one of an older version is converted by: optuna storage upgrade."
        ) from error
    place = objective_place(wanted, metrics)
    return _log(name, trials, place, directions, reading)


@contextmanager
def _storage(path: Path) -> Iterator[Any]:
    """The storage in a copy of a file: nothing is changed, and its name means nothing in a URL."""
    try:
        import optuna
        from optuna.storages import journal
    except ImportError:
        raise InputError("Optuna is not installed. Type: pip install optuna") from None
    for ending in ("-journal", "-wal"):
        other = path.with_name(path.name + ending)
        if other.exists() and other.stat().st_size:
            raise InputError(
                f"It is being written, or was not closed: {other.name} lies beside it. Stop the "
                "program that writes it, or copy the study with optuna.copy_study."
            )
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.ERROR)
    try:
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copyfile(path, Path(folder) / "study")
            with copy.open("rb") as file:
                is_sqlite = file.read(len(SQLITE)) == SQLITE
            if not is_sqlite:
                yield optuna.storages.JournalStorage(journal.JournalFileBackend(str(copy)))
                return
            _check_tables(copy)
            storage = optuna.storages.RDBStorage(
                f"sqlite:///{copy}", skip_compatibility_check=True, skip_table_creation=True
            )
            try:
                yield storage
            finally:
                storage.remove_session()
                storage.engine.dispose()
    finally:
        optuna.logging.set_verbosity(level)


def _check_tables(path: Path) -> None:
    """Refuse what is no storage of Optuna."""
    with closing(sqlite3.connect(path)) as base:
        kinds = dict(base.execute("SELECT name, type FROM sqlite_master"))
    if not {name for name, kind in kinds.items() if kind == "table"} >= TABLES:
        raise InputError("It is no storage of Optuna and no journal of truecost.")
    # A view may never end; Optuna writes none.
    if strange := sorted(name for name, kind in kinds.items() if kind in ("view", "trigger")):
        raise InputError(f"It has {strange[0]!r:.60}, a view or trigger that Optuna never writes.")


def _study_of(source: Any, storage: Any, objective: str | None) -> tuple[Any, str | None]:
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
    study: str, trials: Sequence[Any], place: int, directions: list[str], reading: Reading
) -> Log:
    """The log of a study, with the objective at that place as the cost."""
    states = [trial.state.name for trial in trials]
    maximised = directions[place] == "MAXIMIZE"
    trials = [trial for trial in trials if trial.state.is_finished()]
    costs, caveats = _costs(trials, place, len(directions) > 1, reading)
    names = _configurations(trials)
    runs = [
        (name, instance, cost, trial.state.name == "FAIL" and instance == NO_INSTANCE)
        for name, trial, cells in zip(names, trials, costs, strict=True)
        for instance, cost in cells.items()
    ]
    if not runs:
        raise InputError(f"No trial of the study {study!r:.60} has ended with a value.")
    steps = _steps(trials, names, costs, place, sign=-1.0 if maximised else 1.0)
    if not steps:
        raise InputError(
            f"No trial of the study {study!r:.60} is complete and feasible, so there is no winner."
        )
    infeasible = {"trial violating a constraint": sum(not _is_feasible(t) for t in trials)}
    caveats += count_caveats("infeasible", "Cannot win", infeasible)
    configurations, instances, values, failed = zip(*runs, strict=True)
    default, notes = _default(trials, names, set(configurations))
    if reading.default is None:
        caveats += notes
    return log_of(
        reading,
        configurations=configurations,
        instances=instances,
        values=np.array(values, dtype=np.float64),
        statuses=np.where(failed, Status.CRASHED, NO_STATUS).astype(np.int8),
        score="value" if maximised else "",
        omitted={
            "trial still running": states.count("RUNNING"),
            "trial waiting": states.count("WAITING"),
            "trial without costs": sum(not cells for cells in costs),
        },
        caveats=caveats,
        tool="Optuna",
        default=default,
        incumbent=steps[-1].configuration,
        steps=steps,
        parameters={name: dict(t.params) for name, t in zip(names, trials, strict=True)},
        adaptive=True,
    )


def _costs(
    trials: Sequence[Any], place: int, several: bool, reading: Reading
) -> tuple[list[Costs], list[Caveat]]:
    """The costs of each trial, and what was assumed."""
    stepped = any(len(trial.intermediate_values) > 1 for trial in trials)
    if reading.steps_are == "instances":
        if not stepped:
            raise InputError(
                "Trials have no steps, so steps cannot be instances. Leave out --steps-are."
            )
        if several:
            raise InputError("Trials with several objectives have no steps: leave out --steps-are.")
        steps = (sorted(trial.intermediate_values.items()) for trial in trials)
        return [{str(step): float(cost) for step, cost in pairs} for pairs in steps], []
    costs = [_of_attribute(trial) for trial in trials]
    # Of several objectives, nothing says whose costs they are.
    if any(costs) and not several:
        return costs, []
    sentence = (
        "Trials have one number each and say nothing of single instances: keep costs with "
        'trial.set_user_attr("costs", {instance: cost}).'
    )
    caveats = [Caveat("no instances", sentence)]
    if stepped:
        sentence = "Steps are not used. If each is the cost on an instance: --steps-are instances."
        caveats.append(Caveat("steps", sentence))
    # The value of a trial that was pruned is one of its intermediate values.
    return [
        {} if trial.state.name == "PRUNED" else {NO_INSTANCE: _value(trial, place)}
        for trial in trials
    ], caveats


def _of_attribute(trial: Any) -> Costs:
    """The costs that a trial keeps as its user attribute."""
    costs = trial.user_attrs.get("costs")
    if costs is None:
        return {}
    # A target may write None for NaN.
    kinds = {int, float, type(None)}
    if not isinstance(costs, dict) or not {type(cost) for cost in costs.values()} <= kinds:
        raise InputError(
            f"The user attribute 'costs' of trial {trial.number} is {costs!r:.60}. Keep a number "
            "for each instance: {instance: cost}."
        )
    return {str(name): _as_float(cost) for name, cost in costs.items()}


def _as_float(cost: float | None) -> float:
    try:
        return math.nan if cost is None else float(cost)
    except OverflowError:  # a whole number of 400 digits
        return math.inf if str(cost)[0] != "-" else -math.inf


def _value(trial: Any, place: int) -> float:
    """The value of a trial in an objective, NaN where it has none."""
    return float(trial.values[place]) if trial.values and place < len(trial.values) else math.nan


def _configurations(trials: Sequence[Any]) -> list[str]:
    """The configuration of each trial: the number of the first with its parameters."""
    first: dict[str, str] = {}
    keys = (json.dumps(trial.params, sort_keys=True, default=str) for trial in trials)
    return [first.setdefault(key, str(t.number)) for key, t in zip(keys, trials, strict=True)]


def _is_feasible(trial: Any) -> bool:
    """Whether a trial keeps to its constraints: above 0 is violated."""
    for name, value in trial.system_attrs.items():
        if name == CONSTRAINTS or name.startswith(f"{CONSTRAINTS}:"):
            limits = value if isinstance(value, list | tuple) else [value]
            if not all(isinstance(limit, int | float) and limit <= 0 for limit in limits):
                return False
    return True


def _steps(
    trials: Sequence[Any], names: Sequence[str], costs: Sequence[Costs], place: int, *, sign: float
) -> tuple[Step, ...]:
    """The best trial so far, each time it changed; Optuna itself keeps no list of these."""
    steps: list[Step] = []
    runs, least = 0, math.inf
    for trial, name, cells in zip(trials, names, costs, strict=True):
        runs += len(cells)
        value = sign * _value(trial, place)
        complete = trial.state.name == "COMPLETE" and _is_feasible(trial)
        if complete and value < least:
            least = value
            steps.append(Step(runs, name))
    return tuple(steps)


def _default(
    trials: Sequence[Any], names: Sequence[str], ran: set[str]
) -> tuple[str | None, list[Caveat]]:
    """The one configuration that was enqueued, where there is one."""
    pairs = zip(names, trials, strict=True)
    enqueued = {name for name, trial in pairs if ENQUEUED in trial.system_attrs} & ran
    if not enqueued:
        return None, []
    if len(enqueued) > 1:
        sentence = f"{counted(len(enqueued), 'trial')} were enqueued: --default names the default."
        return None, [Caveat("default", sentence)]
    name = enqueued.pop()
    sentence = f"Trial {name} was enqueued and counts as the default; --default names another."
    return name, [Caveat("default", sentence)]
