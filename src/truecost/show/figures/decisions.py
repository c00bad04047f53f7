"""Figures of decisions: how many runs to plan, what a search lost on the way, which rule to
configure by.
"""

import math

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.judge.optimism import OverTuning
from truecost.plan.sizes import Recommendation
from truecost.race.replay import EVERYTHING, HALVING, OURS, SMAC, STUDENT, Replay
from truecost.show import theme
from truecost.show.numbers import number
from truecost.show.theme import (
    Chart,
    Look,
    Plot,
    Series,
    axis,
    checked_whole,
    labelled,
    records,
    themed,
    tip,
    whole_ticks,
)

FIXED = "best fixed N, in hindsight"
RULES = {
    OURS: Look(OURS, theme.BLUE, theme.SOLID, "circle"),
    SMAC: Look(SMAC, theme.ORANGE, [4, 2], "square"),
    HALVING: Look(HALVING, theme.GREEN, theme.DOTTED, "triangle-up"),
    STUDENT: Look(STUDENT, theme.PURPLE, theme.DASH_DOTTED, "triangle-down"),
    FIXED: Look(FIXED, theme.GREY, [12, 2], "diamond"),
    EVERYTHING: Look(EVERYTHING, theme.BLACK, theme.DASHED, "cross"),
}
# Beyond this ratio of the largest to the least, small values could not be told apart on a linear
# scale.
LARGE = 8.0
# The share of a cost below which a difference of two is rounding.
ROUNDING = 1e-12


def plan_curve_data(recommendation: Recommendation) -> pl.DataFrame:
    """The recommendation among other numbers of instances.

    Returns
    -------
    DataFrame
        `instances` (K), `runs` (N), `standard_error`, `bound` (null where it was not asked for),
        `price`; `chosen` tells the recommended one, and `caveat`, the same in every row, why the
        errors are not promised, empty if they are.
    """
    columns = ("instances", "runs", "standard_error", "bound", "price")
    around = pl.DataFrame({name: getattr(recommendation.curve, name) for name in columns})
    if around.height == 0:
        raise InputError("Expected a recommendation with a curve around it, got an empty one.")
    chosen, caveat = pl.col("instances") == recommendation.instances, pl.lit(recommendation.caveat)
    return around.with_columns(pl.col("bound").fill_nan(None), chosen=chosen, caveat=caveat).sort(
        "instances"
    )


@checked_whole
def plan_curve_chart(data: pl.DataFrame, *, unit: str = "cost", price_unit: str = "runs") -> Chart:
    """Price and errors against the number of instances K, the recommended one marked: N follows
    from K.
    """
    panels = {
        "price": (f"price ({price_unit})", "price of all runs and instances"),
    }
    for column, what, where in (
        ("standard_error", "standard error of a training cost", "Lemma 2"),
        ("bound", "bound on true − training cost", "Lemma 4, Theorem 2"),
    ):
        if data[column].drop_nulls().len():
            panels[column] = (labelled(what, unit), f"{what} ({where})")
    drawn = [_plan_panel(data, column, y, panels) for column, (y, _) in panels.items()]
    caveat = data["caveat"][0]
    title = alt.TitleParams(
        "Other numbers of instances, for the same question",
        subtitle=f"{caveat[0].upper()}{caveat[1:]}."
        if caveat
        else "If within and across are what they were said to be.",
    )
    return themed(alt.hconcat(*drawn, spacing=30).properties(title=title))


def _plan_panel(
    data: pl.DataFrame, column: str, y: str, panels: dict[str, tuple[str, str]]
) -> Chart:
    sizes, values = data["instances"].to_list(), data[column].to_list()
    low, high = min(values), max(values)
    log = 0 < LARGE * low < high
    # From 0, and with room for the label below the least.
    y_scale = (
        alt.Scale(type="log", domain=[low / 2, 1.1 * high], nice=False)
        if log
        else alt.Scale(domain=[0, 1.1 * high or 1.0])
    )
    y_axis = axis([low / 2, high], log=True)[1] if log else alt.Axis(tickCount=6)
    span = math.log(max(sizes) / min(sizes)) or 1.0
    room = math.exp(0.08 * span)
    x_scale = alt.Scale(type="log", domain=[min(sizes) / room, room * max(sizes)], nice=False)
    chosen = data.filter("chosen").row(0, named=True)
    # The recommended one, and those that leave room for its label.
    ticks = [
        k
        for k in sizes
        if k == chosen["instances"] or abs(math.log(k / chosen["instances"])) > 0.14 * span
    ]
    x_axis = alt.Axis(values=ticks, format=",d", labelOverlap="greedy")
    base = Plot(records(data.drop("caveat"))).encode(
        x=alt.X("instances:Q", title="K, the number of instances", scale=x_scale, axis=x_axis),
        y=alt.Y(f"{column}:Q", title=y, scale=y_scale, axis=y_axis),
    )
    tooltip = [
        tip("instances:Q", "K, the number of instances", ",d"),
        tip("runs:Q", "N, runs of each configuration, spread evenly over them", ",d"),
        *(tip(f"{name}:Q", meaning) for name, (_, meaning) in panels.items()),
    ]
    line = base.mark_line(color=theme.BLUE, strokeWidth=1.5)
    others = base.transform_filter("!datum.chosen").mark_point(
        filled=True, opacity=1, size=40, color=theme.BLUE
    )
    own = base.transform_filter("datum.chosen").mark_point(
        filled=True,
        opacity=1,
        size=160,
        color=theme.ORANGE,
        shape="diamond",
        stroke=theme.BLACK,
        strokeWidth=1,
    )
    # Away from the nearer end, so that it is not cut off.
    right = chosen["instances"] ** 2 > min(sizes) * max(sizes)
    label = base.transform_filter("datum.chosen").mark_text(
        align="right" if right else "left", dy=20, fontSize=11
    )
    return alt.layer(
        line,
        others.encode(tooltip=tooltip),
        own.encode(tooltip=tooltip),
        label.encode(text=alt.TextValue(f"K = {chosen['instances']:,}, N = {chosen['runs']:,}")),
    ).properties(width=250, height=230)


def overtuning_along_data(found: OverTuning) -> pl.DataFrame:
    """Training and true cost of every incumbent on the way.

    Returns
    -------
    DataFrame
        `step` (from 1), `runs` finished when it became the incumbent (null where unknown),
        `configuration`, `training`, `true` (null where it has no test runs), `gap` (true −
        training), `best` where the true cost is the least, the first of equals; and, the same in
        every row, `over_tuning`, null where unknown.
    """
    if not any(np.isfinite(point.true) for point in found.along):
        raise InputError("Expected incumbents on the way and the true cost of one at least.")
    true, training = (
        np.array([getattr(point, name) for point in found.along]) for name in ("true", "training")
    )
    # A difference of what should be equal is rounding.
    rounding = ROUNDING * float(np.nanmax(np.abs([true, training])))
    gap, lost = (
        np.where(np.abs(apart) <= rounding, 0.0, apart) for apart in (true - training, found.lost)
    )
    table = {
        "step": np.arange(1, true.size + 1),
        "runs": pl.Series([point.runs for point in found.along], dtype=pl.Int64),
        "configuration": [point.configuration for point in found.along],
        "training": training,
        "true": true,
        "gap": gap,
        "best": np.arange(true.size) == np.nanargmin(true),
    }
    return (
        pl.DataFrame(table)
        .with_columns(over_tuning=pl.lit(float(lost), dtype=pl.Float64))
        .with_columns(pl.col("training", "true", "gap", "over_tuning").fill_nan(None))
    )


@checked_whole
def overtuning_along_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Training and true cost of the incumbents against the number of runs, or the steps where
    nobody counted these.
    """
    counted = data["runs"].null_count() == 0
    x, x_title = (
        ("runs", "runs finished when it became the incumbent")
        if counted
        else ("step", "incumbents, in their order")
    )
    places = data[x].to_list()
    first, last = min(places), max(places)
    log = counted and 0 < 20 * first < last
    # The last incumbent stays until the end of the figure.
    end = 1.25 * last if log else last + (0.08 * (last - first) or 1.0) if counted else last + 0.5
    x_scale, x_axis = axis([first, end], log=log)
    if not counted:
        x_scale = alt.Scale(domain=[0.5, end], nice=False)
        x_axis = alt.Axis(values=whole_ticks(data.height), format=",d")
    y_scale, y_axis = axis([*data["training"].drop_nulls(), *data["true"].drop_nulls()], log=False)
    series = Series(
        {
            "training": Look("training cost", theme.BLUE, theme.SOLID, "circle"),
            "true": Look("true cost: its mean on test runs", theme.ORANGE, theme.DASHED, "square"),
        }
    )
    shown = data.unpivot(
        ["training", "true"],
        index=["step", "runs", "configuration", "gap", "best"],
        variable_name="which",
        value_name="cost",
    ).with_columns(series.labels("which"))
    shown = shown.with_columns(at=pl.col(x).cast(pl.Float64)).drop_nulls("cost")
    own = alt.X("at:Q", title=x_title, scale=x_scale, axis=x_axis)
    y = alt.Y("cost:Q", title=labelled("cost", unit), scale=y_scale, axis=y_axis)
    base = Plot().encode(x=own, y=y, color=series.color(symbolStrokeWidth=0))
    # An incumbent stays until the next one comes.
    held = pl.concat(
        [shown, shown.filter(pl.col("step") == data.height).with_columns(at=pl.lit(float(end)))]
    )
    gaps_of = (
        data.with_columns(at=pl.col(x).cast(pl.Float64))
        .drop_nulls("gap")
        .select("at", "training", "true")
    )
    gaps_of = pl.concat([gaps_of, gaps_of.tail(1).with_columns(at=pl.lit(float(end)))])
    lines = (
        base.properties(data=records(held))
        .mark_line(strokeWidth=1.5, interpolate="step-after")
        .encode(strokeDash=series.dash())
    )
    tooltip = [
        tip("configuration:N", "incumbent"),
        tip("step:Q", "its place in their order", ""),
        *([tip("runs:Q", "runs finished when it became the incumbent", ",d")] if counted else []),
        tip("what:N", "which cost"),
        tip("cost:Q", labelled("cost", unit)),
    ]
    optimism = tip("gap:Q", "optimism: true − training cost")
    dots = (
        base.properties(data=records(shown))
        .mark_point(filled=True, opacity=1, size=50)
        .encode(shape=series.shape())
    )
    # Without test runs an incumbent has no true cost beside those that have some.
    points = [dots.transform_filter("isValid(datum.gap)").encode(tooltip=[*tooltip, optimism])]
    if data["gap"].null_count():
        points.append(dots.transform_filter("!isValid(datum.gap)").encode(tooltip=tooltip))
    best = (
        Plot(records(shown.filter(pl.col("best") & (pl.col("which") == "true"))))
        .mark_point(filled=False, size=260, color=theme.BLACK, strokeWidth=1.5, opacity=1)
        .encode(x=own, y=y, tooltip=[*tooltip, optimism])
    )
    gaps = (
        Plot(records(gaps_of))
        .mark_area(color=theme.GREY, opacity=0.2, interpolate="step-after")
        .encode(x=own, y=alt.Y("training:Q", scale=y_scale), y2=alt.Y2("true:Q"))
    )
    final = data.row(-1, named=True)
    past, gap = (
        "unknown" if final[name] is None else number(final[name]) for name in ("over_tuning", "gap")
    )
    title = alt.TitleParams(
        "Incumbents on the way",
        subtitle=[
            f"Optimism of the last one, true − training cost: {gap} (the gap is shaded).",
            f"Over-tuning, its true cost − the least on the way (circled): {past}.",
        ],
    )
    return themed(
        alt.layer(gaps, lines, *points, best).properties(width=600, height=320, title=title)
    )


def regret_data(replay: Replay) -> pl.DataFrame:
    """Mean test regret of the rules ± its standard error; of the fixed numbers of runs, the best
    for each budget.

    Returns
    -------
    DataFrame
        `budget` (share of what all training runs cost), `rule`, `which` (the N of the best fixed
        one), `regret`, `standard_error`, `low` and `high` (regret ∓ standard error), `repetitions`.
    """
    if (
        replay.regret.ndim != 3
        or replay.regret.shape[0] < 2
        or not replay.budgets
        or OURS not in replay.rules
    ):
        raise InputError(
            f"Expected a replay of {OURS} and other rules with a budget and 2 or more repetitions, got regrets of the shape "
            f"{replay.regret.shape} of {len(replay.rules)} rules."
        )
    if not np.isfinite(replay.regret).all():
        raise InputError("Expected every regret to be a finite number.")
    fixed = replay.best_fixed() if any(rule.startswith("N = ") for rule in replay.rules) else None
    mean, error = replay.mean, replay.standard_error
    rows = []
    for rule in RULES:
        for place, budget in enumerate(replay.budgets):
            name = fixed[place] if rule == FIXED and fixed is not None else rule
            if name not in replay.rules:
                continue
            at = (place, replay.rules.index(name))
            rows.append((budget, rule, name, float(mean[at]), float(error[at])))
    table = pl.DataFrame(
        rows, schema=["budget", "rule", "which", "regret", "standard_error"], orient="row"
    )
    return table.with_columns(
        low=pl.col("regret") - pl.col("standard_error"),
        high=pl.col("regret") + pl.col("standard_error"),
        repetitions=pl.lit(replay.regret.shape[0]),
    )


@checked_whole
def regret_chart(data: pl.DataFrame) -> Chart:
    """Regret against the budget, a line for every rule, ours the thickest; lower is better."""
    present = {rule: look for rule, look in RULES.items() if rule in data["rule"]}
    series = Series(present, field="rule")
    budgets = sorted(set(data["budget"].to_list()))
    # Side by side, so that no bar covers another; by factors, on a logarithmic scale.
    aside = {rule: 1.02 ** (place - (len(present) - 1) / 2) for place, rule in enumerate(present)}
    shown = data.with_columns(
        x=pl.col("budget") * pl.col("rule").replace_strict(aside, return_dtype=pl.Float64),
        ours=pl.col("rule") == OURS,
    )
    y_scale, y_axis = axis([0.0, *data["low"], *data["high"]], log=False)
    x_scale = alt.Scale(type="log", domain=[budgets[0] / 1.2, budgets[-1] * 1.2], nice=False)
    base = Plot().encode(
        x=alt.X(
            "x:Q",
            title="budget, share of what all runs of the training half cost",
            scale=x_scale,
            axis=alt.Axis(values=budgets, format=".3~%", labelOverlap="greedy"),
        ),
        color=series.color(symbolStrokeWidth=0, columns=3),
    )
    y = alt.Y(
        "regret:Q",
        title="mean test regret (0 the best, 1 the median configuration)",
        scale=y_scale,
        axis=y_axis,
    )
    bars = base.mark_rule(strokeWidth=1).encode(
        y=alt.Y("low:Q", scale=y_scale), y2=alt.Y2("high:Q")
    )
    lines = [
        base.transform_filter(whose)
        .mark_line(strokeWidth=width)
        .encode(y=y, strokeDash=series.dash(legend=None))
        for whose, width in (("datum.ours", 3.5), ("!datum.ours", 1.5))
    ]
    points = base.mark_point(filled=True, opacity=1, size=70).encode(
        y=y,
        shape=series.shape(),
        tooltip=[
            tip("rule:N", "rule"),
            tip("which:N", "what was played"),
            tip("budget:Q", "budget, share of what all training runs cost", ".3~%"),
            tip("regret:Q", "regret: test cost above the best, over that of the median", ".4~f"),
            tip("standard_error:Q", "standard error over repetitions", ".2~g"),
        ],
    )
    title = alt.TitleParams(
        "What the rules chose, judged on instances they did not see",
        subtitle=f"Mean over {data['repetitions'][0]:,} repetitions ± 1 standard error; lower is better",
    )
    drawn = alt.layer(bars, *lines, points, data=records(shown))
    return themed(drawn.properties(width=600, height=320, title=title))
