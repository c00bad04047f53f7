"""Orders of runs, heat by heat."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.race.heats import Heats, heat_order


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 7), st.integers(1, 4), st.integers(0, 2**31), st.data())
def test_every_prefix_is_even_and_begins_with_what_was_done(
    instances: int, runs: int, seed: int, data: st.DataObject
) -> None:
    """Contenders would be compared on an instance twice before another is met, or not on the
    incumbent's runs.
    """
    rng = np.random.default_rng(seed)
    first = heat_order(instances, runs, np.empty(0, dtype=np.int64), rng)
    done = first[: data.draw(st.integers(0, first.size))]
    order = heat_order(instances, runs, done, rng)
    assert sorted(order.tolist()) == list(range(instances * runs))
    assert set(order[: done.size].tolist()) == set(done.tolist())
    for length in range(order.size + 1):
        counts = np.bincount(order[:length] % instances, minlength=instances)
        assert np.ptp(counts) <= 1


def test_no_single_run_comes_first_in_every_heat() -> None:
    """One instance with one seed would filter every proposal of a search."""
    heats = Heats(30, 2, seed=1)
    firsts = []
    for heat in range(12):
        heats.open(10.0, 0 if heat else None)
        place = heats.enter()
        while heats.count(0) < 30:
            heats.note(0, float(heats.cell_at(heats.count(0))))
        firsts.append(heats.cell_at(0))
        if place:
            heats.note(place, 1.0)
    assert len(set(firsts)) > 6


def test_costs_stay_with_their_runs() -> None:
    """The incumbent's costs would be compared with those of other runs once it defends its place."""
    heats = Heats(6, 3, seed=4)
    rng = np.random.default_rng(0)
    table = rng.random((5, 18))
    leader = None
    for place in range(5):
        heats.open(9.0, leader)
        assert heats.enter() == place
        for member in heats.members:
            for position in range(heats.count(member), 4 + 2 * place):
                heats.note(member, float(table[member, heats.cell_at(position)]))
        leader = place
    for place in range(5):
        assert (heats.costs(place) == table[place, heats.cells(place)]).all()
    apart = heats.apart([2, 3], 4)
    common = [np.intersect1d(heats.cells(place), heats.cells(4)) for place in (2, 3)]
    expected = [
        (table[place, cells] - table[4, cells]).mean()
        for place, cells in zip((2, 3), common, strict=True)
    ]
    assert apart == pytest.approx(expected)


def test_a_decision_sees_the_open_heat_only() -> None:
    """The time of a decision, and the memory of a search, would grow with all runs ever made."""
    heats = Heats(1000, 5, seed=2)
    for _ in range(20):
        heats.open(50.0, None)
        for _ in range(50):
            heats.note(heats.enter(), 1.0)
    standing = heats.standing()
    assert standing.costs.shape == (50, 1)
    assert standing.made == 1000
