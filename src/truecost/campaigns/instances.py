"""The instances of a campaign: those that a log has no runs on, each content once, in random order.

Units are instances, or families of them, which stay together.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from truecost.errors import InputError, counted
from truecost.matrix.instances import path_ends, path_parts
from truecost.matrix.log import Log
from truecost.running.instances import matching
from truecost.runs import FAMILY, Instance

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario

# A pattern of files; or instances, or their files.
Wanted: TypeAlias = str | os.PathLike[str] | Sequence[Instance | str | os.PathLike[str]]


class Pattern(NamedTuple):
    """A pattern of files, and the folder in which it was typed."""

    text: str
    folder: str

    def instances(self) -> list[Instance]:
        """The files it matches there, or in the current folder where the files were moved."""
        with suppress(InputError):
            return matching(self.text, Path(self.folder))
        return matching(self.text, Path.cwd())


class AtHand(NamedTuple):
    """The instances that are asked for, by which pattern, if any; and all there are, by name."""

    chosen: list[Instance]
    pattern: Pattern | None
    named: dict[str, Instance]


def find_instances(
    scenario: "Scenario", wanted: Wanted | None, patterns: Iterable[Pattern] = ()
) -> AtHand:
    """The instances that are asked for: without `wanted` those of the recorded `patterns`, else the
    scenario's.
    """
    pattern = None
    if isinstance(wanted, str | os.PathLike):
        pattern = Pattern(os.fspath(wanted), str(Path.cwd()))
    earlier: list[Instance] = []
    for recorded in patterns:
        with suppress(InputError):  # the caller says which instance is missing
            earlier += recorded.instances()
    if pattern is not None:
        chosen = pattern.instances()
    elif wanted is None:
        chosen = earlier or list(scenario.instances)
    elif isinstance(wanted, Sequence):
        chosen = [_instance(one) for one in wanted]
    else:
        raise InputError(f"{wanted!r:.80} are no instances. Give a pattern of files, or files.")
    arguments: dict[str, str] = {}
    for one in chosen:
        if arguments.setdefault(one.name, one.argument) != one.argument:
            raise InputError(f"Two instances are called {one.name!r:.80}. Rename one of them.")
    named = {one.name: one for one in (*scenario.instances, *earlier, *chosen)}
    return AtHand(chosen, pattern, named)


def _instance(given: object) -> Instance:
    if isinstance(given, Instance):
        return given
    if isinstance(given, str | os.PathLike):
        return Instance(name=os.fspath(given), argument=str(Path(given).resolve()), extras={})
    raise InputError(f"{given!r:.80} is no instance. Give the path of its file.")


def used_by(scenario: "Scenario", logs: Sequence[Log]) -> dict[str, str | None]:
    """The instances that logs have runs on, with their families where these are known.

    Files are also listed by their whole path: names may start at the folder of the log, or of the
    instances, while a later call knows the scenario only.
    """
    listed = {one.name: one.extras.get(FAMILY) for one in scenario.instances}
    used: dict[str, str | None] = {}
    for log in logs:
        for matrix in (log.runs, log.test):
            if matrix is None:
                continue
            families = matrix.families or map(listed.get, matrix.instances)
            for name, family in zip(matrix.instances, families, strict=True):
                used[name] = family
                file = os.path.join(Path(log.path).parent, name)  # noqa: PTH118
                if log.path and os.path.isfile(file):  # noqa: PTH113
                    used[str(Path(file).resolve())] = family
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
    others = [one for one in candidates if one.name not in names]
    fresh = unused_instances(scenario, used, others, sampled)
    if sampled == "family":
        # A family that was tested on must not grow after its costs were seen.
        closed = {one.extras.get(FAMILY) for one in tested}
        fresh = [one for one in fresh if one.extras.get(FAMILY) not in closed]
    if not fresh and not tested:
        families = "the families of " if sampled == "family" else ""
        raise InputError(
            f"The log has runs on {families}all {counted(len(candidates), 'instance')}. Name new "
            "ones, for example --instances 'new/*'."
        )
    return distinct([*tested, *fresh])


def unused_instances(
    scenario: "Scenario",
    used: Mapping[str, str | None],
    candidates: Sequence[Instance],
    sampled: str,
) -> list[Instance]:
    """The candidates that the log has no runs on, nor on others of their families where these are
    sampled.
    """
    unseen = _unseen(scenario, used, candidates)
    if sampled != "family":
        return unseen
    if not all(used.values()):
        raise InputError(
            "The families of the log's instances are not known. Name them with --families."
        )
    return [one for one in unseen if one.extras.get(FAMILY) not in used.values()]


def _unseen(
    scenario: "Scenario", used: Iterable[str], candidates: Sequence[Instance]
) -> list[Instance]:
    """The instances without runs: by name, end of the path, and content where files are here."""
    used = set(used)
    parts = set(map(path_parts, used))

    def is_named(instance: Instance) -> bool:
        if instance.name in used or not instance.is_file:
            return instance.name in used
        return not parts.isdisjoint(path_ends(str(Path(instance.argument).resolve())))

    # Names of logs need not be names of files; the scenario may know where they are.
    folders = (Path.cwd(), scenario.folder)
    places = [os.path.join(folder, name) for name in used for folder in folders]  # noqa: PTH118
    places += [one.argument for one in scenario.instances if one.is_file and is_named(one)]
    files = {Path(place) for place in places if os.path.isfile(place)}  # noqa: PTH113
    sizes = {path.stat().st_size for path in files}

    def digest(path: Path) -> str:
        return Instance(name=path.name, argument=str(path), extras={}).digest()

    @cache
    def contents() -> set[str]:
        return {digest(path) for path in files}

    def is_seen(instance: Instance) -> bool:
        path = Path(instance.argument)
        if is_named(instance) or not instance.is_file or not path.exists():
            return is_named(instance)
        # Files are read only where one of the same size was used.
        return path.stat().st_size in sizes and digest(path) in contents()

    return [instance for instance in candidates if not is_seen(instance)]


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


def draw_order(instances: Sequence[Instance], sampled: str, seed: Sequence[int]) -> list[Instance]:
    """A random order of instances; with families, of whole families."""
    rng = np.random.default_rng(list(seed))
    by_name = sorted(instances, key=lambda instance: instance.name)
    if sampled == "family":
        if missing := [one.name for one in by_name if not one.extras.get(FAMILY)]:
            raise InputError(
                f"Instance {missing[0]!r} has no family. List it with its family under [instances] "
                "in the scenario, or test single instances, without --sampled family."
            )
        by_name.sort(key=lambda instance: instance.extras[FAMILY])
    groups = units_of(by_name, sampled)
    order = []
    for place in rng.permutation(len(groups)):
        order += [by_name[one] for one in rng.permutation(groups[place])]
    return order


def units_of(instances: Sequence[Instance], sampled: str) -> list[list[int]]:
    """The places of the instances of each unit, in order."""
    if sampled != "family":
        return [[place] for place in range(len(instances))]
    units: dict[str, list[int]] = {}
    for place, instance in enumerate(instances):
        units.setdefault(instance.extras[FAMILY], []).append(place)
    return list(units.values())
