"""Counted on populations with known truth: statements are wrong at most as often as they say, and
the counting itself notices a wrong rule.
"""

from functools import partial

import numpy as np
import pytest

from bench.folds import coverage
from bench.populations.__main__ import BADGE, count, rejected, sharpness
from bench.populations.sources import Population, Truth, made_up
from bench.populations.ways import (
    WAYS,
    WRONG,
    finished,
    grown,
    mixed,
    mixed_within,
    progressive,
    watched,
)

TRIALS, FEWER = 60, 30
POPULATIONS = {population.name: population for population in made_up()}
CELLS = [
    ("0/1", "random list, 50"),
    ("lognormal 1", "weighted list, 50"),
    ("rare timeouts", "on part, 50"),
    ("0/1", "3 proposals, 30 new each"),
    ("0/1", "race, 60"),
    ("lognormal 1", "capped, 40"),
    ("lognormal 2.5", "fixed, 30"),
    ("0/1", "fixed, 30 sorted"),
    ("lognormal 1", "fixed, 40 with common seeds"),
    ("rare timeouts", "tuned, tested on 50"),
    ("0/1", "tuned, sorted test of 20"),
    ("0/1", "test watched to 60"),
    ("lognormal 1", "plan grown to 200"),
    ("0/1", "unfinished, then 100"),
    ("nested", "15 families"),
    ("nested", "27 families of 10"),
    ("nested", "27 families of 10, list"),
    ("nested", "a mix of 6 families of 12"),
    ("nested", "3 families, any mix in ranges"),
    ("nested", "30 of a benchmark of 40"),
    ("0/1", "all of a benchmark of 40"),
    ("0/1", "40 seeds on 1 instance"),
    ("0/1", "4 seeds on 10 instances"),
    ("nested", "4 seeds on 10 weighted"),
    ("lognormal 1", "60 with sampling weights"),
]
# Ways that take many looks or many labels, at a size that a test can afford, and fewer trials.
SMALLER = {
    "3 proposals, 30 new each": partial(progressive, proposals=2, n=20),
    "test watched to 60": partial(watched, n=20, looks=4),
    "plan grown to 200": partial(grown, n=50),
    "unfinished, then 100": partial(finished, n=24, looks=3),
    "a mix of 6 families of 12": partial(mixed, each=3),
    "3 families, any mix in ranges": partial(mixed_within, each=3),
}


def test_every_way_is_counted() -> None:
    """A way of sampling or choosing would be added and never counted by a test."""
    assert sorted(way for _, way in CELLS) == sorted({*WAYS} - {WRONG})


@pytest.mark.parametrize(("population", "way"), CELLS)
def test_statements_hold_as_often_as_they_say(population: str, way: str) -> None:
    """A certificate or a comparison would be wrong more often than δ."""
    trials = FEWER if way in SMALLER else TRIALS
    counts = count(POPULATIONS[population], SMALLER.get(way, WAYS[way]), 0.2, trials, set())
    assert counts["cost"][0] == trials
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
    counts = count(POPULATIONS["nested"], WAYS[WRONG], 0.05, TRIALS, set())
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
