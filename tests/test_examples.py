import json
from pathlib import Path

import numpy as np
import pytest
from commands import run

import truecost
from truecost import InputError, Status, examples
from truecost.matrix import provenance

FOLDER = Path(examples.__file__).parent


@pytest.mark.parametrize("name", examples.names())
def test_examples_are_what_their_page_says(name: str) -> None:
    """A matrix of the package would not fit the description beside it, or have costs its metric
    cannot give.
    """
    matrix, about = truecost.load_example(name), examples.describe_example(name)
    configurations, instances, runs = matrix.shape
    assert min(configurations, instances) >= 50
    assert runs >= 2
    assert about["runs"] == matrix.counts().sum() == configurations * instances * runs
    assert matrix.statuses is not None
    assert {"censored": 0, **about["statuses"]} == {
        status.label: int((matrix.statuses == status).sum()) for status in Status
    }
    solved = matrix.statuses == Status.SOLVED
    assert (matrix.costs[solved] <= matrix.high / 10).all()
    assert (matrix.costs[~solved] == matrix.high).all()
    # Hard enough that some runs time out, easy enough that many do not.
    assert 0.1 < np.mean(matrix.statuses == Status.TIMEOUT) < 0.7
    assert matrix.configurations[0] == about["default"]
    assert set(matrix.configurations) == set(about["configurations"])
    kept = provenance.read(examples.path_of(name))
    assert kept is not None
    assert (kept.proposed, kept.raced, kept.default) == ("beforehand", False, about["default"])


EVERYWHERE = {
    "info": [],
    "bound": [],
    "audit": ["--splits", "20"],
    "certify": [],
    "plan": ["--error", "0.1"],
    "experiment estimators": [],
    "experiment configure": ["--repetitions", "2"],
}


@pytest.mark.parametrize("command", EVERYWHERE)
def test_examples_go_by_their_names(command: str, tmp_path: Path) -> None:
    """A command would look for a file of that name, where docs/import.md says that every one
    takes examples.
    """
    ended = run(*command.split(), "clasp", *EVERYWHERE[command], "--json", cwd=tmp_path)
    assert ended.stderr == ""
    # An audit answers 1 where the incumbent is not shown to be better.
    assert ended.returncode == 0 or (command == "audit" and ended.returncode == 1)
    assert json.loads(ended.stdout)


def test_reproduce_takes_every_example_by_itself(tmp_path: Path) -> None:
    """Without a matrix, `truecost reproduce` would do nothing, or one example only."""
    # Of all formats HTML takes the least: what figures look like is a matter of other tests.
    ended = run(
        "reproduce", "--out", "all", "--splits", "10", "--format", "html", "--json", cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    assert list(json.loads(ended.stdout)["matrices"]) == examples.names()
    assert (
        sorted(path.parent.name for path in tmp_path.glob("all/*/results.md")) == examples.names()
    )
    assert "PAR10 s" in (tmp_path / "all" / "lkh" / "results.md").read_text()
    assert {path.suffix for path in tmp_path.glob("all/*/figures/*")} == {".html"}


def test_examples_are_light() -> None:
    """The examples would make the package heavy."""
    assert (
        sum(path.stat().st_size for path in FOLDER.iterdir() if path.suffix in (".npz", ".json"))
        < 4_000_000
    )


def test_unknown_examples_are_named() -> None:
    """A misspelt example would end in a traceback about a file inside the package."""
    with pytest.raises(InputError, match="expected an example out of"):
        truecost.load_example("../cli")


@pytest.mark.parametrize("name", examples.names())
def test_descriptions_name_no_host(name: str) -> None:
    """A file of the package would carry the name of the machine it was made on."""
    assert all(
        machine["host"] == ""
        for machine in json.loads((FOLDER / f"{name}.json").read_text())["machines"]
    )
