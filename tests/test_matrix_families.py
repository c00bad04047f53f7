"""Families of instances: from files, folders and names."""

from pathlib import Path

import pytest

from truecost.errors import InputError
from truecost.matrix.families import by_folder, by_prefix, candidate_groupings, families_of


def test_mappings_match_by_the_end_of_a_path() -> None:
    """A list of families with shorter or longer paths would not fit the instances."""
    mapping = {"a.cnf": "crypto", "data/sat/b.cnf": "planning"}
    assert families_of(["sat/a.cnf", "sat/b.cnf"], mapping) == ("crypto", "planning")
    with pytest.raises(InputError, match="may belong to"):
        families_of(["a.cnf"], {"x/a.cnf": "f", "y/a.cnf": "g"})
    with pytest.raises(InputError, match=r"c\.cnf"):
        families_of(["a.cnf", "c.cnf"], mapping)


@pytest.mark.parametrize(
    "text",
    [
        "instance,family\na,f\nb,g\n",
        "family;instance\nf;a\ng;b\n",
        "a\tf\nb\tg\n",
        "\ufeffname,class\na,f\nb,g\n",
    ],
)
def test_files_of_families(tmp_path: Path, text: str) -> None:
    """A csv file would be read with its columns exchanged, or its header as an instance."""
    path = tmp_path / "families.csv"
    path.write_text(text)
    assert families_of(["a", "b"], str(path)) == ("f", "g")


def test_bad_files_of_families(tmp_path: Path) -> None:
    """A file that is none would end in somebody else's exception, or a family be chosen."""
    path = tmp_path / "families.csv"
    for text, words in [
        ("a\nb\n", "two columns"),
        ("a,f\na,g\n", "several families"),
        ("name,size,category\na,3,f\n", "called family"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            families_of(["a"], path)
    path.write_bytes(b"\xff\xfe,\x00")
    with pytest.raises(InputError):
        families_of(["a"], path)
    with pytest.raises(InputError, match="no file"):
        families_of(["a"], "no-such-file")


def test_folders_below_the_shared_one() -> None:
    """The folder that all instances share would be a family."""
    assert by_folder(["i/sat/a", "i/sat/b", "i/unsat/deep/c"]) == ("sat", "sat", "unsat")
    with pytest.raises(InputError, match="one folder"):
        by_folder(["i/a", "i/b"])
    with pytest.raises(InputError, match="without a family"):
        by_folder(["sat/a", "b"])


def test_prefixes_end_at_the_first_digit() -> None:
    """Names such as ssAES_4-4-8 would each be a family of their own."""
    assert by_prefix(["x/ssAES_4-4.cnf", "ssAES_9", "7z", "Käse1"]) == (
        "ssAES",
        "ssAES",
        "(no letters)",
        "Käse",
    )


def test_candidate_groupings_group() -> None:
    """A grouping with one group, or one for each instance, would be tested."""
    names = ["f/a1", "f/a2", "g/b1", "g/b2"]
    assert list(candidate_groupings(names)) == ["folder", "prefix"]
    assert list(candidate_groupings(["a1", "a2", "a3"])) == []
    assert list(candidate_groupings(["a1", "a2", "a3"], ["x", "x", "y"])) == ["family"]
