"""Both recipes of docs/how-to/slurm.md, taken from the page, on a SLURM of one node.

A job that hits its time limit takes a minute, which is the least limit there is: TRUECOST_SLURM=all
waits for it, else the same job is ended by scancel, which kills it as the limit does.
"""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import scenarios
import slurmcluster
from daskcluster import certificates, holding, runs, until
from pages import ROOT, inline_commands
from slurmcluster import Slurm

pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif(slurmcluster.missing() is not None, reason=slurmcluster.missing() or ""),
]
LIMITS = {"scancel": "300", "time limit": "1"}  # in minutes; a signal comes up to 60 s earlier
PAGE = ROOT / "docs" / "how-to" / "slurm.md"
HUNGRY = """#!/bin/sh
# The first time too much for the job, in a child that the job's limit counts.
if mkdir eaten 2>/dev/null; then exec {python} -c "x = bytearray(b'x') * 1200000000; import time; time.sleep(1000)"; fi
echo "Result for SMAC: SUCCESS, 0.01, 0, 5, $5"
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    """SLURM, with truecost on the PATH of its jobs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        with slurmcluster.slurm() as made:
            yield made


def block(language: str, start: str) -> str:
    """The block of the page that begins so."""
    found = [
        code
        for code in re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
        if code.startswith(start)
    ]
    assert len(found) == 1
    return str(found[0])


def rows(journal: Path) -> set[tuple[object, ...]]:
    """The runs of a journal, with the times they ended at."""
    with closing(sqlite3.connect(journal)) as connection:
        return set(connection.execute("SELECT configuration, instance, number, ended FROM runs"))


def search_line() -> str:
    """The command of the page that searches, in its text."""
    (found,) = (
        f"truecost {words}\n"
        for words in inline_commands(PAGE.read_text())
        if words.startswith("configure scenario.toml --budget")
    )
    return found


def changed(text: str, changes: dict[str, str]) -> str:
    """A recipe for a test; what is changed must stand in it."""
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after)
    return text


def prepared(folder: Path) -> None:
    """A scenario whose runs hold on after the first few, and the certificates of the page in its
    folder.
    """
    holding(folder)
    certificates(folder / "tls")
    (folder / "dask.yaml").write_text(
        block('text title="dask.yaml"', "distributed:").replace("tls/", f"{folder}/tls/")
    )


@pytest.mark.parametrize(
    "ends",
    [
        "scancel",
        pytest.param(
            "time limit",
            marks=pytest.mark.skipif(
                os.environ.get("TRUECOST_SLURM") != "all",
                reason="takes minutes: TRUECOST_SLURM=all",
            ),
        ),
    ],
)
def test_by_hand(slurm: Slurm, tmp_path: Path, ends: str) -> None:
    """The batch script of the page would not work, or a job that is ended lose runs, or a search
    not run there.
    """
    prepared(tmp_path)
    everywhere = {"--dask": "--no-pin --dask"}
    sizes = {
        "--configurations 50 --instances 40 --runs 5": "--configurations 2 --instances 4 --runs 2"
    }
    job = changed(
        block("bash", "#!/bin/bash"),
        {
            **everywhere,
            **sizes,
            "ntasks=33": "ntasks=2",
            "ntasks=32": "ntasks=1",
            "=3G": "=700M",
            "24:00:00": LIMITS[ends],
            "TERM@300": "TERM@30",
        },
    )
    search = f"{changed(search_line(), {**everywhere, '20h': '30runs'})}wait $!\n"
    journals = tmp_path / "journal"
    (tmp_path / "first.sh").write_text(job)
    first = slurm.submit(tmp_path / "first.sh")
    # On a slow machine the least limit there is may come first.
    held = tmp_path / "counted"
    until(
        lambda: len(list(held.iterdir())) > 4 or slurm.state(first) == "FAILED",
        "a held run, or the limit",
    )
    if ends == "scancel":
        slurm.run("scancel", "--batch", "--signal=TERM", first)  # as --signal of the page does
    slurm.wait(first, "FAILED")
    there = rows(journals / "runs.db")
    assert (4 if ends == "scancel" else 0) <= len(there) < 16
    (tmp_path / "go").touch()
    (tmp_path / "second.sh").write_text(job.replace("--time=1\n", "--time=300\n") + search)
    second = slurm.submit(tmp_path / "second.sh")
    slurm.wait(second, "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED")
    log = (tmp_path / "second.sh.log").read_text()
    assert slurm.state(second) == "COMPLETED", log
    assert "tls://" in log
    assert len(rows(journals / "runs.db")) == 16
    assert there <= rows(journals / "runs.db")
    assert runs(journals / "search.db") > 20


def test_dask_jobqueue(slurm: Slurm, tmp_path: Path) -> None:
    """The recipe with dask-jobqueue would not work, or a worker that SLURM kills for its memory not
    be replaced.
    """
    prepared(tmp_path)
    (tmp_path / "holding.sh").write_text(HUNGRY.format(python=sys.executable))
    sizes = {
        "_jobs=64": "_jobs=1",
        "configurations=50": "configurations=2",
        "instances=40": "instances=2",
        "runs=5": "runs=2",
    }
    # A node reaches itself by one way only; and the cores of a busy machine may all be claimed.
    here = {
        "/local/disk/": "",
        'queue="short",': 'queue="short", interface="lo",',
        "pool=": "pin=False, pool=",
    }
    recipe = changed(block("python", "from dask_jobqueue"), {**sizes, **here, "4GB": "800MB"})
    (tmp_path / "recipe.py").write_text(recipe)
    environment = {**slurm.environment, "DASK_CONFIG": str(tmp_path / "dask.yaml")}
    ended = subprocess.run(
        [sys.executable, "recipe.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "eaten").is_dir()
    assert runs(tmp_path / "runs.db") == 8


def test_array_jobs(slurm: Slurm, tmp_path: Path) -> None:
    """The array job of the page would not work, its parts overlap, or the shell's list of them not
    be taken.
    """
    path = scenarios.write(tmp_path)
    size = "--configurations 2 --instances 4 --runs 2"
    job = changed(
        block("bash", "#!/bin/sh"),
        {
            "=3G": "=700M",
            "1-20": "1-3",
            "ID/20": "ID/3",
            "24:00:00": "300",
            "--configurations 50 --instances 40 --runs 5": f"{size} --no-pin --keep-going",
        },
    )
    (tmp_path / "array.sh").write_text(job)
    number = slurm.submit(tmp_path / "array.sh")
    for place in (1, 2, 3):
        slurm.wait(f"{number}_{place}", "COMPLETED", "FAILED")
    log = (tmp_path / "array.sh.log").read_text()
    parts = [runs(tmp_path / f"part{place}.db") for place in (1, 2, 3)]
    assert sorted(parts) == [5, 5, 6], log
    merge = changed(
        block("sh", "truecost gather scenario.toml --journal all.db"),
        {"scenario.toml": str(path), "--merge": f"{size} --no-pin --keep-going --json --merge"},
    )
    printed = json.loads(slurm.run("sh", "-c", merge, folder=tmp_path))
    assert printed["runs"] == runs(tmp_path / "all.db") == 16
    # Nothing was run again: the merged rows ended when the parts were made.
    assert len(printed["machines"]) == 1
