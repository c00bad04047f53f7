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

from typing import Unpack

from numpy.typing import ArrayLike

from truecost.stats import limits, quantities
from truecost.stats.limits import AtAllTimes, InOneLook, Limit, LimitSequence
from truecost.stats.sample import Ends, Sample


def quantile(
    costs: ArrayLike | Ends, share: float, delta: float = 0.05, **options: Unpack[InOneLook]
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
    delta, options
        As in `truecost.stats.rates.solved`; "upper" is the side if not given. inf or −inf where the
        instances are too few to say anything.
    """
    return limits.asked(quantities.quantile(share), Sample.of(costs), delta, **options)


def quantile_sequence(
    costs: ArrayLike | Ends, share: float, delta: float = 0.05, **options: Unpack[AtAllTimes]
) -> LimitSequence:
    """Limits of a quantile after each instance, at all times at once; as in `quantile`."""
    return limits.asked_sequence(quantities.quantile(share), Sample.of(costs), delta, **options)


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
    **options: Unpack[InOneLook],
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
    delta, options
        As in `quantile`; "lower" is the side if not given.
    """
    quantity, sample = quantities.speed_up(share, resolution), Sample.of(first, second)
    return limits.asked(quantity, sample, delta, **options)


def speed_up_sequence(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    delta: float = 0.05,
    *,
    share: float = 0.5,
    resolution: float = 0.01,
    **options: Unpack[AtAllTimes],
) -> LimitSequence:
    """Limits of the speed-up after each instance, at all times at once; as in `speed_up`."""
    quantity, sample = quantities.speed_up(share, resolution), Sample.of(first, second)
    return limits.asked_sequence(quantity, sample, delta, **options)
