"""The ledger of δ: which part of it a limit may spend, so that all limits together stay within it.

Reading runs leaves no trace, and a plan of runs may be extended after a look. So every rule here
holds for every pattern of looks, and nothing else divides δ:

list
    m configurations, fixed beforehand: 1/m each.
proposals
    The t-th proposal of a search: 6/(π²t²), which adds up to 1 over all t.
looks
    A search that goes on with more budget chooses anew, and its held-out costs are looked at again:
    `FIRST` of δ for the first look, 6/(π²(k − 1)²) of the rest for the k-th.
rounds
    Where costs decide how many runs there are, looks after r runs on each instance: 6/(π²r²); where
    R are the most, 1/r² over the sum of 1/j² up to R.
plans
    Runs in a recorded order, which may be looked at meanwhile and extended. More *instances*, or
    families, cost nothing beyond what `truecost.stats.ledger` takes: one capital bets along the
    order. More *runs* on old instances change values that were bet on, and more *configurations*
    make more limits: each number of runs has a capital of its own, and a configuration shares δ
    with those that came with it. `FIRST` of δ is for what the first plan announced; what is left
    for all others. The configurations of the k-th extension have 6/(π²(k + 1)²) of that, with r
    runs 6/(π²r²) of it.
"""

import math
from collections.abc import Iterable, Sequence

from truecost.runs import RunPlan

# What was announced first has nearly all: 2 % of the width is lost, not 8 as with 6/π².
FIRST = 0.9


def of_number(number: int) -> float:
    """The part of the t-th of a series without an end, from 1."""
    return 6 / (math.pi * number) ** 2


def of_look(number: int) -> float:
    """The part of the k-th look at what a search chose, from 1."""
    return FIRST if number == 1 else (1 - FIRST) * of_number(number - 1)


def of_round(number: int, most: int | None) -> float:
    """The part of looks after this many runs on each instance; all parts together are 1."""
    if most is None:
        return of_number(number)
    return number**-2 / sum(earlier**-2 for earlier in range(1, most + 1))


def of_plan(extension: int, runs: int, planned: int) -> float:
    """The part of the configurations that came with the k-th extension, from 0 for the first plan,
    with that number of runs on each instance; all parts together are 1 at most.
    """
    if extension == 0 and runs == planned:
        return FIRST
    # Both series sum to 1, so that all pairs of extension and runs stay within what is left.
    return (1 - FIRST) * of_number(extension + 1) * of_number(runs)


def entered(place: int, plans: Sequence[RunPlan]) -> tuple[int, int]:
    """With which plan a configuration came in, by its place in the list, and how many did so."""
    most = 0
    for extension, plan in enumerate(plans):
        if plan.configurations > place:
            return extension, plan.configurations - most
        most = max(most, plan.configurations)
    return len(plans), 1


def horizons(sizes: Iterable[int]) -> tuple[int, ...]:
    """For how many units the first plan was, and in all with each extension of it; rising."""
    totals: list[int] = []
    for size in sizes:
        if not totals or size > totals[-1]:
            totals.append(size)
    return tuple(totals)
