"""`truecost scenario`: the built-in scenarios, and scenarios written from a log."""

import shlex
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.options import Json, Quiet, Runs, with_records
from truecost.cli.printing import print_json, print_text
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
    if json:
        print_json({"schema": 2, "scenarios": [scenario.to_dict() for scenario in described]})
        return
    for scenario in described:
        print_text(f"{scenario.name:<26} {scenario.title}")
        for name, size in scenario.sizes.items():
            print_text(
                f"  {name:<8} {size.instances} instances, cutoff {size.cutoff:g} s: {size.what}"
            )
    print_text("Next: truecost scenario export NAME FOLDER")


@app.command()
def export(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A scenario that `scenario list` names.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")],
    size: Annotated[
        str,
        typer.Option("--size", help="A size that `scenario list` names, such as small or paper."),
    ] = "small",
    instances: Annotated[
        int | None,
        typer.Option("--instances", help="How many; as many as the size has.", min=1),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Another seed makes other instances.", min=0)
    ] = 1,
    target: Annotated[
        Path | None, typer.Option("--target", help="Run this solver, not the packaged one.")
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", help="Processes that solve references of LKH.", min=1)
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
            progress=lambda what, done, total: meter.tell(
                done / max(total, 1), count=done, total=total, note=what
            ),
        )
    if json:
        print_json({"schema": 2, "name": name, "size": size, "seed": seed, "scenario": str(path)})
        return
    print_text(f"Written: {path}\nNext: truecost gather {shlex.quote(str(path))}")


@app.command("from-log")
@with_records
def from_log(
    runs: Runs,
    reading: Reading,
    out: Annotated[Path, typer.Option("--out", "-o", help="A new folder for the scenario.")],
    instances: Annotated[
        str | None,
        typer.Option(
            "--instances", help="Files to run on, 'test/*.cnf'; those of the log unless given."
        ),
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
    if json:
        print_json({"schema": 2, "scenario": str(made.path), "fill_in": made.fill_in})
        return
    missing = " Fill in [target] and [answer]: the log does not have them." if made.fill_in else ""
    if log.default is None:
        missing += " No default is known: write default = {name = value, …} under [space]."
    if not isfinite(log.runs.width):
        missing += (
            " The range of costs is not known: write low and high under [metric], or add "
            "--primary wins below."
        )
    words = [runs, *replace(reading, test=None).options_that_differ(), "--scenario", str(made.path)]
    new = "" if instances else " --instances 'NEW/*'"
    print_text(f"Written: {made.path}.{missing}\nNext: truecost validate {shlex.join(words)}{new}")
