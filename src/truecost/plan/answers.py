"""The whole answer to "how many runs on how many instances": the recommendation, and what stands
beside it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

from truecost.errors import InputError
from truecost.plan.cheapest import Setting
from truecost.plan.sizes import Recommendation, Waste, best_for, runs_needed, wasted
from truecost.stats.allocation import Allocation
from truecost.stats.variance import VarianceComponents

Goal = Literal["error", "bound", "budget"]
# What a plan takes into account, as its JSON repeats it.
PRICES = ("price_run", "price_instance", "instances", "configurations")
# Attributes that are keys of the plain data too.
COMPONENTS = ("within", "across", "total", "within_error", "across_error")
CURVE = ("instances", "runs", "standard_error", "bound", "price")
CURRENT = (
    "runs", "instances", "standard_error", "price", "even_standard_error", "even_runs",
    "variance_ratio",
)  # fmt: skip
RECOMMENDED = (
    "instances", "runs", "runs_per_instance", "configurations", "standard_error", "price",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pilot:
    """What is known of the noise, and where from; `seconds` is the CPU time of a run."""

    components: VarianceComponents
    width: float | None
    configuration: str | None = None
    allocation: Allocation | None = None
    names: tuple[str, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanAnswer:
    """What was asked of a pilot and what comes out.

    Attributes
    ----------
    goal, target
        A standard error, a bound or a budget, and how much of it.
    best
        The recommendation.
    if_noisier
        The same if both variances were one standard error higher; None where they are assumed, or
        it is out of reach.
    current
        What the pilot's own allocation wastes; None without one.
    """

    pilot: Pilot
    goal: Goal
    target: float
    delta: float
    prices: dict[str, Any]
    best: Recommendation
    if_noisier: Recommendation | None
    current: Waste | None

    def hours(self, best: Recommendation) -> float | None:
        """CPU hours of all configurations' runs; None where nobody knows how long a run takes."""
        seconds = self.pilot.seconds
        return None if seconds is None else best.configurations * best.runs * seconds / 3600

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        components, best, current = self.pilot.components, self.best, self.current
        return {
            "configuration": self.pilot.configuration,
            **{name: getattr(components, name).item() for name in COMPONENTS},
            "goal": self.goal,
            "target": self.target,
            "delta": self.delta,
            **self.prices,
            "seconds_per_run": self.pilot.seconds,
            "recommendation": self._plain(best),
            "curve": {name: getattr(best.curve, name) for name in CURVE},
            "if_noisier": self._plain(self.if_noisier),
            "current": None
            if current is None
            else {
                **{name: getattr(current, name) for name in CURRENT},
                "same_price": self._plain(current.same_price),
                "same_error": self._plain(current.same_error),
            },
            "guaranteed": best.guaranteed,
            "caveat": best.caveat,
            "assumptions": () if best.bound is None else best.bound.assumptions,
        }

    def _plain(self, best: Recommendation | None) -> dict[str, Any] | None:
        if best is None:
            return None
        return {
            **{name: getattr(best, name) for name in RECOMMENDED},
            "bound": None if best.bound is None else best.bound.epsilon,
            "theorem": None if best.bound is None else best.bound.theorem,
            "cpu_hours": self.hours(best),
            "classical_runs_per_instance": best.classical_runs_per_instance,
        }


def answer(
    pilot: Pilot,
    *,
    error: float | None = None,
    bound: float | None = None,
    budget: float | None = None,
    **setting: Unpack[Setting],
) -> PlanAnswer:
    """The cheapest runs for a standard `error` or a `bound`, or the best for a `budget`; exactly
    one of them is given. All of the setting is, but for the width, which the pilot has.
    """
    goals: dict[Goal, float | None] = {"error": error, "bound": bound, "budget": budget}
    given = [(goal, value) for goal, value in goals.items() if value is not None]
    if len(given) != 1:
        raise InputError(
            "Expected one of `error`, `bound` and `budget`: what is to be reached, or spent."
        )
    asked: Setting = {**setting, "width": pilot.width}

    def recommended(components: VarianceComponents) -> Recommendation:
        if budget is not None:
            return best_for(budget=budget, components=components, **asked)
        return runs_needed(error=error, bound=bound, components=components, **asked)

    return PlanAnswer(
        pilot=pilot,
        goal=given[0][0],
        target=given[0][1],
        delta=asked["delta"],
        prices={name: dict(asked)[name] for name in PRICES},
        best=recommended(pilot.components),
        if_noisier=_noisier(pilot.components, recommended),
        current=None
        if pilot.allocation is None
        else wasted(allocation=pilot.allocation, components=pilot.components, **asked),
    )


def _noisier(
    components: VarianceComponents, plan: Callable[[VarianceComponents], Recommendation]
) -> Recommendation | None:
    """With both components one standard error higher, where they are estimates."""
    raised = {
        "within": components.within.item() + components.within_error.item(),
        "across": components.across.item() + components.across_error.item(),
    }
    if not all(map(math.isfinite, raised.values())):
        return None
    try:
        return plan(
            VarianceComponents.known(**{name: max(0.0, value) for name, value in raised.items()})
        )
    except InputError:  # out of reach with the instances there are
        return None


def with_seconds(pilot: Pilot, seconds: float | None) -> Pilot:
    """The pilot with another CPU time of a run, where one is given."""
    if seconds is not None and not 0 < seconds < math.inf:
        raise InputError(f"Expected `seconds_per_run` above 0, got {seconds}.")
    return pilot if seconds is None else replace(pilot, seconds=seconds)
