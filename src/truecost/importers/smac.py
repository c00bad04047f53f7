"""SMAC3 2.x: the folder it leaves, with runhistory.json and, where they are, scenario.json,
configspace.json and intensifier.json.

Configurations are named by their number in the run history. Trials without an instance are all of
one, `NO_INSTANCE`. Of several budgets the highest is kept: costs at different budgets are not costs
of one thing.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError, counted
from truecost.importers.recorded import Recorded, chosen, counts, log_of
from truecost.matrix.log import Log, Step
from truecost.matrix.reading import Reading
from truecost.runs import NO_INSTANCE, NO_STATUS, Caveat, Status, number_or_nan

HISTORY = "runhistory.json"
FIELDS = (
    "config_id", "instance", "seed", "budget", "cost", "status", "starttime", "endtime",
    "additional_info",
)  # fmt: skip
# Rows as lists: up to 2.1 without, then with the CPU time after the time.
LIST_PLACES = {10: (0, 1, 2, 3, 4, 6, 7, 8, 9), 11: (0, 1, 2, 3, 4, 7, 8, 9, 10)}
# SMAC's numbers; 0 is a trial that has not ended.
STATUSES = (NO_STATUS, Status.SOLVED, Status.CRASHED, Status.TIMEOUT, Status.MEMORY)
# How SMAC words the origin of a configuration that no cost had a part in.
BLIND = ("initial design", "random search", "acquisition function maximizer: random search")
SORTED = "(sorted)"
# How far below a folder SMAC's own is looked for: it writes name/seed/.
DEEPEST = 3

Columns = dict[str, list[Any]]


def folder_of(path: Path) -> Path | None:
    """The folder with the run history: this one, that of this file, or the highest below; None
    where there is none.
    """
    if not path.is_dir():
        return path.parent if path.name == HISTORY else None
    # From the top down: a search may keep copies of others below its own folder.
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
    history, columns = _history(folder / HISTORY)
    scenario = beside(folder / "scenario.json")
    caveats: list[Caveat] = []
    objectives = scenario.get("objectives")
    names = (
        [objectives] if isinstance(objectives, str) else [str(name) for name in _list(objectives)]
    )
    # An objective of that name comes before the elapsed time.
    timed = reading.objective == "time" and "time" not in names
    values = _elapsed(columns) if timed else _costs(columns["cost"], reading.objective, names)
    statuses = _stopped(_statuses(columns["status"]), columns, scenario, caveats)
    ended = statuses != NO_STATUS
    keep = ended & _at_budget(columns["budget"], ended, caveats)
    if not keep.any():
        raise InputError(
            f"None of {counted(keep.size, 'trial')} in {HISTORY} has ended. Wait for SMAC3."
        )
    # Running times of the trial, stopped by its limit, or of the solver, by SMAC's capping.
    cutoff = _limit(scenario, "trial_walltime_limit" if timed else "runtime_cutoff")
    if not timed and (cutoff is not None or scenario.get("adaptive_capping") is True):
        values, statuses = _capped(values, statuses, columns, scenario, caveats)
    numbers, instances, seeds = _names(columns, keep, caveats)
    origins = _entries(history.get("config_origins"), str)
    parameters: dict[str, dict[str, Any]] = _entries(history.get("configs"), dict)
    words = [origins.get(name, "").lower() for name in parameters]
    # Origins decide what may be stated: in doubt, costs had a part.
    blind = bool(words) and all(word.startswith(BLIND) and SORTED not in word for word in words)
    meta = scenario.get("_meta")
    version = meta.get("version") if isinstance(meta, dict) else None
    recorded = Recorded(
        configurations=numbers,
        instances=instances,
        values=values[keep],
        statuses=statuses[keep],
        seeds=seeds,
        cutoff=cutoff,
        par=_limit(scenario, "par"),
    )
    log = log_of(
        recorded,
        reading,
        omitted={"trial still running": int((~ended).sum())},
        caveats=caveats,
        tool=f"SMAC3 {version}" if isinstance(version, str) else "SMAC3",
        default=_default(folder, origins, parameters),
        parameters=parameters,
        adaptive=not blind,
        listed=len(parameters) if blind else None,
    )
    means = np.nanmean(log.runs.costs, axis=(1, 2)).tolist()
    return _with_incumbents(log, folder, dict(zip(log.runs.configurations, means, strict=True)))


class Place(int):
    """Where a row stands in the columns; no number of the file is one."""

    __slots__ = ()


def _history(path: Path) -> tuple[Mapping[str, Any], Columns]:
    """The run history without its rows, and the rows as columns."""
    # As dictionaries, rows would take a gigabyte a million.
    columns: Columns = {name: [] for name in FIELDS}
    appends = [columns[name].append for name in FIELDS]
    first = columns["config_id"]

    def keep(pairs: list[tuple[str, Any]]) -> Any:
        if not pairs:  # every trial's additional_info, nearly always
            return {}
        entry = dict(pairs)
        if "config_id" not in entry or "cost" not in entry:
            return entry
        for append, name in zip(appends, FIELDS, strict=True):
            append(entry.get(name))
        return Place(len(first) - 1)

    history = _decoded(path, keep)
    rows = history.get("data") if isinstance(history, dict) else None
    if not isinstance(rows, list) or not isinstance(history.get("configs"), dict):
        raise InputError(f"{path.name} has no 'data' and 'configs'. Give one of SMAC3 2.x.")
    if rows and isinstance(rows[0], list):
        return history, _from_lists(rows)
    # A row's place stands where the row was. Anything else with these fields was not a row.
    places = np.fromiter(
        (row if type(row) is Place else -1 for row in rows), dtype=np.int64, count=len(rows)
    )
    if (places < 0).any():
        number = int(np.flatnonzero(places < 0)[0])
        raise InputError(
            f"Row {number} of {path.name} is no trial with config_id and cost. Give a run history "
            "that SMAC3 2.x wrote."
        )
    if places.size != len(first):
        columns = {name: [column[place] for place in places] for name, column in columns.items()}
    history["data"] = []
    return history, columns


def _from_lists(rows: Sequence[Any]) -> Columns:
    for number, row in enumerate(rows):
        if isinstance(row, list) and len(row) == 2 and isinstance(row[0], list):
            raise InputError(
                f"{HISTORY} is of SMAC3 1.x. Write its trials as a csv table with the columns "
                "configuration, instance, seed, cost and status."
            )
        if not isinstance(row, list) or len(row) not in LIST_PLACES:
            raise InputError(
                f"Row {number} of {HISTORY} is no trial of 10 or 11 fields. Give a run history "
                "that SMAC3 2.x wrote."
            )
    return {
        name: [row[LIST_PLACES[len(row)][place]] for row in rows]
        for place, name in enumerate(FIELDS)
    }


def _decoded(path: Path, hook: Any = None) -> Any:
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=hook)
    except RecursionError:
        raise InputError(f"{path.name} is nested too deeply to be of SMAC3.") from None
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path.name} is no JSON ({reason:.100}). Copy it again.") from error


def beside(path: Path) -> Mapping[str, Any]:
    """A file that may be absent, then empty."""
    content = _decoded(path) if path.is_file() else {}
    if not isinstance(content, dict):
        raise InputError(f"{path.name} holds no JSON object. Copy it again.")
    return content


def _costs(column: list[Any], objective: str | None, names: list[str]) -> FloatArray:
    kinds = set(map(type, column))
    if list in kinds:
        widths = {len(cost) for cost in column if type(cost) is list}
        if kinds != {list} or len(widths) != 1:
            raise InputError(f"Trials in {HISTORY} differ in their number of costs.")
        width = widths.pop()
        places = [str(place) for place in range(width)]
        place = chosen(objective, names if len(names) == width else places)
        column = [cost[place] for cost in column]
    elif objective is not None and objective not in (*names, "0", "cost"):
        raise InputError(
            f"There is no objective {objective!r:.60}. Choose {names[0] if names else 'cost'} or "
            "time (of a trial)."
        )
    return _numbers(column, "cost")


def _elapsed(columns: Columns) -> FloatArray:
    """Seconds from start to end."""
    # The field `time` is 0 for a trial that timed out.
    start, end = (_numbers(columns[name], name) for name in ("starttime", "endtime"))
    return end - start


def _numbers(column: list[Any], name: str) -> FloatArray:
    if not set(map(type, column)) <= {int, float, type(None)}:
        wrong = next(value for value in column if type(value) not in (int, float, type(None)))
        raise InputError(f"A trial in {HISTORY} has the {name} {wrong!r:.60}, which is no number.")
    try:
        return np.array(column, dtype=np.float64)
    except OverflowError:
        raise InputError(f"A trial in {HISTORY} has a {name} beyond 1e308.") from None


def _statuses(column: list[Any]) -> NDArray[np.int8]:
    for word in set(column) if set(map(type, column)) <= {int} else column:
        if type(word) is not int or not 0 <= word < len(STATUSES):
            raise InputError(f"A trial in {HISTORY} has the status {word!r:.60}, not 0 to 4.")
    return np.array(STATUSES, dtype=np.int8)[np.array(column, dtype=np.int64)]


def _stopped(
    statuses: NDArray[np.int8],
    columns: Columns,
    scenario: Mapping[str, Any],
    caveats: list[Caveat],
) -> NDArray[np.int8]:
    # With an infinite crash cost SMAC calls a trial crashed that it stopped at its limit; how long
    # it took tells.
    limit = _limit(scenario, "trial_walltime_limit")
    if limit is None:
        return statuses
    stopped = (statuses == Status.CRASHED) & (_elapsed(columns) >= limit)
    reason = f"crashed trial that had reached the limit of {limit:g} s"
    caveats += counts("timeouts", "Counted as timeouts", {reason: int(stopped.sum())})
    return np.where(stopped, np.int8(Status.TIMEOUT), statuses)


def _capped(
    values: FloatArray,
    statuses: NDArray[np.int8],
    columns: Columns,
    scenario: Mapping[str, Any],
    caveats: list[Caveat],
) -> tuple[FloatArray, NDArray[np.int8]]:
    """Trials that SMAC's capping stopped below the cutoff, with their cap as the cost."""
    # SMAC gives each trial a `cutoff` and does not keep it. So only the target can tell: by the
    # status timeout with what it took as the cost, or by returning that cutoff as additional
    # information.
    answers = columns["additional_info"]
    caps = np.array(
        [
            number_or_nan(info.get("cutoff")) if isinstance(info, dict) else np.nan
            for info in answers
        ]
    )
    cutoff, limit = (_limit(scenario, name) for name in ("runtime_cutoff", "trial_walltime_limit"))
    most = np.inf if cutoff is None else cutoff
    at_cap = (caps < most) & (values >= caps) & np.isin(statuses, (Status.SOLVED, Status.TIMEOUT))
    stopped = at_cap
    if cutoff is not None:
        timeouts = (statuses == Status.TIMEOUT) & np.isnan(caps) & (values < cutoff)
        stopped = at_cap | (timeouts if limit is None else timeouts & (_elapsed(columns) < limit))
    silent = int(((statuses == Status.SOLVED) & np.isnan(caps)).sum())
    if silent and not (stopped | (statuses == Status.TIMEOUT)).any():
        sentence = (
            "SMAC3 capped trials and does not log where: some of "
            f"{counted(silent, 'solved trial')} may have been stopped early, and cost more. "
            "Let the target return its cutoff as additional information."
        )
        caveats.append(Caveat("capping", sentence))
    return np.where(at_cap, caps, values), np.where(stopped, np.int8(Status.CENSORED), statuses)


def _at_budget(column: list[Any], ended: BoolArray, caveats: list[Caveat]) -> BoolArray:
    """Which trials have the highest budget."""
    budgets = _numbers(column, "budget")
    used = np.unique(budgets[ended & ~np.isnan(budgets)])
    if used.size == 0:
        return np.ones(budgets.size, dtype=np.bool_)
    highest: BoolArray = budgets == used[-1]
    reason = f"trial below the highest budget, {used[-1]:g}"
    caveats += counts("left out", "Left out", {reason: int((ended & ~highest).sum())})
    return highest


def _names(
    columns: Columns, keep: BoolArray, caveats: list[Caveat]
) -> tuple[list[str], list[str], IntArray | None]:
    """Configuration, instance and seed of the trials that are kept."""
    none = type(None)
    for name, kinds in (("config_id", {int}), ("instance", {str, none}), ("seed", {int, none})):
        if wrong := {kind.__name__ for kind in set(map(type, columns[name])) - kinds}:
            what = "text" if str in kinds else "a whole number"
            raise InputError(f"A trial in {HISTORY} has a {min(wrong)} as {name}, not {what}.")
    rows = np.flatnonzero(keep).tolist()
    numbers, instances, seeds = (
        [columns[name][row] for row in rows] for name in ("config_id", "instance", "seed")
    )
    if None in instances:
        caveats.append(
            Caveat("no instances", "Trials have no instance: they say nothing of other instances.")
        )
        instances = [NO_INSTANCE if name is None else name for name in instances]
    names = [str(number) for number in numbers]
    # Deterministic targets have no seeds; one without beside others is seed 0.
    if set(seeds) == {None}:
        return names, instances, None
    try:
        return names, instances, np.array([seed or 0 for seed in seeds], dtype=np.int64)
    except OverflowError:
        raise InputError(f"A trial in {HISTORY} has a seed beyond 64 bits.") from None


def _limit(scenario: Mapping[str, Any], name: str) -> float | None:
    limit = number_or_nan(scenario.get(name)) if type(scenario.get(name)) is not str else np.nan
    return limit if 0 < limit < np.inf else None


def _with_incumbents(log: Log, folder: Path, means: Mapping[str, float]) -> Log:
    """The log with the incumbents over time, and the last."""

    def best(numbers: Any) -> list[str]:
        # Of several objectives, SMAC's incumbents are a front in no particular order.
        return sorted(map(str, _list(numbers)), key=lambda name: means.get(name, np.inf))

    intensifier = beside(folder / "intensifier.json")
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
        for entry in _list(beside(folder / "configspace.json").get("hyperparameters"))
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
