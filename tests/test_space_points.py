"""Configurations as points of a cube: drawing, moving, decoding."""

from importlib.resources import files
from typing import Any

import ConfigSpace
import numpy as np
import pytest
from scipy import stats
from space_texts import TEXTS

from truecost.space.space import Configuration, Space

MIXED = """
kind {a,b,c} [a]
size [1,1000] [10]il
rate [0.01,10] [1]l
depth [0,7] [3]i
level ordinal {low,middle,high} [low]
fixed {only} [only]
extra [0,1] [0.5]
extra | kind in {b,c}
{kind=c, level=high}
"""
SOLVERS = ("kissat", "clasp", "lkh", "satenstein")


def space_called(name: str) -> Space:
    """A space of a solver, in some format, or with every kind of parameter."""
    if name in SOLVERS:
        return Space.parse((files("truecost.scenarios") / name / "space.pcs").read_text())
    return Space.parse(TEXTS.get(name, MIXED))


def near(
    space: Space, parents: list[Configuration], rng: np.random.Generator, **how: float
) -> list[Configuration]:
    """A neighbour of each, forbidden ones left out."""
    encoded = space.points.encode([parent.values for parent in parents])
    points = space.points.around(encoded, rng, spread=how["spread"], keep=how["keep"])
    return space.at(points[space.points.allowed(points)])


@pytest.mark.parametrize("name", ["mixed", *SOLVERS, *TEXTS])
def test_a_point_is_its_configuration(name: str) -> None:
    """The model would learn from other configurations than were run, or propose some that are not
    in the space.
    """
    space, rng = space_called(name), np.random.default_rng(1)
    drawn = space.configurations(40, seed=2)
    points = space.points.encode([one.values for one in drawn])
    assert space.at(points) == drawn
    moved = near(space, drawn, rng, spread=0.2, keep=0.6)
    assert len(moved) > 10
    for configuration in [*drawn, *moved]:
        assert space.allows(configuration)
        # Just the parameters that its own values make active, each with a value of the space.
        assert space.configuration(configuration.values) == configuration
        theirs = ConfigSpace.Configuration(space.configspace, values=dict(configuration.values))
        theirs.check_valid_configuration()
        assert dict(theirs) == configuration.values


@pytest.mark.parametrize("kind", TEXTS)
def test_neighbours_reach_every_value(kind: str) -> None:
    """Some value of a parameter could not be reached by steps, or a step leave its range."""
    space, rng = Space.parse(TEXTS[kind]), np.random.default_rng(3)
    seen: dict[str, set[Any]] = {}
    parents = [space.default()] * 100
    for _ in range(15):
        parents = (near(space, parents, rng, spread=0.3, keep=0.5) * 10)[:100]
        for parent in parents:
            for name, value in parent.values.items():
                seen.setdefault(name, set()).add(value)
    for name, parameter in space.configspace.items():
        assert all(map(parameter.legal_value, seen[name]))
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
            likely = zip(parameter.choices, parameter.probabilities, strict=True)
            assert seen[name] == {choice for choice, weight in likely if weight > 0}
        if isinstance(parameter, ConfigSpace.OrdinalHyperparameter):
            assert seen[name] == set(parameter.sequence)


def test_neighbours_lie_as_far_as_asked() -> None:
    """Numbers would be drawn too far from the parent, or on the wrong scale; or categories be kept
    too rarely.
    """
    space = Space.parse(
        "lin [0,100] [50]\nlog [1,10000] [100]l\nwhole [0,1000] [500]i\ncat {x,y,z} [x]\n"
    )
    points, rng = space.points, np.random.default_rng(4)
    parents = np.repeat(points.encode([space.default().values]), 2000, axis=0)
    moved = points.around(parents, rng, spread=0.2, keep=0.4)
    names = list(space.configspace)
    cut = stats.truncnorm(-2.5, 2.5, loc=0.5, scale=0.2)
    for name in ("lin", "log", "whole"):
        assert stats.kstest(moved[:, names.index(name)], cut.cdf).pvalue > 1e-4
    # What is not kept is drawn from all of them.
    kept = int((moved[:, names.index("cat")] == 0).sum())
    assert stats.binomtest(kept, 2000, 0.4 + 0.6 / 3).pvalue > 1e-4
    corner = np.zeros((500, 4))
    moved = points.around(corner, rng, spread=0.5, keep=0.5)
    assert moved.min() >= 0
    assert moved.max() <= 2


def test_where_nothing_can_change() -> None:
    """A space with one configuration would be searched without end."""
    space, rng = Space.parse("a {x} [x]\n"), np.random.default_rng(0)
    assert near(space, [space.default()], rng, spread=0.2, keep=0.5) == [space.default()]
    assert space.size() == 1
