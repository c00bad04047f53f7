"""Limits for the results of a whole benchmark from a random part of it: sampling without
replacement.

The population is N fixed numbers, the results if every instance is run once; which n of them are
known is random. If their mean is m, the t-th number drawn has the mean
m_t = (N·m − S_{t−1})/(N − t + 1) given those before it, with S their sum (Waudby-Smith and Ramdas
2020). Bets against m_t are a martingale under the true m. Where m_t is below 0 the mean m is
impossible and rejected; above 1 nothing is bet, since then m is too large to be the true mean and
no lower limit needs it.

These limits describe the realised results. They are too narrow for the expected cost over seeds on
the same instances (see `constant`), of which realised results are only a sample.
"""

import numpy as np

from truecost.stats.betting import (
    BROKE,
    HALVINGS,
    SHARE,
    cell_end,
    cell_of,
    cells_for,
    plug_in_bets,
    star_bet,
)
from truecost.stats.compiled import compiled


@compiled
def star_bets(x, end, population, target, balanced, bets):
    """Fill in STaR-Bets against the mean `end` of a population: whether they reject it.

    The gap between x_t and m_t grows as N/(N − t) where m is wrong, so later rounds are worth more:
    those left count (n − t)·(N − t)/(N − n), to which the sum of the squared growths comes.
    """
    capital, squares, total, n = 1.0, 0.0, 0.0, x.size
    for t in range(n):
        mean = (population * end - total) / (population - t)
        if mean < 0:
            # No further results of 0 or more make so small a mean.
            return True
        bets[t] = 0.0
        if 0 < mean <= 1 and capital > BROKE:
            remaining = population - t
            # The half keeps the difference finite where all of the population is known.
            left = remaining**2 * (1 / (population - n + 0.5) - 1 / (remaining + 0.5))
            bets[t] = star_bet(
                capital, squares, t, max(left, 1.0), float(n), mean, target, balanced
            )
        capital *= 1 + bets[t] * (x[t] - mean)
        if capital >= target:
            return True
        squares += (x[t] - mean) ** 2
        total += x[t]
    return population * end < total


@compiled
def reaches(x, mean, population, target, bets, share):
    """Whether bets, each at most share/m_t, ever reject the mean of a population."""
    capital, total = 1.0, 0.0
    for t in range(x.size):
        now = (population * mean - total) / (population - t)
        if now < 0:
            return True
        if now > 0:
            capital *= 1 + min(bets[t], share / now) * (x[t] - now)
        if capital >= target:
            return True
        total += x[t]
    # To the last digit: where all are known, their mean is not to be rejected.
    return population * mean < total * (1 - 1e-12)


@compiled
def _halve(x, population, target, bets, share, below, kept):
    for _ in range(HALVINGS):
        middle = (below + kept) / 2
        if reaches(x, middle, population, target, bets, share):
            below = middle
        else:
            kept = middle
    return below


@compiled
def lower(rows, population, target, balanced):
    """The lower limit of the mean of N numbers in [0, 1] from the n of each row, in one look.

    `balanced` as in `ledger`: for differences.
    """
    limits = np.zeros(rows.shape[0])
    n = rows.shape[1]
    cells, bets = cells_for(n), np.empty(n)
    for i in range(rows.shape[0]):
        for j in range(1, cells + 1):
            if not star_bets(rows[i], cell_end(j, cells), population, target, balanced, bets):
                below, kept = cell_end(j - 1, cells), cell_end(j, cells)
                limits[i] = _halve(rows[i], population, target, bets, 1.0, below, kept)
                break
        # The numbers known are a lower limit by themselves.
        limits[i] = max(limits[i], rows[i].sum() / population * (1 - 1e-12))
    return limits


@compiled
def rejects(rows, mean, population, target, balanced):
    """Whether one look rejects this mean, for each row."""
    rejected = np.zeros(rows.shape[0], np.bool_)
    cells, bets = cells_for(rows.shape[1]), np.empty(rows.shape[1])
    end = cell_end(cell_of(mean, cells), cells)
    for i in range(rows.shape[0]):
        rejected[i] = star_bets(rows[i], end, population, target, balanced, bets) or reaches(
            rows[i], mean, population, target, bets, 1.0
        )
    return rejected


@compiled
def lower_sequence(rows, population, target):
    """The lower limits after 1, 2, … numbers of each row, which hold at all times at once."""
    limits = np.zeros(rows.shape)
    for i in range(rows.shape[0]):
        bets, best = plug_in_bets(rows[i], target, True), 0.0
        for k in range(rows.shape[1]):
            best = _halve(rows[i][: k + 1], population, target, bets, SHARE, best, 1.0)
            limits[i, k] = best
    return limits
