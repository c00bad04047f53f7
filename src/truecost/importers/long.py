"""Long tables: a row for every run."""

import itertools
from collections.abc import Mapping

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError, counted
from truecost.importers.columns import Column, Table, check_names, numbers, wholes
from truecost.importers.recorded import (
    UNFINISHED,
    StatusArray,
    count_caveats,
    log_of,
    statuses_of,
)
from truecost.importers.roles import NEEDED, SCORES, SUCCESSES, plain_name, roles_by_name
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
    """The column of each role in a long table; None where it is no long table."""
    roles = roles_by_name(list(table), reading.columns)
    if set(NEEDED) <= set(roles):
        return roles
    # Runs of one configuration: nothing says which, and each instance has one run, or runs with
    # numbers or seeds.
    if "configuration" in roles or not {"instance", "cost"} <= set(roles):
        return None
    keys = [table[roles[role]] for role in ("instance", "seed", "run") if role in roles]
    rows = list(zip(*keys, strict=True))
    return roles if len(set(rows)) == len(rows) else None


def read(
    table: Table,
    roles: Mapping[str, str],
    reading: Reading,
    name: str = "",
    *,
    strict: bool = False,
) -> Log:
    """The runs in a table.

    `name` names the only configuration where no column has names. If `strict`, a largest value
    that may stand for "not solved" is refused.
    """
    cost = roles["cost"]
    # The worst configuration would win.
    if reading.maximise is None and (SCORES | SUCCESSES) & set(plain_name(cost).split("_")):
        raise InputError(
            f"The column {cost!r:.60} looks like a score. Give --maximise if larger is better, "
            "--no-maximise if smaller is."
        )
    renamed = [f"{name} is the {role}" for role, name in roles.items() if name.lower() != role]
    caveats = [Caveat("columns", f"Columns: {', '.join(renamed)}.")] if renamed else []
    if "configuration" not in roles and len(table) > len(roles):
        sentence = f"No column names configurations: all runs count as one, {name:.60}."
        caveats.append(Caveat("columns", sentence))
    column = {role: table[theirs] for role, theirs in roles.items()}
    values = numbers(column["cost"], cost)
    statuses = np.full(values.size, NO_STATUS, dtype=np.int8)
    if "status" in roles:
        statuses, unsolved = _statuses(column["status"], roles["status"])
        caveats += count_caveats("timeouts", "Counted as timeouts", {"run not solved": unsolved})
    values[statuses == UNFINISHED] = np.nan
    if (wrong := np.flatnonzero((statuses == Status.SOLVED) & ~np.isfinite(values))).size:
        raise InputError(
            f"Row {wrong[0] + 1} is solved and has no cost. Fill it in, or change the status."
        )
    empty = np.isnan(values)
    if empty.any() and "status" not in roles:
        if reading.cutoff is None:
            row = int(np.argmax(empty))
            where = [column[role][row] for role in NEEDED[:2] if role in roles]
            raise InputError(
                f"{int(empty.sum()):,} of {counted(empty.size, 'run')} have no cost, the first is "
                f"{' on '.join(where):.120}. If they timed out, give the cutoff in seconds: "
                "--cutoff. If they were never made, leave them out of a table with a row for every "
                "run."
            )
        without = {"run without a cost": int(empty.sum())}
        caveats += count_caveats("timeouts", "Counted as timeouts", without)
        statuses[empty] = Status.TIMEOUT
    _check_failures(values, statuses, reading)
    if "status" not in roles:
        caveats += _marked(values, reading, strict=strict)
    configurations, instances = (
        check_names(column[role], roles[role]) if role in roles else [name] * values.size
        for role in NEEDED[:2]
    )
    runs, seeds = (
        wholes(column[role], roles[role], role) if role in roles else None
        for role in ("run", "seed")
    )
    if runs is None and seeds is None:
        made = ~np.isnan(values) | (statuses > NO_STATUS)
        pairs = itertools.compress(zip(configurations, instances, strict=True), made.tolist())
        again = int(made.sum()) - len(set(pairs))
        reason = "row repeating the configuration and instance of another"
        caveats += count_caveats("repeated", "Counted as further runs, in order", {reason: again})
    families = None
    if "family" in roles:
        families = _families(instances, column["family"], roles["family"])
    return log_of(
        reading,
        configurations=configurations,
        instances=instances,
        values=values,
        statuses=statuses,
        runs=runs,
        seeds=seeds,
        families=families,
        score="" if not reading.maximise else "score" if cost == "cost" else cost,
        caveats=caveats,
    )


def _statuses(words: Column, name: str) -> tuple[StatusArray, int]:
    """How runs ended, and how many were merely not solved."""
    unsolved = 0
    if plain_name(name) in ("solved", "success"):
        words = [SOLVED.get(word.lower(), word) for word in words]
        unsolved = words.count("timeout")
    try:
        return statuses_of(words), unsolved
    except InputError as error:
        raise InputError(f"{error} If {name:.60} is no status: --columns status=.") from None


def _check_failures(values: FloatArray, statuses: StatusArray, reading: Reading) -> None:
    """Refuse failed runs that would look better than solved ones: a crash after 0.01 s wins."""
    solved = values[statuses == Status.SOLVED]
    failed = values[(statuses > Status.SOLVED) & (statuses != Status.CENSORED)]
    scaled = (reading.cutoff, reading.low, reading.high) != (None, None, None)
    if scaled or not solved.size or np.isnan(failed).all():
        return
    best, worst = (np.nanmax, np.nanmin) if reading.maximise else (np.nanmin, np.nanmax)
    cheapest, dearest = float(best(failed)), float(worst(solved))
    if cheapest > dearest if reading.maximise else cheapest < dearest:
        way = "If these are running times, give the cutoff in seconds: --cutoff. If"
        raise InputError(
            f"A failed run has {cheapest:g}, and a solved one {dearest:g}. "
            f"{'If' if reading.maximise else way} that is right, give the least and the most "
            "there can be: --low and --high."
        )


def _families(instances: Column, labels: Column, column: str) -> dict[str, str]:
    """The family of each instance."""
    families: dict[str, str] = {}
    for instance, label in zip(instances, labels, strict=True):
        if not label or families.setdefault(instance, label) != label:
            problem = "several families" if label else "no family"
            raise InputError(
                f"Instance {instance!r:.60} has {problem} in the column {column!r:.60}. Give "
                "it one, or say that the column is none: --columns family=."
            )
    return families


def _marked(values: FloatArray, reading: Reading, *, strict: bool) -> list[Caveat]:
    """A caveat on a value that may stand for "not solved", where nothing says what costs mean."""
    options = (reading.cutoff, reading.par, reading.low, reading.high, reading.maximise)
    different, numbers = np.unique(values[np.isfinite(values)], return_counts=True)
    total = int(numbers.sum())
    if options != (None,) * 5 or total < MARKED_RUNS or different.size < 2:
        return []
    # One negative whole number among costs that are not negative: -1 for a run without a cost.
    negative = bool(different[0] < 0 <= different[1] and different[0] % 1 == 0)
    value, number = (part[0 if negative else -1].item() for part in (different, numbers))
    frequent = number >= max(MARKED_RUNS, MARKED * total)
    apart = value >= GAP * different[-2] or number >= TIMES * numbers[:-1].max()
    if not negative and not (frequent and apart):
        return []
    way, end = f"give --cutoff {value:g} --par 1, or --cutoff {value / 2:g} --par 2", "--high"
    if negative:
        way, end = "leave these cells empty and give --cutoff", "--low"
    sentence = (
        f"{counted(number, 'run')} cost{'s' if number == 1 else ''} {value:g}. If that means not "
        f"solved, {way}."
    )
    # Negative, it would be the best of all.
    if strict or negative:
        raise InputError(f"{sentence} If it is a cost like others, give {end} {value:g}.")
    return [Caveat("unsolved", sentence)]
