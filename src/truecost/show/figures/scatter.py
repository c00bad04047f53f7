"""The winner against the default on each instance, on logarithmic axes."""

import math
from collections.abc import Mapping

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
# The looks of the largest families; the others share one.
FAMILIES = {
    theme.BLUE: "circle",
    theme.ORANGE: "square",
    theme.GREEN: "triangle-up",
    theme.PURPLE: "diamond",
    theme.AMBER: "cross",
    theme.BLACK: "triangle-down",
    theme.BROWN: "triangle-right",
}


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
    fit = axis([*data["x"], *data["y"]])
    layers = [theme.diagonal(fit)]
    if limit is not None and data["unsolved"].any():
        rim = theme.rule(limit, color=theme.GREY, strokeWidth=1)
        layers += [rim.encode(x=fit.x("at")), rim.encode(y=fit.y("at"))]
    known = data["family"].null_count() < data.height
    table, color, shape = _colours(data, known)
    # A click on the legend shows one group alone.
    chosen = alt.selection_point(name="chosen", fields=["what"], bind="legend")
    points = theme.plot(table).mark_point(filled=True, size=45).add_params(chosen)
    points = points.encode(
        opacity=alt.condition(chosen, alt.value(0.85), alt.value(0.08)),
        x=fit.x("x", labelled("default: cost", unit)),
        y=fit.y("y", labelled("winner: cost", unit)),
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
    return theme.layered(
        [*layers, points],
        f"{data['incumbent'][0]} against {data['default'][0]}",
        f"Of {data.height:,} instances, the winner is cheaper on {below:,}, the default on "
        f"{above:,}.{rim_note}",
        width=360,
        height=360,
    )


def _colours(data: pl.DataFrame, known: bool) -> tuple[pl.DataFrame, alt.Color, alt.Shape]:
    """Colour by family if known, else by the cheaper configuration."""
    if not known:
        series, table = SIDES.of(data, "better")
        return table, series.color(), series.shape()
    sizes = data["family"].value_counts(sort=True)["family"].to_list()
    looks = {
        name: Style(name, color, shape=shape)
        for name, (color, shape) in zip(sizes, FAMILIES.items(), strict=False)
    }
    key = pl.when(pl.col("family").is_in(list(looks))).then("family").otherwise(pl.lit("…"))
    if len(sizes) > len(looks):
        looks["…"] = Style(f"{len(sizes) - len(looks)} other families", theme.GREY)
    series, table = Series(looks).of(data.with_columns(key=key), "key")
    return table, series.color(columns=2), series.shape()
