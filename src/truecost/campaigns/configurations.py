"""The configurations of a campaign, from the caller or from logs: a list to gather, starting points
of a search, and the contestants of a test (candidates and the default).
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.errors import InputError, did_you_mean, prefixed
from truecost.matrix.log import Log
from truecost.space.space import Configuration

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario

# Configurations that a search tries first from a log.
STARTED = 5


def given_configurations(scenario: "Scenario", given: Any) -> list[Configuration]:
    """Configurations, or their values, each of them once."""
    if isinstance(given, str | os.PathLike | Mapping) or not isinstance(given, Iterable):
        raise InputError(
            f"{given!r:.80} is no list of configurations. Give their values, [{{'name': value, …}},"
            " …]."
        )
    return list({one.name: one for one in (_given(scenario, item) for item in given)}.values())


def _given(scenario: "Scenario", item: Any) -> Configuration:
    values = item if isinstance(item, Mapping) else getattr(item, "values", None)
    if not isinstance(values, Mapping):
        raise InputError(
            f"{item!r:.80} is no configuration. Give its values, {{'name': value, …}}, or a log."
        )
    configuration = scenario.space.configuration(values)
    if not scenario.space.allows(configuration):
        raise InputError(f"The space forbids {item!r:.200}. Change it.")
    return configuration


def starting_points(scenario: "Scenario", start: Any) -> list[Configuration]:
    """What a search tries first, without the default, which is tried anyway: configurations, or the
    best of a log.
    """
    with prefixed("start"):
        values = _best_of(start) if isinstance(start, Log) else start
        given = given_configurations(scenario, values)
    return [one for one in given if one.name != scenario.space.default().name]


def _best_of(log: Log) -> list[Mapping[str, Any]]:
    """Values of the incumbent of a log and of the next best with at least half of its runs."""
    names, counts = log.runs.configurations, log.runs.counts().sum(axis=1)
    means = np.nansum(log.runs.charged, axis=(1, 2)) / np.maximum(counts, 1)
    first = [log.incumbent] if log.incumbent in names else []
    # Of many configurations with few runs one looks best by luck.
    most = max(counts[names.index(name)] for name in first or names)
    ranked = [
        names[place]
        for place in np.argsort(means, kind="stable")
        if counts[place] >= max(most / 2, 1)
    ]
    chosen = dict.fromkeys([*first, *ranked])
    values = [log.parameters[name] for name in chosen if name in log.parameters]
    if not values:
        raise InputError(
            f"{log.path or 'The log'} has no parameter values to start from. Name the tool's log."
        )
    return values[:STARTED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestants:
    """The candidates and the default; `names` has what the logs call each configuration."""

    candidates: tuple[Configuration, ...]
    default: Configuration
    names: Mapping[str, str]

    @property
    def all(self) -> tuple[Configuration, ...]:
        """The candidates, then the default."""
        return (*self.candidates, self.default)


def contestants_of(
    scenario: "Scenario", logs: Sequence[Log], configurations: Sequence[Any], default: Any = None
) -> Contestants:
    """The candidates: the named configurations of each log, else its winner; or configurations
    themselves. The default: as named or given, else the log's, else the scenario's.
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
        rest = "Leave it out." if len(candidates) > 1 else "There is nothing to validate."
        raise InputError(
            f"The winner {named[rival.name]!r:.80} has the parameters of the default. {rest}"
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


def _default(scenario: "Scenario", logs: Sequence[Log], default: Any) -> tuple[str, Configuration]:
    if default is not None and not isinstance(default, str):
        return "default", _given(scenario, default)
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
        _check_name(default, logs)
    check_default(scenario)
    return "default", scenario.space.default()


def _check_name(name: str, logs: Sequence[Log]) -> None:
    """Refuse a name that no log has parameters of."""
    names = {listed for log in logs for listed in log.parameters}
    if name not in names:
        raise InputError(
            f"No log has parameters of a configuration {name!r:.80}.{did_you_mean(name, names)}"
        )


def _from_log(scenario: "Scenario", log: Log, name: str) -> Configuration:
    if name not in log.parameters:
        raise InputError(
            f"{log.path or 'The log'} has no parameter values of configuration {name!r:.80}, so it "
            "cannot be run. Name the tool's own log, or give the values."
        )
    with prefixed(f"configuration {name!r:.80} does not fit the space of {scenario.path}"):
        return scenario.space.configuration(log.parameters[name])
