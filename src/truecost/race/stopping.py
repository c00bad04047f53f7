"""When a validation may stop: two configurations on the same instances, looked at after each of
them, or after each family where families are the sampling units.

It stops when the statement is shown, or shown false, by limits that hold at all times, each side
with all of δ: such a stop is wrong with probability δ at most, for each side. It also stops where
the budget or the instances end, and where the rest of the budget hardly has a chance any more. The
last is a forecast: it only gives up, so it costs no confidence.

Statements about these very instances hold in one look only, at a number of runs that was fixed
beforehand. Their rule looks once, at the end.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.judge import looks
from truecost.judge.question import Margin, Primary
from truecost.stats import forecast, limits
from truecost.stats.inversion import ONE, Goal, planned
from truecost.stats.quantities import DIFFERENCE, RATIO, WINS, Quantity
from truecost.stats.sample import Design, Sample, Side, opposite

Why = Literal[
    "better", "worse", "within margin", "beyond margin", "instances", "budget", "forecast"
]
# No forecast from fewer units; below this chance it is not worth going on; how often it is made,
# by the units.
PILOT = 20
HOPELESS = 0.01
OFTEN = 10


class Stopping(NamedTuple):
    """Why to stop; with the chance that a forecast gives."""

    why: Why
    chance: float | None = None


class State(NamedTuple):
    """Quantity in the runs so far and its limits, each at level δ; NaN before the first look."""

    observed: float
    lower: float
    upper: float


def criterion(primary: Primary, margin: str | None = None) -> tuple[Quantity, float]:
    """What decides a validation, and the threshold that its limit has to pass."""
    if margin is None:
        quantity = WINS if primary == "wins" else DIFFERENCE
        return quantity, quantity.even or 0.0
    accepted = Margin.parse(margin)
    return RATIO if accepted.kind == "ratio" else DIFFERENCE, accepted.needed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoppingRule:
    """What decides, fixed before the first run.

    Parameters
    ----------
    rounds, planned
        Most runs of each of the two on an instance; and for how many sampling units the limits are
        planned.
    delta
        The error probability of each side.
    quantity, threshold
        The statement that decides, and the value that its limit has to pass; see `criterion`.
    low, high
        The range of the cost; infinite where it is not known, for wins.
    margin
        Whether the threshold is a margin of non-inferiority.
    families
        Where families are the sampling units: the family of each instance, as numbers; instances
        of a family follow each other.
    one_look
        For statements about these instances: nothing is looked at before all runs are made.
    seed
        Of the forecasts.
    """

    rounds: int
    planned: int
    delta: float
    quantity: Quantity
    threshold: float
    low: float
    high: float
    margin: bool = False
    families: IntArray | None = None
    one_look: bool = False
    seed: int = 0

    def ends(self, instances: int) -> IntArray:
        """After how many pairs of runs it may stop: after each instance, or each whole family."""
        number = np.arange(1, instances + 1)
        if self.families is not None:
            number = np.append(np.flatnonzero(np.diff(self.families)) + 1, instances)
        whole = (number + instances * np.arange(self.rounds)[:, np.newaxis]).ravel()
        return np.asarray(whole[-1:] if self.one_look else whole)

    def sample(self, costs: FloatArray, pairs: int) -> Sample:
        """The runs that count after the first pairs of runs; costs are (rounds, instances, 2).

        Inside a later round nothing new may be stated before it is complete.
        """
        instances = costs.shape[1]
        used = min(pairs, instances)
        winner, default = np.moveaxis(costs[: max(1, pairs // instances), :used], 2, 0)
        sample = Sample.of(winner.T, default.T, low=self.low, high=self.high)
        if self.one_look:
            return replace(sample, design=Design(kind="fixed", population=instances))
        if self.families is None:
            return sample
        groups = np.unique(self.families[:used], return_inverse=True)[1]
        return replace(sample, design=Design(unit="family", groups=groups))

    def state(self, costs: FloatArray, pairs: int) -> State:
        """The limits after these pairs of runs, valid at every look."""
        ends = self.ends(costs.shape[1])
        usable = int(ends[ends <= pairs].max(initial=0))
        if not usable:
            return State(math.nan, math.nan, math.nan)
        sample, delta = self.sample(costs, usable), self._delta(usable // costs.shape[1])
        lower, upper = (self._limit(sample, side, delta) for side in ("lower", "upper"))
        return State(lower.observed, lower.value, upper.value)

    def _delta(self, complete: int) -> float:
        """The error probability of a look after a number of complete rounds."""
        part = 1.0 if self.one_look else looks.of_round(max(complete, 1), self.rounds)
        return self.delta * part

    def _limit(self, sample: Sample, side: Side, delta: float) -> limits.Limit:
        look = ONE if self.one_look else planned(self.planned)
        return limits.limit(self.quantity, sample, side, delta, look)

    def goal(self, costs: FloatArray, pairs: int) -> Goal:
        """What is to be shown, by the units of the first pairs of runs."""
        return forecast.of(self.quantity, self.sample(costs, pairs), self.threshold)

    def decide(self, costs: FloatArray, pairs: int, left: int) -> Stopping | None:
        """Whether to stop after these pairs of runs, given how many more fit the budget; by these
        runs alone.
        """
        instances = costs.shape[1]
        ends = self.ends(instances)
        place = int(np.searchsorted(ends, pairs))
        if place == ends.size or ends[place] != pairs:
            return None
        complete, into = divmod(pairs, instances)
        delta = self._delta(complete)
        if complete == 0 or into == 0:
            sample = self.sample(costs, pairs)
            if self._shown(sample, self.quantity.side, delta):
                return Stopping("within margin" if self.margin else "better")
            if self._shown(sample, opposite(self.quantity.side), delta):
                return Stopping("beyond margin" if self.margin else "worse")
        if place == ends.size - 1:
            return Stopping("instances")
        if left < ends[place + 1] - pairs:
            return Stopping("budget")
        # Where there is budget for another round too, nothing is known yet of what that would
        # bring.
        last = self.rounds == 1 or pairs + left < instances
        units = place + 1
        if complete == 0 and last and units >= PILOT and units % max(1, units // OFTEN) == 0:
            reach = min(pairs + left, instances)
            more = int(np.searchsorted(ends, reach, side="right")) - units
            goal = self.goal(costs, pairs)
            chance = forecast.chance_to_show(goal, more, delta, planned=self.planned, rng=self.seed)
            if chance < HOPELESS:
                return Stopping("forecast", chance)
        return None

    def _shown(self, sample: Sample, side: Side, delta: float) -> bool:
        """Whether the limit of a side passes the threshold, as the statement has it."""
        if self.quantity is not RATIO and not self.one_look:
            goal = forecast.of(self.quantity, sample, self.threshold)
            if side != self.quantity.side:
                goal = forecast.refutation(goal)
            return forecast.is_shown(goal, delta, planned=self.planned)
        value = self._limit(sample, side, delta).value
        return value > self.threshold if side == "lower" else value < self.threshold
