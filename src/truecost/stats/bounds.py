"""The paper's bounds on u − û, corrected, and as printed.

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
>>> sizes = tc.allocation.even(50, 50, rng=1)
>>> bound = tc.bounds.single(allocation=sizes, components=components, width=5, delta=0.05)
>>> round(float(bound.epsilon), 2)
0.68
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import FloatArray
from truecost.errors import InputError, check_choice, check_share
from truecost.stats.allocation import SIZES, AllocationSizes, Sizes, even
from truecost.stats.variance import VarianceComponents

Form = Literal["bennett", "printed"]
SpaceForm = Literal["cover", "printed"]
Tau = Literal["worst-case", "per-configuration"]

# In the place of a guarantee, wherever variances are estimated.
PLUG_IN = "plug-in, not guaranteed: within and across are estimates"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bound:
    """With probability at least 1 − delta, u − û ≤ epsilon, in the costs' own units; `caveat` says
    why it is not guaranteed.
    """

    epsilon: float | FloatArray
    delta: float
    form: str
    theorem: str
    caveat: str = ""

    @property
    def guaranteed(self) -> bool:
        """Whether it holds if the module's assumptions do."""
        return not self.caveat


def single(
    *,
    allocation: Sizes,
    components: VarianceComponents,
    width: float,
    delta: float,
    form: Form = "bennett",
) -> Bound:
    """Lemma 4: u − û of one configuration chosen before its runs were seen.

    Components of M configurations give M separate statements, each with probability 1 − delta of
    its own.
    """
    tau_squared = _tau_squared(components, allocation)
    epsilon = _epsilon(_log_inverse(delta), allocation, tau_squared, _checked_width(width), form)
    return _bound(epsilon, delta, form, "Lemma 4", components)


def finite(
    *,
    allocation: Sizes,
    components: VarianceComponents,
    width: float,
    delta: float,
    configurations: ArrayLike | None = None,
    form: Form = "bennett",
    tau: Tau = "worst-case",
) -> Bound:
    """Theorem 2: u − û of all configurations of a set at once, and so of whichever was selected.

    Parameters
    ----------
    allocation
        The counts, the same for all configurations; arrays of sizes are broadcast.
    components
        One pair for all, or those of the m configurations.
    width
        C = high − low.
    configurations
        m, the size of the set, which must have been fixed before any cost was seen; discarded ones
        count. As many as there are components if these are several. An array of m gives an array of
        bounds, with the worst case only.
    tau
        "worst-case" uses the largest τ² for all, as the paper does: one epsilon. The components
        must cover all m. With "per-configuration" each has its own, all valid at once.
    """
    check_choice("tau", tau, get_args(Tau))
    if configurations is None and components.within.size == 1:
        raise InputError(
            "The components are one pair for all. Give configurations (m), or use single(...) for "
            "m = 1."
        )
    m = np.asarray(components.within.size if configurations is None else configurations, float)
    if not ((m >= 1) & np.isfinite(m) & (m == np.floor(m))).all():
        raise InputError(f"configurations is {m}. Give a whole number of at least 1.")
    if tau == "per-configuration" and (m.size > 1 or m < components.within.size):
        raise InputError(
            f"configurations is {m}. Give one number of at least {components.within.size}, the "
            "number of components."
        )
    squared = _worst_tau_squared if tau == "worst-case" else _tau_squared
    log_term = np.log(m) + _log_inverse(delta)
    epsilon = _epsilon(
        log_term, allocation, squared(components, allocation), _checked_width(width), form
    )
    return _bound(epsilon, delta, form, "Theorem 2", components)


def corollary(
    *,
    runs: int,
    instances: int,
    components: VarianceComponents,
    width: float,
    delta: float,
    configurations: int | None = None,
    form: Form = "bennett",
) -> Bound:
    """Corollary 1: Theorem 2 under S* where K divides N, so that n/N and Σ n_i²/N² are both 1/K."""
    if instances < 1 or runs % instances:
        raise InputError(
            f"{runs} runs are no multiple of {instances} instances. finite(...) takes any numbers."
        )
    return finite(
        allocation=even(runs, instances),
        components=components,
        width=width,
        delta=delta,
        configurations=configurations,
        form=form,
    )


def infinite(
    *,
    allocation: Sizes,
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
    known = (allocation, _worst_tau_squared(components, allocation), _checked_width(width))
    ball = (*known, _log_inverse(delta), dimension, radius * lipschitz)
    epsilon, caveat = _printed_ball(*ball) if form == "printed" else (_cover(*ball), "")
    return _bound(epsilon, delta, form, "Theorem 3", components, caveat)


def log_covering_number(
    *, dimension: int, radius: float, eta: ArrayLike, lipschitz: float = 1.0
) -> FloatArray:
    """Lemmas 5 and 6: ln of how many configurations come within `eta`, in cost units, of every one
    in the ball: h·ln(1 + 2R·L_f/η), for every η and for covers inside any subset of the ball.
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
    lam, runs = (np.asarray(values, dtype=np.float64) for values in (log_term, allocation.runs))
    reach = np.asarray(allocation.largest) * np.float64(width)
    if form == "bennett":
        return _bennett(lam, runs, runs * tau_squared, reach)
    return np.asarray(2 * reach * lam / (3 * runs) + np.sqrt(2 * tau_squared * lam / runs))


def _bennett(
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


def _cover(
    allocation: Sizes,
    tau_squared: FloatArray,
    width: float,
    log_inverse: float,
    dimension: int,
    reach: float,
) -> FloatArray:
    """The least 2η + ε of Bennett at Λ = h·ln(1 + 2·R·L_f/η) + ln(1/δ) over cover radii η."""
    terms = (allocation.runs, allocation.largest, tau_squared)
    runs, largest, tau = np.broadcast_arrays(*(np.asarray(term)[..., np.newaxis] for term in terms))

    def at(eta: FloatArray) -> FloatArray:
        lam = log_covering_number(dimension=dimension, radius=reach, eta=eta) + log_inverse
        return 2 * eta + _bennett(lam, runs.astype(float), runs * tau, largest * width)

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


def _printed_ball(
    allocation: Sizes,
    tau_squared: FloatArray,
    width: float,
    log_inverse: float,
    dimension: int,
    reach: float,
) -> tuple[FloatArray, str]:
    """Theorem 3 as printed, and which of the conditions for it to hold are broken."""
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
    sizes = {name: np.asarray(getattr(allocation, name))[..., np.newaxis] for name in SIZES}
    return np.asarray(_tau_squared(components, AllocationSizes(**sizes)).max(axis=-1))


def _log_inverse(delta: float) -> float:
    check_share(delta)
    return -math.log(delta)


def _checked_width(width: float) -> float:
    if not (width > 0 and math.isfinite(width)):
        raise InputError(f"The range of costs has width {width}. It must be finite and above 0.")
    return float(width)


def _bound(
    epsilon: FloatArray,
    delta: float,
    form: str,
    theorem: str,
    components: VarianceComponents,
    caveat: str = "",
) -> Bound:
    reasons = [caveat, PLUG_IN if components.estimated else ""]
    return Bound(
        epsilon=float(epsilon.item()) if epsilon.size == 1 else epsilon,
        delta=delta,
        form=form,
        theorem=theorem,
        caveat="; ".join(reason for reason in reasons if reason),
    )
