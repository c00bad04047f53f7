"""What runs say against their scenario: the first ones stop a campaign, with the reason and a line
to try by hand; later ones make one doubt the numbers of a journal, each in a sentence.
"""

import re
from pathlib import Path

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.journal.metric import Metric
from truecost.journal.table import RunTable
from truecost.running.execute import Caller, by_hand
from truecost.running.pools.task import Finished
from truecost.running.scenario import Scenario
from truecost.runs import Machine, Outcome, Status

# If none of this many first runs succeeds, the scenario is wrong.
FIRST_RUNS = 10
FAILED = {Status.CRASHED: "crashed", Status.VETOED: "were vetoed"}
# A run that waited for more than half its time, and half a second, did not have its core for
# itself; some may.
WAITED, WAITED_SECONDS, WAITED_SHARE = 1.5, 0.5, 0.05
# Two runs are alike when they end alike, print the same and differ in CPU time by no more than the
# clock's noise.
ALIKE, ALIKE_SECONDS, ALIKE_SHARE, ALIKE_CELLS = 0.05, 0.01, 0.95, 10


def doubts(table: RunTable, machines: list[Machine], metric: Metric) -> list[str]:
    """Everything that looks wrong, the worst first; empty where nothing does."""
    used = [machines[place - 1] for place in np.unique(table.machine)] if len(machines) else []
    notes = []
    models = sorted({machine.cpu for machine in used})
    if len(models) > 1 and metric.timed:
        notes.append(f"CPUs are mixed ({'; '.join(models)}): their times do not compare.")
    solvers = sorted({machine.solver for machine in used})
    if len(solvers) > 1:
        notes.append(
            "the solver's version changed on the way: "
            f"{'; '.join(text or 'unknown' for text in solvers)}."
        )
    waited = (table.wall > WAITED * table.cpu + WAITED_SECONDS).mean() if len(table.wall) else 0.0
    if waited > WAITED_SHARE and not (metric.timed and metric.clock == "wall"):
        notes.append(
            f"{100 * waited:.0f} % of the runs took far more wall time than CPU time: the solver "
            "waits, or others used its core."
        )
    cells, alike = _alike(table)
    if cells >= ALIKE_CELLS and alike >= ALIKE_SHARE * cells:
        notes.append(
            f"seeds seem to change nothing: in {alike:,} of {cells:,} cells all runs are alike. If "
            "the solver is deterministic, one run of each instance is enough."
        )
    if not metric.timed:
        low, high = metric.range()
        given = table.value[np.isin(table.status, metric.counted()) & ~np.isnan(table.value)]
        outside = given[(given < low) | (given > high)]
        if len(outside):
            notes.insert(
                0,
                f"{len(outside):,} of {len(given):,} values are outside [{low:g}, {high:g}], "
                f"{outside[0]:g} for instance: nothing can be said before low and high in "
                "[metric] are right; no run is lost by changing them.",
            )
    failed = np.isin(table.status, [Status.CRASHED, Status.VETOED])
    if len(failed) and failed.mean() > 0.5:
        notes.append(f"{100 * failed.mean():.0f} % of the runs crashed or were vetoed.")
    return notes


def cost_doubts(costs: FloatArray, default: FloatArray, metric: Metric) -> list[str]:
    """What the training costs of a search, and those of its default, say against its result."""
    high, runs = metric.range()[1], len(default)
    if (costs == high).all():
        return [
            f"every run cost the most there is, {high:g}: nothing could be distinguished. Raise "
            "the limits, or take easier instances."
        ]
    if (default == high).all():
        return [
            f"the default cost the most there is, {high:g}, in all its {runs:,} training "
            f"run{'s' if runs > 1 else ''}: it failed, or ran into its limits."
        ]
    return []


def _alike(table: RunTable) -> tuple[int, int]:
    """In how many cells runs can be compared, and in how many they are all alike."""
    # Where every run ended at a limit, seeds had no chance to show.
    telling = (table.status == Status.SOLVED) & (
        ~np.isnan(table.value) | (table.cpu > 2 * ALIKE_SECONDS)
    )
    cell = table.configuration * len(table.instances) + table.instance
    number = np.unique(cell, return_inverse=True)[1]
    size = int(number.max(initial=-1)) + 1
    runs = np.bincount(number, minlength=size)
    several = (runs >= 2) & (np.bincount(number, weights=telling, minlength=size) >= 1)

    def spread(values: FloatArray) -> FloatArray:
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(low, number, values)
        np.maximum.at(high, number, values)
        difference: FloatArray = high - low
        return difference

    most = np.zeros(size)
    np.maximum.at(most, number, table.cpu)
    # NaN, where nothing was printed, equals NaN; the difference of unlike infinities is never 0.
    value = spread(np.nan_to_num(table.value, nan=-1.0))
    same = (value == 0) & (spread(table.status.astype(float)) == 0)
    return int(several.sum()), int(
        (several & same & (spread(table.cpu) <= ALIKE * most + ALIKE_SECONDS)).sum()
    )


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
