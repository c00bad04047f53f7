"""What statements are about: each quantity turns runs into one number per unit, in [0, 1].

| quantity | value | number of a unit |
| --- | --- | --- |
| mean | E[cost], a failed run at penalty × cutoff | mean cost of its runs |
| difference | u(winner) − u(default) | difference of mean costs |
| margin | (1 + x)·u(default) − u(winner) | the same of its mean costs |
| wins | P(winner < default) + ½ P(tie) | share of its pairs of runs, ties ½ |
| solved | P(solved) | share of its runs that are solved |
| solved difference | P(winner solves) − P(default solves) | difference of those shares |
| median speed-up | median of default/winner | ratio of the first run of each |
| geometric speed-up | exp E log((default + s)/(winner + s)) | mean of the log ratios |

A difference is good for the winner where it is negative; margins, wins, shares and speed-ups are
good where they are large. Families count with the mean of their instances (`Numbers.by_family`); on
a single instance each run is a unit (one row of one run). To add a quantity, add one function.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError
from truecost.stats import betting, exact
from truecost.stats.grouping import codes_of
from truecost.stats.random import Rng

# Seconds added to both times of a geometric speed-up, as in MIP benchmarks, and the largest part of
# the cutoff that they may be.
SHIFT, SHIFT_SHARE = 10.0, 0.2
# Running times below so many seconds count as this much in ratios.
CLOCK = 0.01
# Shares of δ where one look is meant: its own, and that of all looks before it, or after units were
# added.
PLANNED_LOOK, OTHER_LOOKS = 0.9, 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Runs:
    """Runs of one configuration, (n, R), one row per instance in betting order.

    `costs` is NaN where there is no run; seconds of solved runs where costs are running times.
    `failed` is every run that was not solved. `seeds` matters where both configurations may have
    been run with the same ones.
    """

    costs: FloatArray
    failed: BoolArray
    seeds: IntArray | None = None

    @property
    def present(self) -> BoolArray:
        """Where there is a run."""
        return ~np.isnan(self.costs)

    @property
    def single(self) -> bool:
        """Whether every instance has one run."""
        return bool((self.present.sum(axis=1) == 1).all())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The range of costs; of running times the cutoff in seconds and the declared penalty `par`."""

    low: float = -math.inf
    high: float = math.inf
    cutoff: float | None = None
    par: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Numbers:
    """One number per unit, and what it stands for.

    Attributes
    ----------
    values
        In [0, 1]; of the median speed-up the ratios themselves.
    low, high
        What 0 and 1 stand for; their logarithms if `log`.
    decide
        The value that a verdict depends on, where there is one.
    method
        "betting"; or exact limits, where each unit has one run: "binomial" for shares, "signs" for
        numbers 0, ½ and 1, "median" for order statistics.
    """

    quantity: str
    values: FloatArray
    low: float = 0.0
    high: float = 1.0
    decide: float | None = None
    balanced: bool = False
    method: Literal["betting", "binomial", "signs", "median"] = "betting"
    log: bool = False

    def by_family(self, families: Sequence[object]) -> "Numbers":
        """One number per family, the mean of its instances; families in the order in which they
        first appear.
        """
        if self.method == "median":
            raise InputError("A median speed-up needs instances as units. Leave out the families.")
        codes = codes_of(families)
        means = np.bincount(codes, self.values) / np.bincount(codes)
        return replace(self, values=np.clip(means, 0, 1), method="betting")

    def value(self, number: float) -> float:
        """What a number stands for, in the quantity's own unit."""
        scaled = self.low + number * (self.high - self.low)
        return math.exp(scaled) if self.log else scaled

    @property
    def observed(self) -> float:
        """The value of these units."""
        if self.method == "median":
            return float(np.median(self.values))
        return self.value(float(self.values.mean()))

    @property
    def deciding_number(self) -> float | None:
        """The number that stands for `decide`."""
        if self.decide is None:
            return None
        value = math.log(self.decide) if self.log else self.decide
        number = (value - self.low) / (self.high - self.low)
        # So that upper limits, which are 1 less lower ones, can be exactly this number, too.
        return 1 - (1 - number)


class Limits(NamedTuple):
    """Observed value and limits, each wrong with probability δ at most; `direction` is 1 where the
    quantity is proven to be above the value that decides, −1 where below, else 0.
    """

    observed: float
    lower: float
    upper: float
    direction: int = 0


def limits(
    numbers: Numbers,
    delta: float = 0.05,
    *,
    planned: int | None = None,
    one_look: bool = False,
    rng: Rng = 0,
) -> Limits:
    """Guaranteed limits of a quantity, each one-sided at `delta`.

    Parameters
    ----------
    numbers
        Of independent units; in the recorded order with `planned`.
    planned
        None for one look at all units. Otherwise how many units were planned before the first
        look, and limits hold for looks after every unit: numbers in [0, 1] are bet on, and a median
        has no limits.
    one_look
        Whether, with `planned`, one look is meant at the planned end. It has most of δ and is never
        taken back; looks before it, and after units were added, share the rest.
    rng
        As in `truecost.stats.betting.lower`.
    """
    values, decide = numbers.values, numbers.deciding_number
    if planned is not None and one_look:
        first, looks = replace(numbers, values=values[:planned]), []
        if values.size >= planned:
            looks.append(limits(first, PLANNED_LOOK * delta, rng=rng))
        if values.size != planned:
            looks.append(limits(numbers, OTHER_LOOKS * delta, planned=planned))
        _, lowers, uppers, directions = zip(*looks, strict=True)
        direction = max(0, *directions) + min(0, *directions)
        return Limits(numbers.observed, max(lowers), min(uppers), direction)
    how: dict[str, Any] = {"balanced": numbers.balanced, "decide": decide}
    if numbers.method == "median":
        low, high = (0.0, math.inf) if planned is not None else exact.median_limits(values, delta)
        return Limits(numbers.observed, low, high, int(low > 1) - int(high < 1))
    if planned is not None:
        low, high = betting.Watch(delta, planned=planned, **how).replay(values)
    elif numbers.method == "binomial":
        successes = round(float(values.sum()))
        low = exact.share_lower(successes, values.size, delta)
        high = 1 - exact.share_lower(values.size - successes, values.size, delta)
    elif numbers.method == "signs":
        low = exact.signs_lower(values, delta, rng)
        high = 1 - exact.signs_lower(1 - values, delta, rng)
    else:
        low = betting.lower(values, delta, rng=rng, **how)
        high = betting.upper(values, delta, rng=rng, **how)
    lower, upper = numbers.value(low), numbers.value(high)
    if numbers.decide is None or decide is None:
        return Limits(numbers.observed, lower, upper)
    # Rounding must not take a limit past the value that it proves.
    if above := low >= decide:
        lower = max(lower, numbers.decide)
    if below := high <= decide:
        upper = min(upper, numbers.decide)
    return Limits(numbers.observed, lower, upper, int(above) - int(below))


# ---- costs ---------------------------------------------------------------------------------------


def mean(runs: Runs, scale: Scale, penalty: float | None = None) -> Numbers:
    """The mean cost; of running times a failed run costs `penalty` × cutoff (declared: `par`)."""
    costs, low, high = _mean_costs(runs, scale, penalty)
    return Numbers(quantity="mean", values=_scaled(costs, low, high), low=low, high=high)


def difference(winner: Runs, default: Runs, scale: Scale, penalty: float | None = None) -> Numbers:
    """The winner's mean cost less the default's, with a failed run at `penalty` × cutoff."""
    ours, low, high = _mean_costs(winner, scale, penalty)
    theirs, *_ = _mean_costs(default, scale, penalty)
    return _comparison("difference", ours - theirs, low - high, high - low)


def margin(winner: Runs, default: Runs, scale: Scale, share: float) -> Numbers:
    """(1 + share)·u(default) − u(winner): above 0 where the winner costs less than `share` more."""
    ours, low, high = _mean_costs(winner, scale, None)
    theirs, *_ = _mean_costs(default, scale, None)
    if low < 0:
        raise InputError("A margin in per cent needs costs that cannot be negative. Set low = 0.")
    if not 0 <= share < math.inf:
        raise InputError(f"The margin is {share:g}. Give a share from 0, for example 0.05.")
    least, most = (1 + share) * low - high, (1 + share) * high - low
    return _comparison("margin", (1 + share) * theirs - ours, least, most)


def _mean_costs(runs: Runs, scale: Scale, penalty: float | None) -> tuple[FloatArray, float, float]:
    """The mean cost of each row, failed runs at the penalty where there is one; its range."""
    factor = scale.par if penalty is None else penalty
    if scale.cutoff is not None and factor is not None:
        most = factor * scale.cutoff
        costs = np.where(runs.failed & runs.present, most, runs.costs)
        return _row_means(costs), 0.0, most
    if not (math.isfinite(scale.low) and math.isfinite(scale.high) and scale.low < scale.high):
        raise InputError("Guaranteed limits of a mean need the range of costs. Give low and high.")
    return _row_means(runs.costs), scale.low, scale.high


def _row_means(values: FloatArray) -> FloatArray:
    present = ~np.isnan(values)
    counts = present.sum(axis=1)
    if not counts.all():
        raise InputError("Every unit needs a run of each configuration that is compared.")
    return np.asarray(np.where(present, values, 0.0).sum(axis=1) / counts)


def _comparison(quantity: str, gaps: FloatArray, low: float, high: float) -> Numbers:
    return Numbers(
        quantity=quantity, values=_scaled(gaps, low, high), low=low, high=high, decide=0.0,
        balanced=True,
    )  # fmt: skip


def _scaled(values: FloatArray, low: float, high: float) -> FloatArray:
    return np.clip((values - low) / (high - low), 0.0, 1.0)


# ---- shares --------------------------------------------------------------------------------------


def wins(winner: Runs, default: Runs, scale: Scale) -> Numbers:
    """How often a run of the winner costs less than one of the default on the same instance, with
    independent seeds; ties count ½. A failed run loses against every solved one and ties with every
    failed one.
    """
    ours = _ranked(winner, scale)[:, :, np.newaxis]
    theirs = _ranked(default, scale)[:, np.newaxis, :]
    pairs = winner.present[:, :, np.newaxis] & default.present[:, np.newaxis, :]
    if winner.seeds is not None and default.seeds is not None:
        # Runs with one seed are no independent pair; single runs have no other.
        other = winner.seeds[:, :, np.newaxis] != default.seeds[:, np.newaxis, :]
        pairs = np.where((pairs & other).any(axis=(1, 2), keepdims=True), pairs & other, pairs)
    won = np.where(ours < theirs, 1.0, np.where(ours == theirs, 0.5, 0.0))
    return Numbers(
        quantity="wins",
        values=_row_means(np.where(pairs, won, np.nan).reshape(len(pairs), -1)),
        decide=0.5,
        method="signs" if winner.single and default.single else "betting",
    )


def _ranked(runs: Runs, scale: Scale) -> FloatArray:
    """Costs by which runs are compared: failed ones tie behind all others."""
    if scale.cutoff is None and not runs.failed.any():
        return runs.costs
    return np.where(runs.failed & runs.present, np.inf, runs.costs)


def solved(runs: Runs) -> Numbers:
    """The share of runs that are solved."""
    method: Literal["binomial", "betting"] = "binomial" if runs.single else "betting"
    return Numbers(quantity="solved", values=1 - _failed_shares(runs), method=method)


def solved_difference(winner: Runs, default: Runs) -> Numbers:
    """The winner's solved share less the default's."""
    gaps = _failed_shares(default) - _failed_shares(winner)
    numbers = _comparison("solved difference", gaps, -1.0, 1.0)
    return replace(numbers, method="signs") if winner.single and default.single else numbers


def discordant(winner: Runs, default: Runs, families: Sequence[object] | None = None) -> int:
    """How many units differ in the share of failed runs: the guard of the approximate interval."""
    numbers = solved_difference(winner, default)
    values = numbers.values if families is None else numbers.by_family(families).values
    return int((np.abs(values - 0.5) > 1e-12).sum())


def _failed_shares(runs: Runs) -> FloatArray:
    return _row_means(np.where(runs.present, runs.failed.astype(np.float64), np.nan))


# ---- speed-ups -----------------------------------------------------------------------------------


def median_speed_up(winner: Runs, default: Runs, scale: Scale, clock: float = CLOCK) -> Numbers:
    """The median of default/winner over instances and seeds, from the first run of each.

    Times below `clock` count as `clock`. A failed run of the winner makes 0, one of the default
    cutoff/winner, both 1.
    """
    cutoff = _cutoff(scale)
    times, late = [], []
    for runs in (winner, default):
        first = np.arange(len(runs.costs)), runs.present.argmax(axis=1)
        late.append(runs.failed[first])
        seconds = np.where(late[-1], cutoff, runs.costs[first])
        times.append(np.clip(seconds, clock, max(cutoff, clock)))
    ratios = np.where(late[0], np.where(late[1], 1.0, 0.0), times[1] / times[0])
    return Numbers(
        quantity="median speed-up", values=ratios, high=math.inf, decide=1.0, method="median"
    )


def geometric_speed_up(winner: Runs, default: Runs, scale: Scale) -> Numbers:
    """The geometric mean of (default + s)/(winner + s) with the shift s; a failed run counts as the
    cutoff.
    """
    cutoff, shift = _cutoff(scale), shift_of(scale)
    ours, theirs = (
        _row_means(
            np.log(
                np.where(runs.failed & runs.present, cutoff, np.minimum(runs.costs, cutoff)) + shift
            )
        )
        for runs in (winner, default)
    )
    most = math.log((cutoff + shift) / shift)
    numbers = _comparison("geometric speed-up", theirs - ours, -most, most)
    return replace(numbers, decide=1.0, log=True)


def shift_of(scale: Scale) -> float:
    """The shift of the geometric speed-up in seconds: stated next to the number."""
    return min(SHIFT, SHIFT_SHARE * _cutoff(scale))


def _cutoff(scale: Scale) -> float:
    if scale.cutoff is None:
        raise InputError("Speed-ups are about running times with a cutoff. Give cutoff.")
    return scale.cutoff
