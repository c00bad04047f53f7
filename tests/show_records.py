"""Assessments made by hand, for tests of what is shown."""

from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from truecost.judge.assessment import (
    Assessment,
    Incumbent,
    Ladder,
    Ranked,
    SameInstances,
    Selection,
    Statement,
)
from truecost.judge.evidence import Evidence
from truecost.judge.question import Question
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log
from truecost.runs import Caveat, Status

CUTOFF, PAR = 5.0, 10.0


def times(configurations: int = 5, instances: int = 50, runs: int = 2, seed: int = 0) -> CostMatrix:
    """Running times with timeouts; configuration 0 is the default."""
    rng = np.random.default_rng(seed)
    hard = rng.lognormal(0, 1, instances)[None, :, None]
    speed = np.linspace(1.0, 0.7, configurations)[:, None, None]
    seconds = hard * speed * rng.lognormal(0, 0.3, (configurations, instances, runs))
    failed = seconds > CUTOFF
    return CostMatrix(
        np.where(failed, PAR * CUTOFF, seconds),
        [str(place) for place in range(configurations)],
        [f"folder/instance-{place:03}.cnf" for place in range(instances)],
        cutoff=CUTOFF,
        par=PAR,
        statuses=np.where(failed, Status.TIMEOUT, Status.SOLVED),
    )


def statement(quantity: str = "difference", **changes: Any) -> Statement:
    """A statement on the difference, undecided unless changed."""
    fields: dict[str, Any] = {
        "quantity": quantity, "configuration": "4", "default": "0", "observed": -0.7,
        "lower": -1.234, "upper": 0.2512, "approximate": (-1.1, -0.3), "delta": 0.05,
        "no_difference": 0.0, "units": 50, "penalty": 10.0,
    }  # fmt: skip
    return Statement(**fields | changes)


def wins(lower: float = 0.6177, upper: float = 1.0) -> Statement:
    """A statement on the runs won."""
    return statement(
        "wins", observed=0.72, lower=lower, upper=upper, approximate=None, no_difference=0.5,
        smaller_is_better=False, penalty=None,
    )  # fmt: skip


def assessment(**changes: Any) -> Assessment:
    """Winner 4 against default 0 on 50 instances, undecided unless changed.

    `difference` and `wins` replace these statements everywhere; the other names are fields.
    """
    runs = changes.pop("runs", None) or times()
    difference, won = changes.pop("difference", statement()), changes.pop("wins", wins())
    log = changes.pop("log", None) or Log(
        runs=runs, path="runs.csv", default="0", incumbent="4", adaptive=False,
        cost_unit="PAR10 s",
        parameters={"4": {"restarts": 3, "phase": "on"}, "0": {"restarts": 5, "phase": "on"}},
    )  # fmt: skip
    same = SameInstances(
        winner="4", default="0", units=50, unit="instance", instances=50, source="test",
        winner_cost=4.52, default_cost=5.22, difference=difference, won=36, tied=2, lost=12,
        wins=won, solved_both=40, solved_only_winner=4, solved_only_default=1, solved_neither=5,
        time_ratio=1.21,
    )  # fmt: skip
    fields: dict[str, Any] = {
        "log": log,
        "question": Question(),
        "evidence": Evidence(
            runs=runs, source="test", basis="test", candidates=1, rivals=1, sampled="instance",
            units=50, planned=50, watched=False, share=1.0,
        ),
        "winner": "4", "default": "0", "grade": "undecided", "green": False, "same": same,
        "statements": (difference, won),
        "ladder": Ladder(tried=(2.0, 1.0), statements=(), better=None, worse=None, declared=10.0,
                         mixed=False),
        "selection": Selection(
            error=0.31, held_out=4.8, splits=1000,
            incumbents=tuple(
                Incumbent(runs=40 * place, configuration=str(place), training=5.0 - 0.2 * place,
                          test=5.2 - 0.1 * place if place != 2 else nan)
                for place in range(5)
            ),
        ),
        "best_set": ("4", "3"),
        "ranking": tuple(
            Ranked(configuration=str(place), cost=5.0 - 0.1 * place, runs=100, instances=50,
                   test_cost=nan, maybe_best=place > 2)
            for place in range(4, -1, -1)
        ),
        "noise": None,
        "caveats": (Caveat("stopped", "The search was stopped before its budget was spent."),),
    }  # fmt: skip
    return Assessment(**fields | changes)


def without_default(**changes: Any) -> Assessment:
    """An assessment of a log that names no default."""
    mean = statement("mean", default=None, no_difference=None, observed=4.5, lower=3.2, upper=6.1)
    given = assessment()
    log = replace(given.log, default=None)
    fields = {"default": None, "same": None, "ladder": None, "statements": (mean,), "log": log}
    return assessment(**fields | {"grade": "not testable"} | changes)
