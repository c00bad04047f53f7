"""Configurators on simulated targets with the same number of runs: a table of bench/RESULTS.md.

`python -m bench.configurators run RESULTS [--tools truecost random irace smac smac+ours] [--targets
…] [--budgets 200 1000 5000] [--repetitions 20] [--draw 100]` appends one line a search to the csv
table RESULTS, skipping what is there; `… table RESULTS` prints what they came to, `… ratios
RESULTS` truecost's costs over those of the other tools, `… targets` what the targets are. irace
needs R with the package irace, SMAC3 `pip install 'truecost[smac]'`.

Every tool has the same 100 instances, the default to start from and the same number of runs; those
that truecost keeps for held-out instances count. What a tool returns is judged by its exact
expected cost over 4,000 instances no tool has seen.
"""

import argparse
import math
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import ConfigSpace
import numpy as np
from scipy import stats
from scipy.stats import wilcoxon

from bench.simulated import HIGH, TARGETS, TRAINING, UNTOUCHED, Target
from bench.tables import append, read
from truecost.campaigns import configure as configuring
from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign
from truecost.campaigns.search import Search
from truecost.journal import searchlog
from truecost.journal.metric import Metric
from truecost.race import policy as race
from truecost.running.pools.task import Finished, Task
from truecost.running.scenario import Scenario
from truecost.running.tables import AnswerFormat, Limits
from truecost.running.tables import Target as Called
from truecost.runs import Instance, Machine, Outcome, Status
from truecost.space import propose
from truecost.space.space import Configuration, Space, name_of

BUDGETS = (200, 1000, 5000)
REPETITIONS = 20
DRAW = 100


class Found(NamedTuple):
    """What a tool returned, its own seconds (those of the target taken off), runs made, the limit it
    certified, and the true cost of the best configuration it tried.
    """

    configuration: Configuration
    seconds: float
    runs: int
    upper: float | None = None
    certified: Configuration | None = None
    best: float | None = None


class Runnable(Protocol):
    """What a tool searches: a space, and runs that cost something."""

    space: Space

    def cost(self, configuration: Configuration, instance: int, seed: int) -> float:
        """What a run on a training instance costs."""
        ...


class Counter:
    """Costs of a target, counted and timed."""

    def __init__(self, target: Runnable) -> None:
        self.target, self.runs, self.seconds = target, 0, 0.0

    def __call__(self, configuration: Configuration, instance: int, seed: int) -> float:
        """What the run costs."""
        start = time.perf_counter()
        cost = self.target.cost(configuration, instance, seed)
        self.seconds += time.perf_counter() - start
        self.runs += 1
        return cost


# ---- truecost ------------------------------------------------------------------------------------

HERE = Machine(host="", cpu="", system="", method="simulated", solver="", truecost="")


class SimulatedPool:
    """Runs that are computed where others are executed."""

    workers = 1

    def __init__(self, cost: Counter) -> None:
        self._cost, self._tasks = cost, list[Task]()

    def submit(self, task: Task) -> None:
        """Take a task."""
        self._tasks.append(task)

    def wait(self) -> list[Finished]:
        """All that are waiting."""
        done = [
            Finished(task=task, outcome=self._outcome(task), machine=HERE) for task in self._tasks
        ]
        self._tasks.clear()
        return done

    def _outcome(self, task: Task) -> Outcome:
        value = self._cost(task.configuration, int(task.instance.argument), task.seed)
        return Outcome(status=Status.SOLVED, cpu=0.0, wall=0.0, memory=0, exit_code=0, value=value)


def scenario_of(target: Target, seed: int, folder: Path) -> Scenario:
    return Scenario(
        path=folder / "scenario.toml",
        name=target.name,
        seed=seed,
        target=Called(kind="python", function="simulated.py:cost"),
        answer=AnswerFormat(),
        space=target.space,
        space_text="",
        instances=tuple(
            Instance(name=f"i{place}", argument=str(place), extras={}, is_file=False)
            for place in range(TRAINING)
        ),
        limits=Limits(cpu=60.0, wall=60.0, cutoff=60.0),
        metric=Metric(kind="value", low=0.0, high=HIGH),
    )


def by_truecost(target: Target, budget: int, seed: int) -> Found:
    cost, start = Counter(target), time.perf_counter()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scenario = scenario_of(target, seed, folder)
        campaign = stack.enter_context(
            Campaign(
                scenario,
                folder / "search.db",
                "configure",
                pool=SimulatedPool(cost),
                keep_going=True,
            )
        )
        book = campaign.book
        settings = configuring.settings_for(
            scenario, Budget(amount=budget, unit="runs"), None, seed, 1
        )
        searchlog.begin(book, settings)
        search = Search(campaign, settings, race.decide)
        reason, untested = search.train(), search.judge()
        seconds = time.perf_counter() - start - cost.seconds
        found = configuring.report_of(scenario, book, search, 0.05, reason, untested)
        certificate = found.assessment.certificate
    upper = None if certificate is None else certificate.upper
    best = min(map(target.true_cost, search.configurations))
    return Found(found.recommended, seconds, cost.runs, upper, found.incumbent, best)


def by_random(target: Target, budget: int, seed: int) -> Found:
    kept, propose.RANDOM = propose.RANDOM, 1.0
    try:
        return by_truecost(target, budget, seed)
    finally:
        propose.RANDOM = kept


# ---- irace ---------------------------------------------------------------------------------------


class Irace:
    """A space in irace's words: parameters p0, p1, …, categories c0, c1, …"""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.parameters: list[Any] = [space.configspace[name] for name in space.parameters]
        self._word = {name: f"p{place}" for place, name in enumerate(self.space.parameters)}

    def write(self, folder: Path) -> None:
        """irace's files: parameters, the default, what is forbidden."""
        conditions = self.space.configspace.parent_conditions_of
        lines = []
        for parameter in self.parameters:
            active = " & ".join(self._condition(each) for each in conditions[parameter.name])
            lines.append(
                f'{self._word[parameter.name]} "" {self._domain(parameter)}'
                + (f" | {active}" if active else "")
            )
        (folder / "parameters.txt").write_text("\n".join(lines) + "\n")
        default = self.space.default().values
        words = [
            self._told(each, default[each.name]) if each.name in default else "NA"
            for each in self.parameters
        ]
        (folder / "default.txt").write_text(
            " ".join(self._word.values()) + "\n" + " ".join(words) + "\n"
        )
        if clauses := self.space.configspace.forbidden_clauses:
            (folder / "forbidden.txt").write_text(
                "\n".join(self._clause(each) for each in clauses) + "\n"
            )

    def read(self, words: list[str]) -> Configuration:
        """The configuration that irace means."""
        values = {}
        for parameter, word in zip(self.parameters, words, strict=True):
            if word != "NA":
                values[parameter.name] = self._heard(parameter, word)
        return Configuration(name=name_of(values), values=values)

    def _domain(self, parameter: Any) -> str:
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
            return "c (" + ", ".join(f'"c{place}"' for place in range(len(parameter.choices))) + ")"
        kind = "i" if isinstance(parameter, ConfigSpace.UniformIntegerHyperparameter) else "r"
        return f"{kind}{',log' if parameter.log else ''} ({parameter.lower}, {parameter.upper})"

    def _told(self, parameter: Any, value: Any) -> str:
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
            return f'"c{list(parameter.choices).index(value)}"'
        return repr(value)

    def _heard(self, parameter: Any, word: str) -> Any:
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
            return parameter.choices[int(word[1:])]
        return (
            int(float(word))
            if isinstance(parameter, ConfigSpace.UniformIntegerHyperparameter)
            else float(word)
        )

    def _condition(self, condition: Any) -> str:
        match condition:
            case ConfigSpace.AndConjunction():
                return (
                    "(" + " & ".join(self._condition(each) for each in condition.components) + ")"
                )
            case ConfigSpace.OrConjunction():
                return (
                    "(" + " | ".join(self._condition(each) for each in condition.components) + ")"
                )
            case ConfigSpace.InCondition():
                values = ", ".join(self._told(condition.parent, each) for each in condition.values)
                return f"({self._word[condition.parent.name]} %in% c({values}))"
            case ConfigSpace.EqualsCondition():
                return f"({self._word[condition.parent.name]} == {self._told(condition.parent, condition.value)})"
        sign = {"NotEqualsCondition": "!=", "LessThanCondition": "<", "GreaterThanCondition": ">"}[
            type(condition).__name__
        ]
        return f"({self._word[condition.parent.name]} {sign} {self._told(condition.parent, condition.value)})"

    def _clause(self, clause: Any) -> str:
        if isinstance(clause, ConfigSpace.ForbiddenAndConjunction):
            return " & ".join(self._clause(each) for each in clause.components)
        if isinstance(clause, ConfigSpace.ForbiddenEqualsClause):
            word = self._told(clause.hyperparameter, clause.value)
            return f"({self._word[clause.hyperparameter.name]} == {word})"
        values = ", ".join(self._told(clause.hyperparameter, each) for each in clause.values)
        return f"({self._word[clause.hyperparameter.name]} %in% c({values}))"


def by_irace(
    target: Runnable,
    budget: int,
    seed: int,
    *,
    test: str = "t-test",
    instances: int = TRAINING,
) -> Found | None:
    """None where irace refuses: its first iterations need more runs than there are."""
    cost, start, words = Counter(target), time.perf_counter(), Irace(target.space)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        words.write(folder)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        server.settimeout(1.0)
        script = Path(__file__).with_name("irace.R")
        command = [
            "Rscript",
            str(script),
            str(server.getsockname()[1]),
            str(folder),
            str(instances),
            str(budget),
            str(seed + 1),
            test,
        ]
        log = stack.enter_context((folder / "log").open("w+"))
        process = stack.enter_context(
            subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        )
        while True:
            try:
                line = server.accept()[0].makefile("rw")
                break
            except TimeoutError:
                if process.poll() is not None:
                    raise SystemExit(
                        f"irace did not start: {(folder / 'log').read_text()[-500:]}"
                    ) from None
        best = None
        for said in line:
            kind, *rest = said.rstrip("\n").split("\t")
            if kind == "best":
                best = words.read(rest)
                print(0, file=line, flush=True)
                break
            value = cost(words.read(rest[2:]), int(rest[0]) - 1, int(rest[1]))
            print(repr(value), file=line, flush=True)
        line.close()
        process.wait()
        if best is None:
            text = (folder / "log").read_text()
            if "Insufficient budget" not in text:
                raise SystemExit(f"irace ended: {text[-800:]}")
            return None
    return Found(best, time.perf_counter() - start - cost.seconds, cost.runs)


# ---- SMAC3 ---------------------------------------------------------------------------------------


def by_smac(
    target: Runnable,
    budget: int,
    seed: int,
    *,
    ours: bool = False,
    instances: int = TRAINING,
    numbered: bool = True,
) -> Found:
    """`numbered`: the number of an instance is its feature; else instances have none."""
    import joblib  # type: ignore[import-untyped]
    from smac import AlgorithmConfigurationFacade
    from smac import Scenario as SmacScenario
    from smac.model.random_forest.random_forest import EPMRandomForest
    from smac.runhistory import TrialValue

    from truecost.smac import AdaptiveIntensifier

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
            instance_features={name: [float(name)] for name in names} if numbered else None,
            output_directory=Path(folder),
            seed=seed + 1,
        )
        own = AlgorithmConfigurationFacade.get_intensifier(
            scenario, max_config_calls=min(2000, budget)
        )
        smac = AlgorithmConfigurationFacade(
            scenario,
            _never_called,
            intensifier=AdaptiveIntensifier(scenario) if ours else own,
            logging_level=False,
            overwrite=True,
        )
        while smac.runhistory.finished < budget:
            info = smac.ask()
            found = _from_smac(space, info.config)
            value = cost(found, int(info.instance or 0), int(info.seed or 0))
            smac.tell(info, TrialValue(cost=value), save=False)
        best = _from_smac(space, smac.intensifier.get_incumbent())
    return Found(best, time.perf_counter() - start - cost.seconds, cost.runs)


def _all_instances_at_once(forest: Any, configurations: Any, features: Any, _log: bool) -> Any:
    """What SMAC's forest predicts, for all instances in one call a tree: it makes a call for each,
    and waits for threads.
    """
    points, features = (
        np.atleast_2d(np.asarray(configurations, np.float32)),
        np.asarray(features, np.float32),
    )
    told = np.zeros((len(points), len(forest.estimators_)))
    for start in range(0, len(points), 500):
        some = points[start : start + 500]
        rows = np.concatenate(
            [np.repeat(some, len(features), axis=0), np.tile(features, (len(some), 1))], axis=1
        )
        for place, tree in enumerate(forest.estimators_):
            each = tree.tree_.predict(rows).reshape(len(some), len(features)) / len(features)
            # One by one, as SMAC adds them up: the same to the last digit.
            for column in each.T:
                told[start : start + 500, place] += column
    return told


def _never_called(config: Any, instance: str, seed: int = 0) -> float:
    """SMAC wants a target; ours are asked for and told."""
    raise AssertionError(config, instance, seed)


def _from_smac(space: Any, config: Any) -> Configuration:
    from truecost.space.files import plain

    there = dict(config)
    values = {name: plain(there[name]) for name in space.parameters if name in there}
    return Configuration(name=name_of(values), values=values)


TOOLS: dict[str, Callable[[Target, int, int], Found | None]] = {
    "truecost": by_truecost,
    "random": by_random,
    "irace": by_irace,
    "irace-F": lambda target, budget, seed: by_irace(target, budget, seed, test="F-test"),
    "smac": by_smac,
    "smac+ours": lambda target, budget, seed: by_smac(target, budget, seed, ours=True),
}


# ---- running and telling -------------------------------------------------------------------------


FIELDS = [
    "tool",
    "target",
    "draw",
    "budget",
    "seed",
    "cost",
    "default",
    "milliseconds",
    "runs",
    "upper",
    "certified",
    "best",
]


def known(path: Path) -> list[dict[str, Any]]:
    """The searches of a table; what a search does not have is left out."""
    whole, text = ("draw", "budget", "seed", "runs"), ("tool", "target")
    return [
        {
            key: value if key in text else int(value) if key in whole else float(value)
            for key, value in row.items()
            if value
        }
        for row in read(path)
    ]


def run(
    path: Path,
    tools: Iterable[str],
    names: Iterable[str],
    budgets: Iterable[int],
    repetitions: int,
    draw: int,
) -> None:
    done = {
        (each["tool"], each["target"], each["draw"], each["budget"], each["seed"])
        for each in known(path)
    }
    targets: dict[str, Target] = {}
    wanted = [
        (tool, name, budget, seed)
        for budget in budgets
        for seed in range(repetitions)
        for name in names
        for tool in tools
        if (tool, name, draw, budget, seed) not in done
    ]
    for tool, name, budget, seed in wanted:
        target = targets[name] if name in targets else targets.setdefault(name, TARGETS[name](draw))
        found = TOOLS[tool](target, budget, seed)
        told = {"tool": tool, "target": name, "draw": draw, "budget": budget, "seed": seed}
        if found is not None:
            told |= {
                "cost": target.true_cost(found.configuration),
                "default": target.true_cost(target.space.default()),
                "milliseconds": 1e3 * found.seconds / max(found.runs, 1),
                "runs": found.runs,
            }
        if found is not None and found.certified is not None and found.upper is not None:
            told |= {"upper": found.upper, "certified": target.true_cost(found.certified)}
            told["best"] = found.best
        target.forget()
        append(path, FIELDS, told)


def table(path: Path) -> None:
    rows = known(path)
    names = [name for name in TARGETS if any(each["target"] == name for each in rows)]
    tools = [tool for tool in TOOLS if any(each["tool"] == tool for each in rows)]
    print("| target (default's cost) | runs | " + " | ".join(tools) + " |")
    print("| --- " * (2 + len(tools)) + "|")
    for name in names:
        default = next(
            each["default"] for each in rows if each["target"] == name and "default" in each
        )
        for budget in sorted({each["budget"] for each in rows if each["target"] == name}):
            here = [each for each in rows if each["target"] == name and each["budget"] == budget]
            cells = [_cell([each for each in here if each["tool"] == tool], here) for tool in tools]
            mark = " †" if name in UNTOUCHED else ""
            print(f"| {name}{mark} ({default:.3g}) | {budget:,} | " + " | ".join(cells) + " |")
    for tool in tools:
        some = [each for each in rows if each["tool"] == tool and "cost" in each]
        worse = sum(each["cost"] > 1.02 * each["default"] for each in some)
        own = np.median([each["milliseconds"] for each in some])
        print(
            f"{tool}: worse than the default by more than 2 % in {worse} of {len(some)}; {own:.1f} ms a run"
        )
    judged = [each for each in rows if each["tool"] in ("truecost", "random") and "upper" in each]
    missed = sum(each["certified"] > each["upper"] for each in judged)
    print(f"certificates at 5 %: {missed} of {len(judged)} missed")
    for budget in sorted({each["budget"] for each in rows}):
        some = [each for each in rows if "best" in each and each["budget"] == budget]
        some = [each for each in some if each["tool"] == "truecost"]
        for what in ("cost", "certified") if some else ():
            over = [each[what] / each["best"] for each in some]
            name = "recommended" if what == "cost" else "incumbent"
            print(
                f"{budget:,} runs, {name} over best proposed: median {np.median(over):.3f}, worst "
                f"{max(over):.2f}, above 2 in {sum(x > 2 for x in over)} of {len(over)}"
            )


def ratios(path: Path) -> None:
    """Cost of truecost over that of each other tool, paired by target, draw and seed.

    The geometric mean with the p-value of Wilcoxon's test, and the two-sided 95 % interval of each
    target's own.
    """
    rows = [row for row in known(path) if "cost" in row]
    cost = {(r["tool"], r["target"], r["draw"], r["budget"], r["seed"]): r["cost"] for r in rows}
    print("| against | runs | target | pairs | ratio | 95 % interval | p |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    # In the order of the table, in which "truecost 0.2" is that release on the same targets.
    for tool in dict.fromkeys(row["tool"] for row in rows if row["tool"] != "truecost"):
        for budget in sorted({row["budget"] for row in rows}):
            logs: dict[str, list[float]] = {}
            for key, theirs in cost.items():
                ours = cost.get(("truecost", *key[1:]))
                if key[0] == tool and key[3] == budget and ours is not None:
                    logs.setdefault(key[1], []).append(math.log(ours / theirs))
            if not logs:
                continue
            for name, some in [*logs.items(), ("all", [x for one in logs.values() for x in one])]:
                apart = np.array(some)
                reach = stats.t.ppf(0.975, apart.size - 1) if apart.size > 1 else math.nan
                error = reach * apart.std(ddof=1) / math.sqrt(apart.size) if apart.size > 1 else 0.0
                low, middle, high = np.exp(apart.mean() + error * np.array([-1, 0, 1]))
                p = f"{wilcoxon(apart).pvalue:.2g}" if apart.size > 5 and apart.any() else "–"
                print(
                    f"| {tool} | {budget:,} | {name} | {apart.size} | {middle:.2f} "
                    f"| {low:.2f}–{high:.2f} | {p} |"
                )


def _cell(some: list[dict[str, Any]], here: list[dict[str, Any]]) -> str:
    """Median, quartiles, repetitions; > or < where truecost is better or worse by a paired test at
    5 %.
    """
    costs = {each["seed"]: each["cost"] for each in some if "cost" in each}
    if not costs:
        return "refuses" if some else "–"
    low, middle, high = np.quantile(list(costs.values()), [0.25, 0.5, 0.75])
    ours = {
        each["seed"]: each["cost"] for each in here if each["tool"] == "truecost" and "cost" in each
    }
    both = sorted(set(costs) & set(ours))
    apart = np.array([math.log(costs[seed]) - math.log(ours[seed]) for seed in both])
    mark = ""
    if (
        some[0]["tool"] != "truecost"
        and len(both) >= 6
        and apart.any()
        and wilcoxon(apart).pvalue < 0.05
    ):
        mark = " >" if np.median(apart) > 0 else " <"
    few = "" if len(costs) == REPETITIONS else f", n = {len(costs)}"
    return f"{middle:.3g} ({low:.3g}–{high:.3g}{few}){mark}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "table", "ratios", "targets"])
    parser.add_argument("results", type=Path, nargs="?", default=Path("bench/search.csv"))
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument(
        "--draw", type=int, default=DRAW, help="which of the targets that a seed draws"
    )
    options = parser.parse_args()
    if options.what in ("table", "ratios"):
        (table if options.what == "table" else ratios)(options.results)
        return
    warnings.simplefilter("ignore")  # SMAC's and scikit-learn's own
    if options.what == "targets":
        for name in options.targets:
            target = TARGETS[name](options.draw)
            costs = [target.true_cost(each) for each in target.space.configurations(500, rng=1)]
            low, middle = np.quantile(costs[1:], [0.02, 0.5])
            print(
                f"{name}: {target.about}; default {costs[0]:.3g}, random ones {middle:.3g}, the best 2 % {low:.3g}"
            )
        return
    run(
        options.results,
        options.tools,
        options.targets,
        options.budgets,
        options.repetitions,
        options.draw,
    )


if __name__ == "__main__":
    main()
