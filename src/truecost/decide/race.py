"""Which run next, who is out, when to stop: the policy of the configurator, as pure functions.

Configurations are raced in heats: new proposals and the incumbent, all on one shared S* schedule, so that comparisons are
paired and every prefix is an even allocation (Theorem 1: one run on each instance before a second run on any). After a few
more runs there is a look, and a contender is dropped

* on the paired evidence: its difference to the leader is `EVIDENCE` standard errors above zero;
* by the price of more evidence: a heat of m contenders that has spent the share x of its runs goes on with the best m^(1−x)
  of them,
  which is successive halving with every look a small cut; where the runs suffice for all, nobody is dropped for the price.

A heat is over when one is left, when every run of the schedule is done, when its runs are spent, or when what more runs of
those left are expected to gain is below `WORTH` of the leader's cost: by the variance of the paired differences, so that N,
and with it K, grows as far as `within` and `across` say it is worth. Then the next heat begins.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from truecost.errors import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# A heat's runs per proposal, and in how many heats a budget is spent when proposals do not run out.
PER_PROPOSAL: Final = 6.0
HEATS: Final = 5
# The evidence a contender is dropped on, in paired standard errors, and the number of runs from which on it is asked.
EVIDENCE: Final = 2.5
FIRST_TEST: Final = 5
# More runs are not worth it when they are expected to gain less than this share of the leader's cost.
WORTH: Final = 0.01
# Levels at which the race is looked at grow by this factor.
STEP: Final = 1.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Schedule:
    """One order of runs for all configurations: position -> instance and the run's number on it."""

    instances: IntArray
    numbers: IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """What has been run so far.

    Attributes
    ----------
    costs
        (C, J): cost of configuration c at position j of the schedule, NaN where it was not run; rows are filled from the
        left.
    out
        (C,): a run was stopped at its cap; out for good.
    heats
        (C,): the heat a configuration was proposed for, from 0.
    granted
        The runs each heat may take, as the decision that opened it said.
    incumbent
        Who led when the last heat was opened; None in the first.
    low
        The least possible cost; -inf if there is none.
    """

    costs: FloatArray
    out: BoolArray
    heats: IntArray
    granted: tuple[float, ...] = ()
    incumbent: int | None = None
    low: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Run a configuration on positions start to stop − 1; C, C+1, … are new proposals.

    A single run that costs more than `cap` puts the configuration out, and need not be run further than that.
    """

    configuration: int
    start: int
    stop: int
    cap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to run next; nothing when it is time to stop. `grant` is the allowance of the heat that new proposals open."""

    batch: tuple[Stretch, ...]
    incumbent: int | None
    reason: str
    grant: float | None = None


def schedule(instances: int, runs: int, rng: np.random.Generator) -> Schedule:
    """S*: rounds over all instances, each in a random order of its own."""
    if instances < 1 or runs < 1:
        raise InputError(f"Expected at least 1 instance and 1 run on each, got {instances} and {runs}.")
    order = [rng.permutation(instances) for _ in range(runs)]
    return Schedule(instances=np.concatenate(order), numbers=np.repeat(np.arange(runs), instances))


def decide(
    standing: Standing, schedule: Schedule, *, runs_left: float, proposals_left: float, at_least: int = 1
) -> Decision:
    """What to run next.

    Parameters
    ----------
    standing, schedule
        What is known, and the order of runs.
    runs_left, proposals_left
        How many more runs the budget allows, and how many more configurations can be proposed; both may be infinite.
    at_least
        A batch has so many runs at least, where there is use for them: as many as there are workers.
    """
    runs_left = math.floor(runs_left) if math.isfinite(runs_left) else runs_left
    if len(standing.granted) == 0:
        return _open(standing, None, runs_left, proposals_left, "first heat")
    counts = (~np.isnan(standing.costs)).sum(axis=1)
    heat = len(standing.granted) - 1
    cohort = np.flatnonzero((standing.heats == heat) & ~standing.out)
    level = int(counts[cohort].max(initial=0))
    if level == 0:
        # Everybody was stopped at the first run's cap.
        return _open(standing, standing.incumbent, runs_left, proposals_left, "nobody of the heat is left")
    contenders = cohort[counts[cohort] == level]
    if standing.incumbent is not None and counts[standing.incumbent] >= level and not standing.out[standing.incumbent]:
        contenders = np.concatenate([[standing.incumbent], contenders])
    look = _Look(standing, schedule, contenders, level)
    spent = int(counts[standing.heats == heat].sum())
    left = min(max(standing.granted[heat] - spent, 0.0), runs_left)
    last = schedule.instances.size
    alive = look.by_evidence()
    if alive.size * (last - level) > left:
        alive = alive[: _affordable(int(np.count_nonzero(standing.heats == heat)), spent, standing.granted[heat])]
    reason = look.over(alive, last)
    while reason is None:
        stop = min(last, max(level + 1, math.ceil(STEP * level), level + math.ceil(at_least / alive.size)))
        rows = contenders[alive]
        if np.maximum(stop - counts[rows], 0).sum() <= left:
            caps = look.caps(alive, stop)
            batch = tuple(
                Stretch(configuration=int(c), start=int(counts[c]), stop=stop, cap=cap)
                for c, cap in zip(rows, caps, strict=True)
                if counts[c] < stop
            )
            return Decision(batch=batch, incumbent=look.leader, reason=f"{alive.size} contenders to {stop} runs")
        # Not everybody can be afforded: the best of them.
        alive = alive[:-1]
        reason = "the runs of the heat are spent" if alive.size < 2 else None
    return _open(standing, look.leader, runs_left, proposals_left, reason)


def _open(standing: Standing, incumbent: int | None, runs_left: float, proposals_left: float, reason: str) -> Decision:
    """A new heat, if there are runs and proposals for one."""
    share = runs_left / max(HEATS - len(standing.granted), 1)
    if proposals_left * PER_PROPOSAL * 0.8 <= runs_left:
        share = runs_left  # there is enough for everybody in one heat
    number = int(min(proposals_left, max(share // PER_PROPOSAL, 2.0), runs_left))
    known = standing.costs.shape[0]
    if number < 1 or (incumbent is not None and runs_left < PER_PROPOSAL):
        why = "too few runs are left for another heat" if proposals_left else "no proposals are left"
        return Decision(batch=(), incumbent=incumbent, reason=f"{reason}; {why}")
    batch = tuple(Stretch(configuration=known + i, start=0, stop=1) for i in range(number))
    return Decision(batch=batch, incumbent=incumbent, reason=f"{reason}; {number} new proposals", grant=float(share))


def _affordable(entered: int, spent: int, granted: float) -> int:
    """m^(1−x): how many of a heat that m entered go on when the share x of its runs is spent."""
    allowed: float = max(entered, 2) ** (1 - min(spent / granted, 1.0))
    return max(1, math.ceil(allowed - 1e-9))


class _Look:
    """The contenders at one level, where everybody has the same runs; `ranked` are their places, the best first."""

    def __init__(self, standing: Standing, schedule: Schedule, contenders: IntArray, level: int) -> None:
        self.level = level
        self.costs = standing.costs[contenders, :level]
        self.weights = shares(schedule.instances[:level])
        # Ties go to the one that was there first.
        self.ranked = np.lexsort((contenders, self.costs.mean(axis=1)))
        self.best = int(self.ranked[0])
        self.leader = int(contenders[self.best])
        self.leader_costs = standing.costs[self.leader]
        self.low = standing.low

    def by_evidence(self) -> IntArray:
        """Those whose paired difference to the leader does not say that they are worse."""
        if self.level < FIRST_TEST:
            return self.ranked
        differences = instance_means(self.costs - self.costs[self.best], self.weights)
        met = differences.shape[1]
        if met < 2:
            return self.ranked
        error = differences.std(axis=1, ddof=1) / math.sqrt(met)
        keep = differences.mean(axis=1) <= float(stdtrit(met - 1, ndtr(EVIDENCE))) * error
        return np.asarray(self.ranked[keep[self.ranked]])

    def over(self, alive: IntArray, last: int) -> str | None:
        """Why the heat is over, if it is."""
        if alive.size < 2:
            return "one is left"
        if self.level >= last:
            return "every run of the schedule is done"
        if self.level < FIRST_TEST:
            return None
        differences = instance_means(self.costs[alive[1:]] - self.costs[self.best], self.weights)
        met = differences.shape[1]
        if met < 2:
            return None
        gain = _expected_gain(differences.mean(axis=1), differences.std(axis=1, ddof=1) / math.sqrt(met))
        cost = float(self.costs[self.best].mean()) - (self.low if math.isfinite(self.low) else 0.0)
        return "more runs are not worth it" if float(gain.sum()) <= WORTH * abs(cost) else None

    def caps(self, alive: IntArray, stop: int) -> list[float | None]:
        """What a single run may cost before its configuration is too far behind the leader.

        That is by as much as the evidence asks for, with the usual spread of differences.
        """
        ahead = self.leader_costs[:stop]
        if self.level < FIRST_TEST or np.isnan(ahead).any():
            return [None] * alive.size
        apart = self.costs[alive] - self.costs[self.best]
        spread = math.sqrt(float(apart[1:].var(axis=1, ddof=1).mean()))
        allowance = float(ahead.sum()) + EVIDENCE * spread * math.sqrt(stop)
        # What the leader took, a contender may take on any run.
        least = float(ahead[self.level :].max())
        return [None, *(max(allowance - float(self.costs[i].sum()), least) for i in alive[1:])]


def shares(instances: IntArray) -> FloatArray | None:
    """(n, K) weights that make means over the runs on each instance; None if there is one run on each."""
    counts = np.bincount(instances)
    if counts.max(initial=0) <= 1:
        return None
    weights = np.zeros((instances.size, counts.size))
    weights[np.arange(instances.size), instances] = 1.0 / counts[instances]
    return weights[:, counts > 0]


def instance_means(costs: FloatArray, weights: FloatArray | None) -> FloatArray:
    """(C, n) costs in the order of a schedule -> (C, K) means over the runs on each instance met."""
    return costs if weights is None else np.asarray(costs @ weights)


def _expected_gain(behind: FloatArray, error: FloatArray) -> FloatArray:
    """E max(0, −X) of X normal: what would be gained by the ones behind if all were known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, -behind / error, np.where(behind < 0, np.inf, -np.inf))
        gain = error * (z * ndtr(z) + np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
    return np.where(error > 0, gain, np.maximum(-behind, 0.0))
