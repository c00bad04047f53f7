"""Recorded runs of real solvers: the default and random configurations, and three searches.

NAME-tuned is a search of `truecost configure` with its test; `bench/demo.py` says how the three
were fixed before they were run. The others are lists of random configurations.

Each is a table in truecost's own format. The metadata beside it says how the runs were made: the
scenario, the solver's version, the machine, the limits.
"""

import json
from pathlib import Path
from typing import Any

from truecost.errors import InputError, did_you_mean
from truecost.matrix import CostMatrix, Log
from truecost.matrix.files import metadata_path, read_log

_FOLDER = Path(__file__).parent


def example_names() -> list[str]:
    """The names of the examples."""
    return sorted(path.name.removesuffix(".csv.json") for path in _FOLDER.glob("*.csv.json"))


def example_path(name: str) -> Path:
    """The file of an example."""
    if name not in (known := example_names()):
        raise InputError(
            f"There is no example {name!r:.60}.{did_you_mean(name, known)} "
            f"Choose one of {', '.join(known)}."
        )
    return _FOLDER / f"{name}.csv.gz"


def load_example(name: str) -> CostMatrix:
    """Load the runs of an example.

    Parameters
    ----------
    name
        "kissat", "lkh" and "clasp" have 50 configurations × 50 instances × 5 runs, "kissat-large"
        150 × 200 × 5, "clasp-large" 500 × 120 × 5; "kissat-tuned", "lkh-tuned" and "clasp-tuned"
        are searches. Costs are PAR10 in seconds.

    Examples
    --------
    >>> from truecost.examples import load_example
    >>> load_example("clasp")
    CostMatrix(50 configurations x 50 instances x 5 runs, costs in [0, 5])
    """
    return read_log(example_path(name)).runs


def example_log(name: str) -> Log:
    """Load an example with its default and the values of its parameters."""
    log = read_log(example_path(name))
    return log.replace(path=name)


def describe_example(name: str) -> dict[str, Any]:
    """Say how the runs of an example were made."""
    data = json.loads(metadata_path(example_path(name)).read_bytes())
    about: dict[str, Any] = data["about"]
    return about
