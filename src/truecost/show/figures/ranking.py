"""The best configurations, with the uncertainty of their order."""

from collections.abc import Collection, Sequence

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from truecost.show import theme
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

MOST_ROWS = 30
MARKS = Series(
    {
        "best": Style("may be the best", theme.BLUE),
        "other": Style("shown not to be the best", theme.GREY, shape="square"),
        "unknown": Style("unknown", theme.BLUE),
    }
)


def ranking_data(
    configurations: Sequence[str],
    costs: ArrayLike,
    standard_errors: ArrayLike,
    *,
    may_be_best: Collection[str] | None = None,
    tags: dict[str, str] | None = None,
    most: int = MOST_ROWS,
) -> pl.DataFrame:
    """Training costs of the best configurations ± 2 standard errors.

    `may_be_best` are the names that cannot be excluded as the best; None if unknown. `tags` are
    written before names.

    Returns
    -------
    DataFrame
        `rank`, `configuration`, `label`, `cost`, `low`, `high`, and `mark`: "best", "other" or
        "unknown".
    """
    values, errors = np.asarray(costs, dtype=float), np.asarray(standard_errors, dtype=float)
    order = np.argsort(values, kind="stable")
    order = order[np.isfinite(values[order])]
    named = {configurations[place] for place in order[:most]} | set(tags or ())
    order = np.array([place for place in order if configurations[place] in named], dtype=int)
    ranks = {place: rank for rank, place in enumerate(np.argsort(values, kind="stable"), 1)}
    rows = []
    for place in order:
        name, cost = configurations[place], float(values[place])
        spread = 2 * float(errors[place]) if np.isfinite(errors[place]) else 0.0
        mark = "unknown" if may_be_best is None else "best" if name in may_be_best else "other"
        # The role comes first: long names are cut.
        label = f"{tags[name]}: {name}" if tags and name in tags else name
        rows.append((ranks[place], name, label, cost, cost - spread, cost + spread, mark))
    names = ["rank", "configuration", "label", "cost", "low", "high", "mark"]
    return pl.DataFrame(rows, schema=names, orient="row")


@theme.figure
def ranking_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """A row for every configuration: its training cost with two standard errors either way."""
    series = MARKS.present(data["mark"])
    table = data.with_columns(series.labels("mark"))
    rows = alt.Axis(labelLimit=260, grid=False)
    y = alt.Y("label:N", title=None, sort=data["label"].to_list(), axis=rows)
    title = labelled("training cost", unit)
    tooltip = [
        tip("configuration:N"),
        tip("rank:Q", "rank", ",d"),
        tip("cost:Q", title),
        tip("low:Q", "− 2 standard errors"),
        tip("high:Q", "+ 2 standard errors"),
    ]
    color, shape = series.color(), series.shape()
    if "unknown" in data["mark"]:
        color, shape = color.legend(None), shape.legend(None)
    base = theme.plot(table).encode(y=y, color=color, tooltip=tooltip)
    fit = axis([*data["low"], *data["high"]], log=False)
    marks = theme.intervals(base, fit, "low cost high", title, shape)
    note = "Training cost ± 2 standard errors over instances; the winner's is biased low."
    heading = theme.heading("The best configurations", note)
    height = max(60, 17 * data.height)
    return alt.layer(*marks).properties(width=480, height=height, title=heading)
