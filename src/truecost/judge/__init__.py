"""Which runs count, what they prove, and the verdict.

`evidence` decides which runs of a log count and on which terms, `statements` makes statements of
them, and `assess` puts everything into an `Assessment`. `pairs` has the costs that figures draw.
"""

from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment, Statement
from truecost.judge.evidence import Evidence
from truecost.judge.question import Question

__all__ = ["Assessment", "Evidence", "Question", "Statement", "assess"]
