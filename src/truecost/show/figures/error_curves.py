"""Errors against m, N and K, with the paper's curves: its Figures 2 and 3."""

from collections.abc import Sequence
from typing import Literal, cast, get_args

import altair as alt
import polars as pl

from truecost.errors import InputError
from truecost.paper.fit import FORMULAS, Fit, Kind
from truecost.show import theme
from truecost.show.figures.sweep_panels import MEANINGS, MOST_POINTS, panel, thinned
from truecost.show.theme import Chart, Style, labelled

ErrorName = Literal["uniform", "selection"]
ERRORS: tuple[ErrorName, ...] = get_args(ErrorName)


def error_curves_data(
    tables: Sequence[pl.DataFrame],
    fits: Sequence[Fit],
    error: ErrorName = "uniform",
    *,
    most: int = MOST_POINTS,
) -> pl.DataFrame:
    """Observed mean, fitted curve and Theorem 2 at the swept values.

    Parameters
    ----------
    tables
        Of `tables.sweep_table` with the bounds beside, for any of m, N and K.
    fits
        The curve of this error in each table, as `fit.to_table` computes it.
    error
        "uniform" for Figure 2; "selection" for Figure 3, whose bound has the variance of the best
        configuration.
    most
        Approximate number of points of a curve, evenly on a logarithmic scale. The fit uses all.

    Returns
    -------
    DataFrame
        `against` ("m", "n" or "k"), `value`, `series` ("observed", "fit" or "bound"), `error`,
        `standard_error` of the observed mean, `r_squared` of the fit.
    """
    if error not in MEANINGS:
        raise InputError(f"Expected the error to be one of {', '.join(MEANINGS)}, got {error!r}.")
    schema = {"standard_error": pl.Float64, "r_squared": pl.Float64}
    parts = []
    for table, curve in zip(tables, fits, strict=True):
        against, rows = thinned(table, most)
        bound = rows["bound_bennett" if error == "uniform" else "bound_bennett_own"]
        series = {
            "observed": (rows[error], rows[f"{error}_se"], None),
            "fit": (curve(rows[against].to_numpy()), None, curve.r_squared),
            "bound": (bound, None, None),
        }
        for name, (values, standard_error, r_squared) in series.items():
            columns = {
                "against": against,
                "value": rows[against],
                "series": name,
                "error": values,
                "standard_error": standard_error,
                "r_squared": r_squared,
            }
            parts.append(pl.DataFrame(columns, schema_overrides=schema))
    return pl.concat(parts).with_columns(pl.col("error", "r_squared").fill_nan(None))


@theme.figure
def error_curves_chart(
    data: pl.DataFrame, *, error: ErrorName = "uniform", unit: str = "cost"
) -> Chart:
    """A panel each for m, N and K: the observed error, the paper's curve, and Theorem 2."""
    looks = {
        "observed": Style(f"observed mean {error} error", theme.BLUE),
        "fit": Style("fitted curve", theme.ORANGE, theme.DASHED),
        "bound": Style("Theorem 2 (Bennett, plug-in)", theme.BLACK, theme.DOTTED),
    }
    y = labelled(f"{error} error", unit)
    panels = []
    for against in data["against"].unique(maintain_order=True):
        part = data.filter(pl.col("against") == against)
        fit = part["r_squared"].drop_nulls()
        heading = "No variation to fit"
        if fit.len():
            heading = f"Fit {FORMULAS[cast(Kind, against)]}, R² = {fit[0]:.3f}"
        panels.append(panel(part, str(against), looks, y, heading, MEANINGS[error]))
    return alt.hconcat(*panels, spacing=30)
