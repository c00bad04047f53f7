"""How many runs on how many instances: the plan among its alternatives."""

import math
from typing import Any

import altair as alt
import polars as pl

from truecost.errors import InputError
from truecost.plan.sizes import Recommendation
from truecost.show import theme
from truecost.show.numbers import number
from truecost.show.theme import Chart, axis, labelled, tip

# Beyond this ratio of the largest to the smallest value, a linear scale hides the small ones.
LARGE = 8.0
# Values that differ by less, relative to the largest, are the same to a reader.
FLAT = 0.05


def plan_curve_data(recommendation: Recommendation) -> pl.DataFrame:
    """Return the recommendation among other numbers of instances.

    Returns
    -------
    DataFrame
        `instances` (K), `runs` (N), `standard_error`, `bound` (null if not asked for), `price`;
        `chosen` marks the recommended row, and `caveat`, the same in every row, says why the errors
        are not guaranteed, empty if they are.
    """
    columns = ("instances", "runs", "standard_error", "bound", "price")
    curve = pl.DataFrame({name: getattr(recommendation.curve, name) for name in columns})
    if curve.height == 0:
        raise InputError("Expected a recommendation with a curve around it, got an empty one.")
    chosen, caveat = pl.col("instances") == recommendation.instances, pl.lit(recommendation.caveat)
    bound = pl.col("bound").fill_nan(None)
    return curve.with_columns(bound, chosen=chosen, caveat=caveat).sort("instances")


@theme.figure
def plan_curve_chart(data: pl.DataFrame, *, unit: str = "cost", price_unit: str = "runs") -> Chart:
    """Price and errors against the number of instances K, the recommended one marked."""
    panels = {"price": (f"price ({price_unit})", "price of all runs and instances")}
    for column, what, where in (
        ("standard_error", "standard error of a training cost", "Lemma 2"),
        ("bound", "bound on true − training cost", "Lemma 4, Theorem 2"),
    ):
        if data[column].drop_nulls().len():
            panels[column] = (labelled(what, unit), f"{what} ({where})")
    tooltip = [
        tip("instances:Q", "K, the number of instances", ",d"),
        tip("runs:Q", "N, runs of each configuration, spread evenly over them", ",d"),
        *(tip(f"{name}:Q", meaning) for name, (_, meaning) in panels.items()),
    ]
    # A flat panel shows nothing: its value becomes part of the title.
    flat = {name for name in panels if name != "price" and _flat(data[name].to_list())}
    drawn = [_panel(data, name, panels[name][0], tooltip) for name in panels if name not in flat]
    best = data.filter("chosen").row(0, named=True)
    equal = [f"{panels[name][0]}: {number(best[name])} for all of them." for name in sorted(flat)]
    caveat = data["caveat"][0]
    note = f"{caveat[0].upper()}{caveat[1:]}." if caveat else "For the given within and across."
    title = theme.heading("Other numbers of instances, for the same question", note, *equal)
    return alt.hconcat(*drawn, spacing=30).properties(title=title)


def _flat(values: list[float]) -> bool:
    return max(values) - min(values) <= FLAT * max(map(abs, values))


def _panel(data: pl.DataFrame, column: str, title: str, tooltip: list[alt.Tooltip]) -> Chart:
    sizes, values = data["instances"].to_list(), data[column].to_list()
    low, high = min(values), max(values)
    # From 0, and with room for the label below the lowest point.
    y_scale, y_axis = alt.Scale(domain=[0, 1.1 * high or 1.0]), alt.Axis(tickCount=6)
    if 0 < LARGE * low < high:
        y_scale = alt.Scale(type="log", domain=[low / 2, 1.1 * high], nice=False)
        y_axis = axis([low / 2, high]).axis
    span = math.log(max(sizes) / min(sizes)) or 1.0
    room = math.exp(0.08 * span)
    x_scale = alt.Scale(type="log", domain=[min(sizes) / room, room * max(sizes)], nice=False)
    chosen = data.filter("chosen").row(0, named=True)
    best = chosen["instances"]
    # The recommended K, and those that leave room for its label.
    ticks = [k for k in sizes if k == best or abs(math.log(k / best)) > 0.14 * span]
    x_axis = alt.Axis(values=ticks, format=",d", labelOverlap="greedy")
    base = theme.plot(data.drop("caveat")).encode(
        x=alt.X("instances:Q", title="K, the number of instances", scale=x_scale, axis=x_axis),
        y=alt.Y(f"{column}:Q", title=title, scale=y_scale, axis=y_axis),
    )
    line = base.mark_line(color=theme.BLUE, strokeWidth=1.5)
    base, one = base.encode(tooltip=tooltip), base.transform_filter("datum.chosen")
    dot: dict[str, Any] = {"filled": True, "opacity": 1}
    others = base.transform_filter("!datum.chosen").mark_point(**dot, size=40, color=theme.BLUE)
    own = dot | {"shape": "diamond", "stroke": theme.BLACK, "strokeWidth": 1, "size": 160}
    mark = one.mark_point(**own, color=theme.ORANGE).encode(tooltip=tooltip)
    # Away from the nearer end, so that the label is not cut off.
    right = best**2 > min(sizes) * max(sizes)
    label = one.mark_text(align="right" if right else "left", dy=20, fontSize=11)
    label = label.encode(text=alt.TextValue(f"K = {best:,}, N = {chosen['runs']:,}"))
    return alt.layer(line, others, mark, label).properties(width=250, height=230)
