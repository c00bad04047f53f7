"""Coverage of the corrected resampled t interval over cross-validation folds: `python -m bench.folds`.

Two learners, nearest-centroid classifiers, see five features each of rows in which all ten are
alike, so that their expected errors are exactly equal: the true difference is 0. Every data set is
drawn anew, cross-validated, and the interval of the mean paired difference counted. Beside it, the
t interval that takes folds for independent results.
"""

import argparse
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from truecost.stats.folds import corrected_t

FloatArray = NDArray[np.float64]
SHIFT = 0.35


def differences(rng: np.random.Generator, rows: int, folds: int, repeats: int) -> FloatArray:
    """Error of the first learner minus that of the second, on each fold of each repetition."""
    labels = rng.integers(2, size=rows)
    features = rng.standard_normal((rows, 10)) + SHIFT * labels[:, np.newaxis]
    found = np.empty((repeats, folds))
    for repeat in range(repeats):
        owner = rng.permutation(np.arange(rows) % folds)
        for fold in range(folds):
            train, test = owner != fold, owner == fold
            centres = [features[train & (labels == label)].mean(axis=0) for label in (0, 1)]
            nearer = ((features[test] - centres[1]) ** 2) - ((features[test] - centres[0]) ** 2)
            wrong = [
                (part.sum(axis=1) < 0) != labels[test] for part in (nearer[:, :5], nearer[:, 5:])
            ]
            found[repeat, fold] = wrong[0].mean() - wrong[1].mean()
    return found.ravel()


def coverage(rows: int, folds: int, repeats: int, sets: int, delta: float) -> tuple[float, float]:
    """How often the corrected interval, and the naive one, contain 0."""
    rng = np.random.default_rng([rows, folds, repeats])
    held = np.zeros(2)
    for _ in range(sets):
        values = differences(rng, rows, folds, repeats)
        interval = corrected_t(values, test_over_train=1 / (folds - 1), delta=delta)
        held[0] += interval.lower <= 0 <= interval.upper
        margin = stdtrit(values.size - 1, 1 - delta / 2) * values.std(ddof=1)
        held[1] += abs(values.mean()) <= margin / math.sqrt(values.size)
    return held[0] / sets, held[1] / sets


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.folds")
    parser.add_argument("--sets", type=int, default=1000)
    options = parser.parse_args()
    print("| rows | folds | nominal | corrected t | folds as independent |")
    print("| --- | --- | --- | --- | --- |")
    for rows in (50, 200, 1000):
        for folds, repeats in ((5, 1), (10, 1), (10, 10)):
            for delta in (0.05, 0.2):
                held, naive = coverage(rows, folds, repeats, options.sets, delta)
                name = f"{repeats} × {folds}" if repeats > 1 else str(folds)
                print(
                    f"| {rows} | {name} | {1 - delta:.0%} | {held:.1%} | {naive:.1%} |", flush=True
                )


if __name__ == "__main__":
    main()
