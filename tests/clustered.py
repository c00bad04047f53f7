"""Gathers a scenario on a Dask cluster whose workers are killed meanwhile, then configures and validates on it in peace.

`clustered.py GATHERED JOURNAL KILLS CONFIGURED JOURNAL RUNS VALIDATED JOURNAL`. Prints, as JSON, who was killed.
"""

import json
import os
import signal
import sys
import time
from typing import Any

import validations
from distributed import LocalCluster
from distributed.core import Status

from truecost import Scenario, gather
from truecost.running.configuring import configure
from truecost.running.gathering import GatherProgress
from truecost.running.validating import validate


def busy_workers(cluster: LocalCluster) -> list[int]:
    """The workers that have something to do, once both are up: Dask starts none again that is killed while it starts."""
    while True:
        nannies = [nanny for nanny in list(cluster.workers.values()) if nanny.process is not None]
        if len([each for each in nannies if each.process.status == each.status == Status.running]) == 2:
            break
        cluster.scale(2)  # a worker that was too slow to start is given up by Dask, and a new one taken
        time.sleep(0.05)
    assert cluster.scheduler is not None
    known = cluster.scheduler.workers
    return [each.process.pid for each in nannies if (its := known.get(each.worker_address)) is not None and its.processing]


def main() -> None:
    """Gather while workers die, then configure, then validate."""
    gathered, journal, kills, configured, search, runs, validated, validation = sys.argv[1:]
    killed: list[int] = []

    def kill(progress: GatherProgress) -> None:
        if len(killed) < int(kills) and progress.done >= 20 + 60 * len(killed):
            # What was under way may have been finished meanwhile: then with the next report.
            for victim in busy_workers(cluster)[:1]:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as cluster:
        common: dict[str, Any] = {"dask": cluster.scheduler_address, "pin": False, "keep_going": True}
        gather(Scenario.read(gathered), journal, configurations=6, instances=5, runs=8, progress=kill, **common)
        configure(Scenario.read(configured), search, budget=f"{runs}runs", **common)
        validate(validations.log(), Scenario.read(validated), validation, budget="60runs", **common)
    sys.stdout.write(json.dumps(killed))


if __name__ == "__main__":
    main()
