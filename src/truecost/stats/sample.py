"""Costs as a sample of instances: checked, averaged over the runs of each instance, and scaled to
[0, 1].
"""

import math
from typing import Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.errors import InputError
from truecost.matrix import CostMatrix

FloatArray = NDArray[np.float64]
Side = Literal["both", "upper", "lower"]


class Sample(NamedTuple):
    """Instance means (M, P), NaN where there is no run; `single` if they came without an axis of
    configurations.
    """

    means: FloatArray
    single: bool
    low: float
    high: float

    @classmethod
    def of(cls, costs: ArrayLike | CostMatrix, low: float | None, high: float | None) -> Self:
        """Of costs shaped as in `truecost.confidence.upper`."""
        if isinstance(costs, CostMatrix):
            low, high = costs.low if low is None else low, costs.high if high is None else high
            costs, dimensions = costs.exact_costs(), 3
        else:
            try:
                costs = np.asarray(costs, dtype=np.float64)
            except (TypeError, ValueError):
                raise InputError(
                    "Expected costs as numbers, (P,), (P, R) or (M, P, R), NaN where a run is not there."
                ) from None
            dimensions = costs.ndim
        if low is None or high is None:
            raise InputError(
                "Expected low and high, the least and the largest cost a run can have; only a CostMatrix brings its own."
            )
        if not (low < high and math.isfinite(high - low)):
            raise InputError(
                f"Expected a finite cost range with low < high, got low {low:g} and high {high:g}."
            )
        if dimensions not in (1, 2, 3):
            raise InputError(
                f"Expected costs as (P,), (P, R) or (M, P, R), got {dimensions} dimensions."
            )
        runs = costs.reshape({1: (1, -1, 1), 2: (1, *costs.shape), 3: costs.shape}[dimensions])
        if np.isnan(runs).all():
            raise InputError("Expected at least one run, got none.")
        least, most = np.nanmin(runs), np.nanmax(runs)
        # Half a digit of single precision: costs that were `low` or `high` before a file rounded
        # them.
        slack = 2.0**-23 * max(abs(low), abs(high))
        if least < low - slack or most > high + slack:
            raise InputError(
                f"Expected costs in [{low:g}, {high:g}], got costs from {least:g} to {most:g}."
            )
        sums, counts = np.zeros(runs.shape[:2]), np.zeros(runs.shape[:2])
        for run in range(runs.shape[2]):
            there = ~np.isnan(runs[:, :, run])
            sums += np.where(there, runs[:, :, run], 0)
            counts += there
        with np.errstate(invalid="ignore"):
            means = sums / counts
        return cls(np.clip(means, low, high), dimensions < 3, float(low), float(high))

    @classmethod
    def of_pairs(
        cls,
        first: ArrayLike | CostMatrix,
        second: ArrayLike | CostMatrix,
        low: float | None,
        high: float | None,
    ) -> Self:
        """Of the differences of instance means, in [low − high, high − low]; NaN where one of the
        two has no run.
        """
        one, two = cls.of(first, low, high), cls.of(second, low, high)
        if (one.low, one.high) != (two.low, two.high):
            raise InputError(
                f"Expected both cost ranges to be one, got [{one.low:g}, {one.high:g}] and [{two.low:g}, {two.high:g}]."
            )
        if (
            isinstance(first, CostMatrix)
            and isinstance(second, CostMatrix)
            and first.instances != second.instances
        ):
            raise InputError(
                "Expected both matrices to have the same instances in the same order; select(instances=...) does it."
            )
        (m_1, p_1), (m_2, p_2) = one.means.shape, two.means.shape
        if p_1 != p_2 or (m_1 != m_2 and 1 not in (m_1, m_2)):
            raise InputError(
                f"Expected the same instances, and as many configurations or one, got {m_1} configurations on {p_1} "
                f"instances and {m_2} on {p_2}."
            )
        width = one.high - one.low
        pairs = cls(one.means - two.means, one.single and two.single, -width, width)
        if np.isnan(pairs.means).all():
            raise InputError("Expected at least one instance on which both have runs, got none.")
        return pairs

    def scaled(self) -> FloatArray:
        """The means in [0, 1]."""
        return np.clip((self.means - self.low) / (self.high - self.low), 0, 1)

    def target(self, delta: float, side: Side, configurations: int | None) -> tuple[int, float]:
        """m, and what the capital against one end must reach: 1 over the part of delta that this
        end has.
        """
        if not 0 < delta < 1:
            raise InputError(f"Expected delta between 0 and 1, got {delta}.")
        if side not in get_args(Side):
            raise InputError(
                f"Expected side to be one of {', '.join(get_args(Side))}, got {side!r}."
            )
        m = len(self.means) if configurations is None else checked_number(configurations)
        parts = m * (2 if side == "both" else 1)
        if delta / parts < 1e-290:
            raise InputError(
                f"Expected delta over the number of limits to be 1e-290 at least, got {delta} over {parts}."
            )
        return m, parts / delta


def checked_number(configurations: int) -> int:
    """How many configurations share delta: a whole number of 1 or more."""
    if not (
        configurations >= 1
        and math.isfinite(configurations)
        and configurations == int(configurations)
    ):
        raise InputError(
            f"Expected configurations to be a whole number of at least 1, got {configurations}."
        )
    return int(configurations)
