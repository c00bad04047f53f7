"""`truecost experiment`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.inputs import check_out, load_matrix
from truecost.cli.printing import High, Json, Low, number, print_json, print_line, print_table
from truecost.cli.progress import Quiet, progress
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.experiments.exact import SquaredError
    from truecost.experiments.fit import Fit
    from truecost.experiments.reality import Reality
    from truecost.experiments.resample import EstimatorErrors, Sweep
    from truecost.matrix import CostMatrix

app = typer.Typer(help="The paper's experiments on any matrix: estimators compared, and the error against m, N and K.")

Matrix = Annotated[Path, typer.Argument(help="A matrix: .npz, or a long table as .parquet or .csv.", show_default=False)]
Splits = Annotated[int, typer.Option(help="Random splits into training and test instances.", min=2)]
Seed = Annotated[int, typer.Option(help="Where the random numbers come from.", min=0)]
Train = Annotated[int | None, typer.Option(help="Training instances K; half of them if not given.", min=1)]
Test = Annotated[int | None, typer.Option(help="Test instances; half of them if not given.", min=1)]
Threads = Annotated[int | None, typer.Option(help="Threads; all if not given. The results do not depend on it.", min=1)]
Out = Annotated[Path | None, typer.Option(help="Write every number to this parquet file.")]
Delta = Annotated[float, typer.Option(help="Bounds and quantiles at probability 1 − δ.")]

NAMES = {"even": "S*", "concentrated": "S†", "scattered": "S°", "pairs": "S° pairs"}
# Nothing moves meanwhile.
COMPILING = "compiling, if this is the first start"
AXES = {"m": "m", "n": "N", "k": "K"}


@app.command()
def estimators(
    matrix: Matrix,
    splits: Annotated[
        int, typer.Option(help="Also simulate, with so many splits, at K = --train; 0: closed forms only.", min=0)
    ] = 0,
    seed: Seed = 1,
    train: Train = None,
    test: Test = None,
    threads: Threads = None,
    out: Out = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """S*, S† and S° compared: the exact mean squared error over the paper's grid of K and N."""
    from truecost.experiments import exact, results

    loaded = load(matrix, low, high, out)
    exact.check_complete(loaded)
    instances, fewest = loaded.shape[1], int(loaded.counts().min())
    k, n = exact.grid(instances)
    # A matrix with fewer runs than the paper's five ends the grid earlier.
    keep = (n <= k * fewest).all(axis=0)
    k, n = k[:, keep], n[:, keep]
    chosen = [name for name in exact.ESTIMATORS if fewest == loaded.shape[2] or name in ("even", "scattered")]
    errors: dict[str, SquaredError] = {
        name: exact.mean_squared_error(loaded, estimator=name, instances=k, runs=n, test_instances=test) for name in chosen
    }
    simulated = None
    if splits:
        from truecost.experiments import resample

        train = int(k[-1, 0]) if train is None else train
        _, runs = exact.grid(instances, r1=[train / instances])
        with splits_done(splits, quiet) as tell:
            simulated = resample.compare_estimators(
                loaded,
                splits=splits,
                rng=generator(seed),
                runs=runs[runs <= train * fewest],
                train=train,
                test=test,
                estimators=chosen,
                threads=threads,
                progress=tell,
            )
    if out is not None:
        table = results.exact_table(k, n, errors)
        if simulated is not None:
            beside = results.estimator_table(simulated).rename({"squared": "squared_simulated"})
            table = table.join(beside, on=["estimator", "k", "n"], how="full", coalesce=True, maintain_order="left")
        results.save(table, out, experiment="estimators", seed=seed, splits=splits, matrix=str(matrix))
    if json:
        tables = {"exact": results.exact_table(k, n, errors).to_dicts()}
        if simulated is not None:
            tables["simulated"] = results.estimator_table(simulated).to_dicts()
        print_json({"seed": seed, "splits": splits, **tables})
    else:
        _print_estimators(k[-1], n[-1], errors, simulated)


@app.command()
def m(
    matrix: Matrix,
    splits: Splits = 2500,
    seed: Seed = 1,
    train: Train = None,
    test: Test = None,
    delta: Delta = 0.05,
    threads: Threads = None,
    out: Out = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The error against m, the number of configurations chosen from."""
    _sweep(
        "m", matrix, low, high, delta, out, json, quiet, splits=splits, seed=seed, train=train, test=test, threads=threads
    )


@app.command()
def n(
    matrix: Matrix,
    splits: Splits = 2500,
    seed: Seed = 1,
    train: Train = None,
    test: Test = None,
    delta: Delta = 0.05,
    common_seeds: Annotated[
        bool, typer.Option("--common-seeds", help="All configurations in the same order of instances and runs.")
    ] = False,
    threads: Threads = None,
    out: Out = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The error against N, the number of runs of each configuration."""
    extra = {"common_seeds": common_seeds}
    _sweep(
        "n",
        matrix,
        low,
        high,
        delta,
        out,
        json,
        quiet,
        splits=splits,
        seed=seed,
        train=train,
        test=test,
        threads=threads,
        **extra,
    )


@app.command()
def k(
    matrix: Matrix,
    splits: Splits = 2500,
    seed: Seed = 1,
    train: Train = None,
    test: Test = None,
    delta: Delta = 0.05,
    threads: Threads = None,
    out: Out = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The error against K, the number of training instances."""
    _sweep(
        "k", matrix, low, high, delta, out, json, quiet, splits=splits, seed=seed, train=train, test=test, threads=threads
    )


def _sweep(
    kind: str,
    matrix: Path,
    low: float | None,
    high: float | None,
    delta: float,
    out: Path | None,
    json: bool,
    quiet: bool,
    *,
    splits: int,
    seed: int,
    **settings: Any,
) -> None:
    if not 0 < delta < 1:
        raise InputError(f"Expected delta between 0 and 1, got {delta}.")
    loaded = load(matrix, low, high, out)
    from truecost.experiments import fit, reality, resample, results

    levels = sorted({*resample.LEVELS, 1 - delta})
    run: Callable[..., Sweep] = getattr(resample, f"sweep_{kind}")
    with splits_done(splits, quiet) as tell:
        sweep = run(loaded, splits=splits, rng=generator(seed), levels=levels, progress=tell, **settings)
    beside = reality.bounds_against_reality(loaded, sweep, delta=delta)
    fits: dict[str, Fit] = {}
    if sweep.values.size >= 4:
        fits = {name: fit.curve(sweep.values, getattr(sweep, name), kind=sweep.kind) for name in ("uniform", "selection")}
    if out is not None:
        about = {"experiment": kind, "seed": seed, "splits": splits, "train": sweep.train, "test": sweep.test_instances}
        results.save(
            results.sweep_table(sweep, beside),
            out,
            **about,
            delta=delta,
            common_seeds=sweep.common_seeds,
            matrix=str(matrix),
        )
    if json:
        print_json(_sweep_data(sweep, beside, fits, seed))
    else:
        _print_sweep(sweep, beside, fits)


def load(matrix: Path, low: float | None, high: float | None, out: Path | None) -> "CostMatrix":
    """The matrix, and a place for results that can be written."""
    check_out(out, matrix, endings=(".parquet",))
    return load_matrix(matrix, low, high)


def generator(seed: int) -> Any:
    """Random numbers from a seed."""
    import numpy as np

    return np.random.default_rng(seed)


@contextmanager
def splits_done(splits: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Progress over splits; what it yields is told how many more are done."""
    done = 0
    with progress("splits", quiet=quiet, note=COMPILING) as meter:

        def more(number: int) -> None:
            nonlocal done
            done += number
            meter.count(done, splits)

        yield more


def _sweep_data(sweep: "Sweep", beside: "Reality", fits: "dict[str, Fit]", seed: int) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "kind": sweep.kind,
        "seed": seed,
        "splits": sweep.splits,
        "train": sweep.train,
        "test_instances": sweep.test_instances,
        "common_seeds": sweep.common_seeds,
        "values": sweep.values,
        **{name: getattr(sweep, name) for name in ("uniform", "selection", "training", "test")},
        "standard_errors": sweep.standard_errors,
        "levels": sweep.levels,
        "quantiles": sweep.quantiles,
        "bounds": {name: getattr(beside, name) for name in ("bennett", "printed", "bennett_own", "printed_own")},
        "delta": beside.delta,
        "caveat": beside.caveat,
        "fits": {name: asdict(each) for name, each in fits.items()},
    }


def _print_sweep(sweep: "Sweep", beside: "Reality", fits: "dict[str, Fit]") -> None:
    import numpy as np

    from truecost.experiments.fit import FORMULAS

    axis, level = AXES[sweep.kind], f"{1 - beside.delta:.4g}"

    def with_error(name: str, place: int) -> str:
        return f"{number(getattr(sweep, name)[place])} ± {number(sweep.standard_errors[name][place], 2)}"

    wanted = np.unique(np.geomspace(1, sweep.values[-1], 12).round())
    rows = [
        [
            f"{sweep.values[place]:,}",
            with_error("uniform", place),
            number(beside.uniform[place]),
            number(beside.bennett[place]),
            number(beside.printed[place]),
            with_error("selection", place),
            number(beside.selection[place]),
            number(beside.bennett_own[place]),
        ]
        for place in np.unique(np.abs(sweep.values[:, np.newaxis] - wanted).argmin(axis=0))
    ]
    print_table(
        f"Error against {axis}: {sweep.splits:,} splits, {sweep.train} training and {sweep.test_instances} test instances",
        [axis, "uniform", f"q{level}", "Bennett", "printed", "selection", f"q{level}", "Bennett"],
        rows,
        left=0,
    )
    for name, each in fits.items():
        print_line(
            f"{name} ≈ {FORMULAS[sweep.kind]}: a = {number(each.a)} ± {number(each.a_error, 2)}, "
            f"b = {number(each.b)} ± {number(each.b_error, 2)}, R² = {each.r_squared:.4f}"
        )
    if not fits:
        print_line("No fit: at least 4 values are needed.")
    print_line(
        f"Mean ± standard error over splits, q{level}: quantile. Beside them Theorem 2 at δ = {beside.delta:g} for all "
        f"configurations, and last for the best one with its own variance; {beside.caveat}.",
        "aside",
    )


def _print_estimators(k: Any, n: Any, errors: "dict[str, SquaredError]", simulated: "EstimatorErrors | None") -> None:
    rows = []
    for place in range(n.size):
        each = [number(error.mean[-1, place]) for error in errors.values()]
        floor = number(errors["even"].floor[-1, place].mean())
        rows.append([f"{n[place]:,}", f"{n[place] / k[place]:.2f}", *each, floor])
    print_table(
        f"Exact mean squared error at K = {k[0]}, averaged over configurations",
        ["N", "N/K", *(NAMES[name] for name in errors), "floor"],
        rows,
        left=0,
    )
    rivals = [error.mean for name, error in errors.items() if name != "even"]
    best = all((errors["even"].mean <= rival * (1 + 1e-9)).all() for rival in rivals)
    print_line(f"S* is {'best' if best else 'not best'} at every (K, N) of the grid. --out and --json have the whole grid.")
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
