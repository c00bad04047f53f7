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
    before, rows = default_cost, []
    for label, cost, error in steps:
        kind = "gain" if cost <= before else "loss"
        rows.append((label, kind, before, cost, before - cost, error))
        before = cost
    first, *last = (
        (label, "total", 0.0, cost, 0.0, 0.0)
        for label, cost in (
            ("default", default_cost),
            ("simplified", before),
            ("winner", winner_cost),
        )
    )
    rows = [first, *rows, *last]
    names = ["label", "kind", "start", "stop", "gained", "standard_error"]
    table = pl.DataFrame(rows, schema=names, orient="row").with_row_index("place")
    return table.with_columns(pl.col("place").cast(pl.Int64), after="stop")


@theme.figure
def waterfall_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Bars from cost to cost: the default first, the simplified one and the winner last."""
    series, table = BARS.of(data, "kind")
    title, ticks = labelled("mean training cost", unit), alt.Axis(tickCount=6)
    bars = theme.plot(table).encode(
        y=theme.rows("label", data["label"].to_list(), 260),
        x=alt.X("start:Q", title=title, axis=ticks),
        x2="stop:Q",
        color=series.color(),
        tooltip=[
            tip("label:N", "change"),
            tip("after:Q", "cost after it"),
            tip("gained:Q", "gained"),
            tip("standard_error:Q", "standard error"),
        ],
    )
    title, height = "What each change gains", 22 * data.height
    chart: Chart = bars.mark_bar().properties(width=520, height=height, title=title)
    return chart
