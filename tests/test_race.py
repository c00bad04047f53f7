"""The policy: which run next, who is out, when to stop."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.errors import InputError
from truecost.race import policy as race
from truecost.race import replay


def standing(
    costs: np.ndarray, counts: list[int], granted: float = 1e6, low: float = 0.0
) -> race.Standing:
    """Row c with its first counts[c] costs known, all of one heat."""
    known = np.where(np.arange(costs.shape[1]) < np.array(counts)[:, np.newaxis], costs, np.nan)
    zeros = np.zeros(len(counts), dtype=np.int64)
    return race.Standing(
        costs=known, out=zeros.astype(bool), heats=zeros, granted=(granted,), low=low
    )


def plan(instances: int, runs: int) -> race.RunOrder:
    """A schedule."""
    return race.schedule(instances, runs, np.random.default_rng(1))


@given(st.integers(1, 12), st.integers(1, 5))
def test_every_prefix_of_the_schedule_is_even(instances: int, runs: int) -> None:
    """A schedule that runs an instance twice before another once is not S* and pays more variance
    for the same runs.
    """
    order = plan(instances, runs)
    for n in range(1, instances * runs + 1):
        counts = np.bincount(order.instances[:n], minlength=instances)
        assert counts.max() - counts.min() <= 1
    pairs = set(zip(order.instances.tolist(), order.numbers.tolist(), strict=True))
    assert len(pairs) == instances * runs


def test_the_first_heat_begins_with_the_first_proposals() -> None:
    """A race that does not begin with configuration 0, the default, or runs beyond the budget,
    breaks the contract.
    """
    empty = race.Standing(
        costs=np.empty((0, 10)), out=np.zeros(0, dtype=bool), heats=np.zeros(0, dtype=np.int64)
    )
    decision = race.decide(empty, plan(10, 1), runs_left=100, proposals_left=math.inf)
    assert [each.configuration for each in decision.batch] == list(range(len(decision.batch)))
    assert decision.grant is not None
    assert decision.grant <= 100
    assert all((each.start, each.stop) == (0, 1) for each in decision.batch)
    few = race.decide(empty, plan(10, 1), runs_left=1, proposals_left=math.inf)
    assert len(few.batch) == 1
    assert race.decide(empty, plan(10, 1), runs_left=0, proposals_left=math.inf).batch == ()


def test_a_contender_far_behind_is_dropped_and_a_close_one_is_not() -> None:
    """Evidence turned round, or taken unpaired, would drop the close one or keep the hopeless one."""
    rng = np.random.default_rng(2)
    hardness = 10 * rng.random(20)  # much larger than the differences: only pairing sees them
    costs = np.stack(
        [
            hardness,
            hardness + 0.02 * rng.standard_normal(20),
            hardness + 1 + 0.1 * rng.standard_normal(20),
        ]
    )
    decision = race.decide(standing(costs, [8, 8, 8]), plan(20, 1), runs_left=1e6, proposals_left=0)
    chosen = {each.configuration for each in decision.batch}
    assert 2 not in chosen
    assert decision.batch == () or chosen == {0, 1}


def test_what_is_left_is_cut_by_price() -> None:
    """A heat whose runs are nearly spent and that goes on with everybody cannot finish."""
    rng = np.random.default_rng(3)
    costs = rng.random((40, 50)) + np.linspace(0, 0.2, 40)[:, np.newaxis]
    wide = race.decide(
        standing(costs, [2] * 40, granted=4000), plan(50, 1), runs_left=4000, proposals_left=0
    )
    narrow = race.decide(
        standing(costs, [2] * 40, granted=120), plan(50, 1), runs_left=40, proposals_left=0
    )
    assert len(wide.batch) == 40
    assert 2 <= len(narrow.batch) <= math.ceil(40 ** (1 - 80 / 120))
    means = costs[:, :2].mean(axis=1)
    assert {each.configuration for each in narrow.batch} <= set(np.argsort(means)[:20].tolist())


def test_equal_costs_end_a_heat_and_the_first_one_leads() -> None:
    """A deterministic target, or one that always times out, must neither race for ever nor unseat
    the default.
    """
    decision = race.decide(
        standing(np.full((4, 20), 5.0), [5] * 4), plan(20, 1), runs_left=1e6, proposals_left=0
    )
    assert decision.batch == ()
    assert decision.incumbent == 0


def test_a_heat_ends_where_more_runs_gain_nothing_worth_having() -> None:
    """Without it, two configurations that are the same to within a trifle are run to the end of the
    schedule.
    """
    rng = np.random.default_rng(4)
    base = 1 + rng.random(200)
    twins = np.stack([base, base + 1e-4 * rng.standard_normal(200)])
    close = race.decide(standing(twins, [10, 10]), plan(200, 1), runs_left=1e6, proposals_left=0)
    assert close.batch == ()
    assert "worth" in close.reason
    apart = np.stack([base, base + rng.standard_normal(200)])
    assert race.decide(
        standing(apart, [10, 10]), plan(200, 1), runs_left=1e6, proposals_left=0
    ).batch


def test_the_incumbent_of_earlier_heats_defends_its_place() -> None:
    """A new heat that forgets the incumbent ends with whoever is best among the new ones."""
    costs = np.full((3, 30), np.nan)
    costs[0, :20] = 1.0
    costs[1:, :6] = 2.0 + 0.01 * np.random.default_rng(5).standard_normal((2, 6))
    later = race.Standing(
        costs=costs,
        out=np.zeros(3, dtype=bool),
        heats=np.array([0, 1, 1]),
        granted=(20.0, 100.0),
        incumbent=0,
        low=0.0,
    )
    decision = race.decide(later, plan(30, 1), runs_left=100, proposals_left=0)
    assert decision.incumbent == 0
    assert decision.batch == ()


def test_a_configuration_stopped_at_its_cap_is_out() -> None:
    """One that is run again after its cap costs what the cap was to save."""
    costs = np.random.default_rng(6).random((3, 20)) + np.array([[0.0], [0.1], [-0.5]])
    known = standing(costs, [6, 6, 6])
    capped = race.Standing(
        costs=known.costs,
        out=np.array([False, False, True]),
        heats=known.heats,
        granted=known.granted,
        low=0.0,
    )
    decision = race.decide(capped, plan(20, 1), runs_left=1e6, proposals_left=0)
    assert decision.incumbent != 2
    assert all(each.configuration != 2 for each in decision.batch)


def test_the_limit_of_a_cut() -> None:
    """A limit by somebody who is not there yet, or by the wrong rank, throws out configurations for
    nothing.
    """
    costs = np.array([[1.0, 2.0, 9.0], [1.0, 1.0, np.nan], [5.0, np.nan, np.nan], [2.0, 2.0, 0.0]])
    assert race.Cut(contenders=(0, 1, 2, 3), stop=2, keep=1).limit(costs) == 2
    assert race.Cut(contenders=(0, 1, 2, 3), stop=2, keep=3).limit(costs) == 4
    assert race.Cut(contenders=(0, 2, 3), stop=2, keep=1).limit(costs) == 3
    assert race.Cut(contenders=(0, 1, 2, 3), stop=2, keep=4).limit(costs) == math.inf


@settings(deadline=None, max_examples=60)
@given(st.integers(3, 40), st.integers(1, 3), st.floats(1.2, 4.0), st.integers(0, 2**32))
def test_caps_cost_nobody_its_place(contenders: int, level: int, wealth: float, seed: int) -> None:
    """A cap on the leader, or one below what a contender may still cost, would put out who would
    have gone on.
    """
    rng = np.random.default_rng(seed)
    costs = np.round(rng.exponential(1.0, (contenders, 20)), 1)
    granted, left = wealth * contenders * level, (wealth - 1) * contenders * level
    before = standing(costs, [level] * contenders, granted=granted)
    plain = race.decide(before, plan(20, 1), runs_left=left, proposals_left=0)
    capped = race.decide(before, plan(20, 1), runs_left=left, proposals_left=0, capping=True)
    assert {*capped.batch, *capped.then} == set(plain.batch)
    assert capped.incumbent == plain.incumbent
    assert plain.incumbent not in {each.configuration for each in capped.then}
    if capped.cut is None:
        assert not capped.then
        return
    known, out = before.costs.copy(), np.zeros(contenders, dtype=bool)
    for each in (*capped.batch, *capped.then):
        known[each.configuration, : each.stop] = costs[each.configuration, : each.stop]
        if each in capped.then and known[each.configuration].sum(
            where=~np.isnan(known[each.configuration])
        ) > (capped.cut.limit(known)):
            out[each.configuration] = True
    left -= sum(each.stop - each.start for each in plain.batch)
    after = [
        race.decide(
            race.Standing(
                costs=known, out=some, heats=before.heats, granted=before.granted, low=0.0
            ),
            plan(20, 1),
            runs_left=left,
            proposals_left=0,
        )
        for some in (np.zeros(contenders, dtype=bool), out)
    ]
    assert after[0].incumbent == after[1].incumbent
    going_on = [{each.configuration for each in decision.batch} for decision in after]
    if capped.cut.stop < race.FIRST_TEST:  # from there on the evidence may change who is affordable
        assert going_on[0] <= going_on[1]


def test_caps_save_seconds() -> None:
    """Caps that never bind cost a second wave of runs and save nothing."""
    rng = np.random.default_rng(12)
    hard = rng.uniform(0.1, 0.6, (60, 1))
    costs = np.where(rng.random((60, 40)) < hard, 50.0, rng.exponential(1.0, (60, 40)))
    courses = []
    for capping in (True, False):
        course = replay.Course(costs, 5.0, capping=capping)
        replay.run_race(course, plan(40, 1), 600.0, 0.0)
        courses.append(course)
    capped, plain = courses
    assert capped.stopped
    assert not plain.stopped
    assert capped.spent / capped.runs < plain.spent / plain.runs


def test_a_batch_keeps_all_workers_busy() -> None:
    """With two contenders left and sixteen workers, fourteen would idle."""
    rng = np.random.default_rng(8)
    costs = rng.random((2, 100))
    decision = race.decide(
        standing(costs, [5, 5]), plan(100, 1), runs_left=1e6, proposals_left=0, at_least=16
    )
    assert sum(each.stop - each.start for each in decision.batch) >= 16


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 30),
    st.integers(1, 12),
    st.integers(1, 3),
    st.integers(0, 400),
    st.integers(0, 2**32),
)
def test_a_race_ends_within_its_budget(
    configurations: int, instances: int, runs: int, budget: int, seed: int
) -> None:
    """A race that overspends, repeats a run, or never stops would do so in front of a user's
    cluster.
    """
    rng = np.random.default_rng(seed)
    costs = np.round(
        rng.exponential(1.0, (configurations, instances * runs)), int(rng.integers(0, 3))
    )
    order = race.schedule(instances, runs, rng)
    chosen, counts = replay.run_race(replay.Course(costs), order, budget, 0.0)
    assert counts.sum() <= budget
    assert 0 <= chosen < configurations
    assert budget == 0 or counts[chosen] > 0


def test_proposals_without_end_are_raced_in_several_heats() -> None:
    """All the budget in one heat leaves nothing for neighbours of the best, and a heat without a
    grant cannot be cut.
    """
    rng = np.random.default_rng(9)
    order = plan(20, 5)
    costs = np.empty((0, 100))
    heats: list[int] = []
    granted: tuple[float, ...] = ()
    incumbent, left = None, 600
    while True:
        known = race.Standing(
            costs=costs,
            out=np.zeros(len(costs), dtype=bool),
            heats=np.array(heats, dtype=np.int64),
            granted=granted,
            incumbent=incumbent,
        )
        decision = race.decide(known, order, runs_left=left, proposals_left=math.inf)
        if not decision.batch:
            break
        if decision.grant is not None:
            granted, incumbent = (*granted, decision.grant), decision.incumbent
        for each in decision.batch:
            if each.configuration >= len(costs):
                costs = np.vstack([costs, np.full(100, np.nan)])
                heats.append(len(granted) - 1)
            costs[each.configuration, each.start : each.stop] = rng.exponential(
                1 + each.configuration % 7, each.stop - each.start
            )
            left -= each.stop - each.start
    assert left >= 0
    assert len(granted) >= race.LISTED.heats
    assert decision.incumbent is not None


@pytest.mark.parametrize("size", [20, 30, 36, 60])
@pytest.mark.parametrize("each", [2.5, 3.3, 5.0, 6.25])
def test_a_list_that_the_budget_can_carry_is_run_from_end_to_end(size: int, each: float) -> None:
    """Some configurations of a list would never be run at all, though there are runs for them, the
    best among them.
    """
    rng = np.random.default_rng(size)
    costs = rng.exponential(1.0, (size, 100)) + rng.random((size, 1))
    _, counts = replay.run_race(replay.Course(costs), plan(20, 5), each * size, 0.0)
    needed = race.LISTED.runs_of_few if each * size < race.FEW else race.LISTED.runs
    assert (counts > 0).all() or each < 0.8 * needed


def defending(costs: np.ndarray, had: int, level: int, heat: int) -> race.Standing:
    """Configuration 0 defends with `had` runs against others of a heat with `level` each."""
    known = costs.copy()
    known[0, had:] = np.nan
    known[1:, level:] = np.nan
    heats = np.array([0] + [heat] * (len(costs) - 1))
    granted = (50.0,) * heat + (float(np.isfinite(known[heats == heat]).sum()),)
    return race.Standing(
        costs=known, out=np.zeros(len(costs), dtype=bool), heats=heats, granted=granted, incumbent=0
    )


@pytest.mark.parametrize(("had", "level", "heat", "who"), [(60, 4, 1, 1), (1, 12, 0, 0)])
def test_nobody_replaces_the_incumbent_on_fewer_runs(
    had: int, level: int, heat: int, who: int
) -> None:
    """Somebody who was lucky in four runs would replace an incumbent that has sixty, or one bad run
    end the default.
    """
    rng = np.random.default_rng(3)
    costs = rng.exponential(1.0, (2, 100))
    costs[1, :12] -= 0.5  # lucky so far, and no more than that
    later = defending(costs, had, level, heat)
    decision = race.decide(later, plan(100, 1), runs_left=200, proposals_left=math.inf)
    assert decision.incumbent == 0
    assert [(each.configuration, each.start) for each in decision.batch] == [(who, min(had, level))]
    # Without runs to catch up with, a challenger with fewer runs does not win either.
    spent = race.decide(later, plan(100, 1), runs_left=0, proposals_left=math.inf)
    assert spent.batch == ()
    assert spent.incumbent == 0 or had < level


def test_a_challenger_that_is_better_beyond_doubt_need_not_catch_up() -> None:
    """Runs would be spent on what is known already."""
    rng = np.random.default_rng(4)
    costs = np.stack([10 + rng.random(100), 1 + rng.random(100)])
    decision = race.decide(
        defending(costs, 60, 8, 1), plan(100, 1), runs_left=200, proposals_left=math.inf
    )
    assert decision.incumbent == 1
    assert decision.grant is not None


def test_a_schedule_needs_instances_and_runs() -> None:
    """An empty schedule would end a race before it began, without a word."""
    with pytest.raises(InputError, match="at least 1 instance"):
        race.schedule(0, 1, np.random.default_rng(1))


def test_shares_are_means_over_the_runs_of_an_instance() -> None:
    """Runs taken for instances make a contender look surer than it is."""
    instances = np.array([2, 0, 2, 5])
    costs = np.array([[1.0, 2.0, 3.0, 4.0]])
    assert race.means_by_instance(costs, instances).tolist() == [[2.0, 2.0, 4.0]]
    assert race.means_by_instance(costs, np.array([3, 1, 0, 2])) is costs
