"""Configurators on real solvers with the same number of runs.

`python -m bench.solvers run RESULTS.csv [--solvers kissat clasp lkh] [--tools truecost irace smac]
[--seeds 1 11] [--folder FOLDER]` appends one line per search, `… judge RESULTS.csv` runs what the
searches returned and the default on new instances; both skip what is there. `… table RESULTS.csv`
prints costs over those of the default and of the other tools.

Every tool has the same training instances, starts from the default and makes 250 runs at most;
truecost's runs on held-out instances count. truecost executes and measures all runs, one at a time.
A returned configuration is judged by one run on each of 100 instances from another seed of the
generator, with the same seeds for all configurations.
"""

import argparse
import csv
import json
import re
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.irace import by_irace
from bench.search import by_smac, interval
from truecost.campaigns.configure import configure
from truecost.running.pools import Pool, Task, open_pool
from truecost.running.scenario import Scenario
from truecost.scenarios import export
from truecost.scenarios.catalogue import describe
from truecost.space.space import Configuration

BUDGET, FRESH = 250, 100
# Seeds of the generators: instances to train on, and those that judge.
TRAINING_SEED, FRESH_SEED = 1, 2
FIELDS = ("line", "solver", "tool", "seed", "runs", "seconds", "values", "costs")


class Solver(NamedTuple):
    """A built-in scenario, its number of training instances, a cutoff in CPU seconds, and another
    program than the packaged one where that takes long to start.
    """

    scenario: str
    training: int
    cutoff: float
    size: str = "small"
    program: str | None = None


SOLVERS = {
    "kissat": Solver("kissat-qcp", 100, 0.2),
    # Debian's package clasp: it starts in 2 ms.
    "clasp": Solver("clasp-weighted-sequence", 100, 0.03, "large", "clasp"),
    "lkh": Solver("lkh-uniform-400", 50, 0.2),
}


def scenario_of(solver: Solver, folder: Path, *, fresh: bool) -> Scenario:
    """The exported scenario with the lower cutoff."""
    count, seed = (FRESH, FRESH_SEED) if fresh else (solver.training, TRAINING_SEED)
    place = folder / f"{solver.scenario}-{'fresh' if fresh else 'training'}"
    path = export(
        solver.scenario,
        place,
        size=solver.size,
        instances=count,
        seed=seed,
        target=solver.program,
    )
    text = re.sub(r"^cutoff = .*$", f"cutoff = {solver.cutoff:g}", path.read_text(), flags=re.M)
    cpu = solver.cutoff + describe(solver.scenario).start
    lower = place / f"cutoff-{solver.cutoff:g}.toml"
    lower.write_text(re.sub(r"^cpu = .*$", f"cpu = {cpu:g}", text, flags=re.M))
    return Scenario.read(lower)


class SolverTarget:
    """A solver whose runs are made one after the other."""

    def __init__(self, scenario: Scenario, pool: Pool) -> None:
        self.scenario, self.space, self._pool = scenario, scenario.space, pool

    def cost(self, configuration: Configuration, instance: int, seed: int) -> float:
        """The cost of a run on an instance."""
        place = self.scenario.instances[instance]
        task = Task(configuration=configuration, instance=place, number=0, seed=seed)
        self._pool.submit(task)
        (finished,) = self._pool.wait()
        return self.scenario.metric.charged(finished.outcome)[0]


def search(tool: str, scenario: Scenario, seed: int, journal: Path) -> tuple[Configuration, int]:
    """What a tool returns, and the number of its runs."""
    if tool == "truecost":
        result = configure(scenario, journal, budget=BUDGET, seed=seed, pool=1, pin=False)
        return result.recommended, result.runs
    instances = len(scenario.instances)
    with open_pool(scenario, 1, pin=False) as pool:
        target = SolverTarget(scenario, pool)
        by = by_irace if tool == "irace" else by_smac
        returned = by(target, BUDGET, seed, instances=instances)
    if returned is None:
        raise SystemExit(f"{tool} refuses {BUDGET} runs.")
    return returned.configuration, returned.runs


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, **row: Any) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow(row)


def run(path: Path, solvers: Iterable[str], tools: list[str], seeds: range, folder: Path) -> None:
    """All tools of one seed before the next seed: an unfinished table is balanced."""
    done = {(row["solver"], row["tool"], row["seed"]) for row in read(path)}
    for seed in seeds:
        for name in solvers:
            scenario = scenario_of(SOLVERS[name], folder, fresh=False)
            for tool in tools:
                if (name, tool, str(seed)) in done:
                    continue
                start = time.perf_counter()
                journal = folder / f"{name}-{seed}.db"
                returned, runs = search(tool, scenario, seed, journal)
                append(
                    path,
                    line="search",
                    solver=name,
                    tool=tool,
                    seed=seed,
                    runs=runs,
                    seconds=f"{time.perf_counter() - start:.1f}",
                    values=json.dumps(dict(returned.values)),
                )


def judge(path: Path, solvers: Iterable[str], folder: Path) -> None:
    rows = read(path)
    for name in solvers:
        searches = [row for row in rows if (row["line"], row["solver"]) == ("search", name)]
        done = {row["values"] for row in rows if (row["line"], row["solver"]) == ("judged", name)}
        scenario = scenario_of(SOLVERS[name], folder, fresh=True)
        default = json.dumps(dict(scenario.space.default().values))
        with open_pool(scenario, 1, pin=False) as pool:
            target = SolverTarget(scenario, pool)
            for values in dict.fromkeys([default, *(row["values"] for row in searches)]):
                if values in done:
                    continue
                configuration = scenario.space.configuration(json.loads(values))
                costs = [
                    target.cost(configuration, place, scenario.run_seed(instance.name, 0))
                    for place, instance in enumerate(scenario.instances)
                ]
                words = " ".join(f"{cost:.4g}" for cost in costs)
                append(path, line="judged", solver=name, values=values, costs=words)


def table(path: Path, folder: Path) -> None:
    rows = read(path)
    print("| solver | tool | searches | ÷ default | worse by > 2 % | truecost ÷ tool |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, solver in SOLVERS.items():
        means = {
            row["values"]: float(np.mean([float(word) for word in row["costs"].split()]))
            for row in rows
            if (row["line"], row["solver"]) == ("judged", name)
        }
        if not means:
            continue
        space = scenario_of(solver, folder, fresh=True).space
        default = means[json.dumps(dict(space.default().values))]
        cost = {
            (row["tool"], row["seed"]): means[row["values"]]
            for row in rows
            if (row["line"], row["solver"]) == ("search", name) and row["values"] in means
        }
        for tool in dict.fromkeys(tool for tool, _ in cost):
            ratios = np.array([mean / default for (one, _), mean in cost.items() if one == tool])
            pairs = [
                np.log(cost["truecost", seed] / mean)
                for (one, seed), mean in cost.items()
                if one == tool and ("truecost", seed) in cost
            ]
            against = "–"
            if tool != "truecost" and pairs:
                low, middle, high = interval(np.array(pairs))
                against = f"{middle:.2f} ({low:.2f} to {high:.2f})"
            print(
                f"| {name} | {tool} | {ratios.size} | {np.exp(np.log(ratios).mean()):.2f} "
                f"| {(ratios > 1.02).sum()} | {against} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "judge", "table"])
    parser.add_argument("results", type=Path)
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--tools", nargs="+", default=["truecost", "irace", "smac"])
    parser.add_argument("--seeds", nargs=2, type=int, default=[1, 11])
    parser.add_argument("--folder", type=Path, default=Path("build/solvers"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # SMAC's and scikit-learn's
    if options.what == "run":
        seeds = range(*options.seeds)
        run(options.results, options.solvers, options.tools, seeds, options.folder)
    elif options.what == "judge":
        judge(options.results, options.solvers, options.folder)
    else:
        table(options.results, options.folder)


if __name__ == "__main__":
    main()
