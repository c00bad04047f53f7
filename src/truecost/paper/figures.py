"""The paper's figures: errors of the estimators, errors against m, N and K with fitted curves, and
Theorem 2 next to what the splits showed.

Each function draws one panel into `ax` and returns it.
"""

from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from truecost.arrays import IntArray
from truecost.paper import fit
from truecost.paper.fit import FORMULAS, Kind
from truecost.show.figures.style import BLUE, GREY, INK, ORANGE, axes_of, log_if_wide, plain_ticks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Error = Literal["uniform", "selection"]
SWEPT: dict[Kind, str] = {
    "m": "m, configurations",
    "n": "N, runs of a configuration",
    "k": "K, training instances",
}
# Curves of up to a thousand values need no more points.
MOST_POINTS = 100
ERRORS: tuple[Error, ...] = ("uniform", "selection")
LOOKS = {
    "even": ("S*: evenly over the instances", BLUE, "o", "-"),
    "concentrated": ("S†: all runs of one instance after another", ORANGE, "s", "--"),
    "scattered": ("S°: instances drawn with replacement", INK, "^", ":"),
}


def estimators(
    simulated: "pd.DataFrame", *, unit: str = "cost", ax: "Axes | None" = None
) -> "Axes":
    """Absolute error of the estimators against N/K, mean ± standard deviation over splits (the
    paper's Figure 1), from a table of `compare_estimators` with one K.
    """
    ax = axes_of(ax)
    for place, (name, (label, colour, marker, dash)) in enumerate(LOOKS.items()):
        rows = simulated[simulated["estimator"] == name]
        if rows.empty:
            continue
        # Side by side, so that no bar hides another.
        ratio = rows["n"] / rows["k"] + 0.04 * (place - 1)
        ax.errorbar(
            ratio, rows["absolute"], rows["spread"], label=label, color=colour, marker=marker,
            markersize=4, linestyle=dash, elinewidth=0.8, capsize=1.5,
        )  # fmt: skip
    ax.set(xlabel="N/K, runs for each training instance", ylabel=f"absolute error ({unit})")
    ax.set_title(f"K = {simulated['k'].iloc[0]}, mean ± standard deviation over splits")
    ax.set_ylim(bottom=0)
    return _finished(ax)


def error_curve(
    table: "pd.DataFrame",
    kind: Kind,
    error: Error = "uniform",
    *,
    unit: str = "cost",
    ax: "Axes | None" = None,
) -> "Axes":
    """Mean error over splits, with twice its standard error, and the fitted curve (the paper's
    Figures 2 and 3), from a table of `sweep`.
    """
    ax, places = _panel(table, kind, f"{error} error", unit, ax)
    x, seen, se = (table[column].to_numpy()[places] for column in (kind, error, f"{error}_se"))
    curve = fit.curve(table[kind], table[error], kind)
    ax.fill_between(x, seen - 2 * se, seen + 2 * se, color=BLUE, alpha=0.3, linewidth=0)
    ax.plot(x, seen, color=BLUE, label="mean over splits ± 2 standard errors")
    ax.plot(x, curve(x), color=ORANGE, linestyle="--", label=FORMULAS[kind])
    ax.set_title(
        "no variation to fit" if np.isnan(curve.r_squared) else f"R² = {curve.r_squared:.3f}"
    )
    return _finished(ax)


def bounds(
    table: "pd.DataFrame", kind: Kind, *, unit: str = "cost", ax: "Axes | None" = None
) -> "Axes":
    """Theorem 2, and the uniform and selection errors that 1 − δ of the splits stay below, from a
    table of `with_bounds`.
    """
    ax, places = _panel(table, kind, "error", unit, ax)
    lines = {
        "uniform_q": ("uniform error, 1 − δ of the splits", BLUE, "-"),
        "selection_q": ("selection error, 1 − δ of the splits", ORANGE, "-"),
        "bound": ("Theorem 2, Bennett's form", INK, "--"),
        "printed": ("Theorem 2 as printed", GREY, ":"),
    }
    for column, (label, colour, dash) in lines.items():
        values = table[column].to_numpy()[places]
        ax.plot(table[kind].to_numpy()[places], values, color=colour, linestyle=dash, label=label)
    if kind != "m" and table["uniform_q"].min() > 0:
        ax.set_yscale("log")
    return _finished(ax)


def _panel(
    table: "pd.DataFrame", kind: Kind, what: str, unit: str, ax: "Axes | None"
) -> "tuple[Axes, IntArray]":
    """The axes, labelled, and the rows to draw: evenly spaced on a logarithmic scale."""
    ax = axes_of(ax)
    values = table[kind].to_numpy()
    wanted = np.geomspace(values[0], values[-1], MOST_POINTS)
    if log_if_wide(values):
        ax.set_xscale("log")
    ax.set(xlabel=SWEPT[kind], ylabel=f"{what} ({unit})")
    return ax, cast(IntArray, np.unique(np.searchsorted(values, wanted)).clip(max=len(values) - 1))


def _finished(ax: "Axes") -> "Axes":
    if ax.get_xscale() == "log":
        plain_ticks(ax, "x")
    if ax.get_yscale() == "log":
        plain_ticks(ax, "y")
    ax.legend(fontsize=7.5, frameon=True, framealpha=0.8, edgecolor="none")
    return ax
