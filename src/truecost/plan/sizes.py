"""How many runs on how many instances: the cheapest for an error, the best for a budget, what an
allocation wastes.

N runs spread evenly over K instances (S*, Theorem 1) have the variance within/N + (Σ
n_i²/N²)·across (Lemma 2). The answers are exact over all whole K and N; the textbook optimum is
only shown beside them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Unpack

import numpy as np

from truecost.arrays import FloatArray, IntArray, log_grid
from truecost.errors import InputError, check_choice
from truecost.plan.cheapest import (
    DROWNED,
    Problem,
    Setting,
    better_of,
    check_reachable,
    error_at,
    halve,
    least_over,
    least_runs,
    problem_of,
    standard_error_at,
    whole,
)
from truecost.stats import bounds
from truecost.stats.allocation import MOST_RUNS, Allocation, AllocationSizes, even_sizes
from truecost.stats.bounds import Bound
from truecost.stats.variance import VarianceComponents

SINGLE_RUNS = (
    "no two instances have two runs, so all variance is taken for across, which is safe: "
    "one run an instance"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizeCurve:
    """What other numbers of instances come to: arrays of N, errors and prices."""

    instances: IntArray
    runs: IntArray
    standard_error: FloatArray
    bound: FloatArray
    price: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recommendation:
    """A number of runs of each configuration, spread evenly over a number of instances.

    Attributes
    ----------
    instances, runs
        K and N.
    configurations
        m, how many configurations get N runs each.
    standard_error
        Of a training cost, by Lemma 2.
    bound
        On u − û, by Lemma 4 or Theorem 2, if the cost range and delta were given.
    price
        m·N·price_run + K·price_instance.
    within, across
        The components used; negative estimates count as 0. Where no two instances have two runs,
        all variance counts as across.
    classical_runs_per_instance
        √(price_instance/(m·price_run) · within/across), the textbook optimum for large K; never
        below 1, infinite if nothing varies across instances. For comparison only.
    curve
        The same question with other numbers of instances.
    guaranteed, caveat
        Whether the errors are promised if the assumptions hold; not with estimated components.
    """

    instances: int
    runs: int
    configurations: int
    standard_error: float
    bound: Bound | None
    price: float
    within: float
    across: float
    classical_runs_per_instance: float
    curve: SizeCurve
    guaranteed: bool
    caveat: str

    @property
    def runs_per_instance(self) -> float:
        """N/K; the counts are this number rounded down and up."""
        return self.runs / self.instances


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Waste:
    """What an allocation costs and what its price could buy.

    Attributes
    ----------
    runs, instances, standard_error, price
        Of the allocation as it is; instances without runs are not counted.
    even_standard_error, even_runs
        S* with as many runs on all instances of the allocation, and the least N of S* on them that
        is no worse.
    same_price
        The best that the price could have bought.
    same_error
        The cheapest with this standard error; None where it is 0, which one run has as well.
    """

    runs: int
    instances: int
    standard_error: float
    price: float
    even_standard_error: float
    even_runs: int
    same_price: Recommendation
    same_error: Recommendation | None

    @property
    def variance_ratio(self) -> float:
        """The variance over that of S* with as many runs on the same instances; 1 is no waste."""
        even = self.even_standard_error
        return (self.standard_error / even) ** 2 if even > 0 else 1.0


def runs_needed(
    *,
    components: VarianceComponents,
    error: float | None = None,
    bound: float | None = None,
    **setting: Unpack[Setting],
) -> Recommendation:
    """The cheapest K and N under S* whose standard error, or whose bound at delta, is small enough.

    Parameters
    ----------
    components
        Of one configuration; `VarianceComponents.known(within=…, across=…)` for assumed ones.
    error
        The standard error wanted (Lemma 2); or
    bound
        the ε wanted: with probability 1 − delta, u − û ≤ ε (Lemma 4 in Bennett's form; Theorem 2 if
        configurations > 1).
    setting
        `width`, `delta`, `configurations`, `price_run`, `price_instance` and `instances`; see
        `truecost.plan.cheapest.Setting`.
    """
    if (error is None) == (bound is None):
        raise InputError("Expected either error or bound, the one to be reached.")
    problem = problem_of(components, bound is not None, **setting)
    target = error if error is not None else bound
    if target is None or not (target > 0 and math.isfinite(target)):
        raise InputError(f"Expected an error or bound above 0 and finite, got {target}.")
    # With an instance for every run: nobody needs fewer runs.
    alone = least_runs(problem, target, np.array([MOST_RUNS]))[0]
    if not math.isfinite(alone):
        raise InputError(
            f"Expected an error or bound that {MOST_RUNS:,} runs can reach, got {target:g}."
        )
    # More instances than runs add nothing.
    most = min(problem.limit, int(alone))
    check_reachable(problem, target, most)

    def runs_of(number: IntArray) -> FloatArray:
        return least_runs(problem, target, number)

    def judge(first: IntArray, last: IntArray) -> tuple[FloatArray, FloatArray]:
        # The N needed falls with K.
        runs = problem.price_run * runs_of(last)
        return runs + problem.price_instance * last, runs + problem.price_instance * first

    chosen = most if problem.price_instance == 0 else least_over(1, most, judge)
    return _recommendation(problem, chosen, most, runs_of)


def best_for(
    *,
    budget: float,
    components: VarianceComponents,
    minimise: str = "error",
    **setting: Unpack[Setting],
) -> Recommendation:
    """The K and N under S* with the least standard error, or the least bound, that a budget buys.

    Parameters
    ----------
    budget
        In the unit of the prices: runs of all configurations together, if a run costs 1 and an
        instance nothing.
    minimise
        "error" or "bound".
    components, setting
        As in `runs_needed`.
    """
    check_choice("minimise", minimise, ("error", "bound"))
    problem = problem_of(components, minimise == "bound", **setting)
    if not (budget > 0 and math.isfinite(budget)):
        raise InputError(f"Expected a finite budget above 0, got {budget}.")
    affordable = int(whole(budget / (problem.price_run + problem.price_instance)))
    if affordable < 1:
        raise InputError(
            f"Expected a budget of at least {problem.price_run + problem.price_instance:g}, the "
            f"price of a run of {problem.configurations} on one instance, got {budget:g}."
        )
    most = min(problem.limit, affordable, MOST_RUNS)

    def best_runs(number: IntArray, paid: IntArray) -> FloatArray:
        """The best N on each number of instances, with the budget that is left after those paid."""
        runs = whole((budget - problem.price_instance * paid) / problem.price_run)
        return better_of(problem, number, runs)

    def runs_of(number: IntArray) -> FloatArray:
        return best_runs(number, number)

    def judge(first: IntArray, last: IntArray) -> tuple[FloatArray, FloatArray]:
        # No error grows with K, none with the number of runs to choose from.
        value, floor = (
            error_at(problem, even_sizes(best_runs(last, paid).astype(np.int64), last))
            for paid in (last, first)
        )
        return value, floor

    chosen = most if problem.price_instance == 0 else least_over(1, most, judge)
    return _recommendation(problem, chosen, most, runs_of)


def wasted(
    *,
    allocation: Allocation,
    components: VarianceComponents,
    **setting: Unpack[Setting],
) -> Waste:
    """What an allocation pays over S* on the same instances, and over the best for its price.

    Parameters
    ----------
    allocation
        The counts as they are.
    components, setting
        As in `runs_needed`.
    """
    problem = problem_of(components, False, **setting)
    sizes = AllocationSizes.of(allocation.counts[np.newaxis])
    used, available = int(np.count_nonzero(allocation.counts)), allocation.counts.size
    now = error_at(problem, sizes).item()
    price = problem.price_run * allocation.runs + problem.price_instance * used
    if (instances := setting.get("instances")) is not None:
        setting["instances"] = max(instances, used)  # what is run already exists
    return Waste(
        runs=allocation.runs,
        instances=used,
        standard_error=now,
        price=price,
        even_standard_error=error_at(problem, even_sizes([allocation.runs], available)).item(),
        even_runs=int(least_runs(problem, now, np.array([available]))[0]) if now > 0 else 1,
        same_price=best_for(budget=price, components=components, **setting),
        same_error=runs_needed(error=now, components=components, **setting) if now > 0 else None,
    )


def _recommendation(
    problem: Problem, chosen: int, most: int, runs_of: Callable[[IntArray], FloatArray]
) -> Recommendation:
    runs = int(runs_of(np.array([chosen]))[0])
    # Fewer runs than instances use only as many instances.
    instances = min(chosen, runs)
    sizes = even_sizes([runs], instances)
    return Recommendation(
        instances=instances,
        runs=runs,
        configurations=problem.configurations,
        standard_error=standard_error_at(problem, sizes).item(),
        bound=_bound(problem, sizes),
        price=problem.price_run * runs + problem.price_instance * instances,
        within=problem.within,
        across=problem.across,
        classical_runs_per_instance=_classical_runs_per_instance(problem),
        curve=_curve(problem, instances, most, runs_of),
        guaranteed=not problem.components.estimated,
        caveat=_caveat(problem),
    )


def _caveat(problem: Problem) -> str:
    if not problem.components.estimated:
        return ""
    if math.isnan(problem.components.across_error.item()):
        return f"{bounds.PLUG_IN}; {SINGLE_RUNS}"
    # Where instances cost something, an across that is too small by chance makes a plan of one or
    # two instances.
    if problem.price_instance > 0 and not problem.across > problem.components.across_error.item():
        return f"{bounds.PLUG_IN}; {DROWNED}"
    return bounds.PLUG_IN


def _classical_runs_per_instance(problem: Problem) -> float:
    """√(price_instance/price_run · within/across), where the derivative of price × variance in the
    runs per instance is 0.

    At least 1; infinite where nothing varies across instances and these cost something.
    """
    if problem.price_instance == 0 or problem.within == 0:
        return 1.0
    if problem.across <= 0:
        return math.inf
    prices = problem.price_instance / problem.price_run
    return max(1.0, math.sqrt(prices * problem.within / problem.across))


def _bound(problem: Problem, sizes: AllocationSizes) -> Bound | None:
    if problem.width is None:
        return None
    stated = partial(bounds.finite, configurations=problem.configurations)
    return (stated if problem.configurations > 1 else bounds.single)(
        allocation=sizes, components=problem.components, width=problem.width, delta=problem.delta
    )


def _curve(
    problem: Problem, instances: int, most: int, runs_of: Callable[[IntArray], FloatArray]
) -> SizeCurve:
    # From the least K that can do it, at most four times fewer than recommended, to four times
    # more.
    least, enough = np.array([max(1, instances // 4)]), np.array([instances])
    fewest = halve(least, enough, lambda number: np.isfinite(runs_of(number))).item()
    more = log_grid(instances, min(4 * instances, most), 5)
    around = np.union1d(log_grid(fewest, instances, 5), more)
    needed = runs_of(around)
    # More instances than runs stand for fewer instances.
    kept = around <= needed
    around, runs = around[kept], needed[kept].astype(np.int64)
    sizes = even_sizes(runs, around)
    unknown = np.full(around.size, np.nan)
    return SizeCurve(
        instances=around,
        runs=runs,
        standard_error=standard_error_at(problem, sizes),
        bound=unknown if problem.width is None else error_at(problem._replace(bounded=True), sizes),
        price=problem.price_run * runs + problem.price_instance * around,
    )
