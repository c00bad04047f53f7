"""`truecost demo`: three tuned solvers, and what can be said about them on new instances."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.options import Json
from truecost.cli.printing import print_result, width

# Recorded by `python -m bench.demo`, whose docstring says how they were chosen.
SOLVERS = ("kissat", "lkh", "clasp")


def command(
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Also write a page about each solver."),
    ] = None,
    json: Json = False,
) -> None:
    """Judge three solvers that truecost tuned: real runs of the winner and the default."""
    from truecost import api
    from truecost.show.summaries import demo_text

    assessments = {solver: api.audit(f"{solver}-tuned") for solver in SOLVERS}
    text = demo_text(assessments, width=width())
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        pages = {solver: out / f"{solver}.html" for solver in SOLVERS}
        for solver, page in pages.items():
            api.report(assessments[solver], page, title=f"{solver}, tuned")
        text += f"\nPages: {', '.join(map(str, pages.values()))}"
    print_result({name: one.to_dict() for name, one in assessments.items()}, text, json=json)
