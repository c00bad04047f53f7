import json
import re
from dataclasses import replace

import pytest
import show_records as records

from truecost.judge.assessment import Assessment
from truecost.judge.question import Question
from truecost.matrix.log import Plan
from truecost.show import figures, sections, sentences, verdict

NAMES = list(records.samples())


def headline(sample: Assessment) -> str:
    """The first sentence."""
    return verdict.block(sample).headline


def spoken(block: verdict.Block) -> list[str]:
    """All sentences of a block."""
    return [text for text in (block.headline, block.second, block.training, block.margin) if text]


@pytest.mark.parametrize("name", NAMES)
def test_sentences_are_whole(name: str) -> None:
    """A sentence would lack its end, or show a field that nobody filled in; or JSON differ from the
    screen.
    """
    sample = records.samples()[name]
    block = verdict.block(sample)
    assert block.headline
    assert block.badge
    for sentence in spoken(block):
        assert sentence.endswith((".", "NAME.")), sentence
        assert not re.search(r"[{}]|  | ,|None|nan|inf\b", sentence), sentence
        assert sentence[0].isupper() or sentence.startswith("irace"), sentence
    written = json.loads(json.dumps(sample.to_dict()["verdict"]))
    assert (written["headline"], written["badge"]) == (block.headline, block.badge)
    assert [tuple(row) for row in written["rows"]] == list(block.rows)
    assert block.headline[:30] in " ".join(sample.summary().split())


@pytest.mark.parametrize("name", NAMES)
def test_both_sides_are_called_as_asked(name: str) -> None:
    """`compare` would speak of a winner and a default instead of NEW and OLD."""
    block = verdict.block(records.samples()[name], ("NEW", "OLD"))
    texts = [block.badge, *spoken(block), *(part for row in block.rows for part in row)]
    if name not in ("refused", "hostile names", "no default", "one configuration"):
        assert not re.search(r"\b(winner|default)\b", " ".join(texts)), texts


@pytest.mark.parametrize("name", NAMES)
def test_only_green_is_good(name: str) -> None:
    """A result with a condition, or a mixed one, would have the colour of a proof."""
    sample = records.samples()[name]
    assert (verdict.block(sample).tone == "good") == (sample.green or bool(sample.margin_kept))


def test_nothing_is_said_twice() -> None:
    """The same limits would stand in the headline and in the table below it."""
    for grade in ("better", "undecided", "worse"):
        rows = dict(verdict.block(records.proven(grade)).rows)
        assert not any(label.startswith("limits") for label in rows)
    for side in ("better", "worse"):
        rows = dict(verdict.block(records.proven(f"probably {side}")).rows)
        assert "limits, 95 % each" in rows
        assert not any(label.startswith("approximate") for label in rows)


@pytest.mark.parametrize(
    ("grade", "amounts", "word"),
    [
        ("better", [0.345], "faster"),
        ("probably better", [0.3, 1.1], "faster"),
        ("undecided", [1.24, 0.252], "faster"),
        ("probably worse", [0.3, 1.1], "slower"),
        ("worse", [0.345], "slower"),
    ],
)
def test_amounts_are_the_limits(grade: str, amounts: list[float], word: str) -> None:
    """The headline would give the observed difference, the larger end of an interval first, or
    round a limit to the unsafe side; or a winner that is worse be called faster.
    """
    answer = headline(records.proven(grade))
    assert [float(text) for text in re.findall(r"\d+\.\d+", answer)] == amounts
    assert word in answer
    assert ("approximate" in answer) == grade.startswith("probably")


def test_costs_that_are_no_times_are_not_fast() -> None:
    """A tour would be called faster, or have seconds."""
    block = verdict.block(records.samples()["quality"])
    assert not re.search(r"faster|slower|\d s\b", " ".join(spoken(block)))


def test_every_grade_has_a_sentence() -> None:
    """A grade would have no sentence for a criterion, and a command would end in a traceback."""
    wins = {"better", "undecided", "worse"}
    grades = {"time": wins | {"probably better", "probably worse"}, "wins": wins}
    grades["cost"] = grades["time"]
    for criterion, expected in grades.items():
        assert {grade for kind, grade in sentences.HEADLINES if kind == criterion} == expected


@pytest.mark.parametrize(
    ("side", "low", "high", "words", "badge"),
    [
        ("better", 1.0, 3.0, "at most 3 cutoffs", "Better up to PAR3"),
        ("better", 1.5, 3.0, "1.5 to 3 cutoffs", "Better at PAR1.5 to PAR3"),
        ("better", 2.0, 2.0, "costs 2 cutoffs", "Better at PAR2"),
        ("worse", 1.0, 7.5, "at most 7.5 cutoffs", "Worse up to PAR7.5"),
    ],
)
def test_conflicting_penalties(side: str, low: float, high: float, words: str, badge: str) -> None:
    """The penalties for which it is proven would be missing, or be those of the other side."""
    block = verdict.block(records.laddered(side, low, high))
    assert words in block.headline
    assert block.headline.lower().startswith(side)
    assert "declared 10" in block.headline
    assert (block.badge, block.tone) == (badge, "open")


def test_a_mixed_result_counts_all_failures() -> None:
    """Failures on instances that both failed on would be missing from "failed more often"."""
    # Of 50 pairs the winner solved 44 and the default 41.
    answer = headline(records.laddered("worse", 1.0, 1.5, mixed=True))
    assert "failed less often (6 against 9)" in answer
    # With units of different sizes: no "more often (6 against 9)".
    assert "against" not in headline(records.laddered("better", 1.0, 1.5, mixed=True))


def test_a_proven_grade_is_not_hidden_by_the_ladder() -> None:
    """A winner that is better at the declared penalty would get a sentence about other ones."""
    sample = records.proven("better", ladder=records.laddered("better", 1.0, 30.0).ladder)
    assert "at least" in headline(sample)


@pytest.mark.parametrize("grade", ["better", "worse", "no relevant difference"])
def test_conditions_are_on_the_badge(grade: str) -> None:
    """A result would look guaranteed though nobody confirmed what it assumes."""
    block = verdict.block(records.conditional(grade))
    assert block.badge.endswith(", with a condition")
    assert block.tone != "good"


@pytest.mark.parametrize("grade", ["worse", "probably worse"])
def test_worse_is_never_good(grade: str) -> None:
    """A winner that is worse would be shown in green or yellow."""
    assert verdict.block(records.proven(grade)).tone == "bad"


@pytest.mark.parametrize("grade", ["better", "undecided"])
def test_ties_are_no_wins(grade: str) -> None:
    """With 4 wins and 6 ties, "wins at least 60 % of the runs" would be false."""
    sample = records.proven(grade)
    assert sample.same is not None
    assert "ties ½" in verdict.block(sample).second
    assert "ties ½" in headline(records.by_wins(grade))
    untied = replace(sample, same=replace(sample.same, tied=0))
    assert "tie" not in verdict.block(untied).second


def test_a_refusal_comes_with_its_way_out() -> None:
    """The reader would learn that nothing can be said, and not what to do."""
    sample = records.refused()
    block = verdict.block(sample)
    assert block.headline == sample.evidence.reason  # type: ignore[union-attr]
    assert block.second == sample.evidence.way_out  # type: ignore[union-attr]


def test_training_and_test_costs_are_not_in_one_table() -> None:
    """The block of test instances would show training costs beside test costs."""
    block = verdict.block(records.samples()["tests"])
    assert "test instances" in block.title
    assert not any("training" in part for row in block.rows for part in row)
    assert "training" in block.training


def test_training_differs_from_the_test() -> None:
    """What training made the winner look like would be what the test found."""
    sample = records.samples()["tests"]
    assert sample.training is not None
    seen = replace(sample, training=replace(sample.training, difference=-12.3))
    assert "−12.3" in verdict.block(seen).training


def test_a_validation_has_no_training_runs() -> None:
    """Without a log, the test runs of a validation would be called training runs, too."""
    runs = records.times()
    plan = Plan(order=runs.instances, planned=50, candidates=("4",), runs=2)
    sample = records.judged(runs, test=runs, default="0", incumbent="4", test_plan=plan)
    block = verdict.block(sample)
    assert "test instances" in block.title
    assert "training" not in " ".join((block.title, block.training))
    assert "5 configurations × 50 test instances × 2 runs" in sample.summary()
    head, label = sections.ranking(sample).head, figures.ranking(sample).get_xlabel()
    assert head.count("test cost") == 1
    assert "training" not in " ".join((*head, label))


def test_training_instances_are_called_so() -> None:
    """Runs that chose the winner would look like evidence, or those of folds as if they chose whom
    the user named.
    """
    block = verdict.block(records.samples()["tests of the winner only"])
    assert "training" in block.title
    assert "favours" in block.training
    named = replace(records.refused(), question=Question(configuration="4"))
    assert verdict.block(named).training == ""


def test_only_the_best_is_over_tuned() -> None:
    """The over-tuning of the best of a list would be told of a configuration that somebody named,
    or one of a millionth be news.
    """
    best = records.judged(records.times(), default="0", adaptive=False)
    assert best.selection is not None
    tuned = replace(best, selection=replace(best.selection, error=0.5))
    assert "ver-tuning" in verdict.block(tuned).training
    named = replace(tuned, winner=tuned.ranking[2].configuration)
    small = replace(best, selection=replace(best.selection, error=1e-7))
    assert verdict.block(named).training == verdict.block(small).training == ""


def test_costs_stand_beside_their_names() -> None:
    """The costs of NEW and OLD would be swapped in the comparison."""
    rows = dict(verdict.block(records.proven("better"), ("NEW", "OLD")).rows)
    assert rows["NEW (4)"].startswith("4.52")
    assert rows["OLD (0)"].startswith("5.22")


def test_the_margin_is_answered() -> None:
    """With a margin, the question whether it is kept would have no answer."""
    sample = records.proven("undecided", question=Question(margin="5%"))
    kept = records.statement("margin", lower=0.1, upper=2.0, proven=1, observed=1.0)
    back = records.statement("margin", configuration="0", default="4", approximate=None)
    proven = replace(sample, statements=(*sample.statements, kept, back))
    assert verdict.block(sample).margin.startswith("Not proven")
    assert verdict.block(proven).margin.startswith("Proven")
    assert "5 %" in verdict.block(proven).margin


@pytest.mark.parametrize(
    ("unit", "words"), [("families", "new families"), ("seeds", "new seeds"), ("tests", "instance")]
)
def test_the_unit_is_named(unit: str, words: str) -> None:
    """A statement on seeds of one instance would claim to be about new instances."""
    assert words in headline(records.samples()[unit])


def test_markdown_shows_what_the_block_has() -> None:
    """A pull request would miss a line of the comparison; a name could end a cell."""
    sample = records.samples()["hostile names"]
    block, text = verdict.block(sample), verdict.markdown_block(sample)
    assert block.headline in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == len(block.rows) + 2
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
