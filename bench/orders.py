"""What goes wrong if the order or the method is not fixed beforehand: `python -m bench.orders`.

Upper limits of the mean cost, the share of data sets in which the limit is below the true mean.
Sorted: 80 instances, each a timeout (0.9 and up to 0.1 more) with a chance u³ that is its
difficulty, u uniform, in the order of these chances; shuffled by one seed for all data sets, the
worst of seeds 0 to 4, or in an order drawn from the costs. Picked: 250 instances, a cost with
probability 0.3, uniform then; the best of the four methods, or of ten orders.
"""

import numpy as np
from numpy.typing import NDArray

from truecost.stats import betting, ordering

FloatArray = NDArray[np.float64]
SETS = 20_000


def missed(costs: FloatArray, mean: float, delta: float) -> FloatArray:
    """Which upper limits by STaR-Bets are below the mean."""
    return np.asarray(betting.star_reaches(1 - costs, 1 - mean, 1 / delta, True, False))


def table() -> None:
    """All counts."""
    rng, n = np.random.default_rng(1), 80
    chances = np.sort(rng.random((SETS, n)) ** 3, axis=1)
    costs = (rng.random((SETS, n)) < chances) * 0.9 + 0.1 * rng.random((SETS, n))
    mean = 0.25 * 0.9 + 0.05
    drawn = np.take_along_axis(costs, ordering.by_content(costs), axis=1)
    orders = [np.random.default_rng(seed).permutation(n) for seed in range(5)]
    for delta in (0.05, 0.2):
        one = max(missed(costs[:, order], mean, delta).mean() for order in orders)
        own = missed(drawn, mean, delta).mean()
        print(
            f"sorted instances, δ = {delta:.0%}: one seed {one:.1%}, drawn from the costs {own:.1%}"
        )
    costs, mean, delta = (rng.random((SETS, 250)) < 0.3) * rng.random((SETS, 250)), 0.15, 0.05
    size, middle, spread = costs.shape[1], costs.mean(axis=1), costs.var(axis=1, ddof=1)
    log = np.log(1 / delta)
    wrong = {
        "star-bets": missed(costs, mean, delta),
        "betting": np.asarray(betting.plug_in_rejects(1 - costs, 1 - mean, 1 / delta, False)),
        "empirical-bernstein": middle
        + np.sqrt(2 * spread * np.log(2 / delta) / size)
        + 7 * np.log(2 / delta) / (3 * (size - 1))
        < mean,
        "hoeffding": middle + np.sqrt(log / (2 * size)) < mean,
    }
    print(", ".join(f"{name} {each.mean():.1%}" for name, each in wrong.items()))
    print(f"the best of the four {np.logical_or.reduce(list(wrong.values())).mean():.1%}")
    ten = np.logical_or.reduce(
        [missed(rng.permuted(costs, axis=1), mean, delta) for _ in range(10)]
    )
    print(f"the best of ten orders {ten.mean():.1%}")


if __name__ == "__main__":
    table()
