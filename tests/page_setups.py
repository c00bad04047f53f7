"""Files that the pages assume a reader to have; called in the folder of the page."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd

DATA = Path(__file__).parent / "data"


def runner() -> None:
    """An irace log whose target runner is a program beside it, and new instances."""
    shutil.copytree(DATA / "runner", ".", dirs_exist_ok=True)
    Path("test").mkdir()
    rng = np.random.default_rng(1)
    for number, difficulty in enumerate(rng.uniform(1, 20, 60)):
        Path("test", f"{number}.txt").write_text(f"{difficulty:.3f}\n")


def smac() -> None:
    """The output folder of a SMAC3 run, and new instances."""
    shutil.copytree(DATA / "smac" / "instances", "smac3_output/mine/3", dirs_exist_ok=True)
    Path("test").mkdir()
    rng = np.random.default_rng(1)
    for number, difficulty in enumerate(rng.uniform(0, 1, 80)):
        Path("test", f"{number}.txt").write_text(f"{difficulty:.3f}\n")


def smac_target() -> None:
    """The target that the reader fills in: a Python function."""
    Path("target.py").write_text(
        "import random\n\n\n"
        "def train(config, instance, seed):\n"
        "    difficulty = float(open(instance).read())\n"
        "    noise = random.Random(seed).random() / 10\n"
        "    first = next(value for value in config.values() if isinstance(value, (int, float)))\n"
        "    return min(3.0, difficulty + noise + 0.1 * abs(first))\n"
    )
    path = Path("mine/scenario.toml")
    text = re.sub(r"^\[(target|answer)\]\n(?:(?!\[).*\n)*", "", path.read_text(), flags=re.M)
    path.write_text(f'{text}\n[target]\nkind = "python"\nfunction = "../target.py:train"\n')


def sat_solver() -> None:
    """A program that answers as SAT solvers do, a check, and instances."""
    _program("solver", "echo s SATISFIABLE", "echo c conflicts: 7", "exit 10")
    Path("check.py").write_text("raise SystemExit(0)\n")
    Path("instances").mkdir()
    for name in "abcd":
        Path("instances", f"{name}.cnf").write_text(f"p cnf 0 0\nc {name}\n")


def toy_solver() -> None:
    """A program that prints a number, its parameters, and instances."""
    _program("solver", "echo 7")
    Path("params.pcs").write_text("speed [1, 10] [5]\n")
    Path("instances").mkdir()
    for name in "abcd":
        Path("instances", f"{name}.txt").write_text(f"{name}\n")


def _program(name: str, *lines: str) -> None:
    Path(name).write_text("\n".join(["#!/bin/sh", *lines, ""]))
    Path(name).chmod(0o755)


def table() -> None:
    """A table of two configurations on the same instances, with timeouts."""
    _results().to_csv("runs.csv", index=False)


def results() -> None:
    """The same with columns of other names."""
    names = {"configuration": "tool", "cost": "penalised"}
    _results().rename(columns=names).to_csv("results.csv", index=False)


def _results() -> pd.DataFrame:
    instances = 60
    rng = np.random.default_rng(1)
    base = rng.lognormal(0, 1, instances)
    frames = []
    for name, factor in (("default", 1.0), ("tuned", 0.6)):
        cost = np.minimum(base * factor * rng.lognormal(0, 0.2, instances), 5.0)
        frames.append(
            pd.DataFrame(
                {
                    "configuration": name,
                    "instance": [f"{number:03}.cnf" for number in range(instances)],
                    "cost": cost.round(4),
                    "status": np.where(cost >= 5, "timeout", "solved"),
                }
            )
        )
    return pd.concat(frames)


def compare() -> None:
    """Tables of two versions of a solver, and both in a wide one; the branch is a little slower."""
    rng = np.random.default_rng(2)
    base = rng.lognormal(0, 1, 90)
    wide = pd.DataFrame({"instance": [f"{number:03}.cnf" for number in range(90)]})
    for name, factor in (("main", 1.0), ("branch", 1.1)):
        wide[name] = np.minimum(base * factor * rng.lognormal(0, 0.05, 90), 30.0).round(4)
        table = pd.DataFrame(
            {"configuration": name, "instance": wide["instance"], "cost": wide[name]}
        )
        table.to_csv(f"{name}.csv", index=False)
    wide.to_csv("times.csv", index=False)


def exports() -> None:
    """Exports of other tools: trials of Ray, a state folder's runs of SMAC 2, SMAC3 1.x."""
    rng = np.random.default_rng(3)
    trials = [
        {"loss": rng.random(), "status": "TERMINATED", "config/lr": rate, "config/dataset": name}
        for rate in (0.1, 0.5)
        for name in "abc"
    ]
    pd.DataFrame(trials).to_csv("trials.csv", index=False)
    names = (
        "Run Number,Run History Configuration ID,Instance ID,Response Value (y),Censored?,"
        "Cutoff Time Used,Seed,Runtime,Run Length,Run Result Code,Run Quality,SMAC Iteration,"
        "SMAC Cumulative Runtime,Run Result,Additional Algorithm Run Data,Wall Clock Time,"
    )
    runs = [
        (1, 1, 5, 1.5, "SAT"), (1, 2, 5, 5.0, "TIMEOUT"), (2, 1, 5, 0.5, "SAT"), (2, 2, 2, 2.0, "TIMEOUT")
    ]  # fmt: skip
    rows = [
        f"{number},{configuration},{instance},0,0,{cap},7,{time},0,1,0,1,0,{word},,{time},"
        for number, (configuration, instance, cap, time, word) in enumerate(runs)
    ]
    Path("runs_and_results-it12.csv").write_text("\n".join([names, *rows, ""]))
    history = [
        [[configuration, f"i{place}", 7, 0.0], [time, time, {"__enum__": status}, 0.0, 1.0, {}]]
        for configuration in (1, 2)
        for place, (time, status) in enumerate(
            [(0.3, "StatusType.SUCCESS"), (5.0, "StatusType.TIMEOUT")]
        )
    ]
    Path("runhistory.json").write_text(json.dumps({"data": history}))
