"""Limits of the ratio of two mean costs: "the default costs at least r times as much on average".

`truecost.stats.inversion.RatioOf` says how. It needs low ≥ 0 and, as every mean does, a range known
beforehand.

Examples
--------
>>> limit = tc.ratios.ratio_of_means([0.2] * 30, [0.8] * 30, 0, 1)
>>> limit.side, limit.observed
('lower', 4.0)
"""

import math
from typing import Unpack

from numpy.typing import ArrayLike

from truecost.errors import InputError
from truecost.stats import limits
from truecost.stats.limits import AtAllTimes, InOneLook, Limit, LimitSequence
from truecost.stats.quantities import RATIO
from truecost.stats.sample import Ends, Sample


def ratio_of_means(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    low: float,
    high: float,
    delta: float = 0.05,
    **options: Unpack[InOneLook],
) -> Limit:
    """The true cost of the second over that of the first; a lower limit above 1 shows that the
    first is better on average.

    Parameters
    ----------
    first, second
        Costs on the same instances in the same order, (n,) or (n, R), NaN where there is no run.
        Crashes and timeouts are charged their penalty. Where a run was stopped early (`Ends`), its
        cost is between what it had and `high`.
    low, high
        The least and the largest cost a run can have, known beforehand, 0 ≤ low < high.
    delta, options
        As in `truecost.stats.rates.wins`, but for `monotone`, which no method for ratios is.
    """
    return limits.asked(RATIO, _sample(first, second, low, high), delta, **options)


def ratio_of_means_sequence(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    low: float,
    high: float,
    delta: float = 0.05,
    **options: Unpack[AtAllTimes],
) -> LimitSequence:
    """Limits of the ratio of means after each instance, at all times; as in `ratio_of_means`."""
    return limits.asked_sequence(RATIO, _sample(first, second, low, high), delta, **options)


def _sample(first: ArrayLike | Ends, second: ArrayLike | Ends, low: float, high: float) -> Sample:
    if not 0 <= low < high < math.inf:
        raise InputError(
            f"Expected a cost range with 0 ≤ low < high, got low {low:g} and high {high:g}."
        )
    return Sample.of(first, second, low=low, high=high)
