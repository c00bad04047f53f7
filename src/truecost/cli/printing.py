"""What commands print with: rich tables for people, JSON for programs."""

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from truecost.show.numbers import number as number

if TYPE_CHECKING:
    from rich.console import Console

# Columns where there is no terminal, and where it is narrower than a table can be.
WIDTH = 80
NARROWEST = 60
# A column of text gives way to numbers, but not below this.
NARROWEST_TEXT = 12
WORDS = re.compile(r"(?:± )?\S+")

# The only colours there are; what they say always stands there as a word too.
TONES = {"good": "green", "bad": "red", "open": "yellow", "aside": "dim", "strong": "bold"}
Tone = Literal["", "good", "bad", "open", "aside", "strong"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Low = Annotated[float | None, typer.Option(help="The least cost a run can have, where the file does not say.")]
High = Annotated[float | None, typer.Option(help="The largest cost a run can have, where the file does not say.")]


class Toned(NamedTuple):
    """A cell of a table that says something good, bad or open."""

    text: str
    tone: Tone


def console(*, stderr: bool = False) -> "Console":
    """Where things go: as wide as the terminal, 80 columns where there is none, never too narrow for a table.

    Without colours where it is no terminal, or a dumb one, and with NO_COLOR.
    """
    from rich.console import Console
    from rich.theme import Theme

    options: dict[str, Any] = {"highlight": False, "emoji": False, "theme": Theme(TONES), "stderr": stderr}
    if os.environ.get("NO_COLOR"):
        options["color_system"] = None  # rich would still print bold
    found = Console(**options)
    return found if found.width >= NARROWEST else Console(**options, width=NARROWEST)


def visible(text: str) -> str:
    """The text with control characters shown instead of obeyed: names come from files."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Toned]], left: int = 1) -> None:
    """A table whose first `left` columns are text and whose others are numbers.

    Where it is too wide, text is folded, then numbers are from their standard errors; columns that still do not fit go into
    a second table below. No digit is ever left out.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cells = [[cell if isinstance(cell, Toned) else Toned(cell, "") for cell in row] for row in rows]
    shown = [
        [Toned(visible(column), "") for column in columns],
        *([Toned(visible(c.text), c.tone) for c in row] for row in cells),
    ]
    into = console()
    for places, widths in _layout([[row[place].text for row in shown] for place in range(len(columns))], left, into.width):
        table = Table(
            title=Text(visible(title), style="bold"),
            title_justify="left",
            box=SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        title = ""
        for place, width in zip(places, widths, strict=True):
            justify: Literal["left", "right"] = "left" if place < left else "right"
            table.add_column(Text(shown[0][place].text), justify=justify, overflow="fold", width=width)
        for row in shown[1:]:
            table.add_row(*(Text(row[place].text, style=row[place].tone) for place in places))
        into.print(table)


def _layout(columns: Sequence[Sequence[str]], left: int, room: int) -> list[tuple[list[int], list[int]]]:
    """Which columns go into which table, and how wide they are there."""
    from rich.cells import cell_len

    # Beside its cells a column takes 2: a space and a divider, or the borders of the table.
    natural = [max(map(cell_len, cells)) for cells in columns]
    # A number and its sign of ± are one word.
    words = [max((cell_len(word) for cell in cells for word in WORDS.findall(cell)), default=0) for cells in columns]
    heads = [max(map(cell_len, cells[0].split()), default=0) for cells in columns]
    least = [max(heads[place], min(natural[place], NARROWEST_TEXT)) for place in range(left)] + words[left:]

    keys = list(range(max(left, 1)))
    tables = [list(keys)]
    for place in range(len(keys), len(columns)):
        if len(tables[-1]) > len(keys) and sum(least[each] + 2 for each in (*tables[-1], place)) > room:
            tables.append(list(keys))
        tables[-1].append(place)
    return [(places, _widths(places, natural, least, left, room - 2 * len(places))) for places in tables]


def _widths(places: Sequence[int], natural: Sequence[int], least: Sequence[int], left: int, room: int) -> list[int]:
    """Text gives way first, the widest column before others; then numbers."""
    widths = {place: natural[place] for place in places}
    for group in ([place for place in places if place < left], [place for place in places if place >= left]):
        while sum(widths.values()) > room and (wide := [place for place in group if widths[place] > least[place]]):
            widths[max(wide, key=lambda place: widths[place])] -= 1
    return list(widths.values())


def print_line(text: str = "", tone: Tone = "", *, wrap: bool = True) -> None:
    """A line of text; names from files are never taken for markup. Commands to copy are not wrapped."""
    console().print(visible(text), style=tone or None, markup=False, soft_wrap=not wrap)


def print_json(value: object) -> None:
    """JSON as everybody reads it: what is not a number is null."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, allow_nan=False) + "\n")


def duration(seconds: float) -> str:
    """A time as people say it."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.3g} s"


def _plain(value: object) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
