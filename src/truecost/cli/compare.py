"""`truecost compare`: is a new version of a solver worse than the old one?"""

from typing import Annotated

import typer

from truecost.cli.options import All, Json, with_records
from truecost.cli.printing import print_json, print_text
from truecost.matrix.reading import Reading


@with_records
def command(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Runs of the old version.")],
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW",
            help="Runs of the new version. FILE:NAME picks one configuration of a file.",
        ),
    ],
    reading: Annotated[Reading, ("default", "test")],
    margin: Annotated[
        str | None,
        typer.Option("--margin", help="Exit code 0 only if NEW is at most this much worse: 5%."),
    ] = None,
    common: Annotated[
        bool, typer.Option("--common", help="Compare the instances that both have.")
    ] = False,
    delta: Annotated[
        float, typer.Option("--delta", help="Error probability; 0.05 is 95 % confidence.")
    ] = 0.05,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")
    ] = False,
    all_: All = False,
    json: Json = False,
) -> None:
    """Compare two versions of a solver that were run on the same instances.

    Exit code 1: NEW is worse or probably worse on average, or proven to lose more runs than it
    wins. With --margin 5%, exit code 0 only if NEW is proven at most 5 % worse.
    """
    from truecost import api
    from truecost.cli.terminal import print_assessment
    from truecost.show.verdict import markdown_block

    comparison = api.compare(old, new, reading=reading, margin=margin, common=common, delta=delta)
    names = ("NEW", "OLD")
    if json:
        print_json(comparison.to_dict())
    elif markdown:
        print_text(markdown_block(comparison.assessment, names))
    else:
        print_assessment(comparison.assessment, names, everything=all_, steps=())
        if comparison.reason:
            print_text(comparison.reason)
    raise typer.Exit(comparison.exit_code)
