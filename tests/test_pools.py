"""Where runs are executed: any executor makes the runs that slots of this machine make."""

import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import scenarios

from truecost import InputError, Journal, Scenario, configure, gather
from truecost.errors import LostClusterError
from truecost.running.pools import remote


def statuses(path: Path) -> dict[tuple[str, str, int], tuple[int, int]]:
    """What is in a journal, by cell, but for times."""
    with Journal.read(path) as journal:
        table = journal.table()
    places = zip(table.configuration, table.instance, strict=True)
    names = [(table.configurations[c], table.instances[i]) for c, i in places]
    rest = zip(table.number.tolist(), table.seed.tolist(), table.status.tolist(), strict=True)
    return {
        (*name, number): (seed, status)
        for name, (number, seed, status) in zip(names, rest, strict=True)
    }


def made(folder: Path, name: str, pool: Any) -> dict[tuple[str, str, int], tuple[int, int]]:
    """A small gather with this pool."""
    scenario = Scenario.read(folder / "scenario.toml")
    gather(
        scenario,
        folder / name,
        configurations=3,
        instances=4,
        runs=2,
        pool=pool,
        pin=False,
        keep_going=True,
    )
    return statuses(folder / name)


@pytest.fixture(params=["threads", "processes", "dask"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Executors of several makers."""
    if request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    elif request.param == "processes":
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
            yield processes
    else:
        distributed = pytest.importorskip("distributed")
        with (
            warnings.catch_warnings(),
            distributed.LocalCluster(
                n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client.get_executor()


def test_any_executor_makes_the_same_runs(tmp_path: Path, executor: Executor) -> None:
    """An executor would make other runs than the slots of this machine, or lose some."""
    scenarios.write(tmp_path)
    assert made(tmp_path, "there.db", executor) == made(tmp_path, "here.db", 2)


def test_a_search_takes_an_executor(tmp_path: Path) -> None:
    """Only gather would accept an executor."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    with ThreadPoolExecutor(2) as threads:
        result = configure(
            scenario, tmp_path / "s.db", budget="20runs", pool=threads, pin=False, keep_going=True
        )
    assert result.runs == 20


def test_an_executor_that_was_shut_down_loses_nothing(tmp_path: Path) -> None:
    """What was finished before an executor broke would be lost, or the error be a traceback."""
    scenarios.write(tmp_path)
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    with pytest.raises(LostClusterError, match="safe in the journal"):
        made(tmp_path, "runs.db", threads)
    assert made(tmp_path, "runs.db", 2) == made(tmp_path, "here.db", 2)


def test_a_worker_notices_that_the_scenario_changed(tmp_path: Path) -> None:
    """A worker that lives on would go on with the scenario of yesterday."""
    path = scenarios.write(tmp_path)
    with ThreadPoolExecutor(1) as threads:
        made(tmp_path, "a.db", threads)
        text = path.read_text()
        path.write_text(text + "\n# edited\n")
        before = remote._read.cache_info().misses
        made(tmp_path, "b.db", threads)
    assert remote._read.cache_info().misses == before + 1


@pytest.mark.parametrize("pool", [0, -1, True, 1.5, object()])
def test_what_is_no_pool_is_refused(tmp_path: Path, pool: Any) -> None:
    """Something that cannot execute runs would be found out deep inside."""
    scenarios.write(tmp_path)
    with pytest.raises(InputError, match="expected `pool` to be"):
        made(tmp_path, "runs.db", pool)


def test_the_names_of_0_2_still_work(tmp_path: Path) -> None:
    """A script written for 0.2 would break without a warning before."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    with pytest.warns(DeprecationWarning, match="`workers` is now `pool`"):
        gather(
            scenario,
            tmp_path / "runs.db",
            configurations=2,
            instances=2,
            runs=1,
            workers=1,
            pin=False,
        )
