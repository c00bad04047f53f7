"""What a run on a Dask cluster costs the process that asks for it.

`python -m bench.cluster [WORKERS [THREADS [RUNS]]]` starts a scheduler and two processes with that
many workers between them, whose runs only wait, and prints the CPU time of the client per run.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import scenarios

from truecost.running.pools import dask
from truecost.running.pools.remote import Job
from truecost.running.pools.task import Task
from truecost.running.scenario import Scenario
from truecost.runs import Machine, Outcome, Status

HOSTS = 2
MACHINE = Machine(host="h", cpu="c", system="s", method="m", solver="", truecost="")


def waiting_run(job: Job, task: Task, digest: str) -> tuple[Outcome, Machine]:  # noqa: ARG001
    """In the place of a run: half a second in which nothing is done."""
    time.sleep(0.5)
    outcome = Outcome(status=Status.SOLVED, cpu=0.1, wall=0.1, memory=1, exit_code=0)
    return outcome, MACHINE


async def host(address: str, workers: int, threads: int) -> None:
    """Start this number of workers and wait until the scheduler stops."""
    import distributed

    new = [distributed.Worker(address, nthreads=threads) for _ in range(workers)]
    started = await asyncio.gather(*new)
    await asyncio.gather(*(worker.finished() for worker in started))


def measure(workers: int, threads: int, runs: int) -> None:
    """Print what the client needs."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
        words += ["--host", "127.0.0.1"]
        scheduler = subprocess.Popen(
            [*words, "--no-dashboard", "--scheduler-file", str(file)], stderr=subprocess.DEVNULL
        )
        while not file.exists() or not file.read_text():
            time.sleep(0.05)
        address = f"tcp://{_address(file)}"
        share = str(workers // HOSTS)
        hosts = [
            subprocess.Popen(
                [sys.executable, "-m", "bench.cluster", "--host", address, share, str(threads)],
                stderr=subprocess.DEVNULL,
            )
            for _ in range(HOSTS)
        ]
        try:
            _drive(folder, address, workers * threads, runs)
        finally:
            for process in (*hosts, scheduler):
                process.terminate()
                process.wait()


def _address(file: Path) -> str:
    import json

    return str(json.loads(file.read_text())["address"]).removeprefix("tcp://")


def _drive(folder: str, address: str, slots: int, runs: int) -> None:
    vars(dask)["remote_run"] = waiting_run
    scenario = Scenario.read(scenarios.write(Path(folder) / "s"))
    with dask.DaskPool(scenario, address, pin=False) as pool:
        while pool.workers < slots:
            time.sleep(0.5)
        configuration, instance = scenario.space.default(), scenario.instances[0]
        tasks = [
            Task(configuration=configuration, instance=instance, number=number, seed=1)
            for number in range(runs)
        ]
        sent = done = 0
        began, cpu = time.monotonic(), time.process_time()
        while done < runs:
            ahead = min(2 * pool.workers - (sent - done), runs - sent)
            for task in tasks[sent : sent + max(0, ahead)]:
                pool.submit(task)
            sent += max(0, ahead)
            done += len(pool.wait())
        wall, cpu = time.monotonic() - began, time.process_time() - cpu
    print(
        f"{slots:,} threads of workers, {runs:,} runs of 0.5 s: client {1000 * cpu / runs:.2f} ms "
        f"of CPU time a run; {runs / wall:,.0f} runs/s of {slots / 0.5:,.0f} possible"
    )


def main(words: list[str]) -> None:
    """The client, or a host of workers."""
    if words[:1] == ["--host"]:
        asyncio.run(host(words[1], int(words[2]), int(words[3])))
        return
    numbers: Any = [int(word) for word in words]
    measure(*numbers, *(100, 2, 5000)[len(numbers) :])


if __name__ == "__main__":
    main(sys.argv[1:])
