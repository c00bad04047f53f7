"""Statements about families, mixes, benchmarks, seeds and folds, as an assessment makes them."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from truecost import assess, report
from truecost.errors import InputError, Refusal
from truecost.judge.assessment import Assessment
from truecost.judge.families import family_results
from truecost.judge.question import Margin, NonInferiority
from truecost.judge.whole_list import WholeList
from truecost.matrix import CostMatrix
from truecost.show import figures


def families(
    sizes: list[int], *, gain: float = 0.2, runs: int = 1, seed: int = 1, configurations: int = 2
) -> CostMatrix:
    """Configuration a is cheaper than b by `gain` on average; hard families are large ones."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    hard = np.linspace(0.3, 0.7, len(sizes))[codes]
    costs = hard[:, np.newaxis] + 0.05 * rng.standard_normal((configurations, codes.size, runs))
    costs[0] -= gain
    return CostMatrix(
        costs.clip(0, 1),
        ["a", "b", *(f"c{k}" for k in range(configurations - 2))],
        [f"{code}/{k}" for k, code in enumerate(codes)],
        0.0,
        1.0,
        families=[f"f{code}" for code in codes],
    )


def judged(matrix: CostMatrix, **asked: Any) -> Assessment:
    """The first configuration, fixed beforehand, against the second."""
    return assess(
        matrix, default="b", configuration="a", chosen="before", raced=False, splits=2, **asked
    )


def test_families_count_equally() -> None:
    """Large families would have more weight in training costs, observed values or limits."""
    matrix = families([2, 2, 2, 40])
    usual, family = judged(matrix), judged(matrix, sampled="family")
    means = [matrix.costs[0, np.array(matrix.families) == f"f{k}"].mean() for k in range(4)]
    assert family.costs.training[0] == pytest.approx(np.mean(means))
    assert family.certificate is not None
    assert family.certificate.observed == pytest.approx(np.mean(means))
    assert (family.certificate.instances, family.certificate.sampling_unit) == (4, "family")
    assert "new families" in family.certificate.scope
    assert "families are independent draws" in family.certificate.assumptions[0]
    assert usual.certificate is not None
    assert usual.certificate.instances == 46
    assert usual.certificate.upper < family.certificate.upper


def test_the_winner_is_that_of_the_families() -> None:
    """The winner would be chosen by instances where statements are about families."""
    costs = np.array([[0.1] * 10 + [0.9, 0.9], [0.3] * 10 + [0.2, 0.2]])
    labels = ["f"] * 10 + ["g", "h"]
    matrix = CostMatrix(costs, ["a", "b"], [str(k) for k in range(12)], 0, 1, families=labels)
    assert assess(matrix, splits=2).incumbent == "a"
    assert assess(matrix, splits=2, sampled="family").incumbent == "b"


def test_a_fifth_of_the_families_chooses() -> None:
    """Instances of one family would both choose and judge."""
    matrix = families([4] * 10)
    part = assess(matrix, default="b", chosen="on-part", sampled="family", raced=False, splits=2)
    assert part.certificate is not None
    assert part.certificate.instances == 8
    assert part.evidence is not None
    assert set(part.evidence.runs.families or ()) < set(matrix.families or ())


def test_test_families_that_were_trained_on_do_not_count() -> None:
    """A family that was tuned on would pass as fresh because its instances are."""
    training, test = families([3, 3, 3]), families([3] * 6, seed=2)
    test = test.replace(instances=[f"new {k}" for k in range(18)])
    answer = assess(training, default="b", configuration="a", test=test, sampled="family", splits=2)
    assert answer.certificate is not None
    assert answer.certificate.instances == 3
    same = assess(
        training,
        default="b",
        configuration="a",
        test=families([3, 3, 3]).replace(instances=[f"new {k}" for k in range(9)]),
        sampled="family",
        splits=2,
    )
    assert same.certificate is None
    assert "families of the test runs were used in training" in str(same.no_certificate)
    with pytest.raises(InputError, match="families` of the test instances"):
        assess(training, test=test.replace(families=None), sampled="family", splits=2)


def test_a_mix_weighs_the_families() -> None:
    """The observed value for a mix would not have the mix's weights."""
    matrix = families([30, 30])
    mix = judged(matrix, mix={"f0": 0.9, "f1": 0.1})
    means = [matrix.costs[0, np.array(matrix.families) == name].mean() for name in ("f0", "f1")]
    assert mix.certificate is not None
    assert mix.certificate.observed == pytest.approx(0.9 * means[0] + 0.1 * means[1])
    assert mix.certificate.scope == "on these families, if 90 % are f0 and 10 % are f1"
    assert mix.grade == "better"


def test_ranges_of_a_mix_take_the_worst_corner() -> None:
    """A statement for every mix within ranges would hold for one of them only."""
    matrix = families([12, 12, 12])
    ranges = judged(matrix, mix={"f0": (0.1, 0.5), "f1": (0.2, 0.6), "f2": 0.3})
    corners = [
        judged(matrix, mix={"f0": first, "f1": 0.7 - first, "f2": 0.3}) for first in (0.1, 0.5)
    ]
    assert ranges.scope.corners == ((0.1, 0.6, 0.3), (0.5, 0.2, 0.3))
    for name in ("mean", "median", "wins", "ratio of means", "difference"):
        worst, one, two = (
            next(line for line in each.statements if line.quantity == name)
            for each in (ranges, *corners)
        )
        pick = max if worst.side == "upper" else min
        assert worst.limit == pick(one.limit, two.limit)
    assert ranges.certificate is not None
    assert ranges.certificate.scope == (
        "on these families, in every mix of 10 to 50 % f0, 20 to 60 % f1 and 30 to 30 % f2"
    )
    with pytest.raises(InputError, match=r"sum to 1, got 1.1 to 1.5"):
        judged(matrix, mix={"f0": (0.5, 0.9), "f1": 0.3, "f2": 0.3})
    with pytest.raises(InputError, match="sum to 1"):
        judged(matrix, mix={"f0": (0.9, 0.5), "f1": 0.3, "f2": 0.0})


def test_the_worst_mix_is_covered() -> None:
    """The limit for every mix would be wrong more often than δ at the worst one; that of the mix in
    the middle is.
    """
    chances, wrong = np.array([0.2, 0.6]), np.zeros(2)
    names = [f"i{k}" for k in range(80)]
    labels = ["f", "g"]
    for trial in range(60):
        rng = np.random.default_rng([trial, 5])
        bits = rng.random(80) < chances.repeat(40)
        matrix = CostMatrix(
            bits.astype(float).reshape(1, 80, 1), ["a"], names, 0, 1, families=np.repeat(labels, 40)
        )
        mixes: tuple[dict[str, Any], ...] = (
            dict.fromkeys("fg", (0.2, 0.8)),
            dict.fromkeys("fg", 0.5),
        )
        for place, mix in enumerate(mixes):
            found = assess(
                matrix,
                configuration="a",
                chosen="before",
                raced=False,
                mix=mix,
                delta=0.2,
                splits=2,
            )
            assert found.certificate is not None
            wrong[place] += found.certificate.upper < 0.2 * 0.2 + 0.8 * 0.6
    assert binomtest(int(wrong[0]), 60, 0.2, alternative="greater").pvalue > 1e-3
    assert binomtest(int(wrong[1]), 60, 0.2, alternative="greater").pvalue < 1e-6


def test_a_benchmark_has_expected_and_realised_results() -> None:
    """The expected cost over seeds and the realised results would be mixed up."""
    matrix = families([1] * 60)
    answer = judged(matrix, about="these", population=80)
    assert answer.certificate is not None
    assert answer.certificate.scope == "on this benchmark of 80 instances, with new seeds"
    assert answer.certificate.method == "constant bets"
    mean, difference = answer.beside.realised
    assert (mean.quantity, difference.quantity) == ("mean", "difference")
    assert mean.scope == "if all 80 instances are run once"
    assert mean.observed < mean.limit < answer.certificate.limit
    assert judged(matrix).beside.realised == ()


def test_seeds_are_units_on_one_instance() -> None:
    """One instance with many seeds would show nothing."""
    rng = np.random.default_rng(3)
    costs = np.stack([rng.beta(2, 8, (1, 100)), rng.beta(8, 2, (1, 100))])
    answer = judged(CostMatrix(costs, ["a", "b"], ["only"], 0, 1))
    assert answer.certificate is not None
    assert answer.certificate.scope == "on this instance, with new seeds"
    assert (answer.certificate.instances, answer.certificate.sampling_unit) == (100, "seed")
    assert answer.grade == "better"


def test_weights_come_from_a_column_or_a_file(tmp_path: Path) -> None:
    """A weight column would be ignored, or change statements that nobody asked it to change."""
    rng, lines = np.random.default_rng(5), ["solver,instance,seed,cost,weight"]
    for solver in ("a", "b"):
        for k in range(40):
            lines += [f"{solver},i{k},{s},{rng.random() * (k < 20):.3f},{k < 20:d}" for s in (1, 2)]
    table, apart = tmp_path / "runs.csv", tmp_path / "weights.csv"
    table.write_text("\n".join(lines))
    apart.write_text("instance,weight\n" + "\n".join(f"i{k},{2 * (k < 20)}" for k in range(40)))
    asked: dict[str, Any] = {"low": 0, "high": 1, "configuration": "a", "chosen": "before"}
    plain = assess(table, **asked).certificate
    weighted, filed, sampled = (
        assess(table, **asked, **how).certificate
        for how in (
            {"weights": "column"},
            {"weights": apart},
            {"weights": apart, "about": "new"},
        )
    )
    assert plain is not None
    assert weighted is not None
    assert filed is not None
    assert sampled is not None
    assert plain.estimate == pytest.approx(weighted.estimate / 2)
    assert weighted.upper == filed.upper
    assert weighted.scope == "on these 40 weighted instances, with new seeds"
    assert sampled.scope == "on new instances, with the given sampling weights"
    assert sampled.upper > weighted.estimate
    assert "so that their mean is 1" in " ".join(sampled.assumptions)
    page = report(table, **asked, weights="column")
    assert any("weighted instances" in section.lead for section in page.sections)
    with pytest.raises(InputError, match="column of `weights` in the table, and it has none"):
        assess("kissat", weights="column")


def test_folds_have_no_guarantee() -> None:
    """Folds of one data set would be taken for independent instances."""
    matrix = families([1] * 10).replace(instances=[f"fold{k}" for k in range(10)])
    answer = judged(matrix)
    assert answer.certificate is None
    assert "share training data" in str(answer.no_certificate)
    interval = answer.beside.folds
    assert interval is not None
    assert not isinstance(interval, Refusal)
    assert interval.test_over_train == pytest.approx(1 / 9)
    assert interval.upper < 0


def test_these_instances_take_one_look_and_a_way_of_choosing() -> None:
    """A race, or a part that chooses, would be certified about a fixed benchmark."""
    matrix = families([1] * 20)
    part = assess(matrix, default="b", chosen="on-part", about="these", splits=2)
    assert "none can be kept to choose by" in str(part.no_certificate)
    race = assess(matrix, default="b", chosen="from-list", raced=True, about="these", splits=2)
    assert "take one look" in str(race.no_certificate)


def test_a_race_over_families_uses_whole_ones() -> None:
    """A family that is not finished, or families in turns, would count in a sequence."""
    matrix = families([3, 3, 3, 3])
    race = assess(matrix, default="b", chosen="from-list", raced=True, sampled="family", splits=2)
    assert race.certificate is not None
    assert race.certificate.instances == 3
    mixed = matrix.select(instances=[matrix.instances[i] for i in (0, 3, 1, 4, 2, 5, 6, 7, 8)])
    race = assess(mixed, default="b", chosen="from-list", raced=True, sampled="family", splits=2)
    assert "one after the other" in str(race.no_certificate)


def test_alike_instances_are_noticed() -> None:
    """A design effect would go unnoticed where nobody declared families."""
    matrix = families([20] * 5)
    answer = judged(matrix)
    assert answer.beside.likeness is not None
    assert answer.beside.likeness.significant
    assert answer.beside.likeness.design_effect > 5
    assert answer.beside.components is not None
    assert answer.beside.components.between > 0.8
    assert judged(matrix, sampled="family").beside.likeness is None


def test_results_by_family() -> None:
    """A family on which the configuration is worse would not be named."""
    matrix = families([40] * 4)
    costs = np.array(matrix.costs)
    costs[0, 120:] += 0.4
    answer = judged(matrix.replace(costs=costs.clip(0, 1)))
    assert [result.grade for result in answer.beside.family_results] == ["better"] * 3 + ["worse"]
    assert all(result.instances == 40 for result in answer.beside.family_results)


def test_the_whole_list() -> None:
    """Who may be the best of a list, or is shown better than the default, would be named wrongly."""
    matrix = families([1] * 80, configurations=5)
    answer = assess(matrix, default="b", chosen="from-list", raced=False, splits=2)
    sets = answer.beside.whole_list
    assert isinstance(sets, WholeList)
    assert sets.may_be_best == ("a",)
    assert sets.better == ("a",)
    assert sets.worse == ()
    assert isinstance(judged(matrix).beside.whole_list, Refusal)
    # A table without a default is a competition: the sets have a condition.
    table = assess(matrix)
    conditional = table.beside.whole_list
    assert isinstance(conditional, WholeList)
    assert conditional.may_be_best == sets.may_be_best
    assert conditional.condition is not None
    page = report(table)
    number = len(sets.may_be_best)
    assert f"{number} of {sets.configurations} may be the best, if not tuned" in page.badge or (
        number == 1 and f"Best of {sets.configurations}, if not tuned" in page.badge
    )
    assert "The second, configuration " in page.more
    assert {"ranking", "cactus"} <= set(page.figures)


@pytest.mark.parametrize(("margin", "shown"), [("0.05", True), ("5%", True), ("0.0001%", False)])
def test_non_inferiority(margin: str, shown: bool) -> None:
    """A configuration as good as the default would not be shown to be within a margin, or within
    one that is too small.
    """
    matrix = families([1] * 400, gain=0.0)
    answer = judged(matrix, margin=margin).beside.non_inferiority
    assert isinstance(answer, NonInferiority)
    assert answer.shown == shown
    assert judged(matrix).beside.non_inferiority is None


@pytest.mark.parametrize(
    ("gain", "asked", "badge"),
    [
        (0.0, {"margin": "5%"}, "At most 5 % worse; not shown to be better on average"),
        (
            0.0,
            {"margin": "0.0001%"},
            "Not shown to be better on average; not shown to be at most 0.0001 % worse",
        ),
        (0.05, {"margin": "5%"}, "Better on average"),
        (-0.05, {"margin": "0.3"}, "Worse on average; at most 0.3 worse"),
        (
            0.05,
            {"margin": "0.0001%", "primary": "wins"},
            "Wins more often than the default; at most 0.0001 % worse on average",
        ),
    ],
)
def test_the_badge_answers_the_margin(gain: float, asked: dict[str, Any], badge: str) -> None:
    """The badge would say nothing of the margin, or take the primary criterion for its answer."""
    assert report(judged(families([1] * 400, gain=gain), **asked)).badge == badge


@pytest.mark.parametrize("text", ["five", "-1", "inf%", ""])
def test_margins_that_are_none(text: str) -> None:
    """A margin that is no number would be taken for one."""
    with pytest.raises(InputError, match=r"like 5% or 0\.1"):
        Margin.parse(text)


def test_the_figure_of_families_has_their_results() -> None:
    """A chart of families would leave one out, or draw a limit on the wrong side."""
    results = judged(families([60] * 3)).beside.family_results
    data = figures.families_data(results)
    assert sorted(data["family"].to_list()) == ["f0", "f1", "f2"]
    assert (data["lower"] <= data["observed"]).all()
    assert (data["observed"] <= data["upper"]).all()
    # The legend has what is drawn, and all of these are shown better.
    assert "shown better" in figures.families_chart(data).to_json()
    with pytest.raises(InputError, match="at least one family"):
        figures.families_data([])


def test_a_report_says_what_it_is_about() -> None:
    """A page would not name its scope, or leave out families, the list or the margin."""
    matrix = families([6] * 10, configurations=4)
    page = report(
        matrix,
        default="b",
        chosen="from-list",
        raced=False,
        splits=2,
        sampled="family",
        margin="5%",
    )
    for words in (
        "each family counted equally",
        "the truly best of the 4 is among",
        "Family by family",
        "5 % more",
    ):
        assert words in page.text
    warned = report(matrix, default="b", chosen="from-list", raced=False, splits=2)
    assert "are alike (design effect" in warned.text


def test_limits_of_families_share_delta() -> None:
    """Limits that are said to hold for all families at once would each have all of δ."""
    matrix = families([12] * 4)
    pair = matrix.configurations[:2]
    owners = zip(matrix.instances, matrix.families or (), strict=True)
    first = [name for name, family in owners if family == "f0"]
    among = family_results(matrix, *pair, delta=0.2, rng=np.random.default_rng(1))
    alone = family_results(
        matrix.select(instances=first), *pair, delta=0.05, rng=np.random.default_rng(1)
    )
    (one,) = [result for result in among if result.family == "f0"]
    assert (one.lower, one.upper) == (alone[0].lower, alone[0].upper)


def test_a_certificate_of_a_score_says_so() -> None:
    """The certificate of an accuracy would be printed as a negative cost."""
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        [("a", f"d{k}", float(score)) for k, score in enumerate(rng.uniform(0.7, 0.9, 50))],
        schema=["solver", "instance", "accuracy"],
        orient="row",
    )
    assessment = assess(table, maximise=True, low=0, high=1, chosen="before")
    assert "the mean score of configuration a" in str(assessment.certificate)
    assert "is at least 0.7" in str(assessment.certificate)
    page = report(assessment)
    assert "−score" not in " ".join(figure.chart.to_json() for figure in page.figures.values())


def test_shares_of_a_mix_are_exact() -> None:
    """Where every run is solved, the weights of a mix would give a share above 1."""
    costs = np.random.default_rng(1).uniform(1, 9, (2, 20, 2)) * [[[2]], [[1]]]
    matrix = CostMatrix(
        costs,
        ["a", "b"],
        [f"i{i}" for i in range(20)],
        0,
        100,
        families=tuple("AB"[i // 10] for i in range(20)),
        cutoff=100.0,
    )
    assessment = assess(
        matrix, mix={"A": 0.9, "B": 0.1}, default="a", chosen="from-list", raced=False
    )
    observed = {statement.quantity: statement.observed for statement in assessment.statements}
    assert observed["solved share"] == 1
    assert observed["difference of solved shares"] == 0
