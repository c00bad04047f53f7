"""Panels that figures of sweeps over m, N or K share."""

from typing import cast

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.paper.fit import Kind
from truecost.show import theme
from truecost.show.theme import Chart, Series, Style, axis, tip

MEANINGS = {
    "uniform": "uniform error: the largest estimation error of all configurations",
    "selection": "selection error: the estimation error of the one with the lowest training cost",
}
SWEPT = {
    "m": "m, the number of configurations",
    "n": "N, the number of runs of each configuration",
    "k": "K, the number of training instances",
}
# More points of a curve could not be distinguished.
MOST_POINTS = 100


def thinned(table: pl.DataFrame, most: int) -> tuple[Kind, pl.DataFrame]:
    """Return what a table of a sweep varies, and about `most` of its rows."""
    against = table.columns[0]
    if against not in SWEPT:
        raise InputError(
            f"Expected a table of a sweep, whose first column is m, n or k, got {against!r}."
        )
    values = table[against].to_numpy()
    wanted = np.geomspace(values[0], values[-1], most)
    places = np.unique(np.abs(values[:, np.newaxis] - wanted).argmin(axis=0))
    return cast(Kind, against), table[places]


def panel(
    data: pl.DataFrame, against: str, looks: dict[str, Style], y: str, heading: str, meaning: str
) -> Chart:
    """Curves of `error` against one swept value; the title of the y axis is `y`."""
    series = Series(looks)
    errors = data["error"].drop_nulls().to_list() or [0.0]
    # Powers are straight lines on two logarithmic scales; with one configuration the error is 0.
    x = axis(data["value"], log=True).x("value", SWEPT[against])
    vertical = axis(errors, log=against != "m" and min(errors) > 0)
    base = theme.plot(data.with_columns(series.labels("series"))).encode(
        x=x,
        y=vertical.y("error", y),
        color=series.color(symbolType="stroke", symbolSize=400),
    )
    lines = base.mark_line(strokeWidth=2, clip=True).encode(strokeDash=series.dash())
    value = tip("value:Q", SWEPT[against], ",d")
    tooltip = [value, tip("error:Q", meaning), tip("what:N", "curve")]
    dots = base.mark_point(**theme.UNSEEN)
    points = [dots.encode(tooltip=tooltip)]
    if "standard_error" in data.columns:
        # Only means over splits have one.
        known = "isValid(datum.standard_error)"
        spread = tip("standard_error:Q", "standard error over splits", ",.2~g")
        points = [
            dots.transform_filter(f"!{known}").encode(tooltip=tooltip),
            dots.transform_filter(known).encode(tooltip=[*tooltip, spread]),
        ]
    title = alt.TitleParams(heading, fontWeight="normal", fontSize=11, color=theme.SOFT)
    return alt.layer(lines, *points).properties(width=250, height=230, title=title)
