"""Statements and the same-instances block: numbers by hand, units, scales and grades."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from judge_logs import CUTOFF, codes, fixed, log, same, stated, table, timed

from truecost.errors import InputError
from truecost.judge import Assessment, Question, Statement, assess
from truecost.judge.pairs import relative_change
from truecost.matrix import Plan


def rng(seed: int = 0) -> np.random.Generator:
    """Random numbers."""
    return np.random.default_rng(seed)


def tours(instances: int = 60) -> Any:
    """Costs of two configurations in [80, 95], the second one per cent less."""
    old = rng(8).uniform(80, 95, instances)
    return [old, old * rng(9).normal(0.99, 0.005, instances)]


# ---- the block -----------------------------------------------------------------------------------


def test_the_block_by_hand() -> None:
    """Costs, wins or failures of the block would be of other runs than it says."""
    found = fixed(timed([[1, 2, 10, 10, 3], [1, 1, 10, 2, 10]]))
    block = same(found)
    assert (block.winner_cost, block.default_cost) == pytest.approx((204 / 5, 206 / 5))
    assert block.difference == stated(found, "difference").observed == pytest.approx(-2 / 5)
    assert block.change == pytest.approx(-2 / 206)
    assert (block.won, block.tied, block.lost, block.pairs) == (2, 2, 1, 5)
    assert (block.winner_solved, block.default_solved) == (3, 3)
    assert stated(found, "wins").observed == pytest.approx(3 / 5)
    scores = same(fixed([[0.5, 1.0], [0.2, 1.0]]))
    assert (scores.won, scores.tied, scores.lost, scores.winner_solved) == (1, 1, 0, None)


def test_a_failed_run_loses_whatever_it_cost() -> None:
    """A crash with a low cost would count as a win in the block."""
    costs, crashed = [[0.5, 0.5, 0.2], [0.1, 0.3, 0.9]], [[[0], [0], [3]], [[3], [0], [3]]]
    block = same(fixed(table(costs, statuses=np.array(crashed))))
    assert (block.won, block.tied, block.lost) == (1, 1, 1)


def test_families_weigh_equally() -> None:
    """A large family would count more than a small one."""
    costs = [[0.5] * 6, [0.1, 0.1, 0.1, 0.1, 0.4, 0.4]]
    found = fixed(table(costs, families=list("ffffgg")), sampled="family")
    assert (same(found).units, same(found).instances) == (2, 6)
    assert same(found).winner_cost == pytest.approx(0.25)
    assert stated(found, "difference").observed == pytest.approx(-0.25)
    assert stated(found, "mean").observed == pytest.approx(0.25)
    assert [row.cost for row in found.ranking] == pytest.approx([0.25, 0.5])
    assert found.statement("median speed-up") is None


def test_runs_of_a_single_instance_are_units() -> None:
    """Seeds of one instance would be averaged to a single unit."""
    costs = rng().random((2, 1, 40)) * [[[1.0]], [[0.5]]]
    found, by_instance = fixed(costs), fixed(costs.transpose(0, 2, 1))
    assert (same(found).units, same(found).unit, same(found).instances) == (40, "seed", 1)
    assert found.grade == "better"
    upper = stated(by_instance, "difference").upper
    assert stated(found, "difference").upper == pytest.approx(upper)


def test_per_cent_only_where_it_means_something() -> None:
    """Costs that may be negative, or lie near 0, would get per cent."""
    assert relative_change(1.5, 2) == pytest.approx(-0.25)
    for new, old in ((1.0, 0.0), (1.0, -2.0), (-1.0, 2.0), (1.0, 1e-9), (math.nan, 1.0)):
        assert relative_change(new, old) is None
    for low, change in ((0, True), (-1, False), (-math.inf, True)):
        runs = table([[0.5, 0.5], [0.4, 0.4]], low=low, high=math.inf if low < -1 else 1)
        assert (same(fixed(runs)).change is not None) == change


def test_a_refused_log_still_has_the_block() -> None:
    """Where nothing can be proven, the numbers on the same instances would be missing, too."""
    found = assess(log([[0.5, 0.7], [0.2, 0.1]], incumbent="c1", adaptive=True))
    assert same(found).difference == pytest.approx(-0.45)
    assert found.statements == ()


# ---- statements ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_exchanged_sides_exchange_the_statements(seed: int) -> None:
    """The verdict would depend on which of the two is called the default, or a limit lie on the
    wrong side of what was observed.
    """
    times = rng(seed).lognormal(1, 1, (2, 20)).clip(0.01, CUTOFF)
    one, other = fixed(timed(times), margin="10%"), fixed(timed(times[::-1]))
    assert len(one.statements) == 9
    assert all(each.lower <= each.observed + 1e-12 for each in one.statements)
    assert all(each.observed <= each.upper + 1e-12 for each in one.statements)
    for quantity in ("difference", "solved difference"):
        mine, theirs = stated(one, quantity), stated(other, quantity)
        assert mine.observed == pytest.approx(-theirs.observed)
        assert mine.lower == pytest.approx(-theirs.upper, abs=1e-6)
    wins, losses = stated(one, "wins"), stated(other, "wins")
    assert wins.lower == pytest.approx(1 - losses.upper, abs=1e-6)
    faster, slower = (stated(found, "geometric speed-up").observed for found in (one, other))
    assert faster == pytest.approx(1 / slower)


def test_costs_in_another_unit() -> None:
    """Milliseconds would give another verdict than seconds."""
    costs = rng(4).random((2, 30)) * [[1.0], [0.6]]
    one, other = fixed(costs), fixed(table(1000 * costs - 500, low=-500, high=500))
    mine, theirs = stated(one, "difference"), stated(other, "difference")
    assert 1000 * mine.upper == pytest.approx(theirs.upper)
    assert one.grade == other.grade


def test_no_range_no_guaranteed_mean() -> None:
    """Without a range a limit of a mean would be made from the costs seen."""
    costs = rng(5).normal(10, 1, (2, 40)) - [[0.0], [1.0]]
    found = fixed(table(costs, low=-math.inf, high=math.inf))
    for quantity in ("difference", "mean"):
        statement = stated(found, quantity)
        assert (statement.lower, statement.upper) == (-math.inf, math.inf)
    assert found.grade == "probably better"
    assert stated(found, "wins").grade == "better"
    assert "range" in codes(found)


def test_the_margin_is_a_share_of_the_default() -> None:
    """A solver a little slower than the default would fail its margin, or a much slower one keep
    it; or a margin be asked of costs below 0.
    """
    old = rng(6).uniform(0.4, 0.6, 60)
    near = fixed(table([old, old * 1.01], high=0.7), margin="20%")
    assert (near.margin_kept, near.exit_code, near.green) == (True, 0, False)
    assert near.grade == "no relevant difference"
    far = fixed(table([old, old * 1.15], high=0.7), margin="5%")
    assert (far.margin_kept, far.exit_code) == (False, 1)
    assert far.grade in ("worse", "probably worse")
    assert fixed([old, old]).margin_kept is None
    with pytest.raises(InputError, match="negative"):
        fixed(table([old, old], low=-1), margin="5%")


def test_better_comes_before_no_relevant_difference() -> None:
    """A proven difference would be called irrelevant where it keeps to the margin."""
    old = rng(7).uniform(0.4, 0.6, 400)
    found = fixed(table([old, old * 0.9], high=0.7), margin="30%")
    assert (found.grade, found.exit_code) == ("better", 0)


@pytest.mark.parametrize(
    ("quantity", "fields", "grade"),
    [
        ("difference", {"proven": -1}, "better"),
        ("difference", {"proven": 1}, "worse"),
        ("wins", {"proven": 1}, "better"),
        ("margin", {"proven": -1}, "worse"),
        ("difference", {"approximate": (-2.0, -1.0)}, "probably better"),
        ("difference", {"approximate": (1.0, 2.0)}, "probably worse"),
        ("difference", {"approximate": (-2.0, 1.0)}, "undecided"),
        ("mean", {"no_difference": None}, "undecided"),
    ],
)
def test_grades(quantity: str, fields: dict[str, Any], grade: str) -> None:
    """A grade would point the wrong way."""
    usual: dict[str, Any] = {"observed": 0.0, "lower": -1.0, "upper": 1.0, "no_difference": 0.0}
    statement = Statement(quantity=quantity, configuration="c1", delta=0.05, **usual | fields)
    assert statement.grade == grade


# ---- approximate ---------------------------------------------------------------------------------


def test_probably_is_for_enough_units() -> None:
    """A t interval of a few units would make a grade, or a difference of a per cent in a wide range
    be called proven.
    """
    found = fixed(table(tours(), high=200))
    assert (found.grade, found.exit_code) == ("probably better", 1)
    difference = stated(found, "difference")
    assert difference.lower < -5 < 5 < difference.upper
    assert difference.approximate is not None
    assert -1.2 < difference.approximate[0] < difference.approximate[1] < -0.5
    few = fixed(table(tours(20), high=200))
    assert few.grade == "undecided"
    assert "25" in stated(few, "difference").no_approximate


def test_probably_needs_failures_that_differ() -> None:
    """Where runs can fail, a sample without failures would be believed."""
    old = rng(9).uniform(1, 9, 60)
    found = fixed(timed([old, 0.8 * old]))
    assert found.grade == "undecided"
    assert "failures" in stated(found, "difference").no_approximate


def test_failures_are_counted_in_units() -> None:
    """Failures within one family would count as if they were independent."""
    times = np.array([rng(1).uniform(5, 9, 60), rng(2).uniform(1, 2, 60)])
    times[0, :6] = CUTOFF
    runs = timed(times, families=[f"f{place // 2}" for place in range(60)])
    assert stated(fixed(runs), "difference").approximate is not None
    by_family = stated(fixed(runs, sampled="family"), "difference")
    assert "3 of 30" in by_family.no_approximate


def validated(runs: Any, **plan: Any) -> Assessment:
    """The verdict on a journal whose test has these runs."""
    terms = Plan(order=runs.instances, **{"planned": runs.shape[1], "candidates": ("c1",)} | plan)
    training = runs.replace(instances=[f"t{place}" for place in range(runs.shape[1])])
    return assess(
        log(training, test=runs, test_plan=terms, incumbent="c1", adaptive=True), Question()
    )


def test_probably_is_for_the_planned_end() -> None:
    """An interval that is looked at until it excludes 0 would be believed."""
    runs = table(tours(), high=200)
    early, late = validated(runs, planned=100), validated(runs, planned=30)
    assert validated(runs).grade == "probably better"
    assert early.grade == late.grade == "undecided"
    assert "before all 100" in stated(early, "difference").no_approximate
    assert "more than the 30" in stated(late, "difference").no_approximate


# ---- penalties -----------------------------------------------------------------------------------


def test_the_ladder_stops_at_the_first_gap() -> None:
    """Better would be claimed at a penalty behind one at which it is not proven, or the grade not be
    that of the declared penalty.
    """
    random = rng(15)
    old = np.where(random.random(200) < 0.1, CUTOFF, random.uniform(5, 9, 200))
    found = fixed(timed([old, np.where(random.random(200) < 0.08, CUTOFF, old.clip(0, 9) / 8)]))
    ladder = found.ladder
    assert ladder is not None
    assert ladder.better is not None
    assert ladder.worse is None
    low, high = ladder.better
    assert low == 1
    assert 2 <= high < 10
    tried = [one.penalty or 0 for one in ladder.statements]
    proven = [one.penalty for one in ladder.statements if one.proven < 0]
    assert proven == [penalty for penalty in tried if low <= penalty <= high]
    assert tried == sorted(set(tried))
    declared = stated(found, "difference")
    assert (declared.penalty, declared.proven, found.grade) == (10, 0, "undecided")
    assert declared.upper >= 0


def test_mixed_is_faster_and_fails_more() -> None:
    """A solver that fails more often would be called better without a word, or be green."""
    random = rng(12)
    old = np.where(random.random(300) < 0.03, CUTOFF, random.uniform(5, 9, 300))
    new = np.where(random.random(300) < 0.15, CUTOFF, random.uniform(0.1, 0.3, 300))
    found = fixed(timed([old, new]))
    assert found.ladder is not None
    assert found.ladder.mixed
    assert found.ladder.better is not None
    assert found.grade in ("undecided", "probably worse", "worse")
    assert found.exit_code == 1


def test_what_was_proven_is_not_mixed() -> None:
    """A winner that an early look proved better would be green and "mixed" at once."""
    times = [np.full(100, 9.0), np.where(np.arange(100) < 80, 0.1, CUTOFF)]
    found = validated(timed(times))
    assert stated(found, "difference").observed > 0
    assert found.green
    assert found.ladder is not None
    assert not found.ladder.mixed


def test_failures_only_is_the_end_of_the_ladder() -> None:
    """A solver that solves more would not be proven better where only failures count, or the
    penalty at which only failures count be null.
    """
    random = rng(13)
    old = np.where(random.random(200) < 0.5, CUTOFF, 1.0)
    found = fixed(timed([old, np.where(random.random(200) < 0.1, CUTOFF, 2.0)]))
    assert found.grade == "better"
    assert found.ladder is not None
    last = found.ladder.statements[-1]
    assert last.penalty == math.inf
    assert last.observed == pytest.approx(-stated(found, "solved difference").observed)
    ladder = found.to_dict()["ladder"]
    assert ladder["better"] == [1.0, "inf"]
    assert ladder["statements"][-1]["penalty"] == "inf"


@pytest.mark.parametrize("par", [1.0, 2.0])
def test_small_penalties_have_no_ladder(par: float) -> None:
    """PAR1 and PAR2 would be tested at penalties that nobody declared."""
    found = fixed(timed(rng(14).uniform(1, 10, (2, 30)), par=par))
    assert found.ladder is None
    assert stated(found, "difference").penalty == par
    assert replace(found, statements=()).grade == "not testable"
