"""Figures of the experiments: estimators compared, errors against m, N and K, bounds against
reality.

They are drawn from the tables of `truecost.paper.tables`: a parquet file of results is as
good as a fresh run.
"""

from collections.abc import Sequence
from typing import Literal, cast, get_args

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.paper.fit import FORMULAS, Fit, Kind
from truecost.show import theme
from truecost.show.numbers import confidence, counted
from truecost.show.theme import (
    Chart,
    Look,
    Plot,
    Series,
    axis,
    checked_whole,
    labelled,
    records,
    themed,
    tip,
)

ErrorName = Literal["uniform", "selection"]
ERRORS: tuple[ErrorName, ...] = get_args(ErrorName)

ESTIMATORS = {
    "even": Look("S*: runs spread evenly over the instances", theme.BLUE, theme.SOLID, "circle"),
    "concentrated": Look(
        "S†: all runs of one instance after another", theme.ORANGE, theme.DASHED, "square"
    ),
    "scattered": Look(
        "S°: instances drawn with replacement", theme.GREEN, theme.DOTTED, "triangle-up"
    ),
}
MEANINGS = {
    "uniform": "uniform error: the largest estimation error of all configurations",
    "selection": "selection error: the estimation error of the configuration with the least training cost",
}
SWEPT = {
    "m": "m, the number of configurations",
    "n": "N, the number of runs of each configuration",
    "k": "K, the number of training instances",
}
# Points of a curve that are drawn: more would not be seen.
MOST_POINTS = 100


def estimators_data(
    table: pl.DataFrame, *, estimators: Sequence[str] = tuple(ESTIMATORS)
) -> pl.DataFrame:
    """Mean absolute error over splits ± its standard deviation, as in the paper's Figure 1.

    Parameters
    ----------
    table
        Of `tables.estimator_table`, for one K or several.
    estimators
        Which to show; those the table does not have are left out.

    Returns
    -------
    DataFrame
        `k`, `n`, `ratio` (N/K), `estimator`, `error`, `spread`, `low` and `high` (error ∓ spread).
    """
    shown = table.filter(pl.col("estimator").is_in(estimators)).sort("k", "n", maintain_order=True)
    if shown.height == 0:
        raise InputError(f"Expected a table with some of the estimators {', '.join(estimators)}.")
    return shown.select(
        "k",
        "n",
        (pl.col("n") / pl.col("k")).alias("ratio"),
        "estimator",
        pl.col("absolute").alias("error"),
        pl.col("absolute_spread").alias("spread"),
        (pl.col("absolute") - pl.col("absolute_spread")).alias("low"),
        (pl.col("absolute") + pl.col("absolute_spread")).alias("high"),
    )


@checked_whole
def estimators_chart(data: pl.DataFrame, *, unit: str = "cost", columns: int = 3) -> Chart:
    """Error bars of the estimators against N/K; a panel for every K if there are several."""
    sizes = data["k"].unique(maintain_order=True).to_list()
    if len(sizes) > 1:
        panels = [
            _estimators_panel(data.filter(pl.col("k") == k), unit, "", width=230, height=170)
            for k in sizes
        ]
        return themed(alt.concat(*panels, columns=columns))
    return themed(
        _estimators_panel(
            data, unit, ": mean ± standard deviation over splits", width=600, height=320
        )
    )


def _estimators_panel(data: pl.DataFrame, unit: str, more: str, width: int, height: int) -> Chart:
    present = {name: look for name, look in ESTIMATORS.items() if name in data["estimator"]}
    series = Series(present)
    # Side by side, so that no bar covers another.
    aside = {name: 0.05 * (place - (len(present) - 1) / 2) for place, name in enumerate(present)}
    shown = data.with_columns(
        series.labels("estimator"),
        x=pl.col("ratio") + pl.col("estimator").replace_strict(aside, return_dtype=pl.Float64),
    )
    x_scale = alt.Scale(domain=[0, 1.05 * max(data["ratio"].to_list())], nice=False)
    y_scale, y_axis = axis([*data["low"], *data["high"]], log=False)
    base = Plot().encode(
        x=alt.X(
            "x:Q",
            title="N/K, runs for each training instance",
            scale=x_scale,
            axis=alt.Axis(tickCount=5),
        ),
        color=series.color(symbolStrokeWidth=0),
    )
    y = alt.Y("error:Q", title=labelled("absolute error", unit), scale=y_scale, axis=y_axis)
    bars = base.mark_rule(strokeWidth=1, opacity=0.6).encode(
        y=alt.Y("low:Q", scale=y_scale), y2=alt.Y2("high:Q")
    )
    lines = base.mark_line(strokeWidth=1.5).encode(y=y, strokeDash=series.dash(legend=None))
    points = base.mark_point(filled=True, opacity=1, size=width / 8 + 5).encode(
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
    title = alt.TitleParams(
        f"K = {counted(data['k'][0], 'training instance')}{more}", fontWeight="normal", fontSize=12
    )
    return alt.layer(bars, lines, points, data=records(shown)).properties(
        width=width, height=height, title=title
    )


def error_curves_data(
    tables: Sequence[pl.DataFrame],
    fits: Sequence[Fit],
    error: ErrorName = "uniform",
    *,
    most: int = MOST_POINTS,
) -> pl.DataFrame:
    """Observed mean, fitted curve and Theorem 2 at the swept values, as in the paper's Figures 2
    and 3.

    Parameters
    ----------
    tables
        Of `tables.sweep_table` with the bounds beside, for any of m, N and K.
    fits
        The curve of this error in each table, as `fit.to_table` finds it.
    error
        "uniform" for Figure 2; "selection" for Figure 3, whose bound has the variance of the best
        configuration.
    most
        About so many points of every curve, evenly on a logarithmic scale. The fit is to all.

    Returns
    -------
    DataFrame
        `against` ("m", "n" or "k"), `value`, `series` ("observed", "fit" or "bound"), `error`,
        `standard_error` of the observed mean, `r_squared` of the fit.
    """
    if error not in MEANINGS:
        raise InputError(f"Expected the error to be one of {', '.join(MEANINGS)}, got {error!r}.")
    parts = []
    for table, curve in zip(tables, fits, strict=True):
        against, shown = _swept(table, most)
        series = {
            "observed": (shown[error], shown[f"{error}_se"], None),
            "fit": (curve(shown[against].to_numpy()), None, curve.r_squared),
            "bound": (shown[f"bound_bennett{'' if error == 'uniform' else '_own'}"], None, None),
        }
        schema = {"standard_error": pl.Float64, "r_squared": pl.Float64}
        for name, (values, standard_error, r_squared) in series.items():
            columns = {"error": values, "standard_error": standard_error, "r_squared": r_squared}
            head = {"against": against, "value": shown[against], "series": name}
            parts.append(pl.DataFrame({**head, **columns}, schema_overrides=schema))
    return pl.concat(parts).with_columns(pl.col("error", "r_squared").fill_nan(None))


@checked_whole
def error_curves_chart(
    data: pl.DataFrame, *, error: ErrorName = "uniform", unit: str = "cost"
) -> Chart:
    """A panel each for m, N and K: what was observed, the paper's curve, and Theorem 2."""
    series = {
        "observed": Look(f"observed mean {error} error", theme.BLUE, theme.SOLID),
        "fit": Look("fitted curve", theme.ORANGE, theme.DASHED),
        "bound": Look("Theorem 2 (Bennett, plug-in)", theme.BLACK, theme.DOTTED),
    }
    panels = []
    for against in data["against"].unique(maintain_order=True):
        part = data.filter(pl.col("against") == against)
        found = part["r_squared"].drop_nulls()
        formula = (
            f"{FORMULAS[cast(Kind, against)]}, R² = {found[0]:.3f}"
            if found.len()
            else "no variation to fit"
        )
        panels.append(
            _panel(
                part,
                str(against),
                series,
                labelled(f"{error} error", unit),
                f"Fit {formula}",
                MEANINGS[error],
            )
        )
    return themed(alt.hconcat(*panels, spacing=30))


def bounds_data(
    tables: Sequence[pl.DataFrame], *, delta: float = 0.05, most: int = MOST_POINTS
) -> pl.DataFrame:
    """Theorem 2 beside the observed quantile at 1 − delta, for both errors.

    Returns
    -------
    DataFrame
        `error_name`, `against`, `value`, `series` ("observed", "bennett" or "printed"), `error`.
    """
    quantile = f"q{100 * (1 - delta):g}"
    parts = []
    for error in MEANINGS:
        own = "" if error == "uniform" else "_own"
        for table in tables:
            if f"{error}_{quantile}" not in table.columns:
                raise InputError(
                    f"Expected a table with the column {error}_{quantile} for delta {delta}."
                )
            against, shown = _swept(table, most)
            names = {
                "observed": f"{error}_{quantile}",
                "bennett": f"bound_bennett{own}",
                "printed": f"bound_printed{own}",
            }
            for name, column in names.items():
                head = {"error_name": error, "against": against, "value": shown[against]}
                parts.append(pl.DataFrame({**head, "series": name, "error": shown[column]}))
    return pl.concat(parts).with_columns(pl.col("error").fill_nan(None))


@checked_whole
def bounds_chart(data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost") -> Chart:
    """How far Theorem 2 lies above what was seen: a row for the uniform and one for the selection
    error.
    """
    series = {
        "observed": Look(
            f"observed: {confidence(delta)} of all splits lie below", theme.BLUE, theme.SOLID
        ),
        "bennett": Look("Theorem 2, Bennett's form", theme.BLACK, theme.DASHED),
        "printed": Look("Theorem 2 as printed", theme.ORANGE, theme.DOTTED),
    }
    rows = []
    for error in data["error_name"].unique(maintain_order=True):
        panels = []
        for against in data["against"].unique(maintain_order=True):
            part = data.filter((pl.col("error_name") == error) & (pl.col("against") == against))
            heading = "Bounds with the largest variance of all"
            if error == "selection":
                # A configuration chosen from a few is mostly another one, with another variance.
                heading = "Bounds for the best of all" + (
                    ", seldom among few" if against == "m" else ""
                )
            panels.append(
                _panel(
                    part,
                    str(against),
                    series,
                    labelled(f"{error} error", unit),
                    heading,
                    MEANINGS[error],
                )
            )
        rows.append(alt.hconcat(*panels, spacing=30))
    return themed(alt.vconcat(*rows))


def _panel(
    data: pl.DataFrame, against: str, looks: dict[str, Look], y: str, heading: str, meaning: str
) -> Chart:
    series = Series(looks)
    errors = data["error"].drop_nulls().to_list() or [0.0]
    # Errors that fall like a power are straight lines on two logarithmic scales; the error of one
    # of m configurations is 0.
    x_scale, x_axis = axis(data["value"].to_list(), log=True)
    y_scale, y_axis = axis(errors, log=against != "m" and min(errors) > 0)
    base = Plot(records(data.with_columns(series.labels("series")))).encode(
        x=alt.X("value:Q", title=SWEPT[against], scale=x_scale, axis=x_axis),
        y=alt.Y("error:Q", title=y, scale=y_scale, axis=y_axis),
        color=series.color(symbolType="stroke", symbolSize=400),
    )
    lines = base.mark_line(strokeWidth=2, clip=True).encode(strokeDash=series.dash())
    tooltip = [
        tip("value:Q", SWEPT[against], ",d"),
        tip("error:Q", meaning),
        tip("what:N", "curve"),
    ]
    points = base.mark_point(**theme.UNSEEN)
    found = [points.encode(tooltip=tooltip)]
    if "standard_error" in data.columns:
        # Only means over splits have one.
        known = "isValid(datum.standard_error)"
        spread = tip("standard_error:Q", "standard error over splits", ",.2~g")
        found = [
            points.transform_filter(f"!{known}").encode(tooltip=tooltip),
            points.transform_filter(known).encode(tooltip=[*tooltip, spread]),
        ]
    title = alt.TitleParams(heading, fontWeight="normal", fontSize=11, color="#555555")
    return alt.layer(lines, *found).properties(width=250, height=230, title=title)


def _swept(table: pl.DataFrame, most: int) -> tuple[Kind, pl.DataFrame]:
    """What a table of a sweep is against, and about `most` of its rows."""
    against = table.columns[0]
    if against not in SWEPT:
        raise InputError(
            f"Expected a table of a sweep, whose first column is m, n or k, got {against!r}."
        )
    values = table[against].to_numpy()
    wanted = np.geomspace(values[0], values[-1], most)
    places = np.unique(np.abs(values[:, np.newaxis] - wanted).argmin(axis=0))
    return cast(Kind, against), table[places]
