"""Which names mean the same instance.

A log, its test runs and the files on disk call an instance `./inst/a`, `inst/a` or `a`. A test
instance under another name is not fresh, and an instance that is in a log twice counts once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from os.path import isfile  # False, too, of what is too long for a path, or has a NUL
from pathlib import Path, PurePosixPath

import numpy as np

from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.imported import Import

TWICE = "on an instance that is there under another name, too"


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


def named_once(log: Import, test: CostMatrix | None) -> tuple[Import, CostMatrix | None]:
    """The same runs with every instance once, under one name: the first it has.

    Names mean the same if they are the same path, or files of the same content, where these are
    there. Test runs on an instance of training get its name.
    """
    own = log.matrix.instances
    others = () if test is None else test.instances
    first = _first_names([*own, *others])
    kept = [name for name in own if first[name] == name]
    if len(kept) < len(own):
        gone = int(log.matrix.counts().sum())
        matrix = log.matrix.select(instances=kept)
        gone -= int(matrix.counts().sum())
        log = replace(log, matrix=matrix, left_out={**log.left_out, TWICE: gone})
    if test is not None and any(first[name] != name for name in others):
        names = [first[name] for name in others]
        places = np.unique(names, return_index=True)[1]
        test = test.select(instances=[others[place] for place in np.sort(places)])
        test = test.replace(instances=tuple(first[name] for name in test.instances))
    return log, test


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
    return {name: first[first[name]] for name in names}


def _digest(path: Path) -> bytes:
    hashed = blake2b(digest_size=16)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            hashed.update(part)
    return hashed.digest()
