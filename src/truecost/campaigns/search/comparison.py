"""Configurations compared on common runs: the leader, and those that are clearly behind.

Differences are paired by instances. Evidence is a paired difference of `EVIDENCE` standard errors,
from `LEAST_RUNS` runs on; as a test of one difference it would err in 0.6 %.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr, stdtrit

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.campaigns.search.grid import ConfigId

# Evidence in paired standard errors, and the number of runs from which it counts.
EVIDENCE, LEAST_RUNS = 2.5, 5
# A winner is recommended if it gains this many standard errors on held-out instances, or if its
# surplus of wins is this many.
GAIN, SURPLUS = 1.0, 2.0
# More runs are not worth it when they are expected to gain less than this share of the cost.
LEAST_GAIN = 0.01


class Comparison:
    """Contenders at one level, where all have the same runs.

    Attributes
    ----------
    ranked
        Rows, the best first; ties go to the configuration proposed first.
    behind, error
        How far each row is behind the leader, paired by instances, and the standard error; only if
        there are enough runs (`has_evidence`).
    """

    def __init__(
        self, costs: FloatArray, instances: IntArray, config_ids: Sequence[ConfigId]
    ) -> None:
        level = costs.shape[1]
        self.ranked: IntArray = np.lexsort((np.array(config_ids), costs.mean(axis=1)))
        self.leader = config_ids[int(self.ranked[0])]
        self.cost = float(costs[self.ranked[0]].mean())
        means = means_by_instance(costs, instances[:level])
        self.has_evidence = level >= LEAST_RUNS and means.shape[1] >= 2
        if self.has_evidence:
            gaps = means - means[self.ranked[0]]
            self.behind = gaps.mean(axis=1)
            self.error = gaps.std(axis=1, ddof=1) / math.sqrt(gaps.shape[1])
            self._quantile = evidence_quantile(gaps.shape[1])

    def undecided(self) -> IntArray:
        """The rows without evidence against them, the best first."""
        if not self.has_evidence:
            return self.ranked
        keep: BoolArray = self.behind <= self._quantile * self.error
        return np.asarray(self.ranked[keep[self.ranked]])

    def is_settled(self, rows: IntArray, low: float = 0.0) -> bool:
        """Whether more runs of these rows, the leader first, are expected to gain next to nothing.

        `low` is the lowest possible cost; an infinite one counts as 0.
        """
        if not self.has_evidence:
            return False
        gain = float(expected_gain(self.behind[rows[1:]], self.error[rows[1:]]).sum())
        return gain <= LEAST_GAIN * abs(self.cost - (low if math.isfinite(low) else 0.0))


def evidence_quantile(instances: int) -> float:
    """EVIDENCE, a normal quantile, as Student's."""
    return float(stdtrit(instances - 1, ndtr(EVIDENCE)))


def means_by_instance(costs: FloatArray, instances: IntArray) -> FloatArray:
    """(C, n) costs of runs on these instances -> (C, K) means over the runs on each instance."""
    counts = np.bincount(instances)
    if counts.max(initial=0) <= 1:
        return costs
    # Sparse: dense weights are most of what a decision costs when there are many instances.
    order = instances.argsort(kind="stable")
    met = counts[counts > 0]
    ends = np.concatenate([[0], met.cumsum()])
    weights = csr_array((np.repeat(1.0 / met, met), order, ends), shape=(met.size, instances.size))
    return np.asarray((weights @ costs.T).T)


def expected_gain(behind: FloatArray, error: FloatArray) -> FloatArray:
    """E max(0, -X) of a normal X: the gain if the true costs were known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, -behind / error, np.where(behind < 0, np.inf, -np.inf))
        gain = error * (z * ndtr(z) + np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
    return np.where(error > 0, gain, np.maximum(-behind, 0.0))


def is_gain(gains: FloatArray) -> bool:
    """Whether these gains over the default, one for each held-out instance, are more than noise.

    Their mean exceeds its standard error, or it is positive and clearly more instances are won than
    lost. With a positive mean alone, 2 to 3 % of small searches recommend something worse than the
    default.
    """
    if not gains.size or gains.mean() <= 0:
        return False
    won, lost = int((gains > 0).sum()), int((gains < 0).sum())
    if won - lost > SURPLUS * math.sqrt(won + lost):
        return True
    return gains.size > 1 and bool(gains.mean() > GAIN * gains.std(ddof=1) / math.sqrt(gains.size))
