"""CostMatrix: checks at the door, selection, failures."""

from typing import Any

import numpy as np
import pytest

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


def full(missing: float = 0.0, seed: int = 0) -> CostMatrix:
    """A matrix with statuses, seeds and a share of missing runs."""
    rng = np.random.default_rng(seed)
    shape = (5, 4, 3)
    costs = rng.random(shape) * 10
    statuses = rng.integers(-1, len(Status), size=shape).astype(np.int8)
    seeds = rng.integers(0, 2**62, size=shape)
    gone = rng.random(shape) < missing
    costs[gone], statuses[gone], seeds[gone] = np.nan, -1, -1
    names = ["plain", "with, comma", 'with "quotes"', "line\nbreak", "日本"]
    return CostMatrix(costs, names, names[:4], 0, 10, statuses=statuses, seeds=seeds)


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
    """Selecting by name would give other configurations or instances, or another order."""
    matrix = full(0.2)
    part = matrix.select(configurations=["日本", "plain"], instances="with, comma")
    assert part.configurations == ("日本", "plain")
    assert part.instances == ("with, comma",)
    np.testing.assert_array_equal(part.costs[:, 0], matrix.costs[[4, 0], 1])
    assert part.seeds is not None
    assert matrix.seeds is not None
    np.testing.assert_array_equal(part.seeds[:, 0], matrix.seeds[[4, 0], 1])
    assert matrix.select() == matrix


def test_unknown_names_come_with_the_nearest_one() -> None:
    """A misspelt name would be refused without a hint, or an empty selection be taken for all."""
    with pytest.raises(InputError, match="plain"):
        full().select(configurations="plian")
    with pytest.raises(InputError):
        full().select(instances=[])


def test_families_follow_a_selection() -> None:
    """Families would stay in the old order when instances are selected."""
    matrix = full().replace(families=["f", "g", "f", "h"])
    part = matrix.select(instances=[matrix.instances[3], matrix.instances[1]])
    assert part.families == ("h", "g")


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
    """Costs would say one thing of a failed run and statements another."""
    times = [[[3.0], [5.0], [4.0], [2.0]]]
    unknown = CostMatrix(times, ["a"], list("wxyz"), cutoff=5, par=10)
    assert unknown.costs.ravel().tolist() == [3, 50, 4, 2]
    statuses = [[[Status.SOLVED], [Status.SOLVED], [Status.CRASHED], [Status.CENSORED]]]
    known = CostMatrix(times, ["a"], list("wxyz"), cutoff=5, par=10, statuses=statuses)
    assert known.costs.ravel().tolist() == [3, 5, 50, 2]
    assert known.failed.ravel().tolist() == [False, False, True, False]


def test_the_penalty_sets_the_range() -> None:
    """Of running times the range would have to be given beside cutoff and penalty."""
    matrix = CostMatrix([[[1.0], [50.0]]], ["a"], ["x", "y"], cutoff=5, par=10)
    assert (matrix.low, matrix.high) == (0, 50)
    with pytest.raises(InputError, match="above high"):
        CostMatrix([[[51.0]]], ["a"], ["x"], cutoff=5, par=10)


def test_failures_come_from_statuses_or_the_penalty() -> None:
    """A timeout would pass for solved, a capped run for failed, or a bad score for a failure."""
    costs = [[[5.0], [50.0], [2.0], [50.0]]]
    names = ["w", "x", "y", "z"]
    statuses = [[[0], [int(Status.TIMEOUT)], [int(Status.CENSORED)], [NO_STATUS]]]
    matrix = CostMatrix(costs, ["a"], names, cutoff=5, par=10, statuses=statuses)
    assert matrix.failed.ravel().tolist() == [False, True, False, True]
    assert matrix.can_fail
    score = CostMatrix(costs, ["a"], names, 0, 50)
    assert not score.can_fail
    assert not score.failed.any()


def test_capped_runs_cost_the_worst_in_estimates() -> None:
    """A run stopped at a cap would look cheap, or its cost be taken for known."""
    statuses = [[[0], [int(Status.CENSORED)]]]
    matrix = CostMatrix([[[1.0], [2.0]]], ["a"], ["x", "y"], 0, 5, statuses=statuses)
    assert matrix.charged.ravel().tolist() == [1, 5]
    with pytest.raises(InputError, match="cap"):
        matrix.exact_costs()
    unknown = CostMatrix([[[3.0], [2.0]]], ["a"], ["x", "y"], statuses=statuses)
    assert unknown.charged.ravel().tolist() == [3, 3]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"costs": [[[1.0], [7.0]]]}, "instance 'y' costs 7: above high = 5"),
        ({"costs": [[[1.0], [-1.0]]]}, "instance 'y' costs -1: below low = 0"),
        ({"costs": [[[1.0, 2.0], [1.0, np.inf]]]}, "Run 1 .* instance 'y' costs inf: not finite"),
        ({"costs": [[[-np.inf], [1.0]]]}, "instance 'x' costs -inf: not finite"),
        ({"costs": [[[np.nan], [np.nan]]]}, "Every cost is missing"),
        ({"costs": np.ones((0, 2, 1)), "configurations": []}, "configuration"),
        ({"costs": np.ones((1, 0, 1)), "instances": []}, "instance"),
        ({"costs": np.ones((1, 2, 0))}, "run"),
        ({"costs": np.ones(2)}, "dimension"),
        ({"costs": [[[1.0], [2.0]], [[1.0]]]}, "lengths"),
        ({"costs": [[[1.0, 2.0], [1.0]]]}, "NaN where runs are missing"),
        ({"costs": [[["fast"], [2.0]]]}, "fast"),
        ({"costs": "many"}, "many"),
        ({"costs": [[["1.5"], [2.0]]]}, r"1\.5"),
        ({"costs": [[[True], [False]]]}, "True"),
        ({"costs": [[[10**400], [1]]]}, "Give numbers"),
        ({"costs": [[[1e-200], [0.0]]]}, "smaller unit"),
        ({"instances": ["x", "y\0"]}, "NUL"),
        ({"instances": ["x", "\ud800"]}, "surrogates"),
        ({"low": -1.7e308, "high": 1.7e308}, "low below high"),
        ({"low": 5}, "low below high"),
        ({"high": np.nan}, "low below high"),
        ({"statuses": [[[0, 1], [1]]]}, "lengths"),
        ({"configurations": ["a", "b"]}, "1 configuration, and 2 names"),
        ({"instances": ["x", "x"]}, "'x'"),
        ({"instances": ["x", ""]}, "instance name"),
        ({"instances": ["x", 3]}, "instance name"),
        ({"configurations": "a"}, "list"),
        ({"families": "ab"}, "family of each instance"),
        ({"families": ["f"]}, "2 instances and 1 families"),
        ({"cutoff": 0}, "cutoff"),
        ({"par": 10}, "cutoff"),
        ({"par": 0.5, "cutoff": 1}, "par is 0.5"),
        ({"statuses": [[[0], [9]]]}, "instance 'y' has the status 9"),
        ({"statuses": [[[0.5], [1.0]]]}, "whole numbers"),
        ({"statuses": [[[300], [1]]]}, "300"),
        ({"statuses": [[[0, 1], [1, 1]]]}, "shape"),
        ({"seeds": [[["s"], ["t"]]]}, "whole numbers"),
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
    costs = np.ma.masked_array([[[1.0], [3.0]]], mask=[[[False], [True]]])
    seeds = np.ma.masked_array([[[1], [3]]], mask=[[[False], [True]]])
    matrix = CostMatrix(costs, ["a"], ["x", "y"], 0, 5, seeds=seeds)
    np.testing.assert_array_equal(matrix.costs, [[[1], [np.nan]]])
    assert matrix.seeds is not None
    assert matrix.seeds.ravel().tolist() == [1, -1]


def test_costs_of_single_precision_at_the_end_of_the_range() -> None:
    """Costs that single precision rounded past `high` would be refused, or larger ones cut down."""
    costs = np.full((1, 2, 1), 0.1, np.float32)
    assert CostMatrix(costs, ["a"], ["x", "y"], 0, 0.1).costs.max() == 0.1
    with pytest.raises(InputError, match="above high"):
        CostMatrix([[[0.1 * (1 + 1e-6)]]], ["a"], ["x"], 0, 0.1)
    with pytest.raises(InputError, match="below low"):
        CostMatrix(np.array([[[np.float32(0.1)], [-3]]], float), ["a"], ["x", "y"], 0, 0.1)
