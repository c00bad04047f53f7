"""The rules of a search: the size of a heat, who survives a stage, and who becomes the incumbent.

Every prefix of a heat's order is an even allocation (Theorem 1: one run on each instance before a
second run on any), and all contenders run the same prefix, so comparisons are paired. Each heat has
an order of its own, so no single run filters all proposals.

A heat proceeds in stages of 25 % more runs each. After a stage a contender is dropped

* by evidence: its paired difference to the leader is `EVIDENCE` standard errors above zero;
* for the price: when m configurations entered the heat and the share x of its runs is spent, the
  best m^(1 - x) survive. This is successive halving with many small cuts. Nobody is dropped for the
  price while the runs suffice for all.

Where runs can be stopped early, cuts for the price are anticipated: contenders that would survive
the next one run first, and the others only as long as they can still survive. That caps a run at
the most it may still cost, and costs no contender its place. Evidence caps nothing.

A heat is over when one contender is left, all runs of the order are made, its runs are spent, or
more runs are expected to gain less than `LEAST_GAIN` of the leader's cost. To become the incumbent,
the leader must beat the defender on as many runs as the defender has, or by evidence. The one with
fewer runs catches up first: among many configurations with few runs, one always looks better.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from truecost.campaigns.search.comparison import (
    LEAST_RUNS,
    Comparison,
    evidence_quantile,
    means_by_instance,
)
from truecost.campaigns.search.grid import Cell, ConfigId
from truecost.campaigns.search.heat import Heat, Stage

# A budget of fewer runs must see enough of the space: its heats spend fewer on each proposal.
SMALL_BUDGET = 500
# Heats in a budget, and runs per proposal.
HEATS, RUNS_PER_PROPOSAL, RUNS_PER_PROPOSAL_SMALL = 8, 3.0, 2.0
# In a space so small that this share of the runs per proposal suffices for all, all are proposed.
SMALL_SPACE = 0.8
# The last heat has at least this share of the runs of a usual one.
LEAST_HEAT_SHARE = 0.25
# Each stage has this many times the runs of the one before it; a duel goes on faster.
STAGE_GROWTH, DUEL_GROWTH = 1.25, 1.5


def next_stage(
    heat: Heat, *, left: float, least_runs: int, capping: bool, low: float = 0.0
) -> Stage | str:
    """The next stage of a heat whose last stage is done, or why the heat is over.

    Parameters
    ----------
    left
        The runs that the budget leaves to the heat.
    least_runs
        The least runs in a stage, to keep workers busy.
    capping
        Whether a run can be stopped when it has cost too much.
    low
        The lowest possible cost.
    """
    config_ids, last = heat.contenders, len(heat.order)
    if not config_ids:
        return "nobody is left"
    comparison = Comparison(heat.table(config_ids, heat.level), heat.instances, config_ids)
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
        busy = heat.level + math.ceil(least_runs / alive.size)
        stop = min(last, max(heat.level + 1, math.ceil(STAGE_GROWTH * heat.level), busy))
        some = [config_ids[row] for row in alive.tolist()]
        runs = sum(max(stop - heat.count(config_id), 0) for config_id in some)
        if runs <= left:
            keep = 0
            if capping and alive.size * (last - stop) > left - runs:
                keep = min(alive.size, affordable(entered, heat.started + runs, heat.grant))
            first = {*some[: keep or None], defender}
            deferred = tuple(one for one in some if one not in first)
            return Stage(tuple(some), stop, keep if deferred else 0, deferred)
        # Not all can be afforded: the best of them.
        alive = alive[:-1]
    return "its runs are spent"


def final_stage(
    heat: Heat, costs: Sequence[Mapping[Cell, float]], left: float
) -> Stage | ConfigId | None:
    """The next stage of a final, or its winner: the better half by means survives each stage.

    Each of the stages may spend an equal part of the runs left. `costs` are those of all
    configurations, by cell.
    """
    finalists = heat.contenders
    if not finalists:
        return None
    if heat.level:
        means = heat.table(finalists, heat.level).mean(axis=1)
        half = np.argsort(means, kind="stable")[: -(-len(finalists) // 2)]
        finalists = [finalists[row] for row in half.tolist()]
    if len(finalists) == 1:
        return finalists[0]
    missing = [sum(cell not in costs[one] for one in finalists) for cell in heat.order]
    part = left // math.ceil(math.log2(len(finalists)))
    stop = int(np.searchsorted(np.cumsum(missing), part, side="right"))
    return Stage(tuple(finalists), stop, 0) if stop > heat.level else finalists[0]


def duel(
    heat: Heat, challenger: ConfigId, defender: ConfigId, *, left: float, least_runs: int
) -> Stage | ConfigId:
    """The winner, or a stage in which the one with fewer runs catches up.

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
    stop = min(most, max(LEAST_RUNS, math.ceil(DUEL_GROWTH * common), common + least_runs))
    stop = int(min(stop, common + max(left, 0)))
    if stop <= common:
        return challenger if ahead and heat.count(challenger) > common else defender
    fewer = challenger if heat.count(challenger) == common else defender
    return Stage((fewer,), stop, 0)


def size_of_heat(
    *, started: int, left: float, proposals_left: float, incumbent_runs: int
) -> tuple[float, int]:
    """The grant of the next heat and its number of proposals; 0 if too few runs are left.

    Parameters
    ----------
    started, left
        Runs started so far, and those the budget leaves.
    proposals_left
        How many more configurations there are.
    incumbent_runs
        The runs of the incumbent, with which a challenger would have to catch up.
    """
    per_proposal = RUNS_PER_PROPOSAL_SMALL if started + left < SMALL_BUDGET else RUNS_PER_PROPOSAL
    if proposals_left < 1 or left < (per_proposal if started else 1):
        return 0.0, 0
    if proposals_left * per_proposal * SMALL_SPACE <= left:
        return left, int(proposals_left)
    grant = left / max(round(HEATS * left / (started + left)), 1)
    if started and grant < LEAST_HEAT_SHARE * (started + left) / HEATS:
        return 0.0, 0
    number = max(max(grant - incumbent_runs, grant / 2) // per_proposal, 2.0)
    return grant, int(min(proposals_left, number, left))


def affordable(entered: int, spent: int, granted: float) -> int:
    """m^(1 - x): how many of m contenders survive when the share x of the runs is spent."""
    allowed: float = max(entered, 2) ** (1 - min(spent / max(granted, 1e-9), 1.0))
    # Rounding must not keep one more than a whole number says.
    return max(1, math.ceil(allowed - 1e-9))
