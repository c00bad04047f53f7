"""Configurations as points of a unit cube, by the hundred: drawing, moving, checking, decoding.

A point has one coordinate per parameter, in ConfigSpace's order. For a number it is its place in
the range, on its scale, from 0 to 1 (ordinals count as numbers); for a category its index among the
choices; NaN where the parameter is inactive. Arrays of points are (n, parameters).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import ConfigSpace
import numpy as np
from ConfigSpace.hyperparameters import IntegerHyperparameter, NumericalHyperparameter
from scipy.special import ndtr, ndtri

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError
from truecost.space.parameters import Value, plain


class Points:
    """The coordinates of a space, whose reals are rounded to a number of decimals."""

    def __init__(self, space: ConfigSpace.ConfigurationSpace, decimals: int) -> None:
        self._decimals = decimals
        self._parameters: list[Any] = list(space.values())
        unordered = ConfigSpace.CategoricalHyperparameter | ConfigSpace.Constant
        self.categorical: BoolArray = np.array(
            [isinstance(item, unordered) for item in self._parameters]
        )
        # ConfigSpace counts the values of an ordinal; here they lie in [0, 1] as numbers do.
        self._size = np.array(
            [
                max(item.upper_vectorized, 1.0)
                if isinstance(item, ConfigSpace.OrdinalHyperparameter)
                else 1.0
                for item in self._parameters
            ]
        )
        # Each whole number stands for what rounds to it, the ends, too: so far beyond 0 and 1.
        margins = np.array([_margins(item) for item in self._parameters]).reshape(-1, 2)
        self._low, self._high = -margins[:, 0], 1 + margins[:, 1]
        self._conditions = [
            (column, space.parent_conditions_of[item.name])
            for column, item in enumerate(self._parameters)
            if space.parent_conditions_of[item.name]
        ]
        self._forbidden = space.forbidden_clauses

    @property
    def dimensions(self) -> int:
        """The number of parameters."""
        return len(self._parameters)

    def encode(self, configurations: Sequence[Mapping[str, Value]]) -> FloatArray:
        """The points of configurations, given by the values of their active parameters."""
        points = np.full((len(configurations), self.dimensions), np.nan)
        for column, parameter in enumerate(self._parameters):
            for row, values in enumerate(configurations):
                if parameter.name in values:
                    points[row, column] = float(parameter.to_vector(values[parameter.name]))
        return np.asarray(points / self._size)

    def decode(self, points: FloatArray) -> list[dict[str, Value]]:
        """The values of the active parameters of every point, reals rounded."""
        decoded: list[dict[str, Value]] = [{} for _ in points]
        vectors = points * self._size
        for parameter, column in zip(self._parameters, vectors.T, strict=True):
            active = np.flatnonzero(~np.isnan(column))
            if active.size:
                values = parameter.to_value(column[active])
                if isinstance(parameter, NumericalHyperparameter) and values.dtype.kind == "f":
                    rounded = np.round(values, self._decimals)
                    values = np.clip(rounded, parameter.lower, parameter.upper)
                for row, value in zip(active.tolist(), values.tolist(), strict=True):
                    decoded[row][parameter.name] = plain(value)
        return decoded

    def from_uniforms(self, uniforms: FloatArray) -> FloatArray:
        """Points from independent uniform numbers (n, parameters); inactive parameters are NaN.

        What is forbidden is among them: see `allowed`.
        """
        return self._settled(self._drawn(uniforms))

    def around(
        self, points: FloatArray, rng: np.random.Generator, *, spread: float, keep: float
    ) -> FloatArray:
        """A random point near each of these; it may be forbidden, or the same.

        Every number comes from a normal distribution around its value, with a standard deviation
        of `spread` times its range, cut at the ends of the range. A category stays with
        probability `keep` and is drawn anew otherwise, as is everything that becomes active.
        """
        fresh = self._drawn(rng.random(points.shape))
        # The normal distribution between the ends, by the inverse of its distribution function.
        low, high = ndtr((self._low - points) / spread), ndtr((self._high - points) / spread)
        drift = spread * ndtri(low + (high - low) * rng.random(points.shape))
        near = np.clip(points + drift, self._low, self._high)
        stays = rng.random(points.shape) < keep
        moved = np.where(self.categorical, np.where(stays, points, fresh), near)
        return self._settled(np.where(np.isnan(points), fresh, moved))

    def allowed(self, points: FloatArray) -> BoolArray:
        """(n,): whether a point has no forbidden combination."""
        allowed = np.ones(len(points), dtype=bool)
        if self._forbidden and len(points):
            vectors = (points * self._size).T.copy()
            try:
                for clause in self._forbidden:
                    allowed &= ~clause.is_forbidden_vector_array(vectors)
            except TypeError as error:
                raise InputError(
                    f"Forbidden values cannot be compared ({error}). Compare numbers with numbers."
                ) from error
        return allowed

    def _settled(self, points: FloatArray) -> FloatArray:
        """Whole numbers where the parameter has no others; NaN where conditions switch it off."""
        vectors = (points * self._size).T.copy()
        for parameter, row in zip(self._parameters, vectors, strict=True):
            if isinstance(parameter, ConfigSpace.OrdinalHyperparameter):
                row[:] = np.clip(np.rint(row), 0, len(parameter.sequence) - 1)
            elif isinstance(parameter, IntegerHyperparameter):
                row[:] = parameter.to_vector(parameter.to_value(np.clip(row, 0.0, 1.0)))
        # Parents come before children, and what is inactive satisfies no condition.
        for column, conditions in self._conditions:
            for condition in conditions:
                vectors[column, ~condition.satisfied_by_vector_array(vectors)] = np.nan
        return np.asarray(vectors.T / self._size)

    def _drawn(self, uniforms: FloatArray) -> FloatArray:
        """Coordinates for all parameters, of inactive ones, too."""
        drawn = uniforms.copy()
        for column, parameter in enumerate(self._parameters):
            numbers = uniforms[:, column]
            match parameter:
                case ConfigSpace.Constant():
                    drawn[:, column] = float(parameter.to_vector(parameter.value))
                case ConfigSpace.CategoricalHyperparameter():
                    ends = np.cumsum(parameter.probabilities)
                    index = np.searchsorted(ends, numbers * ends[-1], side="right")
                    drawn[:, column] = np.minimum(index, len(ends) - 1)
                case (
                    ConfigSpace.UniformIntegerHyperparameter()
                    | ConfigSpace.UniformFloatHyperparameter()
                    | ConfigSpace.OrdinalHyperparameter()
                ):
                    low, high = self._low[column], self._high[column]
                    drawn[:, column] = low + (high - low) * numbers
                case _:
                    # Normal and beta distributions of a ConfigSpace file: a draw per number.
                    drawn[:, column] = [
                        float(parameter.sample_vector(seed=np.random.RandomState(int(u * 2**32))))
                        for u in numbers
                    ]
        return drawn


def _margins(parameter: Any) -> tuple[float, float]:
    """How far the stretches that round to the ends of a range reach beyond them."""
    match parameter:
        case ConfigSpace.OrdinalHyperparameter():
            margin = 0.5 / max(len(parameter.sequence) - 1, 1)
            return margin, margin
        case ConfigSpace.UniformIntegerHyperparameter(lower=low, upper=high, log=log):
            scale = math.log if log else float
            width = scale(high) - scale(low)
            return (
                (scale(low) - scale(low - 0.5)) / width,
                (scale(high + 0.5) - scale(high)) / width,
            )
    return 0.0, 0.0
