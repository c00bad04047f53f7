import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
import show_records as records

from truecost import api
from truecost.show import sections
from truecost.show.page import _pictures, page
from truecost.show.verdict import block

CHROMIUM = Path("/usr/bin/chromium")
AXE = Path(__file__).parent / "vendor" / "axe-4.10.2.min.js"
VOID = {"meta", "img", "link", "br", "input"}
KINDS = ("better", "refused", "no default", "one configuration", "quality", "tests",
         "hostile names")  # fmt: skip


class Parsed(HTMLParser):
    """The tags of a page, and whether each was closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag begins."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """A tag ends."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Text that is no style and no script."""
        if not {"style", "script"} & set(self.open):
            self.words += data.replace("\u00a0", " ")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """One page of each kind."""
    return {kind: page(records.samples()[kind]) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_pages_are_whole(pages: dict[str, str], kind: str) -> None:
    """A browser would guess where a table ends, load figures from the net, or a reader who does not
    see a figure learn nothing of it; or page and terminal disagree on the verdict or a caveat.
    """
    parsed, sample = Parsed(pages[kind]), records.samples()[kind]
    names = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(names) == len(set(names))
    assert [tag for tag, _ in parsed.tags].count("h1") == 1
    for _, attributes in parsed.tags:
        for name in ("src", "href", "action"):
            assert (attributes.get(name) or "data:").startswith(("data:", "#"))
    images = [attributes for tag, attributes in parsed.tags if tag == "img"]
    assert images or kind == "one configuration"
    for attributes in images:
        assert len(attributes["alt"] or "") > 20
        source = unquote((attributes["src"] or "").partition(",")[2])
        assert ElementTree.fromstring(source).tag.endswith("svg")  # noqa: S314 - our own
    verdict = block(sample)
    for text in (verdict.badge, verdict.headline, verdict.second, verdict.training,
                 *sections.caveats(sample)):  # fmt: skip
        assert text in parsed.words


def test_names_from_files_are_text(pages: dict[str, str]) -> None:
    """A configuration's name could add a tag to the page, or a script."""
    text = pages["hostile names"]
    parsed = Parsed(text)
    assert "b" not in {tag for tag, _ in parsed.tags}
    assert "<b>" in parsed.words
    assert "\x1b" not in text
    assert "script" not in {tag for tag, _ in parsed.tags}
    assert "default-src 'none'" in text


def test_figures_follow_dark_mode(pages: dict[str, str]) -> None:
    """Black text would stand on a dark page."""
    for figure in re.findall(r'<img src="([^"]*)"', pages["better"]):
        text = unquote(figure)
        assert "prefers-color-scheme:dark" in text
        drawn = text[text.index("</style>") :]
        assert not re.search(r"(?:fill|stroke): #(?:1a1d21|0072b2|000000)", drawn)


def test_a_title_can_be_given() -> None:
    """`title=` would change nothing."""
    assert "<title>Mine &amp; yours</title>" in page(
        records.without_default(), title="Mine & yours"
    )


def test_parameters_can_be_pasted() -> None:
    """The arguments of the winner would not run in a shell, or would lose digits."""
    assert sections.arguments({"a": 0.1, "--b": "x y", "c": None, "d": True}) == (
        "--a=0.1 '--b=x y' --d=True"
    )
    parameters = sections.parameters(records.assessment())
    assert parameters is not None
    assert parameters.different.rows == (("restarts", "3", "5"),)
    assert parameters.equal.rows == (("phase", "on"),)


def test_no_figure_shows_a_single_point() -> None:
    """The page about one instance would have a scatter plot of one point, that about two
    configurations a ranking of what the verdict compares.
    """
    assert set(_pictures(records.samples()["seeds"])).isdisjoint({"scatter", "deciding", "matrix"})
    two = set(_pictures(records.judged(records.times(2), default="0")))
    assert {"scatter", "deciding"} <= two
    assert two.isdisjoint({"ranking", "matrix"})


def test_a_long_ranking_says_that_it_is_cut() -> None:
    """The best 100 of 300 configurations would be called all."""
    sample = records.judged(records.times(120, 10, 1), default="0")
    assert "best 100 of 120" in page(sample)
    assert len(sections.ranking(sample).rows) == 100


def test_assumptions_fit_the_unit() -> None:
    """Limits on new seeds of one instance would assume a random sample of instances."""
    samples = records.samples()
    seeds, families = (" ".join(sections.assumptions(samples[k])) for k in ("seeds", "families"))
    assert "random sample" not in seeds
    assert "families are a random sample" in families
    assert sections.noise(samples["seeds"]) == ""


@pytest.fixture
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    if not CHROMIUM.exists():
        pytest.skip("needs Chromium")
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        yield started
        started.close()


# Words that are visible in a part of the page, folded parts closed.
WORDS = """part => {
  const texts = document.createTreeWalker(document.querySelector(part), NodeFilter.SHOW_TEXT);
  let words = 0;
  while (texts.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    const box = range.getBoundingClientRect();
    if (texts.currentNode.parentElement.checkVisibility() && box.height > 0)
      words += texts.currentNode.textContent.split(/\\s+/).filter(Boolean).length;
  }
  return words;
}"""


# Whether the table of the verdict and the figure beside it overlap.
OVERLAP = """() => {
  const [one, other] = ['.same table', '.same img'].map(
    name => document.querySelector(name).getBoundingClientRect());
  return one.right > other.left && one.bottom > other.top;
}"""


@pytest.mark.slow
def test_the_page_of_kissat_is_short(browser: Any, tmp_path: Path) -> None:
    """The page would grow back into the one that nobody read."""
    api.report("kissat", tmp_path / "kissat.html")
    assert (tmp_path / "kissat.html").stat().st_size <= 400_000
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    tab.goto((tmp_path / "kissat.html").as_uri())
    assert tab.evaluate(WORDS, "body") <= 450
    # The verdict is on the first screen.
    assert tab.evaluate(WORDS, "#verdict") <= 95
    box = tab.locator("#verdict").bounding_box()
    assert box["y"] + box["height"] <= 900


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["better", "refused", "tests", "hostile names"])
def test_everyone_can_read_the_page(
    browser: Any, pages: dict[str, str], kind: str, scheme: str, tmp_path: Path
) -> None:
    """Contrast would be too low, a table unlabelled, or a phone would scroll sideways."""
    (tmp_path / "page.html").write_text(pages[kind])
    for width in (1400, 390):
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        messages: list[str] = []
        tab.on("console", lambda message: messages.append(message.text))  # noqa: B023
        tab.goto((tmp_path / "page.html").as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert not tab.evaluate(OVERLAP)
        assert not messages
        for part in tab.query_selector_all("details"):
            part.evaluate("part => { part.open = true; }")
        tab.evaluate(AXE.read_text())
        violations = tab.evaluate("axe.run()")["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:100]) for one in violations] == []


@pytest.mark.slow
def test_print_shows_what_matters(browser: Any, pages: dict[str, str], tmp_path: Path) -> None:
    """A printed page would lack what the limits assume, or list a hundred parameters."""
    (tmp_path / "page.html").write_text(pages["tests"])
    tab = browser.new_page()
    tab.goto((tmp_path / "page.html").as_uri())
    tab.emulate_media(media="print")
    visible = "name => document.querySelector(name).getBoundingClientRect().height > 0"
    assert tab.evaluate(visible, "details.print ul")
    assert not tab.evaluate(visible, "dl")
    assert tab.pdf().startswith(b"%PDF")
