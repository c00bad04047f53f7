"""The paper's bounds on u − û, corrected, and as printed.

All of them hold with probability at least 1 − δ if the instances are independent draws from one
distribution, the seeds are independent, the costs lie in [low, high], the components are the true
ones (or upper limits of them), and the counts were fixed independently of the costs seen. With
components estimated from runs they are plug-ins, not guaranteed, and the result says so.

Four forms of one exponential inequality, tightest first, with Λ = ln(m/δ), n the largest count, C =
high − low:

* ``bennett``: the root of (V/b²)·((1+x)·ln(1+x) − x) = Λ, x = bNε/V, V = Nτ², b = nC;
* ``sub-gamma``: nCΛ/(3N) + √(2τ²Λ/N);
* ``bernstein``: Lemma 4 solved for ε;
* ``printed``: Theorem 2 as printed, 2nCΛ/(3N) + √(2τ²Λ/N).

Examples
--------
>>> components = tc.variance_components(tc.load_example("kissat"))[0]
>>> sizes = tc.even(50, 50, rng=1)
>>> bound = tc.bounds.single(allocation=sizes, components=components, width=5, delta=0.05)
>>> round(float(bound.epsilon), 2)
0.68
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import FloatArray
from truecost.errors import InputError, check_choice
from truecost.stats.allocation import MOST_RUNS, Sizes, even, even_sizes
from truecost.stats.assumptions import INSTANCES, SEEDS, Assuming
from truecost.stats.concentration import (
    Ball,
    check_space,
    checked_width,
    cover_epsilon,
    epsilon_at,
    exponent_at,
    log_inverse_of,
    printed_epsilon,
    set_size,
    solved_epsilon,
    tau_squared_of,
    worst_tau_squared,
)
from truecost.stats.concentration import log_covering_number as log_covering_number
from truecost.stats.concentration import power_log_solution as power_log_solution
from truecost.stats.variance import VarianceComponents

Form = Literal["bennett", "sub-gamma", "bernstein", "printed"]
SpaceForm = Literal["solved", "cover", "printed"]
Tau = Literal["worst-case", "per-configuration"]

ASSUMPTIONS = (
    "the training cost is the plain mean of the runs",
    INSTANCES,
    SEEDS,
    "every cost lies in [low, high]",
    "the counts were fixed independently of the costs",
    "within and across are the true ones, or upper limits of them",
)
FIXED_SET = "the configurations were fixed before any cost was seen"
WHOLE_SPACE = (
    "the space lies in the ball",
    "costs are Lipschitz in the configuration, for every instance and seed",
    "all configurations are run on the same instances with the same seeds",
    "within and across are upper limits for every configuration of the space",
)
# In the place of a guarantee, wherever variances are estimated.
PLUG_IN = "plug-in, not guaranteed: within and across are estimates"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer(Assuming):
    """What was asked for, and whether it is guaranteed if the `assumptions` hold; `caveat` says
    why not.
    """

    value: Any
    guaranteed: bool
    caveat: str
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bound(Assuming):
    """With probability at least 1 − delta, u − û ≤ epsilon, if the `assumptions` hold; û is the
    plain mean of the runs.

    Attributes
    ----------
    epsilon
        In the costs' own units: a number, or an array where arrays came in.
    delta, form
        As asked for.
    theorem
        Where in the paper the statement stands.
    guaranteed, caveat
        False, and why: for plug-ins, and for the printed Theorem 3 where it does not hold.
    """

    epsilon: float | FloatArray
    delta: float
    form: str
    theorem: str
    guaranteed: bool
    caveat: str
    assumptions: tuple[str, ...]


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
    tau_squared = tau_squared_of(components, allocation)
    epsilon = epsilon_at(log_inverse_of(delta), allocation, tau_squared, checked_width(width), form)
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
        must cover all m. With "per-configuration" each has its own, all valid at once: an array
        over configurations.
    """
    check_choice("tau", tau, get_args(Tau))
    if configurations is None and components.within.size == 1:
        raise InputError(
            "Expected configurations (m), since the components are one pair for all; single(...) "
            "is for m = 1."
        )
    m = set_size(configurations, components.within.size)
    if tau == "per-configuration" and (m.size > 1 or m < components.within.size):
        raise InputError(
            f"Expected one m of at least {components.within.size}, the number of components, got "
            f"{m}."
        )
    squared = worst_tau_squared if tau == "worst-case" else tau_squared_of
    tau_squared = squared(components, allocation)
    log_term = np.log(m) + log_inverse_of(delta)
    epsilon = epsilon_at(log_term, allocation, tau_squared, checked_width(width), form)
    return _bound(epsilon, delta, form, "Theorem 2", components, FIXED_SET)


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
            f"Expected runs to be a multiple of instances, got {runs} runs on {instances}; "
            "finite(...) takes any."
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
        "cover", the tightest: the least 2η + ε of Theorem 2 in Bennett's form over the cover radius
        η. "solved": the root ε of h·ln(1 + 8·R·L_f/ε) + ln(1/δ) = Nε²/(8τ² + 4nCε/3), as the
        paper's proof goes. "printed": the paper's formula, which holds only for costs scaled to
        width 1 and under the conditions its `caveat` names.
    """
    check_space(dimension, radius, lipschitz)
    check_choice("form", form, get_args(SpaceForm))
    known = (allocation, worst_tau_squared(components, allocation), checked_width(width))
    ball = Ball(*known, log_inverse_of(delta), dimension, radius * lipschitz)
    caveat = ""
    if form == "printed":
        epsilon, caveat = printed_epsilon(ball)
    else:
        epsilon = (solved_epsilon if form == "solved" else cover_epsilon)(ball)
    return _bound(epsilon, delta, form, "Theorem 3", components, *WHOLE_SPACE, caveat=caveat)


def probability(
    *,
    epsilon: ArrayLike,
    allocation: Sizes,
    components: VarianceComponents,
    width: float,
    configurations: int | None = None,
    form: Form = "bennett",
) -> Answer:
    """Lemma 4 the other way, and Theorem 2: the most probable it can be that u − û reaches epsilon
    for any of m.

    m is the number of components if not given.
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    if not ((eps > 0) & np.isfinite(eps)).all():
        raise InputError(f"Expected a finite epsilon above 0, got {eps}.")
    m = set_size(configurations, components.within.size)
    tau_squared = worst_tau_squared(components, allocation)
    exponent = exponent_at(eps, allocation, tau_squared, checked_width(width), form)
    return _answer(np.minimum(1, m * np.exp(-exponent)), components)


def highest_true_cost(
    *,
    training_cost: ArrayLike,
    low: float,
    high: float,
    allocation: Sizes,
    components: VarianceComponents,
    delta: float,
    configurations: int | None = None,
    form: Form = "bennett",
) -> Answer:
    """The largest true cost that agrees with a training cost, the plain mean of the runs: tighter
    than û + ε.

    What an instance adds to u − û is at most u − low, so the bound may be taken with C = u − low;
    the largest u with u ≤ û + ε(u − low) is the answer. Valid as Theorem 2 is, for each of the m
    configurations with its own τ²; m is the number of training costs or components, whichever are
    more, if not given, and must count those that were discarded.
    """
    estimate = np.asarray(training_cost, dtype=np.float64)
    checked_width(high - low)
    if not ((estimate >= low) & (estimate <= high)).all():
        raise InputError(f"Expected training costs in [{low:g}, {high:g}], got {estimate}.")
    m = set_size(configurations, max(components.within.size, estimate.size))
    tau_squared = tau_squared_of(components, allocation)
    log_term = np.log(m) + log_inverse_of(delta)
    highest = np.full(np.broadcast_shapes(estimate.shape, np.shape(tau_squared)), float(high))
    # The map grows with u, so that iterating from the top falls to its largest fixed point, never
    # below it.
    # Stopping early leaves a larger value, which is valid too.
    for _ in range(1000):
        epsilon = epsilon_at(log_term, allocation, tau_squared, highest - low, form)
        lower = np.minimum(highest, estimate + epsilon)
        if (highest - lower <= 1e-13 * (high - low)).all():
            break
        highest = lower
    return _answer(highest, components)


# ---- the inverse questions -----------------------------------------------------------------------


def delta_for(epsilon: float, *, bound: Callable[..., Bound]) -> Answer:
    """The least δ at which a bound reaches epsilon, not below 10^-299; 1.0 if none below 1 does.

    Parameters
    ----------
    bound
        One of this module's bounds with all but `delta` filled in, by `functools.partial` for
        instance.
    """
    _check_epsilon(epsilon)

    def at(log_delta: float) -> Bound:
        return bound(delta=math.exp(log_delta))

    # On the logarithmic scale: δ may be as small as floats are.
    # e^-690 is about 10^-300.
    low, high = -690.0, -1e-12
    if not _reached(at(high), epsilon):
        return _as_in(at(high), 1.0)
    if _reached(at(low), epsilon):
        high = low
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _reached(at(middle), epsilon) else (middle, high)
    return _as_in(at(high), math.exp(high))


def configurations_for(epsilon: float, *, bound: Callable[..., Bound]) -> Answer:
    """The largest m at which a bound still reaches epsilon; 0 if it does not for a single
    configuration.

    `bound` is `finite` with all but `configurations` filled in. Numbers above 10^300 are answered
    by 10^300.
    """
    _check_epsilon(epsilon)
    most = 10**300
    alone = bound(configurations=1)
    if not _reached(alone, epsilon):
        return _as_in(alone, 0)

    @cache
    def reaches(m: float) -> bool:
        return _reached(bound(configurations=m), epsilon)

    # How many binary digits it has comes first: to halve all numbers would take a thousand bounds.
    digits = _least(lambda digits: not reaches(2.0**digits), 1, most.bit_length())
    # Negative, since the least of these is the largest m.
    least, largest = -min(2**digits, most), -(2 ** (digits - 1))
    return _as_in(alone, -_least(lambda m: reaches(float(-m)), least, largest))


def runs_for(epsilon: float, *, instances: int, bound: Callable[..., Bound]) -> Answer:
    """The least N at which a bound reaches epsilon under S* on K instances; None if a million runs
    on each do not.

    `bound` has all but `allocation` filled in. One run more can take it above epsilon again, since
    the largest count jumps when N passes a multiple of K.
    """
    _check_epsilon(epsilon)

    def at(rounds: int) -> Bound:
        return bound(allocation=even_sizes(rounds * instances, instances))

    # More rounds only lower within/N, which is negligible after this many.
    most = max(1, min(10**6, MOST_RUNS // instances))
    if (rounds := _least_reaching(epsilon, at, most)) is None:
        return _as_in(at(most), None)
    # Before the last round no N reaches it: each is worse than the full round it lies in. Inside a
    # round the bound can rise before it falls, so that all of it is looked at.
    first, last = (rounds - 1) * instances + 1, rounds * instances
    for start in range(first, last + 1, 4096):
        numbers = np.arange(start, min(start + 4096, last + 1))
        # A further axis keeps these N apart from the configurations.
        epsilons = np.asarray(
            bound(allocation=even_sizes(numbers[:, np.newaxis], instances)).epsilon
        )
        reached = (epsilons.reshape(numbers.size, -1) <= epsilon).all(axis=1)
        if reached.any():
            return _as_in(at(rounds), int(numbers[reached.argmax()]))
    return _as_in(at(rounds), last)


def instances_for(epsilon: float, *, runs_per_instance: int, bound: Callable[..., Bound]) -> Answer:
    """The least K at which a bound reaches epsilon with the same number of runs on each; None if
    3·10^9 runs do not.

    `bound` has all but `allocation` filled in.
    """
    _check_epsilon(epsilon)
    if runs_per_instance < 1:
        raise InputError(f"Expected at least 1 run per instance, got {runs_per_instance}.")

    def at(instances: int) -> Bound:
        return bound(allocation=even_sizes(runs_per_instance * instances, instances))

    most = MOST_RUNS // runs_per_instance
    return _as_in(at(most), _least_reaching(epsilon, at, most))


def _reached(bound: Bound, epsilon: float) -> bool:
    if (bound.theorem, bound.form) == ("Theorem 3", "printed"):
        raise InputError(
            "Expected a bound that falls as runs are added, and Theorem 3 as printed need not: use "
            "solved or cover."
        )
    return bool(np.max(bound.epsilon) <= epsilon)


def _as_in(bound: Bound, value: float | None) -> Answer:
    same = {name: getattr(bound, name) for name in ("guaranteed", "caveat", "assumptions")}
    return Answer(value=value, **same)


def _least_reaching(epsilon: float, at: Callable[[int], Bound], most: int) -> int | None:
    """The least number at which a bound reaches epsilon; None if the most does not."""
    if not _reached(at(most), epsilon):
        return None
    return _least(lambda number: _reached(at(number), epsilon), 1, most)


def _least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least whole number in [low, high] that holds, if all above it do and `high` does."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


# ---- doors ---------------------------------------------------------------------------------------


def _bound(
    epsilon: FloatArray,
    delta: float,
    form: str,
    theorem: str,
    components: VarianceComponents,
    *more: str,
    caveat: str = "",
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
        assumptions=(*ASSUMPTIONS, *more),
    )


def _answer(value: FloatArray, components: VarianceComponents) -> Answer:
    """What a bound for a fixed set says."""
    return Answer(
        value=np.asarray(value),
        guaranteed=not components.estimated,
        caveat=PLUG_IN if components.estimated else "",
        assumptions=(*ASSUMPTIONS, FIXED_SET),
    )


def _check_epsilon(epsilon: float) -> None:
    if not epsilon > 0:
        raise InputError(f"Expected epsilon above 0, got {epsilon}.")
