"""What the first runs say against their scenario, with a line to try by hand."""

from typing import TYPE_CHECKING

from truecost.errors import InputError, counted
from truecost.runs import Outcome, Status

if TYPE_CHECKING:
    from truecost.running.metric import Metric
    from truecost.running.pools import Finished
    from truecost.running.scenario import Scenario

# If none of this many first runs succeeds, the scenario is wrong.
FIRST_RUNS = 10
FAILED = {Status.CRASHED: "crashed", Status.WRONG: "gave a wrong answer"}
AGAIN = "start again: these runs are then set aside"


def fault(metric: "Metric", outcome: Outcome) -> str | None:
    """Why a run says nothing about its configuration, in a word or two; None where it does."""
    if outcome.cap is not None or metric.came_through(outcome.status, outcome.value):
        return None
    return FAILED.get(outcome.status, "gave no value")


def outside(metric: "Metric", outcome: Outcome) -> bool:
    """Whether the run reported a cost outside the metric's range."""
    if metric.timed or outcome.value is None or outcome.status not in metric.counted():
        return False
    return not metric.came_through(outcome.status, outcome.value)


def none_came_through(scenario: "Scenario", failed: "list[Finished]") -> str:
    """What to say when all of the first runs failed."""
    ordered = sorted(failed, key=lambda run: run.task.number)
    kinds: dict[str, list[Finished]] = {}
    for run in ordered:
        kinds.setdefault(fault(scenario.metric, run.outcome) or "failed", []).append(run)
    most = sorted(kinds.items(), key=lambda item: -len(item[1]))
    reasons = ", ".join(
        f"{len(runs)} {kind} ({runs[0].outcome.detail or 'no reason given'})" for kind, runs in most
    )
    line = _by_hand(scenario, most[0][1][0])
    return (
        f"The first {counted(len(failed), 'run')} all failed: {reasons}. Correct the scenario and "
        f"{AGAIN}. If this is how the solver behaves, add --keep-going. {line}"
    )


def cost_outside(scenario: "Scenario", run: "Finished", gathered: bool) -> str:
    """What to say about a value outside [low, high]."""
    low, high = scenario.metric.range()
    then = "start again: no run is lost" if gathered else AGAIN
    return (
        f"Configuration {run.task.configuration.name} on instance {run.task.instance.name!r} cost "
        f"{run.outcome.value:g}, which is not between low = {low:g} and high = {high:g}. Correct "
        f"them under [metric] in {scenario.path} and {then}."
    )


def was_aborted(scenario: "Scenario", run: "Finished") -> str:
    """What to say about a run that asked to stop the campaign."""
    return (
        f"A run asked to stop the campaign: configuration {run.task.configuration.name} on "
        f"instance {run.task.instance.name!r} ({run.outcome.detail or 'no reason given'}). Correct "
        f"the cause; the same command continues. {_by_hand(scenario, run)}"
    )


def _by_hand(scenario: "Scenario", run: "Finished") -> str:
    """The run, and its check where that is what went wrong, as a line to paste."""
    from truecost.running.execute import Caller, by_hand

    task = run.task
    try:
        line = by_hand(Caller(scenario), task.configuration, task.instance, task.seed, run.outcome)
    except InputError:  # the solver is on other machines only
        return "Try a run by hand where the solver is."
    return f"Try by hand: {line}"
