"""Limits of shares: how often a run is solved, how often one configuration beats another, what a
time is worth on average.

These are expectations over a new instance and new seeds of numbers in [0, 1], so they need no cost
range. The runs of an instance are averaged first. With one run of 0 or 1 on every instance the
method is ``clopper-pearson``, the exact binomial limit, else ``star-bets`` on the instances' shares
(`truecost.stats.betting`).

Where runs were stopped early (`Ends`), a lower limit takes what is sure and an upper one what is
possible. That suffices if stopping was fixed beforehand, or by earlier instances in an order that
is kept (`shuffle=False`). After adaptive capping ask for `monotone`: ``hoeffding`` then replaces
``star-bets`` and, like ``clopper-pearson``, never falls when a run rises, so it holds whatever
stopped the runs. Sequences hold at all times at once, in the order given.

Examples
--------
>>> round(tc.rates.solved([True] * 30).value, 3)
0.905
"""

from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from truecost.stats import limits, quantities
from truecost.stats.inversion import clopper_pearson as clopper_pearson
from truecost.stats.limits import AtAllTimes, InOneLook, Limit, LimitSequence
from truecost.stats.sample import Ends, Sample
from truecost.stats.utility import Utility


def within(times: ArrayLike | Ends, limit: float) -> Ends:
    """Which runs are solved within a limit, as 0 and 1: from running times, inf or at least the
    cutoff where unsolved.

    The limit must be below the cutoff, or the times of unsolved runs be inf. A run that was stopped
    before the limit counts 0 for sure and 1 as possible.
    """
    return Ends.of(times).map(lambda ends: np.where(np.isnan(ends), np.nan, ends <= limit))


def solved(runs: ArrayLike | Ends, delta: float = 0.05, **options: Unpack[InOneLook]) -> Limit:
    """The solved share: the probability that a run on a new instance with a new seed is solved.

    Parameters
    ----------
    runs
        1 where solved and 0 where not, of one configuration: (n,) or (n, R), NaN where there is no
        run; `within` makes them from running times. Crashes are not solved, and never left out.
    delta
        The probability with which the limit may be wrong.
    options
        `side`, `configurations`, `shuffle`, `rng` and `monotone`; see
        `truecost.stats.limits.InOneLook`.
    """
    return limits.asked(quantities.SOLVED, _solved(runs), delta, **options)


def solved_sequence(
    runs: ArrayLike | Ends, delta: float = 0.05, **options: Unpack[AtAllTimes]
) -> LimitSequence:
    """Limits of the solved share after each instance, at all times at once; as in `solved`."""
    return limits.asked_sequence(quantities.SOLVED, _solved(runs), delta, **options)


def utility(
    times: ArrayLike | Ends, utility: Utility, delta: float = 0.05, **options: Unpack[InOneLook]
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
    delta, options
        As in `solved`.
    """
    return limits.asked(quantities.mean_utility(utility), Sample.of(times), delta, **options)


def utility_sequence(
    times: ArrayLike | Ends, utility: Utility, delta: float = 0.05, **options: Unpack[AtAllTimes]
) -> LimitSequence:
    """Limits of the expected utility after each instance, at all times at once; as in `utility`."""
    quantity = quantities.mean_utility(utility)
    return limits.asked_sequence(quantity, Sample.of(times), delta, **options)


def win_shares(first: ArrayLike | Ends, second: ArrayLike | Ends) -> Ends:
    """`truecost.stats.quantities.win_shares` of the instances on which both have runs."""
    return quantities.win_shares(Sample.of(first, second))


def wins(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    delta: float = 0.05,
    **options: Unpack[InOneLook],
) -> Limit:
    """The probability that a run of the first costs less than one of the second on the same new
    instance, ties half.

    Parameters
    ----------
    first, second
        Costs on the same instances in the same order, (n,) or (n, R) with numbers of runs that may
        differ, NaN where there is no run. Crashes and timeouts have their penalty: two timeouts are
        a tie. Instances that lack runs of one are passed over.
    delta, options
        As in `solved`. A lower limit above ½ shows that the first wins more often than it loses, an
        upper one below ½ that it loses. This says nothing of means.
    """
    return limits.asked(quantities.WINS, Sample.of(first, second), delta, **options)


def wins_sequence(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    delta: float = 0.05,
    **options: Unpack[AtAllTimes],
) -> LimitSequence:
    """Limits of the probability to win after each instance, at all times at once; as in `wins`."""
    return limits.asked_sequence(quantities.WINS, Sample.of(first, second), delta, **options)


def _solved(runs: ArrayLike | Ends) -> Sample:
    sample = Sample.of(runs)
    return replace(sample, solved=sample.costs)
