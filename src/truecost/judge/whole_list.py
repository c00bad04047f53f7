"""What a list of configurations, fixed beforehand, shows as a whole: which may be the best, which
beat the default, which are beaten by it.

Each of the three sets holds with probability 1 − delta, without a further correction for the length
of the list (`truecost.stats.lists`). They are about mean costs.
"""

import math
from dataclasses import dataclass

import numpy as np

from truecost.errors import Refusal
from truecost.judge.costs import instance_means
from truecost.matrix import CostMatrix
from truecost.stats import lists

# Beyond this many, comparing every pair takes minutes.
MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeList:
    """The sets, as names in the order of the matrix.

    Attributes
    ----------
    may_be_best
        The truly best configuration of the list is among these.
    better, worse
        These have a lower, or higher, true cost than the default.
    configurations, units
        Those on the list, and the sampling units.
    delta
        The error probability of each of the three sets.
    best_share
        With probability 1 − delta, the truly best is among this share of the space's best. None
        unless the list, the default apart, was sampled at random from the space.
    condition
        An assumption of the sets that the log does not confirm; None if nothing.
    """

    may_be_best: tuple[str, ...]
    better: tuple[str, ...]
    worse: tuple[str, ...]
    configurations: int
    units: int
    delta: float
    best_share: float | None
    condition: str | None = None


def whole_list(
    units: CostMatrix,
    default: str | None,
    *,
    delta: float,
    rng: np.random.Generator,
    random: bool,
) -> WholeList | Refusal:
    """The sets of a list, from one look at runs of all of it on all units.

    Parameters
    ----------
    units
        Runs, one column for each sampling unit.
    default
        Whom the others are compared with; None leaves two sets empty.
    delta
        The error probability of each set.
    rng
        Draws the order of the units.
    random
        Whether the configurations, but for the default, were sampled at random from their space.
    """
    if not math.isfinite(units.width):
        return Refusal("comparing all mean costs needs the metric's possible range")
    if len(units.configurations) < 2 or len(units.configurations) > MOST:
        return Refusal(f"that takes a list of 2 to {MOST:,} configurations")
    means, known = instance_means(units)
    if not known.all():
        return Refusal("some configurations have no run on some instances")
    if units.censored.any():
        return Refusal("some runs were stopped at a cap, and what they cost is not known")
    # Bets are on numbers from 0 to 1; rounding must not leave that range.
    scaled = np.clip((means - units.low) / units.width, 0, 1)
    scaled = np.ascontiguousarray(scaled[:, rng.permutation(scaled.shape[1])])
    names = np.array(units.configurations, dtype=object)
    best = lists.may_be_best(scaled, delta)
    better = worse = np.zeros(len(names), np.bool_)
    if default is not None:
        others = np.flatnonzero(names != default)
        row = scaled[units.configurations.index(default)]
        better, worse = better.copy(), worse.copy()
        better[others] = lists.beat(scaled[others], row, delta)
        # The same bets on the other side: who costs more has a lower 1 − cost.
        worse[others] = lists.beat(1 - scaled[others], 1 - row, delta)
    drawn = len(names) - (default is not None)
    return WholeList(
        may_be_best=tuple(names[best].tolist()),
        better=tuple(names[better].tolist()),
        worse=tuple(names[worse].tolist()),
        configurations=len(names),
        units=scaled.shape[1],
        delta=delta,
        best_share=1 - delta ** (1 / drawn) if random and drawn else None,
    )
