"""`truecost configure`: search for a better configuration, and test it on held-out instances."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.campaigns import execution, read_scenario, terms, typed
from truecost.cli.options import (
    All,
    Budget,
    Journal,
    Json,
    Quiet,
    Running,
    ScenarioFile,
    with_records,
)
from truecost.cli.printing import print_result, verdict_text
from truecost.errors import InputError
from truecost.judge.question import Question

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario


@with_records
def command(
    scenario: ScenarioFile,
    running: Running,
    question: Annotated[Question, ("configuration", "basis", "candidates", "seed")],
    budget: Budget = None,
    journal: Journal = None,
    runs: Annotated[
        int, typer.Option(metavar="N", help="Most runs of a configuration on an instance.")
    ] = 5,
    start: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Try these first: configurations or an earlier log."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Seed of the search; the scenario's if not given."),
    ] = None,
    all_: All = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Search on some of the instances, then test the winner against the default on the others.

    Rerun the same command to resume; a larger budget continues the search and tests again.
    """
    from truecost.campaigns.configure import configure
    from truecost.running.execute import Caller
    from truecost.show.next_steps import next_steps
    from truecost.show.summaries import search_summary

    read = read_scenario(scenario, quiet)
    first = [] if start is None else _starts(start, read)
    with execution(running, quiet=quiet, json=json) as how:
        configured = configure(
            read,
            journal,
            budget=budget,
            runs=runs,
            start=first,
            seed=seed,
            **terms(question),
            **how,
        )
    assessment = configured.assessment
    steps = next_steps(assessment)
    if assessment.grade != "better":
        # The search goes on where it ended, and tests a new winner with its share of δ.
        # `validate` may have spent more on its test than the search was given.
        spent = max(configured.budget.amount, configured.spent)
        larger = replace(configured.budget, amount=2.0 * math.ceil(spent))
        steps = (*steps[:1], typed(larger))
    verdict = verdict_text(assessment, everything=all_, steps=steps)
    summary = search_summary(configured, Caller(read).arguments(configured.recommended))
    print_result(configured.to_dict(), f"{summary}\n\n{verdict}", json=json)


def _starts(path: Path, scenario: "Scenario") -> Any:
    """The configurations of a file, or an earlier log."""
    from truecost import api
    from truecost.space.configuration_files import read_configurations

    listed: InputError | None = None
    # What is no file of configurations may be a log.
    if path.is_file():
        try:
            return read_configurations(path, scenario.space)
        except InputError as error:
            listed = error
    try:
        return api.import_runs(path)
    except InputError as error:
        raise listed or error from error
