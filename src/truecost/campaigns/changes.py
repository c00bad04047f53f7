"""What makes one configuration of another: the parameters that differ, dependent ones together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.matrix.imported import Import
from truecost.space.learning import Learner
from truecost.space.space import Configuration, Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A parameter that differs, with those it switches on or off.

    Attributes
    ----------
    default, incumbent
        The values of these parameters in both; what is inactive is left out.
    """

    default: Mapping[str, Any]
    incumbent: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, each once."""
        return tuple(dict.fromkeys([*self.incumbent, *self.default]))


def changes_between(space: Space, default: Configuration, winner: Configuration) -> list[Change]:
    """What differs, in the order of the space; parameters that depend on each other together."""
    differing = [
        name
        for name in space.parameters
        if default.values.get(name) != winner.values.get(name)
        or (name in default.values) != (name in winner.values)
    ]
    block = {name: name for name in differing}

    def root(name: str) -> str:
        while block[name] != name:
            name = block[name]
        return name

    for name in differing:
        for condition in space.configspace.parent_conditions_of[name]:
            for parent in _parents(condition):
                if parent in block:
                    block[root(name)] = root(parent)
    groups: dict[str, list[str]] = {}
    for name in differing:
        groups.setdefault(root(name), []).append(name)
    return [
        Change(
            default={name: default.values[name] for name in names if name in default.values},
            incumbent={name: winner.values[name] for name in names if name in winner.values},
        )
        for names in groups.values()
    ]


def _parents(condition: Any) -> list[str]:
    components = getattr(condition, "components", None)
    if components is None:
        return [str(condition.parent.name)]
    return [name for part in components for name in _parents(part)]


def changed(space: Space, default: Configuration, changes: Sequence[Change]) -> Configuration:
    """The default with some of the changes made, or `InputError` where the space forbids that."""
    values = dict(default.values)
    for change in changes:
        for name in change.default:
            values.pop(name, None)
        values.update(change.incumbent)
    return space.configuration_of(values)


def guessed_losses(
    log: Import, space: Space, default: Configuration, changes: Sequence[Change]
) -> FloatArray | None:
    """How much each change seems to matter, by the model of a search: what undoing it alone would
    cost, on the scale of ranks. A guess; None where the runs of the log say too little.
    """
    matrix = log.matrix
    known = [name for name in matrix.configurations if name in log.parameters]
    configurations = [space.configuration_of(log.parameters[name]) for name in known]
    costs = matrix.select(configurations=known).costs
    rows, instances, runs = np.nonzero(~np.isnan(costs))
    learner = Learner(space)
    cells = instances * costs.shape[2] + runs
    if not learner.learn(configurations, rows, cells, costs[rows, instances, runs]):
        return None
    everything = changed(space, default, changes)
    without = []
    for place in range(len(changes)):
        try:
            rest = changed(space, default, [*changes[:place], *changes[place + 1 :]])
        except InputError:
            # What cannot be undone alone is not seen to matter.
            rest = everything
        without.append(rest)
    effects = learner.predict([everything, *without])
    return np.asarray(effects[1:] - effects[0])
