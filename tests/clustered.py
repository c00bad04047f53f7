"""Gathers a scenario on a Dask cluster whose workers are killed meanwhile: `clustered.py SCENARIO JOURNAL KILLS`."""

import json
import os
import signal
import sys
import threading
import time

from distributed import Client, LocalCluster

from truecost import Scenario, gather


def kill_workers(cluster: LocalCluster, kills: int, killed: list[int]) -> None:
    """Kill one worker after the other; the cluster starts new ones."""
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        while len(killed) < kills:
            # Dask does not start a worker again that is killed while it starts: both must have been at work for a while.
            client.wait_for_workers(2)
            time.sleep(1.5)
            pids = [pid for pid in client.run(os.getpid, on_error="ignore").values() if pid not in killed]
            if len(pids) == 2:
                os.kill(pids[len(killed) % 2], signal.SIGKILL)
                killed.append(pids[len(killed) % 2])


def main() -> None:
    """Gather while workers die."""
    path, journal, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
    killed: list[int] = []
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as cluster:
        thread = threading.Thread(target=kill_workers, args=(cluster, kills, killed), daemon=True)
        thread.start()
        gather(
            Scenario.read(path),
            journal,
            configurations=6,
            instances=5,
            runs=20,
            dask=cluster.scheduler_address,
            pin=False,
            keep_going=True,
        )
        sys.stdout.write(json.dumps({"killed": len(killed)}))


if __name__ == "__main__":
    main()
