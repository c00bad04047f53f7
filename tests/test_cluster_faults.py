import gc
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import daskcluster
import pytest
import scenarios
from daskcluster import certificates, holding, runs, until
from starting import Started, Starter

from truecost import InputError, Scenario, gather
from truecost.errors import LostClusterError
from truecost.running.pools import dask as running_cluster

GATHER = [
    "gather",
    "scenario.toml",
    "--journal",
    "runs.db",
    "--configurations",
    "2",
    "--instances",
    "4",
    "--runs",
    "2",
]
CONFIGURE = [
    "configure",
    "scenario.toml",
    "--journal",
    "runs.db",
    "--budget",
    "30runs",
    "--seed",
    "5",
]


def started(
    starter: Starter, folder: Path, words: list[str], environment: dict[str, str] | None = None
) -> Started:
    """The command line, under way."""
    return starter.truecost(
        *words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def lines_until(stream: Iterator[str], pattern: str) -> str:
    """The line that says so, as soon as it is there."""
    seen = []
    for line in stream:
        seen.append(line)
        if re.search(pattern, line):
            return line
    raise AssertionError(f"never said {pattern!r}: {seen}")


@pytest.mark.parametrize("words", [GATHER, CONFIGURE], ids=["gather", "configure"])
def test_a_killed_scheduler_is_said_in_one_line_that_goes_on(
    starter: Starter, tmp_path: Path, words: list[str]
) -> None:
    """Who loses the scheduler would read tracebacks of Dask, and go on locally by the line that is
    printed.
    """
    holding(tmp_path)
    with daskcluster.cluster(starter, tmp_path / "dask") as dask:
        dask.start_worker()
        words = [*words, "--dask", dask.address, "--no-pin", "--quiet"]
        process = started(starter, tmp_path, words)
        until(
            lambda: (
                runs(tmp_path / "runs.db") >= 1 and len(list((tmp_path / "counted").iterdir())) > 4
            ),
            "a held run",
        )
        there = runs(tmp_path / "runs.db")
        dask.kill_scheduler()
        _, said = process.communicate()
        assert process.returncode == 2
        assert said.count("\n") == 1
        assert f"the Dask scheduler at {dask.address} is gone" in said
        assert "every finished run is safe in the journal" in said
        line = said.partition("To go on: ")[2]
        assert shlex.split(line) == ["truecost", *words]
        assert runs(tmp_path / "runs.db") >= there
        if words[0] == "configure":
            return
        dask.kill_workers()
        (tmp_path / "go").touch()
        dask.start_scheduler()
        dask.start_worker()
        again = started(starter, tmp_path, shlex.split(line)[1:])
        _, said = again.communicate()
        assert again.returncode == 0, said
    assert runs(tmp_path / "runs.db") == 16


def test_waiting_for_workers_shows(starter: Starter, tmp_path: Path) -> None:
    """A cluster without workers would look like one that works, for ten minutes."""
    holding(tmp_path)
    with daskcluster.cluster(starter, tmp_path / "dask") as dask:
        process = started(starter, tmp_path, [*GATHER, "--dask", dask.address, "--no-pin"])
        assert process.stderr is not None
        lines_until(process.stderr, "^waiting for the cluster's first worker, at most 10 minutes$")
        dask.start_worker()
        until(lambda: len(list((tmp_path / "counted").iterdir())) > 4, "a held run")
        dask.kill_workers()
        line = lines_until(process.stderr, "^all workers of the cluster are gone")
        assert (
            "every finished run is safe in the journal; waiting for new workers, at most 10 minutes"
            in line
        )
        (tmp_path / "go").touch()
        dask.start_worker()
        _, said = process.communicate()
        assert process.returncode == 0, said
    assert runs(tmp_path / "runs.db") == 16


def test_a_deserted_cluster_is_given_up(
    starter: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler to which no worker ever comes would be waited for without end."""
    scenario = Scenario.read(holding(tmp_path))
    monkeypatch.setattr(running_cluster, "DESERTED", 0.5)
    with (
        daskcluster.cluster(starter, tmp_path / "dask") as dask,
        pytest.raises(
            LostClusterError, match=r"has no workers, and none came in 0 minutes\. Start workers"
        ),
    ):
        gather(
            scenario,
            tmp_path / "runs.db",
            configurations=1,
            instances=1,
            runs=1,
            pool=dask.address,
            pin=False,
        )


def test_results_may_die_with_the_last_worker(
    starter: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result that its worker took along would be waited for without end, and without a word."""
    scenario = Scenario.read(holding(tmp_path))
    fetched = running_cluster.DaskPool._results
    with daskcluster.cluster(starter, tmp_path / "dask") as dask:
        dask.start_worker()

        def late(pool: running_cluster.DaskPool, futures: list[Any]) -> dict[str, Any]:
            if futures:
                dask.kill_workers()
                until(lambda: not pool._client.nthreads(), "a cluster without workers")
                monkeypatch.setattr(running_cluster, "CONNECT", 0.5)
                monkeypatch.setattr(running_cluster, "DESERTED", 0.5)
            return fetched(pool, futures)

        monkeypatch.setattr(running_cluster.DaskPool, "_results", late)
        with pytest.raises(LostClusterError, match="all workers of the cluster are gone"):
            gather(
                scenario,
                tmp_path / "runs.db",
                configurations=1,
                instances=1,
                runs=1,
                pool=dask.address,
                pin=False,
            )


def test_tls(starter: Starter, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A cluster that takes only who has a certificate could not be used, take others, or keep them
    waiting for ever.
    """
    from distributed import Client

    holding(tmp_path)
    (tmp_path / "go").touch()
    told = certificates(tmp_path / "certificates")
    with daskcluster.cluster(starter, tmp_path / "dask", protocol="tls", environment=told) as dask:
        assert dask.address.startswith("tls://")
        dask.start_worker()
        for words, number in ((GATHER, 16), (CONFIGURE, 30)):
            journal = tmp_path / f"{words[0]}.db"
            words = [*words[:3], str(journal), *words[4:], "--dask", dask.address, "--no-pin"]
            process = started(starter, tmp_path, words, dask.environment)
            _, said = process.communicate()
            assert process.returncode == 0, said
            assert runs(journal) == number
        # Without certificates nobody gets in, whatever protocol he speaks. Who was sent away is
        # gone before the next try.
        gc.disable()
        request.addfinalizer(gc.enable)
        for address in (dask.address, dask.address.replace("tls:", "tcp:")):
            with pytest.raises(
                InputError, match=f"expected a Dask scheduler with workers at '{address}', got none"
            ):
                gather(
                    Scenario.read(tmp_path / "scenario.toml"),
                    tmp_path / "x.db",
                    configurations=1,
                    runs=1,
                    pool=address,
                )
        assert len([each for each in gc.get_objects() if isinstance(each, Client)]) <= 1
    assert not os.environ.get("DASK_DISTRIBUTED__COMM__TLS__CA_FILE")


def test_a_worker_without_the_solver_is_named_and_left_out(
    starter: Starter, tmp_path: Path
) -> None:
    """One node on which the solver is not installed would stop a whole gather, and nobody know
    which it is.
    """
    scenarios.write(tmp_path, target={"kind": "wrapper", "command": ["toy-solver"]})
    solver = tmp_path / "bin" / "toy-solver"
    solver.parent.mkdir()
    # Slow enough that the other worker asks for runs meanwhile.
    solver.write_text('#!/bin/sh\nsleep 0.3\necho "Result for SMAC: SUCCESS, 0.01, 0, 5, $5"\n')
    solver.chmod(0o755)
    with daskcluster.cluster(starter, tmp_path / "dask") as dask:
        dask.start_worker()
        dask.environment["PATH"] = f"{solver.parent}:{dask.environment['PATH']}"
        dask.start_worker()
        process = started(starter, tmp_path, [*GATHER, "--dask", dask.address, "--no-pin"])
        _, said = process.communicate()
    assert process.returncode == 0, said
    (line,) = (line for line in said.splitlines() if "is left out" in line)
    assert line.startswith(f"{os.uname().nodename} (tcp://127.0.0.1:")
    assert "'toy-solver': it is not on PATH" in line
    assert runs(tmp_path / "runs.db") == 16
