"""`truecost audit`."""

import typer

from truecost.cli.asking import assessed, context
from truecost.cli.command import declared
from truecost.cli.options import Json, Question, Quiet, Unit, asked
from truecost.cli.printing import answer
from truecost.cli.progress import progress
from truecost.cli.reading import Source


@declared
def audit(
    source: Source,
    question: Question,
    unit: Unit = None,
    everything: bool = asked(
        "Print everything: instances, certificate, noise, all commands.", "--all", default=False
    ),
    parameters: bool = asked(
        "Show the parameters of winner and default side by side.", default=False
    ),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Is the winner over-tuned, and does it beat the default?

    Prints the verdict, the guarantees and the next step; --all prints everything.

    Exit code 0: shown to be better. 1: not shown, or no default is known.
    """
    with progress("looking at the runs", quiet=quiet):
        assessment = assessed(source, question)
        from truecost.judge.assessment import AUDITED

        # Parts are computed when first asked for: here, where progress is shown.
        data = assessment.to_dict(*AUDITED, "outlook")
    from truecost.show.document import audited, in_short

    about = context(source, question, unit=unit, log=assessment.log)
    write = audited if everything else in_short
    answer(json, data, lambda: write(assessment, about, parameters=parameters))
    if not assessment.better:
        raise typer.Exit(1)
