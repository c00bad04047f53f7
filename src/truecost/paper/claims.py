"""What the paper's experiments claim, judged on the results of one matrix: a function for each.

`exact` is a table of `exact.estimator_table`, `simulated` those of `sweeps.compare_estimators`, and
`sweeps` those of `sweeps.sweep`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.paper import fit
from truecost.paper.fit import LETTERS, Kind

if TYPE_CHECKING:
    import pandas as pd

    Sweeps = Mapping[Kind, pd.DataFrame]

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
NAMES = {"concentrated": "S†", "scattered": "S°"}
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
    exact: "pd.DataFrame | None", simulated: "Sequence[pd.DataFrame]", sweeps: "Sweeps"
) -> tuple[Claim, ...]:
    """The claims that these tables can judge, in the paper's order."""
    import pandas as pd

    claims = []
    if exact is not None and simulated:
        claims = [best_estimator(exact, pd.concat(simulated))]
        claims += [claim(exact) for claim in (small_n, converges, similar_at_other_k)]
    if sweeps:
        claims.append(fits_follow(sweeps))
        claims += [steady_from_half(sweeps["n"])] if "n" in sweeps else []
        claims += [selection_alike(sweeps), bounds_hold(sweeps)]
    return tuple(claims)


def best_estimator(exact: "pd.DataFrame", simulated: "pd.DataFrame") -> Claim:
    """S* has the lowest error of all estimators at every K and N (Theorem 1)."""
    squared = _by_estimator(exact, "squared")
    if not squared.to_numpy().any():
        return _open("best")
    lost = squared.mul(1 + EQUAL).lt(squared["even"], axis=0).any(axis=1)
    absolute, error = (_by_estimator(simulated, column) for column in ("absolute", "se"))
    ahead = absolute[["even"]].to_numpy() - absolute.to_numpy()
    # A rival that is ahead by chance at one of hundreds of points refutes nothing.
    worse = (ahead > APART * np.hypot(error.to_numpy(), error[["even"]].to_numpy())).any(axis=1)
    return _claim(
        "best",
        _graded(not (lost.any() or worse.any()), lost.mean() <= 0.5),
        f"S* has the lowest exact mean squared error at {(~lost).sum()} of {lost.size} points "
        f"(K, N). In simulated absolute error, a rival is ahead by more than {APART:g} standard "
        f"errors at {worse.sum()}.",
        points=lost.size,
        lost=int(lost.sum()),
        simulated_lost=int(worse.sum()),
    )


def small_n(exact: "pd.DataFrame") -> Claim:
    """The advantage of S* is largest at small N. Over S° it is across·(1 − 1/N)/K up to N = K:
    nothing at N = 1, about across/K at N = K, then falling like 1/N.
    """
    _, squared = _at_largest_k(exact)
    gains = squared.sub(squared["even"], axis=0)[list(NAMES)]
    gains = gains.loc[:, gains.max() > EQUAL * squared["even"].max()]
    if gains.empty:
        return _open("small N", "The estimators are equal on this matrix.")
    peaks = {NAMES[str(name)]: float(peak) for name, peak in gains.idxmax().items()}
    places = " and ".join(f"over {name} at {peak:.3g}" for name, peak in peaks.items())
    return _claim(
        "small N",
        _all(peak == squared.index[0] for peak in peaks.values()),
        f"The smallest N/K is {squared.index[0]:.3g}. The advantage in mean squared error is "
        f"largest {places}.",
        largest_at=peaks,
    )


def converges(exact: "pd.DataFrame") -> Claim:
    """All errors converge to 0; by Lemma 2, that of S* converges to across/K + V/T."""
    k, squared = _at_largest_k(exact)
    first, last = float(squared["even"].iloc[0]), squared.iloc[-1]
    if last.min() <= 0:
        return _open("converges")
    # Σnᵢ²/N² is 1/K where K divides N. `across` may be negative, an error not.
    even = exact[(exact["estimator"] == "even") & (exact["k"] == k) & (exact["n"] % k == 0)]
    limit = max(0.0, float((even["across"] + even["floor"]).iloc[-1])) ** 0.5
    left, apart = limit / first**0.5, float((last.max() / last.min()) ** 0.5 - 1)
    return _claim(
        "converges",
        _graded(left <= GONE, apart <= TOGETHER),
        f"However many runs are made, {_percent(left)} of the root mean squared error that S* has "
        f"at the smallest N remains: it comes from the choice of instances. At the largest N the "
        f"estimators differ by at most {_percent(apart, 1)}.",
        limit=limit,
        left=left,
        apart=apart,
    )


def similar_at_other_k(exact: "pd.DataFrame") -> Claim:
    """The order of the estimators at r₁ = 0.5 is that at every other r₁."""
    squared = _by_estimator(exact, "squared").drop(columns="pairs")
    sizes = squared.index.get_level_values("k").unique()
    if not squared.to_numpy().any() or len(sizes) < 2:
        return _open("similar")
    errors = squared.to_numpy().reshape(len(sizes), -1, squared.shape[1])
    # Which of two estimators is better, for every pair at every point (K, N).
    difference = errors[..., np.newaxis, :] - errors[..., np.newaxis]
    signs = np.sign(difference) * (np.abs(difference) > EQUAL * errors[..., np.newaxis])
    same = (signs == signs[-1]).all(axis=(2, 3))[:-1]
    return _claim(
        "similar",
        _graded(same.mean() >= 0.95, same.mean() >= 0.5),
        f"At {same.sum()} of {same.size} points with smaller K, the estimators rank as at "
        f"K = {sizes[-1]}.",
        points=same.size,
        same=int(same.sum()),
    )


def fits_follow(sweeps: "Sweeps") -> Claim:
    """The curves that Theorem 2 suggests follow the uniform error."""
    r_squared = {kind: _r_squared(table, kind, "uniform") for kind, table in sweeps.items()}
    return _claim(
        "fits",
        _all(value >= FOLLOWS for value in r_squared.values() if not np.isnan(value)),
        f"R² is {_listed(r_squared, '.4f')}. It must be at least {FOLLOWS:g}.",
        r_squared=r_squared,
    )


def steady_from_half(table: "pd.DataFrame") -> Claim:
    """The uniform error is very low and stable from about N = K/2 on."""
    n, errors, k = table["n"].to_numpy(), table["uniform"].to_numpy(), int(table["k"].iloc[0])
    if not errors[-1] > 0:
        return _open("steady")
    half = int(np.abs(n - k / 2).argmin())
    above = float(errors[half] / errors[-1] - 1)
    # The first N from which the error stays in the band.
    first = int(n[np.flatnonzero(np.append(True, errors > errors[-1] * (1 + STEADY)))[-1]])
    return _claim(
        "steady",
        _graded(above <= STEADY, above <= NEARLY),
        f"At N = {n[half]} (K = {k}) the uniform error is {_percent(above)} above its last value. "
        f"From N = {first} ({first / k:.2g}K) on, it stays within {_percent(STEADY)} of it.",
        above=above,
        steady_from=first / k,
    )


def selection_alike(sweeps: "Sweeps") -> Claim:
    """What holds for the uniform error holds for that of the selected configuration."""
    r_squared = {kind: _r_squared(table, kind, "selection") for kind, table in sweeps.items()}
    # NaN where one of the two does not vary.
    correlation = {
        kind: float(table["selection"].corr(table["uniform"])) for kind, table in sweeps.items()
    }
    lower = [np.minimum(r_squared[kind], correlation[kind]) for kind in sweeps]
    return _claim(
        "selection",
        _all(value >= CONSIDERABLE for value in lower if not np.isnan(value)),
        f"R² of its fitted curve is {_listed(r_squared, '.3f')}. Its correlation with the uniform "
        f"error is {_listed(correlation, '.3f')}. Both must be at least {CONSIDERABLE:g}.",
        r_squared=r_squared,
        correlation=correlation,
    )


def bounds_hold(sweeps: "Sweeps") -> Claim:
    """Theorem 2 (Bennett's form, plug-in variances) lies above the uniform error of 95 % of the
    splits.
    """
    above, points, factor = 0, 0, np.nan
    for table in sweeps.values():
        if "bound" not in table:
            return _open("bounds", "Theorem 2 needs a range of costs.")
        above += int((table["uniform_q"] > table["bound"]).sum())
        points += len(table)
        # All sweeps end at m = M, N = R·K and K = P/2.
        factor = float(table["bound"].iloc[-1] / (table["uniform_q"].iloc[-1] or np.nan))
    if np.isnan(factor):
        return _open("bounds")
    return _claim(
        "bounds",
        _graded(above == 0, above <= 0.05 * points),
        f"The error that 95 % of the splits stay below exceeds the bound at {above} of {points} "
        f"points. With all configurations and runs the bound is {factor:.3g} times as large.",
        points=points,
        above=above,
        factor=factor,
    )


def _by_estimator(table: "pd.DataFrame", column: str) -> "pd.DataFrame":
    """A column with a row for each point (K, N) and a column for each estimator."""
    # No pivot table: with few instances two N/K of the grid are the same N.
    parts = {name: part.set_index(["k", "n"]) for name, part in table.groupby("estimator")}
    index = parts["even"].index
    return parts["even"][[]].assign(
        **{str(name): part[column].set_axis(index) for name, part in parts.items()}
    )


def _at_largest_k(exact: "pd.DataFrame") -> "tuple[int, pd.DataFrame]":
    """The largest K, and mean squared errors there by N/K and estimator."""
    k = int(exact["k"].max())
    table = _by_estimator(exact[exact["k"] == k], "squared").droplevel("k")
    return k, table.set_axis(table.index / k, axis=0)


def _r_squared(table: "pd.DataFrame", kind: Kind, error: str) -> float:
    return fit.curve(table[kind], table[error], kind).r_squared


def _listed(numbers: Mapping[Kind, float], form: str) -> str:
    """Each with what was swept; a dash for what is no number."""
    texts = {kind: "–" if np.isnan(x) else format(x, form) for kind, x in numbers.items()}
    return ", ".join(f"{text} against {LETTERS[kind]}" for kind, text in texts.items())


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _graded(holds: Any, partly: Any) -> Verdict:
    return Verdict.HOLDS if holds else Verdict.PARTLY if partly else Verdict.FAILS


def _all(parts: Iterable[bool]) -> Verdict:
    """Holds if all parts do, fails if none does; open without any."""
    judged = list(parts)
    return _graded(all(judged), any(judged)) if judged else Verdict.OPEN


def _open(name: str, why: str = "There is no error on this matrix.") -> Claim:
    return _claim(name, Verdict.OPEN, why)


def _claim(name: str, verdict: Verdict, finding: str, **numbers: Any) -> Claim:
    return Claim(name=name, says=SAYS[name], verdict=verdict, finding=finding, numbers=numbers)
