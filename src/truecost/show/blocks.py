"""What a document is made of before it is drawn: sections of sentences, numbers, tables, figures
and commands.

The terminal and the page draw the same blocks. A block may be for one of them only, and what is
folded is one click away on the page, printed on paper, and in the terminal shown where details are
asked for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:  # a terminal draws no charts, and starts the faster for it
    from truecost.show.theme import Chart

# What something says of the incumbent, or how it is said.
Tone = Literal["", "good", "bad", "open", "aside", "strong"]
# Where a block is shown.
Where = Literal["both", "page", "terminal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A number as people read it.

    Attributes
    ----------
    term
        Of the glossary, which explains it.
    value, shown
        The number, and how it is written.
    label
        What it is called here, where not by the glossary's name.
    unit, note
        Behind it and under it.
    """

    term: str
    value: Any
    shown: str
    label: str = ""
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Numbers side by side."""

    facts: tuple[Fact, ...]
    where: Where = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A paragraph; an `aside` says what is left out, and why, or how to read what stands beside it."""

    text: str
    aside: bool = False
    tone: Tone = ""
    where: Where = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """A list, under a heading if it has one."""

    title: str
    points: tuple[str, ...]
    where: Where = "both"


class Cell(NamedTuple):
    """What a table is sorted by, what it shows, words beside a name, "default" for instance, and
    what it says of it.
    """

    value: float | str
    shown: str
    tags: tuple[str, ...] = ()
    tone: Tone = ""


class Column(NamedTuple):
    """Its head, the term that explains it ("" for what needs none), whether numbers stand in it,
    and where it is shown.
    """

    label: str
    term: str
    numbers: bool = True
    where: Where = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows that can be sorted by any column; a terminal shows the first `most` of them."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    most: int | None = None
    where: Where = "both"


@dataclass(frozen=True, kw_only=True, eq=False)
class Figure:
    """A chart and what is to be seen in it.

    Attributes
    ----------
    name, title, notes
        The notes stand under the title.
    draw
        Makes the data and the chart from them; called once, and only where the chart is shown.
    wide
        Whether it may fill the page.
    said
        Whether a terminal, which shows no charts, prints the first note.
    """

    name: str
    title: str
    notes: tuple[str, ...]
    draw: Callable[[], "tuple[Any, Chart]"]
    wide: bool = True
    said: bool = False
    where: Where = "both"

    @cached_property
    def drawn(self) -> "tuple[Any, Chart]":
        """The data, and the chart that was drawn from them."""
        return self.draw()

    @property
    def data(self) -> Any:
        """What the chart was drawn from."""
        return self.drawn[0]

    @property
    def chart(self) -> "Chart":
        """The chart."""
        return self.drawn[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Lines to copy, each with what it is good for."""

    commands: tuple[tuple[str, str], ...]
    title: str = "Commands to copy"
    where: Where = "both"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """A question and what answers it, shown when asked for."""

    title: str
    blocks: "tuple[Block, ...]"
    where: Where = "both"


Block: TypeAlias = Facts | Text | Points | Table | Figure | Commands | Fold


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Section:
    """A question, its answer in a sentence, and what the answer rests on; all of it may be folded
    under the question.
    """

    name: str
    title: str
    lead: str
    blocks: tuple[Block, ...]
    folded: bool = False
    where: Where = "both"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Document:
    """What is said of recorded runs.

    Attributes
    ----------
    title, subtitle
        Its head.
    tone, badge, verdict
        The verdict as a colour, in a few words and in a sentence.
    more
        A second sentence: what the training cost hides.
    picture
        The verdict at a glance; nothing in a document without runs.
    key
        The numbers beside the verdict.
    sections
        In the order of reading.
    version
        Of truecost; for a page.
    data
        Every number, as plain data; for a page.
    """

    title: str
    subtitle: str
    tone: Tone
    badge: str
    verdict: str
    more: str
    key: tuple[Fact, ...]
    sections: tuple[Section, ...]
    version: str = ""
    picture: Figure | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def blocks(self) -> Iterator[Block]:
        """The picture and all blocks of all sections, those in folds as well."""
        yield from () if self.picture is None else (self.picture,)
        for section in self.sections:
            yield from unfolded(section.blocks)

    @property
    def figures(self) -> dict[str, Figure]:
        """All figures by their names."""
        return {block.name: block for block in self.blocks if isinstance(block, Figure)}

    @property
    def tables(self) -> dict[str, Table]:
        """All tables by their names."""
        return {block.name: block for block in self.blocks if isinstance(block, Table)}

    @property
    def text(self) -> str:
        """Its sentences, without numbers, tables and figures."""
        parts = [self.verdict, self.more]
        for section in self.sections:
            parts.append(section.lead)
            for block in unfolded(section.blocks):
                if isinstance(block, Text):
                    parts.append(block.text)
                elif isinstance(block, Points):
                    parts += block.points
        return "\n".join(parts)


def unfolded(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks, and those in folds in their place."""
    for block in blocks:
        if isinstance(block, Fold):
            yield from unfolded(block.blocks)
        else:
            yield block
