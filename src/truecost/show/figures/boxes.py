"""The spread of costs, as box plots per instance, family or configuration."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from truecost.matrix import CostMatrix
from truecost.show import theme
from truecost.show.figures.pairs import common_runs, family_of
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

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
    labels = data["series"].unique(maintain_order=True).to_list()
    colors = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.PURPLE)
    looks = zip(labels, colors, strict=False)
    series = Series({label: Style(label, color) for label, color in looks})
    costs = [*data["low"], *data["high"]]
    scale, ticks = axis(costs, log=min(costs) > 0)
    table = data.with_columns(series.labels("series"))
    single = data["group"].n_unique() == 1
    row = "series" if single else "group"
    order = table[row].unique(maintain_order=True).to_list()
    y = alt.Y(f"{row}:N", title=None, sort=order, axis=alt.Axis(labelLimit=180))
    offset: dict[str, Any] = {} if single else {"yOffset": alt.YOffset("series:N", sort=labels)}
    x_title = labelled("cost", unit)
    tooltip = [
        *([] if single else [tip("group:N")]),
        tip("series:N", "configuration"),
        *(tip(f"{name}:Q") for name in ("low", "lower", "median", "upper", "high")),
        tip("runs:Q", "runs", ",d"),
    ]
    base = theme.plot(table).encode(y=y, tooltip=tooltip, **offset)
    low, high = (
        alt.X(f"{end}:Q", title=x_title, scale=scale, axis=ticks) for end in ("low", "lower")
    )
    color = series.color()
    thickness = 18 if single else 7
    whiskers = base.mark_rule(strokeWidth=1).encode(x=low, x2=alt.X2("high:Q"), color=color)
    boxes = base.mark_bar(size=thickness, opacity=0.6)
    boxes = boxes.encode(x=high, x2=alt.X2("upper:Q"), color=color)
    medians = base.mark_tick(color=theme.BLACK, thickness=2, size=thickness)
    medians = medians.encode(x=alt.X("median:Q", title=x_title, scale=scale, axis=ticks))
    note = "Boxes are quartiles, ticks medians, whiskers extremes."
    if not single:
        note += " Largest differences first."
    height = (40 if single else 22) * len(order)
    title = theme.heading("Spread of costs", note)
    return alt.layer(whiskers, boxes, medians).properties(width=560, height=height, title=title)
