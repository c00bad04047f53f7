"""Where each configuration's noise comes from: seeds or instances."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.show import theme
from truecost.show.numbers import percent
from truecost.show.theme import Chart, Series, Style, labelled, tip

FloatArray = NDArray[np.float64]
NOISE = Series(
    {
        "within": Style("within: between runs on an instance", theme.BLUE),
        "across": Style("across: between instances", theme.SAND),
    },
    field="part",
)


def variance_shares_data(
    configurations: Sequence[str],
    *,
    costs: FloatArray,
    within: FloatArray,
    across: FloatArray,
    share: FloatArray,
) -> pl.DataFrame:
    """Return `within`, `across` and the share of `within` of every configuration, the best first.

    Variances estimated below 0 become 0.
    """
    if not np.isfinite(within).any():
        raise InputError(
            "Expected an instance with two runs of one configuration: otherwise within and across "
            "cannot be separated."
        )
    order = np.argsort(costs, kind="stable")
    values = {
        "cost": costs,
        "within": np.maximum(within, 0),
        "across": np.maximum(across, 0),
        "share": share,
    }
    columns = {
        "rank": np.arange(1, order.size + 1),
        "configuration": [configurations[place] for place in order],
        **{name: column[order] for name, column in values.items()},
    }
    return pl.DataFrame(columns).with_columns(pl.col(*values).fill_nan(None))


@theme.figure
def variance_shares_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """A bar for each configuration, from the lowest mean cost to the highest."""
    known = data.drop_nulls("share")
    bars = pl.concat(
        [
            known.with_columns(low=0.0, high="share", part=pl.lit("within")),
            known.with_columns(low="share", high=1.0, part=pl.lit("across")),
        ]
    )
    rank = pl.col("rank")
    bars = bars.with_columns(NOISE.labels("part"), left=rank - 0.5, right=rank + 0.5)
    ranks = theme.span(data.height, grid=False, format="d")
    tooltip = [
        tip("configuration:N"),
        tip("rank:Q", "rank by mean cost", ""),
        tip("cost:Q", labelled("mean cost", unit)),
        tip("within:Q", "within: variance between runs on an instance"),
        tip("across:Q", "across: variance between instances"),
        tip("share:Q", "share of within", ".1%"),
    ]
    rectangles = theme.plot(bars).mark_rect(aria=False)
    rectangles = rectangles.encode(
        x=ranks.x("left", "configurations, by mean cost"),
        x2="right:Q",
        y=theme.SHARES.y("low", "share of the variance of a run"),
        y2="high:Q",
        color=NOISE.color(),
        tooltip=tooltip,
    )
    mean, note = None, "No configuration varies"
    if known.height:
        mean = float(known["share"].to_numpy().mean())
        note = f"Mean share of within: {percent(mean)} (dashed)"
    layers = (rectangles, theme.rule(mean, **theme.MEAN).encode(y="at:Q"))
    width = max(1, 600 // data.height) * data.height
    return theme.layered(layers, "Where the noise comes from", note, width=width, height=260)
