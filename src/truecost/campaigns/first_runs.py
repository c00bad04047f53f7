"""What a gathering's first runs say of its scenario: a wrong one stops early, with the reason and a
line to try by hand.
"""

import re
from pathlib import Path

from truecost.errors import InputError
from truecost.journal.metric import Metric
from truecost.running.caller import Caller
from truecost.running.execute import by_hand
from truecost.running.pools.task import Finished
from truecost.running.scenario import Scenario
from truecost.runs import Outcome, Status

# If none of this many first runs succeeds, the scenario is wrong.
FIRST_RUNS = 10
FAILED = {Status.CRASHED: "crashed", Status.VETOED: "were vetoed"}


def fault(metric: Metric, outcome: Outcome) -> str | None:
    """Why a run says nothing of its configuration, in a word or two; None where it does."""
    if outcome.cap is not None or metric.came_through(outcome.status, outcome.value):
        return None
    return FAILED.get(outcome.status, "gave no value")


def outside(metric: Metric, outcome: Outcome) -> bool:
    """Whether the run's cost is one that cannot be."""
    counted = not metric.timed and outcome.status in metric.counted() and outcome.value is not None
    return counted and not metric.came_through(outcome.status, outcome.value)


def none_came_through(scenario: Scenario, journal: Path, failed: list[Finished]) -> str:
    """What to say when all of the first runs failed."""
    default = scenario.space.default().name
    ordered = sorted(
        failed, key=lambda run: (run.task.number, run.task.configuration.name != default)
    )
    kinds: dict[str, list[Finished]] = {}
    for run in ordered:
        kinds.setdefault(fault(scenario.metric, run.outcome) or "", []).append(run)
    most = sorted(kinds.items(), key=lambda item: -len(item[1]))
    summary = ", ".join(
        f"{'all' if len(runs) == len(failed) else len(runs)} {kind} "
        f"({runs[0].outcome.detail or 'no reason given'})"
        for kind, runs in most
    )
    # Journal.write sets aside runs that all crashed alike.
    alike = len({re.sub(r"\d+", "", run.outcome.detail) for run in failed}) == 1
    set_aside = alike and list(kinds) == [FAILED[Status.CRASHED]]
    again = "start again, which sets these runs aside" if set_aside else f"remove {journal}"
    return (
        f"expected an answer from at least one of the first {len(failed)} runs, and {summary}. If "
        f"the scenario is wrong, mend it and {again}; if this is what it does, go on: "
        f"`keep_going=True`. {_try(scenario, most[0][1][0])}"
    )


def cost_outside(scenario: Scenario, journal: Path, kind: str, run: Finished) -> str:
    """What to say of a value outside [low, high]."""
    low, high = scenario.metric.range()
    then = (
        "; no run is lost by it"
        if kind == "gather"
        else f" and remove {journal}, whose decisions all depend on them"
    )
    return (
        f"expected costs in [{low:g}, {high:g}], and configuration {run.task.configuration.name} "
        f"on instance {run.task.instance.name!r} cost {run.outcome.value:g}. Change low and high "
        f"in [metric]{then}. {_try(scenario, run)}"
    )


def was_aborted(scenario: Scenario, run: Finished) -> str:
    """What to say of a run that ended for reasons that are not its own."""
    return (
        "expected a run that ends by itself or at its limits, and configuration "
        f"{run.task.configuration.name} on instance {run.task.instance.name!r} was aborted "
        f"({run.outcome.detail}); it will be done again. {_try(scenario, run)}"
    )


def _try(scenario: Scenario, run: Finished) -> str:
    """The run, and its check where that is what went wrong, as a line to paste."""
    task = run.task
    try:
        caller = Caller(scenario)
        line = by_hand(caller, task.configuration, task.instance, task.seed, run.outcome)
    except InputError:
        # The solver is on the cluster's machines only.
        return "Try it by hand where it ran."
    return f"Try by hand: {line}"
