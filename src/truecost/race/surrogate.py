"""What an untried configuration may cost, learnt from those that were tried: a Gaussian process,
arrays in, samples out.

The cost of a configuration is taken for a sum of one effect a parameter and an effect of all of
them together. Every part has a variance of its own, estimated by maximum likelihood: most
parameters hardly matter, and theirs goes to 0. It learns from ranks, since timeouts cost orders of
magnitude more than anything else, and it knows that a mean of few runs says less.
"""

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from truecost.arrays import BoolArray, FloatArray, IntArray

# How far the effect of a number reaches, in its range; and how fast the common effect fades with
# the distance.
REACH = 0.4
FADING = 3.0
# Steps towards the most likely variances, and the steps at which the common effect takes over what
# was learnt of them.
STEPS = 20
RELEARNT = (0, 5, 10)
# Of least squares by turns.
SWEEPS = 30
# Keeps matrices regular.
JITTER = 1e-6


def effects_of(rows: IntArray, columns: IntArray, costs: FloatArray, size: int) -> FloatArray:
    """Costs of runs, each of a configuration (row) in a cell (column) -> (size,) how costly each
    configuration is, on a normal's scale.

    Ranks of all costs as normal scores; of these the effects of the configurations, adjusted for
    those of the cells, by least squares: who came further met other runs.
    """
    _, columns = np.unique(columns, return_inverse=True)
    _, places, ties = np.unique(costs, return_inverse=True, return_counts=True)
    scores = ndtri(((ties.cumsum() - ties / 2) / ties.sum())[places])
    of_row = np.maximum(np.bincount(rows, minlength=size), 1)
    of_column = np.bincount(columns)
    effects = np.zeros(size)
    for _ in range(SWEEPS):
        shared = np.bincount(columns, scores - effects[rows]) / of_column
        effects = np.bincount(rows, scores - shared[columns], minlength=size) / of_row
    return effects


class Surrogate:
    """A model of effects at points, coordinates as in `truecost.space.learning.Coordinates`.

    Parameters
    ----------
    points, effects, runs
        (n, parameters), (n,), (n,): configurations, how costly they are, and the number of runs
        that says so.
    categorical
        (parameters,): which coordinates have no order.
    """

    def __init__(
        self, points: FloatArray, effects: FloatArray, runs: IntArray, categorical: BoolArray
    ) -> None:
        parts = _parts(points, points, categorical)
        # A parameter that is the same everywhere has no effect to be seen.
        self._varied = parts.reshape(len(parts), -1).min(axis=1) < 1 - 1e-9
        self._points, self._categorical = points, categorical
        parts = parts[self._varied]
        number, size = parts.shape[:2] if len(parts) else (0, len(points))
        flat, noise = parts.reshape(number, -1), 1.0 / runs
        centre, scale = (
            float(np.average(effects, weights=runs / (runs + 1.0))),
            float(effects.std()) or 1.0,
        )
        standardised = (effects - centre) / scale
        # Variances: of every parameter's effect, of the common one, of what no point explains, of
        # one run.
        # Where the climb begins: half of the variance with the parameters, in equal parts.
        self._each = np.full(number, 0.5 / max(number, 1))
        self._common, rest, run = 0.2, 0.05, 0.25
        for step in range(STEPS + 1):
            if step in RELEARNT:
                self._shares = self._each / max(float(self._each.sum()), 1e-12)
                together = np.exp(FADING * ((self._shares @ flat).reshape(size, size) - 1))
            matrix = (self._each @ flat).reshape(size, size) + self._common * together
            matrix[np.diag_indices(size)] += rest + run * noise + JITTER
            if step == STEPS:
                break
            # Maximum likelihood by minorisation (Zhou, Hu, Zhou and Lange 2019): every step raises
            # it.
            inverse = np.linalg.inv(matrix)
            weights = inverse @ standardised
            outer, diagonal = np.outer(weights, weights), np.diag(inverse)
            self._each = self._each * np.sqrt(
                np.maximum(flat @ outer.ravel(), 0.0) / (flat @ inverse.ravel())
            )
            self._common *= math.sqrt(
                max(float((together * outer).sum()), 0.0) / float((together * inverse).sum())
            )
            rest = max(rest * math.sqrt(float(weights @ weights) / float(diagonal.sum())), 1e-4)
            run = max(run * math.sqrt(float(weights**2 @ noise) / float(diagonal @ noise)), 1e-3)
        self._factor = cho_factor(matrix, lower=True)
        self._weights = cho_solve(self._factor, standardised)
        # (n,): the effects of these configurations without the noise of their runs.
        self.fitted = standardised - run * noise * self._weights

    def sampled(
        self, points: FloatArray, number: int, rng: np.random.Generator, *, temper: float
    ) -> FloatArray:
        """(number, n): effects at points, as they may be; `temper` 1 for what is known of them, 0
        for their mean.
        """
        towards = self._covariance(points, self._points)
        spread = self._covariance(points, points) - towards @ cho_solve(self._factor, towards.T)
        spread[np.diag_indices(len(points))] += JITTER
        draws = rng.standard_normal((number, len(points))) @ np.linalg.cholesky(spread).T
        return np.asarray(towards @ self._weights + temper * draws)

    def mean(self, points: FloatArray) -> FloatArray:
        """(n,): the effects at points, as far as they are known."""
        return np.asarray(self._covariance(points, self._points) @ self._weights)

    def promise(self, points: FloatArray) -> FloatArray:
        """(n,): mean of the effect less its standard deviation, the lower the more promising."""
        towards = self._covariance(points, self._points)
        explained = (towards.T * cho_solve(self._factor, towards.T)).sum(axis=0)
        return np.asarray(
            towards @ self._weights
            - np.sqrt(np.maximum(self._each.sum() + self._common - explained, 0.0))
        )

    def _covariance(self, points: FloatArray, others: FloatArray) -> FloatArray:
        parts = _parts(
            points[:, self._varied], others[:, self._varied], self._categorical[self._varied]
        )
        flat = parts.reshape(len(parts), len(points) * len(others))
        shape = len(points), len(others)
        together = np.exp(FADING * ((self._shares @ flat).reshape(shape) - 1))
        return np.asarray((self._each @ flat).reshape(shape) + self._common * together)


def _parts(points: FloatArray, others: FloatArray, categorical: BoolArray) -> FloatArray:
    """(parameters, n, m): how alike a parameter's effects at two points are; not at all if it is
    inactive at one only.
    """
    missing, elsewhere = np.isnan(points), np.isnan(others)
    parts = np.empty((points.shape[1], len(points), len(others)))
    for place, part in enumerate(parts):
        apart = np.nan_to_num(points[:, place])[:, np.newaxis] - np.nan_to_num(others[:, place])
        part[:] = apart == 0 if categorical[place] else np.exp(-0.5 * (apart / REACH) ** 2)
        if missing[:, place].any() or elsewhere[:, place].any():
            one, other = missing[:, place][:, np.newaxis], elsewhere[:, place]
            part[one & other] = 1.0
            part[one ^ other] = 0.0
    return parts
