"""`truecost certify`."""

import typer

from truecost.cli.asking import assessed, context
from truecost.cli.command import declared
from truecost.cli.options import Json, Question
from truecost.cli.printing import answer
from truecost.cli.reading import Source


@declared
def certify(source: Source, question: Question, json: Json = False) -> None:
    """Certify a configuration: "with 95 % confidence its mean cost is at most x", with the
    assumptions.

    The guarantee depends on --chosen. before: the configuration was fixed before any of these costs
    was seen. from-list: it is the best of a list fixed beforehand, as in random search and gather,
    with a multiple-testing correction. weighted-list: the same, with a weighted correction that a
    random fifth of the instances decides. on-part: a random fifth of the instances chooses, the
    others certify. progressive: a proposal of a search, on instances unused before it.

    The winner of SMAC3 or irace needs test runs: it was tuned on the other instances, and no
    multiple-testing correction helps there.

    Exit code 0: certified. 1: not certified, or only under a condition that --chosen confirms.
    """
    assessment = assessed(source, question)
    from truecost.show.document import Case, certificate_section

    case = Case(assessment, context(source, question, log=assessment.log))
    answer(
        json,
        lambda: assessment.to_dict("certificate"),
        lambda: certificate_section(case, alone=True),
        details=True,
    )
    if assessment.certificate is None or assessment.certificate.condition is not None:
        raise typer.Exit(1)
