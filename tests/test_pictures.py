"""Pictures of the documentation: drawn from the current data and code."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import pictures  # noqa: E402


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


def test_pictures_have_room_for_wider_fonts() -> None:
    """Labels would be cut off where a reader's browser has a wider font than the drawing."""
    drawn = {path.name for path in pictures.FOLDER.rglob("*.svg")} - {*pictures.texts()}
    narrow = [
        name
        for name in drawn
        if 'viewBox="-14 0' not in next(pictures.FOLDER.rglob(name)).read_text()
    ]
    assert narrow == []


@pytest.mark.parametrize("figure", ["scatter", "ecdf", "families", "waterfall"])
def test_the_gallery_has_a_section_for(figure: str) -> None:
    """A figure could be drawn, and nobody would find out."""
    assert f"assets/gallery/{figure}.svg" in (ROOT / "docs" / "gallery.md").read_text()
