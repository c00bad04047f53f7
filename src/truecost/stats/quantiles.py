"""Limits of quantiles, which need no range: "90 % of all runs cost at most x", "at least r times
faster in the median".

The p-quantile is Q = inf{t : P(X ≤ t) ≥ p}, X being a run on a new instance with a new seed. With
one run on every instance the method is ``order-statistics``, else ``star-bets`` (``hoeffding`` if
`monotone`); see `truecost.stats.inversion`.

Examples
--------
>>> round(tc.quantiles.quantile(np.arange(50.0), 0.5, rng=1).value)
31
"""

from numpy.typing import ArrayLike

from truecost.stats import limits, quantities
from truecost.stats.limits import Limit, LimitSequence
from truecost.stats.random import Rng
from truecost.stats.sample import Ends, Sample, Side


def quantile(
    costs: ArrayLike | Ends,
    share: float,
    delta: float = 0.05,
    *,
    side: Side = "upper",
    configurations: int = 1,
    shuffle: bool = True,
    rng: Rng = None,
    monotone: bool = False,
) -> Limit:
    """The cost that a run on a new instance with a new seed keeps to with probability `share`.

    Parameters
    ----------
    costs
        Of one configuration: (n,) or (n, R), NaN where there is no run. `Ends.of(times, cutoff=…)`
        for running times: a limit of inf then reads "above the cutoff", where the penalty of a
        timeout would pass for a running time.
    share
        p: 0.5 for the median, 0.9 for the 90th percentile.
    delta
        The probability with which the limit may be wrong.
    side
        "upper": at most; "lower": at least. inf or −inf where the instances are too few to say
        anything.
    configurations, shuffle, rng, monotone
        As in `truecost.stats.rates.solved`.
    """
    quantity, sample = quantities.quantile(share), Sample.of(costs)
    return limits.asked(quantity, sample, delta, side, configurations, shuffle, rng, monotone)


def quantile_sequence(
    costs: ArrayLike | Ends,
    share: float,
    delta: float = 0.05,
    *,
    side: Side = "upper",
    configurations: int = 1,
) -> LimitSequence:
    """Limits of a quantile after each instance, at all times at once; as in `quantile`."""
    quantity, sample = quantities.quantile(share), Sample.of(costs)
    return limits.asked_sequence(quantity, sample, delta, side, configurations)


def ratios(first: ArrayLike | Ends, second: ArrayLike | Ends, resolution: float) -> Ends:
    """Second over first, of all pairs of runs of each instance on which both have some: (n, pairs).

    See `truecost.stats.quantities.time_ratios`: two infinite times tie.
    """
    return quantities.time_ratios(Sample.of(first, second), resolution)


def speed_up(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    delta: float = 0.05,
    *,
    share: float = 0.5,
    resolution: float = 0.01,
    side: Side = "lower",
    configurations: int = 1,
    shuffle: bool = True,
    rng: Rng = None,
    monotone: bool = False,
) -> Limit:
    """How many times faster the first is than the second in the median: a quantile of second/first
    over instance and seeds.

    A lower limit r says that with probability 1 − share at least, the first is at least r times
    faster on a new instance with new seeds. Unlike the median of ratios of instance means, this
    does not depend on the number of runs.

    Parameters
    ----------
    first, second
        Running times on the same instances in the same order, (n,) or (n, R), NaN where there is no
        run; `Ends.of(times, cutoff=…)` where runs were stopped. See `ratios`.
    share
        Which quantile.
    resolution
        Of the clock: times below it count as this much.
    delta, side, configurations, shuffle, rng, monotone
        As in `quantile`.
    """
    quantity, sample = quantities.speed_up(share, resolution), Sample.of(first, second)
    return limits.asked(quantity, sample, delta, side, configurations, shuffle, rng, monotone)


def speed_up_sequence(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    delta: float = 0.05,
    *,
    share: float = 0.5,
    resolution: float = 0.01,
    side: Side = "lower",
    configurations: int = 1,
) -> LimitSequence:
    """Limits of the speed-up after each instance, at all times at once. Parameters as in
    `speed_up`.
    """
    quantity, sample = quantities.speed_up(share, resolution), Sample.of(first, second)
    return limits.asked_sequence(quantity, sample, delta, side, configurations)
