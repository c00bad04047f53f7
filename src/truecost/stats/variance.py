"""Where the noise comes from: the within- and across-instance variance of every configuration
(Definitions 4 and 5).

Examples
--------
>>> import truecost as tc
>>> tc.variance.variance_components(tc.load_example("kissat")).across.shape
(50,)
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.stats.allocation import Sizes

# Costs looked at in one go: a few MB keep the temporaries of a large matrix small against the
# matrix, and in the cache.
BLOCK = 500_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VarianceComponents:
    """`within` and `across` of M configurations.

    Attributes
    ----------
    within, across
        Unbiased, raw: an estimated `across` may be negative. NaN where the runs cannot tell (see
        `variance_components`).
    total
        The variance of a single run on a random instance: within + across, if every instance has as
        many runs. Estimated from all instances, so known also where the two cannot be separated.
    within_error, across_error
        Standard errors over instances; NaN for known components.
    estimated
        Whether they come from runs. A bound that uses estimated components is a plug-in, not
        guaranteed.

    Examples
    --------
    >>> import truecost as tc
    >>> tc.variance.variance_components(tc.load_example("kissat")).within.shape
    (50,)
    """

    within: FloatArray
    across: FloatArray
    total: FloatArray
    within_error: FloatArray
    across_error: FloatArray
    estimated: bool

    @classmethod
    def known(cls, *, within: ArrayLike, across: ArrayLike) -> "VarianceComponents":
        """Components known or assumed beforehand, not taken from the runs they will be used on."""
        both = np.broadcast_arrays(
            np.atleast_1d(np.asarray(within, float)), np.atleast_1d(np.asarray(across, float))
        )
        for values, name in zip(both, ("within", "across"), strict=True):
            if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
                raise InputError(
                    f"{name} is {values}. Give one number of 0 or more, or a flat list of them."
                )
        unknown = np.full(both[0].shape, np.nan)
        return cls(
            within=both[0],
            across=both[1],
            total=both[0] + both[1],
            within_error=unknown,
            across_error=unknown,
            estimated=False,
        )

    def __getitem__(self, configuration: int) -> "VarianceComponents":
        """Those of one configuration."""
        row = {name: getattr(self, name)[[configuration]] for name in _Components._fields}
        return replace(self, **row)

    @property
    def within_share(self) -> FloatArray:
        """within/(within + across), negative estimates as 0; NaN where the runs cannot tell, or
        nothing varies.
        """
        within, across = np.maximum(self.within, 0), np.maximum(self.across, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(within / (within + across))

    def tau_squared(self, allocation: Sizes) -> FloatArray:
        """τ² = within + (Σ n_i²/N)·across of Lemma 4, N times the variance of Lemma 2.

        Negative estimates count as 0. The sizes of many allocations broadcast against the M
        configurations. With at most one run per instance `total` stands in where the two cannot be
        separated.
        """
        concentration = np.asarray(allocation.sum_of_squares) / np.asarray(allocation.runs)
        apart = np.maximum(self.within, 0) + concentration * np.maximum(self.across, 0)
        # Σ n_i² = N says that no instance has two runs.
        return np.where(
            concentration == 1, np.where(np.isnan(apart), np.maximum(self.total, 0), apart), apart
        )


def variance_components(matrix: CostMatrix) -> VarianceComponents:
    """Unbiased `within` and `across` of every configuration, also with missing runs.

    within = mean of s_i² over the instances with two runs or more, and across = total − within,
    total over all instances: where each has two, that is Var(ȳ_i) − mean of s_i²/n_i. Unbiased even
    if the number of runs depends on the instance, as long as which instances have two does not, nor
    anything on the costs. `within` needs one instance with two runs, `across` two: NaN else. With
    single runs everywhere neither is identifiable, only `total` is.

    Examples
    --------
    >>> import truecost as tc
    >>> components = tc.variance.variance_components(tc.load_example("kissat"))
    >>> round(float(components.across[0]), 2)
    0.79
    """
    parts = zip(*(_components(block) for block in instance_summaries(matrix)), strict=True)
    whole = _Components(*(np.concatenate(part) for part in parts))
    return VarianceComponents(**whole._asdict(), estimated=True)


class InstanceSummaries(NamedTuple):
    """Runs of some configurations summed up by instance, each (configurations, instances).

    `deviations` is the sum of squared deviations from the mean of the runs, so s_i² =
    deviations/(counts − 1).
    """

    counts: FloatArray
    means: FloatArray
    deviations: FloatArray


def instance_summaries(matrix: CostMatrix) -> Iterator[InstanceSummaries]:
    """The matrix summed up by instance, some configurations at a time; `means` is 0 where there is
    no run. Censored runs are charged the most they can cost.
    """
    configurations, instances, runs = matrix.shape
    every = matrix.charged
    # At least one configuration at a time, however large.
    step = max(1, BLOCK // max(1, instances * runs))
    for start in range(0, configurations, step):
        costs = every[start : start + step]
        means, counts = run_means(costs)
        deviations = np.where(np.isnan(costs), 0, costs - means[:, :, np.newaxis])
        yield InstanceSummaries(counts, means, np.einsum("ijk,ijk->ij", deviations, deviations))


def run_means(runs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean over the last axis, of those that are there, and how many: instance means, as
    everything that needs them has them; 0 where there is no run.
    """
    missing = np.isnan(runs)
    counts = runs.shape[-1] - missing.sum(axis=-1, dtype=np.float64)
    return np.where(missing, 0, runs).sum(axis=-1) / np.maximum(counts, 1), counts


class _Components(NamedTuple):
    within: FloatArray
    across: FloatArray
    total: FloatArray
    within_error: FloatArray
    across_error: FloatArray


def _components(block: InstanceSummaries) -> _Components:
    counts, deviations = block.counts, block.deviations
    used, repeated, within_each, centred = _by_instance(block)
    number, twice = (mask.sum(axis=1).astype(np.float64) for mask in (used, repeated))
    with np.errstate(invalid="ignore", divide="ignore"):
        within = np.where(twice >= 1, within_each.sum(axis=1) / twice, np.nan)
        # Unbiased for within + across whatever the counts: squares of runs less products of
        # different instances' means.
        total_each = np.where(
            used, deviations / np.maximum(counts, 1) + centred**2 * _rows(number / (number - 1)), 0
        )
        total = np.where(number >= 2, total_each.sum(axis=1) / number, np.nan)
        # What each instance adds to within and to total − within; their spread gives the standard
        # errors.
        to_within = np.where(repeated, within_each - _rows(within), 0) / _rows(twice)
        to_across = np.where(used, total_each - _rows(total), 0) / _rows(number) - to_within
    # One instance that was run twice is too little to tell the two apart by.
    known = twice >= 2
    across, across_error = (
        np.where(known, values, np.nan)
        for values in (total - within, _error_of_sum(to_across, number))
    )
    return _Components(within, across, total, _error_of_sum(to_within, twice), across_error)


def _by_instance(
    block: InstanceSummaries,
) -> tuple[BoolArray, BoolArray, FloatArray, FloatArray]:
    """Which instances have a run, which have two, s_i² of these, and means less their mean."""
    counts, means, deviations = block
    used, repeated = counts >= 1, counts >= 2
    within_each = np.where(repeated, deviations / np.maximum(counts - 1, 1), 0)
    middle = np.where(used, means, 0).sum(axis=1) / np.maximum(used.sum(axis=1), 1)
    return used, repeated, within_each, np.where(used, means - _rows(middle), 0)


def _error_of_sum(parts: FloatArray, number: FloatArray) -> FloatArray:
    """Of a sum of independent parts, given less their means."""
    # Parts are squares of costs already; squared once more, those of large costs would overflow.
    scale = np.maximum(np.abs(parts).max(axis=1), 1e-300)
    squares = ((parts / _rows(scale)) ** 2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(number >= 2, scale * np.sqrt(squares * number / (number - 1)), np.nan)


def _rows(values: FloatArray) -> FloatArray:
    return values[:, np.newaxis]
