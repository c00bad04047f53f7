"""What pages need before their first block, and checks of numbers in their text."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, binom

import truecost as tc

DATA = Path(__file__).parent / "data"


def irace() -> None:
    """An irace log with its target runner, and instances to train and to test on."""
    shutil.copytree(DATA / "runner", ".", dirs_exist_ok=True)
    for folder, names in (("train", range(1, 11)), ("test", range(11, 111))):
        Path(folder).mkdir()
        for name in names:
            Path(folder, f"{name}.txt").write_text(
                f"{name % 13} {folder} {name}\n" if folder == "test" else f"{name}\n"
            )


def smac3() -> None:
    """A SMAC3 output folder, a target function and new instances."""
    shutil.copytree(DATA / "smac" / "instances", "smac3_output/mine/3")
    Path("test").mkdir()
    for name in range(11, 111):
        Path("test", f"{name}.txt").write_text(f"{name % 13} {name}\n")
    Path("target.py").write_text(
        "import random\nfrom pathlib import Path\n\n\ndef train(config, instance, seed):\n"
        "    number = int(Path(instance).read_text().split()[0])\n"
        "    noise = random.Random(seed).random()\n"
        "    return 2 * (config['x'] - number / 40) ** 2 + 0.6 * noise, {'noise': noise}\n"
    )


def smac3_target() -> None:
    """The target filled in as the page says."""
    path = Path("mine/scenario.toml")
    target = '[target]\nkind = "python"\nfunction = "../target.py:train"\nwarm = true\n\n'
    path.write_text(re.sub(r"\[target\].*(?=\[space\])", target, path.read_text(), flags=re.DOTALL))


def explain() -> None:
    """A solver with eight switches, of which two matter."""
    Path("solver.sh").write_text("""#!/bin/sh
read size < "$1"
value=$(( 50 + $5 % 7 + size % 5 ))
for word in "$@"; do
  case "$before $word" in
    "-restarts luby") value=$((value - 20));;
    "-learning on") value=$((value - 10));;
  esac
  before=$word
done
echo "Result for SMAC: SUCCESS, 0.01, 0, $value, $5"
""")
    Path("solver.sh").chmod(0o755)
    names = ["minimise", "probing", "vivify", "subsume", "phase", "walk"]
    space = "restarts {fixed,luby} [fixed]\nlearning {off,on} [off]\n"
    Path("params.pcs").write_text(space + "".join(f"{name} {{off,on}} [off]\n" for name in names))
    Path("instances").mkdir()
    for number in range(1, 41):
        Path("instances", f"{number}.txt").write_text(f"{number}\n")
    Path("scenario.toml").write_text("""name = "my-solver"
seed = 1
target = {kind = "wrapper", command = ["./solver.sh"]}
space = {file = "params.pcs"}
instances = {glob = "instances/*.txt"}
limits = {cpu = 5.0}
metric = {kind = "value", low = 0, high = 100}
""")


def compare() -> None:
    """Running times of two versions, as long tables and as a wide one."""
    rng = np.random.default_rng(4)
    times = rng.uniform(0.5, 20, 120)
    for name, factor, first in (("main", 1.0, 0), ("branch", 1.25, 10)):
        lines = [
            f"solver,i{i:03},{times[i] * factor * rng.uniform(0.9, 1.1):.3f}"
            for i in range(first, 120)
        ]
        text = "\n".join(["configuration,instance,cost", *lines, ""])
        Path(f"{name}.csv").write_text(text)
    wide = [f"i{i:03},{t:.3f},{t * rng.uniform(0.8, 1.25):.3f}" for i, t in enumerate(times)]
    Path("times.csv").write_text("\n".join(["instance,v1,v2", *wide, ""]))


def families() -> None:
    """Costs on 12 families of 10 instances."""
    rng = np.random.default_rng(1)
    hard = np.repeat(rng.beta(1, 2, 12), 10)
    costs = np.clip(hard + 0.1 * rng.standard_normal((2, 120)), 0, 1)
    costs[0] = np.clip(costs[0] - 0.05, 0, 1)
    lines = [
        f"{name},f{k // 10},f{k // 10}-{k % 10},{cost:.4f}"
        for name, row in zip(("tuned", "default"), costs, strict=True)
        for k, cost in enumerate(row)
    ]
    Path("runs.csv").write_text("\n".join(["configuration,family,instance,cost", *lines, ""]))


def aslib() -> None:
    """A small ASlib scenario."""
    Path("SMALL-SAT").mkdir()
    Path("SMALL-SAT/description.txt").write_text(
        "scenario_id: SMALL-SAT\nperformance_measures: runtime\nmaximize: false\n"
        "performance_type: runtime\nalgorithm_cutoff_time: 10\n"
    )
    ended = {
        "alpha": "0.5,ok 2.0,ok 9.0,ok 1.0,ok",
        "beta": "1.5,ok 1.0,ok 3.0,ok 10.0,memout",
        "gamma": "0.2,ok 10.0,timeout 0.1,ok 0.4,ok",
    }
    rows = [
        f"{instance}.cnf,1,{algorithm},{run}"
        for algorithm, runs in ended.items()
        for instance, run in zip("abcd", runs.split(), strict=True)
    ]
    Path("SMALL-SAT/algorithm_runs.arff").write_text(
        "@RELATION ALGORITHM_RUNS_SMALL-SAT\n"
        "@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n"
        "@ATTRIBUTE algorithm STRING\n@ATTRIBUTE runtime NUMERIC\n"
        "@ATTRIBUTE runstatus {ok, timeout, memout, not_applicable, crash, other}\n@DATA\n"
        + "\n".join(rows)
        + "\n"
    )


def dependent_runs() -> None:
    """The error rates of a binomial limit that the page tells."""
    rng = np.random.default_rng(7)
    chances = rng.choice([0.1, 0.9], size=(2000, 30))  # instances are easy or hard
    solved = rng.random((5, 2000, 30)) < chances  # 5 runs on each of 30 instances
    for runs, expected in ((solved, "20.0%"), (solved[:1], "5.1%")):
        k, n = runs.sum(axis=(0, 2)), runs[:, 0].size
        assert f"{np.mean(beta.ppf(0.05, k, n - k + 1) > 0.5):.1%}" == expected


def estimated_variances() -> None:
    """The probabilities that the page tells of bounds with estimated and true variances."""
    K, p = 100, 0.02
    outcomes = np.tril(np.ones((K + 1, K)), -1)[:, :, np.newaxis]  # k timeouts in row k
    names = [f"{k}" for k in range(K + 1)]
    every = tc.CostMatrix(outcomes, names, names[:K], low=0.0, high=1.0)
    known = tc.VarianceComponents.known(within=0, across=p * (1 - p))
    for components, expected in ((known, "0.000"), (tc.variance_components(every), "0.133")):
        bound = tc.bounds.single(
            allocation=tc.even(K, K), components=components, width=1, delta=0.05
        )
        wrong = outcomes.mean(axis=(1, 2)) + bound.epsilon < p
        assert f"{binom.pmf(range(K + 1), K, p) @ wrong:.3f}" == expected


def printed_theorem_3() -> None:
    """The values that the page tells of the forms of Theorem 3."""
    late = tc.VarianceComponents.known(within=0, across=250**2 * 0.001 * 0.999)
    scaled = tc.VarianceComponents.known(within=0, across=0.001 * 0.999)
    given: dict[str, Any] = {"allocation": tc.even(10, 10), "delta": 0.001}
    given |= {"dimension": 1, "radius": 1}
    forms: dict[Any, str] = {
        "printed": "24.46 202.17",
        "solved": "232.87 232.87",
        "cover": "48.68 48.68",
    }
    for form, expected in forms.items():
        bound = tc.bounds.infinite(components=late, width=250, lipschitz=1, form=form, **given)
        other = tc.bounds.infinite(
            components=scaled, width=1, lipschitz=1 / 250, form=form, **given
        )
        assert f"{bound.epsilon:.2f} {250 * other.epsilon:.2f}" == expected
    assert f"{0.999 * 250 - 225:.2f} {1 - 0.999**10:.5f}" == "24.75 0.00996"
