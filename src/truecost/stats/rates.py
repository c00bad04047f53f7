"""Limits of shares: how often a run is solved, how often one configuration beats another, what a
time is worth on average.

All of them are expectations, over a new instance and new seeds, of something between 0 and 1, so
that they need no cost range. The independent unit is the instance: what its runs say is averaged
first. Two methods, and the numbers of runs alone decide which:

* ``clopper-pearson``, where there is one run on every instance and it counts 0 or 1: the exact
  limit of a binomial share;
* ``star-bets`` on the instances' shares otherwise, see `truecost.stats.betting`. Clopper and
  Pearson's limit of all runs, as if they were independent, is wrong more often than it says.

Where runs were stopped early (`Ends`), a lower limit takes what is sure and an upper one what is
possible. That is enough if when to stop was fixed beforehand, or by earlier instances in an order
that is kept (`shuffle=False`). Else, as after an adaptive capping of which only the outcome is
known, ask for `monotone`: ``hoeffding`` then stands for ``star-bets``, and like ``clopper-pearson``
it holds whatever decided when runs were stopped, since it never falls when a run rises. The
sequences hold at all times at once, for runs that are looked at while they come in: ``betting``, in
the order given.
"""

from dataclasses import replace

import numpy as np
import scipy  # not scipy.special, which takes long to load: scipy loads it when it is first asked for
from numpy.typing import ArrayLike, NDArray

from truecost.errors import InputError
from truecost.stats import betting, confidence, limits, ordering
from truecost.stats.limits import Ends, Limit, LimitSequence, Side
from truecost.stats.random import Rng
from truecost.stats.utility import Utility

FloatArray = NDArray[np.float64]


def within(times: ArrayLike | Ends, limit: float) -> Ends:
    """Which runs are solved within a limit, as 0 and 1: from running times, inf or at least the
    cutoff where unsolved.

    The limit must be below the cutoff, or the times of unsolved runs be inf. A run that was stopped
    before the limit counts 0 for sure and 1 as possible.
    """
    return Ends.of(times).map(lambda ends: np.where(np.isnan(ends), np.nan, ends <= limit))


def solved(
    runs: ArrayLike | Ends,
    delta: float = 0.05,
    *,
    side: Side = "lower",
    configurations: int = 1,
    shuffle: bool = True,
    rng: Rng = None,
    monotone: bool = False,
) -> Limit:
    """The solved share: the probability that a run on a new instance with a new seed is solved.

    Parameters
    ----------
    runs
        1 where solved and 0 where not, of one configuration: (n,) or (n, R), NaN where there is no
        run; `within` makes them from running times. Crashes are not solved, and never left out.
    delta
        The probability with which the limit may be wrong.
    side
        "lower": at least so many are solved; "upper": at most so many.
    configurations
        m: the limits of that many configurations hold at once, each with delta/m.
    shuffle, rng
        The order of the instances, as in `truecost.stats.confidence`.
    monotone
        For runs that were stopped early, nobody knows why: see the module.
    """
    ends = _zero_one(runs)
    single = bool((ends.counts == 1).all())
    return _share("solved share", ends, delta, side, configurations, shuffle, rng, single, monotone)


def solved_sequence(
    runs: ArrayLike | Ends, delta: float = 0.05, *, side: Side = "lower", configurations: int = 1
) -> LimitSequence:
    """Limits of the solved share after each instance, at all times at once. Parameters as in
    `solved`.
    """
    return _share_sequence("solved share", _zero_one(runs), delta, side, configurations)


def utility(
    times: ArrayLike | Ends,
    utility: Utility,
    delta: float = 0.05,
    *,
    side: Side = "lower",
    configurations: int = 1,
    shuffle: bool = True,
    rng: Rng = None,
) -> Limit:
    """The expected utility of the running time of a run on a new instance with a new seed.

    Parameters
    ----------
    times
        (n,) or (n, R), NaN where there is no run. `Ends.of(times, cutoff=…)` where runs were
        stopped: a lower limit then counts them as never solved, an upper one as solved when they
        were stopped.
    utility
        What a time is worth.
    delta, side, configurations, shuffle, rng
        As in `solved`.
    """
    ends = limits.read(times).map(utility.of)
    single = utility.kind == "step" and bool((ends.counts == 1).all())
    return _share("utility", ends, delta, side, configurations, shuffle, rng, single)


def utility_sequence(
    times: ArrayLike | Ends,
    utility: Utility,
    delta: float = 0.05,
    *,
    side: Side = "lower",
    configurations: int = 1,
) -> LimitSequence:
    """Limits of the expected utility after each instance, at all times at once. Parameters as in
    `utility`.
    """
    return _share_sequence(
        "utility", limits.read(times).map(utility.of), delta, side, configurations
    )


def win_shares(first: ArrayLike | Ends, second: ArrayLike | Ends) -> Ends:
    """Of each instance on which both have runs, the share of pairs of runs in which the first costs
    less, ties half: (n, 1).

    All pairs count, so that numbers of runs may differ. The lower ends are the wins that are sure,
    the upper ones those possible.
    """
    one, two = limits.read_pair(first, second)
    sure = _beaten(one.upper, two.lower)
    return Ends(
        lower=sure, upper=_beaten(one.lower, two.upper) if one.censored or two.censored else sure
    )


def wins(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    delta: float = 0.05,
    *,
    side: Side = "lower",
    configurations: int = 1,
    shuffle: bool = True,
    rng: Rng = None,
    monotone: bool = False,
) -> Limit:
    """The probability that a run of the first costs less than one of the second on the same new
    instance, ties half.

    Parameters
    ----------
    first, second
        Costs on the same instances in the same order, (n,) or (n, R) with numbers of runs that may
        differ, NaN where there is no run. Crashes and timeouts have their penalty: two timeouts are
        a tie. Instances that lack runs of one are passed over.
    delta, side, configurations, shuffle, rng, monotone
        As in `solved`. A lower limit above ½ shows that the first wins more often than it loses, an
        upper one below ½ that it loses. This says nothing of means.
    """
    one, two = limits.read_pair(first, second)
    order = ordering.of_instances(rng, shuffle, one.lower, one.upper, two.lower, two.upper)
    shares = win_shares(one[order], two[order])
    # In their order already, which the costs decided and not the shares.
    found = _share("wins", shares, delta, side, configurations, False, None, False, monotone)
    drawn = (
        *(() if monotone else (limits.order_of(shuffle, rng is not None),)),
        confidence.SAME_INSTANCES,
    )
    rests_on = (*(line for line in found.rests_on if line != confidence.UNSHUFFLED), *drawn)
    return replace(found, runs=limits.runs_of(one, two), rests_on=rests_on)


def wins_sequence(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    delta: float = 0.05,
    *,
    side: Side = "lower",
    configurations: int = 1,
) -> LimitSequence:
    """Limits of the probability to win after each instance, at all times at once. Parameters as in
    `wins`.
    """
    one, two = limits.read_pair(first, second)
    found = _share_sequence("wins", win_shares(one, two), delta, side, configurations)
    return replace(
        found, runs=limits.runs_of(one, two), rests_on=(*found.rests_on, confidence.SAME_INSTANCES)
    )


def wins_watched(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    delta: float = 0.05,
    *,
    planned: int,
    side: Side = "lower",
) -> Limit:
    """A limit of the probability to win while instances come in, of so many planned; see
    `confidence.watched`.
    """
    reached = limits.target(delta, 1, side)
    one, two = limits.read_pair(first, second)
    ends = win_shares(one, two)
    x = limits.row_means(ends.pick(side))[np.newaxis]
    low = betting.watched_lower(x if side == "lower" else 1 - x, reached, planned)[0]
    return Limit(
        what="wins",
        value=float(low if side == "lower" else 1 - low),
        observed=float(x.mean()),
        side=side,
        instances=x.size,
        runs=limits.runs_of(one, two),
        delta=delta,
        method=confidence.WATCHED,
        rests_on=(*limits.BASE, confidence.UNSHUFFLED, confidence.SAME_INSTANCES),
    )


def clopper_pearson(successes: int, trials: int, delta: float, side: Side) -> float:
    """The exact one-sided limit of a binomial share (Clopper and Pearson 1934)."""
    if side == "lower":
        return (
            float(scipy.special.betaincinv(successes, trials - successes + 1, delta))
            if successes
            else 0.0
        )
    return (
        float(scipy.special.betaincinv(successes + 1, trials - successes, 1 - delta))
        if successes < trials
        else 1.0
    )


def _share(
    what: str,
    ends: Ends,
    delta: float,
    side: Side,
    configurations: int,
    shuffle: bool,
    rng: Rng,
    single: bool,
    monotone: bool = False,
) -> Limit:
    reached = limits.target(delta, configurations, side)
    x = limits.row_means(ends.pick(side))
    observed = float(x.mean())
    if single:
        value = clopper_pearson(round(float(x.sum())), x.size, 1 / reached, side)
    elif monotone:
        slack = limits.hoeffding(x.size, reached)
        value = max(observed - slack, 0.0) if side == "lower" else min(observed + slack, 1.0)
    else:
        x = x[ordering.of_instances(rng, shuffle, ends.lower, ends.upper)][np.newaxis]
        value = float(
            betting.star_lower(x, reached)[0]
            if side == "lower"
            else 1 - betting.star_lower(1 - x, reached)[0]
        )
    order = () if single or monotone else (limits.order_of(shuffle, rng is not None),)
    return Limit(
        what=what,
        value=min(value, observed) if side == "lower" else max(value, observed),
        observed=observed,
        side=side,
        instances=x.size,
        runs=limits.runs_of(ends),
        delta=delta,
        method="clopper-pearson" if single else "hoeffding" if monotone else "star-bets",
        rests_on=(*limits.BASE, confidence.ONE_LOOK, *order, *limits.caps_rest_on(ends, monotone)),
    )


def _share_sequence(
    what: str, ends: Ends, delta: float, side: Side, configurations: int
) -> LimitSequence:
    reached = limits.target(delta, configurations, side)
    x = limits.row_means(ends.pick(side))
    rows = x[np.newaxis]
    if side == "lower":
        value = np.asarray(betting.plug_in_lower_sequence(rows, reached)[0])
    else:
        value = np.asarray(1 - betting.plug_in_lower_sequence(1 - rows, reached)[0])
    instances = np.arange(1, x.size + 1)
    return LimitSequence(
        what=what,
        value=value,
        observed=x.cumsum() / instances,
        side=side,
        instances=instances,
        runs=limits.runs_of(ends),
        delta=delta,
        method="betting, at all times",
        rests_on=(*limits.BASE, confidence.UNSHUFFLED, *limits.caps_rest_on(ends, False)),
    )


def _beaten(one: FloatArray, two: FloatArray) -> FloatArray:
    """The share of pairs in which the first is less, ties half: (n, 1)."""
    score, pairs = np.zeros(len(one)), np.zeros(len(one))
    for a in one.T:
        for b in two.T:
            score += (a < b) + 0.5 * (a == b)
            pairs += ~(np.isnan(a) | np.isnan(b))
    return np.asarray((score / pairs)[:, np.newaxis])


def _zero_one(runs: ArrayLike | Ends) -> Ends:
    ends = limits.read(runs)
    for end in (ends.lower,) if ends.upper is ends.lower else (ends.lower, ends.upper):
        there = end[~np.isnan(end)]
        if not ((there == 0) | (there == 1)).all():
            raise InputError(
                "Expected runs as 1 where solved and 0 where not; within(times, limit) makes them from times."
            )
    return ends
