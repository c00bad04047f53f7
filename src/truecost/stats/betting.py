"""Guaranteed limits of a mean by betting: numbers in [0, 1], one per unit.

To prove a mean above m, bet on the numbers x_1, x_2, …: W_0 = 1, W_t = W_{t-1}·(1 + λ_t·(x_t − m))
with 0 ≤ λ_t ≤ 1/m. If λ_t depends on x_1 … x_{t-1} alone and E[x_t | past] ≤ m, the capital W is a
nonnegative supermartingale that starts at 1: an e-value for "the mean is at most m", and the
probability that it *ever* reaches 1/δ is at most δ (Ville). Upper limits are lower ones of 1 − x.

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

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError, check_count, check_share
from truecost.stats.random import Rng, generator

# Cells per root of the number of units: of one look, where the limit is sought inside a cell too,
# and of looks after every unit.
CELLS, FINE_CELLS = 40, 160
# Orders averaged in one look, up to this number of units; with more units, fewer orders.
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


class StarBets:
    """STaR-Bets in many games at once, against `means` that are broadcast to the games' shape.

    With `balanced` the variance about the mean is estimated with its largest possible value as a
    prior that counts as one number: sharper where numbers lie close to the mean, as differences do.
    """

    def __init__(
        self,
        means: FloatArray,
        shape: tuple[int, ...],
        goal: float,
        planned: int,
        balanced: bool,
    ) -> None:
        self.means, self.goal, self.planned, self.balanced = means, goal, planned, balanced
        self.spread = means * (1 - means)
        # The thousandth, here and in the variance, keeps bets finite where the mean is next to 0.
        self.cap = 1 / (means + 0.001)
        self.wealth, self.squares = np.ones(shape), np.zeros(shape)
        self.rounds = 0

    def play(self, numbers: FloatArray | float) -> FloatArray:
        """Play a round; returns the bets made in it, 0 where the goal is reached."""
        t = self.rounds
        variance = self.spread + 0.001
        if self.balanced:
            variance = np.minimum(variance, (self.squares + self.spread) / (t + 1))
        elif t:
            variance = np.minimum(variance, self.squares / t + self.means * (self.planned / t**2))
        # Behind the plan as if as many rounds again were left.
        left = self.planned - t if t < self.planned else t + 1
        bets = np.maximum(self.wealth, 1e-300)
        np.log(bets, out=bets)
        np.subtract(math.log(self.goal), bets, out=bets)
        np.maximum(bets, 0.0, out=bets)
        # Never below 1e-12: all numbers may equal the mean bet against; then the cap decides.
        bets /= np.maximum(variance, 1e-12) * (left / 2)
        np.sqrt(bets, out=bets)
        np.minimum(bets, self.cap, out=bets)
        gains = numbers - self.means
        self.wealth *= 1 + bets * gains
        self.squares += gains * gains
        self.rounds += 1
        return bets

    def keep(self, mask: BoolArray) -> None:
        """Go on with the games of these means (first axis) only."""
        for name in ("means", "spread", "cap", "wealth", "squares"):
            setattr(self, name, getattr(self, name)[mask])


class MixedBets(StarBets):
    """Half of the capital in STaR-Bets, half in plug-in bets: one may look after every round."""

    def __init__(
        self,
        means: FloatArray,
        shape: tuple[int, ...],
        target: float,
        planned: int,
        balanced: bool,
    ) -> None:
        super().__init__(means, shape, target / (1 - SEQUENCE), planned, balanced)
        self.log_goal, self.sequence = math.log(target / SEQUENCE), np.ones(shape)
        # Mean and variance start from one number at the middle, with the largest variance there is.
        self.total: FloatArray | float = 0.5
        self.around: FloatArray | float = 0.25

    @property
    def capital(self) -> FloatArray:
        """The capital of both parts."""
        return (1 - SEQUENCE) * self.wealth + SEQUENCE * self.sequence

    def play(self, numbers: FloatArray | float) -> FloatArray:
        """Play a round with both parts."""
        t = self.rounds
        # Bets that fall as 1/√(t·ln t) still reject every smaller mean in time.
        horizon = (t + 1) * math.log(t + 2)
        bets = np.sqrt(2 * self.log_goal / (horizon * np.asarray(self.around) / (t + 1)))
        self.sequence *= 1 + np.minimum(bets, SHARE / self.means) * (numbers - self.means)
        self.total = self.total + numbers
        self.around = self.around + (numbers - self.total / (t + 2)) ** 2
        return super().play(numbers)

    def keep(self, mask: BoolArray) -> None:
        """Go on with the games of these means only."""
        super().keep(mask)
        self.sequence = self.sequence[mask]


class OneLook:
    """All numbers at once, in several orders."""

    def __init__(self, numbers: FloatArray, delta: float, balanced: bool, rng: Rng) -> None:
        # One row for each round.
        self.rounds = np.ascontiguousarray(numbers[orders_of(numbers.size, rng)].T)
        self.target, self.balanced = 1 / delta, balanced

    def bets(self, ends: FloatArray) -> StarBets:
        """Games of every cell with every order, (cells, orders)."""
        n, orders = self.rounds.shape
        goal = self.target * (STOP_BALANCED if self.balanced else STOP)
        return StarBets(ends[:, np.newaxis], (ends.size, orders), goal, n, self.balanced)

    def rejects(self, ends: FloatArray) -> BoolArray:
        """Which cells are rejected whole: their average final capital reaches 1/δ."""
        n, orders = self.rounds.shape
        bets, rejected, alive = self.bets(ends), np.zeros(ends.size, bool), np.arange(ends.size)
        for t, numbers in enumerate(self.rounds, 1):
            bets.play(numbers)
            if t % ROUNDS == 0 or t == n:
                # Orders that reached the goal bet no more, the others cannot fall below 0.
                final = bets.wealth if t == n else bets.wealth * (bets.wealth >= bets.goal)
                decided = final.sum(axis=1) >= orders * self.target * (1 - 1e-12)
                rejected[alive[decided]] = True
                alive = alive[~decided]
                bets.keep(~decided)
                if not alive.size:
                    break
        return rejected

    def limit(self, ends: FloatArray, start: float = 0.0) -> float:
        """The largest mean that is rejected with all before it, from `start`, where the first of
        these cells begins.
        """
        size = GAMES // self.rounds.shape[1]
        for first in range(0, ends.size, size):
            block = ends[first : first + size]
            rejected = self.rejects(block)
            place = int(np.append(rejected, False).argmin())
            start = float(block[place - 1]) if place else start
            if place < block.size:
                return self.largest_in(start, float(block[place]))
        return start

    def largest_in(self, start: float, end: float) -> float:
        """Of a cell that is not rejected whole, the largest mean that is; `start` if none is."""
        game = self.bets(np.array([end]))
        bets = np.array([game.play(numbers)[0] for numbers in self.rounds])
        for _ in range(3):
            means = np.linspace(start, end, 18)[1:-1]
            wealth = np.ones((means.size, bets.shape[1]))
            for bet, numbers in zip(bets, self.rounds, strict=True):
                wealth *= 1 + bet * (numbers - means[:, np.newaxis])
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
    number = max(FEWEST_ORDERS, min(ORDERS, ORDERS * ORDERS_UP_TO // max(units, 1)))
    return generator(rng).permuted(np.tile(np.arange(units), (number, 1)), axis=1)


def lower(
    x: ArrayLike,
    delta: float = 0.05,
    *,
    balanced: bool = False,
    decide: float | None = None,
    rng: Rng = 0,
) -> float:
    """The lower limit of the mean from one look at all units: above the mean with probability
    `delta` at most. `Watch` gives limits for looks after every unit.

    Parameters
    ----------
    x
        One number in [0, 1] per unit. Units are independent, with the same mean.
    delta
        All of it on this side.
    balanced
        For differences, whose numbers lie around ½: see `StarBets`.
    decide
        The mean that a verdict depends on: a limit of at least `decide` proves that the mean is
        above it.
    rng
        Draws the orders, independently of the numbers.

    Examples
    --------
    >>> import truecost as tc
    >>> round(tc.betting.lower([0.0, 1.0] * 50, 0.05), 2)
    0.4
    """
    check_share(delta)
    numbers = np.asarray(x, dtype=np.float64)
    if numbers.ndim != 1 or not ((numbers >= 0) & (numbers <= 1)).all():
        raise InputError("Bets need one number per unit, each between 0 and 1.")
    if not numbers.size:
        return 0.0
    ends = cell_ends(numbers.size, CELLS, decide)
    return OneLook(numbers, delta, balanced, rng).limit(ends)


def upper(
    x: ArrayLike,
    delta: float = 0.05,
    *,
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
    left, mirrored = 1 - np.asarray(x, float), None if decide is None else 1 - decide
    return 1 - lower(left, delta, balanced=balanced, decide=mirrored, rng=rng)


class Watch:
    """Limits of a mean after every unit, at all times at once, along one recorded order.

    Parameters
    ----------
    delta
        The probability that the lower limit is ever above the mean, at most; and the same for the
        upper one.
    planned
        How many units were planned before the first look. A plan that grows with the numbers would
        be wrong more often.
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
        planned: int,
        balanced: bool = False,
        decide: float | None = None,
    ) -> None:
        check_share(delta)
        check_count("planned", planned)
        sides = (decide, None if decide is None else 1 - decide)
        self._sides = [_WatchedSide(delta, planned, balanced, side) for side in sides]

    def add(self, number: float) -> tuple[float, float]:
        """The lower and the upper limit after one more unit."""
        if not 0 <= number <= 1:
            raise InputError(f"A unit has the number {number!r}. It must lie between 0 and 1.")
        below, above = self._sides
        return below.add(number), 1 - above.add(1 - number)

    def replay(self, numbers: ArrayLike) -> tuple[float, float]:
        """The limits after several units more."""
        limits = (0.0, 1.0)
        for number in np.asarray(numbers, float).tolist():
            limits = self.add(number)
        return limits


class _WatchedSide:
    """The lower limit of a `Watch`: bets against the cells that are not rejected yet."""

    def __init__(self, delta: float, planned: int, balanced: bool, decide: float | None) -> None:
        ends = cell_ends(planned, FINE_CELLS, decide)
        self.target, self.limit = 1 / delta, 0.0
        self.bets = MixedBets(ends, ends.shape, self.target, planned, balanced)
        self.rejected = np.zeros(ends.size, bool)

    def add(self, number: float) -> float:
        self.bets.play(number)
        # Rejected once is rejected for good. The last cell ends at 1, against which nothing is won.
        self.rejected |= self.bets.capital >= self.target
        if place := int(self.rejected.argmin()):
            self.limit = float(self.bets.means[place - 1])
            later = np.arange(self.rejected.size) >= place
            self.bets.keep(later)
            self.rejected = self.rejected[later]
        return self.limit


def average_capitals(
    samples: FloatArray, mean: float, goal: float, orders: IntArray, *, balanced: bool
) -> FloatArray:
    """The final capital of bets on each sample (samples, n), averaged over orders of its units."""
    shape = len(samples), len(orders)
    bets = StarBets(np.array([mean]), shape, goal, samples.shape[1], balanced)
    for places in orders.T:
        bets.play(samples[:, places])
    return np.asarray(bets.wealth.mean(axis=1))


def proving_samples(
    samples: FloatArray,
    value: float,
    delta: float = 0.05,
    *,
    planned: int | None = None,
    balanced: bool = False,
) -> BoolArray:
    """Which of many samples, (samples, n), prove a mean above `value`: at their end, or with
    `planned` at any time, as a `Watch` does. Each bets in its one order: for forecasts.
    """
    target, n = 1 / delta, samples.shape[1]
    if planned is None:
        capitals = average_capitals(samples, value, target, np.arange(n)[None], balanced=balanced)
        return capitals >= target * (1 - 1e-12)
    bets = MixedBets(np.array([value]), samples.shape[:1], target, planned, balanced)
    proven = np.zeros(len(samples), bool)
    for numbers in samples.T:
        bets.play(numbers)
        proven |= bets.capital >= target
    return proven


def best_set(x: ArrayLike, delta: float = 0.05, *, rng: Rng = 0) -> BoolArray:
    """Which configurations of a list may be the best: the one with the least mean is among them
    with probability 1 − `delta` at least.

    For a configuration i, let e_ij be the capital of bets that u_j < u_i. If i is the best, each
    e_ij is an e-value, and so is their average over the m − 1 rivals, however they depend on each
    other; i is out where it reaches 1/δ. Only the truly best one matters, so no correction is
    needed. The bets are tuned to the target (m − 1)/δ, where one rival suffices.

    Parameters
    ----------
    x
        Costs scaled to [0, 1] of all configurations on the same units, (m, n).
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
    if costs.ndim != 2 or not ((costs >= 0) & (costs <= 1)).all():
        raise InputError("The set of the best needs costs between 0 and 1, (m, n).")
    m, n = costs.shape
    if m == 1 or n == 0:
        return np.ones(m, bool)
    # Fewer orders for long lists: an average over many rivals is an average already.
    orders = orders_of(n, rng)[: max(1, 4000 // m)]
    # The rivals that look best come first: they are enough to rule most configurations out.
    ranked = np.argsort(costs.mean(axis=1), kind="stable")
    remain = np.ones(m, bool)
    enough = (m - 1) / delta * (1 - 1e-12)
    goal = STOP_BALANCED * enough
    step = max(8, LANES // orders.size)
    for i in range(m):
        rivals = ranked[ranked != i]
        total, first, last = 0.0, 0, 8
        while first < rivals.size and total < enough:
            gaps = (costs[i] - costs[rivals[first:last]]) / 2
            total += average_capitals(0.5 + gaps, 0.5, goal, orders, balanced=True).sum()
            first, last = last, last + step
        remain[i] = total < enough
    return remain
