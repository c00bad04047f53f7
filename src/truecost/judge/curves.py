"""What a page draws against a number: errors against N and K, limits against the number of
instances.
"""

from collections.abc import Callable

import numpy as np
import polars as pl

from truecost.arrays import log_grid
from truecost.judge.costs import instance_means
from truecost.judge.evidence import Evidence
from truecost.matrix import CostMatrix
from truecost.paper import fit, resample
from truecost.paper.bounds_observed import bounds_against_reality
from truecost.paper.tables import sweep_table
from truecost.stats import confidence

# Fewer instances than this have no halves to speak of.
FEWEST_TO_SWEEP = 8
# More splits than this make a curve no smoother to the eye.
MOST_SWEPT = 200
# Points of a curve against N or K: all that are drawn.
POINTS = 60


def no_sweeps(matrix: CostMatrix, *, known: bool) -> str | None:
    """Why errors against N and K cannot be had; None if they can. `known`: all variances are."""
    configurations, instances, _ = matrix.shape
    if configurations < 2:
        return "with one configuration nothing is chosen"
    if instances < FEWEST_TO_SWEEP:
        verb = "is" if instances == 1 else "are"
        return f"that takes {FEWEST_TO_SWEEP} instances, and there {verb} {instances}"
    if matrix.counts().min() == 0:
        return "some configurations have no run on some instances"
    if matrix.censored.any():
        return "some runs were stopped at a cap, and what they cost is not known"
    return None if known else "within and across are not known for every configuration"


def sweeps(
    matrix: CostMatrix, *, splits: int, delta: float, rng: Callable[[], np.random.Generator]
) -> tuple[tuple[pl.DataFrame, ...], tuple[fit.Fit, ...]]:
    """Errors against N and K over random splits, the same in both, and the curve of the selection
    error in each table.
    """
    splits, half = max(2, min(splits, MOST_SWEPT)), matrix.shape[1] // 2
    tables = []
    for sweep, last in (
        (resample.sweep_n, int(matrix.counts().min()) * half),
        (resample.sweep_k, half),
    ):
        values = log_grid(1, last, POINTS)
        # The same splits for both curves: they differ only in what is swept.
        done = sweep(matrix, splits=splits, rng=rng(), values=values, levels=(1 - delta,))
        tables.append(sweep_table(done, bounds_against_reality(matrix, done, delta=delta)))
    return tuple(tables), tuple(fit.to_table(table, "selection") for table in tables)


def limits_by_size(
    evidence: Evidence, delta: float, rng: np.random.Generator
) -> confidence.UpperBySize:
    """Limits from growing parts of the evidence, in one random order."""
    row = evidence.runs.select(configurations=[evidence.configuration])
    means, there = instance_means(row)
    return confidence.upper_by_size(
        rng.permutation(means[0, there[0]]), row.low, row.high, delta * evidence.share
    )
