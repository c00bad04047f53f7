"""Approximate intervals for means (SIGNATURES FIRST)."""

from dataclasses import dataclass

from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximate:
    """A two-sided interval that errs with about δ, or the reason why there is none.

    Where runs cannot fail it is the hull of the t interval and Hall's, so "probably" is always
    "the interval excludes 0".
    """

    observed: float
    lower: float   # NaN with a reason
    upper: float
    delta: float   # after Bonferroni
    reason: str    # "" where there is an interval

    def excludes(self, value: float = 0.0) -> int:
        """1: interval above value, −1: below, 0: contains it or there is none."""
        raise NotImplementedError


def t_interval(x: ArrayLike, delta: float = 0.05) -> tuple[float, float]:
    """Two-sided 1 − δ t interval of the mean."""
    raise NotImplementedError


def hall_interval(x: ArrayLike, delta: float = 0.05) -> tuple[float, float]:
    """Two-sided 1 − δ interval from Hall's skewness-corrected t statistic."""
    raise NotImplementedError


def probably(
    differences: ArrayLike,
    delta: float = 0.05,
    *,
    discordant: int | None,
    candidates: int = 1,
) -> Approximate:
    """The rule of the grades "probably": `differences` of costs, one per unit, in cost units;
    `discordant`: units whose failure shares differ, None where the metric has no failures;
    `candidates`: Bonferroni divisor.
    """
    raise NotImplementedError
