"""Compiled loops that turn tests of one mean into limits of quantiles and of ratios: arrays in,
arrays out, nothing else.

A limit comes from a scan: from the safe end on, one point after the other is tested until one is
not rejected. Nothing says that a test that rejects a point rejects the points before it, so that
the scan must not skip any, and never bisects.
"""

import numpy as np

from truecost.stats import ledger
from truecost.stats.betting import HALVINGS, SHARE, plug_in_bets, reached_after
from truecost.stats.compiled import compiled

# Points of the grid of ratios between 1 and 2.
STEPS = 64
# The grid goes from 2^-20 to 2^20.
OCTAVES = 20


@compiled
def plug_in_time(x, mean, target):
    """After how many numbers plug-in bets that know no end show a mean above `mean`; one more than
    there are if never.
    """
    return reached_after(x, plug_in_bets(x, target, True), SHARE, mean, target)


@compiled
def urn_shows(x, draws, mean, target, planned):
    """Whether watching shows a mean above `mean` by the end, when x goes on by draws from Pólya's
    urn.

    Each row of `draws`, numbers in [0, 1), is one way to go on: every next number is one of those
    seen or drawn before.
    """
    shows = np.zeros(draws.shape[0], np.bool_)
    whole = np.empty(x.size + draws.shape[1])
    whole[: x.size] = x
    plans, parts = np.array([planned]), ledger.parts_of(ledger.WATCHED, 0)
    bets = np.zeros((1, whole.size))
    for i in range(draws.shape[0]):
        for k in range(draws.shape[1]):
            whole[x.size + k] = whole[int(draws[i, k] * (x.size + k))]
        careful = ledger.careful_bets(whole, target, ledger.WATCHED)
        shows[i] = ledger.bold_bets(whole, mean, target, plans, parts, False, careful, bets)
    return shows


@compiled
def _remove(instances, groups, worth, at, left, counts, x):
    """Take the values of the next group away from the shares of their instances; where the group
    after it begins.
    """
    group = groups[at]
    while at < groups.size and groups[at] == group:
        i = instances[at]
        left[i] -= worth[at]
        x[i] = max(left[i] / counts[i], 0.0)
        at += 1
    return at


@compiled
def shares_shown(instances, groups, worth, counts, mean, target, plans, capital):
    """How many distinct values are passed, from the safe end, while the share not yet passed is
    shown to exceed `mean`, with the capital of a recorded plan (`ledger`).

    `instances` and `groups` say of each value, in the order of the scan, whose it is and which of
    the distinct values; `worth` what it counts, `counts` how many an instance has.
    """
    # Every share starts at 1, and falls as values are passed.
    left, x = counts.copy(), np.ones(counts.size)
    parts, bets = ledger.parts_of(capital, plans.size - 1), np.zeros((plans.size, counts.size))
    at, passed = 0, 0
    while at < groups.size:
        careful = ledger.careful_bets(x, target, capital)
        if not ledger.bold_bets(x, mean, target, plans, parts, False, careful, bets):
            break
        passed += 1
        at = _remove(instances, groups, worth, at, left, counts, x)
    return passed


@compiled
def share_times(instances, groups, worth, counts, mean, target):
    """As `shares_shown`, at all times: after how many instances each distinct value, and all before
    it, are passed.
    """
    left, x = counts.copy(), np.ones(counts.size)
    times = np.full(groups[-1] + 1, counts.size + 1)
    at, latest = 0, 0
    while at < groups.size and latest <= counts.size:
        latest = max(latest, plug_in_time(x, mean, target))
        times[groups[at]] = latest
        at = _remove(instances, groups, worth, at, left, counts, x)
    return times


@compiled
def against_ratio(first, second, ratio, low, high):
    """Numbers in [0, 1] whose mean is above the second result if and only if u(second)/u(first) is
    above the ratio.
    """
    width = (ratio + 1) * (high - low)
    return (ratio * high - low + second - ratio * first) / width, (ratio * high - low) / width


@compiled
def ratio_ends(low, high):
    """The grid of ratios that are possible: nothing below low/high can be wrong, nothing above
    high/low true.
    """
    ends = 2.0 ** (np.arange(-OCTAVES * STEPS, OCTAVES * STEPS + 1) / STEPS)
    # Products, since a quotient by a low of 0 is none.
    return ends[(ends * high > low) & ((low <= 0) | (ends * low < high))]


@compiled
def shifted(first, second, ratio, end, low, high, mean):
    """The numbers that bets made against the ratio `end` win by, against a smaller one: the capital
    falls in the ratio.
    """
    return (second - ratio * first) / ((end + 1) * (high - low)) + mean


@compiled
def ratio_recorded(first, second, low, high, target, plans, shares):
    """The lower limit of u(second)/u(first), from unit means in [low, high] with low ≥ 0, with the
    capital of a recorded plan (`ledger`) and the variance of paired differences.

    As for means: all ratios of a cell of the grid share the bets made against its upper end, so
    that inside a cell the capital falls in the ratio and may be halved.
    """
    below, ends = low / high, ratio_ends(low, high)
    parts = ledger.parts_of(shares, plans.size - 1)
    bets = np.zeros((plans.size, first.size))
    for end in ends:
        x, mean = against_ratio(first, second, end, low, high)
        careful = ledger.careful_bets(x, target, shares)
        if ledger.bold_bets(x, mean, target, plans, parts, True, careful, bets):
            below = end
            continue
        kept = end
        for _ in range(HALVINGS):
            middle = (below + kept) / 2
            x = shifted(first, second, middle, end, low, high, mean)
            if ledger.capital(x, mean, target, plans, parts, careful, bets) >= target:
                below = middle
            else:
                kept = middle
        return below
    return below


@compiled
def ratio_sequence(first, second, low, high, target):
    """The lower limits of u(second)/u(first) after each instance, at all times, on the grid."""
    limits = np.full(first.size, low / high)
    latest = 0
    for end in ratio_ends(low, high):
        x, mean = against_ratio(first, second, end, low, high)
        latest = max(latest, plug_in_time(x, mean, target))
        if latest > first.size:
            break
        limits[latest - 1 :] = end
    return limits
