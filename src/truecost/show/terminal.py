"""The verdict on one screen of 80 × 24, and the rest on request."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Final

from truecost.show import sections
from truecost.show.next_steps import next_steps, with_comment
from truecost.show.numbers import HELD, confidence, unbroken
from truecost.show.verdict import Block, Tone, block
from truecost.show.words import NAMES, Names, scope_of, values

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment

# Lines of a small terminal, less the one of the prompt.
LINES: Final = 23
_CODES: Final[dict[Tone | str, str]] = {
    "good": "1;32", "open": "1;33", "bad": "1;31", "strong": "1", "dim": "2",
}  # fmt: skip
# Quantities that the block does not show.
_ALSO: Final = ("mean", "solved difference", "median speed-up", "geometric speed-up", "margin")
# How many statements and configurations there is room for.
_STATEMENTS, _CONFIGURATIONS = 5, 10


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
    lines = [paint(line, "dim") for line in wrapped(sections.size(assessment.log), width)]
    lines += _block_lines(block(assessment, names), width, paint)
    commands = next_steps(assessment) if steps is None else steps
    after = [f"{paint('Next:', 'strong')} {with_comment(command)}" for command in commands]
    points = [_point(text, width) for text in sections.caveats(assessment)]
    if all:
        lines += _everything(assessment, names, width, paint)
        caveats = [line for point in points for line in point]
        lines += ["", *caveats] if caveats else []
    else:
        room = LINES - 1 - len(lines) - sum(1 + len(line) // width for line in after)
        # The first caveat, the condition where there is one, matters more than these.
        first = len(points[0]) + (len(points) > 1) if points else 0
        also = _also(assessment, names, paint)[: max(0, room - first)]
        also = also if len(also) > 2 else []  # a title alone says nothing
        lines += [*also, *_fitting(points, room - len(also))]
    return "\n".join([*lines, *after])


def _block_lines(verdict: Block, width: int, paint: "Painter") -> Iterator[str]:
    first, *more = wrapped(verdict.answer, width)
    # Where the penalty decides, the headline begins with the first word of the badge.
    lead = verdict.badge if first.startswith(verdict.badge) else verdict.badge.partition(" ")[0]
    if first.startswith(lead):
        first = f"{paint(lead, verdict.tone)}{first[len(lead) :]}"
    yield from (first, *more, *wrapped(verdict.second, width))
    if verdict.rows:
        yield from ("", paint(verdict.title, "strong"), *_columns(verdict.rows, 2))
    for sentence in (verdict.margin, verdict.training):
        yield from wrapped(sentence, width)


def _also(assessment: "Assessment", names: Names, paint: "Painter") -> list[str]:
    """Return the statements that the block does not show, one line each."""
    rows = []
    timed = (assessment.log.test or assessment.log.runs).par is not None
    for one in assessment.statements:
        limited = isfinite(one.lower) or isfinite(one.upper)
        # Every run of a target that reports a cost is solved, as a rule.
        all_solved = one.quantity == "solved difference" and not timed and one.observed == 0
        about_winner = one.configuration == assessment.winner
        if one.quantity in _ALSO and about_winner and limited and not all_solved:
            observed, limits, _ = values(one)
            rows.append(
                (sections.quantity_name(assessment, one, names), f"{observed}, limits {limits}")
            )
    title = f"Also {scope_of(assessment)} (each limit {confidence(assessment.question.delta)})"
    return ["", paint(title, "strong"), *_columns(rows[:_STATEMENTS], 2)] if rows else []


def _everything(
    assessment: "Assessment", names: Names, width: int, paint: "Painter"
) -> Iterator[str]:
    tables = {
        "Statements": sections.statements(assessment, names),
        "By penalty": sections.ladder(assessment),
    }
    # Two alone are compared in the block.
    if len(assessment.ranking) > 2:
        title = sections.ranking_title(assessment, _CONFIGURATIONS)
        tables[title] = sections.ranking(assessment, _CONFIGURATIONS)
    for title, table in tables.items():
        if table is not None and table.rows:
            lines = _columns([table.head, *table.rows], table.texts, width)
            yield from ("", paint(title, "strong"), *lines)
    for sentence in (sections.best_set(assessment), sections.noise(assessment, names)):
        yield from wrapped(sentence, width)
    if assumed := sections.assumptions(assessment, names):
        yield from ("", paint("Assumptions", "strong"))
        for line in assumed:
            yield from _point(line, width)


def _fitting(points: Sequence[list[str]], room: int) -> list[str]:
    """Return the caveats for which there is room, each whole, and in any case the first one."""
    lines: list[str] = []
    for left, point in zip(reversed(range(len(points))), points, strict=True):
        if lines and len(lines) + len(point) + bool(left) > room:
            return [*lines, "  More caveats: --all"]
        lines += point
    return lines


Painter = Callable[[str, str], str]


def _painter(colour: bool) -> Painter:
    return lambda text, tone: f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if colour else text


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a paragraph; no number is parted from its unit."""
    held = unbroken(text)
    lines = textwrap.wrap(held, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(HELD, " ") for line in lines]


def _point(text: str, width: int) -> list[str]:
    first, *more = wrapped(text, width - 2) or [""]
    return [f"• {first}", *(f"  {line}" for line in more)]


def _columns(rows: Sequence[tuple[str, ...]], texts: int, width: int = 1_000) -> list[str]:
    """Return rows in columns, numbers to the right; where there is not enough room, the first
    column gives way.
    """
    from rich.cells import cell_len, set_cell_size

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    widths[0] = max(8, min(widths[0], width - sum(widths[1:]) - 2 * len(widths)))
    lines = []
    for row in rows:
        cells = [
            set_cell_size(cell, room) if place < texts else " " * (room - cell_len(cell)) + cell
            for place, (cell, room) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines
