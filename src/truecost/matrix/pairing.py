"""Two logs side by side, and which names mean the same instance.

A log, its test runs and the files on disk call an instance `./inst/a`, `inst/a` or `a`. A test
instance under another name is not fresh, and an instance that is in a log twice counts once.
"""

from collections.abc import Iterable, Sequence
from hashlib import file_digest
from os.path import isfile  # False, too, of what is too long for a path, or has a NUL
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError, counted, did_you_mean
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log
from truecost.runs import NO_SEED, NO_STATUS, Caveat


def pair_logs(
    old: Log,
    new: Log,
    names: Sequence[str | None] = (None, None),
    labels: Sequence[str] = ("OLD", "NEW"),
    *,
    common: bool = False,
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
    labels
        What the logs are called in messages.
    common
        Compare what both have. Otherwise instances that one of them lacks are an error: the runs
        that are missing may be the ones that failed.
    """
    logs = (old, new)
    picked = [_picked(*each) for each in zip(logs, names, labels, strict=True)]
    tests = [_tests(log, name) for log, name in zip(logs, picked, strict=True)]
    tested = None not in tests
    tables = [
        log.runs if test is None or not tested else test
        for log, test in zip(logs, tests, strict=True)
    ]
    if old.maximised != new.maximised:
        raise InputError(
            f"{labels[0]} has costs and {labels[1]} scores, or the other way. Read both with or "
            "without --maximise."
        )
    low, high = _range(tables, labels)
    rows = [
        _with_runs(table.select(configurations=[name]))
        for table, name in zip(tables, picked, strict=True)
    ]
    shared = _shared(rows, labels, common=common)
    pair = [row.select(instances=shared) for row in rows]
    called = _called(names, picked, labels)
    matrix = CostMatrix(
        _joined([row.costs for row in pair], np.nan),
        called,
        shared,
        low,
        high,
        statuses=_joined(_statuses(pair), NO_STATUS),
        seeds=_joined([row.seeds for row in pair], NO_SEED),
        cutoff=pair[0].cutoff,
        par=pair[0].par,
        families=pair[0].families or pair[1].families,
    )
    tuned = not tested and any(
        log.adaptive and name != log.default for log, name in zip(logs, picked, strict=True)
    )
    caveats = dict.fromkeys([*old.caveats, *new.caveats])
    if gone := sum(len(set(row.instances) - set(shared)) for row in rows):
        sentence = f"{counted(gone, 'instance')} left out: only one of the two was run there."
        caveats[Caveat("common", sentence)] = None
    if tuned:
        sentence = "One of the two was tuned on these instances, so the comparison favours it."
        caveats[Caveat("tuned", sentence)] = None
    # Two versions are two configurations; of a longer list these runs may have chosen one.
    chosen_from = max(
        0 if tested or name == log.default else int(log.runs.counts().any(axis=1).sum())
        for log, name in zip(logs, picked, strict=True)
    )
    if chosen_from > len(logs) and not tuned:
        sentence = (
            "The guarantees hold only if these runs did not choose one of the two among "
            f"{counted(chosen_from, 'configuration')}."
        )
        caveats[Caveat("picked", sentence)] = None
    return Log(
        runs=matrix,
        tool="truecost compare",
        default=called[0],
        incumbent=called[1],
        parameters={
            title: log.parameters[name]
            for title, log, name in zip(called, logs, picked, strict=True)
            if name in log.parameters
        },
        adaptive=tuned,
        listed=1,
        cost_unit=new.cost_unit or old.cost_unit,
        maximised=new.maximised,
        caveats=tuple(caveats),
    )


def _tests(log: Log, name: str) -> CostMatrix | None:
    """The test runs of a configuration, if any; of a tuned one on fresh instances only."""
    if log.test is None or name not in log.test.configurations:
        return None
    if not log.adaptive or name == log.default or log.test_plan is not None:
        return log.test
    new = unknown_to(log.runs.instances, log.test.instances)
    return log.test.select(instances=new) if new else None


def _with_runs(row: CostMatrix) -> CostMatrix:
    """The instances on which the configuration was run."""
    run = (row.counts() > 0)[0]
    return row.select(
        instances=[name for name, there in zip(row.instances, run, strict=True) if there]
    )


def _shared(rows: Sequence[CostMatrix], labels: Sequence[str], *, common: bool) -> list[str]:
    """The instances of both."""
    first, second = (row.instances for row in rows)
    others = set(second)
    shared = [name for name in first if name in others]
    if not shared:
        raise InputError(
            f"{labels[0]} and {labels[1]} have no instance in common: {first[0]!r} and "
            f"{second[0]!r}, for instance. Run both on the same instances."
        )
    if common:
        return shared
    for place, row in enumerate(rows):
        if alone := [name for name in row.instances if name not in set(shared)]:
            raise InputError(
                f"{labels[1 - place]} lacks {counted(len(alone), 'instance')} of {labels[place]}, "
                f"{alone[0]!r} for instance. Run it on them, or compare what both have with "
                "--common."
            )
    old, new = (row.select(instances=shared).counts()[0] for row in rows)
    if (old != new).any():
        worst = int(np.flatnonzero(old != new)[0])
        fewer, more = (labels[0], labels[1]) if old[worst] < new[worst] else labels[::-1]
        raise InputError(
            f"{fewer} has fewer runs than {more} on {shared[worst]!r} ({old[worst]} and "
            f"{new[worst]}). Add the missing runs, or compare what both have with --common."
        )
    return shared


def _called(
    names: Sequence[str | None], picked: Sequence[str], labels: Sequence[str]
) -> tuple[str, str]:
    """Names that tell the two apart: two versions mostly have one name, and a file each."""
    titles = [name or pick for name, pick in zip(names, picked, strict=True)]
    stems = [Path(label).stem for label in labels]
    for both in (titles, stems):
        if both[0] != both[1]:
            return both[0], both[1]
    return f"old {titles[0]}", f"new {titles[1]}"


def _picked(log: Log, name: str | None, label: str) -> str:
    """The configuration that is compared."""
    known = log.runs.configurations
    everything = known if log.test is None else (*known, *log.test.configurations)
    if name == "default" and name not in everything and log.default is not None:
        return log.default
    if name is not None:
        if name not in everything:
            near = did_you_mean(name, everything) or f" It has {', '.join(everything[:5])}"
            end = "" if near.endswith("?") else ", …" if len(everything) > 5 else "."
            raise InputError(f"{label} has no configuration {name!r}.{near}{end}")
        return name
    if len(known) == 1:
        return known[0]
    if log.incumbent is not None:
        return log.incumbent
    few = ", ".join(known[:5]) + (", …" if len(known) > 5 else "")
    raise InputError(
        f"{label} has {len(known)} configurations ({few}). Name one, as in {label}:{known[0]}."
    )


def _range(tables: Sequence[CostMatrix], labels: Sequence[str]) -> tuple[float, float]:
    """The range of costs, which must be that of one metric."""
    metrics = [(table.cutoff, table.par) for table in tables]
    if metrics[0] != metrics[1]:
        raise InputError(
            f"{labels[0]} and {labels[1]} have different cutoffs or penalties: {metrics[0]} and "
            f"{metrics[1]}. Read both with the same --cutoff and --par."
        )
    ends = [(table.low, table.high) for table in tables]
    known = [end for end in ends if np.isfinite(end[1] - end[0])]
    if len(set(known)) == 2:
        raise InputError(
            f"{labels[0]} and {labels[1]} have different ranges of costs: {ends[0]} and {ends[1]}. "
            "Give --low and --high."
        )
    # One range known: the other log has the same metric and did not say so.
    return known[0] if known else (-np.inf, np.inf)


def _statuses(rows: Sequence[CostMatrix]) -> list[NDArray[np.int8] | None]:
    """The statuses of both. One log may know none: what the other knows of caps must not go."""
    known = [row.statuses for row in rows]
    if any(row.censored.any() for row in rows):
        unknown = [np.full(row.shape, NO_STATUS, np.int8) for row in rows]
        return [empty if one is None else one for one, empty in zip(known, unknown, strict=True)]
    return known


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
    """The names that mean no instance of training, under no other folder either.

    Two paths mean the same instance if they end in the same parts: as many as tell the instances of
    one log apart, mostly the file name. `test/1.cnf` may be another file than `train/1.cnf`; unless
    both are there and differ, it counts as known, which costs an instance and never a false
    statement.
    """
    trained = {_parts(name): name for name in training}
    tested = {_parts(name): name for name in names}
    longest = max(map(len, [*trained, *tested]), default=1)
    size = next(
        (
            size
            for size in range(1, longest)
            if all(len({path[-size:] for path in log}) == len(log) for log in (trained, tested))
        ),
        longest,
    )
    owners: dict[tuple[str, ...], str] = {path[-size:]: name for path, name in trained.items()}
    # Every end of every path: a name of training may be longer than the other, or shorter.
    ends = {path[-length:] for path in trained for length in range(1, len(path) + 1)}
    unknown = []
    for path, name in tested.items():
        same_path = path in ends or any(path[-length:] in trained for length in range(1, len(path)))
        owner = owners.get(path[-size:])
        if not same_path and (owner is None or _differ(owner, name)):
            unknown.append(name)
    return unknown


def _differ(one: str, other: str) -> bool:
    """Whether both are files, with different content."""
    if not (isfile(one) and isfile(other)):  # noqa: PTH113
        return False
    return _digest(Path(one)) != _digest(Path(other))


def named_once(log: Log) -> Log:
    """The log with every instance once, under the first name it has.

    Names mean the same if they are the same path, or files of the same content, where these are
    there. Test runs on an instance of training get its name. Journals with a plan have seen to it
    already, and their names are those of the plan.
    """
    # The runs of a validation without a log are those of its test.
    trained = log.runs.instances if log.plan is None and log.runs is not log.test else ()
    others = () if log.test is None or log.test_plan is not None else log.test.instances
    first = _first_names([*trained, *others])
    runs, test, gone = log.runs, log.test, 0
    kept = [name for name in trained if first[name] == name]
    if len(kept) < len(trained):
        runs = runs.select(instances=kept)
        gone += len(trained) - len(kept)
    if test is not None and any(first[name] != name for name in others):
        names = [first[name] for name in others]
        places = np.unique(names, return_index=True)[1]
        test = test.select(instances=[others[place] for place in np.sort(places)])
        test = test.replace(instances=tuple(first[name] for name in test.instances))
        gone += len(others) - len(test.instances)
    if runs is log.runs and test is log.test:
        return log
    caveats = log.caveats
    if gone:
        sentence = (
            f"{counted(gone, 'instance')} left out: there under another name, too (the same path "
            "or content)."
        )
        caveats = (*caveats, Caveat("twice", sentence))
    return log.replace(runs=runs, test=test, caveats=caveats)


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
