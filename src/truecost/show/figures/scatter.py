"""The winner against the default on each instance, on logarithmic axes."""

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.show import theme
from truecost.show.figures.pairs import common_runs, family_of
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

SIDES = Series(
    {
        "incumbent": Style("winner costs less", theme.BLUE),
        "default": Style("default costs less", theme.ORANGE, shape="square"),
        "neither": Style("equal", theme.GREY, shape="diamond"),
    }
)
# Families with a colour of their own, the largest first; the others share one.
MOST_FAMILIES = 7


def scatter_data(
    matrix: CostMatrix,
    incumbent: str,
    default: str,
    *,
    families: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Mean cost of two configurations on every common instance.

    Returns
    -------
    DataFrame
        `instance`, `incumbent_cost`, `default_cost`, `better` ("incumbent", "default" or
        "neither"), `family` (null if unknown); `x` and `y`, the two costs (the default's first)
        with those at or above the cutoff moved to it; `unsolved`, whether one was moved; and, the
        same in every row, the names `incumbent` and `default`, and the `limit`, null if unknown.
    """
    if incumbent == default:
        raise InputError(f"Expected two configurations to compare, got {incumbent!r} twice.")
    runs = common_runs(matrix, [incumbent, default])
    ours, theirs = runs.means
    better = np.where(ours < theirs, "incumbent", np.where(ours > theirs, "default", "neither"))
    limit = runs.limit if math.isfinite(runs.limit) else None
    return pl.DataFrame(
        {
            "instance": runs.instances,
            "incumbent_cost": ours,
            "default_cost": theirs,
            "better": better.tolist(),
            "family": [family_of(name, families) for name in runs.instances],
            "x": np.minimum(theirs, runs.limit),
            "y": np.minimum(ours, runs.limit),
            "unsolved": (ours >= runs.limit) | (theirs >= runs.limit),
            "incumbent": incumbent,
            "default": default,
            "limit": limit,
        },
        schema_overrides={"limit": pl.Float64, "family": pl.String},
    )


@theme.figure
def scatter_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """A point for every instance: below the diagonal the winner costs less.

    Costs at or above the cutoff lie on the rim; colours are families if they are known.
    """
    limit = data["limit"][0]
    costs = [*data["x"], *data["y"]]
    log = min(costs) > 0
    scale, ticks = axis(costs, log=log)
    ends = scale.to_dict()["domain"]
    line = theme.plot(pl.DataFrame({"x": ends, "y": ends}))
    line = line.mark_line(color=theme.BLACK, strokeDash=[4, 3], strokeWidth=1, clip=True)
    layers = [line.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))]
    if limit is not None and data["unsolved"].any():
        rim = theme.plot(pl.DataFrame({"limit": [limit]}))
        style: dict[str, Any] = {"color": theme.GREY, "strokeWidth": 1}
        layers.append(rim.mark_rule(**style).encode(x=alt.X("limit:Q", scale=scale)))
        layers.append(rim.mark_rule(**style).encode(y=alt.Y("limit:Q", scale=scale)))
    known = data["family"].null_count() < data.height
    table, color, shape = _colours(data, known)
    x_title, y_title = (labelled(f"{what}: cost", unit) for what in ("default", "winner"))
    # A click on the legend shows one group alone.
    chosen = alt.selection_point(name="chosen", fields=["what"], bind="legend")
    points = theme.plot(table).mark_point(filled=True, size=45).add_params(chosen)
    points = points.encode(
        opacity=alt.condition(chosen, alt.value(0.85), alt.value(0.08)),
        x=alt.X("x:Q", title=x_title, scale=scale, axis=ticks),
        y=alt.Y("y:Q", title=y_title, scale=scale, axis=ticks),
        color=color,
        shape=shape,
        tooltip=[
            tip("instance:N"),
            *([tip("family:N")] if known else []),
            tip("incumbent_cost:Q", "winner: mean cost of its runs"),
            tip("default_cost:Q", "default: mean cost of its runs"),
        ],
    )
    below, above = ((data["better"] == side).sum() for side in ("incumbent", "default"))
    rim_note = " Unsolved ones lie on the rim." if data["unsolved"].any() else ""
    title = theme.heading(
        f"{data['incumbent'][0]} against {data['default'][0]}",
        f"Of {data.height:,} instances, the winner is cheaper on {below:,}, the default on "
        f"{above:,}.{rim_note}",
    )
    return alt.layer(*layers, points).properties(width=360, height=360, title=title)


def _colours(data: pl.DataFrame, known: bool) -> tuple[pl.DataFrame, alt.Color, alt.Shape]:
    """Colour by family if known, else by the cheaper configuration."""
    if not known:
        return data.with_columns(SIDES.labels("better")), SIDES.color(), SIDES.shape()
    sizes = data["family"].value_counts(sort=True)["family"].to_list()
    colors = (
        theme.BLUE,
        theme.ORANGE,
        theme.GREEN,
        theme.PURPLE,
        theme.AMBER,
        theme.BLACK,
        theme.SAND,
    )
    shapes = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
    named = dict(zip(sizes[:MOST_FAMILIES], zip(colors, shapes, strict=True), strict=False))
    looks = {name: Style(name, color, shape=shape) for name, (color, shape) in named.items()}
    if len(sizes) > MOST_FAMILIES:
        looks["…"] = Style(f"{len(sizes) - MOST_FAMILIES} other families", theme.GREY)
    series = Series(looks)
    key = pl.when(pl.col("family").is_in(list(named))).then("family").otherwise(pl.lit("…"))
    table = data.with_columns(key=key).with_columns(series.labels("key"))
    return table, series.color(columns=2), series.shape()
