"""What configurations are compared by: one estimate for all of them, whoever asks.

The training cost of a configuration is the mean of its instance means, every instance counting
alike. Where nothing is missing that is the plain mean of the paper. Where configurations have runs
on different instances it is adjusted for how hard those are (cost = configuration + instance, by
least squares), as if all had been run on all: else whoever met the easy instances would win.

A censored run, stopped at a cap, is charged the most it can cost: whoever was stopped early must
not look cheap for it. What that adds is not hidden: beside each training cost stands the least it
can be, with every such run at its cap.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.matrix.cost_matrix import MaybeArray
from truecost.stats.estimate import training_cost
from truecost.stats.variance import VarianceComponents, instance_summaries, variance_components

# A configuration takes part in a choice if it has runs on at least this share of the instances the
# most used one has.
LEAST_SHARE = 0.5
# The share of the costs' size below which a standard error is rounding.
NOTHING = 1e-12
# Of least squares by turns; with all runs there two are enough.
SWEEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Costs:
    """Training costs of all configurations, arrays in the order of the matrix.

    Attributes
    ----------
    training, standard_error
        See the module; the standard error is over instances, of the adjusted cost where costs are
        adjusted. NaN without runs.
    plain
        The mean of its own instance means, adjusted for nothing.
    lowest
        The training cost with censored runs at their caps; the same where there are none.
    runs, instances
        How many each has.
    guessed
        Whether some of its runs failed and nobody knows what that costs: they are charged the
        largest cost seen, or what the log says, and no mean of them is meant.
    ranked
        Whether it has runs on enough instances to be compared with the others.
    order
        Places of the configurations: the ranked ones first, the least training cost before others.
    adjusted
        Whether configurations have runs on different instances, so that costs are adjusted for
        their difficulty.
    components
        `within` and `across` of each.
    means, least, mask
        Instance means, 0 where there is no run; with censored runs at their caps; and where there
        is one.
    added
        What each instance adds by its difficulty.
    """

    training: FloatArray
    plain: FloatArray
    lowest: FloatArray
    standard_error: FloatArray
    runs: IntArray
    instances: IntArray
    guessed: BoolArray
    ranked: BoolArray
    order: NDArray[np.intp]
    adjusted: bool
    components: VarianceComponents
    means: FloatArray
    least: FloatArray
    mask: BoolArray
    added: FloatArray

    @property
    def compared(self) -> FloatArray:
        """Training costs, infinite for those that cannot be compared."""
        return np.where(self.ranked, self.training, np.inf)


def costs_of(matrix: CostMatrix) -> Costs:
    """The costs of every configuration of a matrix."""
    components = variance_components(matrix)
    plain = training_cost(matrix, weights="instances", components=components)
    means, least, mask, added = levelled(matrix)
    used = mask[mask.any(axis=1)]
    adjusted = bool((used != used[:1]).any())
    training = levels(means, mask, added) if adjusted else plain.cost
    lowest = training if least is means else levels(least, mask, added if adjusted else 0 * added)
    if adjusted:
        training, lowest = (_inside(matrix, cost) for cost in (training, lowest))
    error = _adjusted_error(means, mask, added) if adjusted else plain.standard_error
    # Of equal costs, rounding leaves an error of 1e-16 of their size.
    scale = np.abs(means).max(axis=1, initial=0.0)
    enough = comparable(matrix, mask)
    return Costs(
        training=training,
        plain=plain.cost,
        lowest=lowest,
        standard_error=np.where(error <= NOTHING * scale, 0.0, error),
        runs=plain.runs,
        instances=plain.instances,
        guessed=_guessed(matrix),
        ranked=enough,
        order=np.lexsort((training, np.where(enough, training, np.inf))),
        adjusted=adjusted,
        components=components,
        means=means,
        least=least,
        mask=mask,
        added=added,
    )


def _inside(matrix: CostMatrix, costs: FloatArray) -> FloatArray:
    """Adjusted costs, none beyond what a run can cost."""
    # Differences between instances that grow with the cost do not add up.
    return np.clip(costs, matrix.low, matrix.high)


def _adjusted_error(means: FloatArray, mask: BoolArray, added: FloatArray) -> FloatArray:
    """Standard errors of adjusted costs."""
    # Such a cost errs by its own deviations from configuration + instance, over the instances it
    # has runs on, and by which instances there were at all, over those that anybody has runs on.
    counts, used = mask.sum(axis=1), mask.any(axis=0)
    if used.sum() < 2:
        return np.full(len(means), np.nan)
    rest = np.where(mask, means - added, 0)
    level = rest.sum(axis=1) / np.maximum(counts, 1)
    squares = np.where(mask, (rest - level[:, np.newaxis]) ** 2, 0).sum(axis=1)
    residual = squares / np.maximum(counts - 1, 1) / np.maximum(counts, 1)
    common = float(added[used].var(ddof=1)) / int(used.sum())
    return np.where(counts >= 2, np.sqrt(residual + common), np.nan)


def levelled(matrix: CostMatrix) -> tuple[FloatArray, FloatArray, BoolArray, FloatArray]:
    """Instance means, those with caps (the same array where nothing is censored), where there are
    some, what instances add.

    That is taken from caps where runs are censored: what is charged to one configuration must not
    help another.
    """
    means, mask = instance_means(matrix)
    least = instance_means(matrix, caps=True)[0] if matrix.censored.any() else means
    return means, least, mask, difficulty(least, mask)


def instance_means(matrix: CostMatrix, *, caps: bool = False) -> tuple[FloatArray, BoolArray]:
    """Instance means (M, P), 0 where there is no run, and where there is one; censored runs as in
    `instance_summaries`.
    """
    blocks = list(instance_summaries(matrix, caps=caps))
    means, counts = (
        np.concatenate([getattr(block, name) for block in blocks]) for name in ("means", "counts")
    )
    return means, counts > 0


def _guessed(matrix: CostMatrix) -> BoolArray:
    """Which configurations have failed runs whose cost is a guess: no largest cost is known."""
    if np.isfinite(matrix.high) or not matrix.has_statuses:
        return np.zeros(len(matrix.configurations), dtype=np.bool_)
    return np.asarray((matrix.failed & ~np.isnan(matrix.costs)).any(axis=(1, 2)))


def best_of(matrix: CostMatrix) -> int | None:
    """The place of the least cost among those that can be compared; None without runs."""
    means, _, mask, added = levelled(matrix)
    if not mask.any():
        return None
    ranked = comparable(matrix, mask)
    return int(np.argmin(np.where(ranked, levels(means, mask, added), np.inf)))


def comparable(matrix: CostMatrix, mask: BoolArray) -> BoolArray:
    """Which configurations can be compared: those with runs on enough instances, not all failed.

    What a failed run is charged may be a guess, and nobody wins by failing alone; unless all do.
    """
    counts = mask.sum(axis=1)
    enough = np.asarray(counts >= max(1.0, LEAST_SHARE * counts.max(initial=0)))
    if not matrix.has_statuses:
        return enough
    alive = np.asarray((~np.isnan(matrix.costs) & ~matrix.failed).any(axis=(1, 2)))
    return enough & alive if (enough & alive).any() else enough


def levels(means: FloatArray, mask: BoolArray, added: FloatArray) -> FloatArray:
    """The mean of instance means less what the instances add; NaN without runs."""
    counts = mask.sum(axis=1)
    level = np.where(mask, means - added, 0).sum(axis=1) / np.maximum(counts, 1)
    return np.where(counts > 0, level, np.nan)


def difficulty(means: FloatArray, mask: BoolArray) -> FloatArray:
    """What each instance adds to the costs of all, 0 on average: least squares of cost =
    configuration + instance.

    With all runs there it is the same for everybody and changes no comparison.
    """
    by_row, by_column = np.maximum(mask.sum(axis=1), 1), np.maximum(mask.sum(axis=0), 1)
    added = np.zeros(means.shape[1])
    for _ in range(SWEEPS):
        level = np.where(mask, means - added, 0).sum(axis=1) / by_row
        new = np.where(mask, means - level[:, np.newaxis], 0).sum(axis=0) / by_column
        # Only differences between instances are determined: they are 0 on average.
        new -= new.mean()
        moved = float(np.abs(new - added).max())
        added = new
        if moved <= 1e-9 * float(np.abs(added).max()):
            break
    return added


def check_names(matrix: CostMatrix, *names: str | None) -> None:
    """Refuse names that are not there."""
    for name in names:
        if name is not None and name not in matrix.configurations:
            matrix.select(configurations=[name])  # which says what is wrong with it


def check_has_runs(matrix: CostMatrix, name: str) -> None:
    """Refuse a configuration without runs."""
    check_names(matrix, name)
    if np.isnan(matrix.costs[matrix.configurations.index(name)]).all():
        raise InputError(f"Expected runs of {name!r}, got none.")


def first_runs(runs: CostMatrix, length: int, rounds: int) -> CostMatrix:
    """The first runs on each of the first instances."""
    # A stable sort of "is missing" puts the runs that are there first, in their order.
    first = np.argsort(np.isnan(runs.costs[:, :length]), axis=2, kind="stable")[:, :, :rounds]

    def kept(values: MaybeArray) -> MaybeArray:
        return None if values is None else np.take_along_axis(values[:, :length], first, axis=2)

    return runs.replace(
        costs=kept(runs.costs),
        instances=runs.instances[:length],
        families=None if runs.families is None else runs.families[:length],
        statuses=kept(runs.statuses),
        seeds=kept(runs.seeds),
    )
