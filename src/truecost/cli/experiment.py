"""`truecost experiment`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.command import declared
from truecost.cli.options import (
    FIGURE,
    SPLITS,
    Delta,
    Json,
    Quiet,
    Seed,
    Splits,
    Threads,
    asked,
    out_option,
)
from truecost.cli.printing import answer, number, print_line, print_table
from truecost.cli.progress import progress
from truecost.cli.reading import Source, check_out
from truecost.errors import check_share
from truecost.show.numbers import given

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix
    from truecost.paper.bounds_observed import Reality
    from truecost.paper.exact import SquaredError
    from truecost.paper.fit import Fit, Kind
    from truecost.paper.resample import EstimatorErrors, Sweep
    from truecost.race.replay import Replay

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
    train: int | None = asked(
        "Training instances K; half of them if not given.", "--train-instances", min=1
    )
    test: int | None = asked(
        "Test instances; half of them if not given.", "--test-instances", min=1
    )
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
        check_share(self.delta, "`delta`")


NAMES = {"even": "S*", "concentrated": "S†", "scattered": "S°", "pairs": "S° pairs"}
# Nothing moves meanwhile.
COMPILING = "compiling, if this is the first start"


@app.command(short_help="Three ways to spread runs over instances compared, exactly.")
@declared
def estimators(
    source: Source,
    sampling: Sampling,
    splits: int | None = asked(f"{SPLITS}; without, closed forms only.", min=2),
) -> None:
    """S*, S† and S° compared: the exact mean squared error over the paper's grid of K and N.

    With --splits it is simulated too, at K = --train-instances.
    """
    from truecost.paper import exact, tables

    matrix = _load(source, sampling.out)
    exact.check_complete(matrix)
    k, n = exact.grid_within(matrix)
    errors = exact.by_estimator(matrix, k, n, sampling.test)
    table = tables.exact_table(k, n, errors)
    drawn = {"seed": sampling.seed, "splits": splits or 0}
    data, simulated = drawn | {"exact": table.to_dicts()}, None
    if splits:
        simulated = _simulated(matrix, splits, sampling, int(k[-1, 0]))
        simulation = tables.estimator_table(simulated)
        data["simulated"] = simulation.to_dicts()
        table = table.join(
            simulation.rename({"squared": "squared_simulated"}),
            on=["estimator", "k", "n"],
            how="full",
            coalesce=True,
            maintain_order="left",
        )
    if sampling.out is not None:
        about = {"experiment": "estimators", **drawn, "matrix": str(source.runs)}
        tables.save(table, sampling.out, **about)
    answer(sampling.json, data, lambda: _print_estimators(k[-1], n[-1], errors, simulated))


def _simulated(
    matrix: "CostMatrix", splits: int, sampling: Sampling, most: int
) -> "EstimatorErrors":
    from truecost.paper import exact, resample

    train = most if sampling.train is None else sampling.train
    _, runs = exact.grid(matrix.shape[1], r1=[train / matrix.shape[1]])
    with _splits_done(splits, sampling.quiet) as tell:
        return resample.compare_estimators(
            matrix,
            splits=splits,
            rng=sampling.seed,
            # No more runs than every configuration has on that many instances.
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
    common_seeds: bool = asked(
        "All configurations in the same order of instances and runs.",
        "--common-seeds",
        default=False,
    ),
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
    matrix = _load(source, sweeping.out)
    from truecost.paper import bounds_observed, fit, resample, tables

    bounds_observed.check_width(matrix)  # before minutes of work, not after them
    splits, seed, delta = sweeping.splits, sweeping.seed, sweeping.delta
    with _splits_done(splits, sweeping.quiet) as tell:
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
    # A curve with two parameters goes through three points almost whatever they are.
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


def _load(source: Source, out: Path | None) -> "CostMatrix":
    """The matrix, and a place for results that can be written."""
    check_out(out, source.runs, endings=(".parquet",))
    return source.read().matrix


@contextmanager
def _splits_done(splits: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Progress over splits; what it yields takes how many more are done."""
    done = 0

    def more(number: int) -> None:
        nonlocal done
        done += number
        meter.count(done, splits)

    with progress("splits", quiet=quiet, note=COMPILING) as meter:
        yield more


def _sweep_data(
    sweep: "Sweep", reality: "Reality", fits: "dict[str, Fit]", seed: int
) -> dict[str, Any]:
    done = ("kind", "splits", "train", "test_instances", "common_seeds", "values")
    curves = ("uniform", "selection", "training", "test", "standard_errors", "levels", "quantiles")
    return {
        "seed": seed,
        **{name: getattr(sweep, name) for name in (*done, *curves)},
        **{name: getattr(reality, name) for name in ("bounds", "delta", "caveat")},
        "fits": fits,
    }


def _with_error(value: float, error: float) -> str:
    return f"{number(value)} ± {number(error, 2)}"


def _print_sweep(sweep: "Sweep", reality: "Reality", fits: "dict[str, Fit]") -> None:
    import numpy as np

    from truecost.paper.fit import FORMULAS, letter

    axis, level = letter(sweep.kind), f"{1 - reality.delta:.4g}"

    def with_error(name: str, place: int) -> str:
        value, error = getattr(sweep, name)[place], sweep.standard_errors[name][place]
        return _with_error(value, error)

    # About a dozen values, even on a logarithmic axis.
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
        f"Error against {axis}: {sweep.splits:,} splits, {sweep.train} training and "
        f"{sweep.test_instances} test instances",
        [axis, "uniform", f"q{level}", "Bennett", "printed", "selection", f"q{level}", "Bennett"],
        rows,
        left=0,
    )
    for name, curve in fits.items():
        print_line(
            f"{name} ≈ {FORMULAS[sweep.kind]}: a = {_with_error(curve.a, curve.a_error)}, "
            f"b = {_with_error(curve.b, curve.b_error)}, R² = {curve.r_squared:.4f}"
        )
    if not fits:
        print_line("No fit: at least 4 values are needed.")
    print_line(
        f"Mean ± standard error over splits, q{level}: quantile. Beside them Theorem 2 at δ = "
        f"{reality.delta:g} for all configurations, and last for the best one with its own "
        f"variance; {reality.caveat}.",
        "aside",
    )


def _print_estimators(
    k: Any, n: Any, errors: "dict[str, SquaredError]", simulated: "EstimatorErrors | None"
) -> None:
    import numpy as np

    rows = []
    # Few instances round several N to one.
    for place in np.unique(n, return_index=True)[1]:
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
    # Closed forms that are equal differ by roundings.
    best = all((errors["even"].mean <= rival * (1 + 1e-9)).all() for rival in rivals)
    print_line(
        f"S* is {'best' if best else 'not best'} at every (K, N) of the grid. --out and --json "
        "have the whole grid."
    )
    print_line(
        "floor: the part that comes from the choice of test instances. S° draws instances and runs "
        "with replacement, S° pairs different (instance, run) pairs.",
        "aside",
    )
    if simulated is not None:
        rows = []
        for place, runs in enumerate(simulated.runs):
            errors_there = zip(simulated.absolute, simulated.absolute_spread, strict=True)
            cells = [_with_error(mean[place], spread[place]) for mean, spread in errors_there]
            rows.append([f"{runs:,}", *cells])
        print_table(
            f"Simulated absolute error, mean ± std over {simulated.splits:,} splits, K = "
            f"{simulated.train}",
            ["N", *(NAMES[name] for name in simulated.estimators)],
            rows,
            left=0,
        )


@app.command(short_help="Configurators replayed on recorded runs.")
@declared
def configure(
    source: Source,
    shares: list[float] | None = asked(
        "The budget, as a share of what all runs of the training half cost; may be given "
        "several times. [default: 0.05, 0.2, 0.6]",
        "--share",
        metavar="SHARE",
    ),
    repetitions: int = asked(
        "Splits, each with the proposals in a new order.", min=2, default=1000
    ),
    charge_up_to: float | None = asked(
        "Charge a run its CPU seconds, up to this many, instead of counting runs."
    ),
    delta: Delta = 0.05,
    seed: Seed = 1,
    out: Out = None,
    figure: Path | None = asked(f"{FIGURE}; regret against the budget."),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Configurators replayed on recorded runs: ours, a fixed N, SMAC3's rule, successive halving, a
    t-test race.
    """
    matrix = _load(source, out)
    if figure is not None:
        from truecost.show import figures
        from truecost.show.saving import FORMATS

        check_out(figure, source.runs, endings=[f".{name}" for name in FORMATS])
    from truecost.race import replay

    budgets = sorted(set(shares)) if shares else replay.BUDGETS
    with progress("repetitions", quiet=quiet, note=COMPILING) as meter:
        played = replay.replay(
            matrix,
            rng=seed,
            budgets=budgets,
            repetitions=repetitions,
            cutoff=charge_up_to,
            delta=delta,
            progress=lambda done: meter.count(done, repetitions),
        )
    if out is not None:
        import polars as pl

        from truecost.paper import tables

        places = product(range(repetitions), played.budgets, played.rules)
        table = pl.DataFrame(places, schema=["repetition", "budget", "rule"], orient="row")
        table = table.with_columns(regret=played.regret.ravel())
        about = {"seed": seed, "cutoff": charge_up_to, "matrix": str(source.runs)}
        tables.save(table, out, experiment="configure", **about)
    if figure is not None:
        figures.save(figures.regret_chart(figures.regret_data(played)), figure)
    answer(
        json,
        lambda: _replay_data(played, seed, charge_up_to),
        lambda: _print_replay(played, charge_up_to),
    )


def _replay_data(played: "Replay", seed: int, cutoff: float | None) -> dict[str, object]:
    from truecost.race.replay import OURS

    against = {rule: played.against(rule) for rule in played.rules if rule != OURS}
    return {
        "rules": list(played.rules),
        "budgets": list(played.budgets),
        "repetitions": played.regret.shape[0],
        "seed": seed,
        "cutoff": cutoff,
        "regret": played.mean,
        "standard_error": played.standard_error,
        "best_fixed": played.best_fixed(),
        "ours_minus": {
            rule: {"mean": mean, "standard_error": error} for rule, (mean, error) in against.items()
        },
        "certificates_missed": played.missed,
        "delta": played.delta,
    }


def _print_replay(played: "Replay", cutoff: float | None) -> None:
    from truecost.race.replay import EVERYTHING, HALVING, OURS, SMAC, STUDENT

    repetitions = played.regret.shape[0]
    rows = []
    for place, budget in enumerate(played.budgets):
        # The best N is known only afterwards: no rule could have used it.
        fixed = played.best_fixed()[place]
        mean = dict(zip(played.rules, played.mean[place], strict=True))
        rows.append([f"{given(100 * budget)} %", OURS, f"{mean[OURS]:.4f}", ""])
        for rule in (fixed, HALVING, STUDENT, SMAC, EVERYTHING):
            difference, error = (array[place] for array in played.against(rule))
            label = f"fixed {rule}, best in hindsight" if rule == fixed else rule
            rows.append(["", label, f"{mean[rule]:.4f}", f"{difference:+.4f} ± {error:.4f}"])
    print_table(
        f"Regret on the test half: mean of {repetitions:,} repetitions",
        ["budget", "rule", "regret", "truecost minus it"],
        rows,
        left=2,
    )
    charged = "runs" if cutoff is None else f"seconds, at most {cutoff:g} a run"
    print_line(
        "0: the best configuration of the matrix, 1: the median one. Budgets are shares of all "
        f"{charged} of the training half. ± is one standard error over repetitions, of the paired "
        "difference. all runs: the lowest training cost when everything is known.",
        "aside",
    )
    print_line(
        "Certificates of our choice on instances it was not chosen on: missed "
        f"{', '.join(map(str, played.missed))} of {repetitions:,} (δ = {played.delta:g})."
    )
