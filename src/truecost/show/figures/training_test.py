"""Training against test cost: winners of several searches, configurations of a split, incumbents
over time, and what each change gains in training.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.judge.optimism import OverTuning
from truecost.show import theme
from truecost.show.numbers import counted, number
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

if TYPE_CHECKING:
    from truecost.paper.one_split import OneSplit


# The names of more would cover each other; tooltips have them all.
MOST_NAMES = 5


def training_test_data(searches: Iterable[tuple[str, float, float]]) -> pl.DataFrame:
    """Training and test cost of the winner of each search: (name, training, test).

    Returns
    -------
    DataFrame
        `search`, `training`, `test`, `optimism` (test − training).
    """
    names = ["search", "training", "test"]
    table = pl.DataFrame(list(searches), schema=names, orient="row")
    if not table.height:
        raise InputError("Expected at least one search, got none.")
    return table.with_columns(optimism=pl.col("test") - pl.col("training"))


@theme.figure
def training_test_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """A point for every search; above the diagonal, training was too optimistic."""
    fit = axis([*data["training"], *data["test"]])
    x_title, y_title = labelled("training cost", unit), labelled("test cost", unit)
    base = theme.plot(data).encode(
        x=fit.x("training", x_title),
        y=fit.y("test", y_title),
        tooltip=[
            tip("search:N"),
            tip("training:Q", x_title),
            tip("test:Q", y_title),
            tip("optimism:Q", "optimism: test − training cost"),
        ],
    )
    layers = [theme.diagonal(fit), base.mark_point(**theme.POINT, size=70, color=theme.BLUE)]
    if data.height <= MOST_NAMES:
        names = base.mark_text(align="left", dx=8, fontSize=11)
        layers.append(names.encode(text="search:N"))
    above = int((data["optimism"] > 0).sum())
    note = f"{above:,} of {data.height:,} winners cost more on test runs than in training"
    return theme.layered(layers, "Winners of several searches", note, width=360, height=360)


MARKS = Series(
    {
        "other": Style("configuration", theme.GREY),
        "best": Style("lowest test cost", theme.BLUE, shape="square"),
        "winner": Style(
            "lowest training cost: this split's winner", theme.ORANGE, shape="triangle-up"
        ),
    }
)


def overtuning_data(split: "OneSplit") -> pl.DataFrame:
    """Training cost of every configuration from N runs, and its cost on the test instances.

    Returns
    -------
    DataFrame
        `runs`, `configuration`, `training`, `test`, `error` (test − training), and `mark`: "winner"
        has the lowest training cost, "best" the lowest test cost, the first of equals.
    """
    parts = []
    for runs, training in zip(split.runs, split.training, strict=True):
        mark = np.full(training.size, "other", dtype=object)
        mark[split.test.argmin()], mark[training.argmin()] = "best", "winner"
        columns = {
            "runs": np.full(training.size, runs),
            "configuration": split.configurations,
            "training": training,
            "test": split.test,
            "error": split.test - training,
            "mark": mark.tolist(),
        }
        parts.append(pl.DataFrame(columns))
    return pl.concat(parts)


@theme.figure
def overtuning_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """A panel for every N; configurations above the diagonal looked too good in training."""
    fit = axis([*data["training"], *data["test"]])
    x = fit.x("training", labelled("training cost", unit))
    y = fit.y("test", labelled("cost on the test instances", unit))
    sizes = alt.Scale(domain=MARKS.names, range=[18, 110, 150])
    panels = []
    for runs in data["runs"].unique(maintain_order=True):
        # The marked ones last, so that nothing covers them.
        part = data.filter(pl.col("runs") == runs).sort(pl.col("mark") != "other")
        winner = part.filter(pl.col("mark") == "winner").row(0, named=True)
        points = theme.plot(part.with_columns(MARKS.labels("mark"))).mark_point(**theme.POINT)
        points = points.encode(
            x=x,
            y=y,
            color=MARKS.color(),
            shape=MARKS.shape(),
            size=alt.Size("what:N", scale=sizes, sort=MARKS.names),
            tooltip=[
                tip("configuration:N"),
                tip("training:Q", "training cost: mean of its runs"),
                tip("test:Q", "cost on the other half of the instances"),
                tip("error:Q", "estimation error: test − training cost"),
            ],
        )
        training, test, lowest = (
            number(theme.displayed(cost))
            for cost in (winner["training"], winner["test"], min(part["test"]))
        )
        note = f"Winner: training {training}, test {test}; lowest test cost {lowest}"
        layers, title = (theme.diagonal(fit), points), f"N = {counted(runs, 'run')} of each"
        size = {"width": 300, "height": 300}
        panels.append(theme.layered(layers, f"{title} configuration", note, **size))
    return alt.hconcat(*panels)


OPTIMISM = "optimism: test − training cost"
# Around the best incumbent.
RING: dict[str, Any] = {
    "filled": False,
    "size": 260,
    "color": theme.BLACK,
    "strokeWidth": 1.5,
    "opacity": 1,
}
# A difference below this share of a cost is rounding.
ROUNDING = 1e-12
SERIES = Series(
    {
        "training": Style("training cost", theme.BLUE),
        "true": Style("cost on test runs", theme.ORANGE, theme.DASHED, "square"),
    }
)


def overtuning_along_data(over_tuning: OverTuning) -> pl.DataFrame:
    """Training and test cost of every incumbent, in the order of time.

    Returns
    -------
    DataFrame
        `step` (from 1), `runs` finished when it became the incumbent (null if unknown),
        `configuration`, `training`, `true` (null without test runs), `gap` (true − training),
        `best` for the lowest test cost, the first of equals; and, the same in every row,
        `over_tuning`, null if unknown.
    """
    along = over_tuning.along
    if not along:
        raise InputError("Expected at least one incumbent, got none.")
    true, training = (
        np.array([getattr(point, name) for point in along]) for name in ("true", "training")
    )
    tested = bool(np.isfinite(true).any())
    rounding = ROUNDING * float(np.nanmax(np.abs([true, training])))
    gap, lost = (
        np.where(np.abs(difference) <= rounding, 0.0, difference)
        for difference in (true - training, over_tuning.lost)
    )
    steps = np.arange(true.size)
    columns = {
        "step": steps + 1,
        "runs": pl.Series([point.runs for point in along], dtype=pl.Int64),
        "configuration": [point.configuration for point in along],
        "training": training,
        "true": true,
        "gap": gap,
        "best": steps == np.nanargmin(true) if tested else np.zeros(true.size, dtype=bool),
    }
    table = pl.DataFrame(columns).with_columns(over_tuning=pl.lit(float(lost), dtype=pl.Float64))
    return table.with_columns(pl.col("training", "true", "gap", "over_tuning").fill_nan(None))


@theme.figure
def overtuning_along_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Costs of the incumbents against the number of runs, or against their order if unknown."""
    counted = data["runs"].null_count() == 0
    tested = data["true"].drop_nulls().len() > 0
    x, end = _time_axis(data, counted)
    data = data.with_columns(at=pl.col("runs" if counted else "step").cast(pl.Float64))
    long = data.unpivot(
        ["training", "true"],
        index=["at", "step", "runs", "configuration", "gap", "best"],
        variable_name="which",
        value_name="cost",
    )
    series, long = SERIES.of(long.drop_nulls("cost"), "which")
    fit = axis(long["cost"], log=False)
    y = fit.y("cost", labelled("cost", unit))
    base = theme.plot(long).encode(x=x, y=y, color=series.color(symbolStrokeWidth=0))
    # An incumbent stays until the next one; the last one until the end of the figure.
    last = long.filter(pl.col("step") == data.height).with_columns(at=pl.lit(end))
    lines = base.properties(data=theme.records(pl.concat([long, last])))
    lines = lines.mark_line(strokeWidth=1.5, interpolate="step-after")
    gaps = data.select("at", "training", "true", "gap").drop_nulls("gap")
    gaps = pl.concat([gaps, gaps.tail(1).with_columns(at=pl.lit(end))])
    area = theme.plot(gaps).mark_area(color=theme.GREY, opacity=0.2, interpolate="step-after")
    area = area.encode(x=x, y=fit.y("training"), y2="true:Q")
    tooltip = [
        tip("configuration:N", "incumbent"),
        tip("step:Q", "its place in their order", ""),
        *([tip("runs:Q", "runs finished when it became the incumbent", ",d")] if counted else []),
        tip("what:N", "which cost"),
        tip("cost:Q", labelled("cost", unit)),
    ]
    dots = base.mark_point(**theme.POINT, size=50).encode(shape=series.shape())
    # Only incumbents with test runs have an optimism to show.
    points = theme.where_known(dots, tooltip, "gap", OPTIMISM)
    layers = [lines.encode(strokeDash=series.dash()), *points]
    if tested:
        best = theme.plot(long.filter(pl.col("best") & (pl.col("which") == "true")))
        best = best.mark_point(**RING).encode(x=x, y=y, tooltip=[*tooltip, tip("gap:Q", OPTIMISM)])
        layers = [area, *layers, best]
    return theme.layered(layers, "Incumbents over time", *_notes(data, tested))


def _time_axis(data: pl.DataFrame, counted: bool) -> tuple[alt.X, float]:
    """Return the x channel, and where it ends."""
    if not counted:
        order = theme.span(data.height, format=",d")
        return order.x("at", "incumbents, in their order"), data.height + 0.5
    first, last = float(data["runs"].to_list()[0]), float(max(data["runs"].to_list()))
    log = 0 < 20 * first < last
    end = 1.25 * last if log else last + (0.08 * (last - first) or 1.0)
    return axis([first, end], log=log, costs=False).x(
        "at", "runs finished when it became the incumbent"
    ), end


def _notes(data: pl.DataFrame, tested: bool) -> list[str]:
    if not tested:
        return ["Training costs only: the incumbents have no test runs."]
    final = data.row(-1, named=True)
    lost, gap = (
        "unknown" if final[name] is None else number(final[name]) for name in ("over_tuning", "gap")
    )
    return [
        f"Optimism of the last one, test − training cost: {gap} (shaded).",
        f"Over-tuning, its test cost − the lowest of any incumbent (circled): {lost}.",
    ]


STEPS = Series(
    {
        "total": Style("mean training cost", theme.GREY),
        "gain": Style("lowers the cost", theme.BLUE),
        "loss": Style("raises the cost", theme.AMBER),
    }
)


def waterfall_data(
    default_cost: float, steps: Sequence[tuple[str, float, float]], winner_cost: float
) -> pl.DataFrame:
    """The steps from the default to the simplified configuration, and the winner beside it.

    Parameters
    ----------
    default_cost, winner_cost
        Mean training costs.
    steps
        Of each step its label, the cost after it and the standard error of what it gained.

    Returns
    -------
    DataFrame
        `place`, `label`, `kind` ("total", "gain" or "loss"), `start`, `stop`, the cost `after` it,
        what it `gained`, and `standard_error`.
    """
    if not steps:
        raise InputError("Expected at least one step from the default to the winner, got none.")
    before, rows = default_cost, []
    for label, cost, error in steps:
        kind = "gain" if cost <= before else "loss"
        rows.append((label, kind, before, cost, before - cost, error))
        before = cost
    first, *last = (
        (label, "total", 0.0, cost, 0.0, 0.0)
        for label, cost in (
            ("default", default_cost),
            ("simplified", before),
            ("winner", winner_cost),
        )
    )
    rows = [first, *rows, *last]
    names = ["label", "kind", "start", "stop", "gained", "standard_error"]
    table = pl.DataFrame(rows, schema=names, orient="row").with_row_index("place")
    return table.with_columns(pl.col("place").cast(pl.Int64), after="stop")


@theme.figure
def waterfall_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Bars from cost to cost: the default first, the simplified one and the winner last."""
    series, table = STEPS.of(data, "kind")
    title, ticks = labelled("mean training cost", unit), alt.Axis(tickCount=6)
    bars = theme.plot(table).encode(
        y=theme.rows("label", data["label"].to_list(), 260),
        x=alt.X("start:Q", title=title, axis=ticks),
        x2="stop:Q",
        color=series.color(),
        tooltip=[
            tip("label:N", "change"),
            tip("after:Q", "cost after it"),
            tip("gained:Q", "gained"),
            tip("standard_error:Q", "standard error"),
        ],
    )
    title, height = "What each change gains", 22 * data.height
    chart: Chart = bars.mark_bar().properties(width=520, height=height, title=title)
    return chart
