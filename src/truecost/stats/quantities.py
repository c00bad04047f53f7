"""What statements are about: runs → one number per unit (SIGNATURES FIRST)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from numpy.typing import ArrayLike

from truecost.arrays import BoolArray, FloatArray
from truecost.stats.random import Rng


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Runs:
    """Runs of one configuration in unit order: costs (n, R), NaN missing, and which failed (n, R).

    `failed`: every run that was not solved; False where there is no run. Costs of failed runs are
    not used where `Scale.cutoff` is known (the penalty is).
    """

    costs: FloatArray
    failed: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The range of costs; for running times the cutoff and the declared penalty `par`."""

    low: float = -math.inf
    high: float = math.inf
    cutoff: float | None = None
    par: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Numbers:
    """One number per unit and how to scale back; `decide` in the quantity's own units."""

    quantity: str
    values: FloatArray  # in [0, 1]; for the median speed-up the ratios themselves
    low: float          # what 0 stands for
    high: float         # what 1 stands for
    decide: float | None = None   # 0 for a difference, 0.5 for wins, 1 for speed-ups
    balanced: bool = False
    method: str = "betting"       # "betting" | "binomial" | "median"
    log: bool = False             # low, high are logarithms

    def by_family(self, families: ArrayLike) -> "Numbers":
        """Mean of the instances of each family (families in order of first appearance)."""
        raise NotImplementedError


class Limits(NamedTuple):
    """Observed value, and limits that each err with probability δ at most (own units)."""

    observed: float
    lower: float
    upper: float


def limits(
    numbers: Numbers,
    delta: float = 0.05,
    *,
    planned: int | None = None,
    watched: bool = False,
    rng: Rng = 0,
) -> Limits:
    """Guaranteed limits in the quantity's own units; lower >= decide / upper <= decide is proof."""
    raise NotImplementedError


# Each takes (winner, default, scale) or (runs, scale). Rows (units) where a side has no run: drop
# them before. `differences of cost` are winner − default: negative is good for the winner.
# Speed-ups and wins: large is good for the winner.
def mean(runs: Runs, scale: Scale, penalty: float | None = None) -> Numbers: ...  # type: ignore[empty-body]
def difference(winner: Runs, default: Runs, scale: Scale, penalty: float | None = None) -> Numbers: ...  # type: ignore[empty-body]
def wins(winner: Runs, default: Runs, scale: Scale) -> Numbers: ...  # type: ignore[empty-body]
def solved(runs: Runs, scale: Scale) -> Numbers: ...  # type: ignore[empty-body]
def solved_difference(winner: Runs, default: Runs, scale: Scale) -> Numbers: ...  # type: ignore[empty-body]
def median_speed_up(winner: Runs, default: Runs, scale: Scale, clock: float = 0.01) -> Numbers: ...  # type: ignore[empty-body]
def geometric_speed_up(winner: Runs, default: Runs, scale: Scale) -> Numbers: ...  # type: ignore[empty-body]
def margin(winner: Runs, default: Runs, scale: Scale, share: float) -> Numbers:  # type: ignore[empty-body]
    """(1 + share)·default − winner: lower >= 0 proves "at most share·100 % worse"."""


# ladder.py: PenaltyRanges(tried, better, worse) ; penalty_ranges(winner, default, scale, delta, *,
#   families=None, planned=None, watched=False, rng=0) — better/worse: (lowest, highest) | None.
# grouping.py: alike(values (variables, n), groupings: name -> labels, rng) -> Alike | None (.significant)
