"""The Python functions: what they take, what they return, what they refuse."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truecost as tc


def frame(instances: int = 30) -> pd.DataFrame:
    """A long table of two configurations."""
    rng = np.random.default_rng(1)
    rows = [
        (name, f"i{number}", cost)
        for name, scale in (("a", 1.0), ("b", 2.0))
        for number, cost in enumerate(scale * rng.uniform(0.5, 1.0, instances))
    ]
    return pd.DataFrame(rows, columns=["configuration", "instance", "cost"])


def test_public_names_exist() -> None:
    """A documented name would raise AttributeError."""
    assert len(tc.__all__) <= 27
    for name in tc.__all__:
        assert getattr(tc, name) is not None
    with pytest.raises(AttributeError, match="certify"):
        tc.certify  # type: ignore[attr-defined]  # noqa: B018


def test_runs_may_come_in_any_form(tmp_path: Path) -> None:
    """A user with a frame, an array or a Path would have to write a file or a string first."""
    table = frame()
    table.to_csv(tmp_path / "runs.csv", index=False)
    array = table.pivot(index="configuration", columns="instance", values="cost").to_numpy()
    how: dict[str, Any] = {"low": 0.0, "high": 3.0}
    means = {
        kind: tc.import_runs(source, **how).runs.costs.mean()
        for kind, source in {
            "frame": table,
            "path": tmp_path / "runs.csv",
            "string": str(tmp_path / "runs.csv"),
            "array": array,
            "matrix": tc.CostMatrix(array, ["a", "b"], [f"i{k}" for k in range(30)], 0, 3),
        }.items()
    }
    assert len({round(mean, 12) for mean in means.values()}) == 1, means


@pytest.mark.parametrize("runs", [None, 5, {"a": 1}, object()])
def test_what_is_no_runs_is_refused(runs: object) -> None:
    """A wrong argument would end in an error of Python's that says nothing."""
    with pytest.raises(tc.InputError):
        tc.audit(runs)


def test_unknown_options_are_refused_with_the_nearest_name() -> None:
    """A misspelt option would be ignored."""
    with pytest.raises(tc.InputError, match="cutoff"):
        tc.audit("kissat", cutof=5)


def test_audit_takes_reading_and_question_together() -> None:
    """One of the two records would not get its keywords."""
    assessment = tc.audit(
        frame(), low=0, high=3, default="b", configuration="a", basis="fixed before", delta=0.01
    )
    assert assessment.grade == "better"
    assert assessment.question.delta == 0.01
    assert assessment.winner == "a"
    assert "a" in repr(assessment)
    assert isinstance(assessment.to_frame(), pd.DataFrame)
    assert assessment.summary()


def test_to_dict_has_every_field_of_the_records() -> None:
    """A key list kept by hand would lose a new field."""
    data = tc.audit("kissat").to_dict()
    expected = {item.name for item in fields(tc.Assessment)}
    assert expected <= data.keys()
    assert {item.name for item in fields(tc.Question)} == data["question"].keys()


def test_compare_takes_frames() -> None:
    """Two frames in a notebook could not be compared."""
    table = frame()
    old, new = (table[table.configuration == name] for name in "ab")
    assert tc.compare(old, new, low=0, high=3).exit_code == 1
    assert tc.compare(new, old, low=0, high=3).exit_code == 0


def test_a_comparison_says_what_it_assumes() -> None:
    """The best of a list would be proven better than its default by the runs that chose it."""
    found = tc.compare("kissat:default", "kissat:0fa88eb8a1")
    assert "among 50 configurations" in " ".join(found.summary().split())
    old, new = (frame()[frame().configuration == name] for name in "ab")
    codes = [one.code for one in tc.compare(old, new, low=0, high=3).assessment.caveats]
    assert "picked" not in codes


def test_report_returns_the_assessment_and_writes_the_page(tmp_path: Path) -> None:
    """The page would not be written, or be about something else."""
    assessment = tc.report("lkh", tmp_path / "lkh.html")
    assert assessment.winner
    assert (tmp_path / "lkh.html").read_text().startswith("<!doctype html>") or (
        tmp_path / "lkh.html"
    ).read_text().lower().startswith("<!doctype html>")


def test_figures_are_matplotlib() -> None:
    """Users could not restyle a figure for their paper."""
    from matplotlib.axes import Axes

    assert isinstance(tc.figures.scatter(tc.audit("kissat")), Axes)


def test_plan_is_a_function() -> None:
    """`truecost.plan` would be a module in one place and a function in another."""
    assert tc.plan("kissat", error=0.1).to_dict()["error"] == 0.1
