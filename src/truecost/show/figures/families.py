"""Winner against default, family by family, with limits that hold for all families at once."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from truecost.errors import InputError
from truecost.judge.families import FamilyResult
from truecost.show import theme
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

GRADES = Series(
    {
        "better": Style("shown better", theme.BLUE),
        "worse": Style("shown worse", theme.AMBER, shape="square"),
        "open": Style("undecided", theme.GREY, shape="diamond"),
    }
)


def families_data(results: Sequence[FamilyResult]) -> pl.DataFrame:
    """The differences to the default by family.

    Parameters
    ----------
    results
        Of `Assessment.beside.family_results`.

    Returns
    -------
    DataFrame
        `family`, `instances`, the `observed` difference, its limits `lower` and `upper` (null where
        the cost range is unknown), the share of `wins`, and the `grade`; the largest gain first.
    """
    if not results:
        raise InputError("Expected results of at least one family, got none.")
    rows = [
        {
            "family": result.family,
            "instances": result.instances,
            "observed": result.observed,
            "lower": result.lower,
            "upper": result.upper,
            "wins": result.wins,
            "grade": result.grade,
        }
        for result in results
    ]
    types = {"lower": pl.Float64, "upper": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=types).sort("observed", maintain_order=True)


@theme.figure
def families_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """A point and its limits for each family; left of 0 the winner costs less."""
    grades = GRADES.present(data["grade"])
    ends = [value for name in ("observed", "lower", "upper") for value in data[name].drop_nulls()]
    fit = axis([*ends, 0.0], log=False)
    rows = alt.Axis(labelLimit=220, grid=False)
    title = labelled("difference of mean costs, winner − default", unit)
    table = data.with_columns(grades.labels("grade"))
    base = theme.plot(table).encode(
        y=alt.Y("family:N", title=None, sort=data["family"].to_list(), axis=rows),
        color=grades.color(),
        tooltip=[
            tip("family:N"),
            tip("instances:Q", "instances", ",d"),
            tip("observed:Q", title),
            tip("lower:Q", "at least"),
            tip("upper:Q", "at most"),
            tip("wins:Q", "share of runs won"),
        ],
    )
    marks = theme.intervals(base, fit, "lower observed upper", title, grades.shape())
    zero = theme.plot(pl.DataFrame({"at": [0.0]})).mark_rule(strokeDash=[4, 4])
    heading = theme.heading("Family by family", "Limits hold for all families at once.")
    height = max(60, 17 * data.height)
    return alt.layer(zero.encode(x=fit.x("at")), *marks).properties(
        width=480, height=height, title=heading
    )
