"""The paper's bounds on u − û, true cost less training cost: corrected, and as printed.

They hold with probability at least 1 − δ if the training cost û is the plain mean of the runs, the
instances are independent draws from one distribution, the seeds are independent, the costs lie in a
range of width C, the variance components are the true ones (or upper limits of them), and the
counts were fixed independently of the costs. With components estimated from runs they are plug-ins,
not guaranteed, and the result says so.

With Λ = ln(m/δ), n the largest count, τ² = within + (Σ n_i²/N)·across:

* ``bennett``: the root ε of (V/b²)·((1 + x)·ln(1 + x) − x) = Λ, x = bNε/V, V = Nτ², b = nC;
* ``printed``: Theorem 2 as printed, 2nCΛ/(3N) + √(2τ²Λ/N). Valid and looser.

Examples
--------
>>> import truecost as tc
>>> components = tc.variance.variance_components(tc.load_example("kissat"))[0]
>>> counts = tc.allocation.even(50, 50)
>>> bound = tc.bounds.single(allocation=counts, components=components, width=5, delta=0.05)
>>> round(float(bound.epsilon), 2)
0.68
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import FloatArray
from truecost.errors import InputError, check_choice, check_share
from truecost.stats.allocation import Sizes, sizes
from truecost.stats.variance import VarianceComponents

Form = Literal["bennett", "printed"]
SpaceForm = Literal["cover", "printed"]

# In the place of a guarantee, wherever variances are estimated.
PLUG_IN = "plug-in, not guaranteed: within and across are estimates"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bound:
    """With probability at least 1 − delta, u − û ≤ epsilon, in the costs' own units; `caveat` says
    why it is not guaranteed.
    """

    epsilon: float | FloatArray
    caveat: str = ""

    @property
    def guaranteed(self) -> bool:
        """Whether it holds if the module's assumptions do."""
        return not self.caveat


def single(
    *,
    allocation: ArrayLike | Sizes,
    components: VarianceComponents,
    width: float,
    delta: float,
    form: Form = "bennett",
) -> Bound:
    """Lemma 4: u − û of one configuration chosen before its runs were seen.

    Components of M configurations give M separate statements, each with probability 1 − delta of
    its own; with delta/M they hold at once, each with its own τ². The other parameters are those of
    `finite`.
    """
    tau_squared = _tau_squared(components, sizes(allocation))
    epsilon = _epsilon(_log_inverse(delta), sizes(allocation), tau_squared, width, form)
    return _bound(epsilon, components)


def finite(
    *,
    allocation: ArrayLike | Sizes,
    components: VarianceComponents,
    width: float,
    delta: float,
    configurations: ArrayLike | None = None,
    form: Form = "bennett",
) -> Bound:
    """Theorem 2: u − û of all configurations of a set at once, and so of whichever was selected.

    Corollary 1 is this bound under S* where K divides N: n/N and Σ n_i²/N² are both 1/K.

    Parameters
    ----------
    allocation
        The counts, the same for all configurations; `Sizes` of many allocations are broadcast.
    components
        One pair for all, or those of the m configurations, of which the largest τ² counts.
    width
        C = high − low.
    configurations
        m, the size of the set, which must have been fixed before any cost was seen; discarded ones
        count. As many as there are components if these are several. An array of m gives an array of
        bounds.
    """
    given = components.within.size
    if configurations is None and given == 1:
        raise InputError(
            "The components are one pair for all. Give configurations (m), or use single(...) for "
            "m = 1."
        )
    m = np.asarray(given if configurations is None else configurations, float)
    if not ((m >= 1) & np.isfinite(m) & (m == np.floor(m))).all():
        raise InputError(f"configurations is {m}. Give a whole number of at least 1.")
    tau_squared = _worst_tau_squared(components, sizes(allocation))
    log_term = np.log(m) + _log_inverse(delta)
    return _bound(_epsilon(log_term, sizes(allocation), tau_squared, width, form), components)


def infinite(
    *,
    allocation: ArrayLike | Sizes,
    components: VarianceComponents,
    width: float,
    delta: float,
    dimension: int,
    radius: float,
    lipschitz: float,
    form: SpaceForm = "cover",
) -> Bound:
    """Theorem 3: u − û of every configuration in a ball of R^h at once, if costs are Lipschitz in
    the configuration.

    Parameters
    ----------
    allocation
        Common to all configurations, and so must be the instances and seeds: the cover argument
        compares configurations run by run. Theorem 2 does not need that.
    components
        Upper limits for every configuration of the space, not only for those tried; of several the
        largest τ² is taken.
    dimension, radius
        h and R (Assumption a).
    lipschitz
        L_f in cost units per unit of distance, for every instance and seed, known beforehand
        (Assumption b). Implausible for categorical parameters.
    form
        "cover": the least 2η + ε of Theorem 2 in Bennett's form over the cover radius η, with ln N
        ≤ h·ln(1 + 2R·L_f/η). "printed": the paper's formula, which holds only for costs scaled to
        width 1 and under the conditions that its `caveat` names.
    """
    if not dimension >= 1:
        raise InputError(f"The dimension is {dimension}. Give at least 1.")
    if not (radius > 0 and lipschitz > 0 and 0 < radius * lipschitz < math.inf):
        raise InputError(
            f"The radius is {radius} and the Lipschitz constant {lipschitz}. Both are above 0."
        )
    check_choice("form", form, get_args(SpaceForm))
    tau_squared = _worst_tau_squared(components, sizes(allocation))
    setting = (sizes(allocation), tau_squared, _checked_width(width), _log_inverse(delta))
    if form == "cover":
        return _bound(_cover(*setting, dimension, radius * lipschitz), components)
    epsilon, caveat = _printed_ball(*setting, dimension, radius * lipschitz)
    return _bound(epsilon, components, caveat)


def log_covering_number(
    *, dimension: int, radius: float, eta: ArrayLike, lipschitz: float = 1.0
) -> FloatArray:
    """Lemmas 5 and 6: h·ln(1 + 2R·L_f/η), an upper limit of the logarithm of how many
    configurations it takes to come within `eta`, in cost units, of every one in the ball. For every
    η, and for covers inside any subset of the ball.
    """
    if not (np.asarray(eta) > 0).all():
        raise InputError(f"The cover radius is {eta!r}. It must be above 0.")
    return np.asarray(dimension * np.log1p(2 * radius * lipschitz / np.asarray(eta, float)))


# ---- formulas ------------------------------------------------------------------------------------


def _epsilon(
    log_term: ArrayLike, allocation: Sizes, tau_squared: FloatArray, width: float, form: str
) -> FloatArray:
    """ε at Λ = log_term."""
    check_choice("form", form, get_args(Form))
    lam, runs, reach = np.asarray(log_term), allocation.runs, allocation.largest * width
    _checked_width(width)
    if form == "bennett":
        return _bennett(lam, runs, runs * tau_squared, reach)
    return np.asarray(2 * reach * lam / (3 * runs) + np.sqrt(2 * tau_squared * lam / runs))


def _bennett(
    lam: FloatArray, runs: NDArray[Any], variance: FloatArray, reach: FloatArray
) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = lam * reach**2 / variance
        epsilon = variance / (reach * runs) * _h_inverse(y)
    # Never above its upper limit, and that limit itself where a variance next to nothing leaves the
    # range of floats.
    limit = reach * lam / (3 * runs) + np.sqrt(2 * variance * lam) / runs
    # Without variance u = û.
    return np.where(variance > 0, np.fmin(epsilon, limit), 0.0)


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


def _cover(
    allocation: Sizes,
    tau_squared: FloatArray,
    width: float,
    log_inverse: float,
    dimension: int,
    reach: float,
) -> FloatArray:
    """The least 2η + ε of Bennett at Λ = h·ln(1 + 2·R·L_f/η) + ln(1/δ) over cover radii η."""
    runs, largest, tau = np.broadcast_arrays(
        *(part[..., np.newaxis] for part in (allocation.runs, allocation.largest, tau_squared))
    )
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
        eta = np.exp(grid)
        lam = log_covering_number(dimension=dimension, radius=reach, eta=eta) + log_inverse
        bounds = 2 * eta + _bennett(lam, runs, runs * tau, largest * width)
        best = np.minimum(best, bounds.min(axis=-1))
        centre = np.take_along_axis(grid, bounds.argmin(axis=-1)[..., np.newaxis], axis=-1)
        step = (high - low) / 64
        low, high = centre - step, centre + step
    return best


def _printed_ball(
    allocation: Sizes,
    tau_squared: FloatArray,
    width: float,
    log_inverse: float,
    dimension: int,
    reach: float,
) -> tuple[FloatArray, str]:
    """Theorem 3 as printed, and which of the conditions for it to hold are broken."""
    rate = allocation.runs / (8 * tau_squared + 4 * allocation.largest * width / 3)
    inside = dimension * math.log(12 * reach) + log_inverse + dimension / 2 * np.log(rate)
    with np.errstate(invalid="ignore"):
        epsilon = np.sqrt(inside / rate)
    conditions = {
        f"costs of width {width:g} instead of at most 1": width > 1,
        "N/(8τ² + 4nC/3) below 1": (rate < 1).any(),
        "h·ln(12·R·L_f) below 1": dimension * math.log(12 * reach) < 1,
    }
    broken = ", ".join(words for words, is_broken in conditions.items() if is_broken)
    return epsilon, f"Theorem 3 as printed does not hold here: {broken}" if broken else ""


# ---- doors ---------------------------------------------------------------------------------------


def _tau_squared(components: VarianceComponents, allocation: Sizes) -> FloatArray:
    tau_squared = components.tau_squared(allocation)
    if np.isnan(tau_squared).any():
        raise InputError(
            "within and across cannot be separated for some configuration. Run it twice or more on "
            "at least two instances, or ask for at most one run per instance."
        )
    return tau_squared


def _worst_tau_squared(components: VarianceComponents, allocation: Sizes) -> FloatArray:
    """The largest τ² over configurations, for each allocation of an array of them."""
    # A further axis keeps allocations apart from configurations.
    apart = Sizes(*(part[..., np.newaxis] for part in allocation))
    return np.asarray(_tau_squared(components, apart).max(axis=-1))


def _log_inverse(delta: float) -> float:
    check_share(delta)
    return -math.log(delta)


def _checked_width(width: float) -> float:
    if not (width > 0 and math.isfinite(width)):
        raise InputError(f"The range of costs has width {width}. It must be finite and above 0.")
    return float(width)


def _bound(epsilon: FloatArray, components: VarianceComponents, caveat: str = "") -> Bound:
    reasons = [caveat, PLUG_IN if components.estimated else ""]
    return Bound(
        epsilon=float(epsilon.item()) if epsilon.size == 1 else epsilon,
        caveat="; ".join(reason for reason in reasons if reason),
    )
