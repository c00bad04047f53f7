"""Statements beyond the mean: valid for every way of choosing, without a range, and said where
means say nothing.
"""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_rel

from truecost.examples import load_example
from truecost.judge.assessment import Assessment
from truecost.judge.question import Chosen
from truecost.judge.sampling import times_of
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import Status, Trajectory
from truecost.show.document import Case, Context, audited
from truecost.show.document.verdict import judged
from truecost.verbs import assess

REPETITIONS = 300
LUCK = 1e-4
DELTAS = (0.05, 0.2)
ADAPTIVE = Trajectory(tool="a configurator", proposed="adaptively", default="c0")


def equal(
    rng: np.random.Generator, instances: int = 40, runs: int = 2, start: int = 0
) -> CostMatrix:
    """Ten configurations that are all the same: heavy-tailed running times, one run in six a
    timeout.
    """
    hard = rng.lognormal(0, 1, instances)
    times = hard[np.newaxis, :, np.newaxis] * rng.lognormal(0, 0.7, (10, instances, runs))
    late = times > 3.0
    costs = np.where(late, 30.0, times)
    statuses = np.where(late, Status.TIMEOUT, Status.SOLVED)
    names = [f"i{start + i}" for i in range(instances)]
    return CostMatrix(costs, [f"c{i}" for i in range(10)], names, 0, 30, statuses=statuses)


def shown(found: Assessment) -> dict[str, Any]:
    """Limits by what they speak of."""
    return {each.quantity: each for each in found.statements}


@pytest.mark.parametrize("way", ["before", "from-list", "on-part", "test", "raced", "progressive"])
def test_statements_hold_for_every_way_of_choosing(way: str) -> None:
    """A lucky winner of equals would be said to win, to be faster or to solve more, more often than
    δ.
    """
    rng, repetitions = np.random.default_rng(3), 150
    many = equal(np.random.default_rng(99), instances=20_000)
    solved = float((np.asarray(many.statuses) == Status.SOLVED).mean())
    half, most = (float(np.quantile(many.costs, share)) for share in (0.5, 0.9))
    wrong = {
        delta: dict.fromkeys(
            ("wins", "speed-up", "ratio of means", "solved share", "median", "90th percentile"), 0
        )
        for delta in DELTAS
    }
    chosen: Chosen | None = None if way == "test" else "before" if way == "raced" else way  # type: ignore[assignment]
    for _ in range(repetitions):
        matrix = equal(rng, instances=80 if way == "progressive" else 40)
        used, fresh = matrix.instances[:40], matrix.instances[40:]
        # Number 1 of its search, made on the instances that were used by then, so that it has 6/π²
        # of δ.
        proposed = matrix.configurations[
            1 + int(matrix.select(instances=used).costs[1:].mean(axis=(1, 2)).argmin())
        ]
        asked: dict[str, Any] = {
            "configuration": "c7" if chosen == "before" else None,
            "chosen": chosen,
            "test": equal(rng, start=1000) if way == "test" else None,
            "trajectory": ADAPTIVE if way == "test" else None,
            "raced": True if way == "raced" else None,
        }
        if way == "progressive":
            asked |= {
                "configuration": proposed,
                "fresh": fresh,
                "proposal": 1,
                "trajectory": ADAPTIVE,
            }
        for delta, counts in wrong.items():
            found = shown(assess(matrix, default="c0", delta=delta, splits=1, **asked))
            for kind, even in (
                ("wins", 0.5),
                ("speed-up", 1.0),
                ("ratio of means", 1.0),
                ("solved share", solved),
            ):
                counts[kind] += kind in found and found[kind].limit > even
            counts["median"] += found["median"].limit < half
            counts["90th percentile"] += found["90th percentile"].limit < min(most, 3.0)
    for delta, counts in wrong.items():
        for kind, count in counts.items():
            assert binomtest(count, repetitions, delta, alternative="greater").pvalue > LUCK, (
                kind,
                delta,
                count,
            )


def test_instances_seen_before_the_proposal_are_not_fresh() -> None:
    """The data of the test above would be too easy for progressive: the instances it was made on
    would pass it too.
    """
    rng, alarms = np.random.default_rng(3), 0
    asked: dict[str, Any] = {
        "default": "c0",
        "chosen": "progressive",
        "proposal": 1,
        "delta": 0.2,
        "trajectory": ADAPTIVE,
    }
    for _ in range(REPETITIONS):
        matrix = equal(rng)
        won = (matrix.costs[1:] < matrix.costs[:1]).mean(axis=(1, 2))
        best = matrix.configurations[1 + int(won.argmax())]
        found = assess(matrix, configuration=best, fresh=matrix.instances, splits=1, **asked)
        assert found.wins is not None
        alarms += found.wins.limit > 0.5
    assert binomtest(alarms, REPETITIONS, 0.2 * 6 / np.pi**2, alternative="greater").pvalue < LUCK


def test_a_winner_taken_for_fixed_wins_too_often() -> None:
    """The data of the test above would be too easy: even the wrong rule would pass it."""
    rng, alarms = np.random.default_rng(3), 0
    for _ in range(REPETITIONS):
        matrix = equal(rng)
        won = (matrix.costs[1:] < matrix.costs[:1]).mean(axis=(1, 2))
        best = matrix.configurations[1 + int(won.argmax())]
        found = assess(
            matrix, configuration=best, default="c0", chosen="before", delta=0.2, splits=1
        )
        assert found.wins is not None
        alarms += found.wins.limit > 0.5
    assert binomtest(alarms, REPETITIONS, 0.2, alternative="greater").pvalue < LUCK


def test_real_winners_win_where_means_show_nothing() -> None:
    """On real runs nothing would be shown, though a winner costs less on 44 of 50 instances."""
    for name, wins, faster in (("kissat", 0.6, 1.3), ("lkh", 0.55, 1.05)):
        matrix = load_example(name)
        found = assess(matrix, default=matrix.configurations[0], chosen="from-list")
        assert found.comparison is not None
        assert found.comparison.grade == "open"
        assert shown(found)["wins"].limit > wins
        assert shown(found)["speed-up"].limit > faster
        assert not found.better
        assert assess(
            matrix, default=matrix.configurations[0], chosen="from-list", primary="wins"
        ).better
        assert "Secondary: it wins at least" in str(found)
        assert judged(Case(found, Context())) == ("open", "Not shown to be better on average")


def test_no_range_is_needed() -> None:
    """A log whose metric has no known range would be refused, or say nothing, or guarantee a mean."""
    rng = np.random.default_rng(5)
    costs = rng.lognormal(0, 1, (2, 60, 1)) * np.array([[[1.0]], [[0.3]]])
    matrix = CostMatrix(costs, ["default", "tuned"], [f"i{i}" for i in range(60)])
    assert matrix.width == np.inf
    found = assess(matrix, configuration="tuned", default="default", chosen="before")
    assert found.certificate is None
    assert "`low` and `high`" in str(found.no_certificate)
    assert found.primary == "wins"
    assert found.better
    assert set(shown(found)) == {"median", "90th percentile", "wins"}
    assert np.isfinite(shown(found)["median"].limit)


def test_ignorance_stays_ignorance() -> None:
    """A search's own instances would speak for its winner, in whatever statement."""
    matrix = equal(np.random.default_rng(1))
    assert assess(matrix, trajectory=ADAPTIVE).statements == ()
    unknown = assess(matrix, default="c0")
    assert {each.grade for each in unknown.statements} <= {None, "open"}
    assert all(each.condition is not None for each in unknown.statements)


def test_a_condition_is_said_without_a_range() -> None:
    """A table of unknown origin without a cost range would be called shown without the if that it
    rests on.
    """
    matrix = equal(np.random.default_rng(1))
    bare = CostMatrix(matrix.costs, matrix.configurations, matrix.instances)
    found = assess(bare)
    assert found.certificate is None
    assert found.statements
    text = audited(found, Context()).text
    assert "if these configurations were not tuned on these instances" in text


def test_one_table_speaks_of_one_configuration() -> None:
    """Lines of the winner on a part of the instances would stand under the name of the one that has
    test runs.
    """
    rng = np.random.default_rng(21)
    others = 0
    for _ in range(10):
        train, test = equal(rng), equal(rng, start=1000)
        best = assess(train).incumbent
        found = assess(train, default="c0", test=test.select(configurations=[best]))
        others += found.comparison is not None and found.comparison.configuration != best
        assert {each.configuration for each in found.statements} == {best}
    assert others


def test_a_timeout_took_the_cutoff_at_least() -> None:
    """A known cutoff would not be used, an unknown one be taken from later instances, or a timeout
    have a ratio above it.
    """
    costs = np.array([[[1.0], [1.0], [1.0], [1.0]], [[20.0], [2.0], [20.0], [4.0]]])
    statuses = np.where(costs == 20, Status.TIMEOUT, Status.SOLVED)
    names = (["w", "d"], list("abcd"), 0, 20)
    failed = statuses != Status.SOLVED
    for cutoff, ends in ((None, [1, 2, 2, 4]), (5.0, [5, 2, 5, 4])):
        _, known = times_of(CostMatrix(costs, *names, statuses=statuses, cutoff=cutoff), failed)
        assert known.lower.ravel().tolist() == ends
        assert known.upper.ravel().tolist() == [np.inf, 2, np.inf, 4]
    rng = np.random.default_rng(2)
    hard = rng.lognormal(0, 1, (1, 60, 1))
    times = np.concatenate([0.2 * hard, hard]) * rng.lognormal(0, 0.5, (2, 60, 2))
    late = times > 1.0
    found = [
        shown(
            assess(
                CostMatrix(
                    np.where(late, 10.0, times),
                    ["tuned", "default"],
                    [f"i{i}" for i in range(60)],
                    0,
                    10,
                    statuses=np.where(late, Status.TIMEOUT, Status.SOLVED),
                    cutoff=cutoff,
                ),
                configuration="tuned",
                default="default",
                chosen="before",
            )
        )["speed-up"].limit
        for cutoff in (None, 1.0)
    ]
    assert 1 < found[0] <= found[1] < 5


def test_times_are_known_by_their_cutoff() -> None:
    """A speed-up would be withheld where no run of the two timed out, though their costs are known
    to be running times.
    """
    rng = np.random.default_rng(9)
    times = (
        rng.lognormal(-2, 0.5, (3, 40, 2)) * np.array([1.0, 0.3, 1.0])[:, np.newaxis, np.newaxis]
    )
    statuses = np.full(times.shape, int(Status.SOLVED))
    names = (["default", "tuned", "slow"], [f"i{i}" for i in range(40)], 0, 50)
    asked: dict[str, Any] = {"configuration": "tuned", "default": "default", "chosen": "before"}
    plain = CostMatrix(times, *names, statuses=statuses)
    assert "speed-up" not in shown(assess(plain, **asked))
    known = CostMatrix(times, *names, statuses=statuses, cutoff=5)
    assert shown(assess(known, **asked))["speed-up"].limit > 2
    times[2, 0], statuses[2, 0] = 50, Status.TIMEOUT
    another = CostMatrix(times, *names, statuses=statuses)
    assert shown(assess(another, **asked))["speed-up"].grade == "better"


def test_failed_runs_count() -> None:
    """Runs that failed would be left out, and a configuration that solves nothing be called fast."""
    costs = np.full((2, 30, 1), 1.0)
    costs[1] = 10.0
    statuses = np.zeros((2, 30, 1), int)
    statuses[1] = Status.TIMEOUT
    matrix = CostMatrix(
        costs, ["default", "never"], [f"i{i}" for i in range(30)], 0, 10, statuses=statuses
    )
    found = shown(assess(matrix, configuration="never", default="default", chosen="before"))
    assert found["solved share"].observed == 0
    assert found["median"].limit == np.inf
    assert found["wins"].grade == "worse"
    assert found["speed-up"].limit == 0


def test_means_are_approximate_where_no_range_is_known() -> None:
    """A log without a range would say nothing of means, call the interval guaranteed, or not be the
    paired t interval.
    """
    rng = np.random.default_rng(6)
    costs = rng.lognormal(0, 1, (2, 40, 3)) * np.array([[[1.0]], [[0.3]]])
    matrix = CostMatrix(costs, ["default", "tuned"], [f"i{i}" for i in range(40)])
    found = assess(matrix, configuration="tuned", default="default", chosen="before")
    difference, ratio = found.approximate
    expected = ttest_rel(*costs.mean(axis=2)[::-1]).confidence_interval(0.95)
    assert (difference.lower, difference.upper) == pytest.approx(tuple(expected))
    assert ratio.lower < 1 / 0.3 < ratio.upper
    told = audited(found, Context())
    assert "approximate" in told.tables
    assert {each["quantity"] for each in found.to_dict("approximate")["approximate"]} == {
        "difference of means",
        "ratio of means",
    }
    few = assess(
        matrix.select(instances=matrix.instances[:9]),
        configuration="tuned",
        default="default",
        chosen="before",
    )
    assert "9 instances are too few" in audited(few, Context()).text


def test_a_list_shares_delta_by_its_comparisons() -> None:
    """The default would be counted among those it is compared with: of a list of two, half of δ
    would be lost.
    """
    matrix = equal(np.random.default_rng(8)).select(configurations=["c0", "c7"])
    asked: dict[str, Any] = {"configuration": "c7", "default": "c0"}
    fixed, listed = (assess(matrix, chosen=way, **asked) for way in ("before", "from-list"))
    assert fixed.certificate is not None
    assert listed.certificate is not None
    assert listed.certificate.upper > fixed.certificate.upper
    assert fixed.comparison is not None
    assert listed.comparison is not None
    assert (listed.comparison.upper, listed.comparison.configurations) == (
        fixed.comparison.upper,
        1,
    )
    for kind in ("wins", "speed-up", "ratio of means"):
        assert shown(listed)[kind].limit == shown(fixed)[kind].limit
    assert shown(listed)["solved share"].limit < shown(fixed)["solved share"].limit
    whole = assess(equal(np.random.default_rng(8)), chosen="from-list", list_size=20, **asked)
    assert whole.comparison is not None
    assert whole.comparison.configurations == 19


def test_approximate_intervals_follow_the_rules_of_evidence() -> None:
    """A tuned winner's own instances would give an interval, a race too, or a list one as narrow as
    one fixed before.
    """
    matrix = equal(np.random.default_rng(2))
    assert assess(matrix, trajectory=ADAPTIVE).approximate == ()
    assert (
        assess(matrix, configuration="c7", default="c0", chosen="before", raced=True).approximate
        == ()
    )
    asked: dict[str, Any] = {"configuration": "c7", "default": "c0"}
    fixed, listed = (
        assess(matrix, chosen=way, **asked).approximate[0] for way in ("before", "from-list")
    )
    assert listed.delta == pytest.approx(0.05 / 9)
    assert listed.upper - listed.lower > fixed.upper - fixed.lower


def test_a_quality_that_was_reached_at_the_limit_is_no_failure() -> None:
    """Runs stopped at a time limit with a quality of their own would count as unsolved, and
    qualities as running times.
    """
    rng = np.random.default_rng(4)
    statuses = rng.choice([Status.SOLVED, Status.TIMEOUT], (2, 40, 1))
    matrix = CostMatrix(
        rng.random((2, 40, 1)), ["a", "b"], [f"i{i}" for i in range(40)], 0, 1, statuses=statuses
    )
    found = shown(assess(matrix, configuration="b", default="a", chosen="before"))
    assert set(found) == {
        "mean",
        "median",
        "90th percentile",
        "wins",
        "ratio of means",
        "difference",
    }
    assert found["median"].limit < 1


def test_the_width_and_the_next_step_are_told() -> None:
    """Nobody would know why a limit is far off, or what would show it."""
    matrix = load_example("kissat")
    found = assess(matrix, default=matrix.configurations[0], chosen="from-list")
    assert found.beside.width is not None
    assert found.certificate is not None
    assert found.beside.width.total == pytest.approx(
        found.certificate.upper - found.certificate.estimate
    )
    assert found.beside.width.chance == pytest.approx(1 - 0.001 ** (1 / 50))
    said = audited(found, Context()).text
    assert "covers what 50 instances may have missed: costs of 5.00" in said
    (reach,) = found.outlook.reach
    assert reach.what == "mean"
    assert asdict(reach.forecast) == asdict(found.forecast("mean").forecast)
    assert reach.forecast.instances is not None
    assert f"Run both on about {reach.forecast.instances} new instances" in said
    first = matrix.select(instances=matrix.instances[:10])
    both = assess(
        first, configuration=found.incumbent, default=matrix.configurations[0], chosen="before"
    ).outlook.reach
    # The verdict follows the mean, so that is planned for first, although wins are cheaper to show.
    assert [each.what for each in both] == ["mean", "wins"]
    assert (both[0].forecast.instances or 0) > (both[1].forecast.instances or 0)


def test_test_pairs_leave_out_what_was_trained_on() -> None:
    """Where test runs can certify nothing, the comparison would still count instances that the
    search has seen.
    """
    train, rng = equal(np.random.default_rng(1), instances=6), np.random.default_rng(2)
    test = CostMatrix(
        rng.random((10, 8, 2)), train.configurations, [f"i{i}" for i in range(2, 10)], 0, 30
    )
    log = Import(kind="matrix", matrix=train, trajectory=ADAPTIVE, test=test)
    for chosen in (None, "from-list"):
        found = assess(log, configuration="c3", chosen=chosen)
        assert found.comparison is not None
        assert (found.comparison.on, found.comparison.instances) == ("test", 4)
    part = assess(train, test=None, chosen="on-part", default="c0")
    assert part.comparison is None or part.comparison.on == "training"
