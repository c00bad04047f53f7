"""SMAC3 1.x and 2.x: the folder it leaves, with runhistory.json and, where they are, scenario,
configspace and intensifier.

Configurations are named by their number in the run history. Trials without an instance are all of
one, `NO_INSTANCE`. Of several budgets one is kept, the largest unless another is asked for: costs
at different budgets are not costs of one thing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError, counted
from truecost.importers.record import Options, charge, matrix_of, only_folder
from truecost.importers.registry import Candidate, Importer
from truecost.matrix.imported import Import, Scalar
from truecost.runs import NO_INSTANCE, NO_STATUS, Status, Step, Trajectory, number_or_nan

HISTORY = "runhistory.json"
FIELDS = (
    "config_id", "instance", "seed", "budget", "cost", "status", "starttime", "endtime",
    "additional_info",
)  # fmt: skip
# Rows as lists: up to 2.1 without, then with the CPU time after the time.
LIST_PLACES = {10: (0, 1, 2, 3, 4, 6, 7, 8, 9), 11: (0, 1, 2, 3, 4, 7, 8, 9, 10)}
# SMAC's numbers; 0 is a trial that has not ended.
STATUSES = (NO_STATUS, Status.SOLVED, Status.CRASHED, Status.TIMEOUT, Status.MEMORY)
# Statuses of SMAC3 1.x, as numbers of 2.x.
STATUSES_1 = {
    **dict.fromkeys(("RUNNING", "STOP", "DONOTADVANCE"), 0),
    "SUCCESS": 1,
    **dict.fromkeys(("CRASHED", "ABORT"), 2),
    **dict.fromkeys(("TIMEOUT", "CAPPED"), 3),
    "MEMOUT": 4,
}
# How SMAC words the origin of a configuration that no cost had a part in.
BLIND = ("initial design", "random search", "acquisition function maximizer: random search")
SORTED = "(sorted)"
# How far below a folder SMAC's own is looked for: it writes name/seed/.
DEEPEST = 3

Columns = dict[str, list[Any]]


def folder_of(path: Path) -> Path | None:
    """The folder that holds the run history: this one, that of this file, or the only one below;
    None where there is none.
    """
    if not path.is_dir():
        return path.parent if path.name == HISTORY else None
    return only_folder(path, HISTORY, DEEPEST, "SMAC3")


def _recognise(candidate: Candidate) -> bool:
    path = candidate.path
    return path is not None and path.exists() and folder_of(path) is not None


def _read(path: Path, options: Options) -> Import:
    """The runs in a folder of SMAC3."""
    folder = folder_of(path) or path.parent
    history, columns = _history(folder / HISTORY)
    scenario = _scenario(folder)
    notes: list[str] = []
    objectives = scenario.get("objectives")
    names = (
        [objectives] if isinstance(objectives, str) else [str(name) for name in _list(objectives)]
    )
    # An objective of that name comes before the elapsed time.
    timed = options.objective == "time" and "time" not in names
    values = _elapsed(columns) if timed else _costs(columns["cost"], options.objective, names)
    statuses = _stopped(_statuses(columns["status"]), columns, scenario, notes)
    ended = statuses != NO_STATUS
    keep = ended & _at_budget(columns["budget"], ended, options.fidelity, notes)
    runs = _runs(columns, notes).filter(pl.Series(keep))
    if runs.height == 0:
        raise InputError(f"expected finished trials in {HISTORY}, got none among {keep.size:,}.")
    # Running times of the trial, stopped by its limit, or of the solver, by SMAC's capping.
    cutoff = _limit(scenario, "trial_walltime_limit" if timed else "runtime_cutoff")
    if not timed and (cutoff is not None or scenario.get("adaptive_capping") is True):
        values, statuses = _capped(values, statuses, columns, scenario, notes)
    par = _limit(scenario, "par")
    charged = charge(values[keep], statuses[keep], options, cutoff=cutoff, par=par)
    origins = _entries(history.get("config_origins"), str)
    parameters: dict[str, dict[str, Scalar]] = _entries(history.get("configs"), dict)
    left_out = {
        "still running": int((~ended).sum()),
        "at another budget": int((ended & ~keep).sum()),
        "no cost": int(np.isnan(charged.costs).sum()),
    }
    by_configuration = runs.with_columns(cost=charged.costs).group_by(
        pl.col("configuration").cast(pl.String)
    )
    means = dict(by_configuration.agg(pl.col("cost").mean()).iter_rows())
    trajectory = _trajectory(folder, scenario, origins, parameters, means)
    front = trajectory.steps[-1].configurations if trajectory.steps else ()
    if len(front) > 1:
        notes.append(
            f"SMAC3 kept {len(front):,} incumbents, which trade its objectives against each other: "
            "the one with the lowest mean cost is taken for its winner."
        )
    return Import(
        kind="smac",
        matrix=matrix_of(runs, charged),
        trajectory=replace(trajectory, unfinished=not ended.all()),
        parameters=parameters,
        origins=origins,
        left_out=left_out,
        notes=(*notes, *charged.notes),
    )


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

    history = _decoded(path.read_bytes(), path.name, keep)
    rows = history.get("data") if isinstance(history, dict) else None
    if not isinstance(rows, list) or not isinstance(history.get("configs"), dict):
        raise InputError(
            f"expected the run history of SMAC3 2.x with 'data' and 'configs' in {path.name}."
        )
    if rows and isinstance(rows[0], list):
        old = len(rows[0]) == 2 and all(isinstance(part, list) for part in rows[0])
        return history, _from_pairs(rows) if old else _from_lists(rows)
    # A row's place stands where the row was. Anything else with these fields was not a row.
    places = np.fromiter(
        (row if type(row) is Place else -1 for row in rows), dtype=np.int64, count=len(rows)
    )
    if (places < 0).any():
        number = int(np.flatnonzero(places < 0)[0])
        raise InputError(
            f"expected a trial with config_id and cost in row {number} of {path.name}."
        )
    if places.size != len(first):
        columns = {name: [column[place] for place in places] for name, column in columns.items()}
    history["data"] = []
    return history, columns


def _from_pairs(rows: Sequence[Any]) -> Columns:
    """Rows of SMAC3 1.x."""
    # What was run, [config_id, instance, seed, budget], and what came out, [cost, time, status,
    # starttime, endtime, additional_info]; versions before have neither budget nor times.
    columns: Columns = {name: [] for name in FIELDS}
    for number, row in enumerate(rows):
        pair = row if isinstance(row, list) and len(row) == 2 else ((), ())
        key, value = pair
        if not (isinstance(key, list) and isinstance(value, list) and len(key) >= 3 <= len(value)):
            raise InputError(f"expected a trial of SMAC3 1.x in row {number} of {HISTORY}.")
        word = value[2].get("__enum__") if isinstance(value[2], dict) else None
        status = STATUSES_1.get(str(word).removeprefix("StatusType."))
        if status is None:
            raise InputError(f"expected a status in row {number} of {HISTORY}, got {word!r:.60}.")
        start, end = value[3:5] if len(value) >= 6 else (0.0, value[1])
        # A run that was capped ended at the time it was given.
        info = {"cutoff": value[1]} if word == "StatusType.CAPPED" else value[-1]
        budget = key[3] if len(key) > 3 and key[3] else None
        cells = (*key[:3], budget, value[0], status, start, end, info)
        for name, cell in zip(FIELDS, cells, strict=True):
            columns[name].append(cell)
    return columns


def _from_lists(rows: Sequence[Any]) -> Columns:
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) not in LIST_PLACES:
            size = f"{len(row)} fields" if isinstance(row, list) else type(row).__name__
            raise InputError(
                f"expected 10 or 11 fields in row {number} of {HISTORY}, as SMAC3 2.x writes them, "
                f"got {size}."
            )
    return {
        name: [row[LIST_PLACES[len(row)][place]] for row in rows]
        for place, name in enumerate(FIELDS)
    }


def _plain(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object as it is."""
    # A function of Python, so that others have a turn while JSON is read.
    return dict(pairs)


def _decoded(content: bytes, name: str, hook: Any = _plain) -> Any:
    try:
        return json.loads(content, object_pairs_hook=hook)
    except RecursionError:
        raise InputError(f"expected JSON in {name}, got one that is nested too deeply.") from None
    except ValueError as error:
        raise InputError(
            f"expected JSON in {name}, and it cannot be read ({str(error).splitlines()[0]:.100})."
        ) from error


def _beside(path: Path) -> Mapping[str, Any]:
    """A file that may be absent, then empty."""
    content = _decoded(path.read_bytes(), path.name) if path.is_file() else {}
    if not isinstance(content, dict):
        raise InputError(f"expected an object in {path.name}, got {type(content).__name__}.")
    return content


def _scenario(folder: Path) -> Mapping[str, Any]:
    """The scenario, by the names of SMAC3 2.x."""
    # 1.x wrote lines `name = value`.
    path = folder / "scenario.txt"
    if (folder / "scenario.json").is_file() or not path.is_file():
        return _beside(folder / "scenario.json")
    lines = (line.partition("=") for line in path.read_text(errors="replace").splitlines())
    options = {name.strip(): value.strip() for name, _, value in lines}
    scenario: dict[str, Any] = {"_meta": {"version": "1"}}
    cutoff = number_or_nan(options.get("cutoff_time", options.get("cutoff")))
    if options.get("run_obj") == "runtime" and cutoff > 0:
        scenario |= {"runtime_cutoff": cutoff, "par": number_or_nan(options.get("par_factor"))}
    return scenario


def _costs(column: list[Any], objective: str | None, names: list[str]) -> FloatArray:
    kinds = set(map(type, column))
    if list in kinds:
        widths = {len(cost) for cost in column if type(cost) is list}
        if kinds != {list} or len(widths) != 1:
            raise InputError(
                "expected as many costs in every trial as in the first, got different numbers of "
                "them."
            )
        place = _place(objective, names, widths.pop())
        column = [cost[place] for cost in column]
    elif objective is not None and objective not in (*names, "0", "cost"):
        raise InputError(
            f"expected the objective {names[0] if names else 'cost'!r} or 'time', got "
            f"{objective!r}."
        )
    return _numbers(column, "costs")


def _place(objective: str | None, names: list[str], width: int) -> int:
    names = names if len(names) == width else [str(place) for place in range(width)]
    if objective in names:
        return names.index(objective)
    if objective is not None and objective.isdecimal() and int(objective) < width:
        return int(objective)
    came = "none was named" if objective is None else f"got {objective!r}"
    raise InputError(
        f"expected one of the objectives {', '.join(names):.200}, since trials have {width} costs, "
        f"and {came}: name it with `objective`."
    )


def _elapsed(columns: Columns) -> FloatArray:
    """Seconds from start to end."""
    # The field `time` is 0 for a trial that timed out.
    start, end = (_numbers(columns[name], name) for name in ("starttime", "endtime"))
    return end - start


def _numbers(column: list[Any], name: str) -> FloatArray:
    if not set(map(type, column)) <= {int, float, type(None)}:
        wrong = next(value for value in column if type(value) not in (int, float, type(None)))
        raise InputError(f"expected numbers as {name} in {HISTORY}, got {wrong!r:.60}.")
    try:
        return np.array(column, dtype=np.float64)
    except OverflowError:
        raise InputError(
            f"expected numbers as {name} in {HISTORY}, got one beyond the range of a double."
        ) from None


def _statuses(column: list[Any]) -> NDArray[np.int8]:
    for word in set(column) if set(map(type, column)) <= {int} else column:
        if type(word) is not int or not 0 <= word < len(STATUSES):
            got = word if type(word) is int else type(word).__name__
            raise InputError(f"expected status numbers from 0 to 4 in {HISTORY}, got {got}.")
    return np.array(STATUSES, dtype=np.int8)[np.array(column, dtype=np.int64)]


def _stopped(
    statuses: NDArray[np.int8], columns: Columns, scenario: Mapping[str, Any], notes: list[str]
) -> NDArray[np.int8]:
    # With an infinite crash cost SMAC calls a trial crashed that it stopped at its limit; how long
    # it took tells.
    limit = _limit(scenario, "trial_walltime_limit")
    if limit is None:
        return statuses
    stopped = (statuses == Status.CRASHED) & (_elapsed(columns) >= limit)
    if number := int(stopped.sum()):
        timeouts = "it is a timeout" if number == 1 else "they are timeouts"
        notes.append(
            f"{counted(number, 'trial')} called crashed had reached the limit of {limit:g} s: "
            f"{timeouts}."
        )
    return np.where(stopped, np.int8(Status.TIMEOUT), statuses)


def _capped(
    values: FloatArray,
    statuses: NDArray[np.int8],
    columns: Columns,
    scenario: Mapping[str, Any],
    notes: list[str],
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
        notes.append(
            "SMAC capped trials of this search and does not log where: of "
            f"{counted(silent, 'trial')} called solved some may have been stopped early, and cost "
            "more than they have here. The target can say so with the status TIMEOUT, or return "
            "its cutoff as additional information."
        )
    return np.where(at_cap, caps, values), np.where(stopped, np.int8(Status.CENSORED), statuses)


def _at_budget(
    column: list[Any], ended: BoolArray, wanted: float | None, notes: list[str]
) -> BoolArray:
    """Which trials have the budget that is wanted, else the largest."""
    budgets = _numbers(column, "budget")
    used = np.unique(budgets[ended & ~np.isnan(budgets)])
    if used.size == 0:
        if wanted is not None:
            raise InputError(f"expected no budget, since the trials have none, got {wanted:g}.")
        return np.ones(budgets.size, dtype=np.bool_)
    budget = used[-1] if wanted is None else wanted
    if budget not in used:
        choices = ", ".join(f"{choice:g}" for choice in used[:20])
        raise InputError(f"expected one of the budgets {choices}, got {budget:g}.")
    at_budget: BoolArray = budgets == budget
    if (ended & ~at_budget).any():
        notes.append(
            f"Runs at the budget {budget:g} are kept, of {used.size} budgets; "
            "`fidelity` takes another."
        )
    return at_budget


def _runs(columns: Columns, notes: list[str]) -> pl.DataFrame:
    none = type(None)
    for name, kinds in (("config_id", {int}), ("instance", {str, none}), ("seed", {int, none})):
        if wrong := {kind.__name__ for kind in set(map(type, columns[name])) - kinds}:
            what = "text" if str in kinds else "whole numbers"
            raise InputError(f"expected {what} as {name} in {HISTORY}, got {min(wrong)}.")
    try:
        runs = pl.DataFrame(
            {
                "configuration": pl.Series(columns["config_id"], dtype=pl.Int64),
                "instance": pl.Series(columns["instance"], dtype=pl.String),
                "seed": pl.Series(columns["seed"], dtype=pl.Int64),
            }
        )
    except (OverflowError, TypeError, pl.exceptions.PolarsError, UnicodeEncodeError) as error:
        raise InputError(
            f"expected 64-bit numbers and text in {HISTORY}, and they cannot be read "
            f"({error!r:.80})."
        ) from error
    if runs["instance"].null_count():
        notes.append("Trials have no instance: nothing here speaks of other instances.")
        runs = runs.with_columns(pl.col("instance").fill_null(NO_INSTANCE))
    # Deterministic targets have no seeds; one without beside others is seed 0.
    seedless = runs["seed"].null_count()
    if seedless == runs.height:
        return runs.drop("seed")
    return runs.with_columns(pl.col("seed").fill_null(0)) if seedless else runs


def _limit(scenario: Mapping[str, Any], name: str) -> float | None:
    limit = number_or_nan(scenario.get(name)) if type(scenario.get(name)) is not str else np.nan
    return limit if 0 < limit < np.inf else None


def _trajectory(
    folder: Path,
    scenario: Mapping[str, Any],
    origins: Mapping[str, str],
    parameters: Mapping[str, Mapping[str, Scalar]],
    means: Mapping[str, float],
) -> Trajectory:
    """Incumbents, and where configurations come from; `means` are costs in the objective that was
    asked for.
    """

    def best_first(numbers: Any) -> tuple[str, ...]:
        # Of several objectives, SMAC's incumbents are a front in no particular order.
        return tuple(sorted(map(str, _list(numbers)), key=lambda name: means.get(name, np.inf)))

    meta = scenario.get("_meta")
    version = meta.get("version") if isinstance(meta, dict) else None
    intensifier = _beside(folder / "intensifier.json")
    items = _list(intensifier.get("trajectory")) or _old_trajectory(folder, parameters)
    steps = []
    for item in items:
        if isinstance(item, dict):
            trial = item.get("trial")
            runs = trial if type(trial) is int and trial >= 0 else None
            steps.append(Step(runs, best_first(item.get("config_ids"))))
    incumbents = best_first(intensifier.get("incumbent_ids"))
    if not intensifier and steps:
        incumbents = steps[-1].configurations
    words = [origins.get(name, "").lower() for name in parameters]
    # Origins decide what may be certified: in doubt, costs had a part.
    blind = bool(words) and all(word.startswith(BLIND) and SORTED not in word for word in words)
    return Trajectory(
        tool=f"SMAC3 {version}" if isinstance(version, str) else "SMAC3",
        proposed="beforehand" if blind else "adaptively",
        raced=True,
        default=_default(folder, origins, parameters),
        incumbent=incumbents[0] if incumbents else None,
        steps=tuple(steps),
    )


def _old_trajectory(
    folder: Path, parameters: Mapping[str, Mapping[str, Scalar]]
) -> list[dict[str, Any]]:
    """The incumbents of SMAC3 1.x, in the form of 2.x."""
    # traj.json has a line for each, with its values and not its number.
    path, items = folder / "traj.json", []
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        entry = _decoded(line, path.name)
        if isinstance(entry, dict) and entry.get("evaluations"):
            numbers = [name for name, v in parameters.items() if v == entry.get("incumbent")]
            items += [{"trial": entry["evaluations"], "config_ids": numbers[:1]}] if numbers else []
    return items


def _default(
    folder: Path, origins: Mapping[str, str], parameters: Mapping[str, Mapping[str, Scalar]]
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
        for entry in _list(_beside(folder / "configspace.json").get("hyperparameters"))
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


IMPORTER = Importer(name="smac", title="SMAC3 (runhistory.json)", recognise=_recognise, read=_read)
