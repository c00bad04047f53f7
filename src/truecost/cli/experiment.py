"""`truecost experiment`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli import options
from truecost.cli.options import Delta, Json, Quiet, Seed, Splits, Threads
from truecost.cli.printing import number, print_json, print_line, print_table
from truecost.cli.progress import progress
from truecost.cli.reading import Source, check_out, reads_runs
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix
    from truecost.paper.bounds_observed import Reality
    from truecost.paper.exact import SquaredError
    from truecost.paper.fit import Fit, Kind
    from truecost.paper.resample import EstimatorErrors, Sweep

app = typer.Typer(
    rich_markup_mode=None,
    help="The paper's experiments on any matrix: estimators compared, and the error against m, N and K.",
)

Train = Annotated[
    int | None,
    typer.Option(
        "--train-instances", help="Training instances K; half of them if not given.", min=1
    ),
]
Test = Annotated[
    int | None,
    typer.Option("--test-instances", help="Test instances; half of them if not given.", min=1),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help=f"{options.OUT}; a .parquet file takes every number.",
        show_default=False,
    ),
]

NAMES = {"even": "S*", "concentrated": "S†", "scattered": "S°", "pairs": "S° pairs"}
# Nothing moves meanwhile.
COMPILING = "compiling, if this is the first start"


@app.command(short_help="Three ways to spread runs over instances compared, exactly.")
@reads_runs
def estimators(
    source: Source,
    splits: Annotated[
        int | None,
        typer.Option(
            min=2, help=f"{options.SPLITS}; without, closed forms only.", show_default=False
        ),
    ] = None,
    seed: Seed = 1,
    train: Train = None,
    test: Test = None,
    threads: Threads = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """S*, S† and S° compared: the exact mean squared error over the paper's grid of K and N.

    With --splits it is simulated too, at K = --train-instances.
    """
    from truecost.paper import exact, tables

    loaded = load(source, out)
    exact.check_complete(loaded)
    k, n = exact.grid_within(loaded)
    errors = exact.by_estimator(loaded, k, n, test)
    found = {"exact": tables.exact_table(k, n, errors)}
    simulated = None
    if splits:
        from truecost.paper import resample

        train = int(k[-1, 0]) if train is None else train
        _, runs = exact.grid(loaded.shape[1], r1=[train / loaded.shape[1]])
        with splits_done(splits, quiet) as tell:
            simulated = resample.compare_estimators(
                loaded,
                splits=splits,
                rng=seed,
                runs=runs[runs <= train * int(loaded.counts().min())],
                train=train,
                test=test,
                estimators=exact.defined_on(loaded),
                threads=threads,
                progress=tell,
            )
        found["simulated"] = tables.estimator_table(simulated)
    if out is not None:
        table = found["exact"]
        if simulated is not None:
            beside = found["simulated"].rename({"squared": "squared_simulated"})
            table = table.join(
                beside, on=["estimator", "k", "n"], how="full", coalesce=True, maintain_order="left"
            )
        tables.save(
            table,
            out,
            experiment="estimators",
            seed=seed,
            splits=splits or 0,
            matrix=str(source.path),
        )
    if json:
        print_json(
            {
                "seed": seed,
                "splits": splits or 0,
                **{name: table.to_dicts() for name, table in found.items()},
            }
        )
    else:
        _print_estimators(k[-1], n[-1], errors, simulated)


@app.command()
@reads_runs
def m(
    source: Source,
    splits: Splits = 2500,
    seed: Seed = 1,
    train: Train = None,
    test: Test = None,
    delta: Delta = 0.05,
    threads: Threads = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The error against m, the number of configurations chosen from."""
    _sweep("m", **locals())


@app.command()
@reads_runs
def n(
    source: Source,
    splits: Splits = 2500,
    seed: Seed = 1,
    train: Train = None,
    test: Test = None,
    delta: Delta = 0.05,
    common_seeds: Annotated[
        bool,
        typer.Option(
            "--common-seeds", help="All configurations in the same order of instances and runs."
        ),
    ] = False,
    threads: Threads = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The error against N, the number of runs of each configuration."""
    _sweep("n", **locals())


@app.command()
@reads_runs
def k(
    source: Source,
    splits: Splits = 2500,
    seed: Seed = 1,
    train: Train = None,
    test: Test = None,
    delta: Delta = 0.05,
    threads: Threads = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The error against K, the number of training instances."""
    _sweep("k", **locals())


def _sweep(
    kind: "Kind",
    *,
    source: Source,
    delta: float,
    out: Path | None,
    json: bool,
    quiet: bool,
    splits: int,
    seed: int,
    **settings: Any,
) -> None:
    """What the three commands do with their options."""
    if not 0 < delta < 1:
        raise InputError(f"Expected delta between 0 and 1, got {delta}.")
    loaded = load(source, out)
    from truecost.paper import bounds_observed, fit, resample, tables

    levels = bounds_observed.levels_for(delta)
    with splits_done(splits, quiet) as tell:
        sweep = resample.SWEEPS[kind](
            loaded, splits=splits, rng=seed, levels=levels, progress=tell, **settings
        )
    beside = bounds_observed.bounds_against_reality(loaded, sweep, delta=delta)
    fits: dict[str, Fit] = {}
    if sweep.values.size >= 4:
        fits = {
            name: fit.curve(sweep.values, getattr(sweep, name), kind=kind)
            for name in ("uniform", "selection")
        }
    if out is not None:
        done = {
            "train": sweep.train,
            "test": sweep.test_instances,
            "common_seeds": sweep.common_seeds,
        }
        about = {
            "experiment": kind,
            "seed": seed,
            "splits": splits,
            "delta": delta,
            "matrix": str(source.path),
        }
        tables.save(tables.sweep_table(sweep, beside), out, **about, **done)
    if json:
        print_json(_sweep_data(sweep, beside, fits, seed))
    else:
        _print_sweep(sweep, beside, fits)


def load(source: Source, out: Path | None) -> "CostMatrix":
    """The matrix, and a place for results that can be written."""
    check_out(out, source.path, endings=(".parquet",))
    return source.read().matrix


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


def _sweep_data(
    sweep: "Sweep", beside: "Reality", fits: "dict[str, Fit]", seed: int
) -> dict[str, Any]:
    from dataclasses import asdict

    done = ("splits", "train", "test_instances", "common_seeds", "values")
    curves = ("uniform", "selection", "training", "test", "standard_errors", "levels", "quantiles")
    return {
        "kind": sweep.kind,
        "seed": seed,
        **{name: getattr(sweep, name) for name in (*done, *curves)},
        "bounds": beside.bounds,
        "delta": beside.delta,
        "caveat": beside.caveat,
        "fits": {name: asdict(each) for name, each in fits.items()},
    }


def _print_sweep(sweep: "Sweep", beside: "Reality", fits: "dict[str, Fit]") -> None:
    import numpy as np

    from truecost.paper.fit import FORMULAS, letter

    axis, level = letter(sweep.kind), f"{1 - beside.delta:.4g}"

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


def _print_estimators(
    k: Any, n: Any, errors: "dict[str, SquaredError]", simulated: "EstimatorErrors | None"
) -> None:
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
