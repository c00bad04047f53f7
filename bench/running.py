"""What running a solver costs beside the solver, how well CPU time is measured, and how fast a
journal becomes a matrix.
"""

import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from truecost.campaigns.gather import design_of, gather
from truecost.journal.journal import Journal
from truecost.running.machine import cores
from truecost.running.scenario import Scenario
from truecost.running.slots import Slot
from truecost.running.tables import Limits
from truecost.runs import Machine, Outcome, Run, Status

NOTHING = """
name = "nothing"
[target]
kind = "command"
command = ["/bin/true", "{instance}", "{arguments}"]
[space]
file = "space.pcs"
[instances]
names = [INSTANCES]
[limits]
cpu = 5.0
memory = 1000
[metric]
kind = "par"
"""
# Burns so much CPU time by its own clock, from before its interpreter's start, and prints what it
# saw.
BURN = "import time\nwhile time.process_time() < {}: pass\nprint(time.process_time())"


def running() -> None:
    print("\nRunning solvers")
    with tempfile.TemporaryDirectory() as folder:
        overhead(Path(folder))
        starts(Path(folder))
        accuracy()
        journal(Path(folder))


def scenario_in(folder: Path, instances: int) -> Scenario:
    (folder / "space.pcs").write_text("a [0,1000000] [1]i\n")
    names = ", ".join(f'"i{place}"' for place in range(instances))
    (folder / "scenario.toml").write_text(NOTHING.replace("INSTANCES", names))
    return Scenario.read(folder / "scenario.toml")


def bare(times: int) -> float:
    """Seconds per run of a target that does nothing, forked and waited for, by two processes at
    once.
    """
    script = (
        "import os, sys\nfor _ in range(int(sys.argv[1])):\n"
        " p = os.fork()\n p or os.execv('/bin/true', ['true'])\n os.waitpid(p, 0)"
    )
    start = time.perf_counter()
    loops = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", script, str(times // 2)])
        for _ in range(2)
    ]
    for loop in loops:
        loop.wait()
    return (time.perf_counter() - start) / (times // 2)


def overhead(folder: Path) -> None:
    scenario = scenario_in(folder, 20)
    best, reference = float("inf"), float("inf")
    for attempt in range(3):
        reference = min(reference, bare(400))
        start = time.perf_counter()
        gather(
            scenario,
            folder / f"{attempt}.db",
            configurations=20,
            runs=4,
            pool=min(2, len(cores())),
        )
        best = min(best, time.perf_counter() - start)
    per_run = best / 1600  # start of the workers included
    print(
        f"a target that does nothing, journal on        {1600 / best:,.0f} runs/s on {min(2, len(cores()))} cores"
    )
    print(
        f"  overhead of a run in its slot               {2 * per_run * 1e3 - reference * 1e3:.1f} ms over a bare fork and "
        f"wait ({reference * 1e3:.1f} ms)"
    )


def starts(folder: Path) -> None:
    """What a run of a built-in scenario takes before its solver works: a formula of one clause."""
    from truecost.library.clasp import launch as clasp
    from truecost.library.kissat import launch as kissat

    (folder / "one.cnf").write_text("p cnf 1 1\n1 0\n")
    for name, words in (
        ("kissat", [*kissat.find(), "-q"]),
        ("clasp", clasp.find()),
        ("a bare Python", [sys.executable]),
    ):
        last = ["-c", "pass"] if name == "a bare Python" else [str(folder / "one.cnf")]
        with Slot() as slot:
            spent = sorted(
                slot.run([*words, *last], folder=folder, limits=Limits(cpu=20.0)).cpu
                for _ in range(25)
            )
        print(
            f"  start of {name:<14}                     {spent[0] * 1e3:.1f} ms of CPU time, median {spent[12] * 1e3:.1f}"
        )


def accuracy() -> None:
    """Each core runs the loop at the same time; what it says of itself is the truth."""
    worst: dict[str, float] = {}

    def measure(core: int, group: bool) -> None:
        with Slot(cores=[core], group=group) as slot:
            for seconds in (0.05, 0.2, 1.0):
                ended = slot.run(
                    [sys.executable, "-I", "-S", "-c", BURN.format(seconds)],
                    folder=Path("/"),
                    limits=Limits(cpu=20.0),
                )
                truth = float(ended.stdout)
                off = abs(ended.cpu - truth)
                print(
                    f"  {slot.method:<22} {truth:.4f} s of CPU time measured as {ended.cpu:.4f} s"
                )
                worst[slot.method] = max(worst.get(slot.method, 0.0), off / (0.02 * truth + 0.005))

    print("CPU time of a busy loop, both cores loaded")
    for group in (True, False):
        threads = [threading.Thread(target=measure, args=(core, group)) for core in cores()[:2]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for method, share in worst.items():
        print(f"  {method:<22} largest error is {share:.0%} of 2 % + 5 ms")


def journal(folder: Path) -> None:
    """500 × 500 × 5 runs."""
    scenario = scenario_in(folder, 500)
    plan = design_of(scenario, 500, 500, 5)
    path = folder / "large.db"
    here = Machine(host="h", cpu="c", system="s", method="m", solver="v", truecost="t")
    with Journal.write(path, scenario) as book:
        book.begin(plan, scenario.metric)
        outcome = Outcome(status=Status.SOLVED, cpu=1.0, wall=1.0, memory=0, exit_code=0)
        name, instance = plan.configurations[0].name, plan.instances[0].name
        first = Run(configuration=name, instance=instance, number=0, seed=1, outcome=outcome)
        book.add([(first, here)], "2026-01-01T00:00:00+00:00")
    with sqlite3.connect(path) as connection:
        rows = (
            (c + 1, i + 1, n, 7, (c + i + n) % 2, (c * i + n) % 97 / 20)
            for n in range(5)
            for i in range(500)
            for c in range(500)
            if (c, i, n) != (0, 0, 0)
        )
        connection.executemany(
            "INSERT INTO runs (configuration, instance, number, seed, status, cpu, wall, memory, exit_code, detail, machine,"
            " ended) VALUES (?, ?, ?, ?, ?, ?, 1.0, 0, 0, '', 1, '2026-01-01T00:00:00+00:00')",
            rows,
        )
    connection.close()
    start = time.perf_counter()
    with Journal.read(path) as book:
        matrix = book.matrix()
    spent = time.perf_counter() - start
    size = f"{matrix.costs.size:,} runs ({path.stat().st_size / 1e6:.0f} MB)"
    print(f"journal of {size} to a matrix   {spent:.2f} s, {spent / 1.25:.2f} s per million")


if __name__ == "__main__":
    running()
