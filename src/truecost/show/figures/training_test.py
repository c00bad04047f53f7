"""Training against test cost of the winners of several searches."""

from collections.abc import Iterable

import altair as alt
import polars as pl

from truecost.errors import InputError
from truecost.show import theme
from truecost.show.theme import Chart, axis, labelled, tip

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
    x_title, y_title = (labelled(what, unit) for what in ("training cost", "test cost"))
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
    points = base.mark_point(filled=True, opacity=1, size=70, color=theme.BLUE)
    names = base.mark_text(align="left", dx=8, fontSize=11).encode(text="search:N")
    # The names of more would cover each other; tooltips have them all.
    named = [names] if data.height <= MOST_NAMES else []
    above = int((data["optimism"] > 0).sum())
    note = f"{above:,} of {data.height:,} winners cost more on test runs than in training"
    title = theme.heading("Winners of several searches", note)
    return alt.layer(theme.diagonal(fit), points, *named).properties(
        width=360, height=360, title=title
    )
