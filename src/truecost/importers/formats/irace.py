"""irace 2.x to 4.x: the log file irace.Rdata.

A row of irace's table of experiments is a pair of instance and seed, not an instance: the list of
pairs says which. Configurations are named by their number. Pairs stand in line: run r on an
instance has one seed for all configurations.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.importers import rdata
from truecost.importers.rdata import NA_INTEGER, NUMBERS, RValue
from truecost.importers.record import Charged, Options, charge, matrix_of
from truecost.importers.registry import Candidate, Importer
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import, Scalar
from truecost.runs import NO_STATUS, Status, Step, Trajectory

VARIABLE = "iraceResults"
EMPTY = (
    "expected runs in the log of irace, and it has none: irace writes them down when its first "
    "iteration ends."
)
# What irace's state says of a search that was stopped.
INCOMPLETE = "Incomplete"
TOO_LITTLE = "Not enough budget"
MOSTLY = 0.75
# The origin of a configuration that no cost had a part in.
INITIAL = "initial"
# From here on, a multiple of the bound as a cost is a penalty that the target runner charges.
LEAST_PENALTY = 1.5


def read_log(path: Path) -> RValue:
    """The list that irace keeps in its log file; a log that was just read is not read again."""
    state = path.stat()
    return _parsed(path.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _parsed(path: Path, _time: int, _size: int) -> RValue:
    with path.open("rb") as file:
        log = rdata.read(file).get(VARIABLE)
    if log is None or log.kind != "list":
        raise InputError(
            f"expected the log of irace, a workspace with the variable {VARIABLE}, and it has none."
        )
    return log


def _recognise(candidate: Candidate) -> bool:
    return candidate.content[:5] in rdata.MAGIC


def _read(path: Path, options: Options) -> Import:
    log = read_log(path)
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
    runs = pl.DataFrame(
        {
            "configuration": pl.Series(columns, dtype=pl.String).gather(configuration),
            "instance": pl.Series(labels, dtype=pl.String).gather(pair),
            "run": _places(labels)[pair],
            "seed": seed[pair],
        }
    )
    values, statuses = costs[mask], _statuses(costs[mask], bound)
    if bound is not None:
        # Runs that were stopped at a cap cost the cap at least, whatever irace charges them
        # (boundAsTimeout).
        caps = _caps(log, rows, columns, bound)[mask]
        capped = ~np.isnan(caps) & (statuses != Status.CRASHED)
        values = np.where(capped, caps, values)
        statuses = np.where(capped, np.int8(Status.CENSORED), statuses)
    par, notes = _penalty(scenario, costs[mask], bound)
    charged = charge(values, statuses, options, cutoff=bound, par=par)
    matrix = matrix_of(runs, charged)
    configurations = log.get("allConfigurations")
    origins = _origins(configurations)
    # Before its second iteration irace has drawn nothing from costs: it raced a list.
    blind = all(origins.get(name) == INITIAL for name in matrix.configurations)
    # The first that irace was given to begin with: what was there before it searched.
    # They are in a file, or in a data frame where irace was called from R.
    initial = any(scenario.texts("configurationsFile")) or len(scenario.get("initConfigurations"))
    has_default = bool(initial) and "1" in matrix.configurations
    table = log.get("parameters") or scenario.get("parameters")
    names, switches = ([str(text) for text in table.texts(key)] for key in ("names", "switches"))
    return Import(
        kind="irace",
        matrix=matrix,
        trajectory=_trajectory(log, "1" if has_default else None, blind=blind),
        parameters=_parameters(configurations),
        switches=dict(zip(names, switches, strict=True)) if len(names) == len(switches) else {},
        origins=origins,
        test=_test(log, options, charged, bound, par),
        notes=(*_stopped(log, pair.size), *notes, *charged.notes),
        obstacle=_obstacle(scenario),
    )


def _need(log: RValue, name: str, kinds: tuple[str, ...]) -> RValue:
    value = log.get(name)
    if value.kind not in kinds:
        got = "nothing" if value.kind == "null" else value.kind
        raise InputError(f"expected {name!r} in the log of irace to be {kinds[0]}, got {got}.")
    return value


def _table(matrix: RValue, what: str) -> tuple[list[str], list[str], FloatArray]:
    """Names of rows and columns, and the numbers of an R matrix."""
    dim = matrix.attributes.get("dim", rdata.NULL)
    sizes = tuple(int(size) for size in dim.values) if dim.kind == "integer" else ()
    if len(sizes) != 2 or min(sizes) < 0 or sizes[0] * sizes[1] != len(matrix):
        raise InputError(
            f"expected {what!r} in the log of irace to be a matrix, got {len(matrix)} numbers with "
            f"the sizes {sizes}."
        )
    names = matrix.attributes.get("dimnames", rdata.NULL)
    labels = [part.texts() for part in names.values] if names.kind == "list" else []
    if [len(part) for part in labels] != list(sizes) or any(None in part for part in labels):
        raise InputError(
            f"expected {what!r} in the log of irace to have names of rows and columns, and some "
            "are missing."
        )
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
        raise InputError(
            "expected the list of pairs of instance and seed in the log of irace, and it is not "
            "there."
        )
    instance = _whole(pairs.get("instanceID") or pairs.get("instance"), "instances of the pairs")
    seeds = pairs.get("seed")
    seed = np.zeros_like(instance)
    if seeds.kind != "null":
        seed = _whole(seeds, "seeds of the pairs")
    try:
        place = np.array([int(row) for row in rows], dtype=np.int64) - 1
    except (ValueError, OverflowError):
        raise InputError(
            "expected the rows of irace's experiments to be numbered, and they are not."
        ) from None
    fits = seed.size == instance.size and (instance >= 1).all()
    if not fits or (place < 0).any() or (place >= instance.size).any():
        raise InputError(
            f"expected a pair for each of {len(rows)} rows of irace's experiments, got "
            f"{instance.size} pairs."
        )
    # A deterministic scenario has no seeds: NA.
    seed = np.where(seed == NA_INTEGER, 0, seed)
    return instance[place], seed[place]


def _whole(vector: RValue, what: str) -> IntArray:
    problem = f"expected whole numbers as {what} in the log of irace, got"
    if vector.kind not in NUMBERS:
        raise InputError(f"{problem} {'nothing' if vector.kind == 'null' else vector.kind}.")
    values = vector.values.astype(np.float64)
    if not ((np.abs(values) <= 2**53) & (values == np.floor(values))).all():
        raise InputError(f"{problem} something else.")
    return np.asarray(values.astype(np.int64))


def _stopped(log: RValue, used: int) -> list[str]:
    """A note on a search that did not use up its budget."""
    reason = log.text("state", "completed")
    if _unfinished(log):
        return [
            "irace had not finished when it wrote this log: runs after its last whole iteration "
            "are not in it."
        ]
    # Every search ends this way: it matters where much of the budget is left.
    budget, spent = log.number("scenario", "maxExperiments"), float(used)
    if not budget:
        budget, spent = log.number("scenario", "maxTime"), log.number("state", "timeUsed") or 0.0
    if reason.startswith(TOO_LITTLE) and (budget is None or spent < MOSTLY * budget):
        return [f"irace stopped before it had used up its budget: {reason.rstrip('.')}."]
    return []


def _unfinished(log: RValue) -> bool:
    return log.text("state", "completed") == INCOMPLETE


def _instance_names(scenario: RValue, most: int) -> list[str]:
    """Names of the instances, irace's numbers where there are none."""
    # One that is listed twice is one instance.
    names = _texts(scenario.get("instances"))
    if len(names) >= most and all(names):
        return names
    # Numbers instead of some names would mix up instances.
    if names and len(names) < most:
        raise InputError(
            f"expected at least {most} instances in irace's scenario, got {len(names)}."
        )
    # Pairs are at most as many as values were read, so this stays small.
    if most > rdata.MOST_VALUES:
        raise InputError(f"expected instances numbered up to {rdata.MOST_VALUES:,}, got {most:,}.")
    return [str(number + 1) for number in range(most)]


def _texts(instances: RValue) -> list[str]:
    """Instances as irace passes them to a program: numbers as text; empty for what has none."""
    return [
        "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)
        for value in instances.scalars()
    ]


def _places(labels: Sequence[str]) -> IntArray:
    """Which pair of its instance each pair is, by the instances' names."""
    instances = pl.DataFrame({"instance": labels}, schema={"instance": pl.String})
    return instances.select(pl.int_range(pl.len()).over("instance"))["literal"].to_numpy()


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
) -> tuple[float | None, list[str]]:
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
    return factor, [
        f"The target runner prints {late[0]:g} for a timeout, so costs are PAR{factor:g}."
    ]


def _obstacle(scenario: RValue) -> str | None:
    """Why nobody but irace can run what it ran; None where that is possible."""
    if scenario.get("targetEvaluator").kind not in ("null", "character") or scenario.text(
        "targetEvaluator"
    ):
        return "expected a target runner that says the cost, got a target evaluator"
    if scenario.number("aclib") == 1:
        return "expected irace's own convention for target runners, got that of AClib"
    if scenario.get("instances").kind not in ("null", "character", *NUMBERS):
        return "expected instances that are files, texts or numbers, got R objects"
    if scenario.get("targetRunner").kind not in ("character", "other"):
        return "expected a target runner in the log, got none"
    return None


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
    log: RValue, options: Options, like: Charged, bound: float | None, par: float | None
) -> CostMatrix | None:
    """The runs on test instances, one each."""
    experiments = log.get("testing", "experiments")
    if experiments.kind not in NUMBERS or len(experiments) == 0:
        return None
    rows, columns, table = _table(experiments, "testing experiments")
    names = _texts(log.get("scenario", "testInstances"))
    # Rows are numbered "1t", "2t", … in the order of the test instances.
    if len(names) != len(rows) or not all(names):
        names = rows
    mask = ~np.isnan(table)
    if not mask.any():
        return None
    instance, configuration = np.nonzero(mask)
    runs = {
        "configuration": pl.Series(columns, dtype=pl.String).gather(configuration),
        "instance": pl.Series(names, dtype=pl.String).gather(instance),
        "run": _places(names)[instance],
    }
    seeds = log.get("testing", "seeds")
    if seeds.kind in NUMBERS and len(seeds) == len(rows):
        runs["seed"] = _whole(seeds, "seeds of the test instances")[instance]
    values = table[mask]
    statuses = _statuses(values, bound)
    try:
        charged = charge(values, statuses, options, cutoff=bound, par=par, like=like)
        return matrix_of(pl.DataFrame(runs), charged)
    except InputError as error:
        raise InputError(f"in the test results, {error}") from error


def _trajectory(log: RValue, default: str | None, *, blind: bool) -> Trajectory:
    version = log.text("irace_version") or log.text("irace.version")
    elites = log.get("allElites")
    parts = elites.values if elites.kind == "list" else ()
    lists = [part for part in parts if part.kind in NUMBERS]
    # How many runs were finished at the end of each iteration, where the log counts them.
    ends = _history(log).get("iteration")
    steps = tuple(
        Step(
            None if ends is None else int((ends <= iteration).sum()),
            tuple(str(number) for number in _whole(part, "elites").tolist()),
        )
        for iteration, part in enumerate(lists, 1)
    )
    last = log.get("iterationElites")
    numbers = last if last.kind in NUMBERS else RValue(kind="integer", values=np.empty(0))
    best = _whole(numbers, "elites of the iterations")
    incumbent = next(iter(steps[-1].configurations), None) if steps else None
    return Trajectory(
        tool=f"irace {version}".strip(),
        proposed="beforehand" if blind else "adaptively",
        raced=True,
        unfinished=_unfinished(log),
        default=default,
        incumbent=str(best[-1]) if best.size else incumbent,
        steps=steps,
    )


def _parameters(frame: RValue) -> dict[str, dict[str, Scalar]]:
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


def _origins(frame: RValue) -> dict[str, str]:
    """`"initial"`, or the configuration whose values a new one was drawn around."""
    parents = frame.get(".PARENT.")
    if parents.kind not in (*NUMBERS, "logical"):
        return {}
    numbers = _whole(frame.get(".ID."), "numbers of the configurations").tolist()
    if len(parents) != len(numbers):
        return {}
    return {
        str(number): INITIAL
        if parent in (NA_INTEGER, 0) or parent != parent
        else f"drawn around {parent:g}"
        for number, parent in zip(numbers, parents.values.tolist(), strict=True)
    }


IMPORTER = Importer(name="irace", title="irace (.Rdata)", recognise=_recognise, read=_read)
