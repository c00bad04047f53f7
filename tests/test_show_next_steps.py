import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rwriter as r
import show_records as records
from commands import Run

from truecost import api
from truecost.cli import COMMANDS
from truecost.judge.question import Question
from truecost.matrix.log import Plan
from truecost.matrix.reading import Reading
from truecost.show.next_steps import next_steps

NAMES = list(records.samples())


@pytest.mark.parametrize("grade", ["better", "worse", "no relevant difference"])
def test_nothing_is_needed_after_a_decision(grade: str) -> None:
    """A user would be sent to run more although the question is decided."""
    assert next_steps(records.proven(grade)) == ()


@pytest.mark.parametrize("name", NAMES)
def test_at_most_two_commands_of_ours(name: str) -> None:
    """Advice would grow into a list, or name a command that does not exist."""
    steps = next_steps(records.samples()[name])
    assert len(steps) <= 2
    for step in steps:
        words = shlex.split(step)
        assert words[0] == "truecost"
        assert words[1] in COMMANDS
        assert not {"NAME", "FILE", "..."} & set(words)


def test_options_are_repeated() -> None:
    """The next command would read the runs otherwise, or ask another question."""
    question = Question(primary="wins", delta=0.01, basis="fixed before")
    given = records.proven("undecided", question=question)
    reading = Reading(default="a b", cutoff=5.0, test="fresh.csv")
    (step,) = next_steps(
        replace(given, log=replace(given.log, reading=reading, path="my runs.csv"))
    )
    words = shlex.split(step)
    assert words[:3] == ["truecost", "plan", "my runs.csv"]
    for flag, value in (("--default", "a b"), ("--cutoff", "5"), ("--primary", "wins"),
                        ("--delta", "0.01"), ("--test", "fresh.csv"), ("--basis", "fixed before")):  # fmt: skip
        assert words[words.index(flag) + 1] == value


def test_plan_takes_what_is_printed(run: Run) -> None:
    """The printed command would be refused."""
    sample = api.audit("kissat", primary="mean", par=2.0, basis="list", candidates=60, delta=0.01)
    for step in next_steps(sample):
        done = run(*shlex.split(step)[1:])
        assert done.returncode == 0, done


def test_a_range_of_the_test_runs_is_enough_for_a_plan() -> None:
    """Undecided on instances of a known range, a user would not be told how many more it takes."""
    given = records.assessment()
    unknown = given.log.runs.replace(low=-np.inf, high=np.inf, par=None, cutoff=None)
    log = replace(given.log, runs=unknown, test=None, test_plan=None, plan=None)
    assert next_steps(replace(given, log=log)) == ()
    log = replace(log, test=given.log.test or given.log.runs)
    (step,) = next_steps(replace(given, log=log))
    assert shlex.split(step)[1] == "plan"


def test_seeds_of_one_instance_have_no_next_step() -> None:
    """A user would be sent to `plan`, which cannot forecast from a single instance, or to
    `validate`, which needs new instances.
    """
    listed = records.samples()["seeds"]
    tuned = records.judged(listed.log.runs, default="0", incumbent="4", adaptive=True)
    assert (listed.grade, tuned.grade) == ("undecided", "not testable")
    for seeds in (listed, tuned):
        log = replace(seeds.log, path="runs.csv", tool="SMAC3 2.4")
        assert next_steps(replace(seeds, log=log)) == ()


def test_tables_in_memory_have_no_command() -> None:
    """A DataFrame would be audited by a command that names no file."""
    given = records.assessment()
    assert next_steps(replace(given, log=replace(given.log, path=""))) == ()


def test_logs_of_tools_become_scenarios() -> None:
    """A user of irace would not learn how to test the winner; a journal needs no new scenario."""
    sample = records.samples()["tests of the winner only"]
    (step,) = next_steps(sample)
    assert shlex.split(step)[1:4] == ["scenario", "from-log", "a b.Rdata"]
    plan = Plan(order=("new-0",), planned=1)
    for changes in ({"tool": "truecost configure"}, {"test_plan": plan}, {"plan": plan}):
        journal = replace(sample, log=replace(sample.log, **changes))
        assert next_steps(journal) == ()


def test_control_characters_are_not_printed() -> None:
    """A file's name could act on the terminal."""
    assert next_steps(records.samples()["hostile names"]) == ()


@pytest.mark.parametrize("targets", [{}, {"targetRunner": None}, {"aclib": True}])
def test_a_scenario_is_offered_where_one_can_be_written(
    run: Run, tmp_path: Path, targets: dict[str, Any]
) -> None:
    """A user of irace would be sent to a command that refuses the log."""
    (tmp_path / "runner").write_text("#!/bin/sh\n")
    (tmp_path / "parameters.txt").write_text('alpha "--alpha=" r (0, 3)\n')
    scenario = {"targetRunner": "runner", **targets}
    (tmp_path / "log.Rdata").write_bytes(r.irace_log(scenario=scenario))
    steps = json.loads(run("audit", "log.Rdata", "--json", cwd=tmp_path).stdout)["verdict"]["next"]
    assert len(steps) == (not targets)
    for step in steps:
        assert run(*shlex.split(step)[1:], cwd=tmp_path).returncode == 0
