"""Reading, Question and plans: options that are declared once."""

from dataclasses import fields
from typing import Any

import pytest

from truecost.errors import InputError
from truecost.judge import Question
from truecost.matrix import Plan, Reading
from truecost.matrix.reading import options_that_differ


@pytest.mark.parametrize("record", [Reading(), Question()])
def test_every_option_has_help(record: Any) -> None:
    """An option would be on the command line without a word of help."""
    assert all(entry.metadata["help"] for entry in fields(record))
    assert options_that_differ(record) == []


def test_printed_commands_repeat_the_options() -> None:
    """A printed command would read the runs otherwise than they were read."""
    reading = Reading(
        columns={"cost": "time", "instance": "file"}, cutoff=5, par=2.5, maximise=True
    )
    assert reading.options_that_differ() == [
        "--columns", "cost=time,instance=file", "--cutoff", "5", "--par", "2.5", "--maximise",
    ]  # fmt: skip
    assert Reading(low=0.1 + 0.2).options_that_differ() == ["--low", "0.30000000000000004"]
    assert Question(delta=0.1, basis="list").options_that_differ() == [
        "--basis", "list", "--delta", "0.1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"cutoff": 0}, {"cutoff": float("inf")}, {"par": 0.5}, {"low": 2, "high": 1},
        {"steps_are": "?"}, {"default": 1}, {"low": "0"}, {"columns": ["cost"]}, {"families": 3},
        {"maximise": "no"},
    ],
)  # fmt: skip
def test_impossible_readings(wrong: dict[str, Any]) -> None:
    """An option that cannot be would be noticed after the log was read, or never."""
    with pytest.raises(InputError):
        Reading(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"delta": 0}, {"delta": 1}, {"basis": "hearsay"}, {"primary": "median"}, {"margin": "5"},
        {"margin": "-1%"}, {"margin": "x%"}, {"candidates": 0}, {"sampled": "moon"}, {"seed": -1},
        {"candidates": 5, "basis": "test"},
    ],
)  # fmt: skip
def test_impossible_questions(wrong: dict[str, Any]) -> None:
    """A question that has no answer would be asked."""
    with pytest.raises(InputError):
        Question(**wrong)


def test_margins_and_bases_as_people_type_them() -> None:
    """A margin of 5% would be another share, or a basis without a space be refused."""
    assert Question(margin="5%").margin_share == pytest.approx(0.05)
    assert Question(margin=" 2.5 % ").margin_share == pytest.approx(0.025)
    assert Question().margin_share is None
    assert Question(basis="fixed-before").basis == "fixed before"  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"planned": 0}, {"runs": 0}, {"share": 0}, {"share": 1.5}])
def test_impossible_plans(wrong: dict[str, Any]) -> None:
    """A plan with more than δ, or without a unit, would be believed."""
    with pytest.raises(InputError):
        Plan(**{"order": ("a",), "planned": 1} | wrong)  # type: ignore[arg-type]
