"""Small logs whose verdict is known, for tests of what is judged."""

from typing import Any

import numpy as np

from truecost.judge import Assessment, Question, Statement, assess
from truecost.judge.pairs import SameInstances
from truecost.matrix import CostMatrix, Log

CUTOFF = 10.0


def table(costs: Any, prefix: str = "i", **fields: Any) -> CostMatrix:
    """Configurations c0, c1, … on instances i0, i1, …, with costs in [0, 1]."""
    costs = np.asarray(costs, float)
    rows = [f"c{row}" for row in range(len(costs))]
    columns = [f"{prefix}{place}" for place in range(costs.shape[1])]
    known = {} if "cutoff" in fields else {"low": 0, "high": 1}
    return CostMatrix(costs, rows, columns, **known | fields)


def timed(times: Any, par: float = 10, **fields: Any) -> CostMatrix:
    """Running times; one at the cutoff has failed."""
    return table(times, cutoff=CUTOFF, par=par, **fields)


def log(runs: Any, **fields: Any) -> Log:
    """A list that was fixed before, with the default c0."""
    runs = runs if isinstance(runs, CostMatrix) else table(runs)
    known: dict[str, Any] = {"default": "c0", "adaptive": False}
    return Log(runs=runs, **known | fields)


def fixed(runs: Any, **asked: Any) -> Assessment:
    """The verdict on c1 against c0, both fixed before their runs."""
    question = Question(**{"configuration": "c1", "basis": "fixed before"} | asked)
    return assess(log(runs), question)


def stated(found: Assessment, quantity: str) -> Statement:
    """The winner's statement on a quantity."""
    statement = found.statement(quantity)
    assert statement is not None
    return statement


def same(found: Assessment) -> SameInstances:
    """Winner and default on the same instances."""
    assert found.same is not None
    return found.same


def codes(found: Assessment) -> list[str]:
    """The codes of the caveats."""
    return [caveat.code for caveat in found.caveats]
