"""Approximate intervals for means without a known range: paired t of the difference, Fieller's of
the ratio.

No guarantee: both take the mean of the instances' differences for normal. Right for many instances,
unless rare large costs were never seen; no look at the runs can tell. Bootstraps (studentised, BCa)
and empirical likelihood covered no better. Two conditions keep the worst cases out: 25 instances at
least; and where runs time out, discordant timeouts, those of exactly one of the two, on at least 5
instances and at most n − 5; for the ratio also timeouts of the first, the divisor, on 5. Without
them there is a reason instead of an interval. There is no other look that helps: samples that seem
clean are the ones that missed the rare timeout. bench/RESULTS.md has the measured coverage.

Examples
--------
>>> interval = tc.approximate.mean_difference(np.arange(30.0), np.arange(30.0) + 1)
>>> interval.observed
-1.0
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np
import scipy  # not scipy.special, which takes long: scipy loads it when first asked for
from numpy.typing import ArrayLike

from truecost.arrays import FloatArray
from truecost.errors import InputError, check_share
from truecost.stats.sample import Ends, Sample
from truecost.stats.variance import run_means

# With fewer, intervals held much less often than they say (bench/RESULTS.md).
FEWEST = 25
DISCORDANT = 5
# Standard deviations of log-costs from which on the intervals are much too short.
WIDE = 2.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Approximate:
    """Approximately, with probability about 1 − delta, lower ≤ true value ≤ upper; or the reason
    why that is not said.

    Attributes
    ----------
    quantity
        "difference of means" or "ratio of means".
    observed
        From the instance means; there whether an interval is or not.
    lower, upper
        Both NaN where there is a reason.
    reason
        Why there is no interval; empty where there is one.
    log_spread
        The standard deviation of the logarithms of the instance means, the larger of the two; NaN
        where costs may be 0 or less. From `WIDE` on, intervals hold in 64 to 88 % of samples only.
    """

    quantity: str
    observed: float
    lower: float
    upper: float
    delta: float
    instances: int
    reason: str
    log_spread: float = math.nan

    @property
    def too_wide(self) -> bool:
        """Whether log-costs spread so much that such intervals are too short."""
        return self.log_spread >= WIDE

    @property
    def what(self) -> str:
        """Deprecated: `quantity`."""
        warnings.warn("`what` is now `quantity`.", DeprecationWarning, stacklevel=2)
        return self.quantity

    @property
    def estimate(self) -> float:
        """Deprecated: `observed`."""
        warnings.warn("`estimate` is now `observed`.", DeprecationWarning, stacklevel=2)
        return self.observed


def mean_difference(
    first: ArrayLike,
    second: ArrayLike,
    delta: float = 0.05,
    *,
    timeouts: tuple[ArrayLike, ArrayLike] | None = None,
) -> Approximate:
    """u(first) − u(second) by the paired t interval of the differences of instance means,
    two-sided.

    Parameters
    ----------
    first, second
        Costs on the same instances in the same order, (n,) or (n, R), NaN where there is no run.
    delta
        About how often the interval is wrong.
    timeouts
        Where runs can time out: which runs of the first and of the second did, shaped as these.
    """
    ours, theirs, reason = _read(first, second, delta, timeouts)
    differences = ours - theirs
    half = math.nan if reason else _quantile(delta, ours.size) * _error(differences)
    estimate = float(differences.mean())
    ends = estimate - half, estimate + half
    return _made("difference of means", estimate, ends, delta, reason, ours, theirs)


def mean_ratio(
    first: ArrayLike,
    second: ArrayLike,
    delta: float = 0.05,
    *,
    timeouts: tuple[ArrayLike, ArrayLike] | None = None,
) -> Approximate:
    """u(second)/u(first) by Fieller's interval: the ratios r at which the t test does not reject
    r·u(first) = u(second).

    Parameters as in `mean_difference`; costs are not negative.
    """
    ours, theirs, reason = _read(first, second, delta, timeouts, divides=True)
    if (ours < 0).any() or (theirs < 0).any():
        raise InputError("Expected costs of 0 or more for a ratio.")
    a, b = float(ours.mean()), float(theirs.mean())
    ends = math.nan, math.nan
    if not reason:
        # r²·(a² − q·v_a) − 2r·(ab − q·c) + b² − q·v_b ≤ 0
        (v_a, c), (_, v_b) = np.cov(ours, theirs) / ours.size
        q = _quantile(delta, ours.size) ** 2
        square, linear, constant = a * a - q * v_a, a * b - q * c, b * b - q * v_b
        if square <= 0:
            reason = (
                "the mean cost of the first cannot be distinguished from 0, so every ratio is "
                "possible"
            )
        else:
            # Never below 0 but for rounding, which where all ratios are alike is all there is.
            root = math.sqrt(max(linear * linear - square * constant, 0.0))
            low, high = (linear - root) / square, (linear + root) / square
            ends = max(0.0, float(low)), max(0.0, float(high))
    ratio = b / a if a > 0 else math.nan
    return _made("ratio of means", ratio, ends, delta, reason, ours, theirs)


def _made(
    quantity: str,
    observed: float,
    ends: tuple[float, float],
    delta: float,
    reason: str,
    *means: FloatArray,
) -> Approximate:
    lower, upper = ends
    return Approximate(
        quantity=quantity,
        observed=observed,
        lower=lower,
        upper=upper,
        delta=delta,
        instances=means[0].size,
        reason=reason,
        log_spread=_log_spread(*means),
    )


def _log_spread(*means: FloatArray) -> float:
    """The larger standard deviation of log-costs; NaN where some are not positive."""
    if any(values.size < 2 or (values <= 0).any() for values in means):
        return math.nan
    return max(float(np.log(values).std(ddof=1)) for values in means)


def _read(
    first: ArrayLike,
    second: ArrayLike,
    delta: float,
    timeouts: tuple[ArrayLike, ArrayLike] | None,
    divides: bool = False,
) -> tuple[FloatArray, FloatArray, str]:
    """Instance means, and the reason against an interval; `divides` asks for timeouts of the first
    too, the divisor.
    """
    check_share(delta)
    costs = [ends.lower for ends in Sample.of(first, second).costs]
    if any(np.isinf(runs).any() for runs in costs):
        raise InputError("Expected finite costs; a timeout costs its penalty.")
    n, reason = len(costs[0]), ""
    if n < FEWEST:
        reason = f"{n} instances are too few; it takes {FEWEST}"
    elif timeouts is not None:
        shares = list(map(_timeout_shares, (first, second), timeouts))
        both = ~np.isnan(shares[0]) & ~np.isnan(shares[1])
        discordant = int((shares[0] != shares[1])[both].sum())
        if not DISCORDANT <= discordant <= n - DISCORDANT:
            reason = (
                f"exactly one of the two failed on {discordant} of {n} instances; it takes "
                f"{DISCORDANT} to {n - DISCORDANT} to know what failed runs add"
            )
        late = int((shares[0] > 0)[both].sum())
        if divides and not reason and late < DISCORDANT:
            reason = (
                f"the first failed on {late} of {n} instances; it takes {DISCORDANT} to know what "
                "it is divided by"
            )
    return run_means(costs[0])[0], run_means(costs[1])[0], reason


def _timeout_shares(costs: ArrayLike, which: ArrayLike) -> FloatArray:
    """Of each instance the share of its runs that timed out; NaN without runs."""
    runs = Ends.of(costs).lower
    mask = np.asarray(which, dtype=bool)
    if mask.size != runs.size:
        raise InputError(
            f"Expected timeouts to be shaped as the costs, got {mask.shape} and {runs.shape}."
        )
    shares, counts = run_means(np.where(np.isnan(runs), np.nan, mask.reshape(runs.shape)))
    return np.where(counts > 0, shares, np.nan)


def _quantile(delta: float, n: int) -> float:
    # By the lower tail, half of delta: 1 − delta/2 is 1 where delta is small.
    return -float(scipy.special.stdtrit(n - 1, delta / 2))


def _error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / math.sqrt(values.size))
