"""Statements and the same-instances block: numbers by hand, units, scales and grades."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.judge import Assessment, Question, Statement, assess
from truecost.judge.assessment import Grade, relative_change
from truecost.matrix import CostMatrix, Log, Plan

CUTOFF = 10.0


def names(number: int) -> list[str]:
    """Names of instances."""
    return [f"i{place}" for place in range(number)]


def judge(costs: Any, question: Question | None = None, **fields: Any) -> Assessment:
    """The verdict on "new" against "old", fixed before; costs in [0, 1] unless told otherwise."""
    given: dict[str, Any] = {"low": 0, "high": 1} | fields
    if "cutoff" in given:
        given = {name: value for name, value in given.items() if name not in ("low", "high")}
    costs = np.asarray(costs, float)
    runs = CostMatrix(costs, ["old", "new"][: len(costs)], names(costs.shape[1]), **given)
    log = Log(runs=runs, default="old", adaptive=False)
    asked = question or Question()
    return assess(log, replace(asked, configuration="new", basis="fixed before"))


def timed(old: Any, new: Any, question: Question | None = None, par: float = 10) -> Assessment:
    """The same of running times; a time at the cutoff has failed."""
    times = np.array([old, new], float)
    costs = np.where(times >= CUTOFF, par * CUTOFF, times)
    statuses = (times >= CUTOFF).astype(int)
    return judge(costs, question, cutoff=CUTOFF, par=par, statuses=statuses[:, :, np.newaxis])


def stated(found: Assessment, quantity: str) -> Statement:
    """The winner's statement on a quantity."""
    statement = found.statement(quantity)
    assert statement is not None
    return statement


# ---- the block -----------------------------------------------------------------------------------


def test_the_block_by_hand() -> None:
    """Costs, wins or failures of the block would be of other runs than it says."""
    same = timed([1, 2, 10, 10, 3], [1, 1, 10, 2, 10]).same
    assert same is not None
    assert (same.winner_cost, same.default_cost) == pytest.approx((204 / 5, 206 / 5))
    assert same.difference.observed == pytest.approx(-2 / 5)
    assert (same.won, same.tied, same.lost, same.runs) == (2, 2, 1, 5)
    solved = (
        same.solved_both, same.solved_only_winner, same.solved_only_default, same.solved_neither,
    )  # fmt: skip
    assert solved == (2, 1, 1, 1)
    assert same.time_ratio == pytest.approx(3 / 2)
    assert same.wins is not None
    assert same.wins.observed == pytest.approx(3 / 5)
    assert same.change == pytest.approx(-2 / 206)


def test_costs_without_failures_have_no_failure_counts() -> None:
    """A score would be counted as solved or not."""
    same = judge([[0.5, 1.0], [0.2, 1.0]]).same
    assert same is not None
    assert same.solved_both is None
    assert same.time_ratio is None
    assert (same.won, same.tied, same.lost) == (1, 1, 0)


def test_a_failed_run_loses_whatever_it_cost() -> None:
    """A crash with a low cost would count as a win in the block."""
    costs, crashed = [[0.5, 0.5, 0.2], [0.1, 0.3, 0.9]], [[0, 0, 3], [3, 0, 3]]
    same = judge(costs, statuses=np.array(crashed)[:, :, np.newaxis]).same
    assert same is not None
    assert (same.won, same.tied, same.lost) == (1, 1, 1)


def test_families_weigh_equally() -> None:
    """A large family would count more than a small one."""
    found = judge(
        [[0.5] * 6, [0.1, 0.1, 0.1, 0.1, 0.4, 0.4]],
        Question(sampled="family"),
        families=["f", "f", "f", "f", "g", "g"],
    )
    assert found.same is not None
    assert found.same.winner_cost == pytest.approx(0.25)
    assert (found.same.units, found.same.instances) == (2, 6)
    assert stated(found, "difference").observed == pytest.approx(-0.25)
    assert stated(found, "mean").observed == pytest.approx(0.25)
    assert [row.cost for row in found.ranking] == pytest.approx([0.25, 0.5])
    assert found.statement("median speed-up") is None


def test_runs_of_a_single_instance_are_units() -> None:
    """Seeds of one instance would be averaged to a single unit."""
    rng = np.random.default_rng(0)
    costs = rng.random((2, 1, 40)) * [[[1.0]], [[0.5]]]
    found = judge(costs)
    assert stated(found, "difference").units == 40
    assert found.same is not None
    assert (found.same.units, found.same.unit, found.same.instances) == (40, "seed", 1)
    assert found.grade == "better"
    # The same numbers on 40 instances.
    other = judge(costs.transpose(0, 2, 1))
    assert stated(other, "difference").upper == pytest.approx(stated(found, "difference").upper)


def test_per_cent_only_where_it_means_something() -> None:
    """Costs that may be negative, or lie near 0, would get per cent."""
    assert relative_change(1.5, 2) == pytest.approx(-0.25)
    for new, old in ((1.0, 0.0), (1.0, -2.0), (-1.0, 2.0), (1.0, 1e-9), (math.nan, 1.0)):
        assert relative_change(new, old) is None
    for low, change in ((0, True), (-1, False), (-math.inf, True)):
        same = judge([[0.5, 0.5], [0.4, 0.4]], low=low, high=math.inf if low < -1 else 1).same
        assert same is not None
        assert (same.change is not None) == change


def test_a_refused_log_still_has_the_block() -> None:
    """Where nothing can be proven, the numbers on the same instances would be missing, too."""
    runs = CostMatrix([[[0.5], [0.7]], [[0.2], [0.1]]], ["old", "new"], names(2), 0, 1)
    found = assess(Log(runs=runs, default="old", incumbent="new", adaptive=True))
    assert found.same is not None
    assert found.same.difference.observed == pytest.approx(-0.45)
    assert (found.same.difference.lower, found.same.difference.upper) == (-math.inf, math.inf)
    assert found.same.difference.grade == "undecided"
    assert found.same.wins is None


# ---- statements ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_limits_contain_what_was_observed(seed: int) -> None:
    """A limit would lie on the wrong side of the observed value."""
    rng = np.random.default_rng(seed)
    old, new = rng.lognormal(1, 1, (2, 20)).clip(0.01, CUTOFF)
    found = timed(old, new, Question(margin="10%"))
    assert len(found.statements) >= 8
    for one in found.statements:
        assert one.lower <= one.observed + 1e-12
        assert one.observed <= one.upper + 1e-12


def test_exchanged_sides_exchange_the_statements() -> None:
    """The verdict would depend on which of the two is called the default."""
    rng = np.random.default_rng(3)
    first, second = rng.lognormal(1, 1, (2, 20)).clip(0.01, CUTOFF)
    one, other = timed(first, second), timed(second, first)
    for quantity in ("difference", "solved difference"):
        mine, theirs = stated(one, quantity), stated(other, quantity)
        assert mine.observed == pytest.approx(-theirs.observed)
        assert mine.lower == pytest.approx(-theirs.upper, abs=1e-6)
    wins = stated(one, "wins"), stated(other, "wins")
    assert wins[0].lower == pytest.approx(1 - wins[1].upper, abs=1e-6)
    speed = stated(one, "geometric speed-up"), stated(other, "geometric speed-up")
    assert speed[0].observed == pytest.approx(1 / speed[1].observed)


def test_costs_in_another_unit() -> None:
    """Milliseconds would give another verdict than seconds."""
    rng = np.random.default_rng(4)
    costs = rng.random((2, 30)) * [[1.0], [0.6]]
    one, other = judge(costs), judge(1000 * costs - 500, low=-500, high=500)
    mine, theirs = stated(one, "difference"), stated(other, "difference")
    assert 1000 * mine.upper == pytest.approx(theirs.upper)
    assert one.grade == other.grade


def test_no_range_no_guaranteed_mean() -> None:
    """Without a range a limit of a mean would be made from the costs seen."""
    rng = np.random.default_rng(5)
    costs = rng.normal(10, 1, (2, 40)) - [[0.0], [1.0]]
    found = judge(costs, low=-math.inf, high=math.inf)
    difference = stated(found, "difference")
    assert (difference.lower, difference.upper) == (-math.inf, math.inf)
    assert found.grade == "probably better"
    assert stated(found, "wins").grade == "better"
    assert "range" in [caveat.code for caveat in found.caveats]


def test_the_margin_is_a_share_of_the_default() -> None:
    """A solver a little slower than the default would fail its margin, or a much slower one keep
    it; or a margin be asked of costs below 0.
    """
    rng = np.random.default_rng(6)
    old = rng.uniform(0.4, 0.6, 60)
    near = judge([old, old * 1.01], Question(margin="20%"), high=0.7)
    assert near.margin_kept is True
    assert near.exit_code == 0
    assert not near.green
    assert near.grade == "no relevant difference"
    far = judge([old, old * 1.15], Question(margin="5%"), high=0.7)
    assert far.margin_kept is False
    assert far.exit_code == 1
    assert far.grade in ("worse", "probably worse")
    assert judge([old, old]).margin_kept is None
    with pytest.raises(InputError, match="negative"):
        judge([old, old], Question(margin="5%"), low=-1)


def test_better_comes_before_no_relevant_difference() -> None:
    """A proven difference would be called irrelevant where it keeps to the margin."""
    old = np.random.default_rng(7).uniform(0.4, 0.6, 400)
    found = judge([old, old * 0.9], Question(margin="30%"), high=0.7)
    assert found.grade == "better"
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("fields", "grade"),
    [
        ({"proven": -1}, "better"),
        ({"proven": 1}, "worse"),
        ({"proven": 1, "smaller_is_better": False}, "better"),
        ({"proven": -1, "smaller_is_better": False}, "worse"),
        ({"probably": True, "approximate": (-2.0, -1.0)}, "probably better"),
        ({"probably": True, "approximate": (1.0, 2.0)}, "probably worse"),
        ({"probably": False, "approximate": (-2.0, 1.0)}, "undecided"),
        ({"no_difference": None}, "undecided"),
    ],
)
def test_grades(fields: dict[str, Any], grade: Grade) -> None:
    """A grade would point the wrong way."""
    base: dict[str, Any] = {
        "quantity": "difference", "configuration": "new", "observed": 0.0, "lower": -1.0,
        "upper": 1.0, "delta": 0.05, "no_difference": 0.0, "units": 9,
    }  # fmt: skip
    assert Statement(**base | fields).grade == grade


# ---- approximate ---------------------------------------------------------------------------------


def test_probably_is_for_enough_units() -> None:
    """A t interval of a few units would make a grade."""
    rng = np.random.default_rng(8)
    old = rng.uniform(80, 95, 60)
    new = old * rng.normal(0.99, 0.005, 60)
    assert judge([old, new], high=200).grade == "probably better"
    few = judge([old[:20], new[:20]], high=200)
    assert few.grade == "undecided"
    assert "25" in stated(few, "difference").no_approximate


def test_probably_needs_failures_that_differ() -> None:
    """Where runs can fail, a sample without failures would be believed."""
    old = np.random.default_rng(9).uniform(1, 9, 60)
    found = timed(old, 0.8 * old)
    assert stated(found, "difference").approximate is None
    assert "failures" in stated(found, "difference").no_approximate
    assert found.grade == "undecided"


def test_failures_are_counted_in_units() -> None:
    """Failures within one family would count as if they were independent."""
    rng = np.random.default_rng(16)
    old, new = rng.uniform(5, 9, 60), rng.uniform(1, 2, 60)
    old[:6] = CUTOFF
    times, families = np.array([old, new]), [f"f{place // 2}" for place in range(60)]
    costs, late = np.where(times >= CUTOFF, 10 * CUTOFF, times), (times >= CUTOFF).astype(int)
    terms: dict[str, Any] = {
        "cutoff": CUTOFF,
        "par": 10,
        "statuses": late[:, :, np.newaxis],
        "families": families,
    }
    assert stated(judge(costs, **terms), "difference").approximate is not None
    by_family = judge(costs, Question(sampled="family"), **terms)
    assert "only 3 of 30" in stated(by_family, "difference").no_approximate


def test_probably_is_for_the_planned_end() -> None:
    """An interval that is looked at until it excludes 0 would be believed."""
    rng = np.random.default_rng(10)
    old = rng.uniform(80, 95, 60)
    costs = np.array([old, old * rng.normal(0.99, 0.005, 60)])[:, :, np.newaxis]
    runs = CostMatrix(costs, ["old", "new"], names(60), 0, 200)

    def found(planned: int) -> Assessment:
        plan = Plan(order=runs.instances, planned=planned, candidates=("new",))
        log = Log(
            runs=runs.replace(instances=[f"t{place}" for place in range(60)]),
            test=runs, test_plan=plan, default="old", incumbent="new", adaptive=True,
        )  # fmt: skip
        return assess(log)

    assert found(60).grade == "probably better"
    assert found(100).grade == found(30).grade == "undecided"
    assert "before all 100" in stated(found(100), "difference").no_approximate
    assert "more than the 30" in stated(found(30), "difference").no_approximate


# ---- penalties -----------------------------------------------------------------------------------


def test_the_ladder_stops_at_the_first_gap() -> None:
    """Better would be claimed at a penalty behind one at which it is not proven, or the grade not be
    that of the declared penalty.
    """
    rng = np.random.default_rng(15)
    old = np.where(rng.random(200) < 0.1, CUTOFF, rng.uniform(5, 9, 200))
    new = np.where(rng.random(200) < 0.08, CUTOFF, old.clip(0, 9) / 8)
    found = timed(old, new)
    ladder = found.ladder
    assert ladder is not None
    assert ladder.better is not None
    assert ladder.worse is None
    low, high = ladder.better
    assert low == 1
    assert 2 <= high < 10
    assert ladder.declared == 10
    proven = [one.penalty for one in ladder.statements if one.proven < 0]
    assert proven == [penalty for penalty in ladder.tried if low <= penalty <= high]
    assert found.grade != "better"
    assert stated(found, "difference").upper >= 0
    assert not found.green


def test_mixed_is_faster_and_fails_more() -> None:
    """A solver that fails more often would be called better without a word, or be green."""
    rng = np.random.default_rng(12)
    old = np.where(rng.random(300) < 0.03, CUTOFF, rng.uniform(5, 9, 300))
    new = np.where(rng.random(300) < 0.15, CUTOFF, rng.uniform(0.1, 0.3, 300))
    found = timed(old, new)
    assert found.ladder is not None
    assert found.ladder.mixed
    assert found.ladder.better is not None
    assert found.grade in ("undecided", "probably worse", "worse")
    assert not found.green
    assert found.exit_code == 1


def test_what_was_proven_is_not_mixed() -> None:
    """A winner that an early look proved better would be green and "mixed" at once."""
    times = np.array([np.full(100, 9.0), np.where(np.arange(100) < 80, 0.1, CUTOFF)])
    runs = CostMatrix(
        np.where(times >= CUTOFF, 10 * CUTOFF, times)[:, :, np.newaxis], ["old", "new"], names(100),
        cutoff=CUTOFF, par=10, statuses=(times >= CUTOFF).astype(int)[:, :, np.newaxis],
    )  # fmt: skip
    plan = Plan(order=runs.instances, planned=100, candidates=("new",))
    other = runs.replace(instances=[f"t{place}" for place in range(100)])
    terms: dict[str, Any] = {"default": "old", "incumbent": "new", "adaptive": True}
    found = assess(Log(runs=other, test=runs, test_plan=plan, **terms))
    assert stated(found, "difference").observed > 0
    assert found.green
    assert found.ladder is not None
    assert not found.ladder.mixed


def test_failures_only_is_the_end_of_the_ladder() -> None:
    """A solver that solves more would not be proven better where only failures count."""
    rng = np.random.default_rng(13)
    old = np.where(rng.random(200) < 0.5, CUTOFF, 1.0)
    new = np.where(rng.random(200) < 0.1, CUTOFF, 2.0)
    found = timed(old, new)
    assert found.ladder is not None
    assert found.ladder.better is not None
    assert found.ladder.better[1] == math.inf
    assert found.grade == "better"
    last = found.ladder.statements[-1]
    assert last.penalty == math.inf
    assert last.observed == pytest.approx(-stated(found, "solved difference").observed)


@pytest.mark.parametrize("par", [1.0, 2.0])
def test_small_penalties_have_no_ladder(par: float) -> None:
    """PAR1 and PAR2 would be tested at penalties that nobody declared."""
    rng = np.random.default_rng(14)
    old, new = rng.uniform(1, 11, (2, 30))
    found = timed(old, new, par=par)
    assert found.ladder is None
    assert stated(found, "difference").penalty == par
    assert judge(rng.random((2, 10))).ladder is None
