"""Own time of running solvers: `python bench/speed.py [--runs N]`.

Every figure is also given as a multiple of a reference timed in the same minute, a bare start of
/bin/true, so that figures of different machines and days can be compared.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from truecost.running.pools import Task, open_pool
from truecost.running.scenario import Scenario
from truecost.running.slots import Slot
from truecost.running.tables import Limits

SCENARIO = """
name = "empty"
[target]
{target}
[space]
file = "space.pcs"
[instances]
names = ["a", "b", "c"]
[limits]
cpu = 60.0
[metric]
{metric}
"""
EMPTY = SCENARIO.format(
    target='kind = "command"\ncommand = ["/bin/true", "{instance}", "{arguments}"]',
    metric='kind = "par"',
)
FUNCTION = SCENARIO.format(
    target='kind = "python"\nfunction = "f.py:f"', metric='kind = "value"\nlow = 0.0\nhigh = 1.0'
)


def each(work: Callable[[], object], number: int) -> float:
    """Milliseconds of one call, the median of five rounds."""
    rounds = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(number // 5):
            work()
        rounds.append((time.perf_counter() - began) / (number // 5))
    return 1000 * sorted(rounds)[2]


def bare() -> None:
    """Start the program and wait for it: what no supervisor can be faster than."""
    os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)


def written(folder: Path, text: str) -> Scenario:
    """The scenario with this text."""
    (folder / "space.pcs").write_text("x [0, 1] [0.5]\n")
    (folder / "f.py").write_text("def f(x=0):\n    return 0.5\n")
    (folder / "scenario.toml").write_text(text)
    return Scenario.read(folder / "scenario.toml")


def pooled(scenario: Scenario, workers: int, number: int) -> float:
    """Milliseconds of one run with these workers."""
    configuration = scenario.space.default()
    tasks = [
        Task(configuration=configuration, instance=scenario.instances[0], number=place, seed=1)
        for place in range(number)
    ]
    with open_pool(scenario, workers, pin=False) as pool:
        for task in tasks[: 2 * workers]:
            pool.submit(task)
        done, sent = len(pool.wait()), 2 * workers
        began = time.perf_counter()
        first = done
        while done < number:
            while sent < min(number, done + 2 * workers):
                pool.submit(tasks[sent])
                sent += 1
            done += len(pool.wait())
        return 1000 * (time.perf_counter() - began) / (number - first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    number = parser.parse_args().runs
    rows: list[tuple[str, float]] = []
    reference = each(bare, number)
    with Slot() as slot:
        limits = Limits(cpu=60.0, wall=600.0)

        def run() -> object:
            return slot.run(["/bin/true"], folder=Path("/"), limits=limits)

        rows.append(("a run in a slot", each(run, number)))
        limits = Limits(cpu=60.0, wall=600.0, memory=1000.0)
        rows.append(("a run in a slot, memory limited", each(run, number)))
    with tempfile.TemporaryDirectory() as name:
        scenario = written(Path(name), EMPTY)
        rows += [(f"a run, {n} workers", pooled(scenario, n, number)) for n in (1, 2)]
        rows.append(
            ("a Python function, 2 workers", pooled(written(Path(name), FUNCTION), 2, number))
        )
    print(f"load {os.getloadavg()[0]:.1f}; reference (bare start): {reference:.2f} ms")
    for title, taken in rows:
        print(f"{title:32} {taken:6.2f} ms {taken / reference:6.2f} × {1000 / taken:7.0f} runs/s")


if __name__ == "__main__":
    main()
