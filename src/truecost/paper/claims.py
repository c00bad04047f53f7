"""What the paper's experiments claim, judged on the results of one matrix: a function for each.

`judge` takes the tables of `exact.estimator_table`, `sweeps.compare_estimators` and
`sweeps.sweep`, the last with the columns of `bounds_observed.with_bounds`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.arrays import FloatArray
from truecost.paper import fit
from truecost.paper.fit import LETTERS, Kind

if TYPE_CHECKING:
    import pandas as pd

SAYS = {
    "best": "S* is the best of the three estimators at every K and N.",
    "small N": "The advantage of S* is remarkable when N is small.",
    "converges": "When N grows, the error of all three estimators converges to 0.",
    "similar": "Results at other values of K/P are similar to those at 0.5.",
    "fits": "The fitted curves capture how the uniform error depends on m, N and K.",
    "steady": "The uniform error is very low and stable from about N = K/2 on.",
    "selection": "The selection error behaves like the uniform error to a considerable extent.",
    "bounds": "Theorem 2 bounds the uniform error.",
}
NAMES = {"even": "S*", "concentrated": "S†", "scattered": "S°", "pairs": "S° of distinct pairs"}
# Errors that differ by less are equal: where two estimators are the same, neither is better.
EQUAL = 1e-9
# Simulated errors must lie this many standard errors apart: there are hundreds of comparisons.
APART = 4.0
# Above the last error by this share: steady, nearly so.
STEADY, NEARLY = 0.10, 0.25
# R² of a curve that follows the errors; R² and correlation of "a considerable extent".
FOLLOWS, CONSIDERABLE = 0.95, 0.90
# What may be left of an error that converged to 0; how far apart errors may be that met.
GONE, TOGETHER = 0.05, 0.05


class Verdict(StrEnum):
    """Whether a claim holds on the data."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "fails"
    OPEN = "cannot be judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper, the verdict, the finding in words, and the numbers behind it."""

    name: str
    says: str
    verdict: Verdict
    finding: str
    numbers: Mapping[str, Any]


def judge(
    *,
    exact: "pd.DataFrame | None" = None,
    simulated: "pd.DataFrame | None" = None,
    sweeps: "Mapping[Kind, pd.DataFrame] | None" = None,
    delta: float = 0.05,
) -> tuple[Claim, ...]:
    """The claims that these tables can judge, in the paper's order."""
    claims = []
    if exact is not None and simulated is not None:
        claims = [best_estimator(exact, simulated)]
        claims += [claim(exact) for claim in (small_n, converges, similar_at_other_k)]
    if sweeps:
        claims.append(fits_follow(sweeps))
        if "n" in sweeps:
            claims.append(steady_from_half(sweeps["n"]))
        claims += [selection_alike(sweeps), bounds_hold(sweeps, delta)]
    return tuple(claims)


def best_estimator(exact: "pd.DataFrame", simulated: "pd.DataFrame") -> Claim:
    """S* has the lowest error of all estimators at every K and N (Theorem 1)."""
    squared = _by_estimator(exact, "squared")
    if not squared.to_numpy().any():
        return _open("best")
    lost = squared.mul(1 + EQUAL).lt(squared["even"], axis=0).any(axis=1)
    absolute, error = _by_estimator(simulated, "absolute"), _by_estimator(simulated, "se")
    # A rival that is lower by chance at one of hundreds of points refutes nothing.
    apart = APART * np.hypot(error.to_numpy(), error[["even"]].to_numpy())
    worse = (absolute[["even"]].to_numpy() - absolute.to_numpy() > apart).any(axis=1)
    largest = squared.loc[squared.index.get_level_values("k").max()]
    excess = np.sqrt(largest.div(largest["even"], axis=0)) - 1
    k = squared.index.get_level_values("k").max()
    ends = {float(n / k): excess.loc[n].drop("even").to_dict() for n in excess.index[[0, -1]]}
    gaps = "; ".join(
        f"at N = {ratio:.3g}K " + ", ".join(f"{NAMES[name]} {x:+.1%}" for name, x in gap.items())
        for ratio, gap in ends.items()
    )
    return _claim(
        "best",
        _graded(not (lost.any() or worse.any()), lost.mean() <= 0.5),
        f"The exact mean squared error of S* is the lowest or equal at {(~lost).sum()} of "
        f"{lost.size} points (K, N). In simulated absolute error a rival is better by more than "
        f"{APART:g} standard errors at {worse.sum()} of {worse.size}. Root mean squared error "
        f"above that of S* at K = {k}: {gaps}.",
        points=lost.size,
        lost=int(lost.sum()),
        simulated=worse.size,
        simulated_lost=int(worse.sum()),
        excess=ends,
    )


def small_n(exact: "pd.DataFrame") -> Claim:
    """The advantage of S* is largest at small N. Over S° it is across·(1 − 1/N)/K up to N = K:
    nothing at N = 1, about across/K at N = K, then falling like 1/N.
    """
    k, squared = _at_largest_k(exact)
    peaks = {}
    for name in squared.columns.intersection(["concentrated", "scattered"]):
        gain = squared[name] - squared["even"]
        if gain.max() > EQUAL * squared["even"].max():
            peaks[str(name)] = float(gain.idxmax() / k)
    if not peaks:
        return _open("small N")
    first = squared.index[0] / k
    places = (f"over {NAMES[name]} at N = {peak:.3g}K" for name, peak in peaks.items())
    return _claim(
        "small N",
        _all(peak == first for peak in peaks.values()),
        f"At K = {k} the advantage in mean squared error is largest {', '.join(places)}; the "
        f"smallest N is {first:.3g}K.",
        largest_at=peaks,
    )


def converges(exact: "pd.DataFrame") -> Claim:
    """All errors converge to 0; by Lemma 2, that of S* converges to across/K + V/T."""
    k, squared = _at_largest_k(exact)
    first, last = float(squared["even"].iloc[0]), squared.iloc[-1]
    if first <= 0:
        return _open("converges")
    even = exact[(exact["estimator"] == "even") & (exact["k"] == k) & (exact["n"] % k == 0)]
    # Σnᵢ²/N² is 1/K where K divides N. `across` may be negative, an error not.
    limit = max(0.0, float((even["across"] + even["floor"]).iloc[-1]))
    left = float(np.sqrt(limit / first))
    apart = float(np.sqrt(last.max() / last.min()) - 1) if last.min() > 0 else float("nan")
    return _claim(
        "converges",
        _graded(left <= GONE, apart <= TOGETHER),
        f"However many runs, a root mean squared error of {np.sqrt(limit):.4g} remains at K = {k}, "
        f"{left:.0%} of that of S* at N = {squared.index[0] / k:.3g}K: it comes from the choice of "
        f"training and test instances. At N = {squared.index[-1] / k:.3g}K the estimators differ "
        f"by up to {_written(apart, '.1%')}.",
        limit=float(np.sqrt(limit)),
        left=left,
        apart=apart,
    )


def similar_at_other_k(exact: "pd.DataFrame") -> Claim:
    """The order of the estimators at r₁ = 0.5 is that at every other r₁."""
    squared = _by_estimator(exact, "squared")
    sizes = squared.index.get_level_values("k").unique()
    if not squared.to_numpy().any() or len(sizes) < 2:
        return _open("similar")
    table = squared.drop(columns="pairs", errors="ignore")
    errors = table.to_numpy().reshape(len(sizes), -1, table.shape[1])
    # Which of two estimators is better, for every pair at every point (K, N).
    difference = errors[..., :, np.newaxis] - errors[..., np.newaxis, :]
    signs = np.sign(difference) * (np.abs(difference) > EQUAL * errors[..., np.newaxis])
    same = (signs == signs[-1]).all(axis=(2, 3))[:-1]
    return _claim(
        "similar",
        _graded(same.mean() >= 0.95, same.mean() >= 0.5),
        f"The order of the estimators is that at K = {sizes[-1]} at {same.sum()} of {same.size} "
        f"points with K from {sizes[0]} to {sizes[-2]}.",
        points=same.size,
        same=int(same.sum()),
    )


def fits_follow(sweeps: "Mapping[Kind, pd.DataFrame]") -> Claim:
    """The curves that Theorem 2 suggests follow the uniform error."""
    fits = {kind: fit.curve(table[kind], table["uniform"], kind) for kind, table in sweeps.items()}
    listing = "; ".join(
        f"against {LETTERS[kind]} {_written(curve.r_squared, '.4f')}, largest gap "
        f"{_written(curve.gap, '.0%')} of the range"
        for kind, curve in fits.items()
    )
    return _claim(
        "fits",
        _all(_at_least(curve.r_squared, FOLLOWS) for curve in fits.values()),
        f"R² {listing}. {FOLLOWS:g} counts as following.",
        r_squared={kind: curve.r_squared for kind, curve in fits.items()},
        gap={kind: curve.gap for kind, curve in fits.items()},
    )


def steady_from_half(table: "pd.DataFrame") -> Claim:
    """The uniform error is very low and stable from about N = K/2."""
    n, errors, k = table["n"].to_numpy(), table["uniform"].to_numpy(), int(table["k"].iloc[0])
    if not errors[-1] > 0:
        return _open("steady")
    half = int(np.abs(n - k / 2).argmin())
    above = float(errors[half] / errors[-1] - 1)
    # The first N from which the error stays in the band.
    outside = np.flatnonzero(errors > errors[-1] * (1 + STEADY))
    first = int(n[0] if outside.size == 0 else n[min(outside[-1] + 1, n.size - 1)])
    return _claim(
        "steady",
        _graded(above <= STEADY, above <= NEARLY),
        f"At N = {n[half]} (K = {k}) the uniform error is {errors[half]:.4g}, {above:+.0%} against "
        f"{errors[-1]:.4g} at N = {n[-1]}. It stays within {STEADY:.0%} of its last value from "
        f"N = {first} = {first / k:.2g}K on.",
        above=above,
        steady_from=first,
        steady_ratio=first / k,
    )


def selection_alike(sweeps: "Mapping[Kind, pd.DataFrame]") -> Claim:
    """What holds for the uniform error holds for that of the selected configuration."""
    fitted, correlation, share = {}, {}, {}
    for kind, table in sweeps.items():
        selection, uniform = table["selection"].to_numpy(), table["uniform"].to_numpy()
        fitted[kind] = fit.curve(table[kind], selection, kind).r_squared
        correlation[kind] = _correlation(selection, uniform)
        share[kind] = float(selection[-1] / uniform[-1]) if uniform[-1] > 0 else float("nan")
    listing = "; ".join(
        f"against {LETTERS[kind]} R² {_written(fitted[kind], '.3f')}, correlation with the uniform "
        f"error {_written(correlation[kind], '.3f')}"
        for kind in fitted
    )
    return _claim(
        "selection",
        _all(_at_least(min(fitted[kind], correlation[kind]), CONSIDERABLE) for kind in fitted),
        f"{listing[:1].upper()}{listing[1:]}. {CONSIDERABLE:g} of both counts. With all runs the "
        f"selection error is {_written(next(iter(share.values())), 'z.0%')} of the uniform error.",
        r_squared=fitted,
        correlation=correlation,
        share=share,
    )


def bounds_hold(sweeps: "Mapping[Kind, pd.DataFrame]", delta: float) -> Claim:
    """Theorem 2 (Bennett's form, plug-in variances) lies above the uniform error of 1 − delta of
    the splits.
    """
    above, points, factors = 0, 0, {}
    for kind, table in sweeps.items():
        if "bound" not in table:
            return _open("bounds", "Theorem 2 needs the range of costs. Give low and high.")
        seen, bound = table["uniform_q"].to_numpy(), table["bound"].to_numpy()
        # With one run a cell, variances are unknown and Theorem 2 promises nothing.
        known = np.isfinite(bound)
        above, points = above + int((seen > bound)[known].sum()), points + int(known.sum())
        factors[kind] = float(bound[-1] / seen[-1]) if seen[-1] > 0 else float("nan")
    if not points:
        return _open("bounds", "Variances within instances need two runs on an instance.")
    listing = ", ".join(
        f"{_written(factor, '.1f')} at the largest {LETTERS[kind]}"
        for kind, factor in factors.items()
    )
    return _claim(
        "bounds",
        _graded(above == 0, above <= 0.05 * points),
        f"The error that {1 - delta:.0%} of the splits stay below exceeds the bound at {above} of "
        f"{points} points. The bound is larger by a factor of {listing}. Plug-in, not guaranteed: "
        "variances are estimated.",
        points=points,
        above=above,
        factors=factors,
    )


def _by_estimator(table: "pd.DataFrame", column: str) -> "pd.DataFrame":
    """A column with a row for each point (K, N) and a column for each estimator."""
    return table.pivot_table(index=["k", "n"], columns="estimator", values=column)


def _at_largest_k(exact: "pd.DataFrame") -> "tuple[int, pd.DataFrame]":
    """The largest K, and mean squared errors there by N and estimator."""
    k = int(exact["k"].max())
    return k, _by_estimator(exact, "squared").loc[k]


def _written(value: float, form: str) -> str:
    return "–" if np.isnan(value) else format(value, form)


def _correlation(a: FloatArray, b: FloatArray) -> float:
    varies = np.ptp(a) > 0 and np.ptp(b) > 0
    return float(np.corrcoef(a, b)[0, 1]) if varies else float("nan")


def _at_least(value: float, least: float) -> bool | None:
    return None if np.isnan(value) else value >= least


def _graded(holds: Any, partly: Any) -> Verdict:
    return Verdict.HOLDS if holds else Verdict.PARTLY if partly else Verdict.FAILS


def _all(parts: Iterable[bool | None]) -> Verdict:
    """Holds if all parts do, fails if none does; parts that cannot be judged do not count."""
    known = [part for part in parts if part is not None]
    return _graded(all(known), any(known)) if known else Verdict.OPEN


def _open(name: str, why: str = "There is no error on this matrix.") -> Claim:
    return _claim(name, Verdict.OPEN, why)


def _claim(name: str, verdict: Verdict, finding: str, **numbers: Any) -> Claim:
    return Claim(name=name, says=SAYS[name], verdict=verdict, finding=finding, numbers=numbers)
