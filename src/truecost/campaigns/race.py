"""The rules of a search: how large a heat is, who goes on in it, and who becomes the incumbent.

Every prefix of a heat's order is an even allocation (Theorem 1: one run on each instance before a
second run on any), and everybody runs the same prefix, so that comparisons are paired. Each heat
has an order of its own, so that no single run filters all proposals.

A heat goes on in stages of 25 % more runs each. After a stage a contender is dropped

* by evidence: its paired difference to the leader is `EVIDENCE` standard errors above zero;
* for the price: when m configurations entered the heat and the share x of its runs is spent, the
  best m^(1 - x) go on. This is successive halving with many small cuts. Nobody is dropped for the
  price while the runs suffice for all.

Where runs can be stopped early, cuts for the price are anticipated: those who would pass the next
one run first, and the others only as long as they can still pass. That caps a run at what it may
still cost, and costs nobody its place. Evidence caps nothing.

A heat is over when one contender is left, all runs of the order are made, its runs are spent, or
more runs are expected to gain less than `LEAST_GAIN` of the leader's cost. To become the incumbent,
the leader must beat the defender on as many runs as the defender has, or by evidence. Whoever has
fewer runs catches up first: a few runs always find somebody who looks better.
"""

import math

import numpy as np

from truecost.campaigns.comparison import (
    LEAST_RUNS,
    Comparison,
    evidence_quantile,
    means_by_instance,
)
from truecost.campaigns.grid import Place
from truecost.campaigns.heat import Heat, Stage

# A budget of fewer runs must first see enough of the space: its heats spend fewer on each proposal.
SMALL_BUDGET = 500
# Heats in a budget, and runs per proposal.
HEATS, RUNS_PER_PROPOSAL, RUNS_PER_PROPOSAL_SMALL = 8, 3.0, 2.0
# In a space so small that this share of the runs per proposal suffices for all, all are proposed.
SMALL_SPACE = 0.8
# What is left for a last heat must be at least this share of a usual one.
LEAST_HEAT_SHARE = 0.25
# Each stage has this many times the runs of the one before it; a duel goes on faster.
STAGE_GROWTH, DUEL_GROWTH = 1.25, 1.5


def next_stage(
    heat: Heat, *, left: float, at_least: int, capping: bool, low: float = 0.0
) -> Stage | str:
    """The next stage of a heat whose last one is done, or why the heat is over.

    Parameters
    ----------
    left
        The runs that the budget leaves to the heat.
    at_least
        The smallest number of runs in a stage, to keep workers busy.
    capping
        Whether a run can be stopped when it has cost too much.
    low
        The lowest possible cost.
    """
    places, last = heat.contenders, len(heat.order)
    if not places:
        return "nobody is left"
    comparison = Comparison(heat.table(places, heat.level), heat.instances, places)
    defender = heat.defender if heat.defender in heat.costs else None
    # Runs kept for a challenger to catch up with the incumbent.
    kept = 0 if defender is None else max(heat.count(defender) - heat.level, 0)
    left = max(min(heat.grant - heat.started, left - kept), 0.0)
    entered = len(heat.costs) - (defender is not None)
    alive = comparison.undecided()
    if alive.size * (last - heat.level) > left:
        alive = alive[: affordable(entered, heat.started, heat.grant)]
    if alive.size < 2:
        return "one is left"
    if heat.level >= last:
        return "all runs are made"
    if comparison.is_settled(alive, low):
        return "more runs are not worth it"
    while alive.size >= 2:
        busy = heat.level + math.ceil(at_least / alive.size)
        stop = min(last, max(heat.level + 1, math.ceil(STAGE_GROWTH * heat.level), busy))
        some = [places[row] for row in alive.tolist()]
        runs = sum(max(stop - heat.count(place), 0) for place in some)
        if runs <= left:
            keep = 0
            if capping and alive.size * (last - stop) > left - runs:
                keep = min(alive.size, affordable(entered, heat.started + runs, heat.grant))
            first = {*some[: keep or None], defender}
            later = tuple(place for place in some if place not in first)
            return Stage(tuple(some), stop, keep if later else 0, later)
        # Not all can be afforded: the best of them.
        alive = alive[:-1]
    return "its runs are spent"


def duel(
    heat: Heat, challenger: Place, defender: Place, *, left: float, at_least: int
) -> Stage | Place:
    """Who wins, challenger or defender; or a stage in which the one with fewer runs catches up.

    The challenger wins on as many runs as the defender has, or by evidence before. It loses as soon
    as it is behind on `LEAST_RUNS` common runs. With no runs left there is always a winner.
    """
    common, most = sorted((heat.count(challenger), heat.count(defender)))
    gaps = np.zeros(0)
    if common:
        costs = heat.table([challenger, defender], common)
        means = means_by_instance(costs, heat.instances[:common])
        gaps = means[1] - means[0]
        if common >= LEAST_RUNS and gaps.size >= 2:
            error = gaps.std(ddof=1) / math.sqrt(gaps.size)
            if gaps.mean() > evidence_quantile(gaps.size) * error:
                return challenger
    ahead = gaps.size > 0 and gaps.mean() > 0
    if common == most or (common >= LEAST_RUNS and not ahead):
        return challenger if ahead else defender
    stop = min(most, max(LEAST_RUNS, math.ceil(DUEL_GROWTH * common), common + at_least))
    stop = int(min(stop, common + max(left, 0)))
    if stop <= common:
        return challenger if ahead and heat.count(challenger) > common else defender
    fewer = challenger if heat.count(challenger) == common else defender
    return Stage((fewer,), stop, 0)


def size_of_heat(
    *, made: int, left: float, proposals_left: float, incumbent_runs: int
) -> tuple[float, int]:
    """The grant of the next heat and its number of new proposals, 0 where it is not worth one.

    Parameters
    ----------
    made, left
        Runs made so far, and those the budget leaves.
    proposals_left
        How many more configurations there are.
    incumbent_runs
        The runs of the incumbent, with which a challenger would have to catch up.
    """
    per_proposal = RUNS_PER_PROPOSAL_SMALL if made + left < SMALL_BUDGET else RUNS_PER_PROPOSAL
    if proposals_left < 1 or left < (per_proposal if made else 1):
        return 0.0, 0
    if proposals_left * per_proposal * SMALL_SPACE <= left:
        return left, int(proposals_left)
    grant = left / max(round(HEATS * left / (made + left)), 1)
    if made and grant < LEAST_HEAT_SHARE * (made + left) / HEATS:
        return 0.0, 0
    number = max(max(grant - incumbent_runs, grant / 2) // per_proposal, 2.0)
    return grant, int(min(proposals_left, number, left))


def affordable(entered: int, spent: int, granted: float) -> int:
    """m^(1 - x): how many of m who entered go on when the share x of the runs is spent."""
    allowed: float = max(entered, 2) ** (1 - min(spent / max(granted, 1e-9), 1.0))
    # Rounding must not keep one more than a whole number says.
    return max(1, math.ceil(allowed - 1e-9))
