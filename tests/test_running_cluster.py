"""Dask clusters whose workers and schedulers are killed: a rerun, or one line."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import daskcluster
import pytest
import scenarios
from daskcluster import Cluster
from running_tools import ANSWER, check_cells, finish, script, tasks, until
from scenarios import read

from truecost.errors import InputError, LostClusterError
from truecost.running.pools import Pool, dask, open_pool

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
WAITING = f"touch started-$5-$$; while [ ! -e go ]; do sleep 0.02; done; {ANSWER}"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler."""
    with daskcluster.cluster(tmp_path / "dask") as made:
        yield made


def started(folder: Path) -> int:
    """How many runs have begun."""
    return len(list(folder.glob("started-*")))


def test_killed_workers_change_nothing(tmp_path: Path, cluster: Cluster) -> None:
    """A worker that is killed would cost a run, or make one count twice."""
    scenario = read(tmp_path)
    given, killed = tasks(scenario, 6, 4), 0

    def kill_some(done: int) -> None:
        nonlocal killed
        if done > 30 * (killed + 1) and killed < 3:
            killed += 1
            victim = cluster.workers.pop(0)
            os.kill(victim.pid, signal.SIGKILL)
            victim.wait()
            cluster.start_worker()

    for _ in range(2):
        cluster.start_worker()
    with open_pool(scenario, cluster.address, workers=2, pin=False) as pool:
        finished = finish(pool, given, kill_some)
    assert killed == 3
    check_cells(finished, given)


def test_runs_of_killed_workers_end_with_them(tmp_path: Path, cluster: Cluster) -> None:
    """The solvers of a killed worker would run on beside those that repeat them."""
    scenario = script(tmp_path, f"echo $$ > pid; {WAITING}")
    cluster.start_worker()
    with open_pool(scenario, cluster.address, workers=1, pin=False) as pool:
        pool.submit(tasks(scenario)[0])
        until(lambda: started(tmp_path) == 1, "the run")
        pid = (tmp_path / "pid").read_text().strip()
        cluster.kill_workers()
        until(lambda: not Path(f"/proc/{pid}").exists(), "its end")
        cluster.start_worker()
        until(lambda: started(tmp_path) == 2, "the run again")
        (tmp_path / "go").touch()
        assert len(pool.wait()) == 1


def test_runs_under_way_end_with_their_campaign(tmp_path: Path, cluster: Cluster) -> None:
    """After Ctrl-C, workers would compute for nobody, and keep their cores from other campaigns."""
    scenario = script(tmp_path, f"echo $$ > pid; {WAITING}")
    cluster.start_worker()
    with open_pool(scenario, cluster.address, workers=1, pin=False) as pool:
        pool.submit(tasks(scenario)[0])
        until(lambda: started(tmp_path) == 1, "the run")
        pid = (tmp_path / "pid").read_text().strip()
    until(lambda: not Path(f"/proc/{pid}").exists(), "its end")


def lost(pool: Pool) -> str:
    """Why there are no more runs."""
    while True:
        try:
            pool.wait()
        except LostClusterError as error:
            return str(error)


def test_a_killed_scheduler_is_one_line(
    tmp_path: Path, cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    """Who loses the scheduler would read tracebacks of Dask, or wait for ever."""
    scenario = script(tmp_path, WAITING)
    cluster.start_worker()
    with open_pool(scenario, cluster.address, pin=False) as pool:
        assert pool.workers == 1
        for task in tasks(scenario)[:2]:
            pool.submit(task)
        until(lambda: started(tmp_path), "a run")
        cluster.kill_scheduler()
        message = lost(pool)
    assert message.startswith(f"The Dask scheduler at {cluster.address} is gone.")
    assert "Traceback" not in capfd.readouterr().err


def test_a_cluster_without_workers_is_refused(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler to which no worker ever comes would be waited for without end."""
    monkeypatch.setattr(dask, "CONNECT", 2.0)
    with (
        pytest.raises(InputError, match="has no workers"),
        open_pool(script(tmp_path, WAITING), cluster.address),
    ):
        pass


def test_a_worker_without_the_solver_is_named(tmp_path: Path, cluster: Cluster) -> None:
    """Nobody would know on which node the solver is missing."""
    scenarios.write(tmp_path)
    scenario = read(tmp_path, target={"kind": "wrapper", "command": ["toy-solver"]})
    cluster.start_worker()
    with open_pool(scenario, cluster.address, workers=1, pin=False) as pool:
        pool.submit(tasks(scenario)[0])
        with pytest.raises(InputError, match=r"not on PATH") as caught:
            pool.wait()
    assert f"On the worker {os.uname().nodename} (tcp://127.0.0.1:" in str(caught.value)
