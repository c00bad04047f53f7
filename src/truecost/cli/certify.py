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

    How it was chosen decides what may be said. before: it was fixed before any of these costs was
    seen. from-list: it is the best of a list fixed beforehand, as random search and gather have it;
    all of the list share the error probability. weighted-list: the same, with shares that a random
    fifth of the instances decides. on-part: a random fifth of the instances chooses,
    the others certify. progressive: a proposal of a search is certified on instances unused before
    it.

    What a configurator such as SMAC3 or irace chose is certified on test runs only: it tuned on the
    other instances, and no multiple-testing correction makes up for that.

    Exit code 0: certified. 1: not, or only under a condition that nobody has confirmed.
    """
    assessment = assessed(source, question)
    from truecost.show.document import certificate_section

    answer(
        json,
        lambda: assessment.to_dict("certificate"),
        lambda: certificate_section(assessment, context(source, question), alone=True),
        details=True,
    )
    if assessment.certificate is None or assessment.certificate.condition is not None:
        raise typer.Exit(1)
