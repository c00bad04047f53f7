"""What tests validate: a log made by hand, and a target whose cost is arithmetic, lower by 10 for
each step of `x`.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import scenarios

from truecost import CostMatrix, Import, Scenario, Trajectory

# kind = "irace": CONFIGURATION INSTANCE-ID SEED INSTANCE --x X --y Y
TARGET = """#!/bin/sh
read size rest < "$4"
echo $(( ($3 / 7 + size * 3) % 50 + $6 * 10 ))
"""
SPACE = "x integer [0,5] [5]\ny integer [0,9] [0]\n"
GENERATOR = '#!/bin/sh\n# SEED FILE\necho "$(( $1 % 10 )) seed $1" > "$2"\n'
WINNER, DEFAULT = {"x": 0, "y": 3}, {"x": 5, "y": 0}


def written(folder: Path, fresh: int = 60, **tables: dict[str, Any]) -> Scenario:
    """The scenario, with files to train on in `instances` and so many others in `new`."""
    chosen: dict[str, dict[str, Any]] = {
        "target": {"kind": "irace", "command": ["./solver.sh"]},
        "limits": {"cpu": 30.0},
        "metric": {"kind": "value", "low": 0.0, "high": 110.0},
        **tables,
    }
    path = scenarios.write(folder, **chosen)
    (folder / "solver.sh").write_text(TARGET)
    (folder / "space.pcs").write_text(SPACE)
    (folder / "generate.sh").write_text(GENERATOR)
    (folder / "generate.sh").chmod(0o755)
    (folder / "new").mkdir(exist_ok=True)
    for place in range(fresh):
        (folder / "new" / f"{place}.txt").write_text(f"{place % 10} new {place}\n")
    return Scenario.read(path)


def log(winner: dict[str, Any] | None = None, default: dict[str, Any] | None = None) -> Import:
    """What a search left behind: `w` cost 12 and `d` 60 on the five files it trained on."""
    costs = np.stack([np.full((5, 2), 12.0), np.full((5, 2), 60.0)])
    names = [f"instances/i {place}.txt" for place in range(5)]
    return Import(
        kind="table",
        matrix=CostMatrix(costs, ["w", "d"], names, 0, 110),
        trajectory=Trajectory(
            tool="a search", proposed="adaptively", raced=True, default="d", incumbent="w"
        ),
        parameters={"w": winner or WINNER, "d": default or DEFAULT},
    )


def irace_folder(folder: Path) -> None:
    """A folder as irace leaves it, with its target-runner and fresh instances."""
    shutil.copytree(Path(__file__).parent / "data" / "runner", folder, dirs_exist_ok=True)
    for name, count in (("train", 10), ("test", 60)):
        (folder / name).mkdir()
        for number in range(1, count + 1):
            (folder / name / f"{number}.txt").write_text(
                f"{number % 13} {name}\n" if name == "test" else f"{number}\n"
            )
