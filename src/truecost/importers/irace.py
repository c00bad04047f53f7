"""irace 2.x to 4.x: the log file irace.Rdata.

A row of irace's table of experiments is a pair of instance and seed, not an instance: the list of
pairs says which. Configurations are named by their number. Pairs stand in line: run r on an
instance has one seed for all configurations.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError, prefixed
from truecost.importers import rdata
from truecost.importers.packed import content_of
from truecost.importers.rdata import Matrix, get, number, numbers, text, texts, vector
from truecost.importers.recorded import distinct, log_of, ranks
from truecost.matrix.log import Log, Step
from truecost.matrix.reading import Reading
from truecost.runs import NO_STATUS, Caveat, Status

VARIABLE = "iraceResults"
EMPTY = (
    "The log of irace has no runs. irace writes them when its first iteration ends: wait for that."
)
DAMAGED = "The log is damaged, or no log of irace."
# From here on, a multiple of the bound as a cost is a penalty that the target runner charges.
LEAST_PENALTY = 1.5

# Instance and seed of each row of the experiments, by the name of the row.
Pairs = Mapping[str, tuple[str, int | None]]
# The names of a row and a column of the experiments.
Cell = tuple[str, str]


def read_variables(path: Path) -> dict[str, Any]:
    """What irace keeps in its log file."""
    log = get(rdata.read(content_of(path)), VARIABLE)
    if not isinstance(log, dict):
        raise InputError(f"It has no variable {VARIABLE}. Give the log file of irace.")
    return log


def bound_of(scenario: dict[str, Any]) -> float | None:
    """The time at which irace stops every run, where it caps runs."""
    return number(scenario, "boundMax") if number(scenario, "capping") == 1 else None


def by_hand(scenario: Any) -> str:
    """Why nobody but irace can run the target as this log describes it; empty where others can."""
    evaluator, instances = scenario.get("targetEvaluator"), scenario.get("instances")
    if evaluator is not None and evaluator != [""]:
        return "Its costs come from a targetEvaluator."
    if number(scenario, "aclib") == 1:
        return 'Its target runner is one of AClib: kind = "wrapper".'
    names = instances if isinstance(instances, list) else [instances]
    if instances is not None and not all(isinstance(name, str | int | float) for name in names):
        return "Its instances are objects of R."
    if not text(scenario, "targetRunner"):
        return "Its target runner is a function of R, not a program."
    return ""


def read(path: Path, reading: Reading) -> Log:
    """The runs in a log of irace."""
    log = read_variables(path)
    scenario, costs = log.get("scenario"), numbers(log, "experiments")
    if not isinstance(scenario, dict) or costs is None:
        raise InputError(f"'scenario' or 'experiments' is missing. {DAMAGED}")
    if np.isnan(costs).all():
        raise InputError(EMPTY)
    bound = bound_of(scenario)
    runs = _runs(log["experiments"], _pairs(log), _caps(log, bound), bound)
    par, caveats = _penalty(scenario, runs, bound)
    if text(log, "state", "completed") == "Incomplete":
        sentence = (
            "irace had not finished when it wrote this log: runs after its last whole iteration "
            "are missing."
        )
        caveats.append(Caveat("unfinished", sentence))
    if reason := by_hand(scenario):
        caveats.append(Caveat("by-hand", f"{reason} To validate, write the scenario by hand."))
    parameters, initial = _configurations(log)
    raced = set(runs["configurations"])
    # Before its second iteration irace has drawn nothing from costs: it raced a list.
    blind = raced <= initial
    # The first that irace was given to begin with: what was there before it searched. They are in a
    # file, or in a data frame where irace was called from R.
    given = any(texts(scenario, "configurationsFile")) or scenario.get("initConfigurations")
    version = text(log, "irace_version") or text(log, "irace.version")
    steps, incumbent = _elites(log)
    with prefixed("test results"):
        tested = _test(log, bound)
        test = None if tested is None else log_of(reading, **tested, par=par).runs
    return log_of(
        reading,
        **runs,
        par=par,
        caveats=caveats,
        test=test,
        tool=f"irace {version}".strip(),
        default="1" if given and "1" in raced else None,
        incumbent=incumbent,
        steps=steps,
        parameters=parameters,
        adaptive=not blind,
        listed=len(initial) if blind else None,
    )


def _runs(
    matrix: Any, pairs: Pairs, caps: Mapping[Cell, float], bound: float | None
) -> dict[str, Any]:
    """The runs of a matrix with a row for each pair and a column for each configuration."""
    costs = numbers(matrix)
    if not isinstance(matrix, Matrix) or costs is None:
        raise InputError(f"The costs are no matrix with names of its rows and columns. {DAMAGED}")
    rows, columns = texts(matrix.rows), texts(matrix.columns)
    if costs.size != len(rows) * len(columns):
        raise InputError(f"There are {costs.size:,} costs and not as many names. {DAMAGED}")
    if unknown := [row for row in rows if row not in pairs]:
        raise InputError(f"The row {unknown[0]!r:.40} is no pair of instance and seed. {DAMAGED}")
    costs = costs.reshape(len(rows), len(columns), order="F")
    row, column = np.nonzero(~np.isnan(costs))
    values = costs[row, column]
    # Infinite costs are runs that irace rejects; with capping, a cost of the bound or more is a
    # timeout.
    statuses = np.full(values.size, NO_STATUS, dtype=np.int8)
    if bound is not None:
        statuses[:] = np.where(values >= bound, Status.TIMEOUT, Status.SOLVED)
    statuses[np.isinf(values)] = Status.CRASHED
    # Runs that were stopped at a cap cost the cap at least, whatever irace charges them
    # (boundAsTimeout).
    cells = zip(row.tolist(), column.tolist(), strict=True)
    stopped = np.array([caps.get((rows[i], columns[j]), np.nan) for i, j in cells])
    capped = ~np.isnan(stopped) & (statuses != Status.CRASHED)
    statuses = np.where(capped, np.int8(Status.CENSORED), statuses)
    _, codes = distinct([pairs[name][0] for name in rows])
    seeds = [pairs[name][1] for name in rows]
    return {
        "configurations": [columns[j] for j in column.tolist()],
        "instances": [pairs[rows[i]][0] for i in row.tolist()],
        "values": np.where(capped, stopped, values),
        "statuses": statuses,
        "runs": ranks(codes, np.arange(codes.size))[row],
        "seeds": None if None in seeds else np.array(seeds, dtype=np.int64)[row],
        "cutoff": bound,
    }


def _pairs(log: dict[str, Any]) -> Pairs:
    """Instance and seed of each pair, by its number."""
    pairs = get(log, "state", "instances_log") or get(log, "state", ".irace", "instancesList")
    if not isinstance(pairs, dict):
        raise InputError(f"The list of pairs of instance and seed is missing. {DAMAGED}")
    instances = _whole(pairs.get("instanceID") or pairs.get("instance"), "instances of the pairs")
    # A deterministic scenario has no seeds, or NA.
    seeds = _whole(pairs.get("seed") or [0] * len(instances), "seeds of the pairs", missing=0)
    names = _names(log, "instances")
    most = max(instances, default=0)
    # Numbers instead of some names would mix up instances.
    if len(seeds) != len(instances) or min(instances, default=1) < 1 or 0 < len(names) < most:
        raise InputError(
            f"{len(instances)} pairs of {most} instances have {len(seeds)} seeds, and {len(names)} "
            f"instances are listed. {DAMAGED}"
        )
    # irace's numbers where there are no names. One that is listed twice is one instance.
    labels = [names[number - 1] if names and all(names) else str(number) for number in instances]
    return {str(n): pair for n, pair in enumerate(zip(labels, seeds, strict=True), 1)}


def _test(log: dict[str, Any], bound: float | None) -> dict[str, Any] | None:
    """The runs on test instances, one each."""
    matrix = get(log, "testing", "experiments")
    costs = numbers(matrix)
    if costs is None or np.isnan(costs).all():
        return None
    # Rows are numbered "1t", "2t", … in the order of the test instances.
    rows = texts(matrix.rows) if isinstance(matrix, Matrix) else []
    names, seeds = _names(log, "testInstances"), vector(log, "testing", "seeds")
    if len(names) != len(rows) or not all(names):
        names = rows
    known = len(seeds) == len(rows)
    numbered = _whole(seeds, "seeds of the test instances") if known else [None] * len(rows)
    pairs = dict(zip(rows, zip(names, numbered, strict=True), strict=True))
    return _runs(matrix, pairs, {}, bound)


def _whole(value: Any, what: str, missing: float = np.nan) -> list[int]:
    """Whole numbers, `missing` for NA."""
    values = numbers(value)
    values = np.array([np.nan]) if values is None else np.where(np.isnan(values), missing, values)
    if not ((np.abs(values) <= 2**53) & (values == np.floor(values))).all():
        raise InputError(f"The {what} are no whole numbers. {DAMAGED}")
    return [int(number) for number in values.tolist()]


def _names(log: dict[str, Any], key: str) -> list[str]:
    """Instances as text, numbers with up to 15 digits; empty for what is neither."""
    instances = vector(log, "scenario", key)
    names = (f"{name:.15g}" if isinstance(name, float) else name for name in instances)
    return [str(name) if isinstance(name, str | int) else "" for name in names]


def _penalty(
    scenario: dict[str, Any], runs: Mapping[str, Any], bound: float | None
) -> tuple[float | None, list[Caveat]]:
    """What a timeout costs, in bounds: irace's boundPar, or what the runner itself prints."""
    par = number(scenario, "boundPar")
    if bound is None or par not in (None, 1.0):
        return par, []
    late = runs["values"][runs["statuses"] == Status.TIMEOUT]
    # A little more than the bound is a run that overran it, not a penalty.
    penalties = np.unique(late[late >= LEAST_PENALTY * bound])
    # Different values are times; a penalty is always the same.
    if penalties.size != 1:
        return par, []
    penalty = float(penalties[0])
    sentence = (
        f"The target runner prints {penalty:g} for a timeout: costs are PAR{penalty / bound:g}."
    )
    return penalty / bound, [Caveat("penalty", sentence)]


def _caps(log: dict[str, Any], bound: float | None) -> dict[Cell, float]:
    """The bound below `bound`, irace's boundMax, at which an experiment was stopped, by pair and
    configuration; NaN where one ended before its bound.
    """
    history = _history(log)
    names = ("instance", "configuration", "time", "bound")
    if bound is None or not set(names) <= set(history):
        return {}
    # An experiment that was made again counts as it was made last.
    return {
        (f"{pair:.0f}", f"{name:.0f}"): cap if time >= cap and 0 <= cap < bound else np.nan
        for pair, name, time, cap in zip(*(history[name] for name in names), strict=True)
    }


def _history(log: dict[str, Any]) -> dict[str, FloatArray]:
    """The columns of irace's log of experiments."""
    # A data frame from 4.0 on, a matrix before.
    history = get(log, "state", "experiment_log") or log.get("experimentLog")
    if isinstance(history, Matrix):
        names, values = texts(history.columns), numbers(history)
        if not names or values is None or values.size % len(names):
            return {}
        return dict(zip(names, values.reshape(len(names), -1), strict=True))
    frame = history if isinstance(history, dict) else {}
    pairs = ((name, numbers(column)) for name, column in frame.items())
    columns = {name: column for name, column in pairs if column is not None}
    return columns if len({column.size for column in columns.values()}) == 1 else {}


def _elites(log: dict[str, Any]) -> tuple[tuple[Step, ...], str | None]:
    """The best configuration at the end of each iteration, and of the search."""
    # How many runs were finished at the end of each iteration, where the log counts them.
    ends = _history(log).get("iteration")
    parts = [part for part in vector(log, "allElites") if numbers(part) is not None]
    steps = []
    for iteration, part in enumerate(parts, 1):
        if best := _whole(part, "elites"):
            runs = None if ends is None else int((ends <= iteration).sum())
            steps.append(Step(runs, str(best[0])))
    last = _whole(vector(log, "iterationElites"), "elites of the iterations")
    winner = str(last[-1]) if last else steps[-1].configuration if steps else None
    return tuple(steps), winner


def _configurations(log: dict[str, Any]) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """The values of each configuration's active parameters, and which configurations were there
    before the search; others were drawn around a parent.
    """
    frame = log.get("allConfigurations")
    if not isinstance(frame, dict):
        return {}, set()
    names = [str(number) for number in _whole(frame.get(".ID."), "numbers of the configurations")]
    columns = {
        name: column
        for name, column in frame.items()
        if isinstance(column, list) and len(column) == len(names)
    }
    parents = columns.get(".PARENT.", [])
    initial = {name for name, parent in zip(names, parents, strict=False) if not parent}
    parameters = {
        name: {
            key: column[place]
            for key, column in columns.items()
            if not key.startswith(".") and column[place] is not None
        }
        for place, name in enumerate(names)
    }
    return parameters, initial
