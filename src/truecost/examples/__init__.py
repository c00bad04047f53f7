"""Real matrices in the package: configurations of real solvers, the default first, gathered with
`truecost gather`.

Each is an npz file beside a JSON file that says how it was made: the scenario file, the solver's
version, the machine, the command, the limits. docs/import.md lists them.
"""

import json
from pathlib import Path
from typing import Any

from truecost.errors import InputError
from truecost.matrix import CostMatrix

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The examples there are."""
    # By file, so that an example is added by adding its two files.
    return sorted(path.stem for path in _FOLDER.glob("*.npz"))


def path_of(name: str) -> Path:
    """The file of an example."""
    if name not in names():
        raise InputError(f"expected an example out of {', '.join(names())}, got {name!r:.60}.")
    return _FOLDER / f"{name}.npz"


def example_or(path: Path) -> Path:
    """The file of an example, where an example has this name and no file or folder of that name
    holds runs.
    """
    if len(path.parts) != 1 or path.name not in names():
        return path
    if path.exists():
        from truecost.importers.detect import holds_runs

        if holds_runs(path):
            return path
    return path_of(path.name)


def load_example(name: str) -> CostMatrix:
    """The matrix of an example, "kissat" for instance: 50 configurations x 50 instances x 5 runs,
    costs in PAR10 seconds.

    Examples
    --------
    >>> tc.load_example("clasp")
    CostMatrix(50 configurations x 50 instances x 5 runs, costs in [0, 5])
    """
    return CostMatrix.load(path_of(name))


def describe_example(name: str) -> dict[str, Any]:
    """How an example was made."""
    about: dict[str, Any] = json.loads(path_of(name).with_suffix(".json").read_text())
    return about
