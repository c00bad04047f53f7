"""Two logs side by side."""

import numpy as np
import pytest

from truecost.errors import InputError, Refusal
from truecost.judge import assess
from truecost.judge.question import Question
from truecost.matrix import CostMatrix, Log
from truecost.matrix.log import Plan
from truecost.matrix.pairing import pair_logs
from truecost.runs import Status


def log(costs: dict[str, float], name: str = "solver", **fields: object) -> Log:
    """A log of one configuration."""
    values = np.array([[[cost] for cost in costs.values()]])
    return Log(runs=CostMatrix(values, [name], list(costs), 0, 10), **fields)  # type: ignore[arg-type]


def test_pairs_are_in_line() -> None:
    """Costs of one version would stand beside another instance's of the other."""
    pair = pair_logs(log({"x": 1, "y": 2}), log({"y": 3, "x": 4}))
    assert pair.runs.configurations == ("OLD", "NEW")
    assert (pair.default, pair.incumbent, pair.runs.instances) == ("OLD", "NEW", ("x", "y"))
    np.testing.assert_array_equal(pair.runs.costs[:, :, 0], [[1, 2], [4, 3]])


def test_missing_rows_are_refused() -> None:
    """A version that lacks the instances it failed on would pass."""
    old, new = log({"x": 1, "y": 2}), log({"x": 4})
    with pytest.raises(InputError, match=r"NEW lacks 1 instance of OLD, 'y'.*--common"):
        pair_logs(old, new)
    with pytest.raises(InputError, match="OLD lacks"):
        pair_logs(new, old)
    pair = pair_logs(old, new, common=True)
    assert pair.runs.instances == ("x",)
    assert [caveat.code for caveat in pair.caveats] == ["common"]
    with pytest.raises(InputError, match="no instance in common"):
        pair_logs(old, log({"z": 1}), common=True)
    twice = Log(runs=CostMatrix([[[1, 2], [3, 4]]], ["solver"], ["x", "y"], 0, 10))
    with pytest.raises(InputError, match=r"OLD has fewer runs than NEW on 'x' \(1 and 2\)"):
        pair_logs(old, twice)
    assert pair_logs(old, twice, common=True).runs.shape == (2, 2, 2)


def test_different_metrics_are_refused() -> None:
    """Costs with different cutoffs, ranges or directions would be compared."""
    timed = CostMatrix([[[1.0]]], ["solver"], ["x"], cutoff=1, par=10)
    other = log({"x": 1})
    with pytest.raises(InputError, match="cutoffs"):
        pair_logs(other, Log(runs=timed))
    with pytest.raises(InputError, match="ranges"):
        pair_logs(other, Log(runs=other.runs.replace(high=20)))
    with pytest.raises(InputError, match="scores"):
        pair_logs(other, log({"x": 1}, maximised=True))
    unknown = Log(runs=CostMatrix([[[1.0]]], ["solver"], ["x"]))
    assert pair_logs(unknown, other).runs.high == 10


def test_caps_are_kept_where_one_log_knows_no_statuses() -> None:
    """A censored run would be taken as its cap, and a version stopped early look cheap."""
    capped = CostMatrix([[[1.0]]], ["solver"], ["x"], 0, 10, statuses=[[[Status.CENSORED]]])
    for logs in ((log({"x": 5}), Log(runs=capped)), (Log(runs=capped), log({"x": 5}))):
        pair = pair_logs(*logs)
        assert pair.runs.censored.sum() == 1
        assert isinstance(assess(pair).evidence, Refusal)


def test_configurations_are_picked_by_name() -> None:
    """The wrong configuration of a log would be compared, or a misspelt one not be named."""
    runs = CostMatrix([[[1.0]], [[2.0]], [[3.0]]], ["a", "b", "c"], ["x"], 0, 10)
    many = Log(runs=runs, default="a", incumbent="c")
    pair = pair_logs(many, many, ("default", None))
    assert pair.runs.costs.ravel().tolist() == [1, 3]
    assert pair.runs.configurations == ("default", "c")
    with pytest.raises(InputError, match="no configuration 'd'"):
        pair_logs(many, many, ("a", "d"))
    with pytest.raises(InputError, match="3 configurations"):
        pair_logs(Log(runs=runs), many)


def test_test_runs_are_compared_where_both_have_some() -> None:
    """Of validations the tuned training runs would be compared."""
    test = CostMatrix([[[7.0]]], ["solver"], ["new"], 0, 10)
    pair = pair_logs(log({"x": 1}, test=test, adaptive=True), log({"x": 2}, test=test))
    assert pair.runs.costs.ravel().tolist() == [7, 7]
    assert pair.adaptive is False


def test_a_comparison_keeps_the_looks_of_a_validation() -> None:
    """A validation that ended when its runs proved something would be compared as one look."""
    test = CostMatrix([[[7.0], [8.0]], [[5.0], [6.0]]], ["a", "b"], ["n1", "n2"], 0, 10)
    plan = Plan(order=("n2", "n1", "n3"), planned=3, delta=0.2, primary="wins", margin="5%")
    validated = log({"x": 1}, test=test, adaptive=True, test_plan=plan, incumbent="b")
    compared = pair_logs(validated, validated, ("a", "b"))
    result = assess(compared, Question(configuration="b", basis="fixed before", delta=0.05))
    assert not isinstance(result.evidence, Refusal)
    assert (result.evidence.watched, result.evidence.units, result.evidence.planned) == (True, 2, 3)
    # What that validation asked is not asked again.
    assert (result.question.delta, result.question.primary, result.question.margin) == (
        0.05, "mean", None
    )  # fmt: skip


def test_test_runs_on_training_instances_are_not_compared() -> None:
    """Test runs on the instances that a version was tuned on would count as fresh."""
    test = CostMatrix([[[7.0], [8.0]]], ["solver"], ["x", "new"], 0, 10)
    tuned = log({"inst/x": 1}, test=test, adaptive=True)
    other = log({"inst/x": 2}, test=test)
    assert pair_logs(other, tuned, common=True).runs.instances == ("new",)
    seen = log({"x": 1}, test=test.select(instances="x"), adaptive=True)
    pair = pair_logs(log({"x": 2}, test=test), seen)
    assert (pair.adaptive, pair.runs.costs.ravel().tolist()) == (True, [2, 1])


def test_a_tuned_side_is_told() -> None:
    """A configuration tuned on these instances would be compared as if it were not."""
    pair = pair_logs(log({"x": 1}), log({"x": 2}, adaptive=True))
    assert pair.adaptive is True
    assert "tuned" in [caveat.code for caveat in pair.caveats]
    assert (
        pair_logs(log({"x": 1}), log({"x": 2}, adaptive=True, default="solver")).adaptive is False
    )
