"""What the site needs beyond Markdown: formulas as MathML, the command line's reference, pages from
the root.
"""

import html
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from griffe import Extension, Object
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# A word on a line and its meaning indented below it; not in the sections of numpydoc, which look
# the same.
DEFINITION = re.compile(r"^(?![-*+|#\d])(\S.{0,60})\n {4}(\S.*\n(?: {4}\S.*\n)*)", re.MULTILINE)

# Sections with entries, and several names above one description.
ENTRIES = ("Parameters", "Attributes")
GROUPED = re.compile(r"^(\w+(?:, \w+)+)\n((?: {4}.*\n|\n)+)", re.MULTILINE)

log = logging.getLogger("mkdocs.hooks")

# Files of the root that are pages of the site too; the README's place is taken by the index.
ROOT_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
SETUP = re.compile(r"^<!-- setup\b.*?-->\n", re.DOTALL | re.MULTILINE)
UNEXECUTED = re.compile(r"^<!-- not executed: (.*?) -->\n+", re.MULTILINE)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages whose source is not in docs: files of the root, notebooks, llms.txt."""
    for name, page in ROOT_PAGES.items():
        text = Path(config.config_file_path).with_name(name).read_text().replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    for path in sorted(Path(config.config_file_path).parent.glob("notebooks/*.ipynb")):
        text = notebook_page(json.loads(path.read_text(encoding="utf-8")))
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
    overview = Path(config.config_file_path).with_name("llms.txt")
    if overview.exists():
        text = re.sub(r"\]\(docs/(.*?)\.md\)", r"](\1.html)", overview.read_text())
        files.append(File.generated(config, "llms.txt", content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Leave out what only the tests run, show what they do not, lead links to the root to its
    pages, fill in commands.
    """
    up = "../" * page.file.src_uri.count("/")
    markdown = SETUP.sub("", markdown)
    markdown = UNEXECUTED.sub(
        r'<p class="unexecuted">Not executed by the tests: \1.</p>\n\n', markdown
    )
    for name, target in {**ROOT_PAGES, "README.md": "index.md"}.items():
        markdown = markdown.replace(f"](../{up}{name}", f"]({up}{target}")
    for mark, made in (("<!-- commands -->", command_line), ("<!-- options -->", options)):
        markdown = markdown.replace(mark, made()) if mark in markdown else markdown
    return markdown


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Formulas as MathML: browsers draw it without a script."""
    return FORMULA.sub(lambda found: mathml(found[3], found[2] == "[", page.file.src_uri), html)


def on_post_build(config: MkDocsConfig) -> None:
    """Take out the addresses from which pages would fetch scripts: one for diagrams, which none
    has, one for a search from a folder, for which there is a script of ours.
    """
    site = Path(config.site_dir)
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        page.write_text(
            page.read_text().replace(
                "https://unpkg.com/iframe-worker/shim", f"{up}assets/worker.js"
            )
        )
    for script in Path(config.site_dir).glob("assets/javascripts/bundle.*.js*"):
        text = script.read_text()
        script.write_text(re.sub(r"https://unpkg\.com/[\w@./-]*", "", text))
    for script in site.glob("assets/javascripts/workers/search.*.js"):
        # A word after dashes would be excluded: people search for --primary.
        text, count = re.subn(
            r"(\w+)\.trim\(\)\.split\(/\"",
            r'\1.replace(/(^|\\s)-+(?=\\w)/g,"$1").trim().split(/"',
            script.read_text(),
        )
        if not count:
            log.warning(
                "%s: the search would not find options; its script has changed", script.name
            )
        script.write_text(text)


def mathml(latex: str, block: bool, where: str) -> str:
    """A formula drawn by the browser; one that cannot be read fails a strict build."""
    try:
        drawn = convert(html.unescape(latex).strip(), display="block" if block else "inline")
    except Exception as error:  # the converter raises classes of its own for every kind of fault
        log.warning(
            "%s: the formula %r cannot be converted: %s", where, latex, type(error).__name__
        )
        return latex
    if "\\" in drawn:  # what it does not know it leaves as it is
        log.warning("%s: the formula %r cannot be converted: an unknown command", where, latex)
    return drawn


class Definitions(Extension):
    """Lists of words and their meanings in docstrings, as Markdown has them; and an entry for each of
    several parameters that have one description, since each has a type of its own.
    """

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Rewrite what stands before the first section, and the entries of the sections."""
        if obj.docstring is not None:
            head, *sections = re.split(
                r"(?=^[A-Z]\w*\n---)", obj.docstring.value + "\n", flags=re.MULTILINE
            )
            parts = [
                GROUPED.sub(_split, part) if part.startswith(ENTRIES) else part for part in sections
            ]
            obj.docstring.value = DEFINITION.sub(r"\n\1\n:   \2", head) + "".join(parts)


def _split(group: re.Match[str]) -> str:
    """The same description for each of the names."""
    return "".join(f"{name}\n{group[2]}" for name in group[1].split(", "))


def command_line() -> str:
    """Every command with its arguments and options, from the program itself."""
    import typer

    from truecost.cli import app

    return "\n".join(_command("truecost", typer.main.get_command(app())))


def options() -> str:
    """Every option that several commands have: its meaning, which is the same in all, and which
    they are.
    """
    import typer

    from truecost.cli import app

    found: dict[str, tuple[str, list[str]]] = {}
    for name, command in _commands("", typer.main.get_command(app())):
        for each in command.params:
            if each.param_type_name == "option" and each.name != "help":
                flags = ", ".join(f"`{flag}`" for flag in (*each.opts, *each.secondary_opts))
                found.setdefault(flags, (each.help.split(";")[0].rstrip("."), []))[1].append(name)
    shared = sorted((flags, *entry) for flags, entry in found.items() if len(entry[1]) > 1)
    rows = [
        f"| {flags} | {_cell(html.escape(meaning))} | {', '.join(names)} |"
        for flags, meaning, names in shared
    ]
    return "\n".join(["| option | meaning | commands |", "| --- | --- | --- |", *rows])


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, each in command.commands.items():
        yield from _commands(f"{name} {word}".strip(), each)


def _command(name: str, command: Any) -> list[str]:
    import typer

    if hasattr(command, "commands"):
        about = [f"## {name}\n", command.help, ""] if name.count(" ") else []
        return about + [
            line
            for word, each in command.commands.items()
            for line in _command(f"{name} {word}", each)
        ]
    from truecost.cli.command import help_record

    context = typer.Context(command, info_name=name)
    arguments = " ".join(
        _argument(each) for each in command.params if each.param_type_name == "argument"
    )
    lines = [
        f"{'#' * (name.count(' ') + 1)} {name}\n",
        f"`{name} [OPTIONS] {arguments}".strip() + "`\n",
        command.help,
        "",
    ]
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.params:
        record = help_record(parameter, context)
        if record is not None:
            panels.setdefault(getattr(parameter, "rich_help_panel", None) or "", []).append(record)
    lines += ["| option | meaning |", "| --- | --- |"]
    for panel, records in panels.items():
        lines += [f"| **{panel}** | |"] if panel else []
        lines += [
            f"| `{_cell(words)}` | {_cell(html.escape(meaning))} |" for words, meaning in records
        ]
    return [*lines, ""]


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name).upper()
    return name if parameter.required else f"[{name}]"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def notebook_page(notebook: dict[str, Any]) -> str:
    """A notebook as a page: cells that begin with `!` as shell commands, each with its output."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        output = "".join(line for each in cell.get("outputs", []) for line in each["text"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace("](../docs/", "](../"))
        elif source.startswith("!"):
            parts.append(f"```console\n$ {source[1:]}\n{output}```")
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [f"```text\n{output}```"] if output else []
    return "\n\n".join(parts) + "\n"
