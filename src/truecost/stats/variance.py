"""Where the noise comes from: the within- and across-instance variance of every configuration
(Definitions 4 and 5).

Examples
--------
>>> import truecost as tc
>>> tc.variance.variance_components(tc.load_example("kissat")).across.shape
(50,)
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.stats.allocation import Sizes, sizes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VarianceComponents:
    """`within` and `across` of M configurations.

    Attributes
    ----------
    within, across
        Unbiased, raw: an estimated `across` may be negative. NaN where the runs cannot tell.
    total
        The variance of a single run on a random instance: within + across, if every instance has as
        many runs. Estimated from all instances, so known also where the two cannot be separated.
    estimated
        Whether they come from runs. A bound that uses estimated components is a plug-in, not
        guaranteed.
    """

    within: FloatArray
    across: FloatArray
    total: FloatArray
    estimated: bool

    @classmethod
    def known(cls, *, within: ArrayLike, across: ArrayLike) -> "VarianceComponents":
        """Components known or assumed beforehand, not taken from the runs they will be used on."""
        pair = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, float)) for x in (within, across)))
        if pair[0].ndim != 1 or not all((np.isfinite(x) & (x >= 0)).all() for x in pair):
            raise InputError(
                "within and across are variances. Give numbers of 0 or more, or flat lists of them."
            )
        return cls(within=pair[0], across=pair[1], total=pair[0] + pair[1], estimated=False)

    def __getitem__(self, configuration: int) -> "VarianceComponents":
        """Those of one configuration."""
        one = [configuration]
        return replace(
            self, within=self.within[one], across=self.across[one], total=self.total[one]
        )

    @property
    def within_share(self) -> FloatArray:
        """within/(within + across), negative estimates as 0; NaN where the runs cannot tell, or
        nothing varies.
        """
        within, across = np.maximum(self.within, 0), np.maximum(self.across, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(within / (within + across))

    def tau_squared(self, allocation: ArrayLike | Sizes) -> FloatArray:
        """τ² = within + (Σ n_i²/N)·across of Lemma 4, N times the variance of Lemma 2.

        Negative estimates count as 0. The sizes of many allocations broadcast against the M
        configurations. With at most one run per instance `total` stands in where the two cannot be
        separated.
        """
        n, _, squares = sizes(allocation)
        concentration = squares / n
        tau_squared = np.maximum(self.within, 0) + concentration * np.maximum(self.across, 0)
        # Σ n_i² = N says that no instance has two runs.
        unknown = (concentration == 1) & np.isnan(tau_squared)
        return np.where(unknown, np.maximum(self.total, 0), tau_squared)


def variance_components(matrix: CostMatrix) -> VarianceComponents:
    """Unbiased `within` and `across` of every configuration, also with missing runs.

    within = mean of s_i² over the instances with two runs or more, and across = total − within,
    total over all instances: where each has two, that is Var(ȳ_i) − mean of s_i²/n_i. Unbiased even
    if the number of runs depends on the instance, as long as which instances have two does not, nor
    anything on the costs. `within` needs one instance with two runs, `across` two: NaN else. With
    single runs everywhere neither is identifiable, only `total` is. Censored runs are charged the
    most they can cost.

    Examples
    --------
    >>> import truecost as tc
    >>> components = tc.variance.variance_components(tc.load_example("kissat"))
    >>> round(float(components.across[0]), 2)
    0.79
    """
    costs = matrix.charged
    # Above the least one: what is always equal has no variance, not even by rounding.
    costs = costs - np.fmin.reduce(costs, axis=(1, 2), keepdims=True)
    missing = np.isnan(costs)
    counts = costs.shape[2] - missing.sum(axis=2, dtype=np.float64)
    means = np.where(missing, 0, costs).sum(axis=2) / np.maximum(counts, 1)
    gaps = np.where(missing, 0, costs - means[:, :, np.newaxis])
    squares = np.einsum("ijk,ijk->ij", gaps, gaps)
    used, repeated = counts >= 1, counts >= 2
    number, twice = used.sum(axis=1), repeated.sum(axis=1)
    middle = means.sum(axis=1) / np.maximum(number, 1)
    centred = np.where(used, means - middle[:, np.newaxis], 0)
    variances = np.where(repeated, squares / np.maximum(counts - 1, 1), 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        within = np.where(twice >= 1, variances.sum(axis=1) / twice, np.nan)
        # Unbiased for within + across whatever the counts: squares of runs less products of
        # different instances' means.
        between = (centred**2).sum(axis=1) / (number - 1)
        total = (squares / np.maximum(counts, 1)).sum(axis=1) / number + between
    total = np.where(number >= 2, total, np.nan)
    # One instance that was run twice is too little to tell the two apart by.
    across = np.where(twice >= 2, total - within, np.nan)
    return VarianceComponents(within=within, across=across, total=total, estimated=True)
