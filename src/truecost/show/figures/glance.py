"""What the winner costs: in training and on new instances, next to the default."""

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

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
    costs = {"default": default, "training": training, "true": true}
    rows = [
        (row, cost, upper if row == "true" else None)
        for row, cost in costs.items()
        if cost is not None
    ]
    shown = pl.Series([numbers.number(cost) for _, cost, _ in rows])
    limits = ["" if end is None else f"at most {numbers.at_most(end)}" for _, _, end in rows]
    kinds = {"row": pl.String, "cost": pl.Float64, "upper": pl.Float64}
    spread = pl.Series([2 * (errors or {}).get(row, math.nan) for row, _, _ in rows]).fill_nan(None)
    cost = pl.col("cost")
    return pl.DataFrame(rows, schema=kinds, orient="row").with_columns(
        shown=shown, limit=pl.Series(limits), low=cost - spread, high=cost + spread
    )


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
    series = Series(looks).present(data["row"])
    drawn = data.with_columns(series.labels("row"))
    if theme.scores():
        limits = [None if end is None else -end for end in data["upper"]]
        drawn = drawn.with_columns(
            shown=pl.Series([numbers.number(-cost) for cost in data["cost"]]),
            limit=pl.Series(
                ["" if end is None else f"at least {numbers.at_least(end)}" for end in limits]
            ),
        )
    rows = alt.Axis(labelLimit=200, grid=False, ticks=False, domain=False)
    title = labelled("mean cost", unit)
    limit = tip("upper:Q", f"at most ({numbers.confidence(delta)} confidence)")
    base = theme.plot(drawn).encode(
        y=alt.Y("what:N", title=None, sort=series.names, axis=rows),
        color=series.color().legend(None),
        tooltip=[tip("what:N"), tip("cost:Q", title), limit],
    )
    limited = base.transform_filter("isValid(datum.upper)")
    bar = limited.mark_rule(strokeWidth=6, opacity=0.35)
    bar = bar.encode(x=fit.x("cost", title), x2=alt.X2("upper:Q"))
    end = limited.mark_tick(thickness=3, size=16, opacity=1).encode(x=fit.x("upper", title))
    marks = theme.intervals(base, fit, "low cost high", title, series.shape().legend(None))
    # A number stands above its mark.
    above: dict[str, Any] = {"dy": -12, "fontSize": 12, "color": theme.BLACK}
    cost = base.mark_text(**above).encode(x=fit.x("cost", title), text="shown:N")
    most = limited.mark_text(**above, align="left" if theme.scores() else "right").encode(
        x=fit.x("upper", title), text="limit:N"
    )
    texts = [words.encode(color=alt.ColorValue(theme.BLACK)) for words in (cost, most)]
    chart = alt.layer(bar, end, *marks, *texts, view=alt.ViewConfig(stroke=None))
    return chart.properties(width=560, height=ROW * data.height, title="What the winner costs")
