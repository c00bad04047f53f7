"""Figures of the winner against the default on the same instances."""

from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.errors import InputError
from truecost.judge.pairs import InstanceCosts, instance_costs
from truecost.show.figures.style import (
    BLUE,
    GREY,
    INK,
    LINE,
    MOST_POINTS,
    ORANGE,
    SAND,
    axes_of,
    label_axes,
    legend,
    log_if_wide,
    mark_rows,
    neat_ticks,
)
from truecost.show.numbers import distinct_numbers, number, short_names, signed
from truecost.show.words import axis_of, is_time, mean_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truecost.judge.assessment import Assessment
    from truecost.judge.pairs import SameInstances

# How many instances are drawn one by one; the others share a bar.
MOST_BARS = 9


def _compared(assessment: "Assessment") -> "SameInstances":
    """Return the comparison on the same instances; raises where there is none."""
    if assessment.same is None:
        raise InputError(
            "This figure compares with a default, and none has runs on the same instances. Name "
            "one with default=."
        )
    return assessment.same


def _instance_costs(assessment: "Assessment") -> InstanceCosts:
    return instance_costs(_compared(assessment))


def same_instances(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw winner and default on the same instances, their difference with its limits, and wins."""
    ax = axes_of(ax, (4.2, 2.3))
    same, difference = _compared(assessment), assessment.statement("difference")
    winner_cost, default_cost = distinct_numbers((same.winner_cost, same.default_cost))
    ax.plot([0, 0], [0, 0.75], color=ORANGE, linestyle=(0, (4, 2)), linewidth=1.4)
    intervals: list[tuple[str, Any, dict[str, Any]]] = []
    if difference is not None:
        thin = {"linewidth": 1.6, "marker": "|", "markersize": 11}
        intervals = [
            ("guaranteed limits", (difference.lower, difference.upper), thin),
            ("approximate", difference.approximate, {"linewidth": 7, "alpha": 0.35}),
        ]
    reach = [0.0, same.difference]
    for name, ends, look in intervals:
        if ends is not None and np.isfinite(ends).all():
            reach += ends
            ax.plot(ends, (0, 0), color=BLUE, solid_capstyle="butt", label=name, **look)
    ax.plot([same.difference], [0], "o", color=BLUE, markersize=8)
    low, high = min(reach), max(reach)
    room = 0.08 * (high - low) or 1.0
    ax.set_xlim(low - room, high + room)
    ax.set_ylim(-1.9, 1.2)
    ax.annotate(f"winner {winner_cost}", (same.difference, 0), (0, -11),
                textcoords="offset points", ha="center", va="top", color=INK)  # fmt: skip
    left = (low + high) / 2 < 0
    ax.annotate(f"default {default_cost}", (0, 0.85), (-4 if left else 4, 0),
                textcoords="offset points", ha="right" if left else "left", color=INK)  # fmt: skip
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    label_axes(ax, f"difference in {axis_of(assessment)}")
    neat_ticks(ax, "x")
    # How many pairs of runs were won, tied and lost, above the axes.
    bar = ax.inset_axes((0, 1.04, 1, 0.14))
    bar.set_axis_off()
    bar.set_xlim(0, same.pairs)
    counts = (same.won, same.tied, same.lost)
    bar.barh([0] * 3, counts, left=np.cumsum((0, *counts[:2])), color=(BLUE, SAND, ORANGE),
             height=1)  # fmt: skip
    title = f"runs won {same.won:,}, tied {same.tied:,}, lost {same.lost:,}"
    bar.set_title(title, loc="left", pad=3)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower right", ncols=2, frameon=False, borderaxespad=0)
    return ax


def scatter(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw the winner's mean cost on each instance against the default's."""
    ax = axes_of(ax, (3.4, 3.5))
    pairs = _instance_costs(assessment)
    x, y = pairs.default, pairs.winner
    looks = (
        (y < x, "winner costs less", BLUE, "o"),
        (y > x, "default costs less", ORANGE, "^"),
        (y == x, "equal", GREY, "s"),
    )
    for chosen, what, colour, marker in looks:
        if chosen.any():
            ax.scatter(x[chosen], y[chosen], color=colour, marker=marker, s=22, linewidths=0,
                       alpha=0.85, rasterized=len(x) > MOST_POINTS,
                       label=f"{what} ({int(chosen.sum()):,})")  # fmt: skip
    values = np.concatenate([x, y])
    low, high = float(values.min()), float(values.max())
    room = 0.05 * (high - low) or 1.0
    ends = (low - room, high + room)
    if log_if_wide(values):
        ends = (low / 1.3, high * 1.3)
        ax.set_xscale("log")
        ax.set_yscale("log")
    ax.plot(ends, ends, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    cutoff = assessment.log.runs.cutoff
    if is_time(assessment) and cutoff is not None and ends[0] < cutoff < ends[1]:
        for line in (ax.axvline, ax.axhline):
            line(cutoff, color=GREY, linewidth=0.8, linestyle=":")
        ax.annotate("cutoff", (cutoff, ends[0]), (3, 3), textcoords="offset points", color=INK)
    ax.set_xlim(ends)
    ax.set_ylim(ends)
    neat_ticks(ax)
    ax.set_aspect("equal")
    label_axes(ax, f"default, {mean_of(assessment)}", f"winner, {mean_of(assessment)}")
    legend(ax, 1)
    return ax


def ecdf(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw the share of runs that cost at most so much: of running times, the share solved."""
    ax = axes_of(ax)
    pairs, time = _instance_costs(assessment), is_time(assessment)
    sides = (
        ("winner", pairs.winner_runs, BLUE, "-"),
        ("default", pairs.default_runs, ORANGE, (0, (5, 2))),
    )
    curves = [np.sort(costs[solved] if time else costs) for _, (costs, solved), _, _ in sides]
    drawn = np.concatenate(curves)
    ends = (drawn.min(), drawn.max()) if drawn.size else (0.0, 1.0)
    if time and assessment.log.runs.cutoff is not None:
        ends = (ends[0], assessment.log.runs.cutoff)
    for (name, (costs, _), colour, dash), curve in zip(sides, curves, strict=True):
        shares = np.arange(len(curve) + 1) / len(costs)
        x = np.concatenate([ends[:1], curve, ends[1:]])
        ax.step(x, np.append(shares, shares[-1]), where="post", color=colour, linestyle=dash,
                label=name, rasterized=len(x) > MOST_POINTS)  # fmt: skip
    if log_if_wide(ends):
        ax.set_xscale("log")
    neat_ticks(ax, "x")
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    ax.grid(axis="y")
    unit = mean_of(assessment).removeprefix("mean ")
    label_axes(
        ax,
        "running time (s)" if time else unit,
        "runs solved" if time else "runs that cost at most this",
    )
    legend(ax)
    return ax


def deciding(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw what the instances with the largest differences add to the mean difference."""
    ax = axes_of(ax)
    pairs = _instance_costs(assessment)
    order = np.argsort(-np.abs(pairs.parts), kind="stable")
    # One more alone needs no bar for others.
    most = MOST_BARS + (len(order) == MOST_BARS + 1)
    first, others = order[:most], order[most:]
    one_folder = len({name.rpartition("/")[0] for name in pairs.instances}) == 1
    instances = [name.rpartition("/")[2] if one_folder else name for name in pairs.instances]
    names, values = short_names([instances[place] for place in first], 22), pairs.parts[first]
    if len(others):
        names.append(f"{len(others):,} others")
        values = np.append(values, pairs.parts[others].sum())
    colours = np.where(values < 0, BLUE, ORANGE)
    ax.barh(range(len(values)), values, color=colours.tolist(), height=0.72)
    ax.axvline(0, color=GREY, linewidth=0.9)
    mark_rows(ax, names)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", color=LINE)
    neat_ticks(ax, "x")
    total = signed(number(float(pairs.parts.sum())))
    label_axes(ax, f"added to the difference of {total}", right=True)
    return ax
