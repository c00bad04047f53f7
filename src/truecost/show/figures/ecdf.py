"""Runs that finish within a cost (ECDF, cactus plot), or within a factor of the best (profile)."""

from collections.abc import Mapping
from math import inf

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.judge.band import CostBand
from truecost.matrix import CostMatrix
from truecost.show import theme
from truecost.show.figures.instances import common_runs
from truecost.show.numbers import confidence
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

BEST = "virtual best"
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


def cactus_data(
    matrix: CostMatrix, configurations: Mapping[str, str], *, virtual_best: bool = True
) -> pl.DataFrame:
    """Return the data of `ecdf_data`, which a cactus plot shows with its axes swapped."""
    return ecdf_data(matrix, configurations, virtual_best=virtual_best)


def _steps(label: str, costs: np.ndarray, limit: float) -> pl.DataFrame:
    known = costs[~np.isnan(costs)]
    solved = np.sort(known[known < limit])
    count = np.arange(1, solved.size + 1)
    if solved.size > MOST_STEPS:
        kept = np.unique(np.linspace(0, solved.size - 1, MOST_STEPS).astype(int))
        solved, count = solved[kept], count[kept]
    columns = {"cost": solved, "solved": count, "share": count / known.size}
    table = pl.DataFrame(columns, schema_overrides={"cost": pl.Float64})
    return table.select(pl.lit(label).alias("series"), *columns, runs=pl.lit(known.size, pl.Int64))


@theme.figure
def ecdf_chart(data: pl.DataFrame, *, band: CostBand | None = None, unit: str = "cost") -> Chart:
    """Share of runs within a cost; the winner's distribution lies in the shaded band."""
    series = _series(data)
    ends = [] if band is None else [cost for cost in (*band.lower, *band.upper) if 0 < cost < inf]
    fit = axis([*data["cost"], *ends])
    first, last = fit.ends
    # Every curve continues to the right edge.
    rest = data.group_by("series", maintain_order=True).last().with_columns(cost=pl.lit(last))
    table = pl.concat([data, rest.select(data.columns)]).with_columns(series.labels("series"))
    x, y = fit.x("cost", labelled("cost", unit)), theme.SHARES.y("share", "share of runs solved")
    line = {"interpolate": "step-after", "clip": True}
    layers = theme.curves(table, x, y, series, _tooltip(unit), **line)
    note = f"{data['runs'][0]:,} runs of each on common instances." if data.height else "No runs."
    if band is not None:
        area = theme.plot(_band_steps(band, first, last))
        area = area.mark_area(color=theme.BLUE, opacity=0.18, interpolate="step-after", clip=True)
        layers.insert(0, area.encode(x=x, y=theme.SHARES.y("low"), y2="high:Q"))
        note += (
            f" Shaded: guaranteed for the winner, {confidence(band.delta)} for all costs at once."
        )
    return theme.layered(layers, "How many runs finish within a cost (ECDF)", note)


def _band_steps(band: CostBand, first: float, last: float) -> pl.DataFrame:
    """Return the ends of the band, from the left to the right edge of the figure."""
    costs = sorted({first, last, *(c for c in (*band.lower, *band.upper) if first < c < last)})
    rows = [(cost, *band.at(cost)) for cost in costs]
    return pl.DataFrame(rows, schema=["cost", "low", "high"], orient="row")


@theme.figure
def cactus_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Cost against the number of runs solved within it: the lower and longer, the better."""
    series, most = _series(data), int(max([*data["runs"], 1]))
    runs = alt.Scale(domain=[0, most], nice=False)
    ticks = alt.Axis(values=theme.whole_ticks(most), format=",d")
    x = theme.ScaledAxis(runs, ticks).x("solved", "runs solved")
    y = axis(data["cost"]).y("cost", labelled("cost", unit))
    table = data.with_columns(series.labels("series"))
    lines = theme.curves(table, x, y, series, _tooltip(unit), interpolate="step-before")
    title = "Runs solved within a cost (cactus plot)"
    return theme.layered(lines, title, f"{most:,} runs of each.")


def _series(data: pl.DataFrame) -> Series:
    configurations = (label for label in data["series"] if label != BEST)
    best = {BEST: Style(f"{BEST} of all configurations", theme.GREY, theme.DOTTED)}
    return Series.plain(configurations, LOOKS, best if BEST in data["series"] else {})


def _tooltip(unit: str) -> list[alt.Tooltip]:
    return [
        tip("series:N", "configuration"),
        tip("cost:Q", labelled("cost", unit)),
        tip("solved:Q", "runs solved within it", ",d"),
        tip("share:Q", "share of runs", ".1%"),
    ]


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
