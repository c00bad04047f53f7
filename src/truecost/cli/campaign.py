"""`truecost gather`, and what gather, configure and validate share: the scenario, the announcement,
progress, resuming.
"""

import json
import math
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.command import declared
from truecost.cli.options import (
    CONFIGURATIONS,
    INSTANCES,
    JOURNAL,
    RUNS,
    Json,
    Pool,
    Quiet,
    ScenarioFile,
    asked,
    out_option,
)
from truecost.cli.printing import answer, duration, print_line, visible
from truecost.cli.progress import progress
from truecost.cli.reading import MATRICES, check_out, file_stem
from truecost.errors import InputError, LostClusterError, did_you_mean
from truecost.show.numbers import counted

if TYPE_CHECKING:
    from truecost.campaigns.campaign import Execution, Progress
    from truecost.campaigns.gather import GatherForecast
    from truecost.journal.journal import Journal
    from truecost.running.scenario import Scenario
    from truecost.space.space import Configuration


def read_scenario(path: Path, quiet: bool) -> "Scenario":
    """The scenario of a file; a built-in one, named where there is no such file, is exported to a
    folder of that name.
    """
    from truecost.running.scenario import Scenario

    # Built-in scenarios have names without folders and endings.
    if path.exists() or len(path.parts) != 1 or path.suffix:
        return Scenario.read(path)
    from truecost import library

    # Built in or misspelt: there is no file of that name.
    if path.name not in library.list_names():
        known = library.list_names()
        raise InputError(
            f"{path}: expected a scenario file, or a built-in scenario out of {', '.join(known)}"
            f"{did_you_mean(path.name, known)}"
        )
    with progress("instances", quiet=quiet) as meter:
        exported = library.export(
            path.name,
            Path(f"{path.name}-small"),
            progress=lambda what, done, total: meter.count(done, total, note=what),
        )
    return Scenario.read(exported)


def journal_path(given: Path | None, name: str, ending: str) -> Path:
    """The journal: the file that was given, else one named after the scenario or the log."""
    return given or Path(f"{file_stem(name) or 'scenario'}{ending}.db")


def arguments_of(scenario: "Scenario", configuration: "Configuration") -> str:
    """A configuration as it is given to the target: as arguments, or to a function as values."""
    from truecost.running.execute import Caller

    if scenario.target.kind == "python":
        return json.dumps(dict(configuration.values))
    return shlex.join(Caller(scenario).arguments(configuration))


def most_time(scenario: "Scenario", runs: float) -> float:
    """The CPU seconds of this many runs if each went to its limit."""
    return runs * (scenario.limits.cpu or scenario.limits.wall or 0.0)


def answer_at_once() -> None:
    """Have Ctrl-C end whatever this process waits for: a run that takes hours, or an answer."""
    # Once polars is loaded, system calls go on after a signal, and Python hears of it at their end.
    signal.siginterrupt(signal.SIGINT, True)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """End as after Ctrl-C when a batch system or a closing terminal asks to; what nohup ignores is
    still ignored.
    """

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    # Only signals that would end the process; nohup has SIGHUP ignored.
    numbers = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in numbers:
        signal.signal(number, stop)
    answer_at_once()
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def outcomes(now: "Progress") -> str:
    """How the runs ended: "40 solved, 2 timeout"."""
    return ", ".join(
        f"{number:,} {status.label}" for status, number in sorted(now.outcomes.items())
    )


@contextmanager
def campaign(
    pool: Pool,
    *,
    quiet: bool,
    what: str = "runs",
    note: "Callable[[Progress], str] | None" = None,
) -> "Iterator[Execution]":
    """What to run with and report to, as gather, configure and validate take it.

    After Ctrl-C, SIGTERM or SIGHUP, or when the cluster is lost, the line that goes on is printed:
    the same one, with everything that was given. `note` describes a report beyond its counts.
    """
    # As it was typed: rebuilt from options it could ask for something else.
    line = shlex.join(["truecost", *sys.argv[1:]])
    try:
        with _stopped_by_signals(), progress(what, quiet=quiet) as meter:

            def report(now: "Progress") -> None:
                meter.tell(
                    now.share,
                    count=now.runs,
                    # A budget in seconds says nothing of how many runs there will be.
                    total=int(now.budget.amount) if now.budget.unit == "runs" else None,
                    cpu=now.cpu,
                    note=" · ".join(
                        part for part in (note(now) if note else "", outcomes(now)) if part
                    ),
                )

            yield {
                "pool": pool.workers if pool.dask is None else pool.dask,
                "pin": pool.pin,
                "keep_going": pool.keep_going,
                "progress": report,
                "waiting": meter.say,
            }
    except KeyboardInterrupt:
        sys.stderr.write(f"Nothing is lost. To go on: {visible(line)}\n")
        raise
    except LostClusterError as error:
        raise LostClusterError(f"{error} To go on: {line}") from error


@declared
def gather(
    scenario: ScenarioFile,
    pool: Pool,
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="JOURNALS", help="More journals for --merge.")
    ] = None,
    journal: Path | None = asked(f"{JOURNAL}; NAME.db if not given."),
    configurations: str | None = asked(
        f"{CONFIGURATIONS}; the default and random ones, 50 if not given (when resuming, as "
        "before). Or a file with configurations: csv, JSON or a table of irace.",
        metavar="N|FILE",
    ),
    instances: int | None = asked(
        f"{INSTANCES}; a random sample, all if not given (when resuming, as before).", min=1
    ),
    runs: int | None = asked(f"{RUNS}; 5 if not given (when resuming, as before).", min=1),
    part: str | None = asked(
        "Make only this part of the runs, in a separate journal, for array jobs: 3/20 is the "
        "third of 20 parts.",
        metavar="I/N",
    ),
    merge: list[Path] | None = asked(
        "First copy the runs of other journals of the same scenario into this one: "
        "--merge part*.db.",
        metavar="JOURNAL",
    ),
    dry_run: bool = asked(
        "Say what it would take; makes 20 trial runs, which the journal keeps.",
        "--dry-run",
        default=False,
    ),
    out: Annotated[Path | None, out_option("the matrix, as .npz, .parquet or .csv")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run a solver: configurations on instances, into a crash-safe journal.

    Rerun the same command to resume. Ask for more configurations, instances or runs to extend it.
    """
    from truecost.campaigns import gather as gathering
    from truecost.importers.detect import import_runs
    from truecost.journal.journal import Journal

    # Before hours of runs, not after them.
    check_out(out, endings=MATRICES)
    read = read_scenario(scenario, quiet)
    share = None if part is None else _part(part)
    path = journal_path(journal, read.name, "" if share is None else "-{}-of-{}".format(*share))
    if more and not merge:
        raise InputError(f"Expected one scenario, got {str(more[0])!r:.80} as well.")
    if merge:
        # A shell writes `--merge part*.db` as one option and more words.
        gathering.merge(read, path, [*merge, *(more or ())])
    size = _size(path, read, configurations, instances, runs)
    if dry_run:
        with campaign(pool, quiet=quiet, what="pilot runs") as execution:
            forecast = gathering.forecast(read, path, **size, part=share, **execution)
        answer(json, asdict(forecast), lambda: _print_forecast(forecast, path))
        return
    if not quiet and not json:
        _announce(read, path, size, share or (1, 1))
    with campaign(pool, quiet=quiet) as execution:
        gathering.gather(read, path, **size, part=share, **execution)
    with Journal.read(path) as book:
        data = summary(book)
    if out is not None:
        log = import_runs(path)
        # How configurations were chosen goes with them, wherever there is room for it.
        log.matrix.save(out, trajectory=None if out.suffix == ".csv" else log.trajectory)

    def lines() -> None:
        print_summary(data)
        if out is not None:
            print_line(f"The matrix is in {out}.")

    answer(json, data, lines)


def _size(
    path: Path,
    scenario: "Scenario",
    configurations: str | None,
    instances: int | None,
    runs: int | None,
) -> dict[str, Any]:
    """The size of the design: what was asked for, else as before, else 50 x all x 5."""
    before: tuple[Any, int, int] = (50, len(scenario.instances), 5)
    if path.exists() and path.stat().st_size:
        from truecost.journal.journal import GIVEN, Journal

        with Journal.read(path) as book:
            before = book.planned() or before
            if book.noted(GIVEN):
                before = book.chosen(), before[1], before[2]
    # A scenario with all its instances in use goes on with all, also those that came since.
    earlier = None if before[1] >= len(scenario.instances) else before[1]
    return {
        "configurations": _configurations(scenario, configurations) or before[0] or 50,
        "instances": instances or earlier,
        "runs": runs or before[2],
    }


def _part(text: str) -> tuple[int, int]:
    """The part that `3/20` names."""
    number, slash, parts = text.partition("/")
    if not (slash and number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise InputError(f"Expected --part such as 3/20, from 1/20 to 20/20, got {text!r:.40}.")
    return int(number), int(parts)


def _configurations(scenario: "Scenario", given: str | None) -> Any:
    """How many configurations, or those of a file."""
    if given is None:
        return None
    if given.isdecimal():
        if int(given) < 1:
            raise InputError(f"Expected at least 1 configuration, got {given}.")
        return int(given)
    from truecost.space.listed import read_configurations

    return read_configurations(given, scenario.space)


def _announce(
    scenario: "Scenario", path: Path, size: dict[str, Any], part: tuple[int, int]
) -> None:
    configurations, runs = size["configurations"], size["runs"]
    if not isinstance(configurations, int):
        configurations = len(configurations)
    instances = size["instances"] or len(scenario.instances)
    total = configurations * instances * runs
    # As `part_of` shares them out.
    mine = len(range(part[0] - 1, total, part[1]))
    share = f"; part {part[0]} of {part[1]} has {mine:,}" if part[1] > 1 else ""
    print_line(
        f"{scenario.name}: {counted(configurations, 'configuration')} × "
        f"{counted(instances, 'instance')} × {counted(runs, 'run')} = {counted(total, 'run')}"
        f"{share}, at most {duration(most_time(scenario, mine))} of CPU time; --dry-run forecasts "
        f"it. Journal: {path}"
    )


def _print_forecast(forecast: "GatherForecast", path: Path) -> None:
    print_line(
        f"{forecast.left:,} of {forecast.planned:,} runs are left. From {forecast.pilot:,} runs in "
        f"{path}: {duration(forecast.cpu)} of CPU time (95 %: {duration(forecast.lower)} to "
        f"{duration(forecast.upper)}; {duration(forecast.worst)} if every run went to its limit), "
        f"about {duration(forecast.wall)} with {counted(forecast.workers, 'worker')}."
    )


def summary(journal: "Journal") -> dict[str, Any]:
    """What a journal holds, as plain data."""
    from truecost.campaigns.doubts import doubts
    from truecost.journal.validationlog import stop_of
    from truecost.runs import status_counts

    table, machines, planned = journal.table(), journal.machines(), journal.planned()
    return {
        "journal": journal.path,
        "kind": journal.kind,
        "scenario": journal.scenario(),
        "design": planned,
        "planned_runs": 0 if planned is None else math.prod(planned),
        "runs": len(table.status),
        "ahead": int(table.ahead.sum()),
        "statuses": status_counts(table.status),
        "stopped": stop_of(journal),
        "cpu": float(table.cpu.sum()),
        "machines": [
            {**asdict(machine), "conditions": state}
            for machine, state in zip(machines, journal.conditions(), strict=True)
        ],
        "doubts": doubts(table, machines, journal.metric()) if planned is not None else [],
    }


def _conditions(state: dict[str, Any]) -> str:
    """What made times differ on a machine, for people."""
    parts = [f"{key} {state[key]}" for key in ("governor", "turbo") if key in state]
    if "load" in state:
        least, most = state["load"]
        parts.append(f"load {least:g}" + (f" to {most:g}" if most != least else ""))
    if state.get("throttled"):
        parts.append(f"throttled {counted(state['throttled'], 'time')}")
    return "".join(f"; {part}" for part in parts)


def print_summary(data: dict[str, Any]) -> None:
    """`summary` for people."""
    from truecost.journal.file import SEARCHES

    search = data["kind"] in SEARCHES
    design = " × ".join(map(str, data["design"] or ())) or "none"
    plan = "of a search" if search else f"plan {design} = {data['planned_runs']:,}"
    shares = ", ".join(f"{name} {count:,}" for name, count in data["statuses"].items() if count)
    print_line(
        f"{data['scenario']}: {counted(data['runs'], 'run')} ({shares or 'none'}), {plan}; "
        f"{duration(data['cpu'])} of CPU time."
    )
    if data["ahead"]:
        why = "yet, since earlier runs of the plan are missing"
        if search:
            why = "yet, since their batch is under way"
        elif data["stopped"] is not None:
            why = "since it had stopped before they ended"
        print_line(f"Not counted {why}: {counted(data['ahead'], 'run')}.")
    for machine in data["machines"]:
        solver = f", solver {machine['solver']}" if machine["solver"] else ""
        host, cpu, method = (machine[name] for name in ("host", "cpu", "method"))
        state = _conditions(machine["conditions"])
        print_line(f"Run on {host} ({cpu}), measured by {method}{solver}{state}.")
    for doubt in data["doubts"]:
        print_line(f"Doubtful: {doubt}", "open")
