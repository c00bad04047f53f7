"""Which of the changes that turn one configuration into another matter, decided run by run.

Ablation analysis (Fawcett and Hoos 2016) walks from the default to the winner, one change at a
time, and takes the change that gains most at every step. With a hundred changes of which five
matter, most of these runs are spent on changes that do nothing. So the order is turned round here:

1. `simplify` undoes changes of the winner by halves, as delta debugging does (Zeller and
   Hildebrandt 2002): a group of changes is dropped if the winner does as well without it, else it
   is split.
2. `walk` takes the ablation path over the changes that are left.

A set of changes stands for a configuration. Costs come from `measure(sets, count)`: (sets, count)
costs on the first `count` of a fixed list of training runs, the same for all, so that comparisons
are paired. It raises `SpentError` when the budget does not reach so far; what is known then stands.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from truecost.arrays import FloatArray
from truecost.errors import TruecostError

Changes = frozenset[int]
Measure = Callable[[Sequence[Changes], int], FloatArray]

# Runs before the first look, and the factor by which they grow to the next one.
FIRST, GROWTH = 5, 2
# A set is dropped early when it is worse by this number of paired standard errors.
EVIDENCE = 2.0


class SpentError(TruecostError):
    """The budget has no runs for what is to be measured."""


class AblationStep(NamedTuple):
    """A change on the way from the default to the simplified configuration.

    `cost` is the mean cost after it, `gain` what it gained over the step before, with the paired
    standard error of that.
    """

    changes: tuple[int, ...]
    cost: float
    gain: float
    standard_error: float


def simplify(
    changes: Sequence[int], measure: Measure, count: int, tolerance: float
) -> tuple[Changes, bool]:
    """The changes that cannot be undone, and whether all groups could be tried.

    A group is undone if, over `count` runs, that costs at most the share `tolerance` of what all
    changes together gain. The comparison is with all changes each time, so that small losses do not
    add up.

    Parameters
    ----------
    changes
        The least important ones first, as far as that is known.
    """
    everything = frozenset(changes)
    default, winner = measure([frozenset(), everything], count)
    allowed = tolerance * float(default.mean() - winner.mean())
    kept, groups = everything, [tuple(changes)]
    while groups:
        group = groups.pop()
        try:
            # Without any change it is the default.
            undone = len(group) < len(everything) and _undone(
                kept - frozenset(group), everything, measure, count, allowed
            )
        except SpentError:
            return kept, False
        if not undone:
            if len(group) > 1:
                middle = len(group) // 2
                # The first half, less important, is tried first.
                groups += [group[middle:], group[:middle]]
            continue
        kept -= frozenset(group)
    return kept, True


def _undone(
    rest: Changes, everything: Changes, measure: Measure, count: int, allowed: float
) -> bool:
    """Whether the rest does as well as everything."""
    for runs in _levels(count):
        few, all_of_them = measure([rest, everything], runs)
        loss = few - all_of_them
        if _beyond(loss, allowed):
            return False
    return bool(loss.mean() <= max(allowed, 0.0))


def walk(kept: Changes, measure: Measure, count: int) -> list[AblationStep]:
    """The path from no change to all that were kept, the largest gain first."""
    steps: list[AblationStep] = []
    current: Changes = frozenset()
    before = measure([current], count)[0]
    while current != kept:
        try:
            best = _best([current | {change} for change in sorted(kept - current)], measure, count)
            costs = measure([best], count)[0]
        except SpentError:
            # What is left is taken together: its cost is known.
            best = kept
            costs = measure([best], count)[0]
        gains = before - costs
        error = float(gains.std(ddof=1)) / math.sqrt(count) if count > 1 else math.nan
        added = tuple(sorted(best - current))
        steps.append(AblationStep(added, float(costs.mean()), float(gains.mean()), error))
        current, before = best, costs
    return steps


def _best(candidates: Sequence[Changes], measure: Measure, count: int) -> Changes:
    """The candidate with the lowest mean, those that are clearly behind dropped on the way."""
    alive = list(candidates)
    for runs in _levels(count):
        costs = measure(alive, runs)
        leader = costs[int(costs.mean(axis=1).argmin())]
        alive = [
            candidate
            for candidate, row in zip(alive, costs, strict=True)
            if not _beyond(row - leader, 0.0)
        ]
        if len(alive) == 1:
            return alive[0]
    costs = measure(alive, count)
    return alive[int(costs.mean(axis=1).argmin())]


def _beyond(gaps: FloatArray, allowed: float) -> bool:
    """Whether the mean gap is above what is allowed by more than chance."""
    if gaps.size < FIRST:
        return False
    error = float(gaps.std(ddof=1)) / math.sqrt(gaps.size)
    return float(gaps.mean()) - allowed > EVIDENCE * error


def _levels(count: int) -> list[int]:
    """The numbers of runs at which is looked: 5, 10, 20 … and all."""
    # 5·2^29 runs are more than any list has.
    return [*(level for i in range(30) if (level := FIRST * GROWTH**i) < count), count]
