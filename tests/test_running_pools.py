"""Pools: whoever makes the runs makes the same ones, loses none and makes none twice."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from dataclasses import replace
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from running_tools import ANSWER, FAR, check_cells, finish, script, tasks, until
from scenarios import read

from truecost.errors import InputError, LostClusterError, TruecostError
from truecost.running import machine
from truecost.running.execute import Caller
from truecost.running.machine import this_machine
from truecost.running.pools import Pool, Task, open_pool
from truecost.running.pools.worker import Job, Slots, release, remote_run
from truecost.running.slots import LostSlotError, Slot
from truecost.runs import Outcome, Status


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


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own, where cores are claimed as well."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_any_pool_makes_the_same_runs(tmp_path: Path, made: Any) -> None:
    """A pool would make other runs than asked for, lose some, or make some twice."""
    scenario = read(tmp_path)
    given = tasks(scenario, 3, 2)
    with open_pool(scenario, made, pin=False) as pool:
        assert pool.workers == 2
        finished = finish(pool, given)
    check_cells(finished, given)
    assert {run.machine.host for run in finished} == {os.uname().nodename}


@pytest.mark.usefixtures("scratch")
def test_workers_are_pinned_to_claimed_cores(tmp_path: Path) -> None:
    """Two campaigns on one machine would run solvers on the same core."""
    scenario = read(tmp_path)
    with open_pool(scenario) as pool:
        assert pool.workers == len(machine.cores())
        with pytest.raises(InputError, match="another truecost"), open_pool(scenario, 1):
            pass
    with open_pool(scenario, 1) as pool:
        assert pool.workers == 1


@pytest.mark.parametrize("kind", ["here", "threads"])
def test_a_closed_pool_leaves_nothing(tmp_path: Path, scratch: Path, kind: str) -> None:
    """After Ctrl-C solvers would run on, or their folders and claims on cores stay."""
    scenario = script(tmp_path, "echo $$ > pid; sleep 1000")
    pid = tmp_path / "pid"
    threads = ThreadPoolExecutor(2)
    with open_pool(scenario, 2 if kind == "here" else threads, pin=False) as pool:
        for task in tasks(scenario):
            pool.submit(task)
        until(lambda: pid.exists() and pid.read_text().strip())
    threads.shutdown()
    # On a busy machine a killed process is seen for a moment until it is reaped.
    until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists(), "the end of a run")
    assert list(scratch.iterdir()) == []


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize("kind", ["here", "threads"])
def test_a_run_that_lost_its_supervisor_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A killed supervisor would cost a run, or keep its core for ever."""
    first = machine.cores()[:1]
    monkeypatch.setattr(machine, "cores", lambda: first)
    scenario = script(
        tmp_path, f"[ -e lost ] || {{ touch lost; kill -9 $PPID; sleep 9; }}; {ANSWER}"
    )
    given = tasks(scenario)
    with (
        ThreadPoolExecutor(1) as threads,
        open_pool(scenario, 1 if kind == "here" else threads) as pool,
    ):
        assert [run.outcome.value for run in finish(pool, given)] == [5.0] * 5
        (tmp_path / "solver.sh").write_text("#!/bin/sh\nkill -9 $PPID; sleep 9\n")
        pool.submit(given[0])
        with pytest.raises(TruecostError, match=r"i \d\.txt.* supervisor"):
            pool.wait()
    with machine.claimed_cores(1):  # all are given back
        pass


def test_a_supervisor_killed_while_it_starts_costs_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A campaign would end where a worker's supervisor is killed before its first run."""
    attempts = iter([LostSlotError("killed"), LostSlotError("killed")])

    def start(**how: Any) -> Slot:
        if error := next(attempts, None):
            raise error
        return Slot(**how)

    monkeypatch.setattr("truecost.running.pools.worker.Slot", start)
    scenario = read(tmp_path)
    with ThreadPoolExecutor(1) as threads, open_pool(scenario, threads, pin=False) as pool:
        assert len(finish(pool, tasks(scenario)[:1])) == 1


@pytest.mark.usefixtures("scratch")
def test_idle_slots_of_other_campaigns_give_their_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second campaign on a living cluster would find no free core."""
    first = machine.cores()[:1]
    monkeypatch.setattr(machine, "cores", lambda: first)
    scenario, slots = read(tmp_path), Slots()
    caller, task = Caller(scenario), tasks(scenario)[0]
    slots.make("first", caller, task, cores=1)
    slots.add("first", Slot())
    slots.make("second", caller, task, cores=1)
    slots.release("second")


class Puppet(Executor):
    """Runs end as its results say, in the order of their submission; beyond them when told."""

    def __init__(self) -> None:
        self.results: list[object] = []
        self.futures: list[Future[Any]] = []

    def submit(self, fn: Any, /, *arguments: Any, **named: Any) -> Future[Any]:  # noqa: ARG002
        """Take a run."""
        self.futures.append(Future())
        if self.results:
            self.end(-1, self.results.pop(0))
        return self.futures[-1]

    def end(self, place: int, result: object = None) -> None:
        """End a run: it was solved, a worker returned why it could not make it, or was lost."""
        if isinstance(result, Exception) and not isinstance(result, TruecostError):
            self.futures[place].set_exception(result)
        else:
            self.futures[place].set_result(result or SOLVED)


SOLVED = Outcome(status=Status.SOLVED, cpu=1.0, wall=1.0, memory=1, exit_code=0), this_machine("")
Puppeteer = tuple[Puppet, Pool, list[Task]]


@pytest.fixture
def puppet(tmp_path: Path) -> Iterator[Puppeteer]:
    """Such an executor, its pool, and tasks."""
    scenario, executor = script(tmp_path), Puppet()
    with open_pool(scenario, executor, workers=3, pin=False) as pool:
        assert pool.workers == 3
        yield executor, pool, tasks(scenario)


def test_an_error_hides_no_run(puppet: Puppeteer) -> None:
    """A run that cannot be made would take finished ones with it, or those under way."""
    executor, pool, given = puppet
    for task in given[:3]:
        pool.submit(task)
    executor.end(0)
    executor.end(1, InputError("not executable"))
    assert [run.task for run in pool.wait()] == [given[0]]
    with pytest.raises(InputError, match="not executable"):
        pool.wait()
    executor.end(2)
    assert [run.task for run in pool.wait()] == [given[2]]


def test_cancelled_tasks_do_not_start(puppet: Puppeteer) -> None:
    """After an aborted run, two more cutoffs per worker would pass before the error appears; or
    runs under way would be lost.
    """
    executor, pool, given = puppet
    for task in given:
        pool.submit(task)
    for future in executor.futures[:2]:
        future.set_running_or_notify_cancel()
    assert pool.cancel() == given[2:]
    executor.end(0)
    executor.end(1)
    assert [run.task for run in pool.wait()] == given[:2]


@pytest.mark.parametrize("error", [OSError("gone"), CancelledError(), TimeoutError()])
def test_lost_workers_cost_a_rerun(puppet: Puppeteer, error: Exception) -> None:
    """A worker that dies would cost a run, end the campaign, or be waited for without end."""
    executor, pool, given = puppet
    executor.results = [error] * 20 + [None]
    pool.submit(given[0])
    assert [run.task for run in pool.wait()] == [given[0]]
    assert len(executor.futures) == 21
    executor.results = [error] * 21
    pool.submit(given[0])
    with pytest.raises(TruecostError, match=r"instance 'instances/i \d\.txt' was lost .* 21 times"):
        pool.wait()


def test_workers_without_truecost_are_one_line(puppet: Puppeteer) -> None:
    """A worker on which truecost is not installed would pass for one that died, 20 times."""
    executor, pool, given = puppet
    executor.results = [ModuleNotFoundError("No module named 'truecost'")]
    pool.submit(given[0])
    with pytest.raises(InputError, match="Install"):
        pool.wait()


def test_executors_of_unknown_size_need_workers(tmp_path: Path) -> None:
    """A cluster of 200 workers would get as many runs as this machine has cores."""
    scenario = script(tmp_path)
    with pytest.raises(InputError, match="workers=N"), open_pool(scenario, Puppet()):
        pass
    with ThreadPoolExecutor(3) as threads, open_pool(scenario, threads) as pool:
        assert pool.workers == 3


def test_a_broken_executor_loses_nothing(tmp_path: Path) -> None:
    """An executor that takes no more runs would end in a traceback."""
    scenario = script(tmp_path)
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
    scenario = script(tmp_path)
    processes = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with processes, open_pool(scenario, processes, pin=False) as pool:
        assert len(finish(pool, tasks(scenario)[:2])) == 2
        (worker,) = processes._processes
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(LostClusterError, match="Finished runs are safe"):
            finish(pool, tasks(scenario)[:2])


def test_workers_notice_what_differs(tmp_path: Path) -> None:
    """A worker would go on with yesterday's scenario, or run on another instance than named."""
    scenario = script(tmp_path)
    job, task = Job.of(scenario, pin=False), tasks(scenario)[0]
    digest, names = task.instance.digest(), map(str, count())
    assert not isinstance(remote_run(job, task, digest), TruecostError)
    release(job.name)

    def problem(expected: str = digest, **changes: Any) -> str:
        # In the next campaign.
        result = remote_run(replace(job, name=next(names), **changes), task, expected)
        assert isinstance(result, InputError)
        assert os.uname().nodename in str(result)
        return str(result)

    assert "Install the same version" in problem(truecost="0.0")
    assert "instance" in problem("other")
    assert "No such file" in problem(scenario=str(tmp_path / "missing.toml"))
    text = scenario.path.read_text()
    scenario.path.write_text(text.replace("seed = 3", "seed = 4"))
    assert "differs" in problem()
    scenario.path.write_text(text)
    (tmp_path / "solver.sh").write_text("#!/bin/sh\n")
    assert "a program of it differs" in problem()


def test_memory_limits_fit_the_machine(tmp_path: Path) -> None:
    """The machine would run out of memory before the runs reach their limit."""
    megabytes = machine.memory_allowed() / 2e6
    scenario = script(tmp_path, limits={**FAR, "memory": megabytes * 1.5})
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
