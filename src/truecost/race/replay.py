"""Configurators replayed on a recorded matrix: the same proposals in the same order, the same runs,
the same accounting.

In every repetition the instances are split afresh into a training and a test half and the proposals
put in a new order. A rule sees costs of the training half only, along one shared S* schedule, and
is judged by the test cost of what it has chosen when the budget is spent, as regret: 0 is the best
configuration of the matrix on the test half, 1 the median one.

Examples
--------
>>> tc.replay.OURS
'truecost'
"""

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.race import _rules
from truecost.race import policy as race
from truecost.race.heats import Heats
from truecost.stats import confidence
from truecost.stats.random import Rng, generator

BUDGETS = (0.05, 0.2, 0.6)
OURS = "truecost"
SMAC = "SMAC3's rule"
HALVING = "successive halving"
STUDENT = "t-test race"
EVERYTHING = "all runs"
# SMAC3's maximum of runs of an incumbent; irace's runs before its first test, and its level.
SMAC_MOST = 2000
FIRST_TEST = 5
LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """What the rules reached.

    Attributes
    ----------
    rules
        Their names: ours, the others', "N = 1", "N = 2", … for a fixed number of runs, and "all
        runs": the lowest training cost where everything is known of the training half, whatever it
        costs.
    budgets
        Shares of what all runs of the training half cost.
    regret
        (repetitions, budgets, rules).
    missed
        (budgets,): repetitions in which the test cost of our choice was above its certificate.
    delta
        What the certificate was promised to miss at most.
    """

    rules: tuple[str, ...]
    budgets: tuple[float, ...]
    regret: FloatArray
    missed: IntArray
    delta: float

    @property
    def mean(self) -> FloatArray:
        """(budgets, rules)."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """Of `mean`, (budgets, rules)."""
        return np.asarray(self.regret.std(axis=0, ddof=1) / math.sqrt(self.regret.shape[0]))

    def against(self, rule: str) -> tuple[FloatArray, FloatArray]:
        """Ours minus that rule, mean and standard error over the pairs, (budgets,) each."""
        apart = (
            self.regret[:, :, self.rules.index(OURS)] - self.regret[:, :, self.rules.index(rule)]
        )
        return apart.mean(axis=0), apart.std(axis=0, ddof=1) / math.sqrt(apart.shape[0])

    def best_fixed(self) -> list[str]:
        """The fixed number of runs that was best in hindsight, for each budget."""
        places = [i for i, name in enumerate(self.rules) if name.startswith("N = ")]
        return [self.rules[places[int(np.argmin(row[places]))]] for row in self.mean]


def fixed_numbers(last: int) -> list[int]:
    """1, 2, 4 … and all the runs there are."""
    return [*(2**i for i in range(int(math.log2(last)) + 1) if 2**i < last), last]


def replay(
    matrix: CostMatrix,
    *,
    rng: Rng = None,
    budgets: Sequence[float] = BUDGETS,
    repetitions: int = 1000,
    cutoff: float | None = None,
    delta: float = 0.05,
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Play every rule `repetitions` times.

    Parameters
    ----------
    matrix
        Complete: every run is there.
    rng
        Splits, orders and schedules come from it.
    budgets
        Shares of what all runs of the training half cost, in runs or in seconds.
    cutoff
        Charge a run its seconds, up to this maximum, instead of 1.
    delta
        Of the certificate: computed from one run of our choice on each instance of one part of the
        test half, checked against the whole of it.
    progress
        Told the number of repetitions done.
    """
    _check(matrix, budgets, repetitions, cutoff, delta)
    rng, costs = generator(rng), matrix.exact_costs()
    configurations, instances, runs = costs.shape
    half = instances // 2
    numbers = fixed_numbers(half * runs)
    rules = (OURS, SMAC, HALVING, STUDENT, *(f"N = {n}" for n in numbers), EVERYTHING)
    quantiles = np.concatenate([[math.inf], stdtrit(np.arange(1, half * runs + 1), 1 - LEVEL / 2)])
    regret = np.empty((repetitions, len(budgets), len(rules)))
    missed = np.zeros(len(budgets), dtype=np.int64)
    for repetition in range(repetitions):
        order = rng.permutation(configurations)
        split = rng.permutation(instances)
        schedule = race.schedule(half, runs, rng)
        shuffled = costs[order][:, split]
        training = np.ascontiguousarray(shuffled[:, schedule.instances, schedule.numbers])
        held_out = shuffled[:, half:]
        test = held_out.mean(axis=(1, 2))
        prices = np.ones_like(training) if cutoff is None else np.minimum(training, cutoff)
        spend = np.array(budgets) * prices.sum()
        ours = np.array(
            [
                run_race(
                    Course(training, cutoff, capping=cutoff is not None),
                    schedule,
                    budget,
                    matrix.low,
                )[0]
                for budget in spend
            ]
        )
        choices = [
            ours,
            _rules.doubling(training, prices, spend, SMAC_MOST),
            _rules.halving(training, prices, spend),
            _rules.student_race(training, prices, spend, FIRST_TEST, quantiles),
            *(_rules.fixed(training, prices, spend, n) for n in numbers),
            np.full(len(budgets), int(np.argmin(training.mean(axis=1)))),
        ]
        # 0 is the best configuration, 1 the median one; equal costs have no scale.
        best, middle = float(test.min()), float(np.median(test))
        scale = middle - best if middle > best else 1.0
        regret[repetition] = (test[np.array(choices)].T - best) / scale
        seen = held_out[:, : max(held_out.shape[1] // 2, 1), 0]
        for winner in np.unique(ours):
            limit = confidence.upper(seen[winner], matrix.low, matrix.high, delta)
            missed += np.where(ours == winner, float(test[winner]) > float(limit.upper), False)
        if progress is not None:
            progress(repetition + 1)
    return Replay(rules=rules, budgets=tuple(budgets), regret=regret, missed=missed, delta=delta)


def run_race(
    course: "Course", schedule: race.RunOrder, budget: float, low: float
) -> tuple[int, IntArray]:
    """Our policy on recorded costs: the configuration chosen, and how often each was run."""
    instances = int(schedule.instances.max()) + 1
    heats = Heats(instances, schedule.instances.size // instances, seed=0, low=low)
    # Heats count runs as cells, the course in the order of the schedule.
    columns = np.empty(schedule.instances.size, dtype=np.int64)
    columns[schedule.numbers * instances + schedule.instances] = np.arange(columns.size)
    by_cell = course.costs[:, columns]
    while True:
        heat = heats.open_heats[0]
        rows, proposed = heat.members, len(heats.out)
        decision = race.decide(
            heats.standing(heat),
            heat.order,
            runs_left=course.affords(budget) + 1e-9,
            proposals_left=course.costs.shape[0] - proposed,
            capping=course.capping,
        )
        leader = None if decision.incumbent is None else rows[decision.incumbent]
        if not decision.batch:
            counts = [heats.count(place) for place in range(proposed)]
            return leader or 0, np.pad(counts, (0, course.costs.shape[0] - proposed))
        if decision.grant is not None:
            heat = heats.open(decision.grant, leader, closes=heat)
            for _ in range(len(decision.batch) + len(decision.then)):
                heats.enter(heat)
        new = range(proposed, len(heats.out))
        course.run(decision, heats, by_cell, [*rows, *new])


class Course:
    """Recorded costs (M, J), in the order of a schedule, and what runs of them took.

    With a cutoff, runs are charged their seconds, and with capping, stopped at what they may still
    cost.
    """

    def __init__(
        self, costs: FloatArray, cutoff: float | None = None, *, capping: bool = False
    ) -> None:
        self.costs, self.cutoff, self.capping = costs, cutoff, capping
        self.spent, self.runs, self.stopped = 0.0, 0, 0

    def affords(self, budget: float) -> float:
        """How many more runs fit, if they take what those so far took, or the first will take."""
        if self.cutoff is None:
            return budget - self.spent
        # Before the first run its price is guessed by the first column, for all alike.
        price = (
            self.spent / self.runs
            if self.runs
            else float(np.minimum(self.costs[:, 0], self.cutoff).mean())
        )
        return (budget - self.spent) / price if price else float(self.costs.size)

    def run(
        self, decision: race.Decision, heats: Heats, by_cell: FloatArray, places: Sequence[int]
    ) -> None:
        """Everything a decision asks for, one run after the other; `places` are its rows, `by_cell`
        the costs in the order in which heats count runs.
        """
        heat = heats.open_heats[0]

        def note(stretch: race.Stretch, allowed: float) -> int:
            place = places[stretch.configuration]
            cells = heat.cells[stretch.start : stretch.stop]
            self._note(heats, place, cells.tolist(), by_cell[place, cells].tolist(), allowed)
            return place

        for stretch in decision.batch:
            note(stretch, math.inf)
        if decision.cut is None:
            return
        contenders = [places[row] for row in decision.cut.contenders]
        sums = heat.first_costs(contenders, decision.cut.stop).sum(axis=1)
        totals = np.sort(sums[~np.isnan(sums)]).tolist()
        for stretch in decision.then:
            # As `Cut.limit` says it, without looking at everybody again.
            limit = totals[decision.cut.keep - 1]
            place = note(stretch, limit - heat.total(places[stretch.configuration]))
            if not heats.out[place]:
                bisect.insort(totals, heat.total(place))

    def _note(
        self, heats: Heats, place: int, cells: list[int], costs: list[float], allowed: float
    ) -> None:
        """Runs, by cell and cost, one after the other: as long as they cost no more than is allowed
        in all.
        """
        if self.cutoff is None:
            self.spent += len(cells)
            self.runs += len(cells)
            heats.note_all(place, cells, costs)
            return
        limited = math.fsum(costs) > allowed
        heats.out[place] |= limited
        self.stopped += limited
        for cell, cost in zip(cells, costs, strict=True):
            if limited and allowed <= 0:
                return
            price = min(cost, self.cutoff)
            self.spent += min(price, allowed) if limited else price
            self.runs += 1
            if limited and cost > allowed:
                return
            heats.note(place, cell, cost)
            allowed -= cost


def _check(
    matrix: CostMatrix,
    budgets: Sequence[float],
    repetitions: int,
    cutoff: float | None,
    delta: float,
) -> None:
    shape, shares = matrix.costs.shape, list(budgets)
    checks = {
        "Expected a complete matrix to replay configurators on, and runs are missing; select what "
        "is complete.": not np.isnan(matrix.costs).any(),
        f"Expected at least 2 configurations and 4 instances, got {shape[0]} and {shape[1]}.": (
            shape[0] >= 2 and shape[1] >= 4
        ),
        f"Expected budgets as ascending shares above 0 and up to 1, got {shares}.": (
            shares and all(0 < budget <= 1 for budget in shares) and shares == sorted(shares)
        ),
        f"Expected at least 2 repetitions, got {repetitions}.": repetitions >= 2,
        "Give the metric's possible range, `low` and `high`: certificates of the race need it.": (
            np.isfinite(matrix.width)
        ),
        "Expected costs in seconds and a cutoff above 0 to charge runs by the second.": (
            cutoff is None or (cutoff > 0 and matrix.low >= 0)
        ),
        f"Expected delta between 0 and 1, got {delta}.": 0 < delta < 1,
    }
    for text, holds in checks.items():
        if not holds:
            raise InputError(text)
