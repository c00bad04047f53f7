"""What more instances buy: the certified limit against the number of instances."""

from collections.abc import Mapping

import polars as pl
from numpy.typing import ArrayLike

from truecost.show import numbers, theme
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

METHODS = Series(
    {
        "star-bets": Style("star-bets: STaR-Bets, the default", theme.BLUE),
        "betting": Style("betting: hedged capital", theme.ORANGE, theme.DASHED),
        "empirical-bernstein": Style(
            "empirical-bernstein: from the sample variance", theme.GREEN, theme.DOTTED
        ),
        "hoeffding": Style("hoeffding: from the cost range alone", theme.PURPLE, theme.DASH_DOTTED),
    }
)


def certificate_width_data(
    configuration: str, instances: ArrayLike, estimate: ArrayLike, upper: Mapping[str, ArrayLike]
) -> pl.DataFrame:
    """Limits that each method certifies from the first K instances, as `upper_by_size` has them.

    Returns
    -------
    DataFrame
        `configuration`, `instances` (K), `method`, `estimate`, `upper`, `width` (upper − estimate).
    """
    index = {"configuration": configuration, "instances": instances, "estimate": estimate}
    table = pl.DataFrame({**index, **upper}).unpivot(
        list(upper), index=list(index), variable_name="method", value_name="upper"
    )
    columns = ("configuration", "instances", "method", "estimate", "upper")
    table = table.select(*columns, width=pl.col("upper") - pl.col("estimate"))
    return table.sort("instances", maintain_order=True)


@theme.figure
def certificate_width_chart(
    data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost"
) -> Chart:
    """Distance of the certified limit from the estimate against K, a line for every method."""
    (series, table), confidence = METHODS.of(data, "method"), numbers.confidence(delta)
    x_title, y_title = "K, the number of instances", labelled("certified limit − estimate", unit)
    tooltip = [
        tip("configuration:N"),
        tip("what:N", "method"),
        tip("instances:Q", x_title, ",d"),
        tip("estimate:Q", "estimate: mean of the instance means"),
        tip("upper:Q", f"true cost at most ({confidence} confidence)"),
        tip("width:Q", labelled("width: limit − estimate", unit)),
    ]
    x = axis(data["instances"], log=True).x("instances", x_title)
    lines = theme.curves(table, x, axis(data["width"]).y("width", y_title), series, tooltip)
    return theme.layered(
        lines,
        f"{confidence} certificates of {data['configuration'][0]}",
        "Growing parts of one random order; each limit is for a single look at a K fixed "
        "beforehand.",
        "No limit exceeds the highest possible cost: where a line is flat, its method knows "
        "nothing better.",
    )
