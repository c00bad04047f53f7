"""SMAC3 2.x: the folder it leaves, with runhistory.json and, where they are, scenario.json,
configspace.json and intensifier.json.

Configurations are named by their number in the run history. Trials without an instance are all of
one, `NO_INSTANCE`. Of several budgets the highest is kept: costs at different budgets are not costs
of one thing.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError, counted
from truecost.importers.recorded import StatusArray, count_caveats, log_of, objective_place
from truecost.matrix.log import Log, Step
from truecost.matrix.reading import Reading
from truecost.runs import NO_INSTANCE, NO_STATUS, Caveat, Status, number_or_nan

HISTORY = "runhistory.json"
NUMBER, NONE = {int, float}, type(None)


class Trial(NamedTuple):
    """A trial as the run history has it."""

    config_id: int
    instance: str | None
    seed: int | None
    budget: float | None
    cost: Any
    status: int
    starttime: float | None
    endtime: float | None
    additional_info: Any


# The types of these fields, but for the last.
TYPES: tuple[set[type], ...] = (
    {int}, {str, NONE}, {int, NONE}, NUMBER | {NONE}, NUMBER | {NONE, list}, {int}, NUMBER | {NONE},
    NUMBER | {NONE},
)  # fmt: skip
# Where they stand in rows that are lists: up to 2.1 without, then with the CPU time after the time.
LIST_PLACES = {10: (0, 1, 2, 3, 4, 6, 7, 8, 9), 11: (0, 1, 2, 3, 4, 7, 8, 9, 10)}
# SMAC's numbers; 0 is a trial that has not ended.
STATUSES = (NO_STATUS, Status.SOLVED, Status.CRASHED, Status.TIMEOUT, Status.MEMORY)
# How SMAC words the origin of a configuration that no cost had a part in.
BLIND = ("initial design", "random search", "acquisition function maximizer: random search")
SORTED = "(sorted)"
# How far below a folder SMAC's run history may lie: it writes name/seed/.
DEEPEST = 3


def folder_of(path: Path) -> Path | None:
    """The folder with the run history: this one, that of this file, or the highest below; None
    where there is none.
    """
    if not path.is_dir():
        return path.parent if path.name == HISTORY else None
    # From the top down: a search may keep copies of others below its folder.
    for depth in range(DEEPEST + 1):
        files = [file for file in path.glob("*/" * depth + HISTORY) if file.is_file()]
        folders = sorted({file.parent for file in files})
        if len(folders) > 1:
            raise InputError(
                f"It has {len(folders)} runs of SMAC3. Name one, such as {folders[0]}."
            )
        if folders:
            return folders[0]
    return None


def read(path: Path, reading: Reading) -> Log:
    """The runs in a folder of SMAC3."""
    folder = folder_of(path) or path.parent
    history = _decoded(folder / HISTORY)
    rows = history.get("data") if isinstance(history, dict) else None
    if not isinstance(rows, list) or not isinstance(history.get("configs"), dict):
        raise InputError(f"{HISTORY} has no 'data' and 'configs'. Give one of SMAC3 2.x.")
    scenario = json_object(folder / "scenario.json")
    trials, omitted = _ended([_trial(number, row) for number, row in enumerate(rows)])
    statuses = np.array([STATUSES[trial.status] for trial in trials], dtype=np.int8)
    started = _numbers([trial.starttime for trial in trials])
    elapsed = _numbers([trial.endtime for trial in trials]) - started
    limit = _limit(scenario, "trial_walltime_limit")
    # With an infinite crash cost SMAC calls a trial crashed that it stopped at its limit; how long
    # it took tells.
    stopped = (statuses == Status.CRASHED) & (elapsed >= limit)
    statuses[stopped] = Status.TIMEOUT
    reason = f"crashed trial that had reached the limit of {limit:g} s"
    caveats = count_caveats("timeouts", "Counted as timeouts", {reason: int(stopped.sum())})
    objectives = scenario.get("objectives")
    names = [objectives] if isinstance(objectives, str) else [*map(str, _list(objectives))]
    # An objective of that name comes before the elapsed time.
    timed = reading.objective == "time" and "time" not in names
    values = elapsed if timed else _costs(trials, reading.objective, names)
    # Running times of the trial, stopped by its limit, or of the solver, by SMAC's capping.
    cutoff = limit if timed else _limit(scenario, "runtime_cutoff")
    if not timed and (cutoff < np.inf or scenario.get("adaptive_capping") is True):
        infos = (trial.additional_info for trial in trials)
        caps = np.array(
            [
                number_or_nan(info.get("cutoff")) if isinstance(info, dict) else np.nan
                for info in infos
            ]
        )
        values, statuses, notes = _capped(values, statuses, caps, cutoff, ~(elapsed >= limit))
        caveats += notes
    if any(trial.instance is None for trial in trials):
        sentence = "Trials have no instance: they say nothing of other instances."
        caveats.append(Caveat("no instances", sentence))
    origins = _entries(history.get("config_origins"), str)
    parameters: dict[str, dict[str, Any]] = _entries(history["configs"], dict)
    words = [origins.get(name, "").lower() for name in parameters]
    # Origins decide what may be stated: in doubt, costs had a part.
    blind = bool(words) and all(word.startswith(BLIND) and SORTED not in word for word in words)
    meta = scenario.get("_meta")
    version = meta.get("version") if isinstance(meta, dict) else None
    par = _limit(scenario, "par")
    log = log_of(
        reading,
        configurations=[str(trial.config_id) for trial in trials],
        instances=[NO_INSTANCE if t.instance is None else t.instance for t in trials],
        values=values,
        statuses=statuses,
        seeds=_seeds(trials),
        cutoff=cutoff if cutoff < np.inf else None,
        par=par if par < np.inf else None,
        omitted=omitted,
        caveats=caveats,
        tool=f"SMAC3 {version}" if isinstance(version, str) else "SMAC3",
        default=_default(folder, origins, parameters),
        parameters=parameters,
        adaptive=not blind,
        listed=len(parameters) if blind else None,
    )
    return _with_incumbents(log, json_object(folder / "intensifier.json"))


def _decoded(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except RecursionError:
        raise InputError(f"{path.name} is nested too deeply to be of SMAC3.") from None
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path.name} is no JSON ({reason:.100}). Copy it again.") from error


def json_object(path: Path) -> Mapping[str, Any]:
    """The object in a file of SMAC3, empty if there is no such file."""
    content = _decoded(path) if path.is_file() else {}
    if not isinstance(content, dict):
        raise InputError(f"{path.name} holds no JSON object. Copy it again.")
    return content


def _trial(number: int, row: Any) -> Trial:
    """The trial of a row, which is an object or a list."""
    if isinstance(row, list) and len(row) == 2 and isinstance(row[0], list):
        raise InputError(
            f"{HISTORY} is of SMAC3 1.x. Write its trials as a csv table with the columns "
            "configuration, instance, seed, cost and status."
        )
    trial = None
    if isinstance(row, list) and len(row) in LIST_PLACES:
        trial = Trial._make(row[place] for place in LIST_PLACES[len(row)])
    elif isinstance(row, dict) and {"config_id", "cost"} <= row.keys():
        trial = Trial._make(map(row.get, Trial._fields))
    if trial is None:
        raise InputError(
            f"Row {number} of {HISTORY} is no trial with config_id and cost. Give a run history "
            "that SMAC3 2.x wrote."
        )
    for name, value, types in zip(Trial._fields, trial, TYPES, strict=False):
        if type(value) not in types or (name == "status" and not 0 <= value < len(STATUSES)):
            raise InputError(
                f"Row {number} of {HISTORY} has the {name} {value!r:.60}. Give a run history that "
                "SMAC3 2.x wrote."
            )
    return trial


def _ended(trials: Sequence[Trial]) -> tuple[list[Trial], dict[str, int]]:
    """The trials that have ended, at the highest budget; and how many others there are."""
    ended = [trial for trial in trials if STATUSES[trial.status] != NO_STATUS]
    if not ended:
        raise InputError(
            f"None of {counted(len(trials), 'trial')} in {HISTORY} has ended. Wait for SMAC3."
        )
    omitted = {"trial still running": len(trials) - len(ended)}
    highest = max((trial.budget for trial in ended if trial.budget is not None), default=None)
    kept = [trial for trial in ended if trial.budget == highest]
    if highest is not None:
        omitted[f"trial below the highest budget, {highest:g}"] = len(ended) - len(kept)
    return kept, omitted


def _numbers(values: Sequence[float | None]) -> FloatArray:
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise InputError(f"A trial in {HISTORY} has a number beyond 1e308.") from None


def _costs(trials: Sequence[Trial], objective: str | None, names: list[str]) -> FloatArray:
    costs = [trial.cost for trial in trials]
    if any(isinstance(cost, list) for cost in costs):
        widths = {len(cost) if isinstance(cost, list) else -1 for cost in costs}
        if len(widths) != 1:
            raise InputError(f"Trials in {HISTORY} differ in their number of costs.")
        places = [str(place) for place in range(widths.pop())]
        place = objective_place(objective, names if len(names) == len(places) else places)
        costs = [cost[place] for cost in costs]
        if wrong := [cost for cost in costs if type(cost) not in NUMBER]:
            raise InputError(f"A trial in {HISTORY} has the cost {wrong[0]!r:.60}.")
    elif objective is not None and objective not in (*names, "0", "cost"):
        raise InputError(
            f"There is no objective {objective!r:.60}. Choose {names[0] if names else 'cost'} or "
            "time (of a trial)."
        )
    return _numbers(costs)


def _capped(
    values: FloatArray, statuses: StatusArray, caps: FloatArray, cutoff: float, in_time: BoolArray
) -> tuple[FloatArray, StatusArray, list[Caveat]]:
    """Trials that SMAC's capping stopped below the cutoff are censored, with their cap as cost."""
    # SMAC gives each trial a `cutoff` and does not keep it. So only the target can tell: by the
    # status timeout with what it took as the cost, or by returning that cutoff as additional
    # information.
    solved, timeout = statuses == Status.SOLVED, statuses == Status.TIMEOUT
    at_cap = (caps < cutoff) & (values >= caps) & (solved | timeout)
    early = timeout & in_time & np.isnan(caps) & (values < cutoff) & (cutoff < np.inf)
    silent, caveats = int((solved & np.isnan(caps)).sum()), []
    if silent and not (at_cap | timeout).any():
        sentence = (
            "SMAC3 capped trials and does not log where: some of "
            f"{counted(silent, 'solved trial')} may have been stopped early, and cost more. "
            "Let the target return its cutoff as additional information."
        )
        caveats.append(Caveat("capping", sentence))
    statuses = np.where(at_cap | early, np.int8(Status.CENSORED), statuses)
    return np.where(at_cap, caps, values), statuses, caveats


def _seeds(trials: Sequence[Trial]) -> IntArray | None:
    # Deterministic targets have no seeds; one without, among others, is seed 0.
    if all(trial.seed is None for trial in trials):
        return None
    try:
        return np.array([trial.seed or 0 for trial in trials], dtype=np.int64)
    except OverflowError:
        raise InputError(f"A trial in {HISTORY} has a seed beyond 64 bits.") from None


def _limit(scenario: Mapping[str, Any], name: str) -> float:
    """A number above 0 in the scenario, infinite where there is none."""
    value = scenario.get(name)
    limit = np.nan if isinstance(value, str) else number_or_nan(value)
    return limit if limit > 0 else np.inf


def _with_incumbents(log: Log, intensifier: Mapping[str, Any]) -> Log:
    """The log with the incumbents over time, and the last."""
    means = np.nanmean(log.runs.costs, axis=(1, 2)).tolist()
    mean_of = dict(zip(log.runs.configurations, means, strict=True))

    def best(numbers: Any) -> list[str]:
        # Of several objectives, SMAC's incumbents are a front in no particular order.
        return sorted(map(str, _list(numbers)), key=lambda name: mean_of.get(name, np.inf))

    steps, front = [], 0
    for item in _list(intensifier.get("trajectory")):
        if isinstance(item, dict) and (names := best(item.get("config_ids"))):
            trial = item.get("trial")
            runs = trial if type(trial) is int and trial >= 0 else None
            steps.append(Step(runs, names[0]))
            front = len(names)
    last, caveats = best(intensifier.get("incumbent_ids")), log.caveats
    if front > 1:
        sentence = (
            f"SMAC3 kept {front:,} incumbents, which trade its objectives off: the one with the "
            "lowest mean cost counts as its winner."
        )
        caveats = (*caveats, Caveat("front", sentence))
    return log.replace(steps=tuple(steps), incumbent=last[0] if last else None, caveats=caveats)


def _default(
    folder: Path, origins: Mapping[str, str], parameters: Mapping[str, Mapping[str, Any]]
) -> str | None:
    """The configuration SMAC calls the default, else the one whose values are the defaults of the
    space.
    """
    for name, origin in origins.items():
        if origin.lower().startswith("initial design: default"):
            return name
    defaults = {
        # A constant has one value, and no default.
        entry.get("name"): entry.get("default_value", entry.get("default", entry.get("value")))
        for entry in _list(json_object(folder / "configspace.json").get("hyperparameters"))
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    }
    for name, values in parameters.items():
        if values and all(key in defaults and defaults[key] == values[key] for key in values):
            return name
    return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _entries(value: Any, kind: type) -> dict[str, Any]:
    """The entries of an object whose values are of this type; none of anything else."""
    entries = value.items() if isinstance(value, dict) else ()
    return {name: entry for name, entry in entries if isinstance(entry, kind)}
