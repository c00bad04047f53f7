"""One look for all figures: colours for the colour-blind, dashes and shapes for print in grey."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from pathlib import PurePosixPath
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

# Colours for the colour-blind after Okabe and Ito, on a light and on a dark page; marks have a
# contrast of 3 or more with either. Wherever two share a figure, dash and shape differ as well.
# Sand fills what is left of a bar: its contrast is with the blue beside it.
PALETTE = {
    "blue": ("#0072b2", "#4fb0ea"),
    "orange": ("#d55e00", "#f5873a"),
    "green": ("#009e73", "#33c79a"),
    "grey": ("#767676", "#9299a3"),
    "purple": ("#b8608f", "#e09cc2"),
    "amber": ("#b57a00", "#f0b840"),
    "brown": ("#8a6d3b", "#c99f5c"),
    "sand": ("#f3e3c3", "#453c2c"),
}
BLUE, ORANGE, GREEN, GREY, PURPLE, AMBER, BROWN, SAND = (light for light, _ in PALETTE.values())
BLACK, SOFT = "#000000", "#555555"
SOLID, DASHED, DOTTED, DASH_DOTTED = [1, 0], [7, 3], [2, 2], [8, 3, 2, 3]
# Reversed, from light (cheap) to dark (expensive): lightness alone conveys the order.
COSTS = "viridis"
MEAN: dict[str, Any] = {"color": BLACK, "strokeDash": [6, 3], "strokeWidth": 1.5}
# Invisible points that carry the tooltips: a line alone answers with its first point only.
UNSEEN: dict[str, Any] = {"opacity": 0, "size": 60, "filled": True}
# The look of a point that is seen.
POINT: dict[str, Any] = {"filled": True, "opacity": 1}
# Pixels of a name in a title.
TITLE_LIMIT = 600

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
        "subtitleColor": SOFT,
    },
    "header": {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"},
}


# A unit that begins with it is that of a score: costs are minus the score, and a figure shows them
# as scores.
MINUS = "−"
_scores: ContextVar[bool] = ContextVar("scores", default=False)
# Columns of costs, whose values a tooltip shows as scores.
COST_FIELDS = (
    "cost", "low", "high", "lower", "median", "upper", "x", "y", "incumbent_cost", "default_cost",
    "difference", "observed", "training", "test", "true", "gap", "error",
)  # fmt: skip
# What costs and scores are called; of two that turn into each other, both are here.
WORDS = {
    "at most": "at least", "at least": "at most", "costs less": "scores more",
    "costs more": "scores less", "lower": "higher", "higher": "lower", "lowest": "highest",
    "highest": "lowest", "costs": "scores", "cost": "score", "cheaper": "better",
    "− 2 standard": "+ 2 standard", "+ 2 standard": "− 2 standard", "biased low": "biased high",
    "finish within a cost": "reach a score", "solved within a cost": "that reach a score",
    "share of runs solved": "share of runs", "runs solved within it": "runs that reach it",
    "within a cost": "that reach a score", "within it": "that reach it",
    "runs solved": "runs", "less on": "more on", "and more on": "and less on",
    "at least half": "at least half",
    "above the diagonal": "below the diagonal", "below the diagonal": "above the diagonal",
}  # fmt: skip
ENDS = {"low": "high", "high": "low", "lower": "upper", "upper": "lower"}


def scores() -> bool:
    """Whether the figure that is being drawn shows costs as scores."""
    return _scores.get()


def displayed(cost: float) -> float:
    """Return a cost as the figure shows it."""
    return 0.0 - cost if scores() else cost


def words(text: str) -> str:
    """Return a text about costs as one about scores, where the figure shows scores."""
    if not scores():
        return text
    longest_first = "|".join(sorted(map(re.escape, WORDS), key=len, reverse=True))
    return re.sub(rf"(?<!\w)({longest_first})(?!\w)", lambda match: WORDS[match[1]], text)


def themed(chart: Chart) -> Chart:
    """Add our look to the chart itself, so that no global setting of Altair changes."""
    drawn: Chart = chart.configure(**_CONFIG)
    return drawn


def figure(draw: Callable[P, Chart]) -> Callable[P, Chart]:
    """Decorate a function that draws a chart: themed, and validated when saved.

    Altair would validate every part of a chart as it is built, which takes longer than building.
    """

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Chart:
        token = _scores.set(str(kwargs.get("unit", "")).startswith(MINUS))
        try:
            with debug_mode(False):
                chart = draw(*args, **kwargs)
                if isinstance(chart.title, str):
                    chart = chart.properties(title=words(chart.title))
                return themed(chart)
        finally:
            _scores.reset(token)

    return drawn


class _Plot(alt.Chart):
    """A chart that shares its marks and channels with its copies."""

    # Altair copies a chart at every step, and again for every layer and panel it becomes part of,
    # with hundreds of unset options. It replaces the parts of a chart and never changes one in
    # place.

    def __deepcopy__(self, memo: object) -> "_Plot":
        return self.copy(deep=False)


class _Records(alt.InlineData):
    """Records that charts share."""

    # Copying thousands of them at every step would take seconds.

    def __deepcopy__(self, memo: object) -> "_Records":
        return self


def records(table: pl.DataFrame) -> alt.InlineData:
    """Turn the table into plain records.

    What Altair does with data frames is a setting of the user, and it refuses more than 5,000 rows.
    """
    if scores():
        known = [name for name in COST_FIELDS if name in table.columns]
        table = table.with_columns((0 - pl.col(name)).alias(f"{name}_shown") for name in known)
    # The specification these records become part of is validated as a whole.
    with debug_mode(False):
        return _Records(values=table.to_dicts())


def plot(table: pl.DataFrame | None = None) -> alt.Chart:
    """Start a chart of the table's rows."""
    return _Plot() if table is None else _Plot(records(table))


def heading(text: str, *subtitle: str) -> alt.TitleParams:
    """Return a title with lines below it; long names are cut."""
    lines = [words(line) for line in subtitle]
    return alt.TitleParams(words(text), subtitle=lines, limit=TITLE_LIMIT)


def layered(
    layers: Iterable[alt.Chart], title: str, *notes: str, width: int = 600, height: int = 320
) -> Chart:
    """Return layers as one figure of this size in pixels, with a title and notes below it."""
    return alt.layer(*layers).properties(width=width, height=height, title=heading(title, *notes))


class Style(NamedTuple):
    """The label, colour, dash and shape of a series."""

    label: str
    color: str
    dash: Sequence[int] = SOLID
    shape: str = "circle"


class Series:
    """The series of a figure in the order of the legend; `field` is the column of their labels."""

    def __init__(self, looks: Mapping[str, Style], field: str = "what") -> None:
        self._looks, self._field = looks, field

    @property
    def names(self) -> list[str]:
        """The labels."""
        return [words(look.label) for look in self._looks.values()]

    @classmethod
    def plain(
        cls,
        labels: Iterable[str],
        looks: Iterable[tuple[str, Sequence[int]]],
        others: Mapping[str, Style] | None = None,
    ) -> "Series":
        """Return series called by their names, with looks in this order; then others."""
        pairs = zip(dict.fromkeys(labels), looks, strict=False)
        styles = {label: Style(label, color, dash) for label, (color, dash) in pairs}
        return cls({**styles, **(others or {})})

    def of(self, data: pl.DataFrame, names: str) -> "tuple[Series, pl.DataFrame]":
        """Return those that a column names, and the data with their labels.

        A legend names no series that is not drawn.
        """
        names_drawn = set(data[names])
        looks = {name: look for name, look in self._looks.items() if name in names_drawn}
        series = Series(looks, self._field)
        return series, data.with_columns(series.labels(names))

    def labels(self, names: str) -> pl.Expr:
        """Return the column of labels, computed from the column of names."""
        labels = dict(zip(self._looks, self.names, strict=True))
        return pl.col(names).replace_strict(labels).alias(self._field)

    def color(self, **legend: Any) -> alt.Color:
        """Return the colour channel, with the legend that the other channels join."""
        return alt.Color(**self._channel("color"), legend=alt.Legend(**legend))

    def dash(self, **options: Any) -> alt.StrokeDash:
        """Return the dash channel, for lines."""
        return alt.StrokeDash(**self._channel("dash"), **options)

    def shape(self) -> alt.Shape:
        """Return the shape channel, for points."""
        return alt.Shape(**self._channel("shape"))

    def _channel(self, part: str) -> dict[str, Any]:
        values = [getattr(look, part) for look in self._looks.values()]
        scale = alt.Scale(domain=self.names, range=values)
        return {"shorthand": f"{self._field}:N", "sort": self.names, "scale": scale}


def tip(field: str, title: str = "", form: str = ",.4~g") -> alt.Tooltip:
    """Return a tooltip entry; the format applies to numbers."""
    name, _, kind = field.partition(":")
    if scores() and kind == "Q" and name in COST_FIELDS:
        field, title = f"{name}_shown:Q", words(title) or ENDS.get(name, name)
    form = form if kind == "Q" else ""
    return alt.Tooltip(field, title=title or alt.Undefined, format=form or alt.Undefined)


def labelled(what: str, unit: str, *remarks: str) -> str:
    """Return the title of an axis with its unit; costs without a unit need none."""
    unit = unit.removeprefix(MINUS)
    behind = ", ".join([*([] if unit in ("cost", "score") else [unit]), *remarks])
    return f"{words(what)} ({behind})" if behind else words(what)


def whole_ticks(last: int) -> list[int]:
    """Return about ten whole numbers up to `last`: renderers would put halves between a few."""
    steps = (step * 10**power for power in range(20) for step in (1, 2, 5))
    step = next(step for step in steps if last <= 10 * step)
    return list(range(step, last + 1, step))


class ScaledAxis(NamedTuple):
    """A scale and its axis."""

    scale: alt.Scale
    axis: alt.Axis

    @property
    def ends(self) -> list[float]:
        """Where the scale begins and ends."""
        return list(self.scale.to_dict()["domain"])

    def x(self, field: str, title: str = "") -> alt.X:
        """Return the horizontal channel of a field of numbers; one layer has the title of all."""
        return alt.X(f"{field}:Q", **self._options(title))

    def y(self, field: str, title: str = "") -> alt.Y:
        """Return the vertical channel, likewise."""
        return alt.Y(f"{field}:Q", **self._options(title))

    def _options(self, title: str) -> dict[str, Any]:
        return {"scale": self.scale, "axis": self.axis, "title": words(title) or alt.Undefined}


def span(last: float, **axis: Any) -> ScaledAxis:
    """Return the axis of things that are numbered from 1, each of them 1 wide."""
    ticks = alt.Axis(values=whole_ticks(int(last)), **axis)
    return ScaledAxis(alt.Scale(domain=[0.5, last + 0.5], nice=False), ticks)


def rows(field: str, order: Sequence[str], limit: int, **axis: Any) -> alt.Y:
    """Return the vertical channel of names in this order, cut after `limit` pixels."""
    return alt.Y(f"{field}:N", title=None, sort=order, axis=alt.Axis(labelLimit=limit, **axis))


# Labels of an axis whose data stay costs while it shows scores.
NEGATED = "format(-datum.value, ',~g')"
SHARES = ScaledAxis(alt.Scale(domain=[0, 1]), alt.Axis(format="%"))
# Ticks of a logarithmic axis, in units of a power of ten: the fewest that give three or more.
LOG_TICKS = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 4, 5, 7),
    tuple(n / 10 for n in range(10, 100)),
)


def axis(values: Iterable[float], *, log: bool | None = None, costs: bool = True) -> ScaledAxis:
    """Return scale and axis that fit these values, logarithmic by default if all are positive.

    Where costs are shown as scores the axis has the scores, from the lowest to the highest.
    """
    fit = _axis(list(values) or [1.0], log)
    if costs and scores():
        # The data stay costs, so that everything else about a figure is the same.
        fit.scale.reverse, fit.axis.labelExpr = True, NEGATED
    return fit


def _axis(values: list[float], log: bool | None) -> ScaledAxis:
    low, high = min(values), max(values)
    if not (low > 0 if log is None else log):
        # A mean error of 0 up to Monte Carlo noise does not open a range below 0.
        low = 0.0 if -0.02 * high < low < 0.5 * high else low
        room = 0.05 * (high - low) or 1.0
        domain = [low - (room if low else 0), high + room]
        return ScaledAxis(alt.Scale(domain=domain, nice=False), alt.Axis(tickCount=6))
    low, high = low / 1.1, high * 1.1
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in LOG_TICKS:
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) > 2:
            break
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return ScaledAxis(scale, alt.Axis(values=ticks, format=",~g", labelOverlap="greedy"))


def diagonal(fit: ScaledAxis) -> alt.Chart:
    """Return the line on which both axes have the same value."""
    line = plot(pl.DataFrame({"x": fit.ends, "y": fit.ends})).encode(x=fit.x("x"), y=fit.y("y"))
    drawn: alt.Chart = line.mark_line(color=BLACK, strokeDash=[4, 3], strokeWidth=1, clip=True)
    return drawn


def rule(value: float | None, **look: Any) -> alt.Chart:
    """Return a line at a value, whose field is `at`."""
    drawn: alt.Chart = plot(pl.DataFrame({"at": [value]})).mark_rule(**look)
    return drawn


def curves(
    table: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    series: "Series",
    tooltip: list[alt.Tooltip],
    **line: Any,
) -> list[alt.Chart]:
    """Return the lines of some series, and invisible points that carry the tooltips."""
    base = plot(table).encode(x=x, y=y, color=series.color(symbolType="stroke", symbolSize=400))
    lines = base.mark_line(strokeWidth=2, **line).encode(strokeDash=series.dash())
    return [lines, base.mark_point(**UNSEEN).encode(tooltip=tooltip)]


def where_known(
    points: alt.Chart, tooltip: list[alt.Tooltip], field: str, *more: str
) -> list[alt.Chart]:
    """Return points whose tooltips have one more entry where that field is known."""
    known = f"isValid(datum.{field})"
    return [
        points.transform_filter(f"!{known}").encode(tooltip=tooltip),
        points.transform_filter(known).encode(tooltip=[*tooltip, tip(f"{field}:Q", *more)]),
    ]


def intervals(
    base: alt.Chart, fit: ScaledAxis, fields: str, title: str, shape: alt.Shape
) -> list[alt.Chart]:
    """Return a line from the first to the last of three fields, and a point at the middle one."""
    low, middle, high = fields.split()
    lines = base.mark_rule(strokeWidth=1.5).encode(x=fit.x(low, title), x2=f"{high}:Q")
    return [lines, base.mark_point(**POINT, size=60).encode(x=fit.x(middle, title), shape=shape)]


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without the folder and the ending that all of them share."""
    folders = {name.rpartition("/")[0] for name in names}
    # Where all end in .cnf, it says nothing.
    endings = {PurePosixPath(name).suffix for name in names}
    folder = f"{folders.pop()}/" if len(folders) == 1 else ""
    ending = endings.pop() if len(endings) == 1 else ""
    return [name.removeprefix(folder).removesuffix(ending) for name in names]
