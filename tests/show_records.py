"""Assessments made by hand, for tests of what is shown."""

from dataclasses import replace
from functools import cache
from math import inf
from typing import Any

import numpy as np

from truecost.errors import Refusal
from truecost.judge import Assessment, Evidence, Question, Statement, assess
from truecost.judge.assessment import Ladder
from truecost.matrix import CostMatrix, Log, Step
from truecost.runs import Caveat
from truecost.stats.selection import Selection

CUTOFF, PAR = 5.0, 10.0


@cache
def times(configurations: int = 5, instances: int = 50, runs: int = 2, seed: int = 0) -> CostMatrix:
    """Running times with timeouts; configuration 0 is the default."""
    rng = np.random.default_rng(seed)
    hard = rng.lognormal(0, 1, instances)[None, :, None]
    speed = np.linspace(1.0, 0.7, configurations)[:, None, None]
    seconds = hard * speed * rng.lognormal(0, 0.3, (configurations, instances, runs))
    names = [f"folder/instance-{place:03}.cnf" for place in range(instances)]
    configured = [str(place) for place in range(configurations)]
    return CostMatrix(np.minimum(seconds, CUTOFF), configured, names, cutoff=CUTOFF, par=PAR)


def qualities(configurations: int = 4, instances: int = 30) -> CostMatrix:
    """Costs that are no running times, without a known range; configuration 3 is the best."""
    rng = np.random.default_rng(1)
    level = rng.normal(10, 2, instances) - np.arange(configurations)[:, None]
    costs = level + rng.normal(0, 0.3, level.shape)
    names = [f"tsp-{place}" for place in range(instances)]
    return CostMatrix(costs, [str(place) for place in range(configurations)], names)


def judged(costs: CostMatrix, question: Question | None = None, **fields: Any) -> Assessment:
    """What `assess` makes of a log."""
    return assess(Log(runs=costs, **fields), question)


def statement(quantity: str = "difference", **changes: Any) -> Statement:
    """A statement on the difference, undecided unless changed."""
    fields: dict[str, Any] = {
        "quantity": quantity, "configuration": "4", "default": "0", "observed": -0.7,
        "lower": -1.234, "upper": 0.2512, "approximate": (-1.1, 0.1), "delta": 0.05,
        "no_difference": 0.0, "penalty": 10.0,
    }  # fmt: skip
    return Statement(**fields | changes)


def wins(lower: float = 0.6177, upper: float = 1.0) -> Statement:
    """A statement on the runs won."""
    return statement(
        "wins", observed=0.72, lower=lower, upper=upper, approximate=None, no_difference=0.5,
        penalty=None, proven=int(lower > 0.5) - int(upper < 0.5),
    )  # fmt: skip


@cache
def _listed() -> Assessment:
    """Winner 4 of a list against default 0 on 50 instances."""
    parameters = {"4": {"restarts": 3, "phase": "on"}, "0": {"restarts": 5, "phase": "on"}}
    return judged(
        times(), path="runs.csv", default="0", incumbent="4", adaptive=False, cost_unit="PAR10 s",
        steps=tuple(Step(40 * place, str(place)) for place in range(5)), parameters=parameters,
    )  # fmt: skip


def assessment(**changes: Any) -> Assessment:
    """Winner 4 against default 0 on 50 test instances, undecided unless changed.

    `difference` replaces this statement; the other names are fields.
    """
    given = _listed()
    assert given.same is not None
    assert isinstance(given.evidence, Evidence)
    fields: dict[str, Any] = {
        "evidence": replace(given.evidence, basis="test", candidates=1, rivals=1),
        "same": replace(
            given.same, source="test", winner_cost=4.52, default_cost=5.22, difference=-0.7,
            change=-0.7 / 5.22, won=36, tied=2, lost=12, winner_solved=44, default_solved=41,
        ),
        "statements": (changes.pop("difference", statement()), wins()),
        "ladder": Ladder(statements=(), better=None, worse=None, mixed=False),
        "selection": Selection(error=0.31, held_out=4.8, splits=1000),
        "caveats": (Caveat("stopped", "The search was stopped before its budget was spent."),),
    }  # fmt: skip
    return replace(given, **fields | changes)


def proven(grade: str, **changes: Any) -> Assessment:
    """An assessment with this grade, and a difference that deserves it."""
    amounts: dict[str, dict[str, Any]] = {
        "better": {"lower": -1.234, "upper": -0.3456, "proven": -1},
        "probably better": {"approximate": (-1.1, -0.3)},
        "undecided": {"approximate": None, "no_approximate": "No approximate interval: 9 units."},
        "probably worse": {"approximate": (0.3, 1.1), "observed": 0.7},
        "worse": {"lower": 0.3456, "upper": 1.234, "proven": 1, "observed": 0.7},
        "no relevant difference": {},
    }
    options: dict[str, Any] = {"difference": statement(**amounts[grade])}
    if grade == "no relevant difference":
        kept = statement("margin", proven=1)
        options["question"] = Question(margin="5%")
        options["statements"] = (
            options["difference"], wins(), kept, replace(kept, configuration="0", default="4"),
        )  # fmt: skip
    return assessment(**options | changes)


def by_wins(grade: str) -> Assessment:
    """An assessment with this grade of the runs won, which decide."""
    limits = {"better": (0.6177, 1.0), "undecided": (0.4, 0.7), "worse": (0.2, 0.4)}
    statements = (wins(*limits[grade]), statement())
    return assessment(statements=statements, question=Question(primary="wins"))


def conditional(grade: str) -> Assessment:
    """A proven grade with an assumption that nobody confirmed."""
    given = proven(grade)
    assert isinstance(given.evidence, Evidence)
    evidence = replace(given.evidence, condition="Valid only if nothing was tuned here.")
    return replace(given, evidence=evidence)


def laddered(side: str, low: float, high: float, *, mixed: bool = False) -> Assessment:
    """Undecided at the declared penalty, proven from `low` to `high`."""
    ends: dict[str, Any] = {"better": None, "worse": None} | {side: (low, high)}
    return assessment(ladder=Ladder(statements=(statement(penalty=2.0),), mixed=mixed, **ends))


def refused() -> Assessment:
    """Tuned on the only instances there are."""
    reason = "SMAC3 tuned on these instances, so their runs cannot be used to test its winner."
    evidence = Refusal(reason=reason, way_out="Run both on new instances.")
    same = replace(assessment().same, source="training")  # type: ignore[type-var]
    return assessment(statements=(), same=same, ladder=None, evidence=evidence)


def without_default() -> Assessment:
    """An assessment of a log that names no default."""
    mean = statement("mean", default=None, no_difference=None, observed=4.5, lower=3.2, upper=6.1)
    log = replace(assessment().log, default=None)
    return assessment(default=None, same=None, ladder=None, statements=(mean,), log=log)


HOSTILE = "<b>\x1b[31m$x_1$ & “1%” \\end{a}</b>"


def renamed() -> CostMatrix:
    """Running times under names that mean something to HTML, LaTeX, terminals or matplotlib."""
    runs = times()
    return runs.replace(
        configurations=[f"{HOSTILE}{name}" for name in runs.configurations],
        instances=[f"{HOSTILE}/{name}<b>&" for name in runs.instances],
    )


@cache
def samples() -> dict[str, Assessment]:
    """One assessment of every kind that is shown differently."""
    grades = ("better", "probably better", "undecided", "probably worse", "worse")
    families = [f"family-{int(place**0.5)}" for place in range(50)]
    test = times(seed=3).replace(instances=[f"new-{place}" for place in range(50)])
    tuned: dict[str, Any] = {"default": "0", "incumbent": "4", "adaptive": True}
    return {
        **{grade: proven(grade) for grade in (*grades, "no relevant difference")},
        **{f"{grade} by wins": by_wins(grade) for grade in grades[::2]},
        "condition": conditional("better"),
        "no limits": assessment(difference=statement(lower=-inf, upper=inf, approximate=None)),
        "margin": proven("undecided", question=Question(margin="5%")),
        "better up to": laddered("better", 1.0, 3.0),
        "worse between": laddered("worse", 1.5, 3.0),
        "better only": laddered("better", 2.0, 2.0),
        "mixed": laddered("better", 1.0, 1.5, mixed=True),
        "mixed, slower": laddered("worse", 2.0, 2.0, mixed=True),
        "refused": refused(),
        "no default": without_default(),
        "one configuration": judged(times(1), path="runs.csv"),
        "winner is default": judged(times(), default="4", path="runs.csv"),
        "quality": judged(qualities(), default="0", path="tours.csv"),
        "scores": judged(qualities().replace(low=0.0, high=20.0), default="0", maximised=True,
                         cost_unit="20 − accuracy"),
        "families": judged(times().replace(families=families), Question(sampled="family"),
                           default="0"),
        "seeds": judged(times(instances=1, runs=40), default="0"),
        "tests of the winner only": judged(times(), tool="irace 4.4", path="a b.Rdata",
                                           test=test.select(["4"]), **tuned),
        "tests": judged(times(), tool="SMAC3 2.4", path="smac", test=test, **tuned,
                        steps=tuple(Step(20 * place, str(place)) for place in range(5))),
        "hostile names": judged(renamed(), default=f"{HOSTILE}0", path=f"{HOSTILE}.csv",
                                cost_unit=HOSTILE, caveats=(Caveat("file", HOSTILE),)),
    }  # fmt: skip
