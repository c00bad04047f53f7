"""Compiles the numerical kernels, whose cache all later processes read: `warm.py`.

Left to the tests, each of the processes they run in would compile the same again.
"""

import subprocess
import sys

import numpy as np

from truecost.matrix import CostMatrix
from truecost.paper import resample
from truecost.race.replay import replay
from truecost.stats import (
    betting,
    confidence,
    constant,
    finite,
    forecast,
    grouping,
    ledger,
    lists,
    mixing,
    quantiles,
    rates,
    ratios,
)
from truecost.stats.inversion import Look, QuantileOf
from truecost.stats.synthetic import runtime_model

# Said to the second process.
OTHERS = "others"


def main() -> None:
    """Call everything that is compiled, with the types that the package calls it with."""
    rng = np.random.default_rng(1)
    matrix = runtime_model(configurations=5, rng=rng).draw(instances=12, runs=3, rng=rng)
    costs = np.array(matrix.costs)
    costs[0, 0, 2] = np.nan
    gaps = CostMatrix(costs, matrix.configurations, matrix.instances, matrix.low, matrix.high)
    # In two processes: one kernel takes as long as all others.
    if OTHERS in sys.argv:
        for each in (matrix, gaps):
            resample.sweep_n(each, splits=4, rng=rng, levels=(0.5,))
        resample.sweep_n(matrix, splits=4, rng=rng, common_seeds=True)
        statements(matrix)
        designs()
        return
    child = subprocess.Popen([sys.executable, __file__, OTHERS])
    for each in (matrix, gaps):
        resample.sweep_m(each, splits=4, rng=rng, levels=(0.5,))
        resample.sweep_k(each, splits=4, rng=rng, levels=(0.5,))
        resample.compare_estimators(
            each, splits=4, rng=rng, runs=[2, 6], estimators=("even", "scattered")
        )
    replay(matrix, budgets=(0.5,), repetitions=2, rng=rng)
    confidence.interval(matrix, method="star-bets")
    confidence.interval(matrix, method="betting")
    confidence.sequence(matrix, method="betting")
    confidence.sequence(matrix, method="empirical-bernstein")
    sys.exit(child.wait())


def statements(matrix: CostMatrix) -> None:
    """What is said of two configurations, once and at all times, and the tests that are counted."""
    pair = matrix.costs[0], matrix.costs[1]
    rates.wins(*pair)
    rates.wins_sequence(*pair)
    confidence.watched(pair[0], matrix.low, matrix.high, planned=20)
    quantiles.quantile(pair[0], 0.9)
    quantiles.quantile_sequence(pair[0], 0.9)
    ratios.ratio_of_means(*pair, matrix.low, matrix.high)
    ratios.ratio_of_means_sequence(*pair, matrix.low, matrix.high)
    goal = forecast.wins(*pair)
    forecast.instances_needed(goal)
    forecast.chance_to_show(goal, 5, planned=20)
    forecast.is_shown(goal, planned=20)
    shares = goal.values[np.newaxis]
    betting.star_reaches(shares, 0.5, 20.0, True, False)
    for sequence in (False, True):
        betting.plug_in_rejects(shares, 0.5, 20.0, sequence)


def designs() -> None:
    """Limits for other designs than one look at independent instances."""
    rng = np.random.default_rng(1)
    rows, plans = rng.random((2, 9)), np.array([5, 9])
    for balanced in (False, True):
        ledger.lower(rows, 20.0, plans, ledger.SHARES, balanced)
        ledger.rejects(rows, 0.5, 20.0, plans, ledger.SHARES, balanced, True)
        finite.lower(rows, 12.0, 20.0, balanced)
        finite.rejects(rows, 0.5, 12.0, 20.0, balanced)
    finite.lower_sequence(rows, 12.0, 20.0)
    for top in ((), (0.0,)):
        constant.lower(rows, np.full(9, 1 / 9), 20.0, *top)
        constant.rejects(rows, np.full(9, 1 / 9), 0.5, 20.0, *top)
    constant.bets_for(9, 20.0, 1.0)
    labels = mixing.labels_for(np.array([4, 5]), np.array([0.5, 0.5]), 20.0, rng)
    mixing.lower(rows[0], np.array([0, 4, 9]), labels, 20.0)
    mixing.rejects(rows[0], np.array([0, 4, 9]), labels, 0.5, 20.0)
    quantity = QuantileOf(values=rng.random((9, 2)), share=0.5)
    quantity.limit("upper", 20.0, Look(kind="recorded", plans=(5, 9)))
    lists.may_be_best(rows, 0.05)
    lists.beat(rows, rows[0], 0.05)
    grouping.alike(rows, {"by": [0, 0, 0, 1, 1, 1, 2, 2, 2]}, rng=rng, permutations=9)


main()
