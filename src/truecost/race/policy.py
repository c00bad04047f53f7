"""Which run next, who is out, when to stop: the policy of the configurator, as pure functions.

Configurations are raced in heats: new proposals and the incumbent, all on one S* schedule of the
heat, so that comparisons are paired and every prefix is an even allocation (Theorem 1: one run on
each instance before a second run on any). After a few more runs there is a look, and a contender is
dropped

* on the paired evidence: its difference to the leader is `EVIDENCE` standard errors above zero;
* by the price of more evidence: a heat of m contenders that has spent the share x of its runs goes
  on with the best m^(1−x) of them, which is successive halving with every look a small cut; where
  the runs suffice for all, nobody is dropped for the price.

Where a run can be stopped, that cut is foreseen: those who would pass it now run first, the others
after them and only as long as they can still be among the ones that will. That caps a run at what
it may still cost, and costs no configuration its place. The evidence caps nothing: a single run,
however long, never makes a difference significant.

A heat is over when one is left, when every run of the schedule is done, when its runs are spent, or
when what more runs of those left are expected to gain is below `WORTH` of the leader's cost: by the
variance of the paired differences, so that N, and with it K, grows as far as `within` and `across`
say it is worth. A challenger then has to beat the incumbent on as many runs as that has, or on the
paired evidence; whoever has fewer runs catches up first. Then the next heat begins.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr, stdtrit

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError
from truecost.stats.random import Rng, generator

# A budget of fewer runs has to see enough of the space first.
FEW: Final = 500
# The evidence a contender is dropped on, in paired standard errors, and the number of runs from
# which on it is asked.
EVIDENCE: Final = 2.5
FIRST_TEST: Final = 5
# More runs are not worth it when they are expected to gain less than this share of the leader's
# cost.
WORTH: Final = 0.01
# Levels at which the race is looked at grow by this factor.
STEP: Final = 1.25
# Whoever has fewer runs when a challenger meets the incumbent catches up in steps of this factor.
CATCH_UP: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a budget is spent.

    Attributes
    ----------
    heats
        In how many, when proposals do not run out.
    runs, runs_of_few
        A heat's runs per proposal; and where there are less than `FEW` in all.
    """

    heats: int
    runs: float
    runs_of_few: float


# A list of configurations, and proposals that follow what was found: these pay for being looked at
# more often.
LISTED: Final = Pace(heats=5, runs=4.0, runs_of_few=3.0)
LEARNING: Final = Pace(heats=8, runs=3.0, runs_of_few=2.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunOrder:
    """One order of runs for all configurations: position -> instance and the run's number on it."""

    instances: IntArray
    numbers: IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """What has been run so far.

    Attributes
    ----------
    costs
        (C, J): cost of configuration c at position j of the schedule, NaN where it was not run;
        rows are filled from the left.
    out
        (C,): it could no longer pass a cut; out for good.
    heats
        (C,): the heat a configuration was proposed for, from 0.
    granted
        The runs each heat may take, as the decision that opened it said.
    incumbent
        Who led when the last heat was opened; None in the first.
    earlier
        How many of the heats a smaller budget paid, which was spent before.
    low
        The least possible cost; -inf if there is none.
    made
        All runs so far, where `costs` has only those of the open heat; None counts `costs`.
    """

    costs: FloatArray
    out: BoolArray
    heats: IntArray
    granted: tuple[float, ...] = ()
    incumbent: int | None = None
    earlier: int = 0
    low: float = 0.0
    made: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Run a configuration on positions start to stop − 1; C, C+1, … are new proposals."""

    configuration: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Of these contenders, no more than `keep` will go on when all have `stop` runs: those with the
    least totals.
    """

    contenders: tuple[int, ...]
    stop: int
    keep: int

    def limit(self, costs: FloatArray) -> float:
        """The total that a contender may not exceed if it is to pass, by the costs (C, J) so far;
        it only falls.
        """
        totals = np.sort(costs[list(self.contenders), : self.stop].sum(axis=1))
        # NaN, of who is not there yet, comes last.
        least = float(totals[self.keep - 1])
        return math.inf if math.isnan(least) else least


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to run next; nothing when it is time to stop.

    Attributes
    ----------
    batch
        Whom to run.
    then, cut
        Whom to run after the batch, and the cut they have to pass: a configuration whose total is
        above its limit is out, and its run need not go on longer than that.
    incumbent
        Who leads.
    reason
        Why, in a few words.
    grant
        The runs of the heat that new proposals open.
    """

    batch: tuple[Stretch, ...]
    incumbent: int | None
    reason: str
    grant: float | None = None
    then: tuple[Stretch, ...] = ()
    cut: Cut | None = None


def schedule(instances: int, runs: int, rng: Rng = None) -> RunOrder:
    """S*: rounds over all instances, each in a random order of its own."""
    if instances < 1 or runs < 1:
        raise InputError(
            f"Expected at least 1 instance and 1 run on each, got {instances} and {runs}."
        )
    rng = generator(rng)
    order = [rng.permutation(instances) for _ in range(runs)]
    return RunOrder(instances=np.concatenate(order), numbers=np.repeat(np.arange(runs), instances))


def decide(
    standing: Standing,
    schedule: RunOrder,
    *,
    runs_left: float,
    proposals_left: float,
    at_least: int = 1,
    capping: bool = False,
    pace: Pace = LISTED,
) -> Decision:
    """What to run next.

    Parameters
    ----------
    standing, schedule
        What is known, and the order of runs.
    runs_left, proposals_left
        How many more runs the budget allows, and how many more configurations can be proposed; both
        may be infinite.
    at_least
        The minimum number of runs in a batch, where there is use for them: one per worker.
    capping
        Whether a run can be stopped when it has cost too much, and no cost is below 0.
    pace
        How the budget is spent.
    """
    runs_left = math.floor(runs_left) if math.isfinite(runs_left) else runs_left

    def opened(incumbent: int | None, reason: str) -> Decision:
        size = schedule.instances.size
        return _open(standing, size, incumbent, runs_left, proposals_left, capping, pace, reason)

    if len(standing.granted) == 0:
        return opened(None, "first heat")
    counts = (~np.isnan(standing.costs)).sum(axis=1)
    heat = len(standing.granted) - 1
    cohort = np.flatnonzero((standing.heats == heat) & ~standing.out)
    level = int(counts[cohort].max(initial=0))
    if level == 0:
        return opened(standing.incumbent, "nobody of the heat is left")
    contenders = cohort[counts[cohort] == level]
    defends = standing.incumbent is not None and not standing.out[standing.incumbent]
    if defends and counts[standing.incumbent] >= level and standing.incumbent not in contenders:
        contenders = np.concatenate([[standing.incumbent], contenders])
    look = _Look(standing, schedule, contenders, level)
    spent = int(counts[standing.heats == heat].sum())
    # Runs kept for a challenger to catch up.
    kept = max(int(counts[standing.incumbent]) - level, 0) if defends else 0
    left = max(min(standing.granted[heat] - spent, runs_left - kept), 0.0)
    last = schedule.instances.size
    alive, entered = look.by_evidence(), int(np.count_nonzero(standing.heats == heat))
    if alive.size * (last - level) > left:
        alive = alive[: _affordable(entered, spent, standing.granted[heat])]
    reason = look.over(alive, last)
    while reason is None:
        stop = min(
            last, max(level + 1, math.ceil(STEP * level), level + math.ceil(at_least / alive.size))
        )
        rows = contenders[alive]
        runs = int(np.maximum(stop - counts[rows], 0).sum())
        if runs <= left:
            keep = alive.size
            if capping and alive.size * (last - stop) > left - runs:
                keep = min(keep, _affordable(entered, spent + runs, standing.granted[heat]))
            cut = Cut(contenders=tuple(rows.tolist()), stop=stop, keep=keep)
            return _race_on(cut, counts, look.leader, standing.incumbent)
        # Not everybody can be afforded: the best of them.
        alive = alive[:-1]
        reason = "the runs of the heat are spent" if alive.size < 2 else None
    leader, behind = _settled(standing, schedule, look, counts, runs_left, at_least)
    if behind is not None:
        why = f"{reason}; the challenger has to win on equal runs"
        return Decision(batch=(behind,), incumbent=standing.incumbent, reason=why)
    return opened(leader, reason)


def _race_on(cut: Cut, counts: IntArray, leader: int, incumbent: int | None) -> Decision:
    """All contenders run on to the level of a cut; who would not pass it now, after the others."""
    first = {*cut.contenders[: cut.keep], leader, incumbent}
    batch = [
        Stretch(configuration=place, start=int(counts[place]), stop=cut.stop)
        for place in cut.contenders
        if counts[place] < cut.stop
    ]
    then = tuple(stretch for stretch in batch if stretch.configuration not in first)
    return Decision(
        batch=tuple(stretch for stretch in batch if stretch.configuration in first),
        then=then,
        cut=cut if then else None,
        incumbent=leader,
        reason=f"{len(cut.contenders)} contenders to {cut.stop} runs",
    )


def _settled(
    standing: Standing,
    schedule: RunOrder,
    look: "_Look",
    counts: IntArray,
    runs_left: float,
    at_least: int,
) -> tuple[int, Stretch | None]:
    """Who leads after a heat; or, while only chance may speak for the challenger, a stretch of
    whoever has fewer runs.

    A few runs always find somebody who looks better than an incumbent that has many. So a
    challenger replaces it on as many runs as it has, or on the paired evidence.
    """
    incumbent, leader = standing.incumbent, look.leader
    if incumbent is None or leader == incumbent or standing.out[incumbent]:
        return leader, None
    both, most = sorted((int(counts[incumbent]), int(counts[leader])))
    if both == most:
        return leader, None
    means = means_by_instance(standing.costs[[leader, incumbent], :both], schedule.instances[:both])
    gap = means[1] - means[0]
    if (
        both >= FIRST_TEST
        and gap.size >= 2
        and gap.mean() > _quantile(gap.size) * gap.std(ddof=1) / math.sqrt(gap.size)
    ):
        return leader, None
    stop = int(
        min(most, max(FIRST_TEST, math.ceil(CATCH_UP * both), both + at_least), both + runs_left)
    )
    if stop <= both:
        wins = counts[incumbent] < counts[leader] and gap.mean() > 0
        return (leader if wins else incumbent), None
    fewer = incumbent if counts[incumbent] < counts[leader] else leader
    return leader, Stretch(configuration=fewer, start=both, stop=stop)


def _quantile(instances: int) -> float:
    """EVIDENCE, a normal's, as Student's."""
    return float(stdtrit(instances - 1, ndtr(EVIDENCE)))


def _open(
    standing: Standing,
    size: int,
    incumbent: int | None,
    runs_left: float,
    proposals_left: float,
    capping: bool,
    pace: Pace,
    reason: str,
) -> Decision:
    """A new heat on an order of this size, if there are runs and proposals for one."""
    made = np.count_nonzero(~np.isnan(standing.costs)) if standing.made is None else standing.made
    total = runs_left + made
    per_proposal = pace.runs_of_few if total < FEW else pace.runs
    share = runs_left / max(pace.heats - len(standing.granted) + standing.earlier, 1)
    had = 0 if incumbent is None else np.count_nonzero(~np.isnan(standing.costs[incumbent]))
    number = int(
        min(proposals_left, max(max(share - had, share / 2) // per_proposal, 2.0), runs_left)
    )
    # A fifth less than the pace asks for will do, where that spares another heat.
    if proposals_left * per_proposal * 0.8 <= runs_left:
        # There is enough for everybody in one heat.
        share, number = runs_left, int(proposals_left)
    known = standing.costs.shape[0]
    if number < 1 or (incumbent is not None and runs_left < per_proposal):
        few = "too few runs are left for another heat"
        why = few if proposals_left else "no proposals are left"
        return Decision(batch=(), incumbent=incumbent, reason=f"{reason}; {why}")
    new = range(known, known + number)
    batch = tuple(Stretch(configuration=place, start=0, stop=1) for place in new)
    entered = (*new,) if incumbent is None else (incumbent, *new)
    keep = number
    if capping and len(entered) * (size - 1) > share - number:
        keep = min(keep, _affordable(number, number, share))
    return Decision(
        batch=batch[:keep],
        then=batch[keep:],
        cut=Cut(contenders=entered, stop=1, keep=keep) if keep < number else None,
        incumbent=incumbent,
        reason=f"{reason}; {number} new proposals",
        grant=float(share),
    )


def _affordable(entered: int, spent: int, granted: float) -> int:
    """m^(1−x): how many of a heat that m entered go on when the share x of its runs is spent."""
    allowed: float = max(entered, 2) ** (1 - min(spent / granted, 1.0))
    # Rounding must not keep one more than a whole number says.
    return max(1, math.ceil(allowed - 1e-9))


class _Look:
    """The contenders at one level, where everybody has the same runs; `ranked` are their places,
    the best first.
    """

    def __init__(
        self, standing: Standing, schedule: RunOrder, contenders: IntArray, level: int
    ) -> None:
        self.level = level
        self.costs = standing.costs[contenders, :level]
        # Ties go to the one that was there first.
        self.ranked = np.lexsort((contenders, self.costs.mean(axis=1)))
        self.best = int(self.ranked[0])
        self.leader = int(contenders[self.best])
        self.low = standing.low
        means = means_by_instance(self.costs, schedule.instances[:level])
        self.met = means.shape[1]
        self.tells = level >= FIRST_TEST and self.met >= 2
        if self.tells:
            # How far everybody is behind the leader, paired by instances, and its standard error.
            differences = means - means[self.best]
            self.behind = differences.mean(axis=1)
            self.error = differences.std(axis=1, ddof=1) / math.sqrt(self.met)

    def by_evidence(self) -> IntArray:
        """Those whose paired difference to the leader does not say that they are worse."""
        if not self.tells:
            return self.ranked
        keep = self.behind <= _quantile(self.met) * self.error
        return np.asarray(self.ranked[keep[self.ranked]])

    def over(self, alive: IntArray, last: int) -> str | None:
        """Why the heat is over, if it is."""
        if alive.size < 2:
            return "one is left"
        if self.level >= last:
            return "every run of the schedule is done"
        if not self.tells:
            return None
        gain = _expected_gain(self.behind[alive[1:]], self.error[alive[1:]])
        cost = float(self.costs[self.best].mean()) - (self.low if math.isfinite(self.low) else 0.0)
        return "more runs are not worth it" if float(gain.sum()) <= WORTH * abs(cost) else None


def means_by_instance(costs: FloatArray, instances: IntArray) -> FloatArray:
    """(C, n) costs, run on these instances -> (C, K) means over the runs on each instance met."""
    counts = np.bincount(instances)
    if counts.max(initial=0) <= 1:
        return costs
    # Sparse: dense weights are most of what a decision costs when there are many instances.
    order = instances.argsort(kind="stable")
    met = counts[counts > 0]
    ends = np.concatenate([[0], met.cumsum()])
    weights = csr_array((np.repeat(1.0 / met, met), order, ends), shape=(met.size, instances.size))
    return np.asarray((weights @ costs.T).T)


def _expected_gain(behind: FloatArray, error: FloatArray) -> FloatArray:
    """E max(0, −X) of X normal: what would be gained by the ones behind if all were known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, -behind / error, np.where(behind < 0, np.inf, -np.inf))
        gain = error * (z * ndtr(z) + np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
    return np.where(error > 0, gain, np.maximum(-behind, 0.0))
