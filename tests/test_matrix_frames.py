"""Matrices as pandas tables and back."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_matrix_cost_matrix import full

from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.runs import Status


def test_frames_give_the_same_matrix_back() -> None:
    """A cost, a status, a seed, a family or a name would be lost in a table."""
    matrix = full().replace(families=["f", "g", "f", "h"])
    assert CostMatrix.from_frame(matrix.to_frame(), low=0, high=10) == matrix


def test_missing_runs_leave_gaps() -> None:
    """A run that is missing would move the later ones up."""
    matrix = CostMatrix([[[1, np.nan, 3], [np.nan, 2, 4]]], ["a"], ["x", "y"], 0, 5)
    assert CostMatrix.from_frame(matrix.to_frame(), low=0, high=5) == matrix


def test_frames_without_run_numbers() -> None:
    """Runs without numbers would overwrite each other."""
    frame = pd.DataFrame({"configuration": ["a", "a", 7], "instance": ["x"] * 3, "cost": [1, 2, 3]})
    matrix = CostMatrix.from_frame(frame)
    np.testing.assert_array_equal(matrix.costs, [[[1, 2]], [[3, np.nan]]])
    assert matrix.configurations == ("a", "7")


def test_statuses_are_read_by_name() -> None:
    """A status in capitals, or an empty one, would be refused."""
    frame = pd.DataFrame(
        {
            "configuration": ["a"] * 3,
            "instance": list("xyz"),
            "cost": [1, 2, 3],
            "status": ["Timeout", None, " "],
        }
    )
    statuses = CostMatrix.from_frame(frame).statuses
    assert statuses is not None
    assert statuses.ravel().tolist() == [Status.TIMEOUT, -1, -1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cost": ["fast", "2"]}, "'fast'"),
        ({"configuration": ["a", None]}, "Row 2 has no configuration"),
        ({"status": ["odd", ""]}, "'odd'"),
        ({"run": [1.5, 2]}, "'run'"),
        ({"configuration": ["a", "a"], "instance": ["x", "x"], "run": [1, 1]}, "twice"),
        ({"family": ["f", None]}, "no family"),
        ({"instance": ["x", "x"], "run": [1, 2], "family": ["f", "g"]}, "two families"),
    ],
)
def test_bad_frames(change: dict[str, Any], words: str) -> None:
    """A table that cannot be a matrix would be taken, or end in an exception of pandas."""
    frame = pd.DataFrame({"configuration": ["a", "b"], "instance": ["x", "y"], "cost": [1, 2]})
    with pytest.raises(InputError, match=words):
        CostMatrix.from_frame(frame.assign(**change))
    with pytest.raises(InputError, match="cost"):
        CostMatrix.from_frame(frame.rename(columns={"cost": "costs"}))
