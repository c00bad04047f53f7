"""A document in a terminal of 60 columns or more, without dropping a digit.

Names stay whole if any layout allows it. They come from files: markup and escape sequences in them
have no effect.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.containers import Lines
from rich.table import Table as Grid
from rich.text import Text as Line
from rich.theme import Theme

from truecost.show.blocks import (
    Block,
    Cell,
    Commands,
    Document,
    Facts,
    Fold,
    Points,
    Section,
    Table,
    Text,
    Tone,
)
from truecost.show.glossary import TERMS
from truecost.show.text import BEFORE_UNIT, WIDTH, visible

# Columns a table needs at least.
NARROWEST = 60
# A name that fits no layout gives way to numbers, but keeps this many columns, and takes at most
# this many lines.
NARROWEST_TEXT = 12
MOST_LINES = 4
# In the place of a space at which no line may end, while a paragraph is wrapped.
HELD = "\ue000"
# ± and its number are one word.
WORDS = re.compile(r"(?:± )?\S+")

# The only colours; words always convey the same.
TONES: dict[Tone, str] = {
    "": "",
    "good": "green",
    "bad": "red",
    "open": "yellow",
    "aside": "dim",
    "strong": "bold",
}


# Parts with an empty line before and after them.
APART = (Section, Table, Points, Commands, Fold)


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, 80 columns without one, and never below 60.

    Without colours if it is not a terminal, or a dumb one, or if NO_COLOR is set.
    """
    theme = Theme({tone: style for tone, style in TONES.items() if tone})
    options: dict[str, Any] = {"highlight": False, "emoji": False, "theme": theme, "stderr": stderr}
    if os.environ.get("NO_COLOR"):
        options["color_system"] = None  # rich would still print bold
    terminal = Console(**options)
    return terminal if terminal.width >= NARROWEST else Console(**options, width=NARROWEST)


def show(
    what: Document | Iterable[Section | Block],
    *,
    details: bool = False,
    into: Console | None = None,
) -> None:
    """Print a document, or some sections or blocks."""
    into = into or console()
    for part in render(what, into.width, details=details):
        put(part, into)


def render(
    what: Document | Iterable[Section | Block], width: int = WIDTH, *, details: bool = False
) -> Iterator[RenderableType]:
    """Yield what rich prints, to be printed without cropping; folded parts only with `details`."""
    if isinstance(what, Document):
        head = (
            line(what.title, "strong"),
            line(what.subtitle, "aside"),
            line(what.badge, what.tone),
            line(what.verdict),
            line(what.more),
        )
        yield from filter(None, head)
        yield from _facts(Facts(facts=what.key), width)
        yield ""
        what = what.sections
    before: Section | Block | None = None
    for part in what:
        # Nobody can unfold a part of a terminal: it is printed, or left out.
        folded = isinstance(part, Fold) or (isinstance(part, Section) and part.folded)
        if getattr(part, "page_only", False) or (folded and not details):
            continue
        parts = list(_part(part, width, details))
        if parts and before is not None and (isinstance(before, APART) or isinstance(part, APART)):
            yield ""
        before = part if parts else before
        yield from parts


def put(part: RenderableType, into: Console | None = None) -> None:
    """Print a part of a document."""
    # In a group: rich joins texts printed on their own, and forgets how they are wrapped. Not
    # cropped, since commands may be wider than the terminal.
    (into or console()).print(Group(part), crop=False)


class Paragraph(Line):
    """A text whose numbers stay on one line with their units."""

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """Return its lines."""
        whole = self.copy()
        whole.plain = BEFORE_UNIT.sub(HELD, self.plain)
        lines = whole.wrap(console, width, **options)
        for part in lines:
            part.plain = part.plain.replace(HELD, " ")
        return lines


def line(text: str, tone: Tone = "") -> Line:
    """Return a paragraph."""
    return Paragraph(visible(text), style=TONES[tone])


def unwrapped(text: str, tone: Tone = "") -> RenderableType:
    """Return a line to copy, never wrapped."""
    return Line(visible(text), style=TONES[tone], no_wrap=True, overflow="ignore")


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
        case Fold():
            yield line(block.title, "strong")
            yield from render(block.blocks, width, details=details)


def _facts(block: Facts, width: int) -> Iterator[RenderableType]:
    """Yield a line for each fact: label, number with unit, note."""
    labels = [line(fact.label or TERMS[fact.term].name) for fact in block.facts]
    values = [
        line(f"{fact.text} {fact.unit if fact.text != '–' else ''}".rstrip()).append(
            visible(f"  {fact.note}" if fact.note else ""), TONES["aside"]
        )
        for fact in block.facts
    ]
    if labels:
        first = min(max(label.cell_len for label in labels) + 1, width // 2)
        yield _grid(first, width, zip(labels, values, strict=True))


def _grid(first: int, width: int, rows: Iterable[tuple[Line, Line]]) -> Grid:
    """Return two columns with a space between them."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=first, overflow="fold")
    grid.add_column(max_width=width - first - 1, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _table(table: Table, width: int) -> Iterator[RenderableType]:
    """Yield the table; if too wide, words wrap, then columns that do not fit form another table."""
    rows = table.rows[: table.most]
    texts = [
        [visible(text) for text in (head.label, *(_tagged(row[place]) for row in rows))]
        for place, head in enumerate(table.columns)
    ]
    numbers = [head.numbers for head in table.columns]
    if table.title:
        yield line(table.title, "strong")
    for group, widths in _layout(texts, [not number for number in numbers], width):
        grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for place, room in zip(group, widths, strict=True):
            justify: Literal["left", "right"] = "right" if numbers[place] else "left"
            grid.add_column(Line(texts[place][0]), justify=justify, overflow="fold", width=room)
        for number, row in enumerate(rows, 1):
            cells = []
            for place, room in zip(group, widths, strict=True):
                text = texts[place][number]
                text = text if numbers[place] else _shortened(text, room)
                cells.append(Line(text, style=TONES[row[place].tone]))
            grid.add_row(*cells)
        yield grid
    if len(rows) < len(table.rows):
        yield line(f"{len(rows):,} of {len(table.rows):,} are shown.", "aside")


def _tagged(cell: Cell) -> str:
    return f"{cell.text} ({', '.join(cell.tags)})" if cell.tags else cell.text


def _layout(
    columns: Sequence[Sequence[str]], text: Sequence[bool], room: int
) -> list[tuple[list[int], list[int]]]:
    """Return the columns of each table and their widths; every table starts with the row names."""
    # Beside its cells a column takes 2: a space and a divider, or the table's borders.
    natural = [max(map(cell_len, cells)) for cells in columns]
    words = [
        [cell_len(word) for cell in cells for word in WORDS.findall(cell)] for cells in columns
    ]
    least = [max(lengths, default=0) for lengths in words]
    keys = list(range(text.index(True) + 1 if True in text[:2] else 1))
    others = range(len(keys), len(columns))
    taken = sum(least[place] + 2 for place in keys)
    # Names that leave no room for another column are broken in every layout.
    broken = [place for place in others if taken + least[place] + 2 > room]
    needs = {place: NARROWEST_TEXT if text[place] else least[place] for place in broken}
    widest = max((2 + needs.get(place, least[place]) for place in others), default=0)
    for place in (*keys, *broken) if broken or taken > room else ():
        if text[place]:
            head = max(map(cell_len, columns[place][0].split()), default=0)
            # One line below the maximum: wrapped words leave gaps.
            few = min(-(-natural[place] // (MOST_LINES - 1)), room // 2)
            # A broken name does not break others that fit.
            beside = sum(least[key] + 2 for key in keys if key != place)
            beside += widest if place in keys else 0
            whole = max((word for word in words[place] if word + 2 + beside <= room), default=0)
            least[place] = max(head, min(least[place], max(few, NARROWEST_TEXT, whole)))

    tables = [list(keys)]
    for place in others:
        needed = sum(least[column] + 2 for column in (*tables[-1], place))
        if len(tables[-1]) > len(keys) and needed > room:
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
    """Shrink text first, the widest column before others; then numbers."""
    widths = {place: natural[place] for place in places}
    for shrinking in (True, False):
        group = [place for place in places if text[place] == shrinking]
        while sum(widths.values()) > room and (
            wide := [place for place in group if widths[place] > least[place]]
        ):
            widths[max(wide, key=lambda place: widths[place])] -= 1
    return list(widths.values())


def _shortened(text: str, width: int) -> str:
    """Drop the middle of a text that has a broken word and takes too many lines."""
    room = MOST_LINES * width
    if cell_len(text) <= room or all(cell_len(word) <= width for word in text.split()):
        return text
    last = (room - 1) // 2
    return f"{set_cell_size(text, room - 1 - last)}…{set_cell_size(text[::-1], last)[::-1]}"
