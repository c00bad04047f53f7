"""Which rule of racing chooses best: regret against the budget."""

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.race.replay import EVERYTHING, HALVING, OURS, SMAC, STUDENT, Replay
from truecost.show import theme
from truecost.show.theme import Chart, Series, Style, axis, tip

FIXED = "best fixed N, in hindsight"
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
    """Regret against the budget, a line for every rule, ours the thickest; lower is better."""
    present = {rule: look for rule, look in RULES.items() if rule in data["rule"]}
    series = Series(present, field="rule")
    budgets = sorted(set(data["budget"].to_list()))
    # Side by side, so that no bar covers another; by factors, on a logarithmic scale.
    shift = {rule: 1.02 ** (place - (len(present) - 1) / 2) for place, rule in enumerate(present)}
    x = pl.col("budget") * pl.col("rule").replace_strict(shift, return_dtype=pl.Float64)
    shown = data.with_columns(x=x, ours=pl.col("rule") == OURS)
    y_scale, y_axis = axis([0.0, *data["low"], *data["high"]], log=False)
    x_scale = alt.Scale(type="log", domain=[budgets[0] / 1.2, budgets[-1] * 1.2], nice=False)
    x_axis = alt.Axis(values=budgets, format=".3~%", labelOverlap="greedy")
    x_title = "budget, share of the cost of all runs of the training half"
    y_title = "mean test regret (0 the best, 1 the median configuration)"
    base = theme.plot().encode(
        x=alt.X("x:Q", title=x_title, scale=x_scale, axis=x_axis),
        color=series.color(symbolStrokeWidth=0, columns=3),
    )
    y = alt.Y("regret:Q", title=y_title, scale=y_scale, axis=y_axis)
    bars = base.mark_rule(strokeWidth=1)
    bars = bars.encode(y=alt.Y("low:Q", scale=y_scale), y2=alt.Y2("high:Q"))
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
            tip("rule:N"),
            tip("which:N", "what was played"),
            tip("budget:Q", "budget, share of the cost of all training runs", ".3~%"),
            tip("regret:Q", "regret: test cost above the best, relative to the median", ".4~f"),
            tip("standard_error:Q", "standard error over repetitions", ".2~g"),
        ],
    )
    title = theme.heading(
        "What the rules chose, judged on instances they did not see",
        f"Mean over {data['repetitions'][0]:,} repetitions ± 1 standard error; lower is better",
    )
    chart = alt.layer(bars, *lines, points, data=theme.records(shown))
    return chart.properties(**theme.SIZE, title=title)
