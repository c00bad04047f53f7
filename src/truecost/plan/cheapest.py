"""The search behind `plan`: how many runs each number of instances needs, and which number is best.

Exact over all whole K and N under S* (Theorem 1). What makes it short:

* with N fixed, more instances never raise Σ n_i² or max n_i, so that no error grows with K;
* with K fixed, a full round (every instance once more) is better than all smaller N;
* inside a round the variance rises before it falls, and max n_i / N falls. So if the round before
  does not reach an error, no N does until the variance has come down to where it was, and from
  there on the error only falls.

All of it holds for the standard error (Lemma 2) and for the bound of Lemma 4 and Theorem 2, which
grows with both.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError, check_share
from truecost.stats.allocation import MOST_RUNS, AllocationSizes, even_sizes
from truecost.stats.concentration import checked_width, epsilon_at, exponent_at
from truecost.stats.variance import VarianceComponents

# What rounding may do to an error that is reached exactly.
HAIR = 1e-12
DROWNED = "across is smaller than its own noise, and K may be far too small"


class Setting(TypedDict, total=False):
    """What a plan is for, apart from what is to be reached.

    Attributes
    ----------
    width, delta
        high − low, needed for a bound; and the probability with which that may be wrong, 0.05 if
        not given.
    configurations
        m, 1 if not given: each gets N runs on the same instances, and the bound holds for this one
        as one of m fixed beforehand.
    price_run, price_instance
        What a run costs, 1 if not given, and what an instance does once, whatever is run on it,
        nothing if not given.
    instances
        How many there are; as many as wanted if not given.
    """

    width: float | None
    delta: float
    configurations: int
    price_run: float
    price_instance: float
    instances: int | None


class Problem(NamedTuple):
    """What is asked, with the price of a run already that of all configurations."""

    components: VarianceComponents
    within: float
    across: float
    configurations: int
    price_run: float
    price_instance: float
    limit: int
    bounded: bool
    width: float | None
    delta: float


def problem_of(
    components: VarianceComponents,
    bounded: bool,
    *,
    width: float | None = None,
    delta: float = 0.05,
    configurations: int = 1,
    price_run: float = 1.0,
    price_instance: float = 0.0,
    instances: int | None = None,
) -> Problem:
    """What is asked, checked: `bounded` for a bound, else for a standard error; see `Setting`."""
    if components.within.size != 1:
        raise InputError(
            f"Expected the components of one configuration, got {components.within.size}: "
            "components[i] has one."
        )
    if math.isnan(components.within.item()) or math.isnan(components.across.item()):
        components = _all_across(components)
    within, across = components.within.item(), components.across.item()
    if bounded and width is None:
        raise InputError("Expected the width of the cost range, high − low: a bound needs it.")
    if width is not None:
        checked_width(width)
    check_share(delta)
    for number, what in (
        (configurations, "configuration"),
        (1 if instances is None else instances, "instance"),
    ):
        if number < 1:
            raise InputError(f"Expected at least 1 {what}, got {number}.")
    check_prices(price_run, price_instance)
    return Problem(
        components=components,
        within=max(within, 0.0),
        across=max(across, 0.0),
        configurations=configurations,
        price_run=price_run * configurations,
        price_instance=price_instance,
        limit=MOST_RUNS if instances is None else min(instances, MOST_RUNS),
        bounded=bounded,
        width=width,
        delta=delta,
    )


def _all_across(components: VarianceComponents) -> VarianceComponents:
    """All of the variance taken for across, where single runs cannot tell."""
    # No allocation errs more than that says.
    if math.isnan(components.total.item()):
        raise InputError(
            "Expected known variance components, got none: no two instances have runs. Run it on "
            "more, or assume within and across."
        )
    unknown, across = np.full(1, np.nan), components.total
    known = replace(components, within_error=unknown, across_error=unknown)
    return replace(known, within=np.zeros(1), across=across)


def check_prices(price_run: float, price_instance: float) -> None:
    """Refuse prices with which more would cost less, or all the same."""
    if not (price_run > 0 and math.isfinite(price_run)):
        raise InputError(f"Expected a finite price of a run above 0, got {price_run}.")
    if not (price_instance >= 0 and math.isfinite(price_instance)):
        raise InputError(
            f"Expected a finite price of an instance of 0 or more, got {price_instance}."
        )


def check_reachable(problem: Problem, target: float, most: int) -> None:
    """Refuse a target that `most` instances cannot reach, and say how many can."""
    if math.isfinite(least_runs(problem, target, np.array([most]))[0]):
        return
    # More instances only help, so that the least number of them is found by halving.
    enough = halve(
        np.array([most]),
        np.array([MOST_RUNS]),
        lambda number: np.isfinite(least_runs(problem, target, number)),
    ).item()
    rounds = max(1, MOST_RUNS // most)
    least = error_at(problem, even_sizes([rounds * most], most)).item()
    raise InputError(
        f"Expected {'a bound' if problem.bounded else 'an error'} above {least:.6g}, the least "
        f"with {most:,} instances "
        f"however often they are run, got {target:g}; it takes at least {enough:,} instances."
    )


def _tau_squared(problem: Problem, sizes: AllocationSizes) -> FloatArray:
    return problem.within + sizes.sum_of_squares / sizes.runs * problem.across


def _log_term(problem: Problem) -> float:
    return math.log(problem.configurations / problem.delta)


def error_at(problem: Problem, sizes: AllocationSizes) -> FloatArray:
    """What is minimised: the bound if one is asked for, else the standard error."""
    if problem.bounded and problem.width is not None:
        return epsilon_at(
            _log_term(problem), sizes, _tau_squared(problem, sizes), problem.width, "bennett"
        )
    return standard_error_at(problem, sizes)


def standard_error_at(problem: Problem, sizes: AllocationSizes) -> FloatArray:
    """Lemma 2."""
    return np.sqrt(_tau_squared(problem, sizes) / sizes.runs)


def _reached(problem: Problem, sizes: AllocationSizes, target: float) -> BoolArray:
    tau_squared = _tau_squared(problem, sizes)
    if problem.bounded and problem.width is not None:
        # ε ≤ target is Λ(target) ≥ ln(m/δ), which needs no root.
        exponent = exponent_at(np.asarray(target), sizes, tau_squared, problem.width, "bennett")
        return np.asarray(exponent >= _log_term(problem) * (1 - HAIR))
    return np.asarray(tau_squared / sizes.runs <= target * target * (1 + HAIR))


def least_runs(problem: Problem, target: float, instances: IntArray) -> FloatArray:
    """The least N that reaches the target for each K, infinite where none does: first the round,
    then the run in it.
    """
    most = MOST_RUNS // instances

    def holds(runs: IntArray) -> BoolArray:
        return _reached(problem, even_sizes(runs, instances), target)

    reachable = holds(most * instances)
    # Few rounds mostly do, so that they are doubled first instead of halved from the top.
    rounds = np.ones_like(instances)
    short = reachable & ~holds(rounds * instances)
    while short.any():
        rounds = np.where(short, np.minimum(2 * rounds, most), rounds)
        short &= ~holds(rounds * instances)
    fewest = np.minimum(rounds // 2 + 1, rounds)
    rounds = halve(fewest, rounds, lambda number: holds(number * instances))
    runs = halve((rounds - 1) * instances + 1, rounds * instances, holds)
    return np.where(reachable, runs.astype(np.float64), np.inf)


def halve(low: IntArray, high: IntArray, holds: Callable[[IntArray], BoolArray]) -> IntArray:
    """The least number in each [low, high] that holds, if all above it do and `high` does."""
    while (low < high).any():
        middle = (low + high) // 2
        held = holds(middle)
        low, high = np.where(held | (low == high), low, middle + 1), np.where(held, middle, high)
    return high


def better_of(problem: Problem, instances: IntArray, runs: IntArray) -> FloatArray:
    """The best N up to `runs`: all of them, or those of the last full round."""
    full = np.maximum(runs // instances, 1) * instances
    full = np.where(full > runs, runs, full)
    of_round, of_all = (error_at(problem, even_sizes(n, instances)) for n in (full, runs))
    return np.where(of_round <= of_all * (1 + HAIR), full, runs).astype(np.float64)


def least_over(
    low: int, high: int, judge: Callable[[IntArray, IntArray], tuple[FloatArray, FloatArray]]
) -> int:
    """Where a value is least in [low, high].

    `judge` has for intervals [first, last] the value at `last` and a floor that no value in the
    interval is below. Those whose floor is no better than the best value seen are dropped, the
    others cut in two.
    """
    first, last = np.array([low]), np.array([high])
    best, place = math.inf, high
    while first.size:
        values, floors = judge(first, last)
        at = int(values.argmin())
        if values[at] < best:
            best, place = float(values[at]), int(last[at])
        # Equal floors are dropped too: they could only tie.
        open_ = (first < last) & (floors < best)
        first, last = first[open_], last[open_]
        middle = (first + last) // 2
        first, last = np.concatenate([first, middle + 1]), np.concatenate([middle, last])
    return place


def whole(numbers: ArrayLike) -> IntArray:
    """Rounded down to whole numbers, forgiving what division does to them."""
    return np.minimum(np.floor(np.asarray(numbers) * (1 + HAIR)), MOST_RUNS).astype(np.int64)
