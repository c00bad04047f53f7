"""Three weightings of a configuration's runs: training costs where counts differ."""

from typing import Literal

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import check_choice
from truecost.matrix import CostMatrix
from truecost.stats.variance import VarianceComponents, variance_components

Weights = Literal["runs", "instances", "best"]


def training_costs(
    matrix: CostMatrix,
    weights: Weights = "runs",
    components: VarianceComponents | None = None,
) -> FloatArray:
    """The training cost of every configuration; NaN without runs.

    Parameters
    ----------
    matrix
        Runs may be missing, but not because of what they would have cost.
    weights
        "runs" counts every run alike, the paper's estimator (Definition 3), of which the bounds
        speak. "instances" counts every instance alike: unbiased also where the number of runs
        depends on the instance. "best" weighs an instance by 1/(across + within/nᵢ), the least
        variance of all linear unbiased estimates if the components are the true ones. With equal
        counts the three agree.
    components
        Of "best"; estimated from the matrix if not given.
    """
    check_choice("weights", weights, ("runs", "instances", "best"))
    counts = matrix.counts()
    means = np.nansum(matrix.charged, axis=2) / np.maximum(counts, 1)
    weight = counts.astype(np.float64) if weights == "runs" else (counts > 0).astype(np.float64)
    if weights == "best":
        known = variance_components(matrix) if components is None else components
        within, across = (
            np.maximum(values, 0)[:, np.newaxis] for values in (known.within, known.across)
        )
        variance = across + within / np.maximum(counts, 1)
        # Instances count alike where nothing varies, or nothing is known of what varies.
        weight /= np.where((variance > 0).all(axis=1, keepdims=True), variance, 1)
    with np.errstate(invalid="ignore"):
        return np.asarray((weight * means).sum(axis=1) / weight.sum(axis=1))
