"""How many runs finish within a cost: the ECDF, and the same data as a cactus plot."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import polars as pl

from truecost.matrix import CostMatrix
from truecost.show import theme
from truecost.show.figures.pairs import common_runs
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
    costs = {label: runs.costs[place] for place, label in enumerate(configurations)}
    if virtual_best:
        every = matrix.select(instances=list(runs.instances))
        sums, counts = np.nansum(every.charged, axis=2), every.counts()
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(counts > 0, sums / counts, np.inf)
        places = np.arange(len(runs.instances))
        costs[BEST] = every.charged[means.argmin(axis=0), places]
    parts = [_steps(label, values, runs.limit) for label, values in costs.items()]
    return pl.concat(parts)


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
    columns = {"series": label, "cost": solved, "solved": count, "share": count / known.size}
    kinds = {"series": pl.String, "solved": pl.Int64, "share": pl.Float64, "cost": pl.Float64}
    table = pl.DataFrame(columns, schema_overrides=kinds)
    return table.with_columns(runs=pl.lit(known.size, dtype=pl.Int64))


@theme.figure
def ecdf_chart(
    data: pl.DataFrame,
    *,
    guarantees: Sequence[tuple[float, float, str]] = (),
    unit: str = "cost",
) -> Chart:
    """Share of runs within a cost; diamonds are guaranteed: (cost, share, text)."""
    series = _series(data)
    costs = [*data["cost"], *(cost for cost, _, _ in guarantees)] or [1.0]
    scale, ticks = axis(costs, log=min(costs) > 0)
    last = scale.to_dict()["domain"][1]
    # Every curve continues to the right edge.
    ends = data.group_by("series", maintain_order=True).last().with_columns(cost=pl.lit(last))
    table = pl.concat([data, ends.select(data.columns)]).with_columns(series.labels("series"))
    x = alt.X("cost:Q", title=labelled("cost", unit), scale=scale, axis=ticks)
    y_axis, y_scale = alt.Axis(format="%"), alt.Scale(domain=[0, 1])
    y = alt.Y("share:Q", title="share of runs solved", axis=y_axis, scale=y_scale)
    base = theme.plot(table).encode(x=x, y=y)
    color = series.color(symbolType="stroke", symbolSize=400)
    lines = base.mark_line(strokeWidth=2, interpolate="step-after", clip=True)
    lines = lines.encode(color=color, strokeDash=series.dash())
    points = base.mark_point(**theme.UNSEEN).encode(tooltip=_tooltip(unit))
    layers = [lines, points]
    if guarantees:
        rows = pl.DataFrame(list(guarantees), schema=["cost", "share", "text"], orient="row")
        marks = theme.plot(rows).encode(x=x, y=y, tooltip=[tip("text:N", "guaranteed")])
        layers.append(
            marks.mark_point(
                shape="diamond",
                filled=True,
                size=110,
                opacity=1,
                color=theme.GREEN,
                stroke=theme.BLACK,
                strokeWidth=1,
            )
        )
    note = f"{data['runs'][0]:,} runs of each on common instances" if data.height else "No runs"
    note += "; diamonds are guaranteed for the winner." if guarantees else "."
    title = theme.heading("How many runs finish within a cost (ECDF)", note)
    return alt.layer(*layers).properties(**theme.SIZE, title=title)


@theme.figure
def cactus_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Cost against the number of runs solved within it: the lower and longer, the better."""
    series = _series(data)
    costs = [*data["cost"]] or [1.0]
    scale, ticks = axis(costs, log=min(costs) > 0)
    most = int(max([*data["runs"], 1]))
    x_scale = alt.Scale(domain=[0, most], nice=False)
    x_axis = alt.Axis(values=theme.whole_ticks(most), format=",d")
    base = theme.plot(data.with_columns(series.labels("series"))).encode(
        x=alt.X("solved:Q", title="runs solved", scale=x_scale, axis=x_axis),
        y=alt.Y("cost:Q", title=labelled("cost", unit), scale=scale, axis=ticks),
    )
    color = series.color(symbolType="stroke", symbolSize=400)
    lines = base.mark_line(strokeWidth=2, interpolate="step-before")
    lines = lines.encode(color=color, strokeDash=series.dash())
    points = base.mark_point(**theme.UNSEEN).encode(tooltip=_tooltip(unit))
    title = theme.heading("Runs solved within a cost (cactus plot)", f"{most:,} runs of each.")
    return alt.layer(lines, points).properties(**theme.SIZE, title=title)


def _series(data: pl.DataFrame) -> Series:
    labels = data["series"].unique(maintain_order=True).to_list()
    looks = {
        label: Style(label, color, dash)
        for label, (color, dash) in zip(labels, LOOKS, strict=False)
    }
    if BEST in looks:
        looks[BEST] = Style(f"{BEST} of all configurations", theme.GREY, theme.DOTTED)
    return Series(looks)


def _tooltip(unit: str) -> list[alt.Tooltip]:
    return [
        tip("series:N", "configuration"),
        tip("cost:Q", labelled("cost", unit)),
        tip("solved:Q", "runs solved within it", ",d"),
        tip("share:Q", "share of runs", ".1%"),
    ]
