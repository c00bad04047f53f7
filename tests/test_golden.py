"""What is said about examples and logs stays what it was.

`golden.py` beside this file compares everything between two versions; here, a sample of it.
"""

import json

import golden
import pytest

# A value of 0.2 with another name since; docs/migration.md lists it.
BEFORE = json.loads(
    json.dumps(golden.read(golden.SAMPLE)).replace("nine in ten", "90th percentile")
)


@pytest.fixture(scope="module")
def answers() -> golden.Answers:
    """What the command line answers now."""
    answers: golden.Answers = {}
    golden.ask_all(golden.sample(), answers.__setitem__)
    return answers


def test_the_sample_asks_every_kind_of_question() -> None:
    """The sample would not be of the questions that are asked, or leave out a command or source."""
    named = golden.sample()
    assert set(named) == set(BEFORE)
    commands = {words[0] for words in named.values()}
    assert commands == {"audit", "bound", "certify", "experiment", "info", "plan"}
    asked = {word for words in named.values() for word in words}
    runs = {source.words[0] for source in golden.sources()} - {"kissat-large"}
    assert runs <= asked


# Keys of 0.2 with other names since; docs/migration.md lists them.
RENAMED = {
    r"(approximate\.\d+)\.what": r"\1.quantity",
    r"(approximate\.\d+)\.estimate": r"\1.observed",
    r"\.rests_on": ".assumptions",
    r"\.seen_": ".observed_",
}


def test_answers_stay_what_they_were(answers: golden.Answers) -> None:
    """A number, a name or a refusal would have changed for one of these questions; new keys may be
    added.
    """
    changed = [
        (name, place, before, now)
        for name, answer in answers.items()
        for place, (before, now) in golden.differences(
            BEFORE[name], answer, tolerance=1e-9, renames=RENAMED
        ).items()
        if before != golden.ABSENT
    ]
    assert not changed


def test_differences_are_noticed() -> None:
    """The comparison would pass over a changed number, a lost key, or a renamed one."""
    before = {"a": {"b": [1.0, 2.0], "c": None}, "d": "x"}
    assert not golden.differences(
        before, {"a": {"b": [1.0, 2.0 + 1e-12], "c": None}, "d": "x"}, tolerance=1e-9
    )
    assert golden.differences(before, {"a": {"b": [1.0, 2.1], "c": None}, "d": "x"}) == {
        "a.b.1": (2.0, 2.1)
    }
    assert golden.differences(before, {"a": {"b": [1.0, 2.0], "e": None}, "d": "x"}) == {
        "a.c": (None, golden.ABSENT),
        "a.e": (golden.ABSENT, None),
    }
    renamed = {"a": {"b": [1.0, 2.0], "e": None}, "d": "x"}
    assert not golden.differences(before, renamed, renames={r"^a\.c$": "a.e"})
