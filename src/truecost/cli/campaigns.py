"""What gather, configure and validate share: the scenario, progress, and the line that continues
after an interruption.
"""

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.cli.options import Running
from truecost.cli.printing import print_text
from truecost.cli.progress import campaign_note, progress
from truecost.errors import InputError, did_you_mean
from truecost.show.numbers import visible

if TYPE_CHECKING:
    from truecost.campaigns.budget import Budget
    from truecost.campaigns.campaign import Execution, Progress
    from truecost.judge.question import Question
    from truecost.running.scenario import Scenario


def read_scenario(path: Path, quiet: bool) -> "Scenario":
    """The scenario of a file or folder; a built-in one, named where no such file exists, is
    exported to a folder first.
    """
    from truecost.running.scenario import Scenario

    # Built-in scenarios have names without folders and endings.
    if path.exists() or len(path.parts) != 1 or path.suffix:
        return Scenario.read(path / "scenario.toml" if path.is_dir() else path)
    from truecost import scenarios

    names = scenarios.names()
    if path.name not in names:
        raise InputError(
            f"{path}: There is no such file.{did_you_mean(path.name, names)} Name a scenario file, "
            f"or a built-in scenario: {', '.join(names)}."
        )
    with progress("instances", quiet=quiet) as meter:
        folder = Path(f"{path.name}-small")
        return Scenario.read(scenarios.export(path.name, folder, progress=meter.count))


def terms(question: "Question") -> dict[str, Any]:
    """What a test is about, as configure and validate take it."""
    return {
        "primary": question.primary,
        "margin": question.margin,
        "sampled": question.sampled or "instance",
        "delta": question.delta,
    }


def typed(budget: "Budget | None" = None) -> str:
    """The command as it was typed; with another budget."""
    words = sys.argv[1:]
    if budget is not None:
        place = next((i for i, word in enumerate(words) if word.startswith("--budget")), len(words))
        rest = place + (1 if "=" in "".join(words[place : place + 1]) else 2)
        words = [*words[:place], "--budget", budget.text, *words[rest:]]
    return shlex.join(["truecost", *words])


@contextmanager
def execution(running: Running, *, quiet: bool, json: bool) -> "Iterator[Execution]":
    """Where to run and report to, as gather, configure and validate take it.

    After Ctrl-C, SIGTERM or SIGHUP the line that continues is printed as it was typed.
    """
    if running.workers is not None and running.workers < 1:
        raise InputError(f"--workers is {running.workers}. Give at least 1.")
    line = typed()
    try:
        with _stopped_by_signals(), progress("runs", quiet=quiet) as meter:

            def report(now: "Progress") -> None:
                meter.update(
                    now.share,
                    count=now.runs,
                    total=now.total,
                    cpu=now.cpu,
                    note=campaign_note(now),
                )

            yield {
                "pool": running.workers if running.dask is None else running.dask,
                "workers": None if running.dask is None else running.workers,
                "pin": not running.no_pin,
                "keep_going": running.keep_going,
                "progress": report,
                "announce": None if quiet or json else print_text,
            }
    except KeyboardInterrupt:
        sys.stderr.write(f"Nothing is lost. To continue: {visible(line)}\n")
        raise


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """End as after Ctrl-C when a batch system or a closing terminal asks to; what nohup ignores is
    still ignored.
    """

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

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
