"""What needs no simulation: the mean squared error of S*, S† and S° in closed form, expectations
over random subsets of configurations, and three weightings of a mean.

A split draws K training instances and T = P/2 test instances without replacement. The mean cost on
the test instances counts as the true cost.
"""

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError, check_choice
from truecost.matrix import CostMatrix
from truecost.stats.allocation import even_sizes
from truecost.stats.variance import VarianceComponents, variance_components

if TYPE_CHECKING:
    import pandas as pd

# "scattered" is S° as the paper's text defines it, "pairs" as its authors' program draws it.
Estimator = Literal["even", "concentrated", "scattered", "pairs"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
Weights = Literal["runs", "instances", "best"]


class SquaredError(NamedTuple):
    """E(û − test mean)² in three parts, each of shape (…, M) for a grid of K and N.

    Attributes
    ----------
    across, within
        From the choice of training instances, and from the runs on them. `across` is negative where
        instances differ less than their runs explain.
    floor
        From the choice of test instances: no weighting of training runs removes it.
    """

    across: FloatArray
    within: FloatArray
    floor: FloatArray

    @property
    def total(self) -> FloatArray:
        """The mean squared error of every configuration."""
        return self.across + self.within + self.floor


def mean_squared_error(
    matrix: CostMatrix, estimator: Estimator = "even", *, instances: ArrayLike, runs: ArrayLike
) -> SquaredError:
    """The exact mean squared error of an estimator over random splits: across·Σnᵢ²/N² + within/N
    (Lemma 2, which holds exactly under resampling) + V/T, the noise of the test mean.

    Parameters
    ----------
    matrix
        Without gaps, or as `complete` makes it.
    estimator
        "even" (S*), "concentrated" (S†: all runs of one instance after another), "scattered" (S°:
        instances and runs with replacement) or "pairs" (S° as distinct (instance, run) pairs).
    instances, runs
        K and N, broadcast against each other.
    """
    check_choice("estimator", estimator, ESTIMATORS)
    costs = complete(matrix).costs
    stored = costs.shape[2]
    k, n = np.broadcast_arrays(np.asarray(instances, np.int64), np.asarray(runs, np.int64))
    if k.size == 0 or k.min() < 1 or n.min() < 1:
        raise InputError("K and N must be at least 1. Give larger instances and runs.")
    _, test = split_sizes(matrix.shape[1], int(k.max()))
    q = _concentration(estimator, k, n, stored)[..., np.newaxis]
    n = n[..., np.newaxis]
    # The matrix is the whole population here, so these are true values, not estimates.
    spread = costs.mean(axis=2).var(axis=1, ddof=1)
    noise = costs.var(axis=2, ddof=1).mean(axis=1) if stored > 1 else np.zeros_like(spread)
    within = noise / n
    if estimator == "scattered":
        # Drawn with replacement, two runs on an instance can be the same stored run.
        within = within + noise / stored * (q - 1 / n)
    across = (spread - noise / stored) * q
    return SquaredError(*np.broadcast_arrays(across, within, spread / test))


def _concentration(estimator: Estimator, k: IntArray, n: IntArray, stored: int) -> FloatArray:
    """E Σnᵢ²/N² of an estimator on K instances with R stored runs each."""
    if estimator == "scattered":
        return (1 + (n - 1) / k) / n
    if (n > k * stored).any():
        raise InputError(f"N is above {stored}·K, and not every cell has more runs. Lower N.")
    if estimator == "even":
        return np.asarray(even_sizes(n, k).sum_of_squares / n**2)
    if estimator == "concentrated":
        return np.asarray(((n // stored) * stored**2 + (n % stored) ** 2) / n**2)
    # nᵢ is hypergeometric: N of K·R pairs without replacement.
    variance = n / k * (1 - 1 / k) * (k * stored - n) / np.maximum(k * stored - 1, 1)
    return np.asarray(k * (variance + (n / k) ** 2) / n**2)


def estimator_table(matrix: CostMatrix) -> "pd.DataFrame":
    """The paper's comparison of estimators: a row for each estimator, K and N of its grid, with the
    parts of the squared error and their sum, `squared`, averaged over configurations.
    """
    import pandas as pd

    k, n = grid(matrix)
    parts = []
    for estimator in ESTIMATORS:
        error = mean_squared_error(matrix, estimator, instances=k, runs=n)
        means = {name: x.mean(axis=-1).ravel() for name, x in error._asdict().items()}
        sizes = {"estimator": estimator, "k": k.ravel(), "n": n.ravel()}
        parts.append(pd.DataFrame({**sizes, **means, "squared": sum(means.values())}))
    return pd.concat(parts, ignore_index=True)


def grid(matrix: CostMatrix) -> tuple[IntArray, IntArray]:
    """The paper's grid: K = r₁P and N = r₂K, rounded up, for r₁ = 0.10, 0.15 … 0.50 and r₂ = 0.25,
    0.5 … 4, as far as the stored runs reach.
    """
    # 0.15·500 is slightly above 75 in floating point and must stay 75.
    sizes = np.unique(np.ceil(np.arange(2, 11) / 20 * matrix.shape[1] - 1e-9).astype(np.int64))
    k = sizes[sizes <= matrix.shape[1] // 2][:, np.newaxis]
    n = np.ceil(np.arange(1, 17) / 4 * k - 1e-9).astype(np.int64)
    # N/K is the same in every row, so a column is within the stored runs or not.
    n = n[:, (n <= k * complete(matrix).shape[2]).all(axis=0)]
    return np.broadcast_to(k, n.shape).copy(), n


def subset_weights(configurations: int, sizes: ArrayLike) -> FloatArray:
    """C(i−1, m−1)/C(M, m) for i = 1 … M, a row for every m: the probability that the i-th smallest
    of M values is the largest of a random m-subset.

    Reversed, the probability that it is the smallest. Each row sums to 1.
    """
    m = np.atleast_1d(np.asarray(sizes, dtype=np.int64))
    if m.min() < 1 or m.max() > configurations:
        raise InputError(f"m is {m.min()} to {m.max()}. Give values from 1 to {configurations}.")
    # In logarithms, since binomial coefficients overflow from M = 1,030 on; minus infinity for
    # i < m. What is left out does not depend on i, and the rows are scaled to sum 1.
    i, m = np.arange(1.0, configurations + 1), m[:, np.newaxis]
    weights = np.exp(
        gammaln(i) - gammaln(i - m + 1) - gammaln(configurations) + gammaln(configurations - m + 1)
    )
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def training_costs(
    matrix: CostMatrix, weights: Weights = "runs", components: VarianceComponents | None = None
) -> FloatArray:
    """The training cost of every configuration; NaN without runs. With equal counts the three
    weightings agree.

    Parameters
    ----------
    matrix
        Runs may be missing, but not because of what they would have cost.
    weights
        "runs" counts every run alike: the paper's estimator (Definition 3), of which the bounds
        speak. "instances" counts every instance alike: unbiased also where the number of runs
        depends on the instance. "best" weighs an instance by 1/(across + within/nᵢ): the least
        variance of all linear unbiased estimates if the components are the true ones and counts do
        not depend on the instance.
    components
        Of "best"; estimated from the matrix if not given.
    """
    check_choice("weights", weights, get_args(Weights))
    counts = matrix.counts()
    means = np.nansum(matrix.charged, axis=2) / np.maximum(counts, 1)
    weight = (counts if weights == "runs" else counts > 0).astype(np.float64)
    if weights == "best":
        components = components or variance_components(matrix)
        within, across = (
            np.maximum(values, 0)[:, np.newaxis]
            for values in (components.within, components.across)
        )
        variance = across + within / np.maximum(counts, 1)
        # Instances count alike where nothing varies, or nothing is known of what varies.
        weight /= np.where((variance > 0).all(axis=1, keepdims=True), variance, 1)
    with np.errstate(invalid="ignore"):
        return np.asarray((weight * means).sum(axis=1) / weight.sum(axis=1))


def split_sizes(instances: int, train: int | None = None) -> tuple[int, int]:
    """K and T: T is half of the instances, and so is K if not given."""
    test = instances // 2
    train = test if train is None else train
    if not (1 <= train <= instances - test and test):
        raise InputError(
            f"{train} training and {test} test instances are no split of {instances}. Half of the "
            "instances are for the test; give K from 1 to the number of the others."
        )
    return train, test


def complete(matrix: CostMatrix) -> CostMatrix:
    """The matrix without gaps: where runs are missing, the first of each cell, as many as every
    cell has.
    """
    costs, counts = matrix.exact_costs(), matrix.counts()
    fewest = int(counts.min())
    if fewest == 0:
        configuration, instance = np.argwhere(counts == 0)[0]
        raise InputError(
            f"Configuration {matrix.configurations[configuration]!r} has no run on instance "
            f"{matrix.instances[instance]!r}. Leave out one of the two."
        )
    if fewest == matrix.shape[2]:
        return matrix
    order = np.argsort(np.isnan(costs), axis=2, kind="stable")[..., :fewest]
    return CostMatrix(
        np.take_along_axis(costs, order, axis=2),
        matrix.configurations,
        matrix.instances,
        matrix.low,
        matrix.high,
    )
