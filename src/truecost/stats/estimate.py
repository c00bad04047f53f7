"""The training cost of every configuration: the mean of its runs, the mean of its instance means,
or best linear weights.

Examples
--------
>>> tc.estimate.training_cost(tc.load_example("clasp")).cost.shape
(50,)
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError, check_choice
from truecost.matrix import CostMatrix
from truecost.stats.variance import (
    InstanceSummaries,
    VarianceComponents,
    instance_summaries,
    variance_components,
)

Weights = Literal["runs", "instances", "best"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingCost:
    """Training costs of M configurations and how noisy they are.

    Attributes
    ----------
    cost
        The estimate of the true cost; NaN for a configuration without runs.
    variance
        By Lemma 2 for weights "runs", Σ w_i²·(across + within/n_i) in general; NaN where the
        components are not known.
    standard_error
        From the scatter of the instance means alone, without the components; NaN with fewer than
        two instances. Its square is unbiased where instance means vary alike; with very uneven
        counts and little `across` it is too large.
    runs, instances
        N, and the number of instances with a run.
    weights
        How the runs were weighted.
    plug_in
        Whether `variance` (and, for "best", the weights) rest on components estimated from the same
        runs.
    """

    cost: FloatArray
    variance: FloatArray
    standard_error: FloatArray
    runs: IntArray
    instances: IntArray
    weights: Weights
    plug_in: bool


def training_cost(
    matrix: CostMatrix, *, weights: Weights = "runs", components: VarianceComponents | None = None
) -> TrainingCost:
    """Estimate the true cost of every configuration (Definition 3 and its generalisation to
    weighted instance means).

    Parameters
    ----------
    matrix
        M configurations; missing runs allowed, as long as they are not missing because of what they
        would have cost.
    weights
        "runs" weighs every run alike, the paper's estimator and the one the bounds speak of.
        "instances" weighs every instance alike; it stays unbiased when the number of runs, one at
        least, depends on the instance. "best" has weights ∝ 1/(across + within/n_i), the least
        variance a linear unbiased estimate can have if the components are the true ones. With equal
        counts the three agree.
    components
        Known components, M or one for all. Without them they are estimated from the matrix.

    Examples
    --------
    >>> round(float(tc.training_cost(tc.load_example("kissat")).cost.min()), 3)
    0.236
    """
    check_choice("weights", weights, get_args(Weights))
    used = variance_components(matrix) if components is None else components
    configurations = matrix.shape[0]
    if used.within.size not in (1, configurations):
        raise InputError(
            f"Expected components for 1 or {configurations} configurations, got {used.within.size}."
        )
    known = [
        np.broadcast_to(np.maximum(values, 0), (configurations,))[:, np.newaxis]
        for values in (used.within, used.across, used.total)
    ]
    parts, start = [], 0
    for block in instance_summaries(matrix):
        rows = slice(start, start + len(block.counts))
        parts.append(_weighted(block, weights, *(values[rows] for values in known)))
        start = rows.stop
    cost, variance, standard_error, runs, instances = map(np.concatenate, zip(*parts, strict=True))
    return TrainingCost(
        cost=cost,
        variance=variance,
        standard_error=standard_error,
        runs=runs.astype(np.int64),
        instances=instances.astype(np.int64),
        weights=weights,
        plug_in=used.estimated,
    )


def _weighted(
    block: InstanceSummaries,
    weights: Weights,
    within: FloatArray,
    across: FloatArray,
    total: FloatArray,
) -> tuple[FloatArray, ...]:
    counts, means, _ = block
    mask = counts > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        # Of an instance with a single run only the sum of both components matters, and that is
        # known from single runs too.
        apart = across + within / np.maximum(counts, 1)
        of_mean = np.where((counts == 1) & np.isnan(apart), total, apart)
        if weights == "runs":
            weight = counts
        elif weights == "instances":
            weight = mask.astype(np.float64)
        else:
            weight = np.where(mask, _precision(of_mean), 0)
        weight = weight / weight.sum(axis=1, keepdims=True)
        cost = (weight * means).sum(axis=1)
        variance = np.where(mask, weight**2 * of_mean, 0).sum(axis=1)
        residuals = np.where(mask, means - cost[:, np.newaxis], 0)
        # E(ȳ_i − û)² = v·(1 − 2w_i + Σw²) for instance means of equal variance v: dividing makes it
        # unbiased there.
        share = 1 - 2 * weight + (weight**2).sum(axis=1, keepdims=True)
        scatter = np.where(mask, weight**2 * residuals**2 / share, 0).sum(axis=1)
        standard_error = np.where(mask.sum(axis=1) >= 2, np.sqrt(scatter), np.nan)
    variance = np.where(mask.any(axis=1), variance, np.nan)
    return cost, variance, standard_error, counts.sum(axis=1), mask.sum(axis=1)


def _precision(of_mean: FloatArray) -> FloatArray:
    """Weights ∝ 1/variance, the largest 1; all 1 where nothing varies or nothing is known of what
    varies.
    """
    least = of_mean.min(axis=1, keepdims=True)
    return np.where((least > 0) & np.isfinite(least), least / of_mean, 1.0)
