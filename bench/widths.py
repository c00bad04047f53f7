"""How tight limits from the runs alone are, where the truth is known.

Instances are drawn with replacement from a matrix, all their runs with them, so that the true cost
of a configuration is the mean of its row and the variance of an instance mean is known too. The
error of an upper limit is upper − estimate. The oracle is the (1 − δ)-quantile of true cost −
estimate itself: no constant added to the estimate covers with less. The floor is the least a valid
limit can say of K instances that cost `low`, 1 − δ^(1/K) of the range: so few cannot rule out
timeouts that are rarer.

`make bench` takes the examples of the package and matrices of the runtime model; `python -m
bench.widths FILE…` any matrix.
"""

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truecost import examples
from truecost.matrix import CostMatrix
from truecost.stats import betting, bounds, confidence
from truecost.stats.allocation import even
from truecost.stats.synthetic import runtime_model
from truecost.stats.variance import VarianceComponents

FloatArray = NDArray[np.float64]
SIZES = (10, 25, 50, 100, 250)
DATA_SETS = 1000
METHODS: tuple[confidence.Method, ...] = (
    "star-bets",
    "betting",
    "empirical-bernstein",
    "hoeffding",
)
SEQUENCES: tuple[confidence.SequenceMethod, ...] = ("betting", "empirical-bernstein")
HEADS = ("floor", "Theorem 2*", *METHODS, *(f"{name}, always" for name in SEQUENCES))


class Widths(NamedTuple):
    """Median errors in units of the oracle, in the order of `HEADS`, and how often the default
    missed.
    """

    oracle: float
    ratios: list[float]
    missed: float


def matrices() -> Iterator[tuple[str, CostMatrix]]:
    """The examples of the package, and PAR10 models with few and with many timeouts."""
    for name in examples.names():
        yield name, examples.load_example(name)
    for rate in (0.02, 0.1, 0.3):
        rng = np.random.default_rng(1)
        model = runtime_model(configurations=20, rng=rng, timeout_rate=rate)
        yield f"PAR10 model, about {rate:.0%} timeouts", model.draw(instances=1000, runs=5, rng=rng)


def widths(
    means: FloatArray,
    low: float,
    high: float,
    instances: int,
    delta: float,
    rng: np.random.Generator,
) -> Widths:
    """Of one configuration, given its mean on every instance of the population."""
    truth = means.mean()
    many = rng.choice(means, (20_000, instances))
    oracle = float(np.quantile(truth - many.mean(axis=1), 1 - delta))
    # A limit is below the true cost where the capital against the true cost reaches 1/δ, which is
    # known much faster.
    missed = betting.star_reaches(
        (high - many) / (high - low), (high - truth) / (high - low), 1 / delta, True, False
    )
    known = VarianceComponents.known(within=0, across=means.var())
    theorem_2 = bounds.single(
        allocation=even(instances, instances), components=known, width=high - low, delta=delta
    ).epsilon
    errors = [(high - low) * (1 - delta ** (1 / instances)), theorem_2]
    costs = many[:DATA_SETS, :, np.newaxis]
    for method in METHODS:
        found = confidence.upper(costs, low, high, delta, method=method, configurations=1)
        errors.append(np.median(found.upper - np.asarray(found.estimate)))
    for sequence in SEQUENCES:
        whole = confidence.sequence(
            costs[:200], low, high, delta, method=sequence, side="upper", configurations=1
        )
        errors.append(np.median(whole.upper[:, -1] - whole.estimate[:, -1]))
    # One that nearly always times out costs the same in most samples: there is no unit to use.
    ratios = [float(error) / oracle if oracle > 0 else np.nan for error in errors]
    return Widths(oracle, ratios, float(np.mean(missed)))


def table(name: str, matrix: CostMatrix, delta: float = 0.05) -> None:
    """The best, the middle and the worst configuration of a matrix, as Markdown."""
    means = np.nanmean(matrix.costs, axis=2)
    means = means[
        np.nanvar(means, axis=1) > 0
    ]  # of a cost that never varies there is nothing to learn
    ranked = np.argsort(np.nanmean(means, axis=1))
    rng = np.random.default_rng(2)
    print(
        f"\n{name}, costs in [{matrix.low:g}, {matrix.high:g}], δ = {delta:g}: median error of the upper limit / oracle"
    )
    print(f"\n| true cost | K | oracle | {' | '.join(HEADS)} | star-bets missed |")
    print(f"| --- | --- | --- |{' --- |' * (len(HEADS) + 1)}")
    for row in (ranked[0], ranked[len(ranked) // 2], ranked[-1]):
        population = means[row][~np.isnan(means[row])]
        for instances in SIZES:
            found = widths(population, matrix.low, matrix.high, instances, delta, rng)
            ratios = " | ".join(f"{ratio:.2f}" for ratio in found.ratios)
            print(
                f"| {population.mean():.3g} | {instances} | {found.oracle:.3g} | {ratios} | {found.missed:.1%} |",
                flush=True,
            )


def speed() -> None:
    """The time of an interval, for one configuration and for 500."""
    rng = np.random.default_rng(3)
    matrix = runtime_model(configurations=500, rng=rng).draw(instances=250, runs=5, rng=rng)
    confidence.interval(matrix.costs[:1], 0, 100)  # compiles, or loads what was compiled before
    for number in (1, 500):
        spent = []
        for _ in range(5):
            start = time.perf_counter()
            confidence.interval(matrix.costs[:number], matrix.low, matrix.high)
            spent.append(time.perf_counter() - start)
        print(
            f"star-bets interval, 250 instances, {number:>3} configurations: {min(spent) * 1000:.1f} ms"
        )


def main(files: list[str]) -> None:
    """The tables of these files, or of the model."""
    print(
        "\nLimits from the runs alone. floor: the least where all costs are low. Theorem 2*: m = 1, Bennett's form, given"
    )
    print(
        "the true variance. always: valid at all times, after K instances. missed: how often the limit was too low."
    )
    for name, matrix in ((file, CostMatrix.load(file)) for file in files) if files else matrices():
        table(name, matrix)
    print()
    speed()


if __name__ == "__main__":
    main(sys.argv[1:])
