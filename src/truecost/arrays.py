"""Names for the arrays that most modules take and give."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def floats(values: Any) -> FloatArray:
    """Return numbers as an array, NaN where one is masked."""
    if hasattr(values, "filled"):  # to ask for np.ma would load it
        values = values.astype(np.float64).filled(np.nan)
    return np.asarray(values, dtype=np.float64)
