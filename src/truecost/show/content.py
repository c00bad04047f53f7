"""What a report holds before it is drawn: sections of sentences, numbers, tables, figures and commands."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from truecost.show import numbers
from truecost.show.theme import Chart

Tone = Literal["good", "bad", "open"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A paragraph; an `aside` says what is left out, and why, or how to read what stands beside it."""

    text: str
    aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """A list under a heading."""

    title: str
    points: tuple[str, ...]


class Cell(NamedTuple):
    """What a table is sorted by, what it shows, and words beside a name, "default" for instance."""

    value: float | str
    shown: str
    tags: tuple[str, ...] = ()


class Column(NamedTuple):
    """Its head, the term that explains it ("" for names that need none), and whether numbers stand in it."""

    label: str
    term: str
    numbers: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows that can be sorted by any column."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Figure:
    """A chart, the data it was drawn from, and what is to be seen in it; `wide`, it may fill the page."""

    name: str
    title: str
    notes: tuple[str, ...]
    chart: Chart
    data: Any
    wide: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Lines to copy, each with what it is good for."""

    commands: tuple[tuple[str, str], ...]


Block: TypeAlias = Facts | Text | Points | Table | Figure | Commands


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Section:
    """A question, its answer in a sentence, and what the answer rests on."""

    name: str
    title: str
    lead: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Report:
    """The page.

    Attributes
    ----------
    title, subtitle
        Its head.
    tone, badge, verdict
        The verdict as a colour, in a few words and in a sentence.
    more
        A second sentence: what the training cost hides.
    key
        The numbers beside the verdict.
    sections
        In the order of reading.
    numbers
        Every number, as plain data.
    version
        Of truecost.
    """

    title: str
    subtitle: str
    tone: Tone
    badge: str
    verdict: str
    more: str
    key: tuple[Fact, ...]
    sections: tuple[Section, ...]
    numbers: Mapping[str, Any]
    version: str

    @property
    def figures(self) -> dict[str, Figure]:
        """All figures by their names."""
        return {block.name: block for section in self.sections for block in section.blocks if isinstance(block, Figure)}

    @property
    def tables(self) -> dict[str, Table]:
        """All tables by their names."""
        return {block.name: block for section in self.sections for block in section.blocks if isinstance(block, Table)}

    @property
    def text(self) -> str:
        """Its sentences, without numbers, tables and figures."""
        parts = [self.verdict, self.more]
        for section in self.sections:
            parts.append(section.lead)
            for block in section.blocks:
                if isinstance(block, Text):
                    parts.append(block.text)
                elif isinstance(block, Points):
                    parts += block.points
        return "\n".join(parts)


def captioned(name: str, chart: Chart, data: object, first: str = "", title: str | None = None, wide: bool = True) -> Figure:
    """A figure whose own title and subtitle become text of the page, where they wrap and can be selected."""
    heading = chart.title.to_dict()
    under = heading.get("subtitle", [])
    notes = [under] if isinstance(under, str) else under
    if title is not None:
        notes = [heading["text"], *notes]
    text = first + " ".join(note if note.endswith(".") else f"{note}." for note in notes)
    return Figure(name=name, title=title or heading["text"], notes=(text,), chart=chart, data=data, wide=wide)


def number(value: float, digits: int = 4) -> str:
    """A number with a proper minus."""
    return numbers.number(value, digits).replace("-", "−")


def signed(value: float, digits: int = 4) -> str:
    """The same with its sign."""
    return f"+{number(value, digits)}" if math.isfinite(value) and value > 0 else number(value, digits)


def percent(share: float, digits: int = 0) -> str:
    """A share in per cent; a dash for what is not a number."""
    return f"{100 * share:.{digits}f} %".replace("-", "−") if math.isfinite(share) else "–"
