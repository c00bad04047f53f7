"""At which penalties of a failed run the winner is proven better, or worse.

The difference of means is linear in the penalty k: D(k) = A + B·k. So the penalties at which
"better" is false form an interval that touches one end. The test starts at k = 2, fixed beforehand,
and goes outward on both sides, each step with all of δ, stopping on each side at the first penalty
that is not proven. If "better" is false at 2, an error needs the rejection at 2; if not, all false
penalties lie on one side, and an error needs the rejection of the nearest that is tested there.
Either is one fixed number, so the probability of an error is at most δ per direction without a
further correction. k = ∞ is the difference of unsolved shares, the limit of D(k)/k.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from truecost.stats.quantities import Limits, Runs, Scale, difference, limits, solved_difference
from truecost.stats.random import Rng

# The competitions' measure; steps towards 1; and steps to the declared penalty.
START = 2.0
INWARD = (1.5, 1.0)
OUTWARD = (3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 50.0, 75.0, 100.0, 200.0, 500.0, 1000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PenaltyRanges:
    """The lowest and the highest penalty at which a direction is proven, all between included; None
    where it is at none. `limits` of the difference at the declared penalty and at all others that
    were tested, which say no more than what is proven there.
    """

    limits: Mapping[float, Limits]
    better: tuple[float, float] | None
    worse: tuple[float, float] | None


def has_ladder(scale: Scale) -> bool:
    """Whether several penalties are tested: costs without one, PAR1 and PAR2 have one statement."""
    return scale.cutoff is not None and scale.par is not None and scale.par > START


def penalty_ranges(
    winner: Runs,
    default: Runs,
    scale: Scale,
    delta: float = 0.05,
    *,
    families: Sequence[object] | None = None,
    planned: int | None = None,
    one_look: bool = False,
    rng: Rng = 0,
) -> PenaltyRanges:
    """Test the difference of means at penalty 2 first and then outward, in both directions.

    Parameters
    ----------
    winner, default, scale
        Runs on the same instances; the scale has a cutoff and a declared penalty above 2.
    delta
        The probability of an error in each direction, at most.
    families
        Of each instance, where families are the units.
    planned, one_look, rng
        As in `truecost.stats.quantities.limits`.
    """
    tested: dict[float, Limits] = {}

    def test(penalty: float) -> Limits:
        if penalty not in tested:
            # The unsolved shares, so that small is good as for costs.
            numbers = (
                solved_difference(default, winner)
                if math.isinf(penalty)
                else difference(winner, default, scale, penalty)
            )
            if families is not None:
                numbers = numbers.by_family(families)
            tested[penalty] = limits(numbers, delta, planned=planned, one_look=one_look, rng=rng)
        return tested[penalty]

    declared = scale.par or START
    outward = (*(k for k in OUTWARD if k < declared), declared, math.inf)
    # Of several looks one may have proven better and another worse.
    better = climb(lambda penalty: test(penalty).upper <= 0, outward)
    worse = climb(lambda penalty: test(penalty).lower >= 0, outward)
    test(declared)
    ends = {
        penalty: _clipped(tested[penalty], _within(penalty, worse) - _within(penalty, better))
        for penalty in sorted(tested)
    }
    return PenaltyRanges(limits=ends, better=better, worse=worse)


def _within(penalty: float, ends: tuple[float, float] | None) -> bool:
    return ends is not None and ends[0] <= penalty <= ends[1]


def _clipped(ends: Limits, direction: int) -> Limits:
    """The limits, beyond 0 only in the direction that is proven."""
    lower = max(ends.lower, 0.0) if direction > 0 else min(ends.lower, 0.0)
    upper = min(ends.upper, 0.0) if direction < 0 else max(ends.upper, 0.0)
    return Limits(ends.observed, lower, upper, direction)


def climb(
    proven: Callable[[float], bool], outward: Sequence[float], inward: Sequence[float] = INWARD
) -> tuple[float, float] | None:
    """The lowest and the highest penalty that is proven, from `START` outward on both sides."""
    if not proven(START):
        return None
    ends = []
    for side in (inward, outward):
        last = START
        for penalty in side:
            if not proven(penalty):
                break
            last = penalty
        ends.append(last)
    return ends[0], ends[1]
