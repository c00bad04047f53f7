"""What to type next: at most two commands that run as printed.

A test that has instances left is continued in its journal; otherwise `plan` says how many are
needed.
"""

import shlex
from dataclasses import replace
from math import isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.matrix.log import Log

# What a command is for, beside it.
WHY: Final = {
    "plan": "instances needed",
    "scenario": "prepares validate",
    "validate": "continues the test",
    "configure": "continues the search",
}


def with_comment(command: str) -> str:
    """Return a command with what it is for, as a comment of the shell."""
    why = WHY.get(command.split()[1])
    return command if why is None else f"{command}  # {why}"


def next_steps(assessment: "Assessment") -> tuple[str, ...]:
    """Return at most two commands; none where nothing more is needed."""
    log, question = assessment.log, assessment.question
    decided = assessment.grade in ("better", "worse", "no relevant difference")
    unnamed = not log.path or not log.path.isprintable()
    if decided or unnamed or assessment.default == assessment.winner:
        return ()
    if (continued := _continued(log)) is not None:
        return (continued,)
    runs = [log.path, *log.reading.options_that_differ()]
    if log.test_plan is not None:  # which says so itself
        question = replace(question, configuration=None, sampled=None)
    judged = log.runs if log.test is None else log.test
    # Neither `plan` nor `validate` is about new seeds of one instance.
    if len(judged.instances) == 1:
        return ()
    if assessment.grade != "not testable":
        if not isfinite(judged.width) and question.primary != "wins":
            return ()
        return (f"truecost plan {shlex.join([*runs, *question.options_that_differ()])}",)
    # A journal knows its scenario; other tools' logs become one.
    by_hand = any(caveat.code == "by-hand" for caveat in log.caveats)
    if by_hand or log.plan or log.test_plan or not log.tool.startswith(("irace", "SMAC3")):
        return ()
    folder = f"{PurePath(log.path).name.partition('.')[0]}-scenario"
    return (f"truecost scenario from-log {shlex.join([*runs, '--out', folder])}",)


def _continued(log: "Log") -> str | None:
    """The command that runs what is left of a test; None where nothing is, or no hope."""
    plan = log.test_plan
    if plan is None or not log.scenario or any(one.code == "given-up" for one in log.caveats):
        return None
    tested_names = () if log.test is None else log.test.configurations
    named = (*(plan.candidates or tested_names), log.default)
    sides, done = [name for name in dict.fromkeys(named) if name is not None], 0
    if log.test is not None and set(sides) <= set(tested_names):
        tested = log.test.select(configurations=sides)
        done = int(np.isfinite(tested.costs[:, :, 0]).all(axis=0).sum())
    if done >= len(plan.order):
        return None
    whole = f"{len(plan.order) * len(sides)}runs"
    words = ["truecost", "validate", log.path, "--scenario", log.scenario, "--budget", whole]
    return shlex.join(words)
