"""One look for all figures: colours that the colour-blind tell apart, and dashes and shapes for
those who print in grey.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeAlias

import altair as alt
import polars as pl
from altair.utils.schemapi import debug_mode

Chart: TypeAlias = (
    alt.Chart
    | alt.LayerChart
    | alt.FacetChart
    | alt.ConcatChart
    | alt.HConcatChart
    | alt.VConcatChart
)

P = ParamSpec("P")

# Okabe and Ito's colours; each goes with a dash and a shape of its own wherever two stand in one
# figure.
BLUE, ORANGE, GREEN, GREY, BLACK = "#0072B2", "#D55E00", "#009E73", "#767676", "#000000"
PURPLE, AMBER = "#CC79A7", "#E69F00"
SOLID, DASHED, DOTTED, DASH_DOTTED = [1, 0], [7, 3], [2, 2], [8, 3, 2, 3]
# Used reversed, from light, which is cheap, to dark: the lightness alone tells the order.
COSTS = "viridis"
# A line at a mean.
MEAN: dict[str, Any] = {"color": BLACK, "strokeDash": [6, 3], "strokeWidth": 1.5}
# Points that the pointer finds but nobody sees: a line alone would answer with its first point
# only.
UNSEEN: dict[str, Any] = {"opacity": 0, "size": 60, "filled": True}

_CONFIG: dict[str, Any] = {
    "background": "white",
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "view": {"stroke": "#999999", "strokeWidth": 0.5},
    "axis": {
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "gridColor": "#e6e6e6",
        "labelFlush": False,
    },
    "axisY": {"minExtent": 32},
    "legend": {
        "orient": "bottom",
        "title": None,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelLimit": 400,
        "titleLimit": 500,
        "symbolSize": 90,
        "symbolStrokeWidth": 2,
        "symbolOpacity": 1,
        "columnPadding": 20,
    },
    "title": {
        "fontSize": 13,
        "anchor": "start",
        "fontWeight": "bold",
        "subtitleFontSize": 11,
        "subtitleColor": "#555555",
    },
    "header": {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"},
}


def themed(chart: Chart) -> Chart:
    """The chart with the look of the house; its own, so that no setting of Altair is changed for
    others.
    """
    drawn: Chart = chart.configure(**_CONFIG)
    return drawn


def checked_whole(draw: Callable[P, Chart]) -> Callable[P, Chart]:
    """Altair checks every part of a chart while it is made, which takes longer than to make it;
    what is saved is checked.
    """

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Chart:
        with debug_mode(False):
            return draw(*args, **kwargs)

    return drawn


class Plot(alt.Chart):
    """A chart that shares its marks and channels with its copies.

    Altair copies a chart at every step, again for every layer and panel it is put into, with each
    of the hundreds of options that nobody gave. It replaces what a chart is made of and changes
    none of it in place.
    """

    def __deepcopy__(self, memo: object) -> "Plot":
        return self.copy(deep=False)


class _Records(alt.InlineData):
    """Records that charts share: Altair copies a chart at every step, and thousands of records
    would take seconds.
    """

    def __deepcopy__(self, memo: object) -> "_Records":
        return self


def records(table: pl.DataFrame) -> alt.InlineData:
    """The table as plain records: what Altair does to frames is a setting of the user's, and above
    5,000 rows it refuses.
    """
    # Columns of a table need no look at every record; the specification that they go into is
    # validated.
    with debug_mode(False):
        return _Records(values=table.to_dicts())


class Look(NamedTuple):
    """What a series is called, and what it is told from others by."""

    label: str
    color: str
    dash: Sequence[int] = SOLID
    shape: str = "circle"


class Series:
    """The series of a figure in the order of their legend; `field` is the column that has their
    labels.
    """

    def __init__(self, looks: Mapping[str, Look], field: str = "what") -> None:
        self._looks, self._field = looks, field
        self._labels = [look.label for look in looks.values()]

    def labels(self, names: str) -> pl.Expr:
        """The column of labels, from the column of names."""
        return (
            pl.col(names)
            .replace_strict({name: look.label for name, look in self._looks.items()})
            .alias(self._field)
        )

    def color(self, **legend: Any) -> alt.Color:
        """Colours, with the legend that the others join."""
        return alt.Color(**self._channel("color"), legend=alt.Legend(**legend))

    def dash(self, **more: Any) -> alt.StrokeDash:
        """Dashes, for lines."""
        return alt.StrokeDash(**self._channel("dash"), **more)

    def shape(self) -> alt.Shape:
        """Shapes, for points."""
        return alt.Shape(**self._channel("shape"))

    def _channel(self, part: str) -> dict[str, Any]:
        scale = alt.Scale(
            domain=self._labels, range=[getattr(look, part) for look in self._looks.values()]
        )
        return {"shorthand": f"{self._field}:N", "sort": self._labels, "scale": scale}


def tip(field: str, title: str = "", form: str = ",.4~g") -> alt.Tooltip:
    """What the pointer shows of a column; the format is for numbers."""
    more = {"title": title, "format": form if field.endswith(":Q") else ""}
    said: dict[str, Any] = {name: value for name, value in more.items() if value}
    return alt.Tooltip(field, **said)


def labelled(what: str, unit: str, *more: str) -> str:
    """The title of an axis with its unit behind it; costs that have none are called costs already."""
    behind = ", ".join([*([] if unit == "cost" else [unit]), *more])
    return f"{what} ({behind})" if behind else what


def whole_ticks(last: int) -> list[int]:
    """About ten whole numbers from 1 to the last: renderers put halves between a few, and then
    round them.
    """
    step = next(
        step * 10**power
        for power in range(20)
        for step in (1, 2, 5)
        if last <= 10 * step * 10**power
    )
    return list(range(step, last + 1, step))


def axis(values: Sequence[float], *, log: bool) -> tuple[alt.Scale, alt.Axis]:
    """Scale and axis that hold these values with a little room; marks at 1, 2, 5 or powers of 10."""
    low, high = min(values), max(values)
    if not log:
        # A mean error that is 0 but for Monte Carlo noise does not open a range below 0.
        low = 0.0 if -0.02 * high < low < 0.5 * high else low
        room = 0.05 * (high - low) or 1.0
        return alt.Scale(domain=[low - (room if low else 0), high + room], nice=False), alt.Axis(
            tickCount=6
        )
    low, high = low / 1.1, high * 1.1
    steps = (1, 2, 5) if high / low < 200 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [
        step * 10.0**power
        for power in powers
        for step in steps
        if low <= step * 10.0**power <= high
    ]
    return alt.Scale(type="log", domain=[low, high], nice=False), alt.Axis(
        values=ticks, format=",~g"
    )
