import fcntl
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import griffe
import pytest
from commands import Run, tree
from pages import ROOT, Page, PageError, inline_commands
from playwright.sync_api import sync_playwright
from test_report_browser import CHROMIUM, PATIENCE

from truecost.show.document import verdict

PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]


@pytest.fixture
def page(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    """A page in a folder of its own, with outputs as wide as a terminal of 80 columns.

    Cores are claimed by files in the temporary folder: in one of its own a page claims them all,
    whatever runs beside it.
    """
    folder, scratch = tmp_path / "page", tmp_path / "tmp"
    folder.mkdir()
    scratch.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return Page(run=run, folder=folder)


@pytest.mark.filterwarnings("ignore")  # those of SMAC3 and of what it imports
@pytest.mark.parametrize("name", PAGES)
def test_every_block_does_what_the_page_says(name: str, page: Page) -> None:
    """Somebody who follows the page would meet a command that fails, or another output than the one
    shown.
    """
    page.update = bool(os.environ.get("UPDATE_PAGES"))
    text = (ROOT / name).read_text()
    executed = page.execute(text)
    if executed != text:
        (ROOT / name).write_text(executed)


HOOKS = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
notebook_page = HOOKS["notebook_page"]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.tools
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_print_what_they_show(path: Path, page: Page) -> None:
    """Somebody who runs a notebook would see an error, or another output than the one stored."""
    (page.folder.parent / "tests").symlink_to(ROOT / "tests")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    page.update = bool(os.environ.get("UPDATE_PAGES"))
    for cell in notebook["cells"]:
        if page.update and cell["cell_type"] == "code":
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["?\n"]}]
        shown = notebook_page({"cells": [cell]})
        executed = page.execute(shown)
        if page.update and cell["cell_type"] == "code":
            output = executed.rpartition("```text\n")[2].rpartition("```")[0]
            if cell["source"][0].startswith("!"):
                output = executed.split("\n", 2)[2].rpartition("```")[0]
            cell["outputs"][0]["text"] = output.splitlines(keepends=True)
            cell["outputs"] = cell["outputs"] if output else []
    if page.update:
        text = json.dumps(notebook, indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_commands_in_the_text_exist(name: str) -> None:
    """A sentence would name a command or an option that truecost does not have."""
    for words in inline_commands((ROOT / name).read_text()):
        command = tree()
        names = re.findall(r"(?<!\S)[a-z][a-z-]*(?!\S)", words)
        while names and hasattr(command, "commands"):
            assert names[0] in command.commands, words
            command = command.commands[names.pop(0)]
        known = {
            option for each in command.params for option in (*each.opts, *each.secondary_opts)
        } | {
            "--help",
            "--version",
        }
        assert set(re.findall(r"--[a-z-]+", words)) <= known, words


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```console\n$ truecost --version\n9.9.9\n```\n", "the page shows\n9.9.9"),
        ("```console\n$ echo one; echo two\none\n```\n", "the page shows\none"),
        ("```sh\ntruecost info nothing.npz\n```\n", "ended with 2, not 0"),
        ("```sh\ntrue | false\n```\n", "ended with 1, not 0"),
        (
            '```python title="x.py"\nraise SystemExit(3)\n```\n\n```sh\npython x.py\n```\n',
            "ended with 3, not 0",
        ),
        (
            '```python title="x.py"\nx = 1 / 0\n```\n\n```sh\npython x.py\n```\n',
            "line 5: ZeroDivisionError",
        ),
        ("```sh\ntruecost info kissat  # exit code 1: no\n```\n", "ended with 0, not 1"),
        ("```sh\ntruecost info nothing.npz  # exit code 0 or 1\n```\n", "ended with 2, not 0 or 1"),
        (
            "text\n\n```python\nimport truecost\n\ntruecost.evne(3, 2)\n```\n",
            "line 3: AttributeError",
        ),
        ("```python\nprint(3)\n```\n\n```text\n4\n```\n", "line 5: the code before printed\n3"),
        ("```\ntruecost info kissat\n```\n", "line 1: expected console, sh"),
        ("```py\nx = 1\n```\n", "got 'py'"),
        ("<!-- not executed: -->\n\n```sh\nfalse\n```\n", "expected a reason"),
        (
            "<!-- not executed: because -->\n\nwords\n\n```\nfalse\n```\n",
            "line 5: expected console",
        ),
        (
            "<!-- not executed: because -->\n\nwords\n\n```sh\ntrue\n```\n",
            "every mark to stand before a block",
        ),
        ("```sh\nfalse\n", "every fence to end"),
        ("<!-- setup: false -->\n", "<!-- setup on a line of its own"),
        ("<!-- setup\nfalse\ntrue\n-->\n", "ended with 1, not 0"),
        ("<!-- setup python\nx = 1 / 0\n-->\n", "line 1: ZeroDivisionError"),
        ("<!-- setup python\nx = 1\n-->\n\n```python\nprint(x)\n```\n", "line 5: NameError"),
        ("```toml\nname = 'x'\n```\n", "expected the name of the file"),
        ('```toml title="scenario.toml"\n[target]\nkind = "comand"\n```\n', "InputError"),
    ],
)
def test_what_a_page_does_wrong_is_found(text: str, complaint: str, page: Page) -> None:
    """A wrong output, a failing command or a block nobody can execute would pass for documentation."""
    with pytest.raises(PageError, match=re.escape(complaint)):
        page.execute(text)


def test_what_a_page_does_right_is_executed(page: Page) -> None:
    """Blocks would be passed over in silence, or see nothing of what those before them left."""
    page.execute(
        "<!-- setup\necho 1 > one.txt\n-->\n\n"
        "<!-- setup python\nfrom pathlib import Path\n\nPath('four.txt').write_text('4')\n-->\n\n"
        '1. A list:\n\n   ```text title="folder/two.txt"\n   2\n   ```\n\n'
        "```console\n$ cat one.txt folder/two.txt \\\n      one.txt\n1\n...\n1\n$ cat four.txt\n4\n"
        "$ truecost info x.npz  # exit code 2\n...\n```\n\n"
        "```python\nx = 3\nprint(x)\n```\n\n```text\n3\n```\n\nWords.\n\n```text\n4\n```\n\n"
        "```python\nfrom pathlib import Path\n\nPath('three.txt').write_text(str(x))\n```\n\n"
        "<!-- not executed: needs a cluster -->\n```sh\nsrun false\n```\n"
    )
    assert (page.folder / "three.txt").read_text() == "3"


def test_scripts_of_a_page_are_its_own(page: Page) -> None:
    """A script would not find the modules beside it or its arguments, or find those of another
    page, or print for nobody.
    """
    for number in (
        1,
        20,
    ):  # of other lengths, by which Python tells the compiled file of one from the other
        page.execute(
            f'```python title="beside.py"\nnumber = {number}\n```\n\n'
            '```python title="script.py"\nimport sys\n\nfrom beside import number\n\n'
            'if __name__ == "__main__":\n    print(number, *sys.argv)\n```\n\n'
            f"```console\n$ python script.py --x=3\n{number} script.py --x=3\n```\n"
        )
    assert "beside" not in sys.modules


def build(*words: object) -> subprocess.CompletedProcess[str]:
    """The site, built as `make check` builds it."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONPATH": str(ROOT / "src"),
    }
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", *map(str, words)]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The site's folder, built by whichever worker comes first."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "site"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            ended = build("--site-dir", folder.with_suffix(".part"))
            assert ended.returncode == 0, ended.stderr
            assert all(line.startswith("INFO") for line in ended.stderr.splitlines()), ended.stderr
            folder.with_suffix(".part").rename(folder)
    return folder


@pytest.mark.tools
def test_the_site_asks_nobody_for_anything(site: Path) -> None:
    """A reader's browser would fetch fonts, scripts or images from somewhere else."""
    for file in site.rglob("*"):
        if file.suffix in (".html", ".css", ".js", ".svg"):
            text = file.read_text()
            assert not re.search(
                r"fonts\.g|gstatic|unpkg|jsdelivr|cdnjs|//cdn\.|googletagmanager", text
            ), file
            assert not re.search(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?https?:", text), (
                file
            )
            assert not re.search(
                r"<link\b[^>]*\brel=\"?(?:stylesheet|preconnect|icon)\"?[^>]*https?:", text
            ), file
            assert not re.search(r"url\([\"']?https?:|@import [\"']https?:", text), file


# What people type, and the pages of which one must be among the first results.
SEARCHES = {
    "over-tuned": {"report", "selection"},
    "--primary": {"statements", "report", "validate", "faq"},
    "cite": {"paper", "faq"},
    "wilcoxon": {"ttest", "faq"},
    "significance": {"ttest", "faq"},
    "glossary": {"glossary"},
    "timeout": {"faq", "statements", "import"},
    "unknown": {"faq", "report"},
    "docker": {"faq"},
}


@pytest.mark.tools
@pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"),
    reason="Chromium is not there: apt-get install chromium",
)
def test_the_site_is_searched_without_a_server(site: Path) -> None:
    """Somebody who opens the site from a folder would have a search box that finds nothing, or not
    the page that answers.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE
        )
        page = browser.new_context(offline=True).new_page()
        page.set_default_timeout(PATIENCE)
        page.goto((site / "quickstart" / "irace.html").as_uri())
        box = page.locator("input.md-search__input")
        while not box.is_visible():  # until the page listens
            page.keyboard.press("/")
            page.wait_for_timeout(100)
        for words, answers in SEARCHES.items():
            box.fill("")
            page.locator(".md-search-result__item").first.wait_for(state="detached")
            box.press_sequentially(words)
            results = page.locator(".md-search-result__item a")
            results.first.wait_for(state="visible")
            links = results.evaluate_all("links => links.slice(0, 8).map(link => link.href)")
            found = {Path(urlparse(link).path).stem for link in links}
            assert answers & found, f"{words}: {sorted(found)}"
        browser.close()


def test_navigation_has_the_titles_of_pages() -> None:
    """A reader who clicks on a name would arrive at a page with another one."""
    nav = re.findall(
        r"- (.+): (\S+\.md)$", (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1], re.MULTILINE
    )
    assert len(nav) > 30
    for label, name in nav:
        root, book = ROOT / f"{Path(name).stem.upper()}.md", ROOT / name.replace(".md", ".ipynb")
        text = next(p for p in (root, book, ROOT / "docs" / name) if p.exists()).read_text()
        text = notebook_page(json.loads(text)) if book.exists() else text
        assert re.search(r"^# (.+)$", text, re.MULTILINE)[1] == label  # type: ignore[index]


def test_numbers_in_the_text_are_those_of_the_examples() -> None:
    """A sentence would tell another number than the commands, figures and other pages."""
    import truecost
    from truecost.show.numbers import at_least, at_most, share_at_least

    assessment = truecost.assess(truecost.import_runs("kissat"))
    limits = {each.quantity: each.limit for each in assessment.statements}
    wins = f"at least {share_at_least(limits['wins'])}"
    mean = at_most(limits["mean"])
    expected = {
        "statements.md": [
            f"At least {share_at_least(limits['solved share'])} of runs are solved",
            f"running time is at most {at_most(limits['median'])} s",
            f"beats the default in {wins} of runs",
            f"median speed-up is at least {at_least(limits['speed-up'])}",
            f"mean cost is at most {mean} s",
        ],
        "guarantees.md": [f"the mean cost is at most {mean} s"],
        "how-to/paper.md": [f"wins {wins} of runs"],
    }
    for name, sentences in expected.items():
        text = " ".join((ROOT / "docs" / name).read_text().split())
        for sentence in sentences:
            assert sentence in text, f"{name}: {sentence}"


def test_numbers_quoted_from_the_benchmarks_are_in_their_tables() -> None:
    """A page would quote a speed or an error rate that the benchmarks no longer have."""
    number = re.compile(r"\d[\d,.]*\d|\d")
    known = set(number.findall((ROOT / "bench" / "RESULTS.md").read_text()))
    quoted = {"speed.md": number.findall((ROOT / "docs" / "speed.md").read_text())}
    for path in (ROOT / "docs").rglob("*.md"):
        sentences = re.split(r"(?<=[.:]) ", " ".join(path.read_text().split()))
        quotes = " ".join(each for each in sentences if "bench/RESULTS.md" in each)
        quoted.setdefault(path.name, number.findall(quotes))
    assert sum(map(len, quoted.values())) > 30
    assert {name: lost for name, all_ in quoted.items() if (lost := set(all_) - known)} == {}


def test_the_page_on_reports_has_every_badge() -> None:
    """A reader would look for the words of a badge in vain."""
    sources = (verdict.judged, verdict._best_of_list, verdict.if_met)
    source = "".join(inspect.getsource(part) for part in sources)
    single = re.findall(r'"((?:Better than|No default|if )[^"]+)"', source)
    badges = [badge for _, badge in verdict.BADGES.values()]
    text = (ROOT / "docs" / "report.md").read_text().lower()
    assert len(single) == 4
    for badge in (*badges, *single):
        assert badge.lower() in text, badge


def test_the_page_on_reports_has_every_section() -> None:
    """A section of the report would not be explained, or under another name."""
    import truecost

    sections = [each.title for each in truecost.report("lkh").sections]
    text = (ROOT / "docs" / "report.md").read_text()
    assert len(sections) > 8
    assert [title for title in sections if f"\n| {title} |" not in text] == []


# The terms of a report that readers look up; at most 25.
TERMS_SHOWN = [
    "run",
    "cost",
    "range",
    "incumbent",
    "default",
    "training-cost",
    "true-cost",
    "test-cost",
    "standard-error",
    "within",
    "across",
    "censored",
    "proposed",
    "raced",
    "selection-error",
    "optimism",
    "over-tuning",
    "interval",
    "guaranteed",
    "approximate",
    "delta",
    "certificate",
    "primary",
    "journal",
    "scenario",
]


def test_the_glossary_is_that_of_the_report() -> None:
    """The site and the report would explain a term differently."""
    from truecost.show.glossary import TERMS

    assert len(TERMS_SHOWN) <= 25
    words = sorted((TERMS[key] for key in TERMS_SHOWN), key=lambda term: term.name.casefold())
    entries = "\n\n".join(f"**{name}**\n:   {explanation}" for name, explanation in words)
    page = ROOT / "docs" / "glossary.md"
    head, _, shown = page.read_text().partition("\n\n**")
    if os.environ.get("UPDATE_PAGES"):
        page.write_text(f"{head}\n\n{entries}\n")
        shown = entries[2:] + "\n"
    assert shown == entries[2:] + "\n"


@pytest.mark.tools
def test_the_site_has_every_command_and_option(site: Path) -> None:
    """The reference of the command line would leave something out."""
    import typer

    from truecost.cli import app

    text = (site / "reference" / "command-line.html").read_text()
    todo = [("truecost", typer.main.get_command(app()))]
    seen = 0
    while todo:
        name, command = todo.pop()
        for word, each in getattr(command, "commands", {}).items():
            assert f"{name} {word}<" in text
            todo.append((f"{name} {word}", each))
        for parameter in command.params if not hasattr(command, "commands") else ():
            assert all(option in text for option in parameter.opts if option.startswith("-")), name
            seen += 1
    assert seen > 100


@pytest.mark.tools
def test_the_site_has_the_overview_for_language_models(site: Path) -> None:
    """llms.txt would not be published, or lead to pages that are not there."""
    links = re.findall(r"\]\((.+?)\)", (site / "llms.txt").read_text())
    assert len(links) > 15
    assert [link for link in links if not (site / link).exists()] == []


@pytest.mark.tools
def test_the_site_says_what_tests_run(site: Path) -> None:
    """Readers would be sent the commands that make the tests' files, or not be told what nobody has
    run.
    """
    assert "page_setups" in (ROOT / "docs" / "quickstart" / "irace.md").read_text()
    assert "page_setups" not in (site / "quickstart" / "irace.html").read_text()
    marks = (ROOT / "docs" / "how-to" / "slurm.md").read_text().count("<!-- not executed: needs a")
    assert marks > 1
    assert (site / "how-to" / "slurm.html").read_text().count(
        "Not executed by the tests: needs a SLURM cluster"
    ) == marks


def test_the_recipes_for_slurm_are_where_their_tests_take_them() -> None:
    """The tests on a real SLURM, which few run, would no longer find what they execute."""
    from test_slurm import block, search_line

    for language, start in (
        ('text title="dask.yaml"', "distributed:"),
        ("bash", "#!/bin/bash"),
        ("python", "from dask_jobqueue"),
        ("bash", "#!/bin/sh"),
        ("sh", "truecost gather scenario.toml --journal all.db"),
    ):
        assert block(language, start)
    assert "--dask" in search_line()


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A site of one page, with the settings of the real one."""
    (tmp_path / "docs").mkdir()
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        (tmp_path / name).write_text("# B\n\n[index](docs/index.md)\n")
    (tmp_path / "mkdocs.yml").write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\nhooks: [{ROOT / 'docs' / 'hooks.py'}]\nplugins: []\nextra_css: []\n"
        "nav: [index.md, changelog.md, contributing.md]\n"
    )
    return tmp_path


def test_formulas_become_mathml(tiny: Path) -> None:
    """Formulas would need a script to be read, or code with dollars would become formulas."""
    (tiny / "docs" / "index.md").write_text(
        "# A\n\nInline $a_i < 2$ and `$not$`, costs 5$ and 6$.\n\n$$\n\\frac{1}{N^2}\n$$\n\n```sh\necho $HOME $HOME\n```\n\n"
        "[the root](../README.md) [changes](../CHANGELOG.md)\n"
    )
    ended = build("--config-file", tiny / "mkdocs.yml")
    assert ended.returncode == 0, ended.stderr
    text = (tiny / "site" / "index.html").read_text()
    assert text.count("<math") == 2
    assert text.count("<mfrac>") == 1
    assert text.count('display="block"') == 1
    assert "<code>$not$</code>" in text
    assert "5$ and 6$" in text
    assert 'href="changelog.html"' in text


FAULTS = {
    "[x](nowhere.md)": "target is not found",
    "[x](#nowhere)": "no such anchor",
    "[x](changelog.md#nowhere)": "does not contain an anchor",
    "[x](/absolute)": "absolute link",
    "[x](../LICENSE)": "unrecognized relative link",
    "$\\left( x$": "ExtraLeft",
    "$\\fraction{1}{2}$": "an unknown command",
}


def test_faults_of_a_page_fail_the_build(tiny: Path) -> None:
    """A link or an anchor that leads nowhere, or a formula nobody can read, would be found by a
    reader.
    """
    (tiny / "docs" / "index.md").write_text("# A\n\n" + "\n\n".join(FAULTS) + "\n")
    ended = build("--config-file", tiny / "mkdocs.yml")
    assert ended.returncode == 1
    # Each is told once, and each counts in a strict build.
    for complaint in FAULTS.values():
        assert len(re.findall(f"WARNING.*{complaint}", ended.stderr)) == 1, ended.stderr
    assert f"Aborted with {len(FAULTS)} warnings in strict mode" in ended.stdout + ended.stderr


def test_every_documented_parameter_has_its_own_type() -> None:
    """Parameters described together would all have the type of the first in the API reference."""
    extensions = griffe.load_extensions(HOOKS["Definitions"]())
    package = griffe.load(
        "truecost", search_paths=[ROOT / "src"], extensions=extensions, docstring_parser="numpy"
    )
    entries, wrong = 0, []
    for owner in _documented(package):
        for section in owner.docstring.parsed:
            if section.kind.value not in ("parameters", "attributes"):
                continue
            known = owner.parameters if section.kind.value == "parameters" else owner
            for entry in section.value:
                entries += 1
                annotation = known[entry.name].annotation
                if annotation is None or str(entry.annotation) != str(annotation):
                    wrong.append((owner.path, entry.name, str(entry.annotation)))
    assert entries > 900
    assert wrong == []


def _documented(parent: Any) -> Iterator[Any]:
    """All objects with a docstring; compiled kernels have no types."""
    for member in parent.members.values():
        if member.is_alias:
            continue
        kernel = member.is_function and any("compiled" in str(d.value) for d in member.decorators)
        if member.docstring is not None and not kernel:
            yield member
        yield from _documented(member)
