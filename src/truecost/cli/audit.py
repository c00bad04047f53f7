"""`truecost audit`: the verdict in the terminal."""

from typing import Any

import typer

from truecost.cli.options import All, Json, Runs, with_records
from truecost.cli.printing import print_json
from truecost.judge.question import Question
from truecost.matrix.reading import Reading


@with_records
def command(
    runs: Runs, reading: Reading, question: Question, all_: All = False, json: Json = False
) -> Any:
    """Is the winner better than the default on new instances, by how much, and how sure is that?

    Exit code 0: proven better; with --margin, proven at most that much worse. 1: not proven.
    """
    from truecost import api
    from truecost.cli.terminal import print_assessment

    assessment = api.assess(api.import_runs(runs, reading), question)
    if json:
        print_json(assessment.to_dict())
    else:
        print_assessment(assessment, everything=all_)
    raise typer.Exit(assessment.exit_code)
