"""Names for the arrays that most modules take and give, and the grid that curves are drawn on."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def log_grid(low: int, high: int, number: int) -> IntArray:
    """Return up to `number` distinct integers, evenly spaced on a logarithmic scale, since curves
    bend where numbers are small.
    """
    return np.unique(np.rint(np.geomspace(low, high, number)).astype(np.int64))
