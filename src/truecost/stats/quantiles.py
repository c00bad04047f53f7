"""Limits of quantiles, which need no range: "nine in ten runs cost at most x", "at least r times
faster in the median".

The p-quantile is Q = inf{t : P(X ≤ t) ≥ p}, X being a run on a new instance with a new seed. Hence
P(X < Q) ≤ p ≤ P(X ≤ Q), with ties and without. Two methods, and the numbers of runs alone decide
which:

* ``order-statistics``, where there is one run on every instance: the k-th smallest cost, k from the
  binomial distribution;
* ``star-bets`` otherwise (``hoeffding`` where `monotone` asks for it), on the instances' shares of
  runs that cost at most t. For an upper limit: if the share is shown to exceed p, then Q ≤ t. t
  goes down from infinity, value by value, and stops at the first one that is not shown.

Why the observed values may serve as the grid, though they are random: the shares change at observed
values only, so that to go through these is to go through all numbers. Suppose the upper limit is
wrong, below Q. Then t = the largest observed value below Q was passed, and the runs that cost at
most t are exactly those that cost less than Q. So the test of the shares of runs below Q, a number
that is not random, against p has rejected, and since P(X < Q) ≤ p it does so with probability δ at
most. For the lower limit take the runs that cost at most Q, and p ≤ P(X ≤ Q). The scan must not
skip values, or bisect: the test need not be monotone.

With more than 20,000 values they are rounded first, to the safe side, to eight binary digits: to
half a percent. A quantile rounds as its runs do, so that the limit stays one.
"""

import math

import numpy as np
import scipy  # not scipy.special, which takes long to load: scipy loads it when it is first asked for
from numpy.typing import ArrayLike, NDArray

from truecost.errors import InputError
from truecost.stats import confidence, limits, ordering, scanning
from truecost.stats.limits import Ends, Limit, LimitSequence, Side
from truecost.stats.random import Rng

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
MANY = 20_000


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
        p: 0.5 for the median, 0.9 for "nine in ten".
    delta
        The probability with which the limit may be wrong.
    side
        "upper": at most; "lower": at least. inf or −inf where the instances are too few to say
        anything.
    configurations, shuffle, rng, monotone
        As in `truecost.stats.rates.solved`.
    """
    return _limit(
        "quantile",
        limits.read(costs),
        share,
        delta,
        side,
        configurations,
        shuffle,
        rng,
        monotone,
        (),
    )


def quantile_sequence(
    costs: ArrayLike | Ends,
    share: float,
    delta: float = 0.05,
    *,
    side: Side = "upper",
    configurations: int = 1,
) -> LimitSequence:
    """Limits of a quantile after each instance, at all times at once. Parameters as in `quantile`."""
    return _sequence("quantile", limits.read(costs), share, delta, side, configurations, ())


def ratios(first: ArrayLike | Ends, second: ArrayLike | Ends, resolution: float) -> Ends:
    """Second over first, of all pairs of runs of each instance on which both have some: (n, pairs).

    A timeout of the first makes it 0 for sure, also where both timed out; a timeout of the second
    leaves it at least the cutoff over the first. Times below the resolution of the clock count as
    the resolution.
    """
    if not 0 < resolution < math.inf:
        raise InputError(f"Expected the clock's resolution to be above 0, got {resolution}.")
    one, two = (
        ends.map(lambda end: np.maximum(end, resolution))
        for ends in limits.read_pair(first, second)
    )
    with np.errstate(invalid="ignore"):
        pairs = [
            (two.lower / a[:, np.newaxis], two.upper / b[:, np.newaxis])
            for a, b in zip(one.upper.T, one.lower.T, strict=True)
        ]
    lower, upper = (np.concatenate(each, axis=1) for each in zip(*pairs, strict=True))
    # inf/inf: nobody knows, so anything is possible.
    both = ~np.isnan(
        np.concatenate([two.lower + 0 * a[:, np.newaxis] for a in one.lower.T], axis=1)
    )
    return Ends(
        lower=np.where(both & np.isnan(lower), 0.0, lower),
        upper=np.where(both & np.isnan(upper), np.inf, upper),
    )


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

    A lower limit r says that with probability 1 − share at least, a half by default, the first is
    at least r times faster on a new instance with new seeds; an upper limit below 1 that it is
    slower in the median. The median of ratios of instance means would depend on how many runs there
    are; this does not.

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
    one, two = limits.read_pair(first, second)
    ends = ratios(one, two, resolution)
    return _limit(
        "speed-up",
        ends,
        share,
        delta,
        side,
        configurations,
        shuffle,
        rng,
        monotone,
        (confidence.SAME_INSTANCES,),
        limits.runs_of(one, two),
    )


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
    one, two = limits.read_pair(first, second)
    ends, more = ratios(one, two, resolution), (confidence.SAME_INSTANCES,)
    return _sequence(
        "speed-up", ends, share, delta, side, configurations, more, limits.runs_of(one, two)
    )


def _limit(
    what: str,
    ends: Ends,
    share: float,
    delta: float,
    side: Side,
    configurations: int,
    shuffle: bool,
    rng: Rng,
    monotone: bool,
    more: tuple[str, ...],
    runs: int | None = None,
) -> Limit:
    reached, values = limits.target(delta, configurations, side), ends.pick(side)
    _check_share(share)
    observed = _observed(values, share)
    single = bool((ends.counts == 1).all())
    if single:
        value = _order_statistic(values[~np.isnan(values)], share, 1 / reached, side)
    elif monotone:
        # By the argument of the module, with Hoeffding's test of the shares, which is the same at
        # every value.
        slack = limits.hoeffding(len(values), reached)
        shifted = share + slack if side == "upper" else share - slack
        value = _observed(values, shifted) if 0 < shifted <= 1 else _nothing(side)
    else:
        order = ordering.of_instances(rng, shuffle, ends.lower, ends.upper)
        distinct, instances, groups, counts = _scan(values[order], side)
        mean = share if side == "upper" else 1 - share
        passed = scanning.shares_shown(instances, groups, counts, mean, reached)
        value = float(distinct[passed - 1]) if passed else _nothing(side)
    return Limit(
        what=what,
        value=max(value, observed) if side == "upper" else min(value, observed),
        observed=observed,
        side=side,
        instances=len(values),
        runs=limits.runs_of(ends) if runs is None else runs,
        delta=delta,
        method="order-statistics" if single else "hoeffding" if monotone else "star-bets",
        rests_on=(
            *limits.BASE,
            confidence.ONE_LOOK,
            *(() if single or monotone else (limits.order_of(shuffle, rng is not None),)),
            *limits.caps_rest_on(ends, monotone),
            *more,
        ),
    )


def _sequence(
    what: str,
    ends: Ends,
    share: float,
    delta: float,
    side: Side,
    configurations: int,
    more: tuple[str, ...],
    runs: int | None = None,
) -> LimitSequence:
    reached, values = limits.target(delta, configurations, side), ends.pick(side)
    _check_share(share)
    distinct, instances, groups, counts = _scan(values, side)
    mean = share if side == "upper" else 1 - share
    times = np.asarray(scanning.share_times(instances, groups, counts, mean, reached))
    n = len(values)
    # After k instances the limit is the last value passed by then.
    passed = np.searchsorted(times, np.arange(1, n + 1), side="right")
    value = np.where(passed > 0, distinct[np.maximum(passed - 1, 0)], _nothing(side))
    return LimitSequence(
        what=what,
        value=value,
        observed=_running(values, share),
        side=side,
        instances=np.arange(1, n + 1),
        runs=limits.runs_of(ends) if runs is None else runs,
        delta=delta,
        method="betting, at all times",
        rests_on=(
            *limits.BASE,
            confidence.UNSHUFFLED,
            *limits.caps_rest_on(ends, False),
            *more,
        ),
    )


def _nothing(side: Side) -> float:
    return math.inf if side == "upper" else -math.inf


def _order_statistic(values: FloatArray, share: float, delta: float, side: Side) -> float:
    """The k-th smallest: the least k with P(Bin(n, p) ≥ k) ≤ δ above, the largest with P(Bin(n, p)
    ≤ k − 1) ≤ δ below.
    """
    n, k = values.size, np.arange(1, values.size + 1)
    above, below = scipy.special.bdtrc(k - 1, n, share), scipy.special.bdtr(k - 1, n, share)
    good = k[(above if side == "upper" else below) <= delta]
    if not good.size:
        return _nothing(side)
    return float(np.sort(values)[(good.min() if side == "upper" else good.max()) - 1])


def _scan(values: FloatArray, side: Side) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
    """The distinct values in the order of the scan; of each value its instance and which distinct
    one it is; counts.
    """
    there = ~np.isnan(values)
    counts = there.sum(axis=1).astype(np.float64)
    instances, numbers = np.nonzero(there)[0], values[there]
    if numbers.size > MANY:
        numbers = _rounded(numbers, side)
    sign = -1 if side == "upper" else 1
    distinct, groups = np.unique(sign * numbers, return_inverse=True)
    order = groups.argsort(kind="stable")
    return sign * distinct, instances[order], groups[order], counts


def _rounded(numbers: FloatArray, side: Side) -> FloatArray:
    parts, exponents = np.frexp(numbers)
    with np.errstate(invalid="ignore"):
        parts = (np.ceil if side == "upper" else np.floor)(256 * parts) / 256
    return np.where(np.isfinite(numbers), np.ldexp(parts, exponents), numbers)


def _observed(values: FloatArray, share: float) -> float:
    """The quantile of the runs, each instance with the same weight."""
    there = ~np.isnan(values)
    weights = (there / there.sum(axis=1, keepdims=True))[there] / len(values)
    numbers = values[there]
    order = numbers.argsort(kind="stable")
    reached = weights[order].cumsum() >= share - 1e-12
    return float(numbers[order][reached.argmax()])


def _running(values: FloatArray, share: float) -> FloatArray:
    there = ~np.isnan(values)
    instances, numbers = np.nonzero(there)[0], values[there]
    order = numbers.argsort(kind="stable")
    counts = there.sum(axis=1).astype(np.float64)
    return np.asarray(scanning.running_quantiles(instances[order], numbers[order], counts, share))


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise InputError(f"Expected the share of a quantile between 0 and 1, got {share}.")
