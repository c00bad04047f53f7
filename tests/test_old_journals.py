"""Journals of version 0.2 stay readable, and go on where they were; `data/make_journals.py` made
them.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from commands import Ended, run

OLD = Path(__file__).parent / "data" / "journals"
JOURNALS = sorted(path.stem for path in OLD.glob("*.db"))
FAST = ("--workers", 2, "--no-pin", "--quiet", "--json")
pytestmark = pytest.mark.usefixtures("own_locks")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the journals with their scenario, on another path."""
    return shutil.copytree(OLD, tmp_path / "copied")


def truecost(*words: object, folder: Path, codes: tuple[int, ...] = (0,)) -> Any:
    """What a command prints, as data."""
    ended: Ended = run(*words, cwd=folder)
    assert ended.returncode in codes, ended.stderr
    return json.loads(ended.stdout)


def runs_of(path: Path) -> set[tuple[Any, ...]]:
    """Every run with all that was recorded of it."""
    with closing(sqlite3.connect(path)) as connection:
        return set(
            connection.execute(
                "SELECT c.name, i.name, r.number, r.seed, r.status, r.exit_code, r.cpu, r.wall,"
                " r.value, r.detail FROM runs r JOIN configurations c ON c.id = r.configuration"
                " JOIN instances i ON i.id = r.instance"
            )
        )


def test_there_is_one_of_each() -> None:
    """A kind of journal would not be tested at all."""
    kinds = ("gather", "search", "validation")
    assert sorted(f"{kind}{end}" for kind in kinds for end in ("", "-unfinished")) == JOURNALS


@pytest.mark.parametrize("name", JOURNALS)
def test_old_journals_are_read(name: str, folder: Path) -> None:
    """A journal of 0.2 could no longer be summarised or audited, or reading it would change it."""
    path = folder / f"{name}.db"
    before, content = runs_of(path), path.read_bytes()
    summary = truecost("info", path.name, "--json", folder=folder)
    assert summary["journal"]["runs"] == len(before)
    assert summary["journal"]["statuses"]["crashed"] == sum(row[5] == 1 for row in before)
    answer = truecost("audit", path.name, "--json", "--quiet", folder=folder, codes=(0, 1))
    assert answer["runs"]["low"] == 0.0
    assert answer["runs"]["high"] == 110.0
    # Runs of a search or gather that wait for slower ones do not count yet.
    assert 0 < answer["runs"]["runs"] <= 96
    assert path.read_bytes() == content


def test_an_old_gather_goes_on(folder: Path) -> None:
    """An unfinished gather of 0.2 would start over, run other runs, or not go on at all."""
    path = folder / "gather-unfinished.db"
    before, whole = runs_of(path), runs_of(folder / "gather.db")
    truecost("gather", "scenario.toml", "--journal", path.name, *FAST, folder=folder)
    after = runs_of(path)
    assert before < after
    # All but times are those of the gather that was not stopped.
    assert {row[:6] + row[8:] for row in after} == {row[:6] + row[8:] for row in whole}


def test_an_old_gather_grows(folder: Path) -> None:
    """A finished gather of 0.2 could not be extended, or would lose runs by it."""
    before = runs_of(folder / "gather.db")
    words = ("--journal", "gather.db", "--instances", 9)
    truecost("gather", "scenario.toml", *words, *FAST, folder=folder)
    after = runs_of(folder / "gather.db")
    assert before < after
    assert len(after) == 6 * 9 * 2


def test_an_old_search_goes_on(folder: Path) -> None:
    """An unfinished search of 0.2 would lose its runs, or not come to an end."""
    path = folder / "search-unfinished.db"
    before = runs_of(path)
    answer = truecost("configure", "scenario.toml", "--journal", path.name, *FAST, folder=folder)
    after = runs_of(path)
    assert before < after
    assert len(after) <= 120
    assert answer["certificate"]["chosen"] == "test"


def test_an_old_search_gets_a_larger_budget(folder: Path) -> None:
    """A finished search of 0.2 could not go further, or would forget what it had run."""
    before = runs_of(folder / "search.db")
    words = ("--journal", "search.db", "--budget", "180runs")
    truecost("configure", "scenario.toml", *words, *FAST, folder=folder)
    after = runs_of(folder / "search.db")
    assert before < after
    assert 120 < len(after) <= 180


def test_an_old_validation_goes_on(folder: Path) -> None:
    """An unfinished validation of 0.2 would start over, or end with another verdict than the one
    that was not stopped.
    """
    runs = ("gather.db", "--scenario", "scenario.toml")
    words = (*runs, "--instances", "new/*.txt", "--budget", "60runs")
    answers = {}
    for name in ("validation", "validation-unfinished"):
        before = runs_of(folder / f"{name}.db")
        answers[name] = truecost(
            "validate", *words, "--journal", f"{name}.db", *FAST, folder=folder
        )
        after = runs_of(folder / f"{name}.db")
        assert before <= after
        assert (before == after) == (name == "validation")
    assert answers["validation"]["comparison"] == answers["validation-unfinished"]["comparison"]
