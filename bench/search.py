"""Configurators on simulated targets with the same number of runs.

`python -m bench.search run RESULTS.csv [--tools truecost irace smac] [--targets …] [--budgets 200]
[--draws 1000 1010]` appends one line per search to a csv table and skips what is there; `… table
RESULTS.csv` prints truecost's true cost over that of the other tools. A target is drawn anew from
every draw, and tools are paired by it. irace needs R with the package irace, SMAC3 the package
smac. `--external NAME=COMMAND` adds a program that searches on request (see `External`), another
version of truecost for instance; truecost-8 and truecost-32 make that many runs at a time.

Every tool has the same 100 instances, the default to start from, and the same number of runs; those
that truecost keeps for held-out instances count. What a tool returns is judged by its expected
cost over 2,000 other instances.
"""

import argparse
import csv
import heapq
import json
import math
import shlex
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from bench.irace import by_irace
from bench.runs import Counter, Returned, Runnable
from bench.targets import CUTOFF, HIGH, TARGETS, TRAINING, Target
from truecost import CostMatrix, audit
from truecost.campaigns.configure import HELD_OUT, KEPT
from truecost.campaigns.configure import RUNS as MOST_RUNS
from truecost.campaigns.search.comparison import is_gain
from truecost.campaigns.search.grid import Grid
from truecost.campaigns.search.schedule import Run, Schedule
from truecost.space.space import Configuration

# ---- truecost ------------------------------------------------------------------------------------


def simulate(
    schedule: Schedule, cost: Callable[[Run], float], budget: float, workers: int = 1
) -> None:
    """Make runs on simulated workers until the search ends; a run takes as long as it costs."""
    made, clock = 0, 0.0
    flying: list[tuple[float, int, Run, float]] = []
    while True:
        while len(flying) < workers + workers // 8:
            if (run := schedule.next(budget - made)) is None:
                break
            value = cost(run)
            heapq.heappush(flying, (clock + min(value, CUTOFF), made + len(flying), run, value))
        if not flying:
            return
        clock, _, run, value = heapq.heappop(flying)
        made += 1
        schedule.take(run, value)


def by_truecost(target: Target, budget: int, seed: int, *, workers: int = 1) -> Returned:
    """Search and test as `configure` does: the default, unless the incumbent is better on held-out
    instances.
    """
    cost, start = Counter(target), time.perf_counter()
    shuffled = np.random.default_rng([seed, 1]).permutation(TRAINING).tolist()
    pairs = math.floor(KEPT * budget / 2)
    hidden = max(round(TRAINING / HELD_OUT), min(pairs, TRAINING // 2))
    held_out, training = shuffled[:hidden][:pairs], shuffled[hidden:]
    grid = Grid(len(training), MOST_RUNS)
    schedule = Schedule(target.space, grid, seed=seed, workers=workers)

    def run_cost(run: Run) -> float:
        instance = training[grid.instance(run.cell)]
        configuration = schedule.history.configurations[run.config_id]
        return cost(configuration, instance, grid.number(run.cell))

    simulate(schedule, run_cost, budget - 2 * len(held_out), workers)
    incumbent, default = schedule.incumbent, target.space.default()
    costs = np.array(
        [[cost(one, instance, MOST_RUNS) for instance in held_out] for one in (incumbent, default)]
    )
    seconds = time.perf_counter() - start - cost.seconds
    return Returned(
        configuration=incumbent if is_gain(costs[1] - costs[0]) else default,
        seconds=seconds,
        runs=cost.runs,
        missed=None if incumbent.name == default.name else misses(target, incumbent, costs),
    )


def misses(target: Target, incumbent: Configuration, costs: Any) -> bool:
    """Whether the test of an incumbent says something false: that it is better or worse when it is
    not, or a limit of its mean cost that the true cost exceeds.
    """
    matrix = CostMatrix(costs, ["incumbent", "default"], map(str, range(costs.shape[1])), 0, HIGH)
    verdict = audit(matrix, default="default", configuration="incumbent", basis="fixed before")
    (mean,) = (one for one in verdict.statements if one.quantity == "mean")
    cost, default = map(target.true_cost, (incumbent, target.space.default()))
    wrong = {"better": cost >= default, "worse": cost <= default}.get(verdict.grade, False)
    return wrong or cost > mean.upper


# ---- other programs ------------------------------------------------------------------------------


class External:
    """A program that searches: JSON lines in and out.

    A search begins with {"space": path, "budget": runs, "seed": seed, "instances": number}. The
    program asks for costs with {"values": …, "instance": index, "seed": number}, gets a number
    each, and ends with {"best": values}; then it waits for the next search.
    """

    def __init__(self, command: str) -> None:
        self._process = subprocess.Popen(
            shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, target: Target, budget: int, seed: int) -> Returned:
        """Search once."""
        cost, start = Counter(target), time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "space.json"
            target.space.configspace.to_json(path)
            self._send({"space": str(path), "budget": budget, "seed": seed, "instances": TRAINING})
            while True:
                assert self._process.stdout is not None
                line = self._process.stdout.readline()
                if not line:
                    raise SystemExit("The external program ended.")
                request = json.loads(line)
                if "best" in request:
                    break
                configuration = Configuration.of(request["values"])
                self._send(cost(configuration, request["instance"], request["seed"]))
        return Returned(
            configuration=Configuration.of(request["best"]),
            seconds=time.perf_counter() - start - cost.seconds,
            runs=cost.runs,
        )

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        print(json.dumps(message), file=self._process.stdin, flush=True)


# ---- SMAC3 ---------------------------------------------------------------------------------------


def by_smac(
    target: Runnable,
    budget: int,
    seed: int,
    *,
    instances: int = TRAINING,
) -> Returned:
    """SMAC3 with the number of an instance as its feature."""
    import joblib  # type: ignore[import-untyped]
    from smac import AlgorithmConfigurationFacade
    from smac import Scenario as SmacScenario
    from smac.model.random_forest.random_forest import EPMRandomForest
    from smac.runhistory import TrialValue

    # setattr: what replaces it has other types, and the same numbers.
    setattr(EPMRandomForest, "predict_marginalized_over_instances_batch", _all_instances_at_once)  # noqa: B010
    stack = ExitStack()
    stack.enter_context(joblib.parallel_config(backend="sequential"))
    cost, start, space = Counter(target), time.perf_counter(), target.space
    names = [str(place) for place in range(instances)]
    with stack, tempfile.TemporaryDirectory() as folder:
        scenario = SmacScenario(
            space.configspace,
            n_trials=budget,
            instances=names,
            instance_features={name: [float(name)] for name in names},
            output_directory=Path(folder),
            seed=seed + 1,
        )
        own = AlgorithmConfigurationFacade.get_intensifier(
            scenario, max_config_calls=min(2000, budget)
        )
        smac = AlgorithmConfigurationFacade(
            scenario,
            _never_called,
            intensifier=own,
            logging_level=False,
            overwrite=True,
        )
        while smac.runhistory.finished < budget:
            info = smac.ask()
            proposed = _from_smac(space, info.config)
            value = cost(proposed, int(info.instance or 0), int(info.seed or 0))
            smac.tell(info, TrialValue(cost=value), save=False)
        best = _from_smac(space, smac.intensifier.get_incumbent())
    return Returned(
        configuration=best, seconds=time.perf_counter() - start - cost.seconds, runs=cost.runs
    )


def _all_instances_at_once(forest: Any, configurations: Any, features: Any, _log: bool) -> Any:
    """What SMAC's forest predicts, for all instances in one call a tree: it makes a call for each,
    and waits for threads.
    """
    points, features = (
        np.atleast_2d(np.asarray(configurations, np.float32)),
        np.asarray(features, np.float32),
    )
    summed = np.zeros((len(points), len(forest.estimators_)))
    for start in range(0, len(points), 500):
        some = points[start : start + 500]
        rows = np.concatenate(
            [np.repeat(some, len(features), axis=0), np.tile(features, (len(some), 1))], axis=1
        )
        for place, tree in enumerate(forest.estimators_):
            each = tree.tree_.predict(rows).reshape(len(some), len(features)) / len(features)
            # One by one, as SMAC adds them up: the same to the last digit.
            for column in each.T:
                summed[start : start + 500, place] += column
    return summed


def _never_called(config: Any, instance: str, seed: int = 0) -> float:
    """SMAC wants a target; ours are asked for and summed."""
    raise AssertionError(config, instance, seed)


def _from_smac(space: Any, config: Any) -> Configuration:
    from truecost.space.parameters import plain

    values_of = dict(config)
    values = {name: plain(values_of[name]) for name in space.parameters if name in values_of}
    return Configuration.of(values)


Tool = Callable[[Target, int, int], Returned | None]
TOOLS: dict[str, Tool] = {
    "truecost": by_truecost,
    "truecost-8": partial(by_truecost, workers=8),
    "truecost-32": partial(by_truecost, workers=32),
    "irace": by_irace,
    "smac": by_smac,
}


# ---- tables --------------------------------------------------------------------------------------

FIELDS = ("tool", "target", "draw", "budget", "cost", "default", "milliseconds", "runs", "missed")


def known(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(
    path: Path,
    tools: dict[str, Tool],
    names: Iterable[str],
    budgets: Iterable[int],
    draws: Iterable[int],
) -> None:
    done = {(row["tool"], row["target"], row["draw"], row["budget"]) for row in known(path)}
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n")
    for budget in budgets:
        for draw in draws:
            for name in names:
                left = [tool for tool in tools if (tool, name, str(draw), str(budget)) not in done]
                if not left:
                    continue
                target = TARGETS[name](draw)
                for tool in left:
                    returned = tools[tool](target, budget, draw)
                    row: list[Any] = [tool, name, draw, budget]
                    if returned is not None:
                        row += [
                            target.true_cost(returned.configuration),
                            target.true_cost(target.space.default()),
                            1e3 * returned.seconds / max(returned.runs, 1),
                            returned.runs,
                            "" if returned.missed is None else int(returned.missed),
                        ]
                    with path.open("a", newline="") as file:
                        csv.writer(file).writerow(row)
                    target.forget()


def table(path: Path, ours: str) -> None:
    """The geometric mean of our cost over another tool's, paired by target and draw, with t
    intervals; pooled over targets.
    """
    rows = [row for row in known(path) if row["cost"]]
    cost = {
        (row["tool"], int(row["budget"]), row["target"], row["draw"]): float(row["cost"])
        for row in rows
    }
    print("| against | runs | target | pairs | ratio | 95 % interval |")
    print("| --- | --- | --- | --- | --- | --- |")
    for tool in dict.fromkeys(row["tool"] for row in rows if row["tool"] != ours):
        for budget in sorted({int(row["budget"]) for row in rows}):
            logs: dict[str, list[float]] = {}
            for (name, runs, target, draw), theirs in cost.items():
                mine = cost.get((ours, runs, target, draw))
                if name == tool and runs == budget and mine is not None:
                    logs.setdefault(target, []).append(math.log(mine / theirs))
            whole = [log for some in logs.values() for log in some]
            for target, some in [*sorted(logs.items()), *([("all", whole)] if logs else [])]:
                low, middle, high = interval(np.array(some))
                print(
                    f"| {tool} | {budget:,} | {target} | {len(some)} | {middle:.3f} "
                    f"| {low:.3f} to {high:.3f} |"
                )
    for tool in dict.fromkeys(row["tool"] for row in rows):
        some_rows = [row for row in rows if row["tool"] == tool]
        worse = sum(float(row["cost"]) > 1.02 * float(row["default"]) for row in some_rows)
        own = np.median([float(row["milliseconds"]) for row in some_rows])
        print(
            f"{tool}: worse than the default by more than 2 % in {worse} of {len(some_rows)}; "
            f"{own:.2f} ms a run"
        )
        if tests := [int(row["missed"]) for row in some_rows if row["missed"]]:
            print(f"{tool}: {sum(tests)} of {len(tests)} tests say something false")


def interval(logs: Any) -> tuple[float, float, float]:
    if logs.size < 2:
        return math.nan, math.exp(float(logs.mean())), math.nan
    error = stats.t.ppf(0.975, logs.size - 1) * logs.std(ddof=1) / math.sqrt(logs.size)
    low, middle, high = np.exp(logs.mean() + error * np.array([-1, 0, 1]))
    return float(low), float(middle), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("results", type=Path)
    parser.add_argument("--tools", nargs="+", default=["truecost", "irace"])
    parser.add_argument("--ours", default="truecost", help="the tool that ratios are of")
    parser.add_argument("--external", nargs="*", default=[], help="NAME=COMMAND")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--budgets", nargs="+", type=int, default=[200, 1000, 5000])
    parser.add_argument("--draws", nargs=2, type=int, default=[1000, 1010])
    options = parser.parse_args()
    if options.what == "table":
        table(options.results, options.ours)
        return
    warnings.simplefilter("ignore")  # SMAC's and scikit-learn's
    tools = {name: TOOLS[name] for name in options.tools if name in TOOLS}
    for text in options.external:
        name, command = text.split("=", 1)
        tools[name] = External(command)
    run(options.results, tools, options.targets, options.budgets, range(*options.draws))


if __name__ == "__main__":
    main()
