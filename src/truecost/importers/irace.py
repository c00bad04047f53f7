"""irace 2.x to 4.x: the log file irace.Rdata.

A row of irace's table of experiments is a pair of instance and seed, not an instance: the list of
pairs says which. Configurations are named by their number. Pairs stand in line: run r on an
instance has one seed for all configurations.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError, prefixed
from truecost.importers import rdata
from truecost.importers.packed import content_of
from truecost.importers.rdata import NA_INTEGER, NUMBERS, RValue
from truecost.importers.recorded import Recorded, log_of
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log, Step
from truecost.matrix.reading import Reading
from truecost.runs import NO_STATUS, Caveat, Status

VARIABLE = "iraceResults"
EMPTY = (
    "The log of irace has no runs. irace writes them when its first iteration ends: wait for that."
)
DAMAGED = "The log is damaged, or no log of irace."
# What irace's state says of a search that was stopped.
INCOMPLETE = "Incomplete"
TOO_LITTLE = "Not enough budget"
MOSTLY = 0.75
# From here on, a multiple of the bound as a cost is a penalty that the target runner charges.
LEAST_PENALTY = 1.5


def read_variables(path: Path) -> RValue:
    """The list that irace keeps in its log file."""
    log = rdata.read(content_of(path)).get(VARIABLE)
    if log is None or log.kind != "list":
        raise InputError(f"It has no variable {VARIABLE}. Give the log file of irace.")
    return log


def read(path: Path, reading: Reading) -> Log:
    """The runs in a log of irace."""
    log = read_variables(path)
    scenario = _need(log, "scenario", ("list",))
    experiments = _need(log, "experiments", ("double", "integer", "logical"))
    if len(experiments) == 0:
        raise InputError(EMPTY)
    rows, columns, costs = _table(experiments, "experiments")
    instance, seed = _pairs(log, rows)
    instance_names = _instance_names(scenario, int(instance.max(initial=0)))
    bound = scenario.number("boundMax") if scenario.number("capping") == 1 else None
    mask = ~np.isnan(costs)
    pair, configuration = np.nonzero(mask)
    if pair.size == 0:
        raise InputError(EMPTY)
    labels = [instance_names[number - 1] for number in instance]
    values, statuses = costs[mask], _statuses(costs[mask], bound)
    if bound is not None:
        # Runs that were stopped at a cap cost the cap at least, whatever irace charges them
        # (boundAsTimeout).
        caps = _caps(log, rows, columns, bound)[mask]
        capped = ~np.isnan(caps) & (statuses != Status.CRASHED)
        values = np.where(capped, caps, values)
        statuses = np.where(capped, np.int8(Status.CENSORED), statuses)
    par, caveats = _penalty(scenario, costs[mask], bound)
    names = [columns[place] for place in configuration.tolist()]
    runs = Recorded(
        configurations=names,
        instances=[labels[place] for place in pair.tolist()],
        values=values,
        statuses=statuses,
        runs=_places(labels)[pair],
        seeds=seed[pair],
        cutoff=bound,
        par=par,
    )
    configurations = log.get("allConfigurations")
    initial = _initial(configurations)
    # Before its second iteration irace has drawn nothing from costs: it raced a list.
    blind = all(initial.get(name, False) for name in names)
    # The first that irace was given to begin with: what was there before it searched.
    # They are in a file, or in a data frame where irace was called from R.
    given = any(scenario.texts("configurationsFile")) or len(scenario.get("initConfigurations"))
    version = log.text("irace_version") or log.text("irace.version")
    steps, incumbent = _elites(log)
    return log_of(
        runs,
        reading,
        caveats=[*_stopped(log, pair.size), *caveats],
        test=_test(log, reading, bound, par),
        tool=f"irace {version}".strip(),
        default="1" if given and "1" in names else None,
        incumbent=incumbent,
        steps=steps,
        parameters=_parameters(configurations),
        adaptive=not blind,
        listed=len(initial) if blind else None,
    )


def _need(log: RValue, name: str, kinds: tuple[str, ...]) -> RValue:
    value = log.get(name)
    if value.kind not in kinds:
        what = "is missing" if value.kind == "null" else f"is a {value.kind}, not a {kinds[0]}"
        raise InputError(f"{name!r} {what}. {DAMAGED}")
    return value


def _table(matrix: RValue, what: str) -> tuple[list[str], list[str], FloatArray]:
    """Names of rows and columns, and the numbers of an R matrix."""
    dim = matrix.attributes.get("dim", rdata.NULL)
    sizes = tuple(int(size) for size in dim.values) if dim.kind == "integer" else ()
    if len(sizes) != 2 or min(sizes) < 0 or sizes[0] * sizes[1] != len(matrix):
        raise InputError(f"{what!r} has {len(matrix)} numbers in the shape {sizes}. {DAMAGED}")
    names = matrix.attributes.get("dimnames", rdata.NULL)
    labels = [part.texts() for part in names.values] if names.kind == "list" else []
    if [len(part) for part in labels] != list(sizes) or any(None in part for part in labels):
        raise InputError(f"{what!r} lacks names of its rows and columns. {DAMAGED}")
    values = matrix.values.astype(np.float64)
    if matrix.kind != "double":
        values[matrix.values == NA_INTEGER] = np.nan
    rows, columns = ([str(name) for name in part] for part in labels)
    return rows, columns, values.reshape(sizes, order="F")


def _pairs(log: RValue, rows: list[str]) -> tuple[IntArray, IntArray]:
    """Instance number and seed of each row of the experiments, by the row's name."""
    pairs = log.get("state", "instances_log")
    if pairs.kind != "list":
        pairs = log.get("state", ".irace", "instancesList")
    if pairs.kind != "list":
        raise InputError(f"The list of pairs of instance and seed is missing. {DAMAGED}")
    instance = _whole(pairs.get("instanceID") or pairs.get("instance"), "instances of the pairs")
    seeds = pairs.get("seed")
    seed = np.zeros_like(instance)
    if seeds.kind != "null":
        seed = _whole(seeds, "seeds of the pairs")
    try:
        place = np.array([int(row) for row in rows], dtype=np.int64) - 1
    except (ValueError, OverflowError):
        raise InputError(f"The rows of 'experiments' have no numbers. {DAMAGED}") from None
    fits = seed.size == instance.size and (instance >= 1).all()
    if not fits or (place < 0).any() or (place >= instance.size).any():
        raise InputError(
            f"'experiments' has {len(rows)} rows, and there are {instance.size} pairs of instance "
            f"and seed. {DAMAGED}"
        )
    # A deterministic scenario has no seeds: NA.
    seed = np.where(seed == NA_INTEGER, 0, seed)
    return instance[place], seed[place]


def _whole(vector: RValue, what: str) -> IntArray:
    values = vector.values.astype(np.float64) if vector.kind in NUMBERS else np.array([np.nan])
    if not ((np.abs(values) <= 2**53) & (values == np.floor(values))).all():
        raise InputError(f"The {what} are no whole numbers. {DAMAGED}")
    return np.asarray(values.astype(np.int64))


def _stopped(log: RValue, used: int) -> list[Caveat]:
    """A caveat on a search that did not use up its budget."""
    reason = log.text("state", "completed")
    if reason == INCOMPLETE:
        return [
            Caveat(
                "unfinished",
                "irace had not finished when it wrote this log: runs after its last whole "
                "iteration are missing.",
            )
        ]
    # Every search ends with too little budget: it matters where much of the budget is left.
    budget, spent = log.number("scenario", "maxExperiments"), float(used)
    if not budget:
        budget, spent = log.number("scenario", "maxTime"), log.number("state", "timeUsed") or 0.0
    if reason.startswith(TOO_LITTLE) and (budget is None or spent < MOSTLY * budget):
        sentence = f"irace stopped before it had used up its budget: {reason.rstrip('.')}."
        return [Caveat("unfinished", sentence)]
    return []


def _instance_names(scenario: RValue, most: int) -> list[str]:
    """Names of the instances, irace's numbers where there are none."""
    # One that is listed twice is one instance.
    names = _texts(scenario.get("instances"))
    if len(names) >= most and all(names):
        return names
    # Numbers instead of some names would mix up instances.
    if names and len(names) < most:
        raise InputError(f"Pairs use {most} instances, and {len(names)} are listed. {DAMAGED}")
    # Pairs are at most as many as values were read, so this stays small.
    if most > rdata.MOST_VALUES:
        raise InputError(f"Instances are numbered up to {most:,}. {DAMAGED}")
    return [str(number + 1) for number in range(most)]


def _texts(instances: RValue) -> list[str]:
    """Instances as irace passes them to a program: numbers as text; empty for what has none."""
    return [
        "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)
        for value in instances.scalars()
    ]


def _places(labels: Sequence[str]) -> IntArray:
    """Which pair of its instance each pair is, by the instances' names."""
    seen: dict[str, int] = {}
    places = np.empty(len(labels), dtype=np.int64)
    for row, label in enumerate(labels):
        places[row] = seen.get(label, 0)
        seen[label] = seen.get(label, 0) + 1
    return places


def _statuses(values: FloatArray, bound: float | None) -> NDArray[np.int8]:
    # Infinite costs are runs that irace rejects; with capping, a cost of the bound or more is a
    # timeout.
    statuses = np.full(values.size, NO_STATUS, dtype=np.int8)
    if bound is not None:
        statuses[:] = np.where(values >= bound, Status.TIMEOUT, Status.SOLVED)
    statuses[np.isinf(values)] = Status.CRASHED
    return statuses


def _penalty(
    scenario: RValue, values: FloatArray, bound: float | None
) -> tuple[float | None, list[Caveat]]:
    """What a timeout costs, in bounds: irace's boundPar, or what the runner itself prints."""
    par = scenario.number("boundPar")
    if bound is None or par not in (None, 1.0):
        return par, []
    # A little more than the bound is a run that overran it, not a penalty.
    late = values[np.isfinite(values) & (values >= LEAST_PENALTY * bound)]
    # Different values are times; a penalty is always the same.
    if late.size == 0 or late.min() != late.max():
        return par, []
    factor = float(late[0]) / bound
    sentence = f"The target runner prints {late[0]:g} for a timeout: costs are PAR{factor:g}."
    return factor, [Caveat("par", sentence)]


def _caps(log: RValue, rows: list[str], columns: list[str], bound: float) -> FloatArray:
    """The bound below `bound`, irace's boundMax, at which each experiment was stopped, NaN for
    others: rows × columns.
    """
    caps = np.full((len(rows), len(columns)), np.nan)
    history = _history(log)
    names = ("instance", "configuration", "time", "bound")
    if not set(names) <= set(history):
        return caps
    row_of, column_of = ({name: i for i, name in enumerate(part)} for part in (rows, columns))
    # An experiment that was made again counts as it was made last.
    for pair, number, time, cap in zip(*(history[name] for name in names), strict=True):
        row, column = row_of.get(f"{pair:.0f}"), column_of.get(f"{number:.0f}")
        if row is not None and column is not None:
            caps[row, column] = cap if time >= cap and 0 <= cap < bound else np.nan
    return caps


def _history(log: RValue) -> dict[str, FloatArray]:
    """The columns of irace's log of experiments."""
    # A data frame from 4.0 on, a matrix before.
    history = log.get("state", "experiment_log") or log.get("experimentLog")
    if history.kind in NUMBERS:
        names = history.attributes.get("dimnames", rdata.NULL)
        labels = names.values[-1].texts() if names.kind == "list" and len(names) else []
        if not labels or len(history) % len(labels):
            return {}
        columns = history.values.astype(np.float64).reshape(len(labels), -1)
        return {str(label): column for label, column in zip(labels, columns, strict=True)}
    frame = zip(history.names, history.values, strict=False) if history.kind == "list" else ()
    numbers = {
        name: column.values.astype(np.float64) for name, column in frame if column.kind in NUMBERS
    }
    return numbers if len({column.size for column in numbers.values()}) == 1 else {}


def _test(
    log: RValue, reading: Reading, bound: float | None, par: float | None
) -> CostMatrix | None:
    """The runs on test instances, one each."""
    experiments = log.get("testing", "experiments")
    if experiments.kind not in NUMBERS or len(experiments) == 0:
        return None
    with prefixed("test results"):
        rows, columns, table = _table(experiments, "testing experiments")
        names = _texts(log.get("scenario", "testInstances"))
        # Rows are numbered "1t", "2t", … in the order of the test instances.
        if len(names) != len(rows) or not all(names):
            names = rows
        mask = ~np.isnan(table)
        if not mask.any():
            return None
        instance, configuration = np.nonzero(mask)
        seeds = log.get("testing", "seeds")
        seed = None
        if seeds.kind in NUMBERS and len(seeds) == len(rows):
            seed = _whole(seeds, "seeds of the test instances")[instance]
        values = table[mask]
        runs = Recorded(
            configurations=[columns[place] for place in configuration.tolist()],
            instances=[names[place] for place in instance.tolist()],
            values=values,
            statuses=_statuses(values, bound),
            runs=_places(names)[instance],
            seeds=seed,
            cutoff=bound,
            par=par,
        )
        return log_of(runs, reading).runs


def _elites(log: RValue) -> tuple[tuple[Step, ...], str | None]:
    """The best configuration at the end of each iteration, and of the search."""
    elites = log.get("allElites")
    parts = elites.values if elites.kind == "list" else ()
    # How many runs were finished at the end of each iteration, where the log counts them.
    ends = _history(log).get("iteration")
    steps = []
    for iteration, part in enumerate((part for part in parts if part.kind in NUMBERS), 1):
        numbers = _whole(part, "elites")
        if numbers.size:
            runs = None if ends is None else int((ends <= iteration).sum())
            steps.append(Step(runs, str(numbers[0])))
    last = log.get("iterationElites")
    best = _whole(last, "elites of the iterations") if last.kind in NUMBERS else np.empty(0)
    if best.size:
        return tuple(steps), str(best[-1])
    return tuple(steps), steps[-1].configuration if steps else None


def _parameters(frame: RValue) -> dict[str, dict[str, Any]]:
    """Values of the parameters that are active, by the configuration's number."""
    if frame.kind != "list":
        return {}
    numbers = _whole(frame.get(".ID."), "numbers of the configurations").tolist()
    columns = {
        name: column.scalars()
        for name, column in zip(frame.names, frame.values, strict=False)
        if not name.startswith(".") and len(column) == len(numbers)
    }
    return {
        str(number): {
            name: values[place] for name, values in columns.items() if values[place] is not None
        }
        for place, number in enumerate(numbers)
    }


def _initial(frame: RValue) -> dict[str, bool]:
    """Which configurations were there before the search; the others were drawn around a parent."""
    parents = frame.get(".PARENT.")
    if parents.kind not in (*NUMBERS, "logical"):
        return {}
    numbers = _whole(frame.get(".ID."), "numbers of the configurations").tolist()
    if len(parents) != len(numbers):
        return {}
    return {
        str(number): parent in (NA_INTEGER, 0) or parent != parent
        for number, parent in zip(numbers, parents.values.tolist(), strict=True)
    }
