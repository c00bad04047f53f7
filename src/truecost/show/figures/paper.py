"""The paper's Figures 1 to 3: errors of estimators, and against m, N and K with Theorem 2."""

from collections.abc import Sequence
from typing import Literal, cast, get_args

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.paper.fit import FORMULAS, Fit, Kind
from truecost.show import theme
from truecost.show.numbers import confidence, counted
from truecost.show.theme import Chart, Series, Style, axis, labelled, tip

MEANINGS = {
    "uniform": "uniform error: the largest estimation error of all configurations",
    "selection": "selection error: the estimation error of the one with the lowest training cost",
}
SWEPT = {
    "m": "m, the number of configurations",
    "n": "N, the number of runs of each configuration",
    "k": "K, the number of training instances",
}
# More points of a curve could not be distinguished.
MOST_POINTS = 100


def thinned(table: pl.DataFrame, most: int) -> tuple[Kind, pl.DataFrame]:
    """Return what a table of a sweep varies, and about `most` of its rows."""
    against = table.columns[0]
    if against not in SWEPT:
        raise InputError(
            f"Expected a table of a sweep, whose first column is m, n or k, got {against!r}."
        )
    values = table[against].to_numpy()
    spaced = np.geomspace(values[0], values[-1], most)
    places = np.unique(np.abs(values[:, np.newaxis] - spaced).argmin(axis=0))
    return cast(Kind, against), table[places]


def panel(
    data: pl.DataFrame, against: str, looks: dict[str, Style], error: str, heading: str, unit: str
) -> Chart:
    """Curves of an error against one swept value."""
    series, table = Series(looks).of(data, "series")
    errors = data["error"].drop_nulls().to_list() or [0.0]
    # Powers are straight lines on two logarithmic scales; with one configuration the error is 0.
    x = axis(data["value"], log=True).x("value", SWEPT[against])
    vertical = axis(errors, log=against != "m" and min(errors) > 0)
    y = vertical.y("error", labelled(f"{error} error", unit))
    value = tip("value:Q", SWEPT[against], ",d")
    tooltip = [value, tip("error:Q", MEANINGS[error]), tip("what:N", "curve")]
    lines, dots = theme.curves(table, x, y, series, tooltip, clip=True)
    points = [dots]
    if "standard_error" in data.columns:
        # Only means over splits have one.
        spread = ("standard_error", "standard error over splits", ",.2~g")
        points = theme.where_known(dots, tooltip, *spread)
    title = alt.TitleParams(heading, fontWeight="normal", fontSize=11, color=theme.SOFT)
    return alt.layer(lines, *points).properties(width=250, height=230, title=title)


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
            columns = {"against": against, "value": rows[against], "series": name, "error": values}
            columns |= {"standard_error": standard_error, "r_squared": r_squared}
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
    panels = []
    for against in data["against"].unique(maintain_order=True):
        part = data.filter(pl.col("against") == against)
        fit = part["r_squared"].drop_nulls()
        heading = "No variation to fit"
        if fit.len():
            heading = f"Fit {FORMULAS[cast(Kind, against)]}, R² = {fit[0]:.3f}"
        panels.append(panel(part, str(against), looks, error, heading, unit))
    return alt.hconcat(*panels, spacing=30)


def bounds_data(tables: Sequence[pl.DataFrame], *, delta: float = 0.05) -> pl.DataFrame:
    """Theorem 2 next to the observed quantile at 1 − delta, for both errors.

    Returns
    -------
    DataFrame
        `error_name`, `against`, `value`, `series` ("observed", "bennett" or "printed"), `error`.
    """
    parts = []
    for error in MEANINGS:
        suffix = "" if error == "uniform" else "_own"
        quantile = f"{error}_q{100 * (1 - delta):g}"
        for table in tables:
            if quantile not in table.columns:
                raise InputError(f"Expected a table with the column {quantile} for delta {delta}.")
            against, rows = thinned(table, MOST_POINTS)
            head = {"error_name": error, "against": against, "value": rows[against]}
            for name in ("observed", "bennett", "printed"):
                column = quantile if name == "observed" else f"bound_{name}{suffix}"
                parts.append(pl.DataFrame({**head, "series": name, "error": rows[column]}))
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
            panels.append(panel(part, str(against), looks, error, heading, unit))
        rows.append(alt.hconcat(*panels, spacing=30))
    return alt.vconcat(*rows)


ESTIMATORS: dict[str, Style] = {
    "even": Style("S*: runs spread evenly over the instances", theme.BLUE),
    "concentrated": Style(
        "S†: all runs of one instance after another", theme.ORANGE, theme.DASHED, "square"
    ),
    "scattered": Style(
        "S°: instances drawn with replacement", theme.GREEN, theme.DOTTED, "triangle-up"
    ),
}


def estimators_data(table: pl.DataFrame) -> pl.DataFrame:
    """Mean absolute error over splits ± its standard deviation, from a table of
    `tables.estimator_table` for one K or several.

    Returns
    -------
    DataFrame
        `k`, `n`, `ratio` (N/K), `estimator`, `error`, `spread`, `low` and `high` (error ∓ spread).
    """
    rows = table.filter(pl.col("estimator").is_in(list(ESTIMATORS))).sort(
        "k", "n", maintain_order=True
    )
    if rows.height == 0:
        raise InputError(f"Expected a table with some of the estimators {', '.join(ESTIMATORS)}.")
    error, spread = pl.col("absolute"), pl.col("absolute_spread")
    ratio, ends = pl.col("n") / pl.col("k"), {"low": error - spread, "high": error + spread}
    columns = ("k", "n", ratio.alias("ratio"), "estimator")
    return rows.select(*columns, error=error, spread=spread, **ends)


@theme.figure
def estimators_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Error bars of the estimators against N/K; a panel for every K if there are several."""
    sizes = data["k"].unique(maintain_order=True).to_list()
    if len(sizes) == 1:
        return _estimator_panel(data, unit, ": mean ± standard deviation over splits", 600, 320)
    panels = [_estimator_panel(data.filter(pl.col("k") == k), unit, "", 230, 170) for k in sizes]
    return alt.concat(*panels, columns=3)


def _estimator_panel(data: pl.DataFrame, unit: str, remark: str, width: int, height: int) -> Chart:
    series, table = Series(ESTIMATORS).of(data, "estimator")
    # Side by side, so that no bar covers another.
    middle = (len(series.names) - 1) / 2
    shift = {name: 0.05 * (place - middle) for place, name in enumerate(series.names)}
    x = pl.col("ratio") + pl.col("what").replace_strict(shift, return_dtype=pl.Float64)
    across = alt.Scale(domain=[0, 1.05 * max(data["ratio"].to_list())], nice=False)
    ratio = theme.ScaledAxis(across, alt.Axis(tickCount=5))
    fit = axis([*data["low"], *data["high"]], log=False)
    base = theme.plot(table.with_columns(x=x)).encode(
        x=ratio.x("x", "N/K, runs for each training instance"),
        color=series.color(symbolStrokeWidth=0),
    )
    y = fit.y("error", labelled("absolute error", unit))
    bars = base.mark_rule(strokeWidth=1, opacity=0.6).encode(y=fit.y("low"), y2="high:Q")
    lines = base.mark_line(strokeWidth=1.5).encode(y=y, strokeDash=series.dash(legend=None))
    points = base.mark_point(**theme.POINT, size=width / 8 + 5).encode(
        y=y,
        shape=series.shape(),
        tooltip=[
            tip("what:N", "estimator"),
            tip("k:Q", "K, training instances", ""),
            tip("n:Q", "N, runs of each configuration", ""),
            tip("error:Q", "absolute error, mean over configurations and splits"),
            tip("spread:Q", "its standard deviation over splits"),
        ],
    )
    heading = f"K = {counted(data['k'][0], 'training instance')}{remark}"
    title = alt.TitleParams(heading, fontWeight="normal", fontSize=12)
    return alt.layer(bars, lines, points).properties(width=width, height=height, title=title)
