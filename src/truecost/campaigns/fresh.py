"""Instances that a log has no runs on."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from truecost.errors import InputError, counted
from truecost.journal.journal import FAMILY
from truecost.matrix.instances import path_ends, path_parts
from truecost.matrix.log import Log
from truecost.running.instances import matching
from truecost.runs import Instance

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario


def find_instances(
    scenario: "Scenario", wanted: str | Sequence[Instance] | None, patterns: Sequence[str] = ()
) -> tuple[list[Instance], dict[str, Instance]]:
    """The instances that are asked for, and all that are at hand, by name.

    `wanted`: a pattern of files, instances, or None for those of the recorded `patterns`, else the
    scenario's.
    """
    earlier: list[Instance] = []
    for pattern in patterns:
        with suppress(InputError):  # the caller says which instance is missing
            earlier += matching(pattern, Path.cwd())
    if isinstance(wanted, str):
        chosen = matching(wanted, Path.cwd())
    elif wanted is None:
        chosen = earlier or list(scenario.instances)
    else:
        chosen = list(wanted)
    return chosen, {one.name: one for one in (*scenario.instances, *earlier, *chosen)}


def used_by(scenario: "Scenario", logs: Sequence[Log]) -> dict[str, str | None]:
    """The instances that logs have runs on, with their families where these are known."""
    listed = {one.name: one.extras.get(FAMILY) for one in scenario.instances}
    used: dict[str, str | None] = {}
    for matrix in (matrix for log in logs for matrix in (log.runs, log.test)):
        if matrix is not None:
            families = matrix.families or map(listed.get, matrix.instances)
            used |= zip(matrix.instances, families, strict=True)
    return used


def fresh_instances(
    scenario: "Scenario",
    used: Mapping[str, str | None],
    candidates: Sequence[Instance],
    sampled: str,
    tested: Sequence[Instance] = (),
) -> list[Instance]:
    """The candidates that the log has no runs on, after those that were tested on before."""
    names = {one.name for one in tested}
    fresh = [one for one in candidates if one.name not in names]
    fresh = _unseen(fresh, used, [Path.cwd(), scenario.folder])
    if sampled == "family":
        if not all(used.values()):
            raise InputError(
                "The families of the log's instances are not known. Name them with --families."
            )
        # A family that was tested on must not grow after its costs were seen.
        closed = {*used.values(), *(one.extras.get(FAMILY) for one in tested)}
        fresh = [one for one in fresh if one.extras.get(FAMILY) not in closed]
    if not fresh and not tested:
        families = "the families of " if sampled == "family" else ""
        raise InputError(
            f"The log has runs on {families}all {counted(len(candidates), 'instance')}. Name new "
            "ones, for example --instances 'new/*'."
        )
    return distinct([*tested, *fresh])


def _unseen(
    candidates: Sequence[Instance], names: Iterable[str], folders: Sequence[Path]
) -> list[Instance]:
    """The instances without runs: by name, end of the path, and content where files are here."""
    names = set(names)
    parts = set(map(path_parts, names))
    # Names of logs need not be names of files.
    places = (os.path.join(folder, name) for name in names for folder in folders)  # noqa: PTH118
    files = {Path(place) for place in places if os.path.isfile(place)}  # noqa: PTH113
    sizes = {path.stat().st_size for path in files}

    def digest(path: Path) -> str:
        return Instance(name=path.name, argument=str(path), extras={}).digest()

    @cache
    def contents() -> set[str]:
        return {digest(path) for path in files}

    def seen(instance: Instance) -> bool:
        if instance.name in names or not instance.is_file:
            return instance.name in names
        path = Path(instance.argument).resolve()
        if not parts.isdisjoint(path_ends(str(path))):
            return True
        # Files are read only where one of the same size was used.
        return path.exists() and path.stat().st_size in sizes and digest(path) in contents()

    return [instance for instance in candidates if not seen(instance)]


def distinct(instances: Iterable[Instance]) -> list[Instance]:
    """Each instance once: files with the same content and columns are one, under the first name.

    Otherwise it would be two units that always agree, or be trained on and tested on.
    """
    instances = list(instances)
    sizes = Counter(map(_size, instances))
    kept: dict[object, Instance] = {}
    for one in instances:
        key: object = one.name
        # Only files of one size can have the same content: reading all would take long.
        if (size := _size(one)) is not None and sizes[size] > 1:
            extras = {name: value for name, value in one.extras.items() if name != FAMILY}
            key = (replace(one, extras=extras).digest(),)
        kept.setdefault(key, one)
    return list(kept.values())


def _size(instance: Instance) -> int | None:
    """The size of its file; None where there is none, which the journal refuses."""
    try:
        return Path(instance.argument).stat().st_size if instance.is_file else None
    except OSError:
        return None
