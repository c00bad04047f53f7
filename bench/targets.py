"""Simulated solvers whose true cost is known, over parameter spaces like those of real solvers.

A target has instances to tune on and others, never shown to a tool, over which the true cost is
the mean. A run's time is lognormal; from the cutoff on it costs ten times the cutoff (PAR10). The
form of each kind of target is fixed; which parameters matter, and where they are best, is drawn
from a seed.
"""

import math
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import ConfigSpace
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from truecost.space.space import Configuration, Space

FloatArray = NDArray[np.float64]
# Log10 of the time of a run on every instance, from the configuration as a point; None: it crashes.
Surface = Callable[["Point"], FloatArray | None]

CUTOFF, HIGH = 5.0, 50.0
TRAINING, UNSEEN = 100, 2000


class Point(NamedTuple):
    """A configuration in numbers: each parameter in [0, 1] on its scale, whether it is active, its
    place among choices.
    """

    scaled: FloatArray
    active: NDArray[np.bool_]
    choice: NDArray[np.int64]


class Coding:
    """From configurations of a space to points."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.parameters: list[Any] = [space.configspace[name] for name in space.parameters]
        self.choices = np.array([len(_choices(each)) for each in self.parameters])
        self.categorical = self.choices > 0
        self._places = [
            {value: place for place, value in enumerate(_choices(each))} for each in self.parameters
        ]
        default = space.default().values
        self._fallback = {
            each.name: default.get(each.name, each.default_value) for each in self.parameters
        }

    def __call__(self, values: Mapping[str, Any]) -> Point:
        """The point of these values; what is inactive stands at its default."""
        scaled, choice = (
            np.zeros(len(self.parameters)),
            np.zeros(len(self.parameters), dtype=np.int64),
        )
        active = np.zeros(len(self.parameters), dtype=bool)
        for place, (parameter, places) in enumerate(
            zip(self.parameters, self._places, strict=True)
        ):
            active[place] = parameter.name in values
            value = values.get(parameter.name, self._fallback[parameter.name])
            if places:
                choice[place] = places[value]
                scaled[place] = choice[place] / max(len(places) - 1, 1)
            elif not isinstance(parameter, ConfigSpace.Constant):
                low, high = float(parameter.lower), float(parameter.upper)
                if parameter.log:
                    low, high, value = math.log(low), math.log(high), math.log(value)
                scaled[place] = (value - low) / (high - low)
        return Point(scaled, active, choice)


class Target:
    """A simulated solver."""

    def __init__(self, name: str, space: Space, surface: Surface, noise: float, about: str) -> None:
        self.name, self.space, self.noise, self.about = name, space, noise, about
        self._surface, self.coding = surface, Coding(space)
        self._known: dict[str, FloatArray | None] = {}
        self._true: dict[str, float] = {}

    def logs(self, configuration: Configuration) -> FloatArray | None:
        """Log10 of the median time on every instance, first those to tune on; None for a crash."""
        if configuration.name not in self._known:
            self._known[configuration.name] = self._surface(self.coding(configuration.values))
        return self._known[configuration.name]

    def cost(self, configuration: Configuration, instance: int, seed: int) -> float:
        """Of one run on an instance to tune on; the same run costs the same whoever asks."""
        logs = self.logs(configuration)
        if logs is None:
            return HIGH
        noise = np.random.default_rng(
            [zlib.crc32(configuration.name.encode()), instance, seed]
        ).standard_normal()
        time = 10 ** (logs[instance] + self.noise * noise)
        return float(time) if time < CUTOFF else HIGH

    def true_cost(self, configuration: Configuration) -> float:
        """The expected cost of a run, over instances that nobody tunes on: exact in the noise."""
        if configuration.name not in self._true:
            logs = self.logs(configuration)
            self._true[configuration.name] = (
                HIGH if logs is None else float(expected(logs[TRAINING:], self.noise).mean())
            )
        return self._true[configuration.name]

    def forget(self) -> None:
        """Free what was remembered of configurations."""
        self._known.clear()


def expected(logs: FloatArray, noise: float) -> FloatArray:
    """The mean of a PAR10 cost with a lognormal time: that of the times below the cutoff, and HIGH
    for the rest.
    """
    rate, end = math.log(10) * noise, (math.log10(CUTOFF) - logs) / noise
    below = 10**logs * math.exp(rate**2 / 2) * ndtr(end - rate)
    return np.asarray(below + HIGH * ndtr(-end))


def _choices(parameter: Any) -> list[Any]:
    if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
        return list(parameter.choices)
    if isinstance(parameter, ConfigSpace.OrdinalHyperparameter):
        return list(parameter.sequence)
    return []


@cache
def space_of(solver: str) -> Space:
    return Space.parse((files("truecost.scenarios") / solver / "space.pcs").read_text())


# ---- drawn ---------------------------------------------------------------------------------------


class _Drawn:
    """What every drawn target has: how much each parameter matters, where it is best, what it does
    on an instance.
    """

    def __init__(self, space: str | Space, seed: int, *, kind: int, shape: float = 0.5) -> None:
        self.space = space_of(space) if isinstance(space, str) else space
        self.rng = np.random.default_rng([seed, kind])
        self.coding = Coding(self.space)
        self.default = self.coding(self.space.default().values)
        size = len(self.coding.choices)
        self.size, self.instances = size, TRAINING + UNSEEN
        # A few parameters matter much, most hardly: gamma weights, the fewer the smaller the shape.
        weights = self.rng.gamma(shape, 1.0, size)
        self.weights = weights / weights.sum()
        self.best = self.rng.uniform(0, 1, size)
        self.effects = [self.rng.uniform(0, 1, max(n, 1)) for n in self.coding.choices]
        for each in self.effects:
            each -= each.min()
        self.difficulty = self.rng.standard_normal(self.instances)
        self.traits = self.rng.standard_normal((3, self.instances))
        self.likes = self.rng.standard_normal((3, size)) * np.sqrt(self.weights)

    def loss(self, point: Point) -> FloatArray:
        """Of every parameter, 0 at its best: squares for numbers, a table for categories, 0.3 for
        what is inactive.
        """
        table = np.array(
            [each[place] for each, place in zip(self.effects, point.choice, strict=True)]
        )
        squares = (point.scaled - self.best) ** 2 / np.maximum(self.best, 1 - self.best) ** 2
        return np.asarray(
            np.where(point.active, np.where(self.coding.categorical, table, squares), 0.3)
        )

    def interaction(self, point: Point) -> FloatArray:
        """What the configuration makes of each instance, of about unit size."""
        return np.asarray(
            (self.likes @ ((point.scaled - 0.5) * 3 * point.active)) @ self.traits / math.sqrt(3)
        )


def smooth(seed: int = 0) -> Target:
    draw = _Drawn("satenstein", seed, kind=1, shape=0.8)
    # The default is far from the best: a random configuration, as a rule, is better.
    draw.best = np.clip(
        np.where(draw.default.scaled > 0.5, 0.4, 0.6) * draw.best
        + (draw.default.scaled <= 0.5) * 0.4,
        0,
        1,
    )
    for each, place in zip(draw.effects, draw.default.choice, strict=True):
        each[place] = max(each[place], 0.8 * each.max())
    usual = np.median(
        [
            draw.weights @ draw.loss(draw.coding(each.values))
            for each in draw.space.configurations(200, seed=1)
        ]
    )

    def surface(point: Point) -> FloatArray:
        level = -1.2 + 2.0 * float(draw.weights @ draw.loss(point) / usual)
        return np.asarray(level + 0.3 * draw.difficulty + 0.1 * draw.interaction(point))

    return Target("smooth", draw.space, surface, 0.2, "smooth and conditional, satenstein's space")


def needle(seed: int = 0) -> Target:
    draw = _Drawn("lkh", seed, kind=2)
    # Two categories have to be right, 1/4 and 1/6 of them, and a number has to lie in half of its
    # range.
    rng, names = draw.rng, draw.space.parameters
    first = [names.index("CANDIDATE_SET_TYPE"), names.index("INITIAL_TOUR_ALGORITHM")]
    right = [
        int(rng.choice([c for c in range(draw.coding.choices[p]) if c != draw.default.choice[p]]))
        for p in first
    ]
    number = rng.choice(np.flatnonzero(~draw.coding.categorical))
    place = rng.uniform(0.3, 0.7)

    def surface(point: Point) -> FloatArray:
        wrong = sum(point.choice[p] != value for p, value in zip(first, right, strict=True))
        off = abs(point.scaled[number] - place) > 0.25
        level = -1.0 + 1.2 * float(draw.weights @ draw.loss(point)) + (1.4 if wrong or off else 0.0)
        return np.asarray(level + 0.25 * draw.difficulty + 0.1 * draw.interaction(point))

    return Target("needle", draw.space, surface, 0.2, "2 % of the space good, LKH's space")


def settled(seed: int = 0) -> Target:
    draw = _Drawn("kissat", seed, kind=3)

    def surface(point: Point) -> FloatArray:
        apart = np.where(
            draw.coding.categorical,
            point.choice != draw.default.choice,
            np.abs(point.scaled - draw.default.scaled),
        )
        # A twentieth of the parameters would be a little better elsewhere.
        gain = draw.weights @ (
            np.minimum(apart, 0.3) * (draw.likes[0] > 1.6 * np.sqrt(draw.weights))
        )
        level = -0.2 + 0.9 * float(draw.weights @ apart) ** 0.8 - 0.6 * float(gain)
        return np.asarray(level + 0.3 * draw.difficulty + 0.1 * draw.interaction(point))

    return Target(
        "settled", draw.space, surface, 0.25, "the default is near the best, kissat's space"
    )


def personal(seed: int = 0) -> Target:
    draw = _Drawn("lkh", seed, kind=4)
    numbers = draw.rng.choice(np.flatnonzero(~draw.coding.categorical), 2, replace=False)
    category = draw.space.parameters.index("INITIAL_TOUR_ALGORITHM")
    wishes = draw.rng.standard_normal((draw.coding.choices[category], draw.instances))
    means = draw.rng.uniform(0, 0.8, draw.coding.choices[category])
    whims = draw.rng.standard_normal((12, draw.size)) * 2

    def surface(point: Point) -> FloatArray:
        level = 0.35 * draw.difficulty - 0.7
        for place, p in enumerate(numbers):
            wish = draw.best[p] + 0.2 * draw.traits[place]
            level = level + 1.3 * (point.scaled[p] - np.clip(wish, 0, 1)) ** 2
        level = level + means[point.choice[category]] + 0.3 * wishes[point.choice[category]]
        # Every configuration has instances that it does not get on with.
        whim = np.tanh(np.sin(whims @ point.scaled) @ draw.traits[np.arange(12) % 3] / 2)
        return np.asarray(level + 0.35 * whim)

    return Target(
        "personal",
        draw.space,
        surface,
        0.2,
        "3 of 23 parameters matter, much interaction with instances, LKH's space",
    )


def crashing(seed: int = 0) -> Target:
    draw = _Drawn("clasp", seed, kind=5)
    always = [
        p
        for p in np.flatnonzero(draw.coding.choices >= 2)
        if not draw.coding.space.configspace.parent_conditions_of[draw.coding.parameters[p].name]
    ]
    chosen = draw.rng.choice(always, 6, replace=False)
    tables = [
        draw.rng.uniform(0, 1, (draw.coding.choices[a], draw.coding.choices[b]))
        for a, b in chosen.reshape(3, 2)
    ]
    pairs = list(zip(chosen.reshape(3, 2).tolist(), tables, strict=True))
    for (a, b), table in pairs:
        table[draw.default.choice[a], draw.default.choice[b]] = 0.7
    doomed = draw.rng.choice(always, 3, replace=False)
    bad = [
        int(
            draw.rng.choice(
                [c for c in range(draw.coding.choices[p]) if c != draw.default.choice[p]]
            )
        )
        for p in doomed
    ]

    def surface(point: Point) -> FloatArray | None:
        hits = sum(point.choice[p] == value for p, value in zip(doomed, bad, strict=True))
        if hits >= 2:
            return None
        level = -1.2 + 1.2 * float(draw.weights @ draw.loss(point))
        level += sum(
            0.8 * float(table[point.choice[a], point.choice[b]] - table.min())
            for (a, b), table in pairs
        )
        return np.asarray(level + 0.3 * draw.difficulty + 0.15 * draw.interaction(point))

    return Target(
        "crashing",
        draw.space,
        surface,
        0.25,
        "categories interact, a part of the space crashes, clasp's space",
    )


def classes(seed: int = 0) -> Target:
    """Instances of three classes, each with wishes of its own; the best is a compromise."""
    draw = _Drawn("satenstein", seed, kind=7, shape=0.15)
    kind = draw.rng.choice(3, draw.instances, p=[0.5, 0.3, 0.2])
    best = draw.rng.uniform(0, 1, (3, draw.size))
    # Half of the parameters matter in one class only.
    weights = draw.weights * draw.rng.choice([0.0, 1.0, 1.0], (3, draw.size))
    tables = [draw.rng.uniform(0, 1, (3, max(size, 1))) for size in draw.coding.choices]
    for table in tables:
        table -= table.min(axis=1, keepdims=True)

    def surface(point: Point) -> FloatArray:
        chosen = np.array(
            [table[:, place] for table, place in zip(tables, point.choice, strict=True)]
        ).T
        squares = (point.scaled - best) ** 2 / np.maximum(best, 1 - best) ** 2
        losses = np.where(point.active, np.where(draw.coding.categorical, chosen, squares), 0.3)
        levels = -1.3 + 3.5 * (weights * losses).sum(axis=1) / weights.sum(axis=1)
        return np.asarray(levels[kind] + 0.3 * draw.difficulty + 0.1 * draw.interaction(point))

    return Target(
        "classes", draw.space, surface, 0.2, "three classes of instances, satenstein's space"
    )


def mixed_space() -> Space:
    """Sixteen reals, eight whole numbers, sixteen categories; no conditions."""
    lines = [f"real_{k} [0,1] [0.5]" if k % 2 else f"real_{k} [0.001,10] [1]l" for k in range(16)]
    lines += [f"whole_{k} [1,1000] [30]il" if k % 2 else f"whole_{k} [0,20] [5]i" for k in range(8)]
    lines += [f"category_{k} {{a,b,c{',d' * (k % 2)}}} [a]" for k in range(16)]
    return Space.parse("\n".join(lines) + "\n")


def sparse(seed: int = 0) -> Target:
    """Five of 40 parameters matter, and configurations interact with instances."""
    draw = _Drawn(mixed_space(), seed, kind=9)
    rng, categorical = draw.rng, draw.coding.categorical
    chosen = np.concatenate(
        [
            rng.choice(np.flatnonzero(~categorical), 3, replace=False),
            rng.choice(np.flatnonzero(categorical), 2, replace=False),
        ]
    )
    weights = rng.dirichlet(np.full(5, 2.0))
    whims = rng.standard_normal((8, draw.size)) * 1.5
    wishes = rng.standard_normal((5, draw.instances))

    def surface(point: Point) -> FloatArray:
        losses = draw.loss(point)[chosen]
        level = 2.2 * float(weights @ losses) + 0.4 * (weights * losses) @ wishes
        whim = np.tanh(np.sin(whims @ point.scaled) @ draw.traits[np.arange(8) % 3] / 2)
        return np.asarray(level - 0.8 + 0.35 * draw.difficulty + 0.3 * whim)

    return Target("sparse", draw.space, surface, 0.25, "5 of 40 parameters matter, interaction")


def nested_space() -> Space:
    """Three levels: an algorithm, its strategy, the numbers of that; 45 parameters."""
    lines = ["algorithm {a,b,c} [a]", "restart [1,1000] [100]il", "share [0,1] [0.5]"]
    conditions = []
    for algorithm in "abc":
        lines.append(f"{algorithm}_strategy {{x,y,z}} [x]")
        conditions.append(f"{algorithm}_strategy | algorithm in {{{algorithm}}}")
        for strategy in "xyz":
            for number in range(4):
                name = f"{algorithm}_{strategy}_{number}"
                lines.append(f"{name} [0.01,1] [0.1]l" if number % 2 else f"{name} [0,20] [5]i")
                conditions.append(f"{name} | {algorithm}_strategy in {{{strategy}}}")
    lines += [f"switch_{number} {{on,off}} [on]" for number in range(3)]
    return Space.parse("\n".join([*lines, *conditions]) + "\n")


def nested(seed: int = 0) -> Target:
    """Most parameters are inactive: what matters depends on two choices above."""
    draw = _Drawn(nested_space(), seed, kind=8, shape=0.8)
    branch = draw.rng.uniform(0, 0.9, (3, 3))
    branch[0, 0] = 0.8
    algorithm = draw.space.parameters.index("algorithm")
    strategies = [draw.space.parameters.index(f"{name}_strategy") for name in "abc"]
    names = [
        [draw.space.parameters.index(f"{a}_{s}_{number}") for number in range(4)]
        for a in "abc"
        for s in "xyz"
    ]
    weights = draw.rng.dirichlet(np.full(4, 0.7), 9)

    def surface(point: Point) -> FloatArray:
        first = int(point.choice[algorithm])
        second = int(point.choice[strategies[first]])
        place = 3 * first + second
        losses = draw.loss(point)
        level = -1.2 + branch[first, second] + 1.6 * float(weights[place] @ losses[names[place]])
        level += 0.6 * float(draw.weights[:3] @ losses[:3]) / float(draw.weights[:3].sum())
        whim = 0.25 * draw.traits[first % 3] + 0.15 * draw.traits[second]
        return np.asarray(level + 0.3 * draw.difficulty + whim)

    return Target("nested", draw.space, surface, 0.25, "45 parameters on three levels")


class RareTimeouts(Target):
    """A target some of whose runs get stuck, with a probability of their own."""

    def __init__(self, *given: Any, stuck: Callable[[Point], float]) -> None:
        super().__init__(*given)
        self._stuck = stuck

    def _chance(self, configuration: Configuration) -> float:
        return self._stuck(self.coding(configuration.values))

    def cost(self, configuration: Configuration, instance: int, seed: int) -> float:
        """Of one run, which may get stuck."""
        key = [zlib.crc32(configuration.name.encode()), instance, seed, 1]
        if np.random.default_rng(key).random() < self._chance(configuration):
            return HIGH
        return super().cost(configuration, instance, seed)

    def true_cost(self, configuration: Configuration) -> float:
        """The expected cost of a run."""
        chance = self._chance(configuration)
        return (1 - chance) * super().true_cost(configuration) + chance * HIGH


def rare(seed: int = 0) -> Target:
    """Like LKH on its example: the default is good, a wrong category ruins everything, and what
    is left of the cost are rare timeouts.
    """
    draw = _Drawn("lkh", seed, kind=10)
    categorical = np.flatnonzero(draw.coding.categorical)
    gates = draw.rng.choice(categorical, 3, replace=False)
    right = {int(gate): int(draw.default.choice[gate]) for gate in gates}
    bad = {
        gate: int(draw.rng.choice([c for c in range(draw.coding.choices[gate]) if c != good]))
        for gate, good in right.items()
    }
    draw.best = np.clip(draw.default.scaled + draw.rng.normal(0, 0.3, draw.size), 0, 1)
    for effect, choice in zip(draw.effects, draw.default.choice, strict=True):
        effect[choice] = min(effect[choice], 0.3)
    others = draw.rng.gamma(0.5, 1.0, draw.size)

    def surface(point: Point) -> FloatArray:
        ruined = sum(point.choice[gate] == choice for gate, choice in bad.items())
        level = -0.6 + 0.8 * float(draw.weights @ draw.loss(point)) + 1.2 * ruined
        return np.asarray(level + 0.15 * draw.difficulty + 0.1 * draw.interaction(point))

    def stuck(point: Point) -> float:
        return 0.08 * float(others @ draw.loss(point) / others.sum())

    about = "the default good, rare timeouts, LKH's space"
    return RareTimeouts("rare", draw.space, surface, 0.15, about, stuck=stuck)


TARGETS: dict[str, Callable[[int], Target]] = {
    "smooth": smooth,
    "needle": needle,
    "settled": settled,
    "personal": personal,
    "crashing": crashing,
    "classes": classes,
    "nested": nested,
    "sparse": sparse,
    "rare": rare,
}
