import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import daskcluster
import pytest
import scenarios
import validations
from killing import solves
from starting import Starter
from test_configure import toy, way
from test_gather import cells
from test_validate import GENERATED

from truecost import Scenario, gather, import_runs
from truecost.campaigns.campaign import Progress
from truecost.campaigns.configure import configure
from truecost.campaigns.validate import validate


@pytest.fixture(scope="module")
def cluster(
    starter: Starter, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[daskcluster.Cluster]:
    """A cluster of two workers."""
    with daskcluster.cluster(starter, tmp_path_factory.mktemp("dask")) as dask:
        for _ in range(2):
            dask.start_worker()
        yield dask


def on(cluster: daskcluster.Cluster) -> dict[str, Any]:
    """Where all of this runs."""
    return {"pool": cluster.address, "pin": False, "keep_going": True}


def test_killed_workers_change_nothing(cluster: daskcluster.Cluster, tmp_path: Path) -> None:
    """A worker that is killed would cost a run, or journal one twice."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    killed: set[int] = set()

    def kill(progress: Progress) -> None:
        if len(killed) < 3 and progress.runs >= 20 + 60 * len(killed):
            # What was under way may have been finished meanwhile: then with the next report.
            for victim in [each for each in cluster.workers if solves(each.pid)][:1]:
                os.kill(victim.pid, signal.SIGKILL)
                victim.wait()
                killed.add(victim.pid)
                cluster.workers.remove(victim)
                cluster.start_worker()

    gather(
        scenario,
        tmp_path / "runs.db",
        configurations=6,
        instances=5,
        runs=8,
        progress=kill,
        **on(cluster),
    )
    assert len(killed) == 3
    assert cells(tmp_path / "runs.db") == scenarios.expected(scenario, 6, 5, 8)


def test_a_cluster_ends_where_one_machine_does(
    cluster: daskcluster.Cluster, tmp_path: Path
) -> None:
    """Runs of a search on Dask workers would lead elsewhere, or lose their place."""
    scenario = toy(tmp_path, 6)
    configure(scenario, tmp_path / "there.db", budget="60runs", **on(cluster))
    configure(scenario, tmp_path / "here.db", budget="60runs", pool=2, pin=False, keep_going=True)
    assert way(tmp_path / "there.db") == way(tmp_path / "here.db")


def test_a_cluster_makes_the_same_instances(cluster: daskcluster.Cluster, tmp_path: Path) -> None:
    """Workers would run on other instances than those whose seeds the journal names, or stop
    elsewhere.
    """
    scenario = validations.written(tmp_path, 0, instances=GENERATED)
    validate(validations.log(), scenario, tmp_path / "there.db", budget="60runs", **on(cluster))
    found = validate(
        validations.log(), scenario, tmp_path / "here.db", budget="60runs", pool=2, pin=False
    )
    there = import_runs(tmp_path / "there.db").test
    here = found.assessment.test
    assert there is not None
    assert here is not None
    assert there.instances == here.instances
    assert there.costs.tolist() == here.costs.tolist()
