"""A Dask cluster in processes: a scheduler, and workers that come and go as a test wants them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from running_tools import until

Process = subprocess.Popen[bytes]


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = 0
        self.address = ""
        self.scheduler: Process | None = None
        self.workers: list[Process] = []

    def start_scheduler(self) -> None:
        """Start a scheduler."""
        file = self._folder / "scheduler.json"
        self.scheduler = self._process("scheduler", "--port", "0", "--scheduler-file", str(file))
        until(lambda: file.exists() and file.stat().st_size, "the scheduler")
        self.address = json.loads(file.read_text())["address"]

    def start_worker(self) -> None:
        """Start one more worker, with one thread; the scheduler knows it afterwards."""
        words = [self.address, "--nthreads", "1", "--nworkers", "1", "--no-nanny"]
        words += ["--local-directory", str(self._folder), "--death-timeout", "300"]
        self.workers.append(self._process("worker", *words))
        until(lambda: b"Registered to" in self._log("worker").read_bytes(), "the worker")

    def _log(self, kind: str) -> Path:
        return self._folder / f"{kind}-{self._started}.log"

    def _process(self, kind: str, *words: str) -> Process:
        self._started += 1
        common = ["--host", "127.0.0.1", "--no-dashboard"]
        with self._log(kind).open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", kind, *words, *common],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill_workers(self) -> None:
        """Kill all of them at once."""
        end(*self.workers)
        self.workers = []

    def kill_scheduler(self) -> None:
        """Kill it with -9."""
        assert self.scheduler is not None
        end(self.scheduler)
        self.scheduler = None


def end(*processes: Process) -> None:
    """Kill, and see them dead."""
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster with a scheduler and no worker yet; nothing of it is left afterwards."""
    folder.mkdir(exist_ok=True)
    made = Cluster(folder)
    try:
        made.start_scheduler()
        yield made
    finally:
        end(*made.workers, *([made.scheduler] if made.scheduler else []))
