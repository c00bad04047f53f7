"""`truecost scenario`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from truecost.cli import options
from truecost.cli.options import Json, Quiet, Seed
from truecost.cli.printing import print_json, print_line, print_table
from truecost.cli.progress import progress
from truecost.cli.reading import Source, reads_runs
from truecost.errors import InputError

app = typer.Typer(
    rich_markup_mode=None,
    help="Scenarios: built-in ones, whose solvers packages carry, and those that a log tells of.",
)

Name = Annotated[
    str, typer.Argument(help="A scenario; `truecost scenario list` names them.", show_default=False)
]


@app.command("list")
def list_(json: Json = False) -> None:
    """The scenarios there are."""
    from truecost import library

    found = [library.describe(name) for name in library.list_names()]
    if json:
        print_json([_plain(builtin) for builtin in found])
        return
    rows = [[builtin.name, builtin.title] for builtin in found]
    print_table("Built-in scenarios", ["name", "what"], rows, left=2)
    print_line(
        "truecost scenario show NAME says more; truecost scenario export NAME DIR writes one, ready to gather."
    )


@app.command()
def show(name: Name, json: Json = False) -> None:
    """What a scenario is: solver, licence, parameters and sizes."""
    from truecost import library

    builtin = library.describe(name)
    about = {**_plain(builtin), "parameters": len(library.space(name).parameters)}
    if json:
        print_json(about)
        return
    print_line(f"{builtin.name}: {builtin.title}")
    print_line(f"Solver: {builtin.solver}. Licence: {builtin.licence}.")
    print_line(f"{about['parameters']} parameters; PAR10.")
    rows = [
        [size, each["what"], str(each["instances"]), f"{each['cutoff']:g} s"]
        for size, each in about["sizes"].items()
    ]
    print_table("Sizes", ["size", "instances", "number", "cutoff"], rows, left=2)


@app.command()
def export(
    name: Name,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder to write, new or empty.", show_default=False),
    ],
    size: Annotated[str, typer.Option(help="small, paper; kissat-qcp has large too.")] = "small",
    instances: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"{options.INSTANCES}; as many as the size has.", show_default=False
        ),
    ] = None,
    seed: Seed = 1,
    target: Annotated[
        Path | None,
        typer.Option(
            help="Run this solver instead of the one a package carries.", show_default=False
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help=f"{options.WORKERS}; for the reference lengths of LKH.")
    ] = 1,
    generator: Annotated[
        bool,
        typer.Option(
            "--generator",
            help="Have instances made from seeds when they are needed, instead of writing them.",
        ),
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a scenario with its instances into a folder. Interrupted, it goes on when it is started
    again.

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
    if json:
        print_json({"name": name, "size": size, "seed": seed, "scenario": str(path)})
    else:
        print_line(f"Written. Next: truecost gather {path}", wrap=False)


@app.command("from-log", short_help="Write the scenario of a log of irace or SMAC3.")
@reads_runs
def from_log(
    source: Source,
    out: Annotated[
        Path, typer.Option("--out", "-o", help=f"{options.OUT}; a folder.", show_default=False)
    ],
    instances: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Files to run on, 'test/*.cnf' for instance; those of the log if not given.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write the scenario that a log of irace tells of; or SMAC3's space and instances, with the
    target to fill in.
    """
    from truecost.importers.fromlog import scenario_from_log

    if (out / "scenario.toml").exists():
        raise InputError(
            f"{out}: expected a folder without a scenario, got one with: take another `out`."
        )
    made = scenario_from_log(source.place or Path(), source.read(), out, instances=instances)
    if json:
        print_json({"scenario": str(made.path), "fill_in": made.fill_in})
    elif made.fill_in:
        print_line(
            f"Written to {made.path}; fill in [target] and [answer], which the log does not say.",
            wrap=False,
        )
    else:
        print_line(f"Written to {made.path}.", wrap=False)


def _plain(builtin: Any) -> dict[str, Any]:
    return {
        "name": builtin.name,
        "title": builtin.title,
        "solver": builtin.solver,
        "licence": builtin.licence,
        "sizes": {
            size: {"what": each.what, "instances": each.instances, "cutoff": each.cutoff}
            for size, each in builtin.sizes.items()
        },
    }
