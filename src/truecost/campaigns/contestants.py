"""Who is tested: the candidates and the default, from logs or given themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.errors import InputError, did_you_mean, prefixed
from truecost.matrix.log import Log

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario
    from truecost.space.space import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestants:
    """The candidates and the default; `names` has what the logs call each configuration."""

    candidates: "tuple[Configuration, ...]"
    default: "Configuration"
    names: Mapping[str, str]

    @property
    def all(self) -> "tuple[Configuration, ...]":
        """The candidates, then the default."""
        return (*self.candidates, self.default)


def contestants_of(
    scenario: "Scenario", logs: Sequence[Log], configurations: Sequence[Any], default: str | None
) -> Contestants:
    """The candidates: the named configurations of each log, else its winner; or configurations
    themselves. The default: as named, else the log's, else the scenario's.
    """
    default_name, rival = _default(scenario, logs, default)
    names = [item for item in configurations if isinstance(item, str)]
    for name in names:
        _check_name(name, logs)
    given = [_given(scenario, item) for item in configurations if not isinstance(item, str)]
    chosen = [(one.name, one) for one in given]
    for log, tag in zip(logs, _tags(logs), strict=True):
        listed = [name for name in names if name in log.parameters]
        listed = listed if configurations else [_winner(log)]
        chosen += [(f"{tag}{name}", _from_log(scenario, log, name)) for name in listed]
    if not chosen:
        raise InputError("Nobody to test. Name a configuration, or a log that has a winner.")
    # Each once, under its first name.
    candidates = {one.name: one for _, one in chosen}
    named = {one.name: name for name, one in reversed(chosen)}
    if rival.name in named:
        raise InputError(
            f"The winner {named[rival.name]!r:.80} has the parameters of the default. There is "
            "nothing to validate."
        )
    if default_name in named.values():
        default_name = f"default {default_name}"
    return Contestants(
        candidates=tuple(candidates.values()),
        default=rival,
        names={**named, rival.name: default_name},
    )


def check_default(scenario: "Scenario") -> None:
    """Refuse to compare with a default that nobody named."""
    if not scenario.space.has_default:
        raise InputError(
            f"{scenario.path}: irace's parameter files have no default to compare with. Write "
            'default = {name = value, …} under [space], or default = "middle" for the middle of '
            "every range."
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
    names = [(log, default or log.default) for log in logs]
    defaults = {
        configuration.name: (name, configuration)
        for log, name in reversed(names)
        if name is not None and name in log.parameters
        for configuration in [_from_log(scenario, log, name)]
    }
    if len(defaults) > 1:
        raise InputError(
            "The logs have different defaults. Name the one to compare with: --default default is "
            "the scenario's."
        )
    if defaults:
        return defaults.popitem()[1]
    if default not in (None, "default", scenario.space.default().name):
        _check_name(str(default), logs)
    check_default(scenario)
    return "default", scenario.space.default()


def _check_name(name: str, logs: Sequence[Log]) -> None:
    """Refuse a name that no log has parameters of."""
    names = {listed for log in logs for listed in log.parameters}
    if name not in names:
        raise InputError(
            f"No log has parameters of a configuration {name!r:.80}.{did_you_mean(name, names)}"
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
