"""Who is validated against whom, on which instances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypedDict

from truecost.errors import InputError
from truecost.judge.evidence import incumbent_of
from truecost.matrix.families import FAMILY, FOLDER, families_of
from truecost.matrix.imported import Import
from truecost.running.instances import matching, numbered
from truecost.running.scenario import Scenario
from truecost.runs import Instance
from truecost.space.space import Configuration

Families = str | Path | Mapping[str, str]


class Chosen(TypedDict, total=False):
    """Who is to be validated on what, as the caller says it; the rest follows from the log."""

    instances: str | Sequence[Instance] | None
    configuration: str | None
    default: str | None
    families: Families | None


class Contestant(NamedTuple):
    """A configuration, and what its log calls it."""

    name: str
    configuration: Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Who is validated, against whom, on what: settled before any run.

    Attributes
    ----------
    winner, default
        The two.
    instances
        Those to run on, in the order of use: fresh ones, each family's together where families are
        sampled; for statements about these instances all of them.
    used
        How many were left out, since the log has runs on them or on their families.
    trained
        Where families are sampled: the family of each instance of the log.
    """

    winner: Contestant
    default: Contestant
    instances: tuple[Instance, ...]
    used: int
    trained: tuple[str, ...] | None = None


def entry_of(
    log: Import,
    scenario: Scenario,
    *,
    instances: str | Sequence[Instance] | None = None,
    configuration: str | None = None,
    default: str | None = None,
    sampled: str | None = None,
    about: str | None = None,
    families: Families | None = None,
) -> Entry:
    """Who is validated against whom, on which instances, or why that cannot be.

    Parameters are those of `truecost.validate`.
    """
    winner, rival = contestants_of(log, scenario, configuration=configuration, default=default)
    given = numbered(matching(instances, Path.cwd())) if isinstance(instances, str) else instances
    candidates: Sequence[Instance] = scenario.instances
    if given is not None:
        # In a random order: bets on instances sorted by size would not hold.
        candidates = sorted(given, key=scenario.order)
    fresh = list(candidates)
    if about != "these":
        fresh = unseen(candidates, log, [Path.cwd(), scenario.folder])
    trained = None
    if sampled == "family":
        fresh, trained = _labelled(log, fresh, families)
        by_family = replace(scenario, families=True).order
        # Families that judged a search were seen, too, if families is what it held out.
        seen = {*trained, *((None if log.test is None else log.test.families) or ())}
        fresh = sorted(
            (instance for instance in fresh if instance.extras[FAMILY] not in seen),
            key=by_family,
        )
    if not fresh:
        raise InputError(
            f"expected `instances` that the search never saw, got {len(candidates):,} and all of "
            f"them are {'of families ' if sampled == 'family' else ''}in the log."
        )
    used = len(candidates) - len(fresh)
    return Entry(winner=winner, default=rival, instances=tuple(fresh), used=used, trained=trained)


def _labelled(
    log: Import, fresh: Sequence[Instance], families: Families | None
) -> tuple[list[Instance], tuple[str, ...]]:
    """The instances, each with its family, and the family of each instance of the log."""
    if families is None:
        if not all(FAMILY in instance.extras for instance in fresh) or log.matrix.families is None:
            raise InputError(
                "expected the `families` of the instances, of the log's and of those to run on: a "
                "csv file with instance and family, 'folder', or a regular expression over the "
                "names."
            )
        return list(fresh), log.matrix.families
    labels = families_of([instance.name for instance in fresh], families)
    pairs = zip(fresh, labels, strict=True)
    named = [
        replace(instance, extras={**instance.extras, FAMILY: label}) for instance, label in pairs
    ]
    used = log.matrix.instances
    if families == FOLDER and len({Path(name).parent for name in used}) == 1:
        return named, tuple(Path(name).parent.name or "." for name in used)
    return named, families_of(used, families)


def contestants_of(
    log: Import,
    scenario: Scenario,
    *,
    configuration: str | None = None,
    default: str | None = None,
) -> tuple[Contestant, Contestant]:
    """The winner and what it is compared with: as named, else the log's, else the scenario's
    default.
    """
    trajectory = log.trajectory
    name = configuration or incumbent_of(log.matrix, trajectory)
    winner = Contestant(name, _configuration(log, scenario, name))
    against = default or trajectory.default
    if against is None:
        scenario.refuse_without_default()
    rival = (
        Contestant("default", scenario.space.default())
        if against is None
        else Contestant(against, _configuration(log, scenario, against))
    )
    if winner.configuration.name == rival.configuration.name:
        raise InputError(
            f"expected a winner that differs from the default, got {name!r}, which has the same "
            "parameters."
        )
    return winner, rival


def _configuration(log: Import, scenario: Scenario, name: str) -> Configuration:
    if name not in log.parameters:
        if log.parameters or name not in log.matrix.configurations:
            raise InputError(f"expected the name of a configuration of the log, got {name!r:.80}.")
        raise InputError(
            f"expected the parameters of configuration {name!r:.80}, and what was read has none: "
            "take the log itself."
        )
    try:
        # Of several searches, names begin with that of the search.
        label = name.rpartition(":")[2]
        return replace(scenario.space.configuration_of(log.parameters[name]), label=label)
    except InputError as error:
        raise InputError(
            f"configuration {name!r:.80} of the log and the space of {scenario.path}: {error}"
        ) from error


def unseen(candidates: Sequence[Instance], log: Import, folders: Sequence[Path]) -> list[Instance]:
    """The instances the log has no runs on: by name, by the end of their path, and by content where
    its files are here.
    """
    names = {*log.matrix.instances, *(() if log.test is None else log.test.instances)}
    ends = {Path(name).parts for name in names if not Path(name).is_absolute()}
    longest = max(map(len, ends), default=0)
    files = {path for name in names for folder in folders if (path := folder / name).is_file()}
    sizes = {path.stat().st_size: path for path in files}
    used = {path.resolve() for path in files}
    contents: set[str] = set()
    if any(
        instance.is_file
        and instance.recipe is None
        and Path(instance.argument).stat().st_size in sizes
        for instance in candidates
    ):
        contents = {_digest(path) for path in files}

    def seen(instance: Instance) -> bool:
        if instance.name in names or instance.recipe is not None or not instance.is_file:
            return instance.name in names
        path = Path(instance.argument).resolve()
        if path in used or any(path.parts[-size:] in ends for size in range(1, longest + 1)):
            return True
        return path.stat().st_size in sizes and _digest(path) in contents

    return [instance for instance in candidates if not seen(instance)]


def _digest(path: Path) -> str:
    return Instance(name=path.name, argument=str(path), extras={}).digest()
