"""What the paper's experimental section claims, judged on the results of one matrix.

Each function takes tables of `truecost.paper.tables` and answers one claim by a verdict and
the numbers behind it. What counts as "best", "steady" or "follows" stands beside each as a constant
and in the answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from truecost.arrays import FloatArray, IntArray
from truecost.paper import fit

# What the paper says, in its order.
SAYS = {
    "best": "S* is the best of the three estimators, whatever K and N.",
    "small-n": "The advantage of S* is most remarkable when N is small.",
    "converges": "When N grows, the error of all three estimators converges to 0.",
    "similar": "The results at other values of r₁ = K/P are similar to those at 0.5.",
    "fits": "The fitted curves capture how the uniform error depends on m, N and K.",
    "steady": "The error is very low and stable from about N = K/2 on.",
    "selection": "The selection error behaves like the uniform error, to a considerable extent.",
    "bounds": "Theorem 2 bounds the uniform error.",
}
NAMES = {"even": "S*", "concentrated": "S†", "scattered": "S°", "pairs": "S° of distinct pairs"}
# Equal up to rounding: where two estimators are the same, neither is better.
EQUAL = 1e-9
# Simulated errors differ only if they lie this many standard errors apart: there are hundreds of
# comparisons.
APART = 4.0
# Shares of the final error: above it by at most the first is steady, by at most the second nearly
# so.
STEADY, NEARLY = 0.10, 0.25
# The R² from which a curve follows the errors, and, for the selection error, R² and correlation "to
# a considerable extent".
FOLLOWS, CONSIDERABLE = 0.95, 0.90
# What may be left of an error that converged to 0, as a share of that at the least N; how far apart
# errors may be that met.
GONE, TOGETHER = 0.05, 0.05


class Verdict(StrEnum):
    """Whether a claim holds on the data."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "fails"
    OPEN = "cannot be judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper, the verdict, the finding in words, and every number in it."""

    name: str
    says: str
    verdict: Verdict
    finding: str
    numbers: dict[str, Any]


def judge(
    *,
    exact: pl.DataFrame,
    simulated: pl.DataFrame,
    sweeps: dict[fit.Kind, pl.DataFrame],
    train: int,
    delta: float,
) -> list[Claim]:
    """All claims, in the paper's order.

    Parameters
    ----------
    exact
        `tables.exact_table` over the paper's grid.
    simulated
        `tables.estimator_table` at every K of the grid.
    sweeps
        `tables.sweep_table` with bounds, for m, n and k.
    train
        K of the N-sweep.
    delta
        Of the bounds.
    """
    return [
        best_estimator(exact, simulated),
        small_n(exact),
        converges(exact),
        similar_at_other_k(exact),
        fits_follow(sweeps),
        steady_from_half(sweeps["n"], train),
        selection_alike(sweeps),
        bounds_hold(sweeps, delta),
    ]


def best_estimator(exact: pl.DataFrame, simulated: pl.DataFrame) -> Claim:
    """S* has the least error of all estimators at every K and N (Theorem 1)."""
    squared = _by_estimator(exact, "squared")
    rivals = [name for name in squared if name != "even"]
    lost = np.any([squared["even"] > squared[name] * (1 + EQUAL) for name in rivals], axis=0)
    absolute, error = (_by_estimator(simulated, f"absolute{end}") for end in ("", "_error"))
    # A rival that is better by chance at one of hundreds of points refutes nothing.
    worse = np.zeros_like(absolute["even"], dtype=bool)
    for name in absolute:
        worse |= absolute["even"] - absolute[name] > APART * np.hypot(error["even"], error[name])
    if not any(values.any() for values in squared.values()):
        return _open("best")
    at = _at_largest_k(exact)
    excess = {
        name: [_excess(at[name][place], at["even"][place]) for place in (0, -1)] for name in rivals
    }
    ends = [f"at N = {at['ratio'][place]:.3g}K" for place in (0, -1)]
    gaps = "; ".join(
        f"{NAMES[name]} {written(first, '+.1%')} {ends[0]} and {written(last, '+.1%')} {ends[1]}"
        for name, (first, last) in excess.items()
    )
    return _claim(
        "best",
        _graded(not (lost.any() or worse.any()), lost.mean() <= 0.5),
        f"By exact mean squared error S* is best or equal at {lost.size - lost.sum()} of "
        f"{lost.size} points (K, N). By simulated absolute error a rival is better, by more than "
        f"{APART:g} standard errors, at {worse.sum()} of {worse.size}. Root mean squared error "
        f"against that of S*, at the largest K: {gaps}.",
        {
            "points": lost.size,
            "points_lost": int(lost.sum()),
            "points_simulated": worse.size,
            "points_simulated_lost": int(worse.sum()),
            "rmse_excess": excess,
        },
    )


def small_n(exact: pl.DataFrame) -> Claim:
    """The advantage of S* is largest at small N.

    Over S° it is across·(1 − 1/N)/K up to N = K, nothing at N = 1 and about across/K at N = K, and
    falls like 1/N after.
    """
    at = _at_largest_k(exact)
    peaks, holds = {}, {}
    for name in ("concentrated", "scattered"):
        gain = at.get(name, at["even"]) - at["even"]
        if gain.max() > EQUAL * at["even"].max():
            peaks[name] = float(at["ratio"][gain.argmax()])
            holds[name] = bool(gain.argmax() == 0)
    across = float(at["across"][-1])
    places = [
        f"over {NAMES[name]} it is largest at N = {peak:.3g}K, "
        f"{'' if holds[name] else 'not '}the least N"
        for name, peak in peaks.items()
    ]
    finding = "S* has no advantage over the others anywhere on the grid."
    if places:
        finding = f"In mean squared error, at the largest K, {'; '.join(places)}."
    if holds.get("scattered") is False:
        finding += (
            " At N = 1 S* and S° are the same; the advantage grows to about across/K = "
            f"{across:.3g} at N = K, then falls."
        )
    return _claim(
        "small-n",
        _all(holds.values()),
        finding,
        {"largest_at": peaks, "at_least_n": holds, "across_over_k": across},
    )


def converges(exact: pl.DataFrame) -> Claim:
    """With growing N all errors converge to 0; in truth, that of S* to across/K and the noise of
    the test set (Lemma 2).
    """
    at = _at_largest_k(exact)
    # An estimated across may be below 0, an error not.
    limit = max(0.0, float(at["across"][-1] + at["floor"][-1]))
    first, last = float(at["even"][0]), {name: float(at[name][-1]) for name in NAMES if name in at}
    if first <= 0:
        return _open("converges")
    left = float(np.sqrt(limit / first))
    apart = _excess(max(last.values()), min(last.values()))
    return _claim(
        "converges",
        _graded(left <= GONE, apart <= TOGETHER),
        f"However many runs, a root mean squared error of {np.sqrt(limit):.4g} stays at "
        f"the largest K, {left:.0%} of that of S* at N = {at['ratio'][0]:.3g}K: it comes from the "
        f"choice of instances, training and test. At N = {at['ratio'][-1]:.3g}K the estimators "
        f"differ by up to {written(apart, '+.1%')}.",
        {"limit_rmse": float(np.sqrt(limit)), "left": left, "apart_at_last_n": apart},
    )


def similar_at_other_k(exact: pl.DataFrame) -> Claim:
    """The order of the estimators at r₁ = 0.5 is that at every other r₁."""
    # (K, N): every K of the grid has as many N.
    squared = {
        name: flat.reshape(exact["k"].n_unique(), -1)
        for name, flat in _by_estimator(exact, "squared").items()
    }
    if not any(values.any() for values in squared.values()):
        return _open("similar")
    names = [name for name in ("even", "concentrated", "scattered") if name in squared]
    # Which of two estimators is better, for every pair of them at every point.
    pairs = combinations([squared[name] for name in names], 2)
    signs = np.array([_sign(error - rival, error) for error, rival in pairs])  # (pairs, K, N)
    same = (signs == signs[:, -1:, :]).all(axis=0)[:-1]
    share = float(same.mean()) if same.size else float("nan")
    sizes = exact["k"].unique().sort().to_list()
    return _claim(
        "similar",
        _graded(share >= 0.95, share >= 0.5) if same.size else Verdict.OPEN,
        "The order of the estimators by mean squared error is the same as at "
        f"K = {sizes[-1]} at {same.sum()} of {same.size} points with K from {sizes[0]} to "
        f"{sizes[-2] if len(sizes) > 1 else sizes[0]}.",
        {"points": same.size, "same": int(same.sum())},
    )


def fits_follow(sweeps: dict[fit.Kind, pl.DataFrame]) -> Claim:
    """The curves that Theorem 2 suggests follow the uniform error against m, N and K."""
    curves: dict[str, Any] = {kind: _fit(table, "uniform") for kind, table in sweeps.items()}
    listing = ", ".join(
        f"{fit.letter(kind)}: {written(curve['r_squared'], '.4f')} "
        f"(largest gap {written(curve['gap'], '.1%')} of the curve's range)"
        for kind, curve in curves.items()
    )
    return _claim(
        "fits",
        _all(_at_least(curve["r_squared"], FOLLOWS) for curve in curves.values()),
        f"R² against {listing}; {FOLLOWS:g} or more counts as following.",
        {**curves},
    )


def steady_from_half(table: pl.DataFrame, train: int) -> Claim:
    """The uniform error is very low and stable from about N = K/2."""
    values, errors = table["n"].to_numpy(), table["uniform"].to_numpy()
    # The swept value next to K/2: with few instances K/2 is no whole number.
    half = int(np.abs(values - train / 2).argmin())
    if not errors[-1] > 0:
        return _open("steady")
    above = float(errors[half] / errors[-1] - 1)
    gone = _over(errors[0] - errors[half], errors[0] - errors[-1])
    # The first N from which the error never leaves the band again.
    outside = np.flatnonzero(errors > errors[-1] * (1 + STEADY))
    first = int(values[0] if outside.size == 0 else values[min(outside[-1] + 1, values.size - 1)])
    return _claim(
        "steady",
        _graded(above <= STEADY, above <= NEARLY),
        f"At N = {values[half]:,} (K = {train:,}) the uniform error is {errors[half]:.4g}, "
        f"{above:+.0%} against {errors[-1]:.4g} at N = {values[-1]:,}; {written(gone, '.0%')} of "
        f"the way down from N = 1 is done by then. It stays within {STEADY:.0%} of its last value "
        f"from N = {first:,} on, that is {first / train:.2g}K.",
        {
            "at_half": float(errors[half]),
            "at_last": float(errors[-1]),
            "above": above,
            "gone": gone,
            "steady_from": first,
        },
    )


def selection_alike(sweeps: dict[fit.Kind, pl.DataFrame]) -> Claim:
    """What holds for the uniform error holds for the error of the selected configuration to a
    considerable extent.
    """
    curves: dict[str, dict[str, float]] = {}
    for kind, table in sweeps.items():
        selection, uniform = table["selection"].to_numpy(), table["uniform"].to_numpy()
        curves[kind] = _fit(table, "selection") | {
            "correlation": _correlation(selection, uniform),
            "share": _over(selection[-1], uniform[-1]),
        }
    listing = "; ".join(
        f"{fit.letter(kind)}: R² {written(curve['r_squared'], '.4f')}, correlation with the "
        f"uniform error {written(curve['correlation'], '.3f')}"
        for kind, curve in curves.items()
    )
    return _claim(
        "selection",
        _all(
            _at_least(min(curve["correlation"], curve["r_squared"]), CONSIDERABLE)
            for curve in curves.values()
        ),
        f"{listing}; {CONSIDERABLE:g} or more of both counts. With all runs it is "
        f"{written(curves['n']['share'], 'z.0%')} of the uniform error.",
        {**curves},
    )


def bounds_hold(sweeps: dict[fit.Kind, pl.DataFrame], delta: float) -> Claim:
    """Theorem 2, in Bennett's form with plug-in variances, lies above the uniform error of 1 −
    delta of the splits.
    """
    column = f"uniform_q{100 * (1 - delta):g}"
    below, points, factors = 0, 0, {}
    for kind, table in sweeps.items():
        seen, bound = table[column].to_numpy(), table["bound_bennett"].to_numpy()
        # Where variances are not known, from one run a cell, Theorem 2 promises nothing.
        known = np.isfinite(bound)
        below, points = below + int((seen[known] > bound[known]).sum()), points + int(known.sum())
        factors[kind] = _over(bound[-1], seen[-1])
    listing = ", ".join(
        f"{written(factor, '.1f')} at the largest {fit.letter(kind)}"
        for kind, factor in factors.items()
    )
    return _claim(
        "bounds",
        _graded(below == 0, below <= 0.05 * points) if points else Verdict.OPEN,
        f"The error that {1 - delta:g} of the splits stay below is above the bound at "
        f"{below} of {points} points. The bound is larger than it by a factor of {listing}. "
        "Plug-in, not guaranteed: within and across are estimates, and the error is against test "
        "instances.",
        {"points": points, "above": below, "factors": factors},
    )


def _by_estimator(table: pl.DataFrame, column: str) -> dict[str, FloatArray]:
    """The column for every estimator, at the same points (K, N) in the same order."""
    return {
        str(name): part.sort("k", "n", maintain_order=True)[column].to_numpy()
        for (name,), part in table.group_by("estimator", maintain_order=True)
    }


def _at_largest_k(exact: pl.DataFrame) -> dict[str, FloatArray]:
    """Mean squared errors over N at the largest K, N/K as `ratio`, and S*'s limits: `across` (over
    K) and `floor`.
    """
    last = exact.filter(pl.col("k") == pl.col("k").max())
    even = last.filter(pl.col("estimator") == "even").sort("n")
    k, n = even["k"].to_numpy(), even["n"].to_numpy()
    # Σ n_i²/N² is 1/K where K divides N, at N = K for one: across/K can be read off there.
    limit = even["across"].to_numpy()[n % k == 0][-1]
    return {
        **_by_estimator(last, "squared"),
        "ratio": n / k,
        "across": np.full(n.size, limit),
        "floor": even["floor"].to_numpy(),
    }


def _fit(table: pl.DataFrame, error: str) -> dict[str, float]:
    curve, errors = fit.to_table(table, error), table[error].to_numpy()
    gap = _over(np.abs(curve(table[curve.kind].to_numpy()) - errors).max(), np.ptp(errors))
    return {"a": curve.a, "b": curve.b, "r_squared": curve.r_squared, "gap": gap}


def _excess(squared: float, other: float) -> float:
    """By which share one root mean squared error lies above another."""
    return float(np.sqrt(_over(squared, other)) - 1)


def _over(part: float, whole: float) -> float:
    """The share; NaN of nothing."""
    return float(part / whole) if whole > 0 else float("nan")


def written(value: float, form: str) -> str:
    """The number in this form; a dash for what is not one."""
    return "–" if np.isnan(value) else format(value, form)


def _correlation(a: FloatArray, b: FloatArray) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def _sign(difference: FloatArray, size: FloatArray) -> IntArray:
    return (np.sign(difference) * (np.abs(difference) > EQUAL * np.abs(size))).astype(np.int64)


def _at_least(value: float, least: float) -> bool | None:
    return None if np.isnan(value) else value >= least


def _graded(holds: Any, partly: Any) -> Verdict:
    return Verdict.HOLDS if holds else Verdict.PARTLY if partly else Verdict.FAILS


def _all(parts: Iterable[bool | None]) -> Verdict:
    """Holds if all parts do, fails if none does; parts that cannot be judged do not count."""
    known = [part for part in parts if part is not None]
    return _graded(all(known), any(known)) if known else Verdict.OPEN


def _open(name: str) -> Claim:
    return _claim(name, Verdict.OPEN, "There is no error on this matrix.", {})


def _claim(name: str, verdict: Verdict, finding: str, numbers: dict[str, Any]) -> Claim:
    return Claim(name=name, says=SAYS[name], verdict=verdict, finding=finding, numbers=numbers)
