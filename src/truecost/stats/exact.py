"""Exact limits for one look where each unit has one run: binomial shares, signs, and the median."""

import math

import numpy as np
import scipy  # scipy.special is loaded when it is first needed

from truecost.arrays import FloatArray
from truecost.stats.betting import CELLS, OneLook, cell_ends
from truecost.stats.random import Rng

# How far below ½ the cell begins that the sign test decides, in 1/√n: the standard error of a share
# near ½.
SIGN_CELL = 0.5


def share_lower(successes: int, runs: int, delta: float) -> float:
    """The lower limit of a share by Clopper and Pearson, of one independent run a unit."""
    if not successes:
        return 0.0
    return float(scipy.special.betaincinv(successes, runs - successes + 1, delta))


def more_wins_than_losses(values: FloatArray, delta: float) -> bool:
    """Whether numbers 0, ½ and 1 have a mean above ½, by the sign test of those that are not ½.

    If P(1) ≤ P(0), a number that is not ½ is 1 with probability ½ at most.
    """
    wins, losses = int((values == 1).sum()), int((values == 0).sum())
    return bool(wins) and float(scipy.special.bdtr(losses, wins + losses, 0.5)) <= delta


def signs_lower(values: FloatArray, delta: float, rng: Rng) -> float:
    """The lower limit of the mean of numbers 0, ½ and 1, of which each unit has one.

    As `betting.lower`, but the cell that ends at ½ is decided by the sign test, which is sharper
    than an average over orders: where the mean is at most any value up to ½, it is at most ½.
    """
    n = values.size
    look = OneLook(values, delta, False, rng)
    ends = cell_ends(n, CELLS, 0.5)
    below = ends[ends <= 0.5 - SIGN_CELL / math.sqrt(n)]
    limit = look.limit(below)
    if limit < below.max(initial=0.0) or not more_wins_than_losses(values, delta):
        return limit
    return look.limit(ends[ends > 0.5], 0.5)


def median_limits(values: FloatArray, delta: float) -> tuple[float, float]:
    """Lower and upper limit of the median of one number a unit, each wrong with probability δ at
    most: order statistics. 0 and inf where the units are too few.
    """
    n, ranked = values.size, np.sort(values)
    # The k-th smallest lies above the median only if fewer than k numbers do not, which has
    # probability bdtr(k − 1, n, ½) at most.
    k = int((scipy.special.bdtr(np.arange(n), n, 0.5) <= delta).sum())
    if not k:
        return 0.0, math.inf
    return float(ranked[k - 1]), float(ranked[n - k])
