"""The paper's figures, and Theorem 2 next to what the splits showed.

Each function draws one panel into `ax` and returns it.
"""

from typing import TYPE_CHECKING, Literal

import numpy as np

from truecost.paper import fit
from truecost.paper.fit import FORMULAS, Kind
from truecost.show.figures.style import BLUE, GREY, INK, ORANGE, axes_of, log_if_wide, neat_ticks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Error = Literal["uniform", "selection"]
ERRORS: tuple[Error, ...] = ("uniform", "selection")
SWEPT: dict[Kind, str] = {
    "m": "m, configurations",
    "n": "N, runs of a configuration",
    "k": "K, training instances",
}
ESTIMATORS = {
    "even": ("S*: evenly over the instances", BLUE, "o", "-"),
    "concentrated": ("S†: all runs of one instance after another", ORANGE, "s", "--"),
    "scattered": ("S°: instances drawn with replacement", INK, "^", ":"),
}
BOUNDS = {
    "uniform_q": ("95 % quantile of the uniform error", BLUE, "-"),
    "selection_q": ("95 % quantile of the selection error", ORANGE, "-"),
    "bound": ("Theorem 2, Bennett's form", INK, "--"),
    "printed": ("Theorem 2 as printed", GREY, ":"),
}


def estimators(
    simulated: "pd.DataFrame", *, unit: str = "cost", ax: "Axes | None" = None
) -> "Axes":
    """Absolute error of the estimators against N/K, mean ± standard deviation over splits (the
    paper's Figure 1), from a table of `compare_estimators`.
    """
    ax = axes_of(ax)
    for place, (name, (label, colour, marker, dash)) in enumerate(ESTIMATORS.items()):
        rows = simulated[simulated["estimator"] == name]
        # Side by side, so that no bar hides another.
        ratio = rows["n"] / rows["k"] + 0.04 * (place - 1)
        ax.errorbar(
            ratio, rows["absolute"], rows["spread"], label=label, color=colour, marker=marker,
            markersize=4, linestyle=dash, elinewidth=0.8, capsize=1.5,
        )  # fmt: skip
    ax.set_title(f"K = {simulated['k'].iloc[0]}, mean ± standard deviation over splits")
    ax.set_ylim(bottom=0)
    return _labelled(ax, "N/K, runs for each training instance", f"absolute error ({unit})")


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
    ax, rows = _panel(table, kind, ax)
    curve = fit.curve(table[kind], table[error], kind)
    x, mean, margin = rows[kind], rows[error], 2 * rows[f"{error}_se"]
    ax.fill_between(x, mean - margin, mean + margin, color=BLUE, alpha=0.3, linewidth=0)
    ax.plot(x, mean, color=BLUE, label="mean over splits ± 2 standard errors")
    ax.plot(x, curve(x), color=ORANGE, linestyle="--", label=FORMULAS[kind])
    varies = not np.isnan(curve.r_squared)
    ax.set_title(f"R² = {curve.r_squared:.3f}" if varies else "no variation to fit")
    return _labelled(ax, SWEPT[kind], f"{error} error ({unit})")


def bounds(
    table: "pd.DataFrame", kind: Kind, *, unit: str = "cost", ax: "Axes | None" = None
) -> "Axes":
    """Theorem 2, and the uniform and selection errors that 95 % of the splits stay below, from a
    table of `sweep`.
    """
    ax, rows = _panel(table, kind, ax)
    for column, (label, colour, dash) in BOUNDS.items():
        ax.plot(rows[kind], rows[column], color=colour, linestyle=dash, label=label)
    logarithmic = kind != "m" and table["uniform_q"].min() > 0
    if logarithmic:
        ax.set_yscale("log")
    # Room for the legend.
    ax.set_ylim(top=ax.get_ylim()[1] * (20 if logarithmic else 1.4))
    return _labelled(ax, SWEPT[kind], f"error ({unit})")


def _panel(table: "pd.DataFrame", kind: Kind, ax: "Axes | None") -> "tuple[Axes, pd.DataFrame]":
    """The axes, and a hundred rows to draw, evenly spaced on a logarithmic scale."""
    ax = axes_of(ax)
    if log_if_wide(table[kind]):
        ax.set_xscale("log")
    values = table[kind].to_numpy()
    wanted = np.searchsorted(values, np.geomspace(values[0], values[-1], 100))
    return ax, table.iloc[np.unique(wanted.clip(max=len(values) - 1))]


def _labelled(ax: "Axes", x: str, y: str) -> "Axes":
    ax.set(xlabel=x, ylabel=y)
    if ax.get_xscale() == "log":
        neat_ticks(ax, "x")
    if ax.get_yscale() == "log":
        neat_ticks(ax, "y")
    ax.legend(fontsize=7.5, frameon=True, framealpha=0.8, edgecolor="none")
    return ax
