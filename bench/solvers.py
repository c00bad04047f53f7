"""Configurators on real solvers with the same number of runs: a table of bench/RESULTS.md.

`python -m bench.solvers run RESULTS [--solvers kissat clasp lkh] [--tools truecost irace smac]
[--seeds 1 2 3 4 5] [--budget 250] [--folder build/solvers]` appends one line a search to the csv
table RESULTS, `… judge RESULTS` one for each configuration that a search returned and for the
default; both skip what is there. `… table RESULTS` prints what they came to. The folder has the
exported scenarios and truecost's journals.

Every tool has the same training instances, starts from the default and makes the same number of
runs, truecost's on held-out instances included; all runs are executed and measured by truecost,
with the same limits. Judging is one run on each of 100 instances from another seed of the
generator, with the same seeds for all configurations.
"""

import argparse
import json
import math
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.configurators import by_irace, by_smac
from bench.tables import append, read
from truecost.campaigns.configure import configure
from truecost.library.catalogue import SCENARIOS
from truecost.library.exporting import export
from truecost.library.exporting import space as space_of
from truecost.running.execute import Caller, execute
from truecost.running.scenario import Scenario
from truecost.running.slots import Slot
from truecost.runs import Status
from truecost.show.numbers import number, signed
from truecost.space.space import Configuration, Space, name_of

BUDGET, FRESH = 250, 100
SEEDS = (1, 2, 3, 4, 5)
# Seeds of the instance generators: those to tune on, and those that judge.
TRAINING_SEED, FRESH_SEED = 1, 2
TOOLS = ("truecost", "irace", "smac")
FIELDS = ["line", "solver", "tool", "seed", "budget", "name", "runs", "cpu", "seconds"]
FIELDS += ["grade", "upper", "incumbent", "values", "cost", "solved", "costs"]


class Solver(NamedTuple):
    """A built-in scenario, its number of training instances, and a cutoff in CPU seconds; with
    another program than the packaged one, where that takes long to start, and a size.
    """

    scenario: str
    training: int
    cutoff: float
    program: str | None = None
    size: str = "small"


SOLVERS = {
    "kissat": Solver("kissat-qcp", 100, 0.2),
    "clasp": Solver("clasp-weighted-sequence", 100, 0.03, "clasp", "large"),
    "lkh": Solver("lkh-uniform-400", 50, 0.2),
}


def scenario_of(solver: Solver, folder: Path, *, fresh: bool) -> Scenario:
    """The exported scenario with the lower cutoff, in a file beside the original."""
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
    cpu = solver.cutoff + SCENARIOS[solver.scenario].start
    text = re.sub(r"^cutoff = .*$", f"cutoff = {solver.cutoff:g}", path.read_text(), flags=re.M)
    text = re.sub(r"^cpu = .*$", f"cpu = {cpu:g}", text, flags=re.M)
    lower = place / f"cutoff-{solver.cutoff:g}.toml"
    lower.write_text(text)
    return Scenario.read(lower)


class SolverTarget:
    """A solver whose runs are executed one after the other, as truecost executes them."""

    def __init__(self, scenario: Scenario, slot: Slot) -> None:
        self.space: Space = scenario.space
        self.scenario, self.cpu = scenario, 0.0
        self._slot, self._caller = slot, Caller(scenario)

    def cost(self, configuration: Configuration, instance: int, seed: int) -> float:
        """Of one run, by the scenario's metric."""
        return self.run(configuration, instance, seed)[0]

    def run(self, configuration: Configuration, instance: int, seed: int) -> tuple[float, bool]:
        """What a run costs, and whether it was solved."""
        place = self.scenario.instances[instance]
        outcome = execute(self._slot, self._caller, configuration, place, seed)
        if outcome.status == Status.ABORTED:
            raise SystemExit(f"{place.name}: {outcome.detail}")
        self.cpu += outcome.cpu
        numbers = (outcome.cpu, outcome.wall, outcome.time, outcome.value)
        costs, statuses = self.scenario.metric.charge(
            np.array([outcome.status], dtype=np.int8),
            *(np.array([math.nan if value is None else value]) for value in numbers),
        )
        return float(costs[0]), bool(statuses[0] == Status.SOLVED)


@contextmanager
def opened(scenario: Scenario) -> Iterator[SolverTarget]:
    slot = Slot(private=scenario.private)
    try:
        yield SolverTarget(scenario, slot)
    finally:
        slot.close()


# ---- searches ------------------------------------------------------------------------------------


def search(
    tool: str, scenario: Scenario, budget: int, seed: int, journal: Path
) -> dict[str, Any] | None:
    """The line of a search; None where irace refuses the budget."""
    if tool == "truecost":
        return search_with_truecost(scenario, budget, seed, journal)
    instances = len(scenario.instances)
    with opened(scenario) as target:
        if tool == "irace":
            found = by_irace(target, budget, seed, instances=instances)
        else:
            # Numbers as features multiply the forest's work by the number of instances: with
            # kissat's 147 parameters one search takes minutes of CPU time.
            found = by_smac(target, budget, seed, instances=instances, numbered=False)
        if found is None:
            return None
        return {
            "name": found.configuration.name,
            "runs": found.runs,
            "cpu": target.cpu,
            "values": changes(scenario.space, found.configuration),
        }


def search_with_truecost(
    scenario: Scenario, budget: int, seed: int, journal: Path
) -> dict[str, Any]:
    # One core is left to this process by whoever starts it: nothing is to be pinned.
    result = configure(scenario, journal, budget=f"{budget}runs", seed=seed, pool=1, pin=False)
    certificate = result.assessment.certificate
    line: dict[str, Any] = {
        "name": result.recommended.name,
        "runs": result.runs,
        "cpu": result.cpu,
        "grade": result.assessment.grade,
        "upper": None if certificate is None else certificate.upper,
        "values": changes(scenario.space, result.recommended),
    }
    if result.incumbent.name != result.recommended.name:
        line["incumbent"] = changes(scenario.space, result.incumbent)
    return line


def changes(space: Space, configuration: Configuration) -> str:
    """What differs from the default, in JSON; null for what is inactive."""
    default, values = space.default().values, configuration.values
    names = [name for name in space.parameters if default.get(name) != values.get(name)]
    return json.dumps({name: values.get(name) for name in names})


def changed(space: Space, text: str) -> Configuration:
    """The configuration that `changes` wrote."""
    merged = {**space.default().values, **json.loads(text)}
    values = {name: merged[name] for name in space.parameters if merged.get(name) is not None}
    return Configuration(name=name_of(values), values=values)


# ---- the table -----------------------------------------------------------------------------------


def run(
    path: Path,
    solvers: Iterable[str],
    tools: Sequence[str],
    seeds: Sequence[int],
    budget: int,
    folder: Path,
) -> None:
    """All tools of one seed before the next seed: an unfinished table is balanced."""
    rows = [row for row in read(path) if row["line"] == "search"]
    done = {(row["solver"], row["tool"], int(row["seed"]), int(row["budget"])) for row in rows}
    for name in solvers:
        scenario = scenario_of(SOLVERS[name], folder, fresh=False)
        for seed, tool in ((seed, tool) for seed in seeds for tool in tools):
            if (name, tool, seed, budget) in done:
                continue
            journal = folder / f"{name}-{budget}-{seed}.db"
            start = time.perf_counter()
            line = search(tool, scenario, budget, seed, journal) or {}
            head = {"line": "search", "solver": name, "tool": tool, "seed": seed, "budget": budget}
            row = {**head, **line, "seconds": time.perf_counter() - start}
            append(path, FIELDS, row)


def judge(path: Path, solvers: Iterable[str], folder: Path) -> None:
    """Run what the searches returned, and the default, on the fresh instances."""
    rows = read(path)
    for solver in solvers:
        own = [row for row in rows if row["solver"] == solver]
        texts = [row[key] for row in own for key in ("values", "incumbent") if row[key]]
        if not texts:
            continue
        scenario = scenario_of(SOLVERS[solver], folder, fresh=True)
        done = {row["name"] for row in own if row["line"] == "judged"}
        with opened(scenario) as target:
            for text in ("{}", *texts):
                configuration = changed(scenario.space, text)
                if configuration.name in done:
                    continue
                done.add(configuration.name)
                pairs = [
                    target.run(configuration, place, scenario.run_seed(instance.name, 0))
                    for place, instance in enumerate(scenario.instances)
                ]
                costs, solved = zip(*pairs, strict=True)
                line = {
                    "line": "judged",
                    "solver": solver,
                    "name": configuration.name,
                    "cost": float(np.mean(costs)),
                    "solved": sum(solved),
                    "costs": " ".join(f"{cost:.4g}" for cost in costs),
                }
                append(path, FIELDS, line)


class Judged(NamedTuple):
    """Costs on the fresh instances, and the number that was solved."""

    costs: NDArray[np.float64]
    solved: int


def table(path: Path) -> None:
    rows = read(path)
    searches = [row for row in rows if row["line"] == "search" and row["values"]]
    print("| solver | search | tool | cost | ÷ default | difference ± s.e. | solved | verdict |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    ratios: dict[tuple[str, str], list[float]] = {}
    for solver in (name for name in SOLVERS if any(row["solver"] == name for row in searches)):
        space = space_of(SOLVERS[solver].scenario)
        judged = {
            row["name"]: Judged(np.array(row["costs"].split(), float), int(row["solved"]))
            for row in rows
            if row["line"] == "judged" and row["solver"] == solver
        }
        default = judged.get(space.default().name)
        if default is None:
            continue
        cost = default.costs.mean()
        print(f"| {solver} | – | default | {cost:.3g} | 1 | – | {default.solved} | |")
        own = [row for row in searches if row["solver"] == solver]
        for row in sorted(own, key=lambda row: (int(row["seed"]), TOOLS.index(row["tool"]))):
            if row["name"] not in judged:
                continue
            there, head = judged[row["name"]], f"| {solver} | {row['seed']} | {row['tool']}"
            print(f"{head} | {_cells(there, default)} | {_verdict(row, space)} |")
            ratio = float(there.costs.mean() / cost)
            ratios.setdefault((row["tool"], solver), []).append(ratio)
            if row["incumbent"] and (name := changed(space, row["incumbent"]).name) in judged:
                cells = _cells(judged[name], default)
                print(f"| {solver} | {row['seed']} | its incumbent | {cells} | not recommended |")
    print()
    heads = ["solver", "tool", "searches", "geometric mean ÷ default", "worse", "worse by > 2 %"]
    print(f"| {' | '.join([*heads, 'worst', 'CPU s of the solver'])} |")
    print("| --- " * (len(heads) + 2) + "|")
    for (tool, solver), some in sorted(ratios.items(), key=lambda item: item[0][::-1]):
        over = np.array(some)
        own = [row for row in searches if (row["tool"], row["solver"]) == (tool, solver)]
        cpu = np.median([float(row["cpu"]) for row in own])
        print(
            f"| {solver} | {tool} | {over.size} | {np.exp(np.log(over).mean()):.3g} "
            f"| {(over > 1).sum()} | {(over > 1.02).sum()} | {over.max():.3g} | {cpu:.3g} |"
        )


def _cells(judged: Judged, default: Judged) -> str:
    apart = judged.costs - default.costs
    cost, ratio = judged.costs.mean(), judged.costs.mean() / default.costs.mean()
    error = apart.std(ddof=1) / math.sqrt(apart.size)
    difference = f"{signed(apart.mean(), 2)} ± {number(error, 2)}" if apart.any() else "–"
    return f"{cost:.3g} | {ratio:.3g} | {difference} | {judged.solved}"


def _verdict(row: dict[str, str], space: Space) -> str:
    """What truecost said of its recommendation; other tools say nothing."""
    default = row["name"] == space.default().name
    if row["tool"] != "truecost":
        return "the default" if default else ""
    if default:
        return "keeps the default"
    return "shown to be better" if row["grade"] == "better" else "not shown"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "judge", "table"])
    parser.add_argument("results", type=Path, nargs="?", default=Path("bench/solvers.csv"))
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--folder", type=Path, default=Path("build/solvers"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # SMAC's and scikit-learn's own
    if options.what == "run":
        run(
            options.results,
            options.solvers,
            options.tools,
            options.seeds,
            options.budget,
            options.folder,
        )
    elif options.what == "judge":
        judge(options.results, options.solvers, options.folder)
    else:
        table(options.results)


if __name__ == "__main__":
    main()
