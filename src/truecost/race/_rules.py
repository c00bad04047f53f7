"""Numba: what other configurators do with a list of proposals, on recorded costs; arrays in,
choices out.

Every rule takes costs (M, J) in the order of one shared schedule, what each run is charged (M, J),
proposals in the order they are made, which is that of the rows, and budgets in ascending order; it
returns the row chosen when each budget is spent.
"""

import math

import numpy as np

from truecost.stats.compiled import compiled


@compiled
def fixed(costs, prices, budgets, runs):
    """Every proposal gets `runs` runs; the least mean of those that got them all."""
    chosen = np.zeros(len(budgets), dtype=np.int64)
    best, spent, at, leader = math.inf, 0.0, 0, 0
    for c in range(costs.shape[0]):
        total = 0.0
        for j in range(runs):
            total += costs[c, j]
            spent += prices[c, j]
        while at < len(budgets) and spent > budgets[at]:
            chosen[at] = leader
            at += 1
        if at == len(budgets):
            return chosen
        if total < best:
            best, leader = total, c
    chosen[at:] = leader
    return chosen


@compiled
def doubling(costs, prices, budgets, most):
    """SMAC3's rule: a challenger on 1, 2, 4 … of the incumbent's runs, dropped on a worse mean.

    The incumbent gets one more run each time. When proposals run out they come again, with the runs
    they have.
    """
    configurations, last = costs.shape
    last = min(last, most)
    sums = np.zeros((configurations, last + 1))
    for c in range(configurations):
        for j in range(last):
            sums[c, j + 1] = sums[c, j] + costs[c, j]
    counts = np.zeros(configurations, dtype=np.int64)
    chosen = np.zeros(len(budgets), dtype=np.int64)
    incumbent, at, turn, idle = 0, 0, 1, 0
    counts[0] = 1
    spent = prices[0, 0]
    while at < len(budgets) and idle <= configurations:
        challenger = turn % configurations
        turn += 1
        before = spent
        leader = incumbent
        if challenger != incumbent:
            if counts[incumbent] < last:
                spent += prices[incumbent, counts[incumbent]]
                counts[incumbent] += 1
            runs = 1
            while True:
                runs = min(runs, counts[incumbent])
                while counts[challenger] < runs:
                    spent += prices[challenger, counts[challenger]]
                    counts[challenger] += 1
                if sums[challenger, runs] > sums[incumbent, runs]:
                    break
                if runs == counts[incumbent]:
                    leader = challenger
                    break
                runs *= 2
        while at < len(budgets) and spent > budgets[at]:
            chosen[at] = incumbent
            at += 1
        incumbent = leader
        idle = idle + 1 if spent == before else 0
    chosen[at:] = incumbent
    return chosen


@compiled
def halving(costs, prices, budgets):
    """Successive halving: every round has the same part of the budget, the better half goes on."""
    chosen = np.zeros(len(budgets), dtype=np.int64)
    configurations, last = costs.shape
    for at in range(len(budgets)):
        price = prices[:, 0].mean()
        fitting = budgets[at] / price if price > 0 else float(configurations)
        alive = np.arange(max(1, min(configurations, int(fitting))))
        rounds = max(1, math.ceil(math.log2(len(alive)) - 1e-9))
        sums = np.zeros(configurations)
        runs, spent = 0, 0.0
        for turn in range(rounds):
            share = (budgets[at] - spent) / (rounds - turn)
            begin = spent
            while runs < last:
                charge = 0.0
                for c in alive:
                    charge += prices[c, runs]
                # Rounding must not cost a round of runs.
                if spent + charge - begin > share + 1e-9:
                    break
                for c in alive:
                    sums[c] += costs[c, runs]
                spent += charge
                runs += 1
            alive = alive[np.argsort(sums[alive], kind="mergesort")[: math.ceil(len(alive) / 2)]]
        chosen[at] = alive[0]
    return chosen


@compiled
def student_race(costs, prices, budgets, first, quantiles):
    """A t-test race in irace's manner: from run `first` on, after each, who is significantly worse
    than the best is dropped.

    As many proposals as the budget takes to the first test.
    """
    chosen = np.zeros(len(budgets), dtype=np.int64)
    configurations, last = costs.shape
    for at in range(len(budgets)):
        entered, cost_of_first = 0, 0.0
        while entered < configurations:
            for j in range(min(first, last)):
                cost_of_first += prices[entered, j]
            if cost_of_first > budgets[at] and entered > 0:
                break
            entered += 1
        alive = np.arange(entered)
        sums = np.zeros(configurations)
        # Of the squared differences to the best; begun anew when another one is the best.
        squares, reference = np.zeros(configurations), -1
        spent, runs = 0.0, 0
        while runs < last and len(alive) > 1:
            charge = 0.0
            for c in alive:
                charge += prices[c, runs]
            if spent + charge > budgets[at]:
                break
            for c in alive:
                sums[c] += costs[c, runs]
            spent += charge
            runs += 1
            if runs >= first:
                best = alive[np.argmin(sums[alive])]
                begin = runs - 1 if best == reference else 0
                reference = best
                keep = np.ones(len(alive), dtype=np.bool_)
                for i in range(len(alive)):
                    c = alive[i]
                    if begin == 0:
                        squares[c] = 0.0
                    for j in range(begin, runs):
                        squares[c] += (costs[c, j] - costs[best, j]) ** 2
                    mean = (sums[c] - sums[best]) / runs
                    left = max(squares[c] - runs * mean**2, 0.0)
                    keep[i] = c == best or mean <= quantiles[runs - 1] * math.sqrt(
                        left / (runs - 1) / runs
                    )
                alive = alive[keep]
        chosen[at] = alive[np.argmin(sums[alive])]
    return chosen
