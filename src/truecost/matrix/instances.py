"""Which names mean the same instance.

A log, its test runs and the files on disk call an instance `./inst/a`, `inst/a` or `a`. A test
instance that has another name in training is not fresh, and an instance that has two names in a log
counts once.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import file_digest
from os.path import isfile  # False, too, of what is too long for a path, or has a NUL
from pathlib import Path, PurePosixPath

from truecost.errors import counted
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log
from truecost.runs import Caveat

Parts = tuple[str, ...]


def path_parts(name: str) -> Parts:
    """The parts of a path, without those that lead nowhere."""
    return PurePosixPath(name).parts or (name,)


def path_ends(name: str) -> list[Parts]:
    """Every end of a path, the whole path first and its last part last."""
    parts = path_parts(name)
    return [parts[start:] for start in range(len(parts))]


def unknown_to(training: Iterable[str], names: Sequence[str]) -> list[str]:
    """The names that mean no instance of training, under no other folder either.

    Two paths mean the same instance if they end in the same parts: as many as tell the instances of
    one log apart, mostly the file name. `test/1.cnf` may be another file than `train/1.cnf`; unless
    both are there and differ, it counts as known, which costs an instance and never a false
    statement.
    """
    trained = {path_parts(name): name for name in training}
    tested = {path_parts(name): name for name in names}
    longest = max(map(len, [*trained, *tested]), default=1)
    size = next(
        (
            size
            for size in range(1, longest)
            if all(len({path[-size:] for path in log}) == len(log) for log in (trained, tested))
        ),
        longest,
    )
    namesakes = {path[-size:]: name for path, name in trained.items()}
    # A name of training may be longer than the other, or shorter.
    ends = {end for name in trained.values() for end in path_ends(name)}
    return [
        name
        for path, name in tested.items()
        if path not in ends
        and trained.keys().isdisjoint(path_ends(name))
        and (path[-size:] not in namesakes or _differ(namesakes[path[-size:]], name))
    ]


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
    parts = {}
    # The runs of a validation without a log are those of its test.
    if log.plan is None and log.runs is not log.test:
        parts["runs"] = log.runs
    if log.test is not None and log.test_plan is None:
        parts["test"] = log.test
    first = _first_names([name for part in parts.values() for name in part.instances])
    once = {what: _once(part, first) for what, part in parts.items()}
    if once == parts:
        return log
    gone = sum(len(part.instances) - len(once[what].instances) for what, part in parts.items())
    sentence = (
        f"{counted(gone, 'instance')} left out: there under another name, too (the same path or "
        "content)."
    )
    caveats = (*log.caveats, Caveat("twice", sentence)) if gone else log.caveats
    return log.replace(**once, caveats=caveats)


def _once(matrix: CostMatrix, first: Mapping[str, str]) -> CostMatrix:
    """The matrix with each instance once, under its first name."""
    kept: dict[str, str] = {}
    for name in matrix.instances:
        kept.setdefault(first[name], name)
    if tuple(kept) == matrix.instances:
        return matrix
    return matrix.select(instances=kept.values()).replace(instances=kept)


def _first_names(names: Sequence[str]) -> dict[str, str]:
    """For each name the first one that means the same instance."""
    by_path: dict[Parts, str] = {}
    first = {name: by_path.setdefault(path_parts(name), name) for name in names}
    sizes: dict[int, list[str]] = {}
    for name in by_path.values():
        if isfile(name):  # noqa: PTH113
            sizes.setdefault(Path(name).stat().st_size, []).append(name)
    # Only files of one size can have the same content: reading all would take long.
    contents: dict[bytes, str] = {}
    for group in sizes.values():
        if len(group) > 1:
            for name in group:
                first[name] = contents.setdefault(_digest(Path(name)), name)
    # In two steps: a path leads to its first name, and that to the first of its content.
    return {name: first[first[name]] for name in names}


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return file_digest(file, "blake2b").digest()
