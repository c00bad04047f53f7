"""How many runs on how many instances: for an error, for a budget, to tell two configurations
apart; what a run is worth.

Examples
--------
>>> components = tc.variance_components(tc.load_example("kissat"))
>>> tc.plan.runs_needed(error=0.05, components=components[0]).runs
1133
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from truecost.plan.power import paired_differences, runs_to_tell_apart
from truecost.plan.sizes import best_for, runs_needed, wasted

if TYPE_CHECKING:
    from truecost.plan import schedules, worth

__all__ = [
    "best_for",
    "paired_differences",
    "runs_needed",
    "runs_to_tell_apart",
    "schedules",
    "wasted",
    "worth",
]


def __getattr__(name: str) -> Any:
    if name in ("schedules", "worth"):  # loaded when first used: they are for configurators
        return import_module(f"truecost.plan.{name}")
    raise AttributeError(f"module 'truecost.plan' has no attribute {name!r}")
