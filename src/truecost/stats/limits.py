"""Limits of quantities: `limit(quantity, sample, side, delta, look)`.

With probability at least 1 − delta the true value is at least the limit ("lower"), or at most
("upper"), if its assumptions hold. All of delta goes to the side that is asked for. The independent
unit is the sampling unit; the order of the sample is the order of the bets.
"""

import math
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.stats import assumptions, designs
from truecost.stats.assumptions import Assuming
from truecost.stats.inversion import ANYTIME, MONOTONE, ONE, Look, safe
from truecost.stats.quantities import Quantity
from truecost.stats.random import Rng
from truecost.stats.sample import Sample, Side, target_of

# Methods that do not depend on the order of the units.
ORDER_FREE = ("clopper-pearson", "order-statistics", "hoeffding", "empirical-bernstein")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limit(Assuming):
    """With probability at least 1 − delta the true value is at least (`side` "lower") or at most
    `value`.

    Attributes
    ----------
    what
        The quantity: "solved share", "quantile", "wins", "speed-up", "ratio of means", "utility".
    value
        The limit. Where nothing can be said it is the end of what is possible: 0 or 1, −inf or inf.
    observed
        The same quantity of the runs, with the ends of censored runs that the limit uses: on the
        safe side.
    side, delta
        As asked for.
    instances, runs
        How many entered; of two configurations the runs of both.
    method
        Which was decided by the numbers of runs alone.
    assumptions
        What the limit needs to be true.

    Examples
    --------
    >>> limit = tc.rates.solved([True] * 30)
    >>> limit.side, round(limit.value, 3)
    ('lower', 0.905)
    """

    what: str
    value: float
    observed: float
    side: Side
    instances: int
    runs: int
    delta: float
    method: str
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitSequence(Assuming):
    """With probability at least 1 − delta all of these limits hold: one may look after every
    instance, and stop.

    Attributes
    ----------
    value, observed, instances
        As in `Limit`, after 1, 2, … n instances in the order of time. A limit never becomes weaker.

    Examples
    --------
    >>> tc.rates.solved_sequence([True] * 3).value.shape
    (3,)
    """

    what: str
    value: FloatArray
    observed: FloatArray
    side: Side
    instances: IntArray
    runs: int
    delta: float
    method: str
    assumptions: tuple[str, ...]


class AtAllTimes(TypedDict, total=False):
    """Options of limits at all times at once.

    Attributes
    ----------
    side
        "lower": at least; "upper": at most. The side worth stating if not given.
    configurations
        m: the limits of that many configurations hold at once, each with delta/m.
    """

    side: Side
    configurations: int


class InOneLook(AtAllTimes, total=False):
    """Options of one look, besides those at all times.

    Attributes
    ----------
    shuffle, rng
        The order of the instances, as in `truecost.stats.confidence`.
    monotone
        For runs that were stopped early, nobody knows why: see `truecost.stats.rates`.
    """

    shuffle: bool
    rng: Rng
    monotone: bool


def limit(quantity: Quantity, sample: Sample, side: Side, delta: float, look: Look = ONE) -> Limit:
    """The limit of a quantity on one side; `quantity.refusal(sample)` says whether there is one.

    Parameters
    ----------
    quantity
        What it is about, of `truecost.stats.quantities`.
    sample
        The runs, in the order of the bets.
    side, delta
        "lower" or "upper", and the probability with which this one limit may be wrong.
    look
        When one looks: once, anytime, or anytime with a number of units planned.
    """
    target = target_of(delta, side)
    # Sequences keep their order, in which earlier instances may decide when a run is stopped.
    if look.kind == "one" and sample.monotone:
        look = MONOTONE
    numbers = designs.numbers_of(quantity, sample, side)
    values = np.atleast_1d(designs.limit(numbers, side, target, look, sample.design))
    value = float(values[-1])
    observed = numbers.observed(designs.weights_of(sample.design))
    method = designs.METHODS.get(sample.design.kind, numbers.method(look))
    return Limit(
        what=quantity.name,
        value=safe(value, observed, side) if look.kind == "one" else value,
        observed=observed,
        side=side,
        instances=sample.units,
        runs=sample.runs,
        delta=delta,
        method=method,
        assumptions=assumptions_of(quantity, sample, look, method),
    )


def assumptions_of(quantity: Quantity, sample: Sample, look: Look, method: str) -> tuple[str, ...]:
    """What a limit needs to be true."""
    lines = [*assumptions.SAMPLED[sample.design.kind, sample.design.unit]]
    lines.append(seeds_assumed(quantity, sample))
    lines += [assumptions.COUNTS, assumptions.FIXED, assumptions.ASKED]
    if math.isfinite(sample.high - sample.low):
        lines.append(assumptions.RANGE)
    if quantity.even is not None:
        lines.append(assumptions.SAME_INSTANCES)
    if look.kind == "one":
        lines.append(assumptions.ONE_LOOK)
    if look.kind != "one" or method not in ORDER_FREE:
        lines.append(ORDERS[sample.order])
    if sample.censored:
        free = look.kind == "one" and method in ORDER_FREE
        lines.append(assumptions.CAPPED if free else assumptions.CAPS_BEFOREHAND)
    return tuple(lines)


def seeds_assumed(quantity: Quantity, sample: Sample) -> str:
    """What a limit assumes of seeds: where single runs are compared, which ones."""
    if not quantity.pairs:
        return assumptions.SEEDS
    if sample.same_seed:
        return assumptions.SAME_SEED
    return assumptions.DIFFERENT_SEEDS if sample.common_seeds else assumptions.SEPARATE_SEEDS


ORDERS = {
    "given": assumptions.UNSHUFFLED,
    "drawn": assumptions.DRAWN,
    "seeded": assumptions.PICKED_SEED,
}


def asked(
    quantity: Quantity,
    sample: Sample,
    delta: float,
    *,
    side: Side | None = None,
    configurations: int = 1,
    shuffle: bool = True,
    rng: Rng = None,
    monotone: bool = False,
) -> Limit:
    """One look as the public functions ask for it; see `InOneLook`."""
    side = side or quantity.side
    part = 1 / target_of(delta, side, configurations)
    ordered = replace(sample.shuffled(shuffle, rng), monotone=monotone)
    if (reason := quantity.refusal(ordered)) is not None:
        raise InputError(f"Expected runs that allow such a limit: {reason}.")
    return replace(limit(quantity, ordered, side, part), delta=delta)


def asked_sequence(
    quantity: Quantity,
    sample: Sample,
    delta: float,
    *,
    side: Side | None = None,
    configurations: int = 1,
) -> LimitSequence:
    """The same at all times, in the order given; see `AtAllTimes`."""
    side = side or quantity.side
    target = target_of(delta, side, configurations)
    numbers = designs.numbers_of(quantity, sample, side)
    method = numbers.method(ANYTIME)
    return LimitSequence(
        what=quantity.name,
        value=designs.limit(numbers, side, target, ANYTIME, sample.design),
        observed=numbers.running(),
        side=side,
        instances=np.arange(1, sample.units + 1),
        runs=sample.runs,
        delta=delta,
        method=method,
        assumptions=assumptions_of(quantity, sample, ANYTIME, method),
    )
