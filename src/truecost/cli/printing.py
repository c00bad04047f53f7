"""What commands print with: documents and tables for people, JSON for programs."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from truecost.cli.command import flagged, flagged_parts
from truecost.show.blocks import Cell, Column, Document, Section, Table
from truecost.show.blocks import Tone as Tone
from truecost.show.numbers import duration as duration
from truecost.show.numbers import number as number
from truecost.show.text import visible as visible

if TYPE_CHECKING:
    from rich.console import Console

# Of what --json prints: counts the changes that break programs. docs/reference/json.md lists keys.
SCHEMA = 1


class Toned(NamedTuple):
    """A cell of a table that says something good, bad or open."""

    text: str
    tone: Tone


def answer(
    json: bool,
    data: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
    document: Callable[[], Document | Section | None],
    *,
    details: bool = False,
) -> None:
    """Answer a command: the data as JSON, or a document for people.

    What is a function is called only if it is wanted. A `document` that returns None has printed
    its lines itself.
    """
    if json:
        print_json(data() if callable(data) else data)
    elif (made := document()) is not None:
        from truecost.show import terminal

        made = flagged_parts(made)
        terminal.show(made if isinstance(made, Document) else [made], details=details)


def console(*, stderr: bool = False) -> "Console":
    """The terminal, as rich writes to it."""
    from truecost.show import terminal

    return terminal.console(stderr=stderr)


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Toned]], left: int = 1
) -> None:
    """A table whose first `left` columns are text and whose others are numbers."""
    from truecost.show import terminal

    cells = ([cell if isinstance(cell, Toned) else Toned(cell, "") for cell in row] for row in rows)
    table = Table(
        name="",
        title=title,
        columns=tuple(
            Column(label, "", numbers=place >= left) for place, label in enumerate(columns)
        ),
        rows=tuple(
            tuple(Cell(cell.text, cell.text, tone=cell.tone) for cell in row) for row in cells
        ),
    )
    terminal.show([table])
    print_line()


def print_line(text: str = "", tone: Tone = "", *, wrap: bool = True) -> None:
    """A line of text; names from files are never taken for markup. Commands to copy are not
    wrapped.
    """
    from truecost.show import terminal

    # A command that was wrapped cannot be pasted.
    line = terminal.line if wrap else terminal.unwrapped
    terminal.put(line(flagged(text), tone))


def print_json(value: Mapping[str, Any]) -> None:
    """JSON as everybody reads it: records are objects, what is not a finite number is null."""
    from pydantic_core import to_json

    from truecost.judge.parts import plain_data

    text = to_json(
        plain_data({"schema": SCHEMA, **value}),
        indent=2,
        inf_nan_mode="null",
        fallback=lambda array: array.tolist(),
    )
    sys.stdout.write(f"{text.decode()}\n")
