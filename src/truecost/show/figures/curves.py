"""Curves: runs within a cost (ECDF, cactus plot) or a factor of the best (profile), what more
instances buy, and the plan among its alternatives.
"""

import math
from collections.abc import Mapping
from math import inf
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from truecost.errors import InputError
from truecost.judge.sampling import CostBand
from truecost.matrix import CostMatrix
from truecost.plan.sizes import Recommendation
from truecost.show import numbers, theme
from truecost.show.figures.instances import common_runs
from truecost.show.numbers import confidence, number
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

BEST = "virtual best"
# Colours alone would be lost in print.
LOOKS = (
    (theme.BLUE, theme.SOLID),
    (theme.ORANGE, theme.DASHED),
    (theme.PURPLE, theme.DASH_DOTTED),
    (theme.BLACK, [4, 2]),
)
# More steps could not be distinguished.
MOST_STEPS = 500


def ecdf_data(
    matrix: CostMatrix, configurations: Mapping[str, str], *, virtual_best: bool = True
) -> pl.DataFrame:
    """Sorted costs of the solved runs of some configurations, on their common instances.

    Parameters
    ----------
    matrix
        The runs.
    configurations
        Names of configurations by their labels, "winner" and "default" for instance.
    virtual_best
        Whether to add the runs of the cheapest configuration of each instance.

    Returns
    -------
    DataFrame
        `series` (the label), `cost`, `solved` (runs with at most that cost), `share` of all runs,
        and `runs`, the number of all runs.
    """
    runs = common_runs(matrix, list(configurations.values()))
    costs = dict(zip(configurations, runs.costs, strict=True))
    if virtual_best:
        every = matrix.select(instances=list(runs.instances))
        sums, counts = np.nansum(every.charged, axis=2), every.counts()
        with np.errstate(invalid="ignore", divide="ignore"):
            # A configuration without a run on an instance is never the cheapest there.
            means = np.where(counts > 0, sums / counts, np.inf)
        places = np.arange(len(runs.instances))
        costs[BEST] = every.charged[means.argmin(axis=0), places]
    return pl.concat([_steps(label, values, runs.limit) for label, values in costs.items()])


# A cactus plot shows the same with its axes swapped.
cactus_data = ecdf_data


def _steps(label: str, costs: np.ndarray, limit: float) -> pl.DataFrame:
    known = costs[~np.isnan(costs)]
    solved = np.sort(known[known < limit])
    count = np.arange(1, solved.size + 1)
    # Evenly along the order, so that the shape stays.
    if solved.size > MOST_STEPS:
        kept = np.unique(np.linspace(0, solved.size - 1, MOST_STEPS).astype(int))
        solved, count = solved[kept], count[kept]
    columns = {"cost": solved, "solved": count, "share": count / known.size}
    table = pl.DataFrame(columns, schema_overrides={"cost": pl.Float64})
    return table.select(pl.lit(label).alias("series"), *columns, runs=pl.lit(known.size, pl.Int64))


@theme.figure
def ecdf_chart(
    data: pl.DataFrame, *, band: CostBand | None = None, unit: str = "cost", solved: bool = True
) -> Chart:
    """Share of runs within a cost; the winner's distribution lies in the shaded band. Runs are only
    called `solved` where it is known which are.
    """
    series = _series(data)
    ends = [] if band is None else [cost for cost in (*band.lower, *band.upper) if 0 < cost < inf]
    fit = axis([*data["cost"], *ends])
    first, last = fit.ends
    table = _to_the_edge(data, "cost", last).with_columns(series.labels("series"))
    x = fit.x("cost", labelled("cost", unit))
    y = theme.SHARES.y("share", f"share of {_runs(solved)}")
    line = {"interpolate": "step-after", "clip": True}
    layers = theme.curves(table, x, y, series, _tooltip(unit, solved), **line)
    note = f"{data['runs'][0]:,} runs of each on common instances." if data.height else "No runs."
    if band is not None:
        area = theme.plot(_band_steps(band, first, last))
        area = area.mark_area(color=theme.BLUE, opacity=0.18, interpolate="step-after", clip=True)
        layers.insert(0, area.encode(x=x, y=theme.SHARES.y("low"), y2="high:Q"))
        note += (
            f" Shaded: guaranteed for the winner, {confidence(band.delta)} for all costs at once."
        )
    return theme.layered(layers, "How many runs finish within a cost (ECDF)", note)


def _to_the_edge(data: pl.DataFrame, field: str, last: float) -> pl.DataFrame:
    """Return the data with every curve continued to the right edge."""
    ends = data.group_by("series", maintain_order=True).last()
    ends = ends.with_columns(pl.lit(last).alias(field))
    return pl.concat([data, ends.select(data.columns)])


def _band_steps(band: CostBand, first: float, last: float) -> pl.DataFrame:
    """Return the ends of the band, from the left to the right edge of the figure."""
    costs = sorted({first, last, *(c for c in (*band.lower, *band.upper) if first < c < last)})
    rows = [(cost, *band.at(cost)) for cost in costs]
    return pl.DataFrame(rows, schema=["cost", "low", "high"], orient="row")


@theme.figure
def cactus_chart(data: pl.DataFrame, *, unit: str = "cost", solved: bool = True) -> Chart:
    """Cost against the number of runs solved within it: the lower and longer, the better. Runs are
    only called `solved` where it is known which are.
    """
    series, most = _series(data), int(max([*data["runs"], 1]))
    runs = alt.Scale(domain=[0, most], nice=False)
    ticks = alt.Axis(values=theme.whole_ticks(most), format=",d")
    x = theme.ScaledAxis(runs, ticks).x("solved", _runs(solved))
    y = axis(data["cost"]).y("cost", labelled("cost", unit))
    table = data.with_columns(series.labels("series"))
    lines = theme.curves(table, x, y, series, _tooltip(unit, solved), interpolate="step-before")
    title = f"{_runs(solved).capitalize()} within a cost (cactus plot)"
    return theme.layered(lines, title, f"{most:,} runs of each.")


def _series(data: pl.DataFrame) -> Series:
    configurations = (label for label in data["series"] if label != BEST)
    best = {BEST: Style(f"{BEST} of all configurations", theme.GREY, theme.DOTTED)}
    return Series.plain(configurations, LOOKS, best if BEST in data["series"] else {})


def _runs(solved: bool) -> str:
    return "runs solved" if solved else "runs"


def _tooltip(unit: str, solved: bool) -> list[alt.Tooltip]:
    return [
        tip("series:N", "configuration"),
        tip("cost:Q", labelled("cost", unit)),
        tip("solved:Q", f"{_runs(solved)} within it", ",d"),
        tip("share:Q", "share of runs", ".1%"),
    ]


# As many as can still be distinguished.
PROFILES = (
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
    if not 2 <= len(configurations) <= len(PROFILES):
        got = len(configurations)
        raise InputError(f"Expected 2 to {len(PROFILES)} configurations to compare, got {got}.")
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
    series = Series.plain(data["series"], PROFILES)
    # Where all are equally good, the axis still needs a length.
    last = 1.1 * max(2.0, *data["factor"])
    table = _to_the_edge(data, "factor", last).with_columns(series.labels("series"))
    # It starts at 1 itself: no factor is less.
    fit = axis([1.0, last])._replace(scale=alt.Scale(type="log", domain=[1, last], nice=False))
    x = fit.x("factor", "factor of the best cost on an instance")
    share = tip("share:Q", "share of instances within it", ".1%")
    tooltip = [tip("series:N", "configuration"), tip("factor:Q", "factor"), share]
    y = theme.SHARES.y("share", "share of instances")
    lines = theme.curves(table, x, y, series, tooltip, interpolate="step-after", clip=True)
    note = "Share of instances on which a configuration is within a factor of the cheapest of these"
    return theme.layered(lines, "Performance profile", note)


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
        f"Guaranteed limits of configuration {data['configuration'][0]} ({confidence})",
        "Growing parts of one random order; each limit is for a single look at a K fixed "
        "beforehand.",
        "A flat line: the limit is the highest possible cost.",
    )


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
    spans = {name: (min(data[name]), max(data[name])) for name in panels if name != "price"}
    flat = {
        name for name, (low, high) in spans.items() if high - low <= FLAT * max(abs(low), abs(high))
    }
    drawn = [
        _plan_panel(data, name, panels[name][0], tooltip) for name in panels if name not in flat
    ]
    best = data.filter("chosen").row(0, named=True)
    equal = [f"{panels[name][0]}: {number(best[name])} for all of them." for name in sorted(flat)]
    caveat = data["caveat"][0]
    note = f"{caveat[0].upper()}{caveat[1:]}." if caveat else "For the given within and across."
    title = theme.heading("Other numbers of instances, for the same question", note, *equal)
    return alt.hconcat(*drawn, spacing=30).properties(title=title)


def _plan_panel(data: pl.DataFrame, column: str, title: str, tooltip: list[alt.Tooltip]) -> Chart:
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
    base, recommended = base.encode(tooltip=tooltip), base.transform_filter("datum.chosen")
    dot: dict[str, Any] = {"filled": True, "opacity": 1}
    others = base.transform_filter("!datum.chosen").mark_point(**dot, size=40, color=theme.BLUE)
    diamond = dot | {"shape": "diamond", "stroke": theme.BLACK, "strokeWidth": 1, "size": 160}
    mark = recommended.mark_point(**diamond, color=theme.ORANGE).encode(tooltip=tooltip)
    # Away from the nearer end, so that the label is not cut off.
    right = best**2 > min(sizes) * max(sizes)
    label = recommended.mark_text(align="right" if right else "left", dy=20, fontSize=11)
    label = label.encode(text=alt.TextValue(f"K = {best:,}, N = {chosen['runs']:,}"))
    return alt.layer(line, others, mark, label).properties(width=250, height=230)
