"""When a validation may stop: two configurations on the same instances, looked at after each of
them.

Shown, or shown false, by limits that hold at all times, each side with all of δ: whoever stops by
them is wrong with probability δ at most, for each side. Where the budget or the instances end; and
where the rest of the budget hardly has a chance any more, which is a forecast and costs no
sureness: it only gives up.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truecost.judge import looks
from truecost.judge.question import Primary
from truecost.stats import forecast
from truecost.stats.inversion import Goal
from truecost.stats.quantities import DIFFERENCE, WINS
from truecost.stats.sample import Sample

FloatArray = NDArray[np.float64]
Why = Literal["better", "worse", "instances", "budget", "forecast"]
# No forecast from fewer instances; below this chance it is not worth going on; how often it is
# made, by the instances.
PILOT = 20
HOPELESS = 0.01
OFTEN = 10


class Stopping(NamedTuple):
    """Why to stop; with the chance that a forecast gives."""

    why: Why
    chance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingRule:
    """What decides, fixed before the first run.

    Parameters
    ----------
    rounds, planned
        Most runs of each of the two on an instance; and for how many instances the limits are
        planned.
    delta, primary
        The probability with which it may be wrong, and the statement that decides.
    low, high
        The range of the cost; infinite where it is not known, for wins.
    seed
        Of the forecasts.
    """

    rounds: int
    planned: int
    delta: float
    primary: Primary
    low: float
    high: float
    seed: int = 0

    def goal(self, costs: FloatArray, pairs: int) -> Goal:
        """What is to be shown, by the instances that the first pairs of runs speak of; costs are
        (rounds, instances, 2).

        Inside a later round nothing new may be said before it is complete.
        """
        instances = costs.shape[1]
        own, other = np.moveaxis(costs[: max(1, pairs // instances), : min(pairs, instances)], 2, 0)
        sample = Sample.of(own.T, other.T, low=self.low, high=self.high)
        quantity = WINS if self.primary == "wins" else DIFFERENCE
        return forecast.of(quantity, sample, quantity.even or 0.0)

    def decide(self, costs: FloatArray, pairs: int, left: int) -> Stopping | None:
        """Whether to stop after so many pairs of runs, when the budget allows so many more; by
        these runs alone.
        """
        instances = costs.shape[1]
        complete, into = divmod(pairs, instances)
        delta = self.delta * looks.of_round(max(complete, 1), self.rounds)
        goal = self.goal(costs, pairs)
        if complete == 0 or into == 0:
            if forecast.is_shown(goal, delta, planned=self.planned):
                return Stopping("better")
            if forecast.is_shown(forecast.refutation(goal), delta, planned=self.planned):
                return Stopping("worse")
        if pairs == self.rounds * instances:
            return Stopping("instances")
        if left < 1:
            return Stopping("budget")
        # Where there is budget for another round too, nothing is known yet of what that would
        # bring.
        last = self.rounds == 1 or pairs + left < instances
        if complete == 0 and last and pairs >= PILOT and pairs % max(1, pairs // OFTEN) == 0:
            more = min(left, instances - pairs)
            chance = forecast.chance_to_show(goal, more, delta, planned=self.planned, rng=self.seed)
            if chance < HOPELESS:
                return Stopping("forecast", chance)
        return None
