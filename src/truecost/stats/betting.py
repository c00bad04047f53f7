"""Guaranteed limits of a mean by betting: NumPy only, numbers in [0, 1], one per unit.

A gambler says that numbers x_1, x_2, … have a mean above m, and bets: W_0 = 1, W_t = W_{t-1}·(1 +
λ_t·(x_t − m)) with 0 ≤ λ_t ≤ 1/m. If λ_t depends on x_1 … x_{t-1} alone and E[x_t | past] ≤ m, W
is a nonnegative supermartingale that starts at 1: an e-value for "the mean is at most m", and the
chance that it *ever* reaches 1/δ is at most δ (Ville). An upper limit is the lower one of 1 − x.

* One look, at all planned units: STaR-Bets (Voráček and Orabona 2025), λ = √(2·ln(capital still
  missing)/(rounds left·variance about m)). Each of up to 40 random orders of the units gives an
  e-value, and so does their average, which hardly depends on how a table is sorted. The *final*
  capitals are averaged: each order stops at `STOP`/δ, and a maximum on the way is no e-value.
* Looks after every unit, in one recorded order: half of the capital in STaR-Bets for the plan,
  half in plug-in bets (Waudby-Smith and Ramdas 2024) that know no end. When the plan is over, its
  part bets on as if as many rounds again were left, so plans may be extended.

Inversion. [0, 1] is cut into cells (a, b] before any number is seen. All m of a cell share the bets
made against b, which are allowed against every m ≤ b, and against which the capital falls in m. The
cells are scanned from 0 until one is not rejected whole. A limit above the true mean needs the
rejection of the one cell that holds it, with one capital: the scan costs no δ. The value that
decides (0 for a difference) is the end of a cell.

Examples
--------
>>> import truecost as tc
>>> round(tc.betting.lower([1.0] * 100), 3)
0.97
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError, check_share
from truecost.stats.random import Rng, generator

# Cells per root of the number of units: of one look, where the limit is sought inside a cell too,
# and of looks after every unit.
CELLS, FINE_CELLS = 40, 160
# Orders averaged in one look, up to so many units; about as much work with more units.
ORDERS, FEWEST_ORDERS, ORDERS_UP_TO = 40, 8, 300
# Each order bets for so many times 1/δ: what is above 1/δ is what the average needs. More makes a
# verdict depend less on the orders, less makes the limits of a mean tighter.
STOP, STOP_BALANCED = 1.5, 2.5
# Games played at once in a scan, and rounds between two looks at which cells are decided.
GAMES, ROUNDS = 2000, 8
# The largest part of its capital that a plug-in bet may lose in a round.
SHARE = 0.75
# Part of the capital that goes into the sequence, where every unit is looked at.
SEQUENCE = 0.5
# Numbers of the set of the best held at once.
LANES = 200_000


class Stars:
    """STaR-Bets in many games at once: games broadcast against the means `ends` they bet against.

    With `balanced` the variance about the mean is estimated with its largest possible value as a
    prior that counts as one number: sharper where numbers lie close to the mean, as differences do.
    """

    def __init__(
        self,
        ends: FloatArray,
        shape: tuple[int, ...],
        goal: float,
        planned: IntArray | int,
        balanced: bool,
    ) -> None:
        self.ends, self.goal, self.planned, self.balanced = ends, goal, planned, balanced
        self.spread = ends * (1 - ends)
        self.cap = 1 / (ends + 0.001)
        self.wealth, self.squares = np.ones(shape), np.zeros(shape)

    def bets(self, t: int) -> FloatArray:
        """λ after t numbers; 0 where the goal is reached."""
        # The thousandth, here and in the cap, keeps bets finite where the mean is next to 0.
        variance = self.spread + 0.001
        if self.balanced:
            variance = np.minimum(variance, (self.squares + self.spread) / (t + 1))
        elif t:
            variance = np.minimum(variance, self.squares / t + self.ends * (self.planned / t**2))
        # Behind the plan as if as many rounds again were left.
        left = np.where(t < self.planned, self.planned - t, t + 1)
        missing = np.maximum(self.wealth, 1e-300)
        np.divide(self.goal, missing, out=missing)
        np.maximum(missing, 1.0, out=missing)
        np.log(missing, out=missing)
        # Never below 1e-12: all numbers may equal the mean bet against; then the cap decides.
        missing /= np.maximum(variance, 1e-12) * (left / 2)
        np.sqrt(missing, out=missing)
        return np.minimum(missing, self.cap, out=missing)

    def play(self, t: int, number: FloatArray | float) -> FloatArray:
        """The round with the (t + 1)-th number; returns the bets made in it."""
        gain, bets = number - self.ends, self.bets(t)
        self.wealth *= 1 + bets * gain
        self.squares += gain * gain
        return bets

    def keep(self, mask: BoolArray) -> None:
        """Go on with the games of these cells (first axis) only."""
        self.ends, self.spread, self.cap = self.ends[mask], self.spread[mask], self.cap[mask]
        self.wealth, self.squares = self.wealth[mask], self.squares[mask]


class OneLook(NamedTuple):
    """Numbers in several orders, (orders, n), and how they are bet on; `target` is 1/δ."""

    orders: FloatArray
    target: float
    balanced: bool

    def stars(self, ends: FloatArray) -> Stars:
        """Games of every cell (cells,) with every order: (cells, orders)."""
        orders, n = self.orders.shape
        shape = (ends.size, orders)
        goal = self.target * (STOP_BALANCED if self.balanced else STOP)
        return Stars(ends[:, np.newaxis], shape, goal, n, self.balanced)

    def rejects(self, ends: FloatArray) -> BoolArray:
        """Which cells are rejected whole: their average final capital reaches 1/δ."""
        orders, n = self.orders.shape
        steps = np.ascontiguousarray(self.orders.T)
        stars, rejected, alive = self.stars(ends), np.zeros(ends.size, bool), np.arange(ends.size)
        for t in range(n):
            stars.play(t, steps[t])
            if (t + 1) % ROUNDS == 0 or t == n - 1:
                # Orders that reached the goal bet no more, the others cannot fall below 0.
                final = stars.wealth if t == n - 1 else stars.wealth * (stars.wealth >= stars.goal)
                decided = final.sum(axis=1) >= orders * self.target * (1 - 1e-12)
                if decided.any():
                    rejected[alive[decided]] = True
                    alive = alive[~decided]
                    stars.keep(~decided)
                    if not alive.size:
                        break
        return rejected

    def limit(self, ends: FloatArray, start: float = 0.0) -> float:
        """The largest mean that is rejected with all before it, from `start`, where the first of
        these cells begins.
        """
        place = scan(self, ends)
        if place == ends.size:
            return float(ends[-1]) if place else start
        return self.largest_in(float(ends[place - 1]) if place else start, float(ends[place]))

    def largest_in(self, start: float, end: float) -> float:
        """Of a cell that is not rejected whole, the largest mean that is; `start` if none is."""
        orders, n = self.orders.shape
        stars, steps = self.stars(np.array([end])), self.orders.T
        bets = np.empty((n, orders))
        for t in range(n):
            bets[t] = stars.play(t, steps[t])[0]
        for _ in range(3):
            means = np.linspace(start, end, 18)[1:-1]
            wealth = np.ones((means.size, orders))
            for t in range(n):
                wealth *= 1 + bets[t] * (steps[t] - means[:, np.newaxis])
            count = int(np.argmin([*(wealth.mean(axis=1) >= self.target), False]))
            start, end = (means[count - 1] if count else start), [*means, end][count]
        return float(start)


def cell_ends(units: int, per_root: int, decide: float | None) -> FloatArray:
    """The upper ends of the cells, narrow where a mean has little room to vary; none depends on a
    number seen.
    """
    cells = math.ceil(per_root * math.sqrt(max(units, 10)))
    # Even on the scale on which a binomial share has the same variance everywhere.
    ends = np.sin(np.pi / 2 * np.arange(1, cells + 1) / cells) ** 2
    if decide is None or not 0 < decide < 1:
        return ends
    # The nearest end gives way, so that no cell is next to nothing.
    ends = np.delete(ends, np.abs(ends[:-1] - decide).argmin())
    return np.sort(np.append(ends, decide))


def orders_of(units: int, rng: Rng) -> IntArray:
    """Random orders of the units, (orders, units): the same for the same seed."""
    return _seeded_orders(units, rng) if isinstance(rng, int) else _draw_orders(units, rng)


def _draw_orders(units: int, rng: Rng) -> IntArray:
    number = max(FEWEST_ORDERS, min(ORDERS, ORDERS * ORDERS_UP_TO // max(units, 1)))
    return generator(rng).permuted(np.tile(np.arange(units), (number, 1)), axis=1)


_seeded_orders = lru_cache(maxsize=64)(_draw_orders)


def lower(
    x: ArrayLike,
    delta: float = 0.05,
    *,
    planned: int | None = None,
    watched: bool = False,
    balanced: bool = False,
    decide: float | None = None,
    rng: Rng = 0,
) -> float:
    """The lower limit of the mean of independent units, wrong with probability `delta` at most.

    Parameters
    ----------
    x
        One number in [0, 1] per unit; with `watched` in the recorded order.
    delta
        All of it on this side.
    planned
        How many units were planned before the first look; needed with `watched`, since a plan
        that grows with the numbers would be wrong more often.
    watched
        Whether there may have been a look after every unit.
    balanced
        For differences, whose numbers lie around ½: see `Stars`.
    decide
        The mean that a verdict depends on: a limit of at least `decide` proves that the mean is
        above it.
    rng
        Draws the orders of one look, independently of the numbers.

    Examples
    --------
    >>> import truecost as tc
    >>> round(tc.betting.lower([0.0, 1.0] * 50, 0.05), 2)
    0.4
    """
    values = _checked(x, delta)
    if not values.size:
        return 0.0
    if watched:
        return Watch(delta, planned=planned, balanced=balanced, decide=decide).replay(values)[0]
    look = OneLook(values[orders_of(values.size, rng)], 1 / delta, balanced)
    return look.limit(cell_ends(values.size, CELLS, decide))


def upper(
    x: ArrayLike,
    delta: float = 0.05,
    *,
    planned: int | None = None,
    watched: bool = False,
    balanced: bool = False,
    decide: float | None = None,
    rng: Rng = 0,
) -> float:
    """The upper limit of the mean: 1 − `lower` of 1 − x.

    Examples
    --------
    >>> import truecost as tc
    >>> round(tc.betting.upper([0.0] * 100), 3)
    0.03
    """
    mirrored = None if decide is None else 1 - decide
    return 1 - lower(
        1 - np.asarray(x, float), delta, planned=planned, watched=watched, balanced=balanced,
        decide=mirrored, rng=rng,
    )  # fmt: skip


def proves_above(
    x: ArrayLike,
    value: float,
    delta: float = 0.05,
    *,
    planned: int | None = None,
    watched: bool = False,
    balanced: bool = False,
    rng: Rng = 0,
) -> bool:
    """Whether the mean is proven to be above `value`, between 0 and 1: `lower` reaches it where it
    decides.
    """
    check_share(value, "value")
    values = _checked(x, delta)
    if watched:
        watch = Watch(delta, planned=planned, balanced=balanced, decide=value)
        return watch.replay(values)[0] >= value
    if not (values.size and values.mean() > value):
        return False
    look = OneLook(values[orders_of(values.size, rng)], 1 / delta, balanced)
    ends = cell_ends(values.size, CELLS, value)
    ends = ends[ends <= value]
    # The cell that decides is the likeliest to stay.
    return bool(look.rejects(ends[-1:]).all() and look.rejects(ends[:-1]).all())


def scan(look: OneLook, ends: FloatArray) -> int:
    """The first cell from 0 that is not rejected whole; the number of cells if all are. One that
    ends at 1 never is.
    """
    size = GAMES // len(look.orders)
    for start in range(0, ends.size, size):
        rejected = look.rejects(ends[start : start + size])
        if not rejected.all():
            return start + int(rejected.argmin())
    return ends.size


def plug_in_bet(t: int, around: FloatArray | float, target: float) -> FloatArray:
    """The bet of the sequence after t numbers, whose squares about their means are `around`."""
    # Bets that fall as 1/√(t·ln t) still reject every smaller mean in time.
    horizon = (t + 1) * math.log(t + 2)
    return np.sqrt(2 * math.log(target / SEQUENCE) / (horizon * np.asarray(around) / (t + 1)))


class Watch:
    """Limits of a mean after every unit, at all times at once, along one recorded order.

    Parameters
    ----------
    delta
        The probability with which each of the two limits is ever wrong, at most.
    planned
        How many units the first plan has.
    balanced, decide
        As in `lower`.

    Examples
    --------
    >>> import truecost as tc
    >>> watch = tc.betting.Watch(0.05, planned=20)
    >>> lower, upper = watch.add(0.3)
    """

    def __init__(
        self,
        delta: float = 0.05,
        *,
        planned: int | None,
        balanced: bool = False,
        decide: float | None = None,
    ) -> None:
        check_share(delta)
        if planned is None or planned < 1:
            raise InputError(
                f"The number of planned units is {planned}. Looks after every unit need a plan of "
                "at least 1, made before the first look."
            )
        self.units = 0
        sides = (decide, None if decide is None else 1 - decide)
        self._sides = [
            _Side(cell_ends(planned, FINE_CELLS, side), 1 / delta, planned, balanced)
            for side in sides
        ]

    def add(self, number: float) -> tuple[float, float]:
        """The lower and the upper limit after one more unit."""
        if not 0 <= number <= 1:
            raise InputError(f"A unit has the number {number!r}. It must lie between 0 and 1.")
        below, above = self._sides
        self.units += 1
        return below.add(number), 1 - above.add(1 - number)

    def replay(self, numbers: ArrayLike) -> tuple[float, float]:
        """The limits after several units more."""
        limits = (0.0, 1.0)
        for number in np.asarray(numbers, float).tolist():
            limits = self.add(number)
        return limits


class _Side:
    """The lower limit of a `Watch`: the cells that are not rejected yet, and their capital."""

    def __init__(self, ends: FloatArray, target: float, planned: int, balanced: bool) -> None:
        self.target, self.limit, self.rounds = target, 0.0, 0
        self.stars = Stars(ends, ends.shape, target / (1 - SEQUENCE), planned, balanced)
        self.sequence, self.rejected = np.ones(ends.size), np.zeros(ends.size, bool)
        # Mean and variance start from one number at the middle, with the largest variance there is.
        self.total, self.around = 0.5, 0.25

    def add(self, number: float) -> float:
        stars, t = self.stars, self.rounds
        bet = plug_in_bet(t, self.around, self.target)
        self.sequence *= 1 + np.minimum(bet, SHARE / stars.ends) * (number - stars.ends)
        stars.play(t, number)
        self.total += number
        self.around += (number - self.total / (t + 2)) ** 2
        self.rounds += 1
        # Rejected once is rejected for good. The last cell ends at 1, against which nothing is won.
        capital = (1 - SEQUENCE) * stars.wealth + SEQUENCE * self.sequence
        self.rejected |= capital >= self.target
        if self.rejected[0]:
            place = int(self.rejected.argmin())
            self.limit = float(stars.ends[place - 1])
            later = np.arange(stars.ends.size) >= place
            stars.keep(later)
            self.sequence, self.rejected = self.sequence[later], self.rejected[later]
        return self.limit


def best_set(x: ArrayLike, delta: float = 0.05, *, rng: Rng = 0) -> BoolArray:
    """Which configurations of a list may be the best: the one with the least mean is among them
    with probability 1 − `delta`.

    For a configuration i, let e_ij be the capital of bets that u_j < u_i. The average over the m −
    1 rivals is an e-value for "i is the best", however they depend on each other, and i is out
    where it reaches 1/δ. Only the truly best one matters, so no correction is needed. The bets are
    tuned to the target (m − 1)/δ, where one rival suffices.

    Parameters
    ----------
    x
        Costs scaled to [0, 1] of all configurations on common units, (m, n); NaN is missing, and
        pairs use the units that both have.
    delta, rng
        As in `lower`.

    Examples
    --------
    >>> import truecost as tc
    >>> tc.betting.best_set([[0.1] * 30, [0.9] * 30]).tolist()
    [True, False]
    """
    check_share(delta)
    costs = np.asarray(x, dtype=np.float64)
    if costs.ndim != 2 or ((costs < 0) | (costs > 1)).any():
        raise InputError("The set of the best needs costs between 0 and 1, (m, n).")
    m, n = costs.shape
    if m == 1 or n == 0:
        return np.ones(m, bool)
    # Fewer orders for long lists: an average over many rivals is an average already.
    orders = orders_of(n, rng)
    orders = orders[: max(1, min(len(orders), 4000 // m))]
    missing = np.isnan(costs)
    seen = np.where(missing, 0.0, costs).sum(axis=1) / np.maximum((~missing).sum(axis=1), 1)
    # The rivals that look best come first: they are enough to rule most configurations out.
    ranked = np.argsort(np.where(missing.all(axis=1), np.inf, seen), kind="stable")
    remain = np.ones(m, bool)
    enough = (m - 1) / delta * (1 - 1e-12)
    for i in range(m):
        rivals, total, first, size = ranked[ranked != i], 0.0, 0, 8
        while first < rivals.size and total < enough:
            gaps = (costs[i] - costs[rivals[first : first + size]]) / 2
            total += _e_values(gaps, orders, enough).sum()
            first, size = first + size, max(8, LANES // orders.size)
        remain[i] = total < enough
    return remain


def _e_values(gaps: FloatArray, orders: IntArray, target: float) -> FloatArray:
    """Of each row of differences in [−½, ½], NaN missing, the average capital over the orders of
    bets that their mean is above 0.
    """
    rows, n = gaps.shape
    if not n:
        return np.ones(rows)
    numbers = gaps[:, orders]
    missing = np.isnan(numbers)
    planned: IntArray | int = n
    if missing.any():
        # The units that both have come first; behind them nothing is won or lost.
        numbers = np.take_along_axis(numbers, np.argsort(missing, axis=2, kind="stable"), axis=2)
        numbers = np.nan_to_num(numbers)
        planned = np.maximum(n - np.isnan(gaps).sum(axis=1), 1)[:, np.newaxis]
    half = np.full((rows, 1), 0.5)
    stars = Stars(half, numbers.shape[:2], STOP_BALANCED * target, planned, True)
    for t in range(n):
        stars.play(t, numbers[:, :, t] + 0.5)
    return np.asarray(stars.wealth.mean(axis=1))


def _checked(x: ArrayLike, delta: float) -> FloatArray:
    check_share(delta)
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise InputError("Bets need one number per unit, each between 0 and 1.")
    return values
