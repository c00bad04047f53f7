"""Public names: examples that run, what a notebook shows, names that can be guessed."""

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenarios

import truecost

# Answers with a number at once.
TARGET = """#!/bin/sh
read size < "$1"
echo "Result for SMAC: SUCCESS, 0.01, 0, $((($7 + 2 * $9 + size) % 9973)), $5"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a scenario, as the examples of campaigns expect."""
    monkeypatch.setattr(scenarios, "TARGET", TARGET)
    scenarios.write(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", truecost.__all__)
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    """A reader would copy a line from the reference that does not work."""
    documented: Any = getattr(truecost, name)
    known = {"tc": truecost, "np": np, "figures": truecost.figures}
    example = doctest.DocTestParser().get_doctest(documented.__doc__, known, name, None, None)
    assert example.examples, f"{name} has no example"
    printed: list[str] = []
    results = doctest.DocTestRunner().run(example, out=printed.append)
    assert results.failed == 0, "".join(printed)


def test_a_notebook_shows_one_screen() -> None:
    """A notebook would show a memory address, or pages of numbers, or no figure."""
    log = truecost.import_runs("kissat")
    assessment = truecost.assess(log)
    assert "Not shown to be better" in repr(assessment)
    shown = assessment._repr_html_()
    assert shown.count("<img") == 1
    assert 'src="data:image/svg+xml;base64,' in shown
    assert "<script" not in shown
    for runs in (log, log.matrix):
        assert len(repr(runs)) < 120
        shown = runs._repr_html_()
        assert "12,500" in shown
        assert shown.count("<tr>") < 25


def test_names_can_be_guessed() -> None:
    """The number of the verdict would be found only by reading the source."""
    assessment = truecost.assess("kissat")
    comparison = assessment.comparison
    assert comparison is not None
    assert comparison.difference == comparison.observed
    assert comparison.difference_at_most == comparison.upper
    assert comparison.difference_at_least == comparison.lower
    assert assessment.optimism.expected_cost == assessment.optimism.true_cost
    assert assessment.to_frame().height == len(assessment.statements)
    assert assessment.plot("scatter").to_dict()["layer"]
    with pytest.warns(DeprecationWarning, match="bounds_observed"):
        assert truecost.reality.bounds_against_reality  # type: ignore[attr-defined]
