"""One configuration of each of two logs, side by side."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError, counted, did_you_mean
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.instances import unknown_to
from truecost.matrix.log import Log, Plan
from truecost.runs import NO_SEED, NO_STATUS, Caveat

LABELS: Final = ("OLD", "NEW")
# How many configurations a message lists.
LISTED = 5


def pair_logs(
    old: Log, new: Log, names: Sequence[str | None] = (None, None), *, common: bool = False
) -> Log:
    """Put one configuration of each log side by side: OLD as the default, NEW as the incumbent.

    Test runs are compared where both logs have some, else the training runs.

    Parameters
    ----------
    old, new
        Both with costs of the same metric.
    names
        Which configuration of each; None takes the only one, or the tool's choice, and `"default"`
        the log's default.
    common
        Compare what both have. Otherwise instances that one of them lacks are an error: the runs
        that are missing may be the ones that failed.
    """
    logs = (old, new)
    if old.maximised != new.maximised:
        raise InputError(
            "OLD has costs and NEW scores, or the other way. Read both with or without --maximise."
        )
    picked = [_picked(*side) for side in zip(logs, names, LABELS, strict=True)]
    tests = [_fresh_tests(log, name) for log, name in zip(logs, picked, strict=True)]
    tables = [test for test in tests if test is not None]
    tested = len(tables) == len(logs)
    if not tested:
        tables = [log.runs for log in logs]
    low, high = _range(tables)
    rows = [table.select(name) for table, name in zip(tables, picked, strict=True)]
    numbers = [_runs_by_instance(row) for row in rows]
    shared = _shared(rows, numbers, common=common)
    rows = [row.select(instances=shared) for row in rows]
    titles = [name or pick for name, pick in zip(names, picked, strict=True)]
    if titles[0] == titles[1]:
        titles = list(LABELS)
    tuned = [log.adaptive and name != log.default for log, name in zip(logs, picked, strict=True)]
    caveats = [*old.caveats, *new.caveats]
    if gone := sum(len(side) - len(shared) for side in numbers):
        sentence = f"{counted(gone, 'instance')} left out: only one of the two was run there."
        caveats.append(Caveat("common", sentence))
    # Two versions are two configurations; of a longer list these runs may have chosen one.
    lengths = [
        int(log.runs.counts().any(axis=1).sum())
        for log, name in zip(logs, picked, strict=True)
        if name != log.default
    ]
    if not tested and any(tuned):
        sentence = "One of the two was tuned on these instances, so the comparison favours it."
        caveats.append(Caveat("tuned", sentence))
    elif not tested and max(lengths, default=0) > len(logs):
        sentence = (
            "The guarantees hold only if these runs did not choose one of the two among "
            f"{counted(max(lengths), 'configuration')}."
        )
        caveats.append(Caveat("picked", sentence))
    return Log(
        runs=CostMatrix(
            _joined([row.costs for row in rows], np.nan),
            titles,
            shared,
            low,
            high,
            statuses=_joined(_statuses(rows), NO_STATUS),
            seeds=_joined([row.seeds for row in rows], NO_SEED),
            cutoff=rows[0].cutoff,
            par=rows[0].par,
            families=rows[0].families or rows[1].families,
        ),
        tool="truecost compare",
        default=titles[0],
        incumbent=titles[1],
        parameters={
            title: log.parameters[name]
            for title, log, name in zip(titles, logs, picked, strict=True)
            if name in log.parameters
        },
        adaptive=not tested and any(tuned),
        listed=1,
        plan=_plan([log.test_plan if tested else log.plan for log in logs]),
        cost_unit=new.cost_unit or old.cost_unit,
        maximised=new.maximised,
        caveats=tuple(dict.fromkeys(caveats)),
    )


def _picked(log: Log, name: str | None, label: str) -> str:
    """The configuration that is compared."""
    runs = log.runs.configurations
    known = dict.fromkeys(runs if log.test is None else (*runs, *log.test.configurations))
    few = ", ".join(list(known)[:LISTED]) + (", …" if len(known) > LISTED else "")
    if name == "default" and name not in known and log.default is not None:
        return log.default
    if name is not None and name not in known:
        hint = did_you_mean(name, known) or f" It has: {few}."
        raise InputError(f"{label} has no configuration {name!r}.{hint}")
    name = name or (runs[0] if len(runs) == 1 else log.incumbent)
    if name is None:
        raise InputError(
            f"{label} has {len(runs)} configurations ({few}). Name one, as in {label}:{runs[0]}."
        )
    return name


def _fresh_tests(log: Log, name: str) -> CostMatrix | None:
    """The test runs of a configuration, if any; of a tuned one on fresh instances only."""
    if log.test is None or name not in log.test.configurations:
        return None
    if not log.adaptive or name == log.default or log.test_plan is not None:
        return log.test
    new = unknown_to(log.runs.instances, log.test.instances)
    return log.test.select(instances=new) if new else None


def _plan(plans: Sequence[Plan | None]) -> Plan | None:
    """The plan of the runs, for another question. A validation ends when its runs prove something:
    taken as one look, they would prove too much.
    """
    known = [plan for plan in plans if plan is not None]
    watched = [plan for plan in known if plan.watched]
    if not known:
        return None
    plan = (watched or known)[0]
    return Plan(
        order=plan.order,
        planned=plan.planned,
        runs=plan.runs,
        share=plan.share,
        sampled=plan.sampled,
        watched=plan.watched,
    )


def _range(tables: Sequence[CostMatrix]) -> tuple[float, float]:
    """The range of costs, which must be that of one metric."""
    metrics = [(table.cutoff, table.par) for table in tables]
    if metrics[0] != metrics[1]:
        old, new = (
            "no cutoff" if cutoff is None else f"{cutoff:g} s at PAR{par or 1:g}"
            for cutoff, par in metrics
        )
        raise InputError(
            f"OLD and NEW have different cutoffs or penalties: {old}, and {new}. Read both with "
            "the same --cutoff and --par."
        )
    ranges = [(table.low, table.high) for table in tables]
    # Where one range is known, the other log has the same metric and did not say so.
    known = {ends for ends in ranges if math.isfinite(ends[1] - ends[0])}
    if len(known) == 2:
        raise InputError(
            f"OLD and NEW have different ranges of costs: {ranges[0]} and {ranges[1]}. Give --low "
            "and --high."
        )
    return known.pop() if known else (-math.inf, math.inf)


def _runs_by_instance(row: CostMatrix) -> dict[str, int]:
    """How many runs there are on each instance that has some."""
    numbers = zip(row.instances, row.counts()[0].tolist(), strict=True)
    return {instance: number for instance, number in numbers if number}


def _shared(
    rows: Sequence[CostMatrix], numbers: Sequence[Mapping[str, int]], *, common: bool
) -> list[str]:
    """The instances of both; raises if one side lacks runs, unless only common ones are wanted."""
    old, new = numbers
    shared = [name for name in old if name in new]
    if not shared:
        raise InputError(
            f"OLD and NEW have no instance in common: {rows[0].instances[0]!r} and "
            f"{rows[1].instances[0]!r}, for instance. Run both on the same instances."
        )
    if common:
        return shared
    for fewer, more, label, other in ((new, old, "NEW", "OLD"), (old, new, "OLD", "NEW")):
        if lacking := [name for name in more if name not in fewer]:
            raise InputError(
                f"{label} lacks {counted(len(lacking), 'instance')} of {other}, {lacking[0]!r} for "
                "instance. Run it on them, or compare what both have with --common."
            )
        if lacking := [name for name in shared if fewer[name] < more[name]]:
            raise InputError(
                f"{label} has fewer runs than {other} on {lacking[0]!r} ({fewer[lacking[0]]} and "
                f"{more[lacking[0]]}). Add them, or compare what both have with --common."
            )
    return shared


def _statuses(rows: Sequence[CostMatrix]) -> list[NDArray[np.int8] | None]:
    """The statuses of both. One log may know none: what the other knows of caps must not go."""
    if any(row.censored.any() for row in rows):
        unknown = [np.full(row.shape, NO_STATUS, np.int8) for row in rows]
        return [
            empty if row.statuses is None else row.statuses
            for row, empty in zip(rows, unknown, strict=True)
        ]
    return [row.statuses for row in rows]


def _joined(rows: Sequence[NDArray[Any] | None], missing: float) -> Any:
    """The runs of both, with room for those of the longer one; None unless both have some."""
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        return None
    most = max(row.shape[2] for row in known)
    return np.concatenate(
        [
            np.pad(row, ((0, 0), (0, 0), (0, most - row.shape[2])), constant_values=missing)
            for row in known
        ]
    )
