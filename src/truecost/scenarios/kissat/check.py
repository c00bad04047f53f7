"""Accept a SAT solver's answer if its model satisfies every clause.

Every instance here is satisfiable, so UNSATISFIABLE is wrong.
"""

from functools import cache
from pathlib import Path


@cache
def _lines(instance: str) -> list[str]:
    return Path(instance).read_text().splitlines()


def fault(instance: str, output: str) -> str | None:
    """What is wrong with the answer to the instance in this file; None if nothing is."""
    lines = output.splitlines()
    if "s UNSATISFIABLE" in lines:
        return "said to be unsatisfiable, but the instance was made from a solution"
    true = {int(word) for line in lines if line.startswith("v ") for word in line.split()[1:]} - {0}
    # Else a model with both would satisfy everything.
    if any(-literal in true for literal in true):
        return "a variable is both true and false in the model"
    for number, line in enumerate(_lines(instance), 1):
        if line[:1] not in ("c", "p") and true.isdisjoint(map(int, line.split()[:-1])):
            return f"the clause in line {number}, {line}, is not satisfied"
    return None
