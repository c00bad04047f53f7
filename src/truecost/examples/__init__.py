"""Recorded runs of real solvers: the default and random configurations, and three searches.

NAME-tuned is a search of `truecost configure` with its test; `bench/demo.py` says how the three
were fixed before they were run. The others are lists of random configurations.

Each is a table in truecost's own format. The metadata beside it says how the runs were made: the
scenario, the solver's version, the machine, the limits.
"""

from pathlib import Path

from truecost.errors import InputError, did_you_mean
from truecost.matrix import CostMatrix, Log
from truecost.matrix.files import read_log

FOLDER = Path(__file__).parent


def example_names() -> list[str]:
    """The names of the examples."""
    return sorted(path.name.removesuffix(".csv.json") for path in FOLDER.glob("*.csv.json"))


def example_log(name: str) -> Log:
    """Load an example with its default and the values of its parameters."""
    if name not in (names := example_names()):
        raise InputError(
            f"There is no example {name!r:.60}.{did_you_mean(name, names)} "
            f"Choose one of {', '.join(names)}."
        )
    return read_log(FOLDER / f"{name}.csv.gz").replace(path=name)


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
    return example_log(name).runs
