"""What statements are about: each quantity says how runs become numbers, one per sampling unit.

A quantity has a name; whether it compares two configurations, and then the value at which both are
`even`; the side of the limit that is worth stating; and what it makes of a sample: the mean, the
quantile or the ratio of numbers that are safe for a limit of that side
(`truecost.stats.inversion`).
Where a sample cannot say anything of it, it has a reason instead. To add one, add it here, to
`ALONE` or `PAIRED` too, and its words to `truecost.show`.

| quantity | value | number of a unit |
| --- | --- | --- |
| mean | E[cost] | mean cost of its runs |
| difference | u(first) − u(second) | difference of mean costs |
| ratio of means | u(second)/u(first) | r · first − second, for every r |
| solved share | P(solved) | share of its runs that are solved |
| difference of solved shares | P(first solved) − P(second solved) | difference of those shares |
| wins | P(first < second) + ½ P(tie) | share of its pairs of runs, ties half |
| quantile | inf{t : P(cost ≤ t) ≥ p} | share of its runs that cost at most t, for every t |
| speed-up | the median of second/first | share of its pairs that are at least r, for every r |
| utility | E[utility] | mean utility of its runs |

Wins and speed-ups compare runs with independent seeds; where two configurations were run with the
same seeds, pairs with one seed are left out, and with one run each the quantity is about runs with
the same seed (`Sample.pairs`). In both a failed run loses against every solved one and ties with
every other failed one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.stats.inversion import MeanOf, QuantileOf, RatioOf
from truecost.stats.sample import Ends, Sample, Side, opposite
from truecost.stats.utility import Utility
from truecost.stats.variance import run_means


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantity:
    """What a statement is about.

    Attributes
    ----------
    name
        What it is called, in JSON too.
    side
        The side worth stating: "lower", at least, or "upper", at most.
    numbers
        What a limit of a side is made from, of a sample.
    even
        Of two configurations: the value for two equal ones; None of one alone.
    refusal
        Why a sample says nothing of it; None where it does.
    pairs
        Whether it compares single runs of two configurations.
    show
        What `plan` takes to forecast it, with a value as an example unless `even` is meant; empty
        where it is not forecast.
    """

    name: str
    side: Side
    numbers: Callable[[Sample, Side], MeanOf | QuantileOf | RatioOf]
    even: float | None = None
    refusal: Callable[[Sample], str | None] = lambda sample: None  # noqa: ARG005
    pairs: bool = False
    show: str = ""


# ---- how runs become numbers ---------------------------------------------------------------------


def _means(sample: Sample, side: Side) -> MeanOf:
    low, high = sample.low, sample.high
    values = np.clip((sample.means(0, side) - low) / (high - low), 0, 1)
    # The binomial limit needs no order, of which sorted zeros and ones leave nothing to chance.
    binary = sample.zero_one and sample.single
    return MeanOf(values=values, low=low, high=high, binary=binary)


def _differences(sample: Sample, side: Side) -> MeanOf:
    width = sample.high - sample.low
    # What goes against the limit: one at its cap, the other charged the most.
    gaps = sample.means(0, side) - sample.means(1, opposite(side))
    values = np.clip((gaps + width) / (2 * width), 0, 1)
    return MeanOf(values=values, low=-width, high=width, balanced=True)


def _ratios(sample: Sample, side: Side) -> RatioOf:
    # Least where the first is dear and the second cheap.
    first, second = sample.means(0, opposite(side)), sample.means(1, side)
    return RatioOf(first=first, second=second, low=float(sample.low), high=float(sample.high))


def _solved_shares(sample: Sample, side: Side) -> MeanOf:
    runs = _solved(sample)[0]
    return MeanOf(values=run_means(runs.pick(side))[0], binary=bool((runs.counts == 1).all()))


def _solved_differences(sample: Sample, side: Side) -> MeanOf:
    first, second = _solved(sample)
    gaps = run_means(first.pick(side))[0] - run_means(second.pick(opposite(side)))[0]
    return MeanOf(values=(gaps + 1) / 2, low=-1, high=1, balanced=True)


def _wins(sample: Sample, side: Side) -> MeanOf:
    return MeanOf(values=win_shares(sample).pick(side)[:, 0])


# ---- why a sample says nothing -------------------------------------------------------------------


def _range_unknown(what: str) -> Callable[[Sample], str | None]:
    reason = f"limits of {what} need the metric's possible range (`low` and `high`)"
    return lambda sample: None if math.isfinite(sample.high - sample.low) else reason


def _no_ratio(sample: Sample) -> str | None:
    if sample.utility:
        return "ratios of utilities have no meaning"
    if not (sample.low >= 0 and math.isfinite(sample.high)):
        return "limits of a ratio of means need a cost range from 0 or more (`low` and `high`)"
    # Only monotone methods hold then, and there is none for ratios.
    return "runs were stopped early, and nothing says by what" if sample.monotone else None


def _solved_unknown(sample: Sample) -> str | None:
    return "nothing says which runs were solved" if sample.solved is None else None


def _not_times(sample: Sample) -> str | None:
    return None if sample.timed and not sample.utility else "costs are not running times"


def _utility(sample: Sample) -> str | None:
    return "of a utility the mean says most" if sample.utility else None


# ---- the quantities ------------------------------------------------------------------------------

# The side worth stating is the bad news: a cost at most, a share at least.
MEAN: Final = Quantity(name="mean", side="upper", numbers=_means, refusal=_range_unknown("a mean"))
DIFFERENCE: Final = Quantity(
    name="difference",
    side="upper",
    even=0.0,
    numbers=_differences,
    refusal=_range_unknown("a difference of means"),
    show="mean",
)
RATIO: Final = Quantity(
    name="ratio of means", side="lower", even=1.0, numbers=_ratios, refusal=_no_ratio
)
SOLVED: Final = Quantity(
    name="solved share",
    side="lower",
    numbers=_solved_shares,
    refusal=_solved_unknown,
    show="solved=0.95",
)
SOLVED_DIFFERENCE: Final = Quantity(
    name="difference of solved shares",
    side="lower",
    even=0.0,
    numbers=_solved_differences,
    refusal=_solved_unknown,
    show="solved-more",
)
WINS: Final = Quantity(name="wins", side="lower", even=0.5, numbers=_wins, pairs=True, show="wins")


def quantile(share: float, name: str = "quantile") -> Quantity:
    """The cost that a run on a new instance with a new seed keeps to with probability `share`."""

    def numbers(sample: Sample, side: Side) -> QuantileOf:
        return QuantileOf(values=sample.times[0].pick(side), share=share)

    return Quantity(name=name, side="upper", numbers=numbers, refusal=_utility)


def speed_up(share: float = 0.5, resolution: float = 0.01) -> Quantity:
    """How many times faster the first is than the second: the median, or another quantile, of
    second/first over instance and seeds.
    """

    def numbers(sample: Sample, side: Side) -> QuantileOf:
        return QuantileOf(values=time_ratios(sample, resolution).pick(side), share=share)

    return Quantity(
        name="speed-up",
        side="lower",
        even=1.0,
        numbers=numbers,
        refusal=_not_times,
        pairs=True,
        show="speed-up=1.5",
    )


def mean_utility(utility: Utility) -> Quantity:
    """The expected utility of the running time of a run on a new instance with a new seed."""

    def numbers(sample: Sample, side: Side) -> MeanOf:
        worth = sample.times[0].map(utility.of)
        binary = utility.kind == "step" and bool((worth.counts == 1).all())
        return MeanOf(values=run_means(worth.pick(side))[0], binary=binary)

    return Quantity(name="utility", side="lower", numbers=numbers, refusal=_not_times)


SPEED_UP: Final = speed_up()
# What is stated of one configuration, and of one against the default, in the order of the table.
ALONE: Final = (MEAN, SOLVED, quantile(0.5, "median"), quantile(0.9, "90th percentile"))
PAIRED: Final = (WINS, SPEED_UP, SOLVED_DIFFERENCE, RATIO, DIFFERENCE)
SHOWABLE: Final = {
    quantity.show.partition("=")[0]: quantity for quantity in (*PAIRED, *ALONE) if quantity.show
}


def win_shares(sample: Sample) -> Ends:
    """(n, 1): of each unit the share of `pairs` of runs in which the first costs less, ties half.

    The lower ends are the wins that are sure, the upper ones those possible.
    """
    (first, second), pairs = sample.ranks, sample.pairs

    def shares(our_ends: FloatArray, their_ends: FloatArray, unknown: float) -> FloatArray:
        ours, theirs = our_ends[:, :, np.newaxis], their_ends[:, np.newaxis]
        points = np.where(pairs, (ours < theirs) + 0.5 * (ours == theirs), 0.0).sum(axis=(1, 2))
        counts = pairs.sum(axis=(1, 2))
        return np.where(counts, points / np.maximum(counts, 1), unknown)[:, np.newaxis]

    sure = shares(first.upper, second.lower, 0.0)
    if not (first.censored or second.censored) and pairs.any(axis=(1, 2)).all():
        return Ends(lower=sure, upper=sure)
    return Ends(lower=sure, upper=shares(first.lower, second.upper, 1.0))


def time_ratios(sample: Sample, resolution: float) -> Ends:
    """Second over first, of the `pairs` of runs of each unit: (n, pairs).

    Of two that `failed`, or took infinitely long, it is 1. A timeout of the first alone makes it 0
    for sure, one of the second leaves it at least the cutoff over the first; of two that were
    stopped nothing is known.
    Times below the resolution of the clock count as the resolution.
    """
    if not 0 < resolution < math.inf:
        raise InputError(f"Expected the clock's resolution to be above 0, got {resolution}.")
    (first, second), pairs = sample.times, sample.pairs
    one, two = (ends.map(lambda end: np.maximum(end, resolution)) for ends in (first, second))
    lost = [np.isinf(first.lower), np.isinf(second.lower)]
    if sample.failed is not None:
        lost = [endless | mask for endless, mask in zip(lost, sample.failed, strict=True)]
    tied = lost[0][:, :, np.newaxis] & lost[1][:, np.newaxis]
    # A unit without a pair keeps one of which nothing is known.
    empty = ~pairs.any(axis=(1, 2))
    ends = []
    for above, below, unknown in ((two.lower, one.upper, 0.0), (two.upper, one.lower, np.inf)):
        with np.errstate(invalid="ignore"):
            ratios = above[:, np.newaxis] / below[:, :, np.newaxis]
        ratios = np.where(tied, 1.0, np.where(np.isnan(ratios), unknown, ratios))
        ratios = np.where(pairs, ratios, np.nan)
        ratios[empty, 0, 0] = unknown
        ends.append(ratios.reshape(len(ratios), -1))
    return Ends(lower=ends[0], upper=ends[1])


def _solved(sample: Sample) -> tuple[Ends, ...]:
    if sample.solved is None:
        raise InputError("Expected a sample that says which runs were solved.")
    for ends in sample.solved:
        for end in (ends.lower, ends.upper):
            if not ((end == 0) | (end == 1) | np.isnan(end)).all():
                raise InputError(
                    "Expected runs as 1 where solved and 0 where not; within(times, limit) makes "
                    "them from times."
                )
    return sample.solved
