"""Two logs side by side, and names that mean the same instance."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError, Refusal
from truecost.judge import assess
from truecost.matrix import CostMatrix, Log
from truecost.matrix.pairing import named_once, pair_logs, unknown_to
from truecost.runs import Status


def log(costs: dict[str, float], name: str = "solver", **fields: object) -> Log:
    """A log of one configuration."""
    values = np.array([[[cost] for cost in costs.values()]])
    return Log(runs=CostMatrix(values, [name], list(costs), 0, 10), **fields)  # type: ignore[arg-type]


def test_pairs_are_in_line() -> None:
    """Costs of one version would stand beside another instance's of the other."""
    old, new = log({"x": 1, "y": 2}), log({"y": 3, "x": 4})
    pair = pair_logs(old, new, labels=("v1.csv", "v2.csv"))
    assert pair.runs.configurations == ("v1", "v2")
    assert (pair.default, pair.incumbent, pair.runs.instances) == ("v1", "v2", ("x", "y"))
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


@pytest.mark.parametrize(
    ("training", "test", "fresh"),
    [
        (["a"], ["b"], ["b"]),
        (["a"], ["a"], []),
        (["inst/a"], ["a"], []),
        (["a"], ["./inst/a"], []),
        (["/home/u/inst/a"], ["/cluster/inst/a"], []),
        (["train/1", "train/2"], ["test/1", "test/3"], ["test/3"]),
        # Where file names do not tell instances of one log apart, folders do.
        (["sat/1", "unsat/1"], ["crypto/1", "x/sat/1"], ["crypto/1"]),
        (["sat/1"], ["crypto/1", "plan/1"], ["crypto/1", "plan/1"]),
    ],
)
def test_fresh_names(training: list[str], test: list[str], fresh: list[str]) -> None:
    """A training instance under another path would count as fresh, or a fresh one as known."""
    assert unknown_to(training, test) == fresh


PATHS = st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=3).map("/".join)


@given(st.lists(PATHS, min_size=1, max_size=6, unique=True))
def test_training_names_are_never_fresh(names: list[str]) -> None:
    """A name of training would count as fresh, with or without a folder in front."""
    assert unknown_to(names, names) == []
    assert unknown_to(names, [f"./{name}" for name in names]) == []


def test_files_with_other_content_are_other_instances(tmp_path: Path) -> None:
    """Two folders that number their instances alike would be taken for one, though files differ."""
    names = []
    for folder, text in (("train", "one"), ("test", "two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1").write_text(text)
        names.append(str(tmp_path / folder / "1"))
    assert unknown_to(names[:1], names[1:]) == names[1:]
    (tmp_path / "test" / "1").write_text("one")
    assert unknown_to(names[:1], names[1:]) == []


def test_instances_count_once(tmp_path: Path) -> None:
    """An instance under two names, or two files of one content, would count twice."""
    for name in ("a", "copy", "b"):
        (tmp_path / name).write_text("same" if name != "b" else "not!")
    paths = [str(tmp_path / name) for name in ("a", "copy", "b")]
    costs = dict.fromkeys([*paths, "x/y", "./x/y"], 1.0)
    test = CostMatrix([[[7.0], [8.0]]], ["solver"], [paths[1], "new"], 0, 10)
    once = named_once(log(costs, test=test))
    assert once.runs.instances == (paths[0], paths[2], "x/y")
    assert once.test is not None
    # The test instance has the content of a training instance, and gets its name.
    assert once.test.instances == (paths[0], "new")
    assert [caveat.code for caveat in once.caveats] == ["twice"]
    assert named_once(once) is once
