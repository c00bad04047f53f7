"""What a search learns from its runs: a model of the costs, and the configurations that it offers
to be tried.

The model (`truecost.race.surrogate`) looks at hundreds of random configurations and neighbours of
the best. An offer is the best of them by one sample of what the model knows (Thompson sampling):
the surer it is, the more it keeps to what it found.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import ConfigSpace
import numpy as np
from ConfigSpace.hyperparameters import IntegerHyperparameter
from scipy.special import ndtr, ndtri
from threadpoolctl import ThreadpoolController

from truecost.arrays import FloatArray, IntArray
from truecost.race.surrogate import Surrogate, effects_of
from truecost.space.files import plain
from truecost.space.propose import nearness
from truecost.space.space import Configuration, Space, name_of

# The least and largest number of configurations a model learns from; the candidates it looks at,
# half of them neighbours; it samples the effects of the most promising.
FIRST, MOST = 12, 250
CANDIDATES, PROMISING = 600, 100
# How much of what is not known enters a sample: in many dimensions all of it would drown what is.
TEMPER = 0.5
# Proposals sampled at once.
BATCH = 40
# What samples are drawn from, beside the seed and the number of the first proposal.
SAMPLES = 1
# Of BLAS: more threads wait in a loop for each other, on cores that solvers are measured on.
ONE_THREAD: dict[str, Any] = {"limits": 1, "user_api": "blas"}


@cache
def _libraries() -> ThreadpoolController:
    """The libraries with threads, looked for once: numpy's and scipy's are loaded by now."""
    return ThreadpoolController()


class Coordinates:
    """Configurations of a space as points, by the hundred; arrays are (n, parameters).

    A point has a coordinate a parameter, in ConfigSpace's order: a number's place in its range, on
    its scale, from 0 to 1; the place of a category among its choices; NaN for what is inactive.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._parameters = list(space.configspace.values())
        unordered = ConfigSpace.CategoricalHyperparameter | ConfigSpace.Constant
        self.categorical = np.array([isinstance(item, unordered) for item in self._parameters])
        # ConfigSpace counts the places of ordinals; here they lie in [0, 1] as numbers do.
        self._size = np.array(
            [
                1.0 if isinstance(parameter, unordered) else max(parameter.upper_vectorized, 1.0)
                for parameter in self._parameters
            ]
        )

    def of(self, configurations: Sequence[Configuration]) -> FloatArray:
        """The points of configurations."""
        points = np.full((len(configurations), len(self._parameters)), np.nan)
        for place, parameter in enumerate(self._parameters):
            for row, configuration in enumerate(configurations):
                if parameter.name in configuration.values:
                    value = configuration.values[parameter.name]
                    points[row, place] = float(parameter.to_vector(value))
        return np.asarray(points / self._size)

    def random(self, number: int, rng: np.random.Generator) -> FloatArray:
        """Random points, forbidden ones left out."""
        return self._settled(self._drawn(number, rng))

    def around(
        self, points: FloatArray, rng: np.random.Generator, *, spread: FloatArray, keep: FloatArray
    ) -> FloatArray:
        """A random point near each of these, as `Space.around` has it, with a spread and a keep of
        its own.
        """
        drawn = self._drawn(len(points), rng)
        spread = spread[:, np.newaxis]
        # The normal distribution between the ends, by the inverse of its distribution function.
        low, high = ndtr((0 - points) / spread), ndtr((1 - points) / spread)
        drift = spread * ndtri(low + (high - low) * rng.random(points.shape))
        near = np.clip(points + drift, 0.0, 1.0)
        stays = rng.random(points.shape) < keep[:, np.newaxis]
        moved = np.where(self.categorical, np.where(stays, points, drawn), near)
        return self._settled(np.where(np.isnan(points), drawn, moved))

    def configuration(self, point: FloatArray) -> Configuration:
        """The configuration at a point; reals are rounded as in a random configuration."""
        values = {}
        for parameter, coordinate in zip(self._parameters, point * self._size, strict=True):
            if not np.isnan(coordinate):
                value = plain(parameter.to_value(float(coordinate)))
                real = isinstance(value, float)
                values[parameter.name] = round(value, self._space.decimals) if real else value
        ordered = {name: values[name] for name in self._space.parameters if name in values}
        return Configuration(name=name_of(ordered), values=ordered)

    def _drawn(self, number: int, rng: np.random.Generator) -> FloatArray:
        """Random coordinates, of inactive parameters too."""
        state = np.random.RandomState(rng.bit_generator)
        drawn = [parameter.sample_vector(number, seed=state) for parameter in self._parameters]
        return np.asarray(np.stack(drawn, axis=1) / self._size, np.float64)

    def _settled(self, points: FloatArray) -> FloatArray:
        """With what conditions switch off left out, and without forbidden points."""
        conditions = self._space.configspace.parent_conditions_of
        vectors = (points * self._size).T.copy()
        # Between two whole numbers, or two places of an ordinal, there is nothing.
        for parameter, row in zip(self._parameters, vectors, strict=True):
            if isinstance(parameter, ConfigSpace.OrdinalHyperparameter):
                row[:] = np.rint(row)
            elif isinstance(parameter, IntegerHyperparameter):
                row[:] = parameter.to_vector(parameter.to_value(row))
        # Parents come before children. What is inactive satisfies no condition.
        for place, parameter in enumerate(self._parameters):
            for condition in conditions[parameter.name]:
                vectors[place, ~condition.satisfied_by_vector_array(vectors)] = np.nan
        allowed = np.ones(len(points), dtype=bool)
        for clause in self._space.configspace.forbidden_clauses:
            allowed &= ~clause.is_forbidden_vector_array(vectors)
        return np.asarray(vectors.T[allowed] / self._size)


class Learner:
    """A model of the costs, and what it promises."""

    def __init__(self, space: Space) -> None:
        self._points = Coordinates(space)
        self._model: Surrogate | None = None
        self._tried = np.empty(0, dtype=np.int64)

    def learn(
        self,
        configurations: Sequence[Configuration],
        rows: IntArray,
        cells: IntArray,
        costs: FloatArray,
    ) -> bool:
        """From runs, each of a configuration in a cell; whether they say anything."""
        runs = np.bincount(rows, minlength=len(configurations))
        self._model, tried = None, np.flatnonzero(runs)
        if tried.size < FIRST:
            return False
        effects = effects_of(rows, cells, costs, len(configurations))
        if np.ptp(effects[tried]) == 0:
            return False
        if tried.size > MOST:
            # The better half of what it can take, and of the others an even sample.
            ranked = tried[np.argsort(effects[tried], kind="stable")]
            others = np.linspace(MOST // 2, tried.size - 1, MOST - MOST // 2).astype(np.int64)
            tried = ranked[np.concatenate([np.arange(MOST // 2), others])]
        self._tried = tried
        points = self._points.of([configurations[place] for place in tried.tolist()])
        with _libraries().limit(**ONE_THREAD):
            self._model = Surrogate(points, effects[tried], runs[tried], self._points.categorical)
        return True

    def ranked(self) -> list[int]:
        """The configurations it learnt from, the best by the model first; [] without a model."""
        effects = np.empty(0) if self._model is None else self._model.fitted
        order = np.argsort(effects, kind="stable")
        return [int(place) for place in self._tried[order]]

    def predict(self, configurations: Sequence[Configuration]) -> FloatArray:
        """The effects of configurations by the model, which must have learnt something."""
        if self._model is None:
            return np.zeros(len(configurations))
        return self._model.mean(self._points.of(configurations))

    def offers(
        self, parents: Sequence[Configuration], spent: float, rng: np.random.Generator
    ) -> list[Configuration]:
        """What to try, the best of several candidates each; nothing before there is a model."""
        if self._model is None or not parents:
            return []
        chosen = np.minimum(rng.geometric(0.5, CANDIDATES // 2), len(parents)) - 1
        near = self._points.of(parents)[chosen]
        spread, keep = (np.full(len(near), share) for share in nearness(spent))
        around = self._points.around(near, rng, spread=spread, keep=keep)
        points = np.concatenate([around, self._points.random(CANDIDATES - len(near), rng)])
        with _libraries().limit(**ONE_THREAD):
            points = points[np.argsort(self._model.promise(points), kind="stable")[:PROMISING]]
            samples = self._model.sampled(points, min(BATCH, len(points)), rng, temper=TEMPER)
        taken: list[int] = []
        for sample in samples:
            order = np.argsort(sample, kind="stable").tolist()
            taken.append(next(place for place in order if place not in taken))
        return [self._points.configuration(points[place]) for place in taken]
