"""Long tables, a row for every run: csv, packed or not, parquet, or a data frame of pandas."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError, counted
from truecost.importers.frame import Table, numbers, take, texts, wholes, words
from truecost.importers.recorded import (
    Charged,
    charge,
    coded,
    lay_out,
    left_out,
    statuses_of,
    turned,
)
from truecost.importers.roles import (
    NEEDED,
    SCORES,
    listed,
    plain_name,
    roles_by_name,
    words_of,
)
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import NO_STATUS, Caveat, Status

# What a column called solved or success says.
SOLVED = {
    **dict.fromkeys(("true", "1", "1.0", "yes"), "solved"),
    **dict.fromkeys(("false", "0", "0.0", "no"), "timeout"),
}
# A value that this many runs and this share of them have may stand for "not solved".
MARKED_RUNS = 3
MARKED = 0.02
# The largest value stands out by being this much larger than the next, or more frequent than any.
GAP = 1.5
TIMES = 3


def roles_of(table: Table, reading: Reading) -> dict[str, str] | None:
    """Which column is what in a long table; None where it is no long table."""
    columns = list(table)
    roles = roles_by_name(columns, reading.columns)
    if set(NEEDED) <= set(roles):
        return roles
    # Runs of one configuration: nothing says which, and each instance has one run, or runs with
    # numbers or seeds.
    if "configuration" in roles or not {"instance", "cost"} <= set(roles):
        return None
    keys = [words(table[roles[role]]) for role in ("instance", "seed", "run") if role in roles]
    rows = list(zip(*keys, strict=True))
    return roles if len(set(rows)) == len(rows) else None


def missing_roles(table: Table, reading: Reading) -> InputError:
    """What to say of a table that is neither long nor wide."""
    columns = list(table)
    roles = roles_by_name(columns, reading.columns)
    missing = [role for role in NEEDED if role not in roles]
    hint = ",".join(f"{role}=NAME" for role in missing)
    return InputError(
        f"No column is called {' or '.join(missing)}: the table has {listed(columns)}. Give "
        f"--columns {hint}, or write a wide table: instances in the first column, then a column of "
        "numbers for each configuration."
    )


def read(table: Table, roles: Mapping[str, str], reading: Reading, name: str) -> Log:
    """The runs in a table; `name` is that of the only configuration, where no column says which."""
    cost = roles["cost"]
    check_direction(cost, reading.maximise)
    renamed = [f"{theirs} is the {role}" for role, theirs in roles.items() if theirs != role]
    caveats = [Caveat("columns", f"Columns: {', '.join(renamed)}.")] if renamed else []
    values = numbers(table[cost], cost)
    statuses, unfinished, notes = _statuses(table, roles, values.size)
    caveats += notes
    if (wrong := np.flatnonzero((statuses == Status.SOLVED) & ~np.isfinite(values))).size:
        raise InputError(
            f"Row {wrong[0] + 1} is solved and has no cost. Fill it in, or change the status."
        )
    empty = np.isnan(values) & (statuses == NO_STATUS) & ~unfinished
    if empty.any() and "status" not in roles:
        caveats.append(_timeouts(empty, reading))
        statuses[empty] = Status.TIMEOUT
        empty[:] = False
    keep = ~(empty | unfinished)
    if not keep.any():
        raise InputError("No row has a cost. Give at least one run.")
    omitted = {"run not ended": int(unfinished.sum()), "run without a cost": int(empty.sum())}
    table, values, statuses = take(table, keep), values[keep], statuses[keep]
    if "status" not in roles:
        caveats += _hint(values, reading)
    ends = reading
    if reading.maximise:
        values, ends, notes = turned(values, reading, "score" if cost == "cost" else cost)
        caveats += notes
    charged = charge(values, statuses, ends)
    log, notes = laid_out(table, roles, charged, name)
    caveats += notes
    return replace(
        log,
        maximised=bool(reading.maximise),
        caveats=(*caveats, *left_out(omitted), *charged.caveats),
    )


def _statuses(
    table: Table, roles: Mapping[str, str], size: int
) -> tuple[NDArray[np.int8], BoolArray, list[Caveat]]:
    """How runs ended, which have not, and what was assumed."""
    if "status" not in roles:
        return np.full(size, NO_STATUS, dtype=np.int8), np.zeros(size, dtype=np.bool_), []
    column, caveats = words(table[roles["status"]]), []
    if plain_name(roles["status"]) in ("solved", "success"):
        column = [SOLVED.get(word.strip().lower(), word) if word else word for word in column]
        if unsolved := column.count("timeout"):
            runs = counted(unsolved, "run")
            verb = "was not solved and counts as a timeout"
            if unsolved > 1:
                verb = "were not solved and count as timeouts"
            caveats.append(Caveat("timeouts", f"{runs} {verb}."))
    try:
        return *statuses_of(column), caveats
    except InputError as error:
        raise InputError(
            f"{error} If {roles['status']:.60} is no status: --columns status=."
        ) from None


def laid_out(
    table: Table, roles: Mapping[str, str], charged: Charged, name: str
) -> tuple[Log, list[Caveat]]:
    """The log of runs whose costs are settled, and what was assumed of where they stand."""
    size = charged.costs.size
    who = (
        texts(table[roles["configuration"]], roles["configuration"])
        if "configuration" in roles
        else [name] * size
    )
    what = texts(table[roles["instance"]], roles["instance"])
    keys = {
        role: wholes(table[roles[role]], roles[role]) for role in ("run", "seed") if role in roles
    }
    caveats = []
    configurations, instances = coded(who), coded(what)
    if "run" not in keys:
        cells = configurations[1] * len(instances[0]) + instances[1]
        if "seed" in keys:
            seeds, places = np.unique(keys["seed"], return_inverse=True)
            cells = cells * seeds.size + places
        if again := size - np.unique(cells).size:
            named = "configuration, instance and seed" if keys else "configuration and instance"
            sentence = (
                f"{counted(again, 'row')} repeat a {named} of another: they count as "
                "further runs, in the order of the table."
            )
            caveats.append(Caveat("repeated", sentence))
            keys = {}
    families = None
    if "family" in roles:
        families = _families(what, words(table[roles["family"]]), roles["family"])
    matrix = lay_out(
        configurations,
        instances,
        charged,
        run=keys.get("run"),
        seed=keys.get("seed"),
        families=families,
    )
    return Log(runs=matrix, cost_unit=charged.unit), caveats


def _families(instances: list[str], labels: list[str | None], column: str) -> dict[str, str]:
    """The family of each instance."""
    families: dict[str, str] = {}
    for instance, label in zip(instances, labels, strict=True):
        if not label or families.setdefault(instance, label) != label:
            problem = "several families" if label else "no family"
            raise InputError(
                f"Instance {instance!r:.60} has {problem} in the column {column!r:.60}. Give it "
                "one, or say that the column is none: --columns family=."
            )
    return families


def _timeouts(empty: BoolArray, reading: Reading) -> Caveat:
    """A caveat on rows without a cost, which are timeouts where there is a cutoff."""
    number = int(empty.sum())
    if reading.cutoff is None:
        raise InputError(
            f"{number:,} of {counted(empty.size, 'row')} {'has' if number == 1 else 'have'} no "
            f"cost, the first is row {np.argmax(empty) + 1}. If these runs timed out, give the "
            "cutoff in seconds: --cutoff. If they were never made, remove the rows."
        )
    verb = "has no cost and counts as a timeout"
    if number > 1:
        verb = "have no cost and count as timeouts"
    return Caveat("timeouts", f"{counted(number, 'run')} {verb}.")


def check_direction(column: str, maximise: bool | None) -> None:
    """Refuse a score that nobody said to maximise: the worst configuration would win."""
    if maximise is None and SCORES & words_of(column):
        raise InputError(
            f"The column {column!r:.60} looks like a score. Give --maximise if larger is better, "
            "--no-maximise if smaller is."
        )


def is_settled(reading: Reading) -> bool:
    """Whether the caller has said what costs mean."""
    said = (reading.cutoff, reading.par, reading.low, reading.high, reading.maximise)
    return any(value is not None for value in said)


def mark_of(values: FloatArray) -> tuple[float, int] | None:
    """A value that may stand for "not solved", and how many runs have it."""
    known = values[np.isfinite(values)]
    if known.size < MARKED_RUNS:
        return None
    different, counts = np.unique(known, return_counts=True)
    # One negative value among costs that are not: -1 for a run without a cost.
    if different[0] < 0 and different.size > 1 and different[1] >= 0:
        return float(different[0]), int(counts[0])
    count = int(counts[-1])
    enough = count >= max(MARKED_RUNS, MARKED * known.size) and different.size > 1
    if not enough:
        return None
    apart = different[-1] >= GAP * different[-2] or count >= TIMES * counts[:-1].max()
    return (float(different[-1]), count) if apart else None


def _hint(values: FloatArray, reading: Reading) -> list[Caveat]:
    """A caveat on a value that may stand for "not solved"."""
    mark = None if is_settled(reading) else mark_of(values)
    if mark is None:
        return []
    sentence = (
        f"{counted(mark[1], 'run')} cost {mark[0]:g}. If these were not solved, give --cutoff (and "
        "--par)."
    )
    return [Caveat("unsolved", sentence)]
