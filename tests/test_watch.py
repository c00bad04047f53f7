"""The page that follows a journal."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from commands import run

from truecost.campaigns.watching import state_of
from truecost.journal.journal import Journal

JOURNALS = Path(__file__).parent / "data" / "journals"
KINDS = ["gather", "search", "validation"]


def journal(folder: Path, name: str) -> Path:
    """A copy of a journal that 0.2.0 wrote."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(JOURNALS / f"{name}.db", folder / f"{name}.db"))


@contextlib.contextmanager
def served(path: Path) -> Iterator[str]:
    """The command on a port of its own; its address."""
    command = [sys.executable, "-m", "truecost.cli", "watch", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield line.split(" (")[0].rpartition(" ")[2].strip()
        finally:
            process.terminate()


def fetched(request: str | urllib.request.Request) -> bytes:
    """What the server answers."""
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        return bytes(answer.read())


@pytest.mark.parametrize("ending", ["", "-unfinished"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_journal_has_a_state(tmp_path: Path, kind: str, ending: str) -> None:
    """A campaign could not be followed, or its page would count runs that are not there."""
    path = journal(tmp_path, kind + ending)
    with Journal.read(path) as book:
        state = state_of(book)
    with contextlib.closing(sqlite3.connect(path)) as base:
        tables = ["runs", "capped"] if kind == "search" else ["runs"]
        number = sum(
            base.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in tables
        )
    assert sum(state["outcomes"].values()) == state["runs"] <= number
    if kind == "gather":
        assert state["share"] == state["runs"] / state["planned"]
        assert (state["share"] == 1) == (ending == "")
    if kind == "search":
        assert state["incumbents"]
        assert 0 < state["incumbents"][-1]["training_runs"] <= state["runs"]
        assert 0 < state["default_runs"] <= state["runs"]
        assert sum(state["sources"].values()) == state["configurations"]
    if kind == "validation":
        assert [point["instances"] for point in state["limits"]] == list(
            range(1, state["instances"] + 1)
        )


def test_limits_of_a_validation_only_get_better(tmp_path: Path) -> None:
    """A limit that was valid at an earlier look would be taken back."""
    with Journal.read(journal(tmp_path, "validation")) as book:
        state = state_of(book)
    values = [point["limit"] for point in state["limits"]]
    sign = 1 if state["side"] == "lower" else -1
    assert len(set(values)) > 1
    assert all(sign * (later - earlier) >= 0 for earlier, later in pairwise(values))


def test_the_page_is_for_this_machine_only(tmp_path: Path) -> None:
    """A page in the same browser could read the journal through a name that points here, or any
    file be fetched.
    """
    path = journal(tmp_path, "search")
    before = sorted((file.name, file.stat().st_mtime_ns) for file in tmp_path.iterdir())
    with served(path) as address:
        page = fetched(address)
        assert b"truecost watch" in page
        state = json.loads(fetched(address + "state.json"))
        assert state["kind"] == "configure"
        strange = urllib.request.Request(address, headers={"Host": "elsewhere.example:80"})  # noqa: S310
        for request, code in ((strange, 403), (address + "../secret", 404), (address + "x", 404)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                fetched(request)
            refused.value.close()
            assert refused.value.code == code
    assert sorted((file.name, file.stat().st_mtime_ns) for file in tmp_path.iterdir()) == before


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    """A typing error would open a page that waits for ever."""
    (tmp_path / "x.db").write_text("no journal")
    for name in ("x.db", "missing.db"):
        ended = run("watch", name, cwd=tmp_path)
        assert ended.returncode == 2
        assert len(ended.stderr.splitlines()) == 1
