"""Costs and differences with their limits: of the verdict, configurations, families and rules."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from truecost.errors import InputError
from truecost.judge.families import FamilyResult
from truecost.race.replay import EVERYTHING, HALVING, OURS, SMAC, STUDENT, Replay
from truecost.show import numbers, theme
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

ROWS = {
    "default": Style("default", theme.GREY, shape="square"),
    "training": Style("in training", theme.ORANGE, shape="diamond"),
    "true": Style("new instances", theme.BLUE),
}
# Pixels of a row.
ROW = 38


def glance_data(
    training: float,
    *,
    default: float | None = None,
    true: float | None = None,
    upper: float | None = None,
    errors: Mapping[str, float] | None = None,
) -> pl.DataFrame:
    """Costs that the verdict is about: the default, the winner in training and on new instances.

    Returns
    -------
    DataFrame
        `row`, `cost`, `upper` (null without a guarantee), the texts `shown` and `limit` beside
        them, and `low` and `high`, two of its standard `errors` away (null if unknown). What is
        unknown has no row.
    """
    rows = []
    for row, cost in {"default": default, "training": training, "true": true}.items():
        if cost is not None:
            end = upper if row == "true" else None
            limit = "" if end is None else f"at most {numbers.at_most(end)}"
            spread = 2 * (errors or {}).get(row, math.nan)
            ends = (cost - spread, cost + spread)
            rows.append((row, cost, end, numbers.number(cost), limit, *ends))
    names = ["row", "cost", "upper", "shown", "limit", "low", "high"]
    types = {"upper": pl.Float64}
    table = pl.DataFrame(rows, schema=names, schema_overrides=types, orient="row")
    return table.with_columns(pl.col("low", "high").fill_nan(None))


@theme.figure
def glance_chart(
    data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost", fresh: str = "new instances"
) -> Chart:
    """Three costs on one line: thin lines are two standard errors, a bar ends at the limit.

    `fresh` is what the true cost is about.
    """
    columns = ("cost", "upper", "low", "high")
    ends = [value for name in columns for value in data[name].drop_nulls().to_list()]
    fit = axis([*ends, *([0.0] if min(ends) >= 0 else [])], log=False)
    looks = {**ROWS, "true": ROWS["true"]._replace(label=fresh)}
    series, drawn = Series(looks).of(data, "row")
    if theme.scores():
        limits = ["" if e is None else f"at least {numbers.at_least(-e)}" for e in data["upper"]]
        labels = [numbers.number(-cost) for cost in data["cost"]]
        drawn = drawn.with_columns(shown=pl.Series(labels), limit=pl.Series(limits))
    title = labelled("mean cost", unit)
    limit = tip("limit:N", f"{numbers.confidence(delta)} confidence")
    base = theme.plot(drawn).encode(
        y=theme.rows("what", series.names, 200, grid=False, ticks=False, domain=False),
        color=series.color().legend(None),
        tooltip=[tip("what:N"), tip("cost:Q", title), limit],
    )
    limited = base.transform_filter("isValid(datum.upper)")
    at_cost, at_limit = fit.x("cost", title), fit.x("upper", title)
    bar = limited.mark_rule(strokeWidth=6, opacity=0.35).encode(x=at_cost, x2="upper:Q")
    end = limited.mark_tick(thickness=3, size=16, opacity=1).encode(x=at_limit)
    marks = theme.intervals(base, fit, "low cost high", title, series.shape().legend(None))
    # A number stands above its mark.
    above: dict[str, Any] = {"dy": -12, "fontSize": 12, "color": theme.BLACK}
    black = alt.ColorValue(theme.BLACK)
    cost = base.mark_text(**above).encode(x=at_cost, text="shown:N", color=black)
    most = limited.mark_text(**above, align="left" if theme.scores() else "right")
    most = most.encode(x=at_limit, text="limit:N", color=black)
    chart = alt.layer(bar, end, *marks, cost, most, view=alt.ViewConfig(stroke=None))
    return chart.properties(width=560, height=ROW * data.height, title="What the winner costs")


# More rows than a screen has would hide the best ones.
MOST_ROWS = 30
RANKS = Series(
    {
        "best": Style("may be the best", theme.BLUE),
        "other": Style("shown not to be the best", theme.GREY, shape="square"),
        "unknown": Style("unknown", theme.BLUE),
    }
)


def ranking_data(
    configurations: Sequence[str],
    costs: ArrayLike,
    standard_errors: ArrayLike,
    *,
    may_be_best: Collection[str] | None = None,
    tags: dict[str, str] | None = None,
    most: int = MOST_ROWS,
) -> pl.DataFrame:
    """Training costs of the best configurations ± 2 standard errors.

    `may_be_best` are the names that cannot be excluded as the best; None if unknown. `tags` are
    written before names.

    Returns
    -------
    DataFrame
        `rank`, `configuration`, `label`, `cost`, `low`, `high`, and `mark`: "best", "other" or
        "unknown".
    """
    values, errors = np.asarray(costs, dtype=float), np.asarray(standard_errors, dtype=float)
    order = np.argsort(values, kind="stable")
    order = order[np.isfinite(values[order])]
    named = {configurations[place] for place in order[:most]} | set(tags or ())
    order = np.array([place for place in order if configurations[place] in named], dtype=int)
    ranks = {place: rank for rank, place in enumerate(np.argsort(values, kind="stable"), 1)}
    rows = []
    for place in order:
        name, cost = configurations[place], float(values[place])
        spread = 2 * float(errors[place]) if np.isfinite(errors[place]) else 0.0
        mark = "unknown" if may_be_best is None else "best" if name in may_be_best else "other"
        # The role comes first: long names are cut.
        label = f"{tags[name]}: {name}" if tags and name in tags else name
        rows.append((ranks[place], name, label, cost, cost - spread, cost + spread, mark))
    names = ["rank", "configuration", "label", "cost", "low", "high", "mark"]
    return pl.DataFrame(rows, schema=names, orient="row")


@theme.figure
def ranking_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """A row for every configuration: its training cost with two standard errors either way."""
    series, table = RANKS.of(data, "mark")
    y = theme.rows("label", data["label"].to_list(), 260, grid=False)
    title = labelled("training cost", unit)
    tooltip = [
        tip("configuration:N"),
        tip("rank:Q", "rank", ",d"),
        tip("cost:Q", title),
        tip("low:Q", "− 2 standard errors"),
        tip("high:Q", "+ 2 standard errors"),
    ]
    color, shape = series.color(), series.shape()
    if "unknown" in data["mark"]:
        color, shape = color.legend(None), shape.legend(None)
    base = theme.plot(table).encode(y=y, color=color, tooltip=tooltip)
    fit = axis([*data["low"], *data["high"]], log=False)
    marks = theme.intervals(base, fit, "low cost high", title, shape)
    note = "Training cost ± 2 standard errors over instances; the winner's is biased low."
    height = max(60, 17 * data.height)
    return theme.layered(marks, "The best configurations", note, width=480, height=height)


GRADES = Series(
    {
        "better": Style("shown better", theme.BLUE),
        "worse": Style("shown worse", theme.AMBER, shape="square"),
        "open": Style("undecided", theme.GREY, shape="diamond"),
    }
)


def families_data(results: Sequence[FamilyResult]) -> pl.DataFrame:
    """The differences to the default by family.

    Parameters
    ----------
    results
        Of `Assessment.beside.family_results`.

    Returns
    -------
    DataFrame
        `family`, `instances`, the `observed` difference, its limits `lower` and `upper` (null where
        the cost range is unknown), the share of `wins`, and the `grade`; the largest gain first.
    """
    if not results:
        raise InputError("Expected results of at least one family, got none.")
    names = ("family", "instances", "observed", "lower", "upper", "wins", "grade")
    rows = [{name: getattr(result, name) for name in names} for result in results]
    types = {"lower": pl.Float64, "upper": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=types).sort("observed", maintain_order=True)


@theme.figure
def families_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """A point and its limits for each family; left of 0 the winner costs less."""
    grades, table = GRADES.of(data, "grade")
    ends = [value for name in ("observed", "lower", "upper") for value in data[name].drop_nulls()]
    fit = axis([*ends, 0.0], log=False)
    title = labelled("difference of mean costs, winner − default", unit)
    base = theme.plot(table).encode(
        y=theme.rows("family", data["family"].to_list(), 220, grid=False),
        color=grades.color(),
        tooltip=[
            tip("family:N"),
            tip("instances:Q", "instances", ",d"),
            tip("observed:Q", title),
            tip("lower:Q", "at least"),
            tip("upper:Q", "at most"),
            tip("wins:Q", "share of runs won"),
        ],
    )
    marks = theme.intervals(base, fit, "lower observed upper", title, grades.shape())
    layers = (theme.rule(0.0, strokeDash=[4, 4]).encode(x=fit.x("at")), *marks)
    note, height = "Limits hold for all families at once.", max(60, 17 * data.height)
    return theme.layered(layers, "Family by family", note, width=480, height=height)


FIXED = "best fixed N, in hindsight"
# In the order of the rows: ours, its rivals, and what nobody can have.
RULES = {
    OURS: Style(OURS, theme.BLUE),
    SMAC: Style(SMAC, theme.ORANGE, [4, 2], "square"),
    HALVING: Style(HALVING, theme.GREEN, theme.DOTTED, "triangle-up"),
    STUDENT: Style(STUDENT, theme.PURPLE, theme.DASH_DOTTED, "triangle-down"),
    FIXED: Style(FIXED, theme.GREY, [12, 2], "diamond"),
    EVERYTHING: Style(EVERYTHING, theme.BLACK, theme.DASHED, "cross"),
}


def regret_data(replay: Replay) -> pl.DataFrame:
    """Mean test regret of the rules; for the fixed numbers of runs, of the best for each budget.

    Returns
    -------
    DataFrame
        `budget` (share of what all training runs cost), `rule`, `which` (the N of the best fixed
        one), `regret`, `standard_error`, `low` and `high` (regret ∓ standard error), `repetitions`.
    """
    shape = replay.regret.shape
    if len(shape) != 3 or shape[0] < 2 or not replay.budgets or OURS not in replay.rules:
        raise InputError(
            f"Expected a replay of {OURS} and other rules with a budget and 2 or more repetitions, "
            f"got regrets of the shape {shape} of {len(replay.rules)} rules."
        )
    if not np.isfinite(replay.regret).all():
        raise InputError("Expected every regret to be a finite number.")
    fixed = replay.best_fixed() if any(rule.startswith("N = ") for rule in replay.rules) else None
    mean, error = replay.mean, replay.standard_error
    rows = []
    for rule in RULES:
        for place, budget in enumerate(replay.budgets):
            name = fixed[place] if rule == FIXED and fixed is not None else rule
            if name in replay.rules:
                at = (place, replay.rules.index(name))
                rows.append((budget, rule, name, float(mean[at]), float(error[at])))
    columns = ["budget", "rule", "which", "regret", "standard_error"]
    regret, spread = pl.col("regret"), pl.col("standard_error")
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        low=regret - spread, high=regret + spread, repetitions=pl.lit(shape[0])
    )


@theme.figure
def regret_chart(data: pl.DataFrame) -> Chart:
    """A panel for every budget, a row for every rule: no mark covers another; lower is better."""
    series, data = Series(RULES, field="rule").of(data, "rule")
    fit = axis([0.0, *data["low"], *data["high"]], log=False)
    color, shape = series.color().legend(None), series.shape().legend(None)
    panels = []
    for place, budget in enumerate(data["budget"].unique(maintain_order=True).sort()):
        look = {"labels": place == 0, "ticks": False, "domain": False, "grid": True}
        base = theme.plot(data.filter(pl.col("budget") == budget)).encode(
            y=theme.rows("rule", series.names, 200, **look),
            color=color,
            tooltip=[
                tip("rule:N"),
                tip("which:N", "what was played"),
                tip("budget:Q", "budget, share of the cost of all training runs", ".3~%"),
                tip("regret:Q", "regret: test cost above the best, relative to the median", ".4~f"),
                tip("standard_error:Q", "standard error over repetitions", ".2~g"),
            ],
        )
        marks = theme.intervals(base, fit, "low regret high", "mean test regret", shape)
        title = alt.TitleParams(f"budget {numbers.given(100 * budget)} %", fontSize=12)
        panels.append(alt.layer(*marks).properties(width=190, height=190, title=title))
    title = theme.heading(
        "What the rules chose, judged on instances they did not see",
        f"Mean over {data['repetitions'][0]:,} repetitions ± 1 standard error; 0 is the best "
        "configuration, 1 the median one.",
        "Budgets are shares of the cost of all runs of the training half.",
    )
    return alt.hconcat(*panels, spacing=15).properties(title=title)
