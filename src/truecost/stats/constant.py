"""Constant bets: limits of an average of *different* means, at a fixed number of units.

Where units are independent but not alike, as the instances of several families or N fixed instances
with random seeds, a bet that learns from earlier units is not proved. A constant bet is: for
independent y_i ≥ 0 whose means average to at most m, and a λ in [0, 1/m],

    E ∏(1 + λ·(y_i − m)) = ∏(1 + λ·(E y_i − m)) ≤ (1 + λ·(ȳ − m))ⁿ ≤ 1,

by the inequality of arithmetic and geometric means. The same holds for a random sample of n ≤ N
units without replacement (Maclaurin's inequality). So a fixed mixture over several λ is a test. It
falls in m, and its inversion is a limit.

* A mix of families with weights w_f: y_i = a_i·x_i with a_i = n·w_f/n_f.
* These N instances, expected over seeds: y_i = x_i, the mean of an instance's runs.
* Sampling weights w_i ≥ 0 whose mean is known to be 1: y_i = w_i·x_i are independent with one mean,
  that of x in the distribution in question. They need no upper end, but bets must not look at the
  weights of the sample, which are random here.

An upper limit of numbers in [0, 1] is 1 minus the lower one of 1 − x.
"""

import math

import numpy as np

from truecost.stats.betting import HALVINGS
from truecost.stats.compiled import compiled

# How many bets share the capital, each for a quarter of the variance of the one before.
PIECES = 5
# What random weights are taken to be at most, to choose bets by: a larger one breaks nothing.
TOP = 8.0
# With random weights, how many bets share the capital: their variances may be very different.
MORE = 9


@compiled
def bets_for(units, target, top, pieces=PIECES):
    """The mixture's bets, before they are capped: √(2·ln(K/δ)/(n·v_k)), v_k = (top/2)²/4^k."""
    bets = np.empty(pieces)
    for k in range(pieces):
        # (top/2)² is the largest variance of numbers in [0, top].
        variance = top**2 / 4 / 4.0**k
        bets[k] = math.sqrt(2 * math.log(pieces * target) / (units * variance))
    return bets


@compiled
def _bets(scale, target, top):
    """Bets by the largest of fixed weights; by `top`, where that is given, for random ones."""
    if top > 0:
        return bets_for(scale.size, target, top, MORE)
    return bets_for(scale.size, target, scale.max(), PIECES)


@compiled
def log_capital(y, mean, bets):
    """The logarithm of the mixture's capital against a mean."""
    logs, best = np.zeros(bets.size), -math.inf
    for k in range(bets.size):
        bet = min(bets[k], 1 / mean)
        for t in range(y.size):
            factor = 1 + bet * (y[t] - mean)
            # With the largest bet allowed a 0 loses everything; rounding may go below.
            logs[k] += math.log(factor) if factor > 0 else -math.inf
        # The largest is taken out of the sum below, so that no exponential overflows.
        best = max(best, logs[k])
    if best == -math.inf:
        return best
    total = 0.0
    for k in range(bets.size):
        total += math.exp(logs[k] - best)
    return best + math.log(total / bets.size)


@compiled
def lower(rows, weights, target, top=0.0):
    """The lower limit of the weighted mean of the units' means, for each row.

    Parameters
    ----------
    rows
        Numbers in [0, 1], (k, n).
    weights
        Of each unit, (n,); they sum to 1 and were fixed without looking at the numbers. Random
        ones, over n, have a sum whose mean is 1.
    target
        1/δ.
    top
        For random weights: what bets take for the largest.
    """
    limits, units = np.zeros(rows.shape[0]), rows.shape[1]
    scale = weights * units
    bets = _bets(scale, target, top)
    needed = math.log(target)
    for i in range(rows.shape[0]):
        y = scale * rows[i]
        below, kept = 0.0, 1.0
        for _ in range(HALVINGS):
            # The capital falls in m, so halving may skip candidates here.
            middle = (below + kept) / 2
            if log_capital(y, middle, bets) >= needed:
                below = middle
            else:
                kept = middle
        limits[i] = below
    return limits


@compiled
def rejects(rows, weights, mean, target, top=0.0):
    """Whether the test at one mean rejects, for each row: exactly where `lower` exceeds it."""
    rejected, units = np.zeros(rows.shape[0], np.bool_), rows.shape[1]
    scale = weights * units
    bets = _bets(scale, target, top)
    for i in range(rows.shape[0]):
        rejected[i] = log_capital(scale * rows[i], mean, bets) >= math.log(target)
    return rejected
