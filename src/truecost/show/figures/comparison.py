"""Figures of the winner against the default on the same instances."""

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from truecost.show.figures.pairs import needed
from truecost.show.figures.style import (
    BLUE,
    GREY,
    INK,
    LINE,
    MOST_POINTS,
    ORANGE,
    SAND,
    axes_of,
    few_ticks,
    legend,
    log_if_wide,
    plain_ticks,
)
from truecost.show.numbers import number, short_names, signed
from truecost.show.verdict import is_time, mean_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truecost.judge.assessment import Assessment


def same_instances(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw winner and default on the same instances, their difference with its limits, and wins.

    Parameters
    ----------
    assessment
        Of `truecost.audit`.
    ax
        Axes to draw into; those of a new figure by default.
    """
    needed(assessment)
    same = assessment.same
    assert same is not None  # noqa: S101 - `needed` raises otherwise
    ax = axes_of(ax, (4.2, 2.3))
    difference = same.difference
    ax.plot([0, 0], [-0.3, 0.75], color=ORANGE, linestyle=(0, (4, 2)), linewidth=1.4)
    reach = [0.0, difference.observed]
    if isfinite(difference.lower) and isfinite(difference.upper):
        reach += (difference.lower, difference.upper)
        ax.plot(
            (difference.lower, difference.upper), (0, 0), color=BLUE, linewidth=1.6,
            solid_capstyle="butt", marker="|", markersize=11, label="guaranteed limits",
        )  # fmt: skip
    if difference.approximate is not None:
        reach += difference.approximate
        ax.plot(
            difference.approximate, (0, 0), color=BLUE, linewidth=7, alpha=0.35,
            solid_capstyle="butt", label="approximate",
        )  # fmt: skip
    ax.plot([difference.observed], [0], "o", color=BLUE, markersize=8)
    low, high = min(reach), max(reach)
    room = 0.08 * (high - low) or 1.0
    ax.set_xlim(low - room, high + room)
    ax.set_ylim(-1.9, 1.2)
    ax.annotate(f"winner {number(same.winner_cost)}", (difference.observed, 0), (0, -11),
                textcoords="offset points", ha="center", va="top", color=INK)  # fmt: skip
    left = (low + high) / 2 < 0
    ax.annotate(f"default {number(same.default_cost)}", (0, 0.85), (-4 if left else 4, 0),
                textcoords="offset points", ha="right" if left else "left", color=INK)  # fmt: skip
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    unit = " (s)" if is_time(assessment) else ""
    ax.set_xlabel(f"difference in {mean_of(assessment)}{unit}", parse_math=False)
    few_ticks(ax, "x")
    _wins_bar(ax, same.won, same.tied, same.lost)
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        ax.legend(handles, labels, loc="lower right", ncols=2, frameon=False, borderaxespad=0)
    return ax


def _wins_bar(ax: "Axes", won: int, tied: int, lost: int) -> None:
    """Draw how many pairs of runs were won, tied and lost, above the axes."""
    bar = ax.inset_axes((0, 1.04, 1, 0.14))
    bar.set_axis_off()
    bar.set_xlim(0, max(1, won + tied + lost))
    left = 0
    for count, colour in ((won, BLUE), (tied, SAND), (lost, ORANGE)):
        if count:
            bar.barh(0, count, left=left, color=colour, height=1)
            left += count
    bar.set_title(f"runs won {won:,}, tied {tied:,}, lost {lost:,}", loc="left", pad=3)


def scatter(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw the winner's mean cost on each instance against the default's.

    Parameters
    ----------
    assessment
        Of `truecost.audit`.
    ax
        Axes to draw into; those of a new figure by default.
    """
    both, ax = needed(assessment), axes_of(ax, (3.4, 3.5))
    x, y = both.default, both.winner
    values = np.concatenate([x, y])
    log = log_if_wide(values)
    looks = (
        (y < x, "winner costs less", BLUE, "o"),
        (y > x, "default costs less", ORANGE, "^"),
        (y == x, "equal", GREY, "s"),
    )
    low, high = float(values.min()), float(values.max())
    for chosen, what, colour, marker in looks:
        if chosen.any():
            ax.scatter(x[chosen], y[chosen], color=colour, marker=marker, s=22, linewidths=0,
                       alpha=0.85, rasterized=len(x) > MOST_POINTS,
                       label=f"{what} ({int(chosen.sum()):,})")  # fmt: skip
    room = 0.05 * (high - low) or 1.0
    ends = (low / 1.3, high * 1.3) if log else (low - room, high + room)
    if log:
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
    if log:
        plain_ticks(ax, "x")
        plain_ticks(ax, "y")
    few_ticks(ax)
    ax.set_aspect("equal")
    ax.set_xlabel(f"default, {mean_of(assessment)}", parse_math=False)
    ax.set_ylabel(f"winner, {mean_of(assessment)}", parse_math=False)
    legend(ax, 1)
    return ax


def ecdf(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw the share of runs that cost at most so much: of running times, the share solved.

    Parameters
    ----------
    assessment
        Of `truecost.audit`.
    ax
        Axes to draw into; those of a new figure by default.
    """
    both, ax = needed(assessment), axes_of(ax)
    time = is_time(assessment)
    sides = (
        ("winner", both.winner_runs, BLUE, "-"),
        ("default", both.default_runs, ORANGE, (0, (5, 2))),
    )
    costs = np.concatenate([runs[0][runs[1]] if time else runs[0] for _, runs, _, _ in sides])
    ends = (float(costs.min()), float(costs.max())) if costs.size else (0.0, 1.0)
    if time and assessment.log.runs.cutoff is not None:
        ends = (ends[0], assessment.log.runs.cutoff)
    for name, (values, solved), colour, dash in sides:
        drawn = np.sort(values[solved] if time else values)
        shares = np.arange(1, len(drawn) + 1) / max(1, len(values))
        x = np.concatenate([ends[:1], drawn, ends[1:]])
        y = np.concatenate([[0.0], shares, shares[-1:] if len(shares) else [0.0]])
        ax.step(x, y, where="post", color=colour, linestyle=dash, label=name,
                rasterized=len(x) > MOST_POINTS)  # fmt: skip
    if log_if_wide(ends):
        ax.set_xscale("log")
        plain_ticks(ax, "x")
    few_ticks(ax, "x")
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    ax.grid(axis="y")
    unit = mean_of(assessment).removeprefix("mean ")
    ax.set_xlabel("running time (s)" if time else unit, parse_math=False)
    ax.set_ylabel("runs solved" if time else "runs that cost at most this")
    legend(ax)
    return ax


def deciding(assessment: "Assessment", ax: "Axes | None" = None, most: int = 9) -> "Axes":
    """Draw what the instances with the largest differences add to the mean difference.

    Parameters
    ----------
    assessment
        Of `truecost.audit`.
    ax
        Axes to draw into; those of a new figure by default.
    most
        How many instances; the others share a bar.
    """
    both, ax = needed(assessment), axes_of(ax)
    parts = (both.winner - both.default) * both.weights
    order = np.argsort(-np.abs(parts), kind="stable")
    first, others = order[:most], order[most:]
    one_folder = len({name.rpartition("/")[0] for name in both.instances}) == 1
    instances = [name.rpartition("/")[2] if one_folder else name for name in both.instances]
    names = short_names([instances[place] for place in first], 22)
    values = [float(parts[place]) for place in first]
    if len(others):
        names.append(f"{len(others):,} others")
        values.append(float(parts[others].sum()))
    rows = np.arange(len(values))
    colours = [BLUE if value < 0 else ORANGE for value in values]
    ax.barh(rows, values, color=colours, height=0.72)
    ax.axvline(0, color=GREY, linewidth=0.9)
    ax.set_yticks(rows, names, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", color=LINE)
    few_ticks(ax, "x")
    # To the right: long names leave it less room than it needs.
    total = signed(number(float(parts.sum())))
    ax.set_xlabel(f"added to the difference of {total}", loc="right")
    return ax
