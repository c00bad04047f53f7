"""Heats: orders of runs, who is dropped, when a heat is over, who wins."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.arrays import FloatArray
from truecost.campaigns.search import race
from truecost.campaigns.search.comparison import LEAST_RUNS, means_by_instance
from truecost.campaigns.search.grid import Cell, ConfigId, Grid
from truecost.campaigns.search.heat import Heat, Stage


def heat_with(
    costs: FloatArray,
    counts: list[int],
    *,
    grant: float = 1e6,
    defender: int | None = None,
    **facts: Any,
) -> Heat:
    """A heat whose members have the first of these costs, one run on each instance."""
    grid = Grid(costs.shape[1], 1)
    order = [Cell(config_id) for config_id in range(grid.instances)]
    heat = Heat(
        number=0,
        order=order,
        instances=np.arange(grid.instances),
        defender=None if defender is None else ConfigId(defender),
        grant=grant,
        **facts,
    )
    for config_id, count in enumerate(counts):
        heat.enter(ConfigId(config_id))
        heat.costs[ConfigId(config_id)] = costs[config_id, :count].tolist()
    heat.level = min(counts)
    heat.started = sum(counts)
    return heat


def after(heat: Heat, **given: Any) -> Stage | str:
    """The next stage with plenty of runs."""
    return race.next_stage(heat, **({"left": 1e6, "least_runs": 1, "capping": False} | given))


# ---- orders --------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 7), st.integers(1, 4), st.integers(0, 2**31), st.data())
def test_every_prefix_is_even_and_begins_with_what_was_done(
    instances: int, runs: int, seed: int, data: st.DataObject
) -> None:
    """Contenders would be compared on an instance twice before another is met, or not on the
    incumbent's runs.
    """
    rng, grid = np.random.default_rng(seed), Grid(instances, runs)
    first = grid.order(rng)
    done = first[: data.draw(st.integers(0, len(first)))]
    order = grid.order(rng, done)
    assert sorted(order) == list(range(instances * runs))
    assert set(order[: len(done)]) == set(done)
    for length in range(len(order) + 1):
        counts = np.bincount([grid.instance(cell) for cell in order[:length]], minlength=instances)
        assert np.ptp(counts) <= 1


def test_runs_that_finish_out_of_order_count_when_the_prefix_is_complete() -> None:
    """Contenders would be compared on different runs, or the order of completion would decide."""
    heat = heat_with(np.zeros((1, 8)), [0])
    known = {heat.order[2]: 3.0, heat.order[1]: 2.0}
    heat.take_costs(ConfigId(0), known)
    assert heat.count(ConfigId(0)) == 0
    heat.take_costs(ConfigId(0), {**known, heat.order[0]: 1.0})
    assert heat.costs[ConfigId(0)] == [1.0, 2.0, 3.0]


# ---- stages --------------------------------------------------------------------------------------


def test_a_contender_far_behind_is_dropped_and_a_close_one_is_not() -> None:
    """Evidence turned round, or taken unpaired, would drop the close one or keep the hopeless one."""
    rng = np.random.default_rng(2)
    hardness = 10 * rng.random(20)  # much larger than the differences: only pairing sees them
    close = hardness + rng.standard_normal(20)
    costs = np.stack([hardness, close, hardness + 4 + 0.1 * rng.standard_normal(20)])
    stage = after(heat_with(costs, [8, 8, 8]))
    assert isinstance(stage, Stage)
    assert set(stage.contenders) == {0, 1}


def test_what_cannot_be_afforded_is_dropped_for_the_price() -> None:
    """A heat whose runs are nearly spent and that goes on with everybody cannot finish."""
    rng = np.random.default_rng(3)
    costs = rng.random((40, 50)) + np.linspace(0, 0.2, 40)[:, np.newaxis]
    wide = after(heat_with(costs, [2] * 40, grant=4000))
    narrow = after(heat_with(costs, [2] * 40, grant=120))
    assert isinstance(wide, Stage)
    assert isinstance(narrow, Stage)
    assert len(wide.contenders) == 40
    assert 2 <= len(narrow.contenders) <= math.ceil(40 ** (1 - 80 / 120))
    best = np.argsort(costs[:, :2].mean(axis=1))[:20].tolist()
    assert set(narrow.contenders) <= set(best)


def test_equal_costs_end_a_heat_and_the_first_one_leads() -> None:
    """A deterministic target, or one that always times out, would be raced for ever, or unseat the
    default.
    """
    heat = heat_with(np.full((4, 20), 5.0), [5] * 4)
    assert isinstance(after(heat), str)
    assert heat.leader() == 0


def test_a_heat_ends_where_more_runs_gain_nothing_worth_having() -> None:
    """Two configurations that are the same to within a trifle would be run to the end."""
    rng = np.random.default_rng(4)
    base = 1 + rng.random(200)
    twins = np.stack([base, base + 1e-4 * rng.standard_normal(200)])
    assert isinstance(after(heat_with(twins, [10, 10])), str)
    apart = np.stack([base, base + rng.standard_normal(200)])
    assert isinstance(after(heat_with(apart, [10, 10])), Stage)


def test_a_stage_keeps_all_workers_busy() -> None:
    """With two contenders left and sixteen workers, fourteen would idle."""
    heat = heat_with(np.random.default_rng(8).random((2, 100)), [5, 5])
    stage = after(heat, least_runs=16)
    assert isinstance(stage, Stage)
    assert sum(stage.stop - heat.count(config_id) for config_id in stage.contenders) >= 16


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 30), st.integers(1, 10), st.floats(0, 200), st.integers(0, 2**31))
def test_a_stage_is_paid_for(contenders: int, level: int, left: float, seed: int) -> None:
    """A stage would cost more than the budget leaves, or repeat runs."""
    costs = np.random.default_rng(seed).exponential(1.0, (contenders, 20))
    heat = heat_with(costs, [level] * contenders, grant=contenders * level + left)
    stage = after(heat, left=left)
    if isinstance(stage, Stage):
        assert stage.stop > level
        assert len(stage.contenders) * (stage.stop - level) <= left


# ---- caps ----------------------------------------------------------------------------------------


def test_the_limit_of_a_cut() -> None:
    """A limit by somebody who is not there yet, or by the wrong rank, would throw out
    configurations for nothing.
    """
    costs = np.array([[1.0, 2.0, 9.0], [1.0, 1.0, 0.0], [5.0, 0.0, 0.0], [2.0, 2.0, 0.0]])
    heat = heat_with(costs, [2, 2, 1, 2])
    config_ids = tuple(map(ConfigId, range(4)))
    for keep, limit in ((1, 2.0), (2, 3.0), (3, 4.0), (4, math.inf)):
        heat.stage = Stage(config_ids, 2, keep, deferred=(ConfigId(2),))
        assert heat.limit() == limit


@settings(deadline=None, max_examples=60)
@given(st.integers(3, 40), st.integers(1, 3), st.floats(1.2, 4.0), st.integers(0, 2**32))
def test_caps_cost_nobody_its_place(contenders: int, level: int, wealth: float, seed: int) -> None:
    """A cap on the leader, or one below what a contender may still cost, would put out who would
    have gone on.
    """
    costs = np.round(np.random.default_rng(seed).exponential(1.0, (contenders, 20)), 1)
    grant = wealth * contenders * level
    heat = heat_with(costs, [level] * contenders, grant=grant)
    plain, capped = after(heat, left=grant), after(heat, left=grant, capping=True)
    if isinstance(plain, str) or isinstance(capped, str):
        assert plain == capped
        return
    assert plain[:2] == capped[:2]
    assert heat.leader() not in capped.deferred
    if not capped.deferred:
        assert capped.keep == 0
        return
    before = {config_id: list(heat.costs[config_id]) for config_id in heat.costs}
    heat.begin(capped, [{} for _ in before])
    out = set()
    for config_id in (
        *[p for p in capped.contenders if p not in capped.deferred],
        *capped.deferred,
    ):
        for position in range(level, capped.stop):
            if (
                config_id in capped.deferred
                and heat.total(config_id) + costs[config_id, position] > heat.limit()
            ):
                out.add(config_id)
                break
            heat.costs[config_id].append(costs[config_id, position])
    total = {config_id: costs[config_id, : capped.stop].sum() for config_id in capped.contenders}
    best = sorted(total.values())[capped.keep - 1]
    assert all(total[config_id] > best - 1e-9 for config_id in out)


# ---- who wins ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("had", "level", "fewer"), [(60, 4, 1), (60, 8, 1), (1, 12, 0)])
def test_nobody_replaces_the_incumbent_on_fewer_runs(had: int, level: int, fewer: int) -> None:
    """Somebody who was lucky in four runs would replace an incumbent that has sixty, or one bad run
    end the default.
    """
    rng = np.random.default_rng(3)
    costs = rng.exponential(1.0, (2, 100))
    costs[1, :12] = costs[0, :12] - 0.1 * rng.random(12) * (rng.random(12) < 0.4)
    costs[1, 0] = costs[0, 0] - 0.5
    heat = heat_with(costs, [had, level], defender=0)
    stage = race.duel(heat, ConfigId(1), ConfigId(0), left=200, least_runs=1)
    assert isinstance(stage, Stage)
    assert stage.contenders == (fewer,)
    assert stage.stop > min(had, level)
    # Without runs to catch up with, a challenger with fewer runs does not win either.
    winner = race.duel(heat, ConfigId(1), ConfigId(0), left=0, least_runs=1)
    assert winner == (0 if had > level else 1)


def test_a_challenger_that_is_better_beyond_doubt_need_not_catch_up() -> None:
    """Runs would be spent on what is known already."""
    rng = np.random.default_rng(4)
    costs = np.stack([10 + rng.random(100), 1 + rng.random(100)])
    heat = heat_with(costs, [60, 8], defender=0)
    assert race.duel(heat, ConfigId(1), ConfigId(0), left=200, least_runs=1) == 1
    assert race.duel(heat, ConfigId(0), ConfigId(1), left=200, least_runs=1) == 1


def test_two_who_have_not_met_meet() -> None:
    """Without a common run the challenger would win or lose by nothing."""
    heat = heat_with(np.ones((2, 10)), [0, 10], defender=1)
    stage = race.duel(heat, ConfigId(0), ConfigId(1), left=50, least_runs=1)
    assert stage == Stage((ConfigId(0),), LEAST_RUNS, 0)


# ---- sizes ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(0, 5000), st.integers(0, 5000), st.floats(0, 1e6), st.integers(0, 300))
def test_a_heat_is_paid_for(made: int, left: int, proposals: float, incumbent: int) -> None:
    """More configurations would be proposed than there are, or than there are runs for."""
    grant, new = race.size_of_heat(
        started=made, left=left, proposals_left=proposals, incumbent_runs=incumbent
    )
    assert new <= proposals
    assert new <= left
    assert grant <= left


def test_budgets_are_spent_in_several_heats() -> None:
    """All the budget in one heat would leave nothing for neighbours of the best."""
    made, heats = 0, 0
    while made < 3000:
        grant, new = race.size_of_heat(
            started=made, left=3000 - made, proposals_left=math.inf, incumbent_runs=30
        )
        if not new:
            break
        made, heats = made + math.ceil(grant), heats + 1
    assert race.HEATS <= heats <= race.HEATS + 1


def test_shares_are_means_over_the_runs_of_an_instance() -> None:
    """Runs taken for instances would make a contender look surer than it is."""
    costs = np.array([[1.0, 2.0, 3.0, 4.0]])
    assert means_by_instance(costs, np.array([2, 0, 2, 5])).tolist() == [[2.0, 2.0, 4.0]]
    assert means_by_instance(costs, np.array([3, 1, 0, 2])) is costs
