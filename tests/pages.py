"""Pages of the documentation, executed: what CONTRIBUTING.md says of their blocks is done here."""

import os
import re
import runpy
import shlex
import subprocess
import sys
import textwrap
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from commands import Run

ROOT = Path(__file__).parent.parent

FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<code>.*?)^(?P=indent)(?P=ticks)$",
    re.DOTALL | re.MULTILINE,
)
SETUP = re.compile(
    r"^<!-- (?P<language>setup|setup python)\n(?P<code>.*?)^-->$", re.DOTALL | re.MULTILINE
)
AFTER_PYTHON = re.compile(r"^```python\n(?:(?!```).*\n)*```\n\s*\Z", re.MULTILINE)
MARK = re.compile(r"<!-- not executed:(?P<reason>[^>]*)-->\s*\Z")
TITLE = re.compile(r'title="([^"]+)"')
EXIT_CODE = re.compile(r"# exit code (\d+)(?: or (\d+))?")
# What takes a shell to understand, outside of single quotes; all other lines that call truecost are
# called in this process.
SHELL = re.compile(r"[|<>&;$`*?(){}\[\]]")
# How far a long command is, told where there is no terminal: only a busy machine takes long enough
# for it.
PROGRESS = re.compile(r"^\d+%, .*\n", re.MULTILINE)
# What a busy machine adds to an output.
BUSY = re.compile(
    r"^Doubtful: \d+ ?% of the runs took far more wall time than CPU time:.*?core\.\n",
    re.MULTILINE | re.DOTALL,
)
SCRIPT = re.compile(r"python [\w./-]+\.py( [\w./=-]+)*")
QUOTED = re.compile(r"'[^']*'")
DATA = ("text", "csv", "json", "pcs", "diff")


class PageError(AssertionError):
    """What is wrong with a page, and where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block, or the commands or the code of a setup comment."""

    language: str
    code: str
    line: int
    file: str | None = None
    skipped: str | None = None


def blocks(text: str) -> list[Block]:
    """The blocks of a page in their order, each of a known kind or marked with the reason why it is
    not executed.
    """
    found = [_fenced(text, match) for match in FENCE.finditer(text)]
    found += [
        Block(language=each["language"], code=each["code"], line=_line(text, each))
        for each in SETUP.finditer(text)
    ]
    # What looks like a block and is none would be passed over: a fence without an end, a setup or a
    # mark before words.
    left = SETUP.sub("", FENCE.sub("", text))
    marks = len(re.findall(r"^ *<!-- not executed:", text, re.MULTILINE)) - sum(
        b.skipped is not None for b in found
    )
    if marks or re.search(r"^ *```|^<!-- setup", left, re.MULTILINE):
        raise PageError(
            "expected every fence to end, every mark to stand before a block, <!-- setup on a line of its own."
        )
    return sorted(found, key=lambda block: block.line)


def inline_commands(text: str) -> list[str]:
    """What stands after `truecost` in the code spans of the text that call it."""
    spans = re.findall(r"`([^`]+)`", SETUP.sub("", FENCE.sub("", text)))
    return [
        " ".join(span.split()).removeprefix("truecost ")
        for span in spans
        if span.startswith("truecost ")
    ]


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def _fenced(text: str, match: re.Match[str]) -> Block:
    line, info = _line(text, match), match["info"].strip()
    mark = MARK.search(text, 0, match.start())
    if mark is not None and not mark["reason"].strip():
        raise PageError(f"line {line}: expected a reason after 'not executed:'.")
    language, *_ = info.split() or [""]
    if mark is None and language not in ("console", "sh", "python", "toml", *DATA):
        raise PageError(
            f"line {line}: expected console, sh, python, toml or data ({', '.join(DATA)}), got {language!r}; "
            "<!-- not executed: why --> before a block marks what cannot run."
        )
    title = TITLE.search(info)
    prints = language == "text" and not title and AFTER_PYTHON.search(text, 0, match.start())
    return Block(
        language="printed" if prints else language,
        code=textwrap.dedent(match["code"]),
        line=line,
        file=title[1] if title else None,
        skipped=mark["reason"].strip() if mark else None,
    )


@dataclass(slots=True, kw_only=True)
class Page:
    """A page while its blocks are executed, in a folder of its own that is the current one."""

    run: Run
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str = ""
    update: bool = False

    def execute(self, text: str) -> str:
        """Execute all blocks in order and return the page.

        The first block that does not do what the page says raises; with `update`, outputs that
        differ are replaced instead.
        """
        for block in blocks(text):
            if block.skipped is not None:
                continue
            try:
                code = self._execute(block)
            except PageError as error:
                raise PageError(f"line {block.line}: {error}") from None
            except Exception as error:
                raise PageError(f"line {block.line}: {type(error).__name__}: {error}") from error
            if code != block.code:
                text = text.replace(f"\n{block.code}```", f"\n{code}```", 1)
        return text

    def _execute(self, block: Block) -> str:
        """Execute a block; returns its text, with new outputs if these are to be updated."""
        if block.language == "setup":
            commands = _commands(block.code)
            if all(_is_plain(command) for command, _ in commands):
                for command, codes in commands:
                    self._command(command, codes)
            else:
                self._shell(f"set -eu\n{block.code}", {0})
        elif block.language == "setup python":
            # With names of its own: readers' code sees files and nothing else of what they do not
            # see.
            exec(compile(block.code, f"<line {block.line}>", "exec"), {"__name__": "__main__"})  # noqa: S102
        elif block.language == "sh":
            for command, codes in _commands(block.code):
                self._command(command, codes)
        elif block.language == "console":
            return self._console(block.code)
        elif block.file is not None:
            self._write(block.file, block.code)
        elif block.language == "python":
            with redirect_stdout(StringIO()) as output:
                exec(compile(block.code, f"<line {block.line}>", "exec"), self.names)  # noqa: S102
            self.printed = output.getvalue()
        elif block.language == "printed":
            return self._shown(block.code, self.printed, "the code before")
        elif block.language == "toml":
            raise PageError('expected the name of the file, ```toml title="scenario.toml".')
        return block.code

    def _console(self, code: str) -> str:
        """Run the commands of a block, and compare what they print."""
        first, *sessions = re.split(r"^\$ ", code, flags=re.MULTILINE)
        outputs = [first]
        for session in sessions:
            lines = session.splitlines(keepends=True)
            end = next(i for i, line in enumerate(lines, 1) if not line.endswith("\\\n"))
            typed, shown = "".join(lines[:end]), "".join(lines[end:])
            ((command, codes),) = _commands(typed)
            printed = self._command(command, codes)
            outputs.append(f"{typed}{self._shown(shown, printed, repr(command))}")
        return "$ ".join(outputs)

    def _shown(self, shown: str, printed: str, command: str) -> str:
        """What the page should show of an output; another one raises unless pages are updated."""
        if same(shown, printed):
            return shown
        if not self.update:
            raise PageError(f"{command} printed\n{printed}\nand the page shows\n{shown}")
        return excerpt(shown, printed)

    def _write(self, file: str, content: str) -> None:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        if content.startswith("#!"):
            path.chmod(0o755)
        if path.suffix == ".toml" and "target" in tomllib.loads(content):
            from truecost import Scenario

            Scenario.read(path)

    def _command(self, command: str, codes: set[int]) -> str:
        """What a command printed, having ended with one of these exit codes."""
        if _is_plain(command):
            ended = self.run(*shlex.split(command)[1:])
            printed = BUSY.sub("", ended.stdout + PROGRESS.sub("", ended.stderr))
            _check(command, ended.returncode, codes, printed)
            return printed
        if SCRIPT.fullmatch(command):
            return self._script(command, codes)
        return self._shell(command, codes)

    def _script(self, command: str, codes: set[int]) -> str:
        """What a Python script printed, run in this process: what it imports may take longer than
        its work.
        """
        _, *words = shlex.split(command)
        there, code = set(sys.modules), 0
        with (
            pytest.MonkeyPatch.context() as patch,
            redirect_stdout(StringIO()) as output,
            redirect_stderr(output),
        ):
            patch.setattr(sys, "argv", words)
            patch.syspath_prepend(self.folder)
            try:
                runpy.run_path(words[0], run_name="__main__")
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            finally:
                # Modules of this page are not those of another.
                for name in set(sys.modules) - there:
                    if (
                        self.folder
                        in Path(getattr(sys.modules[name], "__file__", None) or "/").parents
                    ):
                        del sys.modules[name]
        _check(command, code, codes, output.getvalue())
        return output.getvalue()

    def _shell(self, command: str, codes: set[int]) -> str:
        programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        sources = f"{ROOT / 'src'}:{ROOT / 'tests'}"
        ended = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**os.environ, "PATH": programs, "PYTHONPATH": sources, "COLUMNS": "80"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        _check(command, ended.returncode, codes, ended.stdout)
        return ended.stdout


def _is_plain(command: str) -> bool:
    """Whether this is a command of truecost that needs no shell."""
    return command.startswith("truecost ") and not SHELL.search(QUOTED.sub("", command))


def _check(command: str, code: int, codes: set[int], printed: str) -> None:
    if code not in codes:
        raise PageError(
            f"{command!r} ended with {code}, not {' or '.join(map(str, sorted(codes)))}:\n{printed}"
        )


def _commands(code: str) -> list[tuple[str, set[int]]]:
    """The lines of a block with the exit codes their comments promise; a line that ends in a
    backslash goes on.
    """
    found = []
    for line in code.replace("\\\n", " ").splitlines():
        command, _, comment = line.partition(" #") if not line.startswith("#") else ("", "", "")
        promised = EXIT_CODE.search(f"#{comment}")
        if command.strip():
            found.append(
                (
                    command.strip(),
                    {int(code) for code in promised.groups() if code} if promised else {0},
                )
            )
    return found


def same(shown: str, printed: str) -> bool:
    """Whether the lines agree, blanks at their ends aside; a line ... stands for any lines."""
    wanted = [line.rstrip() for line in shown.rstrip().splitlines()]
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in wanted)
    given = "".join(line.rstrip() + "\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, given) is not None


def excerpt(shown: str, printed: str) -> str:
    """The part of an output that a page shows: as many of its first and last lines as before."""
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    wanted = shown.rstrip().splitlines()
    if "..." in wanted:
        head = wanted.index("...")
        tail = len(wanted) - 1 - head
        if "..." in wanted[head + 1 :]:
            raise PageError(f"the middle of this output has to be updated by hand:\n{printed}")
        lines = [*lines[:head], "...", *(lines[-tail:] if tail else [])]
    return "".join(line + "\n" for line in lines)
