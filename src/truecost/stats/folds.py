"""Cross-validation folds: approximate intervals, since no guarantee exists.

Folds of one data set share training data, so their results are not independent, and no variance
estimate is unbiased (Bengio and Grandvalet 2004). Nadeau and Bengio (2003) correct the variance of
the mean for the overlap: s²·(1/J + n_test/n_train) with Student's t for J − 1 degrees of freedom.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from truecost.errors import InputError, check_share


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldInterval:
    """An approximate interval of a mean over folds.

    Attributes
    ----------
    estimate, lower, upper
        The mean over folds, and the interval.
    standard_error
        Corrected for the overlap of training sets.
    folds
        J, how many results there are, over all repetitions.
    test_over_train
        Test rows for each training row.
    delta
        The interval has the nominal level 1 − delta.
    """

    estimate: float
    lower: float
    upper: float
    standard_error: float
    folds: int
    test_over_train: float
    delta: float


def corrected_t(
    values: ArrayLike, *, test_over_train: float | None = None, delta: float = 0.05
) -> FoldInterval:
    """The corrected resampled t interval of a mean over folds, or of a mean paired difference.

    Parameters
    ----------
    values
        One number per fold, over all repetitions.
    test_over_train
        Test rows for each training row; for J folds of one repetition 1/(J − 1), which is assumed
        if None.
    delta
        For both sides together.
    """
    numbers = np.asarray(values, dtype=np.float64).ravel()
    folds = numbers.size
    if folds < 2 or not np.isfinite(numbers).all():
        raise InputError(f"Expected finite results of at least 2 folds, got {folds}.")
    ratio = 1 / (folds - 1) if test_over_train is None else test_over_train
    if not (ratio > 0 and math.isfinite(ratio)):
        raise InputError(f"Expected `test_over_train` above 0, got {ratio}.")
    check_share(delta)
    error = math.sqrt(float(numbers.var(ddof=1)) * (1 / folds + ratio))
    # By the lower tail: 1 − delta/2 is 1 where delta is small.
    margin = -float(stdtrit(folds - 1, delta / 2)) * error
    mean = float(numbers.mean())
    return FoldInterval(
        estimate=mean,
        lower=mean - margin,
        upper=mean + margin,
        standard_error=error,
        folds=folds,
        test_over_train=ratio,
        delta=delta,
    )
