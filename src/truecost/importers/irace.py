"""irace 3.x and 4.x: the log file irace.Rdata.

A row of irace's table of experiments is a pair of instance and seed, not an instance: the list of
pairs says which. Configurations are named by their number. Pairs stand in line: run r on an
instance has one seed for all configurations.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.importers import rdata
from truecost.importers.rdata import NA_INTEGER, RValue
from truecost.importers.record import Charged, Options, charge, matrix_of
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import, Scalar
from truecost.runs import NO_STATUS, Status, Step, Trajectory

VARIABLE: Final = "iraceResults"
NUMBERS: Final = ("integer", "double")
EMPTY: Final = "expected runs in the log of irace, and it has none: irace writes them down when its first iteration ends."
# What irace's state says of a search that was stopped.
INCOMPLETE: Final = "Incomplete"


def load(path: Path, options: Options) -> Import:
    """The runs in a log of irace."""
    with path.open("rb") as file:
        return _read(file, options)


def _read(file: BinaryIO, options: Options) -> Import:
    log = rdata.read(file).get(VARIABLE)
    if log is None or log.kind != "list":
        raise InputError(
            f"expected the log of irace, a workspace with the variable {VARIABLE}, and it has none."
        )
    scenario = _need(log, "scenario", ("list",))
    experiments = _need(log, "experiments", ("double", "integer", "logical"))
    if len(experiments) == 0:
        raise InputError(EMPTY)
    rows, columns, table = _table(experiments, "experiments")
    instance, seed = _pairs(log, rows)
    names = _instance_names(scenario.get("instances"), int(instance.max(initial=0)))
    capped = _flag(scenario.get("capping"))
    bound = _number(scenario.get("boundMax")) if capped else None
    there = ~np.isnan(table)
    pair, configuration = np.nonzero(there)
    if pair.size == 0:
        raise InputError(EMPTY)
    runs = pl.DataFrame(
        {
            "configuration": pl.Series(columns, dtype=pl.String).gather(configuration),
            "instance": pl.Series(
                [names[number - 1] for number in instance], dtype=pl.String
            ).gather(pair),
            "run": _places(names, instance)[pair],
            "seed": seed[pair],
        }
    )
    values, statuses = _ended(table[there], bound)
    if bound is not None:
        values, statuses = _censored(values, statuses, _caps(log, rows, columns, bound)[there])
    charged = charge(values, statuses, options, cutoff=bound, par=_number(scenario.get("boundPar")))
    matrix = matrix_of(runs, charged)
    return Import(
        kind="irace",
        matrix=matrix,
        trajectory=_trajectory(log, options.default or _default(scenario, matrix.configurations)),
        parameters=_parameters(log.get("allConfigurations")),
        origins=_origins(log.get("allConfigurations")),
        test=_test(log, scenario, options, charged, bound),
        notes=(*_stopped(log), *charged.notes),
    )


def _need(log: RValue, name: str, kinds: tuple[str, ...]) -> RValue:
    found = log.get(name)
    if found is None or found.kind not in kinds:
        came = "nothing" if found is None else found.kind
        raise InputError(f"expected {name!r} in the log of irace to be {kinds[0]}, got {came}.")
    return found


def _table(matrix: RValue, what: str) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Names of rows and columns, and the numbers of a matrix of R."""
    dim, names = matrix.attributes.get("dim"), matrix.attributes.get("dimnames")
    sizes = (
        tuple(int(size) for size in dim.values) if dim is not None and dim.kind == "integer" else ()
    )
    if len(sizes) != 2 or min(sizes) < 0 or sizes[0] * sizes[1] != len(matrix):
        raise InputError(
            f"expected {what!r} in the log of irace to be a matrix, got {len(matrix)} numbers with the sizes {sizes}."
        )
    labels = (
        [part.values for part in names.values if part.kind == "character"]
        if names is not None and names.kind == "list"
        else []
    )
    if [len(part) for part in labels] != list(sizes) or any(
        name is None for part in labels for name in part
    ):
        raise InputError(
            f"expected {what!r} in the log of irace to have names of rows and columns, and some are missing."
        )
    values = matrix.values.astype(np.float64)
    if matrix.kind != "double":
        values[matrix.values == NA_INTEGER] = np.nan
    return labels[0], labels[1], values.reshape(sizes, order="F")


def _pairs(log: RValue, rows: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Instance number and seed of each row of the experiments, by the row's name."""
    state = log.get("state")
    found = state.get("instances_log") if state is not None else None
    if found is None or found.kind != "list":
        old = state.get(".irace") if state is not None else None
        found = old.get("instancesList") if old is not None else None
    if found is None or found.kind != "list":
        raise InputError(
            "expected the list of pairs of instance and seed in the log of irace, and it is not there."
        )
    instance = _whole(found.get("instanceID") or found.get("instance"), "instances of the pairs")
    seed = (
        _whole(found.get("seed"), "seeds of the pairs")
        if found.get("seed") is not None
        else np.zeros_like(instance)
    )
    try:
        place = np.array([int(row) for row in rows], dtype=np.int64) - 1
    except (ValueError, OverflowError):
        raise InputError(
            "expected the rows of irace's experiments to be numbered, and they are not."
        ) from None
    if (
        seed.size != instance.size
        or (place < 0).any()
        or (place >= instance.size).any()
        or (instance < 1).any()
    ):
        raise InputError(
            f"expected a pair for each of {len(rows)} rows of irace's experiments, got {instance.size} pairs."
        )
    # A deterministic scenario has no seeds: NA.
    seed = np.where(seed == NA_INTEGER, 0, seed)
    return instance[place], seed[place]


def _whole(found: RValue | None, what: str) -> NDArray[np.int64]:
    if found is None or found.kind not in NUMBERS:
        raise InputError(
            f"expected whole numbers as {what} in the log of irace, got {'nothing' if found is None else found.kind}."
        )
    values = found.values.astype(np.float64)
    if not ((np.abs(values) <= 2**53) & (values == np.floor(values))).all():
        raise InputError(
            f"expected whole numbers as {what} in the log of irace, got something else."
        )
    return np.asarray(values.astype(np.int64))


def _stopped(log: RValue) -> list[str]:
    """A word on a search that did not come to its end."""
    state = log.get("state")
    ended = state.get("completed") if state is not None else None
    if ended is None or ended.kind != "character" or list(ended.values) != [INCOMPLETE]:
        return []
    return [
        "irace had not finished when it wrote this log: runs after its last whole iteration are not in it."
    ]


def _instance_names(found: RValue | None, most: int) -> list[str]:
    """Names of the instances, irace's numbers where there are none; one that is listed twice is one
    instance.
    """
    names = list(found.values) if found is not None and found.kind == "character" else []
    if len(names) >= most and all(names):
        return names
    if names and len(names) < most:
        raise InputError(
            f"expected at least {most} instances in irace's scenario, got {len(names)}."
        )
    # Pairs are at most as many as values were read, so this stays small.
    if most > rdata.MOST_VALUES:
        raise InputError(f"expected instances numbered up to {rdata.MOST_VALUES:,}, got {most:,}.")
    return [str(number + 1) for number in range(most)]


def _places(names: Sequence[str], instance: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which pair of its instance each pair is, by the instances' names."""
    named = pl.DataFrame(
        {"instance": [names[number - 1] for number in instance]}, schema={"instance": pl.String}
    )
    return named.select(pl.int_range(pl.len()).over("instance"))["literal"].to_numpy()


def _ended(
    values: NDArray[np.float64], bound: float | None
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Infinite costs are runs that irace rejects; with capping, a cost of the bound or more is a
    timeout.
    """
    statuses = np.full(values.size, NO_STATUS, dtype=np.int8)
    if bound is not None:
        statuses[:] = np.where(values >= bound, Status.TIMEOUT, Status.SOLVED)
    statuses[np.isinf(values)] = Status.CRASHED
    return values, statuses


def _censored(
    values: NDArray[np.float64], statuses: NDArray[np.int8], caps: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """The same with the cap as the cost of runs that were stopped there, whatever irace charges
    them (boundAsTimeout).
    """
    stopped = ~np.isnan(caps) & (statuses != Status.CRASHED)
    return np.where(stopped, caps, values), np.where(stopped, np.int8(Status.CENSORED), statuses)


def _caps(log: RValue, rows: list[str], columns: list[str], bound: float) -> NDArray[np.float64]:
    """The bound below `bound`, irace's boundMax, at which each experiment was stopped, NaN for
    others: rows × columns.
    """
    caps = np.full((len(rows), len(columns)), np.nan)
    history = _history(log)
    names = ("instance", "configuration", "time", "bound")
    if not set(names) <= set(history):
        return caps
    pair, configuration, time, limit = (history[name] for name in names)
    places = [{name: place for place, name in enumerate(labels)} for labels in (rows, columns)]
    # An experiment that was made again counts as it was made last.
    for i, j, taken, most in zip(pair, configuration, time, limit, strict=True):
        cell = places[0].get(f"{i:.0f}"), places[1].get(f"{j:.0f}")
        if None not in cell:
            caps[cell] = most if taken >= most and 0 <= most < bound else np.nan
    return caps


def _history(log: RValue) -> dict[str, NDArray[np.float64]]:
    """The columns of irace's log of experiments: a data frame from 4.0 on, a matrix before."""
    state = log.get("state")
    found = (state.get("experiment_log") if state is not None else None) or log.get("experimentLog")
    if found is None:
        return {}
    if found.kind in NUMBERS:
        names = found.attributes.get("dimnames")
        labels = (
            names.values[-1] if names is not None and names.kind == "list" and len(names) else None
        )
        if (
            labels is None
            or labels.kind != "character"
            or not len(labels)
            or len(found) % len(labels)
        ):
            return {}
        return dict(
            zip(
                labels.values, found.values.astype(np.float64).reshape(len(labels), -1), strict=True
            )
        )
    columns = dict(zip(found.names, found.values, strict=False)) if found.kind == "list" else {}
    numbers = {
        name: column.values.astype(np.float64)
        for name, column in columns.items()
        if column.kind in NUMBERS
    }
    return numbers if len({column.size for column in numbers.values()}) == 1 else {}


def _test(
    log: RValue, scenario: RValue, options: Options, like: Charged, bound: float | None
) -> CostMatrix | None:
    """The runs on test instances, one each."""
    testing = log.get("testing")
    found = testing.get("experiments") if testing is not None else None
    if testing is None or found is None or found.kind not in NUMBERS or len(found) == 0:
        return None
    rows, columns, table = _table(found, "testing experiments")
    given = scenario.get("testInstances")
    names = list(given.values) if given is not None and given.kind == "character" else []
    # Rows are numbered "1t", "2t", … in the order of the test instances.
    if len(names) != len(rows) or not all(names):
        names = rows
    there = ~np.isnan(table)
    if not there.any():
        return None
    instance, configuration = np.nonzero(there)
    runs = {
        "configuration": pl.Series(columns, dtype=pl.String).gather(configuration),
        "instance": pl.Series(names, dtype=pl.String).gather(instance),
        "run": _places(names, np.arange(1, len(names) + 1))[instance],
    }
    seeds = testing.get("seeds")
    if seeds is not None and seeds.kind in NUMBERS and len(seeds) == len(rows):
        runs["seed"] = _whole(seeds, "seeds of the test instances")[instance]
    values, statuses = _ended(table[there], bound)
    try:
        charged = charge(
            values,
            statuses,
            options,
            cutoff=bound,
            par=_number(scenario.get("boundPar")),
            like=like,
        )
        return matrix_of(pl.DataFrame(runs), charged)
    except InputError as error:
        raise InputError(f"in the test results, {error}") from error


def _default(scenario: RValue, configurations: Sequence[str]) -> str | None:
    """The first of the configurations that irace was given to begin with: what was there before it
    searched.
    """
    given = scenario.get("configurationsFile")
    there = given is not None and given.kind == "character" and any(given.values)
    return "1" if there and "1" in configurations else None


def _trajectory(log: RValue, default: str | None) -> Trajectory:
    version = log.get("irace_version") or log.get("irace.version")
    known = (
        version is not None and version.kind == "character" and len(version) and version.values[0]
    )
    elites = log.get("allElites")
    lists = (
        [part for part in elites.values if part.kind in NUMBERS]
        if elites is not None and elites.kind == "list"
        else []
    )
    finished = _finished(log, len(lists))
    steps = tuple(
        Step(runs, tuple(str(number) for number in _whole(part, "elites").tolist()))
        for runs, part in zip(finished, lists, strict=True)
    )
    last = log.get("iterationElites")
    best = (
        _whole(last, "elites of the iterations")
        if last is not None and last.kind in NUMBERS
        else np.empty(0, dtype=np.int64)
    )
    incumbent = (
        str(best[-1])
        if best.size
        else steps[-1].configurations[0]
        if steps and steps[-1].configurations
        else None
    )
    return Trajectory(
        tool=f"irace {version.values[0]}" if version is not None and known else "irace",
        proposed="adaptively",
        raced=True,
        default=default,
        incumbent=incumbent,
        steps=steps,
    )


def _finished(log: RValue, iterations: int) -> list[int | None]:
    """How many runs were finished at the end of each iteration."""
    column = _history(log).get("iteration")
    if column is None:
        return [None] * iterations
    return [int((column <= iteration).sum()) for iteration in range(1, iterations + 1)]


def _parameters(frame: RValue | None) -> dict[str, dict[str, Scalar]]:
    """Values of the parameters that are active, by the configuration's number."""
    if frame is None or frame.kind != "list":
        return {}
    numbers = _whole(frame.get(".ID."), "numbers of the configurations").tolist()
    columns = {
        name: _scalars(column)
        for name, column in zip(frame.names, frame.values, strict=False)
        if not name.startswith(".") and len(column) == len(numbers)
    }
    return {
        str(number): {
            name: values[place] for name, values in columns.items() if values[place] is not None
        }
        for place, number in enumerate(numbers)
    }


def _scalars(column: RValue) -> list[Scalar]:
    if column.kind == "character":
        return list(column.values)
    levels = column.attributes.get("levels")
    if column.kind == "integer" and levels is not None and levels.kind == "character":
        return [
            levels.values[code - 1] if 1 <= code <= len(levels) else None
            for code in column.values.tolist()
        ]
    if column.kind == "logical":
        return [None if value == NA_INTEGER else bool(value) for value in column.values.tolist()]
    if column.kind == "integer":
        return [None if value == NA_INTEGER else value for value in column.values.tolist()]
    if column.kind == "double":
        return [None if value != value else value for value in column.values.tolist()]
    return [None] * len(column)


def _origins(frame: RValue | None) -> dict[str, str]:
    """`"initial"`, or the configuration whose values a new one was drawn around."""
    parents = frame.get(".PARENT.") if frame is not None else None
    if frame is None or parents is None or parents.kind not in (*NUMBERS, "logical"):
        return {}
    numbers = _whole(frame.get(".ID."), "numbers of the configurations").tolist()
    if len(parents) != len(numbers):
        return {}
    values = parents.values.tolist()
    return {
        str(number): "initial"
        if parent in (NA_INTEGER, 0) or parent != parent
        else f"drawn around {parent:g}"
        for number, parent in zip(numbers, values, strict=True)
    }


def _number(found: RValue | None) -> float | None:
    if found is None or found.kind not in NUMBERS or len(found) != 1:
        return None
    value = float(found.values[0])
    return value if np.isfinite(value) and value > 0 else None


def _flag(found: RValue | None) -> bool:
    return (
        found is not None
        and found.kind in ("logical", *NUMBERS)
        and len(found) == 1
        and found.values[0] == 1
    )
