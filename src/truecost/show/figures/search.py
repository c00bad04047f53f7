"""Figures of what was run: incumbents over time, the ranking, the matrix, over-tuning."""

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError
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
    few_ticks,
    legend,
    log_if_wide,
    plain_ticks,
)
from truecost.show.numbers import label, number, short_names
from truecost.show.verdict import is_time, mean_of, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truecost.judge.assessment import Assessment, Incumbent


def best_over_time(assessment: "Assessment") -> "tuple[Incumbent, ...]":
    """Return the best configurations so far, with the costs that are known of them."""
    from truecost.judge.assessment import Incumbent

    if assessment.selection is not None and assessment.selection.incumbents:
        return assessment.selection.incumbents
    costs = {row.configuration: row for row in assessment.ranking}
    return tuple(
        Incumbent(
            runs=step.runs,
            configuration=step.configuration,
            training=costs[step.configuration].cost,
            test=costs[step.configuration].test_cost,
        )
        for step in assessment.log.steps
        if step.configuration in costs
    )


def incumbents(assessment: "Assessment", ax: "Axes | None" = None, *, test: bool = False) -> "Axes":
    """Draw the cost of the best configuration so far over the runs of a search.

    Parameters
    ----------
    assessment
        Of `truecost.audit`.
    ax
        Axes to draw into; those of a new figure by default.
    test
        Whether to draw costs on test instances. Training and test costs are never in one picture:
        they are means over different instances.
    """
    steps = best_over_time(assessment)
    drawn = [
        (place if step.runs is None else step.runs, step.test if test else step.training)
        for place, step in enumerate(steps, 1)
    ]
    drawn = [(runs, cost) for runs, cost in drawn if isfinite(cost)]
    if not drawn:
        kind = "test" if test else "training"
        raise InputError(f"No {kind} runs of the best configurations over time are known.")
    ax = axes_of(ax)
    x, y = [runs for runs, _ in drawn], [cost for _, cost in drawn]
    counted = all(step.runs is not None for step in steps)
    if test:
        ax.plot(x, y, "o-", color=ORANGE, markersize=5, drawstyle="steps-post")
    else:
        end = max(x[-1], _budget(assessment)) if counted else x[-1] + 1
        ax.step([*x, end], [*y, y[-1]], where="post", color=BLUE)
        ax.plot(x, y, "o", color=BLUE, markersize=5)
    ax.set_xlabel("training runs" if counted else "place in the search")
    ax.set_ylabel(f"{mean_of(assessment)}, {'test' if test else 'training'}", parse_math=False)
    ax.grid(axis="y")
    few_ticks(ax)
    return ax


def _budget(assessment: "Assessment") -> int:
    return int((~np.isnan(assessment.log.runs.costs)).sum())


def ranking(assessment: "Assessment", ax: "Axes | None" = None, most: int = 15) -> "Axes":
    """Draw the training costs of the best configurations, and which of them may be the best.

    Parameters
    ----------
    assessment
        Of `truecost.audit`.
    ax
        Axes to draw into; those of a new figure by default.
    most
        How many configurations; winner and default are always among them.
    """
    rows = list(assessment.ranking[:most])
    names = {row.configuration for row in rows}
    rows += [
        row
        for row in assessment.ranking[most:]
        if row.configuration in (assessment.winner, assessment.default)
        and row.configuration not in names
    ]
    ax = axes_of(ax, (SIZE[0], max(2.0, 0.9 + 0.18 * len(rows))))
    known = any(row.maybe_best is not None for row in rows)
    looks = (
        (True, "may be the best", {"color": BLUE, "marker": "o"}),
        (False, "ruled out", {"edgecolors": GREY, "facecolors": "none",
                                              "marker": "o"}),
        (None, "not compared", {"color": GREY, "marker": "x"})
        if known else (None, "", {"color": BLUE, "marker": "o"}),
    )  # fmt: skip
    for kind, what, look in looks:
        places = [place for place, row in enumerate(rows) if row.maybe_best is kind]
        if places:
            ax.scatter([rows[place].cost for place in places], places, s=30,
                       label=what or None, **look)  # type: ignore[arg-type]  # fmt: skip
    titles = short_names([label(row.configuration) for row in rows], 18)
    roles = {assessment.winner: "winner ", assessment.default: "default "}
    ax.set_yticks(
        range(len(rows)),
        [
            f"{roles.get(row.configuration, '')}{name}"
            for row, name in zip(rows, titles, strict=True)
        ],
        parse_math=False,
    )
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color=LINE)
    ax.set_xlabel(f"{mean_of(assessment)}, training", loc="right", parse_math=False)
    few_ticks(ax, "x")
    if known:
        legend(ax, right=True)
    return ax


def matrix(assessment: "Assessment", ax: "Axes | None" = None, most: int = 500) -> "Axes":
    """Draw the mean cost of each configuration on each instance, training runs.

    Parameters
    ----------
    assessment
        Of `truecost.audit`.
    ax
        Axes to draw into; those of a new figure by default.
    most
        How many configurations and instances are drawn at most, evenly picked.
    """
    from matplotlib.colors import LogNorm, Normalize

    runs = assessment.log.runs
    places = {name: place for place, name in enumerate(runs.configurations)}
    order = np.asarray([places[row.configuration] for row in assessment.ranking])
    costs = known_means(runs.charged[order])
    easy = np.argsort(known_means(costs.T), kind="stable")
    costs = _thinned(_thinned(costs[:, easy], most).T, most).T
    ax = axes_of(ax, (SIZE[0], 3.1))
    known = costs[np.isfinite(costs)]
    low, high = float(known.min()), float(known.max())
    norm = LogNorm(low, high) if log_if_wide([low, high]) else Normalize(low, high)
    picture = ax.imshow(np.ma.masked_invalid(costs), cmap=COSTS, norm=norm, aspect="auto",
                        interpolation="nearest")  # fmt: skip
    ax.set_xlabel(f"{len(runs.instances):,} instances, easy to hard")
    ax.set_ylabel(f"{len(runs.configurations):,} configurations, best on top")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_facecolor(LINE)
    bar = ax.figure.colorbar(picture, ax=ax, pad=0.02)
    unit = unit_of(assessment).strip()
    bar.set_label(f"{mean_of(assessment)}{f' ({unit})' if unit else ''}", parse_math=False)
    if isinstance(norm, LogNorm):
        plain_ticks(bar.ax, "y")
    else:
        few_ticks(bar.ax, "y")
    return ax


def _thinned(rows: FloatArray, most: int) -> FloatArray:
    """Return at most so many rows, evenly picked."""
    if len(rows) <= most:
        return rows
    return np.asarray(rows[np.linspace(0, len(rows) - 1, most).round().astype(int)])


def over_tuning(assessment: "Assessment", ax: "Axes | None" = None) -> "Axes":
    """Draw the winner's training cost, and the same with the over-tuning of its list added.

    Parameters
    ----------
    assessment
        Of `truecost.audit`.
    ax
        Axes to draw into; those of a new figure by default.
    """
    selection = assessment.selection
    if selection is None or selection.error is None:
        raise InputError("Over-tuning is measured for lists of configurations with common runs.")
    seeming = next(row.cost for row in assessment.ranking if row.configuration == assessment.winner)
    real = seeming + selection.error
    ax = axes_of(ax, (SIZE[0], 1.7))
    ax.plot([seeming, real], [1, 0], color=GREY, linewidth=0.9)
    rows = ((1, seeming, "training cost", GREY, "s"), (0, real, "with over-tuning", BLUE, "o"))
    for row, cost, _, colour, marker in rows:
        ax.plot([cost], [row], marker, color=colour, markersize=8)
        ax.annotate(number(cost), (cost, row), (8, 0), textcoords="offset points", va="center",
                    color=INK)  # fmt: skip
    others = [row.cost for row in assessment.ranking if row.configuration == assessment.default]
    for cost in others:
        ax.axvline(cost, color=ORANGE, linestyle=(0, (4, 2)), linewidth=1.4)
    ax.set_yticks([row for row, *_ in rows], [text for _, _, text, _, _ in rows])
    ax.set_ylim(-0.6, 1.6)
    ax.margins(x=0.3)
    few_ticks(ax, "x")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    unit = " (s)" if is_time(assessment) else ""
    what = f"{mean_of(assessment)}{unit}{'; dashed: default' if others else ''}"
    ax.set_xlabel(what, parse_math=False)
    return ax
