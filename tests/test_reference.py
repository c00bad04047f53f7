"""Numbers of the examples and of recorded logs, as an independent earlier implementation had them.

`reference.json` has them. Plain means and closed forms agree to rounding. Limits may move by 5 % of
their value, or by 1.5 % of the range of costs where they are small against it. Resampled numbers
agree within four standard errors.
"""

import json
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from truecost.examples import example_log
from truecost.judge import Assessment, assess

REFERENCE: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").with_name(
    "reference.json").read_text())  # fmt: skip
LOGS = Path(__file__).parent / "data"
# The largest example takes seconds.
NAMES = [pytest.param(name, marks=pytest.mark.slow if name == "clasp-large" else [])
         for name in REFERENCE["examples"]]  # fmt: skip
# How many seeds the mean of the resampled number is from.
SEEDS = 6


@cache
def judged(name: str) -> Assessment:
    """The assessment of an example."""
    return assess(example_log(name))


def near(value: float, expected: float, width: float) -> bool:
    """Whether a limit is where it was."""
    return abs(value - expected) <= max(0.05 * abs(expected), 0.015 * width)


@pytest.mark.parametrize("name", NAMES)
def test_winners_and_costs(name: str) -> None:
    """Another configuration would win, or a mean be another mean."""
    found, known = judged(name), REFERENCE["examples"][name]
    assert (found.winner, found.default) == (known["winner"], known["default"])
    assert found.same is not None
    assert found.same.winner_cost == pytest.approx(known["winner cost"], rel=1e-6)
    assert found.same.default_cost == pytest.approx(known["default cost"], rel=1e-6)
    assert found.same.difference.observed == pytest.approx(known["difference"], rel=1e-6)
    solved = found.statement("solved")
    assert solved is not None
    assert solved.observed == pytest.approx(known["solved"], rel=1e-6)
    assert found.noise is not None
    assert found.noise.within[0] == pytest.approx(known["within"], rel=1e-6)
    assert found.noise.across[0] == pytest.approx(known["across"], rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_limits(name: str) -> None:
    """A guaranteed limit would be far from where another implementation of the theory has it."""
    found, known = judged(name), REFERENCE["examples"][name]
    width = found.log.runs.width
    difference, wins = found.statement("difference"), found.statement("wins")
    mean, solved = found.statement("mean"), found.statement("solved")
    assert difference is not None
    assert wins is not None
    assert mean is not None
    assert solved is not None
    for limit, expected in zip(
        (difference.lower, difference.upper), known["difference limits"], strict=True
    ):
        assert near(limit, expected, 2 * width)
    assert near(mean.upper, known["mean limit"], width)
    for limit, expected in zip((wins.lower, wins.upper), known["wins limits"], strict=True):
        assert near(limit, expected, 1)
    assert wins.observed == pytest.approx(known["wins"], abs=0.01)
    assert near(solved.lower, known["solved limit"], 1)


@pytest.mark.parametrize("name", NAMES)
def test_selection_error(name: str) -> None:
    """What choosing adds to a training cost would be another number."""
    found, known = judged(name).selection, REFERENCE["examples"][name]
    assert found is not None
    assert found.error is not None
    if (error := known["selection standard error"]) is None:
        assert found.error == pytest.approx(known["selection error"], rel=0.5)
    else:
        slack = 4 * error * sqrt(1 + 1 / SEEDS)
        assert found.error == pytest.approx(known["selection error"], abs=slack)


@pytest.mark.parametrize("name", NAMES)
def test_exact_errors(name: str) -> None:
    """The exact error of S*, S† or S° would be another number."""
    from truecost.paper.exact import mean_squared_error

    log, known = example_log(name), REFERENCE["examples"][name]
    row = log.runs.configurations.index(known["winner"])
    instances = log.runs.shape[1]
    for estimator, expected in known["exact errors"].items():
        errors = mean_squared_error(
            log.runs, estimator, instances=instances // 4, runs=instances // 2
        )
        assert errors.total[..., row] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", list(REFERENCE["logs"]))
def test_logs(name: str) -> None:
    """Reading a recorded log would give another winner, or other costs of it."""
    from truecost.importers import import_runs

    found, known = assess(import_runs(LOGS / name)), REFERENCE["logs"][name]
    assert found.winner == known["winner"]
    row = next(row for row in found.ranking if row.configuration == found.winner)
    assert row.cost == pytest.approx(known["winner cost"], rel=1e-6)
    assert (row.runs, row.instances) == (known["runs"], known["instances"])
