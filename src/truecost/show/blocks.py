"""The parts of a document: sections of sentences, numbers, tables, figures and commands.

The terminal and the page render the same blocks; some are for the page only. Folded blocks are one
click away on the page, always on paper, and in the terminal part of the details.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:  # a terminal draws no charts, and starts faster without them
    from truecost.show.theme import Chart

# What a text says about the incumbent, or how prominent it is.
Tone = Literal["", "good", "bad", "open", "aside", "strong"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A number with its label.

    Attributes
    ----------
    term
        The key of its explanation in the glossary.
    value, text
        The number, and as it is written.
    label
        Its name here, if not the glossary's.
    unit, note
        Text behind and below it.
    """

    term: str
    value: Any
    text: str
    label: str = ""
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Numbers side by side."""

    facts: tuple[Fact, ...]
    page_only: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; an `aside` is less prominent: what is missing, or how to read a table."""

    text: str
    aside: bool = False
    tone: Tone = ""
    page_only: bool = False


@dataclass(frozen=True, slots=True)
class Points:
    """A list, under a heading if it has one."""

    title: str
    points: tuple[str, ...]


class Cell(NamedTuple):
    """The value to sort by, the text, tags beside a name ("default"), and a tone."""

    value: float | str
    text: str
    tags: tuple[str, ...] = ()
    tone: Tone = ""


class Column(NamedTuple):
    """The head, the glossary term if there is one, and whether it holds numbers."""

    label: str
    term: str = ""
    numbers: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that the page can sort by any column; a terminal shows the first `most` of them."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    most: int | None = None


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart with its caption.

    Attributes
    ----------
    name, title, notes
        The notes are printed under the title.
    draw
        Computes the data and the chart; called once, and only if the chart is shown.
    wide
        Whether it may fill the page.
    """

    name: str
    title: str
    notes: tuple[str, ...]
    draw: Callable[[], "tuple[Any, Chart]"]
    wide: bool = True
    page_only: bool = False

    @cached_property
    def drawn(self) -> "tuple[Any, Chart]":
        """The data and the chart."""
        return self.draw()

    @property
    def data(self) -> Any:
        """The data of the chart."""
        return self.drawn[0]

    @property
    def chart(self) -> "Chart":
        """The chart."""
        return self.drawn[1]


@dataclass(frozen=True, slots=True)
class Commands:
    """Lines to copy, each with its purpose."""

    commands: tuple[tuple[str, str], ...]
    title: str = "Commands to copy"


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """A question whose answer is hidden until asked for."""

    title: str
    blocks: "tuple[Block, ...]"


Block: TypeAlias = Facts | Text | Points | Table | Figure | Commands | Fold


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A question, its answer, and the details; `folded` hides all but the question.

    The two-page print has only the verdict and `brief` sections.
    """

    name: str
    title: str
    lead: str
    blocks: tuple[Block, ...]
    folded: bool = False
    brief: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Document:
    """A report on recorded runs.

    Attributes
    ----------
    title, subtitle
        The heading.
    tone, badge, verdict
        The verdict as a colour, in a few words and in a sentence.
    more
        A second sentence: what the training cost hides.
    picture
        The verdict as a figure, if there is one.
    key
        The numbers beside the verdict.
    sections
        In reading order.
    version
        The version of truecost; for a page.
    data
        Every number as plain data; for a page.
    origin
        The command and the digest of the input, for print.
    pairs
        Mean costs of all configurations on all instances, for the choice of another pair, and the
        single runs of winner and default; empty if there are too many.
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
    origin: str = ""
    pairs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def blocks(self) -> Iterator[Block]:
        """The picture and the blocks of all sections, including folded ones."""
        yield from () if self.picture is None else (self.picture,)
        for section in self.sections:
            yield from unfolded(section.blocks)

    @property
    def figures(self) -> dict[str, Figure]:
        """All figures by name."""
        return {block.name: block for block in self.blocks if isinstance(block, Figure)}

    @property
    def tables(self) -> dict[str, Table]:
        """All tables by name."""
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
    """Yield the blocks, with folds replaced by their content."""
    for block in blocks:
        if isinstance(block, Fold):
            yield from unfolded(block.blocks)
        else:
            yield block
