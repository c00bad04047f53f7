"""`truecost plan`: how many instances and runs are needed."""

from typing import Annotated

import typer

from truecost.cli.options import Json, Runs, with_records
from truecost.cli.printing import print_json, print_text
from truecost.judge.question import Question
from truecost.matrix.reading import Reading


@with_records
def command(
    runs: Runs,
    reading: Annotated[Reading, ("test",)],
    question: Annotated[Question, ("default", "basis", "candidates")],
    error: Annotated[
        float | None,
        typer.Option(
            "--error", help="How many runs and instances give this standard error of the mean."
        ),
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", help="The best use of this many runs.", min=1)
    ] = None,
    instances: Annotated[
        int | None, typer.Option("--instances", help="How many instances exist.", min=1)
    ] = None,
    json: Json = False,
) -> None:
    """How many new instances prove the difference; how many runs and instances for an error.

    The forecast uses only runs that did not choose the winner. After SMAC3 or irace it says how
    many instances prove a true difference of 5, 10 or 20 %.
    """
    from truecost import api, planning

    planned = planning.plan(
        api.import_runs(runs, reading), question, error=error, budget=budget, instances=instances
    )
    if json:
        print_json({"schema": 2, **planned.to_dict()})
    else:
        print_text(planned.summary())
