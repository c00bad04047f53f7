"""Exponential inequalities behind the bounds, arrays in, arrays out; the lemmas; and the checks
of what comes in.

Λ = ln(m/δ), N runs, n the largest count, C the width of the cost range, b = nC, V = Nτ² the
variance of Σ X_i.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError, check_choice, check_share
from truecost.stats.allocation import SIZES, AllocationSizes, Sizes
from truecost.stats.variance import VarianceComponents

# From the tightest to the loosest.
FORMS = ("bennett", "sub-gamma", "bernstein", "printed")


class Ball(NamedTuple):
    """What Theorem 3 is about: configurations in a ball of R^h, with Lipschitz costs.

    `log_inverse` is ln(1/δ), `dimension` h, and `reach` = R·L_f.
    """

    allocation: Sizes
    tau_squared: FloatArray
    width: float
    log_inverse: float
    dimension: int
    reach: float


def epsilon_at(
    log_term: ArrayLike, allocation: Sizes, tau_squared: FloatArray, width: ArrayLike, form: str
) -> FloatArray:
    """ε at Λ = log_term."""
    check_choice("form", form, FORMS)
    lam, runs = (np.asarray(values, dtype=np.float64) for values in (log_term, allocation.runs))
    reach = np.asarray(allocation.largest) * np.asarray(width, dtype=np.float64)
    if form == "bennett":
        return _bennett_epsilon(lam, runs, runs * tau_squared, reach)
    if form == "bernstein":
        linear = 2 * reach * lam / 3
        # The square of a very wide range alone would overflow.
        return (linear + np.hypot(linear, np.sqrt(8 * runs * tau_squared * lam))) / (2 * runs)
    twice = 2 if form == "printed" else 1
    return twice * reach * lam / (3 * runs) + np.sqrt(2 * tau_squared * lam / runs)


def exponent_at(
    epsilon: FloatArray, allocation: Sizes, tau_squared: FloatArray, width: float, form: str
) -> FloatArray:
    """Λ at which `epsilon_at` is epsilon."""
    check_choice("form", form, FORMS)
    runs = np.asarray(allocation.runs, dtype=np.float64)
    reach = np.asarray(allocation.largest) * width
    if form == "bennett":
        variance = runs * tau_squared
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            x = reach * runs * epsilon / variance
            # The same as V/b²·h(x), by a form that does not overflow where x is large.
            large = runs * epsilon / reach * ((1 + 1 / x) * np.log1p(x) - 1)
            exponent = np.where(x < 1, variance / reach**2 * _h(x), large)
        # As in `_bennett_epsilon`: where a variance next to nothing leaves the range of floats, the
        # looser form stands in.
        looser = exponent_at(epsilon, allocation, tau_squared, width, "sub-gamma")
        exponent = np.where(np.isfinite(exponent), exponent, looser)
        return np.where(variance > 0, exponent, np.inf)
    if form == "bernstein":
        return np.asarray(runs * epsilon**2 / (2 * tau_squared + 2 * reach * epsilon / 3))
    linear = reach / (3 * runs) * (2 if form == "printed" else 1)
    root = 2 * tau_squared / runs
    return np.asarray((2 * epsilon / (np.sqrt(root) + np.sqrt(root + 4 * linear * epsilon))) ** 2)


def _bennett_epsilon(
    lam: FloatArray, runs: FloatArray, variance: FloatArray, reach: FloatArray
) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = lam * reach**2 / variance
        epsilon = variance / (reach * runs) * _h_inverse(y)
    # Never above its upper limit, and that limit itself where a variance next to nothing leaves the
    # range of floats.
    epsilon = np.fmin(epsilon, reach * lam / (3 * runs) + np.sqrt(2 * variance * lam) / runs)
    # Without variance u = û; without reach there is nothing to vary.
    return np.where((variance > 0) & (reach > 0), epsilon, 0.0)


def _h(x: FloatArray) -> FloatArray:
    """(1+x)·ln(1+x) − x, by its series where the difference would lose digits."""
    series = x * x * (1 / 2 - x * (1 / 6 - x * (1 / 12 - x * (1 / 20 - x / 30))))
    return np.where(x < 1e-3, series, (1 + x) * np.log1p(x) - x)


def _h_inverse(y: FloatArray) -> FloatArray:
    """The x ≥ 0 with _h(x) = y: Newton from above, which a convex function never lets fall below
    the root.
    """
    # Above the root, since h(x) ≥ 9·h₁(x/3) with h₁(u) = 1 + u − √(1 + 2u).
    x = np.asarray(y / 3 + np.sqrt(2 * y))
    # Newton doubles the digits with each step; a hundred are never needed.
    for _ in range(100):
        step = (_h(x) - y) / np.log1p(x)
        step = np.where(np.isfinite(step) & (step > 0), step, 0)
        x = x - step
        if (step <= 1e-15 * x).all():
            break
    return x


def solved_epsilon(ball: Ball) -> FloatArray:
    """The root of h·ln(1 + 8·R·L_f/ε) + ln(1/δ) = Nε²/(8τ² + 4nCε/3): one side falls, one grows."""
    allocation, tau_squared, width, log_inverse, dimension, reach = ball
    runs = np.asarray(allocation.runs, dtype=np.float64)
    largest = np.asarray(allocation.largest)

    def too_small(epsilon: FloatArray) -> BoolArray:
        gain = runs * epsilon**2 / (8 * tau_squared + 4 * largest * width * epsilon / 3)
        return np.asarray(dimension * np.log1p(8 * reach / epsilon) + log_inverse > gain)

    shape = np.broadcast_shapes(runs.shape, np.shape(tau_squared))
    high = np.full(shape, width)
    # One side falls and the other grows without limit, so doubling ends.
    while (again := too_small(high)).any():
        high = np.where(again, 2 * high, high)
    # Halving on the logarithmic scale, from 10^-12 of the width on; the upper end is the valid one.
    low = np.minimum(np.full(shape, 1e-12 * width), high)
    for _ in range(100):
        middle = np.sqrt(low * high)
        small = too_small(middle)
        low, high = np.where(small, middle, low), np.where(small, high, middle)
    return high


def cover_epsilon(ball: Ball) -> FloatArray:
    """The least 2η + ε of Bennett at Λ = h·ln(1 + 2·R·L_f/η) + ln(1/δ) over cover radii η in cost
    units.
    """
    allocation, tau_squared, width, log_inverse, dimension, reach = ball
    terms = (allocation.runs, allocation.largest, tau_squared)
    runs, largest, tau = np.broadcast_arrays(*(np.asarray(term)[..., np.newaxis] for term in terms))

    def at(eta: FloatArray) -> FloatArray:
        lam = dimension * np.log1p(2 * reach / eta) + log_inverse
        return 2 * eta + _bennett_epsilon(lam, runs.astype(float), runs * tau, largest * width)

    # η depends on nothing seen, so that the best of any grid is valid; finer grids around the best
    # only tighten it.
    shape = runs.shape[:-1]
    least = max(1e-9 * min(width, reach), 1e-300, 1e-300 * reach)  # reach/η does not overflow
    low = np.full((*shape, 1), math.log(least))
    high = np.full((*shape, 1), math.log(max(width, reach)))
    best = np.full(shape, np.inf)
    # Each round narrows the grid to two of its 64 steps: four come to 10^-6 of the range.
    for _ in range(4):
        grid = low + (high - low) * np.linspace(0, 1, 65)
        values = at(np.exp(grid))
        where = values.argmin(axis=-1)[..., np.newaxis]
        best = np.minimum(best, np.take_along_axis(values, where, axis=-1)[..., 0])
        step = (high - low) / 64
        centre = np.take_along_axis(grid, where, axis=-1)
        low, high = centre - step, centre + step
    return best


def printed_epsilon(ball: Ball) -> tuple[FloatArray, str]:
    """Theorem 3 as printed, and what of the conditions for it to hold is broken."""
    allocation, tau_squared, width, log_inverse, dimension, reach = ball
    runs = np.asarray(allocation.runs, dtype=np.float64)
    scale = 8 * tau_squared + 4 * np.asarray(allocation.largest) * width / 3
    rate = runs / scale
    inside = dimension * math.log(12 * reach) + log_inverse + dimension / 2 * np.log(rate)
    with np.errstate(invalid="ignore"):
        epsilon = np.sqrt(inside / rate)
    broken = []
    if width > 1:
        broken.append(f"costs of width {width:g} instead of at most 1")
    if (rate < 1).any():
        broken.append("N/(8τ² + 4nC/3) below 1")
    if dimension * math.log(12 * reach) < 1:
        broken.append("h·ln(12·R·L_f) below 1")
    caveat = f"Theorem 3 as printed does not hold here: {', '.join(broken)}" if broken else ""
    return epsilon, caveat


def log_covering_number(
    *,
    dimension: int,
    radius: float,
    eta: ArrayLike,
    lipschitz: float = 1.0,
    form: Literal["corrected", "printed"] = "corrected",
) -> FloatArray:
    """Lemmas 5 and 6: ln of how many configurations come within eta, in cost units, of every one in
    the ball.

    "corrected" is h·ln(1 + 2·R·L_f/η), valid for every η and for covers inside any subset of the
    ball. "printed" is h·ln(3·R·L_f/η), which is negative for η > 3·R·L_f and not valid for subsets.
    """
    check_space(dimension, radius, lipschitz)
    check_choice("form", form, ("corrected", "printed"))
    if not (np.asarray(eta) > 0).all():
        raise InputError(f"Expected a cover radius above 0, got {eta!r}.")
    ratio = radius * lipschitz / np.asarray(eta, dtype=np.float64)
    return dimension * (np.log(3 * ratio) if form == "printed" else np.log1p(2 * ratio))


def power_log_solution(*, k: float, l: float, b: float, c: float) -> float:
    """Lemma 7: an ε with l·ε^k + b·ln ε ≥ c, for positive constants."""
    if min(k, l, b, c) <= 0:
        raise InputError(
            f"Expected positive constants, got k = {k:g}, l = {l:g}, b = {b:g}, c = {c:g}."
        )
    return float(((c + b * max(math.log(l) - math.log(c), 0) / k) / l) ** (1 / k))


def check_space(dimension: int, radius: float, lipschitz: float) -> None:
    """Refuse a ball or a Lipschitz constant that are none."""
    if not dimension >= 1:
        raise InputError(f"Expected a dimension of at least 1, got {dimension}.")
    if not (radius > 0 and lipschitz > 0 and 0 < radius * lipschitz < math.inf):
        raise InputError(
            f"Expected a radius and a Lipschitz constant above 0, got {radius} and {lipschitz}."
        )


def set_size(configurations: ArrayLike | None, several: int) -> FloatArray:
    """m, a whole number, or an array of them; as many as there are several of if not given."""
    m = np.asarray(several if configurations is None else configurations, dtype=np.float64)
    if not ((m >= 1) & np.isfinite(m) & (m == np.floor(m))).all():
        raise InputError(f"Expected at least 1 configuration, and a whole number of them, got {m}.")
    return m


def tau_squared_of(components: VarianceComponents, allocation: Sizes) -> FloatArray:
    """τ², which must be known."""
    tau_squared = components.tau_squared(allocation)
    if np.isnan(tau_squared).any():
        raise InputError(
            "Expected known variance components, and within and across cannot be separated for "
            "some configuration: run it twice or more on at least two instances, or ask for an "
            "allocation with at most one run per instance."
        )
    return tau_squared


def worst_tau_squared(components: VarianceComponents, allocation: Sizes) -> FloatArray:
    """The largest τ² over configurations, for each allocation of an array of them."""
    # A further axis keeps allocations apart from configurations.
    sizes = {name: np.asarray(getattr(allocation, name))[..., np.newaxis] for name in SIZES}
    return np.asarray(tau_squared_of(components, AllocationSizes(**sizes)).max(axis=-1))


def log_inverse_of(delta: float) -> float:
    """ln(1/δ)."""
    check_share(delta)
    return -math.log(delta)


def checked_width(width: float) -> float:
    """C, the width of the cost range, which must be finite."""
    if not (width > 0 and math.isfinite(width)):
        raise InputError(f"Expected a cost range of finite width above 0, got {width}.")
    return float(width)
