"""Counted on populations with known truth: statements are wrong at most as often as they say, and
the counting itself notices a wrong rule.
"""

import numpy as np
import pytest

from bench.folds import coverage
from bench.populations.__main__ import BADGE, count, rejected, sharpness
from bench.populations.sources import Population, Truth, made_up
from bench.populations.ways import WAYS

TRIALS = 60
POPULATIONS = {population.name: population for population in made_up()}
CELLS = [
    ("0/1", "random list, 50"),
    ("0/1", "race, 60"),
    ("lognormal 2.5", "fixed, 30"),
    ("rare timeouts", "tuned, tested on 50"),
    ("nested", "27 families of 10"),
    ("nested", "30 of a benchmark of 40"),
    ("lognormal 1", "fixed, 40 with common seeds"),
    ("0/1", "4 seeds on 10 instances"),
]


@pytest.mark.parametrize(("population", "way"), CELLS)
def test_statements_hold_as_often_as_they_say(population: str, way: str) -> None:
    """A certificate or a comparison would be wrong more often than δ."""
    counts = count(POPULATIONS[population], WAYS[way], 0.2, TRIALS, set())
    assert counts["cost"][0] == TRIALS
    assert rejected(counts, 0.2) == []
    assert counts[BADGE][0] > 10


def test_sharpness_is_counted_where_it_is_true() -> None:
    """Power would be counted for configurations that are no better, or widths against nothing."""
    cell = sharpness(POPULATIONS["lognormal 1"], WAYS["fixed, 30"], 0.2, 20)
    assert cell["shown"]["mean"][0] == 20
    assert cell["shown"]["wins"][1] > 10
    assert 0.3 < cell["widths"]["cost"] < 1.0
    assert 0.3 < cell["widths"]["difference"] < 1.0


def test_intervals_over_folds_hold_about_as_often_as_stated() -> None:
    """The correction for shared training data would be lost: 95 % intervals that hold in half of the
    data sets.
    """
    corrected, naive = coverage(200, 10, 10, 60, 0.05)
    assert corrected > 0.85
    assert naive < 0.7


def test_counting_notices_the_wrong_unit() -> None:
    """Coverage would be counted in a way that no wrong rule fails."""
    way = WAYS["27 families of 10, as instances"]
    counts = count(POPULATIONS["nested"], way, 0.05, TRIALS, set())
    assert "difference, below" in rejected(counts, 0.05)


def test_the_truth_of_a_population() -> None:
    """Statements would be compared with something that is not true."""
    costs = np.array([[[1.0, 3.0], [2.0, 2.0]], [[2.0, 2.0], [8.0, 8.0]]])
    population = Population(name="two", costs=costs, low=0.0, high=8.0, cutoff=8.0)
    truth = Truth(population)
    assert truth.mean("0") == 2.0
    assert truth.solved("1") == 0.5
    assert truth.quantile("0", 0.5) == 2.0
    assert truth.wins("0", "1") == pytest.approx(0.75)
    weighted = Truth(population, np.array([0.9, 0.1]))
    assert weighted.mean("1") == pytest.approx(2.6)
