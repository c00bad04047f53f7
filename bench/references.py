"""What a good user would write without truecost, to compare with."""

import numpy as np
from numpy.typing import NDArray

from truecost.matrix import CostMatrix

FloatArray = NDArray[np.float64]


def components_in_loops(matrix: CostMatrix) -> None:
    """The formulas of `variance_components`, one configuration after the other."""
    for costs in matrix.costs:
        cells = [cell[~np.isnan(cell)] for cell in costs]
        repeated = [cell for cell in cells if cell.size >= 2]
        noise = [cell.var(ddof=1) for cell in repeated]
        np.var([cell.mean() for cell in repeated], ddof=1)
        np.mean([s / cell.size for s, cell in zip(noise, repeated, strict=True)])


def numpy_n_sweep(
    costs: FloatArray, splits: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """The N-sweep with every configuration in its own order, vectorised over configurations:
    uniform and selection error.
    """
    configurations, instances, runs = costs.shape
    half = instances // 2
    means = costs.mean(axis=2)
    numbers = np.arange(1, runs * half + 1)
    uniform, selection = np.empty((splits, numbers.size)), np.empty((splits, numbers.size))
    rows = np.arange(configurations)[:, np.newaxis]
    for s in range(splits):
        order = rng.permutation(instances)
        truth = means[:, order[half : 2 * half]].mean(axis=1, keepdims=True)
        shuffled = rng.permuted(costs[:, order[:half]], axis=2)
        rounds = []
        for r in range(runs):
            places = rng.permuted(np.broadcast_to(np.arange(half), (configurations, half)), axis=1)
            rounds.append(shuffled[rows, places, r])
        estimates = np.concatenate(rounds, axis=1).cumsum(axis=1) / numbers
        errors = truth - estimates
        uniform[s] = errors.max(axis=0)
        selection[s] = errors[estimates.argmin(axis=0), np.arange(numbers.size)]
    return uniform, selection
