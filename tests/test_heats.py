"""Orders of runs, heat by heat."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.race.heats import Heat, Heats, heat_order


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


def run(heats: Heats, heat: Heat, place: int, stop: int, table: Any = None) -> None:
    """Give a member of a heat runs up to a position, at the costs of a table."""
    for cell in heat.cells[heat.count(place) : stop].tolist():
        heats.note(place, cell, float(cell if table is None else table[place, cell]))


def test_no_single_run_comes_first_in_every_heat() -> None:
    """One instance with one seed would filter every proposal of a search."""
    heats = Heats(30, 2, seed=1)
    heat, firsts = heats.open_heats[0], []
    for number in range(12):
        heat = heats.open(10.0, 0 if number else None, closes=heat)
        place = heats.enter(heat)
        run(heats, heat, 0, 30)
        firsts.append(int(heat.cells[0]))
        if place:
            run(heats, heat, place, 1)
    assert len(set(firsts)) > 6


def test_costs_stay_with_their_runs() -> None:
    """The incumbent's costs would be compared with those of other runs once it defends its place."""
    heats = Heats(6, 3, seed=4)
    table = np.random.default_rng(0).random((5, 18))
    heat, leader = heats.open_heats[0], None
    for place in range(5):
        heat = heats.open(9.0, leader, closes=heat)
        assert heats.enter(heat) == place
        for member in heat.members:
            run(heats, heat, member, 4 + 2 * place, table)
            positions = heat.cells[: heat.count(member)]
            assert heat.rows[member] == table[member, positions].tolist()
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


def test_runs_that_finish_out_of_order_count_when_the_prefix_is_complete() -> None:
    """Contenders would be compared on different runs, or the order of completion would decide."""
    heats = Heats(8, 1, seed=3)
    heat = heats.open(20.0, None, closes=heats.open_heats[0])
    place, cells = heats.enter(heat), heat.cells.tolist()
    heats.note(place, cells[2], 3.0)
    heats.note(place, cells[1], 2.0)
    assert heat.rows[place] == []
    heats.note(place, cells[0], 1.0)
    assert heat.rows[place] == [1.0, 2.0, 3.0]
    assert heats.counts.tolist() == [3]


def test_a_run_counts_in_every_open_heat() -> None:
    """A configuration would be run twice where two heats want the same run."""
    heats = Heats(8, 1, seed=3)
    first = heats.open(20.0, None, closes=heats.open_heats[0])
    champion = heats.enter(first)
    run(heats, first, champion, 5)
    second = heats.open(20.0, champion)
    assert second.count(champion) == 5
    assert set(second.cells[:5].tolist()) == set(first.cells[:5].tolist())
    run(heats, second, champion, 8)
    assert first.count(champion) == second.count(champion) == 8
    challenger = heats.enter(second)
    run(heats, second, challenger, 8)
    duel = heats.play_off(9.0, champion, [challenger])
    assert [duel.count(place) for place in duel.members] == [8, 8]
    assert heats.made == 16


def test_a_decision_sees_the_open_heat_only() -> None:
    """The time of a decision, and the memory of a search, would grow with all runs ever made."""
    heats = Heats(1000, 5, seed=2)
    heat = heats.open_heats[0]
    for _ in range(20):
        heat = heats.open(50.0, None, closes=heat)
        for _ in range(50):
            run(heats, heat, heats.enter(heat), 1)
    standing = heats.standing(heat)
    assert standing.costs.shape == (50, 1)
    assert standing.made == 1000
    assert len(heats.open_heats) == 1
