"""From tests of one mean to limits: of a mean, of a quantile, of a ratio of means.

Every guarantee is a test that numbers in [0, 1], one per sampling unit, have a mean above some
value (`truecost.stats.betting`). A limit comes from many such tests: candidates are gone through
from the safe end until one is not rejected. An error then needs a rejection at one candidate that
is not random, so the search costs no δ. It must not skip candidates, or bisect: such tests need not
be monotone.

`Look` says when one looks. `MeanOf`, `QuantileOf` and `RatioOf` have the numbers of one statement,
and know its limits for every look.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # not scipy.special, which takes long: scipy loads it when first asked for

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError, check_share
from truecost.stats import betting, ledger, scanning
from truecost.stats.sample import Side
from truecost.stats.variance import run_means

# Values of a quantile scan beyond which they are rounded first.
MANY = 20_000
ANYTIME_BETS = "betting, at all times"
PLANNED_BETS = "betting on a plan, at all times"
RECORDED_BETS = "betting along the recorded plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """When one looks at the units.

    Attributes
    ----------
    kind
        "one": at a number of units fixed beforehand. "anytime": after each unit, in their order.
        "planned": the same, with a number of units in mind; more may come. "recorded": whenever one
        likes at a plan that was recorded beforehand, and may be extended (`truecost.stats.ledger`).
    method
        Of one look: "star-bets", "betting", "empirical-bernstein" or "hoeffding", which never falls
        when a run rises and so suits runs that were stopped nobody knows why. Anytime: "betting" or
        "empirical-bernstein". A method that is exact for the numbers at hand takes its place.
    plans
        How many units are planned; for "recorded", in the first plan, and in all with each
        extension.
    """

    kind: Literal["one", "anytime", "planned", "recorded"] = "one"
    method: str = "star-bets"
    plans: tuple[int, ...] = ()

    def sizes(self, units: int) -> IntArray:
        """The plans as `ledger` takes them; where there are none, one for the units there are."""
        return np.array(self.plans or (units,), dtype=np.int64)


# The looks that need no number of units.
ONE = Look()
MONOTONE = Look(method="hoeffding")
ANYTIME = Look(kind="anytime", method="betting")


def planned(units: int) -> Look:
    """A look after each unit, given the planned number of units."""
    if units < 1:
        raise InputError(f"Expected at least 1 planned instance, got {units}.")
    return Look(kind="planned", plans=(units,))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Goal:
    """Shown when the mean of `values`, one number in [0, 1] of each unit, is shown to exceed
    `above`.

    `exact` says that each value is 0 or 1 from one run, so that the binomial test applies,
    `balanced` that they are paired differences.
    """

    values: FloatArray
    above: float
    exact: bool = False
    balanced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanOf:
    """The quantity is low + (high − low) · (mean of the numbers).

    Attributes
    ----------
    values
        Numbers in [0, 1], (n,) or several rows (M, n), NaN passed over.
    low, high
        What 0 and 1 stand for.
    binary
        Whether each number is 0 or 1 from one run.
    balanced
        Whether they are paired differences, for which `ledger` has a variance of its own.
    """

    values: FloatArray
    low: float = 0.0
    high: float = 1.0
    binary: bool = False
    balanced: bool = False

    def method(self, look: Look) -> str:
        """What a limit is called by."""
        if look.kind == "one":
            return "clopper-pearson" if self.binary else look.method
        return _NAMES[look.kind]

    def limit(self, side: Side, target: float, look: Look) -> FloatArray:
        """The limit, of each row; anytime after each unit."""
        # An upper limit of x is 1 minus a lower one of 1 − x.
        rows = np.atleast_2d(self.values if side == "lower" else 1 - self.values)
        if look.kind in ("planned", "recorded"):
            balanced = self.balanced and look.kind == "recorded"
            shares = _CAPITAL[look.kind]
            lower = ledger.lower(rows, target, look.sizes(0), shares, balanced)
        elif look.kind == "anytime":
            lower = _SEQUENCES[look.method](rows, target)
        elif self.balanced and look.method == "star-bets":
            lower = _balanced(rows, target)
        else:
            lower = _LOWER["clopper-pearson" if self.binary else look.method](rows, target)
        values = self.unscaled(lower, side)
        return values if self.values.ndim == 2 else np.asarray(values[0])

    def unscaled(self, lower: FloatArray, side: Side) -> FloatArray:
        """A limit of the quantity from a lower one of what is bet on: the numbers or 1 − them."""
        return self._value(lower if side == "lower" else 1 - lower)

    def observed(self, weights: FloatArray | None = None) -> float:
        """The quantity in the sample, with a weight for each unit, or all with the same."""
        return float(self._value(_average(self.values, weights)))

    def running(self) -> FloatArray:
        """The same after each unit."""
        return self._value(self.values.cumsum() / np.arange(1, self.values.size + 1))

    def goal(self, side: Side, value: float) -> Goal:
        """What has to be shown for the quantity to be beyond a value."""
        point = (value - self.low) / (self.high - self.low)
        values, above = (self.values, point) if side == "lower" else (1 - self.values, 1 - point)
        return Goal(values=values, above=above, exact=self.binary, balanced=self.balanced)

    def _value(self, mean: FloatArray) -> FloatArray:
        # Rounding can make low + (high − low) a little more than high.
        return np.clip(self.low + (self.high - self.low) * mean, self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuantileOf:
    """The quantile Q = inf{t : P(X ≤ t) ≥ share} of the runs of a new unit, values (n, R).

    Hence P(X < Q) ≤ p ≤ P(X ≤ Q), with ties and without. With one run on every unit, order
    statistics: the k-th smallest value, k from the binomial distribution. Else bets on the units'
    shares of runs that are at most t. For an upper limit: if the share is shown to exceed p, then
    Q ≤ t. t goes down from infinity, value by value, and stops at the first one that is not shown.

    Why the observed values may serve as the grid, though they are random: the shares change at
    observed values only, so that to go through these is to go through all numbers. Suppose the
    upper limit is wrong, below Q. Then t = the largest observed value below Q was passed, and the
    runs that are at most t are exactly those below Q. So the test of the shares of runs below Q, a
    number that is not random, against p has rejected, and since P(X < Q) ≤ p it does so with
    probability δ at most. For the lower limit take the runs that are at most Q, and p ≤ P(X ≤ Q).

    With more than 20,000 values they are rounded first, to the safe side, to eight binary digits:
    to half a percent. A quantile rounds as its runs do, so that the limit stays one.
    """

    values: FloatArray
    share: float
    # What each run counts, 1 on average over a unit: in a family, instances count alike.
    worth: FloatArray | None = None

    def __post_init__(self) -> None:
        check_share(self.share, "the share of a quantile")

    @property
    def _worth(self) -> FloatArray:
        return np.ones(self.values.shape) if self.worth is None else self.worth

    @property
    def single(self) -> bool:
        """Whether there is one run on every unit."""
        return bool(((~np.isnan(self.values)).sum(axis=1) == 1).all())

    def method(self, look: Look) -> str:
        """What a limit is called by."""
        if look.kind == "one":
            return "order-statistics" if self.single else look.method
        return RECORDED_BETS if look.kind == "recorded" else ANYTIME_BETS

    def limit(self, side: Side, target: float, look: Look) -> FloatArray:
        """The limit; anytime after each unit. Infinite where the units are too few to say
        anything.
        """
        if look.kind in ("anytime", "planned"):
            steps = self._sequence(side, target)
            return steps if look.kind == "anytime" else steps[-1]
        if look.kind == "one" and self.single:
            return np.asarray(self._order_statistic(side, 1 / target))
        if look.kind == "one" and look.method == "hoeffding":
            # By the argument of the class, with Hoeffding's test of the shares, which is the same
            # at every value.
            slack = hoeffding(len(self.values), target)
            shifted = self.share + slack if side == "upper" else self.share - slack
            inside = 0 < shifted <= 1
            return np.asarray(self._quantile(shifted) if inside else _nothing(side))
        distinct, *scan = self._scan(side)
        plans, capital = look.sizes(len(self.values)), _CAPITAL[look.kind]
        passed = scanning.shares_shown(*scan, self._needed(side), target, plans, capital)
        return np.asarray(distinct[passed - 1] if passed else _nothing(side))

    def observed(self, weights: FloatArray | None = None) -> float:
        """The quantile of the runs; a unit's weight is shared among its runs."""
        return self._quantile(self.share, weights)

    def _quantile(self, share: float, weights: FloatArray | None = None) -> float:
        mask = ~np.isnan(self.values)
        even = np.full(len(mask), 1 / len(mask))
        of_unit = (even if weights is None else weights) / mask.sum(axis=1)
        numbers, of_run = self.values[mask], (of_unit[:, np.newaxis] * self._worth)[mask]
        order = numbers.argsort(kind="stable")
        # The slack forgives what rounding does to sums of weights.
        reached = of_run[order].cumsum() >= share - 1e-12
        return float(numbers[order][reached.argmax()])

    def running(self) -> FloatArray:
        """The same after each unit."""
        mask = ~np.isnan(self.values)
        units, numbers = np.nonzero(mask)[0], self.values[mask]
        order = numbers.argsort(kind="stable")
        units, numbers = units[order], numbers[order]
        weights, quantiles = (1 / mask.sum(axis=1))[units] * self._worth[mask][order], []
        for k in range(1, len(self.values) + 1):
            sums = np.where(units < k, weights, 0).cumsum()
            # The slack forgives what rounding does to sums of weights.
            quantiles.append(numbers[(sums >= (self.share - 1e-12) * k).argmax()])
        return np.array(quantiles)

    def goal(self, side: Side, value: float) -> Goal:
        """What has to be shown for the quantile to be beyond a value."""
        within = self.values <= value if side == "upper" else self.values >= value
        shares, _ = run_means(np.where(np.isnan(self.values), np.nan, within * self._worth))
        return Goal(values=shares, above=self._needed(side), exact=self.single)

    def _needed(self, side: Side) -> float:
        return self.share if side == "upper" else 1 - self.share

    def _sequence(self, side: Side, target: float) -> FloatArray:
        distinct, *scan = self._scan(side)
        times = np.asarray(scanning.share_times(*scan, self._needed(side), target))
        # After k units the limit is the last value passed by then.
        passed = np.searchsorted(times, np.arange(1, len(self.values) + 1), side="right")
        return np.where(passed > 0, distinct[np.maximum(passed - 1, 0)], _nothing(side))

    def _order_statistic(self, side: Side, delta: float) -> float:
        """The k-th smallest: the least k with P(Bin(n, p) ≥ k) ≤ δ above, the largest with
        P(Bin(n, p) ≤ k − 1) ≤ δ below.
        """
        values = np.sort(self.values[~np.isnan(self.values)])
        n, k = values.size, np.arange(1, values.size + 1)
        # bdtrc(k − 1, …) is P(Bin ≥ k), bdtr(k − 1, …) is P(Bin ≤ k − 1).
        tail = scipy.special.bdtrc if side == "upper" else scipy.special.bdtr
        good = k[tail(k - 1, n, self.share) <= delta]
        if not good.size:
            return _nothing(side)
        return float(values[(good.min() if side == "upper" else good.max()) - 1])

    def _scan(self, side: Side) -> tuple[FloatArray, IntArray, IntArray, FloatArray, FloatArray]:
        """The distinct values in the order of the scan; of each value its unit, which distinct one
        it is and what it counts; counts.
        """
        mask = ~np.isnan(self.values)
        counts = mask.sum(axis=1).astype(np.float64)
        units, numbers = np.nonzero(mask)[0], self.values[mask]
        if numbers.size > MANY:
            numbers = _rounded(numbers, side)
        sign = -1 if side == "upper" else 1
        distinct, groups = np.unique(sign * numbers, return_inverse=True)
        order = groups.argsort(kind="stable")
        return sign * distinct, units[order], groups[order], self._worth[mask][order], counts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatioOf:
    """u(second)/u(first), from unit means in [low, high], low ≥ 0, that are safe for one side.

    It is above r if and only if r·u(first) − u(second) is below 0. The differences r·x_i − y_i,
    independent and in [r·low − high, r·high − low], are bet on as costs are, and r goes up from 0
    over a grid fixed beforehand until a cell of it is not rejected. This is tighter than the ratio
    of two separate limits: what makes a unit hard for both cancels.
    """

    first: FloatArray
    second: FloatArray
    low: float
    high: float

    def method(self, look: Look) -> str:
        """What a limit is called by."""
        return look.method if look.kind == "one" else _NAMES[look.kind]

    def limit(self, side: Side, target: float, look: Look) -> FloatArray:
        """The limit; anytime after each unit."""
        pair = (self.first, self.second) if side == "lower" else (self.second, self.first)
        asked = (*pair, self.low, self.high, target)
        if look.kind == "anytime":
            values = np.asarray(scanning.ratio_sequence(*asked))
        else:
            plans = look.sizes(self.first.size)
            values = np.asarray(scanning.ratio_recorded(*asked, plans, _CAPITAL[look.kind]))
        return values if side == "lower" else _quotient(np.ones_like(values), values)

    def observed(self, weights: FloatArray | None = None) -> float:
        """The ratio in the sample; NaN for 0/0."""
        return float(_quotient(_average(self.second, weights), _average(self.first, weights)))

    def running(self) -> FloatArray:
        """The same after each unit."""
        return _quotient(self.second.cumsum(), self.first.cumsum())

    def goal(self, side: Side, value: float) -> Goal:
        """What has to be shown for the ratio to be beyond a value."""
        divisor, dividend, ratio = self.first, self.second, value
        if side == "upper":
            divisor, dividend, ratio = dividend, divisor, 1 / value
        values, above = scanning.against_ratio(divisor, dividend, ratio, self.low, self.high)
        return Goal(values=np.clip(values, 0, 1), above=float(above), balanced=True)


def hoeffding(units: int, target: float) -> float:
    """How far a mean of independent numbers in [0, 1] may fall short (Hoeffding 1963)."""
    return math.sqrt(math.log(target) / (2 * units))


def clopper_pearson(successes: int, trials: int, delta: float) -> float:
    """The exact lower limit of a binomial share (Clopper and Pearson 1934)."""
    if not successes:
        return 0.0
    return float(scipy.special.betaincinv(successes, trials - successes + 1, delta))


# ---- lower limits of the mean of each row, numbers in [0, 1], NaN passed over; target = 1/δ ------


def _hoeffding(rows: FloatArray, target: float) -> FloatArray:
    means, counts = run_means(rows)
    return np.asarray(means - np.sqrt(math.log(target) / (2 * np.maximum(counts, 1))))


def _empirical_bernstein(rows: FloatArray, target: float) -> FloatArray:
    """Maurer and Pontil (2009), Theorem 11: independent numbers, not necessarily of one
    distribution; two at least.
    """
    (mean, n), log_term = run_means(rows), math.log(2 * target)
    variance = np.nansum((rows - mean[:, np.newaxis]) ** 2, axis=1) / np.maximum(n - 1, 1)
    slack = np.sqrt(2 * variance * log_term / np.maximum(n, 1))
    slack += 7 * log_term / (3 * np.maximum(n - 1, 1))
    return np.where(n >= 2, mean - slack, 0.0)


def _balanced(rows: FloatArray, target: float) -> FloatArray:
    """STaR-Bets with the variance of paired differences, for as many numbers as a row has."""
    counts = (~np.isnan(rows)).sum(axis=1)
    limits = np.zeros(len(rows))
    # Rows with equally many numbers have the same plan.
    for count in np.unique(counts[counts > 0]):
        same = counts == count
        limits[same] = ledger.lower(rows[same], target, np.array([count]), ledger.FINAL, True)
    return limits


def _binomial(rows: FloatArray, target: float) -> FloatArray:
    means, counts = run_means(rows)
    # Each number is 0 or 1: their sum is whole but for rounding.
    pairs = zip(np.rint(means * counts).astype(int), counts.astype(int), strict=True)
    return np.array([clopper_pearson(good, n, 1 / target) for good, n in pairs])


_LOWER: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "star-bets": betting.star_lower,
    "betting": betting.plug_in_lower,
    "empirical-bernstein": _empirical_bernstein,
    "hoeffding": _hoeffding,
    "clopper-pearson": _binomial,
}
_NAMES = {"anytime": ANYTIME_BETS, "planned": PLANNED_BETS, "recorded": RECORDED_BETS}
# How the capital of bets along a plan starts; see `ledger`.
_CAPITAL = {"one": ledger.FINAL, "recorded": ledger.SHARES, "planned": ledger.WATCHED}
_SEQUENCES: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "betting": betting.plug_in_lower_sequence,
    "empirical-bernstein": betting.bernstein_lower_sequence,
}


def safe(value: float, observed: float, side: Side) -> float:
    """A limit on its own side of what was observed: with a δ near 1 it may pass it, which helps
    nobody.
    """
    return min(value, observed) if side == "lower" else max(value, observed)


def _nothing(side: Side) -> float:
    return math.inf if side == "upper" else -math.inf


def _average(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    if weights is None:
        return np.asarray(values.mean())
    # Not the dot product: where all runs are solved the share must be 1, not 1 + 2e-16.
    return np.asarray(math.fsum(weights * values) / math.fsum(weights))


def _rounded(numbers: FloatArray, side: Side) -> FloatArray:
    # Eight binary digits of the mantissa: small and large numbers lose alike.
    parts, exponents = np.frexp(numbers)
    with np.errstate(invalid="ignore"):
        parts = (np.ceil if side == "upper" else np.floor)(256 * parts) / 256
    return np.where(np.isfinite(numbers), np.ldexp(parts, exponents), numbers)


def _quotient(second: FloatArray, first: FloatArray) -> FloatArray:
    """second/first, infinite over 0, NaN for 0/0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.asarray(second) / np.asarray(first))
