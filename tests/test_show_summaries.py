import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import show_records as records

from truecost.campaigns.budget import Budget
from truecost.campaigns.results import Configured, Gathered, Stop, Validated
from truecost.judge.assessment import Assessment
from truecost.matrix.log import Log
from truecost.show import summaries
from truecost.show.numbers import visible
from truecost.space.space import Configuration

WINNER = Configuration(name="4", values={"restarts": 3, "phase": "on"})
DEFAULT = Configuration(name="0", values={"restarts": 5, "phase": "on"})


def configured(assessment: Assessment, **changes: Any) -> Configured:
    """A search that recommends its winner unless changed."""
    fields: dict[str, Any] = {
        "scenario": "mine", "journal": Path("mine.db"), "assessment": assessment,
        "incumbent": WINNER, "recommended": WINNER, "default": DEFAULT, "origin": "model",
        "configurations": 120, "training_cost": 4.0, "standard_error": 0.1,
        "reason": "the budget is spent", "stop": Stop(why="budget", units=30, runs=60), "runs": 5000,
        "test_runs": 60, "cpu": 7300.0, "spent": 5000.0,
        "budget": Budget(amount=5000, unit="runs"),
    }  # fmt: skip
    return Configured(**fields | changes)


@pytest.mark.parametrize("name", list(records.samples()))
def test_logs_of_every_kind_are_summed_up(name: str) -> None:
    """`import` would fail on a log without a default, families, or a range."""
    log = records.samples()[name].log
    lines = summaries.log_summary(log).splitlines()
    assert f"{log.runs.shape[1]:,} instance" in lines[0]
    assert all(line.isprintable() for line in lines)
    for caveat in log.caveats:
        assert any(visible(caveat.sentence)[:30] in line for line in lines)


def test_failed_and_missing_runs_are_counted() -> None:
    """An import that lost runs would look complete."""
    costs = records.times().costs.copy()
    costs[0, :7, 1] = float("nan")
    log = Log(runs=records.times().replace(costs=costs))
    text = summaries.log_summary(log)
    assert f"493, {int(log.runs.failed.sum())} not solved" in text
    assert "7 of 500" in text


def test_the_winner_is_recommended_as_arguments() -> None:
    """A user would not learn what to run after a search."""
    text = summaries.search_summary(configured(records.proven("better")))
    assert shlex.split(text.splitlines()[-1]) == ["--restarts=3", "--phase=on"]
    assert "Use the winner" in text
    assert "luck" not in text
    text = summaries.search_summary(configured(records.proven("better")), ["-phase", "o n"])
    assert shlex.split(text.splitlines()[-1]) == ["-phase", "o n"]


@pytest.mark.parametrize("grade", ["undecided", "probably better", "worse"])
def test_an_unproven_winner_is_not_praised(grade: str) -> None:
    """A search would advise to use a winner as if it were proven better."""
    proven = records.proven(grade)
    text = summaries.search_summary(configured(proven))
    assert "luck" in text
    kept = summaries.search_summary(configured(proven, recommended=DEFAULT))
    assert "Keep the default" in kept
    assert "--restarts=5" in kept
    assert "noise" in kept
    nothing = configured(proven, recommended=DEFAULT, incumbent=DEFAULT)
    assert "noise" not in summaries.search_summary(nothing)
    untested = summaries.search_summary(configured(replace(proven, same=None), stop=None))
    assert "new instances" not in untested


@pytest.mark.parametrize("why", ["decided", "forecast", "budget", "instances"])
def test_every_end_of_a_test_has_a_sentence(why: str) -> None:
    """A validation would end in a traceback after all its runs."""
    validated = Validated(
        scenario="mine", journal=Path("v.db"), stop=Stop(why=why, units=31, runs=62), runs=93, cpu=12.0,
        assessments=(records.proven("better"), records.proven("undecided")), spent=93.0,
        budget=Budget(amount=200, unit="runs"), instances=50, left_out=1,
    )  # fmt: skip
    text = summaries.validation_summary(validated)
    assert "31 instances" in text
    assert "1 of 2" in text
    assert "1 instance left out" in text


def test_an_unfinished_campaign_says_so() -> None:
    """A campaign that was stopped would look finished."""
    fields = {"scenario": "mine", "journal": Path("g.db"), "cpu": 3.0}
    gathered = Gathered(**fields, runs=40, planned=100, configurations=10, instances=5)  # type: ignore[arg-type]
    assert "40 of 100 runs" in summaries.campaign_summary(gathered)


def test_the_demo_fits_a_screen() -> None:
    """The first thing a new user sees would scroll away."""
    samples = {}
    for solver, name in (("kissat", "probably better"), ("lkh", "mixed"), ("clasp", "better")):
        sample = records.samples()[name]
        assert sample.same is not None
        samples[solver] = replace(sample, same=replace(sample.same, tied=0))
    text = summaries.demo_text(samples)
    assert len(text.splitlines()) < 20
    assert max(map(len, text.splitlines())) <= 80
    for solver in ("kissat", "lkh", "clasp"):
        assert solver in text
