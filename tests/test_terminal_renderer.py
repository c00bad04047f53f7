"""Documents in terminals of any width."""

import io
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from truecost.show import terminal
from truecost.show.blocks import (
    Block,
    Cell,
    Column,
    Commands,
    Document,
    Fact,
    Facts,
    Figure,
    Fold,
    Points,
    Section,
    Table,
    Text,
)
from truecost.show.numbers import at_least, at_most, between, confidence, number, percent, signed
from truecost.show.numbers import given as chosen
from truecost.show.text import visible

WIDTHS = st.integers(60, 120)
# Words that no terminal should obey, letters of double width, and names of all lengths.
NAMES = st.one_of(
    st.sampled_from(
        [
            "[bold]a[/bold]",
            "[/nope]",
            ":smile:",
            "\x1b[31mred",
            "漢字" * 8,
            "a b c",
            "tab\there",
            "x" * 45,
        ]
    ),
    st.text(st.characters(codec="ascii", exclude_characters=" \n"), min_size=1, max_size=50),
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(number)


def printed(*parts: Any, width: int = 80, details: bool = False) -> str:
    """What a terminal without colours shows."""
    into = io.StringIO()
    (what,) = parts if len(parts) == 1 and isinstance(parts[0], Document) else (parts,)
    terminal.show(
        what, into=Console(file=into, width=width, highlight=False, emoji=True), details=details
    )
    return into.getvalue()


def table(rows: list[list[str]], text: set[int], **more: Any) -> Table:
    """A table with these cells, of which some columns are text."""
    columns = tuple(
        Column(f"head {place}", "", numbers=place not in text) for place in range(len(rows[0]))
    )
    cells = tuple(tuple(Cell(cell, cell) for cell in row) for row in rows)
    return Table(name="t", title="A title", columns=columns, rows=cells, **more)


@given(
    names=st.lists(NAMES, min_size=1, max_size=4),
    numbers=st.lists(NUMBERS, min_size=9, max_size=9),
    place=st.integers(0, 1),
    width=WIDTHS,
)
@settings(max_examples=60, deadline=None)
def test_tables_keep_every_name_and_digit(
    names: list[str], numbers: list[str], place: int, width: int
) -> None:
    """A name or a number in a table would be broken, cut or obeyed, or a line would be wider than
    the terminal.
    """
    rows = [[*numbers[:place], name, *numbers[place:]] for name in names]
    text = printed(table(rows, {place}), width=width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    words = text.split()
    assert set(numbers) <= set(words)
    # As whole words: names of up to 50 columns leave room for a number beside them, if not at 60
    # columns.
    for name in names:
        if cell_len(visible(name)) + 2 * 15 <= width:
            assert set(visible(name).split()) <= set(words)
        else:
            assert not set(visible(name)) - set(text)


@given(
    name=st.text(min_size=100, max_size=2000),
    numbers=st.lists(NUMBERS, min_size=5, max_size=5),
    width=WIDTHS,
)
@settings(max_examples=30, deadline=None)
def test_endless_names_are_cut_in_the_middle(name: str, numbers: list[str], width: int) -> None:
    """A name of a thousand letters would fill the screen, or take the digits beside it with it."""
    text = printed(table([[name, *numbers]], {0}), width=width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert set(numbers) <= set(text.split())
    assert len(text.splitlines()) <= 40


def test_long_names_move_columns_into_another_table() -> None:
    """A name would be broken in two although there is a layout in which it stands whole."""
    name = "configuration-" + "x" * 36
    text = printed(table([[name, *("12,345.6" for _ in range(7))]], {0}), width=80)
    assert text.count(name) == text.count("head 0") > 1
    assert text.count("12,345.6") == 7
    assert printed(table([["short", "1", "2"]], {0})).count("head 0") == 1


def test_a_name_that_is_broken_breaks_no_other() -> None:
    """One name that is too long for the terminal would break all those beside it that are not."""
    numbers = ["0"] * 5 + ["10,000", "0", "0"]
    text = printed(table([["0", name, *numbers] for name in ("x" * 45, "y" * 27)], {1}), width=60)
    assert "x" * 45 not in text
    assert text.count("y" * 27) == text.count("head 1") > 1
    assert text.split().count("10,000") == 2


def test_sentences_in_a_table_are_whole() -> None:
    """A statement that wraps would lose its middle like an endless name."""
    sentence = " ".join(f"word{place}" for place in range(60))
    text = printed(table([[sentence, *("12,345.6" for _ in range(4))]], {0}), width=60)
    assert set(sentence.split()) <= set(text.split())
    assert "…" not in text


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Any blocks, in sections and folds."""
    words = st.text(st.characters(codec="utf-8"), max_size=60)
    fact = st.builds(
        Fact,
        term=st.just("cost"),
        value=st.none(),
        text=NUMBERS,
        label=words,
        unit=st.just("s"),
        note=words,
    )
    where = st.booleans()
    block: st.SearchStrategy[Block] = st.one_of(
        st.builds(Text, text=words, aside=st.booleans(), page_only=where),
        st.builds(Facts, facts=st.lists(fact, max_size=3).map(tuple), page_only=where),
        st.builds(Points, title=words, points=st.lists(words, max_size=3).map(tuple)),
        st.builds(
            lambda names, most: table([[name, "1.5"] for name in names], {0}, most=most),
            st.lists(NAMES, min_size=1, max_size=4),
            st.sampled_from([None, 2]),
        ),
        st.builds(lambda note: Figure(name="f", title="t", notes=(note,), draw=undrawn), words),
    )
    blocks = st.lists(block, max_size=3).map(tuple)
    fold = st.builds(Fold, title=words, blocks=blocks)
    section = st.builds(
        Section,
        name=st.just("s"),
        title=words,
        lead=words,
        blocks=st.lists(block | fold, max_size=3).map(tuple),
        folded=st.booleans(),
    )
    return Document(
        title=draw(words),
        subtitle="",
        tone="open",
        badge=draw(words),
        verdict=draw(words),
        more=draw(words),
        key=tuple(draw(st.lists(fact, max_size=3))),
        sections=tuple(draw(st.lists(section, max_size=3))),
        version="1",
    )


def undrawn() -> Any:
    """What a terminal must not do."""
    raise AssertionError


@given(document=documents(), width=WIDTHS, details=st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_document_fits(document: Document, width: int, details: bool) -> None:
    """A document would be wider than its terminal, send it control characters, or lose a number
    beside the verdict.
    """
    text = printed(document, width=width, details=details)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert all(letter.isprintable() for letter in text.replace("\n", ""))
    assert {fact.text for fact in document.key} <= set(text.split())


def test_what_is_folded_is_shown_on_demand() -> None:
    """A terminal would print the page's small print every time, or never; or what is for the page
    alone.
    """
    section = Section(
        name="s",
        title="How sure?",
        lead="Quite.",
        blocks=(
            Text(text="for both"),
            Text(text="for the page", page_only=True),
            Fold(title="What does it assume?", blocks=(Points(title="", points=("a point",)),)),
            Figure(name="g", title="a figure", notes=("unsaid",), draw=undrawn),
            Text(text="and more"),
        ),
    )
    folded = Section(
        name="f", title="How was it made?", lead="", blocks=(Text(text="by hand"),), folded=True
    )
    assert printed(section, folded) == "How sure?\nQuite.\nfor both\nand more\n"
    whole = printed(section, folded, details=True)
    assert "\n\nWhat does it assume?\n • a point\n\nand more\n" in whole
    assert whole.endswith("\n\nHow was it made?\nby hand\n")


def test_tables_say_what_they_leave_out() -> None:
    """A terminal would show all of a thousand rows, or a few of them as if they were all."""
    many = table([[f"name-{row}", str(row)] for row in range(50)], {0}, most=10)
    columns = many.columns
    text = printed(Table(name="t", title="T", columns=columns, rows=many.rows, most=10))
    assert "name-9" in text
    assert "name-10" not in text
    assert "10 of 50 are shown." in text
    tagged = Table(name="t", title="", columns=columns[:1], rows=((Cell("a", "a", ("default",)),),))
    assert "a (default)" in printed(tagged)


def test_commands_are_whole() -> None:
    """A command to copy would be broken by the width of the terminal."""
    command = "truecost validate " + " ".join(f"--option-{i}=value" for i in range(20))
    text = printed(Commands(commands=((command, "why one would"),)), width=60)
    assert f"\n  {command}\n" in text
    assert text.startswith("why one would")


@pytest.mark.parametrize("number", ["0.111 s", "0.419 PAR10 s", "15 %", "2.3 ms", "4 GB"])
def test_a_number_and_its_unit_are_on_one_line(number: str) -> None:
    """A line would end between a number and its unit."""
    for width in range(60, 90):
        text = printed(
            Text(f"{'word ' * 11}{number} {'word ' * 7}{number}, {number} each."), width=width
        )
        assert text.count(number) == 3, text
        assert max(map(cell_len, text.splitlines())) <= width


def test_facts_are_aligned() -> None:
    """Numbers under each other would start anywhere."""
    facts = (
        Fact(term="cost", value=1, text="1.5", unit="s", note="a note"),
        Fact(term="cost", value=2, text="22.5", label="a longer label"),
    )
    first, second = printed(Facts(facts=facts)).splitlines()
    assert re.fullmatch(r"cost +1\.5 s  a note *", first)
    assert first.index("1.5") == second.index("22.5")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(1234567.8), "1,230,000"),
        (number(1234567), "1,234,567"),
        (number(-0.61823), "−0.618"),
        (number(0.0996, 2), "0.10"),
        (number(12345678.0), "12,300,000"),
        (number(12345678), "12,345,678"),
        (number(-1.234e-7), "−1.23e−7"),
        (number(float("nan")), "–"),
        (number(0.0), "0"),
        (signed(1.5), "+1.50"),
        (signed(-1.5), "−1.50"),
        (percent(-0.123, 1), "−12.3 %"),
        (percent(float("inf")), "–"),
        (confidence(0.025), "97.5 %"),
        (confidence(0.05), "95 %"),
        (confidence(1e-300), "over 99.9999999 %"),
        (chosen(123456700), "123,456,700"),
        (chosen(0.05), "0.05"),
        (chosen(-1e20), "−1e20"),
        (between(1.0, 2.0), "1.00 to 2.00"),
        (between(1000.12, 1000.34), "1,000.1 to 1,000.3"),
        (between(float("nan"), 1), "– to 1.00"),
    ],
)
def test_a_number_is_written_in_one_way(shown: str, expected: str) -> None:
    """Numbers in one output would have other digits, separators or signs than in another."""
    assert shown == expected


@given(st.floats(-1e9, 1e9), st.integers(2, 6))
def test_limits_are_rounded_to_the_safe_side(value: float, digits: int) -> None:
    """A limit would be written tighter than it was shown."""

    def read(text: str) -> float:
        return float(text.replace("−", "-").replace(",", ""))

    assert read(at_least(value, digits)) <= value <= read(at_most(value, digits))
