"""`truecost gather`: runs of configurations on instances, into a journal."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.campaigns import execution, journal_path, read_scenario
from truecost.cli.options import Journal, Json, Quiet, Running, ScenarioFile, with_records
from truecost.cli.printing import print_json, print_text


@with_records
def command(
    scenario: ScenarioFile,
    running: Running,
    journal: Journal = None,
    configurations: Annotated[
        str | None,
        typer.Option(
            "--configurations",
            metavar="N|FILE",
            help="How many: the default and random ones (50), or a file that lists them.",
        ),
    ] = None,
    instances: Annotated[
        int | None, typer.Option("--instances", help="How many; all unless given.", min=1)
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", help="Runs per instance; 5 unless given.", min=1)
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
    path = journal_path(journal, read.name, "")
    given: int | Path | None = None
    if configurations is not None:
        given = int(configurations) if configurations.isdecimal() else Path(configurations)
    with execution(running, quiet=quiet, json=json) as how:
        gathered = gather(read, path, configurations=given, instances=instances, runs=runs, **how)
    if json:
        print_json(gathered.to_dict())
        return
    print_text(campaign_summary(gathered))
    print_text(f"Next: truecost audit {path}")
