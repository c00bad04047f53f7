"""`truecost gather`: runs of configurations on instances, into a journal."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.campaigns import execution, read_scenario
from truecost.cli.options import Journal, Json, Quiet, Running, ScenarioFile, with_records
from truecost.cli.printing import print_result


@with_records
def command(
    scenario: ScenarioFile,
    running: Running,
    journal: Journal = None,
    configurations: Annotated[
        str | None,
        typer.Option(metavar="N|FILE", help="The default and N − 1 random ones (50), or a file."),
    ] = None,
    instances: Annotated[
        int | None, typer.Option(metavar="N", help="How many; all unless given.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(metavar="N", help="Runs per instance; 5 unless given.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run the default and random configurations on instances, and keep every run in a journal.

    Rerun the same command to resume. A larger number of instances or runs extends the journal.
    """
    from truecost.campaigns.gather import gather
    from truecost.show.summaries import campaign_summary

    read = read_scenario(scenario, quiet)
    chosen: int | Path | None = None
    if configurations is not None:
        chosen = int(configurations) if configurations.isdecimal() else Path(configurations)
    with execution(running, quiet=quiet, json=json) as how:
        gathered = gather(
            read, journal, configurations=chosen, instances=instances, runs=runs, **how
        )
    text = (
        f"{campaign_summary(gathered)}\nNext: truecost audit {shlex.quote(str(gathered.journal))}"
    )
    print_result(gathered.to_dict(), text, json=json)
