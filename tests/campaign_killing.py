"""Gathers, configures or validates in a child that is killed with -9 again and again.

`campaign_killing.py gather|configure|validate SCENARIO JOURNAL KILLS`, started in the scenario's
folder. Each child is killed at a random moment after it told of a few runs; nothing of its runs may
outlive the campaign. Prints, as JSON, for each that was killed: the runs journaled before, how many
it told of, and the runs journaled after.
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

from truecost.campaigns.campaign import Progress
from truecost.campaigns.configure import configure
from truecost.campaigns.gather import gather
from truecost.campaigns.validate import validate
from truecost.running.scenario import Scenario

# Seconds after which a process that should be gone is called a survivor.
PATIENCE = 60.0


def solvers(mark: str) -> list[str]:
    """The processes of runs: a variable gives them away, whatever they call themselves."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and int(entry.name) != os.getpid()
                and mark.encode() in (entry / "environ").read_bytes()
            ):
                found.append(entry.name)
        except OSError:
            continue
    return found


def journaled(path: str) -> int:
    """How many runs a journal has."""
    if not Path(path).exists():
        return 0
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'runs'").fetchall()
        query = "SELECT count(*) FROM runs"
        return int(connection.execute(query).fetchone()[0]) if tables else 0


def work(how: str, scenario: Scenario, journal: str, telling: int) -> NoReturn:
    """Go on where the journal ends, and tell of every run."""

    def tell(now: Progress) -> None:
        os.write(telling, b"%d\n" % now.runs)

    try:
        if how == "gather":
            gather(
                scenario, journal, configurations=6, instances=5, runs=20, pin=False, pool=2,
                progress=tell, keep_going=True,
            )  # fmt: skip
        elif how == "validate":
            validate(
                None, scenario, journal, configuration={"alpha": "5", "beta": "5"}, pin=False,
                instances="new/*.txt", complete=True, pool=2, progress=tell, keep_going=True,
            )  # fmt: skip
        else:
            configure(
                scenario, journal, budget=400, pin=False, pool=2, progress=tell, keep_going=True
            )
        os._exit(0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def main() -> None:
    """Kill until it was killed often enough, then let it finish."""
    how, path, journal, kills = sys.argv[1:]
    rng = random.Random(7)  # noqa: S311 - moments to kill at
    scenario = Scenario.read(path)
    mark = f"KILLING={os.getpid()}"
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
            work(how, scenario, journal, telling)
        os.close(telling)
        if len(lives) == int(kills):
            break
        with os.fdopen(hearing) as lines:
            due, told = before + rng.randrange(1, 12), 0
            while told < due:
                line = lines.readline()
                if not line:
                    sys.exit(f"it ended before it was killed for the {len(lives) + 1}th time")
                told = int(line)
            time.sleep(rng.random() * 0.02)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        until = time.monotonic() + PATIENCE
        while left := solvers(mark):
            if time.monotonic() > until:
                sys.exit(f"the processes {left} outlived their campaign")
            time.sleep(0.005)
        lives.append((before, told, journaled(journal)))
    status = os.waitpid(child, 0)[1]
    os.close(hearing)
    if status:
        sys.exit(f"it ended with {os.waitstatus_to_exitcode(status)}")
    sys.stdout.write(json.dumps(lives))


if __name__ == "__main__":
    main()
