"""Guaranteed limits of a mean by betting: numbers in [0, 1], one per unit (SIGNATURES FIRST)."""

from typing import Any

from numpy.typing import ArrayLike

from truecost.arrays import BoolArray, FloatArray
from truecost.stats.random import Rng


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
    """Lower limit of the mean, one-sided at δ; >= `decide` means "above `decide`" is proven.

    One look (default): capitals averaged over orders drawn from `rng`. `watched`: the order of x
    is the recorded order, looked at after every unit, first planned for `planned` units.
    """
    raise NotImplementedError


def upper(x: ArrayLike, delta: float = 0.05, **options: Any) -> float:
    """Upper limit: 1 − lower(1 − x), `decide` mirrored."""
    raise NotImplementedError


def proves_above(x: ArrayLike, value: float, delta: float = 0.05, **options: Any) -> bool:
    """lower(x, delta, decide=value, …) >= value, without looking for the limit above."""
    raise NotImplementedError


class Watch:
    """Limits after every unit: `Watch(delta, planned=…, balanced=…, decide=…)`."""

    def __init__(
        self,
        delta: float = 0.05,
        *,
        planned: int,
        balanced: bool = False,
        decide: float | None = None,
    ) -> None:
        raise NotImplementedError

    def add(self, number: float) -> tuple[float, float]:
        """(lower, upper), each one-sided at δ, after one more unit."""
        raise NotImplementedError


def best_set(x: FloatArray, delta: float = 0.05, *, rng: Rng = 0) -> BoolArray:
    """Which rows of x (m, n), costs in [0, 1] on common units (NaN missing), may have the least
    mean; the true best is among them with probability 1 − δ.
    """
    raise NotImplementedError
