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
    """The table of a sweep with Theorem 2 in the columns `bound` (Bennett's form) and `printed`; as
    it is without a range of costs.

    The variances are estimated from the matrix, and the errors are against test means: plug-in, not
    guaranteed.
    """
    if not np.isfinite(matrix.width):
        return table
    components = variance_components(matrix)
    # Rows differ in m or in the allocation: one is an array, the other a number.
    rows = table.iloc[:1] if kind == "m" else table
    sizes = even_sizes(rows["n"].to_numpy(), rows["k"].to_numpy())
    m = table["m"].to_numpy() if kind == "m" else int(table["m"].iloc[0])

    def epsilon(form: bounds.Form) -> FloatArray:
        bound = bounds.finite(
            allocation=sizes,
            components=components,
            width=matrix.width,
            delta=delta,
            configurations=m,
            form=form,
        )
        return np.broadcast_to(bound.epsilon, len(table))

    return table.assign(bound=epsilon("bennett"), printed=epsilon("printed"))
