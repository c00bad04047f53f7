"""Verbs take runs in whatever form they come."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truecost as tc
from truecost.errors import InputError

MATRIX = tc.load_example("lkh").select(configurations=tc.load_example("lkh").configurations[:6])


def answered(runs: Any, **asked: Any) -> dict[str, Any]:
    """What an assessment says, without the words about where its runs came from."""
    answer = tc.assess(runs, chosen="from-list", raced=False, splits=20, rng=1, **asked).to_dict(
        "certificate", "statements"
    )
    return {name: part for name, part in answer.items() if name != "runs"}


def test_frames_and_paths_are_assessed_as_the_matrix(tmp_path: Path) -> None:
    """A frame or a file would be assessed otherwise than the matrix it was made from."""
    table = MATRIX.to_table()
    table.write_csv(tmp_path / "runs.csv")
    MATRIX.save(tmp_path / "runs.npz")
    ends: dict[str, Any] = {"low": MATRIX.low, "high": MATRIX.high}
    expected = answered(tc.import_runs(table, **ends))["certificate"]["limit"]
    assert expected < MATRIX.high
    for runs in (table, MATRIX.to_pandas(), tmp_path / "runs.csv", str(tmp_path / "runs.npz")):
        assert answered(runs, **ends)["certificate"]["limit"] == pytest.approx(expected)


def test_arrays_take_no_cutoff() -> None:
    """An option of logs with an array would end in a TypeError about a private function."""
    with pytest.raises(InputError, match="no `cutoff` with an array of costs"):
        tc.assess([[1.0, 2.0], [3.0, 4.0]], cutoff=5)


def test_arrays_are_assessed_with_numbered_names() -> None:
    """An array would be refused, or its rows not be the configurations."""
    assessment = tc.assess(MATRIX.costs, low=MATRIX.low, high=MATRIX.high, default="0")
    assert assessment.matrix.configurations == tuple("012345")
    best = int(np.nanmean(MATRIX.costs, axis=(1, 2)).argmin())
    assert assessment.incumbent == str(best)
    nested = tc.assess(MATRIX.costs[:, :, 0].tolist())
    assert nested.matrix.shape == (6, 50, 1)
    page = tc.report(MATRIX.costs, low=MATRIX.low, high=MATRIX.high, splits=20)
    assert page.verdict


@pytest.mark.parametrize("runs", [5, object(), [["a"]], np.zeros(3), None])
def test_what_are_no_runs_are_refused(runs: Any) -> None:
    """Something that holds no runs would end in a traceback of NumPy's or polars'."""
    with pytest.raises(InputError):
        tc.assess(runs)


def test_options_of_reading_need_something_to_read() -> None:
    """A range would be ignored where the runs already have one."""
    with pytest.raises(InputError, match="`cutoff`"):
        tc.assess(MATRIX, cutoff=5)


def test_examples_are_read_by_name() -> None:
    """The same example would have other runs by `import_runs` than by `load_example`."""
    log = tc.import_runs("lkh")
    assert log.matrix == tc.load_example("lkh")
    assert repr(log).startswith("<Import: matrix, 50 configurations × 50 instances × 5 runs")
    assert len(repr(log)) < 150


def test_an_assessment_speaks_for_itself() -> None:
    """A notebook or a prompt would show pages of fields instead of the verdict."""
    assessment = tc.assess("lkh", splits=20)
    assert "Not shown to be better" in repr(assessment)
    assert len(repr(assessment)) < 200
    text = assessment.summary()
    assert len(text.splitlines()) < 40
    assert "What to do next" in text
    frame = assessment.to_frame()
    assert frame["quantity"].to_list() == [part.quantity for part in assessment.statements]
    assert frame["limit"].to_list() == [part.limit for part in assessment.statements]
    with pytest.raises(InputError, match="did you mean"):
        assessment.plot("scater")
    assert "mark" in assessment.plot("scatter").to_json()


@pytest.mark.parametrize("name", ["kissat-large", "lkh"])
def test_an_example_and_its_matrix_agree(name: str, tmp_path: Path) -> None:
    """The matrix of an example would get another verdict than the example, since a matrix does not
    know where its configurations come from.
    """
    matrix = tc.load_example(name)
    assert tc.assess(matrix).to_dict() == tc.assess(name).to_dict()
    assert matrix.trajectory == tc.import_runs(name).trajectory
    # A part may have been picked by its costs: nothing is known of it.
    assert matrix.select(configurations=matrix.configurations[:5]).trajectory is None
    matrix.save(tmp_path / "bare.npz")
    assert tc.CostMatrix.load(tmp_path / "bare.npz").trajectory is None
