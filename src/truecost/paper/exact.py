"""Errors without simulation: the mean squared error of S*, S† and S° in closed form, and expected
errors over random subsets of configurations.

A split draws K training instances and T test instances without replacement. The mean cost on the
test instances counts as the true cost.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError, check_choice
from truecost.matrix import CostMatrix
from truecost.stats.allocation import Allocation, even_sizes

if TYPE_CHECKING:
    import pandas as pd

# "scattered" is S° as the paper's text defines it, "pairs" as its authors' program draws it.
Estimator = Literal["even", "concentrated", "scattered", "pairs"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SquaredError:
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

    @property
    def mean(self) -> FloatArray:
        """The mean squared error averaged over configurations."""
        return np.asarray(self.total.mean(axis=-1))


def mean_squared_error(
    matrix: CostMatrix,
    estimator: Estimator | Allocation = "even",
    *,
    instances: ArrayLike | None = None,
    runs: ArrayLike | None = None,
    test: int | None = None,
) -> SquaredError:
    """The exact mean squared error of an estimator over random splits (Lemma 2 under resampling).

    Parameters
    ----------
    matrix
        As in `complete_costs`.
    estimator
        "even" (S*), "concentrated" (S†: all runs of one instance after another), "scattered" (S°:
        instances and runs with replacement), "pairs" (S° as distinct (instance, run) pairs), or an
        `Allocation`, which includes K and N.
    instances, runs
        K and N, broadcast against each other.
    test
        T; half of the instances if not given.
    """
    costs = complete_costs(matrix)
    stored = costs.shape[2]
    if isinstance(estimator, Allocation):
        k, n = np.asarray(estimator.instances), np.asarray(estimator.runs)
        _check_largest(estimator.largest, stored)
        q: FloatArray = np.asarray(estimator.sum_of_squares / n**2)
    else:
        check_choice("estimator", estimator, ESTIMATORS)
        if instances is None or runs is None:
            raise InputError("K and N are missing. Give instances=… and runs=….")
        k, n = np.broadcast_arrays(np.asarray(instances, np.int64), np.asarray(runs, np.int64))
        if k.size == 0 or k.min() < 1 or n.min() < 1:
            raise InputError("K and N must be at least 1. Give larger instances and runs.")
        q = _concentration(estimator, k, n, stored)
    _, test = split_sizes(matrix.shape[1], int(k.max()), test)
    # The matrix is the whole population here, so these are true values, not estimates.
    spread = costs.mean(axis=2).var(axis=1, ddof=1)
    noise = costs.var(axis=2, ddof=1).mean(axis=1) if stored > 1 else np.zeros_like(spread)
    q, n = q[..., np.newaxis], n[..., np.newaxis]
    within = noise / n
    if estimator == "scattered":
        # Drawn with replacement, two runs on an instance can be the same stored run.
        within = within + noise / stored * (q - 1 / n)
    across, within, floor = np.broadcast_arrays(
        (spread - noise / stored) * q, within, spread / test
    )
    return SquaredError(across=across, within=within, floor=floor)


def estimator_table(matrix: CostMatrix) -> "pd.DataFrame":
    """The paper's whole comparison of estimators: a row for each estimator, K and N of its grid.

    Columns: estimator, k, n, across, within, floor and their sum squared, averaged over
    configurations.
    """
    import pandas as pd

    k, n = grid(matrix)
    parts = []
    for estimator in ESTIMATORS:
        error = mean_squared_error(matrix, estimator, instances=k, runs=n)
        columns = {"across": error.across, "within": error.within, "floor": error.floor}
        means = {name: values.mean(axis=-1).ravel() for name, values in columns.items()}
        parts.append(
            pd.DataFrame({"estimator": estimator, "k": k.ravel(), "n": n.ravel(), **means})
        )
    table = pd.concat(parts, ignore_index=True)
    return table.assign(squared=table["across"] + table["within"] + table["floor"])


def grid(matrix: CostMatrix) -> tuple[IntArray, IntArray]:
    """The paper's grid: K = r₁P and N = r₂K, rounded up, for r₁ = 0.10, 0.15 … 0.50 and r₂ = 0.25,
    0.5 … 4, as far as the stored runs reach.
    """
    # 0.15·500 is slightly above 75 in floating point and must stay 75.
    sizes = np.unique(np.ceil(np.arange(2, 11) / 20 * matrix.shape[1] - 1e-9).astype(np.int64))
    k = sizes[sizes <= matrix.shape[1] // 2][:, np.newaxis]
    n = np.ceil(np.arange(1, 17) / 4 * k - 1e-9).astype(np.int64)
    # N/K is the same in every row, so a column is within the stored runs or not.
    n = n[:, (n <= k * complete_costs(matrix).shape[2]).all(axis=0)]
    return np.broadcast_to(k, n.shape).copy(), n


def subset_weights(configurations: int, sizes: ArrayLike) -> FloatArray:
    """C(i−1, m−1)/C(M, m) for i = 1 … M, a row for every m: the probability that the i-th smallest
    of M values is the largest of a random m-subset.

    Reversed, the probability that it is the smallest. Each row sums to 1.
    """
    m = np.atleast_1d(np.asarray(sizes, dtype=np.int64))
    if m.min() < 1 or m.max() > configurations:
        raise InputError(f"m is {m.min()} to {m.max()}. Give values from 1 to {configurations}.")
    # Logarithms, since binomial coefficients overflow from M = 1,030 on; from a table, since
    # gammaln of every entry would take most of the time of a sweep.
    log_factorial = gammaln(np.arange(1, configurations + 2, dtype=np.float64))
    i, column = np.arange(1, configurations + 1), m[:, np.newaxis]

    def log_binomial(n: IntArray, k: IntArray) -> FloatArray:
        below = log_factorial[np.maximum(n - k, 0)] + log_factorial[k]
        return np.asarray(log_factorial[n] - below)

    log_all = log_binomial(np.asarray(configurations), column)
    log_weight = log_binomial(i - 1, column - 1) - log_all
    weights = np.where(i >= column, np.exp(log_weight), 0.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def split_sizes(instances: int, train: int | None, test: int | None) -> tuple[int, int]:
    """K and T; half of the instances each if not given."""
    train, test = (instances // 2 if size is None else size for size in (train, test))
    if train < 1 or test < 1 or train + test > instances:
        raise InputError(
            f"{train} training and {test} test instances are no split of {instances}. "
            "Give at least 1 of each, together at most all."
        )
    return train, test


def complete_costs(matrix: CostMatrix) -> FloatArray:
    """The costs, (M, P, R), without a gap: where runs are missing, the first R of each cell, as
    many as every cell has.
    """
    costs, counts = matrix.exact_costs(), matrix.counts()
    fewest = int(counts.min())
    if fewest == 0:
        configuration, instance = np.argwhere(counts == 0)[0]
        raise InputError(
            f"Configuration {matrix.configurations[configuration]!r} has no run on instance "
            f"{matrix.instances[instance]!r}. Select configurations that ran on all instances."
        )
    if fewest == matrix.shape[2]:
        return costs
    order = np.argsort(np.isnan(costs), axis=2, kind="stable")[..., :fewest]
    return np.take_along_axis(costs, order, axis=2)


def _concentration(estimator: Estimator, k: IntArray, n: IntArray, stored: int) -> FloatArray:
    """E Σnᵢ²/N² of an estimator on K instances with R stored runs each."""
    if estimator == "scattered":
        return (1 + (n - 1) / k) / n
    _check_largest(int(np.ceil(n / k).max()), stored)
    if estimator == "even":
        return np.asarray(even_sizes(n, k).sum_of_squares / n**2)
    if estimator == "concentrated":
        return np.asarray(((n // stored) * stored**2 + (n % stored) ** 2) / n**2)
    # nᵢ is hypergeometric: N of K·R pairs without replacement.
    share = 1 / k
    variance = n * share * (1 - share) * (k * stored - n) / np.maximum(k * stored - 1, 1)
    return np.asarray(k * (variance + (n / k) ** 2) / n**2)


def _check_largest(largest: int, stored: int) -> None:
    if largest > stored:
        raise InputError(
            f"{largest} runs on an instance are needed, and not every cell has more than {stored}. "
            "Lower N."
        )
