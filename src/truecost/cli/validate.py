"""`truecost validate`: winner and default on new instances, until the question is decided."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.campaigns import execution, read_scenario, terms
from truecost.cli.options import All, Budget, Journal, Json, Quiet, Running, with_records
from truecost.cli.printing import print_result, verdict_text
from truecost.errors import InputError
from truecost.judge.question import Question
from truecost.matrix.reading import Reading


@with_records
def command(
    logs: Annotated[
        list[str], typer.Argument(metavar="LOG…", help="Logs with winners to test, or a journal.")
    ],
    reading: Annotated[Reading, ("test",)],
    running: Running,
    question: Annotated[Question, ("basis", "candidates", "seed")],
    scenario: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="How to run the solver; see `scenario from-log`."),
    ] = None,
    instances: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="New instances, in quotes: 'test/*.cnf'."),
    ] = None,
    budget: Budget = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="Run all instances, to measure the difference.")
    ] = False,
    journal: Journal = None,
    all_: All = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Run the winner and the default on new instances until it is decided which one is better.

    Rerun the same command to resume; more instances or a larger budget continue the same test.
    Exit code 0: every winner is proven better (with --margin: at most that much worse).
    """
    from truecost import api
    from truecost.show.summaries import validation_summary

    if len(logs) > 1 and instances is not None and Path(instances).is_file():
        raise InputError(
            f"The shell has replaced the pattern of --instances by files such as {instances}. Put "
            "it in quotes: --instances 'new/*'."
        )
    read = None if scenario is None else read_scenario(scenario, quiet)
    with execution(running, quiet=quiet, json=json) as how:
        validated = api.validate(
            logs if len(logs) > 1 else logs[0],
            read,
            journal,
            reading=reading,
            instances=instances,
            configuration=question.configuration,
            budget=budget,
            complete=complete,
            **terms(question),
            **how,
        )
    verdicts = [verdict_text(one, everything=all_) for one in validated.assessments]
    text = "\n\n".join([validation_summary(validated), *verdicts])
    print_result(validated.to_dict(), text, json=json)
    return validated.exit_code
