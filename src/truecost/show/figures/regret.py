"""Which rule of racing chooses best: regret against the budget."""

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.race.replay import EVERYTHING, HALVING, OURS, SMAC, STUDENT, Replay
from truecost.show import theme
from truecost.show.numbers import percent
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
    """A panel for every budget, a row for every rule: no mark covers another; lower is better."""
    series = Series(RULES, field="rule").present(data["rule"])
    fit = axis([0.0, *data["low"], *data["high"]], log=False)
    color, shape = series.color().legend(None), series.shape().legend(None)
    panels = []
    for place, budget in enumerate(data["budget"].unique(maintain_order=True).sort()):
        rows = alt.Axis(labels=place == 0, ticks=False, domain=False, labelLimit=200, grid=True)
        base = theme.plot(data.filter(pl.col("budget") == budget)).encode(
            y=alt.Y("rule:N", title=None, sort=series.names, axis=rows),
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
        title = alt.TitleParams(f"budget {percent(budget)}", fontSize=12)
        panels.append(alt.layer(*marks).properties(width=190, height=190, title=title))
    title = theme.heading(
        "What the rules chose, judged on instances they did not see",
        f"Mean over {data['repetitions'][0]:,} repetitions ± 1 standard error; 0 is the best "
        "configuration, 1 the median one.",
        "Budgets are shares of the cost of all runs of the training half.",
    )
    return alt.hconcat(*panels, spacing=15).properties(title=title)
