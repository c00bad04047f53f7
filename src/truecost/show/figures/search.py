"""Figures of what was run: incumbents over time, the ranking, the matrix, over-tuning."""

from math import isfinite, nan
from typing import TYPE_CHECKING

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError, counted
from truecost.judge.costs import known_means
from truecost.show.figures.style import (
    BLUE,
    COSTS,
    GREY,
    INK,
    LINE,
    ORANGE,
    SIZE,
    axes_of,
    label_axes,
    legend,
    log_if_wide,
    mark_rows,
    neat_ticks,
)
from truecost.show.numbers import distinct_numbers, label, short_names
from truecost.show.words import axis_of, mean_of, phase_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truecost.judge.assessment import Assessment

# How many rows the ranking has, and how many rows and columns of a matrix are drawn.
MOST_RANKED, MOST_CELLS = 15, 500


def best_over_time(assessment: "Assessment", *, test: bool) -> list[tuple[int | None, float]]:
    """Return the costs of the best configurations in the order of time, in training or test, and
    after how many runs each was the best; None where these were not counted.
    """
    costs = {row.configuration: row.test_cost if test else row.cost for row in assessment.ranking}
    steps = [(runs, costs.get(name, nan)) for runs, name in assessment.log.steps]
    return [step for step in steps if isfinite(step[1])]


def incumbents(assessment: "Assessment", ax: "Axes | None" = None, *, test: bool = False) -> "Axes":
    """Draw the cost of the best configuration so far over the runs of a search.

    Training and test costs (`test=True`) are never in one picture: they are means over different
    instances.
    """
    ax = axes_of(ax)
    steps, kind = best_over_time(assessment, test=test), "test" if test else "training"
    if not steps:
        raise InputError(f"No {kind} runs of the best configurations over time are known.")
    runs, y = zip(*steps, strict=True)
    timed = None not in runs
    x = runs if timed else range(1, len(runs) + 1)
    if test:
        ax.plot(x, y, "o-", color=ORANGE, markersize=5, drawstyle="steps-post")
    else:
        end = max(x[-1], int(assessment.log.runs.counts().sum())) if timed else x[-1] + 1
        ax.step([*x, end], [*y, y[-1]], where="post", color=BLUE)
        ax.plot(x, y, "o", color=BLUE, markersize=5)
    x_label = "training runs" if timed else "place in the search"
    label_axes(ax, x_label, f"{mean_of(assessment)}, {kind}")
    ax.grid(axis="y")
    neat_ticks(ax)
    return ax


def ranking(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw the costs of the best configurations, winner and default among them, and which of them
    may be the best.
    """
    pair, rows = (assessment.winner, assessment.default), list(assessment.ranking)
    rows = rows[:MOST_RANKED] + [row for row in rows[MOST_RANKED:] if row.configuration in pair]
    ax = axes_of(ax, (SIZE[0], max(2.0, 0.9 + 0.18 * len(rows))))
    compared = any(row.maybe_best is not None for row in rows)
    looks = (
        (True, "may be the best", "o", BLUE, BLUE),
        (False, "ruled out", "o", GREY, "none"),
        (None, "not compared", "x", GREY, GREY) if compared else (None, None, "o", BLUE, BLUE),
    )
    for kind, what, marker, edge, face in looks:
        places = [place for place, row in enumerate(rows) if row.maybe_best is kind]
        if places:
            costs = [rows[place].cost for place in places]
            colours = {"color": edge} if marker == "x" else {"edgecolors": edge, "facecolors": face}
            ax.scatter(costs, places, s=30, label=what, marker=marker, **colours)  # type: ignore[arg-type]
    roles = {assessment.winner: "winner", assessment.default: "default"}
    names = short_names([label(row.configuration) for row in rows], 18)
    sides = [roles.get(row.configuration, name) for row, name in zip(rows, names, strict=True)]
    pairs = zip(sides, names, strict=True)
    mark_rows(ax, [name if side == name else f"{side} {name}" for side, name in pairs])
    ax.grid(axis="y", color=LINE)
    label_axes(ax, f"{mean_of(assessment)}, {phase_of(assessment.log)}", right=True)
    neat_ticks(ax, "x")
    # Where all may be the best there is nothing to tell apart.
    if len({row.maybe_best for row in rows}) > 1:
        legend(ax, right=True)
    return ax


def matrix(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw the mean cost of each configuration on each instance, training runs; of a large matrix
    rows and columns are picked evenly.
    """
    ax = axes_of(ax, (SIZE[0], 3.1))
    from matplotlib.colors import LogNorm, Normalize

    runs = assessment.log.runs
    places = {name: place for place, name in enumerate(runs.configurations)}
    ranked = [row.configuration for row in assessment.ranking if row.configuration in places]
    costs = known_means(runs.charged[[places[name] for name in ranked]])
    easy = np.argsort(known_means(costs.T), kind="stable")
    costs = _thinned(_thinned(costs[:, easy]).T).T
    low, high = float(np.nanmin(costs)), float(np.nanmax(costs))
    norm = (LogNorm if log_if_wide([low, high]) else Normalize)(low, high)
    image = ax.imshow(np.ma.masked_invalid(costs), cmap=COSTS, norm=norm, aspect="auto",
                      interpolation="nearest")  # fmt: skip
    instances = counted(len(runs.instances), "instance")
    configurations = counted(len(runs.configurations), "configuration")
    label_axes(ax, f"{instances}, easy to hard", f"{configurations}, best on top")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_facecolor(LINE)
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
    bar.set_label(axis_of(assessment), parse_math=False)
    neat_ticks(bar.ax, "y")
    return ax


def _thinned(rows: FloatArray) -> FloatArray:
    """Return at most `MOST_CELLS` rows, evenly picked."""
    places = np.linspace(0, len(rows) - 1, min(len(rows), MOST_CELLS))
    return np.asarray(rows[places.round().astype(int)])


def over_tuning(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw the winner's training cost, and the same with the over-tuning of its list added."""
    ax = axes_of(ax, (SIZE[0], 1.7))
    if assessment.selection is None:
        raise InputError("Over-tuning is measured for lists of configurations with common runs.")
    costs = {row.configuration: row.cost for row in assessment.ranking}
    training = costs[assessment.winner]
    values = [training, training + assessment.selection.error]
    ax.plot(values, [0, 1], color=GREY, linewidth=0.9)
    looks = zip(values, distinct_numbers(values), (GREY, BLUE), "so", strict=True)
    for row, (cost, text, colour, marker) in enumerate(looks):
        ax.plot([cost], [row], marker, color=colour, markersize=8)
        ax.annotate(text, (cost, row), (8, 0), textcoords="offset points", va="center",
                    color=INK)  # fmt: skip
    dashed = ""
    if (default := costs.get(assessment.default or "")) is not None:
        ax.axvline(default, color=ORANGE, linestyle=(0, (4, 2)), linewidth=1.4)
        dashed = "; dashed: default"
    mark_rows(ax, ["training cost", "with over-tuning"])
    ax.margins(x=0.3)
    neat_ticks(ax, "x")
    ax.spines["left"].set_visible(False)
    label_axes(ax, f"{axis_of(assessment)}{dashed}")
    return ax
