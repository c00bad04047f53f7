"""The verdict on one screen of 80 × 24, and the rest on request."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from truecost.show import sections
from truecost.show.next_steps import explained, next_steps
from truecost.show.numbers import HELD, confidence, unbroken
from truecost.show.verdict import NAMES, Block, Names, Tone, block, where

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment

# Lines of a small terminal, less the one of the prompt.
LINES = 23
_CODES: dict[Tone | str, str] = {
    "good": "1;32", "open": "1;33", "bad": "1;31", "strong": "1", "dim": "2",
}  # fmt: skip
# Quantities that the block does not show.
_ALSO = ("mean", "solved difference", "median speed-up", "geometric speed-up", "margin")


def screen(
    assessment: "Assessment",
    names: Names = NAMES,
    *,
    all: bool = False,  # noqa: A002 - what the option is called
    steps: tuple[str, ...] | None = None,
    width: int = 80,
    colour: bool = False,
) -> str:
    """Return what `audit` prints: verdict, block, statements, next step; with `all` the rest.

    `steps` replaces the commands that `next_steps` would print.
    """
    paint = _painter(colour)
    said = block(assessment, names)
    lines = [paint(line, "dim") for line in wrapped(sections.size(assessment.log), width)]
    lines += block_text(said, width=width, colour=colour).splitlines()
    table = sections.statements(assessment, names)
    if all:
        lines += _everything(assessment, names, table, width, colour)
    else:
        lines += _also(assessment, table, colour)
    commands = next_steps(assessment) if steps is None else steps
    after = [f"{paint('Next:', 'strong')} {explained(command)}" for command in commands]
    points = [_point(text, width) for text in sections.caveats(assessment)]
    room = LINES - len(lines) - sum(1 + len(line) // width for line in after) - 1
    caveats = _fitting(points, room) if not all else [line for point in points for line in point]
    if caveats:
        lines += ["", *caveats] if all else caveats
    return "\n".join([*lines, *after])


def block_text(said: Block, *, width: int = 80, colour: bool = False) -> str:
    """Return the verdict block alone, as compare, validate, configure and demo print it."""
    paint = _painter(colour)
    first, *more = wrapped(said.answer, width)
    # Where the penalty decides, the headline begins with the first word of the badge.
    lead = said.badge if first.startswith(said.badge) else said.badge.partition(" ")[0]
    if first.startswith(lead):
        first = f"{paint(lead, said.tone)}{first[len(lead) :]}"
    lines = [first, *more]
    lines += wrapped(said.second, width)
    if said.rows:
        lines += ["", paint(said.title, "strong"), *_pairs(said.rows)]
    for sentence in (said.margin, said.training):
        lines += wrapped(sentence, width)
    return "\n".join(lines)


def _also(assessment: "Assessment", table: sections.Table, colour: bool) -> list[str]:
    """Return the statements that the block does not show, one line each."""
    rows = []
    judged = assessment.log.test or assessment.log.runs
    for one, row in zip(assessment.statements, table.rows, strict=True):
        limited = isfinite(one.lower) or isfinite(one.upper)
        about_winner = one.configuration == assessment.winner
        if one.quantity == "solved difference" and judged.par is None and one.observed == 0:
            continue  # every run of a target that reports a cost is solved, as a rule
        if one.quantity in _ALSO and limited and about_winner:
            rows.append((row[0], f"{row[2]}, limits {row[3]}"))
    if not rows:
        return []
    title = f"Also {where(assessment)} (each limit {confidence(assessment.question.delta)})"
    return ["", _painter(colour)(title, "strong"), *_pairs(rows[:5])]


def _everything(
    assessment: "Assessment", names: Names, table: sections.Table, width: int, colour: bool
) -> Iterator[str]:
    paint = _painter(colour)
    if table.rows:
        # The block has the one approximate interval.
        narrow = sections.Table(
            head=table.head[:-1], rows=tuple(row[:-1] for row in table.rows), texts=table.texts
        )
        shown = sections.without_empty(narrow)
        yield from ("", paint("Statements", "strong"), *_grid(shown, width))
    if (ladder := sections.ladder(assessment)) is not None:
        yield from ("", paint("By penalty", "strong"), *_grid(ladder, width))
    ranking = sections.ranking(assessment)
    few = sections.Table(head=ranking.head, rows=ranking.rows[:10])
    yield from ("", paint("Training", "strong"), *_grid(few, width))
    for sentence in (sections.best_set(assessment), sections.noise(assessment, names)):
        yield from wrapped(sentence, width)
    if assumed := sections.assumptions(assessment, names):
        yield from ("", paint("Assumptions", "strong"))
        for line in assumed:
            yield from _point(line, width)


def _fitting(points: Sequence[list[str]], room: int) -> list[str]:
    """Return the caveats for which there is room, each whole; of the first one, the condition
    where there is one, at least the beginning.
    """
    if sum(map(len, points)) <= max(room, 1):
        return [line for point in points for line in point]
    room = max(room - 1, 1)
    lines: list[str] = []
    for point in points:
        if len(lines) + len(point) > room:
            break
        lines += point
    if not lines:
        *lines, last = points[0][:room]
        lines.append(f"{last} …")
    return [*lines, "  More caveats: --all"]


def _painter(colour: bool) -> Callable[[str, str], str]:
    def paint(text: str, tone: str) -> str:
        return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if colour else text

    return paint


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a paragraph; no number is parted from its unit."""
    held = unbroken(text)
    lines = textwrap.wrap(held, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(HELD, " ") for line in lines]


def _point(text: str, width: int) -> list[str]:
    first, *more = wrapped(text, width - 2) or [""]
    return [f"• {first}", *(f"  {line}" for line in more)]


def _pairs(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return lines of a label and a value."""
    from rich.cells import cell_len

    room = max(cell_len(name) for name, _ in rows)
    return [f"  {name}{' ' * (room - cell_len(name))}  {value}" for name, value in rows]


def _grid(table: sections.Table, width: int) -> list[str]:
    """Return a table in columns; the first gives way where there is not enough room."""
    from rich.cells import cell_len, set_cell_size

    rows = [table.head, *table.rows]
    widths = [max(cell_len(row[place]) for row in rows) for place in range(len(table.head))]
    widths[0] = max(8, min(widths[0], width - sum(widths[1:]) - 2 * len(widths)))
    lines = []
    for row in rows:
        cells = [
            set_cell_size(cell, room) if place < table.texts
            else " " * (room - cell_len(cell)) + cell
            for place, (cell, room) in enumerate(zip(row, widths, strict=True))
        ]  # fmt: skip
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines
