"""What the first runs say against their scenario, with a line to try by hand."""

from collections import Counter
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from truecost.errors import InputError, counted
from truecost.runs import Outcome, Status

if TYPE_CHECKING:
    from truecost.journal.journal import RunTable
    from truecost.running.metric import Metric
    from truecost.running.pools import Finished
    from truecost.running.scenario import Scenario

# If none of this many first runs succeeds, the scenario is wrong; a journal with more runs than
# MOST_FAILED is no first attempt.
FIRST_RUNS, MOST_FAILED = 10, 100
FAILED = {Status.CRASHED: "crashed", Status.WRONG: "gave a wrong answer"}
OUTSIDE = "gave a value outside the range"


class Problem(NamedTuple):
    """Why a campaign stops, and whether its runs can be used after the scenario is corrected."""

    message: str
    usable: bool = False


class FirstRuns:
    """Looks for a wrong scenario in the first runs of a journal, after those in its table."""

    def __init__(self, scenario: "Scenario", table: "RunTable") -> None:
        self._scenario, self._made = scenario, len(table)
        self._failed: list[tuple[str, Finished]] = []
        # Where a run once came through, the scenario is right.
        came_through = scenario.metric.came_through(table.status, table.value).any()
        self._trusted = bool(came_through) or len(table) > MOST_FAILED

    def problem(self, run: "Finished") -> Problem | None:
        """What is wrong, as far as this run and those before it tell."""
        scenario, fault = self._scenario, _fault(self._scenario.metric, run.outcome)
        self._made += 1
        # Later on, a night of runs is worth more than the news.
        if fault == OUTSIDE and self._made <= FIRST_RUNS:
            low, high = scenario.metric.range()
            return Problem(
                f"Configuration {run.task.configuration.name} on instance "
                f"{run.task.instance.name!r} cost {run.outcome.value:g}, which is not between low "
                f"= {low:g} and high = {high:g}. Correct them under [metric] in {scenario.path} "
                "and start again: no run is lost.",
                usable=True,
            )
        if fault is None:
            self._trusted = True
        elif not self._trusted:
            self._failed.append((fault, run))
        return self.all_failed() if len(self._failed) >= FIRST_RUNS else None

    def all_failed(self) -> Problem | None:
        """What to say when all runs so far failed; None where they did not."""
        if self._trusted or not self._failed:
            return None
        faults = [fault for fault, _ in self._failed]
        fault, times = Counter(faults).most_common(1)[0]
        run = self._failed[faults.index(fault)][1]
        return Problem(
            f"The first {counted(len(faults), 'run')} all failed: {times} {fault} "
            f"({run.outcome.detail or 'no reason given'}). Correct the scenario and start again. "
            "If this is how the solver behaves, add --keep-going. "
            f"{_by_hand(self._scenario, run)}"
        )


def aborted(scenario: "Scenario", run: "Finished") -> Problem:
    """What to say about a run that asked to stop the campaign."""
    return Problem(
        f"A run asked to stop the campaign: configuration {run.task.configuration.name} on "
        f"instance {run.task.instance.name!r} ({run.outcome.detail or 'no reason given'}). Correct "
        f"the cause; the same command continues. {_by_hand(scenario, run)}",
        usable=True,
    )


def unused_name(path: Path) -> Path:
    """Where to move a journal, so that the next command begins another: PATH.set-aside-N."""
    names = (path.with_name(f"{path.name}.set-aside-{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def set_aside(path: Path, place: Path) -> None:
    """Move a closed journal, with the log that SQLite keeps while somebody reads it."""
    for ending in ("", "-wal", "-shm"):
        if (file := Path(f"{path}{ending}")).exists():
            file.rename(f"{place}{ending}")


def _fault(metric: "Metric", outcome: Outcome) -> str | None:
    """Why a run says nothing about its configuration, in a few words; None where it does."""
    if outcome.cap is not None or metric.came_through(outcome.status, outcome.value):
        return None
    if outcome.value is not None and metric.counts(outcome.status):
        return OUTSIDE
    return FAILED.get(outcome.status, "gave no value")


def _by_hand(scenario: "Scenario", run: "Finished") -> str:
    """The run, and its check where that is what went wrong, as a line to paste."""
    from truecost.running.execute import Caller, by_hand

    try:
        line = by_hand(Caller(scenario), run.task, run.outcome)
    except InputError:  # the solver is on other machines only
        return "Try a run by hand where the solver is."
    return f"Try by hand: {line}"
