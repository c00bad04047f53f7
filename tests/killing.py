"""Gathers, configures or validates a scenario in a child that is killed with -9 again and again.

`killing.py gather SCENARIO JOURNAL KILLS`, `killing.py configure SCENARIO JOURNAL KILLS RUNS` or
`killing.py validate SCENARIO JOURNAL KILLS`, started in the scenario's folder. Truecost is loaded
once, so that a child is at work at once. Each is killed after it told of so many runs and while a
solver runs, whatever time that takes; nothing of its runs may outlive it. Prints, as JSON, for each
that was killed: the runs journaled before, how many it told of, and the runs journaled after.
"""

import gc
import json
import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import NoReturn

from truecost import Scenario, gather
from truecost.campaigns.configure import configure
from truecost.campaigns.validate import validate

# Seconds after which a process that should be gone is called a survivor.
PATIENCE = 120.0


def solvers() -> list[str]:
    """The processes of runs, whoever started them: a variable gives them away, whatever they call
    themselves.
    """
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and int(entry.name) != os.getpid()
                and f"KILLING={os.getpid()}".encode() in (entry / "environ").read_bytes()
            ):
                found.append(entry.name)
        except OSError:
            continue
    return found


def solves(pid: int) -> bool:
    """Whether a solver runs somewhere below this process, which takes fewer looks than at all
    processes of the machine.
    """
    try:
        children = [
            int(each)
            for path in Path(f"/proc/{pid}/task").glob("*/children")
            for each in path.read_text().split()
        ]
        if any(b"solver.sh" in Path(f"/proc/{each}/cmdline").read_bytes() for each in children):
            return True
    except OSError:
        return False
    return any(map(solves, children))


def journaled(path: str) -> int:
    """How many runs a journal has."""
    if not Path(path).exists():
        return 0
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM runs").fetchone()[0])


def work(how: str, scenario: Scenario, journal: str, runs: str, telling: int) -> NoReturn:
    """Go on where the journal ends, and tell of every run."""
    try:
        there = journaled(journal)
        if how == "gather":
            gather(
                scenario,
                journal,
                configurations=6,
                instances=5,
                runs=20,
                pin=False,
                pool=2,
                keep_going=True,
                progress=lambda now: tell(telling, now.runs - there),
            )
        elif how == "validate":
            import validations

            validate(
                validations.log({"x": 3, "y": 1}, {"x": 4, "y": 0}),
                scenario,
                journal,
                instances="new/*.txt",
                budget="80runs",
                pin=False,
                pool=2,
                progress=lambda now: tell(telling, now.runs - there),
            )
        else:
            configure(
                scenario,
                journal,
                budget=f"{runs}runs",
                pool=1,
                pin=False,
                keep_going=True,
                progress=lambda now: tell(telling, now.runs - there),
            )
        os._exit(0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def tell(telling: int, runs: int) -> None:
    """Tell how many runs are done."""
    os.write(telling, b"%d\n" % runs)


def main() -> None:
    """Kill until it was killed often enough, then let it finish."""
    how, path, journal, kills, runs = [*sys.argv[1:], ""][:5]
    rng = random.Random(7)  # noqa: S311 - moments to kill at
    scenario = Scenario.read(path)
    os.environ["KILLING"] = str(os.getpid())
    lives: list[tuple[int, int, int]] = []
    # The children would go through all that is loaded for garbage, and so copy it.
    gc.freeze()
    while True:
        before = journaled(journal)
        hearing, telling = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(hearing)
            work(how, scenario, journal, runs, telling)
        os.close(telling)
        if len(lives) == int(kills):
            break
        with os.fdopen(hearing) as lines:
            due, told = rng.randrange(1, 6), 0
            while told < due:
                line = lines.readline()
                if not line:
                    sys.exit(f"it ended before it was killed for the {len(lives) + 1}th time")
                told = int(line)
            while not solves(child):
                if os.waitpid(child, os.WNOHANG)[0]:
                    sys.exit(f"it ended before it was killed for the {len(lives) + 1}th time")
                time.sleep(0.001)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        until = time.monotonic() + PATIENCE
        while left := solvers():
            if time.monotonic() > until:
                sys.exit(f"the processes {left} outlived their gathering")
            time.sleep(0.005)
        lives.append((before, told, journaled(journal)))
    status = os.waitpid(child, 0)[1]
    os.close(hearing)
    if status:
        sys.exit(f"it ended with {os.waitstatus_to_exitcode(status)}")
    sys.stdout.write(json.dumps(lives))


if __name__ == "__main__":
    main()
