"""The spread of costs, as box plots per instance, family or configuration."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import polars as pl

from truecost.matrix import CostMatrix
from truecost.show import theme
from truecost.show.figures.pairs import common_runs, family_of
from truecost.show.theme import Chart, Series, axis, labelled, tip

# Groups that are shown, those with the largest differences first.
MOST_GROUPS = 30
# Fewer runs on an instance have no quartiles.
FEWEST_RUNS = 4


def boxes_data(
    matrix: CostMatrix,
    configurations: Mapping[str, str],
    *,
    families: Mapping[str, str] | None = None,
    most: int = MOST_GROUPS,
) -> pl.DataFrame:
    """Quartiles of the costs of some configurations on their common instances.

    A group is a family if `families` are given, else an instance if there are enough runs on each,
    else all instances. `configurations` are names by their labels.

    Returns
    -------
    DataFrame
        `group` (empty if there is only one), `series` (the label), `low`, `lower`, `median`,
        `upper`, `high` (extremes and quartiles), `runs`, and `spread`, the range of the medians.
    """
    runs = common_runs(matrix, list(configurations.values()))
    groups = [family_of(name, families) or "" for name in runs.instances]
    if families is None and np.median((~np.isnan(runs.costs)).sum(axis=2)) >= FEWEST_RUNS:
        groups = list(runs.instances)
    keys = np.array(groups)
    rows = []
    for group in dict.fromkeys(groups):
        for place, label in enumerate(configurations):
            costs = runs.costs[place][keys == group]
            costs = costs[~np.isnan(costs)]
            quartiles = np.quantile(costs, [0, 0.25, 0.5, 0.75, 1]).tolist()
            rows.append((group, label, *quartiles, costs.size))
    names = ["group", "series", "low", "lower", "median", "upper", "high", "runs"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    median = pl.col("median")
    table = table.with_columns(spread=(median.max() - median.min()).over("group"))
    kept = table.unique("group", maintain_order=True).sort("spread", descending=True).head(most)
    return table.filter(pl.col("group").is_in(kept["group"].to_list())).sort(
        "spread", descending=True, maintain_order=True
    )


@theme.figure
def boxes_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Boxes from quartile to quartile, the median as a tick, whiskers to the extremes."""
    colors = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.PURPLE)
    series = Series.plain(data["series"], [(color, theme.SOLID) for color in colors])
    fit = axis([*data["low"], *data["high"]])
    groups = data["group"].unique(maintain_order=True).to_list()
    names = dict(zip(groups, theme.short_names(groups), strict=True))
    table = data.with_columns(series.labels("series"), row=pl.col("group").replace_strict(names))
    title, note = labelled("cost", unit), "Boxes are quartiles, ticks medians, whiskers extremes."
    tooltip = [
        tip("series:N", "configuration"),
        *(tip(f"{name}:Q") for name in ("low", "lower", "median", "upper", "high")),
        tip("runs:Q", "runs", ",d"),
    ]
    base = theme.plot(table).encode(color=series.color())
    if len(groups) == 1:
        order, thickness, height = series.names, 18, 40
        base = base.encode(y=theme.rows("series", order, 180), color=series.color().legend(None))
    else:
        order, thickness, height = list(names.values()), 7, 22
        offset = alt.YOffset("series:N", sort=series.names)
        base = base.encode(y=theme.rows("row", order, 180), yOffset=offset)
        tooltip.insert(0, tip("group:N"))
        note += " Largest differences first."
    base = base.encode(tooltip=tooltip)
    whiskers = base.mark_rule(strokeWidth=1).encode(x=fit.x("low", title), x2="high:Q")
    boxes = base.mark_bar(size=thickness).encode(x=fit.x("lower", title), x2="upper:Q")
    medians = base.mark_tick(thickness=2, size=thickness + 4).encode(
        x=fit.x("median", title), color=alt.ColorValue(theme.BLACK)
    )
    layers, height = (whiskers, boxes, medians), height * len(order)
    return theme.layered(layers, "Spread of costs", note, width=560, height=height)
