"""`truecost validate`: winner and default on new instances, until the question is decided."""

from pathlib import Path
from typing import Annotated, Any

import typer

from truecost.cli.campaigns import execution, read_scenario
from truecost.cli.options import (
    All,
    Budget,
    Journal,
    Json,
    Quiet,
    Running,
    with_records,
)
from truecost.cli.printing import print_json, print_text
from truecost.errors import InputError
from truecost.judge.question import Question
from truecost.matrix.reading import Reading


@with_records
def command(
    logs: Annotated[
        list[str],
        typer.Argument(metavar="LOG…", help="Logs whose winners are tested, or a journal."),
    ],
    reading: Annotated[Reading, ("test",)],
    running: Running,
    question: Annotated[Question, ("default", "basis", "candidates", "seed")],
    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", help="How the solver is run; `scenario from-log` writes one."),
    ] = None,
    instances: Annotated[
        str | None,
        typer.Option("--instances", help="New instances, 'test/*.cnf'; the scenario's otherwise."),
    ] = None,
    budget: Budget = None,
    complete: Annotated[
        bool,
        typer.Option(
            "--complete", help="Run all instances, to measure the size of the difference."
        ),
    ] = False,
    journal: Journal = None,
    all_: All = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run the winner and the default on new instances until it is decided which one is better.

    Rerun the same command to resume; more instances or a larger budget continue the same test.
    Exit code 0: every winner is proven better (with --margin: at most that much worse).
    """
    from truecost import api
    from truecost.campaigns.validate import validate
    from truecost.cli.terminal import print_assessment
    from truecost.journal.store import is_journal
    from truecost.show.summaries import validation_summary

    read = None if scenario is None else read_scenario(scenario, quiet)
    source: Any = logs[0]
    if len(logs) > 1 or not is_journal(source):
        try:
            source = [api.import_runs(log, reading) for log in logs]
        except InputError as error:
            if len(logs) == 1 or instances is None or not Path(instances).is_file():
                raise
            pattern = "Put the pattern of --instances in quotes: --instances 'new/*'."
            raise InputError(f"{error} {pattern}") from error
        source = source[0] if len(source) == 1 else source
    with execution(running, quiet=quiet, json=json) as how:
        validated = validate(
            source,
            read,
            journal,
            instances=instances,
            configuration=question.configuration,
            default=reading.default,
            budget=budget,
            primary=question.primary,
            margin=question.margin,
            sampled="family" if question.sampled == "family" else "instance",
            delta=question.delta,
            complete=complete,
            **how,
        )
    if json:
        print_json({"schema": 2, **validated.to_dict()})
    else:
        print_text(validation_summary(validated))
        for assessment in validated.assessments:
            print_text("")
            print_assessment(assessment, everything=all_)
    raise typer.Exit(validated.exit_code)
