"""One capital for every pattern of looks: bets along one recorded order of the sampling units.

Reading runs leaves no trace, so nobody knows how often somebody looked, and a plan may be extended
after a look. Instead of δ the starting capital is split (`SHARES`): one part bets as for a sequence
without an end, one for the plan that was announced first, and one for its extensions, the k-th with
6/(π²k²) of that part. All parts bet against the same mean, in the same order, on what came before
alone. Their sum is therefore a nonnegative supermartingale under every mean that is not exceeded,
starts at 1, and reaches 1/δ *at any time* with probability at most δ (Ville): the looks are free,
and finishing a plan spends nothing twice.

When the first j plans were for n_1 < … < n_j units:

* the part of the plan plays STaR-Bets for n_1 rounds. Afterwards what is left of it plays on for
  the rounds of each extension;
* the part of the k-th extension cannot know its size earlier than it is decided, so it bets as the
  sequence does until the plan before it has ended, and plays STaR-Bets for n_{k+1} from there;
* extensions nobody asked for yet bet as the sequence does.

Special cases are one look at a final plan, all of the capital in the plan (`FINAL`), and a
sequence, all in the first part (`SEQUENCE`).

`balanced` changes what STaR-Bets take for the variance before the next number: (S + v)/(t + 1) with
v = m·(1 − m) and S the squares about m so far, instead of a prior that fades as n/t². Both rest on
the past alone, so both are valid. The first is better for paired differences, whose mean is near
the middle of the range while their variance is far below v; the second for rare timeouts.

Limits are found as in `betting`: all means of a cell share the bets made against its upper end. The
cells are those of the *first* plan, since at the true mean all looks must see one capital. NaN is
passed over. `tests/naive.py` has the twins in plain Python.
"""

import math

import numpy as np

from truecost.stats.betting import (
    BROKE,
    HALVINGS,
    SHARE,
    STEADY,
    cell_end,
    cell_of,
    cells_for,
    plug_in_bets,
    star_bet,
)
from truecost.stats.compiled import compiled

# How the capital starts: in the sequence, in the first plan, in all of its extensions together.
SHARES = np.array([0.05, 0.9, 0.05])
# All of it in a plan that was announced as final before the first look.
FINAL = np.array([0.0, 1.0, 0.0])
# All of it in a sequence of which no end is known.
SEQUENCE = np.array([1.0, 0.0, 0.0])
# Half in a plan, half in a sequence, which sees large differences early: to watch a validation.
WATCHED = np.array([0.5, 0.5, 0.0])


@compiled
def parts_of(shares, extensions):
    """The capital that each part starts with: the plan, its extensions so far, and last all that
    bets as the sequence does to the end.
    """
    parts = np.empty(extensions + 2)
    parts[0], rest = shares[1], shares[0] + shares[2]
    for k in range(1, extensions + 1):
        # Σ 6/(πk)² = 1: however many extensions, their parts are never used up.
        parts[k] = shares[2] * 6 / (math.pi * k) ** 2
        rest -= parts[k]
    # Rounding may leave a little less than nothing.
    parts[extensions + 1] = max(rest, 0.0)
    return parts


@compiled
def careful_bets(x, target, shares):
    """The bets of the sequence, which are the same against every mean but for their cap."""
    part = shares[0] + shares[2]
    return plug_in_bets(x, target / part, True) if part > 0 else np.zeros(x.size)


@compiled
def bold_bets(x, end, target, plans, parts, balanced, careful, bets):
    """Fill in the bets (parts, numbers) of the plan and of its extensions against the mean `end`:
    whether the whole capital reaches the target against it. All bets are filled in unless it does.
    """
    number = plans.size
    steady = max(1, plans[0] // STEADY)
    capital, until = np.ones(number + 1), 0
    squares, most, stage = 0.0, SHARE / end, 0
    for t in range(x.size):
        while stage < number - 1 and t >= plans[stage]:
            stage += 1
            until = t
        if t == until:
            rounds = plans[stage]
            # Beyond the last plan nobody knows the end: as many rounds again are taken for it.
            left = rounds - t if t < rounds else t + 1
            for k in range(stage + 1):
                bets[k, t] = 0.0
                # Each part bets as if it had to reach the target alone.
                goal = target / parts[k] if parts[k] > 0 else 1.0
                if parts[k] > 0 and BROKE < capital[k] < goal:
                    bets[k, t] = star_bet(capital[k], squares, t, left, rounds, end, goal, balanced)
            until += steady
        else:
            for k in range(stage + 1):
                bets[k, t] = bets[k, t - 1]
        total, gain = 0.0, x[t] - end
        for k in range(number + 1):
            # Before an extension was decided, its part bets as the sequence does.
            if k > stage:
                capital[k] *= 1 + min(careful[t], most) * gain
            else:
                capital[k] *= 1 + bets[k, t] * gain
            total += parts[k] * capital[k]
        if total >= target:
            return True
        squares += gain**2
    return False


@compiled
def capital(x, mean, target, plans, parts, careful, bets):
    """The whole capital of these bets against a mean, an e-value, kept from where it reaches the
    target.
    """
    number = plans.size
    pieces, most, stage, total = np.ones(number + 1), SHARE / mean, 0, 1.0
    for t in range(x.size):
        while stage < number - 1 and t >= plans[stage]:
            stage += 1
        total, gain = 0.0, x[t] - mean
        for k in range(number + 1):
            bet = bets[k, t] if k <= stage else min(careful[t], most)
            pieces[k] *= 1 + bet * gain
            total += parts[k] * pieces[k]
        if total >= target:
            break
    return total


@compiled
def lower(rows, target, plans, shares, balanced):
    """The lower limit of the mean of each row, after the numbers that it has so far.

    Parameters
    ----------
    rows
        Numbers in [0, 1], (k, n), in the recorded order.
    target
        1/δ.
    plans
        For how many numbers the first plan was, and in all with each extension of it; rising.
    shares
        `SHARES`, `FINAL`, `SEQUENCE` or `WATCHED`.
    balanced
        Which variance STaR-Bets use; see the module.
    """
    limits, parts = np.zeros(rows.shape[0]), parts_of(shares, plans.size - 1)
    # Of the first plan: later looks must bet against the same ends.
    cells = cells_for(plans[0])
    for i in range(rows.shape[0]):
        x = rows[i][~np.isnan(rows[i])]
        careful, bets = careful_bets(x, target, shares), np.zeros((plans.size, x.size))
        for j in range(1, cells + 1):
            end = cell_end(j, cells)
            if not bold_bets(x, end, target, plans, parts, balanced, careful, bets):
                below, kept = cell_end(j - 1, cells), end
                for _ in range(HALVINGS):
                    middle = (below + kept) / 2
                    if capital(x, middle, target, plans, parts, careful, bets) >= target:
                        below = middle
                    else:
                        kept = middle
                limits[i] = below
                break
    return limits


@compiled
def rejects(rows, mean, target, plans, shares, balanced, in_cells):
    """Whether the capital ever reaches the target against this mean, on each row.

    With `in_cells` the bets are those that `lower` makes against it: where they do not reject,
    `lower` is at most the mean. Without, they are made against the mean itself, for scans over a
    fixed grid.
    """
    rejected, parts = np.zeros(rows.shape[0], np.bool_), parts_of(shares, plans.size - 1)
    cells = cells_for(plans[0])
    end = cell_end(cell_of(mean, cells), cells) if in_cells else mean
    for i in range(rows.shape[0]):
        x = rows[i][~np.isnan(rows[i])]
        careful, bets = careful_bets(x, target, shares), np.zeros((plans.size, x.size))
        rejected[i] = bold_bets(x, end, target, plans, parts, balanced, careful, bets) or (
            in_cells and capital(x, mean, target, plans, parts, careful, bets) >= target
        )
    return rejected
