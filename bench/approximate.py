"""How often approximate intervals of means hold: `python -m bench.approximate`, the table in
bench/RESULTS.md.

Pairs of configurations whose true costs are known: lognormal times with and without timeouts
(PAR10, cutoff 10), and pairs of the examples, drawn from with replacement. Two-sided, δ = 5 %.
*Stated* is how often there was an interval and not a reason.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from truecost import examples
from truecost.stats import approximate

FloatArray = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]
SIZES = (25, 50, 100)


def lognormal(sigma: float) -> tuple[str, Draw, tuple[float, float], float | None]:
    """Without a cutoff, the second 1.5 times as dear; half of the variance is the instance's."""

    def draw(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
        hard = rng.standard_normal(n)
        first, second = (np.exp(sigma * (hard + rng.standard_normal(n)) / 2**0.5) for _ in range(2))
        return first, 1.5 * second

    mean = float(np.exp(sigma**2 / 2))
    return f"lognormal, σ = {sigma:g}", draw, (mean, 1.5 * mean), None


def population(
    name: str, first: FloatArray, second: FloatArray, late: float | None
) -> tuple[str, Draw, tuple[float, float], float | None]:
    """Instances drawn with replacement."""

    def draw(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
        which = rng.integers(len(first), size=n)
        return first[which], second[which]

    return name, draw, (float(first.mean()), float(second.mean())), late


def sources() -> Iterator[tuple[str, Draw, tuple[float, float], float | None]]:
    """Name, draws, true costs, and what a timeout costs."""
    for sigma in (1, 2, 2.5, 3):
        yield lognormal(sigma)
    rng = np.random.default_rng(1)
    for share in (0.02, 0.1, 0.3):
        hard = rng.standard_normal(100_000)
        times = [np.exp(hard + rng.standard_normal(hard.size) + more) for more in (0.0, 0.3)]
        cutoff = float(np.quantile(times[0], 1 - share))
        first, second = (np.where(each >= cutoff, 10 * cutoff, each) for each in times)
        yield population(f"with {share:.0%} timeouts", first, second, 10 * cutoff)
    for name in examples.names():
        matrix = examples.load_example(name)
        order = np.nanmean(matrix.costs, axis=(1, 2)).argsort()
        for one, two in ((0, 10), (5, 25), (0, 40)):
            first, second = matrix.costs[order[one], :, 0], matrix.costs[order[two], :, 0]
            yield population(f"{name}, {one + 1}. and {two + 1}. best", first, second, matrix.high)


def table(sets: int = 1000) -> None:
    """Coverage where an interval was stated, and how often it was."""
    print(
        f"| pair | {' | '.join(f'difference, n = {n}' for n in SIZES)} | {' | '.join(f'ratio, n = {n}' for n in SIZES)} |"
    )
    print("| --- " * (1 + 2 * len(SIZES)) + "|")
    for name, draw, (first, second), late in sources():
        cells = []
        for ask, truth in (
            (approximate.mean_difference, first - second),
            (approximate.mean_ratio, second / first),
        ):
            for n in SIZES:
                rng, right, stated = np.random.default_rng(n), 0, 0
                for _ in range(sets):
                    one, two = draw(rng, n)
                    found = ask(
                        one, two, timeouts=None if late is None else (one >= late, two >= late)
                    )
                    stated += not found.reason
                    right += found.lower <= truth <= found.upper
                cells.append(
                    f"{right / stated:.0%}"
                    + (f" (stated {stated / sets:.0%})" if stated < sets else "")
                    if stated
                    else "never stated"
                )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    table(*map(int, sys.argv[1:]))
