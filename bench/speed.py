"""How long truecost itself takes: `python -m bench.speed [--repeat N]`, `make bench`.

Each line gives a time, the time of a reference measured right before it, and their ratio, so that
different machines and days can be compared: a start of /bin/true or of Python with NumPy for
processes, a sort of a million numbers for computing, `csv.reader` over the same file for reading.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.search import by_truecost
from bench.targets import sparse
from truecost.api import import_runs
from truecost.errors import counted
from truecost.matrix.cost_matrix import CostMatrix
from truecost.paper.fit import Kind
from truecost.paper.sweeps import sweep
from truecost.running.pools import Task, open_pool
from truecost.running.scenario import Scenario
from truecost.running.slots import Slot
from truecost.running.tables import Limits
from truecost.stats.betting import Watch, best_set

SCENARIO = """
name = "empty"
target = {target}
space = {{file = "space.pcs"}}
instances = {{names = ["a", "b", "c"]}}
limits = {{cpu = 60.0}}
metric = {metric}
"""
EMPTY = SCENARIO.format(
    target='{kind = "command", command = ["/bin/true", "{instance}", "{arguments}"]}',
    metric='{kind = "par"}',
)
FUNCTION = SCENARIO.format(
    target='{kind = "python", function = "f.py:f"}', metric='{kind = "value", low = 0, high = 1}'
)
CONFIGURATIONS, INSTANCES, RUNS = 100, 600, 5


class Timing(NamedTuple):
    """Seconds of one piece of work, and of a reference."""

    seconds: float
    reference: float


def fastest(work: Callable[[], object], repeat: int) -> float:
    """The shortest of several times: what other programs do only makes times longer."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


# ---- references ----------------------------------------------------------------------------------


def bare_start() -> None:
    os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)


def python_start() -> None:
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)


MILLION = np.random.default_rng(1).random(1_000_000)


def sort_million() -> None:
    np.sort(MILLION)


# ---- running -------------------------------------------------------------------------------------


def slot_run(repeat: int, memory: float | None = None) -> Timing:
    """A run of /bin/true in its slot; the supervisor is there already."""
    limits = Limits(cpu=60.0, wall=600.0, memory=memory)
    reference = fastest(bare_start, 50 * repeat)
    with Slot() as slot:
        run = fastest(lambda: slot.run(["/bin/true"], folder=Path("/"), limits=limits), 50 * repeat)
    return Timing(run, reference)


def pool_run(repeat: int, workers: int, text: str = EMPTY) -> Timing:
    """A run among many, with these workers."""
    reference, number = fastest(bare_start, 50 * repeat), 200
    Path("space.pcs").write_text("x [0, 1] [0.5]\n")
    Path("f.py").write_text("def f(x=0):\n    return 0.5\n")
    Path("scenario.toml").write_text(text)
    scenario = Scenario.read("scenario.toml")
    task = Task(
        configuration=scenario.space.default(), instance=scenario.instances[0], number=0, seed=1
    )

    with open_pool(scenario, workers, pin=False) as pool:

        def some() -> None:
            sent = done = 0
            while done < number:
                while sent < min(number, done + 2 * workers):
                    pool.submit(task)
                    sent += 1
                done += len(pool.wait())

        some()
        return Timing(fastest(some, repeat) / number, reference)


# ---- commands and reading ------------------------------------------------------------------------


def command(repeat: int, *words: str) -> Timing:
    """A whole command, from the shell and back."""
    program = [str(Path(sys.executable).with_name("truecost")), *words]

    def run() -> None:
        code = subprocess.run(program, capture_output=True, check=False).returncode
        assert code in (0, 1), program

    return Timing(fastest(run, repeat), fastest(python_start, repeat))


def read_csv(repeat: int) -> Timing:
    """Importing a long table of 300,000 runs."""
    path = Path("long.csv")
    costs = np.random.default_rng(1).lognormal(size=(CONFIGURATIONS, INSTANCES, RUNS))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["configuration", "instance", "seed", "cost"])
        for (configuration, instance, seed), cost in np.ndenumerate(np.minimum(costs, 50)):
            writer.writerow([f"c{configuration}", f"i{instance}.cnf", seed + 1, f"{cost:.6g}"])

    def plain() -> None:
        with path.open(newline="") as file:
            for _ in csv.reader(file):
                pass

    reference = fastest(plain, repeat)
    return Timing(fastest(lambda: import_runs(path, low=0.0, high=50.0), repeat), reference)


# ---- statistics ----------------------------------------------------------------------------------


def candidates(repeat: int) -> Timing:
    """The set that contains the best of 500 configurations, from 120 instances."""
    rng = np.random.default_rng(1)
    x = rng.random((500, 120)) * rng.uniform(0.5, 1, (500, 1))
    return Timing(fastest(lambda: best_set(x, 0.05), repeat), fastest(sort_million, 10))


def one_more_unit(repeat: int) -> Timing:
    """One unit of a validation of 100, the mean over all of them."""
    numbers = np.random.default_rng(1).random(100)
    seconds = fastest(lambda: Watch(delta=0.05, planned=100).replay(numbers), repeat)
    return Timing(seconds / numbers.size, fastest(sort_million, 10))


def paper_sweep(repeat: int, kind: Kind, splits: int = 100) -> Timing:
    """A split of a sweep of the paper, on 100 configurations × 100 instances × 5 runs."""
    costs = np.random.default_rng(1).random((100, 100, 5))
    configurations, instances = ([f"{letter}{place}" for place in range(100)] for letter in "ci")
    matrix = CostMatrix(costs, configurations, instances, low=0.0, high=1.0)
    seconds = fastest(
        lambda: sweep(matrix, kind, splits=splits, rng=1, workers=1),
        repeat,
    )
    return Timing(seconds / splits, fastest(sort_million, 10))


def search_time(repeat: int, budget: int = 1000) -> Timing:
    """The search's own time for a run, with simulated costs."""
    target = sparse(1)
    seconds = min(by_truecost(target, budget, seed).seconds for seed in range(repeat))
    return Timing(seconds / budget, fastest(sort_million, 10))


MEASUREMENTS: dict[str, tuple[str, Callable[[int], Timing]]] = {
    "a run in a slot": ("/bin/true", slot_run),
    "a run in a slot, memory limited": ("/bin/true", lambda n: slot_run(n, 1000.0)),
    "a run, 1 worker": ("/bin/true", lambda n: pool_run(n, 1)),
    "a run, 2 workers": ("/bin/true", lambda n: pool_run(n, 2)),
    "a Python function, 2 workers": ("/bin/true", lambda n: pool_run(n, 2, FUNCTION)),
    "audit kissat": ("python, NumPy", lambda n: command(n, "audit", "kissat")),
    "report kissat": ("python, NumPy", lambda n: command(n, "report", "kissat", "--out", "k.html")),
    "import of 300,000 rows": ("csv.reader", read_csv),
    "best set of 500 × 120": ("sort of 10⁶", candidates),
    "one more unit of 100": ("sort of 10⁶", one_more_unit),
    "m-sweep, a split": ("sort of 10⁶", lambda n: paper_sweep(n, "m")),
    "N-sweep, a split": ("sort of 10⁶", lambda n: paper_sweep(n, "n")),
    "K-sweep, a split": ("sort of 10⁶", lambda n: paper_sweep(n, "k")),
    "search, own time of a run": ("sort of 10⁶", search_time),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repeat", type=int, default=5, help="repetitions, of which the shortest counts"
    )
    repeat = parser.parse_args().repeat
    print(f"shortest of {counted(repeat, 'time')}; load {os.getloadavg()[0]:.1f}")
    print(f"{'':32} {'ms':>9} {'reference':>14} {'ms':>9} {'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for title, (reference, measure) in MEASUREMENTS.items():
            ours, theirs = measure(repeat)
            print(
                f"{title:32} {1000 * ours:9.3g} {reference:>14} {1000 * theirs:9.3g} "
                f"{ours / theirs:8.3g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
