"""All costs of a matrix at a glance, and where each configuration's noise comes from."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.show import theme
from truecost.show.numbers import counted, percent
from truecost.show.theme import Chart, Series, Style, labelled, tip

# Rows and columns of the picture: what a page shows and a browser draws at once.
MOST_BINS = 100
# The colour of cells without a run; no cost has it.
EMPTY = "#e6e6e6"


class MatrixPicture(NamedTuple):
    """The picture of a matrix: its cells, and the configurations and instances of its bins.

    `cells` has a row for every bin with a run: `row`, `column`, the mean `cost`, and the share
    `failed` of runs that were not solved. `configurations` and `instances` give for every row and
    column the places `first` to `last` in the order of the picture, from 1, and the `name`, or the
    names at both ends. If `by_cost`, no status is known, and a run at the highest possible cost
    counts as failed.
    """

    cells: pl.DataFrame
    configurations: pl.DataFrame
    instances: pl.DataFrame
    by_cost: bool


def matrix_data(
    matrix: CostMatrix, *, order: Sequence[int] | None = None, most: int = MOST_BINS
) -> MatrixPicture:
    """Mean costs of configurations × instances, in at most `most` × `most` bins.

    Configurations are in the given `order`, by default by their mean cost; instances by their mean
    cost over all configurations.
    """
    if most < 1:
        raise InputError(f"Expected at least 1 bin, got {most}.")
    counts, sums = matrix.counts(), np.nansum(matrix.charged, axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
    rows = _order(means, 1) if order is None else np.asarray(order, dtype=np.int64)
    columns = _order(means, 0)
    row_starts, column_starts = _starts(rows.size, most), _starts(columns.size, most)

    def binned(values: NDArray[Any]) -> FloatArray:
        ordered = values[np.ix_(rows, columns)].astype(np.float64)
        return np.add.reduceat(np.add.reduceat(ordered, row_starts, axis=0), column_starts, axis=1)

    runs = binned(counts)
    row, column = at = np.nonzero(runs)
    cells = {
        "row": row,
        "column": column,
        "cost": binned(sums)[at] / runs[at],
        "failed": binned(matrix.failed.sum(axis=2))[at] / runs[at],
    }
    return MatrixPicture(
        cells=pl.DataFrame(cells),
        configurations=_bins("row", row_starts, rows, matrix.configurations),
        instances=_bins("column", column_starts, columns, matrix.instances),
        by_cost=not matrix.has_statuses,
    )


@theme.figure
def matrix_chart(data: MatrixPicture, *, unit: str = "cost") -> Chart:
    """Cells coloured by cost, dark is expensive; dots where runs failed, grey without a run."""
    height, width = data.configurations.height, data.instances.height
    side = min(max(1, 500 // max(height, width, 1)), 24)
    base = theme.plot(data.cells)
    for key, name in (("row", "configurations"), ("column", "instances")):
        names = getattr(data, name).rename({"name": name})
        lookup = alt.LookupData(theme.records(names), key=key, fields=[name])
        base = base.transform_lookup(lookup=key, from_=lookup)
    bare = alt.Axis(labels=False, ticks=False, domain=False)
    what = "runs have the highest cost" if data.by_cost else "runs timed out or failed"
    base = base.encode(
        x=alt.X("column:O", title="instances, from the easiest to the hardest", axis=bare),
        y=alt.Y("row:O", title="configurations, the best at the top", axis=bare),
        tooltip=[
            tip("configurations:N", "configuration"),
            tip("instances:N", "instance, by mean cost over all configurations"),
            tip("cost:Q", labelled("mean cost", unit)),
            tip("failed:Q", f"share of {what}", ".1%"),
        ],
    )
    log = min(data.cells["cost"]) > 0
    legend = alt.Legend(
        title=labelled("mean cost", unit, *(["logarithmic"] if log else [])),
        orient="right",
        gradientLength=min(200, max(80, side * height - 80)),
        format=",.3~r",
    )
    if theme.scores():
        legend.labelExpr = theme.NEGATED
    scale: dict[str, Any] = {"type": "log" if log else "linear", "scheme": theme.COSTS}
    color = alt.Color("cost:Q", scale=alt.Scale(**scale, reverse=True), legend=legend)
    # Descriptions for screen readers in 10,000 cells would be five sixths of the file.
    squares = base.mark_rect(aria=False).encode(color=color)
    dots = base.transform_filter("datum.failed >= 0.5").mark_circle(
        aria=False, color="white", opacity=1, size=0.16 * side**2
    )
    sizes = [int(table["last"][-1]) for table in (data.configurations, data.instances)]
    binned = f" in {height} × {width} bins" if [height, width] != sizes else ""
    title = theme.heading(
        f"{counted(sizes[0], 'configuration')} × {counted(sizes[1], 'instance')}{binned}",
        f"White dots: at least half of the {what}. Grey: no run.",
    )
    both = alt.layer(squares, dots, view=alt.ViewConfig(fill=EMPTY, stroke=None))
    return both.properties(width=side * width, height=side * height, title=title)


def _order(means: FloatArray, axis: int) -> IntArray:
    """Return the order by mean over the cells that have a run; without any run last."""
    with np.errstate(invalid="ignore", divide="ignore"):
        costs = np.nansum(means, axis=axis) / (~np.isnan(means)).sum(axis=axis)
    return np.asarray(np.argsort(costs, kind="stable"))


def _starts(size: int, most: int) -> IntArray:
    bins = min(size, most)
    return np.arange(bins, dtype=np.int64) * size // bins


def _bins(key: str, starts: IntArray, order: IntArray, names: tuple[str, ...]) -> pl.DataFrame:
    last = np.append(starts[1:], order.size) - 1
    ends = [(names[order[a]], names[order[b]]) for a, b in zip(starts, last, strict=True)]
    labels = [first if first == final else f"{first} … {final}" for first, final in ends]
    places = np.arange(starts.size)
    return pl.DataFrame({key: places, "first": starts + 1, "last": last + 1, "name": labels})


NOISE = Series(
    {
        "within": Style("within: between runs on an instance", theme.BLUE),
        "across": Style("across: between instances", theme.SAND),
    },
    field="part",
)


def variance_shares_data(
    configurations: Sequence[str],
    *,
    costs: FloatArray,
    within: FloatArray,
    across: FloatArray,
    share: FloatArray,
) -> pl.DataFrame:
    """Return `within`, `across` and the share of `within` of every configuration, the best first.

    Variances estimated below 0 become 0.
    """
    if not np.isfinite(within).any():
        raise InputError(
            "Expected an instance with two runs of one configuration: otherwise within and across "
            "cannot be separated."
        )
    order = np.argsort(costs, kind="stable")
    values = {
        "cost": costs,
        "within": np.maximum(within, 0),
        "across": np.maximum(across, 0),
        "share": share,
    }
    columns = {
        "rank": np.arange(1, order.size + 1),
        "configuration": [configurations[place] for place in order],
        **{name: column[order] for name, column in values.items()},
    }
    return pl.DataFrame(columns).with_columns(pl.col(*values).fill_nan(None))


@theme.figure
def variance_shares_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """A bar for each configuration, from the lowest mean cost to the highest."""
    known = data.drop_nulls("share")
    bars = pl.concat(
        [
            known.with_columns(low=0.0, high="share", part=pl.lit("within")),
            known.with_columns(low="share", high=1.0, part=pl.lit("across")),
        ]
    )
    rank = pl.col("rank")
    bars = bars.with_columns(NOISE.labels("part"), left=rank - 0.5, right=rank + 0.5)
    ranks = theme.span(data.height, grid=False, format="d")
    tooltip = [
        tip("configuration:N"),
        tip("rank:Q", "rank by mean cost", ""),
        tip("cost:Q", labelled("mean cost", unit)),
        tip("within:Q", "within: variance between runs on an instance"),
        tip("across:Q", "across: variance between instances"),
        tip("share:Q", "share of within", ".1%"),
    ]
    rectangles = theme.plot(bars).mark_rect(aria=False)
    rectangles = rectangles.encode(
        x=ranks.x("left", "configurations, by mean cost"),
        x2="right:Q",
        y=theme.SHARES.y("low", "share of the variance of a run"),
        y2="high:Q",
        color=NOISE.color(),
        tooltip=tooltip,
    )
    mean, note = None, "No configuration varies"
    if known.height:
        mean = float(known["share"].to_numpy().mean())
        note = f"Mean share of within: {percent(mean)} (dashed)"
    layers = (rectangles, theme.rule(mean, **theme.MEAN).encode(y="at:Q"))
    width = max(1, 600 // data.height) * data.height
    return theme.layered(layers, "Where the noise comes from", note, width=width, height=260)
