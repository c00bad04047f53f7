"""Three ways to spread runs over instances, compared: the paper's Figure 1."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from truecost.errors import InputError
from truecost.show import theme
from truecost.show.numbers import counted
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

ESTIMATORS = {
    "even": Style("S*: runs spread evenly over the instances", theme.BLUE),
    "concentrated": Style(
        "S†: all runs of one instance after another", theme.ORANGE, theme.DASHED, "square"
    ),
    "scattered": Style(
        "S°: instances drawn with replacement", theme.GREEN, theme.DOTTED, "triangle-up"
    ),
}


def estimators_data(
    table: pl.DataFrame, *, estimators: Sequence[str] = tuple(ESTIMATORS)
) -> pl.DataFrame:
    """Mean absolute error over splits ± its standard deviation.

    Parameters
    ----------
    table
        Of `tables.estimator_table`, for one K or several.
    estimators
        The ones to show; those the table does not have are left out.

    Returns
    -------
    DataFrame
        `k`, `n`, `ratio` (N/K), `estimator`, `error`, `spread`, `low` and `high` (error ∓ spread).
    """
    rows = table.filter(pl.col("estimator").is_in(estimators)).sort("k", "n", maintain_order=True)
    if rows.height == 0:
        raise InputError(f"Expected a table with some of the estimators {', '.join(estimators)}.")
    error, spread = pl.col("absolute"), pl.col("absolute_spread")
    ratio, ends = pl.col("n") / pl.col("k"), {"low": error - spread, "high": error + spread}
    return rows.select(
        "k", "n", ratio.alias("ratio"), "estimator", error.alias("error"), spread=spread, **ends
    )


@theme.figure
def estimators_chart(data: pl.DataFrame, *, unit: str = "cost", columns: int = 3) -> Chart:
    """Error bars of the estimators against N/K; a panel for every K if there are several."""
    sizes = data["k"].unique(maintain_order=True).to_list()
    if len(sizes) == 1:
        return _panel(data, unit, ": mean ± standard deviation over splits", 600, 320)
    panels = [_panel(data.filter(pl.col("k") == k), unit, "", 230, 170) for k in sizes]
    return alt.concat(*panels, columns=columns)


def _panel(data: pl.DataFrame, unit: str, remark: str, width: int, height: int) -> Chart:
    present = [name for name in ESTIMATORS if name in data["estimator"]]
    series = Series(ESTIMATORS).present(present)
    # Side by side, so that no bar covers another.
    shift = {name: 0.05 * (place - (len(present) - 1) / 2) for place, name in enumerate(present)}
    x = pl.col("ratio") + pl.col("estimator").replace_strict(shift, return_dtype=pl.Float64)
    shown = data.with_columns(series.labels("estimator"), x=x)
    x_scale = alt.Scale(domain=[0, 1.05 * max(data["ratio"].to_list())], nice=False)
    fit = axis([*data["low"], *data["high"]], log=False)
    x_title, x_axis = "N/K, runs for each training instance", alt.Axis(tickCount=5)
    base = theme.plot().encode(
        x=alt.X("x:Q", title=x_title, scale=x_scale, axis=x_axis),
        color=series.color(symbolStrokeWidth=0),
    )
    y = fit.y("error", labelled("absolute error", unit))
    bars = base.mark_rule(strokeWidth=1, opacity=0.6)
    bars = bars.encode(y=fit.y("low"), y2=alt.Y2("high:Q"))
    lines = base.mark_line(strokeWidth=1.5).encode(y=y, strokeDash=series.dash(legend=None))
    points = base.mark_point(filled=True, opacity=1, size=width / 8 + 5).encode(
        y=y,
        shape=series.shape(),
        tooltip=[
            tip("what:N", "estimator"),
            tip("k:Q", "K, training instances", ""),
            tip("n:Q", "N, runs of each configuration", ""),
            tip("error:Q", "absolute error, mean over configurations and splits"),
            tip("spread:Q", "its standard deviation over splits"),
        ],
    )
    heading = f"K = {counted(data['k'][0], 'training instance')}{remark}"
    title = alt.TitleParams(heading, fontWeight="normal", fontSize=12)
    chart = alt.layer(bars, lines, points, data=theme.records(shown))
    return chart.properties(width=width, height=height, title=title)
