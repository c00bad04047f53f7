"""The Python functions: what they take, what they return, what they refuse."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import truecost as tc

RNG = np.random.default_rng(1)
COSTS = RNG.uniform(0.5, 1.0, 30) * [[1.0], [2.0]]
NAMES = [f"i{number}" for number in range(30)]
TABLE = pd.DataFrame(COSTS, index=["a", "b"], columns=NAMES).rename_axis("configuration")
TABLE = TABLE.melt(ignore_index=False, var_name="instance", value_name="cost").reset_index()


def test_public_names_exist() -> None:
    """A documented name would raise AttributeError."""
    assert len(tc.__all__) <= 27
    for name in tc.__all__:
        assert getattr(tc, name) is not None
    with pytest.raises(AttributeError, match="certify"):
        tc.certify  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("kind", ["frame", "path", "string", "array", "matrix"])
def test_runs_may_come_in_any_form(kind: str, tmp_path: Path) -> None:
    """A user with a frame, an array or a Path would have to write a file or a string first."""
    path = tmp_path / "runs.csv"
    TABLE.to_csv(path, index=False)
    matrix = tc.CostMatrix(COSTS, ["a", "b"], NAMES, 0, 3)
    forms = {"frame": TABLE, "path": path, "string": str(path), "array": COSTS, "matrix": matrix}
    runs = tc.import_runs(forms[kind], low=0, high=3).runs
    np.testing.assert_allclose(runs.costs.mean(axis=(1, 2)), COSTS.mean(axis=1))


@pytest.mark.parametrize("runs", [None, 5, {"a": 1}, object()])
def test_what_is_no_runs_is_refused(runs: object) -> None:
    """A wrong argument would end in an error of Python's that says nothing."""
    with pytest.raises(tc.InputError):
        tc.audit(runs)


def test_options_are_fields_or_records() -> None:
    """A misspelt option would be ignored, a record not be taken, or one of both ways win silently."""
    with pytest.raises(tc.InputError, match="cutoff"):
        tc.audit("kissat", cutof=5)
    with pytest.raises(tc.InputError, match="not both: delta"):
        tc.audit("kissat", question=tc.Question(), delta=0.1)
    named = tc.audit(TABLE, low=0, high=3, default="b", basis="fixed before", delta=0.01)
    reading = tc.Reading(low=0, high=3, default="b")
    question = tc.Question(basis="fixed before", delta=0.01)
    assert tc.audit(TABLE, reading=reading, question=question).to_dict() == named.to_dict()
    assert (named.grade, named.winner, named.question.delta) == ("better", "a", 0.01)


def test_an_assessment_shows_itself() -> None:
    """A notebook would show nothing of a verdict, or a key list kept by hand lose a new field."""
    assessment = tc.audit("kissat")
    assert assessment.winner[:6] in repr(assessment)
    assert isinstance(assessment.to_frame(), pd.DataFrame)
    data = assessment.to_dict()
    assert {entry.name for entry in fields(tc.Assessment)} <= data.keys()
    assert {entry.name for entry in fields(tc.Question)} == data["question"].keys()


def test_compare_takes_frames() -> None:
    """Two frames in a notebook could not be compared."""
    old, new = (TABLE[TABLE.configuration == name] for name in "ab")
    worse, better = tc.compare(old, new, low=0, high=3), tc.compare(new, old, low=0, high=3)
    assert (worse.exit_code, better.exit_code, better.reason) == (1, 0, "")
    assert "worse on average" in worse.reason
    # Mean cost and runs won share δ; a margin is one question.
    assert worse.assessment.question.delta == 0.025
    margin = tc.compare(old, new, low=0, high=3, margin="5%")
    assert (margin.assessment.question.delta, margin.exit_code) == (0.05, 1)
    assert "NEW" in worse.summary()


def test_compare_takes_families_as_units() -> None:
    """Its own advice for instances that are alike, --sampled family, would be refused."""
    families = {name: name[-1] for name in TABLE.instance}
    old, new = (TABLE[TABLE.configuration == name] for name in "ab")
    compared = tc.compare(old, new, low=0, high=3, families=families, sampled="family")
    same = compared.assessment.same
    assert same is not None
    assert same.unit == "family"


def test_a_comparison_says_what_it_assumes() -> None:
    """The best of a list would be proven better than its default by the runs that chose it."""
    picked = tc.compare("kissat:default", "kissat:0fa88eb8a1")
    assert "among 50 configurations" in " ".join(picked.summary().split())
    old, new = (TABLE[TABLE.configuration == name] for name in "ab")
    codes = [one.code for one in tc.compare(old, new, low=0, high=3).assessment.caveats]
    assert "picked" not in codes


def test_report_returns_the_assessment_and_writes_the_page(tmp_path: Path) -> None:
    """The page would not be written, or be about something else."""
    assessment = tc.report("lkh", tmp_path / "lkh.html", title="A title of its own")
    assert assessment.winner
    assert "A title of its own" in (tmp_path / "lkh.html").read_text()


def test_figures_are_matplotlib() -> None:
    """Users could not restyle a figure for their paper."""
    from matplotlib.axes import Axes

    assert isinstance(tc.figures.scatter(tc.audit("kissat")), Axes)


def test_plan_is_a_function() -> None:
    """`truecost.plan` would be a module in one place and a function in another."""
    assert tc.plan("kissat", error=0.1).to_dict()["error"] == 0.1
