import json
import re
from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest
import show_records as records

from truecost.judge.assessment import Assessment
from truecost.judge.evidence import Evidence
from truecost.judge.question import Question
from truecost.matrix.log import Plan
from truecost.show import sentences, verdict

NAMES = list(records.samples())


def spoken(said: verdict.Block) -> list[str]:
    """All sentences of a block."""
    return [text for text in (said.headline, said.second, said.training, said.margin) if text]


@pytest.mark.parametrize("name", NAMES)
def test_sentences_are_whole(name: str) -> None:
    """A sentence would lack its end, or show a field that nobody filled in."""
    said = verdict.block(records.samples()[name])
    for sentence in spoken(said):
        assert sentence.endswith((".", "NAME.")), sentence
        assert not re.search(r"[{}]|  | ,|None|nan|inf\b", sentence), sentence
        assert sentence[0].isupper() or sentence.startswith("irace"), sentence
    assert said.headline
    assert said.badge


@pytest.mark.parametrize("name", NAMES)
def test_both_sides_are_called_as_asked(name: str) -> None:
    """`compare` would speak of a winner and a default instead of NEW and OLD."""
    sample = records.samples()[name]
    said = verdict.block(sample, ("NEW", "OLD"))
    texts = [said.badge, *spoken(said), *(part for row in said.rows for part in row)]
    if name not in ("refused", "hostile names", "no default", "one configuration"):
        assert not re.search(r"\b(winner|default)\b", " ".join(texts)), texts


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_said_twice(name: str) -> None:
    """The same limits would stand in the headline and in the table below it."""
    said = verdict.block(records.samples()[name])
    values = [value for label, value in said.rows if label.startswith(("limits", "approximate"))]
    amounts = set(re.findall(r"\d[\d.]* s|\d[\d.]*(?= (?:less|to))", said.headline))
    for value in values:
        ends = {end.lstrip("+−") for end in value.split(" to ")}
        assert not ends <= {amount.removesuffix(" s") for amount in amounts}, said


@pytest.mark.parametrize("grade", ["better", "undecided", "worse"])
def test_amounts_are_the_limits(grade: str) -> None:
    """The headline would give the observed difference, or round a limit to the unsafe side."""
    said = verdict.headline(records.proven(grade))
    amounts = [float(text) for text in re.findall(r"[\d.]+(?= s )", said)]
    expected = {"better": [0.345], "undecided": [1.24, 0.252], "worse": [0.345]}
    assert amounts == expected[grade]


@pytest.mark.parametrize("side", ["better", "worse"])
def test_approximate_amounts_are_ordered(side: str) -> None:
    """A slowdown would be read as "1.1 to 0.3 s", the larger end first."""
    said = verdict.headline(records.proven(f"probably {side}"))
    low, high = map(float, re.findall(r"\d+\.\d+", said))
    assert (low, high) == (0.3, 1.1)
    assert "approximate" in said


def test_faster_and_slower_are_not_mixed_up() -> None:
    """A winner that is proven worse would be called faster."""
    assert "faster" in verdict.headline(records.proven("better"))
    assert "slower" in verdict.headline(records.proven("worse"))
    assert "slower" in verdict.headline(records.proven("probably worse"))


def test_costs_that_are_no_times_are_not_fast() -> None:
    """A tour would be called faster, or have seconds."""
    said = verdict.block(records.samples()["quality"])
    assert not re.search(r"faster|slower|\d s\b", " ".join(spoken(said)))


@pytest.mark.parametrize(
    ("side", "low", "high", "words"),
    [
        ("better", 1.0, 3.0, "at most 3 cutoffs"),
        ("better", 1.5, 3.0, "1.5 to 3 cutoffs"),
        ("better", 2.0, 2.0, "if a timeout costs 2 cutoffs"),
        ("worse", 1.0, 7.5, "at most 7.5 cutoffs"),
    ],
)
def test_conflicting_penalties(side: str, low: float, high: float, words: str) -> None:
    """The penalties for which it is proven would be missing, or be those of the other side."""
    sample = records.laddered(side, low, high)
    said = verdict.block(sample)
    assert words in said.headline
    assert said.headline.lower().startswith(side)
    assert "declared 10" in said.headline
    # Of 1.5 to 3 "up to" would claim more.
    assert ("up to" in said.badge) == (low == 1)
    assert said.tone == "open"


def test_a_mixed_result_counts_all_failures() -> None:
    """Failures on instances that both failed on would be missing from "failed more often"."""
    # 5 pairs failed on both sides, 1 with the winner alone, 4 with the default alone.
    said = verdict.headline(records.laddered("worse", 1.0, 1.5, mixed=True))
    assert "failed less often (6 against 9)" in said
    # With units of different sizes: no "more often (6 against 9)".
    assert "against" not in verdict.headline(records.laddered("better", 1.0, 1.5, mixed=True))


@pytest.mark.parametrize("grade", ["better", "worse", "no relevant difference"])
def test_conditions_are_on_the_badge(grade: str) -> None:
    """A result would look guaranteed though nobody confirmed what it assumes."""
    given = records.proven(grade, green=False)
    assert isinstance(given.evidence, Evidence)
    sample = replace(given, evidence=replace(given.evidence, condition="If not tuned here."))
    said = verdict.block(sample)
    assert said.badge.endswith(", with a condition")
    assert said.tone != "good"


@pytest.mark.parametrize("grade", ["better", "undecided"])
def test_ties_are_no_wins(grade: str) -> None:
    """With 4 wins and 6 ties, "wins at least 60 % of the runs" would be false."""
    sample = records.proven(grade)
    by_wins = records.proven(grade, question=Question(primary="wins"))
    assert sample.same is not None
    assert sample.same.tied
    assert "ties ½" in verdict.block(sample).second
    assert "ties ½" in verdict.headline(by_wins)
    untied = replace(sample, same=replace(sample.same, tied=0))
    assert "tie" not in verdict.block(untied).second


def test_a_proven_grade_is_not_hidden_by_the_ladder() -> None:
    """A winner that is better at the declared penalty would get a sentence about other ones."""
    sample = records.proven("better", ladder=records.laddered("better", 1.0, 30.0).ladder)
    assert "at least" in verdict.headline(sample)


@pytest.mark.parametrize("name", NAMES)
def test_only_green_is_good(name: str) -> None:
    """A result with a condition, or a mixed one, would have the colour of a proof."""
    sample = records.samples()[name]
    assert (verdict.block(sample).tone == "good") == (sample.green or bool(sample.margin_kept))


@pytest.mark.parametrize("grade", ["worse", "probably worse"])
def test_worse_is_never_good(grade: str) -> None:
    """A winner that is worse would be shown in green or yellow."""
    assert verdict.block(records.proven(grade)).tone == "bad"


def test_a_refusal_comes_with_its_way_out() -> None:
    """The reader would learn that nothing can be said, and not what to do."""
    sample = records.refused()
    said = verdict.block(sample)
    assert said.headline == sample.evidence.reason  # type: ignore[union-attr]
    assert said.second == sample.evidence.way_out  # type: ignore[union-attr]


def test_training_and_test_costs_are_not_in_one_table() -> None:
    """The block of test instances would show training costs beside test costs."""
    said = verdict.block(records.samples()["tests"])
    assert "test instances" in said.title
    assert not any("training" in part for row in said.rows for part in row)
    assert "training" in said.training


def test_a_validation_has_no_training_runs() -> None:
    """Without a log, the test runs of a validation would be called training runs, too."""
    runs = records.times()
    plan = Plan(order=runs.instances, planned=50, candidates=("4",), runs=2)
    sample = records.judged(runs, test=runs, default="0", incumbent="4", test_plan=plan)
    said = verdict.block(sample)
    assert "test instances" in said.title
    assert "training" not in " ".join((said.title, said.training))


def test_training_differs_from_the_test() -> None:
    """What training made the winner look like would be what the test found."""
    sample = records.samples()["tests"]
    assert sample.same is not None
    runs = sample.log.runs.select(configurations=[sample.winner, str(sample.default)])
    ours, theirs = np.nanmean(runs.charged, axis=2)
    assert sample.same.training_difference == pytest.approx(np.nanmean(ours - theirs))
    seen = replace(sample, same=replace(sample.same, training_difference=-12.3))
    assert "−12.3" in verdict.block(seen).training


def test_costs_stand_beside_their_names() -> None:
    """The costs of NEW and OLD would be swapped in the comparison."""
    rows = dict(verdict.block(records.proven("better"), ("NEW", "OLD")).rows)
    assert rows["NEW (4)"].startswith("4.52")
    assert rows["OLD (0)"].startswith("5.22")


@pytest.mark.parametrize("name", NAMES)
def test_json_says_what_the_screen_says(name: str) -> None:
    """A program would have to make up its own verdict from numbers."""
    sample = records.samples()[name]
    said, written = verdict.block(sample), sample.to_dict()["verdict"]
    assert json.loads(json.dumps(written))["headline"] == said.headline
    assert (written["badge"], written["second"], written["rows"]) == (
        said.badge, said.second, said.rows,
    )  # fmt: skip


def test_training_instances_are_called_so() -> None:
    """Runs that chose the winner would look like evidence."""
    said = verdict.block(records.samples()["tests of the winner only"])
    assert "training" in said.title
    assert "favours" in said.training


def test_only_the_best_is_over_tuned() -> None:
    """The over-tuning of the best of a list would be told of a configuration that somebody named."""
    runs = records.times()
    best = records.judged(runs, default="0", adaptive=False)
    assert best.selection is not None
    given = replace(best, selection=replace(best.selection, error=0.5))
    assert "ver-tuning" in verdict.block(given).training
    named = replace(given, winner=given.ranking[2].configuration)
    assert verdict.block(named).training == ""


def test_small_over_tuning_is_no_news() -> None:
    """An over-tuning of a millionth would be reported as a finding."""
    sample = records.samples()["hostile names"]
    assert sample.selection is not None
    small = replace(sample, selection=replace(sample.selection, error=1e-7))
    assert verdict.block(sample).training
    assert not verdict.block(small).training


def test_the_margin_is_answered() -> None:
    """With a margin, the question whether it is kept would have no answer."""
    kept = records.statement("margin", lower=0.1, upper=2.0, proven=1, observed=1.0)
    sample = records.proven("undecided", question=Question(margin="5%"))
    proven = replace(sample, statements=(*sample.statements, kept))
    assert verdict.block(sample).margin.startswith("Not proven")
    assert verdict.block(proven).margin.startswith("Proven")
    assert "5 %" in verdict.block(proven).margin


@pytest.mark.parametrize(
    ("unit", "words"), [("families", "new families"), ("seeds", "new seeds"), ("tests", "instance")]
)
def test_the_unit_is_named(unit: str, words: str) -> None:
    """A statement on seeds of one instance would claim to be about new instances."""
    assert words in verdict.headline(records.samples()[unit])


def test_every_combination_has_a_sentence() -> None:
    """A grade would have no sentence for a criterion, and a command would end in a traceback."""
    grades = ("better", "undecided", "worse", "probably better", "probably worse")
    for criterion, grade in product(("time", "cost"), grades):
        assert (criterion, grade) in sentences.HEADLINES
    assert {grade for criterion, grade in sentences.HEADLINES if criterion == "wins"} == {
        "better", "undecided", "worse",
    }  # fmt: skip


def test_markdown_shows_what_the_block_has() -> None:
    """A pull request would miss a line of the comparison; a name could end a cell."""
    sample = records.samples()["hostile names"]
    said, text = verdict.block(sample), verdict.markdown_block(sample)
    assert said.headline in text
    assert sum(line.startswith("|") for line in text.splitlines()) == len(said.rows) + 2
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 3


def test_summary_is_the_screen() -> None:
    """`print(assessment.summary())` would fail, or say something else than `audit`."""
    sample: Assessment = records.samples()["better"]
    assert verdict.block(sample).second in " ".join(sample.summary().split())


def test_blocks_are_plain_data() -> None:
    """A block could not be written as JSON."""
    for value in (getattr(verdict.block(records.assessment()), entry.name)
                  for entry in fields(verdict.Block)):  # fmt: skip
        assert isinstance(value, str | tuple)
