"""The paper's bounds on u − û, corrected, and as printed.

All of them hold with probability at least 1 − δ if the instances are independent draws from one distribution, the seeds are
independent, the costs lie in [low, high], the components are the true ones (or upper limits of them), and the counts were
fixed independently of the costs seen. With components estimated from runs they are plug-ins, not guaranteed, and the result
says so.

Four forms of one exponential inequality, tightest first, with Λ = ln(m/δ), n the largest count, C = high − low:

* ``bennett``: the root of (V/b²)·((1+x)·ln(1+x) − x) = Λ, x = bNε/V, V = Nτ², b = nC;
* ``sub-gamma``: nCΛ/(3N) + √(2τ²Λ/N);
* ``bernstein``: Lemma 4 solved for ε;
* ``printed``: Theorem 2 as printed, 2nCΛ/(3N) + √(2τ²Λ/N).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.errors import InputError
from truecost.stats.allocation import MOST_RUNS, AllocationSizes, Sizes, even, even_sizes
from truecost.stats.concentration import cover_epsilon, epsilon_at, exponent_at, printed_epsilon, solved_epsilon
from truecost.stats.variance import VarianceComponents

FloatArray = NDArray[np.float64]
Form = Literal["bennett", "sub-gamma", "bernstein", "printed"]
SpaceForm = Literal["solved", "cover", "printed"]
Tau = Literal["worst-case", "per-configuration"]

ASSUMPTIONS = (
    "instances are independent draws from one distribution",
    "seeds are independent",
    "every cost lies in [low, high]",
    "the counts were fixed independently of the costs",
    "within and across are the true ones, or upper limits of them",
)
PLUG_IN = "plug-in, not guaranteed: within and across are estimates"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bound:
    """With probability at least 1 − delta, u − û < epsilon, if what it `rests_on` holds.

    Attributes
    ----------
    epsilon
        In the costs' own units: a number, or an array where arrays came in.
    delta, form
        As asked for.
    theorem
        Where in the paper the statement stands.
    guaranteed
        False for plug-ins and for the printed Theorem 3 outside the range in which it holds; `caveat` says why.
    rests_on
        The assumptions.
    """

    epsilon: float | FloatArray
    delta: float
    form: str
    theorem: str
    guaranteed: bool
    caveat: str
    rests_on: tuple[str, ...]


def single(
    *, allocation: Sizes, components: VarianceComponents, width: float, delta: float, form: Form = "bennett"
) -> Bound:
    """Lemma 4: u − û of one configuration chosen before its runs were seen.

    Components of M configurations give M separate statements, each with probability 1 − delta of its own.
    """
    tau_squared = _tau_squared(components, allocation)
    epsilon = epsilon_at(_log_inverse(delta), allocation, tau_squared, _checked_width(width), form)
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
        m, the size of the set, which must have been fixed before any cost was seen; discarded ones count. As many as there
        are components if not given. An array of m gives an array of bounds.
    tau
        "worst-case" uses the largest τ² for all, as the paper does: one epsilon. "per-configuration" gives each its own, all
        valid at once: an array over configurations.
    """
    m = components.within.size if configurations is None else configurations
    m = np.asarray(m, dtype=np.float64)
    if not (m >= 1).all():
        raise InputError(f"Expected at least 1 configuration, got {m}.")
    if tau not in get_args(Tau):
        raise InputError(f"Expected tau to be one of {', '.join(get_args(Tau))}, got {tau!r}.")
    tau_squared = (_worst_tau_squared if tau == "worst-case" else _tau_squared)(components, allocation)
    log_term = np.log(m) + _log_inverse(delta)
    epsilon = epsilon_at(log_term, allocation, tau_squared, _checked_width(width), form)
    return _bound(epsilon, delta, form, "Theorem 2", components, "the configurations were fixed before any cost was seen")


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
    if runs % instances:
        raise InputError(
            f"Expected runs to be a multiple of instances, got {runs} runs on {instances}; finite(...) takes any."
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
    form: SpaceForm = "solved",
) -> Bound:
    """Theorem 3: u − û of every configuration in a ball of R^h at once, if costs are Lipschitz in the configuration.

    Parameters
    ----------
    components
        Of the configuration of the space with the largest τ²; of several given the largest is taken.
    dimension, radius
        h and R (Assumption a).
    lipschitz
        L_f in cost units per unit of distance, for every instance and seed, known beforehand (Assumption b). Implausible for
        categorical parameters.
    form
        "solved": the root ε of h·ln(1 + 8·R·L_f/ε) + ln(1/δ) = Nε²/(8τ² + 4nCε/3). "cover": the least 2η + ε of Theorem 2 in
        Bennett's form over the cover radius η, the tightest. "printed": the paper's formula, which holds only for costs
        scaled to width 1 and under the conditions its `caveat` names.
    """
    _checked_space(dimension, radius, lipschitz)
    width = _checked_width(width)
    tau_squared = _worst_tau_squared(components, allocation)
    log_inverse = _log_inverse(delta)
    reach = radius * lipschitz
    caveat = ""
    if form == "solved":
        epsilon = solved_epsilon(allocation, tau_squared, width, log_inverse, dimension, reach)
    elif form == "cover":
        epsilon = cover_epsilon(allocation, tau_squared, width, log_inverse, dimension, reach)
    elif form == "printed":
        epsilon, caveat = printed_epsilon(allocation, tau_squared, width, log_inverse, dimension, reach)
    else:
        raise InputError(f"Expected form to be one of {', '.join(get_args(SpaceForm))}, got {form!r}.")
    return _bound(epsilon, delta, form, "Theorem 3", components, "costs are Lipschitz in the configuration", caveat=caveat)


def probability(
    *,
    epsilon: ArrayLike,
    allocation: Sizes,
    components: VarianceComponents,
    width: float,
    configurations: int = 1,
    form: Form = "bennett",
) -> FloatArray:
    """Lemma 4 the other way, and Theorem 2 with m configurations: a bound on the probability that u − û reaches epsilon."""
    eps = np.asarray(epsilon, dtype=np.float64)
    if not (eps > 0).all():
        raise InputError(f"Expected epsilon above 0, got {eps}.")
    tau_squared = _worst_tau_squared(components, allocation)
    exponent = exponent_at(eps, allocation, tau_squared, _checked_width(width), form)
    return np.asarray(np.minimum(1, configurations * np.exp(-exponent)))


def highest_true_cost(
    *,
    training_cost: ArrayLike,
    low: float,
    high: float,
    allocation: Sizes,
    components: VarianceComponents,
    delta: float,
    configurations: int = 1,
    form: Form = "bennett",
) -> FloatArray:
    """The largest true cost that agrees with a training cost: tighter than û + ε.

    What an instance adds to u − û is at most u − low, so the bound may be taken with C = u − low; the largest u with
    u ≤ û + ε(u − low) is the answer. Valid as Theorem 2 is, for each of the m configurations with its own τ².
    """
    estimate = np.asarray(training_cost, dtype=np.float64)
    _checked_width(high - low)
    if not ((estimate >= low) & (estimate <= high)).all():
        raise InputError(f"Expected training costs in [{low:g}, {high:g}], got {estimate}.")
    tau_squared = _tau_squared(components, allocation)
    log_term = math.log(configurations) + _log_inverse(delta)
    highest = np.full(np.broadcast_shapes(estimate.shape, np.shape(tau_squared)), float(high))
    # The map grows with u, so that iterating from the top falls to its largest fixed point, never below it.
    for _ in range(1000):
        lower = np.minimum(highest, estimate + epsilon_at(log_term, allocation, tau_squared, highest - low, form))
        if (highest - lower <= 1e-13 * (high - low)).all():
            break
        highest = lower
    return highest


# ---- the inverse questions ---------------------------------------------------------------------------------------------


def delta_for(epsilon: float, *, bound: Callable[..., Bound]) -> float:
    """The least δ at which a bound reaches epsilon; 1.0 if none below 1 does.

    Parameters
    ----------
    bound
        One of this module's bounds with all but `delta` filled in, by `functools.partial` for instance.
    """
    _check_epsilon(epsilon)
    log_low, log_high = -690.0, -1e-12
    if _reached(bound(delta=math.exp(log_low)), epsilon):
        return math.exp(log_low)
    if not _reached(bound(delta=math.exp(log_high)), epsilon):
        return 1.0
    for _ in range(100):
        middle = (log_low + log_high) / 2
        if _reached(bound(delta=math.exp(middle)), epsilon):
            log_high = middle
        else:
            log_low = middle
    return math.exp(log_high)


def configurations_for(epsilon: float, *, bound: Callable[..., Bound]) -> int:
    """The largest m at which a bound still reaches epsilon; 0 if it does not for a single configuration.

    `bound` is `finite` with all but `configurations` filled in. Numbers above 10^300 are answered by 10^300.
    """
    _check_epsilon(epsilon)
    most = 10**300
    if not _reached(bound(configurations=1), epsilon):
        return 0
    return -_least(lambda m: _reached(bound(configurations=float(-m)), epsilon), -most, -1)


def runs_for(epsilon: float, *, instances: int, bound: Callable[..., Bound]) -> int | None:
    """The least N at which a bound reaches epsilon under S* on K instances; None if a million runs on each do not.

    `bound` has all but `allocation` filled in. One run more can take it above epsilon again, since the largest count jumps
    when N passes a multiple of K.
    """
    _check_epsilon(epsilon)

    def rounds_reach(rounds: int) -> bool:
        return _reached(bound(allocation=even_sizes(rounds * instances, instances)), epsilon)

    # More rounds only take within/N down, and after so many there is nothing left of it.
    most = max(1, min(10**6, MOST_RUNS // instances))
    if not rounds_reach(most):
        return None
    rounds = _least(rounds_reach, 1, most)
    # Before the last round no N reaches it: each is worse than the full round it lies in.
    last = np.arange((rounds - 1) * instances + 1, rounds * instances + 1)
    reached = np.asarray(bound(allocation=even_sizes(last, instances)).epsilon) <= epsilon
    return int(last[reached.argmax()])


def instances_for(epsilon: float, *, runs_per_instance: int, bound: Callable[..., Bound]) -> int | None:
    """The least K at which a bound reaches epsilon with the same number of runs on each; None if 3·10^9 runs do not.

    `bound` has all but `allocation` filled in.
    """
    _check_epsilon(epsilon)

    def reach(instances: int) -> bool:
        return _reached(bound(allocation=even_sizes(runs_per_instance * instances, instances)), epsilon)

    most = MOST_RUNS // runs_per_instance
    return _least(reach, 1, most) if reach(most) else None


def _reached(bound: Bound, epsilon: float) -> bool:
    return bool(np.max(bound.epsilon) <= epsilon)


def _least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least whole number in [low, high] that holds, if all above it do and `high` does."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


# ---- lemmas ------------------------------------------------------------------------------------------------------------


def log_covering_number(
    *,
    dimension: int,
    radius: float,
    eta: ArrayLike,
    lipschitz: float = 1.0,
    form: Literal["corrected", "printed"] = "corrected",
) -> FloatArray:
    """Lemmas 5 and 6: ln of how many configurations come within eta, in cost units, of every one in the ball.

    "corrected" is h·ln(1 + 2·R·L_f/η), valid for every η and for covers inside any subset of the ball. "printed" is
    h·ln(3·R·L_f/η), which is negative for η > 3·R·L_f and not valid for subsets.
    """
    _checked_space(dimension, radius, lipschitz)
    ratio = radius * lipschitz / np.asarray(eta, dtype=np.float64)
    if form == "printed":
        return dimension * np.log(3 * ratio)
    if form != "corrected":
        raise InputError(f"Expected form to be corrected or printed, got {form!r}.")
    return dimension * np.log1p(2 * ratio)


def power_log_solution(*, k: float, l: float, b: float, c: float) -> float:
    """Lemma 7: an ε with l·ε^k + b·ln ε ≥ c, for positive constants."""
    if min(k, l, b, c) <= 0:
        raise InputError(f"Expected positive constants, got k = {k:g}, l = {l:g}, b = {b:g}, c = {c:g}.")
    return float(((c + b * max(math.log(l) - math.log(c), 0) / k) / l) ** (1 / k))


# ---- doors ---------------------------------------------------------------------------------------------------------------


def _bound(
    epsilon: FloatArray, delta: float, form: str, theorem: str, components: VarianceComponents, *more: str, caveat: str = ""
) -> Bound:
    if components.estimated:
        caveat = f"{caveat}; {PLUG_IN}" if caveat else PLUG_IN
    return Bound(
        epsilon=float(epsilon.item()) if epsilon.size == 1 else epsilon,
        delta=delta,
        form=form,
        theorem=theorem,
        guaranteed=not caveat,
        caveat=caveat,
        rests_on=(*ASSUMPTIONS, *more),
    )


def _tau_squared(components: VarianceComponents, allocation: Sizes) -> FloatArray:
    tau_squared = components.tau_squared(allocation)
    if np.isnan(tau_squared).any():
        raise InputError(
            "Expected known variance components, and within and across cannot be told apart for some configuration: run it "
            "twice or more on at least two instances, or ask for an allocation with at most one run an instance."
        )
    return tau_squared


def _worst_tau_squared(components: VarianceComponents, allocation: Sizes) -> FloatArray:
    """The largest τ² over configurations, for each allocation of an array of them."""
    runs, largest, squares = (
        np.asarray(size)[..., np.newaxis] for size in (allocation.runs, allocation.largest, allocation.sum_of_squares)
    )
    each = _tau_squared(components, AllocationSizes(runs=runs, largest=largest, sum_of_squares=squares))
    return np.asarray(each.max(axis=-1))


def _log_inverse(delta: float) -> float:
    if not 0 < delta < 1:
        raise InputError(f"Expected delta between 0 and 1, got {delta}.")
    return -math.log(delta)


def _checked_width(width: float) -> float:
    if not (width > 0 and math.isfinite(width)):
        raise InputError(f"Expected a cost range of finite width above 0, got {width}.")
    return float(width)


def _checked_space(dimension: int, radius: float, lipschitz: float) -> None:
    if dimension < 1:
        raise InputError(f"Expected a dimension of at least 1, got {dimension}.")
    if not (radius > 0 and lipschitz > 0 and math.isfinite(radius * lipschitz)):
        raise InputError(f"Expected a radius and a Lipschitz constant above 0, got {radius} and {lipschitz}.")


def _check_epsilon(epsilon: float) -> None:
    if not epsilon > 0:
        raise InputError(f"Expected epsilon above 0, got {epsilon}.")
