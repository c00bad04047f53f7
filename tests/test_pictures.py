"""Pictures of the documentation: drawn from the current data and code."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import pictures  # noqa: E402

REDRAW = "stale: python -m docs.pictures --quick"
# Drawn from experiments that take minutes.
LONG = {"uniform-error.svg", "bounds.svg", "estimators.svg", "regret.svg"}


def test_pictures_show_the_current_data() -> None:
    """A picture would show other numbers, or look otherwise, than the code beside it draws."""
    noted = json.loads(pictures.DIGESTS.read_text())
    specs = {**pictures.drawn(), "report.png": pictures.first_screen()}
    current = {name: pictures.digest(spec) for name, spec in specs.items()}
    assert sorted(name for name in current if current[name] != noted.get(name)) == [], REDRAW
    assert current.keys() == noted.keys(), REDRAW
    for name, text in pictures.texts().items():
        assert (pictures.FOLDER / name).read_text() == text, REDRAW


def test_every_picture_is_there_and_shown() -> None:
    """A page would have a hole, or a picture be kept that no page shows."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text() for page in pages)
    shown = set(re.findall(r"assets/([\w/-]+\.(?:svg|png))", text))
    kept = {
        path.relative_to(pictures.FOLDER).as_posix()
        for path in pictures.FOLDER.rglob("*")
        if path.suffix in (".svg", ".png")
    }
    assert shown == kept
    drawn = {*json.loads(pictures.DIGESTS.read_text()), *pictures.texts()}
    assert kept - drawn == {f"gallery/{name}" for name in LONG}


def test_pictures_have_room_for_wider_fonts() -> None:
    """Labels would be cut off where a reader's browser has a wider font than the drawing."""
    drawn = {path.name for path in pictures.FOLDER.rglob("*.svg")} - {*pictures.texts()}
    narrow = [
        name
        for name in drawn
        if 'viewBox="-14 0' not in next(pictures.FOLDER.rglob(name)).read_text()
    ]
    assert narrow == []


def test_a_digest_sees_data_and_not_the_last_digit() -> None:
    """A stale picture would pass, or another processor make every picture stale."""
    spec = {"data": [{"x": 0.1 + 0.2, "y": 1e-12}], "mark": "bar"}
    assert pictures.digest(spec) == pictures.digest({**spec, "data": [{"x": 0.3, "y": 1e-12}]})
    for other in ({**spec, "mark": "line"}, {**spec, "data": [{"x": 0.31, "y": 1e-12}]}):
        assert pictures.digest(spec) != pictures.digest(other)


@pytest.mark.parametrize("figure", ["scatter", "ecdf", "families", "waterfall"])
def test_the_gallery_has_a_section_for(figure: str) -> None:
    """A figure could be drawn, and nobody would find out."""
    assert f"assets/gallery/{figure}.svg" in (ROOT / "docs" / "gallery.md").read_text()
