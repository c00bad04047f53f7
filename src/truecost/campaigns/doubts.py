"""What in a journal should make one doubt its numbers, each in a sentence."""

import numpy as np

from truecost.arrays import FloatArray
from truecost.journal.metric import Metric
from truecost.journal.table import RunTable
from truecost.runs import Machine, Status

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
