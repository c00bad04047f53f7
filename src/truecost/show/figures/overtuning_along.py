"""Incumbents over time: what the best configuration so far cost in training and on test runs."""

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.judge.optimism import OverTuning
from truecost.show import theme
from truecost.show.numbers import number
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

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
