"""The verdicts on matrices and tables in which a claim must hold, or must fail."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from test_figures import named
from test_resample import runtimes

from truecost.matrix import CostMatrix
from truecost.paper import bounds_observed, claims, exact, fit, resample, tables
from truecost.paper.claims import Verdict
from truecost.stats.variance import variance_components


def compared(matrix: CostMatrix, splits: int = 200) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The estimators in closed form and simulated, over the part of the paper's grid that the runs
    reach.
    """
    k, n = exact.grid(matrix.shape[1])
    reached = (n <= k * matrix.shape[2]).all(axis=0)
    k, n = k[:, reached], n[:, reached]
    closed: dict[str, exact.SquaredError] = {
        name: exact.mean_squared_error(matrix, estimator=name, instances=k, runs=n)
        for name in exact.ESTIMATORS
    }
    simulated = resample.compare_estimators(
        matrix,
        splits=splits,
        rng=np.random.default_rng(1),
        runs=n[-1],
        train=int(k[-1, 0]),
        estimators=exact.ESTIMATORS[:3],
    )
    return tables.exact_table(k, n, closed), tables.estimator_table(simulated)


def antithetic(configurations: int = 6, instances: int = 40) -> CostMatrix:
    """Both runs together always cost the same: whoever runs an instance twice knows it exactly, and
    S* is not best.
    """
    runs = np.random.default_rng(1).permuted(
        np.tile([0.0, 10.0], (configurations, instances, 1)), axis=2
    )
    return named(runs)


def swept(
    kind: fit.Kind, uniform: Any, selection: Any = None, bound: float = 1e9, q95: Any = None
) -> pl.DataFrame:
    """A table of a sweep with these curves at 1, 2, 3, …"""
    values = np.arange(1, len(uniform) + 1)
    columns = {
        kind: values,
        "uniform": uniform,
        "selection": uniform if selection is None else selection,
        "uniform_q95": uniform if q95 is None else q95,
        "bound_bennett": np.full(values.size, bound),
    }
    return pl.DataFrame(
        {name: np.asarray(column, dtype=float) for name, column in columns.items()}
    ).cast({kind: pl.Int64})


x = np.arange(1.0, 61.0)
FOLLOWING = {
    "m": 2 * np.log(x) + np.sqrt(np.log(x)),
    "n": 3 + 5 / np.sqrt(x),
    "k": 1 / x + 4 / np.sqrt(x),
}
STUBBORN = {"m": np.sin(x) + 2, "n": np.sin(x) + 2, "k": x}


def all_swept(
    curves: dict[str, Any], others: dict[str, Any] | None = None
) -> dict[fit.Kind, pl.DataFrame]:
    """Tables of the three sweeps with these curves of the uniform error, and these of the selection
    error.
    """
    kinds: tuple[fit.Kind, ...] = ("m", "n", "k")
    return {
        kind: swept(kind, curves[kind], None if others is None else others[kind]) for kind in kinds
    }


def test_best_holds_where_instances_differ() -> None:
    """On runtimes, where Theorem 1 applies, the page would not call S* the best."""
    closed, simulated = compared(runtimes(8, 40, 5))
    claim = claims.best_estimator(closed, simulated)
    assert claim.verdict == Verdict.HOLDS
    assert (claim.numbers["points_lost"], claim.numbers["points"]) == (0, 144)
    matrix = runtimes(8, 40, 5)
    even, dagger = (
        exact.mean_squared_error(matrix, estimator=e, instances=20, runs=5).mean
        for e in exact.ESTIMATORS[:2]
    )
    assert claim.numbers["rmse_excess"]["concentrated"][0] == pytest.approx(
        np.sqrt(dagger / even) - 1
    )


def test_best_fails_where_repeats_cancel() -> None:
    """The page would call S* the best where S† is, exactly and in the simulation."""
    closed, simulated = compared(antithetic())
    claim = claims.best_estimator(closed, simulated)
    assert claim.verdict == Verdict.FAILS
    assert claim.numbers["points_lost"] > 0.5 * claim.numbers["points"]
    assert claim.numbers["points_simulated_lost"] > 0
    assert (
        "best or equal at 0 of" not in claim.finding
        or claim.numbers["points_lost"] == claim.numbers["points"]
    )


def test_best_in_part() -> None:
    """A rival that is better only in the simulated absolute error would go unnoticed."""
    closed, simulated = compared(runtimes(8, 40, 5))
    better = pl.when(pl.col("estimator") == "scattered").then(0.1).otherwise(pl.col("absolute"))
    claim = claims.best_estimator(closed, simulated.with_columns(absolute=better))
    assert claim.verdict == Verdict.PARTLY
    assert claim.numbers["points_simulated_lost"] == 16


def test_advantage_at_small_n() -> None:
    """Over S° the advantage of S* peaks at N = K and not at the least N, and the page would not say
    so.
    """
    matrix = runtimes(8, 40, 5)
    closed, _ = compared(matrix)
    claim = claims.small_n(closed)
    assert claim.verdict == Verdict.PARTLY
    assert claim.numbers["largest_at"] == {"concentrated": 0.25, "scattered": 1.0}
    across = variance_components(matrix).across.mean() / 20
    assert claim.numbers["across_over_k"] == pytest.approx(across)
    gain = exact.mean_squared_error(matrix, estimator="scattered", instances=20, runs=20).mean
    gain = gain - exact.mean_squared_error(matrix, estimator="even", instances=20, runs=20).mean
    assert (
        across * 0.9 < gain < across * 1.3
    )  # what the finding says it grows to, but for runs drawn twice
    only = {
        name: closed.filter(pl.col("estimator").is_in(["even", name])) for name in exact.ESTIMATORS
    }
    assert claims.small_n(only["concentrated"]).verdict == Verdict.HOLDS
    assert claims.small_n(only["scattered"]).verdict == Verdict.FAILS
    assert claims.small_n(only["even"]).verdict == Verdict.OPEN


def test_convergence() -> None:
    """An error that stays however many runs are made would be said to vanish, or one that vanishes
    to stay.
    """
    matrix = runtimes(8, 40, 5)
    closed, _ = compared(matrix)
    claim = claims.converges(closed)
    assert claim.verdict in (Verdict.FAILS, Verdict.PARTLY)
    components = variance_components(matrix)
    spread = matrix.costs.mean(axis=2).var(axis=1, ddof=1)
    assert claim.numbers["limit_rmse"] == pytest.approx(
        np.sqrt(components.across.mean() / 20 + spread.mean() / 20)
    )
    noise_only = closed.with_columns(across=0.0, floor=0.0, squared=1 / pl.col("n"))
    assert claims.converges(noise_only).verdict == Verdict.HOLDS
    assert claims.converges(closed.with_columns(squared=0.0)).verdict == Verdict.OPEN


def test_other_k_are_similar() -> None:
    """A K at which the estimators stand in another order would be called similar."""
    closed, _ = compared(runtimes(8, 40, 5))
    assert claims.similar_at_other_k(closed).verdict == Verdict.HOLDS
    flipped = pl.when(pl.col("k") < 20).then(-pl.col("squared")).otherwise(pl.col("squared"))
    claim = claims.similar_at_other_k(closed.with_columns(squared=flipped))
    assert claim.verdict == Verdict.FAILS
    assert claim.numbers["same"] == 0
    nothing = closed.with_columns(squared=0.0)
    assert claims.similar_at_other_k(nothing).verdict == Verdict.OPEN


def test_fits() -> None:
    """A curve that does not follow the errors would be said to, or one that does not to."""
    claim = claims.fits_follow(all_swept(FOLLOWING))
    assert claim.verdict == Verdict.HOLDS
    assert claim.numbers["k"]["a"] == pytest.approx(1)
    assert claim.numbers["k"]["gap"] == pytest.approx(0, abs=1e-9)
    assert claims.fits_follow(all_swept(STUBBORN)).verdict == Verdict.FAILS
    assert (
        claims.fits_follow(all_swept({**FOLLOWING, "k": STUBBORN["k"]})).verdict == Verdict.PARTLY
    )
    assert claims.fits_follow(all_swept(dict.fromkeys("mnk", np.ones(9)))).verdict == Verdict.OPEN


def test_steady() -> None:
    """An error that still falls after N = K/2 would be called steady, or the N from which it is
    would be wrong.
    """
    falling = np.where(x < 10, 20 - x, 10.0)
    claim = claims.steady_from_half(swept("n", falling), train=24)
    assert claim.verdict == Verdict.HOLDS
    assert claim.numbers["steady_from"] == 9
    assert claim.numbers["gone"] == pytest.approx(1)
    claim = claims.steady_from_half(swept("n", 1 / np.sqrt(x)), train=12)
    assert claim.verdict == Verdict.FAILS
    assert claim.numbers["above"] == pytest.approx(np.sqrt(60 / 6) - 1)
    assert claim.numbers["steady_from"] == 50
    assert claims.steady_from_half(swept("n", 1 / np.sqrt(x)), train=80).verdict == Verdict.PARTLY
    assert claims.steady_from_half(swept("n", 0 * x), train=12).verdict == Verdict.OPEN


def test_steady_on_matrices() -> None:
    """A matrix in which rare instances decide the error for every N would not be called steady, or
    one with noise would.
    """
    rare = np.zeros((40, 40, 3))
    rare[np.arange(40), np.arange(40)] = 100.0
    for matrix, verdict in (
        (named(rare), Verdict.HOLDS),
        (runtimes(20, 40, 5, within_share=0.9), Verdict.FAILS),
    ):
        sweep = resample.sweep_n(matrix, splits=200, rng=np.random.default_rng(1))
        assert claims.steady_from_half(tables.sweep_table(sweep), train=20).verdict == verdict


def test_selection() -> None:
    """A selection error that goes its own way would be said to behave like the uniform error."""
    half = {kind: 0.5 * curve for kind, curve in FOLLOWING.items()}
    claim = claims.selection_alike(all_swept(FOLLOWING, half))
    assert claim.verdict == Verdict.HOLDS
    assert claim.numbers["n"]["share"] == pytest.approx(0.5)
    against = {kind: -curve for kind, curve in FOLLOWING.items()}
    assert claims.selection_alike(all_swept(FOLLOWING, against)).verdict == Verdict.FAILS
    assert (
        claims.selection_alike(all_swept(FOLLOWING, {**half, "k": STUBBORN["k"]})).verdict
        == Verdict.PARTLY
    )
    assert (
        claims.selection_alike(all_swept(dict.fromkeys("mnk", np.ones(9)))).verdict == Verdict.OPEN
    )


def test_bounds() -> None:
    """A bound below what was seen would be said to hold, or its distance would be wrong."""
    table = swept("n", x, bound=120.0)
    claim = claims.bounds_hold({"n": table}, 0.05)
    assert claim.verdict == Verdict.HOLDS
    assert claim.numbers["factors"] == {"n": 2.0}
    claim = claims.bounds_hold({"n": swept("n", x, bound=20.0)}, 0.05)
    assert (claim.verdict, claim.numbers["above"]) == (Verdict.FAILS, 40)
    assert claims.bounds_hold({"n": swept("n", x, bound=58.0)}, 0.05).verdict == Verdict.PARTLY
    assert claims.bounds_hold({"n": swept("n", x, bound=np.nan)}, 0.05).verdict == Verdict.OPEN


def test_all_claims_on_a_synthetic_matrix() -> None:
    """The claims would not fit the tables that experiments write."""
    matrix = runtimes(20, 30, 5)
    closed, simulated = compared(matrix)
    sweeps: dict[fit.Kind, pl.DataFrame] = {}
    for kind in fit.FORMULAS:
        sweep = getattr(resample, f"sweep_{kind}")(matrix, splits=100, rng=np.random.default_rng(1))
        sweeps[kind] = tables.sweep_table(
            sweep, bounds_observed.bounds_against_reality(matrix, sweep)
        )
    found = claims.judge(exact=closed, simulated=simulated, sweeps=sweeps, train=15, delta=0.05)
    assert [claim.name for claim in found] == [
        "best",
        "small-n",
        "converges",
        "similar",
        "fits",
        "steady",
        "selection",
        "bounds",
    ]
    assert all(claim.verdict != Verdict.OPEN and "nan" not in claim.finding for claim in found)
