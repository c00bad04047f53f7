"""`make bench`: times ours and a reference in turn and prints the ratios."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from bench import imports, widths
from bench.references import components_in_loops, numpy_n_sweep
from bench.replaying import deciding, replaying
from bench.reporting import reporting
from bench.reproducing import reproducing
from bench.running import running
from truecost import examples
from truecost.matrix import CostMatrix
from truecost.paper import exact, resample
from truecost.stats.synthetic import runtime_model
from truecost.stats.variance import variance_components

sys.path.append(str(Path(__file__).parent.parent / "tests"))
import naive

SPLITS = 2500


def best_of(times: int, call: Callable[[], object]) -> float:
    """The least of several wall times, which the noise of a shared machine disturbs least."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)


def row(what: str, ours: float, reference: float, against: str) -> None:
    print(
        f"{what:<44} {ours:>9.4f} s {reference:>12.2f} s {reference / ours:>11,.1f} ×  {against}",
        flush=True,
    )


def matrix_of(configurations: int, instances: int, runs: int) -> CostMatrix:
    rng = np.random.default_rng(1)
    return runtime_model(configurations=configurations, rng=rng).draw(
        instances=instances, runs=runs, rng=rng
    )


def run(sweep: Callable[..., resample.Sweep], matrix: CostMatrix, splits: int) -> None:
    sweep(matrix, splits=splits, rng=np.random.default_rng(1))


def core(matrix: CostMatrix) -> None:
    part = matrix.select(configurations=matrix.configurations[:20])
    ours = best_of(5, lambda: variance_components(matrix))
    loops = best_of(2, lambda: components_in_loops(part)) * 500 / 20
    row("variance components", ours, loops, "NumPy in loops, 20 configurations timed")


def experiments(matrix: CostMatrix) -> None:
    costs: naive.Costs = matrix.costs.tolist()
    k, n = exact.grid(500)
    grid = best_of(
        5,
        lambda: [
            exact.mean_squared_error(matrix, estimator=e, instances=k, runs=n).mean
            for e in exact.ESTIMATORS
        ],
    )
    few = costs[:3]

    def naive_grid() -> None:
        for at in range(k.shape[0]):
            for kind in ("even", "concentrated", "pairs"):
                naive.estimator_errors(
                    kind, few, naive.PythonStream(1), int(k[at, 0]), 250, n[at].tolist()
                )

    row(
        "estimators, exact, 9×16 grid",
        grid,
        best_of(1, naive_grid) * SPLITS * 500 / 3,
        "plain Python, 3 configurations timed",
    )

    sweeps: list[tuple[str, Callable[..., resample.Sweep], Callable[[], object]]] = [
        (
            "m-sweep",
            resample.sweep_m,
            lambda: naive.m_sweep(costs, naive.PythonStream(1), 250, 250),
        ),
        (
            "K-sweep",
            resample.sweep_k,
            lambda: naive.k_sweep(costs, naive.PythonStream(1), 250, 250),
        ),
        (
            "N-sweep, own order",
            resample.sweep_n,
            lambda: naive.n_sweep(costs, naive.PythonStream(1), 250, 250, 5),
        ),
    ]
    for name, sweep, one_split in sweeps:
        sweep(
            matrix, splits=2, rng=np.random.default_rng(0)
        )  # compiles, or loads what was compiled before
        slow = best_of(2, one_split) * SPLITS
        ours = best_of(3, partial(run, sweep, matrix, SPLITS))
        row(f"{name}, {SPLITS:,} splits", ours, slow, "plain Python, one split timed")
    vectorised = (
        best_of(3, lambda: numpy_n_sweep(matrix.costs, 2, np.random.default_rng(1))) * SPLITS / 2
    )
    row("the same", ours, vectorised, "vectorised NumPy, two splits timed")
    resample.sweep_n(matrix, splits=2, rng=np.random.default_rng(0), common_seeds=True)
    common = best_of(
        2,
        lambda: resample.sweep_n(
            matrix, splits=SPLITS, rng=np.random.default_rng(1), common_seeds=True
        ),
    )
    row("N-sweep, common seeds", common, ours, "ours, own order")


def growth() -> None:
    """Time against each size, the other two fixed: doubling a size should double the time."""
    print(f"\n{'N-sweep, seconds':<44} {'once':>9} {'twice':>11} {'four times':>13}")
    for name, sizes in (
        ("splits 500, 1000, 2000 at 200×200×5", [(200, 200, s) for s in (500, 1000, 2000)]),
        ("configurations 100, 200, 400, 1000 splits", [(c, 200, 1000) for c in (100, 200, 400)]),
        ("N 250, 500, 1000 (instances 100, 200, 400)", [(200, p, 1000) for p in (100, 200, 400)]),
    ):
        spent = []
        for configurations, instances, splits in sizes:
            matrix = matrix_of(configurations, instances, 5)
            spent.append(best_of(3, partial(run, resample.sweep_n, matrix, splits)))
        print(f"{name:<44} {spent[0]:>9.3f} {spent[1]:>11.3f} {spent[2]:>13.3f}", flush=True)


def memory() -> None:
    """Peak memory of the N-sweep in a process of its own, and what the results of its splits take."""
    script = (
        "import re, sys, numpy as np\n"
        "from bench.__main__ import matrix_of\n"
        "from truecost.paper import resample\n"
        "resample.sweep_n(matrix_of(500, 500, 5), splits=int(sys.argv[1]), rng=np.random.default_rng(1))\n"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])\n"
    )
    peaks = []
    for splits in (100, SPLITS):
        ended = subprocess.run(
            [sys.executable, "-c", script, str(splits)], check=True, capture_output=True, text=True
        )
        peaks.append(int(ended.stdout) / 1024)
    print(
        f"\nN-sweep, peak memory: {peaks[0]:.0f} MB at 100 splits, {peaks[1]:.0f} MB at {SPLITS:,}"
    )
    results = (SPLITS - 100) * 4 * 1250 * 8 / 2**20
    print(
        f"growth {peaks[1] - peaks[0]:.0f} MB; the four curves of {SPLITS - 100:,} splits are {results:.0f} MB"
    )


def starts() -> None:
    """The command line: --help, and a first and a second start with an empty cache of compiled
    kernels.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix.npz"
        matrix_of(10, 20, 2).save(path)
        where = {**os.environ, "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-m", "truecost.cli"]

        def start(*words: str) -> None:
            subprocess.run([*command, *words], check=True, stdout=subprocess.DEVNULL, env=where)

        print()
        bare = best_of(5, lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
        row("truecost --help", best_of(5, lambda: start("--help")), bare, "a bare start of Python")
        words = ("experiment", "n", str(path), "--splits", "10")
        first = best_of(1, lambda: start(*words))
        row(
            "second start of `experiment n`",
            best_of(3, lambda: start(*words)),
            first,
            "the first, which compiles",
        )


def main() -> None:
    """Everything, on one matrix."""
    load = re.findall(r"[\d.]+", Path("/proc/loadavg").read_text())[0]
    print(f"Matrix 500×500×5, {os.cpu_count()} processors, load before the start {load}\n")
    print(f"{'':<44} {'ours':>11} {'reference':>14} {'ratio':>13}  reference")
    matrix = matrix_of(500, 500, 5)
    core(matrix)
    experiments(matrix)
    growth()
    memory()
    print()
    for name in examples.names():
        reproducing(name, examples.load_example(name), SPLITS)
    reproducing("500×500×5", matrix, SPLITS)
    reporting(matrix)
    starts()
    running()
    widths.main([])
    imports.main()
    replaying(1000)
    deciding()


if __name__ == "__main__":
    main()
