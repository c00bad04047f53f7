"""Runs of two logs side by side: two versions of a solver on the instances both have, and which
names mean the same instance.

A log, its test runs and the files on disk call an instance `./inst/a`, `inst/a` or `a`. A test
instance under another name is not fresh, and an instance that is in a log twice counts once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import file_digest
from os.path import isfile  # False, too, of what is too long for a path, or has a NUL
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import NO_SEED, NO_STATUS, Trajectory

TWICE = "on an instance that is there under another name, too"


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
    titles = [name or pick for name, pick in zip(names, picked, strict=True)]
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
    read = [_notes(log) for log in logs]
    shared = [note for note in read[0] if note in read[1]]
    notes += shared
    for label, log_notes in zip(called, read, strict=True):
        notes += [f"{label}: {note}" for note in log_notes if note not in shared]
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


def _notes(log: Import) -> list[str]:
    """What was left out or assumed when a log was read."""
    return [*log.omissions, *log.notes]


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
    metrics = [(matrix.cutoff, matrix.utility) for matrix in (old, new)]
    if metrics[0] != metrics[1]:
        raise InputError(
            f"Expected costs of one metric in {labels[0]} and {labels[1]}, got cutoff and utility "
            f"{metrics[0]} and {metrics[1]}."
        )
    ends = [(matrix.low, matrix.high) for matrix in (old, new)]
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
    tuned = next((log for log in (new, old) if log.proposed == "adaptively"), None)
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
        order_seed=new.order_seed if old.order_seed is None else old.order_seed,
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


def unknown_to(training: Iterable[str], names: Sequence[str]) -> list[str]:
    """The names that mean no instance of training: neither is the end of the other's path.

    `a` may be another file than `inst/a`; where that cannot be told, it counts as known, which
    costs an instance and never a false statement.
    """
    paths = {_parts(name) for name in training}
    # Every end of every path: a name of training may be longer than the other, or shorter.
    ends = {path[-size:] for path in paths for size in range(1, len(path) + 1)}
    return [
        name
        for name in names
        if (path := _parts(name)) not in ends
        and not any(path[-size:] in paths for size in range(1, len(path)))
    ]


def named_once(
    log: Import, test: CostMatrix | Import | None = None
) -> tuple[Import, CostMatrix | Import | None]:
    """Training and test runs, the log's own if no others are given, with every instance once, under
    one name: the first it has.

    Names mean the same if they are the same path, or files of the same content, where these are
    there. Test runs on an instance of training get its name. Runs under other names are counted
    among those left out.
    """
    watcher = test if isinstance(test, Import) else log if test is None else None
    if watcher is not None and watcher.trajectory.watched is not None:
        # `validate` has seen to it that its instances are new.
        return _once(log, None)[0], test
    if test is None:
        log, matrix = _once(log, log.test)
        return replace(log, test=matrix), None
    log, matrix = _once(log, test.matrix if isinstance(test, Import) else test)
    assert matrix is not None  # noqa: S101 - there was one
    return log, replace(test, matrix=matrix) if isinstance(test, Import) else matrix


def _once(log: Import, test: CostMatrix | None) -> tuple[Import, CostMatrix | None]:
    before = _count(log.matrix, test)
    trained = log.matrix.instances
    others = () if test is None else test.instances
    first = _first_names([*trained, *others])
    kept = [name for name in trained if first[name] == name]
    if len(kept) < len(trained):
        log = replace(log, matrix=log.matrix.select(instances=kept))
    if test is not None and any(first[name] != name for name in others):
        names = [first[name] for name in others]
        places = np.unique(names, return_index=True)[1]
        test = test.select(instances=[others[place] for place in np.sort(places)])
        test = test.replace(instances=tuple(first[name] for name in test.instances))
    if gone := before - _count(log.matrix, test):
        log = replace(log, left_out={**log.left_out, TWICE: gone})
    return log, test


def _count(*runs: CostMatrix | None) -> int:
    return sum(int(matrix.counts().sum()) for matrix in runs if matrix is not None)


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a path, without those that lead nowhere."""
    if "/" not in name:
        return (name,)
    return tuple(part for part in PurePosixPath(name).parts if part != ".") or (name,)


def _first_names(names: Sequence[str]) -> dict[str, str]:
    """For each name the first one that means the same instance."""
    by_path: dict[tuple[str, ...], str] = {}
    first = {name: by_path.setdefault(_parts(name), name) for name in names}
    # A Path for each of thousands of names would take most of the time.
    files = {name: Path(name) for name in by_path.values() if isfile(name)}  # noqa: PTH113
    sizes: dict[int, list[str]] = {}
    for name, path in files.items():
        sizes.setdefault(path.stat().st_size, []).append(name)
    # Only files of one size can have the same content: reading all would take long.
    contents: dict[bytes, str] = {}
    for group in sizes.values():
        if len(group) > 1:
            for name in group:
                first[name] = contents.setdefault(_digest(files[name]), name)
    # In two steps: a path leads to its first name, and that to the first of its content.
    return {name: first[first[name]] for name in names}


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return file_digest(file, "blake2b").digest()
