"""Every command and every Python block of the pages runs, one test per page.

| block | what happens |
| --- | --- |
| `sh` | every line runs, and ends with 0 or as its comment says (`# exit code 0 or 1`) |
| `console` | the lines that begin with `$ ` run alike; the output shown is not compared, but `UPDATE_PAGES=1` writes it anew |
| `python` | runs, in one namespace per page; `python title="file"` is written to that file |
| `toml`, `csv`, `text` … with `title="file"` | written to that file |

`<!-- setup … -->` (shell) and `<!-- setup python … -->` hold what readers do not see. A block
after `<!-- not executed: why -->` is left out.
"""

import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import commands
import page_setups
import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(
    r"(?P<skip><!-- not executed:[^>]*-->\s*\n)?"
    r"(?:^```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<body>.*?)^```$"
    r"|^<!-- setup(?P<python> python)?\n(?P<setup>.*?)^-->$)",
    re.DOTALL | re.MULTILINE,
)
SLOW = {"tutorial.md", "clusters.md"}


def environment() -> dict[str, str]:
    """With the tested truecost and its Python first on the path."""
    paths = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return os.environ | {"PATH": paths}


def run_line(line: str, folder: Path) -> str:
    """Run a line of a shell; truecost's own commands in this process where they stand alone."""
    line, _, comment = line.partition("  #")
    wanted = re.search(r"exit code ([\d or]+)", comment)
    allowed = {int(code) for code in re.findall(r"\d+", wanted[1])} if wanted else {0}
    if line.startswith("truecost ") and not re.search(r"[|>&;$`]", line):
        ended = commands.run(*shlex.split(line)[1:], cwd=folder)
        code, output = ended.returncode, ended.stdout + ended.stderr
    else:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
        )
        code, output = done.returncode, done.stdout + done.stderr
    assert code in allowed, f"{line}\nended with {code}:\n{output}"
    return output


def lines_of(body: str) -> list[str]:
    """The commands of a block, with continued lines joined and here-documents kept whole."""
    return [line for line in body.replace("\\\n", " ").splitlines() if line.strip("# ")]


def run_page(page: Path, folder: Path) -> None:
    """Execute the blocks of a page in a folder."""
    space: dict[str, object] = {"__name__": "page"}
    for block in BLOCK.finditer(page.read_text()):
        if block["skip"]:
            continue
        if block["setup"] is not None and not block["python"]:
            command = ["bash", "-ec", block["setup"]]
            subprocess.run(command, cwd=folder, env=environment(), check=True, capture_output=True)
        elif block["setup"] is not None:
            exec(compile(block["setup"], str(page), "exec"), {"page_setups": page_setups})  # noqa: S102
        elif block["title"]:
            path = folder / block["title"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["body"])
        elif block["kind"] == "sh":
            for line in lines_of(block["body"]):
                run_line(line, folder)
        elif block["kind"] == "console":
            shown = ""
            for line in lines_of(block["body"]):
                if line.startswith("$ "):
                    shown += f"{line}\n{run_line(line[2:], folder)}"
            if "UPDATE_PAGES" in os.environ:
                page.write_text(page.read_text().replace(block["body"], shown, 1))
        elif block["kind"] == "python":
            exec(compile(block["body"], str(page), "exec"), space)  # noqa: S102


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


def test_options_on_the_pages_exist() -> None:
    """A page would name an option that no command has."""
    import typer

    from truecost import cli

    tree = typer.main.get_command(cli.app(cli.COMMANDS))
    known = {"--help", "--version"}

    def collect(command: object) -> None:
        for parameter in getattr(command, "params", ()):
            known.update((*parameter.opts, *parameter.secondary_opts))
        for child in getattr(command, "commands", {}).values():
            collect(child)

    collect(tree)
    for page in PAGES:
        lines = re.findall(r"\btruecost [a-z][^#\n`|&>]*", page.read_text())
        named = {option for line in lines for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", line)}
        assert named <= known, (page.name, named - known)


def test_words_of_the_docs() -> None:
    """The docs would grow beyond what a reader reads: 10,000 words without the reference."""
    pages = [page for page in DOCS.rglob("*.md") if "reference" not in page.parts]
    assert sum(len(page.read_text().split()) for page in pages) <= 10_000
    assert len((ROOT / "README.md").read_text().split()) <= 600
