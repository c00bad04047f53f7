"""What the winner costs: in training and on new instances, next to the default."""

import math
from collections.abc import Mapping

import altair as alt
import polars as pl

from truecost.show import numbers, theme
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

GLANCE = Series(
    {
        "default": Style("default", theme.GREY, shape="square"),
        "training": Style("in training", theme.ORANGE, shape="diamond"),
        "true": Style("new instances", theme.BLUE),
    }
)
# Pixels of a row.
ROW = 34


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
        `row`, `cost` (null if unknown), `upper` (null without a guarantee), `shown`, the text
        beside them, and `low` and `high`, two of its standard `errors` away (null if unknown).
    """
    rows: list[tuple[str, float | None, float | None]] = [
        *([] if default is None else [("default", default, None)]),
        ("training", training, None),
        ("true", true, upper),
    ]
    shown = [
        ("unknown" if cost is None else numbers.number(cost))
        + ("" if limit is None else f", at most {numbers.at_most(limit)}")
        for _, cost, limit in rows
    ]
    kinds = {"row": pl.String, "cost": pl.Float64, "upper": pl.Float64}
    spread = pl.Series([2 * (errors or {}).get(row, math.nan) for row, _, _ in rows]).fill_nan(None)
    cost = pl.col("cost")
    return pl.DataFrame(rows, schema=kinds, orient="row").with_columns(
        shown=pl.Series(shown), low=cost - spread, high=cost + spread
    )


@theme.figure
def glance_chart(data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost") -> Chart:
    """Three costs on one line: thin lines are two standard errors, a bar ends at the limit."""
    columns = ("cost", "upper", "low", "high")
    ends = [value for name in columns for value in data[name].drop_nulls().to_list()]
    x_scale, x_axis = axis([*ends, *([0.0] if min(ends) >= 0 else [])], log=False)
    # Text stands beside the rightmost mark of its row; "unknown" at the lowest cost drawn.
    beside = pl.max_horizontal("cost", "upper", "high").fill_null(min(ends))
    left = beside > (min(0.0, *ends) + max(ends)) / 2
    drawn = data.with_columns(GLANCE.labels("row"), beside=beside, left=left)
    rows = alt.Axis(labelLimit=200, grid=False, ticks=False, domain=False)
    base = theme.plot(drawn).encode(
        y=alt.Y("what:N", title=None, sort=drawn["what"].to_list(), axis=rows)
    )
    title = labelled("mean cost", unit)
    x = alt.X("cost:Q", title=title, scale=x_scale, axis=x_axis)
    limit = tip("upper:Q", f"at most ({numbers.confidence(delta)} confidence)")
    tooltip = [tip("what:N"), tip("cost:Q", title), limit]
    color, shape = GLANCE.color().legend(None), GLANCE.shape().legend(None)
    bars = base.transform_filter("isValid(datum.upper)").mark_rule(strokeWidth=6, opacity=0.35)
    bars = bars.encode(x=x, x2=alt.X2("upper:Q"), color=color, tooltip=tooltip)
    points = base.transform_filter("isValid(datum.cost)").mark_point(
        filled=True, size=110, opacity=1
    )
    points = points.encode(x=x, color=color, shape=shape, tooltip=tooltip)
    whiskers = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    low = alt.X("low:Q", title=title, scale=x_scale, axis=x_axis)
    whiskers = whiskers.encode(x=low, x2=alt.X2("high:Q"), color=color)
    text_x, text = alt.X("beside:Q", scale=x_scale, title=title), alt.Text("shown:N")
    right = base.transform_filter("!datum.left").mark_text(align="left", dx=10, fontSize=12)
    above = base.transform_filter("datum.left").mark_text(
        align="right", dx=-10, dy=-11, fontSize=12
    )
    texts = [words.encode(x=text_x, text=text) for words in (right, above)]
    chart = alt.layer(bars, whiskers, points, *texts, view=alt.ViewConfig(stroke=None))
    return chart.properties(width=560, height=ROW * data.height, title="What the winner costs")
