"""Families of instances: where they come from, and that files keep them."""

from pathlib import Path

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.matrix import CostMatrix, families

NAMES = ("sat/crypto/a1.cnf", "sat/crypto/a2.cnf", "sat/planning/b1.cnf")


def test_families_come_from_folders_mappings_and_names(tmp_path: Path) -> None:
    """A family would be read from the wrong part of a name, or not be matched by its path's end."""
    assert families.families_of(NAMES, "folder") == ("crypto", "crypto", "planning")
    assert families.families_of(NAMES, r"/([ab])\d") == ("a", "a", "b")
    table = tmp_path / "families.csv"
    table.write_text(
        "benchmark_name,family_name\na1.cnf,x\ncrypto/a2.cnf,y\nother/sat/planning/b1.cnf,z\n"
    )
    assert families.families_of(NAMES, table) == ("x", "y", "z")
    assert families.families_of(NAMES, str(table)) == ("x", "y", "z")
    assert families.families_of(("i1", "i2"), {"i1": "x", "i2": "y"}) == ("x", "y")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("folder", "all share one"),
        ("(b1)", "2 of 2 have none"),
        ("((", "regular expression"),
        ({"a1.cnf": "x"}, "1 of 2 have none: sat/a2.cnf"),
        ({"s/a1.cnf": "x", "t/a1.cnf": "y", "a2.cnf": "z"}, "one family for"),
    ],
)
def test_what_has_no_family_is_said(how: str | dict[str, str], message: str) -> None:
    """An instance without a family, or with two, would pass in silence."""
    with pytest.raises(InputError, match=message):
        families.families_of(("sat/a1.cnf", "sat/a2.cnf"), how)


def test_candidates_leave_out_what_is_no_grouping() -> None:
    """One group for all, or one for each instance, would be tested as a grouping."""
    assert families.candidates(NAMES) == {
        "folder": ("crypto", "crypto", "planning"),
        "name": ("a", "a", "b"),
    }
    assert families.candidates(("i1", "i2", "i3")) == {}
    assert families.candidates(("x", "y"), ("f", "f")) == {}


@pytest.mark.parametrize("ending", ["npz", "parquet", "csv"])
def test_files_keep_families(tmp_path: Path, ending: str) -> None:
    """A matrix file would lose the families of its instances, or a selection mix them up."""
    matrix = CostMatrix(np.arange(6.0).reshape(2, 3), ["a", "b"], NAMES, families=["f", "f", "g"])
    matrix.save(tmp_path / f"m.{ending}")
    loaded = CostMatrix.load(tmp_path / f"m.{ending}")
    assert loaded.families == ("f", "f", "g")
    assert loaded == matrix
    assert matrix.select(instances=[NAMES[2], NAMES[0]]).families == ("g", "f")
    assert matrix.replace(families=None) != matrix


@pytest.mark.parametrize(
    ("labels", "message"),
    [(["f"], "each of 3 instances"), (["f", "", "g"], "name of a family"), ("fgh", "the text")],
)
def test_bad_families_are_refused(labels: object, message: str) -> None:
    """A matrix would take families that do not fit its instances."""
    with pytest.raises(InputError, match=message):
        CostMatrix(np.zeros((1, 3)), ["a"], NAMES, families=labels)  # type: ignore[arg-type]


def test_one_instance_has_one_family(tmp_path: Path) -> None:
    """A table that gives an instance two families would be read as if it gave one."""
    table = tmp_path / "t.csv"
    table.write_text("configuration,instance,cost,family\na,i,1,f\nb,i,2,g\n")
    with pytest.raises(InputError, match="one family for instance 'i'"):
        CostMatrix.load(table)
