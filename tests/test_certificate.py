"""Certificates: valid for every way of choosing, refused where they would not be."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from truecost.errors import InputError, RefusedError
from truecost.judge.evidence import UNSORTED
from truecost.judge.question import Chosen, Question, Stream
from truecost.matrix import CostMatrix
from truecost.runs import Trajectory
from truecost.show.document import Context, audited
from truecost.stats import confidence
from truecost.stats.inversion import clopper_pearson
from truecost.stats.synthetic import RuntimeModel, runtime_model
from truecost.verbs import assess, certify

REPETITIONS = 400
# The chance with which a valid statement fails its test here.
LUCK = 1e-4
ADAPTIVE = Trajectory(tool="a configurator", proposed="adaptively")
BEFOREHAND = Trajectory(tool="random search", proposed="beforehand", raced=False)


def over_tuned(configurations: int = 40) -> RuntimeModel:
    """A model in which configurations hardly differ, so that whoever has the least training cost
    was lucky.
    """
    rng = np.random.default_rng(5)
    return runtime_model(
        configurations=configurations,
        rng=rng,
        quality=0.05,
        timeout_rate=0.35,
        interaction_share=0.9,
    )


def holds(misses: int, repetitions: int, delta: float) -> bool:
    """Whether so many misses are compatible with a chance of delta each."""
    return bool(binomtest(misses, repetitions, delta, alternative="greater").pvalue > LUCK)


def coins(*shape: int, seed: int) -> NDArray[np.float64]:
    """Costs with the true cost 1/2."""
    return (np.random.default_rng(seed).random(shape) < 0.5).astype(float)


def names(letter: str, count: int) -> list[str]:
    """So many names."""
    return [f"{letter}{i}" for i in range(count)]


def memory(costs: NDArray[np.float64]) -> CostMatrix:
    """Fixed configurations, and one built from their results: on every instance it does what did
    best there.
    """
    built = costs.min(axis=0, keepdims=True)
    return CostMatrix(
        np.concatenate([costs, built]),
        [*names("c", len(costs)), "built"],
        names("i", costs.shape[1]),
        0,
        1,
    )


def test_uneven_runs_of_unknown_origin_have_an_if() -> None:
    """A sorted table that lacks a run would be taken for a race, whose limits are wrong there,
    without an if.
    """
    rng = np.random.default_rng(5)
    costs = np.sort(rng.lognormal(0, 1, (1, 30, 1)), axis=1) * rng.lognormal(0, 0.3, (2, 30, 2))
    costs[1, 29, 1] = np.nan
    matrix = CostMatrix(np.minimum(costs, 50), ["a", "b"], [f"i{i}" for i in range(30)], 0, 50)
    asked: dict[str, Any] = {"configuration": "a", "default": "b", "chosen": "before"}
    for raced, condition in ((None, UNSORTED), (True, None), (False, None)):
        found = assess(matrix, raced=raced, **asked)
        assert found.certificate is not None
        assert found.comparison is not None
        assert {found.certificate.condition, found.comparison.condition} == {condition}
        assert {each.condition for each in found.statements} == {condition}
    told = audited(assess(matrix, **asked), Context()).text
    assert "`raced=False`" in told
    assert (
        "If these instances came in this order, which has nothing to do with how hard they are"
        in told
    )


@pytest.mark.parametrize("chosen", ["before", "from-list", "on-part"])
def test_limits_hold_for_every_way_of_choosing(chosen: Chosen) -> None:
    """A limit of the winner of an over-tuned choice would be below its true cost more often than δ."""
    model, rng, delta, misses = over_tuned(), np.random.default_rng(11), 0.2, 0
    for _ in range(REPETITIONS):
        matrix = model.draw(instances=50, runs=1, rng=rng)
        found = certify(
            matrix, "random-07" if chosen == "before" else None, chosen=chosen, delta=delta
        )
        assert found.chosen == chosen
        misses += found.upper < model.true_cost[matrix.configurations.index(found.configuration)]
    assert holds(misses, REPETITIONS, delta)


def test_winner_taken_for_fixed_misses_too_often() -> None:
    """The data of the test above would be too easy: even the wrong rule would pass it."""
    model, rng, misses = over_tuned(), np.random.default_rng(11), 0
    for _ in range(REPETITIONS):
        matrix = model.draw(instances=50, runs=1, rng=rng)
        winner = matrix.configurations[int(np.argmin(matrix.costs.mean(axis=(1, 2))))]
        found = certify(matrix, winner, chosen="before", delta=0.2)
        misses += found.upper < model.true_cost[matrix.configurations.index(found.configuration)]
    assert binomtest(misses, REPETITIONS, 0.2, alternative="greater").pvalue < LUCK


def test_limits_hold_on_fresh_instances() -> None:
    """A configurator's winner would cost more than its limit on test runs says, more often than δ."""
    model, rng, misses = over_tuned(), np.random.default_rng(12), 0
    for _ in range(REPETITIONS):
        matrix, drawn = (model.draw(instances=50, runs=1, rng=rng) for _ in range(2))
        test = CostMatrix(
            drawn.costs, drawn.configurations, names("new", 50), drawn.low, drawn.high
        )
        found = certify(matrix, trajectory=ADAPTIVE, test=test, delta=0.2)
        misses += found.upper < model.true_cost[matrix.configurations.index(found.configuration)]
    assert holds(misses, REPETITIONS, 0.2)


def test_union_over_adaptive_proposals_misses_every_time_and_is_refused() -> None:
    """The tempting certificate, δ over all that a configurator tried, would be given out."""
    misses = 0
    for seed in range(200):
        matrix = memory(coins(100, 60, seed=seed))
        # On an instance it has never seen, what was built from results knows nothing: its true cost
        # is 1/2.
        misses += certify(matrix, "built", chosen="from-list", delta=0.05).upper < 0.5
        if seed < 3:
            ways: list[Chosen | None] = [None, "from-list", "on-part"]
            for chosen in ways:
                with pytest.raises(RefusedError, match="a tuned on these instances"):
                    certify(matrix, "built", chosen=chosen, trajectory=ADAPTIVE)
    assert misses == 200


def test_what_a_search_built_was_not_fixed_before() -> None:
    """A search's own proposal, or the winner by these very costs, would pass for one fixed before
    any of them was seen.
    """
    matrix = memory(coins(8, 20, seed=1))
    search = Trajectory(
        tool="a configurator", proposed="adaptively", incumbent="built", default="c0"
    )
    with pytest.raises(RefusedError, match="'built' was not fixed before these costs were seen"):
        certify(matrix, "built", chosen="before", trajectory=search)
    assert certify(matrix, "c0", chosen="before", trajectory=search).upper > 0.5
    with pytest.raises(InputError, match="the name of the `configuration` that was fixed before"):
        certify(matrix, chosen="before")


def test_progressive_holds_for_all_proposals_at_once() -> None:
    """Of the proposals of a search, each certified on instances unused before it, one would be
    wrong more often than δ.
    """
    wrong, delta = 0, 0.2
    for seed in range(REPETITIONS // 2):
        rng, missed, instances = np.random.default_rng(seed), False, 20
        costs = (rng.random((1, instances)) < 0.5).astype(float)
        for proposal in range(1, 5):
            seen = costs.shape[1]
            fresh = (rng.random((len(costs) + 1, instances)) < 0.5).astype(float)
            costs = np.concatenate(
                [np.concatenate([costs, costs.min(axis=0, keepdims=True)]), fresh], axis=1
            )
            matrix = CostMatrix(costs, names("c", len(costs)), names("i", costs.shape[1]), 0, 1)
            found = certify(
                matrix,
                f"c{proposal}",
                chosen="progressive",
                fresh=matrix.instances[seen:],
                proposal=proposal,
                trajectory=ADAPTIVE,
                delta=delta,
            )
            assert found.instances == instances
            missed |= found.upper < 0.5
        wrong += missed
    assert holds(wrong, REPETITIONS // 2, delta)


def test_progressive_has_its_part_of_delta() -> None:
    """The t-th proposal would have another part of δ than 6/(π²t²)."""
    matrix = CostMatrix(coins(1, 30, seed=3), ["c"], names("i", 30), 0, 1)
    found = certify(
        matrix, chosen="progressive", fresh=matrix.instances[10:], proposal=3, delta=0.1, rng=4
    )
    failed = 20 - int(matrix.costs[0, 10:].sum())
    part = 0.1 * 6 / (np.pi**2 * 9)
    assert found.upper == pytest.approx(1 - clopper_pearson(failed, 20, part))
    assert found.estimate == matrix.costs[0, 10:].mean()


def raced(seed: int) -> CostMatrix:
    """Coins; each configuration gets instances until it looks lucky."""
    costs = coins(2, 150, seed=seed)
    for row in costs:
        count = np.arange(1, 151)
        lucky = (row.cumsum() / count <= 0.5 - 0.7 / np.sqrt(count)) & (count >= 8)
        if lucky.any():
            row[lucky.argmax() + 1 :] = np.nan
    return CostMatrix(costs, ["a", "b"], names("i", 150), 0, 1)


def test_races_need_limits_that_hold_at_all_times() -> None:
    """In a race a limit for a fixed number of instances would be used, and miss more often than δ."""
    trajectory, delta = Trajectory(tool="race", proposed="beforehand", raced=True), 0.2
    misses, one_look, repetitions = 0, 0, 300
    for seed in range(repetitions):
        matrix = raced(seed)
        found = [certify(matrix, name, trajectory=trajectory, delta=delta) for name in "ab"]
        misses += any(limit.upper < 0.5 for limit in found)
        one_look += any(
            certify(matrix, name, trajectory=BEFOREHAND, delta=delta).upper < 0.5 for name in "ab"
        )
        assert any("race" in text for text in found[0].assumptions)
    assert holds(misses, repetitions, delta)
    assert not holds(one_look, repetitions, delta)


def test_in_a_race_every_instance_counts_with_as_many_runs() -> None:
    """Runs whose number depended on costs would weigh in, or a second round be looked at with all
    of δ again.
    """
    costs = coins(2, 40, 2, seed=4)
    costs[1, 5:, 1] = np.nan
    matrix = CostMatrix(costs, ["a", "b"], names("i", 40), 0, 1)
    trajectory = Trajectory(tool="race", proposed="beforehand", raced=True)
    for row, name, rounds in ((0, "a", 2), (1, "b", 1)):
        found = certify(matrix, name, trajectory=trajectory, delta=0.2)
        part = 6 / (np.pi * rounds) ** 2 / 2
        means = costs[row, :, :rounds].mean(axis=1)
        assert found.upper == confidence.sequence(means, 0, 1, 0.2 * part, side="upper").upper[-1]
        assert found.estimate == means.mean()
    with pytest.raises(RefusedError, match="race"):
        certify(matrix, "a", chosen="on-part", trajectory=trajectory)


def test_a_race_in_another_order_is_refused() -> None:
    """A limit that holds at all times would be computed in an order in which the instances did not
    come.
    """
    costs = coins(4, 12, seed=1)
    costs[1, 6:] = np.nan
    costs[2, [1, 4, 7, 8]] = np.nan
    costs[3, :3] = np.nan
    matrix = CostMatrix(costs, ["all", "first", "some", "late"], names("i", 12), 0, 1)
    trajectory = Trajectory(tool="race", proposed="beforehand", raced=True)
    assert [
        certify(matrix, name, trajectory=trajectory).instances for name in ("all", "first")
    ] == [12, 6]
    for name in ("some", "late"):
        with pytest.raises(RefusedError, match="order"):
            certify(matrix, name, trajectory=trajectory)
    words = {"chosen": "progressive", "proposal": 1, "trajectory": trajectory}
    forth, back = (
        certify(matrix, "all", fresh=names("i", 12)[::step], **words) for step in (1, -1)
    )
    assert forth == back


def test_uneven_runs_of_unknown_origin_are_taken_for_a_race() -> None:
    """A race that nobody called one would be certified by a limit for one look, wrong more often
    than δ.
    """
    repetitions, delta, misses, one_look = 300, 0.2, 0, 0
    for seed in range(repetitions):
        matrix = raced(seed)
        words = {"delta": delta, "chosen": "from-list"}
        misses += any(certify(matrix, name, **words).upper < 0.5 for name in "ab")
        one_look += any(certify(matrix, name, raced=False, **words).upper < 0.5 for name in "ab")
    assert holds(misses, repetitions, delta)
    assert not holds(one_look, repetitions, delta)
    with pytest.raises(RefusedError, match="say so"):
        certify(raced(3))


def test_an_unfinished_plan_may_be_looked_at_at_any_time() -> None:
    """Runs that are still being made would be certified at every look as if it were the only one."""
    going_on = Trajectory(
        tool="truecost gather", proposed="beforehand", raced=False, unfinished=True
    )
    finished = Trajectory(tool="truecost gather", proposed="beforehand", raced=False)
    repetitions, delta, misses, one_look = 200, 0.2, 0, 0
    for seed in range(repetitions):
        costs = coins(1, 60, seed=seed)
        seen = [CostMatrix(costs[:, :k], ["a"], names("i", k), 0, 1) for k in range(5, 61, 5)]
        misses += any(certify(part, trajectory=going_on, delta=delta).upper < 0.5 for part in seen)
        one_look += any(
            certify(part, trajectory=finished, delta=delta).upper < 0.5 for part in seen
        )
    assert holds(misses, repetitions, delta)
    assert not holds(one_look, repetitions, delta)


def test_delta_is_shared_out_among_the_whole_list() -> None:
    """Configurations that were dropped from the list, or all but the best, would not count."""
    matrix = CostMatrix(coins(6, 30, seed=1), names("c", 6), names("i", 30), 0, 1)
    for size, m in ((None, 6), (3, 6), (50, 50)):
        found = certify(matrix, "c2", chosen="from-list", list_size=size, delta=0.1, rng=9)
        assert found.configurations == m
        failed = 30 - int(matrix.costs[2].sum())
        assert found.upper == pytest.approx(1 - clopper_pearson(failed, 30, 0.1 / m))
        assert any(f"list of {m} configurations" in text for text in found.assumptions)


def test_the_trajectory_decides_where_nothing_is_said() -> None:
    """Runs of a list fixed beforehand, and runs of unknown origin, would be treated alike."""
    matrix = CostMatrix(coins(6, 30, seed=1), names("c", 6), names("i", 30), 0, 1)
    assert certify(matrix, trajectory=BEFOREHAND).chosen == "from-list"
    assert (
        certify(matrix, trajectory=Trajectory(tool="?")).chosen
        == certify(matrix).chosen
        == "on-part"
    )
    assert (
        certify(
            matrix, trajectory=Trajectory(tool="?", proposed="beforehand", incumbent="c4")
        ).configuration
        == "c4"
    )


def test_unknown_origin_is_certified_with_an_if() -> None:
    """A table that may come from a search would be certified as if it did not, and a tuned winner
    with it.
    """
    matrix = memory(coins(100, 60, seed=1))
    found = certify(matrix)
    assert found.condition == "these configurations were not tuned on these instances"
    assert str(found).startswith(
        "If these configurations were not tuned on these instances, with 95 % confidence"
    )
    assert certify(matrix, chosen="on-part").condition is None
    judged = assess(matrix, default="c0")
    assert judged.comparison is not None
    assert judged.comparison.upper is not None
    assert not judged.better


def test_the_part_that_chooses_does_not_judge() -> None:
    """The instances that chose would also certify, or another than their winner be certified."""
    matrix = CostMatrix(coins(20, 31, seed=2), names("c", 20), names("i", 31), 0, 1)
    found = certify(matrix, chosen="on-part", rng=7)
    order = Question(seed=7).rng(Stream.PART).permutation(31)
    part = matrix.costs[:, order[:6], 0].mean(axis=1)
    assert found.configuration == matrix.configurations[int(part.argmin())]
    assert found.instances == 25
    assert found.estimate == pytest.approx(matrix.costs[int(part.argmin()), order[6:], 0].mean())
    other = matrix.configurations[int(part.argmax())]
    with pytest.raises(RefusedError, match=f"'{found.configuration}', not '{other}'"):
        certify(matrix, other, chosen="on-part", rng=7)


def test_sorted_instances_do_no_harm() -> None:
    """Instances that come sorted by their costs would make the default order of betting miss more
    often than δ.
    """
    repetitions, delta, misses = 1000, 0.2, 0
    for seed in range(repetitions):
        costs = np.sort((np.random.default_rng(seed).random((1, 80)) < 0.1).astype(float), axis=1)
        misses += (
            certify(
                CostMatrix(costs, ["a"], names("i", 80), 0, 1), chosen="before", delta=delta
            ).upper
            < 0.1
        )
    assert holds(misses, repetitions, delta)


def test_test_instances_must_be_fresh() -> None:
    """Instances that the choice has seen would count as test instances."""
    matrix = CostMatrix(coins(3, 10, seed=2), names("c", 3), names("i", 10), 0, 1)
    test = CostMatrix(coins(3, 30, seed=3), names("c", 3), names("i", 30), 0, 1)
    found = certify(matrix, "c1", test=test)
    assert found.instances == 20
    assert found.estimate == test.costs[1, 10:].mean()
    with pytest.raises(RefusedError, match="fresh"):
        certify(test, "c1", test=matrix)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"chosen": "union"}, "one of test, before, from-list"),
        ({"configuration": "d1"}, "got 'd1'"),
        ({"delta": 1.5}, "`delta` between 0 and 1"),
        ({"chosen": "progressive"}, "`fresh`"),
        ({"chosen": "progressive", "fresh": ["i1"], "proposal": 0}, "from 1"),
        ({"chosen": "progressive", "fresh": ["x"], "proposal": 1}, "name of a instance"),
        ({"fresh": ["i1"]}, "for progressive only"),
        ({"chosen": "before", "list_size": 9}, "from-list only"),
        ({"chosen": "from-list", "list_size": 0}, "1 or more"),
        ({"rng": -1}, "a number from 0"),
        ({"test": "other range"}, "costs in \\[0, 1\\]"),
        ({"test": "same", "chosen": "from-list"}, "with test runs"),
    ],
)
def test_wrong_words_are_refused(words: dict[str, object], message: str) -> None:
    """A mistake in the call would give a number, or a traceback."""
    matrix = CostMatrix(coins(3, 10, seed=2), names("c", 3), names("i", 10), 0, 1)
    if "test" in words:
        high = 1 if words["test"] == "same" else 2
        words = {
            **words,
            "test": CostMatrix(coins(3, 10, seed=2), names("c", 3), names("t", 10), 0, high),
        }
    with pytest.raises(InputError, match=message):
        certify(matrix, **words)  # type: ignore[arg-type]


def test_a_refusal_is_the_same_after_pickling() -> None:
    """A refusal that comes back from another process would begin with its first words twice."""
    error = RefusedError("the runs are too few")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.reason) == (str(error), error.reason)
