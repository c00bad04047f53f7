"""The capital of a gambler who bets against a mean: compiled loops, arrays in, arrays out, nothing
else.

The gambler says that numbers x_1, x_2, … in [0, 1] have a mean above m, and bets: W_0 = 1, W_t =
W_{t-1}·(1 + λ_t·(x_t − m)) with 0 ≤ λ_t ≤ 1/m. If λ_t depends on x_1 … x_{t-1} alone and E[x_t |
past] ≤ m, W is a nonnegative supermartingale that starts at 1, so the chance that it *ever* reaches
1/δ is at most δ (Ville). The means at which it was reached are rejected; the largest number below
which all are rejected is a lower limit of the true mean. An upper limit is the lower one of 1 − x.
`tests/naive.py` has the twins in plain Python.

Two ways to bet:

* plug-in (Waudby-Smith and Ramdas 2024): the bets rest on the numbers seen, and not on m but for a
  ceiling of `SHARE`/m. Every factor falls in m, hence so does the capital, and halving finds the
  limit.
* STaR-Bets (Voráček and Orabona 2025, Algorithm 4): λ = √(2·ln(wealth still missing)/(rounds
  left·variance about m)). Nothing says that the capital of such bets falls in m. So [0, 1] is cut
  into cells before any number is seen, and all m of a cell (a, b] share the bets made against b.
  These are allowed against every m ≤ b, and inside a cell the capital falls in m. The cells are
  gone through from below until one is not rejected whole; halving finds the limit in it. For the
  true mean this is one test with one capital, whatever happens in other cells: neither the search
  nor the cells cost any δ. The published program rejects at a random threshold, which is valid and
  a little tighter; here it is 1/δ, so that the same runs give the same answer.

Where one watches the numbers come in, both share the capital (`truecost.stats.ledger`). NaN is
passed over.
"""

import math

import numpy as np

from truecost.stats.compiled import compiled

# The largest part of the capital that a plug-in bet may lose in a round.
SHARE = 0.75
# Cells for each root of the number of rounds: the more, the closer bets fit the mean.
CELLS = 40
# How often an interval of means is halved: to 3·10^-14 of the range.
HALVINGS = 45
# How often STaR-Bets think again: beyond, a bet stands for several rounds, at hardly any cost.
STEADY = 5_000
# Up to how many numbers a sequence is sought to its last digit, which takes their square.
EXACT = 1_000
# The part of the distance between limit and mean that is then left open.
CLOSE = 1 / 256
# Capital below this is lost: no bet wins it back.
BROKE = 1e-300
# How many games of STaR-Bets are played at once: each bet waits for the last; waits overlap.
LANES = 8


@compiled
def cells_for(rounds):
    """The number of cells, so that they shrink with what is to be resolved; it depends on no number
    seen.
    """
    return math.ceil(CELLS * math.sqrt(max(rounds, 10)))


@compiled
def cell_end(j, cells):
    """The upper end of the j-th cell, the lower one of the next: narrow where a mean has little
    room to vary.
    """
    # Evenly on the scale on which a binomial share has the same variance everywhere.
    return math.sin(math.pi / 2 * j / cells) ** 2


@compiled
def cell_of(mean, cells):
    """The number of the cell (a, b] that a mean lies in, from 1 on."""
    j = max(1, min(cells, math.ceil(math.asin(math.sqrt(mean)) * 2 / math.pi * cells)))
    # Rounding of the arcus sine may be off by a cell.
    while j > 1 and cell_end(j - 1, cells) >= mean:
        j -= 1
    while cell_end(j, cells) < mean:
        j += 1
    return j


@compiled
def star_bet(capital, squares, t, left, rounds, end, target, balanced):
    """STaR-Bets' bet against the mean `end` after t rounds, given the number of rounds left;
    `balanced` as in `ledger`.
    """
    # The variance about `end`: its largest possible value at first, then what was seen and a prior
    # that fades as 1/t².
    spread = end * (1 - end)
    # The thousandth, here and in the cap, keeps bets finite where the mean is next to 0.
    variance = 0.001 + spread
    if balanced:
        variance = min(variance, (squares + spread) / (t + 1))
    elif t > 0:
        variance = min(variance, squares / t + end * rounds / t**2)
    missing = math.log(target / capital)
    # A variance of 0 is seen where all numbers equal the mean bet against: then the cap decides.
    return min(math.sqrt(2 * missing / (left * max(variance, 1e-12))), 1 / (end + 0.001))


@compiled
def star_bets(x, end, target, bets):
    """Fill in the bets made against the mean `end`, all of them unless the capital reaches the
    target: whether it did.
    """
    rounds = x.size
    # A bet that stands for a few rounds is as predictable as one made anew.
    steady = max(1, rounds // STEADY)
    capital, squares, bet, until = 1.0, 0.0, 0.0, 0
    for t in range(x.size):
        if t == until:
            if capital < BROKE:
                bets[t:] = 0.0
                return False
            bet = star_bet(capital, squares, t, rounds - t, rounds, end, target, False)
            until += steady
        bets[t] = bet
        capital *= 1 + bet * (x[t] - end)
        if capital >= target:
            return True
        squares += (x[t] - end) ** 2
    return False


@compiled
def plug_in_bets(x, target, sequence):
    """√(2·ln(1/δ)/(n·σ²_{t-1})), n the sample size; t·ln(t + 1) instead of n for a sequence that
    has no end.
    """
    # Mean and variance start from one number at the middle, with the largest variance there is.
    bets, total, squares = np.empty(x.size), 0.5, 0.25
    doubled = 2 * math.log(target)
    for t in range(x.size):
        # Bets that fall as 1/√(t·ln t) still reject every smaller mean in time.
        horizon = (t + 1) * math.log(t + 2) if sequence else x.size
        bets[t] = math.sqrt(doubled / (horizon * squares / (t + 1)))
        total += x[t]
        squares += (x[t] - total / (t + 2)) ** 2
    return bets


@compiled
def reached_after(x, bets, share, mean, target):
    """After how many numbers the capital of these bets, each at most share/mean, reaches the
    target; one more than there are if never.
    """
    capital, most = 1.0, share / mean
    for t in range(x.size):
        capital *= 1 + min(bets[t], most) * (x[t] - mean)
        if capital >= target:
            return t + 1
    return x.size + 1


@compiled
def _halve(x, bets, share, target, rejected, kept):
    """The largest mean found to be rejected, where all below it are."""
    for _ in range(HALVINGS):
        middle = (rejected + kept) / 2
        # Neighbouring floats have nothing between them.
        if middle <= rejected or middle >= kept:
            break
        if reached_after(x, bets, share, middle, target) <= x.size:
            rejected = middle
        else:
            kept = middle
    return rejected


@compiled
def star_reach(x, ends, means, target, reached, balanced):
    """Fill in for each column whether bets made against its end reach the target against its mean,
    which is not larger.

    The same as `star_bets(…)`, or those bets against the mean, of each, unless `balanced`: against
    the smaller mean the capital is never less.
    """
    rounds, lanes = x.shape
    steady, until = max(1, rounds // STEADY), 0
    ahead, capital, squares, bets = np.ones(lanes), np.ones(lanes), np.zeros(lanes), np.empty(lanes)
    reached[:] = False
    for t in range(rounds):
        if t == until:
            for i in range(lanes):
                over = reached[i] or ahead[i] < BROKE
                bets[i] = (
                    0.0
                    if over
                    else star_bet(
                        ahead[i], squares[i], t, rounds - t, rounds, ends[i], target, balanced
                    )
                )
            until += steady
        for i in range(lanes):
            ahead[i] *= 1 + bets[i] * (x[t, i] - ends[i])
            capital[i] *= 1 + bets[i] * (x[t, i] - means[i])
            squares[i] += (x[t, i] - ends[i]) ** 2
            reached[i] |= capital[i] >= target
        if first_open(reached) == lanes:
            return


@compiled
def first_open(reached):
    """The first game that has not reached its target, or how many there are if all have."""
    # Not argmin nor all, for which a finished kernel would load the compiler.
    place = 0
    while place < reached.size and reached[place]:
        place += 1
    return place


@compiled
def star_lower(rows, target):
    """The lower limit of the mean of each row by STaR-Bets."""
    limits = np.zeros(rows.shape[0])
    ends, reached = np.empty(LANES), np.empty(LANES, np.bool_)
    for i in range(rows.shape[0]):
        x = rows[i][~np.isnan(rows[i])]
        cells = cells_for(x.size)
        columns = np.empty((x.size, LANES))
        for t in range(x.size):
            columns[t] = x[t]
        # The last cell ends at 1, against which nothing is won; behind it, it stands once more.
        for first in range(1, cells + 1, LANES):
            for k in range(LANES):
                ends[k] = cell_end(min(first + k, cells), cells)
            star_reach(columns, ends, ends, target, reached, False)
            place = first_open(reached)
            if place < LANES:
                bets = np.empty(x.size)
                star_bets(x, ends[place], target, bets)
                limits[i] = _halve(
                    x, bets, 1.0, target, cell_end(first + place - 1, cells), ends[place]
                )
                break
    return limits


@compiled
def star_reaches(rows, mean, target, in_cells, balanced):
    """Whether STaR-Bets show on each row that its mean is above `mean`.

    With `in_cells` the bets are those that `star_lower` makes, against the end of the cell: where
    they do not reject, `star_lower` is at most the mean. Without, they are made against the mean
    itself, for one point. `balanced` as in `ledger`.
    """
    reached, (number, most) = np.zeros(rows.shape[0], np.bool_), rows.shape
    sizes, places, order = (
        np.zeros(number, np.int64),
        np.zeros(most + 2, np.int64),
        np.empty(number, np.int64),
    )
    # Rows with equally many numbers come one after the other, and are bet on together.
    for i in range(number):
        for k in range(most):
            sizes[i] += not math.isnan(rows[i, k])
        places[sizes[i] + 1] += 1
    for k in range(most):
        places[k + 1] += places[k]
    for i in range(number):
        order[places[sizes[i]]] = i
        places[sizes[i]] += 1
    start = 0
    while start < order.size:
        size, stop = sizes[order[start]], start + 1
        while stop < min(start + LANES, order.size) and sizes[order[stop]] == size:
            stop += 1
        alike = order[start:stop]
        x = np.empty((size, alike.size))
        for i in range(alike.size):
            x[:, i] = rows[alike[i]][~np.isnan(rows[alike[i]])]
        cells = cells_for(size)
        end = cell_end(cell_of(mean, cells), cells) if in_cells else mean
        shows = np.empty(alike.size, np.bool_)
        star_reach(x, np.full(alike.size, end), np.full(alike.size, mean), target, shows, balanced)
        for i in range(alike.size):
            reached[alike[i]] = shows[i]
        start = stop
    return reached


@compiled
def plug_in_lower(rows, target):
    """The lower limit of the mean of each row by plug-in bets for a sample of this size."""
    limits = np.zeros(rows.shape[0])
    for i in range(rows.shape[0]):
        x = rows[i][~np.isnan(rows[i])]
        bets = plug_in_bets(x, target, False)
        limits[i] = _halve(x, bets, SHARE, target, 0.0, 1.0)
    return limits


@compiled
def plug_in_rejects(rows, mean, target, sequence):
    """Whether plug-in bets reject this mean on each row, at any time."""
    rejected = np.zeros(rows.shape[0], np.bool_)
    for i in range(rows.shape[0]):
        x = rows[i][~np.isnan(rows[i])]
        bets = plug_in_bets(x, target, sequence)
        rejected[i] = reached_after(x, bets, SHARE, mean, target) <= x.size
    return rejected


@compiled
def _plug_in_steps(x, target, steps):
    """Fill in the limits after 1, 2, … numbers: to the last digit at first, later as close as
    `CLOSE` asks for.

    The capital falls in the mean, so that a larger one is rejected later. For means that are
    rejected after the first `EXACT` numbers, intervals of means are halved from below until both
    ends are rejected at the same time, or are closer than a part of the distance between the limit
    and the mean of the numbers by then. Every limit is a mean that was rejected by its time, hence
    as valid as the exact one, which it is at most; and it depends on no later number. About as many
    means are tried while the numbers double as before, which makes the time grow as their number.
    """
    bets = plug_in_bets(x, target, True)
    exact, best, total = min(x.size, EXACT), 0.0, 0.0
    for k in range(exact):
        best = _halve(x[: k + 1], bets[: k + 1], SHARE, target, best, 1.0)
        steps[k] = best
        total += x[k]
    if exact == x.size:
        return
    ends, times = np.empty(HALVINGS + 2), np.empty(HALVINGS + 2, np.int64)
    ends[0], times[0], open_ends = 1.0, x.size + 1, 1
    time = exact
    while open_ends:
        end, later = ends[open_ends - 1], times[open_ends - 1]
        middle = (best + end) / 2
        # Relative to the limit's own width; the second part keeps it above 0 where that vanishes.
        close = max((total / time - best) * CLOSE, CLOSE / time)
        if later > time and end - best > close and best < middle < end and open_ends < ends.size:
            ends[open_ends], times[open_ends] = (
                middle,
                max(time, reached_after(x, bets, SHARE, middle, target)),
            )
            open_ends += 1
            continue
        if later > x.size:
            break
        # Until the next end is rejected, the limit stays.
        steps[time:later] = best
        for t in range(time, later):
            total += x[t]
        best, time, open_ends = end, later, open_ends - 1
        steps[time - 1] = best
    steps[time:] = best


@compiled
def plug_in_lower_sequence(rows, target):
    """The lower limits after the first, the second … number of each row, by plug-in bets that know
    no end.
    """
    limits = np.zeros(rows.shape)
    for i in range(rows.shape[0]):
        mask = ~np.isnan(rows[i])
        x = rows[i][mask]
        steps = np.empty(x.size)
        _plug_in_steps(x, target, steps)
        seen = 0
        for k in range(rows.shape[1]):
            seen += mask[k]
            limits[i, k] = steps[seen - 1] if seen else 0.0
    return limits


@compiled
def bernstein_lower_sequence(rows, target):
    """The lower limits after each number, by the predictable plug-in empirical Bernstein
    inequality, in closed form.

    Waudby-Smith and Ramdas (2024), Theorem 2: exp(Σ λ_t·(x_t − m) − (x_t − m_{t-1})²·(−ln(1 − λ_t)
    − λ_t)) is a supermartingale for any guess m_{t-1} that depends on the past; the bets are the
    plug-in ones, at most 1/2.
    """
    limits = np.zeros(rows.shape)
    needed = math.log(target)
    for i in range(rows.shape[0]):
        # Solved for m: the largest m at which the logarithm of the martingale is ln(1/δ).
        mask = ~np.isnan(rows[i])
        x = rows[i][mask]
        bets = plug_in_bets(x, target, True)
        weighted, weights, price, total = 0.0, 0.0, needed, 0.5
        seen, best = 0, 0.0
        for k in range(rows.shape[1]):
            if mask[k]:
                bet = min(bets[seen], 0.5)
                weighted += bet * x[seen]
                weights += bet
                price += (x[seen] - total / (seen + 1)) ** 2 * (-math.log(1 - bet) - bet)
                total += x[seen]
                seen += 1
                best = max(best, (weighted - price) / weights)
            limits[i, k] = best
    return limits
