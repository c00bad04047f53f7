"""Compiles the numerical kernels, whose cache all later processes read: `warm.py`.

Left to the tests, each of the processes they run in would compile the same again.
"""

import subprocess
import sys

import numpy as np

from truecost.matrix import CostMatrix
from truecost.paper import resample
from truecost.race.replay import replay
from truecost.stats import betting, confidence, forecast, quantiles, rates, ratios, scanning
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
    rates.wins_watched(*pair, planned=20)
    quantiles.quantile(pair[0], 0.9)
    quantiles.quantile_sequence(pair[0], 0.9)
    ratios.ratio_of_means(*pair, matrix.low, matrix.high)
    ratios.ratio_of_means_sequence(*pair, matrix.low, matrix.high)
    goal = forecast.wins(*pair)
    forecast.instances_needed(goal)
    forecast.chance_to_show(goal, 5, planned=20)
    forecast.is_shown(goal, planned=20)
    shares = goal.values[np.newaxis]
    betting.star_rejects(shares, 0.5, 20.0)
    scanning.ratio_rejects(shares, shares, 0.0, 1.0, 1.0, 20.0)
    for sequence in (False, True):
        betting.plug_in_rejects(shares, 0.5, 20.0, sequence)


main()
