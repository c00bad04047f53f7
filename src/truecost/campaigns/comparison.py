"""Configurations compared on common runs: who leads, and whom the evidence speaks against.

Differences are paired by instances. Evidence is a paired difference of `EVIDENCE` standard errors,
from `LEAST_RUNS` runs on; as a test of one difference it would err in 0.6 %.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr, stdtrit

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.campaigns.grid import Place

# Evidence in paired standard errors, and the number of runs from which it counts.
EVIDENCE, LEAST_RUNS = 2.5, 5
# More runs are not worth it when they are expected to gain less than this share of the cost.
LEAST_GAIN = 0.01


class Comparison:
    """Contenders at one level, where all have the same runs.

    Attributes
    ----------
    ranked
        Rows, the best first; ties go to the one that entered first.
    behind, error
        How far each row is behind the leader, paired by instances, and the standard error; only
        where there is evidence (`has_evidence`).
    """

    def __init__(self, costs: FloatArray, instances: IntArray, places: Sequence[Place]) -> None:
        level = costs.shape[1]
        self.ranked: IntArray = np.lexsort((np.array(places), costs.mean(axis=1)))
        self.leader = places[int(self.ranked[0])]
        self.cost = float(costs[self.ranked[0]].mean())
        means = means_by_instance(costs, instances[:level])
        self.has_evidence = level >= LEAST_RUNS and means.shape[1] >= 2
        if self.has_evidence:
            gaps = means - means[self.ranked[0]]
            self.behind = gaps.mean(axis=1)
            self.error = gaps.std(axis=1, ddof=1) / math.sqrt(gaps.shape[1])
            self._quantile = evidence_quantile(gaps.shape[1])

    def undecided(self) -> IntArray:
        """The rows, the best first, that evidence does not speak against."""
        if not self.has_evidence:
            return self.ranked
        keep: BoolArray = self.behind <= self._quantile * self.error
        return np.asarray(self.ranked[keep[self.ranked]])

    def is_settled(self, rows: IntArray, low: float = 0.0) -> bool:
        """Whether more runs of these rows, the leader first, are expected to gain nothing much.

        `low` is the lowest possible cost; an infinite one counts as 0.
        """
        if not self.has_evidence:
            return False
        gain = float(expected_gain(self.behind[rows[1:]], self.error[rows[1:]]).sum())
        return gain <= LEAST_GAIN * abs(self.cost - (low if math.isfinite(low) else 0.0))

    def better_half(self) -> IntArray:
        """The better half; fewer where evidence speaks against some, or all is settled."""
        rows = self.undecided()[: -(-len(self.ranked) // 2)]
        return rows[:1] if self.is_settled(rows) else rows


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
    """E max(0, -X) of normal X: what would be gained if all about those behind were known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, -behind / error, np.where(behind < 0, np.inf, -np.inf))
        gain = error * (z * ndtr(z) + np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
    return np.where(error > 0, gain, np.maximum(-behind, 0.0))
