"""What to type next: at most two commands that run as printed."""

import shlex
from typing import TYPE_CHECKING

from truecost.errors import Refusal

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment


def next_steps(assessment: "Assessment") -> tuple[str, ...]:
    """Return at most two commands; none where nothing more is needed."""
    log = assessment.log
    decided = assessment.grade in ("better", "worse", "no relevant difference")
    if decided or not log.path or assessment.default in (None, assessment.winner):
        return ()
    runs = shlex.join([log.path, *log.reading.options_that_differ()])
    if isinstance(assessment.evidence, Refusal):
        return ()
    return (f"truecost plan {runs}",)
