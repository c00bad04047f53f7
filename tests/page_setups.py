"""Files that the pages assume a reader to have; called in the folder of the page."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd

DATA = Path(__file__).parent / "data"


def irace() -> None:
    """An irace log with test runs of its winner, and what its target runner needs."""
    shutil.copy(DATA / "irace" / "tested.Rdata", "irace.Rdata")


def runner() -> None:
    """An irace log whose target runner is a program, with the set-up beside it."""
    shutil.copytree(DATA / "runner", ".", dirs_exist_ok=True)


def smac() -> None:
    """The output folder of a SMAC3 run."""
    shutil.copytree(DATA / "smac", "smac3_output", dirs_exist_ok=True)


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
