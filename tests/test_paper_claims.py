"""Claims on tables and matrices where the truth is known."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from test_paper_exact import matrix_of, random_costs

from truecost.arrays import FloatArray
from truecost.paper import claims
from truecost.paper.claims import Verdict
from truecost.paper.exact import estimator_table
from truecost.paper.fit import FORMULAS, Kind
from truecost.paper.sweeps import SIMULATED, sweep

HOLDS, PARTLY, FAILS, OPEN = Verdict.HOLDS, Verdict.PARTLY, Verdict.FAILS, Verdict.OPEN
CURVES: dict[Kind, tuple[str, str]] = {"m": ("k", "n"), "n": ("m", "k"), "k": ("m", "n")}


def exact_table(**squared: list[float]) -> pd.DataFrame:
    """Squared errors at K = 10, N = 5, 10, 20, all of them from the choice of instances."""
    parts = [
        pd.DataFrame({
            "estimator": name, "k": 10, "n": [5, 10, 20], "across": values, "within": 0.0,
            "floor": 0.0, "squared": values,
        })
        for name, values in squared.items()
    ]  # fmt: skip
    return pd.concat(parts)


def sweep_table(kind: Kind, uniform: FloatArray, **columns: FloatArray | float) -> pd.DataFrame:
    """A sweep with these errors; K = 40 unless it is swept."""
    fixed = dict.fromkeys(CURVES[kind], 40)
    values = np.arange(1, len(uniform) + 1)
    return pd.DataFrame(
        {kind: values, **fixed, "uniform": uniform, "selection": uniform, **columns}
    )


def curve(kind: Kind) -> FloatArray:
    """Errors on the paper's curve."""
    x = np.arange(1.0, 201.0)
    return np.asarray({"m": np.log(x), "n": 1 + 3 / np.sqrt(x), "k": 2 / np.sqrt(x)}[kind])


@pytest.mark.parametrize(
    ("rival", "simulated", "verdict"),
    [
        ([2.0, 2.0, 2.0], [2.0, 2.0, 2.0], HOLDS),
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], HOLDS),
        ([2.0, 2.0, 0.9], [2.0, 2.0, 2.0], PARTLY),
        ([2.0, 0.9, 0.9], [2.0, 2.0, 2.0], FAILS),
        # Two standard errors ahead at one of many points is chance, ten are not.
        ([2.0, 2.0, 2.0], [2.0, 2.0, 0.98], HOLDS),
        ([2.0, 2.0, 2.0], [2.0, 2.0, 0.9], PARTLY),
    ],
)
def test_best_estimator(rival: list[float], simulated: list[float], verdict: Verdict) -> None:
    """Equal errors would lose, or a rival ahead of S* not be noticed."""
    even = [1.0, 1.0, 1.0]
    absolute = exact_table(even=even, concentrated=simulated).rename(
        columns={"squared": "absolute"}
    )
    claim = claims.best_estimator(
        exact_table(even=even, concentrated=rival), absolute.assign(se=0.01)
    )
    assert claim.verdict == verdict
    assert claim.numbers["points"] == 3


@pytest.mark.parametrize(
    ("concentrated", "scattered", "verdict"),
    [
        ([9.0, 3.0, 2.0], [8.0, 3.0, 2.0], HOLDS),
        ([9.0, 3.0, 2.0], [4.0, 4.0, 2.0], PARTLY),
        ([4.5, 9.0, 2.0], [4.0, 4.0, 2.0], FAILS),
        ([4.0, 2.0, 1.0], [4.0, 2.0, 1.0], OPEN),
    ],
)
def test_small_n(concentrated: list[float], scattered: list[float], verdict: Verdict) -> None:
    """The claim would be judged by something else than where the advantage over each rival peaks."""
    table = exact_table(even=[4.0, 2.0, 1.0], concentrated=concentrated, scattered=scattered)
    assert claims.small_n(table).verdict == verdict


@pytest.mark.parametrize(
    ("even", "rival", "verdict"),
    [
        ([1.0, 0.01, 0.001], [2.0, 0.01, 0.002], HOLDS),
        ([1.0, 0.5, 0.4], [2.0, 0.5, 0.41], PARTLY),
        ([1.0, 0.5, 0.4], [2.0, 0.5, 0.6], FAILS),
    ],
)
def test_converges(even: list[float], rival: list[float], verdict: Verdict) -> None:
    """The error that no further run removes, across/K and the noise of the test set, would be lost."""
    claim = claims.converges(exact_table(even=even, concentrated=rival))
    assert claim.verdict == verdict
    assert claim.numbers["limit"] == pytest.approx(even[-1] ** 0.5)


def test_convergence_fails_wherever_instances_differ() -> None:
    """On a matrix the error that remains would not be across/K + V/T (Lemma 2)."""
    table = estimator_table(matrix_of(random_costs(1, 3, 20, 5)))
    claim = claims.converges(table)
    last = table[(table.estimator == "even") & (table.k == 10) & (table.n == 40)].iloc[0]
    assert claim.verdict != HOLDS
    assert claim.numbers["limit"] ** 2 == pytest.approx(last.across + last.floor)


def test_similar_at_other_k() -> None:
    """Estimators that swap places at another K would pass for similar."""
    table = estimator_table(matrix_of(random_costs(2, 4, 30, 5)))
    claim = claims.similar_at_other_k(table)
    assert claim.verdict == HOLDS
    assert claim.numbers["same"] >= 0.95 * claim.numbers["points"]
    swapped = table.copy()
    small = (swapped.k < 15).to_numpy()
    names = {"even": "concentrated", "concentrated": "even"}
    swapped.loc[small, "estimator"] = swapped.loc[small, "estimator"].replace(names)
    assert claims.similar_at_other_k(swapped).verdict == FAILS


@pytest.mark.parametrize("kind", FORMULAS)
def test_fits(kind: Kind) -> None:
    """A step would pass for a curve of Theorem 2, or the curve itself not."""
    follows = sweep_table(kind, curve(kind))
    step = sweep_table(kind, (np.arange(200) % 2).astype(float))
    assert claims.fits_follow({kind: follows}).verdict == HOLDS
    assert claims.fits_follow({kind: step}).verdict == FAILS
    other: Kind = "n" if kind == "k" else "k"
    both: dict[Kind, pd.DataFrame] = {kind: step, other: sweep_table(other, curve(other))}
    assert claims.fits_follow(both).verdict == PARTLY


@pytest.mark.parametrize(
    ("half", "verdict", "ratio"), [(1.05, HOLDS, 0.5), (1.2, PARTLY, 1.0), (1.5, FAILS, 1.0)]
)
def test_steady(half: float, verdict: Verdict, ratio: float) -> None:
    """Steadiness would be judged elsewhere than at N = K/2, or reported from a wrong N on."""
    n = np.arange(1, 201)
    errors = np.where(n < 20, 3.0, np.where(n < 40, half, 1.0))
    claim = claims.steady_from_half(sweep_table("n", errors))
    assert claim.verdict == verdict
    assert claim.numbers["steady_from"] == pytest.approx(ratio)
    assert claim.numbers["above"] == pytest.approx(half - 1)


@pytest.mark.parametrize("kind", FORMULAS)
def test_selection(kind: Kind) -> None:
    """A selection error that follows only its curve or only the uniform error would pass."""
    uniform = curve(kind)
    noise = np.random.default_rng(3).normal(size=200)
    for selection, verdict in ((0.4 * uniform, HOLDS), (-uniform, FAILS), (noise, FAILS)):
        table = sweep_table(kind, uniform, selection=selection)
        claim = claims.selection_alike({kind: table})
        assert claim.verdict == verdict
    for table in (
        sweep_table(kind, uniform, selection=0.0),
        sweep_table(kind, np.ones(200), selection=uniform),
    ):
        assert claims.selection_alike({kind: table}).verdict == OPEN


@pytest.mark.parametrize(
    ("above", "verdict"), [(0, HOLDS), (10, PARTLY), (11, FAILS), (200, FAILS)]
)
def test_bounds(above: int, verdict: Verdict) -> None:
    """Points above the bound would not be counted, or something be promised without a range of
    costs.
    """
    quantile = np.where(np.arange(200) < above, 3.0, 1.0)
    table = sweep_table("m", curve("m"), uniform_q=quantile, bound=2.0)
    claim = claims.bounds_hold({"m": table})
    assert claim.verdict == verdict
    assert claim.numbers["above"] == above
    assert claims.bounds_hold({"m": table.drop(columns="bound")}).verdict == OPEN


def judged(matrix_costs: FloatArray, high: float) -> Mapping[str, claims.Claim]:
    """All claims on a matrix, simulated errors taken from the closed forms."""
    matrix = matrix_of(matrix_costs, high)
    exact = estimator_table(matrix)
    simulated = exact[exact.estimator.isin(SIMULATED)].assign(absolute=exact.squared**0.5, se=0.001)
    sweeps = {kind: sweep(matrix, kind, splits=200, rng=1, workers=1) for kind in FORMULAS}
    return {claim.name: claim for claim in claims.judge(exact, [simulated], sweeps)}


def test_runs_without_noise() -> None:
    """Where all seeds cost the same, repetitions would not count as wasted, or the error be steady
    from K/2 on instead of from K.
    """
    costs = np.random.default_rng(4).lognormal(size=(8, 40, 1)).repeat(4, axis=2)
    found = judged(np.minimum(costs, 10), 10.0)
    assert list(found) == list(claims.SAYS)
    assert found["best"].verdict == HOLDS
    assert found["steady"].verdict != HOLDS
    assert found["steady"].numbers["steady_from"] <= 1
    assert found["bounds"].verdict == HOLDS


def test_instances_without_differences() -> None:
    """Where only seeds matter, S* would seem to win everywhere, or half the runs be enough."""
    rng = np.random.default_rng(5)
    base = rng.lognormal(size=(6, 1, 4))
    # Every instance has the same runs in another order: across is 0 or below.
    costs = rng.permuted(np.broadcast_to(base, (6, 40, 4)), axis=2)
    found = judged(np.minimum(costs, 20), 20.0)
    assert found["best"].numbers["lost"] > 0
    assert found["steady"].verdict == FAILS


def test_a_matrix_without_errors() -> None:
    """Where all costs are equal something would be judged, or divided by 0."""
    found = judged(np.ones((5, 10, 2)), 2.0)
    assert {claim.verdict for claim in found.values()} == {OPEN}


def test_claims_need_their_tables() -> None:
    """A part that was not run would have a verdict."""
    tables: dict[Kind, pd.DataFrame] = {"k": sweep_table("k", curve("k"), uniform_q=1.0, bound=2.0)}
    names = [claim.name for claim in claims.judge(None, [], tables)]
    assert names == ["fits", "selection", "bounds"]
    assert claims.judge(None, [], {}) == ()
