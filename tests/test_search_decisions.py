"""Whole searches on computed costs: budgets, workers, caps, kills."""

import zlib
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_tools import SPACE, Simulation, cost_of

from truecost.campaigns.search.grid import Cell, ConfigId
from truecost.campaigns.search.heat import Heat, Stage, Start
from truecost.space.space import Configuration, Space

SMALL = Space.parse("a {u,v,w} [u]\nb [1,3] [1]i\n")


def equal(_configuration: Configuration, _instance: int, _number: int) -> float:
    """Everything costs the same."""
    return 5.0


def check(simulation: Simulation, budget: float) -> None:
    """What every search must keep to."""
    assert len(simulation.made) <= budget
    runs = Counter((name, cell) for name, cell, _, _ in simulation.made)
    assert not runs or max(runs.values()) == 1
    cells = range(simulation.grid.instances * simulation.grid.runs)
    assert all(cell in cells for _, cell, _, _ in simulation.made)
    history = simulation.search.history
    assert len({each.name for each in history.configurations}) == len(history.configurations)
    if simulation.made:
        assert history.configurations[0] == simulation.search._space.default()
        assert history.costs[history.incumbent]


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 150),
    st.integers(1, 12),
    st.integers(1, 3),
    st.sampled_from([1, 2, 5, 16]),
    st.booleans(),
    st.sampled_from([SPACE, SMALL]),
    st.integers(0, 2**32),
)
def test_a_search_ends_within_its_budget(
    budget: int, instances: int, runs: int, workers: int, capping: bool, space: Space, seed: int
) -> None:
    """A search would overspend, repeat a run, or never end in front of a user's cluster."""

    def cost(configuration: Configuration, instance: int, number: int) -> float:
        key = zlib.crc32(configuration.name.encode())
        rng = np.random.default_rng([seed, key, instance, number])
        return round(float(rng.exponential()), seed % 3)

    simulation = Simulation(
        space,
        cost=cost,
        instances=instances,
        runs=runs,
        workers=workers,
        seed=seed,
        capping=capping,
    )
    check(simulation.run(budget), budget)
    assert budget == 0 or simulation.made


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_the_best_is_found(workers: int) -> None:
    """A search would return something no better than a random configuration."""
    simulation = Simulation(workers=workers).run(600)
    check(simulation, 600)
    values = simulation.search.incumbent.values
    assert values["c"] == "y"
    assert abs(float(str(values["a"])) - 0.2) < 0.2
    assert len(simulation.made) > 560
    assert {"random", "model", "neighbour"} < set(simulation.search.history.origins)


def test_winners_of_heats_at_once_have_to_meet() -> None:
    """Of two heats that ran at once, the one that ended later would make its winner the incumbent."""
    heats = [
        data
        for seed in range(4)
        for kind, data in Simulation(workers=16, seed=seed).run(600).events
        if kind == "heat"
    ]
    assert sum(not heat["new"] and not heat["final"] for heat in heats) > 2
    assert sum(heat["final"] for heat in heats) == 4


def test_a_small_space_is_tried_out() -> None:
    """A search would not end when nothing is left to propose, or leave something out."""
    simulation = Simulation(SMALL, cost=equal, instances=5, runs=2).run(400)
    check(simulation, 400)
    assert len(simulation.search.history.configurations) == 9
    assert simulation.search.incumbent == SMALL.default()
    single = Simulation(Space.parse("a {x} [x]\n"), cost=equal).run(50)
    check(single, 50)
    assert single.search.incumbent.values == {"a": "x"}


@pytest.mark.parametrize("workers", [1, 16])
def test_starting_points_come_first_and_once(workers: int) -> None:
    """Known good configurations would be found late; one that is there twice, or is the default,
    would wedge the search.
    """
    good = SPACE.configuration({"a": 0.2, "b": 30, "c": "y", "d": 0.5})
    named = Configuration(name="24", values=good.values)
    starts = [good, SPACE.default(), named, good]
    simulation = Simulation(starts=starts, workers=workers).run(80)
    check(simulation, 80)
    history = simulation.search.history
    assert history.configurations[:2] == [SPACE.default(), good]
    assert history.origins[:3] == ["default", "start", "random"]
    check(simulation.resumed(starts=starts).run(160), 160)


@pytest.mark.parametrize("workers", [1, 5])
def test_caps_save_time_and_change_no_winner_for_the_worse(workers: int) -> None:
    """Caps would never bind, or cost good configurations their place."""
    spent, found = {}, {}
    for capping in (True, False):
        simulation = Simulation(capping=capping, workers=workers, instances=40).run(500)
        check(simulation, 500)
        spent[capping] = sum(cost for _, _, cost, _ in simulation.made)
        found[capping] = abs(float(str(simulation.search.incumbent.values["a"])) - 0.2)
        censored = {name for name, _, _, stopped in simulation.made if stopped}
        assert bool(censored) == capping
        # Nobody is run again after a cap was exceeded.
        last = {name: config_id for config_id, (name, _, _, _) in enumerate(simulation.made)}
        stops = {
            n: config_id for config_id, (n, _, _, stopped) in enumerate(simulation.made) if stopped
        }
        assert workers > 1 or all(last[name] == config_id for name, config_id in stops.items())
    assert spent[True] < spent[False]
    assert found[True] < 0.25


@settings(deadline=None, max_examples=15)
@given(
    st.integers(1, 240),
    st.sampled_from([1, 3, 16]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_killed_at_any_moment_it_goes_on(stop: int, workers: int, capping: bool, seed: int) -> None:
    """A killed search would lose runs, repeat some, forget its incumbent or a heat, or overspend."""
    given: dict[str, Any] = {"capping": capping, "seed": seed}
    killed = Simulation(workers=workers, instances=10, **given).run(240, stop=stop)
    again = killed.resumed(**given)
    history, before = again.search.history, killed.search.history
    assert [c.name for c in history.configurations] == [c.name for c in before.configurations]
    assert history.costs == before.costs
    assert history.incumbent == before.incumbent
    assert again.search.steps == killed.search.steps
    reasons = [data["reason"] for kind, data in killed.events if kind == "over"]
    assert again.search.reason == next(filter(None, reversed(reasons)), "")
    for heat, old in zip(again.search._heats, killed.search._heats, strict=True):
        assert heat.order == old.order
        assert heat.costs == old.costs
        assert heat.level == old.level
    check(again.run(240), 240)
    assert len(again.made) > 200


def test_more_budget_and_instances_go_on() -> None:
    """More budget or instances would mean to begin anew, or be left unused."""
    first = Simulation(instances=6, runs=2).run(150)
    again = first.resumed(instances=12).run(500)
    check(again, 500)
    assert len(again.made) > 450
    assert {again.grid.instance(cell) for _, cell, _, _ in again.made} == set(range(12))
    assert again.search.steps[: len(first.search.steps)] == first.search.steps


def test_one_instance_and_one_run() -> None:
    """A single cell would be divided by, or end in a heat without runs."""
    check(Simulation(instances=1, runs=1).run(60), 60)


def test_seeds_choose_the_way() -> None:
    """Another seed would search the same way again; or the same seed another."""
    runs = [Simulation(seed=seed).run(100).made for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_all_workers_are_busy() -> None:
    """Workers would wait for the last run of a heat."""
    simulation = Simulation(workers=16, instances=50)
    search, waiting = simulation.search, 0
    flying: list[Any] = []
    for made in range(600):
        while len(flying) < 16 and (run := search.next(1000 - made)) is not None:
            flying.append(run)
        waiting += 16 - len(flying)
        run = flying.pop(np.random.default_rng(made).integers(len(flying)))
        search.take(run, simulation.outcome(run)[0])
    assert waiting / (16 * 600) < 0.06


def test_runs_that_could_not_be_made_put_out() -> None:
    """A configuration whose cost is not known would win with it, or be run for ever."""

    def cost(configuration: Configuration, instance: int, number: int) -> float:
        if configuration.values["c"] == "y":
            return float("nan")
        return cost_of(configuration, instance, number)

    simulation = Simulation(cost=cost).run(300)
    assert simulation.search.incumbent.values["c"] != "y"
    assert len(simulation.made) > 280


def lottery(configuration: Configuration, instance: int, number: int) -> float:
    """All configurations are the same, and runs differ."""
    seed = [zlib.crc32(configuration.name.encode()), instance, number]
    return round(float(np.random.default_rng(seed).exponential()), 4)


def test_a_cap_counts_in_the_heat_that_set_it() -> None:
    """A timeout in one heat would put a contender out of another in which it had no cap."""
    shared = 0
    for seed in range(24):
        options: dict[str, Any] = {"seed": seed, "workers": 4, "capping": True}
        simulation = Simulation(cost=lottery, instances=3, runs=2, **options)
        search, flying = simulation.search, list[Any]()
        for made in range(150):
            while len(flying) < 4 and (run := search.next(150 - made)) is not None:
                flying.append(run)
            if not flying:
                break
            run = flying.pop(0)
            cost, stopped = simulation.outcome(run)
            heats = search._under_way[run.config_id, run.cell]
            # The solver timed out before its cap, which costs ten times as much.
            search.take(run, 10 * run.cap if stopped else cost)
            for heat in heats[1:]:
                shared += stopped
                assert not stopped or run.config_id in heat.contenders
    assert shared


def with_heat(*costs: list[float], final: bool = False) -> tuple[Simulation, Heat]:
    """A search with an open heat: these costs of the incumbent and of the other members."""
    simulation = Simulation(instances=10, runs=1)
    schedule = simulation.search
    for configuration in SPACE.configurations(len(costs), seed=1):
        schedule.history.enter(configuration, "random", np.zeros(4))
    members = list(map(ConfigId, range(1, len(costs))))
    heat = schedule._add_heat(
        {"final": final, "number": 0, "order": list(map(Cell, range(10))), "defender": ConfigId(0)}
        | {"grant": 20.0, "members": members, "new": 0, "made": 0}
    )
    schedule._has_incumbent = True
    for member, row in enumerate(costs):
        for cell, cost in enumerate(row):
            schedule._add_run(ConfigId(member), Cell(cell), cost, censored=False)
    return simulation, heat


def test_a_budget_that_ends_in_a_duel_forgets_no_challenger() -> None:
    """A defender that was catching up would stay the incumbent, though it is behind."""
    simulation, heat = with_heat([2.0] * 3, [1.0] * 8)
    heat.level, heat.challenger = 3, ConfigId(1)
    heat.begin(Stage((ConfigId(0),), 5, 0), simulation.search.history.costs)
    simulation.search._close()
    assert simulation.search.history.incumbent == 1


def test_a_duel_waits_for_no_eliminated_incumbent() -> None:
    """A duel would wait for ever for runs that an incumbent no longer makes."""
    simulation, heat = with_heat([2.0] * 3, [1.0] * 8)
    heat.level, heat.challenger = 3, ConfigId(1)
    simulation.search.history.eliminated[0] = True
    assert simulation.search.next(100.0) is not None
    assert simulation.search.history.incumbent == 1


def test_the_last_runs_of_a_final_count() -> None:
    """Where they are the last of the budget, the final would be decided without them."""
    simulation, heat = with_heat([1.0] * 8, [0.5] * 2 + [3.0] * 6, final=True)
    heat.level = 2
    heat.begin(Stage((ConfigId(0), ConfigId(1)), 8, 0), simulation.search.history.costs)
    simulation.search._close()
    assert simulation.search.history.incumbent == 0


def test_a_run_that_is_known_is_not_made_again() -> None:
    """Heats that are open at once would make the same run twice."""
    simulation = Simulation(workers=1).run(60)
    search = simulation.search
    config_id = search.history.incumbent
    known = next(iter(search.history.costs[config_id]))
    data = {"final": False, "number": 9, "order": [known], "defender": None, "grant": 1, "new": 0}
    heat = Heat.of(data, simulation.grid.runs)
    assert search._startable(heat, Start(config_id, 0)) is None
