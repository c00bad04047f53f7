"""Limits of the true cost from the runs alone: no variance has to be known, and they hold for every
number of instances.

The independent unit is the *instance*: its runs are averaged first. Instance means in [low, high]
are independent with the true cost u as their expectation, whatever the numbers of runs, as long as
costs did not decide those. The estimate is the mean of the instance means.

For a sample of fixed size, with n instances, δ for one side, costs scaled to [0, 1]:

* ``star-bets``: STaR-Bets of Voráček and Orabona (2025), see `truecost.stats.betting`; the default,
  and nearly always the tightest;
* ``betting``: the hedged capital of Waudby-Smith and Ramdas (2024) with their bets for a fixed
  sample;
* ``empirical-bernstein``: √(2V·ln(2/δ)/n) + 7·ln(2/δ)/(3(n − 1)), V the sample variance (Maurer and
  Pontil 2009, Theorem 4);
* ``hoeffding``: √(ln(1/δ)/(2n)); tighter than the one before where instances are few or costs vary
  as much as they can.

Fix method and order before looking at costs: the best of several limits is wrong more often than δ.
These are for one look, at a number of instances fixed beforehand; `sequence` holds at all times.

Examples
--------
>>> round(tc.confidence.upper([0.2, 0.4, 0.3] * 20, 0, 1).upper, 2)
0.35
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import FloatArray, IntArray, log_grid
from truecost.errors import InputError, check_choice
from truecost.matrix import CostMatrix
from truecost.stats import assumptions
from truecost.stats.assumptions import Assuming
from truecost.stats.inversion import ONE, Look, MeanOf, safe
from truecost.stats.inversion import planned as planned_look
from truecost.stats.limits import ORDER_FREE, ORDERS
from truecost.stats.random import Rng, generator
from truecost.stats.sample import Rows, Side, Sides, target_of
from truecost.stats.variance import run_means

Method = Literal["star-bets", "betting", "empirical-bernstein", "hoeffding"]
SequenceMethod = Literal["betting", "empirical-bernstein"]

ASSUMPTIONS = (
    assumptions.INSTANCES,
    assumptions.SEEDS,
    assumptions.RANGE,
    assumptions.COUNTS,
    assumptions.FIXED,
)
# Numbers of instances on a curve: more would not be seen.
MOST_SIZES = 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Confidence(Assuming):
    """With probability at least 1 − delta, lower ≤ true cost ≤ upper, if the assumptions hold.

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
        m, the number of configurations that share delta.
    assumptions
        What the limits need to be true.
    """

    estimate: float | FloatArray
    lower: float | FloatArray
    upper: float | FloatArray
    instances: int | IntArray
    method: str
    side: Sides
    delta: float
    configurations: int
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidenceSequence(Assuming):
    """With probability at least 1 − delta, lower ≤ true cost ≤ upper at all times, if the
    assumptions hold.

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
    side: Sides
    delta: float
    configurations: int
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UpperBySize:
    """Estimate and upper limit, by method, from the first K instances, for every K of `instances`;
    each is for one look.
    """

    instances: IntArray
    estimate: FloatArray
    upper: dict[str, FloatArray]


class SequenceOptions(TypedDict, total=False):
    """Options of limits at all times at once.

    Attributes
    ----------
    side
        "both", delta/2 each, if not given; or all of delta on one side.
    configurations
        m: the limits of that many configurations hold at once, each with delta/m. As many as there
        are in the costs if not given; those dropped on the way count. 1 makes M separate
        statements.
    """

    side: Sides
    configurations: int | None


class ConfidenceOptions(TypedDict, total=False):
    """Options of limits for one look.

    Attributes
    ----------
    method
        See the module.
    configurations
        As in `SequenceOptions`.
    shuffle
        Betting takes one instance after the other: the order changes the answer a little
        (`order_spread`), and one that goes with the costs breaks it. So instances are shuffled.
        False keeps the order, which then must have nothing to do with costs.
    rng
        Of the shuffle: a seed or a Generator, fixed before looking; if None the costs themselves
        (`truecost.stats.ordering`), so that the same runs give the same answer.
    """

    method: Method
    configurations: int | None
    shuffle: bool
    rng: Rng


def upper(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    **options: Unpack[ConfidenceOptions],
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
    options
        `method`, `configurations`, `shuffle` and `rng`; see `ConfidenceOptions`.
    """
    return _one_look(Rows.of(costs, low, high), delta, "upper", **options)


def lower(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    **options: Unpack[ConfidenceOptions],
) -> Confidence:
    """What the true cost does not fall below; all of delta goes to this side. Parameters as in
    `upper`.
    """
    return _one_look(Rows.of(costs, low, high), delta, "lower", **options)


def interval(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    **options: Unpack[ConfidenceOptions],
) -> Confidence:
    """Limits on both sides, delta/2 each. Parameters as in `upper`."""
    return _one_look(Rows.of(costs, low, high), delta, "both", **options)


def difference(
    first: ArrayLike | CostMatrix,
    second: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    side: Sides = "both",
    **options: Unpack[ConfidenceOptions],
) -> Confidence:
    """Limits of u(first) − u(second), paired: the differences of instance means, in [low − high,
    high − low].

    `first` and `second` are shaped as `costs` in `upper` and speak of the same instances in the
    same order; where one has none, the instance is passed over; crashes and timeouts of either are
    charged their penalty, never left out, or the better one would be who crashes where it is hard.
    One of them may be a single configuration that all of the other are compared with.
    `configurations` counts the pairs. An `upper` below 0 says that the first is better.
    """
    rows = Rows.of_pairs(first, second, low, high)
    return _one_look(rows, delta, side, pairs=True, **options)


def difference_sequence(
    first: ArrayLike | CostMatrix,
    second: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    method: SequenceMethod = "betting",
    **options: Unpack[SequenceOptions],
) -> ConfidenceSequence:
    """Limits of u(first) − u(second) after each instance that hold at all times at once:
    `difference`, as in `sequence`.
    """
    rows = Rows.of_pairs(first, second, low, high)
    return _sequence(rows, delta, method, pairs=True, **options)


def order_spread(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    side: Side = "upper",
    orders: int = 20,
) -> tuple[float, float]:
    """The least and the largest limit of one configuration by STaR-Bets in several other orders of
    its instances.

    For information: it says how much of a limit is the luck of the order. The limit to report stays
    the one of the order that was fixed beforehand; the best of these is none.
    """
    if orders < 1:
        raise InputError(f"Expected at least 1 order, got {orders}.")
    sample = Rows.of(costs, low, high)
    if len(sample.means) > 1:
        raise InputError(f"Expected the costs of one configuration, got {len(sample.means)}.")
    target = target_of(delta, side)
    # Seeds fixed here: nobody can pick orders until the spread looks small.
    orders_of = [generator(seed).permutation(sample.means.size) for seed in range(orders)]
    rows = np.stack([sample.scaled()[0, order] for order in orders_of])
    limits = _mean_of(sample, rows).limit(side, target, ONE)
    observed = float(np.nanmean(sample.means))
    values = [safe(limit, observed, side) for limit in limits.tolist()]
    return min(values), max(values)


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
        sizes = log_grid(2, means.size, MOST_SIZES).tolist()
    if not sizes or min(sizes) < 1 or max(sizes) > means.size:
        got = f"{min(sizes)} to {max(sizes)}" if sizes else "none"
        raise InputError(
            f"Expected numbers of instances from 1 to {means.size}, which have costs, got {got}."
        )
    instances = np.unique(np.asarray(sizes, dtype=np.int64))
    parts = [means[:k] for k in instances]

    def limits(method: Method) -> FloatArray:
        asked = partial(upper, low=low, high=high, delta=delta, method=method, shuffle=False)
        return np.array([asked(part).upper for part in parts])

    return UpperBySize(
        instances=instances,
        estimate=np.array([part.mean() for part in parts]),
        upper={method: limits(method) for method in get_args(Method)},
    )


def sequence(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    method: SequenceMethod = "betting",
    **options: Unpack[SequenceOptions],
) -> ConfidenceSequence:
    """Limits after each instance that hold at all times at once: one may look whenever one likes,
    and stop.

    The instances are taken in the order given, the order in which they were run; an instance counts
    when its last run is in. Both methods are those of Waudby-Smith and Ramdas (2024): plug-in bets,
    and their empirical Bernstein in closed form. Parameters as in `upper`.
    """
    return _sequence(Rows.of(costs, low, high), delta, method, **options)


def watched(
    costs: ArrayLike | CostMatrix,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    *,
    planned: int,
    **options: Unpack[SequenceOptions],
) -> Confidence:
    """Limits for costs that come in while somebody watches, after those so far: of `planned`
    instances, fixed beforehand.

    STaR-Bets for the planned instances and plug-in bets, half of the capital each. What they
    rule out after any number of instances stays ruled out, so that one may stop as soon as enough
    is. More may come than were planned. The instances are taken in the order given. Other
    parameters as in `upper`.
    """
    return _confidence(Rows.of(costs, low, high), delta, planned_look(planned), **options)


def _one_look(
    rows: Rows, delta: float, side: Sides, *, method: Method = "star-bets", **options: Any
) -> Confidence:
    check_choice("method", method, get_args(Method))
    return _confidence(rows, delta, Look(method=method), side, **{"shuffle": True, **options})


def _mean_of(rows: Rows, scaled: FloatArray, pairs: bool = False) -> MeanOf:
    return MeanOf(values=scaled, low=rows.low, high=rows.high, balanced=pairs)


def _both(
    rows: Rows,
    scaled: FloatArray,
    delta: float,
    side: Sides,
    configurations: int | None,
    look: Look,
    pairs: bool = False,
) -> tuple[int, FloatArray, FloatArray]:
    """How many configurations share delta, and limits of every row on the sides asked for; the
    ends of the range on the others.
    """
    m = len(rows.means) if configurations is None else configurations
    target = target_of(delta, side, m, get_args(Sides))
    numbers = _mean_of(rows, scaled, pairs)
    shape = scaled.shape if look.kind == "anytime" else scaled.shape[:1]
    lower, upper = np.full(shape, rows.low), np.full(shape, rows.high)
    if side != "upper":
        lower = numbers.limit("lower", target, look)
    if side != "lower":
        upper = numbers.limit("upper", target, look)
    return int(m), lower, upper


def _confidence(
    rows: Rows,
    delta: float,
    look: Look,
    side: Sides = "both",
    *,
    configurations: int | None = None,
    shuffle: bool = False,
    rng: Rng = None,
    pairs: bool = False,
) -> Confidence:
    ordered = look.method not in ORDER_FREE
    scaled = rows.in_order(shuffle and ordered, rng)
    m, lower, upper = _both(rows, scaled, delta, side, configurations, look, pairs)
    observed, instances = run_means(rows.means)
    observed = np.where(instances > 0, observed, np.nan)
    method, lines = look.method, [*ASSUMPTIONS]
    if look.kind == "one":
        lines.append(assumptions.ONE_LOOK)
        # With a δ near 1 a limit may pass the estimate, which helps nobody.
        lower = np.fmin(lower, observed).clip(rows.low, rows.high)
        upper = np.fmax(upper, observed).clip(rows.low, rows.high)
    else:
        method = _mean_of(rows, scaled).method(look)
    if ordered:
        lines.append(ORDERS["given" if not shuffle else "drawn" if rng is None else "seeded"])
    if pairs:
        lines.append(assumptions.SAME_INSTANCES)
    values: dict[str, NDArray[Any]] = {"estimate": observed, "lower": lower, "upper": upper}
    values["instances"] = instances.astype(np.int64)
    return Confidence(
        **{name: row.item() if rows.single else row for name, row in values.items()},
        method=method,
        side=side,
        delta=delta,
        configurations=m,
        assumptions=tuple(lines),
    )


def _sequence(
    rows: Rows,
    delta: float,
    method: SequenceMethod,
    *,
    side: Sides = "both",
    configurations: int | None = None,
    pairs: bool = False,
) -> ConfidenceSequence:
    check_choice("method", method, get_args(SequenceMethod))
    look = Look(kind="anytime", method=method)
    m, lower, upper = _both(rows, rows.scaled(), delta, side, configurations, look)
    estimate, instances = rows.running()
    row = 0 if rows.single else slice(None)
    lines = (assumptions.UNSHUFFLED, *((assumptions.SAME_INSTANCES,) if pairs else ()))
    return ConfidenceSequence(
        estimate=estimate[row],
        lower=lower[row],
        upper=upper[row],
        instances=instances[row],
        method=method,
        side=side,
        delta=delta,
        configurations=m,
        assumptions=(*ASSUMPTIONS, *lines),
    )
