"""Names that mean the same instance."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.matrix import CostMatrix, Log
from truecost.matrix.instances import named_once, unknown_to


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
    runs = CostMatrix([[1.0] * 5], ["solver"], [*paths, "x/y", "./x/y"])
    test = CostMatrix([[7.0, 8.0, 9.0]], ["solver"], [paths[1], "new", "./new"])
    once = named_once(Log(runs=runs, test=test))
    assert once.runs.instances == (paths[0], paths[2], "x/y")
    assert once.test is not None
    # The test instance has the content of a training instance, and gets its name.
    assert once.test.instances == (paths[0], "new")
    assert [caveat.code for caveat in once.caveats] == ["twice"]
    assert named_once(once) is once
