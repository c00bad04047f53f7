"""Campaigns that are killed, meet a full disk, or a folder that cannot be written."""

import contextlib
import multiprocessing
import os
import subprocess
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import campaign_tools as tools
import numpy as np
import pytest
import scenarios

from truecost.campaigns.configure import configure
from truecost.campaigns.gather import gather
from truecost.campaigns.validate import validate
from truecost.errors import InputError
from truecost.journal.journal import Journal
from truecost.running.scenario import Scenario

KINDS = ["gather", "configure", "validate"]
KILLS = 20
# Forks without the threads of this process.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["truecost.campaigns.validate", "truecost.campaigns.configure"])


def campaign(kind: str, scenario: Scenario, journal: Path, **how: Any) -> object:
    """A campaign of some hundred runs."""
    if kind == "gather":
        size: dict[str, Any] = {"configurations": 6, "instances": 5, "runs": 20}
        return gather(scenario, journal, **size, **how)
    if kind == "configure":
        return configure(scenario, journal, budget=400, **how)
    values = dict.fromkeys(scenario.space.parameters, "5")
    return validate(None, scenario, journal, configuration=values, complete=True, **how)


def live(kind: str, scenario: Path, journal: Path, telling: Connection) -> None:
    """Go on where the journal ends, and tell of every run."""
    campaign(
        kind, Scenario.read(scenario), journal, pool=2, pin=False, keep_going=True,
        progress=lambda now: telling.send(now.runs),
    )  # fmt: skip


def runs(journal: Path) -> int:
    """How many runs a journal has."""
    try:
        with Journal.read(journal) as opened:
            return len(opened.table())
    except InputError:  # none yet
        return 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_twenty_kills_lose_and_double_nothing(tmp_path: Path, kind: str) -> None:
    """A power cut would lose finished runs, or make some twice."""
    path, journal = scenarios.write(tmp_path), tmp_path / "j.db"
    for place in range(12 if kind != "validate" else 150):
        (tmp_path / "instances" / f"i {place}.txt").write_text(f"{place}\n")
    rng = np.random.default_rng(7)
    for life in range(KILLS + 1):
        before, (hearing, telling) = runs(journal), SERVER.Pipe(duplex=False)
        process = SERVER.Process(target=live, args=(kind, path, journal, telling))
        process.start()
        telling.close()
        told, due = before, before + int(rng.integers(1, 12))
        with contextlib.suppress(EOFError):
            while life == KILLS or told < due:
                told = hearing.recv()
        if life < KILLS:
            time.sleep(rng.random() * 0.02)
            process.kill()
            process.join()
            assert before < told <= runs(journal)
    process.join()
    assert process.exitcode == 0
    with Journal.read(journal) as opened:
        cells = opened.table().cells()
    assert len(set(cells)) == len(cells)
    if kind == "configure":  # which may end before its budget is spent
        assert len(cells) <= 400
    else:
        assert len(cells) == {"gather": 600, "validate": 300}[kind]


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
        there = runs(path)
        assert there > 100
        subprocess.run(["mount", "-o", "remount,size=20M", str(small)], check=True)
        pool = tools.Pool()
        assert gather(scenario, path, **size, pool=pool).runs == 5000
        assert len(pool.made) == 5000 - there


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, kind: str) -> None:
    """A journal in a read-only folder would end in a traceback."""
    scenario, pool = tools.scenario(tmp_path / "s"), tools.Pool()
    with mounted(tmp_path / "shut") as shut:
        subprocess.run(["mount", "-o", "remount,ro", str(shut)], check=True)
        with pytest.raises(InputError, match=r"j\.db: cannot be written"):
            campaign(kind, scenario, shut / "j.db", pool=pool)
    assert not pool.made
