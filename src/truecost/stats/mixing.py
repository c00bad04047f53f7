"""Limits for another mix of the same families, by drawing the families' labels beforehand.

Draw labels from the mix, before looking at any cost, and take for each the next unused instance of
its family: the numbers are then independent draws from the mix, which STaR-Bets may bet on. Once a
family has no unused instance left, the worst value (0, for a lower limit) is charged. One draw
would make the answer depend on a seed, so the capitals of many draws are averaged: an average of
e-values is an e-value, however they depend on each other.
"""

import math

import numpy as np

from truecost.arrays import FloatArray, IntArray, log_grid
from truecost.stats.betting import BROKE, HALVINGS, cell_end, cell_of, cells_for, star_bet
from truecost.stats.compiled import compiled

# How many sequences of labels are averaged.
DRAWS = 200
# Each draw bets for this many times the target, so that few suffice: 3 times is a third wider.
AHEAD = 30.0


@compiled
def arrange(x, starts, labels, numbers):
    """Fill in the numbers (draws, rounds) that the labels pick: x holds those of family f from
    starts[f] on, up to those of the next.
    """
    used = np.empty(starts.size - 1, np.int64)
    for b in range(labels.shape[0]):
        used[:] = 0
        for t in range(labels.shape[1]):
            f = labels[b, t]
            place = starts[f] + used[f]
            numbers[b, t] = x[place] if place < starts[f + 1] else 0.0
            used[f] += 1


@compiled
def average_capital(numbers, end, mean, target, enough):
    """The average over the draws of the capital against `mean`, of bets made against `end`; each is
    kept from where the one against `end` reaches its goal. Draws end where the average is at least
    `enough` whatever follows: no capital is negative.
    """
    goal, total = AHEAD * target, 0.0
    draws, rounds = numbers.shape
    for b in range(draws):
        ahead, capital, squares = 1.0, 1.0, 0.0
        for t in range(rounds):
            # Both capitals stop at one time, which the bets against `end` alone decide.
            if ahead < BROKE or ahead >= goal:
                break
            bet = star_bet(ahead, squares, t, rounds - t, rounds, end, goal, False)
            ahead *= 1 + bet * (numbers[b, t] - end)
            capital *= 1 + bet * (numbers[b, t] - mean)
            squares += (numbers[b, t] - end) ** 2
        total += capital
        if total / draws >= enough:
            break
    return total / draws


@compiled
def lower(x, starts, labels, target):
    """The lower limit of the mean under the mix that the labels (draws, rounds) were drawn from."""
    numbers = np.empty(labels.shape)
    arrange(x, starts, labels, numbers)
    cells = cells_for(labels.shape[1])
    for j in range(1, cells + 1):
        end = cell_end(j, cells)
        if average_capital(numbers, end, end, target, target) < target:
            below, kept = cell_end(j - 1, cells), end
            # Halving to a thousandth of a cell: every step plays all draws.
            for _ in range(min(HALVINGS, 10)):
                middle = (below + kept) / 2
                if average_capital(numbers, end, middle, target, target) >= target:
                    below = middle
                else:
                    kept = middle
            return below
    return 1.0


@compiled
def rejects(x, starts, labels, mean, target):
    """Whether the averaged capital rejects this mean: where it does not, `lower` is at most it."""
    numbers = np.empty(labels.shape)
    arrange(x, starts, labels, numbers)
    cells = cells_for(labels.shape[1])
    end = cell_end(cell_of(mean, cells), cells)
    return average_capital(numbers, end, mean, target, target) >= target


def rounds_for(counts: IntArray, mix: FloatArray, target: float) -> int:
    """How many labels to draw: more make the bets better, but exhaust families, whose further draws
    are charged the worst. Decided by the sizes of the families alone.
    """
    # Few statements are about families, and loading this takes longer than any other limit.
    from scipy.special import gammaln, xlog1py, xlogy

    sizes = log_grid(2, max(2, counts.sum()), 60)
    margins = []
    for number in sizes:
        drawn = np.arange(number + 1)
        # Binomial chances; loading scipy.stats for them would take a second.
        ways = gammaln(number + 1) - gammaln(drawn + 1) - gammaln(number - drawn + 1)
        shares = mix[:, np.newaxis]
        chances = np.exp(ways + xlogy(drawn, shares) + xlog1py(number - drawn, -shares))
        beyond = (chances * np.maximum(drawn - counts[:, np.newaxis], 0)).sum() / number
        # What is charged for nothing, and how far a mean of that many may fall short (Hoeffding).
        margins.append(beyond + math.sqrt(math.log(target) / (2 * number)))
    return int(sizes[int(np.argmin(margins))])


def labels_for(
    counts: IntArray, mix: FloatArray, target: float, rng: np.random.Generator
) -> IntArray:
    """Labels (draws, rounds) for families of these sizes, from a mix that sums to 1."""
    return rng.choice(mix.size, size=(DRAWS, rounds_for(counts, mix, target)), p=mix)
