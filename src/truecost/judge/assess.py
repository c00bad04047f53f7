"""From a log to the verdict."""

from truecost.judge.assessment import Assessment
from truecost.judge.question import Question
from truecost.matrix import Log


def assess(log: Log, question: Question | None = None) -> Assessment:
    """Judge the winner of a log on instances nobody has seen.

    Parameters
    ----------
    log
        The runs.
    question
        What is asked; the defaults of `Question` where None.
    """
    raise NotImplementedError
