"""CostMatrix: checks at the door, selection, failures, tables."""

from typing import Any

import numpy as np
import pytest

import truecost as tc
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.runs import NO_STATUS, Status

GOOD: dict[str, Any] = {
    "costs": [[[1.0], [2.0]]],
    "configurations": ["a"],
    "instances": ["x", "y"],
    "low": 0,
    "high": 5,
}


def full(missing: float = 0.0) -> CostMatrix:
    """A matrix with statuses, seeds, families and a share of missing runs."""
    rng = np.random.default_rng(0)
    shape = (5, 4, 3)
    costs = rng.random(shape) * 10
    statuses = rng.integers(-1, len(Status), size=shape).astype(np.int8)
    seeds = rng.integers(0, 2**62, size=shape)
    gone = rng.random(shape) < missing
    costs[gone], statuses[gone], seeds[gone] = np.nan, -1, -1
    names = ["plain", "with, comma", 'with "quotes"', "line\nbreak", "日本"]
    return CostMatrix(
        costs, names, names[:4], 0, 10, statuses=statuses, seeds=seeds, families=list("fgfh")
    )


def test_replace_keeps_the_rest_and_checks_the_new() -> None:
    """A matrix with another range would lose its seeds or cutoff, or costs outside would pass."""
    matrix = full(0.3).replace(cutoff=2.5)
    wider = matrix.replace(high=20)
    assert (wider.high, wider.cutoff) == (20, 2.5)
    assert wider != matrix
    assert wider.replace(high=10) == matrix
    with pytest.raises(InputError, match="above high"):
        matrix.replace(high=1)


def test_select_by_name() -> None:
    """Selecting by name would give other configurations, instances or families, or another order."""
    matrix = full(0.2)
    part = matrix.select(["日本", "plain"], ["line\nbreak", "with, comma"])
    assert part.configurations == ("日本", "plain")
    assert part.instances == ("line\nbreak", "with, comma")
    assert part.families == ("h", "g")
    for name in ("costs", "seeds", "statuses"):
        expected = getattr(matrix, name)[[4, 0]][:, [3, 1]]
        np.testing.assert_array_equal(getattr(part, name), expected)
    assert matrix.select(runs=slice(1)).shape == (5, 4, 1)
    assert matrix.select("plain").shape == (1, 4, 3)
    assert matrix.select() == matrix


def test_unknown_names_come_with_the_nearest_one() -> None:
    """A misspelt name would be refused without a hint, or an empty selection be taken for all."""
    with pytest.raises(InputError, match="plain"):
        full().select(configurations="plian")
    with pytest.raises(InputError):
        full().select(instances=[])


def test_missing_runs_are_not_counted() -> None:
    """Cells with different numbers of runs would count as full."""
    costs = np.array([[[1.0, 2.0], [3.0, np.nan]], [[4.0, np.nan], [np.nan, np.nan]]])
    matrix = CostMatrix(costs, ["a", "b"], ["x", "y"], 0, 5)
    np.testing.assert_array_equal(matrix.counts(), [[2, 1], [1, 0]])
    assert CostMatrix([[1, 2]], ["a"], ["x", "y"], 0, 5).shape == (1, 2, 1)


def test_costs_are_read_only() -> None:
    """Costs could be changed behind the back of the checks."""
    with pytest.raises(ValueError, match="read-only"):
        full().costs[0, 0, 0] = 99


def test_failed_runs_cost_the_penalty() -> None:
    """Costs would say one thing of a failed run and statements another, or a penalty need a range."""
    times = [[[3.0], [5.0], [4.0], [2.0], [50.0]]]
    unknown = CostMatrix(times, ["a"], list("vwxyz"), cutoff=5, par=10)
    assert unknown.costs.ravel().tolist() == [3, 50, 4, 2, 50]
    assert (unknown.low, unknown.high) == (0, 50)
    codes = [Status.SOLVED, Status.SOLVED, Status.CRASHED, Status.CENSORED, NO_STATUS]
    known = unknown.replace(costs=times, statuses=np.reshape(codes, (1, 5, 1)))
    assert known.costs.ravel().tolist() == [3, 5, 50, 2, 50]
    assert known.failed.ravel().tolist() == [False, False, True, False, True]


@pytest.mark.parametrize(
    ("fields", "can_fail", "failed"),
    [
        ({"high": 50}, False, [False, False]),
        ({"high": 50, "cutoff": 5}, True, [False, True]),
        ({"high": 50, "statuses": [[[0], [NO_STATUS]]]}, True, [False, False]),
        ({"high": 50, "statuses": [[[Status.CRASHED], [0]]]}, True, [True, False]),
    ],
)
def test_failures(fields: dict[str, Any], can_fail: bool, failed: list[bool]) -> None:
    """A timeout would pass for solved, or a bad score for a failure."""
    matrix = CostMatrix([[[2.0], [50.0]]], ["a"], ["x", "y"], 0, **fields)
    assert matrix.can_fail == can_fail
    assert matrix.failed.ravel().tolist() == failed


def test_capped_runs_cost_the_worst_in_estimates() -> None:
    """A run stopped at a cap would look cheap, or its cost be taken for known."""
    matrix = CostMatrix(**GOOD, statuses=[[0, int(Status.CENSORED)]])
    assert matrix.charged.ravel().tolist() == [1, 5]
    with pytest.raises(InputError, match="cap"):
        matrix.exact_costs()
    unknown = matrix.replace(costs=[[[3.0], [2.0]]], high=np.inf)
    assert unknown.charged.ravel().tolist() == [3, 3]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"costs": [[[1.0], [7.0]]]}, "instance 'y' costs 7: above high = 5"),
        ({"costs": [[[1.0], [-1.0]]]}, "instance 'y' costs -1: below low = 0"),
        ({"costs": [[[1.0, 2.0], [1.0, np.inf]]]}, "Run 1 .* instance 'y' costs inf: not finite"),
        ({"costs": [[[-np.inf], [1.0]]]}, "instance 'x' costs -inf: not finite"),
        ({"costs": [[[1e200], [1.0]]], "high": 1e300}, "too large"),
        ({"costs": [[[np.nan], [np.nan]]]}, "Every cost is missing"),
        ({"costs": np.ones((0, 2, 1)), "configurations": []}, "at least one"),
        ({"costs": np.ones((1, 2, 0))}, "at least one"),
        ({"costs": np.ones(2)}, "three dimensions"),
        ({"costs": [[[1.0], [2.0]], [[1.0]]]}, "NaN where costs are missing"),
        ({"costs": [[["fast"], [2.0]]]}, "fast"),
        ({"costs": "many"}, "many"),
        ({"costs": [[["1.5"], [2.0]]]}, r"1\.5"),
        ({"costs": [[[True], [False]]]}, "True"),
        ({"costs": [[[10**400], [1]]]}, "Give numbers"),
        ({"costs": [[[1e-200], [0.0]]]}, "smaller unit"),
        ({"instances": ["x", "y\0"]}, "NUL"),
        ({"instances": ["x", "\ud800"]}, "surrogates"),
        ({"low": 5}, "not below high"),
        ({"high": np.nan}, "not below high"),
        ({"configurations": ["a", "b"]}, "2 configuration names"),
        ({"instances": ["x", "x"]}, "'x' is there twice"),
        ({"instances": ["x", ""]}, "instance name"),
        ({"instances": ["x", 3]}, "instance name"),
        ({"configurations": "a"}, "list"),
        ({"families": "ab"}, "list"),
        ({"families": ["f"]}, "1 family names"),
        ({"cutoff": 0}, "cutoff"),
        ({"par": 10}, "cutoff"),
        ({"par": 0.5, "cutoff": 1}, "par is 0.5"),
        ({"statuses": [[[0], [9]]]}, "statuses go from 0 to 9"),
        ({"statuses": [[[0.5], [1.0]]]}, "whole numbers"),
        ({"statuses": [[[300], [1]]]}, "300"),
        ({"statuses": [[[0, 1], [1, 1]]]}, "shape"),
        ({"statuses": [[[0, 1], [1]]]}, "lengths"),
        ({"seeds": [[["s"], ["t"]]]}, "whole numbers"),
        ({"seeds": np.array([[[2**63], [1]]], np.uint64)}, "seeds go from 1 to"),
        ({"costs": [[[1.0], [np.nan]]], "statuses": [[[0], [3]]]}, "crashed and no cost"),
    ],
)
def test_bad_arrays(wrong: dict[str, Any], words: str) -> None:
    """A matrix that cannot be would be taken, or refused without naming the entry."""
    with pytest.raises(InputError, match=words) as error:
        CostMatrix(**GOOD | wrong)
    assert "\n" not in str(error.value)


def test_masked_runs_are_missing() -> None:
    """The values under a mask would be taken for costs."""
    mask = [[[False], [True]]]
    for costs in ([[[1.0], [3.0]]], [[[1], [3]]]):
        fields = {"costs": costs, "seeds": [[[1], [3]]]}
        masked = {name: np.ma.masked_array(item, mask) for name, item in fields.items()}
        matrix = CostMatrix(**GOOD | masked)
        np.testing.assert_array_equal(matrix.costs, [[[1], [np.nan]]])
        assert np.ravel(matrix.seeds).tolist() == [1, -1]  # type: ignore[arg-type]


def test_costs_of_single_precision_at_the_end_of_the_range() -> None:
    """Costs that single precision rounded past `high` would be refused, or larger ones cut down."""
    costs = np.full((1, 2, 1), 0.1, np.float32)
    assert CostMatrix(**GOOD | {"costs": costs, "high": 0.1}).costs.max() == 0.1
    for wrong in ([[[0.1 * (1 + 1e-6)], [0]]], [[[float(np.float32(0.1))], [-3]]]):
        with pytest.raises(InputError, match=r"above high|below low"):
            CostMatrix(**GOOD | {"costs": wrong, "high": 0.1})


def test_tables_give_the_same_matrix_back() -> None:
    """A cost, a status, a seed, a family or a name would be lost in a DataFrame."""
    matrix = full()
    assert tc.import_runs(matrix.to_frame(), low=0, high=10).runs == matrix


@pytest.mark.parametrize(
    ("numbers", "words"),
    [([0, -1], "from 0"), ([0, 10**11], "fill little"), ([3, 3], "Run 3 of 'a' on 'x' .*twice")],
)
def test_columns_that_are_no_matrix(numbers: list[int], words: str) -> None:
    """A run would overwrite another one, or a mistaken column fill the memory."""
    zeros = np.zeros(2, np.int64)
    with pytest.raises(InputError, match=words):
        CostMatrix.of_runs((["a"], zeros), (["x"], zeros), np.array(numbers), np.ones(2))
