"""`truecost experiment`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.command import declared
from truecost.cli.options import (
    SPLITS,
    Delta,
    Json,
    Quiet,
    Seed,
    Splits,
    Threads,
    option,
    out_option,
)
from truecost.cli.printing import answer, number, print_line, print_table
from truecost.cli.progress import progress
from truecost.cli.reading import Source, check_out
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix
    from truecost.paper.bounds_observed import Reality
    from truecost.paper.exact import SquaredError
    from truecost.paper.fit import Fit, Kind
    from truecost.paper.resample import EstimatorErrors, Sweep

app = typer.Typer(
    rich_markup_mode=None,
    help="The paper's experiments on any matrix: estimators compared, and the error against m, N "
    "and K.",
)

Out = Annotated[Path | None, out_option("a .parquet file takes every number")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How an experiment draws, and where its numbers go."""

    seed: Seed = 1
    train: Annotated[
        int | None,
        option("Training instances K; half of them if not given.", "--train-instances", min=1),
    ] = None
    test: Annotated[
        int | None, option("Test instances; half of them if not given.", "--test-instances", min=1)
    ] = None
    threads: Threads = None
    out: Out = None
    json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeping(Sampling):
    """The same for an experiment that sweeps m, N or K."""

    splits: Splits = 2500
    delta: Delta = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise InputError(f"Expected delta between 0 and 1, got {self.delta}.")


NAMES = {"even": "S*", "concentrated": "S†", "scattered": "S°", "pairs": "S° pairs"}
# Nothing moves meanwhile.
COMPILING = "compiling, if this is the first start"


@app.command(short_help="Three ways to spread runs over instances compared, exactly.")
@declared
def estimators(
    source: Source,
    sampling: Sampling,
    splits: Annotated[int | None, option(f"{SPLITS}; without, closed forms only.", min=2)] = None,
) -> None:
    """S*, S† and S° compared: the exact mean squared error over the paper's grid of K and N.

    With --splits it is simulated too, at K = --train-instances.
    """
    from truecost.paper import exact, tables

    matrix = load(source, sampling.out)
    exact.check_complete(matrix)
    k, n = exact.grid_within(matrix)
    errors = exact.by_estimator(matrix, k, n, sampling.test)
    results = {"exact": tables.exact_table(k, n, errors)}
    simulated = None
    if splits:
        simulated = _simulated(matrix, splits, sampling, int(k[-1, 0]))
        results["simulated"] = tables.estimator_table(simulated)
    if sampling.out is not None:
        table = results["exact"]
        if simulated is not None:
            simulation = results["simulated"].rename({"squared": "squared_simulated"})
            keys = ["estimator", "k", "n"]
            table = table.join(
                simulation, on=keys, how="full", coalesce=True, maintain_order="left"
            )
        about = {"seed": sampling.seed, "splits": splits or 0, "matrix": str(source.runs)}
        tables.save(table, sampling.out, experiment="estimators", **about)
    answer(
        sampling.json,
        lambda: {
            "seed": sampling.seed,
            "splits": splits or 0,
            **{name: table.to_dicts() for name, table in results.items()},
        },
        lambda: _print_estimators(k[-1], n[-1], errors, simulated),
    )


def _simulated(
    matrix: "CostMatrix", splits: int, sampling: Sampling, most: int
) -> "EstimatorErrors":
    from truecost.paper import exact, resample

    train = most if sampling.train is None else sampling.train
    _, runs = exact.grid(matrix.shape[1], r1=[train / matrix.shape[1]])
    with splits_done(splits, sampling.quiet) as tell:
        return resample.compare_estimators(
            matrix,
            splits=splits,
            rng=sampling.seed,
            runs=runs[runs <= train * int(matrix.counts().min())],
            train=train,
            test=sampling.test,
            estimators=exact.defined_on(matrix),
            threads=sampling.threads,
            progress=tell,
        )


@app.command()
@declared
def m(source: Source, sweeping: Sweeping) -> None:
    """The error against m, the number of configurations chosen from."""
    _sweep("m", source, sweeping)


@app.command()
@declared
def n(
    source: Source,
    sweeping: Sweeping,
    common_seeds: Annotated[
        bool,
        option("All configurations in the same order of instances and runs.", "--common-seeds"),
    ] = False,
) -> None:
    """The error against N, the number of runs of each configuration."""
    _sweep("n", source, sweeping, common_seeds=common_seeds)


@app.command()
@declared
def k(source: Source, sweeping: Sweeping) -> None:
    """The error against K, the number of training instances."""
    _sweep("k", source, sweeping)


def _sweep(kind: "Kind", source: Source, sweeping: Sweeping, **more: bool) -> None:
    """What the three commands do with their options."""
    matrix = load(source, sweeping.out)
    from truecost.paper import bounds_observed, fit, resample, tables

    splits, seed, delta = sweeping.splits, sweeping.seed, sweeping.delta
    with splits_done(splits, sweeping.quiet) as tell:
        sweep = resample.sweep(
            matrix,
            kind,
            splits=splits,
            rng=seed,
            levels=bounds_observed.levels_for(delta),
            progress=tell,
            train=sweeping.train,
            test=sweeping.test,
            threads=sweeping.threads,
            **more,
        )
    bounds = bounds_observed.bounds_against_reality(matrix, sweep, delta=delta)
    fits: dict[str, Fit] = {}
    if sweep.values.size >= 4:
        fits = {
            name: fit.curve(sweep.values, getattr(sweep, name), kind=kind)
            for name in ("uniform", "selection")
        }
    if sweeping.out is not None:
        tables.save(
            tables.sweep_table(sweep, bounds),
            sweeping.out,
            experiment=kind,
            seed=seed,
            splits=splits,
            delta=delta,
            matrix=str(source.runs),
            train=sweep.train,
            test=sweep.test_instances,
            common_seeds=sweep.common_seeds,
        )
    answer(
        sweeping.json,
        lambda: _sweep_data(sweep, bounds, fits, seed),
        lambda: _print_sweep(sweep, bounds, fits),
    )


def load(source: Source, out: Path | None) -> "CostMatrix":
    """The matrix, and a place for results that can be written."""
    check_out(out, source.runs, endings=(".parquet",))
    return source.read().matrix


@contextmanager
def splits_done(splits: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Progress over splits; what it yields takes how many more are done."""
    done = 0
    with progress("splits", quiet=quiet, note=COMPILING) as meter:

        def more(number: int) -> None:
            nonlocal done
            done += number
            meter.count(done, splits)

        yield more


def _sweep_data(
    sweep: "Sweep", reality: "Reality", fits: "dict[str, Fit]", seed: int
) -> dict[str, Any]:
    done = ("splits", "train", "test_instances", "common_seeds", "values")
    curves = ("uniform", "selection", "training", "test", "standard_errors", "levels", "quantiles")
    return {
        "kind": sweep.kind,
        "seed": seed,
        **{name: getattr(sweep, name) for name in (*done, *curves)},
        "bounds": reality.bounds,
        "delta": reality.delta,
        "caveat": reality.caveat,
        "fits": {name: asdict(curve) for name, curve in fits.items()},
    }


def _print_sweep(sweep: "Sweep", reality: "Reality", fits: "dict[str, Fit]") -> None:
    import numpy as np

    from truecost.paper.fit import FORMULAS, letter

    axis, level = letter(sweep.kind), f"{1 - reality.delta:.4g}"

    def with_error(name: str, place: int) -> str:
        return f"{number(getattr(sweep, name)[place])} ± {number(sweep.standard_errors[name][place], 2)}"

    wanted = np.unique(np.geomspace(1, sweep.values[-1], 12).round())
    rows = [
        [
            f"{sweep.values[place]:,}",
            with_error("uniform", place),
            number(reality.uniform[place]),
            number(reality.bennett[place]),
            number(reality.printed[place]),
            with_error("selection", place),
            number(reality.selection[place]),
            number(reality.bennett_own[place]),
        ]
        for place in np.unique(np.abs(sweep.values[:, np.newaxis] - wanted).argmin(axis=0))
    ]
    print_table(
        f"Error against {axis}: {sweep.splits:,} splits, {sweep.train} training and {sweep.test_instances} test instances",
        [axis, "uniform", f"q{level}", "Bennett", "printed", "selection", f"q{level}", "Bennett"],
        rows,
        left=0,
    )
    for name, curve in fits.items():
        print_line(
            f"{name} ≈ {FORMULAS[sweep.kind]}: a = {number(curve.a)} ± {number(curve.a_error, 2)}, "
            f"b = {number(curve.b)} ± {number(curve.b_error, 2)}, R² = {curve.r_squared:.4f}"
        )
    if not fits:
        print_line("No fit: at least 4 values are needed.")
    print_line(
        f"Mean ± standard error over splits, q{level}: quantile. Beside them Theorem 2 at δ = {reality.delta:g} for all "
        f"configurations, and last for the best one with its own variance; {reality.caveat}.",
        "aside",
    )


def _print_estimators(
    k: Any, n: Any, errors: "dict[str, SquaredError]", simulated: "EstimatorErrors | None"
) -> None:
    rows = []
    for place in range(n.size):
        means = [number(error.mean[-1, place]) for error in errors.values()]
        floor = number(errors["even"].floor[-1, place].mean())
        rows.append([f"{n[place]:,}", f"{n[place] / k[place]:.2f}", *means, floor])
    print_table(
        f"Exact mean squared error at K = {k[0]}, averaged over configurations",
        ["N", "N/K", *(NAMES[name] for name in errors), "floor"],
        rows,
        left=0,
    )
    rivals = [error.mean for name, error in errors.items() if name != "even"]
    best = all((errors["even"].mean <= rival * (1 + 1e-9)).all() for rival in rivals)
    print_line(
        f"S* is {'best' if best else 'not best'} at every (K, N) of the grid. --out and --json have the whole grid."
    )
    print_line(
        "floor: the part that comes from the choice of test instances. S° draws instances and runs with replacement, "
        "S° pairs different (instance, run) pairs.",
        "aside",
    )
    if simulated is not None:
        rows = []
        for place, runs in enumerate(simulated.runs):
            cells = [
                f"{number(simulated.absolute[row, place])} ± {number(simulated.absolute_spread[row, place], 2)}"
                for row in range(len(simulated.estimators))
            ]
            rows.append([f"{runs:,}", *cells])
        print_table(
            f"Simulated absolute error, mean ± std over {simulated.splits:,} splits, K = {simulated.train}",
            ["N", *(NAMES[name] for name in simulated.estimators)],
            rows,
            left=0,
        )
