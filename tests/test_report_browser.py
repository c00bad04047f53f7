"""The report in a real browser: what it shows, what it loads, what a hostile name can do to it."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, sync_playwright
from test_figures import shares_data

from truecost import CostMatrix, report
from truecost.examples import load_example
from truecost.importers.detect import import_runs
from truecost.matrix.imported import Import
from truecost.runs import Trajectory
from truecost.show import figures, html
from truecost.show.blocks import Document, Figure, Fold, Section, Text

DATA = Path(__file__).parent / "data"
AXE = Path(__file__).parent / "vendor" / "axe-4.10.2.min.js"
ARTEFACTS = Path(__file__).parent.parent / "test-artefacts"
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
# In milliseconds: who waits so long for a page waits for something that will not happen.
PATIENCE = 600_000.0
# Where tests are run to be believed, a browser that is not there is a fault.
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"),
    reason="Chromium is not there: apt-get install chromium",
)

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "\"' onmouseover=alert(3) x='",
    "line\u2028separators\u2029and\x1b[31mcolours",
    "very-long-" * 30,
    "javascript:alert(4)",
    "#000000",
)


@dataclass
class Seen:
    """A page, and everything it complained of, asked for or opened."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def dialog(self, dialog: Dialog) -> None:
        """No page of ours has one."""
        self.complaints.append(f"dialog {dialog.message}")
        dialog.dismiss()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of this file."""
    assert CHROMIUM is not None, "CI is set and there is no Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield started
        started.close()


class Tab:
    """Where one page is opened after the other: scripts that have run once run again in a third of
    the time.
    """

    def __init__(self, browser: Browser, *, touched: bool) -> None:
        self.page = browser.new_context(offline=True, has_touch=touched).new_page()
        self.page.set_default_timeout(PATIENCE)
        self.seen = Seen(self.page)
        self.page.on(
            "console",
            lambda message: self.seen.complaints.append(f"{message.type}: {message.text}"),
        )
        self.page.on("pageerror", lambda error: self.seen.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.seen.dialog(dialog))
        self.page.on("request", lambda request: self.seen.requests.append(request.url))

    def open(self, path: Path, width: int, scheme: Literal["light", "dark"]) -> Seen:
        """A page in a window of this width, as if it were the first, once its charts are drawn."""
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        self.page.emulate_media(media="screen", color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": 900})
        self.seen = Seen(self.page)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")
        return self.seen


@pytest.fixture(scope="module")
def tabs(browser: Browser) -> dict[bool, Tab]:
    """One that is touched and one that is not."""
    return {touched: Tab(browser, touched=touched) for touched in (False, True)}


Open = Callable[..., Seen]


@pytest.fixture
def opened(tabs: dict[bool, Tab], tmp_path: Path) -> Open:
    """Opens a report from disk, without a network, once its charts are drawn."""

    def opening(found: Document, width: int, scheme: Literal["light", "dark"] = "light") -> Seen:
        path = tmp_path / "page.html"
        path.write_text(written(found))
        return tabs[width < 500].open(path, width, scheme)

    return opening


# Of the same document the same, whatever it is opened in.
written = cache(html.page)


@pytest.fixture(scope="module")
def kissat() -> Document:
    """A report on real runs, with every figure there is."""
    matrix = load_example("kissat")
    matrix = matrix.select(instances=matrix.instances[:16])
    origin = Trajectory(
        tool="truecost gather", proposed="beforehand", default=matrix.configurations[0]
    )
    return report(matrix, name="kissat", unit="PAR10 s", trajectory=origin, splits=100)


@pytest.fixture(scope="module")
def hostile() -> Document:
    """A report in which every name, of configurations, instances, units and the page, tries to be
    more than a name.
    """
    rng = np.random.default_rng(1)
    matrix = CostMatrix(
        rng.uniform(1, 9, (8, 12, 2)),
        HOSTILE,
        [f"{name}{i}" for i in range(2) for name in HOSTILE][:12],
        0,
        10,
    )
    origin = Trajectory(tool=HOSTILE[0])
    return report(
        Import(kind="table", matrix=matrix, trajectory=origin, notes=tuple(HOSTILE)),
        name=HOSTILE[0],
        title=HOSTILE[1],
        unit=HOSTILE[0],
        default=HOSTILE[0],
        configuration=HOSTILE[5],
        chosen="from-list",
        splits=20,
    )


def unfold(page: Page, title: str) -> None:
    """Open a folded section as a reader does."""
    page.locator("summary", has_text=title).click()


def until(page: Page, state: Callable[[], bool], what: str) -> None:
    """Wait for the page to be in a state, on a busy machine as well; its policy lets nobody wait by
    evaluating a text.
    """
    for _ in range(1200):
        if state():
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"waited a minute for {what}")


def picture(page: Page, name: str) -> None:
    """Keep the whole page as it looks."""
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=True)


def clean(seen: Seen) -> None:
    """Nothing was complained of, and nothing but the page itself was asked for."""
    assert seen.complaints == []
    assert [url for url in seen.requests if not url.startswith("file:")] == []
    assert len(seen.requests) == 1


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_the_page_is_drawn(opened: Open, kissat: Document, width: int, scheme: str) -> None:
    """A chart would be missing, the page would scroll sideways, or it would complain or fetch
    something.
    """
    seen = opened(kissat, width, scheme)
    page = seen.page
    assert (
        page.locator(".chart[data-drawn=yes] svg").count()
        == len(kissat.figures)
        == page.locator("figure").count()
    )
    for box in page.locator(".chart svg").all():
        size = box.bounding_box()
        assert size is not None
        assert size["width"] > 200
        assert size["height"] > 100
        assert size["x"] + size["width"] <= width
        # Fitted by drawing it anew, not by making its texts small.
        assert size["width"] >= 0.9 * float(box.get_attribute("width") or "nan")
    assert (
        page.locator("#figure-matrix .mark-rect.role-mark path").count()
        == kissat.figures["matrix"].data.cells.height
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (lightness(ink) > lightness(paper)) == (scheme == "dark")
    clean(seen)
    picture(page, f"report-{width}-{scheme}")


@cache
def imported(log: str) -> Document:
    """A report on what another tool left behind."""
    return report(import_runs(DATA / log), name=log, splits=50)


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("log", ["kissat", "irace/tested.Rdata", "smac/instances"])
def test_the_first_screen_answers(opened: Open, kissat: Document, log: str, width: int) -> None:
    """The verdict or its picture would be below the first screen, or a reader would face too many
    words to take in.
    """
    found = kissat if log == "kissat" else imported(log)
    page = opened(found, width).page
    for part in ("#verdict .said", "#figure-glance svg"):
        box = page.locator(part).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900
    assert (
        page.locator("#verdict .said").inner_text().replace("\N{NO-BREAK SPACE}", " ")
        == found.verdict
    )
    # The names that one may choose from are in a closed list.
    listed = " ".join(page.locator("select").all_inner_texts()).split()
    assert len(page.locator("body").inner_text().split()) - len(listed) <= 900


def lightness(colour: str) -> int:
    """Of rgb(r, g, b), the sum."""
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))


def test_axis_texts_follow_the_theme(opened: Open, kissat: Document) -> None:
    """The button would change the page and leave the charts black on black."""
    page = opened(kissat, 1280).page
    axis = "getComputedStyle(document.querySelector('#figure-plan .role-axis-title text')).fill"
    line = "getComputedStyle(document.querySelector('#figure-certificate-width .mark-line path')).stroke"
    light = [page.evaluate(axis), page.evaluate(line)]
    page.click("#theme")
    dark = [page.evaluate(axis), page.evaluate(line)]
    assert lightness(light[0]) < 150 < 600 < lightness(dark[0])
    assert lightness(dark[1]) > lightness(light[1])
    page.click("#theme")
    assert [page.evaluate(axis), page.evaluate(line)] == light


def test_a_tooltip_says_what_the_data_say(opened: Open, kissat: Document) -> None:
    """The pointer would find nothing on a chart, or other numbers than the chart was drawn from."""
    page = opened(kissat, 1280).page
    bar = page.locator("#figure-paired .mark-rect path").nth(1)
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.75 * box["height"])
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    text = tip.inner_text()
    best = kissat.figures["paired"].data.row(0, named=True)
    assert best["instance"] in text
    assert f"{best['incumbent_cost']:.4g}" in text


def test_tables_sort(opened: Open, kissat: Document) -> None:
    """A click on the head of a column would not sort by it, or by the letters of numbers."""
    page = opened(kissat, 1280).page
    unfold(page, "What was run?")
    table = page.locator("#table-configurations")

    def column(place: int) -> list[str]:
        return table.locator(f"tbody td:nth-child({place})").all_inner_texts()

    rows = kissat.tables["configurations"].rows
    head = table.locator(".head:nth-child(6)")
    head.locator(".sort").click()
    assert head.get_attribute("aria-sort") == "ascending"
    across = sorted(rows, key=lambda row: float(row[5].value))
    assert column(6) == [row[5].text for row in across]
    head.locator(".sort").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(6) == [row[5].text for row in across][::-1]
    # A share that is not known comes last, both ways.
    for _ in range(2):
        table.locator(".head:nth-child(7) .sort").click()
        assert column(7)[-1] == "–"
    table.locator(".head:nth-child(2) .sort").click()
    names = [text.split()[0] for text in column(2)]
    assert names != [str(row[1].value) for row in rows]
    assert sorted(names) == sorted(str(row[1].value) for row in rows)


def beside(words: Locator, button: Locator, page: Page) -> bool:
    """Whether words are under their button, or above it where there is no room under it."""
    box, asked, room = words.bounding_box(), button.bounding_box(), page.viewport_size
    if box is None or asked is None or room is None:
        return False
    near = min(abs(box["y"] - asked["y"]), abs(box["y"] + box["height"] - asked["y"])) < 60
    return near and 0 <= box["x"] <= box["x"] + box["width"] <= room["width"]


def test_numbers_are_explained_on_demand(opened: Open, kissat: Document) -> None:
    """The button beside a number would not say what the number means, to a mouse, a keyboard or a
    finger.
    """
    wide, narrow = (opened(kissat, width).page for width in (1280, 390))
    for page, how in ((wide, "click"), (wide, "keyboard"), (narrow, "touch")):
        words = page.locator("#why-true-cost")
        button = page.locator("#verdict [popovertarget=why-true-cost]")
        assert not words.is_visible()
        if how == "click":
            button.click()
        elif how == "touch":
            button.tap()
        else:
            button.focus()
            page.keyboard.press("Enter")
        words.wait_for(state="visible")
        assert "training cost + selection error" in words.inner_text()
        # They are moved there in the next frame.
        until(page, partial(beside, words, button, page), "the words to be beside their button")
        page.keyboard.press("Escape")
        assert not words.is_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_names_stay_names(opened: Open, hostile: Document, width: int) -> None:
    """A name from a file would run as a script, become an element, or push the page out of its
    width.
    """
    seen = opened(hostile, width)
    page = seen.page
    assert page.locator(".chart[data-drawn=yes] svg").count() == len(hostile.figures)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 4
    assert (
        page.evaluate(
            "[...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on/.test(a.name))).length"
        )
        == 0
    )
    listed = page.locator("#table-configurations td.name > span:first-child").all_text_contents()
    assert sorted(listed) == sorted(report_text(name) for name in HOSTILE)
    assert page.title() == HOSTILE[1]
    # Names in tooltips are text as well.
    unfold(page, "What was run?")
    for cell in page.locator("#figure-matrix .mark-rect.role-mark path").all()[:4]:
        cell.hover(force=True)
        page.locator("#vg-tooltip-element.visible").wait_for()
    assert page.locator("#vg-tooltip-element img, #vg-tooltip-element script").count() == 0
    page.locator("#table-configurations .head:nth-child(2) .sort").click()
    clean(seen)
    picture(page, f"report-hostile-{width}")


def report_text(name: str) -> str:
    """A name as the page shows it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def test_paper(opened: Open, kissat: Document) -> None:
    """On paper there would be buttons to press, a table cut off at the edge of its box, or white
    text on white.
    """
    page = opened(kissat, 1280, "dark").page
    page.click("#theme")
    page.click("#theme")
    page.evaluate("document.documentElement.dataset.print = 'full'")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})
    assert not any(button.is_visible() for button in page.locator("button, nav").all())
    heads = [head.inner_text() for head in page.locator("#table-configurations .head").all()]
    assert heads == [column.label for column in kissat.tables["configurations"].columns]
    table = page.locator("#table-configurations").bounding_box()
    box = page.locator(".scroll:has(#table-configurations)").bounding_box()
    assert table is not None
    assert box is not None
    assert table["height"] <= box["height"] + 1
    assert lightness(page.evaluate("getComputedStyle(document.body).color")) < 150
    assert (
        lightness(
            page.evaluate(
                "getComputedStyle(document.querySelector('#figure-plan .role-axis-title text')).fill"
            )
        )
        < 150
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    ARTEFACTS.mkdir(exist_ok=True)
    paper = page.pdf(path=ARTEFACTS / "report.pdf", format="A4")
    assert paper.startswith(b"%PDF")
    picture(page, "report-print")


# One cell of every look is enough for contrast, which takes 5 ms for each of thousands of cells.
ONE_OF_EACH_LOOK = """
const look = (element) => {
  const style = getComputedStyle(element);
  const colours = [style.color, style.backgroundColor, style.backgroundImage, style.opacity];
  const text = [style.fontSize, style.fontWeight, style.display, style.visibility];
  const named = [element.tagName, element.getAttribute("class"), element.getAttribute("style")];
  return [...named, ...colours, ...text, ...[...element.children].map(look)].join("|");
};
for (const table of document.querySelectorAll("table")) {
  const rows = [...table.querySelectorAll("tbody tr")], looks = rows.map(look), seen = new Set();
  rows.forEach((row, i) => { if (seen.has(looks[i])) row.remove(); else seen.add(looks[i]); });
}
"""


def axe_violations(browser: Browser, document: Document, folder: Path, width: int) -> list[str]:
    """Return what axe complains of on the whole page, all folds open, in both colour schemes."""
    path = folder / "page.html"
    path.write_text(written(document))
    # The page's own policy would keep the checker from running.
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    # Thousands of marks of charts, hidden from screen readers, would take minutes.
    page.evaluate(
        "for (const svg of document.querySelectorAll('.chart svg')) svg.replaceChildren()"
    )
    page.evaluate(AXE.read_text())

    def checked(rules: str) -> list[str]:
        found = page.evaluate(f"axe.run(document, {{resultTypes: ['violations'], {rules}}})")
        return [f"{rule['id']} {rule['nodes'][0]['target']}" for rule in found["violations"]]

    violations = checked("rules: {'color-contrast': {enabled: false}}")
    # Only contrast depends on the colours. Cells of one class and look have it in both schemes.
    page.evaluate(f"() => {{{ONE_OF_EACH_LOOK}}}")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        violations += checked("runOnly: ['color-contrast']")
    context.close()
    return violations


@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing(browser: Browser, tmp_path: Path, width: int) -> None:
    """Somebody with a screen reader, a keyboard or weak eyes would miss a part of a small page."""
    assert axe_violations(browser, imported("smac/instances"), tmp_path, width) == []


@pytest.mark.tools
@pytest.mark.parametrize(("name", "width"), [("kissat", 1400), ("kissat", 390), ("clasp", 390)])
def test_axe_finds_nothing_on_a_large_page(
    browser: Browser, kissat: Document, tmp_path: Path, name: str, width: int
) -> None:
    """Somebody with a screen reader, a keyboard or weak eyes would miss a part of a page that has
    every figure and table.
    """
    document = kissat if name == "kissat" else report(name)
    assert axe_violations(browser, document, tmp_path, width) == []


def test_axe_sees_every_look_of_a_table(browser: Browser) -> None:
    """A cell that nobody can read would go unnoticed because the rows before it are readable."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    rows = "<tr><td>dark</td></tr>" * 3 + "<tr><td style='color: #eee'>pale</td></tr>" * 2
    page.set_content(f"<table><tbody>{rows}</tbody></table>")
    page.evaluate(f"() => {{{ONE_OF_EACH_LOOK}}}")
    assert page.locator("td").all_inner_texts() == ["dark", "pale"]
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {runOnly: ['color-contrast']})")["violations"]
    assert len(found[0]["nodes"]) == 1
    page.close()


def test_two_pages_on_paper(opened: Open, kissat: Document) -> None:
    """A print would be long, or without the verdict, the statements, a figure or the assumptions."""
    page = opened(kissat, 1280).page
    page.emulate_media(media="print")
    for shown in ("#verdict .said", "#table-statements", "#figure-scatter svg", "#sure .lead"):
        assert page.locator(shown).is_visible(), shown
    for hidden in ("#figure-matrix", "#table-configurations", "#next"):
        assert not page.locator(hidden).is_visible(), hidden
    paper = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) <= 2
    assert page.locator("time").first.inner_text()


def test_another_pair_can_be_looked_at(opened: Open, kissat: Document) -> None:
    """The choice of another pair would change nothing, or a click on a point show no runs."""
    page = opened(kissat, 1280).page
    points = page.locator("#figure-scatter .mark-symbol.role-mark path")

    def places() -> list[str]:
        found = points.evaluate_all("all => all.map(point => point.getAttribute('transform'))")
        return [str(place) for place in found]

    before = places()
    page.locator("#figure-scatter .pick select").first.select_option(index=5)
    until(page, lambda: len(places()) == 16 and places() != before, "the points of the pair")
    assert len(before) == 16
    points.first.click(force=True)
    page.locator("#figure-scatter .runs", has_text="winner").wait_for()


def test_charts_follow_the_window(opened: Open, kissat: Document) -> None:
    """A window that is made narrow would scroll sideways, since charts stay as wide as they were
    drawn.
    """
    page = opened(kissat, 1280).page
    page.set_viewport_size({"width": 390, "height": 900})
    # The policy of the page lets nobody wait by evaluating a text; charts are drawn one after the
    # other.
    unfold(page, "How many runs, on how many instances?")
    page.wait_for_selector("#figure-plan .chart[data-room='358']")
    chart = page.locator("#figure-plan svg")
    until(page, lambda: (chart.bounding_box() or {"width": 999})["width"] <= 358, "the chart")
    wide = "document.documentElement.scrollWidth"
    until(page, lambda: page.evaluate(wide) <= 390, "all charts to be as narrow")


@pytest.fixture(scope="module")
def folded() -> Document:
    """A page with a fold in a section, and a section that is folded and has a chart."""
    shares = shares_data(load_example("kissat"))
    figure = Figure(
        name="shares",
        title="Shares",
        notes=(),
        draw=lambda: (shares, figures.variance_shares_chart(shares, unit="s")),
    )
    inside = Fold(title="What does it assume?", blocks=(Text(text="Independent seeds."),))
    sections = (
        Section(name="sure", title="How sure?", lead="Quite.", blocks=(inside,)),
        Section(
            name="noise",
            title="Where is the noise?",
            lead="In the seeds.",
            blocks=(figure,),
            folded=True,
        ),
    )
    return Document(
        title="t",
        subtitle="",
        tone="good",
        badge="b",
        verdict="v",
        more="",
        key=(),
        sections=sections,
        version="1",
    )


def test_folds_open_on_demand(opened: Open, folded: Document) -> None:
    """What is folded would be shown at once, stay hidden when asked for, or have no chart in it."""
    seen = opened(folded, 1280)
    page = seen.page
    answer, lead, chart = (
        page.get_by_text("Independent seeds."),
        page.get_by_text("In the seeds."),
        page.locator(".chart svg"),
    )
    assert not answer.is_visible()
    assert not lead.is_visible()
    page.locator("nav a", has_text="How sure?").click()
    assert not answer.is_visible()  # the section was open, and its fold is another question
    page.get_by_text("What does it assume?").click()
    answer.wait_for(state="visible")
    # A link to a section opens it.
    page.locator("nav a", has_text="Where is the noise?").click()
    chart.wait_for(state="visible")
    assert lead.is_visible()
    box = chart.bounding_box()
    assert box is not None
    assert 600 < box["width"] < 1100
    clean(seen)


def test_folds_are_open_on_paper(
    browser: Browser, opened: Open, folded: Document, tmp_path: Path
) -> None:
    """Paper would have questions without answers, with scripts and without; or the screen would
    stay unfolded after.
    """
    page = opened(folded, 1280).page
    page.evaluate("document.documentElement.dataset.print = 'full'")
    page.emulate_media(media="print")
    assert page.get_by_text("Independent seeds.").is_visible()
    assert page.locator(".chart svg").bounding_box()["height"] > 100  # type: ignore[index]
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="screen")
    assert page.locator("details[open]").count() == 0
    still = browser.new_context(java_script_enabled=False).new_page()
    still.set_default_timeout(PATIENCE)
    still.goto((tmp_path / "page.html").as_uri())
    assert not still.get_by_text("In the seeds.").is_visible()
    still.emulate_media(media="print")
    assert still.get_by_text("Independent seeds.").is_visible()
