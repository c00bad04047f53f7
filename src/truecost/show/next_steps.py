"""What to type next: at most two commands that run as printed.

Campaigns know their scenario and print the command that continues them; what stands here is for
logs that were read.
"""

import shlex
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment


def next_steps(assessment: "Assessment") -> tuple[str, ...]:
    """Return at most two commands; none where nothing more is needed."""
    log, question = assessment.log, assessment.question
    decided = assessment.grade in ("better", "worse", "no relevant difference")
    if (
        decided
        or not log.path.isprintable()
        or not log.path
        or assessment.default in (None, assessment.winner)
    ):
        return ()
    runs = [log.path, *replace(log.reading, test=None).options_that_differ()]
    asked = replace(question, basis=None, candidates=None).options_that_differ()
    plan = f"truecost plan {shlex.join([*runs, *asked])}"
    if assessment.grade != "not testable":
        return (plan,)
    # A journal knows its scenario; other tools' logs become one.
    if log.plan or log.test_plan or not log.tool.startswith(("irace", "SMAC3")):
        return ()
    folder = f"{PurePath(log.path).name.partition('.')[0]}-scenario"
    read = [log.path, *log.reading.options_that_differ(), "--out", folder]
    return (f"truecost scenario from-log {shlex.join(read)}",)
