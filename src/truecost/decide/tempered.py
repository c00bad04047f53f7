"""A steadier number than the training cost to choose by: the mean cost, tempered by the mean logarithm of the cost.

With a penalty for timeouts the mean of a few costs is mostly the luck of having met a timeout or not, while every run, also
a solved one, says how fast a configuration is. Over configurations, mean cost and mean log cost go together, but not
exactly. This is the situation of Fay and Herriot (1979) in small-area estimation: an unbiased noisy estimate (the mean), a
steady covariate (the mean logarithm), and a model u = a + b·l + lack of fit between them. Their estimate weighs the mean by

    w = lack of fit / (lack of fit + sampling variance of mean − b·l)

and the covariate's prediction by 1 − w, so that w goes to 1 as runs add up. With one w for all configurations it is a mean
over runs again, of w·cost + (1 − w)·b·ln(cost): paired comparisons work as they do on costs.

A configuration the model does not fit, fast on most instances and lost on some, is not to be moved far: as in Efron and
Morris' limited translation estimates (1972), a mean moves by `FURTHEST` of its standard errors at most.

It is for choosing only. What is reported of the chosen one is its cost.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# The covariate needs so many configurations for its slope and its lack of fit.
ENOUGH = 10
# Costs are moved by this share of their median before the logarithm, for those that are (nearly) the least possible.
SHIFT = 0.01


# How far a mean is moved at most, in standard errors.
FURTHEST = 1.5


class Tempering(NamedTuple):
    """The slope b, the lack of fit, and the shift inside the logarithm; slope 0 leaves costs as they are."""

    slope: float
    lack_of_fit: float
    low: float
    shift: float

    def logarithms(self, costs: FloatArray) -> FloatArray:
        """ln(cost − low + shift)."""
        return np.asarray(np.log(np.maximum(costs - self.low, 0.0) + self.shift))


PLAIN = Tempering(0.0, 0.0, 0.0, 1.0)


def shares(instances: IntArray) -> FloatArray | None:
    """(n, K) weights that make means over the runs on each instance; None if there is one run on each."""
    counts = np.bincount(instances)
    if counts.max(initial=0) <= 1:
        return None
    weights = np.zeros((instances.size, counts.size))
    weights[np.arange(instances.size), instances] = 1.0 / counts[instances]
    return weights[:, counts > 0]


def instance_means(costs: FloatArray, weights: FloatArray | None) -> FloatArray:
    """(C, n) costs in the order of a schedule -> (C, K) means over the runs on each instance met."""
    return costs if weights is None else np.asarray(costs @ weights)


def fit(costs: FloatArray, weights: FloatArray | None, low: float) -> Tempering:
    """Slope and lack of fit over configurations (rows) with the same runs, judged by the better half of them."""
    if costs.shape[0] < ENOUGH or costs.shape[1] < 2 or not np.isfinite(low):
        return PLAIN
    shift = SHIFT * float(np.median(costs) - low)
    if shift <= 0:
        return PLAIN
    mean = costs.mean(axis=1)
    # Configurations that time out nearly everywhere would rule the slope, and are not what is chosen among.
    better = mean <= np.median(mean)
    logarithms = Tempering(0.0, 0.0, low, shift).logarithms(costs[better])
    mean_there, log_there = mean[better] - mean[better].mean(), logarithms.mean(axis=1)
    log_there = log_there - log_there.mean()
    together, alone = float(mean_there @ log_there), float(log_there @ log_there)
    if together <= 0 or alone <= 0:
        return PLAIN
    slope = together / alone
    residual = mean_there - slope * log_there
    spread = float(residual @ residual) / max(residual.size - 2, 1)
    noise = float(_sampling_variances(costs[better] - slope * logarithms, weights).mean())
    return Tempering(slope, max(0.0, spread - noise), low, shift)


def temper(tempering: Tempering, costs: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Costs tempered, for every run of configurations (rows) with the same runs: what to take means and differences of."""
    if tempering.slope == 0:
        return costs
    predicted = tempering.slope * tempering.logarithms(costs)
    means = costs.mean(axis=1)
    better = means <= np.median(means)
    apart = costs - predicted
    own = _sampling_variances(apart, weights)
    noise = float(own[better].mean())
    total = tempering.lack_of_fit + noise
    # One run says nothing of its own variance: the steadier number alone.
    weight = 0.0 if np.isinf(noise) else (tempering.lack_of_fit / total if total > 0 else 1.0)
    # How far each mean is moved, from where it is to where the covariate of the better half says it should be.
    moved = (1 - weight) * (float(apart[better].mean()) - apart.mean(axis=1))
    furthest = FURTHEST * np.sqrt(np.maximum(own, noise))
    too_far = moved - np.clip(moved, -furthest, furthest)
    return np.asarray(weight * costs + (1 - weight) * (predicted + float(apart[better].mean())) - too_far[:, np.newaxis])


def _sampling_variances(left: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Of the mean of each row, from the differences between instances."""
    means = instance_means(left, weights)
    if means.shape[1] < 2:
        return np.full(means.shape[0], np.inf)
    return np.asarray(means.var(axis=1, ddof=1) / means.shape[1])
