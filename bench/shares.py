"""How many of the instances to choose on, and how many to certify on: `python -m bench.shares`.

Configurations of the runtime model, nearly equal (quality 0.1) or not, are all run on the same n
instances. The one with the least mean on the first part is chosen, and its true cost, which the
model knows, bounded from the other part (STaR-Bets, δ = 5 %). Printed, for each share to choose on,
in units of the range: the median limit, the mean true cost of the chosen one, and how often the
limit was wrong; then how often a share had the lowest limit of all. A small share leaves more to
certify on and chooses worse; limits say which counts for more. The last column chooses and
certifies on all instances, with δ shared by the list.
"""

import sys
import time

import numpy as np
from numpy.typing import NDArray

from truecost.stats import betting
from truecost.stats.synthetic import runtime_model

FloatArray = NDArray[np.float64]
SHARES = (1 / 10, 1 / 5, 1 / 3, 1 / 2)
DELTA = 0.05
SETS_A_MODEL = 20


def setting(
    instances: int, configurations: int, timeouts: float, quality: float, sets: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Median limit, mean true cost and misses for each share, and for the list."""
    rng = np.random.default_rng(seed)
    found = np.empty((len(SHARES) + 1, sets, 2))
    # For each way: up to where instances choose, and from where on they certify.
    parts = [(first, first) for first in (_first(instances, share) for share in SHARES)] + [
        (instances, 0)
    ]
    rows = [np.empty((sets, instances - start)) for _, start in parts]
    for i in range(sets):
        if i % SETS_A_MODEL == 0:
            model = runtime_model(
                configurations=configurations, rng=rng, timeout_rate=timeouts, quality=quality
            )
            true_cost = model.true_cost
        matrix = model.draw(instances=instances, runs=1, rng=rng)
        means = matrix.costs.mean(axis=2) / matrix.high
        for j, (end, start) in enumerate(parts):
            chosen = int(means[:, :end].mean(axis=1).argmin())
            rows[j][i] = means[chosen, start:]
            found[j, i, 1] = true_cost[chosen] / matrix.high
    for j, each in enumerate(rows):
        found[j, :, 0] = 1 - betting.star_lower(
            1 - each, (configurations if j == len(SHARES) else 1) / DELTA
        )
    missed = (found[:, :, 0] < found[:, :, 1]).mean(axis=1)
    return np.median(found[:, :, 0], axis=1), found[:, :, 1].mean(axis=1), missed


def _first(instances: int, share: float) -> int:
    return max(1, round(instances * share))


def table(sets: int = 200) -> None:
    """All settings, and who has the lowest median limit how often."""
    start, best, relative, worse, missed = (
        time.perf_counter(),
        np.zeros(len(SHARES) + 1),
        [],
        [],
        [],
    )
    names, half = [*(f"1/{round(1 / share)}" for share in SHARES), "list"], len(SHARES) - 1
    print(f"| instances | configurations | timeouts | quality | {' | '.join(names)} |")
    print("| --- " * (4 + len(names)) + "|")
    seed = 0
    for instances in (20, 40, 80, 160):
        for configurations in (5, 50, 200):
            for timeouts in (0.02, 0.1, 0.3):
                for quality in (0.1, 0.3, 0.7):
                    seed += 1
                    limits, costs, wrong = setting(
                        instances, configurations, timeouts, quality, sets, seed
                    )
                    best[limits.argmin()] += 1
                    relative.append(limits / limits[half])
                    worse.append(costs / costs[half])
                    missed.append(wrong)
                    cells = [
                        f"{a:.3f} ({b:.3f}, {c:.1%})"
                        for a, b, c in zip(limits, costs, wrong, strict=True)
                    ]
                    print(
                        f"| {instances} | {configurations} | {timeouts:.0%} | {quality} | {' | '.join(cells)} |",
                        flush=True,
                    )
    means, least, most = (
        np.mean(relative, axis=0),
        np.min(relative, axis=0),
        np.max(relative, axis=0),
    )
    print(
        f"\n{len(relative)} settings of {sets} data sets: limit (true cost of the chosen, misses), in units of the range."
    )
    dearer, errors = np.mean(worse, axis=0), np.mean(missed, axis=0)
    for j, name in enumerate(names):
        print(
            f"{name}: lowest limit in {best[j]:.0f} settings; {means[j]:.3f} of the limit with halves on average, "
            f"{least[j]:.3f} to {most[j]:.3f}; the chosen one costs {dearer[j]:.3f} times as much; misses {errors[j]:.2%}"
        )
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    table(*map(int, sys.argv[1:]))
