"""What is said of runs is true of these runs: one test for each sentence that was not."""

import json
import math
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import rwriter as r
from commands import Run

from truecost import (
    Assessment,
    CostMatrix,
    VarianceComponents,
    assess,
    bounds,
    compare,
    even,
    import_runs,
    quantiles,
    rates,
    report,
    variance_components,
)
from truecost.errors import InputError, Refusal
from truecost.judge.costs import costs_of
from truecost.judge.families import family_results
from truecost.judge.scope import Scope
from truecost.judge.statements import Statement, pairs_of
from truecost.plan import paired_differences
from truecost.runs import RunPlan, Status, Trajectory
from truecost.show.document import (
    Case,
    Context,
    audited,
    certificate_section,
    compared,
    in_short,
    recommendation,
)
from truecost.show.document.certificate import what_is_shown
from truecost.show.document.context import WORDS, Wording
from truecost.show.document.key_numbers import at_a_glance
from truecost.show.document.next_steps import steps_of
from truecost.show.document.runs import how_noisy, what_was_run
from truecost.show.numbers import number
from truecost.stats import approximate, quantities

NAN = math.nan
DATA = Path(__file__).parent / "data"


def matrix_of(costs: Any, low: float = -math.inf, high: float = math.inf) -> CostMatrix:
    """Configurations c0, c1, … on instances i0, i1, …."""
    costs = np.asarray(costs, dtype=np.float64)
    configurations, instances = (
        [f"{x}{n}" for n in range(costs.shape["ci".index(x)])] for x in "ci"
    )
    return CostMatrix(costs, configurations, instances, low, high)


def no_plan_of(assessment: Assessment) -> str:
    """Why there is no plan for half of the error."""
    plan = assessment.outlook.plan
    assert isinstance(plan, Refusal)
    return plan.reason


def raced(rng: np.random.Generator, growing: bool) -> tuple[CostMatrix, float]:
    """A race of eight on thirty instances, and the true cost of the first.

    Hard instances add to every cost, or multiply it if `growing`.
    """
    hard = rng.gamma(0.7, 3.0, 30)
    noise = rng.gamma(4.0, 0.25, (8, 30, 1))
    costs = hard[:, np.newaxis] * noise if growing else hard[:, np.newaxis] + noise
    for place, length in enumerate((12, 30, 4, 6, 8, 10, 20, 30)):
        costs[place, length:] = NAN
    return matrix_of(costs, 0, 1000), 2.1 if growing else 3.1


# ---- noise -----------------------------------------------------------------------------------


def test_runs_that_differ_are_not_called_equal() -> None:
    """Single runs, whose noise cannot be split, would be said to cost all the same."""
    assessment = assess(matrix_of([[1.0, 5.0, 2.0, 9.0], [2.0, 6.0, 4.0, 9.5]]))
    assert not assessment.noise.constant
    assert "cost the same" not in no_plan_of(assessment)
    assert "second runs" in no_plan_of(assessment)


def test_rounding_is_no_error() -> None:
    """Equal costs would have a standard error of 1e-16."""
    assessment = assess(matrix_of(np.full((2, 7, 3), 0.1 * 3)))
    assert assessment.noise.standard_error == 0
    assert assessment.noise.constant
    assert "cost the same" in no_plan_of(assessment)
    # Equal means of different runs are no equal runs.
    uneven = assess(matrix_of([[[1.0, 3.0], [3.0, 1.0], [0.0, 4.0]]]))
    assert uneven.noise.standard_error == 0
    assert not uneven.noise.constant


def test_repeated_runs_are_not_called_too_few() -> None:
    """Where all instances have two runs and one of them costs more, "only 20" would have two."""
    costs = np.zeros((1, 20, 2))
    costs[0, 7] = 1, 0
    text = how_noisy(Case(assess(matrix_of(costs, 0, 1)), Context())).lead
    assert "almost all of its runs cost the same" in text
    costs[0, 2:, 1] = NAN
    text = how_noisy(Case(assess(matrix_of(costs, 0, 1)), Context())).lead
    assert "only 2 of its instances have two runs" in text


# ---- adjusted costs --------------------------------------------------------------------------


def test_adjusted_costs_have_their_own_standard_error() -> None:
    """A cost adjusted for instance difficulty would carry the standard error of another number."""
    errors, claimed = [], []
    for seed in range(300):
        matrix, truth = raced(np.random.default_rng(seed), growing=False)
        costs = costs_of(matrix)
        assert costs.adjusted
        errors.append(costs.training[0] - truth)
        claimed.append(costs.standard_error[0])
    # A few per cent of Monte-Carlo error; the error of its own twelve instances is 1.5 times this.
    assert np.sqrt(np.mean(np.square(claimed))) == pytest.approx(np.std(errors), rel=0.15)


@pytest.mark.parametrize("seed", range(20))
def test_costs_of_a_search_fit_together(seed: int) -> None:
    """Training cost, selection error and held-out cost would contradict each other, or lie beyond
    what a run can cost.
    """
    matrix, _ = raced(np.random.default_rng(seed), growing=True)
    assessment = assess(matrix)
    seen = assessment.optimism
    means = assessment.costs.means[assessment.costs.mask]
    assert 0 <= seen.held_out_cost <= means.max()
    assert abs(seen.selection_error) <= np.ptp(means)
    assert (assessment.costs.training >= 0).all()


def test_plain_means_stand_beside_adjusted_costs() -> None:
    """Nobody could tell that a training cost is not the mean of the configuration's runs."""
    matrix, _ = raced(np.random.default_rng(1), growing=False)
    costs = costs_of(matrix)
    np.testing.assert_allclose(costs.plain, np.nanmean(matrix.costs[:, :, 0], axis=1))
    assert not np.allclose(costs.plain, costs.training)


# ---- searches that did not get far -----------------------------------------------------------


def irace_log(
    path: Path, completed: str | None, parents: list[int], budget: int | None = None
) -> Path:
    """A log of irace with three configurations on eight instances, which ended so."""
    rng = np.random.default_rng(3)
    rows = [str(number + 1) for number in range(8)]
    pairs = r.listing({"instance": r.integers(range(1, 9)), "seed": r.integers(range(8))})
    state = {".irace": r.environment({"instancesList": pairs})}
    if completed is not None:
        state["completed"] = r.strings([completed])
    content = r.irace_log(
        scenario={
            "instances": r.strings([f"{row}.txt" for row in rows]),
            "maxExperiments": r.integers([r.NA if budget is None else budget]),
        },
        experiments=r.matrix(rng.uniform(1, 9, (8, 3)).tolist(), rows, ["1", "2", "3"]),
        state=r.listing(state),
        allElites=r.listing([r.integers([1])]),
        iterationElites=r.integers([1]),
        allConfigurations=r.listing(
            {
                ".ID.": r.integers([1, 2, 3]),
                "x": r.doubles([1.0, 2.0, 3.0]),
                ".PARENT.": r.integers(parents),
            }
        ),
        experimentLog=None,
        testing=None,
    )
    path.write_bytes(content)
    return path


def test_a_search_that_drew_nothing_from_costs_tuned_nothing(tmp_path: Path) -> None:
    """A search that ended in its first iteration would be refused as tuned on its instances."""
    path = irace_log(tmp_path / "first.Rdata", None, [r.NA, r.NA, r.NA])
    log = import_runs(path, low=0, high=10)
    assert log.trajectory.proposed == "beforehand"
    certificate = assess(log).certificate
    assert certificate is not None
    assert certificate.chosen == "from-list"
    later = import_runs(irace_log(tmp_path / "later.Rdata", None, [r.NA, r.NA, 1]), low=0, high=10)
    assert later.trajectory.proposed == "adaptively"
    assert assess(later).certificate is None


@pytest.mark.parametrize(
    ("completed", "unfinished", "note"),
    [
        ("Incomplete", True, "had not finished"),
        ("Not enough budget left to race more than the minimum configurations.", False, "stopped"),
        ("Budget exhausted", False, None),
    ],
)
def test_how_a_search_ended_is_said(
    completed: str, unfinished: bool, note: str | None, tmp_path: Path
) -> None:
    """A search that was stopped would pass for a finished one."""
    log = import_runs(irace_log(tmp_path / "log.Rdata", completed, [r.NA, 1, 1]))
    assert log.trajectory.unfinished == unfinished
    if note is None:
        assert not any("irace" in text for text in log.notes)
    else:
        assert any(note in text and "irace" in text for text in log.notes)


@pytest.mark.parametrize(("budget", "stopped"), [(25, False), (100, True)])
def test_the_usual_end_of_a_search_is_no_news(budget: int, stopped: bool, tmp_path: Path) -> None:
    """Every search of irace, which ends when its budget is too small for one more race, would be
    said to have stopped before its time.
    """
    reason = "Not enough budget left to race more than the minimum configurations."
    log = import_runs(irace_log(tmp_path / "log.Rdata", reason, [r.NA, 1, 1], budget))
    assert any("irace stopped" in note for note in log.notes) == stopped


# ---- failed runs -----------------------------------------------------------------------------


def failing(path: Path, rows: list[str]) -> Path:
    """A table with these lines."""
    path.write_text("\n".join(["configuration,instance,cost,status", *rows]))
    return path


def test_a_crash_wins_against_nobody(tmp_path: Path) -> None:
    """A configuration that crashes on half of the instances would win on most of them: charged the
    largest cost seen, a crash tied with a solved run of that cost.
    """
    rows = []
    for place in range(10):
        rows += [f"w,{place},{'' if place < 5 else 1},{'crashed' if place < 5 else 'ok'}"]
        rows += [f"d,{place},9,ok"]
    log = import_runs(failing(tmp_path / "runs.csv", rows), default="d")
    assessment = assess(log, configuration="w", chosen="before", raced=False)
    wins = assessment.wins
    assert wins is not None
    assert wins.observed == 0.5
    assert wins.grade == "open"
    # Two crashes tie.
    both = [row.replace(",9,ok", ",,crashed") if row[2] in "01234" else row for row in rows]
    log = import_runs(failing(tmp_path / "both.csv", both), default="d")
    wins = assess(log, configuration="w", chosen="before", raced=False).wins
    assert wins is not None
    assert wins.observed == 0.75


def test_who_only_fails_does_not_win(tmp_path: Path) -> None:
    """A configuration whose only run failed, on an easy instance, would be called the best."""
    rows = [f"{name},{place},{5 + place},ok" for name in "ab" for place in range(4)]
    rows += ["c,hard,100,ok", "d,hard,,crashed", "a,hard,90,ok"]
    log = import_runs(failing(tmp_path / "runs.csv", rows))
    assert assess(log).incumbent != "d"
    alone = import_runs(failing(tmp_path / "one.csv", ["a,i,3,ok", "b,i,,crashed", "c,i,3,ok"]))
    assessment = assess(alone)
    assert assessment.incumbent == "a"
    assert not assessment.costs.ranked[1]


def test_a_stopped_run_may_have_failed() -> None:
    """A run stopped at a cap would win for sure against one that failed, though it might fail too."""
    costs = np.array([[[2.0], [1.0]], [[50.0], [3.0]]])
    statuses = np.array([[[6], [0]], [[1], [0]]])
    matrix = CostMatrix(costs, ["w", "d"], ["i", "j"], 0, 50, statuses=statuses)
    wins = assess(matrix, configuration="w", default="d", chosen="before", raced=False).wins
    assert wins is not None
    assert (wins.observed, wins.possible) == (0.75, 1.0)


def test_no_mean_charges_the_largest_cost_seen(tmp_path: Path) -> None:
    """An interval of the mean would charge crashes the largest cost that happened to be seen."""
    rows = [f"{name},{place},{place + 2},ok" for name in "wd" for place in range(9)]
    rows += ["w,9,,crashed", "d,9,4,ok"]
    path = failing(tmp_path / "runs.csv", rows)
    unknown = assess(
        import_runs(path, default="d"), configuration="w", chosen="before", raced=False
    )
    assert unknown.approximate == ()
    assert unknown.costs.guessed.tolist() == [name == "w" for name in unknown.matrix.configurations]
    log = import_runs(path, default="d", low=0, high=100)
    known = assess(log, configuration="w", chosen="before", raced=False)
    assert not known.costs.guessed.any()
    assert known.comparison is not None
    assert known.comparison.observed == pytest.approx(9.6)


# ---- one instance, two names -----------------------------------------------------------------


def with_test_runs(names: list[str], folder: Path | None = None) -> Assessment:
    """Six training instances `inst/0`, `inst/1`, … and test runs on these."""
    rng = np.random.default_rng(4)
    training = [f"inst/{place}" for place in range(6)]
    first = CostMatrix(rng.uniform(0, 5, (2, 6, 1)), ["w", "d"], training, 0, 10)
    second = CostMatrix(rng.uniform(0, 5, (2, len(names), 1)), ["w", "d"], names, 0, 10)
    if folder is not None:
        for place, name in enumerate(training):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(f"{place}\n")
    return assess(first, test=second, default="d", configuration="w")


def test_a_training_instance_under_another_name_is_not_fresh() -> None:
    """Runs on training instances would pass for test runs, spelt ./inst/0, inst/0 or 0."""
    assessment = with_test_runs(["./inst/0", "1", "/data/inst/2", "other/3", "new", "x/inst/4"])
    assert assessment.fresh is not None
    assert assessment.fresh.instances == ("other/3", "new")
    none = with_test_runs(["./inst/0", "1"])
    assert none.certificate is None
    assert none.no_certificate is not None
    assert "used in training too" in none.no_certificate


def test_files_of_the_same_content_are_one_instance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of a training instance would pass for a fresh one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy").write_text("3\n")
    (tmp_path / "own").write_text("7\n")
    assessment = with_test_runs(["copy", "own", "elsewhere"], tmp_path)
    assert assessment.fresh is not None
    assert assessment.fresh.instances == ("own", "elsewhere")


def test_an_instance_that_is_in_a_log_twice_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """An instance under two names would count as two, and limits miss twice as often; or its runs
    would disappear without a word.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).write_text("the same\n")
    names = ["a", "./a", "b", "c"]
    matrix = CostMatrix(np.arange(8.0).reshape(2, 4, 1), ["w", "d"], names, 0, 10)
    assessment = assess(matrix)
    assert assessment.matrix.instances == ("a", "c")
    assert list(assessment.log.left_out.values()) == [4]
    assert "under another name" in next(iter(assessment.log.left_out))
    matrix.save(tmp_path / "log.npz")
    data = json.loads(run("import", "log.npz", "--json").stdout)
    assert (data["instances"], data["left_out"]) == (2, assessment.log.left_out)
    tested = assess(matrix.select(instances=["c"]), test=matrix.select(instances=["a", "./a"]))
    assert list(tested.log.left_out.values()) == [2]


# ---- in words --------------------------------------------------------------------------------


def words_of(part: Any) -> str:
    """Every text in a document."""
    if isinstance(part, str):
        return part
    if is_dataclass(part) and not isinstance(part, type):
        part = [getattr(part, field.name) for field in fields(part) if field.name != "draw"]
    return " ".join(map(words_of, part)) if isinstance(part, list | tuple) else ""


def said_of(runs: Any, **asked: Any) -> str:
    """What an audit says."""
    return words_of(audited(assess(runs, **asked), Context()))


def test_a_function_without_instances_is_not_told_of_new_instances() -> None:
    """Whoever minimises a deterministic function would be told to expect more on new instances."""
    text = said_of(import_runs(DATA / "smac" / "deterministic"))
    for words in ("expect", "Expect", "new instances", "never saw", "only'", "1 instance"):
        assert words not in text
    assert "25 runs of 25 configurations, without instances" in text


def test_notes_of_an_import_are_never_dropped(run: Run, tmp_path: Path) -> None:
    """What was left out, guessed or charged would appear in some commands and not in others."""
    path = failing(tmp_path / "runs.csv", ["w,1,3,ok", "w,2,,crashed", "d,1,4,ok", "d,2,5,running"])
    for words in (["info"], ["audit", "--quiet"], ["certify"]):
        text = " ".join(run(*words, path).stdout.split())
        assert "1 run left out: not ended." in text, words
        assert "charged 4, the largest cost seen" in text, words
    ended = run("report", path, "--quiet", "--splits", 5, "--out", tmp_path / "page.html")
    assert "1 run left out: not ended." in " ".join(ended.stdout.split())
    page = (tmp_path / "page.html").read_text()
    assert "left out: not ended" in page
    assert "the largest cost seen" in page


def test_weights_that_are_not_used_are_said(tmp_path: Path) -> None:
    """A column of weights would be passed over in silence, as if instances had them."""
    rows = [f"{c},i{k},{0.1 * k},{1 + k % 2}" for c in "ab" for k in range(6)]
    path = tmp_path / "weighted.csv"
    path.write_text("\n".join(["configuration,instance,cost,weight", *rows]) + "\n")
    log = import_runs(path, low=0, high=1)
    assert any("weight weighs instances only if asked to" in note for note in log.notes)


def test_what_was_left_out_is_not_called_absent(tmp_path: Path) -> None:
    """The only configuration that was kept would be called the only one with runs."""
    rows = ["a,1,3,ok", "b,1,4,running", "c,1,,running"]
    text = said_of(import_runs(failing(tmp_path / "runs.csv", rows)))
    assert "only configuration with runs" not in text
    assert "2 runs were left out" in text
    text = said_of(import_runs(failing(tmp_path / "one.csv", rows[:2])))
    assert "the only configuration left: 1 run was left out." in text


def test_a_race_is_not_called_a_product() -> None:
    """A race's header would multiply numbers whose product is not the number of runs."""
    matrix, _ = raced(np.random.default_rng(2), growing=False)
    document = audited(assess(matrix), Context())
    assert document.subtitle == "120 runs of 8 configurations on 30 instances"
    whole = matrix_of(np.ones((2, 3, 4)))
    assert audited(assess(whole), Context()).subtitle == "2 configurations × 3 instances × 4 runs"


def test_the_first_screen_shows_the_corrected_difference() -> None:
    """The winner would be shown as cheaper than the default where it is expected to cost more."""
    assessment = assess("clasp")
    comparison, expected = assessment.comparison, assessment.beside.expected_difference
    assert comparison is not None
    assert expected is not None
    assert comparison.observed < 0 < expected
    default = assessment.default
    assert default is not None
    gap = assessment.optimism.true_cost - assessment.true_cost(default)
    assert expected == pytest.approx(gap)
    fact = next(each for each in audited(assessment, Context()).key if each.term == "difference")
    assert fact.value == expected
    assert "corrected for the choice" in fact.note
    # What was fixed before any cost was seen needs no correction.
    fixed = assess("clasp", configuration=assessment.incumbent, chosen="before")
    assert fixed.beside.expected_difference is None
    assert fixed.optimism.gap == 0
    assert "picked for its low" not in words_of(audited(fixed, Context()))


def test_a_bottleneck_is_named_only_where_resamples_agree() -> None:
    """A few runs would be said to vary by 0 % between instances where half of the variance is."""
    named = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        costs = rng.normal(0, 1, (1, 6, 1)) + rng.normal(0, 1, (1, 6, 2))
        noise = assess(matrix_of(costs)).noise
        # In truth across is twice what the runs add.
        named.append(noise.bottleneck == "runs")
    assert np.mean(named) < 0.1
    many = np.random.default_rng(1).normal(0, 1, (1, 200, 1)) + np.zeros((1, 1, 2))
    clear = assess(matrix_of(many + np.random.default_rng(2).normal(0, 0.1, many.shape))).noise
    assert clear.bottleneck == "instances"
    assert clear.share_low > 0.9


def test_few_instances_make_no_claims_of_per_cent_or_robustness() -> None:
    """Two instances would promise +680 %, and an advantage "survive dropping 4 of 5 instances"."""
    rng = np.random.default_rng(3)
    assert "%)" not in said_of(matrix_of(rng.gamma(0.5, 2, (20, 2, 1)), 0, 100))
    costs = np.stack([np.full((5, 1), 1.0), np.full((5, 1), 9.0)])
    text = said_of(matrix_of(costs, 0, 10), configuration="c0", default="c1", chosen="before")
    assert "survives dropping" not in text


def test_no_mean_is_stated_where_failures_have_no_cost(tmp_path: Path) -> None:
    """A mean that charges crashes the largest cost seen would be stated as the cost."""
    rows = [f"{name},{place},{place + 2},ok" for name in "wd" for place in range(9)]
    rows += ["w,9,,crashed", "d,9,4,ok"]
    log = import_runs(failing(tmp_path / "runs.csv", rows), default="d")
    document = audited(assess(log, configuration="w"), Context())
    text = words_of(document)
    assert "fails in 10 % of its runs" in text
    terms = {fact.term for fact in document.key}
    assert not terms & {"true-cost", "difference"}


def test_adjusted_costs_are_labelled() -> None:
    """A training cost would pass for the mean of the configuration's runs."""
    matrix, _ = raced(np.random.default_rng(1), growing=False)
    assessment = assess(matrix, configuration="c0")
    plain = float(assessment.costs.plain[0])
    text = said_of(matrix, configuration="c0")
    assert f"adjusted for instance difficulty; its own runs average {plain:.3g}" in text


@pytest.mark.parametrize(("sigma", "warned"), [(1.0, False), (3.0, True)])
def test_approximate_intervals_warn_of_costs_that_spread_widely(sigma: float, warned: bool) -> None:
    """An interval called 95 % that holds in 64 % of samples would be shown without a word."""
    rng = np.random.default_rng(5)
    costs = np.exp(sigma * rng.standard_normal((2, 60, 1)))
    text = said_of(matrix_of(costs), configuration="c0", default="c1", chosen="before")
    assert "Approximate, not guaranteed" in text
    assert ("intervals are too short" in text) == warned


def test_forecasts_of_a_list_with_holes_take_complete_configurations() -> None:
    """A forecast would count a missing run as a cost of 0, or end in a traceback."""
    rng = np.random.default_rng(6)
    costs = rng.uniform(1, 9, (6, 20, 1))
    costs[0] -= 1
    costs[2:, 15:] = NAN
    asked: dict[str, Any] = {"configuration": "c0", "default": "c1", "raced": False}
    listed = assess(matrix_of(costs, 0, 10), chosen="from-list", **asked)
    both = assess(matrix_of(costs[:2], 0, 10), chosen="from-list", **asked)
    assert listed.outlook.reach
    for one, two in zip(listed.outlook.reach, both.outlook.reach, strict=True):
        assert one.forecast.observed == pytest.approx(two.forecast.observed, abs=0.05)


# ---- who is meant, and where -----------------------------------------------------------------

LIST: dict[str, Any] = {"default": "c0", "chosen": "from-list"}
BEFORE: dict[str, Any] = {"default": "c0", "chosen": "before"}


def lognormal(*shape: int, seed: int = 3) -> Any:
    """Costs without any difference between configurations or instances."""
    return np.random.default_rng(seed).lognormal(0.0, 1.0, shape)


def test_a_default_among_equals_is_not_called_the_best() -> None:
    """Configurations that all cost the same would be called worse than the default."""
    text = said_of(matrix_of(np.full((4, 10, 2), 2.5)), default="c0")
    assert "is still the best" not in text
    assert "None of the 4 configurations has a lower training cost than the default" in text
    assert "the default and the default" not in text.lower()


def test_a_default_alone_has_no_rivals() -> None:
    """One configuration would be called the winner over others that were never run."""
    text = said_of(matrix_of(lognormal(1, 20, 2)), default="c0")
    assert "Only the default has runs" in text
    assert "tuned on" not in said_of(matrix_of(lognormal(1, 20, 2)), default="c0", chosen="before")


def test_nobody_tunes_the_default() -> None:
    """A default that happens to win would be suspected of being tuned on these instances."""
    costs = lognormal(4, 20, 1)
    costs[0] *= 0.9 * costs.mean(axis=1).min() / costs[0].mean()
    text = said_of(matrix_of(costs), default="c0")
    assert "it was tuned" not in text


def test_wins_with_ties_are_no_majority_of_instances() -> None:
    """11 wins, 13 ties and no loss would be called better on most instances."""
    costs = np.zeros((2, 24, 1))
    costs[0, :11] = 1.0
    text = said_of(matrix_of(costs), configuration="c1", default="c0", chosen="before")
    assert "most instances" not in text
    assert "Wins more often than the default" in text
    assert "on 11 of 24 training instances" in text


def test_a_majority_just_above_half_is_not_rounded_to_half() -> None:
    """A verdict of better would say that at least 50 % of the runs are won."""
    costs = np.zeros((2, 1000, 1))
    for wins in range(520, 560):
        costs[0], costs[1] = 0.0, 1.0
        costs[0, :wins], costs[1, :wins] = 1.0, 0.0
        assessment = assess(matrix_of(costs), configuration="c1", primary="wins", **BEFORE)
        assert assessment.wins is not None
        if (limit := assessment.wins.limit) > 0.5:
            break
    assert limit < 0.51
    assert "wins more than 50 % of the runs" in words_of(audited(assessment, Context()))


def test_a_condition_does_not_turn_into_undecided() -> None:
    """The table would call a line undecided that the headline calls better under a condition."""
    costs = lognormal(2, 40, 1)
    costs[1] = 0.3 * costs[0]
    document = audited(assess(matrix_of(costs), default="c0"), Context())
    assert document.badge == "Wins more often than the default, if not tuned on these"
    assert document.tone == "open"
    text = words_of(document)
    assert "better, if so" in text
    assert "If these configurations were not tuned on these instances, the winner (c1)" in text


def test_a_condition_promises_nothing_that_is_undecided() -> None:
    """The badge would say "only if not tuned on these" of what is not shown either way."""
    document = audited(assess(matrix_of(lognormal(3, 12, 1)), default="c0"), Context())
    assert document.badge == "Not shown to win more often"


def test_the_part_that_chooses_is_explained() -> None:
    """A table about another configuration than the winner would not say why."""
    for seed in range(40):
        matrix = matrix_of(lognormal(30, 12, 1, seed=seed))
        assessment = assess(matrix, default="c0")
        if assessment.statements[0].configuration not in (assessment.incumbent, "c0"):
            break
    name = assessment.statements[0].configuration
    text = words_of(in_short(assessment, Context()))
    assert f"Configuration {name} is the best on the random fifth of the instances" in text
    assert "10 training instances not used to choose" in words_of(audited(assessment, Context()))


def test_capped_runs_are_the_reason_not_a_race() -> None:
    """Configurations with runs on all instances would be said to have them on different ones."""
    costs = 10 * lognormal(3, 20, 1)
    statuses = np.full(costs.shape, Status.SOLVED, dtype=np.int8)
    statuses[:, ::5] = Status.CENSORED
    matrix = matrix_of(costs).replace(statuses=statuses)
    text = said_of(matrix, default="c0")
    assert "runs were stopped at a cap" in text
    assert "as in a race" not in text
    training = assess(matrix, default="c0").optimism
    low = next(f for f in audited(assess(matrix, default="c0"), Context()).key)
    assert " to " in low.text
    if math.isfinite(training.true_cost):
        assert "cost on new instances" in text


def test_what_the_range_would_certify_is_not_asked_of_new_instances() -> None:
    """Runs that only lack the metric's range would be called useless for a certificate."""
    steps = steps_of(Case(assess(matrix_of(lognormal(3, 20, 1)), **LIST), Context()))
    assert steps[0].startswith("Give the metric's possible range")


def test_all_runs_failing_is_no_reason_for_harder_instances() -> None:
    """Harder instances would be advised where no run is solved."""
    costs = np.full((3, 6, 1), 10.0)
    statuses = np.full(costs.shape, Status.TIMEOUT, dtype=np.int8)
    text = said_of(matrix_of(costs, 0, 10).replace(statuses=statuses), **LIST)
    assert "Use easier instances" in text
    assert "harder" not in text


def test_forecasts_take_more_than_a_few_pairs() -> None:
    """Two instances would promise that five new ones show a majority with > 99 %."""
    costs = lognormal(2, 3, 1)
    costs[1] = 0.5 * costs[0]
    outlook = assess(matrix_of(costs, 0, 100), configuration="c1", **LIST).outlook
    assert outlook.reach == ()
    assert outlook.apart is None


def test_needed_wins_do_not_shrink_with_a_small_pilot() -> None:
    """Five instances, all won, would say that 41 instances show a true share of 55 %."""
    costs = lognormal(3, 5, 1)
    costs[1] = 0.1 * costs[0]
    log = Trajectory(tool="irace 4", proposed="adaptively", default="c0", incumbent="c1")
    matrix = matrix_of(costs)
    outlook = assess(matrix, trajectory=log).outlook
    assert [needed.effect for needed in outlook.assumed] == [0.55, 0.6, 0.7]
    # A sign test at 5 % with 80 % power takes about 617, 154 and 37.
    for needed, least in zip(outlook.assumed, (450, 110, 28), strict=True):
        assert needed.instances is not None
        assert needed.instances > least


def test_the_primary_criterion_is_planned_for_first() -> None:
    """The next step would be about wins where the verdict is about means."""
    rng = np.random.default_rng(2)
    costs = rng.uniform(1, 9, (2, 30, 1))
    costs[1] -= 0.8
    asked: dict[str, Any] = {"configuration": "c1", **BEFORE}
    reach = assess(matrix_of(costs, 0, 10), **asked).outlook.reach
    assert [item.what for item in reach] == ["mean", "wins"]
    reach = assess(matrix_of(costs, 0, 10), primary="wins", **asked).outlook.reach
    assert [item.what for item in reach] == ["wins", "mean"]


@pytest.mark.parametrize("gain", [0.9, 5.0])
def test_a_recommendation_says_how_sure_it_is(gain: float) -> None:
    """A search would recommend what is not shown to be better without the default beside it."""
    rng = np.random.default_rng(1)
    test = rng.uniform(5.5, 9, (2, 20, 1))
    test[1] -= gain
    log = Trajectory(tool="truecost", proposed="adaptively", default="c0", incumbent="c1")
    fresh = matrix_of(test, 0, 10).replace(instances=[f"t{k}" for k in range(20)])
    trained = matrix_of(rng.uniform(1, 9, (2, 10, 1)), 0, 10)
    assessment = assess(trained, test=fresh, trajectory=log)
    context = Context(writer=lambda name, options: f"{name} {dict(options)}")
    section = recommendation(Case(assessment, context), "c1", 0.5, scenario="s.toml")
    assert assessment.better == (gain > 1)
    assert ("not shown to be better than the default (c0)" in section.lead) == (gain < 1)
    assert bool(section.blocks) == (gain < 1)
    assert section.lead.startswith("Use the winner (c1).") == (gain > 1)
    if gain < 1:
        # One instruction, not to use it and that the default is the safe choice.
        assert "validate it before you use it" in section.lead
        means = test.mean(axis=(1, 2))
        costs = f"the winner (c1) costs {means[1]:.3g} and the default (c0) {means[0]:.3g}"
        assert costs in section.lead
        needed = assessment.outlook.reach[0].forecast.instances
        assert needed is not None
        assert f"about {needed:,} new instances: {2 * needed:,} runs" in section.lead
        assert f"'budget': '{2 * needed}runs', 'scenario': 's.toml'" in words_of(section)


def test_a_limit_at_the_value_of_equals_shows_nothing() -> None:
    """A configuration that may be exactly as good as the default would be called better or worse."""
    costs = np.random.default_rng(2).uniform(1, 9, (2, 20, 1))
    stated = assess(matrix_of(costs, 0, 10), configuration="c1", **BEFORE).paired
    for name in ("wins", "difference"):
        statement = stated[name]
        assert isinstance(statement, Statement)
        assert statement.even is not None
        below, above = statement.even - 0.1, statement.even + 0.1
        better, worse = (above, below) if statement.side == "lower" else (below, above)
        for limit, opposite, grade in (
            (statement.even, better, "open"),
            (worse, statement.even, "open"),
            (better, better, "better"),
            (worse, worse, "worse"),
        ):
            changed = replace(statement, limit=limit, opposite=opposite)
            assert changed.grade == changed.grade_if_met == grade
            unsure = replace(changed, condition="nobody peeked")
            assert (unsure.grade, unsure.grade_if_met) == ("open", grade)


# ---- sampling units --------------------------------------------------------------------------


def test_seeds_of_one_instance_are_called_seeds() -> None:
    """Ten runs on one instance would be called ten instances of one family."""
    text = said_of(matrix_of(lognormal(4, 1, 12)), configuration="c1", **LIST)
    assert "12 training seeds" in text
    assert "12 instances" not in text
    assert "Family by family" not in text
    assert "12 runs on 1 instance" in text


def test_families_are_called_families() -> None:
    """Twelve families of five instances would be called twelve instances."""
    costs = lognormal(3, 60, 1)
    matrix = matrix_of(costs, 0, 100).replace(families=[f"f{i // 5}" for i in range(60)])
    assessment = assess(matrix, configuration="c1", sampled="family", **LIST)
    document = audited(assessment, Context())
    assert document.subtitle == "3 configurations × 60 instances of 12 families × 1 run"
    text = words_of(document)
    assert "12 training families" in text
    assert "12 instances" not in text
    # A paired t interval over instances is no interval for new families.
    assert assessment.approximate == ()


def test_new_seeds_are_not_judged_by_halves_of_the_instances() -> None:
    """A benchmark would be promised the selection error of new instances for new seeds."""
    assessment = assess(matrix_of(lognormal(8, 20, 2), 0, 100), about="these", **LIST)
    text = words_of(audited(assessment, Context()))
    assert math.isnan(assessment.optimism.true_cost)
    assert "cost on held-out halves" not in text
    assert "Add instances" not in text
    assert assessment.beside.width is None
    # All of it was run: nothing is left to be realised.
    assert assessment.beside.realised == ()
    asked = {"about": "these", "population": 40, **LIST}
    assert assess(matrix_of(lognormal(8, 20, 2), 0, 100), **asked).beside.realised


def test_folds_are_not_promised_a_certificate() -> None:
    """New folds of the same data would be said to certify what folds cannot."""
    matrix = matrix_of(lognormal(3, 10, 1), 0, 100)
    folds = matrix.replace(instances=[f"cv/fold{k}" for k in range(10)])
    document = audited(assess(folds, default="c0"), Context())
    text = words_of(document)
    assert document.subtitle == "3 configurations × 10 folds × 1 run"
    assert "can certify" not in text
    assert "with new seeds" not in text
    assert "Use results on other data sets" in text


def test_plain_means_do_not_pass_for_those_of_a_mix() -> None:
    """The cost in the sampled proportions would be announced for another mix of the families."""
    matrix = matrix_of(lognormal(3, 40, 1), 0, 100).replace(families=["A"] * 20 + ["B"] * 20)
    assessment = assess(matrix, mix={"A": 0.9, "B": 0.1}, **LIST)
    document = audited(assessment, Context())
    assert math.isnan(assessment.optimism.true_cost)
    assert "all instances weighted equally" in document.key[0].note
    assert "expect about" not in words_of(document)


@pytest.mark.parametrize(
    ("asked", "phrase"),
    [
        ({}, "on new instances like these"),
        (
            {"sampled": "family"},
            "on instances from new families, each family counted equally",
        ),
        ({"about": "these"}, "on this benchmark of 40 instances, with new seeds"),
        ({"mix": {"A": 0.7, "B": 0.3}}, "on these families, if 70 % are A and 30 % are B"),
        ({"sampled": "seed"}, "on these 40 instances, with new seeds"),
    ],
)
def test_the_verdict_states_its_scope(asked: dict[str, Any], phrase: str) -> None:
    """A reader would have to guess for which instances the verdict holds."""
    matrix = matrix_of(lognormal(3, 40, 2), 0, 100).replace(families=["A"] * 20 + ["B"] * 20)
    document = audited(assess(matrix, configuration="c1", **LIST, **asked), Context())
    assert phrase in document.verdict


@pytest.mark.parametrize(("sampled", "about"), [("seed", "new"), ("fold", "new")])
def test_scopes_without_a_meaning_are_refused(sampled: Any, about: Any) -> None:
    """A combination that no method covers would be answered."""
    with pytest.raises(InputError, match="`sampled` and `about`"):
        assess(matrix_of(lognormal(3, 10, 2), 0, 100), sampled=sampled, about=about, **LIST)


# ---- scores ----------------------------------------------------------------------------------


def scored(path: Path, maximise: bool = True, **options: Any) -> Any:
    """A table of accuracies between 0 and 1, in which later configurations are better."""
    rng = np.random.default_rng(4)
    rows = ["configuration,instance,accuracy"]
    for place in range(4):
        scores = np.clip(rng.normal(0.6 + 0.05 * place, 0.05, 30), 0, 1)
        rows += [f"c{place},i{k},{score:.4f}" for k, score in enumerate(scores)]
    path.write_text("\n".join(rows) + "\n")
    return import_runs(path, maximise=maximise, default="c0", **options)


def test_scores_are_shown_as_scores(tmp_path: Path) -> None:
    """An accuracy of 0.75 would be reported as a cost of −0.75, at most."""
    log = scored(tmp_path / "runs.csv", low=0, high=1)
    assessment = assess(log, chosen="from-list")
    document = audited(assessment, Context())
    text = words_of(document)
    assert "scores 0.7" in document.more
    assert "at least" in text
    assert "mean score" in text
    for wrong in (" costs 0", "mean cost", "training cost", "median cost", "solved", "−0.7"):
        assert wrong not in text
    # Every number in JSON is a cost, which is minus the score.
    plain = assessment.to_dict("certificate")
    assert plain["runs"]["maximised"] is True
    assert -1 <= plain["certificate"]["limit"] <= 0
    assert plain["incumbent"]["training_cost"] < 0


def test_captions_of_scores_point_the_right_way(tmp_path: Path) -> None:
    """A caption would call the lower of two curves of scores the better one, and look for optimism
    on the wrong side of the diagonal.
    """
    for maximise, better, side in ((True, "higher", "Below"), (False, "lower", "Above")):
        log = scored(tmp_path / "runs.csv", maximise=maximise, low=0, high=1)
        figures = report(log, chosen="from-list", configuration="c3").figures
        assert f"{better} and longer is better" in figures["cactus"].notes[0]
        assert f"{side} the diagonal, the training" in figures["split"].notes[0]


def test_a_lower_limit_of_a_score_is_rounded_down(tmp_path: Path) -> None:
    """A guaranteed score would be rounded up, beyond what is guaranteed."""
    assessment = assess(scored(tmp_path / "runs.csv", low=0, high=1), chosen="from-list")
    assert assessment.certificate is not None
    lead = certificate_section(Case(assessment, Context())).lead
    shown = float(lead.rstrip(".").rpartition(" ")[2])
    assert shown <= -assessment.certificate.upper < shown + 0.001


def test_scores_stay_scores_in_a_file(tmp_path: Path) -> None:
    """Scores that were saved as a matrix would come back as negative costs."""
    log = scored(tmp_path / "runs.csv")
    log.matrix.save(tmp_path / "runs.npz", trajectory=log.trajectory)
    assert import_runs(tmp_path / "runs.npz").trajectory.maximised


def test_compared_scores_stay_scores(tmp_path: Path) -> None:
    """Two versions with accuracies would be compared by negative costs."""
    log = scored(tmp_path / "runs.csv", low=0, high=1)
    assessment = compare(log, log, names=("c0", "c3"))
    document = compared(assessment, Context())
    assert assessment.better
    assert "the mean score of c3 on new instances like these is at least" in document.verdict
    assert "above that of c0" in document.verdict
    assert "−0." not in words_of(document)


def test_a_new_statement_takes_a_quantity_and_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new statement would need changes in judge, in tables or in JSON besides its two files."""
    quarter = quantities.quantile(0.25, "quarter")
    monkeypatch.setattr(quantities, "ALONE", (*quantities.ALONE, quarter))
    monkeypatch.setitem(WORDS, "quarter", Wording("lower quartile of cost"))
    assessment = assess(matrix_of(lognormal(2, 40, 1), 0, 100), configuration="c1", **BEFORE)
    text = words_of(audited(assessment, Context()))
    assert "lower quartile of cost" in text
    stated = {line["quantity"]: line for line in assessment.to_dict("statements")["statements"]}
    assert stated["quarter"]["limit"] < stated["median"]["limit"]
    assert "quarter" in assessment.to_frame()["quantity"].to_list()


def test_one_look_at_capped_runs_takes_a_limit_that_no_cap_can_bend() -> None:
    """Bets would be placed on runs whose caps later runs may have set, in one look at all."""
    costs = np.random.default_rng(8).uniform(1, 9, (2, 30, 1))
    statuses = np.full(costs.shape, Status.SOLVED, dtype=np.int8)
    statuses[:, ::6] = Status.CENSORED
    matrix = matrix_of(costs, 0, 10).replace(statuses=statuses)
    for raced_, method in ((False, "hoeffding"), (True, "betting, at all times")):
        assessment = assess(matrix, configuration="c1", raced=raced_, **BEFORE)
        assert assessment.certificate is not None
        assert assessment.certificate.method == method
        assert assessment.comparison is not None
        assert assessment.comparison.method == method


def test_a_page_about_capped_runs_of_all_on_all_is_written(tmp_path: Path) -> None:
    """A table without holes whose runs were capped would have no report at all."""
    costs = 10 * lognormal(3, 12, 1)
    statuses = np.full(costs.shape, Status.SOLVED, dtype=np.int8)
    statuses[:, ::4] = Status.CENSORED
    matrix = matrix_of(costs).replace(statuses=statuses)
    page = report(matrix, tmp_path / "page.html", default="c0")
    assert "split" not in page.figures
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_a_list_shares_delta_among_what_is_claimed() -> None:
    """Limits for m configurations, or m − 1 comparisons, would have more of δ than their part."""
    assessment = assess(matrix_of(lognormal(4, 30, 1), 0, 100), configuration="c1", **LIST)
    shares = {statement.quantity: statement.share for statement in assessment.statements}
    assert shares["mean"] == pytest.approx(1 / 4)
    assert shares["difference"] == shares["wins"] == pytest.approx(1 / 3)


def test_observed_values_of_a_part_say_so() -> None:
    """The table would show another mean than the verdict, of the instances that did not choose,
    without a word.
    """
    costs = np.random.default_rng(5).uniform(size=(4, 40, 1))
    costs[0] *= 0.2
    matrix = CostMatrix(costs, list("abcd"), [f"i{j}" for j in range(40)], 0, 1)
    part = what_is_shown(Case(assess(matrix, chosen="on-part"), Context()))
    whole = what_is_shown(Case(assess(matrix, chosen="from-list"), Context()))
    assert part is not None
    assert whole is not None
    assert "Observed on the 32 instances not used to choose." in part.lead
    assert "Observed on" not in whole.lead


def test_a_default_costs_the_same_in_sentence_and_figure() -> None:
    """The headline would state another training cost of the default than the figure below it."""
    log = import_runs(Path(__file__).parent / "data" / "irace" / "tested.Rdata")
    page = audited(assess(log, default="1"), Context())
    assert page.picture is not None
    row = page.picture.data.filter(row="default")
    assert f"in training, the default (1) costs {row['shown'][0]}" in page.verdict


def test_hashes_are_no_names(run: Run, tmp_path: Path) -> None:
    """A reader would meet ten hexadecimal digits where the winner and the default are meant."""
    words = {
        (
            "report",
            "kissat",
            "-o",
            str(tmp_path / "page.html"),
        ): "between the winner and the default lies",
        ("certify", "kissat"): "mean cost of the winner on new instances",
        ("plan", "kissat", "--show", "wins"): "the winner",
        ("compare", "kissat:default", "kissat:0fa88eb8a1"): "mean cost of 0fa88eb8a1 on new",
    }
    for command, expected in words.items():
        text = " ".join(run(*command).stdout.split())
        assert expected in text, text
        assert ("0fa88eb8a1" in text) == ("0fa88eb8a1" in command[-1]), text


def tuned(folder: Path, costs: Any, names: list[str] | None = None) -> Path:
    """A log of irace with these costs, configurations × instances, of which the best won."""
    numbers, places = (range(1, 1 + size) for size in np.shape(costs))
    rows = list(map(str, places))
    pairs = {"instance": r.integers(places), "seed": r.integers(places)}
    state = {".irace": r.environment({"instancesList": r.listing(pairs)})}
    best = r.integers([1 + int(np.mean(costs, axis=1).argmin())])
    content = r.irace_log(
        scenario={"instances": r.strings(names or [f"{row}.txt" for row in rows])},
        experiments=r.matrix(np.transpose(costs).tolist(), rows, list(map(str, numbers))),
        state=r.listing(state),
        allElites=r.listing([best]),
        iterationElites=best,
        allConfigurations=r.listing(
            {
                ".ID.": r.integers(numbers),
                "x": r.doubles([float(number) for number in numbers]),
                ".PARENT.": r.integers([r.NA, *[1] * (len(numbers) - 1)]),
            }
        ),
        experimentLog=None,
        testing=None,
    )
    path = folder / "irace.Rdata"
    path.write_bytes(content)
    return path


def test_uneven_runs_are_not_called_a_race() -> None:
    """Holes in a table would be called a race, and only new instances be offered as a remedy."""
    costs = lognormal(4, 30, 1)
    costs[np.random.default_rng(2).random(costs.shape) < 0.3] = NAN
    matrix = matrix_of(costs, 0, 100)
    for asked in (LIST, {"default": "c0"}):
        text = said_of(matrix, **asked)
        assert "the number of runs may depend on costs, as in a race" in text
        assert "in a race the instances" not in text
        advice = steps_of(Case(assess(matrix, **asked), Context()))[0]
        assert advice.startswith("If the number of runs did not depend on costs, say so (`raced=")
        # The advice works.
        assert assess(matrix, **asked, raced=False).statements
    assert "in a race the instances" in said_of(matrix, **LIST, raced=True)


def test_less_than_one_per_cent_is_not_zero(tmp_path: Path) -> None:
    """A cost that is expected to rise would be said to rise by "about 0 %"."""
    rng = np.random.default_rng(1)
    costs = 100 + rng.normal(0, 0.3, (6, 12))
    assessment = assess(import_runs(tuned(tmp_path, costs)))
    assert 0 < assessment.optimism.selection_error < 0.5
    text = words_of(audited(assessment, Context()))
    assert "suggests less than 1 % more" in text
    assert "about 0 %" not in text


def test_lines_to_copy_say_what_to_put_in(tmp_path: Path, run: Run) -> None:
    """A command about test.txt would ask to replace test/*, which does not stand in it."""
    names = [f"p{i} --size {i}" for i in range(12)]
    path = tuned(tmp_path, lognormal(3, 12), names)
    text = " ".join(run("audit", path, "--splits", 20).stdout.split())
    assert "(test.txt lists yours, one per line" in text
    assert "test/*" not in text


def test_ranges_are_explained_where_there_are_some(run: Run, tmp_path: Path) -> None:
    """A table without a range would end with what a range means."""
    costs = np.tile(np.arange(1.0, 9.0), (3, 1))[..., np.newaxis]
    statuses = np.full(costs.shape, Status.SOLVED, dtype=np.int8)
    statuses[2, 0] = Status.CENSORED
    matrix_of(costs + np.arange(3)[:, np.newaxis, np.newaxis], 0, 100).replace(
        statuses=statuses
    ).save(tmp_path / "runs.npz")
    few, all_rows = (run("info", tmp_path / "runs.npz", "--top", top).stdout for top in (2, 3))
    assert "A range of a training cost" not in few
    assert "A range of a training cost" in all_rows


def test_unknown_numbers_have_no_unit(tmp_path: Path, run: Run) -> None:
    """A number that is not known would be shown as "– s"."""
    path = tmp_path / "runs.csv"
    rows = [f"c{c},i{i},{1 + i * (3 - c)}" for c in range(3) for i in range(12)]
    path.write_text("\n".join(["configuration,instance,runtime", *rows, ""]))
    printed = run("audit", path, "--cutoff", 50, "--all", "--default", "c0").stdout
    assert "PAR10 s" in printed
    assert "– PAR10" not in printed


def test_the_default_is_not_forecast_against_itself(tmp_path: Path, run: Run) -> None:
    """Where the default has the lowest cost, a plan would complain of a name given twice."""
    matrix_of(np.full((3, 9, 1), 2.0), 0, 10).save(tmp_path / "runs.npz")
    ended = run("plan", tmp_path / "runs.npz", "--show", "mean", "--default", "c0")
    assert ended.returncode == 2
    assert "none of these costs less than the default" in ended.stderr


def test_a_tag_says_by_which_criterion_it_is_better(run: Run) -> None:
    """A configuration that only wins more often would be called better beside a verdict that calls
    its mean undecided.
    """
    text = run("info", "kissat").stdout
    assert "shown to win more often" in " ".join(text.split())
    assert "shown better" not in " ".join(text.split())


def test_a_ratio_that_is_the_same_everywhere_has_an_interval() -> None:
    """Rounding would turn a perfectly known ratio into "every ratio is possible"."""
    rng = np.random.default_rng(0)
    for factor in rng.uniform(0.3, 3, 20):
        times = rng.lognormal(size=30)
        interval = approximate.mean_ratio(times, factor * times)
        assert not interval.reason
        assert (interval.lower, interval.upper) == pytest.approx((factor, factor), rel=1e-6)


def test_a_limit_never_leaves_the_range_by_rounding() -> None:
    """0.3 + (0.9 − 0.3) is above 0.9: an audit of costs at `high` would end in an error."""
    costs = matrix_of(np.full((2, 20, 2), 0.9), 0.3, 0.9)
    assessment = assess(costs, chosen="from-list", default="c0")
    assert assessment.certificate is not None
    assert assessment.certificate.estimate == assessment.certificate.upper == 0.9
    width = assessment.beside.width
    assert width is not None
    assert width.total == 0


def test_a_score_can_be_some_percent_better() -> None:
    """A score 5 % better would be taken for a worse one, which no number of instances shows."""
    rng = np.random.default_rng(1)
    scores = -rng.uniform(0.5, 1, (1, 40, 1)) - rng.uniform(-0.01, 0.011, (2, 40, 1))
    trajectory = Trajectory(
        tool="x", proposed="adaptively", default="c0", incumbent="c1", maximised=True
    )
    needed = assess(matrix_of(scores, -2, 0), trajectory=trajectory).outlook.assumed
    sizes = [effect.instances or math.inf for effect in needed]
    assert len(sizes) == 3
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) < math.inf


def test_one_repeated_run_does_not_say_what_repeats_buy() -> None:
    """With one second run in all, twice the runs would be promised to change nothing."""
    costs = np.random.default_rng(2).random((2, 20, 2))
    costs[:, 1:, 1] = NAN
    noise = assess(matrix_of(costs, 0, 1)).noise
    assert math.isnan(noise.across)
    assert not math.isnan(noise.standard_error)
    assert math.isnan(noise.same_instances_again)


def test_a_weighted_list_of_one_is_judged() -> None:
    """A list whose only configuration is the default would divide by nothing."""
    assessment = assess(
        matrix_of(np.random.default_rng(3).random((1, 20, 1)), 0, 1),
        chosen="weighted-list",
        default="c0",
    )
    assert assessment.certificate is not None
    assert assessment.beside.family_results == ()


def test_families_of_runs_that_were_stopped_take_no_bets() -> None:
    """A cap set by another instance would break bets in any order, family by family."""
    rng = np.random.default_rng(4)
    statuses = np.where(rng.random((2, 60, 1)) < 0.3, Status.CENSORED, Status.SOLVED)
    runs = CostMatrix(
        rng.random((2, 60, 1)),
        ["a", "b"],
        [f"i{place}" for place in range(60)],
        0,
        1,
        statuses=statuses.astype(np.int8),
        families=["f"] * 60,
    )
    (result,) = family_results(runs, "a", "b", delta=0.1, rng=rng)
    # Hoeffding's limits, for differences in [−1, 1].
    pairs = pairs_of(runs, Scope(), "a", "b")
    margin = 2 * math.sqrt(math.log(1 / 0.05) / (2 * 60))
    assert result.upper == pytest.approx(pairs.upper.mean() + margin)
    assert result.lower == pytest.approx(pairs.lower.mean() - margin)


def test_an_extended_plan_has_no_families_in_one_look() -> None:
    """Families would be judged at full δ at every extension of a plan."""
    costs = matrix_of(np.random.default_rng(5).random((2, 40, 1)), 0, 1)
    runs = costs.replace(families=["f", "g"] * 20)
    for plans, shown in (((40,), 2), ((20, 40), 0)):
        trajectory = Trajectory(
            tool="truecost gather",
            proposed="beforehand",
            raced=False,
            default="c0",
            incumbent="c1",
            plans=tuple(RunPlan(2, size, 1) for size in plans),
        )
        results = assess(runs, trajectory=trajectory).beside.family_results
        assert len(results) == shown


def test_two_saved_logs_keep_the_number_that_draws_their_order(tmp_path: Path) -> None:
    """Sorted zeros and ones of two logs would come in an order that hardly any chance decides."""
    for name, seed in (("old", 7), ("new", None)):
        costs = CostMatrix([[0.0] * 10 + [1.0] * 10], [name], [f"i{n}" for n in range(20)], 0, 1)
        costs.save(tmp_path / f"{name}.npz", trajectory=Trajectory(tool="x", order_seed=seed))
    both = compare(tmp_path / "old.npz", tmp_path / "new.npz")
    assert both.trajectory.order_seed == 7


def test_weights_of_zero_leave_nothing_to_judge_by() -> None:
    """An estimate of NaN would be certified where the part that judges has no weight."""
    costs = matrix_of(np.random.default_rng(0).random((3, 10, 1)), 0, 1)
    weights = dict.fromkeys(costs.instances, 0.0)
    reasons = set()
    for name in costs.instances:
        only = assess(costs, weights=weights | {name: 10.0}, about="new", chosen="on-part")
        estimate = 0.0 if only.certificate is None else only.certificate.estimate
        assert math.isfinite(estimate)
        reasons.add(only.no_certificate)
    assert reasons == {None, "all instances that may be used have the weight 0"}


def test_weights_below_zero_are_not_said_to_miss_their_sum() -> None:
    """1.5 − 0.5 would be refused as a sum that is not 1."""
    costs = matrix_of(np.random.default_rng(0).random((2, 10, 1)), 0, 1)
    families = costs.replace(families=["A", "B"] * 5)
    for mix in ({"A": 1.5, "B": -0.5}, {"A": (0.8, 0.5), "B": (0.2, 0.5)}):
        with pytest.raises(InputError, match="got one below 0, or a range that ends below its"):
            assess(families, mix=mix)


def test_a_list_by_families_names_whom_families_show() -> None:
    """A configuration would be left out that is worse on a large family, and better on all."""
    better, large = np.full(20, -0.4), np.full(300, 0.04)
    costs = np.stack([np.full(320, 0.5), 0.5 + np.concatenate([better, large])])
    runs = matrix_of(costs, 0, 1)
    labels = [*(f"f{n}" for n in range(20)), *["large"] * 300]
    listed = assess(
        runs.replace(families=labels), sampled="family", chosen="from-list", default="c0"
    )
    assert set(listed.beside.shown_better["difference"]) == {"c1"}


def test_a_t_test_is_planned_by_the_runs_that_compare() -> None:
    """The spread of differences would come from training runs, where the default may have none."""
    rng = np.random.default_rng(6)
    costs = rng.random((2, 30, 2))
    costs[0] = NAN
    training = matrix_of(costs, 0, 1)
    test = matrix_of(rng.random((2, 30, 2)), 0, 1)
    test = test.replace(instances=[f"new{n}" for n in range(30)])
    apart = assess(training, test=test, default="c0", configuration="c1").outlook.apart
    assert apart is not None
    components = variance_components(paired_differences(test, "c1", "c0"))
    assert apart.sd == pytest.approx(math.sqrt((components.within + components.across).item()))


def test_huge_costs_have_errors_of_their_variances() -> None:
    """Squares of squares would overflow, with a warning and infinite errors."""
    costs = np.random.default_rng(8).random((1, 20, 2))
    one, huge = (variance_components(matrix_of(factor * costs)) for factor in (1.0, 1e149))
    assert huge.across_error[0] == pytest.approx(1e298 * one.across_error[0])
    assert huge.within_error[0] == pytest.approx(1e298 * one.within_error[0])


def test_no_runs_are_said_to_be_none() -> None:
    """An empty list would end in an error of NumPy's."""
    for limit in (rates.solved, partial(quantiles.quantile, share=0.5)):
        with pytest.raises(InputError, match="at least one run, got none"):
            limit([])


def test_a_tiny_delta_has_a_finite_interval() -> None:
    """1 − delta/2 would be 1, and the interval infinite, or NaN where all costs are equal."""
    first, second = np.random.default_rng(9).random((2, 30))
    wide = approximate.mean_difference(first, second, 1e-20)
    assert wide.upper - wide.lower < math.inf
    equal = approximate.mean_difference(np.ones(30), np.zeros(30), 1e-300)
    assert (equal.lower, equal.upper) == (1, 1)


def test_a_very_wide_range_has_a_bound() -> None:
    """Lemma 4 would overflow, with a warning and an infinite bound."""
    known = VarianceComponents.known(within=1, across=1)
    sizes = even(10, 5)
    narrow, wide = (
        bounds.single(allocation=sizes, components=known, width=width, delta=0.05, form="bernstein")
        for width in (1e100, 1e300)
    )
    assert wide.epsilon == pytest.approx(1e200 * narrow.epsilon)


def test_a_missing_run_does_not_make_two_training_costs() -> None:
    """The mean of its runs would stand beside an expected cost that starts from the adjusted one,
    which is not on the screen.
    """
    costs = lognormal(3, 30, 1)
    costs[0] /= 2
    costs[0, 3] = np.nan
    assessment = assess(matrix_of(costs), default="c1")
    text = words_of(in_short(assessment, Context()))
    assert "Not yet testable" in text
    assert "adjusted for instance difficulty; its own runs average" in text


def test_one_configuration_is_judged_by_all_instances() -> None:
    """A fifth of the instances would be set aside to choose from one configuration."""
    assessment = assess(matrix_of(lognormal(1, 12, 1), 0, 100))
    assert {statement.instances for statement in assessment.statements} == {12}
    text = words_of(audited(assessment, Context()))
    assert "to choose" not in text
    assert "if these configurations were not tuned on these instances" in text


def test_the_verdict_on_utilities_is_in_utilities(tmp_path: Path) -> None:
    """The verdict would name 1 − utility beside a table of utilities."""
    rows = [f"{name},i{at},{1 + at % 7}" for name in "ab" for at in range(20)]
    table = tmp_path / "runs.csv"
    table.write_text("\n".join(["configuration,instance,cost", *rows]))
    options: dict[str, Any] = {"cutoff": 10, "utility": "step=5"}
    assessment = assess(table, configuration="a", chosen="before", **options)
    utility = 1 - float(assessment.costs.training[assessment.place])
    text = words_of(in_short(assessment, Context()))
    assert f"scores {utility:.3f} in training" in text
    assert f"Mean utility on 20 instances: {utility:.3f}." in words_of(
        audited(assessment, Context())
    )
    assert "costs 0." not in text


def test_the_page_on_utilities_is_in_utilities(tmp_path: Path) -> None:
    """The table of configurations, the range and two figures would show 1 − utility as costs."""
    names = ("a", "bb")
    rows = [f"{name},i{at},{1 + (at * 3 + len(name)) % 9}" for name in names for at in range(20)]
    table = tmp_path / "runs.csv"
    table.write_text("\n".join(["configuration,instance,cost", *rows]))
    options: dict[str, Any] = {"cutoff": 10, "utility": "half-life=5", "default": "bb"}
    assessment = assess(table, chosen="before", configuration="a", **options)
    case = Case(assessment, Context())
    section = what_was_run(case)
    assert "utilities in [0, 1]" in section.lead
    assert "PAR10" not in words_of(section)
    assert "the highest training utility first" in words_of(section)
    assert "training cost" not in words_of(section)
    utility = 1 - float(assessment.costs.training[assessment.place])
    figure = at_a_glance(case)
    assert figure is not None
    data, chart = figure.draw()
    assert number(-data.filter(pl.col("row") == "training")["cost"].item()) == number(utility)
    assert "mean score (utility)" in chart.to_json()


def test_the_margin_uses_the_part_of_delta_that_the_plan_has() -> None:
    """The unavoidable part of a margin would be that of a limit with all of δ, though the plan
    leaves a part of it to looks at other times.
    """
    plans = (RunPlan(1, 40, 1),)
    trajectory = Trajectory(tool="truecost gather", proposed="beforehand", raced=False, plans=plans)
    runs = matrix_of(np.random.default_rng(5).random((1, 40, 1)), 0, 1)
    assessment = assess(runs, trajectory=trajectory)
    certificate, width = assessment.certificate, assessment.beside.width
    assert certificate is not None
    assert width is not None
    assert certificate.share < 1
    assert width.chance == pytest.approx(1 - (0.05 * certificate.share) ** (1 / 40))


def test_an_unweighted_training_cost_says_so() -> None:
    """A plain mean would stand above a table of weighted ones without a word."""
    runs = matrix_of(lognormal(2, 20, 1), 0, 100)
    weights = {name: float(1 + at % 3) for at, name in enumerate(runs.instances)}
    text = words_of(in_short(assess(runs, default="c0", weights=weights), Context()))
    assert "in training (all instances weighted equally)" in text
