"""Theorem 2 at the values of a sweep, next to the errors that the splits showed."""

from typing import TYPE_CHECKING

import numpy as np

from truecost.arrays import FloatArray
from truecost.matrix import CostMatrix
from truecost.paper.fit import Kind
from truecost.stats import bounds
from truecost.stats.allocation import even_sizes
from truecost.stats.variance import variance_components

if TYPE_CHECKING:
    import pandas as pd


def with_bounds(
    matrix: CostMatrix, table: "pd.DataFrame", kind: Kind, delta: float
) -> "pd.DataFrame":
    """The table of a sweep with Theorem 2 in four columns; as it is without a range of costs.

    `bound` and `printed` use the largest τ² of all configurations, `bound_best` and `printed_best`
    that of the configuration with the lowest mean cost. The variances are estimated from the
    matrix, and the errors are against test means: plug-in, not guaranteed.
    """
    if not np.isfinite(matrix.width):
        return table
    components = variance_components(matrix)
    best = int(np.nanmean(matrix.costs, axis=(1, 2)).argmin())
    # Rows differ in m or in the allocation: one is an array, the other a number.
    varied = kind == "m"
    rows = table.iloc[:1] if varied else table
    sizes = even_sizes(rows["n"].to_numpy(), rows["k"].to_numpy())
    m = table["m"].to_numpy() if varied else int(table["m"].iloc[0])

    def epsilon(form: bounds.Form, of_best: bool) -> FloatArray:
        bound = bounds.finite(
            allocation=sizes,
            components=components[best] if of_best else components,
            width=matrix.width,
            delta=delta,
            configurations=m,
            form=form,
        )
        return np.broadcast_to(bound.epsilon, len(table))

    return table.assign(
        bound=epsilon("bennett", False),
        printed=epsilon("printed", False),
        bound_best=epsilon("bennett", True),
        printed_best=epsilon("printed", True),
    )
