"""What choosing adds to a training cost (SIGNATURES FIRST)."""

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from truecost.arrays import FloatArray
from truecost.stats.random import Rng


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Mean held-out − training cost of what a half of the units chooses, carried over to all units.

    `error`: positive says training costs of the chosen look too good (paper's sign, true − training).
    `held_out`: cost on one half of the configuration chosen on the other.
    """

    error: float
    held_out: float
    splits: int
    exact: bool


def selection_error(
    means: FloatArray, *, splits: int = 1000, families: ArrayLike | None = None, rng: Rng = 0
) -> Selection | None:
    """From costs per configuration and instance (m, n), NaN missing; None with < 2 units."""
    raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The earlier incumbent that costs least on the test runs, against the final one."""

    place: int  # index into the rows given
    difference: float  # final − earlier, in cost units
    lower: float  # guaranteed, one-sided at δ/(k − 1) each; > 0 or = 0 proven when `proven`
    proven: bool


def earlier_incumbent(
    tests: Sequence[FloatArray], low: float, high: float, delta: float = 0.05, *, rng: Rng = 0
) -> Earlier | None:
    """`tests`: costs per unit (n,) of each incumbent in order of time, the last is final; NaN
    missing. None with fewer than two.
    """
    raise NotImplementedError
