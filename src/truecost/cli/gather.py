"""`truecost gather`."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli import options
from truecost.cli.options import Dask, Json, KeepGoing, Pin, Quiet, ScenarioFile, Workers
from truecost.cli.printing import duration, print_json, print_line, visible
from truecost.cli.progress import Meter, progress
from truecost.cli.reading import MATRICES, check_out
from truecost.errors import InputError, LostClusterError

if TYPE_CHECKING:
    from truecost.campaigns.gather import GatherForecast, GatherProgress
    from truecost.journal.journal import Journal
    from truecost.journal.table import RunTable
    from truecost.running.scenario import Scenario


def gather(
    scenario: ScenarioFile,
    journal: Annotated[
        Path | None,
        typer.Option(help=f"{options.JOURNAL}; NAME.db if not given.", show_default=False),
    ] = None,
    configurations: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"{options.CONFIGURATIONS}; the default and random ones. As before, or 50, if not given.",
            show_default=False,
        ),
    ] = None,
    instances: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"{options.INSTANCES}; the first of the shuffled list. As before, or all, if not given.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"{options.RUNS}; as before, or 5, if not given.", show_default=False
        ),
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    pin: Pin = True,
    keep_going: KeepGoing = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only say what would be run; a forecast from a pilot of 20 runs."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help=f"{options.OUT}; the matrix, as .npz, .parquet or .csv.",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run a solver: configurations on instances, each so many times, into a journal that survives
    anything.

    Started again, it goes on where it was; asked for more configurations, instances or runs, it
    adds what is missing.
    """
    from truecost.campaigns import gather as gathering
    from truecost.running.scenario import Scenario

    check_out(out, endings=MATRICES)
    if dask is not None and workers is not None:
        raise InputError(
            "expected --workers or --dask, got both: a cluster has the workers it has."
        )
    read = Scenario.read(exported(scenario, quiet))
    path = journal if journal is not None else Path(f"{file_name(read.name)}.db")
    size = _size(path, read, configurations, instances, runs)
    settings: dict[str, Any] = {
        **size,
        "workers": workers,
        "pin": pin,
        "dask": dask,
        "keep_going": keep_going,
    }
    if dry_run:
        with going_on(), progress("pilot runs", quiet=quiet) as meter:
            told = gathering.forecast(
                read, path, **settings, progress=reported(meter), waiting=meter.say
            )
        _print_forecast(told, path, json)
        return
    if not quiet and not json:
        _announce(read, path, size)
    with going_on(), progress("runs", quiet=quiet) as meter:
        gathering.gather(read, path, **settings, progress=reported(meter), waiting=meter.say)
    from truecost.journal.journal import Journal

    with Journal.read(path) as book:
        table = book.table()
        if out is not None:
            book.matrix(table=table).save(out)
        report = summary(book, table)
    if json:
        print_json(report)
    else:
        print_summary(report)
        if out is not None:
            print_line(f"The matrix is in {out}.")


@contextmanager
def going_on() -> Iterator[None]:
    """Say after Ctrl-C, or when the cluster is lost, how to go on: by the same line, with
    everything that was given.
    """
    line = shlex.join(["truecost", *sys.argv[1:]])
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"Nothing is lost. To go on: {visible(line)}\n")
        raise
    except LostClusterError as error:
        raise LostClusterError(f"{error} To go on: {line}") from error


def exported(scenario: Path, quiet: bool) -> Path:
    """The scenario file; a built-in scenario, named where there is no such file, is exported to a
    folder of that name.
    """
    if scenario.exists() or len(scenario.parts) != 1 or scenario.suffix:
        return scenario
    from truecost import library

    if scenario.name not in library.list_names():
        known = ", ".join(library.list_names())
        raise InputError(
            f"{scenario}: expected a scenario file, or a built-in scenario out of {known}."
        )
    with progress("instances", quiet=quiet) as meter:
        return library.export(
            scenario.name,
            Path(f"{scenario.name}-small"),
            progress=lambda what, done, total: meter.count(done, total, note=what),
        )


def file_name(name: str) -> str:
    """A scenario's name as the name of a file."""
    return (
        "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).lstrip(
            "."
        )
        or "scenario"
    )


def _size(
    path: Path,
    scenario: "Scenario",
    configurations: int | None,
    instances: int | None,
    runs: int | None,
) -> dict[str, int | None]:
    """The plan's size: what was asked for, else what was planned before, else 50 x all x 5."""
    before: tuple[int | None, int | None, int | None] = (None, None, None)
    if path.exists() and path.stat().st_size:
        from truecost.journal.journal import Journal

        with Journal.read(path) as book:
            before = book.planned() or before
    # A scenario with all its instances in use goes on with all, also those that came since.
    earlier = None if before[1] is None or before[1] >= len(scenario.instances) else before[1]
    return {
        "configurations": configurations or before[0] or 50,
        "instances": instances or earlier,
        "runs": runs or before[2] or 5,
    }


def _announce(scenario: "Scenario", path: Path, size: dict[str, int | None]) -> None:
    configurations, runs = size["configurations"] or 0, size["runs"] or 0
    instances = size["instances"] or len(scenario.instances)
    total = configurations * instances * runs
    limit = scenario.limits.cpu or scenario.limits.wall or 0.0
    print_line(
        f"{scenario.name}: {configurations} configurations × {instances} instances × {runs} runs = {total:,} runs, at most "
        f"{duration(total * limit)} of CPU time; --dry-run forecasts it. Journal: {path}"
    )


def reported(meter: Meter) -> "Callable[[GatherProgress], None]":
    """Reports of `gather` and `forecast`, as a meter takes them."""

    def tell(progress: "GatherProgress") -> None:
        there = progress.before + progress.done
        meter.tell(
            there / max(progress.planned, 1), count=there, total=progress.planned, cpu=progress.cpu
        )

    return tell


def _print_forecast(forecast: "GatherForecast", path: Path, json: bool) -> None:
    if json:
        from dataclasses import asdict

        print_json(asdict(forecast))
        return
    print_line(
        f"{forecast.left:,} of {forecast.planned:,} runs are left. From {forecast.pilot:,} runs in {path}: "
        f"{duration(forecast.cpu)} of CPU time (95 %: {duration(forecast.lower)} to {duration(forecast.upper)}; "
        f"{duration(forecast.worst)} if every run went to its limit), about {duration(forecast.wall)} with "
        f"{forecast.workers} worker{'s' if forecast.workers > 1 else ''}."
    )


def summary(journal: "Journal", table: "RunTable") -> dict[str, Any]:
    """What a journal holds, as plain data."""
    from dataclasses import asdict

    from truecost.campaigns.doubts import doubts
    from truecost.journal.validationlog import stop_of
    from truecost.runs import Status

    machines, planned = journal.machines(), journal.planned()
    total = 0 if planned is None else planned[0] * planned[1] * planned[2]
    return {
        "journal": str(journal.path),
        "kind": journal.kind,
        "scenario": journal.scenario(),
        "planned": planned,
        "planned_runs": total,
        "runs": len(table.status),
        "ahead": int(table.ahead.sum()),
        "statuses": {status.label: int((table.status == status).sum()) for status in Status},
        "stopped": None if (stop := stop_of(journal)) is None else stop._asdict(),
        "cpu": float(table.cpu.sum()),
        "machines": [asdict(machine) for machine in machines],
        "doubts": doubts(table, machines, journal.metric()) if planned is not None else [],
    }


def print_summary(report: dict[str, Any]) -> None:
    """`summary` for people."""
    plan = f"plan {' × '.join(str(size) for size in report['planned'] or ()) or 'none'} = {report['planned_runs']:,}"
    if report["kind"] == "configure":
        plan = "of a search"
    shares = ", ".join(f"{name} {count:,}" for name, count in report["statuses"].items() if count)
    print_line(
        f"{report['scenario']}: {report['runs']:,} runs ({shares or 'none'}), {plan}; {duration(report['cpu'])} of CPU time."
    )
    if report["ahead"] and report["kind"] == "configure":
        print_line(
            f"{report['ahead']:,} finished runs are of a batch that is under way; until it is done they do not count."
        )
    elif report["ahead"] and report["stopped"] is not None:
        print_line(
            f"{report['ahead']:,} runs were under way when it had stopped; they do not count."
        )
    elif report["ahead"]:
        print_line(
            f"{report['ahead']:,} finished runs wait for slower ones begun before them; until then they do not count."
        )
    for machine in report["machines"]:
        solver = f", solver {machine['solver']}" if machine["solver"] else ""
        print_line(
            f"Run on {machine['host']} ({machine['cpu']}), measured by {machine['method']}{solver}."
        )
    for doubt in report["doubts"]:
        print_line(f"Doubtful: {doubt}", "open")
