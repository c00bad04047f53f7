"""`truecost validate`."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli import options
from truecost.cli.gather import exported, going_on
from truecost.cli.options import (
    OUT,
    Dask,
    Delta,
    Json,
    KeepGoing,
    Pin,
    PrimaryStatement,
    Quiet,
    Unit,
    Workers,
)
from truecost.cli.printing import number, print_json, print_line
from truecost.cli.progress import Meter, progress, steps
from truecost.cli.reading import Source, check_out, reads_runs
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.campaigns.entry import Entry
    from truecost.campaigns.validate import Validated, ValidationProgress
    from truecost.matrix.imported import Import
    from truecost.running.scenario import Scenario


@reads_runs
def validate(
    source: Source,
    instances: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Files to run on, 'test/*.cnf' for instance; those of the scenario if not given. What the log has runs on "
            "is left out.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help=f"{options.BUDGET}; times are the wall time of all runs, shared among the workers. As before, if a "
            "validation goes on.",
            show_default=False,
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(
            help="The scenario file, or the name of a built-in scenario; a log of irace says it itself.",
            show_default=False,
        ),
    ] = None,
    configuration: Annotated[
        list[str] | None,
        typer.Option(
            help="The configuration to judge; the log's incumbent, else the one with the lowest training cost. A second one "
            "takes the place of the default.",
            show_default=False,
        ),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(help=f"{options.JOURNAL}; NAME-validate.db if not given.", show_default=False),
    ] = None,
    runs_each: Annotated[
        int | None,
        typer.Option(
            "--runs",
            help=f"{options.RUNS}; at most, 5 if not given, and 1 for a deterministic target.",
            min=1,
            show_default=False,
        ),
    ] = None,
    delta: Delta = 0.05,
    primary: PrimaryStatement = None,
    workers: Workers = None,
    dask: Dask = None,
    pin: Pin = True,
    keep_going: KeepGoing = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help=f"{OUT}; the report, NAME-validate.html if not given."),
    ] = None,
    unit: Unit = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run the winner of a search and its default on instances the search never saw, until what is
    to be shown is shown.

    Both run on the same instances, one after the other. It stops when the winner is shown to be
    better, shown to be worse, or can hardly be shown to be better with what is left of the budget.
    Looking all the time is paid for: the verdict stays as sure as it says.

    Exit code 0: shown to be better. 1: not shown. Interrupted or killed, the same line goes on.
    """
    from truecost.campaigns import validate as validating
    from truecost.campaigns.entry import entry_of
    from truecost.running.scenario import Scenario

    if dask is not None and workers is not None:
        raise InputError(
            "expected --workers or --dask, got both: a cluster has the workers it has."
        )
    if len(configuration or ()) > 2:
        raise InputError(
            "expected `configuration` once or twice, the winner and what it is compared with."
        )
    log = source.read()
    stem = re.sub(r"[^\w.-]+", "-", (source.path or Path()).resolve().stem).strip("-.") or "runs"
    page = Path(f"{stem}-validate.html") if out is None else out
    check_out(page, source.path)
    first, second = [*(configuration or ()), None, None][:2]
    named = {"configuration": first, "default": second or source.default}
    deterministic = False
    if scenario is None:
        scenario, default, deterministic = _from_log(
            source, log, Path(f"{stem}-validate"), instances
        )
        if named["default"] is None and log.trajectory.default is None:
            named["default"] = default
    read = Scenario.read(exported(scenario, quiet))
    entry = entry_of(log, read, instances=instances, **named)
    path = journal if journal is not None else Path(f"{stem}-validate.db")
    if dry_run or not (quiet or json):
        _announce(read, entry, path, budget)
    if dry_run:
        return
    with going_on(), progress("runs", quiet=quiet) as meter:
        found = validating.validate(
            log,
            read,
            path,
            instances=instances,
            **named,
            budget=budget,
            runs=1 if runs_each is None and deterministic else runs_each,
            delta=delta,
            primary=None if primary is None else primary.value,
            workers=workers,
            pin=pin,
            dask=dask,
            keep_going=keep_going,
            progress=_reported(meter),
            waiting=meter.say,
        )
    _tell(found, path, page, unit, json, quiet)
    if not found.shown:
        raise typer.Exit(1)


def _from_log(
    source: Source, log: "Import", folder: Path, pattern: str | None
) -> tuple[Path, str | None, bool]:
    """The scenario that a log of irace was made with, written into a folder."""
    if log.kind != "irace" or source.place is None:
        raise InputError(
            "expected a `scenario`, since only a log of irace says what it ran; for one of SMAC3, truecost scenario "
            "from-log writes one to fill in."
        )
    from truecost.importers.fromlog import scenario_from_log

    made = scenario_from_log(source.place, log, folder, instances=pattern)
    if made.default is None and source.default is None and log.trajectory.default is None:
        raise InputError(
            "expected the name of the `default`, which irace's log does not say: a number of one of its configurations; or "
            "a second `configuration` to compare with."
        )
    return made.path, made.default, made.deterministic


def _announce(scenario: "Scenario", entry: "Entry", path: Path, budget: str | None) -> None:
    from truecost.running.target import Caller

    caller = Caller(scenario)
    for what, each in (("Winner", entry.winner), ("Default", entry.default)):
        words = (
            ", ".join(f"{name}={value}" for name, value in each.configuration.values.items())
            if scenario.target.kind == "python"
            else shlex.join(caller.arguments(each.configuration))
        )
        print_line(f"{what}: configuration {each.name}: {words}", wrap=False)
    target = shlex.join(scenario.target.command or [scenario.target.function or ""])
    print_line(f"Target, from {scenario.path}: {target}", wrap=False)
    left_out = (
        f"; {entry.used:,} left out, since the log has runs on them"
        if entry.used
        else "; none of them is in the log"
    )
    print_line(f"Instances: {len(entry.instances):,} to run on{left_out}.")
    print_line(f"Budget: {budget or 'as before'}. Journal: {path}", wrap=False)


def _reported(meter: Meter) -> "Callable[[ValidationProgress], None]":
    def tell(now: "ValidationProgress") -> None:
        lead = (
            f"wins {now.lead:.0%}"
            if now.primary == "wins"
            else f"mean difference {number(now.lead)}"
        )
        meter.tell(
            now.spent / now.budget.amount,
            count=now.runs,
            total=int(now.budget.amount) if now.budget.unit == "runs" else None,
            cpu=now.cpu,
            note=f"{now.instances:,} instances: {lead} so far",
        )

    return tell


def _tell(
    found: "Validated", path: Path, page: Path, unit: str | None, json: bool, quiet: bool
) -> None:
    from truecost.cli.asking import setting
    from truecost.show.report import write_page

    context = setting(Source(path=path), unit=unit)
    with steps("the report", quiet=quiet) as tell:
        said = write_page(found.assessment, page, context, tell)
    if json:
        from truecost.judge.assessment import AUDITED

        entry = found.entry
        told = {
            "journal": str(path),
            "report": str(page),
            "validation": {
                **found.stop._asdict(),
                "all_runs": found.runs,
                "cpu": found.cpu,
                "spent": found.spent,
                "fresh_instances": len(entry.instances),
                "left_out_instances": entry.used,
                "shown": found.shown,
                "notes": list(found.notes),
            },
            **found.assessment.to_dict(*AUDITED),
        }
        print_json(told)
        return
    print_line(ended(found))
    print_line(said.verdict, said.tone)
    print_line(said.more)
    for note in found.notes:
        print_line(f"Doubtful: {note}", "open")
    print_line(f"{page} has the whole report; this verdict again:")
    print_line(f"  truecost audit {path}", "strong", wrap=False)


def ended(found: "Validated") -> str:
    """Where and why it stopped, in a sentence."""
    from truecost.campaigns.budget import Budget

    stop = found.stop
    budget = Budget(amount=stop.budget, unit=stop.unit)
    why: dict[str, Any] = {
        "better": "the winner is shown to be better",
        "worse": "the winner is shown to be worse",
        "forecast": f"a forecast gives the rest of the budget a chance of {stop.chance or 0:.1%} to show it",
        "budget": f"the budget of {budget} is spent",
        "instances": "all instances are used",
    }
    return f"Stopped after {stop.runs:,} runs on {stop.instances:,} new instances: {why[stop.why]}."
