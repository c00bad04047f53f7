"""Forecasts do not come from the differences that selected the winner."""

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment
from truecost.judge.outlook import CHEAPER, selection_of
from truecost.matrix import CostMatrix
from truecost.runs import Trajectory

LISTED = Trajectory(tool="a list", proposed="beforehand", raced=False, default="c0")
TUNED = Trajectory(tool="a tuner", proposed="adaptively", raced=False, default="c0")


def noise(seed: int, configurations: int = 30, instances: int = 25) -> CostMatrix:
    """Configurations that differ by chance alone."""
    costs = np.random.default_rng(seed).random((configurations, instances, 1))
    names = [f"c{place}" for place in range(configurations)]
    return CostMatrix(costs, names, [f"i{place}" for place in range(instances)], 0, 1)


def promised(assessment: Assessment) -> bool:
    """Whether some number of new instances is said to show a lower mean cost."""
    return any(goal.forecast.instances is not None for goal in assessment.outlook.reach)


def test_nothing_is_promised_to_a_tuned_winner() -> None:
    """Pure noise would be promised a good chance, since the winner was picked for its luck."""
    for seed in range(5):
        assessment = assess(noise(seed), trajectory=TUNED)
        assert not assessment.outlook.reach
        assert assessment.outlook.apart is None
        needed = assessment.outlook.assumed
        assert tuple(each.effect for each in needed) == CHEAPER
        sizes = [each.instances or 10**9 for each in needed]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] > 3 * sizes[1] > 3 * sizes[2]
        with pytest.raises(InputError, match="did not select the configuration"):
            assessment.forecast("wins")


def test_forecasts_of_a_list_use_held_out_instances() -> None:
    """The best of a list of equals would be promised what its own differences show."""
    honest, flattered = 0, 0
    for seed in range(30):
        assessment = assess(noise(seed), trajectory=LISTED)
        reach = assessment.forecast("mean")
        honest += (reach.forecast.instances or 10**9) <= 500
        assert reach.forecast.pilot == 25
        fixed = assess(
            assessment.matrix,
            configuration=assessment.incumbent,
            default="c0",
            chosen="before",
            rng=1,
        )
        observed = fixed.forecast("mean")
        flattered += (observed.forecast.instances or 10**9) <= 500
    assert flattered >= 25
    # What is left is the luck of the default, which no choice has made.
    assert honest <= 12


def test_a_true_difference_is_still_forecast() -> None:
    """Held-out halves would hide a configuration that is truly better."""
    matrix = noise(1)
    costs = np.array(matrix.costs)
    costs[7] *= 0.3
    assessment = assess(matrix.replace(costs=costs), trajectory=LISTED)
    assert assessment.incumbent == "c7"
    reach = assessment.forecast("mean").forecast
    assert reach.instances is not None
    assert 5 < reach.instances < 200
    test = matrix.replace(instances=[f"t{place}" for place in range(25)])
    fresh = assess(matrix.replace(costs=costs), trajectory=TUNED, test=test, configuration="c7")
    assert selection_of(fresh) == "no"
    assert not fresh.outlook.assumed
