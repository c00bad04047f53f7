"""`make bench`: times ours and a reference in turn and prints the ratios."""

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from truecost.matrix import CostMatrix
from truecost.stats.synthetic import runtime_model
from truecost.stats.variance import variance_components


def best_of(times: int, call: Callable[[], object]) -> float:
    """The least of several wall times, which the noise of a shared machine disturbs least."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)


def row(what: str, ours: float, reference: float, against: str) -> None:
    print(f"{what:<52} {ours * 1e3:>10.2f} ms {reference / ours:>10,.1f} ×  {against}")


def components_in_loops(matrix: CostMatrix) -> None:
    """The formulas of `variance_components` as a user would write them, one configuration after the other."""
    for costs in matrix.costs:
        cells = [cell[~np.isnan(cell)] for cell in costs]
        repeated = [cell for cell in cells if cell.size >= 2]
        noise = [cell.var(ddof=1) for cell in repeated]
        np.var([cell.mean() for cell in repeated], ddof=1)
        np.mean([s / cell.size for s, cell in zip(noise, repeated, strict=True)])


def main() -> None:
    rng = np.random.default_rng(1)
    matrix = runtime_model(configurations=500, rng=rng).draw(instances=500, runs=5, rng=rng)
    part = matrix.select(configurations=matrix.configurations[:20])
    print(f"{'':<52} {'ours':>13} {'ratio':>12}  reference")
    ours = best_of(5, lambda: variance_components(matrix))
    loops = best_of(2, lambda: components_in_loops(part)) * 500 / 20
    row("variance components, 500×500×5", ours, loops, "NumPy in loops, timed on 20 configurations")
    python = [sys.executable, "-c", "pass"]
    start = best_of(5, lambda: subprocess.run(python, check=True))
    shown = [sys.executable, "-m", "truecost.cli", "--help"]
    help_time = best_of(5, lambda: subprocess.run(shown, check=True, stdout=subprocess.DEVNULL))
    row("truecost --help", help_time, start, "a bare start of Python")


if __name__ == "__main__":
    main()
