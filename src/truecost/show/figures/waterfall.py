"""From the default to the simplified winner: what each change gains in training."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from truecost.errors import InputError
from truecost.show import theme
from truecost.show.theme import Chart, Series, Style, labelled, tip

BARS = Series(
    {
        "total": Style("mean training cost", theme.GREY),
        "gain": Style("lowers the cost", theme.BLUE),
        "loss": Style("raises the cost", theme.AMBER),
    }
)


def waterfall_data(
    default_cost: float, steps: Sequence[tuple[str, float, float]], winner_cost: float
) -> pl.DataFrame:
    """The steps from the default to the simplified configuration, and the winner beside it.

    Parameters
    ----------
    default_cost, winner_cost
        Mean training costs.
    steps
        Of each step its label, the cost after it and the standard error of what it gained.

    Returns
    -------
    DataFrame
        `place`, `label`, `kind` ("total", "gain" or "loss"), `start`, `stop`, the cost `after` it,
        what it `gained`, and `standard_error`.
    """
    if not steps:
        raise InputError("Expected at least one step from the default to the winner, got none.")
    rows = [("default", "total", 0.0, default_cost, 0.0, 0.0)]
    before = default_cost
    for label, cost, error in steps:
        kind = "gain" if cost <= before else "loss"
        rows.append((label, kind, before, cost, before - cost, error))
        before = cost
    rows.append(("simplified", "total", 0.0, before, 0.0, 0.0))
    rows.append(("winner", "total", 0.0, winner_cost, 0.0, 0.0))
    names = ["label", "kind", "start", "stop", "gained", "standard_error"]
    table = pl.DataFrame(rows, schema=names, orient="row").with_row_index("place")
    return table.with_columns(pl.col("place").cast(pl.Int64), after="stop")


@theme.figure
def waterfall_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Bars from cost to cost, the default first, the simplified configuration and the winner last."""
    order, series = data["label"].to_list(), BARS.present(data["kind"])
    bars = (
        theme.plot(data.with_columns(series.labels("kind")))
        .mark_bar()
        .encode(
            y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=260)),
            x=alt.X(
                "start:Q",
                title=labelled("mean training cost", unit),
                axis=alt.Axis(tickCount=6),
            ),
            x2=alt.X2("stop:Q"),
            color=series.color(),
            tooltip=[
                tip("label:N", "change"),
                tip("after:Q", "cost after it"),
                tip("gained:Q", "gained"),
                tip("standard_error:Q", "standard error"),
            ],
        )
    )
    chart: alt.Chart = bars.properties(
        width=520, height=22 * data.height, title="What each change gains"
    )
    return chart
