"""Closed forms: the paper's estimator comparison without Monte Carlo error, and expectations over
m-subsets.

Examples
--------
>>> error = tc.exact.mean_squared_error(tc.load_example("kissat"), instances=[10], runs=[20])
>>> error.floor.shape
(1, 50)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.stats.allocation import Allocation, even_sizes
from truecost.stats.variance import instance_summaries

# "scattered" is S° as the paper's text has it, "pairs" as its authors' program does.
Estimator = Literal["even", "concentrated", "scattered", "pairs"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SquaredError:
    """E(û − test cost)² over random splits, in parts; arrays of the shape of (instances, runs)
    broadcast, then (M,).

    Attributes
    ----------
    across, within
        What the choice of training instances and of runs on them adds. `across` may be negative for
        a configuration whose instances differ less than its runs explain.
    floor
        What the choice of test instances adds; no weighting of training runs removes it.
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
    *,
    estimator: Estimator | Allocation = "even",
    instances: ArrayLike | None = None,
    runs: ArrayLike | None = None,
    test_instances: int | None = None,
) -> SquaredError:
    """The exact mean squared error of an estimator over random splits of the matrix (Lemma 2 under
    resampling).

    A split draws K training and T other test instances without replacement; the true cost is the
    mean cost on the test instances. Runs of an instance are drawn without replacement, but for
    "scattered".

    Parameters
    ----------
    matrix
        Missing runs are allowed, if every configuration has a run on every instance; not for
        "pairs".
    estimator
        "even" (S*), "concentrated" (S†: all runs of one instance after another), "scattered" (S°:
        instances and runs with replacement), "pairs" (S° as the authors' program has it: different
        (instance, run) pairs), or an `Allocation`.
    instances, runs
        K and N, broadcast against each other: a whole grid at once. Not with an `Allocation`, which
        says both.
    test_instances
        T, half of all if not given.
    """
    total_instances, stored_runs = matrix.shape[1], matrix.shape[2]
    moments = _moments(matrix)
    if isinstance(estimator, Allocation):
        if instances is not None or runs is not None:
            raise InputError("Expected either an allocation or instances and runs, got both.")
        k, n = np.asarray(estimator.instances), np.asarray(estimator.runs)
        _, test = split_sizes(total_instances, int(k), test_instances)
        check_counts(estimator.largest, moments.fewest)
        # E Σ nᵢ²/N²: 1/K where runs are spread evenly, 1 where all are on one instance.
        q: FloatArray = np.asarray(estimator.sum_of_squares / n**2)
    else:
        if instances is None or runs is None:
            raise InputError("Expected instances (K) and runs (N).")
        k, n = np.broadcast_arrays(np.asarray(instances, np.int64), np.asarray(runs, np.int64))
        if k.size == 0 or k.min() < 1 or n.min() < 1:
            raise InputError("Expected at least 1 instance and 1 run.")
        _, test = split_sizes(total_instances, int(k.max()), test_instances)
        q = _concentration(estimator, k, n, stored_runs, moments.fewest)
    q, within = q[..., np.newaxis], moments.within / n[..., np.newaxis]
    if estimator == "scattered":
        # Runs are drawn with replacement here, so that two runs of an instance can be one and the
        # same.
        within = within + moments.mean_noise * (q - 1 / n[..., np.newaxis])
    parts = np.broadcast_arrays(moments.across * q, within, moments.spread / test)
    return SquaredError(**dict(zip(("across", "within", "floor"), parts, strict=True)))


def by_estimator(
    matrix: CostMatrix, instances: ArrayLike, runs: ArrayLike, test_instances: int | None = None
) -> dict[str, SquaredError]:
    """The exact mean squared error of every estimator that is defined on the matrix."""
    return {
        name: mean_squared_error(
            matrix, estimator=name, instances=instances, runs=runs, test_instances=test_instances
        )
        for name in defined_on(matrix)
    }


def grid(instances: int, r1: ArrayLike | None = None) -> tuple[IntArray, IntArray]:
    """The paper's grid of K = r₁P and N = r₂K, both rounded up: r₁ = 0.10 … 0.50 by 0.05, r₂ = 0.25
    … 4 by 0.25.
    """
    shares = np.arange(2, 11) / 20 if r1 is None else np.asarray(r1, dtype=np.float64)
    # 0.15·500 is a little more than 75 in floating point and must stay 75.
    k = np.ceil(shares * instances - 1e-9).astype(np.int64)[:, np.newaxis]
    n = np.ceil(np.arange(1, 17) / 4 * k - 1e-9).astype(np.int64)
    return np.broadcast_to(k, n.shape).copy(), n


def grid_within(matrix: CostMatrix) -> tuple[IntArray, IntArray]:
    """The paper's grid without the N that some configuration's runs do not reach: fewer than five
    runs end it earlier.
    """
    k, n = grid(matrix.shape[1])
    # A column of the grid has the same N/K in every row: all of it is reached, or none.
    reached = (n <= k * int(matrix.counts().min())).all(axis=0)
    return k[:, reached], n[:, reached]


def defined_on(matrix: CostMatrix, estimators: Sequence[Estimator] = ESTIMATORS) -> list[Estimator]:
    """The estimators that the matrix allows: S† and S° of pairs are defined only where no run is
    missing.
    """
    complete = int(matrix.counts().min()) == matrix.shape[2]
    return [name for name in estimators if complete or name in ("even", "scattered")]


def subset_weights(configurations: int, sizes: ArrayLike) -> FloatArray:
    """C(i−1, m−1)/C(M, m) for i = 1 … M, a row for every m: how probably the i-th of M is the
    largest of an m-subset.

    Reversed, the weights of the smallest. Each row sums to 1.
    """
    m = np.atleast_1d(np.asarray(sizes, dtype=np.int64))
    if m.min() < 1 or m.max() > configurations:
        raise InputError(f"Expected m from 1 to {configurations}, got {m.min()} to {m.max()}.")
    # ln k! from a table: the gamma function itself would be asked a million times.
    log_factorial = gammaln(np.arange(1, configurations + 2, dtype=np.float64))
    i, column = np.arange(1, configurations + 1), m[:, np.newaxis]

    def log_binomial(n: IntArray, k: IntArray) -> FloatArray:
        below = log_factorial[np.maximum(n - k, 0)] + log_factorial[k]
        return np.asarray(log_factorial[n] - below)

    # Logarithms: the binomial coefficients themselves overflow from M = 1,030 on.
    log_all = log_binomial(np.asarray(configurations), column)
    log_weight = log_binomial(i - 1, column - 1) - log_all
    weights = np.where(i >= column, np.exp(log_weight), 0.0)
    # They sum to 1 but for rounding, which sums over many splits would show.
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def split_sizes(instances: int, train: int | None, test: int | None) -> tuple[int, int]:
    """K and T, half of the instances each if not given; refuse a split that the instances do not
    suffice for.
    """
    train, test = (instances // 2 if size is None else size for size in (train, test))
    if train < 1 or test < 1:
        raise InputError(
            f"Expected at least 1 training and 1 test instance, got {train} and {test}."
        )
    if train + test > instances:
        raise InputError(
            f"Expected training and test instances to fit into {instances}, got {train} + {test}."
        )
    return train, test


def check_complete(matrix: CostMatrix) -> None:
    """Refuse a matrix in which some configuration has no run on some instance, or only one that was
    stopped early.
    """
    missing = np.isnan(matrix.exact_costs()).all(axis=2)
    if missing.any():
        configuration, instance = np.argwhere(missing)[0]
        raise InputError(
            "Expected a run of every configuration on every instance, and "
            f"{matrix.configurations[configuration]!r} has none on {matrix.instances[instance]!r}: "
            "select configurations and instances that are complete."
        )


def check_counts(largest: int, fewest: int) -> None:
    """Refuse more runs of an instance than every configuration has on every instance."""
    if largest > fewest:
        raise InputError(
            f"Expected at most {fewest} runs per instance, as many as the matrix has everywhere, "
            f"got {largest}."
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moments:
    """What the closed forms need of each configuration; the matrix is the population here, so
    nothing is estimated.
    """

    across: FloatArray
    within: FloatArray
    spread: FloatArray
    mean_noise: FloatArray
    fewest: int


def _moments(matrix: CostMatrix) -> _Moments:
    if matrix.shape[1] < 2:
        raise InputError("Expected at least 2 instances to split, got 1.")
    check_complete(matrix)
    spread, within, mean_noise, fewest = [], [], [], matrix.shape[2]
    # A matrix of gigabytes is summed up some configurations at a time.
    for block in instance_summaries(matrix):
        fewest = min(fewest, int(block.counts.min()))
        noise = block.deviations / np.maximum(block.counts - 1, 1)
        spread.append(block.means.var(axis=1, ddof=1))
        within.append(noise.mean(axis=1))
        mean_noise.append((noise / np.maximum(block.counts, 1)).mean(axis=1))
    v, w, noise = (np.concatenate(part) for part in (spread, within, mean_noise))
    return _Moments(across=v - noise, within=w, spread=v, mean_noise=noise, fewest=fewest)


def _concentration(estimator: str, k: IntArray, n: IntArray, runs: int, fewest: int) -> FloatArray:
    """E Σ n_i²/N² of an estimator on K instances with R stored runs each."""
    if estimator == "even":
        sizes = even_sizes(n, k)
        check_counts(int(sizes.largest.max()), fewest)
        return np.asarray(sizes.sum_of_squares / n**2)
    if estimator == "scattered":
        return (1 + (n - 1) / k) / n
    if estimator not in ESTIMATORS:
        raise InputError(
            f"Expected an estimator out of {', '.join(ESTIMATORS)} or an Allocation, got "
            f"{estimator!r}."
        )
    if fewest < runs:
        raise InputError(
            f"Expected all {runs} runs everywhere for the estimator {estimator!r}, got a matrix "
            "with missing runs."
        )
    if (n > k * runs).any():
        raise InputError(
            f"Expected at most {runs} runs per instance, as many as the matrix has, got "
            f"{int((n / k).max())} and more."
        )
    if estimator == "concentrated":
        return np.asarray(((n // runs) * runs**2 + (n % runs) ** 2) / n**2)
    # The number of runs on an instance is hypergeometric: N of K·R pairs without replacement.
    share = 1 / k
    variance = n * share * (1 - share) * (k * runs - n) / np.maximum(k * runs - 1, 1)
    return np.asarray(k * (variance + (n / k) ** 2) / n**2)
