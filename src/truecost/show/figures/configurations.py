"""Figures of a matrix and its configurations: all costs at a glance, where the noise comes from,
what over-tuning is.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.runs import NO_STATUS, Status
from truecost.show import theme
from truecost.show.numbers import counted, number, percent
from truecost.show.theme import (
    Chart,
    Look,
    Plot,
    Series,
    axis,
    checked_whole,
    labelled,
    records,
    themed,
    tip,
    whole_ticks,
)

if TYPE_CHECKING:
    from truecost.paper.one_split import OneSplit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MARKS = {
    "other": Look("configuration", theme.GREY, theme.SOLID, "circle"),
    "best": Look("least test cost", theme.BLUE, theme.SOLID, "square"),
    "winner": Look("least training cost: the winner", theme.ORANGE, theme.SOLID, "triangle-up"),
}
NOISE = Series(
    {
        "within": Look("within: between runs on an instance", theme.BLUE),
        "across": Look("across: between instances", "#F0C987"),
    },
    field="part",
)
# Rows and columns of the picture of a matrix: what a page shows, and what a browser draws at once.
MOST_BINS = 100


class MatrixPicture(NamedTuple):
    """The picture of a matrix: its cells, and what its rows and columns stand for.

    `cells` has a row for every bin with a run in it: `row`, `column`, the mean `cost` and the share
    `failed` of runs that did not end as solved. `configurations` and `instances` say for every row
    and column the places `first` to `last` in order of mean cost, 1 being the least, and the
    `name`, or the names at both ends. `by_cost` tells that no status is known, and a run at the
    highest possible cost counts as failed.
    """

    cells: pl.DataFrame
    configurations: pl.DataFrame
    instances: pl.DataFrame
    by_cost: bool


def matrix_data(matrix: CostMatrix, *, most: int = MOST_BINS) -> MatrixPicture:
    """Configurations by mean cost × instances by hardness, their mean cost over all configurations;
    at most `most` bins.
    """
    if most < 1:
        raise InputError(f"Expected at least 1 bin, got {most}.")
    counts = matrix.counts()
    sums = np.nansum(matrix.charged, axis=2)
    statuses = np.full(1, NO_STATUS) if matrix.statuses is None else matrix.statuses
    by_cost = bool((statuses == NO_STATUS).all())
    ended = (
        matrix.costs >= matrix.high
        if by_cost
        else ~np.isin(statuses, (NO_STATUS, Status.SOLVED, Status.CENSORED))
    )
    failed = ended.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
    rows, columns = _order(means, 1), _order(means, 0)
    row_starts, column_starts = _starts(rows.size, most), _starts(columns.size, most)

    def binned(values: NDArray[np.generic]) -> FloatArray:
        ordered = values[np.ix_(rows, columns)].astype(np.float64)
        return np.add.reduceat(np.add.reduceat(ordered, row_starts, axis=0), column_starts, axis=1)

    there = binned(counts)
    row, column = np.nonzero(there)
    at = (row, column)
    cells = {
        "row": row,
        "column": column,
        "cost": binned(sums)[at] / there[at],
        "failed": binned(failed)[at] / there[at],
    }
    return MatrixPicture(
        cells=pl.DataFrame(cells),
        configurations=_bins("row", row_starts, rows, matrix.configurations),
        instances=_bins("column", column_starts, columns, matrix.instances),
        by_cost=by_cost,
    )


@checked_whole
def matrix_chart(data: MatrixPicture, *, unit: str = "cost") -> Chart:
    """Every cost at a glance: the darker the dearer, on a logarithmic scale; white dots where runs
    failed.
    """
    height, width = data.configurations.height, data.instances.height
    side = min(max(1, 500 // max(height, width, 1)), 24)
    named = ("configurations", "instances")
    bins = [table.rename({"name": name}) for table, name in zip(data[1:3], named, strict=True)]
    base = (
        Plot(records(data.cells))
        .transform_lookup(
            lookup="row",
            from_=alt.LookupData(records(bins[0]), key="row", fields=["configurations"]),
        )
        .transform_lookup(
            lookup="column",
            from_=alt.LookupData(records(bins[1]), key="column", fields=["instances"]),
        )
    )
    bare = alt.Axis(labels=False, ticks=False, domain=False)
    x = alt.X("column:O", title="instances, from the easiest to the hardest", axis=bare)
    y = alt.Y("row:O", title="configurations, from the worst up to the best", axis=bare)
    cost = data.cells["cost"]
    log = min(cost) > 0
    what = "runs have the highest cost" if data.by_cost else "runs timed out or failed"
    tooltip = [
        tip("configurations:N", "configuration, by mean cost"),
        tip("instances:N", "instance, by mean cost over all configurations"),
        tip("cost:Q", labelled("mean cost", unit)),
        tip("failed:Q", f"how many {what}", ".1%"),
    ]
    # A description for screen readers in each of 10,000 cells would make five sixths of the file.
    squares = base.mark_rect(aria=False).encode(
        x=x,
        y=y,
        color=alt.Color(
            "cost:Q",
            scale=alt.Scale(type="log" if log else "linear", scheme=theme.COSTS, reverse=True),  # type: ignore[arg-type]
            legend=alt.Legend(
                title=labelled("mean cost", unit, *(["logarithmic"] if log else [])),
                orient="right",
                gradientLength=min(200, max(80, side * height - 80)),
                format=",~g",
            ),
        ),
        tooltip=tooltip,
    )
    dots = base.transform_filter("datum.failed >= 0.5").mark_circle(
        aria=False, color="white", opacity=1, size=0.16 * side**2
    )
    sizes = [int(table["last"][-1]) for table in (data.configurations, data.instances)]
    binned = f" in {height} × {width} bins" if [height, width] != sizes else ""
    title = alt.TitleParams(
        f"{counted(sizes[0], 'configuration')} × {counted(sizes[1], 'instance')}{binned}",
        subtitle=f"White dots: half or more of the {what}",
    )
    both = alt.layer(squares, dots.encode(x=x, y=y, tooltip=tooltip))
    return themed(both.properties(width=side * width, height=side * height, title=title))


def variance_shares_data(
    configurations: Sequence[str],
    *,
    costs: FloatArray,
    within: FloatArray,
    across: FloatArray,
    share: FloatArray,
) -> pl.DataFrame:
    """`within` and `across` of every configuration, 0 where estimated below, and the share of
    `within`; the best first.
    """
    if not np.isfinite(within).any():
        raise InputError(
            "Expected some instance with two runs of a configuration: within and across cannot be told apart."
        )
    order = np.argsort(costs, kind="stable")
    numbers = {
        "cost": costs,
        "within": np.maximum(within, 0),
        "across": np.maximum(across, 0),
        "share": share,
    }
    table = {
        "rank": np.arange(1, order.size + 1),
        "configuration": [configurations[i] for i in order],
        **{name: values[order] for name, values in numbers.items()},
    }
    return pl.DataFrame(table).with_columns(pl.col(*numbers).fill_nan(None))


@checked_whole
def variance_shares_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Where each configuration's noise comes from, a bar each, from the best mean cost to the
    worst.
    """
    step = max(1, 600 // data.height)
    known = data.drop_nulls("share")
    halves = pl.concat(
        [
            known.with_columns(low=0.0, high="share", part=pl.lit("within")),
            known.with_columns(low="share", high=1.0, part=pl.lit("across")),
        ]
    )
    bars = (
        Plot(
            records(
                halves.with_columns(
                    NOISE.labels("part"), left=pl.col("rank") - 0.5, right=pl.col("rank") + 0.5
                )
            )
        )
        .mark_rect()
        .encode(
            x=alt.X(
                "left:Q",
                title="configurations, from the least to the largest mean cost",
                scale=alt.Scale(domain=[0.5, data.height + 0.5], nice=False),
                axis=alt.Axis(grid=False, values=whole_ticks(data.height), format="d"),
            ),
            x2=alt.X2("right:Q"),
            y=alt.Y(
                "low:Q",
                title="share of the variance of a run",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            y2=alt.Y2("high:Q"),
            color=NOISE.color(),
            tooltip=[
                tip("configuration:N"),
                tip("rank:Q", "place by mean cost", ""),
                tip("cost:Q", labelled("mean cost", unit)),
                tip("within:Q", "within: variance between runs on an instance"),
                tip("across:Q", "across: variance between instances"),
                tip("share:Q", "share of within", ".1%"),
            ],
        )
    )
    middle = float(known["share"].to_numpy().mean()) if known.height else None
    rule = Plot(records(pl.DataFrame({"middle": [middle]}))).mark_rule(**theme.MEAN)
    title = alt.TitleParams(
        "Where the noise comes from",
        subtitle=f"Mean share of within: {percent(middle)} (dashed)"
        if middle is not None
        else "No configuration varies",
    )
    chart = alt.layer(bars, rule.encode(y=alt.Y("middle:Q")))
    return themed(chart.properties(width=step * data.height, height=260, title=title))


def overtuning_data(split: "OneSplit") -> pl.DataFrame:
    """Every configuration's training cost from N runs, and its cost on the test instances, in one
    split.

    Returns
    -------
    DataFrame
        `runs`, `configuration`, `training`, `test`, `error` (test − training), and `mark`: "winner"
        has the least training cost, "best" the least test cost, the first of equals.
    """
    parts = []
    for n, training in zip(split.runs, split.training, strict=True):
        mark = np.full(training.size, "other", dtype=object)
        mark[split.test.argmin()], mark[training.argmin()] = "best", "winner"
        columns = {
            "runs": np.full(training.size, n),
            "configuration": split.configurations,
            "training": training,
        }
        parts.append(
            pl.DataFrame(
                {
                    **columns,
                    "test": split.test,
                    "error": split.test - training,
                    "mark": mark.tolist(),
                }
            )
        )
    return pl.concat(parts)


@checked_whole
def overtuning_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Training against test cost, a panel for every N: who is chosen for a low training cost stands
    above the diagonal.
    """
    both = [*data["training"], *data["test"]]
    scale, ticks = axis(both, log=min(both) > 0)
    ends = scale.to_dict()["domain"]
    series, labels = Series(MARKS), [look.label for look in MARKS.values()]
    size = alt.Size("what:N", scale=alt.Scale(domain=labels, range=[18, 110, 150]), sort=labels)
    panels = []
    for n in data["runs"].unique(maintain_order=True):
        part = data.filter(pl.col("runs") == n)
        # The marked ones last, so that nothing lies on them.
        part = part.with_columns(series.labels("mark")).sort(pl.col("mark") != "other")
        winner = part.filter(pl.col("mark") == "winner")
        line = Plot(records(pl.DataFrame({"x": ends, "y": ends}))).mark_line(
            color=theme.BLACK, strokeDash=[4, 3], strokeWidth=1
        )
        points = (
            Plot(records(part))
            .mark_point(filled=True, opacity=1)
            .encode(
                x=alt.X(
                    "training:Q", title=labelled("training cost", unit), scale=scale, axis=ticks
                ),
                y=alt.Y(
                    "test:Q",
                    title=labelled("cost on the test instances", unit),
                    scale=scale,
                    axis=ticks,
                ),
                color=series.color(),
                shape=series.shape(),
                size=size,
                tooltip=[
                    tip("configuration:N"),
                    tip("training:Q", "training cost: mean of its runs"),
                    tip("test:Q", "cost on instances not trained on"),
                    tip("error:Q", "estimation error: test − training cost"),
                ],
            )
        )
        title = alt.TitleParams(
            f"N = {counted(n, 'run')} of each configuration",
            subtitle=f"Winner: training {number(winner['training'][0])}, test {number(winner['test'][0])}; "
            f"least test cost {number(min(part['test']))}",
        )
        drawn = alt.layer(
            line.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale)), points
        )
        panels.append(drawn.properties(width=300, height=300, title=title))
    return themed(alt.hconcat(*panels))


def _mean(means: FloatArray, axis: int) -> FloatArray:
    """The mean over the cells that have a run; NaN where none has."""
    there = ~np.isnan(means)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(there, means, 0).sum(axis=axis) / there.sum(axis=axis))


def _order(means: FloatArray, axis: int) -> IntArray:
    """From the least mean cost to the largest; without any run last."""
    return np.asarray(np.argsort(_mean(means, axis), kind="stable"))


def _starts(size: int, most: int) -> IntArray:
    bins = min(size, most)
    return np.arange(bins, dtype=np.int64) * size // bins


def _bins(key: str, starts: IntArray, order: IntArray, names: tuple[str, ...]) -> pl.DataFrame:
    last = np.append(starts[1:], order.size) - 1
    ends = [(names[order[a]], names[order[b]]) for a, b in zip(starts, last, strict=True)]
    named = [one if one == other else f"{one} … {other}" for one, other in ends]
    return pl.DataFrame(
        {key: np.arange(starts.size), "first": starts + 1, "last": last + 1, "name": named}
    )
