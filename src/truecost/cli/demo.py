"""`truecost demo`: three tuned solvers, and what can be said about them on new instances."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.options import Json
from truecost.cli.printing import print_json, print_text

# Recorded by `python -m bench.demo`, whose docstring says how they were chosen.
SOLVERS = ("kissat", "lkh", "clasp")


def command(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write a page about each solver here.")
    ] = None,
    json: Json = False,
) -> None:
    """Judge three solvers that truecost tuned: real runs of the winner and the default."""
    from truecost import api
    from truecost.cli.terminal import width
    from truecost.show.summaries import demo_text

    assessments = {solver: api.audit(f"{solver}-tuned") for solver in SOLVERS}
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for solver, assessment in assessments.items():
            api.report(assessment, out / f"{solver}.html", title=f"{solver}, tuned")
    if json:
        print_json({name: assessment.to_dict() for name, assessment in assessments.items()})
        return
    print_text(demo_text(assessments, width=width()))
    if out is not None:
        print_text(f"Pages: {', '.join(str(out / f'{solver}.html') for solver in SOLVERS)}")
