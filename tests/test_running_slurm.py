"""Workers in jobs of SLURM, started by dask-jobqueue; jobs that are ended cost a rerun."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import slurmcluster
from running_tools import check_cells, finish, tasks, until
from scenarios import read
from slurmcluster import Slurm

from truecost.running.pools import open_pool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(slurmcluster.missing() is not None, reason=slurmcluster.missing() or ""),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    """SLURM, with truecost on the PATH of its jobs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        with slurmcluster.slurm() as made:
            for name in ("SLURM_CONF", "PATH"):
                patch.setenv(name, made.environment[name])
            yield made


def jobs(slurm: Slurm) -> list[str]:
    """The running jobs."""
    return slurm.run("squeue", "--noheader", "--states=RUNNING", "--format=%i").split()


def test_ended_jobs_change_nothing(slurm: Slurm, tmp_path: Path) -> None:
    """A job that hits its time limit would cost a run, or make one count twice."""
    jobqueue = pytest.importorskip("dask_jobqueue")
    scenario = read(tmp_path)
    given, ended = tasks(scenario, 4, 4), 0
    options: dict[str, Any] = {"cores": 1, "memory": "500MB", "processes": 1, "interface": "lo"}
    with jobqueue.SLURMCluster(
        walltime="00:30:00", log_directory=str(tmp_path / "log"), **options
    ) as cluster:

        def end_one(done: int) -> None:
            nonlocal ended
            if done > 20 and not ended:
                ended = 1
                until(lambda: jobs(slurm), "a job")
                slurm.run("scancel", jobs(slurm)[0])
                cluster.scale(jobs=3)

        cluster.scale(jobs=2)
        with open_pool(scenario, cluster.scheduler_address, workers=2, pin=False) as pool:
            finished = finish(pool, given, end_one)
    assert ended
    check_cells(finished, given)
