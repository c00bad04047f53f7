"""A Dask cluster of processes of its own: a scheduler, and workers that come and go as a test wants
them.
"""

import json
import os
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import scenarios
from starting import Started, Starter

# Answers at once the first times, then holds on until there is a file `go`.
HOLDING = """#!/bin/sh
touch "counted/$5-$$"
set -- "$@" $(ls counted | wc -l)
eval held=\\${$#}
while [ "$held" -gt 4 ] && [ ! -e go ]; do sleep 0.05; done
echo "Result for SMAC: SUCCESS, 0.01, 0, $(( ($5 / 7 + $7 * 31) % 9973 )), $5"
"""
# A machine may be slow; a test that waits so long, in seconds, waits for something that will not
# happen.
PATIENCE = 300.0


def until(there: Callable[[], object], what: str) -> None:
    """Wait for a state of things."""
    end = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


class Cluster:
    """A scheduler and its workers, each a process; `environment` is how Dask is told of
    certificates.
    """

    def __init__(
        self, starter: Starter, folder: Path, protocol: str, environment: Mapping[str, str]
    ) -> None:
        self._starter, self._folder, self._protocol = starter, folder, protocol
        self.environment = {**os.environ, **environment}
        self._started = 0
        self.address = ""
        self.scheduler: Started | None = None
        self.workers: list[Started] = []

    def start_scheduler(self) -> None:
        """A scheduler; at the address of the one before, if there was one."""
        file = self._folder / f"scheduler-{self._started}.json"
        port = self.address.rpartition(":")[2] or "0"
        words = [
            "--protocol",
            self._protocol,
            "--host",
            "127.0.0.1",
            "--port",
            port,
            "--scheduler-file",
            str(file),
        ]
        self.scheduler = self._process("scheduler", *words)
        until(lambda: file.exists() and file.stat().st_size, "the scheduler")
        self.address = json.loads(file.read_text())["address"]

    def start_worker(self) -> None:
        """One more worker, with one thread."""
        words = [
            "--protocol",
            self._protocol,
            "--host",
            "127.0.0.1",
            "--nthreads",
            "1",
            "--nworkers",
            "1",
            "--no-nanny",
        ]
        words += ["--local-directory", str(self._folder), "--death-timeout", str(PATIENCE)]
        self.workers.append(self._process("worker", self.address, *words))

    def _process(self, kind: str, *words: str) -> Started:
        self._started += 1
        with (self._folder / f"{kind}-{self._started}.log").open("wb") as log:
            words = (kind, *words, "--no-dashboard")
            return self._starter.start(
                "from dask.__main__ import main; main()",
                *words,
                env=self.environment,
                stdout=log,
                stderr=log,
            )

    def kill_workers(self) -> None:
        """All of them, at once."""
        end(self.workers)
        self.workers = []

    def kill_scheduler(self) -> None:
        """With -9."""
        assert self.scheduler is not None
        end([self.scheduler])
        self.scheduler = None


def end(processes: Sequence[Started | subprocess.Popen[bytes]]) -> None:
    """Kill, and see them dead."""
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


@contextmanager
def cluster(
    starter: Starter,
    folder: Path,
    *,
    protocol: str = "tcp",
    environment: Mapping[str, str] | None = None,
) -> Iterator[Cluster]:
    """A cluster with a scheduler and no worker yet; nothing of it is left afterwards."""
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        made = Cluster(starter, folder, protocol, environment or {})
        stack.callback(lambda: end([*made.workers, *([made.scheduler] if made.scheduler else [])]))
        made.start_scheduler()
        yield made


def holding(folder: Path) -> Path:
    """A scenario whose runs hold on after the first few."""
    (folder / "counted").mkdir(parents=True)
    path = scenarios.write(
        folder,
        target={"kind": "wrapper", "command": ["./holding.sh"]},
        limits={"cpu": 100.0, "wall": 1000.0},
    )
    (folder / "holding.sh").write_text(HOLDING)
    (folder / "holding.sh").chmod(0o755)
    return path


def runs(path: Path) -> int:
    """How many runs a journal holds."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def openssl(folder: Path, *words: str) -> None:
    """A certificate's tool."""
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def certificates(folder: Path) -> dict[str, str]:
    """An authority and one certificate signed by it, as Dask is told of them."""
    folder.mkdir()
    subject = ["-newkey", "rsa:2048", "-nodes", "-days", "2"]
    openssl(
        folder,
        "req",
        "-x509",
        *subject,
        "-keyout",
        "ca-key.pem",
        "-out",
        "ca.pem",
        "-subj",
        "/CN=test authority",
    )
    openssl(
        folder,
        "req",
        *subject[:3],
        "-keyout",
        "key.pem",
        "-out",
        "request.pem",
        "-subj",
        "/CN=test cluster",
    )
    signing = ["-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-days", "2"]
    openssl(folder, "x509", "-req", "-in", "request.pem", *signing, "-out", "cert.pem")
    told = {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(folder / "ca.pem")}
    for who in ("SCHEDULER", "WORKER", "CLIENT"):
        told[f"DASK_DISTRIBUTED__COMM__TLS__{who}__CERT"] = str(folder / "cert.pem")
        told[f"DASK_DISTRIBUTED__COMM__TLS__{who}__KEY"] = str(folder / "key.pem")
    return {**told, "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}
