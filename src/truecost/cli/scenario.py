"""`truecost scenario`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from truecost.cli.command import command_line, declared
from truecost.cli.options import INSTANCES, WORKERS, Json, Quiet, Seed, asked, out_option
from truecost.cli.printing import answer, print_line, print_table
from truecost.cli.progress import progress
from truecost.cli.reading import Source
from truecost.errors import InputError

app = typer.Typer(
    rich_markup_mode=None,
    help="Built-in scenarios, and scenarios written from a log.",
)

Name = Annotated[str, typer.Argument(help="A scenario; `truecost scenario list` names them.")]


@app.command("list")
def list_(json: Json = False) -> None:
    """List the built-in scenarios."""
    from truecost import library

    scenarios = [library.describe(name) for name in library.list_names()]

    def lines() -> None:
        rows = [[scenario.name, scenario.title] for scenario in scenarios]
        print_table("Built-in scenarios", ["name", "what"], rows, left=2)
        print_line(
            "truecost scenario show NAME says more; truecost scenario export NAME DIR writes one, "
            "ready to gather."
        )

    answer(json, {"scenarios": [_data(scenario) for scenario in scenarios]}, lines)


@app.command()
def show(name: Name, json: Json = False) -> None:
    """Describe a scenario: solver, licence, parameters and sizes."""
    from truecost import library

    scenario = library.describe(name)
    parameters = len(library.space(name).parameters)

    def lines() -> None:
        print_line(f"{scenario.name}: {scenario.title}")
        print_line(f"Solver: {scenario.solver}. Licence: {scenario.licence}.")
        print_line(f"{parameters} parameters; PAR10.")
        rows = [
            [name, size.what, str(size.instances), f"{size.cutoff:g} s"]
            for name, size in scenario.sizes.items()
        ]
        print_table("Sizes", ["size", "instances", "number", "cutoff"], rows, left=2)

    answer(json, {**_data(scenario), "parameters": parameters}, lines)


@app.command()
@declared
def export(
    name: Name,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write, new or empty.")],
    size: str = asked(
        "small, paper; clasp-weighted-sequence and kissat-qcp have large too.", default="small"
    ),
    instances: int | None = asked(f"{INSTANCES}; as many as the size has.", min=1),
    seed: Seed = 1,
    target: Path | None = asked("Run this solver instead of the packaged one."),
    workers: int = asked(f"{WORKERS}; for the reference lengths of LKH.", min=1, default=1),
    generator: bool = asked(
        "Generate instances from seeds when needed instead of writing them.",
        "--generator",
        default=False,
    ),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a scenario with its instances into a folder. Rerun the same command to resume.

    Another seed gives fresh instances of the same kind.
    """
    from truecost import library

    with progress("instances", quiet=quiet) as meter:
        path = library.export(
            name,
            folder,
            size=size,
            instances=instances,
            seed=seed,
            target=target,
            workers=workers,
            generator=generator,
            progress=lambda what, done, total: meter.count(done, total, note=what),
        )
    answer(
        json,
        {"name": name, "size": size, "seed": seed, "scenario": path},
        lambda: print_line(f"Written. Next: {command_line('gather', scenario=path)}", wrap=False),
    )


@app.command("from-log", short_help="Write the scenario of a log of irace or SMAC3.")
@declared
def from_log(
    source: Source,
    out: Annotated[Path, out_option("a folder")],
    instances: str | None = asked(
        "Files to run on, 'test/*.cnf' for instance; those of the log if not given.",
        metavar="PATTERN",
    ),
    json: Json = False,
) -> None:
    """Write the scenario of an irace log; for SMAC3 its space and instances, with the target to
    fill in.
    """
    from truecost.importers.fromlog import scenario_from_log

    # It may be filled in already.
    if (out / "scenario.toml").exists():
        raise InputError(
            f"{out}: expected a folder without a scenario, got one with: take another `out`."
        )
    made = scenario_from_log(source.place or Path(), source.read(), out, instances=instances)
    missing = "; fill in [target] and [answer], which the log does not say" if made.fill_in else ""
    answer(
        json,
        {"scenario": made.path, "fill_in": made.fill_in},
        lambda: print_line(f"Written to {made.path}{missing}.", wrap=False),
    )


def _data(scenario: Any) -> dict[str, Any]:
    about = {name: getattr(scenario, name) for name in ("name", "title", "solver", "licence")}
    sizes = {
        name: {"what": size.what, "instances": size.instances, "cutoff": size.cutoff}
        for name, size in scenario.sizes.items()
    }
    return {**about, "sizes": sizes}
