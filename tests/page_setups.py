"""Files that the pages assume a reader to have; called in the folder of the page."""

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


def table(path: str = "runs.csv", instances: int = 60) -> None:
    """A table of two configurations on the same instances, with timeouts."""
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
    pd.concat(frames).to_csv(path, index=False)


def compare() -> None:
    """Tables of two versions of a solver; the branch is a little slower."""
    rng = np.random.default_rng(2)
    base = rng.lognormal(0, 1, 90)
    for name, factor in (("main", 1.0), ("branch", 1.1)):
        cost = np.minimum(base * factor * rng.lognormal(0, 0.05, 90), 30.0)
        pd.DataFrame(
            {
                "configuration": name,
                "instance": [f"{number:03}.cnf" for number in range(90)],
                "cost": cost.round(4),
            }
        ).to_csv(f"{name}.csv", index=False)
