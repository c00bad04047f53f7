"""One look for all figures, and files of them.

Figures are made without pyplot, so that no window opens and no global state changes.
"""

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from truecost.errors import InputError, check_choice
from truecost.show.numbers import exact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours for the colour-blind after Okabe and Ito, on a light and on a dark page. Wherever two
# share a figure, shape or dash differs as well.
COLOURS: Final = {
    "blue": ("#0072b2", "#4fb0ea"),
    "orange": ("#d55e00", "#f5873a"),
    "grey": ("#767676", "#9299a3"),
    "sand": ("#ead9b4", "#544a37"),
    "ink": ("#1a1d21", "#e7e9ec"),
    "line": ("#d9dde2", "#3a414b"),
}
BLUE, ORANGE, GREY, SAND, INK, LINE = (light for light, _ in COLOURS.values())
# From light (cheap) to dark (expensive): lightness alone conveys the order.
COSTS: Final = "viridis_r"
# Inches: three figures beside each other on the page, or the column of a paper.
SIZE: Final = (3.4, 2.7)
# Inches of a column and of a page of a two-column paper.
WIDTHS: Final = {"column": 3.35, "page": 7.0}
# Points of text in a paper.
TEXT: Final = 8.0
# More points than this are drawn as an image: a vector file would be slow to open.
MOST_POINTS: Final = 2000

# The keys are a Literal of all settings in matplotlib's types.
_RC: Final[Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "truecost",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "text.parse_math": False,
}


@contextmanager
def page_style() -> Iterator[None]:
    """Draw inside with the look of the page, whatever the user's own settings are."""
    from matplotlib import rc_context, rcdefaults

    with rc_context():
        rcdefaults()
        with rc_context(_RC):
            yield


def axes_of(ax: "Axes | None", size: tuple[float, float] = SIZE) -> "Axes":
    """Return the axes to draw into: the caller's, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    return ax


def legend(ax: "Axes", columns: int = 2, *, right: bool = False) -> None:
    """Put the legend above the axes, where it hides nothing; `right`: over long labels."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        ax.legend(
            handles, labels, loc="lower right" if right else "lower left",
            bbox_to_anchor=(float(right), 1.0), ncols=columns, frameon=False,
            borderaxespad=0.2, handlelength=1.6, columnspacing=1.2,
            handletextpad=0.5, borderpad=0.1,
        )  # fmt: skip


def log_if_wide(values: Iterable[float]) -> bool:
    """Whether an axis of these values is logarithmic: all positive, and a factor of 5 apart."""
    numbers = [value for value in values if value == value]
    return bool(numbers) and min(numbers) > 0 and max(numbers) > 5 * min(numbers)


def label_axes(ax: "Axes", x: str, y: str = "", *, right: bool = False) -> None:
    """Label the axes as written, no $ begins a formula; `right`: where long names of rows leave
    the label less room than it needs.
    """
    ax.set_xlabel(x, loc="right" if right else "center", parse_math=False)
    ax.set_ylabel(y, parse_math=False)


def mark_rows(ax: "Axes", names: Sequence[str]) -> None:
    """Name the rows 0, 1, … of a figure, the first on top."""
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)


def neat_ticks(ax: "Axes", which: Literal["x", "y", "xy"] = "xy") -> None:
    """Write few and plain numbers: 33,000,000 is long, and 3.3 with 1e7 in a corner is overlooked;
    on a logarithmic axis 0.1, 1, 10 instead of powers of ten.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    for axis in [{"x": ax.xaxis, "y": ax.yaxis}[name] for name in which]:
        low, high = sorted(axis.get_view_interval())
        axis.set_major_formatter(FuncFormatter(lambda value, _: exact(value)))
        if axis.get_scale() == "log":
            narrow = low > 0 and high < 30 * low
            axis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,)))
            axis.set_minor_formatter(NullFormatter())
        else:
            largest = max(abs(low), abs(high))
            number = 2 if largest >= 1e6 else 3 if largest >= 1e3 else 4
            axis.set_major_locator(MaxNLocator(number, steps=[1, 2, 2.5, 5, 10]))


def save(
    axes: "Axes",
    path: str | os.PathLike[str],
    width: Literal["column", "page"] | None = None,
) -> None:
    """Write a figure as .pdf, .svg or .png, by the ending.

    Parameters
    ----------
    axes
        Of any function of `truecost.figures`.
    path
        The file; an old one is replaced.
    width
        "column" (3.35 inches) or "page" (7 inches) of a two-column paper, with text of 8 pt; by
        default the size and text that the figure has.
    """
    kind = Path(path).suffix.removeprefix(".")
    if kind not in ("pdf", "svg", "png"):
        raise InputError(f"{path} does not end in .pdf, .svg or .png. Give such a name.")
    if width is not None:
        check_choice("width", width, tuple(WIDTHS))
    figure = _figure(axes)
    buffer = BytesIO()
    from matplotlib import rc_context

    settings: Any = {key: _RC[key] for key in ("svg.fonttype", "svg.hashsalt", "pdf.fonttype")}
    inches = None if width is None else WIDTHS[width]
    with rc_context(settings), _sized(figure, inches), _any_glyph():
        date = "CreationDate" if kind == "pdf" else "Date"
        metadata = {} if kind == "png" else {date: None}
        figure.savefig(buffer, format=kind, dpi=300, facecolor="white", metadata=metadata)
    Path(path).write_bytes(buffer.getvalue())


def _figure(axes: "Axes") -> "Figure":
    figure = axes.get_figure(root=True)
    if figure is None:
        raise InputError("These axes belong to no figure. Save the figure before removing them.")
    return figure


@contextmanager
def _sized(figure: "Figure", width: float | None) -> Iterator[None]:
    """Give a figure this width and text of 8 points, and take it back afterwards."""
    if width is None:
        yield
        return
    from matplotlib.text import Text

    before = figure.get_size_inches().copy()
    texts = [(text, text.get_fontsize()) for text in figure.findobj(Text)]
    try:
        # Rows of text need their height; other figures are less high in a narrow column.
        rows, shape = before[1] * TEXT / 9, before[1] / before[0]
        figure.set_size_inches(width, rows if shape > 0.9 else width * min(0.75, 1.15 * shape))
        for text, _ in texts:
            text.set_fontsize(TEXT)
        yield
    finally:
        figure.set_size_inches(*before)
        for text, size in texts:
            text.set_fontsize(size)


def _shorter(coordinates: re.Match[str]) -> str:
    return re.sub(r"(?<=\.\d\d)\d+", "", coordinates[0])


@contextmanager
def _any_glyph() -> Iterator[None]:
    """Draw names in any script: matplotlib warns about each letter that its own font lacks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def svg(axes: "Axes") -> str:
    """Return a figure as SVG whose colours follow the light or dark mode of the page."""
    buffer = StringIO()
    with page_style(), _any_glyph():
        _figure(axes).savefig(
            buffer, format="svg", dpi=120, facecolor="none",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )  # fmt: skip
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for name, (light, _) in COLOURS.items():
        text = re.sub(rf"(?<=[ \"]){light}|(?<=: ){light}", f"var(--{name})", text)
    text = re.sub(r"font-family: [^;\"]*", "font-family: sans-serif", text)
    # Hundredths of a point are enough for coordinates.
    text = re.sub(r'(?<= d=")[^"]*|(?<= [xy]=")[^"]*', _shorter, text)
    text = re.sub(r"\n\s*", "\n", text)
    light = ";".join(f"--{name}:{pair[0]}" for name, pair in COLOURS.items())
    dark = ";".join(f"--{name}:{pair[1]}" for name, pair in COLOURS.items())
    style = f"svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}"
    return text.replace("<defs>", f"<defs><style>{style}</style>", 1)
