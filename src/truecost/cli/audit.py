"""`truecost audit`: the verdict in the terminal."""

from truecost.cli.options import All, Json, Runs, with_records
from truecost.cli.printing import print_result, verdict_text
from truecost.judge.question import Question
from truecost.matrix.reading import Reading


@with_records
def command(
    runs: Runs, reading: Reading, question: Question, all_: All = False, json: Json = False
) -> int:
    """Is the winner better than the default on new instances, by how much, and how sure is that?

    Exit code 0: proven better; with --margin, proven at most that much worse. 1: not proven.
    """
    from truecost import api

    assessment = api.audit(runs, reading=reading, question=question)
    print_result(assessment.to_dict(), verdict_text(assessment, everything=all_), json=json)
    return assessment.exit_code
