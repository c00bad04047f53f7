"""`truecost plan`: how many instances and runs are needed."""

from typing import Annotated

import typer

from truecost.cli.options import Json, Runs, with_records
from truecost.cli.printing import print_result
from truecost.judge.question import Question
from truecost.matrix.reading import Reading


@with_records
def command(
    runs: Runs,
    reading: Reading,
    question: Question,
    error: Annotated[
        float | None, typer.Option(metavar="X", help="Runs and instances for this standard error.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(metavar="RUNS", help="Instances for the best use of this many runs."),
    ] = None,
    instances: Annotated[
        int | None, typer.Option(metavar="N", help="How many instances exist.")
    ] = None,
    json: Json = False,
) -> None:
    """Say how many new instances would prove the difference.

    With --error or --budget also how many runs and instances an estimate of the mean cost takes.

    The forecast uses only runs that did not choose the winner. After SMAC3 or irace it says how
    many instances prove a true difference of 5, 10 or 20 %.
    """
    from truecost import api

    plan = api.plan(
        runs, error=error, budget=budget, instances=instances, reading=reading, question=question
    )
    print_result(plan.to_dict(), plan.summary(), json=json)
