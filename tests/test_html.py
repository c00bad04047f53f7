"""Documents as HTML, without a browser: what is shown where, and that names stay text."""

import re
from typing import Any

import pytest
from test_report import HOSTILE, Reader

from truecost.show import html
from truecost.show.blocks import (
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


def undrawn() -> Any:
    """What nobody asked for."""
    raise AssertionError


def document(name: str) -> Document:
    """One of every block but a chart, each with the name in it."""
    columns = (Column(name, numbers=False), Column("a number", "cost"))
    cells = (Cell(name, name, (name,), "good"), Cell(1.5, "1.50"))
    fact = Fact(term="cost", value=1, text=name, label=name, unit=name, note=name)
    blocks = (
        Facts(facts=(fact,)),
        Text(text=name, tone="bad"),
        Text(text="only on a page", page_only=True),
        Points(title=name, points=(name,)),
        Commands(commands=((name, name),), title=name),
        Table(name="t", title=name, columns=columns, rows=(cells, cells), most=1),
        Fold(title=name, blocks=(Text(text=name),)),
    )
    sections = (Section(name="one", title=name, lead=name, blocks=blocks, folded=True),)
    return Document(
        title=name,
        subtitle=name,
        tone="",
        badge=name,
        verdict=name,
        more=name,
        key=(fact,),
        sections=sections,
        version=name,
    )


@pytest.mark.parametrize("draw", [html.page, html.fragment])
@pytest.mark.parametrize(
    "name",
    [
        HOSTILE,
        "</script></style></details>",
        "{{ 7*7 }}{% raise %}",
        "\"'>&lt;",
        "a\x1b[2J\u2028\n",
    ],
)
def test_names_are_text_everywhere(draw: Any, name: str) -> None:
    """A name would become markup of the page, or of the notebook that it is shown in."""
    made = draw(document(name))
    found, plain = Reader(made.encode()), Reader(draw(document("plain")).encode())
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in plain.tags]
    assert [sorted(attributes) for _, attributes in found.tags] == [
        sorted(attributes) for _, attributes in plain.tags
    ]
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    assert "".join(found.texts).count(shown) == "".join(plain.texts).count("plain")
    assert draw(document(name)) == made


def test_what_is_for_the_page_is_on_it() -> None:
    """The page would leave out what is written for it alone, numbers of a table, or folds."""
    for draw in (html.page, html.fragment):
        made = Reader(draw(document("name")).encode())
        assert {"only on a page", "a number", "1.50"} <= set(made.texts)
        assert "details" in {tag for tag, _ in made.tags}


def test_a_fragment_is_plain() -> None:
    """A notebook would get scripts, styles for the whole page or identifiers that clash with those
    of another output.
    """
    section = Section(
        name="s",
        title="A title",
        lead="A lead.",
        blocks=(Figure(name="f", title="t", notes=("seen",), draw=undrawn),),
    )
    made = html.fragment([section])
    assert (
        re.sub(r"\s+", " ", made)
        == '<div class="truecost"> <h4>A title</h4> <p>A lead.</p> </div> '
    )
    whole = Reader(html.fragment(document("name")).encode())
    assert not {"script", "style", "svg", "link"} & {tag for tag, _ in whole.tags}
    assert not any("id" in attributes for _, attributes in whole.tags)
