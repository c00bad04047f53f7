"""At which penalties of a failed run the winner is proven better, or worse.

The difference of means is linear in the penalty k: D(k) = A + B·k. So the penalties at which
"better" is false form an interval that touches one end. The test starts at k = 2, fixed beforehand,
and goes outward on both sides, each step with all of δ, stopping on each side at the first penalty
that is not proven. If "better" is false at 2, an error needs the rejection at 2; if not, all false
penalties lie on one side, and an error needs the rejection of the nearest. Either is one fixed
number, so the chance of an error is δ per direction without a further correction. k = ∞ is the
difference of unsolved shares, the limit of D(k)/k.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from truecost.stats import exact
from truecost.stats.betting import proves_above
from truecost.stats.quantities import (
    Numbers,
    Runs,
    Scale,
    difference,
    solved_difference,
)
from truecost.stats.random import Rng

# The competitions' measure; steps towards 1; and steps to the declared penalty.
START = 2.0
INWARD = (1.5, 1.0)
OUTWARD = (3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 50.0, 75.0, 100.0, 200.0, 500.0, 1000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PenaltyRanges:
    """The lowest and the highest penalty at which a direction is proven, all between included; None
    where it is at none. `tried` are all penalties that were tested.
    """

    tried: tuple[float, ...]
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
    watched: bool = False,
    rng: Rng = 0,
) -> PenaltyRanges:
    """Test the difference of means at penalty 2 first and then outward, in both directions.

    Parameters
    ----------
    winner, default, scale
        Runs on the same instances; the scale has a cutoff and a declared penalty above 2.
    delta
        The chance of an error in each direction.
    families
        Of each instance, where families are the units.
    planned, watched, rng
        As in `truecost.stats.betting.lower`.
    """
    made: dict[float, Numbers] = {}
    tried: list[float] = []

    def numbers_at(penalty: float) -> Numbers:
        if penalty not in made:
            if math.isinf(penalty):
                # The share that is not solved, so that small is good as for costs.
                numbers = solved_difference(default, winner, scale)
            else:
                numbers = difference(winner, default, scale, penalty)
            made[penalty] = numbers if families is None else numbers.by_family(families)
            tried.append(penalty)
        return made[penalty]

    def proven(penalty: float, sign: int) -> bool:
        numbers = numbers_at(penalty)
        values = numbers.values if sign > 0 else 1 - numbers.values
        if numbers.method == "signs" and not watched:
            return exact.signs_lower(values, delta, rng) >= 0.5
        how = {"planned": planned, "watched": watched, "balanced": True, "rng": rng}
        return proves_above(values, 0.5, delta, **how)  # type: ignore[arg-type]

    declared = scale.par if scale.par is not None else START
    steps = (*(k for k in OUTWARD if k < declared), declared, math.inf)
    better = climb(lambda penalty: proven(penalty, -1), steps)
    worse = climb(lambda penalty: proven(penalty, 1), steps)
    return PenaltyRanges(tried=tuple(sorted(tried)), better=better, worse=worse)


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
