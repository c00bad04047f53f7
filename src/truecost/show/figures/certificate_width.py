"""What more instances buy: the certified limit against the number of instances."""

from collections.abc import Mapping

import altair as alt
import polars as pl
from numpy.typing import ArrayLike

from truecost.show import numbers, theme
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

METHODS = {
    "star-bets": Style("star-bets: STaR-Bets, the default", theme.BLUE),
    "betting": Style("betting: hedged capital", theme.ORANGE, theme.DASHED),
    "empirical-bernstein": Style(
        "empirical-bernstein: from the sample variance", theme.GREEN, theme.DOTTED
    ),
    "hoeffding": Style("hoeffding: from the cost range alone", theme.PURPLE, theme.DASH_DOTTED),
}


def certificate_width_data(
    configuration: str, instances: ArrayLike, estimate: ArrayLike, upper: Mapping[str, ArrayLike]
) -> pl.DataFrame:
    """Limits that each method certifies from the first K instances, as `upper_by_size` has them.

    Returns
    -------
    DataFrame
        `configuration`, `instances` (K), `method`, `estimate`, `upper`, `width` (upper − estimate).
    """
    index = ["configuration", "instances", "estimate"]
    columns = {**dict(zip(index, (configuration, instances, estimate), strict=True)), **upper}
    table = pl.DataFrame(columns).unpivot(
        list(upper), index=index, variable_name="method", value_name="upper"
    )
    table = table.select("configuration", "instances", "method", "estimate", "upper")
    widths = table.with_columns(width=pl.col("upper") - pl.col("estimate"))
    return widths.sort("instances", maintain_order=True)


@theme.figure
def certificate_width_chart(
    data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost"
) -> Chart:
    """Distance of the certified limit from the estimate against K, a line for every method."""
    series = Series({method: look for method, look in METHODS.items() if method in data["method"]})
    widths, confidence = data["width"].to_list(), numbers.confidence(delta)
    x_scale, x_axis = axis(data["instances"].to_list(), log=True)
    y_scale, y_axis = axis(widths, log=min(widths) > 0)
    x_title, y_title = "K, the number of instances", labelled("certified limit − estimate", unit)
    base = theme.plot(data.with_columns(series.labels("method"))).encode(
        x=alt.X("instances:Q", title=x_title, scale=x_scale, axis=x_axis),
        y=alt.Y("width:Q", title=y_title, scale=y_scale, axis=y_axis),
        color=series.color(symbolType="stroke", symbolSize=400, columns=2),
    )
    lines = base.mark_line(strokeWidth=2).encode(strokeDash=series.dash())
    points = base.mark_point(**theme.UNSEEN).encode(
        tooltip=[
            tip("configuration:N"),
            tip("what:N", "method"),
            tip("instances:Q", x_title, ",d"),
            tip("estimate:Q", "estimate: mean of the instance means"),
            tip("upper:Q", f"true cost at most ({confidence} confidence)"),
            tip("width:Q", labelled("width: limit − estimate", unit)),
        ]
    )
    title = theme.heading(
        f"{confidence} certificates of {data['configuration'][0]}",
        "Growing parts of one random order; each limit is for a single look at a K fixed "
        "beforehand.",
        "No limit exceeds the highest possible cost: where a line is flat, its method knows "
        "nothing better.",
    )
    return alt.layer(lines, points).properties(**theme.SIZE, title=title)
