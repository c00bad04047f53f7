"""Pools: whoever makes the runs makes the same ones, loses none and makes none twice."""

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import scenarios
from scenarios import read

from truecost.errors import InputError, LostClusterError, TruecostError
from truecost.running import machine
from truecost.running.pools import Finished, Pool, Task, executor, open_pool, remote
from truecost.running.pools.remote import Job, remote_run
from truecost.running.scenario import Scenario

FAR: dict[str, Any] = {"cpu": 600.0, "wall": 600.0}


def tasks(scenario: Scenario, configurations: int = 3, runs: int = 2) -> list[Task]:
    """Some runs of a scenario."""
    drawn = [
        scenario.space.configuration({"alpha": str(place + 1), "beta": "2"})
        for place in range(configurations)
    ]
    return [
        Task(
            configuration=configuration,
            instance=instance,
            number=number,
            seed=scenario.run_seed(instance.name, number),
        )
        for configuration in drawn
        for instance in scenario.instances
        for number in range(runs)
    ]


def finish(pool: Pool, given: Sequence[Task]) -> list[Finished]:
    """Make these runs, two per worker under way."""
    waiting, done, out = [*given], list[Finished](), 0
    while waiting or out:
        while waiting and out < 2 * pool.workers:
            pool.submit(waiting.pop(0))
            out += 1
        finished = pool.wait()
        assert finished
        done += finished
        out -= len(finished)
    return done


def cells(finished: Sequence[Finished]) -> list[scenarios.Cell]:
    """What was recorded, without times."""
    return sorted(
        (
            run.task.configuration.name,
            run.task.instance.name,
            run.task.number,
            run.task.seed,
            run.outcome.status,
            run.outcome.exit_code,
            run.outcome.time,
            run.outcome.value,
            run.outcome.detail,
        )
        for run in finished
    )


def expected(given: Sequence[Task]) -> list[scenarios.Cell]:
    """What must be recorded, by arithmetic."""
    return sorted(
        scenarios.cell(task.configuration, task.instance, task.number, task.seed) for task in given
    )


def solver(folder: Path, text: str, **tables: Any) -> Scenario:
    """A scenario whose solver is this script."""
    path = scenarios.write(folder, **{"limits": FAR, **tables})
    (folder / "solver.sh").write_text(f"#!/bin/sh\n{text}\n")
    return Scenario.read(path)


def until(there: Callable[[], object]) -> None:
    """Wait for something, on a busy machine for long."""
    end = time.monotonic() + 300
    while not there():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


ANSWER = 'echo "Result for SMAC: SUCCESS, 0.01, 0, 5, $5"'


@pytest.fixture(scope="module")
def threads() -> Iterator[Executor]:
    """An executor that outlives the scenarios."""
    with ThreadPoolExecutor(2) as made:
        yield made


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    """Likewise, in processes, which take seconds to start."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as made:
        yield made


@pytest.fixture(params=["here", "threads", pytest.param("processes", marks=pytest.mark.slow)])
def made(request: pytest.FixtureRequest) -> Any:
    """Pools of several makers."""
    return 2 if request.param == "here" else request.getfixturevalue(request.param)


def test_any_pool_makes_the_same_runs(tmp_path: Path, made: Any) -> None:
    """A pool would make other runs than asked for, lose some, or make some twice."""
    scenario = read(tmp_path)
    given = tasks(scenario)
    with open_pool(scenario, made, pin=False) as pool:
        assert pool.workers == 2
        finished = finish(pool, given)
    assert cells(finished) == expected(given)
    assert {run.machine.host for run in finished} == {os.uname().nodename}


@pytest.mark.slow
def test_dask_makes_the_same_runs(tmp_path: Path) -> None:
    """Runs on a Dask cluster would be others, or the cluster's size be guessed."""
    distributed = pytest.importorskip("distributed")
    scenario = read(tmp_path)
    given = tasks(scenario)
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0",
            protocol="tcp://",
        ) as cluster,
    ):  # fmt: skip
        warnings.simplefilter("ignore")
        with open_pool(scenario, cluster.scheduler_address, pin=False) as pool:
            assert pool.workers == 2
            assert cells(finish(pool, given)) == expected(given)
        with distributed.Client(cluster) as client:
            unknown = client.get_executor(pure=False)
            with pytest.raises(InputError, match="workers=N"), open_pool(scenario, unknown):
                pass
            with open_pool(scenario, unknown, workers=2, pin=False) as pool:
                assert cells(finish(pool, given)) == expected(given)


def test_workers_are_pinned_to_claimed_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two campaigns on one machine would run solvers on the same core."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scenario = read(tmp_path)
    with open_pool(scenario) as pool:
        assert pool.workers == len(machine.cores())
        with pytest.raises(InputError, match="another truecost"), open_pool(scenario, 1):
            pass
    with open_pool(scenario, 1) as pool:
        assert pool.workers == 1


def test_cancelled_tasks_do_not_start(tmp_path: Path, made: Any) -> None:
    """After an aborted run, two more cutoffs per worker would pass before the error appears."""
    text = f"touch started-$5; while [ ! -e go ]; do sleep 0.01; done; {ANSWER}"
    scenario = solver(tmp_path, text)
    given = tasks(scenario, 2, 1)
    with open_pool(scenario, made, pin=False) as pool:
        for task in given:
            pool.submit(task)
        until(lambda: len(list(tmp_path.glob("started-*"))) == 2)
        dropped = pool.cancel()
        (tmp_path / "go").touch()
        # Two run. A process pool cannot drop those in its queue either, one more than it has workers.
        queued = 3 if isinstance(made, ProcessPoolExecutor) else 0
        assert len(given) - 2 - queued <= len(dropped) <= len(given) - 2
        finished: list[Finished] = []
        while len(finished) < len(given) - len(dropped):
            finished += pool.wait()
    assert len(list(tmp_path.glob("started-*"))) <= len(finished)
    assert {id(task) for task in dropped}.isdisjoint(id(run.task) for run in finished)


def test_what_was_finished_comes_before_an_error(tmp_path: Path, made: Any) -> None:
    """A run that cannot be started would take finished ones with it, or not be reported."""
    scenario = solver(tmp_path, f"{ANSWER}; touch ended-$5")
    first, second = tasks(scenario, 1, 1)[0], tasks(scenario, 2, 1)[-1]
    with open_pool(scenario, made, pin=False) as pool:
        pool.submit(first)
        until(lambda: any(tmp_path.glob("ended-*")))
        (tmp_path / "solver.sh").unlink()
        pool.submit(second)
        done: list[Finished] = []
        message = ""
        # The first run may still be on its way when the second turns out not to start.
        while not (done and message):
            try:
                done += pool.wait()
            except InputError as error:
                message = str(error)
    assert [run.task for run in done] == [first]
    assert "solver.sh" in message or "scenario.toml" in message
    if not isinstance(made, int):
        assert os.uname().nodename in message


@pytest.mark.parametrize("kind", ["here", "threads"])
def test_a_closed_pool_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """After Ctrl-C solvers would run on, or their folders and claims on cores stay."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    scenario = solver(tmp_path, "echo $$ > pid; sleep 1000")
    threads = ThreadPoolExecutor(2)
    with open_pool(scenario, 2 if kind == "here" else threads, pin=False) as pool:
        for task in tasks(scenario):
            pool.submit(task)
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    threads.shutdown()
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("kind", ["here", "threads"])
def test_a_run_that_lost_its_supervisor_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A killed supervisor would cost a run, or keep its core for ever."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    first = machine.cores()[:1]
    monkeypatch.setattr(machine, "cores", lambda: first)
    scenario = solver(
        tmp_path, f"[ -e lost ] || {{ touch lost; kill -9 $PPID; sleep 9; }}; {ANSWER}"
    )
    given = tasks(scenario, 1, 1)
    pool_like: Any = 1 if kind == "here" else ThreadPoolExecutor(1)
    with open_pool(scenario, pool_like) as pool:
        finished = finish(pool, given)
        assert [run.outcome.value for run in finished] == [5.0] * 5
        (tmp_path / "solver.sh").write_text("#!/bin/sh\nkill -9 $PPID; sleep 9\n")
        if kind == "here":
            pool.submit(given[0])
            with pytest.raises(TruecostError, match=r"i \d\.txt.* supervisor"):
                pool.wait()
    if kind == "threads":
        pool_like.shutdown()
    with machine.claimed_cores(1):  # all are given back
        pass


class Losing(Executor):
    """Loses the worker of every run so many times."""

    def __init__(self, times: int, error: BaseException) -> None:
        self.times, self.error, self.number = times, error, 0
        self.seen: dict[Any, int] = {}

    def submit(self, fn: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        """Make the run at once, or lose it."""
        self.number += 1
        future: Future[Any] = Future()
        key = arguments[1].instance.name
        self.seen[key] = self.seen.get(key, 0) + 1
        if self.seen[key] <= self.times:
            future.set_exception(self.error)
        else:
            future.set_result(fn(*arguments, **named))
        return future


@pytest.mark.parametrize("error", [OSError("gone"), CancelledError(), TimeoutError()])
def test_lost_workers_cost_a_rerun(tmp_path: Path, error: BaseException) -> None:
    """A worker that dies would cost a run, end the campaign, or be waited for without end."""
    scenario = solver(tmp_path, ANSWER)
    given = tasks(scenario, 1, 1)
    losing = Losing(20, error)
    with open_pool(scenario, losing, workers=3, pin=False) as pool:
        assert pool.workers == 3
        assert len(finish(pool, given)) == 5
    assert losing.number == 21 * 5
    with (
        open_pool(scenario, Losing(21, error), workers=3, pin=False) as pool,
        pytest.raises(TruecostError, match=r"instance 'instances/i \d\.txt' was lost .* 21 times"),
    ):
        finish(pool, given[:1])


def test_workers_without_truecost_are_one_line(tmp_path: Path) -> None:
    """A worker on which truecost is not installed would pass for one that died, 20 times."""
    scenario = solver(tmp_path, ANSWER)
    losing = Losing(1, ModuleNotFoundError("No module named 'truecost'"))
    with (
        open_pool(scenario, losing, workers=1, pin=False) as pool,
        pytest.raises(InputError, match="Install"),
    ):
        finish(pool, tasks(scenario)[:1])


def test_executors_of_unknown_size_need_workers(tmp_path: Path) -> None:
    """A cluster of 200 workers would get as many runs as this machine has cores."""
    scenario = solver(tmp_path, ANSWER)
    with pytest.raises(InputError, match="workers=N"), open_pool(scenario, Losing(0, OSError())):
        pass
    with ThreadPoolExecutor(3) as threads:
        assert executor.size_of(threads) == 3


def test_a_broken_executor_loses_nothing(tmp_path: Path) -> None:
    """An executor that takes no more runs would end in a traceback."""
    scenario = solver(tmp_path, ANSWER)
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    with (
        open_pool(scenario, threads, pin=False) as pool,
        pytest.raises(LostClusterError, match="Finished runs are safe"),
    ):
        pool.submit(tasks(scenario)[0])


@pytest.mark.slow
def test_a_killed_process_of_an_executor_is_one_line(tmp_path: Path) -> None:
    """A process pool that lost a worker is broken: the error would be a traceback."""
    scenario = solver(tmp_path, ANSWER)
    processes = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with processes, open_pool(scenario, processes, pin=False) as pool:
        assert len(finish(pool, tasks(scenario)[:2])) == 2
        (worker,) = processes._processes
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(LostClusterError, match="Finished runs are safe"):
            finish(pool, tasks(scenario)[:2])


def test_workers_notice_what_differs(tmp_path: Path) -> None:
    """A worker would go on with yesterday's scenario, or run on another instance than named."""
    scenario = solver(tmp_path, ANSWER)
    job, task = Job.of(scenario, pin=False), tasks(scenario)[0]
    digest = task.instance.digest()
    assert not isinstance(remote_run(job, task, digest), TruecostError)

    def problem(**changes: Any) -> str:
        changed = changes.pop("digest", digest)
        result = remote_run(replace(job, **changes), task, changed)
        assert isinstance(result, InputError)
        assert os.uname().nodename in str(result)
        return str(result)

    assert "Install the same version" in problem(truecost="0.0")
    assert "instance" in problem(digest="other")
    assert "No such file" in problem(scenario=str(tmp_path / "missing.toml"))
    text = scenario.path.read_text()
    scenario.path.write_text(text.replace("seed = 3", "seed = 4"))
    assert "differs" in problem()
    scenario.path.write_text(text)
    Path(task.instance.argument).write_text("changed\n")
    assert "instance" in problem()
    remote.bench.release(job)


def test_memory_limits_fit_the_machine(tmp_path: Path) -> None:
    """The machine would run out of memory before the runs reach their limit."""
    megabytes = machine.memory_allowed() / 2e6
    scenario = solver(tmp_path, ANSWER, limits={**FAR, "memory": megabytes * 1.5})
    with open_pool(scenario, 1, pin=False):
        pass
    with pytest.raises(InputError, match=r"limits\.memory"), open_pool(scenario, 2, pin=False):
        pass


@pytest.mark.parametrize("pool", [0, -1, True, 1.5, object()])
def test_what_is_no_pool_is_refused(tmp_path: Path, pool: Any) -> None:
    """Something that cannot execute runs would be found out deep inside."""
    with pytest.raises(InputError, match="pool is"), open_pool(read(tmp_path), pool):
        pass
    with pytest.raises(InputError, match="workers is"), open_pool(read(tmp_path), 1, workers=0):
        pass


def test_a_pool_may_be_anybodys(tmp_path: Path) -> None:
    """Simulated workers could not be used, or be closed by a campaign that did not open them."""
    scenario = read(tmp_path)
    with open_pool(scenario, 1, pin=False) as mine:
        with open_pool(scenario, mine) as pool:
            assert pool is mine
        assert finish(mine, tasks(scenario)[:1])


def test_no_dask_scheduler_is_one_line(tmp_path: Path) -> None:
    """A mistyped address would be tried for minutes, and end in a traceback."""
    pytest.importorskip("distributed")
    with (
        pytest.raises(InputError, match=r"no Dask scheduler at 'tcp://127\.0\.0\.1:9'"),
        open_pool(read(tmp_path), "tcp://127.0.0.1:9"),
    ):
        pass
