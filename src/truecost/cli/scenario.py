"""`truecost scenario`: the built-in scenarios, and scenarios written from a log."""

import shlex
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.options import Json, Quiet, Runs, with_records
from truecost.cli.printing import print_result
from truecost.cli.progress import progress
from truecost.errors import InputError
from truecost.matrix.reading import Reading

app = typer.Typer(
    rich_markup_mode=None, help="Built-in scenarios, and scenarios written from a log."
)


@app.command("list")
def list_(json: Json = False) -> None:
    """List the built-in scenarios and their sizes."""
    from truecost import scenarios

    described = [scenarios.describe(name) for name in scenarios.names()]
    lines = []
    for one in described:
        lines.append(f"{one.name:<26} {one.title}")
        for name, size in one.sizes.items():
            count = f"{size.instances} instances, cutoff {size.cutoff:g} s"
            lines.append(f"  {name:<8} {count}: {size.what}")
    text = "\n".join([*lines, "Write one into a folder: truecost scenario export NAME FOLDER"])
    print_result({"scenarios": [one.to_dict() for one in described]}, text, json=json)


@app.command()
def export(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One that `scenario list` names.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")],
    size: Annotated[
        str, typer.Option(metavar="SIZE", help="One that `scenario list` names.")
    ] = "small",
    instances: Annotated[
        int | None, typer.Option(metavar="N", help="How many; those of the size unless given.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed makes other instances.")] = 1,
    target: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run this solver, not the packaged one.")
    ] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", help="Processes that solve references of LKH.")
    ] = 1,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a scenario with its instances into a folder. Rerun the same command to resume."""
    from truecost import scenarios

    with progress("instances", quiet=quiet) as meter:
        path = scenarios.export(
            name,
            folder,
            size=size,
            instances=instances,
            seed=seed,
            target=target,
            workers=workers,
            progress=meter.count,
        )
    data = {"name": name, "size": size, "seed": seed, "scenario": path}
    text = f"Written: {path}\nNext: truecost gather {shlex.quote(str(path))}"
    print_result(data, text, json=json)


@app.command("from-log", short_help="Write the scenario that a log was made with.")
@with_records
def from_log(
    runs: Runs,
    reading: Reading,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="A new folder for the scenario.")
    ],
    instances: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Files to run on; else those of the log.")
    ] = None,
    json: Json = False,
) -> None:
    """Write the scenario of an irace log; for SMAC3 its space, with the target to fill in."""
    from truecost import api
    from truecost.importers.scenario import scenario_from_log

    if (out / "scenario.toml").exists():
        raise InputError(f"{out} has a scenario already. Give another folder.")
    log = api.import_runs(runs, reading)
    made = scenario_from_log(runs, log, out, instances=instances)
    missing = []
    if made.fill_in:
        missing.append("Fill in [target] and [answer]: the log does not have them.")
    if log.default is None:
        missing.append("No default is known: write default = {name = value, …} under [space].")
    if not isfinite(log.runs.width):
        missing.append(
            "The range of costs is not known: write low and high under [metric], or add "
            "--primary wins below."
        )
    options = replace(reading, test=None).options_that_differ()
    words = ["truecost", "validate", runs, *options, "--scenario", str(made.path)]
    new = "" if instances else " --instances 'NEW/*'"
    if new:
        missing.append("Put your new instances in place of NEW/* below.")
    text = " ".join([f"Written: {made.path}.", *missing])
    text += f"\nNext: {shlex.join(words)}{new}"
    print_result({"scenario": made.path, "fill_in": made.fill_in}, text, json=json)
