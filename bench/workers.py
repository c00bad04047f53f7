"""How busy workers are, and what that does to a search: simulated runs on a simulated clock.

`python -m bench.workers run TABLE.csv [--workers 1 8 32] [--targets …] [--draw 100] [--seeds 0 1 …]
[--unjudged]` appends one line a search and skips those that are there; `… table TABLE.csv` sums
them up. A run takes the time it has on the target times lognormal noise, up to the cutoff. Without
runs on held-out instances (`--unjudged`) the cost is that of the incumbent.

`python -m bench.workers scale [--runs 5000 25000 100000] [--instances 1000]` measures truecost's
own time per run and its memory, with runs that cost nothing to make.
"""

import argparse
import dataclasses
import gc
import heapq
import math
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from bench.configurators import HERE, scenario_of
from bench.simulated import CUTOFF, TARGETS, Target
from bench.tables import append, read
from truecost.campaigns import configure as configuring
from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign
from truecost.campaigns.search import Search
from truecost.journal import searchlog
from truecost.race import policy as race
from truecost.running.pools.task import Finished, Task
from truecost.runs import Instance, Outcome, Status

FIELDS = [
    "target",
    "draw",
    "seed",
    "budget",
    "workers",
    "utilisation",
    "cost",
    "best",
    "default",
    "runs",
    "upper",
    "certified",
]
TAIL = 1.0


class ClockedPool:
    """Workers whose runs take simulated time; `wait` returns the run that ends next."""

    def __init__(
        self, workers: int, cost: Callable[[Task], float], rng: np.random.Generator
    ) -> None:
        self.workers, self._cost, self._rng = workers, cost, rng
        self._free = [0.0] * workers
        self._running: list[tuple[float, int, Finished]] = []
        self.now, self.busy, self.number = 0.0, 0.0, 0

    def submit(self, task: Task) -> None:
        """Start a task on the worker that is free first."""
        value = self._cost(task)
        wall = min(value * math.exp(TAIL * self._rng.standard_normal()), CUTOFF)
        end = max(heapq.heappop(self._free), self.now) + wall
        heapq.heappush(self._free, end)
        self.busy, self.number = self.busy + wall, self.number + 1
        outcome = Outcome(
            status=Status.SOLVED, cpu=wall, wall=wall, memory=0, exit_code=0, value=value
        )
        done = Finished(task=task, outcome=outcome, machine=HERE)
        heapq.heappush(self._running, (end, self.number, done))

    def wait(self) -> list[Finished]:
        """The run that ends next."""
        self.now, _, done = heapq.heappop(self._running)
        return [done]

    @property
    def utilisation(self) -> float:
        """The share of the time that workers ran something."""
        return self.busy / (self.workers * self.now)


def search(
    target: Target, budget: int, seed: int, workers: int, *, judge: bool = True
) -> dict[str, Any]:
    """One search with this number of workers; utilisation is that of the training phase."""

    def cost(task: Task) -> float:
        return target.cost(task.configuration, int(task.instance.argument), task.seed)

    pool = ClockedPool(workers, cost, np.random.default_rng([seed, workers]))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scenario = scenario_of(target, seed, folder)
        journal = folder / "search.db"
        campaign = stack.enter_context(
            Campaign(scenario, journal, "configure", pool=pool, keep_going=True)
        )
        amount = Budget(amount=budget, unit="runs")
        settings = configuring.settings_for(scenario, amount, None, seed, workers)
        searchlog.begin(campaign.book, settings)
        running = Search(campaign, settings, race.decide)
        reason = running.train()
        utilisation = pool.utilisation
        row: dict[str, Any] = {
            "workers": workers,
            "budget": budget,
            "seed": seed,
            "utilisation": utilisation,
            "best": min(map(target.true_cost, running.configurations)),
            "default": target.true_cost(running.configurations[0]),
        }
        if judge:
            untested = running.judge()
            found = configuring.report_of(scenario, campaign.book, running, 0.05, reason, untested)
            certificate = found.assessment.certificate
            row["upper"] = None if certificate is None else certificate.upper
            row["certified"] = target.true_cost(found.incumbent)
        chosen = running.recommended if judge else running.incumbent
        row["cost"] = target.true_cost(running.configurations[chosen])
        row["runs"] = pool.number
    return row


def run(path: Path, options: argparse.Namespace) -> None:
    """Append the searches that are not in the table yet."""
    done = {(r["target"], r["draw"], r["seed"], r["budget"], r["workers"]) for r in read(path)}
    for name in options.targets:
        target = None
        for seed in options.seeds:
            for workers in options.workers:
                key = name, str(options.draw), str(seed), str(options.budget), str(workers)
                if key in done:
                    continue
                target = target or TARGETS[name](options.draw)
                row = search(target, options.budget, seed, workers, judge=not options.unjudged)
                target.forget()
                append(path, FIELDS, row | {"target": name, "draw": options.draw})


def table(path: Path) -> None:
    """Utilisation, cost over that of one worker with its 95 % interval, incumbents' costs over those
    of the best proposals, and certificates that missed.
    """
    rows = read(path)

    def key(row: dict[str, str]) -> tuple[str, ...]:
        return row["budget"], row["target"], row["draw"], row["seed"]

    one = {key(row): float(row["cost"]) for row in rows if row["workers"] == "1"}
    print("| runs | workers | pairs | busy | cost | 95 % interval | over best proposed | missed |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for budget, workers in sorted({(int(row["budget"]), int(row["workers"])) for row in rows}):
        some = [r for r in rows if (r["budget"], r["workers"]) == (str(budget), str(workers))]
        some = [row for row in some if key(row) in one]
        busy = [float(row["utilisation"]) for row in some]
        logs = np.array([math.log(float(row["cost"]) / one[key(row)]) for row in some])
        error = np.std(logs, ddof=1) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
        reach = float(stats.t.ppf(0.975, max(len(logs) - 1, 1))) * error
        low, middle, high = np.exp(logs.mean() + reach * np.array([-1, 0, 1]))
        over = np.median([float(row["cost"]) / float(row["best"]) for row in some])
        judged = [row for row in some if row["upper"]]
        missed = sum(float(row["certified"]) > float(row["upper"]) for row in judged)
        print(
            f"| {budget:,} | {workers} | {len(some)} | {np.mean(busy):.2f} ({min(busy):.2f}–"
            f"{max(busy):.2f}) | {middle:.2f} | {low:.2f}–{high:.2f} | {over:.2f} | {missed} of "
            f"{len(judged)} |"
        )


def scale(numbers: list[int], instances: int) -> None:
    """Own time per run and memory of searches of these sizes, made and then resumed."""
    target = TARGETS["nested"](1)
    print("| runs | own time per run | peak memory | resuming |")
    print("| --- | --- | --- | --- |")
    for number in numbers:
        gc.collect()
        with tempfile.TemporaryDirectory() as folder:
            base = scenario_of(target, 1, Path(folder))
            names = [
                Instance(name=f"i{place}", argument=str(place % 100), extras={}, is_file=False)
                for place in range(instances)
            ]
            scenario = dataclasses.replace(base, instances=tuple(names))
            seconds = [_timed(scenario, Path(folder) / "s.db", number) for _ in range(2)]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {number:,} | {1e3 * seconds[0] / number:.2f} ms | {memory:,.0f} MB | {seconds[1]:.1f} s |",
            flush=True,
        )


def _timed(scenario: Any, journal: Path, number: int) -> float:
    """CPU seconds of a search; in a journal that has it, of going the same way again."""
    rng = np.random.default_rng(1)
    known: dict[str, float] = {}

    def cost(task: Task) -> float:
        mean = known.setdefault(task.configuration.name, float(rng.random()))
        return mean + 0.3 * float(rng.random())

    start = time.process_time()
    with Campaign(
        scenario, journal, "configure", pool=ClockedPool(1, cost, rng), keep_going=True
    ) as campaign:
        settings = searchlog.settings_of(campaign.book)
        if settings is None:
            amount = Budget(amount=number, unit="runs")
            settings = configuring.settings_for(scenario, amount, None, 1, 1)
            searchlog.begin(campaign.book, settings)
        running = Search(campaign, settings, race.decide)
        running.train()
        running.judge()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "table", "scale"])
    parser.add_argument("table", type=Path, nargs="?", default=Path("bench/workers.csv"))
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 8, 32])
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=["smooth", "nested"])
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    parser.add_argument("--unjudged", action="store_true")
    parser.add_argument("--draw", type=int, default=100)
    parser.add_argument("--runs", nargs="+", type=int, default=[5000, 25000, 100000])
    parser.add_argument("--instances", type=int, default=1000)
    options = parser.parse_args()
    if options.what == "run":
        run(options.table, options)
    elif options.what == "table":
        table(options.table)
    else:
        scale(options.runs, options.instances)


if __name__ == "__main__":
    main()
