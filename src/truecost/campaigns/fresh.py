"""Who is tested, and on which instances that the log has no runs on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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

    def record(self) -> dict[str, Any]:
        """Their values, as the question of a validation keeps them."""
        return {
            "candidates": {self.names[one.name]: dict(one.values) for one in self.candidates},
            "default": dict(self.default.values),
        }


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
    chosen: list[tuple[str, Configuration]] = []
    if not logs:
        chosen = [(one.name, one) for one in (_given(scenario, item) for item in configurations)]
    for log, tag in zip(logs, _tags(logs), strict=True):
        named = [name for name in configurations if name in log.parameters]
        if unknown := [name for name in configurations if not isinstance(name, str)]:
            chosen += [(one.name, one) for one in (_given(scenario, item) for item in unknown)]
        if not configurations:
            named = [_winner(log)]
        chosen += [(f"{tag}{name}", _from_log(scenario, log, name)) for name in named]
    known = {name for log in logs for name in log.parameters}
    for name in configurations:
        if logs and isinstance(name, str) and name not in known:
            raise InputError(
                f"The log has no parameters of a configuration {name!r:.80}."
                f"{did_you_mean(name, known)}"
            )
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
    names = {one.name: name for name, one in ordered}
    if rival_name in names.values():
        rival_name = f"default {rival_name}"
    return Contestants(
        candidates=tuple(one for _, one in ordered),
        default=rival,
        names={**names, rival.name: rival_name},
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
        names = [name for log in logs for name in log.parameters]
        raise InputError(
            f"The log has no parameters of a configuration {default!r:.80}."
            f"{did_you_mean(str(default), names)}"
        )
    check_default(scenario)
    return "default", scenario.space.default()


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


def fresh_instances(
    scenario: "Scenario",
    logs: Sequence[Log],
    instances: str | Sequence[Instance] | None,
    sampled: str,
    known: Iterable[str] = (),
) -> tuple[list[Instance], int]:
    """Instances that the logs have no runs on, and how many were left out.

    `instances`: a pattern of files, instances, or None for the scenario's. `known`: names of those
    that this journal has tested on, which stay, whatever `instances` says.
    """
    if isinstance(instances, str):
        candidates = matching(instances, Path.cwd())
    else:
        candidates = list(scenario.instances if instances is None else instances)
    mine = set(known)
    folders = [Path.cwd(), scenario.folder]
    rest = [instance for instance in candidates if instance.name not in mine]
    named = {one.name: one for one in (*scenario.instances, *candidates) if one.name in mine}
    fresh = [*named.values(), *_unseen(rest, logs, folders)]
    if sampled == "family":
        trained = _trained_families(scenario, logs)
        fresh = [one for one in fresh if one.name in mine or one.extras.get(FAMILY) not in trained]
    if not fresh and not mine:
        where = "families" if sampled == "family" else "instances"
        raise InputError(
            f"All {counted(len(candidates), 'instance')} are of {where} that the log has runs on. "
            "Name new ones, for example --instances 'new/*'."
        )
    return fresh, len(rest) - (len(fresh) - len(named))


def _trained_families(scenario: "Scenario", logs: Sequence[Log]) -> set[str]:
    """The families that the logs have runs on."""
    own = {one.name: one.extras.get(FAMILY) for one in scenario.instances}
    trained: set[str] = set()
    for matrix in _matrices(logs):
        families = matrix.families or [own.get(name) for name in matrix.instances]
        if not all(families):
            raise InputError(
                "The families of the log's instances are not known. Name them with --families."
            )
        trained |= {str(family) for family in families}
    return trained


def _matrices(logs: Sequence[Log]) -> list[Any]:
    return [matrix for log in logs for matrix in (log.runs, log.test) if matrix is not None]


def _unseen(
    candidates: Sequence[Instance], logs: Sequence[Log], folders: Sequence[Path]
) -> list[Instance]:
    """The instances without runs: by name, end of the path, and content where files are here."""
    names = {name for matrix in _matrices(logs) for name in matrix.instances}
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
