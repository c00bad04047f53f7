"""What commands print with: rich tables for people, JSON for programs."""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

NARROWEST = 60

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Low = Annotated[float | None, typer.Option(help="The least cost a run can have, where the file does not say.")]
High = Annotated[float | None, typer.Option(help="The largest cost a run can have, where the file does not say.")]


def console() -> "Console":
    """Where tables go: as wide as the terminal, 80 columns where there is none, and never too narrow for a table."""
    from rich.console import Console

    found = Console(highlight=False, emoji=False)
    return found if found.width >= NARROWEST else Console(highlight=False, emoji=False, width=NARROWEST)


def visible(text: str) -> str:
    """The text with control characters shown instead of obeyed: names come from files."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """A table whose first `left` columns are text and whose others are numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for place, column in enumerate(columns):
        text = place < left
        table.add_column(Text(column), justify="left" if text else "right", overflow="fold" if text else "ellipsis")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console().print(table)


def print_line(text: str = "", *, wrap: bool = True) -> None:
    """A line of plain text; names from files are never taken for markup. Commands to copy are not wrapped."""
    console().print(visible(text), markup=False, soft_wrap=not wrap)


def print_json(value: object) -> None:
    """JSON as everybody reads it: what is not a number is null."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, allow_nan=False) + "\n")


def number(value: float, digits: int = 4) -> str:
    """A number as people read it, with so many significant digits; a dash for what is not one."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if -4 < size < 9:
        return f"{value:,.{max(0, digits - 1 - size)}f}"
    return f"{value:.{digits - 1}e}"


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
