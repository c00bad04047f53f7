"""Training against test cost: winners of several searches, and all configurations of a split."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.show import theme
from truecost.show.numbers import counted, number
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

if TYPE_CHECKING:
    from truecost.paper.one_split import OneSplit

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
    # The names of more would cover each other; tooltips have them all.
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
            number(theme.shown(cost))
            for cost in (winner["training"], winner["test"], min(part["test"]))
        )
        note = f"Winner: training {training}, test {test}; lowest test cost {lowest}"
        layers, title = (theme.diagonal(fit), points), f"N = {counted(runs, 'run')} of each"
        size = {"width": 300, "height": 300}
        panels.append(theme.layered(layers, f"{title} configuration", note, **size))
    return alt.hconcat(*panels)
