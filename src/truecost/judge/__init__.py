"""Which runs count, what they prove, and the verdict."""

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

__all__ = [
    "Assessment",
    "Evidence",
    "Grade",
    "Incumbent",
    "Ladder",
    "Question",
    "Ranked",
    "SameInstances",
    "Selection",
    "Statement",
    "assess",
]
