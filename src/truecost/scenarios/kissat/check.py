"""Accept a SAT solver's answer if its model satisfies every clause.

Every instance here is satisfiable, so UNSATISFIABLE is wrong.
"""

from functools import cache
from pathlib import Path


def fault_of(formula: str, output: str) -> str | None:
    """What is wrong with the answer, None if nothing is."""
    lines = output.splitlines()
    if "s UNSATISFIABLE" in lines:
        return "said to be unsatisfiable, but the instance was made from a solution"
    true = {int(word) for line in lines if line.startswith("v ") for word in line.split()[1:]} - {0}
    # Else a model with both would satisfy everything.
    if any(-literal in true for literal in true):
        return "a variable is both true and false in the model"
    for number, line in enumerate(formula.splitlines(), 1):
        if line[:1] not in ("c", "p") and true.isdisjoint(map(int, line.split()[:-1])):
            return f"the clause in line {number}, {line}, is not satisfied"
    return None


@cache
def _text(instance: str) -> str:
    return Path(instance).read_text()


def fault(instance: str, output: str) -> str | None:
    """What is wrong with the answer to the instance in this file: what a scenario calls."""
    return fault_of(_text(instance), output)
