"""Who is tested, and on which instances that the log has no runs on."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.errors import InputError, counted, did_you_mean, prefixed
from truecost.journal.journal import FAMILY
from truecost.matrix.log import Log
from truecost.running.instances import matching
from truecost.runs import Instance

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario
    from truecost.space.space import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestants:
    """The candidates and the default; `names` has the name of each in the logs."""

    candidates: "tuple[Configuration, ...]"
    default: "Configuration"
    names: Mapping[str, str]

    @property
    def both(self) -> "tuple[Configuration, ...]":
        """All of them, the default last."""
        return (*self.candidates, self.default)


def contestants_of(
    scenario: "Scenario",
    logs: Sequence[Log],
    configurations: Sequence[Any],
    default: str | None,
) -> Contestants:
    """The candidates: of each log the named one, else its winner; or configurations themselves.

    The default: as named, else the log's, else the scenario's.
    """
    rival_name, rival = _default(scenario, logs, default)
    names = [name for name in configurations if isinstance(name, str)]
    given = [_given(scenario, item) for item in configurations if not logs or item not in names]
    chosen = [(one.name, one) for one in given]
    for log, tag in zip(logs, _tags(logs), strict=True):
        mine = [name for name in names if name in log.parameters]
        if not configurations:
            mine = [_winner(log)]
        chosen += [(f"{tag}{name}", _from_log(scenario, log, name)) for name in mine]
    for name in names:
        _known(name, logs)
    # Each once, under its first name.
    unique = {one.name: (name, one) for name, one in reversed(chosen)}
    ordered = [unique[key] for key in dict.fromkeys(one.name for _, one in chosen)]
    if not ordered:
        raise InputError("Nobody to test. Name a configuration, or a log that has a winner.")
    for name, one in ordered:
        if one.name == rival.name:
            raise InputError(
                f"The winner {name!r:.80} has the parameters of the default. There is nothing to "
                "validate."
            )
    named = {one.name: name for name, one in ordered}
    if rival_name in named.values():
        rival_name = f"default {rival_name}"
    return Contestants(
        candidates=tuple(one for _, one in ordered),
        default=rival,
        names={**named, rival.name: rival_name},
    )


def _tags(logs: Sequence[Log]) -> list[str]:
    """What tells the names of several logs apart."""
    if len(logs) == 1:
        return [""]
    stems = [Path(log.path).stem or f"log {place}" for place, log in enumerate(logs, 1)]
    if len(set(stems)) < len(stems):
        stems = [f"{stem} {place}" for place, stem in enumerate(stems, 1)]
    return [f"{stem}:" for stem in stems]


def _winner(log: Log) -> str:
    if log.incumbent is not None:
        return log.incumbent
    from truecost.judge.assess import assess

    return assess(log).winner


def _default(
    scenario: "Scenario", logs: Sequence[Log], default: str | None
) -> "tuple[str, Configuration]":
    known: dict[str, tuple[str, Configuration]] = {}
    for log in logs:
        name = default or log.default
        if name is not None and name in log.parameters:
            configuration = _from_log(scenario, log, name)
            known.setdefault(configuration.name, (name, configuration))
    if len(known) > 1:
        raise InputError(
            "The logs have different defaults. Name the one to compare with: --default default is "
            "the scenario's."
        )
    if known:
        return next(iter(known.values()))
    if default not in (None, "default", scenario.space.default().name):
        _known(str(default), logs)
    check_default(scenario)
    return "default", scenario.space.default()


def _known(name: str, logs: Sequence[Log]) -> None:
    """Refuse a name that no log has parameters of."""
    known = {known for log in logs for known in log.parameters}
    if name not in known:
        raise InputError(
            f"The log has no parameters of a configuration {name!r:.80}.{did_you_mean(name, known)}"
        )


def check_default(scenario: "Scenario") -> None:
    """Refuse to compare with a default that nobody named."""
    if not scenario.space.has_default:
        raise InputError(
            f"{scenario.path}: irace's parameter files have no default to compare with. Write "
            'default = {name = value, …} under [space], or default = "middle" for the middle of '
            "every range."
        )


def _given(scenario: "Scenario", item: Any) -> "Configuration":
    """A configuration that was given itself, or by its values."""
    if isinstance(item, Mapping):
        return scenario.space.configuration(item)
    if hasattr(item, "values") and hasattr(item, "name"):
        return scenario.space.configuration(item.values)
    raise InputError(
        f"{item!r:.80} is no configuration. Give its values, {{'name': value, …}}, or a log."
    )


def _from_log(scenario: "Scenario", log: Log, name: str) -> "Configuration":
    if name not in log.parameters:
        raise InputError(
            f"{log.path or 'The log'} has no parameter values of configuration {name!r:.80}, so it "
            "cannot be run. Name the tool's own log, or give the values."
        )
    with prefixed(f"configuration {name!r:.80} does not fit the space of {scenario.path}"):
        return scenario.space.configuration(log.parameters[name])


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


def used_by(scenario: "Scenario", logs: Sequence[Log]) -> dict[str, str | None]:
    """The instances that logs have runs on, with their families where these are known."""
    own = {one.name: one.extras.get(FAMILY) for one in scenario.instances}
    used: dict[str, str | None] = {}
    for log in logs:
        for matrix in (log.runs, log.test):
            if matrix is not None:
                families = matrix.families or [own.get(name) for name in matrix.instances]
                used |= zip(matrix.instances, families, strict=True)
    return used


def fresh_instances(
    scenario: "Scenario",
    used: Mapping[str, str | None],
    candidates: Sequence[Instance],
    sampled: str,
    known: Sequence[Instance] = (),
) -> list[Instance]:
    """The candidates that the log has no runs on, behind those that were tested on before."""
    mine = {one.name for one in known}
    rest = [one for one in candidates if one.name not in mine]
    fresh = _unseen(rest, used, [Path.cwd(), scenario.folder])
    if sampled == "family":
        if not all(used.values()):
            raise InputError(
                "The families of the log's instances are not known. Name them with --families."
            )
        # A family that was tested on must not grow after its costs were seen.
        closed = {*used.values(), *(one.extras.get(FAMILY) for one in known)}
        fresh = [one for one in fresh if one.extras.get(FAMILY) not in closed]
    if not fresh and not mine:
        families = "the families of " if sampled == "family" else ""
        raise InputError(
            f"The log has runs on {families}all {counted(len(candidates), 'instance')}. Name new "
            "ones, for example --instances 'new/*'."
        )
    return distinct([*known, *fresh])


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


def _unseen(
    candidates: Sequence[Instance], names: Iterable[str], folders: Sequence[Path]
) -> list[Instance]:
    """The instances without runs: by name, end of the path, and content where files are here."""
    names = set(names)
    ends = {Path(name).parts for name in names if not Path(name).is_absolute()}
    longest = max(map(len, ends), default=0)
    files = {path for name in names for folder in folders if (path := _file(folder, name))}
    sizes = {path.stat().st_size for path in files}
    used = {path.resolve() for path in files}

    def digest(path: Path) -> str:
        return Instance(name=path.name, argument=str(path), extras={}).digest()

    @cache
    def contents() -> set[str]:
        return {digest(path) for path in files}

    def seen(instance: Instance) -> bool:
        if instance.name in names or not instance.is_file:
            return instance.name in names
        path = Path(instance.argument).resolve()
        if path in used or any(path.parts[-size:] in ends for size in range(1, longest + 1)):
            return True
        # Files are read only where one of the same size was used.
        return path.exists() and path.stat().st_size in sizes and digest(path) in contents()

    return [instance for instance in candidates if not seen(instance)]


def _file(folder: Path, name: str) -> Path | None:
    try:
        return path if (path := folder / name).is_file() else None
    except (OSError, ValueError):  # names of logs need not be names of files
        return None
