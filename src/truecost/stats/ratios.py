"""Limits of the ratio of two mean costs: "the default costs at least r times as much on average".

u(second)/u(first) is above r if and only if r·u(first) − u(second) is below 0. The differences
r·x_i − y_i of instance means, independent and in [r·low − high, r·high − low], are bet on as costs
are (`truecost.stats.betting`), and r goes up from 0 over a grid fixed beforehand until a cell of it
is not rejected. This is tighter than the ratio of two separate limits: what makes an instance hard
for both cancels. It needs low ≥ 0 and, as every mean does, a range known beforehand.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.errors import InputError
from truecost.stats import confidence, limits, ordering, scanning
from truecost.stats.limits import Ends, Limit, LimitSequence, Side
from truecost.stats.random import Rng

FloatArray = NDArray[np.float64]
RANGE = confidence.ASSUMPTIONS[2]


def ratio_of_means(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    low: float,
    high: float,
    delta: float = 0.05,
    *,
    side: Side = "lower",
    configurations: int = 1,
    shuffle: bool = True,
    rng: Rng = None,
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
    delta, side, configurations, shuffle, rng
        As in `truecost.stats.rates.wins`.
    """
    reached = limits.target(delta, configurations, side)
    low, high = float(low), float(high)  # for whole numbers the loops would be compiled once more
    one, two = _read(first, second, low, high)
    order = ordering.of_instances(rng, shuffle, one.lower, one.upper, two.lower, two.upper)
    x, y = _means(one[order], two[order], side)
    observed = _observed(x.mean(), y.mean())
    if side == "lower":
        value = min(float(scanning.ratio_lower(x, y, low, high, reached)), observed)
    else:
        value = max(_inverse(float(scanning.ratio_lower(y, x, low, high, reached))), observed)
    return Limit(
        what="ratio of means",
        value=value,
        observed=observed,
        side=side,
        instances=x.size,
        runs=limits.runs_of(one, two),
        delta=delta,
        method="star-bets",
        rests_on=(
            *limits.BASE,
            RANGE,
            confidence.ONE_LOOK,
            limits.order_of(shuffle, rng is not None),
            *(limits.caps_rest_on(one, False) or limits.caps_rest_on(two, False)),
            confidence.SAME_INSTANCES,
        ),
    )


def ratio_of_means_sequence(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    low: float,
    high: float,
    delta: float = 0.05,
    *,
    side: Side = "lower",
    configurations: int = 1,
) -> LimitSequence:
    """Limits of the ratio of means after each instance, at all times at once. Parameters as in
    `ratio_of_means`.
    """
    reached = limits.target(delta, configurations, side)
    low, high = float(low), float(high)  # for whole numbers the loops would be compiled once more
    one, two = _read(first, second, low, high)
    x, y = _means(one, two, side)
    if side == "lower":
        value = np.asarray(scanning.ratio_sequence(x, y, low, high, reached))
    else:
        value = np.array(
            [_inverse(float(each)) for each in scanning.ratio_sequence(y, x, low, high, reached)]
        )
    return LimitSequence(
        what="ratio of means",
        value=value,
        observed=np.array([_observed(a, b) for a, b in zip(x.cumsum(), y.cumsum(), strict=True)]),
        side=side,
        instances=np.arange(1, x.size + 1),
        runs=limits.runs_of(one, two),
        delta=delta,
        method="betting, at all times",
        rests_on=(
            *limits.BASE,
            RANGE,
            confidence.UNSHUFFLED,
            *(limits.caps_rest_on(one, False) or limits.caps_rest_on(two, False)),
            confidence.SAME_INSTANCES,
        ),
    )


def _read(
    first: ArrayLike | Ends, second: ArrayLike | Ends, low: float, high: float
) -> tuple[Ends, Ends]:
    if not 0 <= low < high < math.inf:
        raise InputError(
            f"Expected a cost range with 0 ≤ low < high, got low {low:g} and high {high:g}."
        )
    one, two = limits.read_pair(first, second)
    slack = 2.0**-23 * high
    for ends in (one, two):
        capped = np.where(np.isinf(ends.upper), high, ends.upper)
        least, most = np.nanmin(ends.lower), np.nanmax(capped)
        if least < low - slack or most > high + slack:
            raise InputError(
                f"Expected costs in [{low:g}, {high:g}], got costs from {least:g} to {most:g}."
            )
    return tuple(ends.map(lambda end: np.clip(end, low, high)) for ends in (one, two))  # type: ignore[return-value]


def _means(one: Ends, two: Ends, side: Side) -> tuple[FloatArray, FloatArray]:
    """Instance means by the ends that are safe: second/first is least where the first is dear and
    the second cheap.
    """
    other: Side = "upper" if side == "lower" else "lower"
    return limits.row_means(one.pick(other)), limits.row_means(two.pick(side))


def _observed(first: float, second: float) -> float:
    if first > 0:
        return float(second / first)
    return math.inf if second > 0 else math.nan


def _inverse(ratio: float) -> float:
    return 1 / ratio if ratio > 0 else math.inf
