"""Every command and every Python block of the pages runs, one test per page.

| block | what happens |
| --- | --- |
| `sh` | every line runs, and ends with 0 or as its comment says (`# exit code 0 or 1`) |
| `console` | the lines that begin with `$ ` run alike; `UPDATE_PAGES=1` writes the output shown anew |
| `python` | runs, in one namespace per page |
| any, with `title="file"` | written to that file |

`<!-- setup: NAME -->` calls that function of `page_setups`, for files that readers have. A block after
`<!-- not executed: why -->` is left out.
"""

import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

import commands
import page_setups
import pytest
import typer

from truecost import cli

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?P<skip><!-- not executed:[^>]*-->\s*\n)?"
    r"(?:^```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<body>.*?)^```$"
    r"|^<!-- setup: (?P<setup>\w+) -->$)",
    re.DOTALL | re.MULTILINE,
)
SLOW = {"tutorial.md", "clusters.md"}


def run_line(line: str, folder: Path) -> str:
    """Run a line of a shell; truecost's own commands in this process where they stand alone."""
    line, _, comment = line.partition("  #")
    wanted = re.search(r"exit code ([\d or]+)", comment)
    allowed = {int(code) for code in re.findall(r"\d+", wanted[1])} if wanted else {0}
    if line.startswith("truecost ") and not re.search(r"[|>&;$`]", line):
        code, *outputs = commands.run(*shlex.split(line)[1:], cwd=folder)
    else:
        # The tested truecost and its Python come first on the path.
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(
            ["bash", "-ec", line],
            cwd=folder,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
        )
        code, outputs = done.returncode, [done.stdout, done.stderr]
    assert code in allowed, f"{line}\nended with {code}:\n{''.join(outputs)}"
    return "".join(outputs)


def run_page(page: Path, folder: Path) -> None:
    """Execute the blocks of a page in a folder."""
    space: dict[str, Any] = {"__name__": "page"}
    for block in BLOCK.finditer(page.read_text()):
        if block["skip"]:
            continue
        if block["setup"]:
            getattr(page_setups, block["setup"])()
        elif block["title"]:
            (folder / block["title"]).write_text(block["body"])
        elif block["kind"] == "python":
            exec(compile(block["body"], str(page), "exec"), space)  # noqa: S102
        elif block["kind"] == "sh":
            for line in block["body"].splitlines():
                run_line(line, folder)
        elif block["kind"] == "console":
            lines = [line for line in block["body"].splitlines() if line.startswith("$ ")]
            printed = "".join(f"{line}\n{run_line(line[2:], folder)}" for line in lines)
            if "UPDATE_PAGES" in os.environ:
                page.write_text(page.read_text().replace(block["body"], printed, 1))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if page.name in SLOW else []) for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
@pytest.mark.usefixtures("own_locks")
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """A reader who types what a page shows would get an error."""
    folder = tmp_path / "page"
    folder.mkdir()
    with chdir(folder):
        run_page(page, folder)


def test_every_comment_of_a_page_is_a_marker() -> None:
    """A misspelt marker would be ignored, and a block run without its files or not at all."""
    for page in PAGES:
        text = page.read_text()
        markers = [block for block in BLOCK.finditer(text) if block["setup"] or block["skip"]]
        assert len(markers) == text.count("<!--"), page.name


def test_options_on_the_pages_exist() -> None:
    """A page would name an option that no command has."""
    known = {"--help", "--version"}
    trees: list[Any] = [typer.main.get_command(cli.app())]
    for tree in trees:
        trees += getattr(tree, "commands", {}).values()
        for parameter in tree.params:
            known |= {*parameter.opts, *parameter.secondary_opts}
    for page in PAGES:
        lines = re.findall(r"\btruecost [a-z][^#\n`|&>]*", page.read_text())
        named = {option for line in lines for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", line)}
        assert named <= known, (page.name, named - known)


def test_words_of_the_docs() -> None:
    """The docs would grow beyond what a reader reads: 10,000 words without the reference."""
    words = {
        page: len(page.read_text().split()) for page in PAGES if page.parent.name != "reference"
    }
    assert words.pop(ROOT / "README.md") <= 600
    assert sum(words.values()) <= 10_000


def test_the_map_of_the_packages_is_up_to_date() -> None:
    """A contributor would look for a file that was renamed."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "`" in line]
    assert rows
    for row in rows:
        names = re.findall(r"`([\w/]+(?:\.py|/))`", row)
        folder = ROOT / "src" / "truecost" / names[0].rpartition("/")[0]
        for name in names:
            places = (ROOT / "src" / "truecost" / name, folder / name)
            assert any(place.exists() for place in places), name
