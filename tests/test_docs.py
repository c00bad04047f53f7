import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from commands import Run
from pages import ROOT, Page, PageError, blocks

PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))


@pytest.fixture
def page(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    """A page in a folder of its own, with outputs as wide as a terminal of 80 columns.

    Cores are claimed by files in the temporary folder: in one of its own a page claims them all, whatever runs beside it.
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
    """Somebody who follows the page would meet a command that fails, or another output than the one shown."""
    page.execute((ROOT / name).read_text())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```console\n$ truecost --version\n9.9.9\n```\n", "the page shows\n9.9.9"),
        ("```console\n$ echo one; echo two\none\n```\n", "the page shows\none"),
        ("```sh\ntruecost info nothing.npz\n```\n", "ended with 2, not 0"),
        ("```sh\ntrue | false\n```\n", "ended with 1, not 0"),
        ("```sh\ntruecost info kissat  # exit code 1: no\n```\n", "ended with 0, not 1"),
        ("text\n\n```python\nimport truecost\n\ntruecost.evne(3, 2)\n```\n", "line 3: AttributeError"),
        ("```\ntruecost info kissat\n```\n", "line 1: expected console, sh"),
        ("```py\nx = 1\n```\n", "got 'py'"),
        ("<!-- not executed: -->\n\n```sh\nfalse\n```\n", "expected a reason"),
        ("<!-- not executed: because -->\n\nwords\n\n```\nfalse\n```\n", "line 5: expected console"),
        ("<!-- not executed: because -->\n\nwords\n\n```sh\ntrue\n```\n", "every mark to stand before a block"),
        ("```sh\nfalse\n", "every fence to end"),
        ("<!-- setup: false -->\n", "<!-- setup on a line of its own"),
        ("```toml\nname = 'x'\n```\n", "expected the name of the file"),
        ('```toml title="scenario.toml"\n[target]\nkind = "comand"\n```\n', "InputError"),
        ("<!-- setup\nfalse\ntrue\n-->\n", "ended with 1, not 0"),
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
        '1. A list:\n\n   ```text title="folder/two.txt"\n   2\n   ```\n\n'
        "```console\n$ cat one.txt folder/two.txt \\\n      one.txt\n1\n...\n1\n$ truecost info x.npz  # exit code 2\n...\n```\n\n"
        "```python\nx = 3\n```\n\n"
        "```python\nfrom pathlib import Path\n\nPath('three.txt').write_text(str(x))\n```\n\n"
        "<!-- not executed: needs a cluster -->\n```sh\nsrun false\n```\n"
    )
    assert (page.folder / "three.txt").read_text() == "3"
