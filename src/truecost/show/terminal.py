"""A document in a terminal: it fits any width from 60 columns on, and no digit is ever left out.

Names are kept whole where any layout allows it. They come from files and are text: no markup and no
escape sequence in them is obeyed.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text as Line
from rich.theme import Theme

from truecost.show.blocks import (
    Block,
    Commands,
    Document,
    Facts,
    Figure,
    Fold,
    Points,
    Section,
    Table,
    Text,
    Tone,
)
from truecost.show.glossary import TERMS
from truecost.show.text import WIDTH, visible

# Columns where the terminal is narrower than a table can be.
NARROWEST = 60
# A name that fits into no layout gives way to numbers, but not below so many columns, nor on more
# lines than these.
NARROWEST_TEXT = 12
MOST_LINES = 4
# A number and its sign of ± are one word.
WORDS = re.compile(r"(?:± )?\S+")

# The only colours there are; what they say always stands there as a word too.
TONES: dict[Tone, str] = {
    "": "",
    "good": "green",
    "bad": "red",
    "open": "yellow",
    "aside": "dim",
    "strong": "bold",
}


# What has an empty line before and after it.
APART = (Section, Table, Points, Commands, Fold)


def console(*, stderr: bool = False) -> Console:
    """Where things go: as wide as the terminal, 80 columns where there is none, never too narrow
    for a table.

    Without colours where it is no terminal, or a dumb one, and with NO_COLOR.
    """
    theme = Theme({tone: style for tone, style in TONES.items() if tone})
    options: dict[str, Any] = {"highlight": False, "emoji": False, "theme": theme, "stderr": stderr}
    if os.environ.get("NO_COLOR"):
        options["color_system"] = None  # rich would still print bold
    found = Console(**options)
    return found if found.width >= NARROWEST else Console(**options, width=NARROWEST)


def show(
    what: Document | Iterable[Section | Block],
    *,
    details: bool = False,
    into: Console | None = None,
) -> None:
    """Print a document, or some sections or blocks."""
    into = into or console()
    for part in render(what, into.width, details=details):
        into.print(part, crop=False)  # commands are wider than they may be


def render(
    what: Document | Iterable[Section | Block], width: int = WIDTH, *, details: bool = False
) -> Iterator[RenderableType]:
    """What rich prints, part by part, without cropping; what is folded only with `details`."""
    if isinstance(what, Document):
        head = (
            line(what.title, "strong"),
            line(what.subtitle, "aside"),
            line(what.badge, what.tone),
            line(what.verdict),
        )
        yield from (each for each in (*head, line(what.more)) if each)
        yield from _facts(Facts(facts=what.key), width)
        yield ""
        what = what.sections
    before: Section | Block | None = None
    for part in what:
        folded = isinstance(part, Fold) or (isinstance(part, Section) and part.folded)
        if part.where == "page" or (folded and not details):
            continue
        parts = list(_part(part, width, details))
        if parts and before is not None and (isinstance(before, APART) or isinstance(part, APART)):
            yield ""
        before = part if parts else before
        yield from parts


def line(text: str, tone: Tone = "") -> Line:
    """A paragraph."""
    return Line(visible(text), style=TONES[tone])


def unwrapped(text: str, tone: Tone = "") -> RenderableType:
    """A line to copy, however long it is."""
    # In a group: rich joins texts that are printed alone, and forgets what they say of wrapping.
    return Group(Line(visible(text), style=TONES[tone], no_wrap=True, overflow="ignore"))


def _part(block: Section | Block, width: int, details: bool) -> Iterator[RenderableType]:
    match block:
        case Section():
            if block.title:
                yield line(block.title, "strong")
            if block.lead:
                yield line(block.lead)
            yield from render(block.blocks, width, details=details)
        case Text():
            yield line(block.text, block.tone or ("aside" if block.aside else ""))
        case Facts():
            yield from _facts(block, width)
        case Points():
            if block.title:
                yield line(block.title, "strong")
            yield _grid(2, width, ((Line(" •"), line(point)) for point in block.points))
        case Commands():
            for command, why in block.commands:
                if why:
                    yield line(why, "aside")
                yield unwrapped(f"  {command}", "strong")
        case Table():
            yield from _table(block, width)
        case Figure():
            if block.said and block.notes:
                yield line(block.notes[0])
        case Fold():
            yield line(block.title, "strong")
            yield from render(block.blocks, width, details=details)


def _facts(block: Facts, width: int) -> Iterator[RenderableType]:
    """A line for each: what it is called, the number with its unit, the note."""
    labels = [line(fact.label or TERMS[fact.term].name) for fact in block.facts]
    values = [
        line(f"{fact.shown} {fact.unit}".rstrip()).append(
            visible(f"  {fact.note}" if fact.note else ""), TONES["aside"]
        )
        for fact in block.facts
    ]
    if labels:
        first = min(max(label.cell_len for label in labels) + 1, width // 2)
        yield _grid(first, width, zip(labels, values, strict=True))


def _grid(first: int, width: int, rows: Iterable[tuple[Line, Line]]) -> Grid:
    """Two columns with a space between them."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=first, overflow="fold")
    grid.add_column(max_width=width - first - 1, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _table(table: Table, width: int) -> Iterator[RenderableType]:
    """The table; one that is too wide has its words wrapped, then columns that do not fit stand in
    a table below it.
    """
    places = [place for place, column in enumerate(table.columns) if column.where != "page"]
    heads = [table.columns[place] for place in places]
    rows = [[row[place] for place in places] for row in table.rows[: table.most]]
    texts = [
        [
            visible(head.label),
            *(visible(f"{row[place].shown}{_tags(row[place].tags)}") for row in rows),
        ]
        for place, head in enumerate(heads)
    ]
    if table.title:
        yield line(table.title, "strong")
    for shown, widths in _layout(texts, [not head.numbers for head in heads], width):
        grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for place, room in zip(shown, widths, strict=True):
            justify: Literal["left", "right"] = "right" if heads[place].numbers else "left"
            grid.add_column(Line(texts[place][0]), justify=justify, overflow="fold", width=room)
        for number, row in enumerate(rows, 1):
            cells = (
                texts[place][number]
                if heads[place].numbers
                else _shortened(texts[place][number], room)
                for place, room in zip(shown, widths, strict=True)
            )
            styles = (TONES[row[place].tone] for place in shown)
            grid.add_row(
                *(Line(cell, style=style) for cell, style in zip(cells, styles, strict=True))
            )
        yield grid
    if len(rows) < len(table.rows):
        yield line(f"{len(rows):,} of {len(table.rows):,} are shown.", "aside")


def _tags(tags: Sequence[str]) -> str:
    return f" ({', '.join(tags)})" if tags else ""


def _layout(
    columns: Sequence[Sequence[str]], text: Sequence[bool], room: int
) -> list[tuple[list[int], list[int]]]:
    """Which columns go into which table, and how wide they are there; every table begins with the
    names of the rows.
    """
    # Beside its cells a column takes 2: a space and a divider, or the borders of the table.
    natural = [max(map(cell_len, cells)) for cells in columns]
    words = [
        [cell_len(word) for cell in cells for word in WORDS.findall(cell)] for cells in columns
    ]
    least = [max(each, default=0) for each in words]
    keys = list(range(text.index(True) + 1 if True in text[:2] else 1))
    others = range(len(keys), len(columns))
    taken = sum(least[place] + 2 for place in keys)
    # Names that leave no room for another column are broken in any layout.
    broken = [place for place in others if taken + least[place] + 2 > room]
    widest = max(
        (
            2 + (NARROWEST_TEXT if place in broken and text[place] else least[place])
            for place in others
        ),
        default=0,
    )
    for place in (*keys, *broken) if broken or taken > room else ():
        if text[place]:
            head = max(map(cell_len, columns[place][0].split()), default=0)
            # On one line less than there may be: words that wrap leave room.
            few = min(-(-natural[place] // (MOST_LINES - 1)), room // 2)
            # A name that is broken breaks no other that has room.
            beside = sum(least[key] + 2 for key in keys if key != place) + (
                widest if place in keys else 0
            )
            whole = max((word for word in words[place] if word + 2 + beside <= room), default=0)
            least[place] = max(head, min(least[place], max(few, NARROWEST_TEXT, whole)))

    tables = [list(keys)]
    for place in others:
        if (
            len(tables[-1]) > len(keys)
            and sum(least[each] + 2 for each in (*tables[-1], place)) > room
        ):
            tables.append(list(keys))
        tables[-1].append(place)
    return [
        (places, _widths(places, natural, least, text, room - 2 * len(places))) for places in tables
    ]


def _widths(
    places: Sequence[int],
    natural: Sequence[int],
    least: Sequence[int],
    text: Sequence[bool],
    room: int,
) -> list[int]:
    """Text gives way first, the widest column before others; then numbers."""
    widths = {place: natural[place] for place in places}
    for group in (
        [place for place in places if text[place]],
        [place for place in places if not text[place]],
    ):
        while sum(widths.values()) > room and (
            wide := [place for place in group if widths[place] > least[place]]
        ):
            widths[max(wide, key=lambda place: widths[place])] -= 1
    return list(widths.values())


def _shortened(text: str, width: int) -> str:
    """The text without its middle, where a word in it is broken and it takes too many lines for
    that.
    """
    room = MOST_LINES * width
    if cell_len(text) <= room or all(cell_len(word) <= width for word in text.split()):
        return text
    last = (room - 1) // 2
    return f"{set_cell_size(text, room - 1 - last)}…{set_cell_size(text[::-1], last)[::-1]}"
