"""Makes the journals in journals/: `python make_journals.py`, with the truecost they are to be of.

A gather, a search and a validation of a target that is arithmetic; each once as it ended, and once
killed (with -9, by itself) in the middle. The scenario stays beside them, so that a copy of the
folder can go on.
"""

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).parent / "journals"

# kind = "irace": CONFIGURATION INSTANCE-ID SEED INSTANCE --x X --y Y; costs less for each step of
# x towards 0, and crashes for every third x + y + seed where y is 6 or more.
TARGET = """#!/bin/sh
read size < "$4"
[ "$8" -ge 6 ] && [ $(( ($3 + $6 + $8) % 3 )) = 0 ] && exit 1
echo $(( ($3 / 7 + size * 3) % 50 + $6 * 10 ))
"""
SPACE = "x integer [0,5] [5]\ny integer [0,9] [0]\n"
SCENARIO = """name = "old"
seed = 4

[target]
kind = "irace"
command = ["./solver.sh"]

[space]
file = "space.pcs"

[instances]
glob = "train/*.txt"

[limits]
cpu = 30.0
wall = 600.0

[metric]
kind = "value"
low = 0.0
high = 110.0
"""
# What is done to each journal, with runs after which the second one is killed.
CAMPAIGNS = {
    "gather": (
        "gather(scenario, path, configurations=6, instances=8, runs=2, **usual)",
        "done",
        37,
    ),
    "search": ('configure(scenario, path, budget="120runs", **usual)', "runs", 95),
    "validation": (
        'validate(import_runs("gather.db"), scenario, path, instances="new/*.txt",'
        ' budget="60runs", **usual)',
        "runs",
        13,
    ),
}
PROGRAM = """
import os, signal, sys
from truecost import Scenario, configure, gather, import_runs, validate
path, end = sys.argv[1], int(sys.argv[2])
def stop(now):
    if now.{counter} >= end:
        os.kill(os.getpid(), signal.SIGKILL)
scenario = Scenario.read("scenario.toml")
usual = dict(workers=2, pin=False, keep_going=True, progress=stop)
{call}
"""


def main() -> None:
    """Write the scenario and run everything."""
    shutil.rmtree(HERE, ignore_errors=True)
    for folder, count in (("train", 12), ("new", 40)):
        (HERE / folder).mkdir(parents=True)
        for place in range(count):
            (HERE / folder / f"{place}.txt").write_text(f"{place % 10}\n{folder} {place}\n")
    (HERE / "solver.sh").write_text(TARGET)
    (HERE / "solver.sh").chmod(0o755)
    (HERE / "space.pcs").write_text(SPACE)
    (HERE / "scenario.toml").write_text(SCENARIO)
    for name, (call, counter, runs) in CAMPAIGNS.items():
        program = PROGRAM.format(call=call, counter=counter)
        for path, end in ((f"{name}.db", 10**9), (f"{name}-unfinished.db", runs)):
            ended = subprocess.run(
                [sys.executable, "-c", program, path, str(end)], cwd=HERE, check=False
            )
            assert ended.returncode == (0 if end == 10**9 else -signal.SIGKILL), path
            # What a killed process leaves in its log, put into the file: one file is easier to keep.
            with closing(sqlite3.connect(HERE / path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not list(HERE.glob("*.db-*"))


if __name__ == "__main__":
    main()
