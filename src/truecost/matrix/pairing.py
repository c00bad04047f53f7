"""Two versions of a solver side by side: their runs on the instances both have."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import NO_SEED, NO_STATUS, Trajectory


def paired(old: Import, new: Import, names: Sequence[str | None], labels: Sequence[str]) -> Import:
    """The runs of one configuration of each log, OLD as the default and NEW as the incumbent.

    Parameters
    ----------
    old, new
        Both with costs of the same metric.
    names
        Which configuration of each; None takes the only one, or a search's incumbent, and
        `"default"` the log's default if no configuration is called so.
    labels
        What the two are called, where they have one name.
    """
    logs = (old, new)
    picked = list(map(_picked, logs, names, labels))
    titles = [name or own for name, own in zip(names, picked, strict=True)]
    # Two versions mostly have one name, and a file each.
    stems = [Path(label).stem for label in labels]
    called = [f"old {titles[0]}", f"new {titles[1]}"]
    called = next((both for both in (titles, stems) if both[0] != both[1]), called)
    low, high = _range(old.matrix, new.matrix, labels)
    others = set(new.matrix.instances)
    common = [name for name in old.matrix.instances if name in others]
    if not common:
        raise InputError(
            f"Expected instances that {labels[0]} and {labels[1]} both have runs on, got none: "
            f"{old.matrix.instances[0]!r} and {new.matrix.instances[0]!r}, for instance."
        )
    rows = [
        log.matrix.select(configurations=[name], instances=common)
        for log, name in zip(logs, picked, strict=True)
    ]
    matrix = CostMatrix(
        _joined([row.costs for row in rows], np.nan),
        called,
        common,
        low,
        high,
        statuses=_joined([row.statuses for row in rows], NO_STATUS),
        seeds=_joined([row.seeds for row in rows], NO_SEED),
        cutoff=rows[0].cutoff,
        utility=rows[0].utility,
        families=rows[0].families or rows[1].families,
    )
    notes = []
    for label, log in zip(called, logs, strict=True):
        if alone := len(log.matrix.instances) - len(common):
            notes.append(f"Instances that only {label} has runs on, left out: {alone:,}.")
    # What holds for both is said once.
    shared = [note for note in old.notes if note in new.notes]
    notes += shared
    for label, log in zip(called, logs, strict=True):
        notes += [f"{label}: {note}" for note in log.notes if note not in shared]
    return Import(
        kind="compared",
        matrix=matrix,
        trajectory=_trajectory(old.trajectory, new.trajectory, called),
        parameters={
            label: log.parameters[name]
            for label, log, name in zip(called, logs, picked, strict=True)
            if name in log.parameters
        },
        notes=tuple(notes),
    )


def _picked(log: Import, name: str | None, label: str) -> str:
    """The configuration that is compared."""
    known = log.matrix.configurations
    if name == "default" and name not in known and log.trajectory.default is not None:
        return log.trajectory.default
    if name is not None:
        log.matrix.select(configurations=[name])  # refuses an unknown name, with the nearest one
        return name
    if len(known) == 1:
        return known[0]
    if log.trajectory.incumbent is not None:
        return log.trajectory.incumbent
    few = ", ".join(known[:5]) + (", …" if len(known) > 5 else "")
    raise InputError(
        f"{label}: expected one configuration, got {len(known)} ({few}): name one, as in "
        f"{label}:{known[0]}."
    )


def _range(old: CostMatrix, new: CostMatrix, labels: Sequence[str]) -> tuple[float, float]:
    """The range of costs, which must be that of one metric."""
    metrics = [(each.cutoff, each.utility) for each in (old, new)]
    if metrics[0] != metrics[1]:
        raise InputError(
            f"Expected costs of one metric in {labels[0]} and {labels[1]}, got cutoff and utility "
            f"{metrics[0]} and {metrics[1]}."
        )
    ends = [(each.low, each.high) for each in (old, new)]
    known = [end for end in ends if np.isfinite(end[1] - end[0])]
    if len(set(known)) == 2:
        raise InputError(
            f"Expected costs of one metric in {labels[0]} and {labels[1]}, got ranges {ends[0]} "
            f"and {ends[1]}: give `low` and `high`."
        )
    # One range known: the other log has the same metric and did not say so.
    return known[0] if known else (-np.inf, np.inf)


def _trajectory(old: Trajectory, new: Trajectory, called: Sequence[str]) -> Trajectory:
    """Where the two come from: fixed beforehand, unless a search tuned one on these instances."""
    tuned = next((each for each in (new, old) if each.proposed == "adaptively"), None)
    if old.maximised != new.maximised:
        raise InputError("Expected two costs or two scores to compare, got one of each.")
    base = Trajectory(tool="truecost compare", proposed="beforehand", raced=False)
    return replace(
        base if tuned is None else replace(tuned, steps=(), watched=None),
        default=called[0],
        incumbent=called[1],
        raced=bool(old.raced or new.raced),
        unfinished=old.unfinished or new.unfinished,
        maximised=new.maximised,
    )


def _joined(rows: Sequence[NDArray[Any] | None], missing: float) -> Any:
    """The runs of both, with room for those of the longer one; None unless both have some."""
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        return None
    most = max(row.shape[2] for row in known)
    pad = [((0, 0), (0, 0), (0, most - row.shape[2])) for row in known]
    cells = [
        np.pad(row, room, constant_values=missing) for row, room in zip(known, pad, strict=True)
    ]
    return np.concatenate(cells)
