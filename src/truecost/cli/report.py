"""`truecost report`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truecost.cli.certify import Chosen, Cutoff, Default, Delta, Halvings, ListSize, Par, Runs, Test, own_test, read_runs
from truecost.cli.inputs import check_out
from truecost.cli.printing import High, Json, Low, print_json, print_line
from truecost.cli.progress import Quiet, steps

if TYPE_CHECKING:
    from truecost.importers.record import Import


def report(
    runs: Runs,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file; by default NAME-report.html here.", show_default=False),
    ] = None,
    incumbent: Annotated[
        str | None,
        typer.Option(
            help="Who it is about; by default the log's incumbent, else the least training cost.", show_default=False
        ),
    ] = None,
    default: Default = None,
    test: Test = None,
    chosen: Chosen = None,
    list_size: ListSize = None,
    title: Annotated[str | None, typer.Option(help="Of the page.", show_default=False)] = None,
    unit: Annotated[
        str | None, typer.Option(help="What a unit of cost is called, 'PAR10 s' for instance.", show_default=False)
    ] = None,
    splits: Halvings = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of every random number.")] = 1,
    delta: Delta = 0.05,
    cutoff: Cutoff = None,
    par: Par = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """One page about recorded runs, as a file of its own: what was run, how noisy, how sure, over-tuned or not, what next.

    It opens from disk without a network, prints, and has a word of explanation for every number. For instance: truecost
    report kissat -o kissat.html, truecost report runs.db, truecost report smac3_output/run/0 --cutoff 5.
    """
    from truecost import examples
    from truecost.show import report as reporting

    path = Path(f"{_stem(runs)}-report.html") if out is None else out
    check_out(path, runs, test)
    found = read_runs(runs, low, high, cutoff, par, default)
    example = not runs.exists() and runs.name in examples.names()
    limits = {"--low": low, "--high": high}
    metric = {"--cutoff": cutoff, "--par": par}
    asked = {"--test": test, "--chosen": chosen, "--list": list_size, "--delta": None if delta == 0.05 else delta}
    audited = {"--incumbent": incumbent, "--default": default, "--splits": None if splits == 1000 else splits}
    audited["--seed"] = None if seed == 1 else seed
    with steps("the runs", quiet=quiet) as tell:
        made = reporting.report(
            found.matrix,
            name=runs.name or str(runs.resolve().name),
            title=title,
            unit=unit or ("PAR10 s" if example else "cost"),
            default=default,
            incumbent=incumbent,
            test=own_test(found, incumbent, chosen) if test is None else read_runs(test, low, high, cutoff, par).matrix,
            trajectory=found.trajectory,
            chosen=None if chosen is None else chosen.value,
            list_size=list_size,
            delta=delta,
            splits=splits,
            seed=seed,
            source=reporting.Source(str(runs), found.kind, *(_words(part) for part in (limits, metric, asked, audited))),
            notes=_notes(found),
            progress=tell,
        )
        tell("the page", 0.9)
        reporting.save(made, path)
    if json:
        print_json(made.numbers)
        return
    print_line(made.verdict, made.tone)
    print_line(made.more)
    print_line(f"{path} has the whole report: {path.stat().st_size / 1e6:.1f} MB, opens in any browser.")


def _stem(runs: Path) -> str:
    """The name of the file or folder, without its ending and without what a file name should not have."""
    return re.sub(r"[^\w.-]+", "-", runs.resolve().stem).strip("-.") or "runs"


def _words(options: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in options.items()
        if value is not None
    )


def _notes(found: "Import") -> tuple[str, ...]:
    left_out = [f"{count:,} runs are left out: {reason}." for reason, count in found.left_out.items()]
    return (*left_out, *found.notes)
