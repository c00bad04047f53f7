"""Configurations as points, by the hundred: what a model of the costs looks at.

A point has a coordinate a parameter, in ConfigSpace's order: a number's place in its range, on its
scale, from 0 to 1; the place of a category among its choices; NaN for what is inactive.
"""

from collections.abc import Sequence

import ConfigSpace
import numpy as np
from ConfigSpace.hyperparameters import IntegerHyperparameter
from scipy.special import ndtr, ndtri

from truecost.arrays import FloatArray
from truecost.space.files import plain
from truecost.space.space import Configuration, Space, name_of


class Coordinates:
    """The points of a space; arrays are (n, parameters)."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._parameters = list(space.configspace.values())
        unordered = ConfigSpace.CategoricalHyperparameter | ConfigSpace.Constant
        self.categorical = np.array([isinstance(each, unordered) for each in self._parameters])
        # ConfigSpace counts the places of ordinals; here they lie in [0, 1] as numbers do.
        reach = [
            1.0 if isinstance(each, unordered) else max(float(each.upper_vectorized), 1.0)
            for each in self._parameters
        ]
        self._size = np.array(reach)

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
        drawn = [each.sample_vector(number, seed=state) for each in self._parameters]
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
