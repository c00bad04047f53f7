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
from numpy.typing import ArrayLike

from truecost.stats import limits, quantities
from truecost.stats.inversion import clopper_pearson as clopper_pearson
from truecost.stats.limits import Limit, LimitSequence
from truecost.stats.random import Rng
from truecost.stats.sample import Ends, Sample, Side
from truecost.stats.utility import Utility


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
        "lower": at least this share is solved; "upper": at most.
    configurations
        m: the limits of that many configurations hold at once, each with delta/m.
    shuffle, rng
        The order of the instances, as in `truecost.stats.confidence`.
    monotone
        For runs that were stopped early, nobody knows why: see the module.
    """
    return limits.asked(
        quantities.SOLVED, _solved(runs), delta, side, configurations, shuffle, rng, monotone
    )


def solved_sequence(
    runs: ArrayLike | Ends, delta: float = 0.05, *, side: Side = "lower", configurations: int = 1
) -> LimitSequence:
    """Limits of the solved share after each instance, at all times at once. Parameters as in
    `solved`.
    """
    return limits.asked_sequence(quantities.SOLVED, _solved(runs), delta, side, configurations)


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
    sample = Sample.of(times)
    return limits.asked(
        quantities.mean_utility(utility), sample, delta, side, configurations, shuffle, rng
    )


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
    sample = Sample.of(times)
    return limits.asked_sequence(
        quantities.mean_utility(utility), sample, delta, side, configurations
    )


def win_shares(first: ArrayLike | Ends, second: ArrayLike | Ends) -> Ends:
    """Of each instance on which both have runs, the share of pairs of runs in which the first costs
    less, ties half: (n, 1).

    All pairs count, so that numbers of runs may differ. The lower ends are the wins that are sure,
    the upper ones those possible.
    """
    return quantities.win_shares(*Sample.of(first, second).costs)


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
    sample = Sample.of(first, second)
    return limits.asked(
        quantities.WINS, sample, delta, side, configurations, shuffle, rng, monotone
    )


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
    sample = Sample.of(first, second)
    return limits.asked_sequence(quantities.WINS, sample, delta, side, configurations)


def _solved(runs: ArrayLike | Ends) -> Sample:
    sample = Sample.of(runs)
    return replace(sample, solved=sample.costs)
