"""Training against test cost of every configuration, on one random split."""

from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import polars as pl

from truecost.show import theme
from truecost.show.numbers import counted, number
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

if TYPE_CHECKING:
    from truecost.paper.one_split import OneSplit

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
    x_title, y_title = (
        labelled(what, unit) for what in ("training cost", "cost on the test instances")
    )
    sizes = alt.Scale(domain=MARKS.names, range=[18, 110, 150])
    panels = []
    for runs in data["runs"].unique(maintain_order=True):
        # The marked ones last, so that nothing covers them.
        part = data.filter(pl.col("runs") == runs).sort(pl.col("mark") != "other")
        winner = part.filter(pl.col("mark") == "winner").row(0, named=True)
        points = theme.plot(part.with_columns(MARKS.labels("mark")))
        points = points.mark_point(filled=True, opacity=1).encode(
            x=fit.x("training", x_title),
            y=fit.y("test", y_title),
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
        title = theme.heading(
            f"N = {counted(runs, 'run')} of each configuration",
            f"Winner: training {number(theme.shown(winner['training']))}, test "
            f"{number(theme.shown(winner['test']))}; lowest test cost "
            f"{number(theme.shown(min(part['test'])))}",
        )
        both = alt.layer(theme.diagonal(fit), points)
        panels.append(both.properties(width=300, height=300, title=title))
    return alt.hconcat(*panels)
