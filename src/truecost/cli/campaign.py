"""What gather, configure and validate share: the scenario, the announcement, progress, resuming."""

import json
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from truecost.cli.options import Pool
from truecost.cli.printing import visible
from truecost.cli.progress import progress
from truecost.cli.reading import file_stem
from truecost.errors import InputError, LostClusterError, did_you_mean

if TYPE_CHECKING:
    from truecost.campaigns.campaign import Execution, Progress
    from truecost.running.scenario import Scenario
    from truecost.space.space import Configuration


def read_scenario(path: Path, quiet: bool) -> "Scenario":
    """The scenario of a file; a built-in one, named where there is no such file, is exported to a
    folder of that name.
    """
    from truecost.running.scenario import Scenario

    if path.exists() or len(path.parts) != 1 or path.suffix:
        return Scenario.read(path)
    from truecost import library

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
