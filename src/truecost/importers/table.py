"""Long tables, a row for every run: csv, packed or not, parquet, or a data frame of pandas."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError, counted
from truecost.importers.frame import Table, check_numbers, numbers, take, texts, wholes, words
from truecost.importers.recorded import Recorded, coded, counts, log_of, statuses_of
from truecost.importers.roles import (
    NEEDED,
    SCORES,
    SUCCESSES,
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
    if len(columns) == 1:
        raise InputError(
            f"The table has one column, {listed(columns)}. Separate its columns by commas."
        )
    for name in columns[1:]:
        if name not in roles.values():
            check_numbers(table[name], name)
    missing = [role for role in NEEDED if role not in roles]
    hint = ",".join(f"{role}=NAME" for role in missing)
    return InputError(
        f"No column is called {' or '.join(missing)}: the table has {listed(columns)}. Give "
        f"--columns {hint}, or write a wide table: instances in the first column, then a column of "
        "numbers for each configuration."
    )


def read(
    table: Table,
    roles: Mapping[str, str],
    reading: Reading,
    name: str = "",
    *,
    strict: bool = False,
) -> Log:
    """The runs in a table; `name` is that of the only configuration, where no column says which.

    Where it is `strict`, a value that may stand for "not solved" is refused.
    """
    cost = roles["cost"]
    # The worst configuration would win.
    if reading.maximise is None and (SCORES | SUCCESSES) & words_of(cost):
        raise InputError(
            f"The column {cost!r:.60} looks like a score. Give --maximise if larger is better, "
            "--no-maximise if smaller is."
        )
    renamed = [
        f"{theirs} is the {role}" for role, theirs in roles.items() if theirs.lower() != role
    ]
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
        if reading.cutoff is None:
            row = int(np.argmax(empty))
            where = [words(table[roles[role]])[row] or "" for role in NEEDED[:2] if role in roles]
            raise InputError(
                f"{int(empty.sum()):,} of {counted(empty.size, 'run')} have no cost, the first is "
                f"{' on '.join(where):.120}. If they timed out, give the cutoff in seconds: "
                "--cutoff. If they were never made, leave them out of a table with a row for every "
                "run."
            )
        without = {"run without a cost": int(empty.sum())}
        caveats += counts("timeouts", "Counted as timeouts", without)
        statuses[empty] = Status.TIMEOUT
        empty[:] = False
    keep = ~(empty | unfinished)
    if not keep.any():
        raise InputError("No row has a cost. Give at least one run.")
    omitted = {"run not ended": int(unfinished.sum()), "run with an empty row": int(empty.sum())}
    table, values, statuses = take(table, keep), values[keep], statuses[keep]
    _check_failures(values, statuses, reading)
    if "status" not in roles:
        caveats += _marked(values, reading, strict=strict)
    columns = {
        role: wholes(table[roles[role]], roles[role], role)
        for role in ("run", "seed")
        if role in roles
    }
    names = [
        coded(texts(table[roles[role]], roles[role]) if role in roles else [name] * values.size)
        for role in NEEDED[:2]
    ]
    if "run" not in columns:
        caveats += _repeated(names, columns.get("seed"))
    recorded = Recorded(
        configurations=names[0],
        instances=names[1],
        values=values,
        statuses=statuses,
        runs=columns.get("run"),
        seeds=columns.get("seed"),
        families=_families(names[1], table, roles.get("family")),
        score="" if not reading.maximise else "score" if cost == "cost" else cost,
    )
    return log_of(recorded, reading, omitted=omitted, caveats=caveats)


def _check_failures(values: FloatArray, statuses: NDArray[np.int8], reading: Reading) -> None:
    """Refuse failed runs that would look better than solved ones: a crash after 0.01 s wins."""
    solved = values[statuses == Status.SOLVED]
    failed = values[~np.isin(statuses, (Status.SOLVED, Status.CENSORED, NO_STATUS))]
    said = (reading.cutoff, reading.low, reading.high) != (None, None, None)
    best, worst = (np.nanmin, np.nanmax)[:: -1 if reading.maximise else 1]
    if said or not solved.size or np.isnan(failed).all():
        return
    cheapest, dearest = float(best(failed)), float(worst(solved))
    if cheapest > dearest if reading.maximise else cheapest < dearest:
        way = "If these are running times, give the cutoff in seconds: --cutoff. If"
        raise InputError(
            f"A failed run has {cheapest:g}, and a solved one {dearest:g}. "
            f"{'If' if reading.maximise else way} that is right, give the least and the most "
            "there can be: --low and --high."
        )


def _statuses(
    table: Table, roles: Mapping[str, str], size: int
) -> tuple[NDArray[np.int8], BoolArray, list[Caveat]]:
    """How runs ended, which have not, and what was assumed."""
    if "status" not in roles:
        return np.full(size, NO_STATUS, dtype=np.int8), np.zeros(size, dtype=np.bool_), []
    column, unsolved = words(table[roles["status"]]), 0
    if plain_name(roles["status"]) in ("solved", "success"):
        column = [SOLVED.get(word.strip().lower(), word) if word else word for word in column]
        unsolved = column.count("timeout")
    try:
        statuses, unfinished = statuses_of(column)
    except InputError as error:
        raise InputError(
            f"{error} If {roles['status']:.60} is no status: --columns status=."
        ) from None
    key = "run not solved"
    return statuses, unfinished, counts("timeouts", "Counted as timeouts", {key: unsolved})


def _repeated(names: Sequence[tuple[list[str], IntArray]], seeds: IntArray | None) -> list[Caveat]:
    """A caveat on several runs of a configuration on an instance; refuses those of one seed."""
    (configurations, i), (instances, j) = names
    cells = i * len(instances) + j
    if seeds is not None:
        different, places = np.unique(seeds, return_inverse=True)
        cells = cells * different.size + places
    first = np.unique(cells, return_index=True)[1]
    again = np.setdiff1d(np.arange(cells.size), first)
    if again.size and seeds is not None:
        row = int(again[0])
        raise InputError(
            f"The run of {configurations[i[row]]:.60} on {instances[j[row]]:.60} with seed "
            f"{seeds[row]} stands in several rows. Remove all but one. If they are further runs, "
            "say that there is no seed: --columns seed=."
        )
    key = "row repeating the configuration and instance of another"
    return counts("repeated", "Counted as further runs, in order", {key: again.size})


def _families(
    instances: tuple[list[str], IntArray], table: Table, column: str | None
) -> dict[str, str] | None:
    """The family of each instance."""
    if column is None:
        return None
    names, places = instances
    families: dict[str, str] = {}
    for place, label in zip(places.tolist(), words(table[column]), strict=True):
        if not label or families.setdefault(names[place], label) != label:
            problem = "several families" if label else "no family"
            raise InputError(
                f"Instance {names[place]!r:.60} has {problem} in the column {column!r:.60}. Give "
                "it one, or say that the column is none: --columns family=."
            )
    return families


def _mark_of(values: FloatArray) -> tuple[float, int] | None:
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


def _marked(values: FloatArray, reading: Reading, *, strict: bool) -> list[Caveat]:
    """A caveat on a value that may stand for "not solved", where nobody says what costs mean."""
    said = (reading.cutoff, reading.par, reading.low, reading.high, reading.maximise)
    mark = _mark_of(values) if said == (None,) * len(said) else None
    if mark is None:
        return []
    value, number = mark
    sentence = f"{counted(number, 'run')} cost{'s' if number == 1 else ''} {value:g}."
    if value < 0:
        way, end = "leave these cells empty and give --cutoff", "--low"
    else:
        way, end = f"give --cutoff {value:g} --par 1, or --cutoff {value / 2:g} --par 2", "--high"
    if strict:
        raise InputError(
            f"{sentence} If that means not solved, {way}. If it is a cost like others, give {end} "
            f"{value:g}."
        )
    return [Caveat("unsolved", f"{sentence} If that means not solved, {way}.")]
