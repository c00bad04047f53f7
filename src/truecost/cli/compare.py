"""`truecost compare`: is a new version of a solver worse than the old one?"""

from typing import Annotated

import typer

from truecost.cli.options import All, Json, with_records
from truecost.cli.printing import print_result, verdict_text
from truecost.judge.question import Question
from truecost.matrix.reading import Reading


@with_records
def command(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Runs of the old version.")],
    new: Annotated[
        str,
        typer.Argument(metavar="NEW", help="Runs of the new one. FILE:NAME picks a configuration."),
    ],
    reading: Annotated[Reading, ("default", "test")],
    question: Annotated[Question, ("configuration", "basis", "candidates", "primary", "seed")],
    common: Annotated[
        bool, typer.Option("--common", help="Compare the instances that both have.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")
    ] = False,
    all_: All = False,
    json: Json = False,
) -> int:
    """Compare two versions of a solver that were run on the same instances.

    Exit code 1: NEW is worse or probably worse on average, or proven to lose more runs than it
    wins. With --margin 5%, exit code 0 only if NEW is proven at most 5 % worse.
    """
    from truecost import api
    from truecost.show.verdict import markdown_block

    comparison = api.compare(
        old,
        new,
        margin=question.margin,
        common=common,
        sampled=question.sampled,
        delta=question.delta,
        reading=reading,
    )
    assessment, names = comparison.assessment, ("NEW", "OLD")
    if markdown:
        text = markdown_block(assessment, names)
    else:
        text = verdict_text(assessment, names, everything=all_, steps=())
        text += f"\n{comparison.reason}"
    print_result(comparison.to_dict(), text, json=json)
    return comparison.exit_code
