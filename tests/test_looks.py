"""Whoever looks again and again, extends a plan or goes on with more budget is not wrong more often.

Every count comes with the rule that gives each look all of δ, or too much of it: it must fail.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from truecost.errors import Refusal
from truecost.judge import looks
from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment
from truecost.judge.question import Question
from truecost.judge.rounds import _planned_families
from truecost.judge.sampling import statements_of
from truecost.judge.statements import Statement
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import RunPlan, Trajectory
from truecost.stats import betting
from truecost.stats.quantities import MEAN

FloatArray = NDArray[np.float64]
DELTA = 0.2
TRIALS = 120
LATE = 0.15
# Of 0.15 timeouts at 1 and running times below 0.1.
TRUTH = LATE + (1 - LATE) * 0.05


def draw(rng: np.random.Generator, *shape: int) -> FloatArray:
    """Costs in [0, 1] with rare timeouts."""
    late = rng.random(shape) < LATE
    return np.where(late, 1.0, 0.1 * rng.random(shape))


def journal(
    costs: FloatArray, plans: Sequence[RunPlan] = (), *, unfinished: bool = False, looked: int = 0
) -> Import:
    """What a gather would have written: (configurations, instances, runs)."""
    configurations = [f"c{place}" for place in range(len(costs))]
    instances = [f"i{place}" for place in range(costs.shape[1])]
    trajectory = Trajectory(
        tool="truecost gather",
        proposed="beforehand",
        raced=False,
        default="c0",
        unfinished=unfinished,
        plans=tuple(plans),
        looks=looked,
    )
    matrix = CostMatrix(costs, configurations, instances, 0, 1)
    return Import(kind="journal", matrix=matrix, trajectory=trajectory)


def upper(log: Import, *, test: Import | CostMatrix | None = None, **asked: Any) -> float:
    """The limit of the mean of the configuration asked for."""
    return limit_of(assess(log, test=test, delta=DELTA, **asked))


def limit_of(assessment: Assessment) -> float:
    """The limit of the mean."""
    assert assessment.evidence is not None
    statement = statements_of([MEAN], assessment.evidence, None, assessment.question)["mean"]
    assert isinstance(statement, Statement)
    return statement.limit


def holds(wrong: int, trials: int = TRIALS, delta: float = DELTA) -> bool:
    """Whether so many errors go with a level of δ."""
    return bool(binomtest(wrong, trials, delta, alternative="greater").pvalue > 1e-3)


def count(trial: Callable[[np.random.Generator], tuple[bool, bool]]) -> tuple[int, int]:
    """In how many trials the rule and the wrong rule erred at any look."""
    rng = np.random.default_rng(20)
    outcomes = np.array([trial(rng) for _ in range(TRIALS)])
    return int(outcomes[:, 0].sum()), int(outcomes[:, 1].sum())


def test_a_plan_that_grows() -> None:
    """Each extension of a plan would be judged as if it had been planned from the beginning."""
    sizes = (25, 50, 100, 200)

    def trial(rng: np.random.Generator) -> tuple[bool, bool]:
        costs, wrong = draw(rng, 2, 200, 1), [False, False]
        for look, size in enumerate(sizes, 1):
            plans = [RunPlan(2, n, 1) for n in sizes[:look]]
            for place, planned in enumerate((plans, [])):
                log = journal(costs[:, :size], planned)
                known = wrong[place]
                wrong[place] |= known or upper(log, configuration="c1", chosen="before") < TRUTH
        return wrong[0], wrong[1]

    right, every_time = count(trial)
    assert holds(right)
    assert not holds(every_time)


def test_runs_that_come_in_and_a_plan_that_ends() -> None:
    """δ would be spent by looks at a journal that is not finished, and again when it is."""

    def trial(rng: np.random.Generator) -> tuple[bool, bool]:
        costs, wrong = draw(rng, 2, 60, 1), [False, False]
        for size in (5, 10, 15, 20, 30, 40, 50, 60):
            for place, plans in enumerate(([RunPlan(2, 60, 1)], [])):
                log = journal(costs[:, :size], plans, unfinished=bool(plans) and size < 60)
                known = wrong[place]
                wrong[place] |= known or upper(log, configuration="c1", chosen="before") < TRUTH
        return wrong[0], wrong[1]

    right, every_time = count(trial)
    assert holds(right)
    assert not holds(every_time)


def test_families_that_come_in_and_a_plan_that_grows() -> None:
    """Looks at families would each have all of δ, or a family that a plan cut off would change when
    the plan is extended.
    """
    sizes, members = (31, 62, 122), 3
    labels = [f"f{place // members}" for place in range(sizes[-1])]

    def trial(rng: np.random.Generator) -> tuple[bool, bool]:
        # Instances of a family cost the same, so that nothing but the family is random.
        costs = draw(rng, 2, 41, 1).repeat(members, axis=1)[:, : sizes[-1]]
        wrong = [False, False]
        for size in (10, 20, 31, 40, 50, 62, 80, 100, 122):
            number = next(k for k, planned in enumerate(sizes, 1) if planned >= size)
            plans = [RunPlan(2, n, 1, -(-n // members)) for n in sizes[:number]]
            whole = size - size % members
            for place, recorded in enumerate((plans, [])):
                seen = size if recorded else whole
                log = journal(
                    costs[:, :seen],
                    recorded,
                    unfinished=bool(recorded) and size < sizes[number - 1],
                )
                log = replace(log, matrix=log.matrix.replace(families=labels[:seen]))
                asked: dict[str, Any] = {"chosen": "before", "sampled": "family"}
                known = wrong[place]
                wrong[place] |= known or upper(log, configuration="c1", **asked) < TRUTH
        return wrong[0], wrong[1]

    right, every_time = count(trial)
    assert holds(right)
    assert not holds(every_time)


def test_a_part_of_the_families_chooses_while_they_come_in() -> None:
    """The first families of a plan would choose anew at every look, or each look at the others
    have all of δ.
    """
    sizes, members = (60, 120), 3
    labels = [f"f{place // members}" for place in range(sizes[-1])]

    def trial(rng: np.random.Generator) -> tuple[bool, bool]:
        costs, wrong = draw(rng, 3, 40, 1).repeat(members, axis=1), [False, False]
        winners = set()
        for size in (10, 20, 31, 40, 60, 70, 85, 100, 120):
            number = next(k for k, planned in enumerate(sizes, 1) if planned >= size)
            plans = [RunPlan(3, n, 1, n // members) for n in sizes[:number]]
            for place, recorded in enumerate((plans, [])):
                if wrong[1] and not recorded:
                    continue
                seen = size if recorded else size - size % members
                unfinished = bool(recorded) and size < sizes[number - 1]
                log = journal(costs[:, :seen], recorded, unfinished=unfinished)
                log = replace(log, matrix=log.matrix.replace(families=labels[:seen]))
                asked: dict[str, Any] = {"chosen": "on-part", "sampled": "family"}
                assessment = assess(log, delta=DELTA, **asked)
                evidence = assessment.own_evidence
                if isinstance(evidence, Refusal):
                    # Four families of the first plan choose.
                    assert size <= 4 * members
                    assert "not finished" in evidence.reason
                    continue
                if recorded:
                    winners.add(evidence.configuration)
                    assert evidence.runs.instances[0] == "i12"
                wrong[place] |= limit_of(assessment) < TRUTH
        assert len(winners) == 1
        return wrong[0], wrong[1]

    right, every_time = count(trial)
    assert holds(right)
    assert not holds(every_time)


def test_whole_families_of_a_plan() -> None:
    """A family that is not finished would count, or one that a plan cut off count twice."""
    labels = list("aaabbbcccddd")
    assert _planned_families(labels[:7], [12], 7) == list(range(6))
    assert _planned_families(labels[:9], [12], 9) == list(range(6))
    assert _planned_families(labels, [12], 12) == list(range(12))
    # The first plan ended within b, which keeps its two instances.
    assert _planned_families(labels[:5], [5], 5) == list(range(5))
    assert _planned_families(labels, [5, 12], 12) == [*range(5), *range(6, 12)]
    assert _planned_families(labels, [5, 12], 10) == [*range(5), *range(6, 9)]
    assert isinstance(_planned_families(labels[:2], [12], 2), Refusal)
    assert isinstance(_planned_families([*"aabba"], [5], 5), Refusal)


def test_looks_at_test_runs_of_a_journal() -> None:
    """Test runs of a gather that is still running would be taken for a finished test set."""
    training = journal(np.full((2, 3, 1), 0.5))
    names = [f"t{place}" for place in range(115)]

    def trial(rng: np.random.Generator) -> tuple[bool, bool]:
        costs, wrong = draw(rng, 2, 115, 1), [False, False]
        for size in range(5, 116, 5):
            log = journal(costs[:, :size], [RunPlan(2, 115, 1)], unfinished=size < 115)
            matrix = log.matrix.replace(instances=names[:size])
            given = Import(kind="journal", matrix=matrix, trajectory=log.trajectory)
            wrong[0] |= wrong[0] or upper(training, test=given, configuration="c1") < TRUTH
            wrong[1] |= wrong[1] or upper(training, test=matrix, configuration="c1") < TRUTH
        return wrong[0], wrong[1]

    right, every_time = count(trial)
    assert holds(right)
    assert not holds(every_time)


def test_a_list_that_grows() -> None:
    """Configurations that were added after a look would share δ as if they had been there."""
    sizes = (4, 8, 16, 32, 64)

    def trial(rng: np.random.Generator) -> tuple[bool, bool]:
        costs, wrong = draw(rng, 64, 25, 1), [False, False]
        for look, size in enumerate(sizes, 1):
            plans = [RunPlan(m, 25, 1) for m in sizes[:look]]
            for place, planned in enumerate((plans, [])):
                wrong[place] |= wrong[place] or upper(journal(costs[:size], planned)) < TRUTH
        return wrong[0], wrong[1]

    right, every_time = count(trial)
    assert holds(right)
    # One of four equal ones, then of eight, …: each time δ is spent anew.
    assert every_time > right


def test_more_runs_on_old_instances() -> None:
    """Values that were bet on would change when instances get more runs, and be bet on again."""
    costs = draw(np.random.default_rng(2), 2, 20, 5)
    plans = [RunPlan(2, 20, 2), RunPlan(2, 20, 5)]
    before = journal(costs[:, :, :2], plans[:1])
    assert upper(journal(costs, plans), configuration="c1", chosen="before") == pytest.approx(
        upper(before, configuration="c1", chosen="before")
    )


def test_a_search_that_goes_on() -> None:
    """A search that chooses anew with more budget would have all of δ for its first look, and more
    for others.
    """
    rng = np.random.default_rng(3)
    trials, size = 4000, 40
    rows = draw(rng, 8 * trials, size)
    parts = {
        "ours": [looks.of_look(look) for look in range(1, 9)],
        "0.2": [1.0, *(looks.of_number(look) for look in range(2, 9))],
    }
    wrong = {}
    for rule, shares in parts.items():
        missed = [
            betting.star_reaches(1 - rows[look::8], 1 - TRUTH, 1 / (DELTA * share), True, False)
            for look, share in enumerate(shares)
        ]
        wrong[rule] = int(np.any(missed, axis=0).sum())
    assert holds(wrong["ours"], trials)
    assert not holds(wrong["0.2"], trials)
    training, test = journal(np.full((2, 3, 1), 0.5)), draw(rng, 2, 30, 1)
    matrix = CostMatrix(test, ["c0", "c1"], [f"t{place}" for place in range(30)], 0, 1)
    for look in (1, 2, 5):
        log = journal(np.full((2, 3, 1), 0.5), looked=look)
        log = Import(kind="journal", matrix=log.matrix, trajectory=log.trajectory, test=matrix)
        evidence = assess(log, configuration="c1").evidence
        assert evidence is not None
        assert evidence.share == looks.of_look(look)
    assert assess(training, test=matrix, configuration="c1").evidence.share == 1  # type: ignore[union-attr]


def test_parts_of_delta_add_up() -> None:
    """All parts together would be more than δ."""
    assert sum(looks.of_look(look) for look in range(1, 100_000)) <= 1
    assert sum(looks.of_number(number) for number in range(1, 100_000)) <= 1
    assert sum(looks.of_round(number, 7) for number in range(1, 8)) == pytest.approx(1)
    parts = [looks.of_plan(k, r, 5) for k in range(300) for r in range(1, 300)]
    assert sum(parts) <= 1
    assert looks.of_plan(0, 5, 5) == looks.FIRST


def test_when_configurations_came_in() -> None:
    """A configuration would share δ with those of another plan, or a plan that shrank count."""
    plans = (RunPlan(10, 20, 1), RunPlan(5, 40, 1), RunPlan(30, 40, 2))
    assert [looks.entered(place, plans) for place in (0, 9, 10, 29)] == [
        (0, 10),
        (0, 10),
        (2, 20),
        (2, 20),
    ]
    assert looks.horizons(plan.instances for plan in plans) == (20, 40)
    assert looks.horizons((30, 10)) == (30,)


def test_the_longest_prefix_counts() -> None:
    """Instances behind one that is not finished would count, or their order be that of completion."""
    costs = draw(np.random.default_rng(1), 2, 20, 3)
    costs[:, 12:, 2] = np.nan
    log = journal(costs, [RunPlan(2, 20, 3)], unfinished=True)
    assessment = assess(log, configuration="c1", chosen="before")
    assert assessment.certificate is not None
    assert assessment.certificate.instances == 12
    assert assessment.certificate.observed == pytest.approx(costs[1, :12].mean())
    assert assessment.certificate.share == looks.FIRST
    # Of the last round there is too little: all instances, with two runs each.
    costs[:, 5:, 2] = np.nan
    log = journal(costs, [RunPlan(2, 20, 3)], unfinished=True)
    early = assess(log, configuration="c1", chosen="before").certificate
    assert early is not None
    assert early.instances == 20
    assert early.share == looks.of_plan(0, 2, 3)


def test_the_order_comes_from_all_costs() -> None:
    """Test sets of one size would all come in one order, and sorted zeros and ones in one that
    their number decides.
    """
    training = journal(np.full((2, 3, 1), 0.5))
    rng = np.random.default_rng(5)
    seeds = set()
    for _ in range(5):
        test = CostMatrix(np.sort(rng.random((2, 9, 1))), ["c0", "c1"], [*"abcdefghi"], 0, 1)
        seeds.add(assess(training, test=test).question.seed)
    assert len(seeds) == 5
    ones = np.sort(rng.integers(0, 2, (1, 30, 1)), axis=1).astype(float)
    matrix = CostMatrix(ones, ["c0"], [f"i{place}" for place in range(30)], 0, 1)
    log = Import(kind="table", matrix=matrix, trajectory=Trajectory(tool="a table"))
    kept = [log.trajectory_to_keep() for _ in range(2)]
    assert kept[0].order_seed != kept[1].order_seed
    chosen = [
        assess(Import(kind="table", matrix=matrix, trajectory=trajectory)).question.seed
        for trajectory in kept
    ]
    assert chosen[0] != chosen[1]
    with_seeds = [matrix.replace(seeds=rng.integers(1 << 40, size=(1, 30, 1))) for _ in range(2)]
    assert len({assess(each).question.seed for each in with_seeds}) == 2


def test_sorted_zeros_and_ones() -> None:
    """The mean of 0/1 costs that came sorted would be limited by bets in an order without chance."""
    rng, wrong = np.random.default_rng(7), 0
    for _ in range(TRIALS):
        ones = np.sort((rng.random((1, 30, 1)) < LATE).astype(float), axis=1)
        matrix = CostMatrix(ones, ["c0"], [f"i{place}" for place in range(30)], 0, 1)
        assessment = assess(matrix, chosen="before", configuration="c0", delta=DELTA)
        assert assessment.evidence is not None
        mean = statements_of([MEAN], assessment.evidence, None, assessment.question)["mean"]
        assert isinstance(mean, Statement)
        assert mean.method == "clopper-pearson"
        wrong += mean.limit < LATE
    assert holds(wrong)


def test_questions_have_streams_of_their_own() -> None:
    """Two purposes would draw the same numbers."""
    from truecost.judge.question import Stream

    drawn = {Question(seed=3).rng(stream).integers(1 << 62) for stream in Stream}
    assert len(drawn) == len(Stream)


def test_a_weighted_list() -> None:
    """Shares of δ would add up to more than one, or be drawn from the instances that judge."""
    rng, wrong = np.random.default_rng(9), 0
    for _ in range(TRIALS):
        log = journal(draw(rng, 12, 30, 1))
        wrong += upper(log, chosen="weighted-list") < TRUTH
    assert holds(wrong)
    log = journal(draw(rng, 12, 30, 1))
    evidence = assess(log, chosen="weighted-list").evidence
    assert evidence is not None
    assert sum(evidence.weights) == pytest.approx(1)
    assert min(evidence.weights) >= 0.2 / 12 - 1e-12
    assert len(evidence.runs.instances) == 24
    paired = [evidence.of(f"c{place}").against("c0").share for place in range(1, 12)]
    assert sum(paired) == pytest.approx(1)
    # What weighs stays the same when the plan is extended.
    costs = draw(rng, 12, 60, 1)
    plans = [RunPlan(12, 30, 1), RunPlan(12, 60, 1)]
    before = assess(journal(costs[:, :30], plans[:1]), chosen="weighted-list", rng=3).evidence
    after = assess(journal(costs, plans), chosen="weighted-list", rng=3).evidence
    assert before is not None
    assert after is not None
    assert before.weights == after.weights
    assert [plan.instances for plan in after.plans] == [24, 54]
