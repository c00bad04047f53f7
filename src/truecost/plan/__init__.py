"""How many runs on how many instances: for an error, for a budget, to tell two configurations apart; what a run is worth."""

from truecost.plan import schedules, worth
from truecost.plan.power import paired_differences, runs_to_tell_apart
from truecost.plan.sizes import best_for, runs_needed, wasted

__all__ = ["best_for", "paired_differences", "runs_needed", "runs_to_tell_apart", "schedules", "wasted", "worth"]
