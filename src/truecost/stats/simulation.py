"""Bets on many samples at once, rows of numbers (rows, n), each in its one order: for forecasts
and simulations.
"""

import numpy as np

from truecost.arrays import BoolArray, FloatArray
from truecost.stats.betting import SEQUENCE, SHARE, Stars, plug_in_bet


def proving_rows(
    rows: FloatArray,
    value: float,
    delta: float = 0.05,
    *,
    planned: int | None = None,
    watched: bool = False,
    balanced: bool = False,
    end: float | None = None,
) -> BoolArray:
    """Which rows prove a mean above `value`.

    Parameters
    ----------
    watched
        At any time along the row, as a `Watch` does; else at its end.
    end
        The mean that bets are made against, where `value` lies in a cell that ends there.
    """
    target = 1 / delta
    if not watched:
        return final_capitals(rows, value, target, balanced=balanced, end=end) >= target
    n, shape, against = rows.shape[1], rows.shape[:1], end or value
    stars = Stars(np.array([against]), shape, target / (1 - SEQUENCE), planned or n, balanced)
    wealth, sequence, proven = np.ones(shape), np.ones(shape), np.zeros(shape, bool)
    total, around = np.full(shape, 0.5), np.full(shape, 0.25)
    for t in range(n):
        number = rows[:, t]
        wealth *= 1 + stars.play(t, number) * (number - value)
        bet = np.minimum(plug_in_bet(t, around, target), SHARE / against)
        sequence *= 1 + bet * (number - value)
        total += number
        around += (number - total / (t + 2)) ** 2
        proven |= (1 - SEQUENCE) * wealth + SEQUENCE * sequence >= target
    return proven


def final_capitals(
    rows: FloatArray, value: float, goal: float, *, balanced: bool = False, end: float | None = None
) -> FloatArray:
    """The capital at the end of each row of bets against the mean `value`, which stop at the goal;
    `end` as in `proving_rows`.
    """
    stars = Stars(np.array([end or value]), rows.shape[:1], goal, rows.shape[1], balanced)
    wealth = np.ones(len(rows))
    for t in range(rows.shape[1]):
        wealth *= 1 + stars.play(t, rows[:, t]) * (rows[:, t] - value)
    return wealth * (1 + 1e-12)
