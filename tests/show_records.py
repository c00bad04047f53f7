"""Assessments made by hand, for tests of what is shown."""

from dataclasses import replace
from functools import cache
from math import inf, nan
from typing import Any, get_args

import numpy as np

from truecost.errors import Refusal
from truecost.judge.assess import assess
from truecost.judge.assessment import (
    Assessment,
    Grade,
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
from truecost.matrix.log import Log, Step
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
        smaller_is_better=False, penalty=None, proven=int(lower > 0.5) - int(upper < 0.5),
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


def judged(costs: CostMatrix, question: Question | None = None, **fields: Any) -> Assessment:
    """What `assess` makes of a log."""
    return assess(Log(runs=costs, **fields), question)


def qualities(configurations: int = 4, instances: int = 30, runs: int = 1) -> CostMatrix:
    """Costs that are no running times, without a known range; configuration 3 is the best."""
    rng = np.random.default_rng(1)
    level = rng.normal(10, 2, (1, instances, 1)) - np.arange(configurations)[:, None, None]
    return CostMatrix(
        level + rng.normal(0, 0.3, (configurations, instances, runs)),
        ["0", "1", "2", "3"][:configurations],
        [f"tsp-{place}" for place in range(instances)],
    )


HOSTILE = "<b>\x1b[31m$x_1$ & “1%” \\end{a}</b>"


def renamed() -> CostMatrix:
    """Running times under names that mean something to HTML, LaTeX, terminals or matplotlib."""
    runs = times()
    return runs.replace(
        configurations=[f"{HOSTILE}{name}" for name in runs.configurations],
        instances=[f"{HOSTILE}/{name}<b>&" for name in runs.instances],
    )


def proven(grade: str, **changes: Any) -> Assessment:
    """An assessment with this grade, and a difference that deserves it."""
    amounts: dict[str, dict[str, Any]] = {
        "better": {"lower": -1.234, "upper": -0.3456, "proven": -1},
        "probably better": {"probably": True, "approximate": (-1.1, -0.3)},
        "undecided": {"approximate": None, "no_approximate": "No approximate interval: 9 units."},
        "probably worse": {"probably": True, "approximate": (0.3, 1.1), "observed": 0.7},
        "worse": {"lower": 0.3456, "upper": 1.234, "proven": 1, "observed": 0.7},
        "no relevant difference": {},
    }
    options = {"grade": grade, "green": grade == "better"}
    if grade == "no relevant difference":
        options["question"] = Question(margin="5%")
    return assessment(difference=statement(**amounts[grade]), **options | changes)


def laddered(side: str, low: float, high: float, **changes: Any) -> Assessment:
    """Undecided at the declared penalty, proven from `low` to `high`."""
    ends = {"better": None, "worse": None} | {side: (low, high)}
    mixed = changes.pop("mixed", False)
    ladder = Ladder(tried=(2.0,), statements=(statement(penalty=2.0),), declared=10.0, mixed=mixed,
                    **ends)  # fmt: skip
    return assessment(ladder=ladder, **changes)


def refused(**changes: Any) -> Assessment:
    """Tuned on the only instances there are."""
    reason = "SMAC3 tuned on these instances, so their runs cannot be used to test its winner."
    given = assessment()
    assert given.same is not None
    unknown = statement(lower=-inf, upper=inf, approximate=None)
    same = replace(given.same, source="training", difference=unknown, wins=None)
    fields = {"grade": "not testable", "statements": (), "same": same, "ladder": None}
    evidence = Refusal(reason=reason, way_out="Run both on new instances.")
    return assessment(**fields | {"evidence": evidence} | changes)


@cache
def samples() -> dict[str, Assessment]:
    """One assessment of every kind that is shown differently."""
    one = times(1).replace(configurations=["0"])
    families = [f"family-{int(place**0.5)}" for place in range(50)]
    scores = qualities().replace(low=0.0, high=20.0)
    seeds = times(instances=1, runs=40)
    grades = get_args(Grade)
    return {
        **{grade: proven(grade) for grade in grades if grade != "not testable"},
        **{f"{grade} by wins": proven(grade, question=Question(primary="wins"))
           for grade in ("better", "undecided", "worse")},
        "condition": proven("better", green=False, caveats=(
            Caveat("tuned", "The guarantees hold only if nothing was tuned on these instances."),
        ) * 3),
        "no limits": assessment(difference=statement(lower=-inf, upper=inf, approximate=None)),
        "margin": proven("undecided", question=Question(margin="5%")),
        "better up to": laddered("better", 1.0, 3.0),
        "worse between": laddered("worse", 1.5, 3.0),
        "better only": laddered("better", 2.0, 2.0),
        "mixed": laddered("better", 1.0, 1.5, mixed=True, grade="probably worse"),
        "mixed, slower": laddered("worse", 2.0, 2.0, mixed=True),
        "refused": refused(),
        "no default": without_default(),
        "one configuration": judged(one, path="runs.csv"),
        "winner is default": judged(times(), default="4", path="runs.csv"),
        "quality": judged(qualities(), default="0", path="tours.csv"),
        "scores": judged(scores, default="0", maximised=True, cost_unit="20 − accuracy"),
        "families": judged(times().replace(families=families), Question(sampled="family"),
                           default="0"),
        "seeds": judged(seeds, default="0"),
        "tests of the winner only": judged(
            times(), default="0", incumbent="4", adaptive=True, tool="irace 4.4", path="a b.Rdata",
            test=times(seed=3).select(["4"]).replace(instances=[f"new-{k}" for k in range(50)]),
        ),
        "tests": judged(
            times(), default="0", incumbent="4", adaptive=True, tool="SMAC3 2.4", path="smac",
            steps=tuple(Step(20 * k, str(k)) for k in range(5)),
            test=times(seed=3).replace(instances=[f"new-{k}" for k in range(50)]),
        ),
        "hostile names": judged(renamed(), default=f"{HOSTILE}0", path=f"{HOSTILE}.csv",
                                cost_unit=HOSTILE, caveats=(Caveat("file", HOSTILE),)),
    }  # fmt: skip
