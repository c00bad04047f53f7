"""Gathers a scenario in a child that is killed with -9 again and again: `killing.py SCENARIO JOURNAL KILLS`.

Truecost is loaded once, so that a child gathers at once and the kills fall into its work. Prints, as JSON, how often it was
killed before it was done, and how long any process of a run outlived a kill.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from truecost import Scenario, gather


def solvers() -> list[str]:
    """The processes of runs: their TMPDIR gives them away, whatever they call themselves."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"KILLING={os.getpid()}".encode() in (entry / "environ").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return [name for name in found if int(name) != os.getpid()]


def main() -> None:
    """Kill until it was killed often enough, then let it finish."""
    path, journal, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rng = random.Random(7)  # noqa: S311 - moments to kill at
    scenario = Scenario.read(path)
    os.environ["KILLING"] = str(os.getpid())
    killed, longest = 0, 0.0
    while True:
        child = os.fork()
        if child == 0:
            try:
                gather(scenario, journal, configurations=6, instances=5, runs=20, pin=False, workers=2, keep_going=True)
                os._exit(0)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
        if killed < kills:
            # Short enough that a fast machine is not done before it was killed so often.
            time.sleep(rng.uniform(0.0, 0.3))
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            killed += 1
            since = time.monotonic()
            while solvers():
                time.sleep(0.002)
            longest = max(longest, time.monotonic() - since)
            continue
        sys.stdout.write(json.dumps({"killed": killed, "longest": longest, "code": os.waitstatus_to_exitcode(status)}))
        return


main()
