"""Three ways to spread runs over instances, compared: the paper's Figure 1."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from truecost.errors import InputError
from truecost.show import theme
from truecost.show.numbers import counted
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

ESTIMATORS: dict[str, Style] = {
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
    columns = ("k", "n", ratio.alias("ratio"), "estimator")
    return rows.select(*columns, error=error, spread=spread, **ends)


@theme.figure
def estimators_chart(data: pl.DataFrame, *, unit: str = "cost", columns: int = 3) -> Chart:
    """Error bars of the estimators against N/K; a panel for every K if there are several."""
    sizes = data["k"].unique(maintain_order=True).to_list()
    if len(sizes) == 1:
        return _panel(data, unit, ": mean ± standard deviation over splits", 600, 320)
    panels = [_panel(data.filter(pl.col("k") == k), unit, "", 230, 170) for k in sizes]
    return alt.concat(*panels, columns=columns)


def _panel(data: pl.DataFrame, unit: str, remark: str, width: int, height: int) -> Chart:
    series, shown = Series(ESTIMATORS).of(data, "estimator")
    # Side by side, so that no bar covers another.
    middle = (len(series.names) - 1) / 2
    shift = {name: 0.05 * (place - middle) for place, name in enumerate(series.names)}
    x = pl.col("ratio") + pl.col("what").replace_strict(shift, return_dtype=pl.Float64)
    across = alt.Scale(domain=[0, 1.05 * max(data["ratio"].to_list())], nice=False)
    ratio = theme.ScaledAxis(across, alt.Axis(tickCount=5))
    fit = axis([*data["low"], *data["high"]], log=False)
    base = theme.plot(shown.with_columns(x=x)).encode(
        x=ratio.x("x", "N/K, runs for each training instance"),
        color=series.color(symbolStrokeWidth=0),
    )
    y = fit.y("error", labelled("absolute error", unit))
    bars = base.mark_rule(strokeWidth=1, opacity=0.6).encode(y=fit.y("low"), y2="high:Q")
    lines = base.mark_line(strokeWidth=1.5).encode(y=y, strokeDash=series.dash(legend=None))
    points = base.mark_point(**theme.POINT, size=width / 8 + 5).encode(
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
    return alt.layer(bars, lines, points).properties(width=width, height=height, title=title)
