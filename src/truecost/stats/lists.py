"""What a list of configurations shows: which may be the best, and which beat a given one.

All statements here are about means (costs, shares, utilities) on common units, one number in [0, 1]
per configuration and unit. "Best by wins" need not exist.

The best. For a configuration i, e_ij is the capital of bets that u_j < u_i, an e-value for
"u_j ≥ u_i". The average over the m − 1 rivals is an e-value for "i is the best", however they
depend on each other, and i is out where it reaches 1/δ. Only the truly best one matters, so the
ones that remain contain it with probability 1 − δ, without a correction. STaR-Bets are tuned to the
target (m − 1)/δ, where one rival suffices.

Who beats the default. One e-value for each, and the closed test with averages (Vovk and Wang 2021,
Algorithm 1): all that are named beat it, with probability 1 − δ. It names at least whom e-Holm
names, and hence whom δ/(m − 1) for each would.

Weights. A random part of the units, fixed beforehand, gives each configuration its share of δ; the
other units judge. All shares together are 1, so this is a union bound as δ/m is, which favours
those that look good.
"""

import numpy as np

from truecost.arrays import BoolArray, FloatArray
from truecost.stats.betting import BROKE, star_bet
from truecost.stats.compiled import compiled

# How many bootstrap samples the weights are counted in.
RESAMPLES = 400
# The part of δ that all configurations share evenly, whatever the first part shows.
UNIFORM = 0.2


@compiled
def _e_value(x, y, target):  # type: ignore[no-untyped-def]
    """The capital of STaR-Bets that the mean of x exceeds that of y, kept from the target on."""
    capital, squares, n, t = 1.0, 0.0, 0, 0
    for k in range(x.size):
        n += not np.isnan(x[k] - y[k])
    for k in range(x.size):
        gap = (x[k] - y[k]) / 2
        if np.isnan(gap):
            continue
        capital *= 1 + star_bet(capital, squares, t, n - t, n, 0.5, target, True) * gap
        if capital >= target or capital < BROKE:
            break
        squares += gap**2
        t += 1
    return capital


@compiled
def _rival_averages(rows, target):  # type: ignore[no-untyped-def]
    """For each row the average over its rivals of the capital against "the row has the least mean";
    whoever reached the target is not compared with the rest.
    """
    m = rows.shape[0]
    averages = np.zeros(m)
    for i in range(m):
        total = 0.0
        for j in range(m):
            if i != j:
                total += _e_value(rows[i], rows[j], target)
                if total >= target:
                    break
        averages[i] = total / max(m - 1, 1)
    return averages


@compiled
def _e_values(rows, other, target):  # type: ignore[no-untyped-def]
    """For each row the capital of bets that its mean is below that of the other."""
    values = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        values[i] = _e_value(other, rows[i], target)
    return values


def may_be_best(rows: FloatArray, delta: float) -> BoolArray:
    """Which rows (m, n) of numbers in [0, 1] may have the least mean: the one that has it is among
    them with probability 1 − delta.

    Units come in an order that has nothing to do with the numbers; NaN where there is none, and
    pairs use the units that both have.
    """
    m = len(rows)
    if m == 1:
        return np.ones(1, np.bool_)
    return np.asarray(_rival_averages(rows, (m - 1) / delta) < 1 / delta)


def closed_averages(e_values: FloatArray, delta: float) -> BoolArray:
    """Which null hypotheses fall: no true one is among them, with probability 1 − delta.

    A hypothesis falls if for every set of hypotheses that contains it the average e-value reaches
    1/delta; the set that is hardest has all the smaller ones.
    """
    order = np.argsort(-e_values, kind="stable")
    fallen = np.zeros(e_values.size, np.bool_)
    smallest = np.sort(e_values)
    sums = np.concatenate([[0.0], smallest.cumsum()])
    for place in order:
        value = e_values[place]
        # The k smallest others; those at least as large as this one never lower the average of it.
        below = int(np.searchsorted(smallest, value, side="left"))
        sizes = np.arange(below + 1)
        if ((value + sums[: below + 1]) / (sizes + 1) < 1 / delta).any():
            break
        fallen[place] = True
    return fallen


def beat(rows: FloatArray, other: FloatArray, delta: float) -> BoolArray:
    """Which rows have a smaller mean than the other: all that are named, with probability
    1 − delta.
    """
    return closed_averages(np.asarray(_e_values(rows, other, len(rows) / delta)), delta)


def shares(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The share of δ of each row (m, n), from units that judge nothing: how often it has the least
    mean in bootstrap samples, and an even part.
    """
    m, n = rows.shape
    known = ~np.isnan(rows)
    draws = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    totals, counts = draws @ np.where(known, rows, 0.0).T, draws @ known.T.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, totals / counts, np.inf)
    # Ties share a resample; the slack is for rounding.
    best = means <= means.min(axis=1, keepdims=True) + 1e-12
    chances = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    return np.asarray((1 - UNIFORM) * chances + UNIFORM / m)
