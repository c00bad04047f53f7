"""Configures a scenario, in a child that is killed with -9 again and again, or on a cluster.

`searching.py kill SCENARIO JOURNAL RUNS KILLS` or `searching.py dask SCENARIO JOURNAL RUNS`. Prints, as JSON, how often it
was killed before it was done.
"""

import json
import os
import random
import signal
import sys
import time

from truecost import Scenario
from truecost.running.configuring import configure


def kill(path: str, journal: str, runs: str, kills: int) -> int:
    """Kill until it was killed often enough, then let it finish; truecost is loaded once, so that kills fall into work."""
    rng = random.Random(5)  # noqa: S311 - moments to kill at
    scenario = Scenario.read(path)
    killed = 0
    while True:
        child = os.fork()
        if child == 0:
            try:
                configure(scenario, journal, budget=f"{runs}runs", workers=2, pin=False, keep_going=True)
                os._exit(0)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
        if killed < kills:
            time.sleep(rng.uniform(0.0, 0.3))
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if not os.WIFSIGNALED(status):
            if os.waitstatus_to_exitcode(status):
                sys.exit(1)
            return killed
        killed += 1


def on_cluster(path: str, journal: str, runs: str) -> None:
    """Two workers of Dask."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as cluster:
        configure(
            Scenario.read(path),
            journal,
            budget=f"{runs}runs",
            dask=cluster.scheduler_address,
            pin=False,
            keep_going=True,
        )


if __name__ == "__main__":
    how, *words = sys.argv[1:]
    if how == "kill":
        sys.stdout.write(json.dumps({"killed": kill(words[0], words[1], words[2], int(words[3]))}))
    else:
        on_cluster(*words)
