"""Theorem 2 against what the splits showed."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from truecost.errors import InputError
from truecost.show import theme
from truecost.show.figures.sweep_panels import MEANINGS, MOST_POINTS, panel, thinned
from truecost.show.numbers import confidence
from truecost.show.theme import Chart, Style, labelled


def bounds_data(
    tables: Sequence[pl.DataFrame], *, delta: float = 0.05, most: int = MOST_POINTS
) -> pl.DataFrame:
    """Theorem 2 next to the observed quantile at 1 − delta, for both errors.

    Returns
    -------
    DataFrame
        `error_name`, `against`, `value`, `series` ("observed", "bennett" or "printed"), `error`.
    """
    parts = []
    for error in MEANINGS:
        own = "" if error == "uniform" else "_own"
        quantile = f"{error}_q{100 * (1 - delta):g}"
        for table in tables:
            if quantile not in table.columns:
                raise InputError(f"Expected a table with the column {quantile} for delta {delta}.")
            against, rows = thinned(table, most)
            names = {
                "observed": quantile,
                "bennett": f"bound_bennett{own}",
                "printed": f"bound_printed{own}",
            }
            head = {"error_name": error, "against": against, "value": rows[against]}
            parts += [
                pl.DataFrame({**head, "series": name, "error": rows[column]})
                for name, column in names.items()
            ]
    return pl.concat(parts).with_columns(pl.col("error").fill_nan(None))


@theme.figure
def bounds_chart(data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost") -> Chart:
    """A row of panels for the uniform error, and one for the selection error."""
    observed = f"observed: {confidence(delta)} of all splits lie below"
    looks = {
        "observed": Style(observed, theme.BLUE),
        "bennett": Style("Theorem 2, Bennett's form", theme.BLACK, theme.DASHED),
        "printed": Style("Theorem 2 as printed", theme.ORANGE, theme.DOTTED),
    }
    rows = []
    for error in data["error_name"].unique(maintain_order=True):
        panels = []
        for against in data["against"].unique(maintain_order=True):
            part = data.filter(pl.col("error_name") == error, pl.col("against") == against)
            heading = "Bounds with the largest variance of all"
            if error == "selection":
                # The winner of a few is mostly another configuration, with another variance.
                few = ", seldom among few" if against == "m" else ""
                heading = f"Bounds for the best of all{few}"
            y = labelled(f"{error} error", unit)
            panels.append(panel(part, str(against), looks, y, heading, MEANINGS[error]))
        rows.append(alt.hconcat(*panels, spacing=30))
    return alt.vconcat(*rows)
