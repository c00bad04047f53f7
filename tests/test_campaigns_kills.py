"""Campaigns that are killed, meet a full disk, or a folder that cannot be written."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import campaign_tools as tools
import pytest
import scenarios

from truecost.campaigns.configure import configure
from truecost.campaigns.gather import gather
from truecost.campaigns.validate import validate
from truecost.errors import InputError
from truecost.journal.journal import Journal
from truecost.running.scenario import Scenario

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("how", ["gather", "configure", "validate"])
def test_twenty_kills_lose_and_double_nothing(tmp_path: Path, how: str) -> None:
    """A power cut would lose finished runs, make some twice, or leave solvers running."""
    path = scenarios.write(tmp_path, limits={"cpu": 0.1, "wall": 600.0})
    for place in range(12):
        (tmp_path / "instances" / f"i {place}.txt").write_text(f"{place}\n")
    (tmp_path / "new").mkdir()
    for place in range(150):
        (tmp_path / "new" / f"n {place}.txt").write_text(f"{place + 50}\n")
    words = [sys.executable, str(HERE / "campaign_killing.py"), how, str(path), "j.db", "20"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    lives = json.loads(ended.stdout)
    assert len(lives) == 20
    for before, told, after in lives:
        assert before < told <= after
    with Journal.read(tmp_path / "j.db") as journal:
        table = journal.table()
        rows = journal._connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    cells = zip(table.configuration.tolist(), table.instance.tolist(), table.number.tolist(),
                strict=True)  # fmt: skip
    assert len(set(cells)) == len(table) == rows
    if how == "configure":  # which may end before its budget is spent
        assert lives[-1][-1] <= len(table) <= 400
    else:
        assert len(table) == {"gather": 600, "validate": 300}[how]


@contextlib.contextmanager
def mounted(folder: Path, *options: str) -> Iterator[Path]:
    """A small file system in memory, where that may be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("file systems can be mounted by root only")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """A full disk would end in a traceback, or in a journal that cannot be read."""
    scenario = tools.scenario(tmp_path / "s", instances=20)
    size: dict[str, Any] = {"configurations": 50, "instances": 20, "runs": 5}
    with mounted(tmp_path / "small", "-o", "size=400k") as small:
        path = small / "g.db"
        with pytest.raises(InputError, match="Make room and start again") as caught:
            gather(scenario, path, **size, pool=tools.Pool(at_once=10, workers=20))
        assert "\n" not in str(caught.value)
        with Journal.read(path) as journal:
            there = len(journal.table())
        assert there > 100
        subprocess.run(["mount", "-o", "remount,size=20M", str(small)], check=True)
        pool = tools.Pool()
        assert gather(scenario, path, **size, pool=pool).runs == 5000
        assert len(pool.made) == 5000 - there


@pytest.mark.parametrize("how", ["gather", "configure", "validate"])
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, how: str) -> None:
    """A journal in a read-only folder would end in a traceback."""
    scenario = tools.scenario(tmp_path / "s")
    with mounted(tmp_path / "shut") as shut:
        subprocess.run(["mount", "-o", "remount,ro", str(shut)], check=True)
        path, pool = shut / "j.db", tools.Pool()
        campaigns: dict[str, Callable[[], object]] = {
            "gather": lambda: gather(scenario, path, pool=pool),
            "configure": lambda: configure(scenario, path, budget=50, pool=pool),
            "validate": lambda: validate(
                None, scenario, path, configuration={"x": "1", "y": "1"}, pool=pool
            ),
        }
        with pytest.raises(InputError, match=r"j\.db: cannot be written"):
            campaigns[how]()
        assert not pool.made


def test_no_home_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch systems often give no home that can be written."""
    monkeypatch.setenv("HOME", "/proc/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    scenario: Scenario = tools.scenario(tmp_path)
    assert gather(scenario, tmp_path / "g.db", configurations=2, instances=2, runs=1,
                  pool=tools.Pool()).runs == 4  # fmt: skip


def test_a_second_campaign_is_refused(tmp_path: Path) -> None:
    """Two commands in one journal would make every run twice."""
    scenario = tools.scenario(tmp_path)
    with (
        Journal.write(tmp_path / "g.db", scenario, "gather", {}),
        pytest.raises(InputError, match="another truecost"),
    ):
        gather(scenario, tmp_path / "g.db", pool=tools.Pool())
    assert gather(scenario, tmp_path / "g.db", configurations=1, runs=1, pool=tools.Pool()).runs
