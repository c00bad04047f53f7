"""How far from the best: performance profiles (Dolan and Moré, 2002)."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.show import theme
from truecost.show.figures.pairs import common_runs
from truecost.show.theme import Chart, Series, axis, tip

LOOKS = (
    (theme.BLUE, theme.SOLID),
    (theme.ORANGE, theme.DASHED),
    (theme.GREEN, theme.DOTTED),
    (theme.PURPLE, theme.DASH_DOTTED),
    (theme.GREY, [12, 2]),
    (theme.BLACK, [4, 2]),
)


def performance_profile_data(matrix: CostMatrix, configurations: Mapping[str, str]) -> pl.DataFrame:
    """Share of instances on which a configuration is within a factor of the best of these.

    `configurations` are names by their labels, at most six. An instance on which a configuration
    solves nothing counts for no factor. Costs have to be positive.

    Returns
    -------
    DataFrame
        `series` (the label), `factor` (from 1), `share` of the instances.
    """
    if not 2 <= len(configurations) <= len(LOOKS):
        got = len(configurations)
        raise InputError(f"Expected 2 to {len(LOOKS)} configurations to compare, got {got}.")
    runs = common_runs(matrix, list(configurations.values()))
    means = runs.means
    if not (means > 0).all():
        raise InputError("Expected positive costs: ratios of others mean nothing.")
    solved = (runs.costs < runs.limit).any(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        factors = np.where(solved, means / means.min(axis=0), np.inf)
    parts = []
    for label, row in zip(configurations, factors, strict=True):
        finite = np.sort(row[np.isfinite(row)])
        values, counts = np.unique(finite, return_counts=True)
        share = counts.cumsum() / row.size
        # Every curve starts at factor 1.
        if not values.size or values[0] > 1:
            values, share = np.r_[1.0, values], np.r_[0.0, share]
        parts.append(pl.DataFrame({"series": label, "factor": values, "share": share}))
    return pl.concat(parts)


@theme.figure
def performance_profile_chart(data: pl.DataFrame) -> Chart:
    """Share of instances against the factor; the higher the better."""
    series = Series.plain(data["series"], LOOKS)
    # Where all are equally good, the axis still needs a length.
    last = 1.1 * max(2.0, *data["factor"])
    ends = data.group_by("series", maintain_order=True).last()
    ends = ends.with_columns(factor=pl.lit(last)).select(data.columns)
    table = pl.concat([data, ends]).with_columns(series.labels("series"))
    # It starts at 1 itself: no factor is less.
    fit = axis([1.0, last])._replace(scale=alt.Scale(type="log", domain=[1, last], nice=False))
    x = fit.x("factor", "factor of the best cost on an instance")
    share = tip("share:Q", "share of instances within it", ".1%")
    tooltip = [tip("series:N", "configuration"), tip("factor:Q", "factor"), share]
    y = theme.SHARES.y("share", "share of instances")
    lines = theme.curves(table, x, y, series, tooltip, interpolate="step-after", clip=True)
    note = "Share of instances on which a configuration is within a factor of the cheapest of these"
    return theme.layered(lines, "Performance profile", note)
