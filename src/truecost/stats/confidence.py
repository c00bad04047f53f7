"""Limits of the true cost from the runs alone: no variance has to be known, and they hold for every
number of instances.

The independent unit is the *instance*: its runs are averaged first. Instance means X_i in [low,
high] are independent with the true cost u as their expectation, whatever the numbers of runs n_i,
as long as nobody chose those by what the runs cost; their variances, across + within/n_i, may
differ and nothing here minds. The estimate is the mean of the instance means.

For a sample of fixed size, with n instances, δ for one side, costs scaled to [0, 1]:

* ``star-bets``: STaR-Bets of Voráček and Orabona (2025), see `truecost.stats.betting`; the default,
  and nearly always the tightest;
* ``betting``: the hedged capital of Waudby-Smith and Ramdas (2024) with their bets for a fixed
  sample;
* ``empirical-bernstein``: √(2V·ln(2/δ)/n) + 7·ln(2/δ)/(3(n − 1)), V the sample variance (Maurer and
  Pontil 2009, Theorem 4);
* ``hoeffding``: √(ln(1/δ)/(2n)); tighter than the one before where instances are few or costs vary
  as much as they can.

Fix the method and the order before looking at costs: who tries several and keeps the best limit is
wrong more often than δ.

These are for one look, at a number of instances fixed beforehand. Who looks while the runs come in,
or stops when the limit is good enough, needs `sequence`, which holds at all times at once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.stats import betting, ordering
from truecost.stats.random import Rng, generator
from truecost.stats.sample import Sample, Side

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Method = Literal["star-bets", "betting", "empirical-bernstein", "hoeffding"]
# What limits of `watched` are called.
WATCHED = "betting on a plan, at all times"
SequenceMethod = Literal["betting", "empirical-bernstein"]

ASSUMPTIONS = (
    "instances are independent, each with the true cost as its expected cost, as draws from one distribution are",
    "seeds are independent",
    "every cost lies in [low, high]",
    "which instances have runs does not depend on the instances, nor how many runs on what they cost",
    "the configurations were fixed before any of these costs was seen",
)
ONE_LOOK = "the number of instances was fixed before any cost was seen"
SHUFFLED = (
    "the order of the instances has nothing to do with their costs, or the seed of the shuffle is a random one; it was not "
    "chosen by what comes out"
)
DRAWN = "the order of the instances was drawn by a hash of their costs, which is as good as random; nobody picked it"
UNSHUFFLED = "the order of the instances has nothing to do with their costs"
SAME_INSTANCES = "both configurations were run on the same instances"
# Numbers of instances on a curve: more would not be seen.
MOST_SIZES = 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Confidence:
    """With probability at least 1 − delta, lower ≤ true cost ≤ upper, if what it `rests_on` holds.

    Attributes
    ----------
    estimate
        The mean of the instance means; NaN without runs. A number for one configuration, an array
        over several.
    lower, upper
        In the costs' own units. On the side that was not asked for, the end of the cost range.
    instances
        How many instances with runs there were.
    method, side, delta
        As asked for.
    configurations
        The m over which delta was shared out.
    rests_on
        The assumptions.
    """

    estimate: float | FloatArray
    lower: float | FloatArray
    upper: float | FloatArray
    instances: int | IntArray
    method: str
    side: Side
    delta: float
    configurations: int
    rests_on: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidenceSequence:
    """With probability at least 1 − delta, lower ≤ true cost ≤ upper at all times, if what it
    `rests_on` holds.

    Attributes
    ----------
    estimate, lower, upper, instances
        As in `Confidence`, after the first 1, 2, … K instances: (K,), or (M, K) for several
        configurations. `lower` never falls and `upper` never rises: what was once ruled out stays
        so. Should they cross, an assumption is broken or the case of probability delta has come.
    """

    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    instances: IntArray
    method: str
    side: Side
    delta: float
    configurations: int
    rests_on: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UpperBySize:
    """Estimate and upper limit, by method, from the first K instances, for every K of `instances`;
    each is for one look.
    """

    instances: IntArray
    estimate: FloatArray
    upper: dict[str, FloatArray]


def upper(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    method: Method = "star-bets",
    configurations: int | None = None,
    shuffle: bool = True,
    rng: Rng = None,
) -> Confidence:
    """What the true cost does not exceed; all of delta goes to this side.

    Parameters
    ----------
    costs
        Of one configuration: (P,) instance means or single runs, or (P, R) runs; of several: (M, P,
        R), or a `CostMatrix`. NaN where a run is not there. Crashes and timeouts are charged their
        penalty, never left out.
    low, high
        The least and the largest cost a run can have, known beforehand; a `CostMatrix` brings its
        own.
    delta
        The probability with which a limit may be wrong.
    method
        See the module.
    configurations
        m: the limits of that many configurations hold at once, each with delta/m. As many as there
        are in the costs if None; those dropped on the way count. 1 makes M separate statements.
    shuffle
        The betting methods take one instance after the other, so that the order changes the answer
        a little (`order_spread`), and an order that goes with the costs, by size for example,
        breaks them. So instances are shuffled. False keeps the order, which then must have nothing
        to do with costs.
    rng
        What the shuffle is drawn from: the costs themselves if None (`truecost.stats.ordering`), so
        that the same runs give the same answer and sorted instances do no harm; or a seed or a
        Generator. To try several and pick is to cheat.
    """
    return _limits(
        Sample.of(costs, low, high), delta, method, "upper", configurations, shuffle, rng
    )


def lower(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    method: Method = "star-bets",
    configurations: int | None = None,
    shuffle: bool = True,
    rng: Rng = None,
) -> Confidence:
    """What the true cost does not fall below; all of delta goes to this side. Parameters as in
    `upper`.
    """
    return _limits(
        Sample.of(costs, low, high), delta, method, "lower", configurations, shuffle, rng
    )


def interval(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    method: Method = "star-bets",
    configurations: int | None = None,
    shuffle: bool = True,
    rng: Rng = None,
) -> Confidence:
    """Limits on both sides, delta/2 each. Parameters as in `upper`."""
    return _limits(Sample.of(costs, low, high), delta, method, "both", configurations, shuffle, rng)


def difference(
    first: ArrayLike | CostMatrix,
    second: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    method: Method = "star-bets",
    side: Side = "both",
    configurations: int | None = None,
    shuffle: bool = True,
    rng: Rng = None,
) -> Confidence:
    """Limits of u(first) − u(second), paired: the differences of instance means, in [low − high,
    high − low].

    `first` and `second` are shaped as `costs` in `upper` and speak of the same instances in the
    same order; where one has none, the instance is passed over; crashes and timeouts of either are
    charged their penalty, never left out, or the better one would be who crashes where it is hard.
    One of them may be a single configuration that all of the other are compared with.
    `configurations` counts the pairs. An `upper` below 0 says that the first is better.
    """
    pairs = Sample.of_pairs(first, second, low, high)
    return _limits(pairs, delta, method, side, configurations, shuffle, rng, (SAME_INSTANCES,))


def difference_sequence(
    first: ArrayLike | CostMatrix,
    second: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    method: SequenceMethod = "betting",
    side: Side = "both",
    configurations: int | None = None,
) -> ConfidenceSequence:
    """Limits of u(first) − u(second) after each instance that hold at all times at once:
    `difference`, as in `sequence`.
    """
    pairs = Sample.of_pairs(first, second, low, high)
    return _sequence(pairs, delta, method, side, configurations, (SAME_INSTANCES,))


def order_spread(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    side: Literal["upper", "lower"] = "upper",
    orders: int = 20,
) -> tuple[float, float]:
    """The least and the largest limit of one configuration by STaR-Bets in so many other orders of
    its instances.

    For information: it says how much of a limit is the luck of the order. The limit to report stays
    the one of the order that was fixed beforehand; the best of these is none.
    """
    if orders < 1:
        raise InputError(f"Expected at least 1 order, got {orders}.")
    sample = Sample.of(costs, low, high)
    if len(sample.means) > 1:
        raise InputError(f"Expected the costs of one configuration, got {len(sample.means)}.")
    _, target = sample.target(delta, side, 1)
    rows = np.stack(
        [
            sample.scaled()[0, generator(seed).permutation(sample.means.size)]
            for seed in range(orders)
        ]
    )
    limits = (
        betting.star_lower(rows, target)
        if side == "lower"
        else 1 - betting.star_lower(1 - rows, target)
    )
    estimate = (np.nanmean(sample.means) - sample.low) / (sample.high - sample.low)
    bounded = np.minimum(limits, estimate) if side == "lower" else np.maximum(limits, estimate)
    values = sample.low + (sample.high - sample.low) * bounded
    return float(values.min()), float(values.max())


def upper_by_size(
    costs: ArrayLike,
    low: float,
    high: float,
    delta: float = 0.05,
    *,
    sizes: Sequence[int] | None = None,
) -> UpperBySize:
    """What every method certifies from growing parts of the costs: what more instances buy.

    Parameters
    ----------
    costs
        Instance means of one configuration, all there and in random order: that is the order the
        parts grow in.
    low, high, delta
        As in `upper`.
    sizes
        The numbers of instances; about 40 from 2 up to all, evenly on a logarithmic scale, if not
        given.
    """
    means = np.asarray(costs, dtype=np.float64)
    if means.size < 2:
        raise InputError(f"Expected costs on at least 2 instances, got {means.size}.")
    if sizes is None:
        sizes = np.rint(np.geomspace(2, means.size, MOST_SIZES)).astype(int).tolist()
    if not sizes or min(sizes) < 1 or max(sizes) > means.size:
        got = f"{min(sizes)} to {max(sizes)}" if sizes else "none"
        raise InputError(
            f"Expected numbers of instances from 1 to {means.size}, which have costs, got {got}."
        )
    instances = np.unique(np.asarray(sizes, dtype=np.int64))
    found = {
        method: [
            upper(means[:k], low, high, delta, method=method, shuffle=False) for k in instances
        ]
        for method in get_args(Method)
    }
    return UpperBySize(
        instances=instances,
        estimate=np.array([each.estimate for each in next(iter(found.values()))]),
        upper={
            method: np.array([each.upper for each in limits]) for method, limits in found.items()
        },
    )


def sequence(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    method: SequenceMethod = "betting",
    side: Side = "both",
    configurations: int | None = None,
) -> ConfidenceSequence:
    """Limits after each instance that hold at all times at once: one may look whenever one likes,
    and stop.

    The instances are taken in the order given, the order in which they were run; an instance counts
    when its last run is in. Both methods are those of Waudby-Smith and Ramdas (2024): plug-in bets,
    and their empirical Bernstein in closed form. Parameters as in `upper`.
    """
    return _sequence(Sample.of(costs, low, high), delta, method, side, configurations)


def watched(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    planned: int,
    side: Side = "both",
    configurations: int | None = None,
) -> Confidence:
    """Limits for costs that come in while somebody watches, after those so far: of `planned`
    instances, fixed beforehand.

    STaR-Bets planned for so many instances and plug-in bets, half of the capital each. What they
    rule out after any number of instances stays ruled out, so that one may stop as soon as enough
    is. More may come than were planned. The instances are taken in the order given. Other
    parameters as in `upper`.
    """
    sample = Sample.of(costs, low, high)
    m, target = sample.target(delta, side, configurations)
    if planned < 1:
        raise InputError(f"Expected at least 1 planned instance, got {planned}.")
    scaled, width, ends = sample.scaled(), sample.high - sample.low, np.zeros(len(sample.means))
    least = betting.watched_lower(scaled, target, planned) if side != "upper" else ends
    most = 1 - betting.watched_lower(1 - scaled, target, planned) if side != "lower" else 1 - ends
    row = 0 if sample.single else slice(None)
    return Confidence(
        estimate=_row_means(sample.means)[row],
        lower=(sample.low + width * least)[row],
        upper=(sample.low + width * most)[row],
        instances=(~np.isnan(scaled)).sum(axis=1)[row],
        method=WATCHED,
        side=side,
        delta=delta,
        configurations=m,
        rests_on=(*ASSUMPTIONS, UNSHUFFLED),
    )


# ---- lower limits of the mean of each row, numbers in [0, 1], NaN passed over; target = 1/δ ------


def _hoeffding(rows: FloatArray, target: float) -> FloatArray:
    """Hoeffding (1963), Theorem 2."""
    n = np.maximum((~np.isnan(rows)).sum(axis=1), 1)
    return np.asarray(_row_means(rows) - np.sqrt(math.log(target) / (2 * n)))


def _empirical_bernstein(rows: FloatArray, target: float) -> FloatArray:
    """Maurer and Pontil (2009), Theorem 11: independent numbers, not necessarily of one
    distribution; two at least.
    """
    n = (~np.isnan(rows)).sum(axis=1)
    mean, log_term = _row_means(rows), math.log(2 * target)
    variance = np.nansum((rows - mean[:, np.newaxis]) ** 2, axis=1) / np.maximum(n - 1, 1)
    slack = np.sqrt(2 * variance * log_term / np.maximum(n, 1)) + 7 * log_term / (
        3 * np.maximum(n - 1, 1)
    )
    return np.where(n >= 2, mean - slack, 0.0)


def _row_means(rows: FloatArray) -> FloatArray:
    return np.asarray(np.nansum(rows, axis=1) / np.maximum((~np.isnan(rows)).sum(axis=1), 1))


_LOWER_LIMITS: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "star-bets": betting.star_lower,
    "betting": betting.plug_in_lower,
    "empirical-bernstein": _empirical_bernstein,
    "hoeffding": _hoeffding,
}


def _limits(
    sample: Sample,
    delta: float,
    method: Method,
    side: Side,
    configurations: int | None,
    shuffle: bool,
    rng: Rng,
    more: tuple[str, ...] = (),
) -> Confidence:
    if method not in get_args(Method):
        raise InputError(
            f"Expected method to be one of {', '.join(get_args(Method))}, got {method!r}."
        )
    m, target = sample.target(delta, side, configurations)
    ordered = method in ("star-bets", "betting")
    scaled = sample.scaled()
    if ordered and shuffle and rng is None:
        scaled = np.take_along_axis(scaled, ordering.by_content(scaled), axis=1)
    elif ordered and shuffle and rng is not None:
        scaled = np.asarray(scaled[:, generator(rng).permutation(scaled.shape[1])])
    limits = _LOWER_LIMITS[method]
    width, instances = sample.high - sample.low, (~np.isnan(scaled)).sum(axis=1)
    ends = np.zeros(len(scaled))
    least = limits(scaled, target) if side != "upper" else ends
    most = 1 - limits(1 - scaled, target) if side != "lower" else 1 - ends
    with np.errstate(invalid="ignore"):
        estimate = np.where(np.isnan(sample.means), 0, sample.means).sum(axis=1) / instances
    # With a δ near 1 a limit may pass the estimate, which helps nobody.
    lowest = np.fmin(sample.low + width * np.clip(least, 0, 1), estimate).clip(
        sample.low, sample.high
    )
    highest = np.fmax(sample.low + width * np.clip(most, 0, 1), estimate).clip(
        sample.low, sample.high
    )
    values = (estimate, lowest, highest)
    order = (
        ()
        if not ordered
        else (UNSHUFFLED,)
        if not shuffle
        else (DRAWN,)
        if rng is None
        else (SHUFFLED,)
    )
    return Confidence(
        estimate=float(values[0][0]) if sample.single else values[0],
        lower=float(values[1][0]) if sample.single else values[1],
        upper=float(values[2][0]) if sample.single else values[2],
        instances=int(instances[0]) if sample.single else instances,
        method=method,
        side=side,
        delta=delta,
        configurations=m,
        rests_on=(*ASSUMPTIONS, ONE_LOOK, *order, *more),
    )


def _sequence(
    sample: Sample,
    delta: float,
    method: SequenceMethod,
    side: Side,
    configurations: int | None,
    more: tuple[str, ...] = (),
) -> ConfidenceSequence:
    if method not in get_args(SequenceMethod):
        raise InputError(
            f"Expected method to be one of {', '.join(get_args(SequenceMethod))}, got {method!r}."
        )
    m, target = sample.target(delta, side, configurations)
    scaled = sample.scaled()
    limits = (
        betting.plug_in_lower_sequence if method == "betting" else betting.bernstein_lower_sequence
    )
    width, ends = sample.high - sample.low, np.full(scaled.shape, 1.0)
    least = np.asarray(limits(scaled, target)) if side != "upper" else 0 * ends
    most = 1 - np.asarray(limits(1 - scaled, target)) if side != "lower" else ends
    there = ~np.isnan(scaled)
    instances = there.cumsum(axis=1)
    with np.errstate(invalid="ignore"):
        estimate = np.where(there, sample.means, 0).cumsum(axis=1) / instances
    row = 0 if sample.single else slice(None)
    return ConfidenceSequence(
        estimate=estimate[row],
        lower=(sample.low + width * least)[row],
        upper=(sample.low + width * most)[row],
        instances=instances[row],
        method=method,
        side=side,
        delta=delta,
        configurations=m,
        rests_on=(*ASSUMPTIONS, UNSHUFFLED, *more),
    )
